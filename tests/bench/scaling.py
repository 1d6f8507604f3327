#!/usr/bin/env python3
"""How long our programs take when something grows, each point beside its bound: docs/scaling.md.

    tests/bench/scaling.py -o scaling.h5                     # all curves: some four minutes
    tests/bench/scaling.py --only width --seconds 5 -o width.h5

A step of training against threads, batch, sequence and width; a token against the context that it
sees, and a prompt against its length. Points of a curve take turns, so that what slows the machine
down slows all of them; a point is the median of its samples. On a busy machine run all of it under
"chrt -r 5". FILE is HDF5 of format attntools-bench, for scripts/plot_scaling.py. Needs h5py
(Debian: python3-h5py).
"""
import argparse
import contextlib
import os
import pathlib
import statistics
import sys

from bench import ROOT, commit, processor
from harness.curves import all_curves
from harness.growth import growth
from harness.measure import Pace, Yardsticks, alternated
from harness.sides import Programs

try:
    import h5py
    import numpy as np
except ImportError as error:
    MISSING = error.name  # what --help need not have
else:
    MISSING = None


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release",
                        help="folder that was built in")
    parser.add_argument("--only", action="append", metavar="CURVE", choices=list(all_curves(1)),
                        help=f"of {', '.join(all_curves(1))}; may be repeated")
    parser.add_argument("--seconds", type=float, default=25, help="spent on a curve (default 25)")
    parser.add_argument("--core-type", metavar="NAME", help="OPENBLAS_CORETYPE of ours")
    parser.add_argument("-o", "--output", type=pathlib.Path, metavar="FILE", required=True)
    return parser.parse_args()


def rate_beside(point, yardsticks):
    """Operations or bytes a second that the machine gives so many threads, now."""
    if point.flops:
        return yardsticks.sgemm_peak(point.threads)
    return yardsticks.read_bandwidth(int(point.bytes), point.threads)


def rates_beside(points, yardsticks):
    """Point -> its rate. Points with the same peak share the highest that was measured."""
    rates = {point: rate_beside(point, yardsticks) for point in points}
    peaks = {}
    for point, rate in rates.items():
        if point.flops:
            peaks[point.threads] = max(peaks.get(point.threads, 0), rate)
    return {point: peaks[point.threads] if point.flops else rate for point, rate in rates.items()}


def seconds_of(points, programs, pace):
    """Point -> its samples, after one to warm up."""
    with contextlib.ExitStack() as stack:
        sides = {point: stack.enter_context(programs.ours(point.workload, point.threads))
                 for point in points}
        asked = alternated({point: side.ask for point, side in sides.items()}, pace)
        return {point: [sample["seconds"][point.metric] for sample in samples]
                for point, samples in asked.items()}


def measured(points, programs, yardsticks, pace):
    """A curve's rows for the file."""
    before = rates_beside(points, yardsticks)
    samples = seconds_of(points, programs, pace)
    after = rates_beside(points, yardsticks)
    for point in points:
        # The machine's best is what bounds us: a yardstick can be slowed down too.
        rate = max(before[point], after[point])
        yield {"curve": point.curve, "model": point.model, "x": point.x, "threads": point.threads,
               "workload": point.workload, "flops": float(point.flops), "bytes": float(point.bytes),
               "rate": rate, "bound_ns": 1e9 * (point.flops or point.bytes) / rate,
               "samples_ns": [1e9 * seconds for seconds in samples[point]]}


def print_row(row):
    median = statistics.median(row["samples_ns"])
    low, _, high = statistics.quantiles(row["samples_ns"], n=4, method="inclusive")
    print(f"{row['curve']:9} {row['model']:25} {row['threads']:7} {row['x']:6} {median / 1e6:9.4g}"
          f" {low / 1e6:9.4g} {high / 1e6:9.4g} {row['bound_ns'] / 1e6:9.4g}"
          f" {row['bound_ns'] / median:6.0%}", flush=True)


def write(path, rows, context):
    """One column a dataset and one row a point, as kvcache-bench writes its measurements."""
    rounds = max(len(row["samples_ns"]) for row in rows)
    samples = np.full((len(rows), rounds), np.nan)
    for row, kept in zip(rows, samples):
        kept[:len(row["samples_ns"])] = row["samples_ns"]
    part = path.with_name(f".{path.name}.part")
    with h5py.File(part, "w") as file:
        for name, value in context.items():
            file.attrs[name] = np.bytes_(value) if isinstance(value, str) else value
        results = file.create_group("results")
        for name in rows[0]:
            column = samples if name == "samples_ns" else [row[name] for row in rows]
            results[name] = np.array(column, "S" if isinstance(column[0], str) else None)
        results["median_ns"] = np.nanmedian(samples, axis=1)
    part.replace(path)


def main():
    arguments = parse_arguments()
    if MISSING:
        return (f"scaling.py: {sys.executable} has no {MISSING}\n"
                "  apt-get install python3-h5py   (for /usr/bin/python3)")
    programs = Programs(arguments.build.resolve(), None, arguments.core_type)
    if not os.access(programs.bench_side, os.X_OK):
        return f"scaling.py: {programs.bench_side} is not built"
    if not arguments.output.parent.is_dir():  # not after half an hour of measuring
        return f"scaling.py: {arguments.output.parent}: no such folder"
    cores = len(os.sched_getaffinity(0))
    curves = all_curves(cores)
    yardsticks = Yardsticks(programs)
    ours = yardsticks.side.hello
    context = {"format": "attntools-bench", "format_version": 1, "tool_version": ours["version"],
               "commit": commit() or "", "build": ours["build"], "blas": ours["blas"],
               "processor": processor(), "cores": cores, "load": os.getloadavg()[0]}
    print(f"# attntools {ours['version']} ({context['commit']}, {ours['build']}), {ours['blas']},"
          f" {context['processor']}, {cores} cores, load {context['load']:.1f}")
    print("# curve   model                     threads      x median_ms  lower_ms  upper_ms"
          "  bound_ms  share")
    rows = []
    pace = Pace(arguments.seconds, 5, 25)
    for name, points in curves.items():
        if arguments.only and name not in arguments.only:
            continue
        for row in measured(points, programs, yardsticks, pace):
            print_row(row)
            rows.append(row)
    write(arguments.output, rows, context)
    print("# of these:")
    for line in growth(rows):
        print("#", line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
