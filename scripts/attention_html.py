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
import base64
import hashlib
import html
import io
import json
import os
import pathlib
import sys
import tempfile

try:
    import h5py
    import numpy as np
except ImportError as error:
    print("attention_html.py: %s: apt-get install python3-h5py" % error, file=sys.stderr)
    sys.exit(3)

MOST_BYTES = 5_000_000      # of the whole page
FINE_BYTES = 400_000        # up to here a weight may take 16 bits
MOST_READ = 4 << 30         # of one dataset
MOST_PIPED = 1 << 30        # of a file that comes through a pipe
LONGEST = 200               # letters of a token, or a browser does not come to an end with them
PAGE = pathlib.Path(__file__).resolve().parent / "attention_html"
# In this order: a later file uses what an earlier one defines.
SCRIPTS = ("data", "colors", "state", "thumbnails", "map", "lines", "tokens", "words", "main")
GROUPS = ("", "encoder", "decoder", "cross")
NAMES = {"": "self-attention", "encoder": "encoder self-attention",
         "decoder": "decoder self-attention", "cross": "cross-attention",
         "weights": "weights", "weights_causal": "weights, causal"}


class UsageError(Exception):
    """What the command line asks for cannot be done: exit status 2."""


class DataError(Exception):
    """The file is not what is wanted: exit status 3."""


# ---- What the file holds ------------------------------------------------------------------------

def member(group, name, wanted=h5py.Dataset):
    """A dataset or group inside this file, or None; nothing outside of it is followed."""
    link = group.get(name, getlink=True)
    if link is None or isinstance(link, h5py.ExternalLink):
        return None
    found = group.get(name)
    if not isinstance(found, wanted):
        return None
    if isinstance(found, h5py.Dataset) and (found.is_virtual or found.external):
        raise DataError("%s keeps its data in another file" % found.name)
    return found


def axis(group, name, count):
    """The numbers of an axis where the file gives them, else 0, 1, 2, ..."""
    found = member(group, name)
    if found is not None and found.shape == (count,) and found.dtype.kind in "iu":
        return [int(number) for number in found[:]]
    return list(range(count))


def labels(group, name, count):
    found = member(group, name)
    if found is None:
        return None
    if found.shape != (count,):
        raise DataError("%s has shape %s, but there are %d tokens" % (found.name, found.shape, count))
    texts = []
    for value in found[:]:
        texts.append(value.decode("utf-8", "backslashreplace") if isinstance(value, bytes)
                     else str(value))
    return texts


def hidden_of(group, name, weights):
    """True where a query may not look, and where that was learnt from."""
    hidden = member(group, "hidden") if name == "attention" else None
    if hidden is not None:
        if hidden.shape != weights.shape[2:]:
            raise DataError("%s has shape %s, the maps %s" % (hidden.name, hidden.shape, weights.shape))
        if hidden.dtype.kind not in "biu":
            raise DataError("%s: wanted whole numbers, not %s" % (hidden.name, hidden.dtype))
        return np.broadcast_to(hidden[:] != 0, weights.shape), None
    scores = member(group, name.replace("weights", "scores", 1))
    if name.startswith("weights") and scores is not None and scores.size == weights.size:
        masked = np.isneginf(scores[:]).reshape(weights.shape)
        if masked.any():
            return masked, None
    masked = weights == 0
    return masked, "weights of exactly 0 are taken for masked" if masked.any() else None


class Part:
    """The maps of one kind of attention: weights (blocks, heads, queries, keys) and their names."""

    def __init__(self, dataset):
        group = dataset.parent
        name = dataset.name.rsplit("/", 1)[1]
        if dataset.dtype.kind != "f" or not 2 <= dataset.ndim <= 4 or 0 in dataset.shape:
            raise DataError("%s: wanted floating-point (block, head, query, key), not %s of shape %s"
                            % (dataset.name, dataset.dtype, dataset.shape))
        if dataset.size * dataset.dtype.itemsize > MOST_READ:
            raise DataError("%s: %d values are too many to read" % (dataset.name, dataset.size))
        shape = (1,) * (4 - dataset.ndim) + dataset.shape
        self.weights = dataset[()].astype(np.float64).reshape(shape)
        outside = (self.weights < 0) | (self.weights > 1.001)
        if outside.any():
            raise DataError("%s: %g is no attention weight, which lie from 0 to 1"
                            % (dataset.name, self.weights[outside][0]))
        self.hidden, self.note = hidden_of(group, name, self.weights)
        plain = group.name.strip("/")
        self.name = (NAMES.get(plain, plain) if name == "attention"
                     else NAMES.get(dataset.name.strip("/"), dataset.name.strip("/")))
        self.outer = "block" if name == "attention" else "sequence"
        self.blocks = axis(group, "block", shape[0])
        self.heads = axis(group, "head", shape[1])
        self.at = [[str(number) for number in axis(group, side, count)]
                   for side, count in zip(("query", "key"), shape[2:])]
        self.tokens = [labels(group, side + "_token", count)
                       for side, count in zip(("query", "key"), shape[2:])]
        self.one_text = plain != "cross" and self.at[0] == self.at[1] and \
            self.tokens[0] == self.tokens[1]

    def keep(self, which, chosen):
        """Only these places of an axis (0 blocks, 1 heads, 2 queries, 3 keys)."""
        self.weights = np.take(self.weights, chosen, which)
        self.hidden = np.take(self.hidden, chosen, which)
        pick = lambda values: values and [values[i] for i in chosen]
        if which == 0:
            self.blocks = pick(self.blocks)
        elif which == 1:
            self.heads = pick(self.heads)
        else:
            self.at[which - 2] = pick(self.at[which - 2])
            self.tokens[which - 2] = pick(self.tokens[which - 2])

    def pool(self, size):
        """Each cell becomes the largest of size x size: masked where all of them are."""
        kept = np.where(self.hidden, -1.0, self.weights)
        for which in (2, 3):
            starts = np.arange(0, kept.shape[which], size)
            kept = np.maximum.reduceat(kept, starts, which)
            ends = [min(start + size, self.weights.shape[which]) for start in starts]
            at, tokens = self.at[which - 2], self.tokens[which - 2]
            self.at[which - 2] = [at[a] if b - a == 1 else at[a] + "-" + at[b - 1]
                                  for a, b in zip(starts, ends)]
            if tokens:
                self.tokens[which - 2] = [" ".join(tokens[a:b]) for a, b in zip(starts, ends)]
        self.hidden = kept == -1.0
        self.weights = np.where(self.hidden, 0.0, kept)

    def coded(self, bits):
        """One number a cell, fine where weights are small: the root of the weight times `top`, then
        one number for what is not finite and one for what is masked."""
        top = (1 << bits) - 3
        with np.errstate(invalid="ignore"):
            codes = np.rint(np.sqrt(np.minimum(self.weights, 1.0)) * top)
        codes = np.where(np.isfinite(self.weights), codes, top + 1)
        codes = np.where(self.hidden, top + 2, codes)
        return base64.b64encode(codes.astype("<u%d" % (bits // 8)).tobytes()).decode("ascii")

    def described(self, bits):
        cut = lambda token: token if len(token) <= LONGEST else token[:LONGEST - 1] + "…"
        tokens = [side and list(map(cut, side)) for side in self.tokens]
        return {"name": self.name, "outer": self.outer, "blocks": self.blocks, "heads": self.heads,
                "at": self.at, "tokens": tokens, "oneText": bool(self.one_text), "bits": bits,
                "weights": self.coded(bits)}


def parts_of(file, wanted):
    """The datasets to show: those asked for, a dump's, or those of attn-check -o."""
    if wanted:
        found = [(name, member(file, name)) for name in wanted]
        for name, dataset in found:
            if dataset is None:
                raise DataError("holds no dataset %s" % name)
        return [Part(dataset) for _, dataset in found]
    others = sorted(name for name in file if name not in GROUPS and
                    member(file, name, h5py.Group) is not None)
    groups = [member(file, name, h5py.Group) if name else file for name in [*GROUPS, *others]]
    datasets = [member(group, "attention") for group in groups if group is not None]
    datasets = [one for one in datasets if one is not None]
    if not datasets:
        datasets = [member(file, name) for name in sorted(file) if name.startswith("weights")]
        datasets = [one for one in datasets if one is not None]
    if not datasets:
        raise DataError("holds no attention maps: wanted /attention, as tinygpt-generate "
                        "--dump-attention writes it, or /weights, as attn-check -o does")
    return [Part(dataset) for dataset in datasets]


def history_of(file):
    history = file.attrs.get("history", "")
    if isinstance(history, bytes):
        history = history.decode("utf-8", "backslashreplace")
    return [line for line in str(history).split("\n") if line]


def read_whole(stream):
    """What a pipe holds."""
    content = stream.read(MOST_PIPED + 1)
    if len(content) > MOST_PIPED:
        raise DataError("more than %d bytes: write a file first" % MOST_PIPED)
    return io.BytesIO(content)


# ---- What was asked for -------------------------------------------------------------------------

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


# ---- The page -----------------------------------------------------------------------------------

def coded_bytes(parts, bits, pool=1):
    cells = 0
    for part in parts:
        blocks, heads, queries, keys = part.weights.shape
        cells += blocks * heads * -(-queries // pool) * -(-keys // pool)
    return cells * bits // 8 * 4 // 3 + 8 * len(parts)


def script_data(data):
    """JSON that cannot end the element it stands in."""
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"), sort_keys=True)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def page(data):
    script = "(() => {\n'use strict';\n" + "".join(
        (PAGE / (name + ".js")).read_text("utf-8") for name in SCRIPTS) + "})();\n"
    style = (PAGE / "page.css").read_text("utf-8")
    digest = lambda text: base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode()
    text = (PAGE / "page.html").read_text("utf-8")
    # The data come last, so that nothing in them is taken for a place to fill.
    for place, filling in (("@SCRIPT_DIGEST@", digest(script)), ("@STYLE@", style),
                           ("@SCRIPT@", script), ("@TITLE@", html.escape(data["title"])),
                           ("@DATA@", script_data(data))):
        before, after = text.split(place)
        text = before + filling + after
    return text.encode("utf-8")


def build(parts, pool, title, history):
    """The bytes of the page and what is to be said about it."""
    notes = sorted({part.note for part in parts if part.note})
    data = lambda bits: {"title": title, "history": history, "notes": notes, "pool": pool,
                         "parts": [part.described(bits) for part in parts]}
    longest = max(max(part.weights.shape[2:]) for part in parts)
    # What names, history and the viewer take is not known before they are written: leave room.
    room = MOST_BYTES - 400_000
    fitting = next((p for p in range(1, longest + 1) if coded_bytes(parts, 8, p) <= room), None)
    if pool is None:
        pool = fitting
    if pool is None or coded_bytes(parts, 8, pool) > room:
        raise UsageError("%.1f MB of weights do not fit in a page of %d MB: choose a part by --blocks, "
                         "--heads or --tokens%s" % (coded_bytes(parts, 8, pool or 1) / 1e6,
                                                    MOST_BYTES // 10**6,
                                                    ", or --pool %d" % fitting if fitting else ""))
    if pool > 1:
        for part in parts:
            part.pool(pool)
        notes.append("each cell is the largest of %d x %d" % (pool, pool))
    text = page(data(16 if coded_bytes(parts, 16) <= FINE_BYTES else 8))
    if len(text) > MOST_BYTES:
        raise UsageError("%d bytes are more than a page of %d MB: choose a part by --blocks, --heads "
                         "or --tokens" % (len(text), MOST_BYTES // 10**6))
    return text, notes


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
    except UsageError as error:
        print("attention_html.py: %s" % error, file=sys.stderr)
        return 2
    except DataError as error:
        name = "stdin" if options.input == "-" else options.input
        print(ascii("attention_html.py: %s: %s" % (name, error))[1:-1], file=sys.stderr)
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
