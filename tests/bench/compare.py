#!/usr/bin/env python3
"""Two files of bench.py -o, row by row: how ours moved between two commits.

    tests/bench/compare.py before.jsonl after.jsonl

Of a row with a peer the ratios are compared, since the machine was another at another time; of one
without, the figures. Moves beyond both spreads are marked.
"""
import json
import sys

from harness import ending


def read(name):
    with open(name, encoding="utf-8") as lines:
        try:
            return {record["row"]: record for record in map(json.loads, lines)}
        except (KeyError, TypeError, ValueError):
            sys.exit(f"compare.py: {name}: not what bench.py -o writes, a JSON record a line")


def figure(record):
    return record["ratio"] if record["ratio"] is not None else record["ours"]


def main():
    if len(sys.argv) != 3 or sys.argv[1].startswith("-"):
        print(__doc__)
        return 0 if sys.argv[1:] in (["-h"], ["--help"]) else 2
    before, after = map(read, sys.argv[1:])
    for name, file in ((sys.argv[1], before), (sys.argv[2], after)):
        some = next(iter(file.values()), {})
        print(f"{name}: {some.get('commit')}, {some.get('processor')}, PyTorch {some.get('pytorch')}")
    print(f"\n{'row':33} {'before':>10} {'after':>10} {'change':>8}")
    for name, old in before.items():
        new = after.get(name)
        if new is None or (old["ratio"] is None) != (new["ratio"] is None):
            print(f"{name:33} {'only before, or with another peer':>30}")
            continue
        change = figure(new) / figure(old) - 1
        spread = max(old["spread"], new["spread"])
        mark = "" if abs(change) <= max(spread, .05) else " better" if change < 0 else " WORSE"
        print(f"{name:33} {figure(old):10.4g} {figure(new):10.4g} {100 * change:+7.1f}%{mark}")
    for name in after.keys() - before.keys():
        print(f"{name:33} {'only after':>21}")
    return 0


if __name__ == "__main__":
    sys.exit(ending.run(main))
