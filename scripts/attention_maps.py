"""Attention maps of a file: which there are, their names, and what a mask hides in them.

For scripts that look at /attention (block, head, query, key) of tinygpt-generate --dump-attention,
or /weights (batch, head, query, key) of attn-check -o. Needs python3-h5py.
"""
import h5py
import numpy as np

MOST_READ = 4 << 30         # of one dataset
GROUPS = ("", "encoder", "decoder", "cross")
NAMES = {"": "self-attention", "encoder": "encoder self-attention",
         "decoder": "decoder self-attention", "cross": "cross-attention",
         "weights": "weights", "weights_causal": "weights, causal"}


class DataError(ValueError):
    """The file is not what is wanted."""


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
    """Which cells of the weights (block, head, query, key) a mask hides, and how that is known where
    the file does not say it: a mask is the same for all heads of a block, and what no head of it
    gives any weight is taken for hidden."""
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
    masked = np.broadcast_to((weights == 0).all(axis=1, keepdims=True), weights.shape)
    return masked, "weights of exactly 0 in all heads are taken for masked" if masked.any() else None


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
