#!/usr/bin/env python3
"""Writes tests/data/cases/gradients: attention gradients by PyTorch's autograd, right and wrong.

Each file holds q, k, v, dout and dq, dk, dv in the form attn-check reads; manifest.json says what it
should find. Needs PyTorch, NumPy and h5py. Usage: make_gradient_cases.py FOLDER
"""

import json
import math
import pathlib
import sys

import h5py
import numpy as np
import torch


def visible(setting, queries, keys):
    """(queries, keys): may the query see the key?"""
    i = torch.arange(queries)[:, None]
    j = torch.arange(keys)[None]
    corner = keys - queries if setting.get("causal_alignment") == "bottom_right" else 0
    seen = torch.ones(queries, keys, dtype=torch.bool)
    if setting.get("causal"):
        seen &= j <= i + corner
    if setting.get("window_left", -1) >= 0:
        seen &= j >= i + corner - setting["window_left"]
    return seen


def gradients(setting, q, k, v, dout, double=True):
    """out and the gradients of sum(out * dout) by q, k and v."""
    kind = torch.float64 if double else torch.float32
    leaves = [torch.tensor(x, dtype=kind, requires_grad=True) for x in (q, k, v)]
    group = q.shape[1] // k.shape[1]
    keys, values = (x.repeat_interleave(group, 1) for x in leaves[1:])
    scores = leaves[0] @ keys.transpose(-1, -2) / math.sqrt(q.shape[-1])
    if setting.get("softcap"):
        scores = setting["softcap"] * torch.tanh(scores / setting["softcap"])
    seen = visible(setting, q.shape[2], k.shape[2])
    out = torch.softmax(scores.masked_fill(~seen, -math.inf), -1) @ values
    out.backward(torch.tensor(dout, dtype=kind))
    names = ("dq", "dk", "dv")
    return {"out": out.detach().numpy(), **{n: x.grad.numpy() for n, x in zip(names, leaves)}}


def main(folder):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(1706)
    manifest = []

    def normal(*shape):
        return rng.normal(size=shape).astype(np.float32)

    def write(name, setting, inputs, results, diagnosis):
        with h5py.File(folder / f"{name}.h5", "w", track_order=False) as file:
            file.attrs["format"] = "attn-case"
            file.attrs["dtype"] = setting.get("dtype", "float32")
            for key in ("causal", "causal_alignment", "window_left", "softcap"):
                if key in setting:
                    file.attrs[key] = setting[key]
            kept = np.float64 if setting.get("dtype") == "float64" else np.float32
            for key, value in inputs.items():
                file[key] = value
            for key, value in results.items():
                file[key] = value.astype(kept)
        manifest.append({"file": f"{name}.h5", "expected": "fail" if diagnosis else "pass",
                         "diagnosis": diagnosis})

    def case(name, setting, change=None, diagnosis=None, heads=4, kv_heads=2, queries=5, keys=5):
        inputs = dict(q=normal(1, heads, queries, 8), k=normal(1, kv_heads, keys, 8),
                      v=normal(1, kv_heads, keys, 8), dout=normal(1, heads, queries, 8))
        double = setting.get("dtype") == "float64"
        results = gradients(setting, **inputs, double=double)
        if change:
            results = change(results, inputs)
        write(name, setting, inputs, results, diagnosis)

    def backward_of(setting):
        """The gradients of another setting beside the out of the right one."""
        return lambda right, inputs: {**gradients(setting, **inputs, double=False),
                                      "out": right["out"]}

    def last_of_group(right, inputs):
        group = inputs["q"].shape[1] // inputs["k"].shape[1]
        wide = dict(inputs, k=inputs["k"].repeat(group, 1), v=inputs["v"].repeat(group, 1))
        whole = gradients({"causal": 1}, **wide, double=False)
        return {**right, "dk": whole["dk"][:, group - 1::group], "dv": whole["dv"][:, group - 1::group]}

    case("ok_causal_gqa", {"causal": 1})
    case("ok_window_softcap_f64",
         {"causal": 1, "window_left": 2, "softcap": 1.5, "dtype": "float64"})
    case("ok_bottom_right", {"causal": 1, "causal_alignment": "bottom_right"}, keys=9)
    case("bad_gqa_not_summed", {"causal": 1}, last_of_group, "gqa-not-summed")
    case("bad_backward_open", {"causal": 1}, backward_of({}), "causal-missing-in-backward")
    case("bad_backward_corner", {"causal": 1, "causal_alignment": "bottom_right"},
         backward_of({"causal": 1}), "causal-alignment-in-backward", keys=9)
    case("bad_dq_unscaled", {},
         lambda right, _: {**right, "dq": right["dq"] * math.sqrt(8)}, "scale-missing-on-dq")
    with open(folder / "manifest.json", "w", encoding="utf-8") as file:
        json.dump({"format": 1, "cases": manifest}, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main(sys.argv[1])
