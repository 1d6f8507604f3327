#!/usr/bin/env python3
"""Record what PyTorch's attention is given and gives, in files that attn-check reads.

    from record_attention import record
    with record("case.npz"):
        model(x)

then `attn-check -i case.npz`. Every call of torch.nn.functional.scaled_dot_product_attention and
of nn.MultiheadAttention inside the block is a case: the first is case.npz, further ones are
case-1.npz, case-2.npz ... With a folder (`record("calls/")`) they are calls/0.npz, calls/1.npz
..., and `attn-check -i calls` gives one verdict on all.

Needs numpy beside torch (1.13 or any 2.x), and no HDF5. What is recorded, per call:
  q, k, v, out   (batch, heads, rows, features); bfloat16 as float32 values with dtype said
  mask           1 = may attend (MultiheadAttention's True means the opposite and is turned round,
                 key_padding_mask is part of it), or a float mask, which is added to the scores
  scale, causal, causal_alignment (top left, as is_causal means it), dtype, fully_masked
Of MultiheadAttention, q, k and v are the projected heads, and out the heads before out_proj.
A function that was imported by name before the block (`from torch.nn.functional import
scaled_dot_product_attention`) is not seen: call it as F.scaled_dot_product_attention.
"""
import contextlib
import math
import os
import sys

import numpy as np
import torch
import torch.nn.functional as F

DTYPES = {torch.float64: "float64", torch.float32: "float32", torch.float16: "float16",
          torch.bfloat16: "bfloat16"}


def _array(tensor):
    """A tensor as NumPy has it: NumPy lacks bfloat16, of which float32 has every value."""
    tensor = tensor.detach().cpu()
    return (tensor.float() if tensor.dtype == torch.bfloat16 else tensor).contiguous().numpy()


def _four_axes(tensor):
    """(..., heads, rows, features) as (batch, heads, rows, features); three axes are
    (batch, rows, features) of one head."""
    while tensor.dim() < 3:
        tensor = tensor.unsqueeze(0)
    if tensor.dim() == 3:
        tensor = tensor.unsqueeze(1)
    return tensor.reshape((-1,) + tuple(tensor.shape[-3:]))


def _mask_axes(mask, lead):
    """A mask that broadcasts to lead + (rows, keys), in four axes that do as well."""
    if mask.dim() == 2:
        return mask[None, None]
    mask = mask.reshape((1,) * (len(lead) + 2 - mask.dim()) + tuple(mask.shape))
    if len(lead) <= 2:
        return _four_axes(mask)
    return _four_axes(mask.expand(tuple(lead) + tuple(mask.shape[-2:])))


def _case(q, k, v, out, mask, causal, alignment, scale):
    """Arrays of one call; q, k, v, out in any number of axes, mask True = may attend or added."""
    lead = tuple(q.shape[:-2])
    spread = [x.expand(lead[:-1] + tuple(x.shape[-3:])) if len(lead) > 1 else
              x.expand(lead + tuple(x.shape[-2:])) for x in (k, v)]
    q, k, v = (_four_axes(x) for x in (q, *spread))
    case = {"q": _array(q), "k": _array(k), "v": _array(v), "format": np.array("attn-case"),
            "layout": np.array("BHSD"), "dtype": np.array(DTYPES[q.dtype]),
            "scale": np.float64(1 / math.sqrt(q.shape[-1]) if scale is None else scale),
            "causal": np.int64(bool(causal)), "window_left": np.int64(-1),
            "softcap": np.float64(0), "fully_masked": np.array("zero")}
    if causal:
        case["causal_alignment"] = np.array(alignment)
    if mask is not None:
        boolean = mask.dtype == torch.bool
        mask = _mask_axes(mask, lead)
        case["mask"] = mask.cpu().numpy().astype(np.uint8) if boolean else _array(mask)
        case["mask_type"] = np.array("bool" if boolean else "additive")
    if out is not None:
        case["out"] = _array(_four_axes(out))
        # Older versions give NaN for a row that sees nothing, newer ones zeros.
        if np.isnan(case["out"]).all(axis=-1).any():
            case["fully_masked"] = np.array("nan")
    return case


class _Recorder:
    def __init__(self, path, limit):
        self.path, self.limit = os.fspath(path), limit
        self.folder = self.path.endswith(("/", os.sep)) or os.path.isdir(self.path)
        self.files, self.left_out, self.inside = [], 0, False

    def save(self, case):
        if len(self.files) >= self.limit:
            self.left_out += 1
            return
        n = len(self.files)
        if self.folder:
            os.makedirs(self.path, exist_ok=True)
            name = os.path.join(self.path, "%d.npz" % n)
        else:
            stem = self.path[:-4] if self.path.endswith(".npz") else self.path
            name = "%s%s.npz" % (stem, "-%d" % n if n else "")
        np.savez(name, **case)
        self.files.append(name)

    @contextlib.contextmanager
    def alone(self):
        """What attention calls inside itself is no call of the user's."""
        self.inside = True
        try:
            yield
        finally:
            self.inside = False


def _say(words):
    print("record_attention: " + words, file=sys.stderr)


def _bias_causality(mask):
    """torch.nn.attention.bias.CausalBias: (causal, corner); (False, None) for other masks."""
    variant = getattr(mask, "variant", None)
    if variant is None:
        return False, None
    return True, "bottom_right" if "LOWER_RIGHT" in str(variant) else "top_left"


def _watch_function(original, recorder, gives_weights):
    def attention(query, key, value, attn_mask=None, dropout_p=0.0, *rest, **named):
        result = original(query, key, value, attn_mask, dropout_p, *rest, **named)
        if recorder.inside:
            return result
        names = ("need_attn_weights", "is_causal") if gives_weights else ("is_causal",)
        told = {**dict(zip(names, rest)), **named}
        causal, alignment, mask = told.get("is_causal", False), "top_left", attn_mask
        of_bias, corner = _bias_causality(attn_mask)
        if of_bias:
            causal, alignment, mask = True, corner, None
        out = result[0] if gives_weights else result
        if dropout_p > 0:
            _say("dropout is on: the call is recorded without out (model.eval() turns it off)")
            out = None
        recorder.save(_case(query, key, value, out, mask, causal, alignment, told.get("scale")))
        return result

    return attention


def _heads(x, batch, heads):
    """(rows, batch, heads * features) as (batch, heads, rows, features)."""
    return x.reshape(x.shape[0], batch, heads, -1).permute(1, 2, 0, 3)


def _projected(module, query, key, value):
    """q, k and v as heads, from (rows, batch, features)."""
    size = module.embed_dim
    if module._qkv_same_embed_dim:
        weights = module.in_proj_weight.split(size)
    else:
        weights = (module.q_proj_weight, module.k_proj_weight, module.v_proj_weight)
    biases = (None,) * 3 if module.in_proj_bias is None else module.in_proj_bias.split(size)
    q, k, v = (F.linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases))
    batch = q.shape[1]
    if module.bias_k is not None:
        k = torch.cat([k, module.bias_k.expand(1, batch, size)])
        v = torch.cat([v, module.bias_v.expand(1, batch, size)])
    if module.add_zero_attn:
        k, v = (torch.cat([x, x.new_zeros(1, batch, size)]) for x in (k, v))
    return tuple(_heads(x, batch, module.num_heads) for x in (q, k, v))


def _merged_mask(module, attn_mask, padding, batch, keys):
    """MultiheadAttention's two masks as one, True = may attend or added to the scores."""
    masks = []
    if attn_mask is not None:
        rows = attn_mask.shape[-2:]
        masks.append(attn_mask.reshape((1, 1) + tuple(rows) if attn_mask.dim() == 2 else
                                       (batch, module.num_heads) + tuple(rows)))
    if padding is not None:
        masks.append(padding.reshape(batch, 1, 1, -1))
    if not masks:
        return None
    # Keys that the module adds itself (bias_k, add_zero_attn) are seen by all.
    masks = [F.pad(m, (0, keys - m.shape[-1])) for m in masks]
    if not any(m.is_floating_point() for m in masks):
        allowed = ~masks[0].bool()
        for m in masks[1:]:
            allowed = allowed & ~m.bool()
        return allowed
    total = 0
    for m in masks:
        total = total + (m if m.is_floating_point() else
                         torch.zeros(m.shape).masked_fill(m.bool().cpu(), -math.inf).to(m.device))
    return total


def _watch_module(original, recorder):
    def forward(self, query, key, value, *rest, **named):
        if recorder.inside:
            return original(self, query, key, value, *rest, **named)
        with recorder.alone():
            result = original(self, query, key, value, *rest, **named)
            with torch.no_grad():
                recorder.save(_module_case(original, self, query, key, value, rest, named))
        return result

    return forward


def _module_case(original, module, query, key, value, rest, named):
    names = ("key_padding_mask", "need_weights", "attn_mask", "average_attn_weights", "is_causal")
    told = {**dict(zip(names, rest)), **named}
    # The heads before out_proj: the same forward, with a projection that changes nothing.
    linear = module.out_proj
    kept = linear.weight.data, None if linear.bias is None else linear.bias.data
    was_training, dropout = module.training, module.dropout
    try:
        linear.weight.data = torch.eye(module.embed_dim, dtype=kept[0].dtype, device=kept[0].device)
        if linear.bias is not None:
            linear.bias.data = torch.zeros_like(kept[1])
        if was_training and dropout > 0:
            _say("dropout is on: the call is recorded as it is without")
            module.dropout = 0.0
        out = original(module, query, key, value, *rest, **named)[0]
    finally:
        linear.weight.data = kept[0]
        if linear.bias is not None:
            linear.bias.data = kept[1]
        module.dropout = dropout
    tensors = [query, key, value, out]
    if query.dim() == 2:
        tensors = [x.unsqueeze(1) for x in tensors]
    elif module.batch_first:
        tensors = [x.transpose(0, 1) for x in tensors]
    q, k, v = _projected(module, *tensors[:3])
    batch = q.shape[0]
    mask = _merged_mask(module, told.get("attn_mask"), told.get("key_padding_mask"), batch,
                        k.shape[2])
    # is_causal is only a hint beside attn_mask, which is what counts.
    causal = told.get("is_causal", False) and told.get("attn_mask") is None
    return _case(q, k, v, _heads(tensors[3], batch, module.num_heads), mask, causal, "top_left",
                 None)


@contextlib.contextmanager
def _without_fast_path():
    """TransformerEncoderLayer in eval() computes all of a layer in one call, attention unseen."""
    if hasattr(torch.backends, "mha"):
        enabled = torch.backends.mha.get_fastpath_enabled()
        torch.backends.mha.set_fastpath_enabled(False)
        try:
            yield
        finally:
            torch.backends.mha.set_fastpath_enabled(enabled)
    else:
        # What these versions ask for before they take the fast path.
        asked = torch.overrides.has_torch_function
        torch.overrides.has_torch_function = lambda tensors: True
        try:
            yield
        finally:
            torch.overrides.has_torch_function = asked


def _slowly(forward):
    def watched(self, *rest, **named):
        with _without_fast_path():
            return forward(self, *rest, **named)

    return watched


@contextlib.contextmanager
def record(path, limit=100):
    """Records the attention calls of the block; at most `limit` of them."""
    recorder = _Recorder(path, limit)
    public = hasattr(F, "scaled_dot_product_attention")
    name = "scaled_dot_product_attention" if public else "_scaled_dot_product_attention"
    function = getattr(F, name)
    forward = torch.nn.MultiheadAttention.forward
    setattr(F, name, _watch_function(function, recorder, gives_weights=not public))
    torch.nn.MultiheadAttention.forward = _watch_module(forward, recorder)
    encoders = torch.nn.TransformerEncoder, torch.nn.TransformerEncoderLayer
    forwards = [encoder.forward for encoder in encoders]
    for encoder, whole in zip(encoders, forwards):
        encoder.forward = _slowly(whole)
    try:
        yield recorder
    finally:
        setattr(F, name, function)
        torch.nn.MultiheadAttention.forward = forward
        for encoder, whole in zip(encoders, forwards):
            encoder.forward = whole
        if not recorder.files:
            _say("no attention was called in the block (or by a name imported before it)")
        elif len(recorder.files) > 1 or recorder.left_out:
            _say("%d calls: %s ... %s%s" % (len(recorder.files), recorder.files[0],
                                            recorder.files[-1], "; %d more were left out" %
                                            recorder.left_out if recorder.left_out else ""))


if __name__ == "__main__":
    print(__doc__)
