"""What is timed in PyTorch: each class is made from the settings of one of our workloads, and its
sample() returns seconds by what they were spent on."""
import time

import torch

from models import Decoder, SelfAttention, next_token_loss, progressions


class Training:
    """One update."""

    def __init__(self, dim=64, heads=4, depth=2, vocab=10, batch=128, seq_len=12,
                 task="progressions"):
        self.draw = ((lambda: (progressions(batch, seq_len), None)) if task == "progressions" else
                     (lambda: (torch.randint(0, vocab, (batch, seq_len)),
                               torch.randint(0, vocab, (batch, seq_len)))))
        self.model = Decoder(vocab, dim, heads, depth, seq_len)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4)

    def sample(self):
        start = time.perf_counter()
        loss = next_token_loss(self.model, *self.draw())
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        loss.item()
        return {"step": time.perf_counter() - start}


class Attention:
    """softmax(q k^T / sqrt(d)) v with its table of weights, and its gradients where wanted."""

    def __init__(self, n=2048, heads=8, head_dim=64, causal=1, backward=0):
        self.backward, self.scale = backward, head_dim ** -0.5
        self.inputs = [torch.randn(1, heads, n, head_dim, requires_grad=bool(backward))
                       for _ in range(3)]
        self.d_out = torch.randn(1, heads, n, head_dim) if backward else None
        self.hidden = torch.ones(n, n, dtype=torch.bool).triu(1) if causal else None

    def sample(self):
        q, k, v = self.inputs
        for x in self.inputs:
            x.grad = None
        start = time.perf_counter()
        with torch.set_grad_enabled(bool(self.backward)):
            scores = q @ k.transpose(-2, -1) * self.scale
            if self.hidden is not None:
                scores = scores.masked_fill(self.hidden, float("-inf"))
            out = scores.softmax(-1) @ v
            del scores
            if self.backward:
                out.backward(self.d_out)
        return {"attention": time.perf_counter() - start}


class Layer:
    """The tutorial's layer: one token after another, attending to all before it."""

    def __init__(self, dim=64, heads=4, tokens=512, cache="lists"):
        self.run = {"lists": self.lists, "in_place": self.in_place, "none": self.recomputed}[cache]
        self.layer = SelfAttention(dim, heads)
        self.x = torch.randn(1, tokens, dim)
        self.future = torch.ones(tokens, tokens, dtype=torch.bool).triu(1)
        shape = (1, heads, tokens, dim // heads)
        self.cache = torch.empty(shape), torch.empty(shape)

    def lists(self):
        layer, keys, values, outputs = self.layer, [], [], []
        for position in range(self.x.shape[1]):
            new = self.x[:, position:position + 1]
            keys.append(layer.split(layer.k(new)))
            values.append(layer.split(layer.v(new)))
            outputs.append(layer.mix(layer.split(layer.q(new)), torch.cat(keys, dim=2),
                                     torch.cat(values, dim=2)))
        return torch.cat(outputs, dim=1)

    def in_place(self):
        return torch.cat([self.layer(self.x[:, i:i + 1], None, (*self.cache, i))
                          for i in range(self.x.shape[1])], dim=1)

    def recomputed(self):
        return torch.cat([self.layer(self.x[:, :n], self.future[:n, :n])[:, -1:]
                          for n in range(1, self.x.shape[1] + 1)], dim=1)

    @torch.no_grad()
    def sample(self):
        start = time.perf_counter()
        self.run()
        return {"decode": time.perf_counter() - start}


class Decode:
    """A prompt in one pass, then one token after another, with a preallocated cache."""

    def __init__(self, dim=384, heads=6, depth=6, vocab=65, prompt=256, new_tokens=256):
        self.new_tokens = new_tokens
        self.model = Decoder(vocab, dim, heads, depth, prompt + new_tokens)
        self.prompt = torch.randint(0, vocab, (1, prompt))
        self.caches = self.model.make_caches(prompt + new_tokens)

    @torch.no_grad()
    def sample(self):
        start = time.perf_counter()
        token = self.model.next_token(self.prompt, self.caches, 0)
        prefilled = time.perf_counter()
        length = self.prompt.shape[1]
        # The first new token comes out of the prompt's pass.
        for position in range(length, length + self.new_tokens - 1):
            token = self.model.next_token(token, self.caches, position)
        token.item()
        end = time.perf_counter()
        return {"prefill": prefilled - start, "token": (end - prefilled) / (self.new_tokens - 1)}


WORKLOADS = {"training": Training, "attention": Attention, "layer": Layer, "decode": Decode}
