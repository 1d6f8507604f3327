#!/usr/bin/python3
"""Draws how many rows went through the key projection while n tokens were generated, with and
without a cache: counted ones as points over their formulas as lines.

  kvcache-bench --dim 8 --heads 1 --tokens 1-512+1 --counts-only -o counts.h5
  scripts/plot_kvcache_counts.py counts.h5 -o counts.png

Takes a file of kvcache-bench over several lengths; --log shows both slopes, 1 and 2.
"""
import sys

import plot_style as style
from plot_style import np, plt

MARKS = 24  # points drawn on each line
WAYS = [("none", style.ORANGE, "n(n + 1) / 2", "recomputing the prefix"),
        ("contiguous", style.BLUE, "n", "with a cache"),
        ("paged", style.GREEN, "n", "with a paged cache")]


def options_of(arguments):
    parser = style.parser(__doc__)
    parser.add_argument("--log", action="store_true", help="both axes logarithmic")
    return parser.parse_args(arguments)


def counted(file, cache):
    """(tokens, rows counted, rows expected) of decoding, by tokens; of the first kv_heads."""
    column = {name: style.dataset(file, f"results/{name}")
              for name in ("cache", "phase", "tokens", "prompt", "kv_heads", "key_rows", "key_rows_expected")}
    kept = [row for row in range(len(column["tokens"]))
            if style.text(column["phase"][row]) == "decode"
            and style.text(column["cache"][row]) == cache
            and column["prompt"][row] == 0 and column["kv_heads"][row] == column["kv_heads"][0]]
    kept.sort(key=lambda row: column["tokens"][row])
    return tuple(column[name][kept] for name in ("tokens", "key_rows", "key_rows_expected"))


def draw(file, options):
    figure, axes = plt.subplots(figsize=(7.2, 3.6))
    labels = []
    for cache, colour, formula, name in WAYS:
        tokens, rows, expected = counted(file, cache)
        if len(tokens) < 2:
            continue
        line, = axes.plot(tokens, expected, color=colour)
        space = np.geomspace if options.log else np.linspace
        marked = np.unique(np.searchsorted(tokens, space(tokens[0], tokens[-1], MARKS)).clip(
            max=len(tokens) - 1))
        axes.plot(tokens[marked], rows[marked], color=colour, marker="o", markersize=4, linestyle="none",
                  markerfacecolor="white", clip_on=False, zorder=3)
        labels.append((line, f"{rows[-1]:,} at n = {tokens[-1]:,}\n{name}: {formula}"))
    if not labels:
        style.refuse(f"{style.name_of(file)}: a curve needs decoding of two lengths or more",
                     "kvcache-bench --tokens 1-512+1 --counts-only -o FILE writes them")
    if options.log:
        axes.set(xscale="log", yscale="log")
    else:
        axes.set(xlim=(0, max(line.get_xdata()[-1] for line, _ in labels)), ylim=(0, None))
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.set(xlabel="tokens generated, n", ylabel="token rows through the key projection")
    axes.plot([], [], color=style.GREY, label="formula")
    axes.plot([], [], color=style.GREY, marker="o", markersize=4, markerfacecolor="white",
              linestyle="none", label="counted by the layer")
    axes.legend(loc="upper left")
    style.label_ends(axes, labels)
    return figure


def main(arguments=None):
    return style.run(options_of(arguments), draw)


if __name__ == "__main__":
    sys.exit(main())
