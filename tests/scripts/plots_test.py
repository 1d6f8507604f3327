#!/usr/bin/env python3
"""Each scripts/plot_*.py on a small file that a program wrote: pictures come out whole and the same
each time, labels and masks are there, and what is wrong is one line with its exit status.

usage: plots_test.py BIN_DIR SCRIPTS_FOLDER. Exits 77 where h5py or Matplotlib is not there.
"""
import contextlib
import importlib
import io
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

try:
    import h5py
    import matplotlib  # noqa: F401
    import numpy as np
except ImportError as error:
    print("skipped: %s" % error)
    sys.exit(77)

programs, scripts = (os.path.abspath(path) for path in sys.argv[1:3])
sys.path.insert(0, scripts)
failures = []


def check(what, good, saw=""):
    print("%-5s %s %s" % ("ok" if good else "WRONG", what, "" if good else repr(saw)))
    if not good:
        failures.append(what)


def program(command):
    subprocess.run(command, shell=True, check=True, stdout=subprocess.DEVNULL,
                   env={**os.environ, "PATH": programs + ":" + os.environ["PATH"]})


def call(script, *arguments):
    """Exit status and stderr of a script, in this process: Matplotlib is slow to load."""
    sys.argv[0] = script + ".py"
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
        try:
            status = importlib.import_module(script).main([str(argument) for argument in arguments])
        except SystemExit as leaving:
            status = leaving.code
    return status, said.getvalue()


def draws(script, *arguments):
    """A PNG and, where wanted, a PDF of a plausible size."""
    outputs = [pathlib.Path(arguments[i + 1]) for i, word in enumerate(arguments) if word == "-o"]
    status, said = call(script, *arguments)
    starts = {".png": b"\x89PNG", ".pdf": b"%PDF", ".svg": b"<?xml"}
    good = status == 0 and said == "" and all(
        path.exists() and path.read_bytes().startswith(starts[path.suffix]) and path.stat().st_size > 3000
        for path in outputs)
    check(" ".join((script, *arguments)), good, (status, said))


def refuses(script, arguments, status, *words):
    got, said = call(script, *arguments)
    good = got == status and said.startswith(script + ".py: ") and said.count("\n") <= 2 and \
        all(word in said for word in words)
    check("%s %s: %s" % (script, " ".join(arguments), status), good, (got, said))


os.chdir(tempfile.mkdtemp())
program("attn-check --tokens 6 -o six.h5")
program("posenc-dump --length 20 --dim 12 -q -o pe.h5 && posenc-dump --kind alibi --heads 2 --length 5 -q -o alibi.h5")
program("kvcache-bench --dim 8 --heads 1 --tokens 1-16+1 --counts-only -q -o counts.h5")
program("kvcache-size --layers 32 --kv-heads 32,8 --head-dim 128 --tokens '128-8192*2' -o size.h5")
program("tinygpt-train --steps 2 --batch 2 --log-gradients -q -o gradients-pre-2-0.h5")
program("tinygpt-generate gradients-pre-2-0.h5 --prompt '3 5' --new-tokens 2 --dump-attention heads.h5")

sys.path.insert(0, os.path.join(os.path.dirname(scripts), "tests", "bench"))
import scaling  # noqa: E402
scaling.write(pathlib.Path("scaling.h5"), [
    {"curve": curve, "model": "64 x 2", "x": x, "threads": threads, "samples_ns": [x * 1e6, x * 2e6, x * 4e6][:rounds],
     "bound_ns": x * 5e5}
    for curve, rounds in (("threads", 3), ("context", 2)) for threads in (1, 2) for x in (64, 128)],
    {"processor": "one of these", "cores": 2, "blas": "none"})

draws("plot_attention", "six.h5", "-o", "six.png", "-o", "six.pdf")
draws("plot_attention", "heads.h5", "--block", "1", "--head", "0,2", "--scale", "row", "-o", "heads.png")
draws("plot_positions", "pe.h5", "--features", "0,8", "-o", "pe.png", "-o", "pe.svg")
draws("plot_positions", "alibi.h5", "-o", "alibi.png")
draws("plot_kvcache_counts", "counts.h5", "-o", "counts.png", "--log")
draws("plot_kvcache_size", "size.h5", "--mark", "4096", "-o", "size.pdf")
draws("plot_loss", "gradients-pre-2-0.h5", "--title", r"$\no{formula", "-o", "loss.png")
draws("plot_training", ".", ".", "gradients", "--as", "png")
draws("plot_scaling", "scaling.h5", "-o", "scaling.png", "-o", "scaling.pdf")
check("gradient-norms.png", os.path.getsize("gradient-norms.png") > 3000)

first = {name: pathlib.Path(name).read_bytes() for name in ("pe.svg", "six.pdf")}
draws("plot_positions", "pe.h5", "--features", "0,8", "-o", "pe.svg")
draws("plot_attention", "six.h5", "-o", "six.pdf")
for name, before in first.items():
    check(name + ": the same bytes again", pathlib.Path(name).read_bytes() == before)

with open("pe.h5") as sys.stdin:
    draws("plot_positions", "-", "--features", "0,8", "-o", "piped.svg")
check("stdin: the same picture", pathlib.Path("piped.svg").read_bytes() == first["pe.svg"])

piped = subprocess.run(shlex.join([sys.executable, scripts + "/plot_positions.py"])
                       + " <(cat pe.h5) --features 0,8 --format svg -o -", shell=True,
                       executable="/bin/bash", capture_output=True, check=False)
check("a pipe by name, and stdout: the same picture",
      (piped.stdout, piped.stderr) == (first["pe.svg"], b""), piped.stderr)

# The beginning of a run alone: its axis, its losses and its evaluations end there.
import plot_loss  # noqa: E402
with h5py.File("run.h5", "w") as file:
    file["training/losses"] = np.linspace(2, 1, 40)
    file["training/evaluation_steps"] = [0, 20, 40]
    file["training/evaluation_losses"] = [2, 1.5, 1]
with h5py.File("run.h5") as file:
    axes = plot_loss.draw([file], plot_loss.options_of(["run.h5", "--until", "30"])).axes[0]
    check("--until ends the axis", axes.get_xlim() == (0, 30), axes.get_xlim())
    ends = [line.get_xdata()[-1] for line in axes.lines if len(line.get_xdata()) > 2]
    check("--until ends the lines", max(ends) == 30, ends)
    dots = [list(line.get_xdata()) for line in axes.lines if line.get_marker() == "o"]
    check("--until ends the evaluations", dots == [[0, 20]], dots)

# What is hidden is told apart from what is tiny, and labels are the tokens.
import plot_attention  # noqa: E402
with h5py.File("heads.h5") as file:
    options = plot_attention.options_of(["heads.h5"])
    panels = plot_attention.panels_of(file, options)
    check("8 maps", len(panels) == 8, len(panels))
    check("hidden is above the diagonal", np.array_equal(panels[0][2], np.triu(np.ones((4, 4), bool), 1)))
    labels = plot_attention.labels_of(file, "attention", "key", 4, options)
    check("tokens label the axes", labels[:2] == ["3", "5"], labels)
with h5py.File("six.h5") as file:
    maps = {path: hidden for _, _, hidden, path, _ in plot_attention.panels_of(file, plot_attention.options_of(["six.h5"]))}
    check("no mask, nothing hidden", not maps["weights"].any() and maps["weights_causal"].sum() == 15)

import plot_scaling  # noqa: E402
with h5py.File("scaling.h5") as file:
    lines = list(plot_scaling.lines_of(plot_scaling.results_of(file), "context"))
    check("a line for each number of threads", [line[0] for line in lines] == ["1 thread", "2 threads"], lines)
    check("medians and quartiles of the samples there are", lines[0][2][:, 0].tolist() == [80, 96, 112], lines[0][2])
    check("bounds beside them, in milliseconds", lines[0][3].tolist() == [32, 64], lines[0][3])

# Where the file does not say what is hidden, it is what no head looks at; one head alone may give 0.
with h5py.File("bare.h5", "w") as file:
    file["attention"] = np.array([[[[1, 0], [0, 1]], [[1, 0], [0.5, 0.5]]]], "f4")
with h5py.File("bare.h5") as file:
    bare = plot_attention.panels_of(file, plot_attention.options_of(["bare.h5"]))
    check("hidden is what is 0 in all heads", all(np.array_equal(panel.hidden, [[0, 1], [0, 0]]) for panel in bare))
    check("which is said to be assumed", "exactly 0 in all heads" in bare[0].assumed, bare[0].assumed)

# What is wrong with a file, with what is asked for, with the place to write to.
pathlib.Path("text.h5").write_text("no HDF5")
pathlib.Path("half.h5").write_bytes(pathlib.Path("size.h5").read_bytes()[:3000])
refuses("plot_positions", ["none.h5", "-o", "a.png"], 3, "none.h5: No such file")
refuses("plot_positions", ["text.h5", "-o", "a.png"], 3, "text.h5: not a whole HDF5 file")
refuses("plot_kvcache_size", ["half.h5", "-o", "a.png"], 3, "half.h5: ")
refuses("plot_positions", ["six.h5", "-o", "a.png"], 3, "no positions in it", "/table")
refuses("plot_loss", ["six.h5", "-o", "a.png"], 3, "no dataset /training/losses")
refuses("plot_kvcache_counts", ["six.h5", "-o", "a.png"], 3, "no dataset /results/")
refuses("plot_scaling", ["six.h5", "-o", "a.png"], 3, "no dataset /results/curve")
refuses("plot_scaling", ["scaling.h5", "--curves", "width", "-o", "a.png"], 2, "no curve 'width'", "threads, context")
refuses("plot_kvcache_size", ["pe.h5", "-o", "a.png"], 3, "no dataset /bytes")
refuses("plot_attention", ["pe.h5", "-o", "a.png"], 3, "no attention in it")
refuses("plot_attention", ["six.h5", "--dataset", "query", "-o", "a.png"], 3, "/query must have")
with h5py.File("outside.h5", "w") as file:
    file["attention"] = h5py.ExternalLink("heads.h5", "/attention")
refuses("plot_attention", ["outside.h5", "-o", "a.png"], 3, "/attention lies in another file")
refuses("plot_training", [".", ".", "nanogpt"], 3, "no nanogpt-*.h5")
refuses("plot_positions", ["pe.h5", "-o", "nowhere/a.png"], 3, "nowhere/a.png: No such file")
refuses("plot_positions", ["pe.h5", "-o", "a.gif"], 2, ".png, .pdf or .svg")
refuses("plot_positions", ["pe.h5", "--format", "pdf", "-o", "a.png"], 2, "--format is of -o -")
refuses("plot_positions", ["pe.h5", "--dpi", "x", "-o", "a.png"], 2, "--dpi: must be a whole number of 1 or more: 'x'")
pathlib.Path("input.png").write_bytes(pathlib.Path("pe.h5").read_bytes())
refuses("plot_positions", ["input.png"], 2, "input.png is the input file itself")
with h5py.File("steers.h5", "w") as file:
    file["\x1b[2J"] = np.zeros(3)
refuses("plot_positions", ["steers.h5", "--dataset", "none", "-o", "a.png"], 3, r"it has /\x1b[2J")
refuses("plot_positions", ["pe.h5", "--features", "0,12", "-o", "a.png"], 2, "features 0 to 11")
with open(os.devnull) as sys.stdin:
    refuses("plot_positions", ["-", "-o", "a.png"], 3, "stdin: input is empty")
refuses("plot_positions", ["-"], 2, "-o is missing")
refuses("plot_positions", ["pe.h5", "--dp", "9"], 2, "--dp")
refuses("plot_attention", ["six.h5", "--tokens", "a b", "-o", "a.png"], 2, "2 labels", "6")
refuses("plot_attention", ["heads.h5", "--head", "4", "-o", "a.png"], 2, "heads 0 to 3")
refuses("plot_positions", ["pe.h5", "--dpi", "100000", "-o", "a.png"], 3, "a.png: cannot be drawn")
refuses("plot_kvcache_size", ["size.h5", "--mark", "7", "-o", "a.png"], 2, "--mark 7")
check("nothing is left of what failed", not [name for name in os.listdir() if name.startswith((".", "a."))])

# Where a package is missing: what cannot be tried in this process.
pathlib.Path("h5py.py").write_text("raise ImportError('none', name='h5py')")
missing = subprocess.run([sys.executable, scripts + "/plot_loss.py", "x.h5"], capture_output=True, text=True,
                         env={**os.environ, "PYTHONPATH": "."})
check("a missing package is named with the command that installs it",
      missing.returncode == 3 and "has no h5py" in missing.stderr and "apt-get install python3-h5py" in missing.stderr
      and "Traceback" not in missing.stderr, missing.stderr)
os.remove("h5py.py")
sys.exit(1 if failures else 0)
