"""The two programs of a comparison, and who PyTorch is here."""
import json
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parents[1]


def best_blas_core():
    """The OPENBLAS_CORETYPE with the widest kernels this processor runs; None leaves it alone.
    Debian's library picks SSE3 ones for processors that it does not know."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            flags = set(next(line for line in lines if line.startswith("flags")).split())
    except (OSError, StopIteration):
        return None
    if {"avx512f", "avx512bw", "avx512dq", "avx512vl"} <= flags:
        return "SkylakeX"
    return "Haswell" if {"avx2", "fma"} <= flags else None


def environment(threads, core=None):
    """Of a process that computes; without `core` OpenBLAS, or whoever loads it, chooses."""
    made = dict(os.environ, OMP_NUM_THREADS=str(threads), OPENBLAS_NUM_THREADS=str(threads))
    made.pop("OPENBLAS_CORETYPE", None)
    if core:
        made["OPENBLAS_CORETYPE"] = core
    return made


class Side:
    """A process that stays, and times its workload whenever it is asked."""

    def __init__(self, command, env):
        self.command = [str(word) for word in command]
        self.process = subprocess.Popen(self.command, env=env, text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)
        self.hello = self.answer()

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"{' '.join(self.command)}: ended with status {self.process.wait()}")
        return json.loads(line)

    def ask(self, line="run"):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.answer()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


class Programs:
    """How each side is started. `core`: the OPENBLAS_CORETYPE of both; None: the best for PyTorch,
    while ours chooses for itself, as it does for users."""

    def __init__(self, build, python, core=None):
        self.bin, self.bench_side = build / "bin", build / "tests" / "bench_side"
        self.python, self.core = python, core

    def ours(self, workload, threads):
        return Side([self.bench_side, *workload.split()], environment(threads, self.core))

    def theirs(self, workload, threads):
        return Side(self.theirs_command(workload), self.theirs_environment(threads))

    def theirs_command(self, workload):
        return [self.python, HERE / "pytorch" / "side.py", *workload.split()]

    def theirs_environment(self, threads):
        made = environment(threads, self.core or best_blas_core())
        if os.sched_getscheduler(0) in (os.SCHED_RR, os.SCHED_FIFO):
            # OpenMP's threads and OpenBLAS's both spin while they wait, and a real-time scheduler
            # lets those spin who should make way: 50 times slower than asleep.
            made.setdefault("OMP_WAIT_POLICY", "passive")
        return made

    def pytorch(self):
        """Version and BLAS of the PyTorch found; None without one."""
        if self.python is None:
            return None
        with self.theirs("layer tokens=1", 1) as side:
            return side.hello


def interpreter_with_torch(wanted):
    """The first of the interpreters that can import torch, or None."""
    candidates = [wanted] if wanted else [sys.executable, "python3", "/usr/bin/python3"]
    for candidate in candidates:
        if shutil.which(candidate) and subprocess.run(
                [candidate, "-c", "import torch"], stderr=subprocess.DEVNULL,
                check=False).returncode == 0:
            return candidate
    return None
