"""The table that people read."""

COLUMNS = (("row", 33), ("thr", 3), ("ours", 11), ("theirs", 11), ("ratio", 7), ("spread", 6),
           ("bar", 9), ("", 6), ("sgemm", 6), ("read", 6))
LEFT = {"row", ""}


def number(value, unit):
    if value is None:
        return "-"
    digits = 1 if value >= 100 else 2 if value >= 1 else 4
    return f"{value:.{digits}f} {unit}"


def percent(value, digits=1):
    return "-" if value is None else f"{100 * value:.{digits}f}%"


def line(cells):
    return " ".join(f"{cell:<{width}}" if name in LEFT else f"{cell:>{width}}"
                    for (name, width), cell in zip(COLUMNS, cells)).rstrip()


def heading():
    return line([name for name, _ in COLUMNS])


def row_line(record):
    unit = record["unit"]
    bar = (percent(record["bar"]) if record["bar"] is not None else
           number(record["limit"], unit) if record["limit"] is not None else "-")
    verdict = {None: "", True: "ok", False: "MISSED"}[record["reached"]]
    return line([record["row"], str(record["threads"]), number(record["ours"], unit),
                 number(record["theirs"], unit), percent(record["ratio"]),
                 percent(record["spread"], 0), bar, verdict,
                 percent(record["share_of_sgemm_peak"], 0),
                 percent(record["share_of_read_bandwidth"], 0)])


LEGEND = """\
ours, theirs: medians. ratio: the median of ours / theirs, round by round; spread: the width of the
middle half of those ratios. bar: the most the ratio (or ours, with a unit) may be. sgemm, read: the
share of this machine's sgemm peak, and of its read bandwidth for a working set of that size, both
measured beside the row; the work counted is what must be done, without a masked half."""
