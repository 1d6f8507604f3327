#!/usr/bin/env python3
"""The tutorial's training recipe: tinygpt-train beside the same model in PyTorch.

    tests/bench/training_vs_pytorch.py [--bin build/release/bin] [--steps 300] [--pairs 5]
                                       [--threads 1,2] [--python PYTHON]

Whole processes are run in alternated pairs, each of one step and of many: the difference of their
medians over the steps between is the time of a step, by the same rule for both sides. PyTorch gets
the best kernels of OpenBLAS that the processor can run (Debian's library picks SSE3 ones for
processors that it does not know); what OPENBLAS_CORETYPE says already is left alone. Prints
figures, asserts none. Debian's package is python3-torch; where no interpreter has it, only our side
is measured.
"""
import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
LENGTH, BATCH, VOCAB = 12, 128, 10
DIM, HEADS, DEPTH, RATE = 64, 4, 2, 3e-3


def train_in_pytorch(steps, threads, seed):
    """The recipe in PyTorch; prints the mean loss of all 90 progressions as JSON."""
    import torch
    from torch import nn

    torch.set_num_threads(threads)
    torch.manual_seed(seed)

    class SelfAttention(nn.Module):
        def __init__(self):
            super().__init__()
            self.q, self.k, self.v, self.out = (nn.Linear(DIM, DIM) for _ in range(4))

        def forward(self, x, hidden):
            batch, rows, _ = x.shape
            q, k, v = (project(x).view(batch, rows, HEADS, DIM // HEADS).transpose(1, 2)
                       for project in (self.q, self.k, self.v))
            scores = q @ k.transpose(-2, -1) * (DIM // HEADS) ** -0.5
            weights = scores.masked_fill(hidden, float("-inf")).softmax(-1)
            return self.out((weights @ v).transpose(1, 2).reshape(batch, rows, DIM))

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(DIM), nn.LayerNorm(DIM)
            self.attention = SelfAttention()
            self.mlp = nn.Sequential(nn.Linear(DIM, 4 * DIM), nn.GELU(), nn.Linear(4 * DIM, DIM))

        def forward(self, x, hidden):
            x = x + self.attention(self.norm1(x), hidden)
            return x + self.mlp(self.norm2(x))

    class Decoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens = nn.Embedding(VOCAB, DIM)
            self.blocks = nn.ModuleList(Block() for _ in range(DEPTH))
            self.norm, self.head = nn.LayerNorm(DIM), nn.Linear(DIM, VOCAB)
            angles = torch.arange(LENGTH)[:, None] * 10000.0 ** (-torch.arange(0, DIM, 2) / DIM)
            waves = torch.stack((angles.sin(), angles.cos()), dim=-1).view(LENGTH, DIM)
            self.register_buffer("positions", waves)
            future = torch.ones(LENGTH, LENGTH, dtype=torch.bool).triu(1)
            self.register_buffer("future", future)

        def forward(self, ids):
            rows = ids.shape[1]
            x = self.tokens(ids) + self.positions[:rows]
            for block in self.blocks:
                x = block(x, self.future[:rows, :rows])
            return self.head(self.norm(x))

    def loss_of(model, ids):
        # The last position has no next token: its logits are computed and not scored, as ours are.
        logits = model(ids)[:, :-1]
        return nn.functional.cross_entropy(logits.reshape(-1, VOCAB), ids[:, 1:].reshape(-1))

    ramp = torch.arange(LENGTH)
    model = Decoder()
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE)
    for _ in range(steps):
        start, stride = torch.randint(0, 10, (BATCH, 1)), torch.randint(1, 10, (BATCH, 1))
        loss = loss_of(model, (start + stride * ramp) % 10)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        every = torch.tensor([[(a + b * i) % 10 for i in range(LENGTH)]
                              for a in range(10) for b in range(1, 10)])
        loss = loss_of(model, every).item()
    print(json.dumps({"loss": loss, "version": torch.__version__,
                      "parameters": sum(p.numel() for p in model.parameters())}))


def best_blas_core():
    """The OPENBLAS_CORETYPE with the widest kernels this processor runs; None leaves it alone."""
    try:
        flags = set(next(line for line in open("/proc/cpuinfo") if line.startswith("flags")).split())
    except (OSError, StopIteration):
        return None
    if {"avx512f", "avx512bw", "avx512dq", "avx512vl"} <= flags:
        return "SkylakeX"
    return "Haswell" if {"avx2", "fma"} <= flags else None


class Run:
    """One process: seconds of wall and cpu time, peak memory, what it printed."""

    def __init__(self, command, environment):
        with tempfile.TemporaryFile() as out:
            start = time.perf_counter()
            process = subprocess.Popen(command, env=environment, stdout=out,
                                       stdin=subprocess.DEVNULL)
            _, status, usage = os.wait4(process.pid, 0)
            self.wall = time.perf_counter() - start
            process.returncode = os.waitstatus_to_exitcode(status)
            out.seek(0)
            self.output = out.read().decode()
        if process.returncode != 0:
            sys.exit(f"{' '.join(map(str, command))}: exit status {process.returncode}")
        self.cpu = usage.ru_utime + usage.ru_stime
        self.peak_mib = usage.ru_maxrss / 1024


def interpreter_with_torch(wanted):
    """The first of the interpreters that can import torch, or None."""
    candidates = [wanted] if wanted else [sys.executable, "/usr/bin/python3"]
    for candidate in candidates:
        if shutil.which(candidate) and subprocess.run(
                [candidate, "-c", "import torch"], stderr=subprocess.DEVNULL).returncode == 0:
            return candidate
    return None


def sides(arguments, python, threads, folder):
    """name -> (command for a number of steps, environment)"""
    def ours(steps):
        return [arguments.bin / "tinygpt-train", "--steps", str(steps), "--eval-every", str(steps),
                "--seed", str(arguments.seed), "--threads", str(threads), "-q", "--json",
                "-o", folder / "model.h5"]

    def theirs(steps):
        return [python, __file__, "--worker", "--steps", str(steps), "--threads", str(threads),
                "--seed", str(arguments.seed)]

    environment = dict(os.environ)
    made = {"tinygpt-train": (ours, environment)}
    if python:
        environment = dict(environment, OMP_NUM_THREADS=str(threads),
                           OPENBLAS_NUM_THREADS=str(threads))
        core = best_blas_core()
        if core:
            environment.setdefault("OPENBLAS_CORETYPE", core)
        made["PyTorch"] = (theirs, environment)
    return made


def spread(values):
    """Half of the samples lie this far apart, in percent of the median."""
    if len(values) < 2:
        return 0.0
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return 100 * (high - low) / statistics.median(values)


def compare(arguments, python, threads):
    """Alternated runs of both sides; prints their rows and the ratios."""
    runs = {}
    with tempfile.TemporaryDirectory() as name:
        both = sides(arguments, python, threads, pathlib.Path(name))
        for pair in range(arguments.pairs + 1):
            # Who begins alternates too; the first pair only warms caches up.
            for side in list(both)[::1 if pair % 2 else -1]:
                for steps in (1, arguments.steps):
                    command, environment = both[side]
                    run = Run(command(steps), environment)
                    if pair > 0:
                        runs.setdefault((side, steps), []).append(run)
    wall, step = {}, {}
    for side in both:
        long, short = runs[side, arguments.steps], runs[side, 1]
        walls = [run.wall for run in long]
        wall[side] = statistics.median(walls)
        step[side] = (wall[side] - statistics.median(run.wall for run in short)) \
            / (arguments.steps - 1)
        print(f"{threads:7} {side:14} {1e3 * step[side]:8.2f} {wall[side]:8.2f} {spread(walls):6.1f}"
              f" {statistics.median(run.cpu for run in long):8.2f}"
              f" {statistics.median(run.wall for run in short):8.2f}"
              f" {max(run.peak_mib for run in long):9.1f}"
              f" {json.loads(long[-1].output)['loss']:8.4f}", flush=True)
    if "PyTorch" in both:
        print(f"{threads:7} {'ours / theirs':14} {step['tinygpt-train'] / step['PyTorch']:8.1%}"
              f" {wall['tinygpt-train'] / wall['PyTorch']:8.1%}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/release/bin",
                        help="folder of the built programs")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--pairs", type=int, default=5, help="alternated pairs that count")
    parser.add_argument("--threads", default="1,2", help="numbers of threads, with commas")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--python", help="the interpreter that has torch")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        return train_in_pytorch(arguments.steps, int(arguments.threads), arguments.seed)
    if arguments.steps < 2 or arguments.pairs < 1:
        parser.error("--steps must be 2 or more, --pairs 1 or more")
    if not shutil.which(arguments.bin / "tinygpt-train"):
        sys.exit(f"{arguments.bin / 'tinygpt-train'} is not built")
    python = interpreter_with_torch(arguments.python)
    if python:
        version = subprocess.run([python, "-c", "import torch; print(torch.__version__)"],
                                 capture_output=True, text=True, check=True).stdout.strip()
        core = (f"as set, {os.environ['OPENBLAS_CORETYPE']}, for both"
                if "OPENBLAS_CORETYPE" in os.environ else best_blas_core() or "left alone")
        print(f"PyTorch {version} by {python}; OPENBLAS_CORETYPE {core}")
    else:
        print("no interpreter has torch (Debian: apt-get install python3-torch; --python says"
              " where): our side alone")
    print(f"{arguments.steps} steps of {BATCH} sequences of {LENGTH} tokens; load average"
          f" {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores; {arguments.pairs} alternated"
          " pairs after one to warm up\n")
    print("threads side            ms/step  whole s   iqr %    cpu s 1 step s  peak MiB     loss")
    for threads in arguments.threads.split(","):
        compare(arguments, python, int(threads))


if __name__ == "__main__":
    main()
