"""Runs of both sides in alternation."""
import contextlib
import os
import subprocess
import tempfile
import time


class Pace:
    """How often: until `seconds` are spent, but between `fewest` and `most` rounds."""

    def __init__(self, seconds, fewest, most):
        self.seconds, self.fewest, self.most = seconds, fewest, most

    def rounds(self):
        start = time.monotonic()
        for done in range(self.most):
            if done >= self.fewest and time.monotonic() - start > self.seconds:
                return
            yield done


def alternated(runs, pace):
    """runs: name -> a function. Each is called once to warm up; then who begins alternates. Returns
    name -> what the calls returned, round by round."""
    for run in runs.values():
        run()
    results = {name: [] for name in runs}
    for done in pace.rounds():
        for name in list(runs)[::1 if done % 2 == 0 else -1]:
            # Threads of the other side that still look for work fall asleep.
            time.sleep(0.02)
            results[name].append(runs[name]())
    return results


def pair(programs, row, pace):
    """Samples of the row's workloads, in one process each: {"ours": [...], "theirs": [...]}, each a
    dict of seconds, cpu and peak_bytes, which base_bytes is taken from."""
    with contextlib.ExitStack() as stack:
        sides = {"ours": stack.enter_context(programs.ours(row.ours, row.threads))}
        if row.theirs and row.theirs_is_ours:
            sides["theirs"] = stack.enter_context(programs.ours(row.theirs, row.threads))
        elif row.theirs and programs.python:
            sides["theirs"] = stack.enter_context(programs.theirs(row.theirs, row.threads))
        samples = alternated({name: side.ask for name, side in sides.items()}, pace)
        for name, side in sides.items():
            for sample in samples[name]:
                sample["extra_bytes"] = sample["peak_bytes"] - side.hello["base_bytes"]
        return samples


def whole_process(command, env):
    """Seconds and peak memory of a program that does its work and ends."""
    with tempfile.TemporaryFile() as out:
        start = time.perf_counter()
        process = subprocess.Popen([str(word) for word in command], env=env, stdout=out,
                                   stdin=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}: exit status {process.returncode}")
    return {"seconds": {"": seconds}, "cpu": usage.ru_utime + usage.ru_stime,
            "peak_bytes": usage.ru_maxrss * 1024, "extra_bytes": usage.ru_maxrss * 1024}


def training_process(programs, row, pace):
    """The same samples of tinygpt-train and of PyTorch's script, from start to exit."""
    settings = dict(word.split("=") for word in row.ours.split()[1:])
    with tempfile.TemporaryDirectory() as folder:
        ours = [programs.bin / "tinygpt-train", "--steps", settings["steps"], "--eval-every",
                settings["steps"], "--threads", str(row.threads), "-q", "-o", folder + "/model.h5"]
        runs = {"ours": lambda: whole_process(ours, dict(os.environ))}
        if programs.python:
            theirs = programs.theirs_command(row.theirs)
            env = programs.theirs_environment(row.threads)
            runs["theirs"] = lambda: whole_process(theirs, env)
        return alternated(runs, pace)


def start(programs, row, pace):
    """Of programs that only say how they are used, or which version they are."""
    ours = [programs.bin / row.ours, row.option]  # a whole path stays one
    runs = {"ours": lambda: whole_process(ours, None)}
    if row.theirs and programs.python:
        runs["theirs"] = lambda: whole_process([programs.python, "-c", row.theirs], None)
        return alternated(runs, pace)
    return alternated(runs, Pace(pace.seconds, 21, 21))


MEASURES = {"pair": pair, "memory": pair, "process": training_process,
            "process_memory": training_process, "start": start}


def samples_of(programs, row, pace, kept):
    """Samples for a row; `kept` holds those of earlier rows with the same two workloads."""
    key = (MEASURES[row.kind], row.ours, row.theirs, row.threads, row.option)
    if key not in kept:
        kept[key] = key[0](programs, row, pace)
    return kept[key]


class Yardsticks:
    """What this machine can do at all, now."""

    def __init__(self, programs):
        self.side = programs.ours("yardsticks", os.cpu_count() or 1)

    def sgemm_peak(self, threads):
        return self.side.ask(f"peak {threads}")["rate"]

    def read_bandwidth(self, size, threads):
        return self.side.ask(f"read {size} {threads}")["rate"]
