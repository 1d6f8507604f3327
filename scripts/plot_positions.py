#!/usr/bin/python3
"""Draws what tells a transformer where a token stands: the table as a heat map, and some of its
columns against position.

  posenc-dump --length 50 --dim 64 -o - | scripts/plot_positions.py - -o positions.png
  posenc-dump --kind alibi --heads 8 --length 32 -o a.h5 && scripts/plot_positions.py a.h5

Takes what posenc-dump writes: /table of sinusoidal and learned positions, /cos of rope, and for
alibi's /bias or T5's /bucket the heat maps of queries and keys alone.
"""
import sys

import plot_style as style
from plot_style import np, plt
from matplotlib.ticker import MaxNLocator


def options_of(arguments):
    parser = style.parser(__doc__)
    parser.add_argument("--dataset", metavar="PATH", help="(position, feature), by another name")
    parser.add_argument("--features", type=style.numbers, metavar="LIST",
                        help="columns drawn as curves (default 0,8,16,32, of rope 0,2,4,8)")
    return parser.parse_args(arguments)


def coordinates(file, names, count):
    for name in names:
        if name in file and file[name].shape == (count,):
            return style.dataset(file, name).astype(float)
    return np.arange(count, dtype=float)


def heat(axes, values, across, down, largest):
    """Cells centred at their coordinates, which are evenly spaced or else simply counted."""
    def ends(marks):
        steps = np.diff(marks)
        if len(marks) > 1 and np.all(steps == steps[0]):
            return marks[0] - steps[0] / 2, marks[-1] + steps[0] / 2
        return -0.5, len(marks) - 0.5
    (left, right), (top, bottom) = ends(across), ends(down)
    colours = plt.get_cmap("RdBu_r").with_extremes(bad=style.MASKED)
    image = axes.imshow(np.ma.masked_invalid(values), cmap=colours, vmin=-largest, vmax=largest,
                        interpolation="nearest", aspect="auto", extent=(left, right, bottom, top))
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    axes.yaxis.set_major_locator(MaxNLocator(6, integer=True))
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    return image


def draw_table(file, path, options):
    table = style.dataset(file, path).astype(float)
    if table.ndim != 2 or not table.size:
        style.refuse(f"{style.name_of(file)}: /{path} must have 2 axes, positions and features: "
                     f"its shape is {table.shape}")
    rows, width = table.shape
    what = "pair" if path in ("cos", "sin") else "feature"
    usual = (0, 2, 4, 8) if what == "pair" else (0, 8, 16, 32)
    wanted = options.features or [one for one in usual if one < width]
    for one in wanted:
        if not 0 <= one < width:
            style.refuse(f"--features {one}: there are {what}s 0 to {width - 1}", status=style.USAGE)
    positions = coordinates(file, ["positions"], rows)
    finite = table[np.isfinite(table)]
    largest = float(np.abs(finite).max(initial=0)) or 1.0
    if what == "pair" or style.text(file.attrs.get("kind", "")) == "sinusoidal":
        largest = 1.0
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), width_ratios=(1, 1.05))
    image = heat(left, table, np.arange(width, dtype=float), positions, largest)
    left.set(xlabel=what, ylabel="position", title=f"{path if what == 'pair' else 'value'} of each {what}")
    figure.colorbar(image, ax=left, pad=0.02, aspect=25)
    lines = []
    for one, colour in zip(wanted, style.LINES * len(wanted)):
        # At whole positions only: between them there is nothing.
        line, = right.plot(positions, table[:, one], color=colour, marker=".", markersize=3.5,
                           linewidth=1.1)
        lines.append((line, f"{what} {one}"))
    right.axhline(0, color=style.GREY, linewidth=0.6, zorder=0)
    right.set(xlabel="position", xlim=(positions.min(), positions.max() if rows > 1 else None),
              title=f"some {what}s against position")
    style.label_ends(right, lines)
    return figure


def draw_maps(file, path, options):
    """Of queries and keys: a panel for each head."""
    maps = style.dataset(file, path).astype(float)
    if maps.ndim not in (2, 3) or not maps.size or maps.ndim == 3 and len(maps) > 64:
        style.refuse(f"{style.name_of(file)}: /{path} must have 2 or 3 axes, at most 64 heads, queries "
                     f"and keys: its shape is {maps.shape}")
    heads = maps.shape[0] if maps.ndim == 3 else 1
    maps = maps.reshape(heads, *maps.shape[-2:])
    keys = coordinates(file, ["keys"], maps.shape[2])
    queries = coordinates(file, ["queries"], maps.shape[1])
    columns = min(heads, 4)
    rows = -(-heads // columns)
    figure, grid = plt.subplots(rows, columns, squeeze=False,
                                figsize=(2.4 * columns + 1, 2.2 * rows + 0.5))
    finite = maps[np.isfinite(maps)]
    low, high = float(finite.min(initial=0)), float(finite.max(initial=0))
    slopes = style.dataset(file, "slopes") if "slopes" in file else None
    for head, axes in enumerate(grid.flat):
        if head >= heads:
            axes.set_visible(False)
            continue
        image = heat(axes, maps[head], keys, queries, max(-low, high) or 1)
        image.set_cmap(plt.get_cmap("viridis").with_extremes(bad=style.MASKED))
        image.set_clim(low, high if high > low else low + 1)
        if heads > 1:
            slope = f", slope {slopes[head]:.3g}" if slopes is not None and len(slopes) == heads else ""
            axes.set_title(f"head {head}{slope}", fontsize=8)
        if head + columns >= heads:
            axes.set_xlabel("key")
        if head % columns == 0:
            axes.set_ylabel("query")
    figure.colorbar(image, ax=grid, pad=0.02, aspect=25).set_label(path)
    return figure


def draw(file, options):
    known = ("table", "cos", "bias", "bucket")
    path = options.dataset or next((name for name in known if name in file), None)
    if path is None:
        style.refuse(f"{style.name_of(file)}: no positions in it: no /{', /'.join(known)}",
                     "--dataset names another table; tensor-show --list says what the file has")
    path = path.strip("/")
    return (draw_maps if path in ("bias", "bucket") else draw_table)(file, path, options)


def main(arguments=None):
    return style.run(options_of(arguments), draw)


if __name__ == "__main__":
    sys.exit(main())
