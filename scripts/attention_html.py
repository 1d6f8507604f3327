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
import io
import os
import pathlib
import sys
import tempfile

try:
    import h5py

    from attention_maps import DataError, history_of, parts_of
    from attention_page import TooLarge, build
except ImportError as error:
    print("attention_html.py: %s: apt-get install python3-h5py" % error, file=sys.stderr)
    sys.exit(3)

MOST_PIPED = 1 << 30        # of a file that comes through a pipe


class UsageError(Exception):
    """What the command line asks for cannot be done: exit status 2."""


def read_whole(stream):
    """What a pipe holds."""
    content = stream.read(MOST_PIPED + 1)
    if not content:
        raise DataError("input is empty (did the command before the pipe fail?)")
    if len(content) > MOST_PIPED:
        raise DataError("more than %d bytes: write a file first" % MOST_PIPED)
    return io.BytesIO(content)


def numbers(text):
    """0,2,5-7"""
    chosen = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        if not first.isdigit() or (dash and not last.isdigit()):
            raise argparse.ArgumentTypeError("%r is no list like 0,2,5-7" % text)
        chosen.append(range(int(first), int(last if dash else first) + 1))
    if any(not span for span in chosen):
        raise argparse.ArgumentTypeError("%r holds an empty range" % text)
    return chosen


def size(text):
    if not text.isdigit() or not 1 <= int(text) <= 4096:
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
            raise UsageError("--%s: %s has none of them: it has %d to %d"
                             % (option, part.name, names[0], names[-1]))
        part.keep(which, chosen)
    for span in spans:
        if span[-1] not in taken:
            raise UsageError("--%s: there is no %d: the last is %d" % (option, span[-1], max(taken)))


def write(path, content):
    """Whole or not at all; into a pipe or device as it comes."""
    if path == "-":
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
        return
    if os.path.exists(path) and not os.path.isfile(path):
        with open(path, "wb") as stream:
            stream.write(content)
        return
    path = os.path.realpath(path)  # a link stays one
    folder = os.path.dirname(path) or "."
    descriptor, temporary = tempfile.mkstemp(dir=folder, prefix=".attention_html-")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def parser():
    options = argparse.ArgumentParser(
        prog="attention_html.py", allow_abbrev=False, description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
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


def run(options):
    if options.tokens and (options.queries or options.keys):
        raise UsageError("--tokens is both --queries and --keys: give either")
    if options.output == "-" and sys.stdout.isatty():
        raise UsageError("-o -: HTML is not for a terminal")
    try:
        if options.input == "-":
            source = read_whole(sys.stdin.buffer)
        elif pathlib.Path(options.input).is_file():
            source = options.input
        else:
            with open(options.input, "rb") as stream:  # a pipe such as <(command)
                source = read_whole(stream)
        with h5py.File(source, "r") as file:
            parts = parts_of(file, options.dataset)
            history = history_of(file)
    except (OSError, RuntimeError, KeyError, ValueError) as error:
        raise DataError(str(error).split("\n")[0]) from error
    for option, which, spans in (("blocks", 0, options.blocks), ("heads", 1, options.heads),
                                 ("tokens" if options.tokens else "queries", 2,
                                  options.tokens or options.queries),
                                 ("tokens" if options.tokens else "keys", 3,
                                  options.tokens or options.keys)):
        choose(parts, option, which, spans)
    name = "stdin" if options.input == "-" else os.path.basename(options.input)
    title = os.fsencode(options.title or name).decode("utf-8", "backslashreplace")
    content, notes = build(parts, options.pool, title, history)
    try:
        write(options.output, content)
    except OSError as error:
        raise DataError("%s: %s" % (options.output, error.strerror)) from error
    if not options.quiet:
        shapes = "; ".join("%s %s" % (part.name, " x ".join(map(str, part.weights.shape)))
                           for part in parts)
        for note in notes:
            print("attention_html.py: %s" % note, file=sys.stderr)
        print("attention_html.py: wrote %s, %.2f MB: %s" % (options.output, len(content) / 1e6, shapes),
              file=sys.stderr)


def main():
    options = parser().parse_args()
    try:
        run(options)
    except (UsageError, TooLarge) as error:
        print("attention_html.py: %s" % error, file=sys.stderr)
        return 2
    except DataError as error:
        name = "stdin" if options.input == "-" else options.input
        print(ascii("attention_html.py: %s: %s" % (name, error))[1:-1], file=sys.stderr)
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
