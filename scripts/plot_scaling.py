#!/usr/bin/python3
"""Draws how long something takes as it grows, beside what this machine could do at best, and below
that the share of the best which is reached.

  tests/bench/scaling.py -o scaling.h5
  scripts/plot_scaling.py scaling.h5 --curves threads,batch,sequence,width -o training.png
  scripts/plot_scaling.py scaling.h5 --curves context,prompt -o decoding.png

Points are medians of the samples, bars reach over their middle half; dashed is the bound.
"""
import sys

import plot_style as style
from plot_style import np, plt

# Of each curve: its title, and what grows along it.
CURVES = {
    "threads": ("A step of training against threads", "threads"),
    "batch": ("A step of training against batch", "sequences, of 128 tokens"),
    "sequence": ("A step of training against sequence", "tokens, in each of 4 sequences"),
    "width": ("A step of training against width", "dim, of 4 blocks, 8 x 128 tokens"),
    "context": ("A token against its context", "tokens in the cache"),
    "prompt": ("A prompt against its length", "tokens"),
}


def names(text):
    return text.split(",")


def options_of(arguments):
    parser = style.parser(__doc__)
    parser.add_argument("--curves", type=names, metavar="LIST",
                        help=f"which, of {', '.join(CURVES)} (default: all that FILE has)")
    return parser.parse_args(arguments)


def results_of(file):
    """Column -> values, one a point."""
    columns = {name: style.dataset(file, f"results/{name}")
               for name in ("curve", "model", "threads", "x", "samples_ns", "bound_ns")}
    for name in ("curve", "model"):
        columns[name] = np.array([style.text(value) for value in columns[name]])
    return columns


def machine_of(file):
    """Where it was measured, in a line."""
    told = {name: style.text(file.attrs.get(name, "?")) for name in ("processor", "cores", "blas")}
    return f"{told['processor']}, {told['cores']} cores, {told['blas']}"


def lines_of(columns, curve):
    """(label, x, quartiles (3, x), bound) of each line, times in milliseconds. Points are of one line
    where their threads are the same; along threads, where the model is."""
    of_curve = columns["curve"] == curve
    key = "model" if curve == "threads" else "threads"
    for value in dict.fromkeys(columns[key][of_curve].tolist()):
        kept = np.flatnonzero(of_curve & (columns[key] == value))
        kept = kept[np.argsort(columns["x"][kept], kind="stable")]
        label = value.replace(", ", "\n") if key == "model" else f"{value} thread{'s'[:value > 1]}"
        quartiles = np.nanpercentile(columns["samples_ns"][kept], (25, 50, 75), axis=1)
        yield label, columns["x"][kept], quartiles / 1e6, columns["bound_ns"][kept] / 1e6


def name_values(axis, ticks):
    axis.set_ticks(ticks, [f"{tick:,.4g}" if tick < 1000 else f"{tick:,.0f}" for tick in ticks])
    axis.set_ticks([], minor=True)


def name_milliseconds(axes):
    low, high = axes.get_ylim()
    steps = (1, 2, 5) if high < 300 * low else (1,)
    ticks = [step * 10.0 ** power for power in range(-6, 9) for step in steps]
    name_values(axes.yaxis, [tick for tick in ticks if low <= tick <= high])


def draw_curve(axes, below, curve, lines):
    labels = []
    for (label, x, (lower, median, upper), bound), colour in zip(lines, style.LINES * len(lines)):
        line, = axes.plot(x, median, color=colour, marker="o", markersize=3.5)
        axes.errorbar(x, median, (median - lower, upper - median), color=colour, fmt="none",
                      capsize=2.5, elinewidth=1)
        axes.plot(x, bound, color=colour, linestyle="--", linewidth=1)
        if curve == "threads":
            axes.plot(x, median[0] * x[0] / x, color=colour, linestyle=":", linewidth=1.2)
        below.plot(x, 100 * bound / median, color=colour, marker="o", markersize=2.5)
        labels.append((line, label))
    title, quantity = CURVES[curve]
    axes.set(title=title, xscale="log", yscale="log", ylabel="milliseconds")
    below.set(xscale="log", ylim=(0, 100), xlabel=quantity, ylabel="% of bound")
    values = np.unique(np.concatenate([x for _, x, _, _ in lines]))
    for part in (axes, below):
        name_values(part.xaxis, values[::-(-len(values) // 6)])
        part.grid(alpha=0.25, linewidth=0.6)
    axes.tick_params(labelbottom=False)
    name_milliseconds(axes)
    below.set_yticks([0, 50, 100])
    axes.plot([], [], color=style.GREY, marker="o", markersize=3.5, label="measured")
    axes.plot([], [], color=style.GREY, linestyle="--", linewidth=1, label="bound")
    if curve == "threads":
        axes.plot([], [], color=style.GREY, linestyle=":", linewidth=1.2, label="1 thread / threads")
    axes.legend(loc="best" if curve == "threads" else "upper left", fontsize=8)
    style.label_ends(axes, labels, size=8)


def draw(file, options):
    columns = results_of(file)
    held = [curve for curve in CURVES if curve in columns["curve"]]
    wanted = options.curves or held
    for curve in wanted:
        if curve not in held:
            style.refuse(f"{style.name_of(file)}: no curve '{curve}' in it; it has "
                         f"{', '.join(held) or 'none'}", status=style.USAGE if options.curves else style.DATA)
    if not wanted:
        style.refuse(f"{style.name_of(file)}: no curve in it", "tests/bench/scaling.py -o FILE writes them")
    across = min(len(wanted), 2)
    down = -(-len(wanted) // 2)
    figure, grid = plt.subplots(2 * down, across, figsize=(4.9 * across, 4.2 * down + 0.2), squeeze=False,
                                height_ratios=[3, 1] * down)
    for index, curve in enumerate(wanted):
        row, column = divmod(index, 2)
        draw_curve(grid[2 * row, column], grid[2 * row + 1, column], curve,
                   list(lines_of(columns, curve)))
    if len(wanted) < across * down:
        for axes in grid[-2:, -1]:
            axes.remove()
    figure.supxlabel(machine_of(file), fontsize=8, color=style.GREY)
    return figure


def main(arguments=None):
    return style.run(options_of(arguments), draw)


if __name__ == "__main__":
    sys.exit(main())
