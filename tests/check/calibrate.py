#!/usr/bin/env python3
"""Does attn-check pass what PyTorch computes, and fail it where something is wrong?

    calibrate.py ATTN-CHECK [--cases N] [--seed S] [--jobs J] [--keep FOLDER] [--verbose]

Draws attentions of many kinds (float32, bfloat16, float16 where the processor can, scores up to
thousands, boolean and additive masks, causality, n != m, groups, key padding), lets PyTorch's
scaled_dot_product_attention and nn.MultiheadAttention compute them, and writes each as a case file:
the honest output, and the output of the same call with a mistake in it. attn-check judges them all.

  false alarm   an honest output that fails
  miss          an output that passes although the mistake moves the float64 answer by more than
                the limit that attn-check printed

Exit 0: none of either. 1: some, each of them printed. 77: no PyTorch or no h5py here.
The float64 answers are NumPy's and share nothing with attn-check.
"""
import argparse
import collections
import concurrent.futures
import json
import math
import os
import subprocess
import sys
import tempfile

try:
    import h5py
    import numpy as np
    import torch
    import torch.nn.functional as F
except ImportError as missing:
    print("skipped:", missing)
    sys.exit(77)

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16,
          "float64": torch.float64}


# ---------------------------------------------------------------- what PyTorch computes
def plain_steps(q, k, v, mask, scale):
    """The eager formula, each step a tensor of q's type, as hand-written models have it."""
    scores = q @ k.transpose(-2, -1) * scale
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf) if mask.dtype == torch.bool else scores + mask
    return torch.softmax(scores, -1) @ v


def torch_attention(q, k, v, mask=None, causal=False, scale=None):
    """PyTorch's own function, by the name that this version has for it."""
    repeats = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(repeats, 1), v.repeat_interleave(repeats, 1)
    if scale is not None:  # older versions have no argument for it
        q = q * (scale * math.sqrt(q.shape[-1]))
    if hasattr(F, "scaled_dot_product_attention"):
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal)
    if mask is not None and mask.dtype != torch.bool or causal and q.shape[2] != k.shape[2]:
        if causal:
            mask = torch.ones(q.shape[2], k.shape[2]).tril().bool()
        return plain_steps(q, k, v, mask, 1 / math.sqrt(q.shape[-1]))
    return F._scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal)[0]


def multihead(q, k, v, mask=None, causal=False, scale=None, weights=False):
    """nn.MultiheadAttention around the same heads: its projections are identities."""
    batch, heads, rows, features = q.shape
    width = heads * features
    module = torch.nn.MultiheadAttention(width, heads, bias=False, batch_first=True, dtype=q.dtype)
    with torch.no_grad():
        module.in_proj_weight.copy_(torch.eye(width).repeat(3, 1))
        module.out_proj.weight.copy_(torch.eye(width))
    module.eval()
    flat = [x.transpose(1, 2).reshape(batch, x.shape[2], width) for x in (q, k, v)]
    if causal:
        mask = torch.ones(rows, k.shape[2]).tril().bool()
    if mask is not None:  # True is "hidden" here
        mask = ~mask if mask.dtype == torch.bool else mask
        mask = mask.expand(batch, heads, rows, k.shape[2]).reshape(-1, rows, k.shape[2])
    with torch.no_grad():
        out = module(*flat, attn_mask=mask, need_weights=weights)[0]
    return out.reshape(batch, rows, heads, features).transpose(1, 2)


# ---------------------------------------------------------------- the float64 answer
def exact(case):
    """Attention by the definition, in float64. Rows that see nothing are 0."""
    q, k, v = (np.asarray(case[name], np.float64) for name in ("q", "k", "v"))
    repeats = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, repeats, 1), np.repeat(v, repeats, 1)
    scores = np.einsum("bhid,bhjd->bhij", q, k) * case.get("scale", 1 / math.sqrt(q.shape[-1]))
    seen = np.ones(scores.shape, bool)
    if case.get("causal"):
        seen &= np.tril(np.ones(scores.shape[-2:], bool))
    mask = case.get("mask")
    if mask is not None:
        if mask.dtype == bool:
            seen &= mask
        else:
            scores = scores + mask
            seen &= mask > -np.inf
    scores = np.where(seen, scores, -np.inf)
    top = scores.max(-1, keepdims=True)
    weights = np.exp(scores - np.where(np.isfinite(top), top, 0))
    total = weights.sum(-1, keepdims=True)
    return np.where(total > 0, weights / np.where(total > 0, total, 1), 0) @ v


# ---------------------------------------------------------------- cases
def draw(rng, dtypes):
    """One attention: what a case file states, and the function that computes it."""
    case = {"dtype": str(rng.choice(dtypes))}
    heads = int(rng.choice([1, 2, 4, 8]))
    groups = int(rng.choice([g for g in (1, 1, 2, 4) if heads % g == 0]))
    batch, features = int(rng.integers(1, 4)), int(rng.choice([4, 8, 16, 32, 64]))
    rows = int(rng.integers(2, 40))
    keys = rows if rng.random() < 0.5 else int(rng.integers(2, 60))
    compute = multihead if rng.random() < 0.3 else torch_attention
    if compute is multihead:
        groups = 1
    size = float(rng.choice([1, 1, 2, 5, 20]))
    rounded = lambda x: torch.tensor(x).to(DTYPES[case["dtype"]])
    case["q"] = rounded(rng.standard_normal((batch, heads, rows, features)) * size)
    case["k"] = rounded(rng.standard_normal((batch, heads // groups, keys, features)) * size)
    case["v"] = rounded(rng.standard_normal((batch, heads // groups, keys, features)))
    kind = rng.choice(["open", "causal", "bool", "padding", "additive"])
    shape = (batch if rng.random() < 0.5 else 1, heads if rng.random() < 0.5 else 1, rows, keys)
    if kind == "causal":
        case["causal"] = 1
    elif kind == "bool":
        mask = rng.random(shape) < 0.7
        mask[..., 0] |= ~mask.any(-1)  # versions differ about rows that see nothing
        case["mask"] = mask
    elif kind == "padding":
        mask = np.zeros((batch, 1, 1, keys), bool)
        for b in range(batch):
            mask[b, ..., : rng.integers(1, keys + 1)] = True
        case["mask"] = np.broadcast_to(mask, (batch, 1, rows, keys)).copy()
    elif kind == "additive":
        mask = rng.standard_normal(shape)
        mask[..., 1:][rng.random(shape)[..., 1:] < 0.2] = -np.inf
        case["mask"] = rounded(mask).double().numpy()
    if compute is torch_attention and rng.random() < 0.2:
        case["scale"] = 2.0 ** int(rng.integers(-4, 1)) / math.sqrt(features)  # exact on q
    return case, compute


def tensors(case):
    mask = case.get("mask")
    if mask is not None:
        mask = torch.tensor(mask)
        mask = mask if mask.dtype == torch.bool else mask.to(case["q"].dtype)
    return {"q": case["q"], "k": case["k"], "v": case["v"], "mask": mask,
            "causal": bool(case.get("causal")), "scale": case.get("scale")}


def mistakes(case, rng):
    """Names and the same case as somebody mistaken sees it: PyTorch computes that one."""
    q, k, v = case["q"], case["k"], case["v"]
    scale = case.get("scale", 1 / math.sqrt(q.shape[-1]))
    changed = lambda **parts: {**case, **parts}
    without = lambda *names: {name: case[name] for name in case if name not in names}
    # The factor goes on q and is rounded there: the float64 answer sees what PyTorch sees.
    scaled = lambda factor: changed(q=(q.double() * factor).to(q.dtype))
    yield "missing-scale", scaled(1 / scale)
    yield "wrong-scale", scaled(float(rng.choice([0.25, 0.5, 0.9, 1.1, 2])))
    if case.get("causal"):
        yield "causal-missing", without("causal")
        past = np.tril(np.ones((q.shape[2], k.shape[2]), bool), 1)[None, None]
        yield "causal-off-by-one", {**without("causal"), "mask": past}
    mask = case.get("mask")
    if mask is not None:
        yield "mask-ignored", without("mask")
        if mask.dtype == bool and (~mask).any(-1).all():
            yield "mask-inverted", changed(mask=~mask)
        if mask.dtype != bool:
            rounded = torch.tensor(mask * scale).to(q.dtype).double().numpy()
            yield "mask-before-scale", changed(mask=rounded)
    if 1 < k.shape[1] < q.shape[1]:
        repeats = (1, q.shape[1] // k.shape[1], 1, 1)
        yield "gqa-tiled", changed(k=k.repeat(repeats), v=v.repeat(repeats))
    if q.shape[0] > 1:
        yield "batch-reuse", changed(k=k[:1].expand_as(k), v=v[:1].expand_as(v))
    if k.shape[2] > 4 and mask is None and not case.get("causal"):
        kept = k.shape[2] // 4 * 4
        if kept < k.shape[2]:
            yield "tail-tile", changed(k=k[:, :, :kept], v=v[:, :, :kept])
    half = q.clone()
    half[..., q.shape[-1] // 2:] = 0
    yield "head-dim-truncated", changed(q=half, scale=scale)


def as_array(x):
    if not isinstance(x, torch.Tensor):
        return np.asarray(x)
    return (x.float() if x.dtype == torch.bfloat16 else x).contiguous().numpy()


def write(path, case, out):
    with h5py.File(path, "w") as file:
        for name in ("q", "k", "v"):
            file[name] = as_array(case[name])
        file["out"] = as_array(out)
        mask = case.get("mask")
        if mask is not None:
            file["mask"] = mask.astype(np.uint8) if mask.dtype == bool else mask
            file.attrs["mask_type"] = "bool" if mask.dtype == bool else "additive"
        file.attrs["format"] = "attn-case"
        file.attrs["dtype"] = case["dtype"]
        file.attrs["causal"] = np.int32(case.get("causal", 0))
        file.attrs["causal_alignment"] = "top_left"
        if "scale" in case:
            file.attrs["scale"] = case["scale"]


def double(case):
    return {name: as_array(case[name].double()) if name in ("q", "k", "v") else case[name]
            for name in case}


# ---------------------------------------------------------------- judging
def judge(program, path):
    done = subprocess.run([program, "-i", path, "--json", "--threads", "1"], capture_output=True,
                          text=True)
    if done.returncode not in (0, 1):
        raise RuntimeError(f"{path}: {done.stderr.strip()}")
    report = json.loads(done.stdout)
    out = next(check for check in report["checks"] if check["name"] == "out")
    return report["verdict"], out, report["diagnosis"]


def works(dtype):
    try:
        x = torch.ones(1, 1, 2, 2).to(dtype)
        torch_attention(x, x, x)
        return True
    except RuntimeError:
        return False


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program")
    parser.add_argument("--cases", type=int, default=1000, help="case files to judge")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep", help="folder for the cases that were judged wrongly")
    parser.add_argument("--verbose", action="store_true", help="tell how often each name was found")
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    torch.set_num_threads(1)
    names = ["float32", "float32", "bfloat16", "float16", "float64"]
    dtypes = [name for name in names if works(DTYPES[name])]
    print("PyTorch", torch.__version__, "types", ", ".join(sorted(set(dtypes))))

    counts = collections.Counter()
    found = collections.Counter()
    wrong = []
    with tempfile.TemporaryDirectory() as folder, \
            concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        folder = options.keep or folder
        os.makedirs(folder, exist_ok=True)
        waiting = []

        def submit(name, case, out, moved):
            path = os.path.join(folder, f"{len(waiting)}-{name}.h5")
            write(path, case, out)
            waiting.append((name, moved, path, pool.submit(judge, options.program, path)))

        while len(waiting) < options.cases:
            case, compute = draw(rng, dtypes)
            truth = exact(double(case))
            submit("honest", case, compute(**tensors(case)), None)
            for name, mistaken in mistakes(case, rng):
                # How far the mistake itself moves the answer, without any rounding.
                gap = np.abs(exact(double(mistaken)) - truth)
                submit(name, case, torch_attention(**tensors(mistaken)), (gap.max(), gap.mean()))
        for name, moved, path, future in waiting:
            verdict, out, diagnosis = future.result()
            if moved is None:
                counts["honest"] += 1
                bad = "false alarm" if verdict != "pass" else None
            else:
                beyond = moved[0] > out["limit"] or moved[1] > out["mean_limit"]
                counts["mistaken" if beyond else "moved by less than the limit"] += 1
                bad = "miss" if beyond and verdict == "pass" else None
                if beyond and verdict == "fail":
                    found[name, name in diagnosis] += 1
            if bad:
                counts[bad] += 1
                wrong.append(f"{bad}: {os.path.basename(path)} max error {out['max_error']}, "
                             f"limit {out['limit']}, mean error {out['mean_error']}, "
                             f"mean limit {out['mean_limit']}, moved {moved}")
            elif options.keep:
                os.remove(path)
    for line in wrong:
        print(line)
    print(", ".join(f"{count} {name}" for name, count in sorted(counts.items())))
    named = sum(count for (_, right), count in found.items() if right)
    print(f"{named} of {sum(found.values())} failures have the name of their mistake")
    if options.verbose:
        for (name, right), count in sorted(found.items()):
            print(f"  {name:20} {'named' if right else 'named otherwise'} {count}")
    print(f"{counts['false alarm']} false alarms, {counts['miss']} misses")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
