#!/usr/bin/env python3
"""Every number of the transformers tutorial beside what our programs give, with a verdict on each.

  scripts/tutorial.py build/release/bin         a table, part by part as it is made
  scripts/tutorial.py build/release/bin --tsv   the same for other programs

Above each part stand the commands whose answers are in it. Exit status 1: a number differs; a time
never does, except where the cache is not the faster way.
"""
import argparse
import json
import math
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile
import time

from tutorial_report import AGREES, DIFFERS, LEGEND, NOT_OURS, SAME, TIME, Failure, Report, size

SEEDS = (0, 1, 2)
ROOT = pathlib.Path(__file__).resolve().parent.parent


def parameters(t, options):
    return t.json(f"tinygpt-train --dry-run {options}")["parameters"]


def the_problem(t):
    t.part("An MLP is tied to the length, a block is not")

    def first_matrix(inputs, hidden=2048):
        """Of the MLP of one block that is as wide: its two matrices less biases, halved."""
        both = parameters(t, f"--depth 1 --heads 1 --dim {inputs} --mlp-hidden {hidden}")["mlp"]
        return (both - inputs - hidden) // 2

    few, many = first_matrix(10 * 512), first_matrix(1000 * 512)
    t.exact("numbers in 1,000 tokens of 512", 512_000, many // 2048)
    t.digits("weights of 512,000 x 2,048, in billions", "1.05", [many / 1e9])
    t.agrees("those of 10 tokens and of 1,000", "different matrices", f"{few:,}; {many:,}", few != many)
    short = parameters(t, "--dim 512 --heads 8 --seq-len 10")["block"]
    long = parameters(t, "--dim 512 --heads 8 --seq-len 1000")["block"]
    t.digits("parameters of a block of 512, in millions", "3.15", [short / 1e6])
    t.holds("the same at 10 and at 1,000 tokens", "yes", short == long)


def the_shapes(t):
    t.part("The original sizes")
    original = parameters(t, "--preset original")
    encoder = parameters(t, "--dim 512 --heads 8")["block"]
    stacks = original["total"] - original["tokens"] - original["positions"] - original["head"]
    t.digits("layers of each stack", "6", [stacks / (encoder + original["block"])])
    one, eight = t.json("attn-check --compare-heads 1,8 --width 512")["results"]
    t.exact("model width", 512, eight["heads"] * eight["head_dim"])
    t.exact("heads", 8, eight["heads"])
    t.exact("features of a head", 64, eight["head_dim"])
    t.exact("8 of 512 x 64 for q, k, v; 512 x 512 for Wo", 3 * 8 * 512 * 64 + 512 * 512,
            eight["parameters"])
    ratio = eight["flops"] / one["flops"]
    t.agrees("FLOPs of 8 heads over one of 512", "about the same", f"{ratio:g} times", 0.9 < ratio < 1.1)
    t.agrees("maps that can differ", "8 against 1", f"{eight['mixtures']} against {one['mixtures']}",
             (eight["mixtures"], one["mixtures"]) == (8, 1))
    mlp = parameters(t, "--dim 512 --heads 8 --depth 1")["mlp"]
    t.exact("MLP 512 to 2,048 and back, with biases", 512 * 2048 + 2048 + 2048 * 512 + 512, mlp)


def worked_example(t):
    t.part("A worked example: three tokens of two features")
    t.run("attn-check -o example.h5")
    scores, weights, out = (t.values("example.h5", name) for name in ("/scores", "/weights", "/out"))
    scores, weights, out = scores[0][0], weights[0][0], out[0][0]
    for token, theirs in enumerate(("0.707 0 0.707", "0 0.707 0.707", "0.707 0.707 1.414")):
        t.digits(f"scores of token {token + 1}", theirs, scores[token])
    for token, theirs in enumerate(("0.401 0.198 0.401", "0.198 0.401 0.401", "0.248 0.248 0.503")):
        t.digits(f"weights of token {token + 1}", theirs, weights[token])
    for token, theirs in enumerate(("0.802 0.599", "0.599 0.802", "0.752 0.752")):
        t.digits(f"output of token {token + 1}", theirs, out[token])
    t.holds("token 3 attends most to", "itself", max(weights[2]) == weights[2][2])
    t.holds("and gets an even mix of x1 and x2", "yes", weights[2][0] == weights[2][1])
    t.holds("token 1 attends to itself and 3", "equally", weights[0][0] == weights[0][2])


def the_maps(t):
    t.part("Two 6 x 6 maps of weights, without and with a causal mask")
    t.run("attn-check --tokens 6 -o six.h5")
    free, causal = (t.values("six.h5", name)[0][0] for name in ("/weights", "/weights_causal"))
    t.exact("shape", "6 x 6", f"{len(free)} x {len(free[0])}")
    error = max(abs(sum(row) - 1) for row in free + causal)
    t.agrees("each row of both sums to", "1", f"1, to {error:.0e}", error < 1e-6)
    t.holds("weights above the causal diagonal", "exactly 0",
            all(causal[i][j] == 0 for i in range(6) for j in range(i + 1, 6)))


def exercise(t):
    t.part("Exercise: three checks, on 5 tokens of 8 features")
    checks = {check["name"]: check["pass"] for check in t.json("attn-check --tokens 5")["checks"]}
    for name, words in (("rows-sum-to-1", "rows sum to 1"),
                        ("permutation", "permuting inputs permutes outputs"),
                        ("future-weights-zero", "causal: nothing attends to the future")):
        t.exact(words, "True", str(checks[name]))


def positions(t):
    t.part("Sinusoidal positions")
    t.run("posenc-dump --length 50 --dim 64 -q -o positions.h5")
    table = t.values("positions.h5", "/table")
    t.exact("positions by features", "50 x 64", f"{len(table)} x {len(table[0])}")

    def formula(p, i):
        angle = p / 10000 ** (i // 2 * 2 / 64)
        return math.cos(angle) if i % 2 else math.sin(angle)
    largest = max(abs(table[p][i] - formula(p, i)) for p in range(50) for i in range(64))
    t.agrees("sin(p / 10000^(2i/d)), cos beside it", "all 3,200 entries", f"within {largest:.0e}",
             largest < 1e-6)

    def distance(p, q):
        return math.dist(table[p], table[q])
    nearest = [min((q for q in range(50) if q != p), key=lambda q: distance(p, q)) for p in range(50)]
    apart = min(distance(p, q) for p, q in enumerate(nearest))
    t.agrees("a pattern of its own for each", "distinct", f"at least {apart:.2f} apart", apart > 0.1)
    alike = sum(abs(p - q) == 1 for p, q in enumerate(nearest))
    t.agrees("positions most like a neighbour of theirs", "nearby look alike", f"{alike} of 50",
             alike == 50)

    def turns(feature):
        column = [row[feature] for row in table]
        return sum((a < 0) != (b < 0) for a, b in zip(column, column[1:]))
    fast, middle, slow = turns(0), turns(16), turns(32)
    t.agrees("changes of sign of features 0, 16, 32", "fast to slow", f"{fast}, {middle}, {slow}",
             fast > middle > slow)
    t.run("posenc-dump --length 50 --dim 63 -q -o odd.h5", status=2)
    t.exact("an odd number of features", "refused", "refused")


def saturation(t):
    t.part("Without the division by sqrt(d_k) softmax saturates (question 2)")
    answer = t.json("attn-check --no-scale")
    results = {one["head_dim"]: one for one in answer["results"]}
    few, many = results[min(results)], results[max(results)]
    variances = [one["scaled"]["score_variance"] for one in answer["results"]]
    low, high = min(variances), max(variances)
    t.agrees("variance of scores, divided", "does not grow", f"{low:.2f} to {high:.2f}",
             0.7 < low and high < 1.3)
    ratio = many["unscaled"]["score_variance"] / few["unscaled"]["score_variance"]
    t.agrees(f"not divided, d_k {min(results)} to {max(results)}", "grows with d_k", f"{ratio:.0f} times",
             0.5 < ratio / (max(results) / min(results)) < 2)
    for name, key, grows in (("largest of 64 weights", "largest_weight", True),
                             ("what backward gets through", "gradient", False)):
        scaled, unscaled = many["scaled"][key], many["unscaled"][key]
        t.agrees(f"{name} at d_k {max(results)}", "saturates", f"{scaled:.3f}, undivided {unscaled:.3f}",
                 unscaled > 0.9 and scaled < 0.2 if grows else unscaled < 0.2 and scaled > 0.9)


def norms(t):
    t.part("The norm before or after the residual")
    t.run("tinygpt-train --preset tutorial --steps 0 -q -o untrained.h5")
    t.run("tinygpt-generate untrained.h5 --prompt '3 5 7 9' --new-tokens 1 --dump-hidden hidden.h5")
    rows = t.values("hidden.h5", "/hidden/norm")
    mean = max(abs(sum(row) / len(row)) for row in rows)
    variance = [sum(x * x for x in row) / len(row) - (sum(row) / len(row)) ** 2 for row in rows]
    t.agrees("a token's mean after a layer norm", "0", f"0, to {mean:.0e}", mean < 1e-5)
    t.agrees("and variance", "1", f"{min(variance):.4f} to {max(variance):.4f}",
             all(abs(one - 1) < 1e-3 for one in variance))
    last = {}
    pathlib.Path("text.txt").write_bytes((ROOT / "LICENSE").read_bytes())
    for norm in ("pre", "post"):
        for depth in (2, 24):
            norms_of = []
            for seed in SEEDS:
                command = (f"tinygpt-train --text text.txt --eval-windows 1 --init xavier --norm {norm} "
                           f"--depth {depth} --steps 1 --log-gradients --seed {seed} -q -o g.h5 --json")
                if seed == 0:
                    t.say(f"$ {command}   # and with --seed 1 and 2")
                blocks = json.loads(t.quiet(*shlex.split(command)))["gradient_norms"]["blocks"]
                norms_of += [one["mlp_out"] for one in blocks if one["name"] == f"blocks.{depth - 1}"]
            last[norm, depth] = sum(norms_of) / len(norms_of)
    t.agrees("last block's gradient, post, 2 and 24 blocks", "stays large",
             f"{last['post', 2]:.2f} and {last['post', 24]:.2f}", last["post", 24] / last["post", 2] > 0.8)
    t.agrees("pre, 2 and 24 blocks", "well behaved", f"{last['pre', 2]:.2f} and {last['pre', 24]:.2f}",
             last["pre", 24] / last["pre", 2] < 0.6)
    t.agrees("post over pre, 24 blocks", "larger", f"{last['post', 24] / last['pre', 24]:.1f} times",
             last["post", 24] / last["pre", 24] > 2)


def tiny_gpt(t):
    t.part("A tiny GPT")
    begun, used = time.monotonic(), os.times()
    runs = {0: t.json("tinygpt-train --preset tutorial --eval-every 300 -o gpt-0.h5")}
    wall, now = time.monotonic() - begun, os.times()
    cpu = now.children_user + now.children_system - used.children_user - used.children_system
    for seed in SEEDS[1:]:
        runs[seed] = t.json("tinygpt-train --preset tutorial --steps 300 --eval-every 300 "
                            f"--seed {seed} -o gpt-{seed}.h5")
    objects = json.loads(t.quiet("tensor-show", "--list", "gpt-0.h5", "--json"))["objects"]
    held = {one["path"]: one.get("attributes", {}) for one in objects}
    model, training = held["/"], held["/training"]
    for what, theirs, ours in (("tokens there are", 10, model["vocab_size"]),
                               ("features", 64, model["dim"]), ("heads", 4, model["heads"]),
                               ("blocks", 2, model["depth"]),
                               ("updates", 1500, training["steps"]),
                               ("sequences in an update", 128, training["batch"])):
        t.exact(what, theirs, int(ours))
    t.digits("learning rate", "0.003", [float(training["lr"])])
    for seed in SEEDS:
        at = {one["step"]: one["accuracy"] for one in runs[seed]["evaluations"]}
        t.digits(f"accuracy after 300 updates, seed {seed}", "1.00", [at[300]])
    chance = sum(one["evaluations"][0]["accuracy"] for one in runs.values()) / len(runs)
    t.agrees("before the first: chance", "0.10", f"{chance:.2f}", 0.03 < chance < 0.2)
    t.agrees("no loss is below ln 9 / 11 = 0.1997", "two tokens are open", f"{runs[0]['loss']:.4f}",
             runs[0]["floor"] <= runs[0]["loss"] < runs[0]["floor"] + 0.02)
    t.time("1,500 updates", "under a minute", f"{wall:.0f} s, {cpu:.0f} s of a core")
    for prompt, theirs in (("3 5", "7 9 1 3 5 7 9 1"), ("8 1", "4 7 0 3 6 9")):
        for seed in SEEDS:
            ours = t.run(f"tinygpt-generate gpt-{seed}.h5 --prompt '{prompt}' "
                         f"--new-tokens {len(theirs.split())}")
            t.exact(f"{prompt} goes on, seed {seed}", theirs, ours.strip())
    t.run("tinygpt-generate gpt-0.h5 --prompt '3 5' --new-tokens 10 --dump-attention heads.h5")
    maps = t.values("heads.h5", "/attention")
    t.exact("blocks, heads, tokens of its maps", "2 x 4 x 12 x 12",
            f"{len(maps)} x {len(maps[0])} x {len(maps[0][0])} x {len(maps[0][0][0])}")
    above = max(one[i][j] for block in maps for one in block for i in range(12) for j in range(i + 1, 12))
    t.holds("weights above their diagonals", "exactly 0", above == 0)
    for last in (7, 8):
        t.run(f"tinygpt-generate gpt-0.h5 --prompt '3 5 {last}' --new-tokens 1 "
              f"--dump-logits logits-{last}.h5")
    before = [t.values(f"logits-{last}.h5", "/logits")[:2] for last in (7, 8)]
    t.holds("logits before a token that changes", "never change", before[0] == before[1])
    pooled = t.json("tinygpt-train --init-from gpt-1.h5 --kv-heads 2 -q -o pooled.h5")
    t.digits("share of the updates that pooling heads takes", "0.05", [pooled["steps"] / 300])


def cache_counts(t):
    t.part("What the cache saves: decoding 512 tokens (question 9)")
    answer = t.json("kvcache-bench --preset tutorial --repeats 3 --warmup 0")
    decode = {one["cache"]: one for one in answer["results"] if one["phase"] == "decode"}
    cached, anew = decode["contiguous"], decode["none"]
    n = cached["tokens"]
    t.exact("rows through the key projection, cache: n", 512, cached["key_rows"])
    t.exact("without: n(n + 1) / 2", 131_328, anew["key_rows"])
    t.exact("that is, for n = 512", n * (n + 1) // 2, anew["key_rows"])
    t.holds("outputs with and without", "the same", answer["outputs_agree"])
    # The tutorial does not say how wide its layer was: counts are the same, times are not.
    narrow = t.json("kvcache-bench --dim 64 --heads 4 --tokens 512 --repeats 3")
    for wide, results in ((512, answer["results"]), (64, narrow["results"])):
        with_cache, without = (one["median_ns"] / 1e6 for cache in ("contiguous", "none") for one in results
                               if one["phase"] == "decode" and one["cache"] == cache)
        t.time(f"{wide} wide, median of 3, with the cache", "about 108 ms", f"{with_cache:,.0f} ms")
        t.time("without", "561 ms", f"{without:,.0f} ms")
        t.agrees("how much faster", f"{561 / 108:.1f} times", f"{without / with_cache:.1f} times",
                 without > with_cache)


def cache_sizes(t):
    t.part("What it costs: 2 x layers x KV heads x head size x tokens x batch x bytes of a number")

    def results(options):
        return t.json(f"kvcache-size --layers 32 --head-dim 128 {options}")["results"]
    full, quarter, last = results("--kv-heads 32,8,1 --tokens 4096")
    formula = 2 * 32 * 32 * 128 * 4096 * 1 * 2
    t.exact("32 layers, 32 heads of 128, 4,096 tokens", formula, full["bytes"])
    t.exact("a token of it", "0.5 MiB", f"{full['token_bytes'] / 2 ** 20:g} MiB")
    t.exact("that is (quiz 16)", "2 GiB", size(full["bytes"]))
    t.exact("with 8 key-value heads: a quarter", "512 MiB", size(quarter["bytes"]))
    t.exact("with 1: a thirty-second", "64 MiB", size(last["bytes"]))
    images, = results("--kv-heads 32 --tokens 1 --images 28 --tokens-per-image 256")
    t.exact("7 cameras, 4 frames, 256 tokens each", 7168, images["bytes"] // full["token_bytes"] - 1)
    prompt, = results("--kv-heads 32 --tokens 7168")
    t.exact("7,168 tokens", "3.5 GiB", size(prompt["bytes"]))
    grid = results("--kv-heads 32 --tokens 128-131072*2")
    t.holds("bytes over tokens, 128 to 131,072", "constant",
            len({one["bytes"] / one["tokens"] for one in grid}) == 1)
    tenth, = t.json("kvcache-size --layers 24 --kv-heads 16 --head-dim 64 --tokens 2000")["results"]
    t.exact("question 10: 24 layers, 16 x 64, 2,000 tokens", 2 * 24 * 16 * 64 * 2000 * 2, tenth["bytes"])
    t.exact("that is", "187.5 MiB", size(tenth["bytes"]))


def cost(t):
    t.part("Cost: the square of the length (question 4)")
    answer = t.json("attn-check --cost '128-1024*2'")
    results = {one["seq_len"]: one for one in answer["results"]}
    few, many = results[512], results[1024]
    t.exact("compute of 1,024 over 512 tokens", "4 times", f"{many['flops'] / few['flops']:g} times")
    ratio = many["weights"]["bytes"] / few["weights"]["bytes"]
    t.agrees("memory, all weights written down", "about 4 times", f"{ratio:.2f} times", 3.5 < ratio < 4.1)
    took = many["weights"]["median_ns"] / few["weights"]["median_ns"]
    t.time("its time", "about 4 times", f"{took:.1f} times")


def elsewhere(t):
    t.part("Measured by others")
    t.not_ours("Alpamayo-R1: prefill, 40 tokens, all", "16.5, 70, 99 ms")
    t.not_ours("SmolVLA: visual tokens of a frame", "64")
    t.not_ours("GQA: share of pre-training that converts", "5 percent", "see above")


QUICK = (the_problem, the_shapes, worked_example, the_maps, positions, exercise, saturation, cache_sizes)
PARTS = (*QUICK, cost, norms, tiny_gpt, cache_counts, elsewhere)


def main():
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin", metavar="BIN_DIR", nargs="?", default="build/release/bin", type=pathlib.Path,
                        help="where the programs are (default build/release/bin)")
    parser.add_argument("--tsv", action="store_true", help="columns with tabs between them")
    options = parser.parse_args()
    bin_dir = options.bin.resolve()
    if not (bin_dir / "attn-check").exists():
        print(f"tutorial.py: {options.bin}: no attn-check in it: make builds the programs", file=sys.stderr)
        return 3
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            report = Report(bin_dir, options.tsv)
            for part in PARTS:
                part(report)
            report.end_part()
            report.say(f"\n{LEGEND}\n")
            report.say(", ".join(f"{report.count[verdict]} {verdict}"
                                 for verdict in (SAME, AGREES, TIME, NOT_OURS, DIFFERS)
                                 if verdict in report.count))
            sys.stdout.flush()
        except KeyboardInterrupt:
            return 130
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nothing more to flush
            return 141
        except (Failure, subprocess.CalledProcessError, OSError, KeyError, ValueError) as error:
            print(f"tutorial.py: {error}", file=sys.stderr)
            return 3
        finally:
            os.chdir(ROOT)
    return 1 if DIFFERS in report.count else 0


if __name__ == "__main__":
    sys.exit(main())
