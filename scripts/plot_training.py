#!/usr/bin/python3
"""Draws the figures of docs/training.md from the checkpoints of scripts/training-results.sh.

  scripts/plot_training.py build/training-results docs/figures

Figures: nanogpt, gradients, warmup, induction.
"""
import pathlib
import sys

import plot_style as style
from plot_style import h5py, np, plt

PRE, POST, OTHER = style.BLUE, style.RED, style.GREY

# nanoGPT's own code on its own settings, 20 random batches of the held-out text.
NANOGPT = [(0, 4.1649), (250, 2.4447), (500, 2.3141), (1000, 2.0528), (1500, 1.9225), (2000, 1.8857)]


def seeds_of(folder, run):
    """Checkpoints RUN-SEED.h5, by seed."""
    found = [path for path in folder.glob(run + "-*.h5") if path.stem[len(run) + 1:].isdigit()]
    return sorted(found, key=lambda path: int(path.stem[len(run) + 1:]))


def evaluations(path):
    with h5py.File(path) as file:
        group = file["training"]
        return group["evaluation_steps"][:], group["evaluation_losses"][:]


def smoothed(losses, width):
    return np.convolve(losses, np.ones(width) / width, mode="valid")


def draw_nanogpt(runs):
    figure, axes = plt.subplots(figsize=(6, 3.2))
    paths = seeds_of(runs, "nanogpt")
    for path in paths:
        with h5py.File(path) as file:
            losses = file["training/losses"][:]
        width = 25
        shown = smoothed(losses, width)[::width]
        axes.plot(np.arange(len(shown)) * width + width, shown, color=PRE, alpha=0.3, linewidth=0.8,
                  label="batches trained on" if path == paths[-1] else None)
    for path in paths:
        steps, losses = evaluations(path)
        axes.plot(steps, losses, color=PRE, marker=".",
                  label=f"held out, {len(paths)} seeds" if path == paths[0] else None)
    axes.plot(*zip(*NANOGPT), color=POST, marker="x", linestyle="none", label="nanoGPT's own code")
    axes.axhline(1.95, color=OTHER, linewidth=0.8, linestyle=":", label="bar, 1.95")
    axes.set(xlabel="update", ylabel="loss (nats a character)", ylim=(1.6, 4.3))
    axes.legend()
    return figure


def mlp_out_gradients(path):
    """Of each block at the first update."""
    with h5py.File(path) as file:
        norms = file["training/gradient_norms"]
        names = [name.decode() if isinstance(name, bytes) else name
                 for name in file["training/gradient_parameters"][:]]
        wanted = [i for i, name in enumerate(names) if name.endswith("mlp.fc2.weight")]
        return norms[0, wanted]


def draw_gradients(runs):
    figure, (by_block, by_depth) = plt.subplots(1, 2, figsize=(7, 3))
    for norm, color in (("post", POST), ("pre", PRE)):
        for depth, dashes in ((6, "--"), (12, "-")):
            paths = seeds_of(runs, f"gradients-{norm}-{depth}")
            if not paths:
                continue
            mean = np.mean([mlp_out_gradients(path) for path in paths], axis=0)
            by_block.plot(np.arange(1, depth + 1), mean, color=color, linestyle=dashes, marker=".",
                          label=f"{norm}, {depth} blocks")
        depths, last = [], []
        for depth in (2, 6, 12, 24):
            paths = seeds_of(runs, f"gradients-{norm}-{depth}")
            if paths:
                depths.append(depth)
                last.append(np.mean([mlp_out_gradients(path)[-1] for path in paths]))
        by_depth.plot(depths, last, color=color, marker="o", label=f"{norm}, measured")
        if norm == "pre" and depths:
            line = last[0] * np.sqrt(depths[0] / np.array(depths))
            by_depth.plot(depths, line, color=OTHER, linestyle=":", label="1 / √depth")
    by_block.set(xlabel="block, from the input", ylabel="gradient norm of fc2.weight", ylim=(0, 1.6))
    by_depth.set(xlabel="blocks", ylabel="the same of the last block", xscale="log", yscale="log",
                 ylim=(0.1, 1.5))
    by_depth.set_xticks([2, 6, 12, 24], ["2", "6", "12", "24"])
    by_depth.set_yticks([0.1, 0.2, 0.5, 1], ["0.1", "0.2", "0.5", "1"])
    by_block.set_xticks(range(2, 13, 2))
    by_depth.minorticks_off()
    for axes in (by_block, by_depth):
        if axes.lines:
            axes.legend(fontsize=8, ncols=2 if axes is by_block else 1)
    return figure


def draw_warmup(runs):
    figure, axes = plt.subplots(figsize=(6, 3.2))
    for norm, color in (("post", POST), ("pre", PRE)):
        for warmup, dashes in ((0, "-"), (200, "--")):
            paths = seeds_of(runs, f"warmup-{norm}-{warmup}")
            for path in paths:
                steps, losses = evaluations(path)
                label = f"{norm}, {'warm-up ' + str(warmup) if warmup else 'no warm-up'}"
                axes.plot(steps, losses, color=color, linestyle=dashes,
                          label=label if path == paths[0] else None)
    axes.set(xlabel="update", ylabel="held-out loss (nats a character)")
    axes.legend()
    return figure


def draw_induction(runs):
    """The strongest head of the last block, over ten tokens twice and a half."""
    with h5py.File(runs / "induction-0-maps.h5") as file:
        scores = file["induction"][:]
        block, head = scores.shape[0] - 1, int(np.argmax(scores[-1]))
        weights = file["attention"][block, head]
        tokens = [token.decode() if isinstance(token, bytes) else token for token in file["query_token"][:]]
        first_head = int(np.argmax([np.mean(np.diag(one, -1)) for one in file["attention"][0]]))
        previous = file["attention"][0, first_head]
    figure, panels = plt.subplots(1, 2, figsize=(7, 3.6))
    for axes, image, title in ((panels[0], previous, f"block 0, head {first_head}: the token before"),
                               (panels[1], weights, f"block {block}, head {head}: induction")):
        for row, column in np.argwhere(image >= 0.02):
            axes.add_patch(plt.Rectangle((column, row), 1, 1, color=PRE, alpha=float(image[row, column]),
                                         linewidth=0))
        axes.set(xlim=(0, len(tokens)), ylim=(len(tokens), 0))
        axes.set_xticks(np.arange(len(tokens)) + 0.5, tokens, fontsize=6)
        axes.set_yticks(np.arange(len(tokens)) + 0.5, tokens, fontsize=6)
        axes.set_aspect("equal")
        axes.grid(False)
        axes.tick_params(length=0)
        axes.set_title(title, fontsize=9)
        axes.set_xlabel("looked at")
    panels[0].set_ylabel("token")
    return figure


DRAWINGS = {"nanogpt": ("nanogpt-loss", draw_nanogpt), "gradients": ("gradient-norms", draw_gradients),
            "warmup": ("warmup-loss", draw_warmup), "induction": ("induction-map", draw_induction)}


def main(arguments=None):
    parser = style.Parser(description=__doc__)
    parser.add_argument("runs", metavar="RUNS", type=pathlib.Path, help="folder of checkpoints")
    parser.add_argument("figures", metavar="FIGURES", type=pathlib.Path, help="folder to write to")
    parser.add_argument("names", metavar="NAME", nargs="*", help="figures to draw (default all)")
    parser.add_argument("--as", dest="endings", action="append", choices=("svg", "png", "pdf"),
                        help="kind of picture; may be repeated (default svg)")
    options = parser.parse_args(arguments)
    for name in options.names:
        if name not in DRAWINGS:
            parser.error(f"no figure is called {name}: there are {', '.join(DRAWINGS)}")
    options.figures.mkdir(parents=True, exist_ok=True)
    for name in options.names or DRAWINGS:
        stem, draw = DRAWINGS[name]
        try:
            if not any(options.runs.glob(f"{name}-*.h5")):
                raise OSError(f"no {name}-*.h5")
            figure = draw(options.runs)
        except (OSError, KeyError, ValueError, IndexError) as error:
            style.refuse(f"{options.runs}: no runs, or not whole, for {name}: {' '.join(str(error).split())}",
                         "scripts/training-results.sh makes them")
        outputs = [(options.figures / f"{stem}.{ending}", f".{ending}")
                   for ending in options.endings or ["svg"]]
        style.save(figure, outputs)
        print(*(path for path, _ in outputs), sep="\n")
    return style.DONE


if __name__ == "__main__":
    sys.exit(main())
