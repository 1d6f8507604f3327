"""The models of the comparison in plain PyTorch, as people write them."""
import math

import torch
from torch import nn


class SelfAttention(nn.Module):
    """Multi-head self-attention with four projections."""

    def __init__(self, dim, heads):
        super().__init__()
        self.dim, self.heads = dim, heads
        self.q, self.k, self.v, self.out = (nn.Linear(dim, dim) for _ in range(4))

    def split(self, x):
        """(batch, n, dim) -> (batch, heads, n, head_dim)"""
        batch, rows, _ = x.shape
        return x.view(batch, rows, self.heads, self.dim // self.heads).transpose(1, 2)

    def mix(self, q, k, v, hidden=None):
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.dim // self.heads)
        if hidden is not None:
            scores = scores.masked_fill(hidden, float("-inf"))
        mixed = (scores.softmax(-1) @ v).transpose(1, 2)
        return self.out(mixed.reshape(mixed.shape[0], -1, self.dim))

    def forward(self, x, hidden=None, cache=None):
        """cache: (keys, values, length); the rows are written behind the first `length`."""
        q, k, v = (self.split(project(x)) for project in (self.q, self.k, self.v))
        if cache is not None:
            keys, values, length = cache
            end = length + x.shape[1]
            keys[:, :, length:end], values[:, :, length:end] = k, v
            k, v = keys[:, :, :end], values[:, :, :end]
        return self.mix(q, k, v, hidden)


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attention = SelfAttention(dim, heads)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))

    def forward(self, x, hidden=None, cache=None):
        x = x + self.attention(self.norm1(x), hidden, cache)
        return x + self.mlp(self.norm2(x))


class Decoder(nn.Module):
    """Token embeddings plus sinusoids, pre-norm blocks, a norm and a head."""

    def __init__(self, vocab, dim, heads, depth, length):
        super().__init__()
        self.dim, self.heads = dim, heads
        self.tokens = nn.Embedding(vocab, dim)
        self.blocks = nn.ModuleList(Block(dim, heads) for _ in range(depth))
        self.norm, self.head = nn.LayerNorm(dim), nn.Linear(dim, vocab)
        angles = torch.arange(length)[:, None] * 10000.0 ** (-torch.arange(0, dim, 2) / dim)
        waves = torch.stack((angles.sin(), angles.cos()), dim=-1).view(length, dim)
        self.register_buffer("positions", waves)
        future = torch.ones(length, length, dtype=torch.bool).triu(1)
        self.register_buffer("future", future)

    def features(self, ids, caches=None, length=0):
        rows = ids.shape[1]
        x = self.tokens(ids) + self.positions[length:length + rows]
        hidden = self.future[:rows, :rows] if rows > 1 else None
        for i, block in enumerate(self.blocks):
            x = block(x, hidden, None if caches is None else (*caches[i], length))
        return x

    def forward(self, ids):
        return self.head(self.norm(self.features(ids)))

    def next_token(self, ids, caches, length):
        """The likeliest token behind ids, which stand at position `length`."""
        return self.head(self.norm(self.features(ids, caches, length)[:, -1:])).argmax(-1)

    def make_caches(self, capacity):
        shape = (1, self.heads, capacity, self.dim // self.heads)
        return [(torch.empty(shape), torch.empty(shape)) for _ in self.blocks]


def progressions(batch, length):
    """Arithmetic progressions modulo 10, as the tutorial trains on."""
    start, stride = torch.randint(0, 10, (batch, 1)), torch.randint(1, 10, (batch, 1))
    return (start + stride * torch.arange(length)) % 10


def next_token_loss(model, ids, targets=None):
    """Without targets the next token is one: the last position has none, and its logits are
    computed and not scored."""
    logits = model(ids)
    if targets is None:
        logits, targets = logits[:, :-1], ids[:, 1:]
    return nn.functional.cross_entropy(logits.reshape(-1, logits.shape[-1]), targets.reshape(-1))
