"""The table of scripts/tutorial.py: commands that are run, rows with a verdict."""
import json
import shlex
import subprocess
import sys

SAME, AGREES, TIME, NOT_OURS, DIFFERS = "same", "agrees", "a time", "not ours", "DIFFERS"
LEGEND = """same      to all digits that the tutorial prints
agrees    in size or direction, where inputs are random or words are all it says
a time    of this machine, not judged
not ours  measured by others on what these programs do not have"""


class Failure(Exception):
    """A program did not do what it was asked for."""


class Report:
    """The table: commands are shown as they run, the rows of a part when it is done."""

    WIDTHS = (48, 24, 27)

    def __init__(self, bin_dir, tsv):
        self.bin_dir, self.tsv, self.count = bin_dir, tsv, {}
        self.name, self.rows = "", []
        self.show(("#part", "what", "the tutorial", "ours", "verdict"))

    def show(self, cells):
        if self.tsv:
            print(*cells, sep="\t", flush=True)
        else:
            print("".join(cell.ljust(width - 1) + " " for cell, width in zip(cells[1:], self.WIDTHS)) +
                  cells[-1], flush=True)

    def part(self, name):
        self.end_part()
        self.name = name
        self.say(f"\n{name}")

    def end_part(self):
        for row in self.rows:
            self.show(row)
        self.rows = []

    def say(self, words):
        """For people, not in a tsv."""
        if not self.tsv:
            print(words, flush=True)

    def run(self, command, status=0):
        """Runs a command of ours, shown as it would be typed; gives its stdout."""
        self.say(f"$ {command}")
        program, *arguments = shlex.split(command)
        # What takes long says how far it is, if somebody looks on.
        watched = sys.stderr.isatty() and "-q" not in arguments
        done = subprocess.run([str(self.bin_dir / program), *arguments], stdout=subprocess.PIPE,
                              stderr=None if watched else subprocess.PIPE, text=True, check=False)
        if done.returncode != status:
            raise Failure(f"{command}: exit status {done.returncode}: {(done.stderr or '').strip()}")
        return done.stdout

    def json(self, command):
        return json.loads(self.run(command + " --json"))

    def values(self, file, dataset):
        """A tensor of a file that a command wrote."""
        return json.loads(self.quiet("tensor-show", file, "--dataset", dataset, "--json"))["values"]

    def quiet(self, program, *arguments):
        """Stdout of a command that is not shown."""
        return subprocess.run([str(self.bin_dir / program), *arguments], capture_output=True, text=True,
                              check=True).stdout

    def row(self, what, theirs, ours, verdict):
        self.count[verdict] = self.count.get(verdict, 0) + 1
        self.rows.append((self.name, what if self.tsv else "  " + what, theirs, ours, verdict))

    def exact(self, what, theirs, ours):
        """Counts, words, tokens."""
        def show(value):
            return f"{value:,}" if isinstance(value, int) else str(value)
        self.row(what, show(theirs), show(ours), SAME if theirs == ours else DIFFERS)

    def digits(self, what, theirs, ours):
        """Numbers as the tutorial prints them, rounded, against ours with all their digits."""
        places = max(len(word.partition(".")[2]) for word in theirs.split())
        shown = [f"{value:.{places}f}" for value in ours]
        # Half a unit of the last digit printed, and what float32 may add to it.
        slack = 0.5 * 10 ** -places + 1e-6
        close = len(shown) == len(theirs.split()) and all(
            abs(float(word) - value) <= slack for word, value in zip(theirs.split(), ours))
        self.row(what, theirs, " ".join(shown), SAME if close else DIFFERS)

    def holds(self, what, theirs, good):
        """What is true or not."""
        self.exact(what, theirs, theirs if good else "not so")

    def agrees(self, what, theirs, ours, good):
        self.row(what, theirs, ours, AGREES if good else DIFFERS)

    def time(self, what, theirs, ours):
        self.row(what, theirs, ours, TIME)

    def not_ours(self, what, theirs, ours="-"):
        self.row(what, theirs, ours, NOT_OURS)


def size(count):
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if count < 1024 or unit == "GiB":
            return f"{count:g} {unit}"
        count /= 1024
