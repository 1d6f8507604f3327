"""What docs/scaling.md draws: curves of one quantity each, and the bound beside every point."""
import dataclasses

from .rows import decode_bytes, prompt_flops, training_flops


@dataclasses.dataclass(frozen=True)
class Point:
    """One workload, NAME key=value ..., whose time is the curve's at `x`. What bounds it from below
    are its `flops` at the machine's sgemm peak, or its `bytes` at the read bandwidth."""
    curve: str
    model: str
    x: int
    threads: int
    workload: str
    metric: str  # of a sample's seconds
    flops: float = 0
    bytes: float = 0


def doubling(first, last):
    while first <= last:
        yield first
        first *= 2


def training(curve, x, threads, dim=128, depth=4, batch=16, seq_len=128, head_dim=32, vocab=65):
    """Random letters: what is learnt does not matter, and every token has a target."""
    words = (f"training dim={dim} heads={dim // head_dim} depth={depth} vocab={vocab} batch={batch}"
             f" seq_len={seq_len} task=random threads={threads}")
    return Point(curve, f"{dim} x {depth}, {batch} x {seq_len} tokens", x, threads, words, "step",
                 flops=training_flops(dim, depth, vocab, batch, seq_len))


TIMED_TOKENS = 32
DECODER = {"dim": 256, "depth": 4, "vocab": 65}  # and heads of 64


def decoding(prompt, new_tokens, threads, **more):
    settings = dict(DECODER, heads=4, prompt=prompt, new_tokens=new_tokens, threads=threads, **more)
    return "decode " + " ".join(f"{key}={value}" for key, value in settings.items())


def context_point(context, threads):
    """A token that sees `context` others, in the mean of those that are timed."""
    words = decoding(context - TIMED_TOKENS // 2, TIMED_TOKENS + 1, threads,
                     prompt_stays=1)
    return Point("context", "256 x 4", context, threads, words, "token",
                 bytes=decode_bytes(DECODER["dim"], DECODER["depth"], DECODER["vocab"], context))


def prompt_point(prompt, threads):
    return Point("prompt", "256 x 4", prompt, threads, decoding(prompt, 2, threads),
                 "prefill", flops=prompt_flops(DECODER["dim"], DECODER["depth"], DECODER["vocab"],
                                               prompt))


def thread_counts(cores):
    """Up to twice as many as there are cores: what too many do is part of the curve."""
    return sorted({*doubling(1, 2 * cores), cores})


def all_curves(cores):
    """Curve name -> its points, in the order they are drawn in."""
    both = sorted({1, cores})
    counts = thread_counts(cores)
    return {
        "threads": [training("threads", n, n) for n in counts]
                   + [training("threads", n, n, dim=64, depth=2, batch=128, seq_len=12, head_dim=16,
                               vocab=10) for n in counts],
        "batch": [training("batch", n, t, batch=n) for t in both for n in doubling(1, 128)],
        "sequence": [training("sequence", n, t, batch=4, seq_len=n)
                     for t in both for n in doubling(16, 2048)],
        "width": [training("width", n, t, batch=8, dim=n) for t in both for n in doubling(32, 1024)],
        "context": [context_point(n, t) for t in both for n in doubling(64, 16384)],
        "prompt": [prompt_point(n, t) for t in both for n in doubling(16, 4096)],
    }
