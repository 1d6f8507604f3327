#!/usr/bin/env python3
"""PyTorch's side of tests/bench/bench.py: what ours/bench_side.cpp is to our programs.

    printf 'run\\nrun\\n' | python3 side.py layer dim=64 heads=4 cache=lists
    python3 side.py process steps=300 threads=2     # a whole training run

Each line is answered by one line of JSON.
"""
import ctypes
import json
import re
import resource
import sys
import time

import torch

from models import Decoder, next_token_loss, progressions
from workloads import WORKLOADS


def peak_bytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def blas():
    """Name, version and kernels of the BLAS that multiplies here."""
    with open("/proc/self/maps", encoding="utf-8") as maps:
        found = re.search(r"/\S*openblas\S*", maps.read())
    if found:
        library = ctypes.CDLL(found.group())
        words = []
        for question in ("openblas_get_config", "openblas_get_corename"):
            ask = getattr(library, question, None) or getattr(library, question + "64_", None)
            if ask:
                ask.restype = ctypes.c_char_p
                words.append(ask().decode().split())
        if words:
            return f"{' '.join(words[0][:2])} {words[-1][0]}"
    config = torch.__config__.show()
    named = re.search(r"BLAS_INFO=(\w+)", config)
    return named.group(1) if named else "unknown"


def train(steps, seed=0):
    """The tutorial's recipe from start to end, as a program; says the last loss."""
    torch.manual_seed(int(seed))
    model = Decoder(10, 64, 4, 2, 12)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for _ in range(int(steps)):
        loss = next_token_loss(model, progressions(128, 12))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return {"loss": loss.item()}


def main():
    name, settings = sys.argv[1], dict(word.split("=", 1) for word in sys.argv[2:])
    threads = int(settings.pop("threads", 1))
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    if name == "process":
        return print(json.dumps(train(**settings)))
    base = peak_bytes()
    workload = WORKLOADS[name](**{key: int(value) if value.isdigit() else value
                                  for key, value in settings.items()})
    print(json.dumps({"version": torch.__version__, "blas": blas(), "base_bytes": base}),
          flush=True)
    for _ in sys.stdin:
        cpu = time.process_time()
        seconds = workload.sample()
        print(json.dumps({"seconds": seconds, "cpu": time.process_time() - cpu,
                          "peak_bytes": peak_bytes()}), flush=True)


if __name__ == "__main__":
    main()
