#!/usr/bin/env python3
"""Ours beside PyTorch: training, attention, decoding and start-up, run in alternation.

    tests/bench/bench.py                                   # everything: about a quarter of an hour
    tests/bench/bench.py --only 'layer.*' --quick
    tests/bench/bench.py --python ~/venv/bin/python -o today.jsonl
    tests/bench/compare.py before.jsonl today.jsonl

Each row keeps one process of ours and one of PyTorch's, which take turns, so that what slows the
machine down slows both. PyTorch gets the best kernels of OpenBLAS that the processor has (Debian's
library falls back to SSE3 on processors it does not know); --core-type sets another for both. Where
no interpreter has torch (Debian: python3-torch), our side is measured alone. On a busy machine run
all of it under "chrt -r 5", which lets nobody else come between. Prints figures; exit status 0
whatever they are, unless --strict.
"""
import argparse
import datetime
import fnmatch
import json
import os
import pathlib
import platform
import subprocess
import sys

from harness import ending, report
from harness.measure import Pace, Yardsticks, samples_of
from harness.records import record_of
from harness.rows import all_rows
from harness.sides import Programs, interpreter_with_torch

ROOT = pathlib.Path(__file__).resolve().parents[2]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release",
                        help="folder that was built in")
    parser.add_argument("--only", action="append", metavar="PATTERN",
                        help="rows whose name fits, such as 'train.*'; may be repeated")
    parser.add_argument("--list", action="store_true", help="name the rows and stop")
    parser.add_argument("--quick", action="store_true", help="few rounds of each")
    parser.add_argument("--seconds", type=float, help="spent on a pair, from the third round on")
    parser.add_argument("--python", help="the interpreter that has torch")
    parser.add_argument("--core-type", metavar="NAME", help="OPENBLAS_CORETYPE of both sides")
    parser.add_argument("-o", "--output", type=pathlib.Path, metavar="FILE",
                        help="write a JSON record a row")
    parser.add_argument("--strict", action="store_true", help="exit 1 if a bar was missed")
    return parser.parse_args()


def processor():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            return next(line.split(": ", 1)[1].strip() for line in lines
                        if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.machine()


def commit():
    asked = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], check=False,
                           capture_output=True, text=True)
    return asked.stdout.strip() or None


def context_of(programs, yardsticks):
    """What every record says of where it was made."""
    theirs = programs.pytorch()
    ours = yardsticks.side.hello
    return {"version": ours["version"], "commit": commit(), "build": ours["build"],
            "blas": ours["blas"], "pytorch": theirs and theirs["version"],
            "pytorch_blas": theirs and theirs["blas"], "processor": processor(),
            "cores": os.cpu_count(), "load": os.getloadavg()[0],
            "date": datetime.date.today().isoformat()}


def introduce(programs, context):
    print(f"attntools {context['version']} ({context['commit']}, {context['build']}),"
          f" {context['blas']}")
    if context["pytorch"]:
        print(f"PyTorch {context['pytorch']} of {programs.python}, {context['pytorch_blas']}")
    else:
        print("no PyTorch (Debian: python3-torch; --python names another interpreter): our side"
              " alone")
    print(f"{context['processor']}, {context['cores']} cores, load {context['load']:.1f}\n")
    print(report.heading(), flush=True)


def rates_beside(row, yardsticks):
    return {"sgemm_peak": yardsticks.sgemm_peak(row.threads) if row.flops else None,
            "read_bandwidth": yardsticks.read_bandwidth(row.working_set, row.threads)
            if row.bytes else None}


def main():
    arguments = parse_arguments()
    build = arguments.build.resolve()
    built = sorted(path for path in (build / "bin").glob("*") if os.access(path, os.X_OK))
    rows = [row for row in all_rows(built) if not arguments.only or any(
        fnmatch.fnmatch(row.name, pattern) for pattern in arguments.only)]
    if not rows:
        return "bench.py: no row fits --only; --list names them"
    if arguments.list:
        print("\n".join(f"{row.name:33} {row.what}" for row in rows))
        return 0
    if not os.access(build / "tests" / "bench_side", os.X_OK):
        return f"bench.py: {build / 'tests/bench_side'} is not built"
    python = interpreter_with_torch(arguments.python)
    if arguments.python and not python:
        return f"bench.py: --python {arguments.python}: cannot import torch"
    output = open(arguments.output, "w", encoding="utf-8") if arguments.output else None
    programs = Programs(build, python, arguments.core_type)
    yardsticks = Yardsticks(programs)
    context = context_of(programs, yardsticks)
    introduce(programs, context)
    seconds = arguments.seconds or (2 if arguments.quick else 12)
    pace = Pace(seconds, 2 if arguments.quick else 3, 9 if arguments.quick else 25)
    kept, missed = {}, 0
    for row in rows:
        samples = samples_of(programs, row, pace, kept)
        record = record_of(row, samples, rates_beside(row, yardsticks), context)
        missed += record["reached"] is False
        print(report.row_line(record), flush=True)
        if output:
            print(json.dumps(record), file=output, flush=True)
    print("\n" + report.LEGEND)
    if output:
        print(f"\nA record a row: {arguments.output} (tests/bench/compare.py holds two together)")
    return int(arguments.strict and missed > 0)


if __name__ == "__main__":
    sys.exit(ending.run(main))
