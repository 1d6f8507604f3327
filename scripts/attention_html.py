#!/usr/bin/python3
"""Makes one HTML file to look at attention: all heads as thumbnails, one of them large.

  tinygpt-generate model.h5 --prompt "3 5" --new-tokens 10 --dump-attention heads.h5
  scripts/attention_html.py heads.h5 -o heads.html
  attn-check --tokens 6 -o - | scripts/attention_html.py - -o maps.html
  scripts/attention_html.py long.h5 --blocks 0-1 --heads 3 --tokens 0-255 -o part.html

The file needs no network and stays under 5 MB; what is larger is pooled, and that is said. The same
input gives the same bytes. Needs python3-h5py. Exit status: 0 done, 2 usage, 3 data or I/O.
"""
import argparse
import os
import sys

from hdf5_script import DONE, USAGE, Parser, check_output, opened, printable, refuse, tool, write_whole

try:
    from attention_maps import DataError, history_of, parts_of
    from attention_page import TooLarge, build
except ImportError as error:
    refuse(f"{sys.executable} has no {error.name}",
           "apt-get install python3-h5py   (for /usr/bin/python3)")


def numbers(text):
    """0,2,5-7"""
    chosen = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise argparse.ArgumentTypeError("%r is no list like 0,2,5-7" % text)
        chosen.append(range(int(first), int(last if dash else first) + 1))
    if any(not span for span in chosen):
        raise argparse.ArgumentTypeError("%r holds an empty range" % text)
    return chosen


def size(text):
    if not text.isdecimal() or not 1 <= int(text) <= 4096:
        raise argparse.ArgumentTypeError("%r is no count from 1 to 4096" % text)
    return int(text)


def choose(parts, option, which, spans):
    """Keeps the numbers asked for in each part that has them; one that no part has is a mistake."""
    if spans is None:
        return
    taken = set()
    for part in parts:
        names = {0: part.blocks, 1: part.heads}.get(which) if which < 2 else \
            list(range(part.weights.shape[which]))
        chosen = [names.index(n) for n in names if any(n in span for span in spans)]
        taken.update(names[i] for i in chosen)
        if not chosen:
            refuse("--%s: %s has none of them: it has %d to %d"
                   % (option, part.name, names[0], names[-1]), status=USAGE)
        part.keep(which, chosen)
    for span in spans:
        if span[-1] not in taken:
            refuse("--%s: there is no %d: the last is %d" % (option, span[-1], max(taken)),
                   status=USAGE)


def parser():
    options = Parser(description=__doc__)
    options.add_argument("input", metavar="FILE", help="HDF5 with attention maps, - for stdin")
    options.add_argument("-o", "--output", required=True, metavar="OUT.html", help="- for stdout")
    options.add_argument("--dataset", action="append", metavar="PATH",
                         help="show this one, of (block, head, query, key), (head, query, key) or "
                              "(query, key); may be repeated")
    for name, what in (("blocks", "blocks"), ("heads", "heads"),
                       ("tokens", "positions, of queries and keys"), ("queries", "queries"),
                       ("keys", "keys")):
        options.add_argument("--" + name, type=numbers, metavar="LIST",
                             help="only these %s: 0,2,5-7" % what)
    options.add_argument("--pool", type=size, metavar="N",
                         help="each cell the largest of N x N (default: as much as 5 MB ask for)")
    options.add_argument("--title", help="heading (default: the name of the file)")
    options.add_argument("-q", "--quiet", action="store_true", help="say nothing but errors")
    return options


def read_parts(options):
    """The maps to show and the file's history."""
    name = "stdin" if options.input == "-" else options.input
    try:
        with opened(options.input) as file:
            return parts_of(file, options.dataset), history_of(file)
    except DataError as error:
        refuse(f"{name}: {error}")
    except (OSError, RuntimeError, KeyError, ValueError) as error:
        # What a damaged file leads to deep inside.
        refuse(f"{name}: cannot be read: {' '.join(str(error).split())}")


def main():
    options = parser().parse_args()
    if options.tokens and (options.queries or options.keys):
        refuse("--tokens is both --queries and --keys: give either", status=USAGE)
    check_output(options.output, [options.input])
    parts, history = read_parts(options)
    for option, which, spans in (("blocks", 0, options.blocks), ("heads", 1, options.heads),
                                 ("tokens" if options.tokens else "queries", 2,
                                  options.tokens or options.queries),
                                 ("tokens" if options.tokens else "keys", 3,
                                  options.tokens or options.keys)):
        choose(parts, option, which, spans)
    title = os.fsencode(options.title or ("stdin" if options.input == "-"
                                          else os.path.basename(options.input)))
    try:
        content, notes = build(parts, options.pool, title.decode("utf-8", "backslashreplace"), history)
    except TooLarge as error:
        refuse(str(error), status=USAGE)
    write_whole(options.output, content)
    if not options.quiet:
        shapes = "; ".join("%s %s" % (part.name, " x ".join(map(str, part.weights.shape)))
                           for part in parts)
        output = "stdout" if options.output == "-" else options.output
        for said in (*notes, "wrote %s, %.2f MB: %s" % (output, len(content) / 1e6, shapes)):
            print("%s: %s" % (tool(), printable(said)), file=sys.stderr)
    return DONE


if __name__ == "__main__":
    sys.exit(main())
