"""What docs/scaling.md says of its curves, in numbers: of two threads beside one, of the share of the
bound, and of what does not grow."""
import statistics

# Curves that are a constant and so much for each, as far as between two of their points, the first and:
STRAIGHT = {"batch": -1, "context": -1, "prompt": 1}


def percents(values):
    return ", ".join(f"{100 * value:.0f}" for value in values)


class Line:
    """Points of one curve and one number of threads (along "threads": of one model), in order of x."""

    def __init__(self, rows):
        rows = sorted(rows, key=lambda row: row["x"])
        self.x = [row["x"] for row in rows]
        self.ms = {row["x"]: statistics.median(row["samples_ns"]) / 1e6 for row in rows}
        self.shares = [row["bound_ns"] / 1e6 / self.ms[row["x"]] for row in rows]

    def straight(self, first, last):
        """(constant, slope) of the straight line through two points."""
        slope = (self.ms[last] - self.ms[first]) / (last - first)
        return self.ms[first] - slope * first, slope


def lines_of(rows, key):
    lines = {}
    for row in rows:
        lines.setdefault(row[key], []).append(row)
    return {value: Line(of_line) for value, of_line in lines.items()}


def of_threads(_, rows):
    for model, line in lines_of(rows, "model").items():
        first = line.ms[line.x[0]]
        yield (f"{model}: {first:.3g} ms on {line.x[0]} thread; percent of it on"
               f" {', '.join(map(str, line.x[1:]))}: {percents(line.ms[x] / first for x in line.x[1:])}")


def of_growth(curve, rows):
    lines = lines_of(rows, "threads")
    for threads, line in lines.items():
        yield (f"{threads} thread{'s'[:threads > 1]}: percent of the bound at"
               f" {', '.join(map(str, line.x))}: {percents(line.shares)}")
        if curve in STRAIGHT:
            first, last = line.x[0], line.x[STRAIGHT[curve]]
            constant, slope = line.straight(first, last)
            yield f"  through {first} and {last}: {constant:.3g} ms + {slope:.3g} ms for each"
    fewest, *more = lines
    for threads in more:
        ratios = (lines[threads].ms[x] / lines[fewest].ms[x] for x in lines[threads].x)
        yield f"{threads} threads: percent of the time of {fewest}: {percents(ratios)}"


def growth(rows):
    """Lines of text about every curve that `rows` hold (those of tests/bench/scaling.py)."""
    curves = {}
    for row in rows:
        curves.setdefault(row["curve"], []).append(row)
    for curve, of_curve in curves.items():
        for told in (of_threads if curve == "threads" else of_growth)(curve, of_curve):
            yield f"{curve:9} {told}"
    if {"context", "prompt"} <= set(curves):
        prompt, token = (lines_of(curves[name], "threads")[1] for name in ("prompt", "context"))
        at_once = prompt.ms[prompt.x[0]] / token.ms[token.x[0]]
        yield f"prompt    {prompt.x[0]} tokens at once take the time of {at_once:.3g} decoded ones"
