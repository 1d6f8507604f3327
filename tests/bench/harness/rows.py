"""What is measured: one row for each figure, with its bar."""
import dataclasses


@dataclasses.dataclass(frozen=True)
class Row:
    """One figure. `ours` and `theirs` are workloads, NAME key=value ..., of a pair of processes;
    rows with the same two are taken from the same runs."""
    name: str  # stable: records of different commits are joined by it
    what: str
    ours: str
    theirs: str | None = None  # None: ours alone
    theirs_is_ours: bool = False  # a pair of our own programs
    threads: int = 1
    metric: str = ""  # of a sample's seconds
    kind: str = "pair"  # pair, memory, process, process_memory, start
    option: str = "--help"  # of a program that is only started
    bar: float | None = None  # most of ours / theirs
    stretch: float | None = None
    limit: float | None = None  # most of ours, in the row's unit
    read_bar: float | None = None  # least share of the read bandwidth
    peak_bar: float | None = None  # least share of the sgemm peak
    flops: float = 0
    bytes: float = 0
    working_set: int = 0  # bytes that are read again and again

    @property
    def unit(self):
        return "MiB" if self.kind in ("memory", "process_memory") else "ms"


def training_flops(dim, depth, vocab, batch, seq_len):
    """Of one step: 2 a parameter of a matrix and 2 (n + 1) dim a block, forward, and twice that
    backward; the masked half of attention is not counted."""
    a_token = 2 * (12 * dim**2 * depth + dim * vocab) + 2 * (seq_len + 1) * dim * depth
    return 3 * batch * seq_len * a_token


def attention_flops(n, causal, backward, width=512):
    """4 n^2 d a head forward, half of it causal; 2.5 times as much more backward."""
    pairs = n * (n + 1) / 2 if causal else n * n
    return 4 * pairs * width * (3.5 if backward else 1)


def layer_bytes(dim, tokens):
    """Read by cached decoding of all tokens: the matrices each time, and the rows there are."""
    return 4 * (4 * dim**2 * tokens + dim * tokens * (tokens + 1))


def layer_flops(dim, tokens, rows):
    """Of recomputing each prefix: keys and values of all its rows; queries, causal attention and
    the output of all of them or of the last."""
    prefixes = tokens * (tokens + 1) / 2
    pairs = sum(n * (n + 1) / 2 for n in range(1, tokens + 1))
    if rows == "last":
        return 4 * dim**2 * (prefixes + tokens) + 4 * dim * prefixes
    return 8 * dim**2 * prefixes + 4 * dim * pairs


def prompt_flops(dim, depth, vocab, length):
    """Of a prompt in one pass, of whose last token logits are wanted: forward of training_flops, but
    for the last block, where other rows have keys and values only."""
    block = length * (24 * dim**2 + 2 * (length + 1) * dim)
    last = length * 4 * dim**2 + 20 * dim**2 + 4 * length * dim
    return block * (depth - 1) + last + 2 * dim * vocab


def decode_bytes(dim, depth, vocab, length):
    """Read for one token behind `length` others."""
    return 4 * (depth * (12 * dim**2 + 13 * dim) + dim * vocab + 2 * dim * depth * length)


def training_rows():
    def row(name, what, settings, flops, threads, bar, stretch, peak_bar=None):
        both = f"training {settings} threads={threads}"
        return Row(f"train.{name}.t{threads}", what, both, both, threads=threads, metric="step",
                   bar=bar, stretch=stretch, peak_bar=peak_bar, flops=flops)

    tiny = "step of the tutorial's recipe, 128 x {} tokens"
    for threads, bar, stretch in ((1, .28, .23), (2, .16, .12)):
        yield row("tiny.12", tiny.format(12), "seq_len=12", training_flops(64, 2, 10, 128, 12),
                  threads, bar, stretch)
    for threads, bar, stretch in ((1, None, None), (2, .16, .12)):
        yield row("tiny.64", tiny.format(64), "seq_len=64", training_flops(64, 2, 10, 128, 64),
                  threads, bar, stretch)
    character = "dim=384 heads=6 depth=6 vocab=65 batch=12 seq_len=256 task=random"
    for threads, bar, stretch, peak in ((1, .75, .66, .80), (2, .54, .46, .75)):
        yield row("char", "step of the character model, 12 x 256 tokens", character,
                  training_flops(384, 6, 65, 12, 256), threads, bar, stretch, peak)
    both = "process steps=300 threads=2"
    yield Row("process.300.t2", "300 steps, whole process", both, both, threads=2, kind="process",
              bar=.13, stretch=.10)
    yield Row("process.300.memory", "its peak memory", both, both, threads=2,
              kind="process_memory", limit=48)


def attention_rows():
    def settings(n, causal, backward, threads):
        return f"attention n={n} causal={causal} backward={backward} threads={threads}"

    for causal, bar, stretch in ((1, .09, .06), (0, .24, .17)):
        for n in (2048, 4096):
            both = settings(n, causal, 0, 1)
            yield Row(f"attention.{'causal' if causal else 'full'}.{n}.t1",
                      f"attention forward{', causal' if causal else ''}, n {n}", both, both,
                      metric="attention", bar=bar, stretch=stretch,
                      flops=attention_flops(n, causal, False))
    for threads in (1, 2):
        both = settings(4096, 1, 1, threads)
        yield Row(f"attention.backward.4096.t{threads}", "attention forward + backward, n 4096",
                  both, both, threads=threads, metric="attention", bar=.17, stretch=.12,
                  flops=attention_flops(4096, True, True))
        # Inputs, output and their gradients, the log-sum-exp, and 4 MiB a thread.
        tensors = 8 * 4096 * 512 * 4 + 8 * 4096 * 4
        yield Row(f"attention.backward.4096.memory.t{threads}", "its memory", both, both,
                  threads=threads, kind="memory", limit=tensors / 2**20 + 4 * threads)


def layer_rows():
    def row(name, what, dim, heads, ours, theirs, threads, bar, stretch, **more):
        shape = f"layer dim={dim} heads={heads} tokens=512 threads={threads} cache="
        if not more:
            more = {"bytes": layer_bytes(dim, 512),
                    "working_set": 4 * (4 * dim**2 + 2 * dim * 512)}
        return Row(f"layer.{dim}.{name}.t{threads}", what, shape + ours, shape + theirs,
                   threads=threads, metric="decode", bar=bar, stretch=stretch, **more)

    what = "layer of {}, 512 tokens, {}"
    lists, place = "cached; theirs lists and cat", "cached; theirs in place"
    yield row("lists", what.format(64, lists), 64, 4, "contiguous", "lists", 1, .03, .015)
    yield row("in_place", what.format(64, place), 64, 4, "contiguous", "in_place", 1, None, None)
    # Theirs computes every row of a prefix, and takes the last. Ours too, then only what it needs.
    for name, rows in (("recomputed", "all"), ("recomputed_last", "last")):
        yield row(name, what.format(64, f"recomputed, {rows}"), 64, 4, f"none rows={rows}", "none",
                  1, .10, .07, flops=layer_flops(64, 512, rows))
    for threads, bar, stretch in ((1, .50, .40), (2, .27, .20)):
        yield row("lists", what.format(512, lists), 512, 8, "contiguous", "lists", threads, bar,
                  stretch)


def decode_rows():
    flops = prompt_flops(384, 6, 65, 256)
    read = decode_bytes(384, 6, 65, 384)
    for threads, token, prefill in ((1, 1 / 2.1, .65), (2, 1 / 3, .45)):
        both = f"decode dim=384 heads=6 depth=6 prompt=256 new_tokens=256 threads={threads}"
        yield Row(f"decode.384.token.t{threads}", "a token of the 384 x 6 model, 256 after 256",
                  both, both, threads=threads, metric="token", bar=token, read_bar=.73,
                  stretch=1 / (2.6 if threads == 1 else 3.8), bytes=read, working_set=int(read))
        yield Row(f"decode.384.prefill.t{threads}", "its prompt of 256 tokens", both, both,
                  threads=threads, metric="prefill", bar=prefill,
                  stretch=.55 if threads == 1 else .38, flops=flops)


def cache_rows():
    """Our own caches beside our contiguous one."""
    layer = "layer dim={} heads={} tokens=512 cache={}"
    model = "decode cache={}"

    def row(name, what, ours, theirs, metric, bar=None):
        return Row(f"cache.{name}.t1", what, ours, theirs, theirs_is_ours=True, metric=metric,
                   bar=bar)

    for dim, heads in ((64, 4), (512, 8)):
        plain = layer.format(dim, heads, "contiguous")
        for page, scattered in ((64, 0), (64, 1), (16, 0), (16, 1)):
            words = f"pages of {page}{', scattered' if scattered else ''} / contiguous"
            yield row(f"{dim}.pages{page}{'s' if scattered else ''}", f"layer of {dim}, {words}",
                      layer.format(dim, heads, f"paged page_size={page} scattered={scattered}"),
                      plain, "decode", 1.05)
    wide = layer.format(512, 8, "contiguous")
    for kind in ("f16", "bf16", "q8_0", "q4_0"):
        yield row(f"512.{kind}", f"layer of 512, {kind} / f32", f"{wide} k_type={kind} v_type={kind}",
                  wide, "decode")
    for page in (64, 16):
        yield row(f"384.pages{page}", f"a token of the 384 x 6 model, pages of {page} / contiguous",
                  model.format(f"paged page_size={page}"), model.format("contiguous"), "token", 1.05)


def start_rows(programs):
    # The floor: what starting and ending a process takes.
    yield Row("start.nothing", "/bin/true", "/bin/true", kind="start")
    for program in programs:
        for option, name in (("--help", ""), ("--version", ".version")):
            yield Row(f"start.{program.name}{name}", f"{program.name} {option}", str(program),
                      kind="start", option=option, limit=6, stretch=3)
    yield Row("start.pytorch", "tinygpt-train --help / import torch", "tinygpt-train",
              "import torch", kind="start")


def all_rows(programs):
    return [*training_rows(), *attention_rows(), *layer_rows(), *decode_rows(), *cache_rows(),
            *start_rows(programs)]
