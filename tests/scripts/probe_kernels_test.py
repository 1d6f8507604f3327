#!/usr/bin/env python3
"""A small NumPy kernel, right and with known mistakes, run over the probes that attn-check makes:
each folder must get its verdict, and each mistake its name.

usage: probe_kernels_test.py ATTN_CHECK. Exits 77 where NumPy is not there.
"""
import glob
import json
import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError as error:
    print("skipped: %s" % error)
    sys.exit(77)

attn_check = os.path.abspath(sys.argv[1])
failures = []


def kernel(c, scale_by=1.0, causal=None, corner=None, left=None, tiled=False, no_max=False,
           axis=-1, no_norm=False, swap_batch=False, drop_tail=0, window_off=0, invert=False,
           ignore_mask=False, ignore_lens=False, ignore_sinks=False, sinks_scaled=False,
           ignore_alibi=False, alibi_sign=1, off=0, head_layout=False, no_cap=False):
    """Attention in float32, row by row as the rules of a case say; each argument is a mistake."""
    q, k, v = (c[x].astype(np.float32) for x in "qkv")
    batch, heads, rows, _ = q.shape
    group = heads // k.shape[1]
    k, v = ((np.tile(x, (1, group, 1, 1)) if tiled else np.repeat(x, group, 1)) for x in (k, v))
    keys = k.shape[2]
    causal = bool(c["causal"]) if causal is None else causal
    corner = str(c["causal_alignment"]) if corner is None else corner
    left = int(c["window_left"]) if left is None else left
    out = np.zeros((batch, heads, rows, v.shape[3]), np.float32)
    for b in range(batch):
        length = int(c["kv_lens"][b]) if "kv_lens" in c and not ignore_lens else keys
        for h in range(heads):
            kk, vv = k[b, h, :length], v[(0 if swap_batch else b), h, :length]
            s = (q[b, h] @ kk.T) * np.float32(float(c["scale"]) * scale_by)
            cap = float(c["softcap"])
            if cap > 0 and not no_cap:
                s = cap * np.tanh(s / cap)
            p = np.arange(rows)[:, None] + (length - rows if corner == "bottom_right" else 0)
            j = np.arange(length)[None]
            seen = np.ones((rows, length), bool)
            if causal:
                seen &= j <= p + off
            if left >= 0:
                seen &= j >= p - left - window_off
            if "alibi_slopes" in c and not ignore_alibi:
                s = s - alibi_sign * c["alibi_slopes"][h] * np.abs(p - j)
            if "mask" in c and not ignore_mask:
                m = np.broadcast_to(c["mask"], (batch, heads, rows, keys))[b, h, :, :length]
                if str(c["mask_type"]) == "bool":
                    seen &= (m == 0) if invert else (m != 0)
                else:
                    s = s + m
            if drop_tail:
                seen = seen & (j < length // drop_tail * drop_tail) if length > drop_tail else seen
            s = np.where(seen, s, -np.inf).astype(np.float32)
            top = np.zeros((rows, 1), np.float32) if no_max else s.max(axis, keepdims=True)
            top = np.where(np.isfinite(top), top, 0)
            sink = None
            if "sinks" in c and not ignore_sinks:
                sink = np.float32(c["sinks"][h] * (float(c["scale"]) if sinks_scaled else 1))
                top = np.maximum(top, sink)
            e = np.exp(s - top)
            total = e.sum(axis, keepdims=True) + (np.exp(sink - top) if sink is not None else 0)
            w = e if no_norm else np.divide(e, total, out=np.zeros_like(e), where=total > 0)
            out[b, h] = w @ vv
    if head_layout:  # written in (batch, rows, heads, features) and read as if it were not
        out = np.ascontiguousarray(out.transpose(0, 2, 1, 3)).reshape(out.shape)
    return out


def run(what, options, mistake, want, name=None):
    folder = os.path.join(root, "probes-%d" % run.count)
    run.count += 1
    subprocess.run([attn_check, "--make-probe", "--npz", "-o", folder, *options], check=True,
                   stdout=subprocess.DEVNULL)
    for file in glob.glob(folder + "/*.npz"):
        case = dict(np.load(file))
        with np.errstate(all="ignore"):
            out = kernel(case, **mistake)
        case["out"] = out.astype(np.float16) if str(case["dtype"]) == "float16" else out
        np.savez(file, **case)
    done = subprocess.run([attn_check, "-i", folder, "--json"], capture_output=True, text=True)
    document = json.loads(done.stdout)
    found = document["diagnosis"]
    good = document["verdict"] == want and (name is None or name == found[0])
    good = good and done.returncode == (0 if want == "pass" else 1)
    failing = [(f["file"], f["diagnosis"]) for f in document["files"] if f["verdict"] != "pass"]
    print("%-5s %-28s %s %s, %d of %d fail" % ("ok" if good else "WRONG", what, document["verdict"],
                                               found, len(failing), len(document["files"])))
    if not good:
        failures.append(what)
        for one in failing:
            print("        ", one)


run.count = 0
GQA = ["--causal", "--heads", "4", "--kv-heads", "2"]
ALL = ["--probe-inputs", "mask,additive-mask,kv-lens,sinks,alibi-slopes"]
with tempfile.TemporaryDirectory() as root:
    run("right, plain", [], {}, "pass")
    run("right, causal, grouped", GQA, {}, "pass")
    run("right, bottom right", GQA + ["--causal-alignment", "bottom-right"], {}, "pass")
    run("right, window", GQA + ["--window-left", "7", "--head-dim", "32"], {}, "pass")
    run("right, all inputs", GQA + ALL, {}, "pass")
    run("right, float16", ["--dtype", "f16", "--head-dim", "64"], {}, "pass")
    run("right, softcap", ["--softcap", "5"], {}, "pass")
    run("missing scale", GQA, dict(scale_by=4.0), "fail", "missing-scale")
    run("causal ignored", GQA, dict(causal=False), "fail", "causal-missing")
    run("the other corner", GQA, dict(corner="bottom_right"), "fail", "causal-alignment")
    run("causal off by one", GQA, dict(off=-1), "fail", "causal-off-by-one")
    run("kv heads tiled", GQA, dict(tiled=True), "fail", "gqa-tiled")
    run("no maximum subtracted", [], dict(no_max=True), "fail", "no-max-subtraction")
    run("softmax over queries", [], dict(axis=0), "fail", "softmax-axis")
    run("not normalised", [], dict(no_norm=True), "fail", "rows-not-normalised")
    run("values of another sequence", [], dict(swap_batch=True), "fail", "batch-reuse")
    run("heads written in rows", [], dict(head_layout=True), "fail", "head-layout")
    run("tail of a tile dropped", [], dict(drop_tail=16), "fail", "tail-tile")
    run("window off by one", GQA + ["--window-left", "7"], dict(window_off=1), "fail",
        "window-off-by-one")
    run("window ignored", GQA + ["--window-left", "7"], dict(left=-1), "fail", "window-ignored")
    run("softcap ignored", ["--softcap", "5"], dict(no_cap=True), "fail", "softcap-missing")
    run("mask inverted", ["--probe-inputs", "mask"], dict(invert=True), "fail", "mask-inverted")
    run("mask ignored", ["--probe-inputs", "mask"], dict(ignore_mask=True), "fail", "mask-ignored")
    run("padding read", ["--probe-inputs", "kv-lens"], dict(ignore_lens=True), "fail",
        "padding-ignored")
    run("sinks ignored", ["--probe-inputs", "sinks"], dict(ignore_sinks=True), "fail",
        "sink-ignored")
    run("sinks scaled", ["--probe-inputs", "sinks"], dict(sinks_scaled=True), "fail", "sink-scaled")
    run("slopes ignored", ["--probe-inputs", "alibi-slopes"], dict(ignore_alibi=True), "fail",
        "alibi-missing")
    run("slopes of the wrong sign", ["--probe-inputs", "alibi-slopes"], dict(alibi_sign=-1), "fail",
        "alibi-sign")
print("%d failures" % len(failures))
sys.exit(1 if failures else 0)
