#!/usr/bin/python3
"""Draws a training run: the loss of each update and of held-out data, what guessing would give,
the least that is possible, and the accuracy.

  tinygpt-train --steps 1500 -o model.h5 && scripts/plot_loss.py model.h5 -o loss.png

Takes checkpoints of tinygpt-train; of several runs each is a colour.
"""
import math
import pathlib
import sys

import plot_style as style
from plot_style import np, plt
from matplotlib.ticker import LogLocator


def options_of(arguments):
    parser = style.parser(__doc__, several=True)
    parser.add_argument("--smooth", type=style.positive, metavar="N",
                        help="updates of the running mean (default 25, of short runs fewer)")
    parser.add_argument("--floor", type=float, metavar="X",
                        help="least loss that is possible (default: known of progressions)")
    parser.add_argument("--log", action="store_true", help="loss on a logarithmic axis")
    parser.add_argument("--until", type=style.positive, metavar="N",
                        help="the first N updates only: where a model learns fast")
    return parser.parse_args(arguments)


def floor_of(file):
    """(loss, why) that no model gets below, of a task with a number that cannot be known: see
    tinygpt-train --help."""
    training = file["training"].attrs
    if style.text(training.get("task", "")) != "progressions":
        return None
    steps, targets = int(training["modulus"]) - 1, int(training["seq_len"]) - 1
    floor = math.log(steps) / targets
    return floor, f"floor, ln {steps} / {targets} = {floor:.4f}: the second token cannot be known"


def smoothed(losses, width):
    """Means of width updates, at the middles of them."""
    middles = np.arange(len(losses) - width + 1) + (width + 1) / 2
    return middles, np.convolve(losses, np.ones(width) / width, "valid")


def reference(axes, height, words, right, below=False):
    axes.axhline(height, color=style.GREY, linestyle="--", linewidth=0.9, zorder=1)
    axes.annotate(words, (right, height), ha="right", va="top" if below else "bottom", fontsize=8,
                  color=style.GREY, xytext=(-3, -3 if below else 3), textcoords="offset points")


def draw_run(file, colour, name, panels, options):
    """The run in each panel; its last update. Named and all in its colour if there are others."""
    losses = style.dataset(file, "training/losses")[:options.until]
    if losses.ndim != 1 or not len(losses):
        style.refuse(f"{style.name_of(file)}: no update has been made yet")
    updates = np.arange(1, len(losses) + 1)
    top = panels[0]
    top.plot(updates, losses, color=colour if name else "#bbbbbb", alpha=0.25 if name else 1,
             linewidth=0.7, zorder=1, label=None if name else "each update")
    width = min(options.smooth or max(1, min(25, len(losses) // 10)), len(losses))
    middles, means = smoothed(losses, width)
    top.plot(middles, means, color=colour, zorder=3,
             label=name or f"mean of {width} update" + "s" * (width > 1))
    # Whole at the edges too.
    dots = {"marker": "o", "markersize": 3.5, "markerfacecolor": "white", "clip_on": False}
    if "training/evaluation_steps" in file:
        steps = style.dataset(file, "training/evaluation_steps")
        kept = steps <= updates[-1]
        steps = steps[kept]
        top.plot(steps, style.dataset(file, "training/evaluation_losses")[kept], linestyle="none",
                 zorder=4, color=colour if name else style.ORANGE,
                 label=None if name else "evaluation", **dots)
        if len(panels) > 1:
            panels[1].plot(steps, style.dataset(file, "training/evaluation_accuracies")[kept],
                           color=colour, zorder=4, **dots)
    return updates[-1]


def has_accuracy(file):
    path = "training/evaluation_accuracies"
    return path in file and file[path].size > 0 and np.isfinite(file[path][()]).any()


def draw(files, options):
    for file in files:
        style.dataset(file, "training/losses")
    with_accuracy = all(has_accuracy(file) for file in files)
    heights = (3.2, 1.4) if with_accuracy else (3.5,)
    figure, panels = plt.subplots(len(heights), 1, sharex=True, squeeze=False, height_ratios=heights,
                                  figsize=(6.4, sum(heights)))
    panels = panels[:, 0]
    ends = [draw_run(file, style.LINES[place % len(style.LINES)],
                     pathlib.Path(style.name_of(file)).stem if len(files) > 1 else None, panels,
                     options)
            for place, file in enumerate(files)]
    last = max(ends)
    top = panels[0]
    if options.log:
        top.set_yscale("log")
        top.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        top.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        top.yaxis.set_minor_formatter(lambda value, _: "")
    else:
        top.set_ylim(0, None)
    vocabularies = {int(file.attrs.get("vocab_size", 0)) for file in files}
    vocabulary = vocabularies.pop() if len(vocabularies) == 1 else 0  # of different ones no line is right
    if vocabulary > 1:
        guess = math.log(vocabulary)
        reference(top, guess, f"guessing, ln {vocabulary:,} = {guess:.3f}", last)
    floor = floor_of(files[0]) if options.floor is None else (options.floor, f"floor, {options.floor:g}")
    if floor:
        reference(top, *floor, last, below=True)
    top.set(ylabel="loss (nats a token)", xlim=(0, last))
    top.legend(loc="best", fontsize=8)
    if with_accuracy:
        panels[1].set(ylim=(0, 1.05), ylabel="accuracy")
        panels[1].axhline(1, color=style.GREY, linestyle="--", linewidth=0.9, zorder=1)
        if vocabulary > 1:
            reference(panels[1], 1 / vocabulary, f"chance, 1 / {vocabulary}", last)
    panels[-1].set_xlabel("update")
    return figure


def main(arguments=None):
    return style.run(options_of(arguments), draw)


if __name__ == "__main__":
    sys.exit(main())
