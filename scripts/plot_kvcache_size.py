#!/usr/bin/python3
"""Draws how much memory cached keys and values take against the tokens in the cache, on
logarithmic axes: a line for each setting that the file has several of.

  kvcache-size --layers 32 --kv-heads 32,8,1 --head-dim 128 --tokens 128-131072*2,7168 -o size.h5
  scripts/plot_kvcache_size.py size.h5 --mark 4096,7168 -o size.png

Takes the grid that kvcache-size -o writes.
"""
import itertools
import sys

import plot_style as style
from plot_style import np, plt


def options_of(arguments):
    parser = style.parser(__doc__)
    parser.add_argument("--mark", type=style.numbers, metavar="LIST", default=[],
                        help="numbers of tokens whose size on the highest line is written beside it")
    return parser.parse_args(arguments)


def axes_of(file, path):
    """(name, coordinates) of each axis, from its dimension scale."""
    named = []
    for axis, dimension in enumerate(file[path].dims):
        if not len(dimension):
            style.refuse(f"{style.name_of(file)}: axis {axis} of /{path} has no dimension scale")
        scale = dimension[0]
        named.append((scale.name.strip("/"),
                      [style.text(one) if isinstance(one, bytes) else one for one in scale[()]]))
    return named


def line_name(settings):
    """What tells a line from the others."""
    words = {"kv_heads": "{} key-value head{s}", "cache_dtype": "{}", "model": "{}", "layers": "{} layer{s}",
             "head_dim": "heads of {}"}
    return ", ".join(words.get(name, name + " {}").format(value, s="" if value == 1 else "s")
                     for name, value in settings)


def draw(file, options):
    sizes = style.dataset(file, "bytes")
    named = axes_of(file, "bytes")
    names = [name for name, _ in named]
    if "tokens" not in names:
        style.refuse(f"{style.name_of(file)}: /bytes has no axis called tokens: {', '.join(names)}")
    along = names.index("tokens")
    tokens = np.asarray(named[along][1], dtype=float)
    if len(tokens) < 2:
        style.refuse(f"{style.name_of(file)}: a line needs two numbers of tokens or more",
                     "kvcache-size --tokens 128-131072*2 -o FILE writes them")
    order = np.argsort(tokens)
    others = [(axis, *one) for axis, one in enumerate(named) if axis != along]
    lines = []
    for choice in itertools.product(*(range(len(values)) for _, _, values in others)):
        at = [slice(None)] * sizes.ndim
        for (axis, _, _), index in zip(others, choice):
            at[axis] = index
        told = [(name, values[index]) for (_, name, values), index in zip(others, choice)
                if len(values) > 1]
        lines.append((sizes[tuple(at)].astype(float), line_name(told)))
    lines.sort(key=lambda line: -line[0].max())
    if len(lines) > 12:
        style.refuse(f"{style.name_of(file)}: {len(lines)} lines are too many for a picture: at most 12")
    figure, axes = plt.subplots(figsize=(7, 3.9))
    labels = []
    for (values, words), colour in zip(lines, style.LINES * len(lines)):
        line, = axes.plot(tokens[order], values[order], color=colour, marker="o", markersize=2.5)
        ratio = lines[0][0] / values
        parted = f" (÷ {ratio[0]:.3g})" if words and ratio[0] > 1 and np.all(ratio == ratio[0]) else ""
        labels.append((line, words + parted))
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    low, high = min(values.min() for values, _ in lines), max(values.max() for values, _ in lines)
    ticks = [4.0 ** power for power in range(-2, 40) if low / 2 <= 4.0 ** power <= high * 2]
    axes.set_yticks(ticks, [style.size_text(tick) for tick in ticks])
    shown = [2.0 ** power for power in range(60) if tokens.min() <= 2.0 ** power <= tokens.max()]
    shown = shown[::-(-len(shown) // 7)]
    axes.set_xticks(shown, [f"{tick:,.0f}" for tick in shown])
    axes.minorticks_off()
    axes.grid(alpha=0.25, linewidth=0.6)
    one = list(dict(named).get("batch", [])) == [1]
    axes.set(xlabel="tokens in the cache", ylabel="cache of one sequence" if one else "cache")
    shared = [(name, values[0]) for _, name, values in others if len(values) == 1]
    axes.set_title(line_name([pair for pair in shared if pair != ("batch", 1)]), fontsize=9)
    highest = lines[0][0]
    for wanted in options.mark:
        found = np.flatnonzero(tokens == wanted)
        if not len(found):
            style.refuse(f"--mark {wanted}: the file has no such number of tokens", status=style.USAGE)
        size = highest[found[0]]
        axes.plot(wanted, size, color="black", marker="o", markersize=5, zorder=5)
        # Up and to the left, where no line is.
        axes.annotate(f"{wanted:,} tokens: {style.size_text(size)}", (wanted, size), ha="right",
                      va="bottom", fontsize=8, xytext=(-7, 2), textcoords="offset points")
    if any(words for _, words in labels):
        style.label_ends(axes, labels)
    return figure


def main(arguments=None):
    return style.run(options_of(arguments), draw)


if __name__ == "__main__":
    sys.exit(main())
