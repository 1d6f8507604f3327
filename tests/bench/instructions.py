#!/usr/bin/env python3
"""Instructions of fixed small work, counted by valgrind: a guard that no busy machine disturbs.

    tests/bench/instructions.py               # beside what instructions.tsv records; 1 if more
    tests/bench/instructions.py --record      # write instructions.tsv anew

A workload of ours/bench_side runs once and three times; half the difference is one run, without
start and warm-up. Valgrind has no AVX-512, so these are the AVX2 kernels, and OpenBLAS is told the
same. The counts are of one compiler and its options: record again where those change, and say why
in the commit where they do not.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys

from harness import ending

HERE = pathlib.Path(__file__).resolve().parent
RECORD = HERE / "instructions.tsv"
WORKLOADS = {
    "training": "training batch=16",
    "attention": "attention n=128 heads=1 causal=0",
    "attention-causal": "attention n=128 heads=1",
    "attention-backward": "attention n=128 heads=1 backward=1",
    "layer": "layer tokens=64",
    "layer-pages-16": "layer tokens=64 cache=paged page_size=16",
    "layer-recomputed": "layer tokens=32 cache=none rows=all",
    "decode": "decode dim=128 heads=4 depth=2 prompt=32 new_tokens=8",
}
# Some of the work (hashing, growing of tables) depends on addresses.
MOST_GROWTH = 1.03


def instructions(bench_side, workload, runs):
    env = dict(os.environ, OPENBLAS_CORETYPE="Haswell", OMP_NUM_THREADS="1",
               OPENBLAS_NUM_THREADS="1")
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", bench_side,
               *workload.split()]
    run = subprocess.run(command, env=env, input="run\n" * runs, capture_output=True, text=True,
                         check=False)
    counted = re.search(r"Collected : (\d+)", run.stderr)
    if run.returncode != 0 or not counted:
        sys.exit(f"instructions.py: {workload}: {run.stderr.strip()}")
    return int(counted.group(1))


def recorded():
    if not RECORD.exists():
        return {}
    lines = RECORD.read_text(encoding="utf-8").splitlines()
    return {name: int(count) for name, count in
            (line.split("\t") for line in lines if not line.startswith("#"))}


def main():
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench-side", type=pathlib.Path, help="our side's program",
                        default=HERE.parents[1] / "build/release/tests/bench_side")
    parser.add_argument("--record", action="store_true", help="write instructions.tsv anew")
    arguments = parser.parse_args()
    if not shutil.which("valgrind"):
        print("no valgrind: nothing was counted")
        return 0
    before, now, grown = recorded(), {}, []
    print(f"{'workload':20} {'recorded':>14} {'now':>14} {'change':>8}")
    for name, workload in WORKLOADS.items():
        once, thrice = (instructions(arguments.bench_side, workload, runs) for runs in (1, 3))
        now[name] = (thrice - once) // 2
        old = before.get(name)
        change = f"{100 * (now[name] / old - 1):+.1f}%" if old else "new"
        if old and now[name] > MOST_GROWTH * old:
            grown.append(name)
        print(f"{name:20} {old or '-':>14} {now[name]:14} {change:>8}", flush=True)
    if arguments.record:
        rows = "".join(f"{name}\t{count}\n" for name, count in now.items())
        RECORD.write_text("# workload\tinstructions\n" + rows, encoding="utf-8")
        return 0
    if grown:
        print(f"more than {MOST_GROWTH - 1:.0%} above the record: {', '.join(grown)}")
    return int(bool(grown))


if __name__ == "__main__":
    sys.exit(ending.run(main))
