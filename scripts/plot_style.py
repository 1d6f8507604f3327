"""What all plot_*.py scripts share: their options, reading, errors, looks and writing.

A script declares its options on parser(), and draws in a function that run() calls with the open
files. Pictures are PNG, PDF or SVG by the ending of -o; the same input gives the same bytes.
"""
import argparse
import contextlib
import io
import pathlib
import sys
import warnings

from hdf5_script import DATA, DONE, USAGE, Parser, check_output, name_of, opened, refuse, \
    write_whole

try:
    import h5py
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    import numpy as np
except ImportError as error:
    refuse(f"{sys.executable} has no {error.name}",
           "apt-get install python3-h5py python3-matplotlib   (for /usr/bin/python3)")

# Told apart by colour-blind eyes too (Okabe and Ito 2008).
BLUE, ORANGE, GREEN, PURPLE, RED = LINES = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00"]
GREY, MASKED = "#666666", "#e8e8e8"

matplotlib.rcParams.update({
    "font.family": "DejaVu Sans", "font.size": 9, "axes.titlesize": 10, "figure.titlesize": 11,
    "axes.spines.top": False, "axes.spines.right": False, "axes.linewidth": 0.8,
    "lines.linewidth": 1.4, "legend.frameon": False, "figure.constrained_layout.use": True,
    "axes.prop_cycle": matplotlib.cycler(color=LINES), "pdf.fonttype": 42,
    "svg.hashsalt": "attntools", "svg.fonttype": "none", "path.simplify_threshold": 1.0,
})
# A letter that the font does not have is a box, which says enough.
warnings.filterwarnings("ignore", "Glyph .* missing")
# Neither dates nor versions, so that the same input gives the same bytes.
METADATA = {".png": {"Software": None}, ".svg": {"Date": None, "Creator": None},
            ".pdf": {"CreationDate": None, "Creator": None, "Producer": None}}


def positive(text):
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of 1 or more: '{text}'")
    return int(text)


def numbers(text):
    """Of a list: 0,8,16."""
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be numbers such as 0,8,16: '{text}'") from None


def parser(description, several=False):
    """Options that all scripts have. several: more than one FILE."""
    made = Parser(description=description,
                  epilog="exit status: 0 done, 2 wrong usage, 3 data, output or a missing package")
    made.add_argument("files" if several else "file", metavar="FILE", nargs="+" if several else None,
                      help="HDF5 file of a program, - for stdin")
    made.add_argument("-o", "--output", metavar="FILE", action="append",
                      help="picture, by its ending .png, .pdf or .svg, - for stdout; may be repeated "
                           "(default: the input's name with .png, in this folder)")
    made.add_argument("--format", choices=[ending[1:] for ending in METADATA],
                      help="of -o - (default png)")
    made.add_argument("--title", help="above the picture")
    made.add_argument("--dpi", type=positive, default=150, help="of .png (default 150)")
    return made


def outputs_of(options, inputs):
    """(path, ending) of each picture."""
    if not options.output and inputs[0] == "-":
        refuse("-o is missing: stdin has no name to make one from", status=USAGE)
    paths = options.output or [pathlib.Path(inputs[0]).stem + ".png"]
    if options.format and "-" not in paths:
        refuse("--format is of -o -: a file's ending says what it is", status=USAGE)
    outputs = []
    for path in paths:
        ending = "." + (options.format or "png") if path == "-" else pathlib.Path(path).suffix
        if ending not in METADATA:
            refuse(f"-o {path}: the ending must be .png, .pdf or .svg", status=USAGE)
        check_output(path, inputs)
        outputs.append((path, ending))
    return outputs


def dataset(file, path):
    """The values of a dataset that must be there."""
    found = file.get(path)
    if not isinstance(found, h5py.Dataset):
        held = [name for name, what in file.items() if isinstance(what, h5py.Dataset)][:6]
        refuse(f"{name_of(file)}: no dataset /{path.lstrip('/')}",
               f"it has /{', /'.join(held)}" if held else "tensor-show --list says what a file has")
    if name_of(found.file) != name_of(file) or found.is_virtual or found.external:
        refuse(f"{name_of(file)}: /{path.lstrip('/')} lies in another file")
    return found[()]


def text(value):
    """An attribute or a label of a file as str."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def run(options, draw):
    """Calls draw(files, options), which gives a figure, and writes that."""
    names = options.files if hasattr(options, "files") else [options.file]
    if names.count("-") > 1:
        refuse("only one FILE can be stdin", status=USAGE)
    outputs = outputs_of(options, names)
    with contextlib.ExitStack() as stack:
        try:
            files = [stack.enter_context(opened(name)) for name in names]
            figure = draw(files if hasattr(options, "files") else files[0], options)
        except (ArithmeticError, AttributeError, LookupError, MemoryError, OSError, RuntimeError,
                TypeError, ValueError) as error:
            # What a file of another shape or a damaged one leads to deep inside.
            refuse(f"{', '.join(names)}: cannot be drawn: {' '.join(str(error).split())}")
    save(figure, outputs, options.dpi, options.title)
    return DONE


def save(figure, outputs, dpi=150, title=None):
    """Writes the picture under each name, in the form that its ending says, whole or not at all."""
    if title:
        figure.suptitle(title, parse_math=False)
    path = outputs[0][0]
    try:
        # Places are found once: else a picture would depend on the ones written before it.
        figure.draw_without_rendering()
        figure.set_layout_engine("none")
        for path, ending in outputs:
            picture = io.BytesIO()
            figure.savefig(picture, format=ending[1:], dpi=dpi, metadata=METADATA[ending])
            write_whole(path, picture.getvalue())
    except (MemoryError, RuntimeError, ValueError) as error:
        # Letters or a picture larger than Matplotlib can draw.
        refuse(f"{path}: cannot be drawn: {' '.join(str(error).split())}")
    plt.close(figure)


def size_text(count):
    """Bytes with a binary unit, as short as it is exact to three digits: 3.5 GiB."""
    for unit in ("bytes", "KiB", "MiB", "GiB", "TiB"):
        if count < 1024 or unit == "TiB":
            return f"{count:.4g} {unit}"
        count /= 1024


def spread(wanted, gap):
    """Heights as near as may be to those wanted, at least gap apart, in their order."""
    order = np.argsort(wanted, kind="stable")
    groups = []  # of labels that touch: [sum of wanted centres, count]
    for height in np.asarray(wanted, float)[order]:
        groups.append([height, 1])
        while len(groups) > 1:
            (low, n), (high, m) = groups[-2:]
            if high / m - low / n >= gap * (n + m) / 2:
                break
            groups[-2:] = [[low + high, n + m]]
    heights = np.concatenate([total / n + gap * (np.arange(n) - (n - 1) / 2) for total, n in groups])
    placed = np.empty(len(heights))
    placed[order] = heights
    return placed


def label_ends(axes, labels, size=9):
    """Names lines at their right ends, in their colours: labels holds (line, text). To be called
    when the axes have their limits and scales."""
    axes.figure.canvas.draw()
    ends = [axes.transData.transform((line.get_xdata()[-1], line.get_ydata()[-1]))[1]
            for line, _ in labels]
    most = max(words.count("\n") + 1 for _, words in labels)
    heights = spread(ends, size * 1.25 * most * axes.figure.dpi / 72)
    for (line, words), end, height in zip(labels, ends, heights):
        axes.annotate(words, (line.get_xdata()[-1], line.get_ydata()[-1]),
                      xytext=(6, (height - end) * 72 / axes.figure.dpi), textcoords="offset points",
                      va="center", color=line.get_color(), fontsize=size, annotation_clip=False)
