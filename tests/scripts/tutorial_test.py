#!/usr/bin/env python3
"""The parts of scripts/tutorial.py that take no time: no number differs from the tutorial's, and a
wrong one would be noticed.

usage: tutorial_test.py BIN_DIR SCRIPTS_FOLDER
"""
import contextlib
import io
import os
import pathlib
import sys
import tempfile

programs = pathlib.Path(sys.argv[1]).resolve()
sys.path.insert(0, os.path.abspath(sys.argv[2]))
import tutorial  # noqa: E402

failures = []


def check(what, good, saw=""):
    print("%-5s %s %s" % ("ok" if good else "WRONG", what, "" if good else repr(saw)))
    if not good:
        failures.append(what)


def printed(work):
    """What work(report) prints, and the report."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        report = tutorial.Report(programs, tsv=True)
        work(report)
        report.end_part()
    return said.getvalue(), report


def quick(report):
    for part in tutorial.QUICK:
        part(report)


os.chdir(tempfile.mkdtemp())
text, report = printed(quick)
rows = [line.split("\t") for line in text.splitlines()]
check("five columns", all(len(row) == 5 for row in rows), rows)
check("dozens of numbers", len(rows) > 45, len(rows))
check("none differs", set(report.count) == {tutorial.SAME, tutorial.AGREES},
      [row for row in rows if row[-1] == tutorial.DIFFERS])


def verdict(method, theirs, ours):
    return printed(lambda report: getattr(report, method)("", theirs, ours))[0].split()[-1]


check("all digits", verdict("digits", "0.401 0.198", [0.40111, 0.19778]) == tutorial.SAME)
check("a digit too far", verdict("digits", "0.401 0.198", [0.40111, 0.19661]) == tutorial.DIFFERS)
check("one number too few", verdict("digits", "0.401 0.198", [0.40111]) == tutorial.DIFFERS)
check("a count", verdict("exact", 131_328, 131_328) == tutorial.SAME)
check("a count and one", verdict("exact", 131_328, 131_329) == tutorial.DIFFERS)
sys.exit(1 if failures else 0)
