#!/usr/bin/env python3
"""Writes vocab.json, merges.txt and cases.json beside itself.

The merges are learnt from this script's own text: again and again the pair of neighbours that
occurs most often (the first in order of bytes among equals) becomes one word. cases.json holds
texts and their ids by a plain reading of GPT-2's algorithm, which shares nothing with the C++.
Needs the regex module (pattern classes of Unicode).
"""

import collections
import json
import pathlib
import regex

HERE = pathlib.Path(__file__).parent
MERGES = 160
END = "<|endoftext|>"
PIECES = regex.compile(
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+")


def alphabet():
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    rest = [byte for byte in range(256) if byte not in plain]
    return {**{b: chr(b) for b in plain}, **{b: chr(256 + i) for i, b in enumerate(rest)}}


LETTERS = alphabet()


def spelled(text):
    return ["".join(LETTERS[b] for b in piece.encode()) for piece in PIECES.findall(text)]


def merged(word, pair):
    out, at = [], 0
    while at < len(word):
        here = tuple(word[at:at + 2]) == pair
        out.append(word[at] + word[at + 1] if here else word[at])
        at += 2 if here else 1
    return out


def learn(text):
    words = collections.Counter(spelled(text))
    parts = {word: list(word) for word in words}
    merges = []
    while len(merges) < MERGES:
        pairs = collections.Counter()
        for word, count in words.items():
            for pair in zip(parts[word], parts[word][1:]):
                pairs[pair] += count
        if not pairs:
            break
        best = min(pairs, key=lambda pair: (-pairs[pair], pair))
        merges.append(best)
        parts = {word: merged(part, best) for word, part in parts.items()}
    return merges


def encode(text, merges, ids):
    ranks = {pair: rank for rank, pair in enumerate(merges)}
    found = []
    for piece in spelled(text):
        word = list(piece)
        while len(word) > 1:
            pair = min(zip(word, word[1:]), key=lambda p: ranks.get(p, len(ranks)))
            if pair not in ranks:
                break
            word = merged(word, pair)
        found += [ids[part] for part in word]
    return found


TEXTS = [
    "", " ", "\n", "the other", "  the\n\n the ", "don't we'll I'M it's ''s", "aaa 1234 5th",
    "caf\u00e9 e\u0301 \u65e5\u672c\u8a9e \u0665\u00b2 \U0001f642\U0001f3fd", "tab\tand\r\n end \t ",
    "a\u00a0b\u2003c\u0085d\ufeffe\u180ef", "!!??...--- _x_", "words words wordswords",
]


def main():
    text = pathlib.Path(__file__).read_text(encoding="utf-8")
    merges = learn(text)
    words = [LETTERS[b] for b in range(256)] + [a + b for a, b in merges] + [END]
    ids = {word: n for n, word in enumerate(words)}
    assert len(ids) == len(words)
    with open(HERE / "vocab.json", "w", encoding="utf-8") as file:
        json.dump(ids, file)
        file.write("\n")
    with open(HERE / "merges.txt", "w", encoding="utf-8") as file:
        file.write("#version: 0.2\n" + "".join(f"{a} {b}\n" for a, b in merges))
    cases = [{"text": t, "ids": encode(t, merges, ids)} for t in [*TEXTS, text]]
    with open(HERE / "cases.json", "w", encoding="utf-8") as file:
        json.dump({"cases": cases}, file)
        file.write("\n")


if __name__ == "__main__":
    main()
