#!/usr/bin/env python3
"""The instrument itself: names of rows, ratios, shares and verdicts, and our side's workloads.

    tests/bench/harness_test.py [BENCH_SIDE]
"""
import os
import pathlib
import subprocess
import sys
import unittest

from harness.curves import all_curves, context_point
from harness.growth import growth
from harness.records import judge, record_of
from harness.rows import Row, all_rows, decode_bytes, prompt_flops, training_flops
from harness.sides import Side, environment

HERE = pathlib.Path(__file__).resolve().parent
SIDE = None
NO_RATES = {"sgemm_peak": None, "read_bandwidth": None}


def samples(*milliseconds):
    return [{"seconds": {"step": ms / 1e3}, "cpu": 0, "extra_bytes": 0} for ms in milliseconds]


class Rows(unittest.TestCase):
    def test_names_are_unique_and_without_spaces(self):
        names = [row.name for row in all_rows([pathlib.Path("bin/kvcache-size")])]
        self.assertEqual(len(set(names)), len(names))
        self.assertFalse([name for name in names if " " in name])

    def test_training_flops_are_those_counted_by_hand(self):
        # One token of one block of width 1 on one letter: 2 * (12 + 1) + 2 * (1 + 1), three times.
        self.assertEqual(training_flops(1, 1, 1, 1, 1), 3 * (26 + 4))

    def test_a_prompt_is_the_forward_of_a_step(self):
        # But for what a step computes for every row and a prompt for the last alone: logits, and in
        # the last block all but keys and values, with 1 to 6 keys seen.
        a_step = training_flops(8, 3, 5, 1, 7) / 3
        spared = 6 * (2 * 8 * 5 + 20 * 8**2) + 4 * 8 * (1 + 2 + 3 + 4 + 5 + 6)
        self.assertEqual(prompt_flops(8, 3, 5, 7), a_step - spared)


class Curves(unittest.TestCase):
    def test_every_point_is_measured_once_and_has_one_bound(self):
        for cores in (1, 2, 6):
            for points in all_curves(cores).values():
                self.assertEqual(len({point.workload for point in points}), len(points))
                self.assertTrue(all((point.flops > 0) != (point.bytes > 0) for point in points))

    def test_threads_go_to_twice_the_cores(self):
        counts = {point.x for point in all_curves(6)["threads"]}
        self.assertEqual(counts, {1, 2, 4, 6, 8})

    def test_a_token_reads_the_matrices_and_the_rows_of_its_context(self):
        more = context_point(4096, 1).bytes - context_point(2048, 1).bytes
        self.assertEqual(more, 4 * 4 * 2 * 256 * 2048)  # 4 blocks of keys and values, float
        # By hand: one block of width 1 with one letter has 12 + 13 + 1 numbers beside the cache.
        self.assertEqual(decode_bytes(1, 1, 1, 0), 4 * 26)


class Growth(unittest.TestCase):
    @staticmethod
    def row(curve, x, threads, milliseconds, bound=1):
        return {"curve": curve, "model": "a", "x": x, "threads": threads, "bound_ns": bound * 1e6,
                "samples_ns": [1e6 * milliseconds, 9e9, 0]}

    def test_a_line_is_told_by_shares_a_constant_and_the_time_of_one_thread(self):
        rows = [self.row("batch", x, threads, (3 + 2 * x) / threads, x)
                for threads in (1, 2) for x in (1, 4, 16)]
        self.assertEqual([line.split(":", 1)[1].strip() for line in growth(rows)],
                         ["percent of the bound at 1, 4, 16: 20, 36, 46",
                          "3 ms + 2 ms for each",
                          "percent of the bound at 1, 4, 16: 40, 73, 91",
                          "1.5 ms + 1 ms for each",
                          "percent of the time of 1: 50, 50, 50"])

    def test_threads_are_beside_one(self):
        rows = [self.row("threads", n, n, ms) for n, ms in ((1, 8), (2, 5), (4, 6))]
        self.assertEqual([*growth(rows)],
                         ["threads   a: 8 ms on 1 thread; percent of it on 2, 4: 62, 75"])

    def test_a_prompt_is_told_in_tokens(self):
        rows = [self.row(curve, x, 1, ms) for curve, x, ms in
                (("context", 8, 2), ("context", 16, 3), ("prompt", 16, 10), ("prompt", 32, 20))]
        self.assertEqual([*growth(rows)][-1],
                         "prompt    16 tokens at once take the time of 5 decoded ones")


class Records(unittest.TestCase):
    ROW = Row("a", "", "", "", metric="step", bar=.5, flops=1e6, bytes=2e6, read_bar=.4)

    def test_the_ratio_is_the_median_of_the_rounds_own(self):
        record = record_of(self.ROW, {"ours": samples(1, 9, 2), "theirs": samples(4, 10, 4)},
                           NO_RATES, {})
        self.assertAlmostEqual(record["ratio"], .5)
        self.assertAlmostEqual(record["ours"], 2)
        self.assertTrue(record["reached"])

    def test_shares_are_of_the_rates_measured_beside(self):
        record = record_of(self.ROW, {"ours": samples(1), "theirs": samples(4)},
                           {"sgemm_peak": 4e9, "read_bandwidth": 10e9}, {})
        self.assertAlmostEqual(record["share_of_sgemm_peak"], .25)
        self.assertAlmostEqual(record["share_of_read_bandwidth"], .2)
        self.assertFalse(record["reached"])  # of the read bandwidth it should be 0.4

    def test_without_a_peer_only_our_own_limits_are_judged(self):
        record = record_of(self.ROW, {"ours": samples(1)}, NO_RATES, {})
        self.assertIsNone(record["ratio"])
        self.assertIsNone(record["reached"])
        limited = Row("b", "", "", metric="step", limit=6)
        self.assertTrue(judge(limited, dict(record, ours=6)))
        self.assertFalse(judge(limited, dict(record, ours=6.1)))


class Ending(unittest.TestCase):
    def ended(self, script, *arguments, after=""):
        """Exit status and stderr of one of the scripts, in a shell."""
        command = " ".join([sys.executable, str(HERE / script), *arguments, after])
        # As most have it: output is kept back until a script ends.
        settings = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
        run = subprocess.run(command, shell=True, capture_output=True, text=True, check=False, env=settings)
        return run.returncode, run.stderr

    def test_what_cannot_be_read_is_one_line(self):
        self.assertEqual(self.ended("compare.py", "/none", "/none"),
                         (1, "compare.py: /none: No such file or directory\n"))
        self.assertEqual(self.ended("compare.py", __file__, __file__),
                         (1, f"compare.py: {__file__}: not what bench.py -o writes, a JSON record a"
                             " line\n"))

    def test_rows_that_are_not_there_are_refused(self):
        self.assertEqual(self.ended("bench.py", "--only none"),
                         (1, "bench.py: no row fits --only; --list names them\n"))

    def test_a_reader_that_leaves_is_no_mistake(self):
        self.assertEqual(self.ended("bench.py", "--list", after="| true"), (0, ""))

    def test_a_full_disk_is_one_line(self):
        self.assertEqual(self.ended("bench.py", "--list", after="> /dev/full"),
                         (1, "bench.py: No space left on device\n"))


class OurSide(unittest.TestCase):
    WORKLOADS = (("training batch=8", "step"), ("training task=random vocab=5 batch=2", "step"),
                 ("attention n=20 backward=1", "attention"), ("layer tokens=9", "decode"),
                 ("layer tokens=9 cache=paged page_size=4 scattered=1", "decode"),
                 ("layer tokens=9 dim=128 cache=paged k_type=q8_0 v_type=f16", "decode"),
                 ("layer tokens=9 cache=none", "decode"),
                 ("layer tokens=9 cache=none rows=all", "decode"),
                 ("decode dim=32 heads=2 depth=1 prompt=4 new_tokens=3", "token"),
                 ("decode dim=32 heads=2 depth=1 prompt=4 new_tokens=3 prompt_stays=1", "token"))

    def setUp(self):
        if SIDE is None:
            self.skipTest("no bench_side named")

    def test_every_workload_answers_each_line(self):
        for workload, metric in self.WORKLOADS:
            with self.subTest(workload), Side([SIDE, *workload.split()], environment(1)) as side:
                for _ in range(2):
                    sample = side.ask()
                    self.assertGreater(sample["seconds"][metric], 0)
                    self.assertGreaterEqual(sample["peak_bytes"], side.hello["base_bytes"])

    def test_an_unknown_setting_is_refused(self):
        run = subprocess.run([SIDE, "layer", "dmi=64"], input="", capture_output=True, text=True,
                             check=False)
        self.assertEqual(run.returncode, 2)
        self.assertIn("no such setting: dmi", run.stderr)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        SIDE = sys.argv.pop(1)
    unittest.main()
