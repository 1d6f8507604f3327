#!/usr/bin/python3
"""Draws attention weights as heat maps, a panel for each head: rows are queries, columns keys.

  attn-check --tokens 6 -o a.h5 && scripts/plot_attention.py a.h5
  tinygpt-generate model.h5 --prompt "3 5" --new-tokens 10 --dump-attention heads.h5
  scripts/plot_attention.py heads.h5 -o heads.pdf

Takes /attention (block, head, query, key) of tinygpt-generate, /encoder, /decoder and /cross too,
or /weights (batch, head, query, key) of attn-check, /weights_causal beside it. Cells that a mask
hides are grey; a dark cell was seen and got next to nothing. Where the file does not say what is
hidden, cells of exactly 0 in all heads are.
"""
import collections
import math
import sys

import plot_style as style
from plot_style import np, plt
from attention_maps import hidden_of
from matplotlib.colors import ListedColormap

MOST = 144  # panels
LONGEST = 24  # letters of a label
Panel = collections.namedtuple("Panel", "title weights hidden path assumed")
KNOWN = ("attention", "encoder/attention", "decoder/attention", "cross/attention", "weights",
         "weights_causal")


def options_of(arguments):
    parser = style.parser(__doc__)
    parser.add_argument("--dataset", metavar="PATH", action="append",
                        help="whose last two axes are queries and keys; may be repeated (default: "
                             "those named above that the file has)")
    parser.add_argument("--block", type=style.numbers, metavar="LIST", help="only these (default all)")
    parser.add_argument("--head", type=style.numbers, metavar="LIST", help="only these (default all)")
    parser.add_argument("--scale", choices=("fixed", "row", "sqrt"), default="fixed",
                        help="colours for 0 to 1; for 0 to each row's largest weight, to see how "
                             "diffuse heads are shaped; or for the square root (default fixed)")
    parser.add_argument("--values", choices=("auto", "always", "never"), default="auto",
                        help="weights printed in their cells (default auto: up to 8 tokens)")
    parser.add_argument("--tokens", metavar="TEXT", help="labels of both axes, with spaces between")
    return parser.parse_args(arguments)


def picked(wanted, count, what):
    for number in wanted or []:
        if not 0 <= number < count:
            style.refuse(f"--{what} {number}: there are {what}s 0 to {count - 1}", status=style.USAGE)
    return wanted if wanted is not None else range(count)


def title_of(path, several, masked, where):
    """Which map this is, as far as it needs to be told."""
    kind = {"weights": "weights" if masked else "no mask", "weights_causal": "causal",
            "attention": ""}.get(path, path.replace("/attention", ""))
    return ", ".join(filter(None, [kind] * (several or not where) + where))


def panels_of(file, options):
    """Each head to draw."""
    paths = options.dataset or [path for path in KNOWN if path in file]
    if not paths:
        style.refuse(f"{style.name_of(file)}: no attention in it: no /{', /'.join(KNOWN)}",
                     "--dataset names another; tensor-show --list says what the file has")
    panels = []
    for path in (path.strip("/") for path in paths):
        maps = style.dataset(file, path)
        if maps.ndim not in (2, 3, 4) or maps.dtype.kind not in "fiu" or not maps.size:
            style.refuse(f"{style.name_of(file)}: /{path} must have 2 to 4 axes of numbers, "
                         f"the last two queries and keys: its shape is {maps.shape}")
        maps = maps.astype(float)[(None,) * (4 - maps.ndim)]
        found = file[path]
        hidden, assumed = hidden_of(found.parent, found.name.rpartition("/")[2], maps)
        outer = "block" if "attention" in path else "batch"
        for block in picked(options.block, maps.shape[0], "block"):
            for head in picked(options.head, maps.shape[1], "head"):
                where = ([f"{outer} {block}"] * (maps.shape[0] > 1) +
                         [f"head {head}"] * (maps.shape[1] > 1))
                panels.append(Panel(title_of(path, len(paths) > 1, hidden.any(), where),
                                    maps[block, head], hidden[block, head], path, assumed))
    if len(panels) > MOST:
        style.refuse(f"{len(panels):,} maps are too many for a picture: at most {MOST}",
                     "--block and --head choose some", style.USAGE)
    return panels


def labels_of(file, path, axis, count, options):
    if options.tokens is not None:
        labels = options.tokens.split()
        if len(labels) != count:
            style.refuse(f"--tokens has {len(labels)} labels, the {axis} axis of /{path} has {count}",
                         status=style.USAGE)
        return labels
    folder = path.rpartition("/")[0]
    for name in (f"{folder}/{axis}_token", f"{axis}_token", f"{axis}_tokens"):
        if name in file and file[name].shape == (count,):
            # Ends of lines and spaces of a text would be invisible labels, long ones leave no picture.
            texts = [style.text(label) for label in style.dataset(file, name)]
            return [(text if len(text) <= LONGEST else text[:LONGEST - 1] + "…")
                    .replace("\n", "\\n").replace(" ", "␣").replace("$", r"\$") for text in texts]
    return [str(number) for number in range(count)]


def label(axes, labels, along, inches):
    """All labels, or where there is no room for them, some positions."""
    step = max(1, math.ceil(len(labels) * 0.11 / inches))
    if step > 1:
        step = next(round_one for round_one in (5, 10, 20, 50, 100, 1000) if round_one >= step)
        labels = [str(place) for place in range(len(labels))]
    if max(map(len, labels)) > 3 and along == "x":
        axes.tick_params(axis=along, labelsize=6)
    places = range(0, len(labels), step)
    set_ticks = axes.set_xticks if along == "x" else axes.set_yticks
    set_ticks(places, [labels[place] for place in places])
    if along == "x" and step == 1 and max(map(len, labels)) > 2:
        axes.tick_params(axis="x", labelrotation=90)


def paint(axes, weights, hidden, options):
    shown = weights
    if options.scale == "row":
        largest = np.where(hidden, 0, weights).max(axis=1, keepdims=True)
        shown = weights / np.where(largest > 0, largest, 1)
    elif options.scale == "sqrt":
        shown = np.sqrt(np.clip(weights, 0, None))
    colours = plt.get_cmap("viridis").with_extremes(bad=style.MASKED)
    square = max(weights.shape) <= 5 * min(weights.shape)
    image = axes.imshow(np.ma.masked_where(hidden | ~np.isfinite(shown), shown), cmap=colours,
                        vmin=0, vmax=1, interpolation="nearest", aspect="equal" if square else "auto")
    broken = ~np.isfinite(shown) & ~hidden
    if broken.any():
        axes.imshow(np.ma.masked_where(~broken, broken), cmap=ListedColormap([style.RED]),
                    interpolation="nearest", aspect="equal" if square else "auto")
    if options.values == "always" or options.values == "auto" and max(weights.shape) <= 8:
        for (row, column), weight in np.ndenumerate(weights):
            if not hidden[row, column]:
                axes.text(column, row, f"{weight:.2f}", ha="center", va="center", fontsize=7,
                          color="white" if shown[row, column] < 0.55 else "black")
    return image


def columns_of(file, panels, options):
    """A row holds a block's heads where these are few."""
    heads = len(options.head) if options.head else max(
        (file[panel.path].shape[-3] for panel in panels if file[panel.path].ndim >= 3), default=1)
    if not 2 < heads <= 8:
        heads = 2 if len(panels) < 5 else 4 if len(panels) <= 32 else 8
    return min(heads, len(panels))


def draw(file, options):
    panels = panels_of(file, options)
    columns = columns_of(file, panels, options)
    rows = math.ceil(len(panels) / columns)
    few = len(panels) <= 2
    side = 2.9 if few else 2.0 if columns <= 4 else 1.5
    figure, grid = plt.subplots(rows, columns, squeeze=False,
                                figsize=(columns * side + 0.9, rows * (side + 0.05) + 0.6))
    for place, panel in enumerate(panels):
        weights, path = panel.weights, panel.path
        axes = grid.flat[place]
        image = paint(axes, weights, panel.hidden, options)
        axes.set_title(panel.title, fontsize=10 if few else 8)
        axes.tick_params(length=0, labelsize=8 if few else 7)
        label(axes, labels_of(file, path, "key", weights.shape[1], options), "x", side - 0.4)
        label(axes, labels_of(file, path, "query", weights.shape[0], options), "y", side - 0.4)
        axes.spines[:].set_visible(False)
        if place + columns >= len(panels):
            axes.set_xlabel("key")
        if place % columns == 0:
            axes.set_ylabel("query")
    for axes in grid.flat[len(panels):]:
        axes.set_visible(False)
    name = {"fixed": "attention weight", "row": "weight / its row's largest",
            "sqrt": "√ of attention weight"}[options.scale]
    grey = [panel.assumed for panel in panels if panel.hidden.any()]
    notes = ["grey: 0 in all heads, taken for masked" if any(grey) else
             "grey: hidden by the mask"] * bool(grey)
    notes += ["red: not a number"] * any((~np.isfinite(panel.weights) & ~panel.hidden).any()
                                         for panel in panels)
    bar = figure.colorbar(image, ax=grid, shrink=0.9 if rows == 1 else 0.75, aspect=25, pad=0.02)
    bar.set_label("\n".join(filter(None, [name, ", ".join(notes)])), fontsize=8)
    return figure


def main(arguments=None):
    return style.run(options_of(arguments), draw)


if __name__ == "__main__":
    sys.exit(main())
