"""A row's record: one JSON object, the same keys in every commit, so that files can be compared."""
import statistics


def quartile_width(values):
    """How far apart half of the values lie, as a share of their median."""
    if len(values) < 2:
        return 0.0
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return (high - low) / statistics.median(values)


def value_of(row, sample):
    """A sample in the row's unit."""
    if row.unit == "MiB":
        return sample["extra_bytes"] / 2**20
    return 1e3 * sample["seconds"][row.metric]


def judge(row, record):
    """Whether the row reaches what it should: true, false, or None where it has no bar, or no peer
    to be held against."""
    held = [(record["ratio"], row.bar, -1), (record["ours"], row.limit, -1),
            (record["share_of_read_bandwidth"], row.read_bar, 1),
            (record["share_of_sgemm_peak"], row.peak_bar, 1)]
    judged = [sign * value >= sign * bar for value, bar, sign in held
              if value is not None and bar is not None]
    return all(judged) if judged else None


def record_of(row, samples, rates, context):
    """rates: {"sgemm_peak", "read_bandwidth"} per second, measured beside the row, or None."""
    ours = [value_of(row, sample) for sample in samples["ours"]]
    theirs = [value_of(row, sample) for sample in samples.get("theirs", [])]
    ratios = [a / b for a, b in zip(ours, theirs)]
    median = statistics.median(ours)

    def share(amount, rate):
        return amount / (median * 1e-3) / rate if amount and rate else None

    record = {
        "row": row.name, "what": row.what, "unit": row.unit, "threads": row.threads,
        "ours": median, "ours_spread": quartile_width(ours),
        "theirs": statistics.median(theirs) if theirs else None,
        "theirs_spread": quartile_width(theirs) if theirs else None,
        "peer": "ours" if row.theirs_is_ours else "pytorch" if theirs else None,
        # The median of the rounds' own ratios: what slows a moment down slows both sides.
        "ratio": statistics.median(ratios) if ratios else None,
        "spread": quartile_width(ratios) if ratios else quartile_width(ours),
        "bar": row.bar, "stretch": row.stretch, "limit": row.limit,
        "read_bar": row.read_bar, "peak_bar": row.peak_bar,
        "share_of_sgemm_peak": share(row.flops, rates["sgemm_peak"]),
        "share_of_read_bandwidth": share(row.bytes, rates["read_bandwidth"]),
        **rates, "flops": row.flops, "bytes": row.bytes, "working_set": row.working_set,
        "cpu_ours": statistics.median(sample["cpu"] for sample in samples["ours"]),
        "samples_ours": ours, "samples_theirs": theirs, **context,
    }
    record["reached"] = judge(row, record)
    return record
