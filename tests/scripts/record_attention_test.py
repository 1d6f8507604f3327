#!/usr/bin/env python3
"""Calls PyTorch's attention in many ways under scripts/record_attention.py and holds what it
recorded to attn-check: every honest call passes, and a wrong kernel gets its name.

usage: record_attention_test.py ATTN_CHECK SCRIPTS_FOLDER. Exits 77 where PyTorch is not there.
"""
import json
import math
import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import torch
    import torch.nn.functional as F
except ImportError as error:
    print("skipped: %s" % error)
    sys.exit(77)

attn_check = os.path.abspath(sys.argv[1])
sys.path.insert(0, os.path.abspath(sys.argv[2]))
from record_attention import record  # noqa: E402

torch.manual_seed(3)
failures = []


def verdict(path, *options):
    run = subprocess.run([attn_check, "-i", path, "--json", *options], capture_output=True, text=True)
    if not run.stdout:
        return "error: " + run.stderr.strip(), [], 0
    document = json.loads(run.stdout)
    out = [c for c in document["checks"] if c["name"] == "out"][0]
    return document["verdict"], document["diagnosis"], out["max_error"]


def expect(what, path, want="pass", name=None):
    got, diagnosis, error = verdict(path)
    good = got == want and (name is None or name in diagnosis)
    print("%-5s %-52s %s %s %s" % ("ok" if good else "WRONG", what, got, diagnosis, error))
    if not good:
        failures.append(what)


def softmax_attention(q, k, v, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None,
                      enable_gqa=False):
    """PyTorch 2's documented reference, for versions that lack the function."""
    rows, keys = q.size(-2), k.size(-2)
    bias = torch.zeros(rows, keys, dtype=q.dtype)
    if is_causal:
        bias = bias.masked_fill(~torch.ones(rows, keys).tril().bool(), -math.inf)
    if attn_mask is not None:
        bias = bias.masked_fill(~attn_mask, -math.inf) if attn_mask.dtype == torch.bool else \
            bias + attn_mask
    if enable_gqa:
        k, v = (x.repeat_interleave(q.size(-3) // x.size(-3), -3) for x in (k, v))
    weights = (q @ k.transpose(-2, -1) * (1 / math.sqrt(q.size(-1)) if scale is None else scale)) + bias
    return torch.softmax(weights if q.dtype == torch.float64 else weights.float(), -1).to(q.dtype) @ v


def rand(*shape, dtype=torch.float32):
    return torch.randn(*shape).to(dtype)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    # The function: torch's own where it has it in public, else its documented reference.
    own = hasattr(F, "scaled_dot_product_attention")
    if not own:
        F.scaled_dot_product_attention = softmax_attention
    lower = torch.ones(5, 7).tril().bool()
    calls = [
        ("plain", dict(), (2, 3, 5, 8), (2, 3, 5, 8), {}),
        ("causal, more keys than rows", dict(is_causal=True), (1, 2, 3, 8), (1, 2, 7, 8), {}),
        ("causal, more rows than keys", dict(is_causal=True), (1, 2, 7, 8), (1, 2, 3, 8), {}),
        ("boolean mask", dict(attn_mask=lower), (2, 2, 5, 8), (2, 2, 7, 8), {}),
        ("float mask", dict(attn_mask=rand(1, 2, 5, 7)), (2, 2, 5, 8), (2, 2, 7, 8), {}),
        ("three axes", dict(), (3, 5, 8), (3, 7, 8), {}),
        ("three axes and a mask of each", dict(attn_mask=rand(3, 5, 7) > -1), (3, 5, 8), (3, 7, 8), {}),
        ("two axes", dict(), (5, 8), (7, 8), {}),
        ("five axes", dict(attn_mask=lower), (2, 2, 2, 5, 8), (2, 2, 2, 7, 8), {}),
        ("float64", dict(), (1, 2, 5, 8), (1, 2, 7, 8), {"dtype": torch.float64}),
        ("bfloat16", dict(), (1, 2, 5, 64), (1, 2, 7, 64), {"dtype": torch.bfloat16}),
    ]
    if not own or torch.__version__ >= "2.1":
        calls.append(("scale", dict(scale=0.3), (1, 2, 5, 8), (1, 2, 7, 8), {}))
    if not own or torch.__version__ >= "2.5":
        calls.append(("grouped heads", dict(enable_gqa=True), (1, 4, 5, 8), (1, 2, 7, 8), {}))
    for name, named, q_shape, k_shape, more in calls:
        q, k, v = rand(*q_shape, **more), rand(*k_shape, **more), rand(*k_shape, **more)
        with record("case.npz"):
            got = F.scaled_dot_product_attention(q, k, v, **named)
        assert got.shape[:-1] == q.shape[:-1]
        expect(name, "case.npz")

    # A kernel with a mistake, behind the same name: recorded and named.
    honest = F.scaled_dot_product_attention
    wrong = {
        "missing-scale": lambda q, k, v, *a, **n: honest(q * math.sqrt(q.size(-1)), k, v, *a, **n),
        "causal-missing": lambda q, k, v, m=None, d=0.0, is_causal=False: honest(q, k, v, m, d),
    }
    for name, kernel in wrong.items():
        F.scaled_dot_product_attention = kernel
        with record("wrong.npz"):
            F.scaled_dot_product_attention(rand(1, 2, 6, 8), rand(1, 2, 6, 8), rand(1, 2, 6, 8), None,
                                           0.0, True)
        expect(name, "wrong.npz", "fail", name)
    F.scaled_dot_product_attention = honest
    if not own:
        del F.scaled_dot_product_attention
        with record("old.npz"):
            F._scaled_dot_product_attention(rand(1, 2, 5, 8), rand(1, 2, 7, 8), rand(1, 2, 7, 8),
                                            None, 0.0, False, True)
        expect("1.13's own function, causal", "old.npz")

    # nn.MultiheadAttention: both orders, masks that mean the opposite, padding, added keys.
    modules = [
        ("module", dict(), {}, (5, 2, 16), None),
        ("module, batch first", dict(batch_first=True), {}, (2, 5, 16), None),
        ("module without bias", dict(bias=False), {}, (5, 2, 16), None),
        ("module, unbatched", dict(), {}, (5, 16), None),
        ("module with a mask", dict(), dict(attn_mask=torch.ones(5, 5).triu(1).bool()), (5, 2, 16), None),
        ("module with a float mask", dict(), dict(attn_mask=rand(5, 5)), (5, 2, 16), None),
        ("module with a mask of each head", dict(), dict(attn_mask=rand(8, 5, 5) > 1), (5, 2, 16), None),
        ("module with padding", dict(batch_first=True),
         dict(key_padding_mask=torch.tensor([[False] * 5, [False] * 3 + [True] * 2])), (2, 5, 16), None),
        ("module with padding and a mask", dict(),
         dict(key_padding_mask=torch.tensor([[False] * 5, [False] * 3 + [True] * 2]),
              attn_mask=torch.ones(5, 5).triu(1).bool()), (5, 2, 16), None),
        ("module with added keys", dict(add_bias_kv=True, add_zero_attn=True),
         dict(attn_mask=torch.ones(5, 5).triu(1).bool()), (5, 2, 16), None),
        ("cross-attention of other sizes", dict(kdim=12, vdim=10), {}, (5, 2, 16), (7, 2)),
    ]
    for name, made, named, shape, other in modules:
        for train in (False, True):
            module = torch.nn.MultiheadAttention(16, 4, **made).train(train)
            x = rand(*shape)
            key, value = (x, x) if other is None else (rand(*other, 12), rand(*other, 10))
            with torch.no_grad():
                want = module(x, key, value, **named)[0]
                with record("module.npz"):
                    got = module(x, key, value, **named)[0]
            assert torch.equal(want, got), "recording changed what the module gives"
            expect(name + (", training" if train else ""), "module.npz")

    # A model whole: each layer is a file, and none is recorded twice.
    layer = torch.nn.TransformerEncoderLayer(16, 4, 32, dropout=0.0).train()
    model = torch.nn.TransformerEncoder(layer, 3)
    with record("calls/") as recorded:
        model(rand(5, 2, 16))
    assert sorted(os.listdir("calls")) == ["0.npz", "1.npz", "2.npz"], os.listdir("calls")
    for file in recorded.files:
        expect("layer " + file, file)
    fast = torch.nn.TransformerEncoder(
        torch.nn.TransformerEncoderLayer(16, 4, 32, batch_first=True), 2).eval()
    with torch.no_grad(), record("fast/") as recorded:
        fast(rand(2, 5, 16))
    assert len(recorded.files) == 2, recorded.files
    expect("a layer that computes all in one call", recorded.files[1])
    with record("many.npz", limit=2) as recorded:
        model(rand(5, 2, 16))
    assert recorded.files == ["many.npz", "many-1.npz"] and recorded.left_out == 1

    # Rows that see nothing.
    with record("dead.npz"):
        torch.nn.MultiheadAttention(16, 4)(*[rand(3, 1, 16)] * 3, need_weights=False, attn_mask=torch.tensor(
            [[True] * 3, [False] * 3, [False, True, True]]))
    expect("a row that sees nothing", "dead.npz")

print("torch %s: %d failures" % (torch.__version__, len(failures)))
sys.exit(1 if failures else 0)
