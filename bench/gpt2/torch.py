"""PyTorch, eager or with its layers compiled, and a cache of keys and values.

The eager one attends to the tokens so far. torch.compile needs static shapes: compiled layers
attend to the whole cache, of the least sufficient size, through a mask. One of them is
compiled for all ("regional compilation"), and the prompt is processed by eager ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F

from gpt2 import EPSILON, HEADS, LAYERS, SIZE, WIDTH, load

ROOM = 256
PARTS = ("ln_1", "attn.c_attn", "attn.c_proj", "ln_2", "mlp.c_fc", "mlp.c_proj")
Tensor = Any


def norm(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Normalize rows."""
    return F.layer_norm(x, (WIDTH,), weight, bias, EPSILON)


def layer(
    x: Tensor, w: Sequence[Tensor], cache: Tensor, places: Tensor, seen: int, mask: Tensor | None
) -> Tensor:
    """Return a layer's output for rows at positions; it attends to positions before seen."""
    n = len(x)
    qkv = torch.addmm(w[3], norm(x, w[0], w[1]), w[2])
    q, *kv = qkv.view(n, 3, HEADS, SIZE).permute(1, 2, 0, 3)
    for cached, new in zip(cache, kv):
        cached.index_copy_(1, places, new)
    k, v = cache[:, None, :, :seen]
    causal = mask is None and n > 1
    mixed = F.scaled_dot_product_attention(q[None], k, v, attn_mask=mask, is_causal=causal)[0]
    x = x + torch.addmm(w[5], mixed.transpose(0, 1).reshape(n, WIDTH), w[4])
    inner = torch.addmm(w[9], norm(x, w[6], w[7]), w[8])
    return x + torch.addmm(w[11], F.gelu(inner, approximate="tanh"), w[10])


class Model:
    """The model, with weights of a type."""

    def __init__(self, folder: str, kind: str, threads: int, compiled: bool) -> None:
        torch.set_num_threads(threads)
        torch.set_grad_enabled(False)
        dtype = getattr(torch, kind)
        self.w = {name: torch.from_numpy(values).to(dtype) for name, values in load(folder)}
        self.parts = [
            [self.w[f"h.{i}.{part}.{of}"] for part in PARTS for of in ("weight", "bias")]
            for i in range(LAYERS)
        ]
        self.cache = torch.zeros((LAYERS, 2, HEADS, ROOM, SIZE), dtype=dtype)
        self.places = torch.arange(ROOM)
        self.compiled: Any = torch.compile(layer, dynamic=False) if compiled else None
        self.at = 0
        self.next: Tensor = torch.zeros(1, dtype=torch.int64)

    def see(self, tokens: Tensor, fixed: bool) -> None:
        """Process tokens, by compiled layers of fixed shapes or by eager ones."""
        first, self.at = self.at, self.at + len(tokens)
        places = self.places[first : self.at]
        run, seen = (self.compiled, ROOM) if fixed else (layer, self.at)
        mask = (self.places <= places)[None] if fixed else None
        x = self.w["wte.weight"][tokens] + self.w["wpe.weight"][places]
        for w, cache in zip(self.parts, self.cache):
            x = run(x, w, cache, places, seen, mask)
        x = norm(x[-1:], self.w["ln_f.weight"], self.w["ln_f.bias"])
        self.next = (x @ self.w["wte.weight"].T).argmax(-1)

    def prompt(self, tokens: list[int]) -> None:
        """Process the prompt."""
        self.at = 0
        self.see(torch.tensor(tokens), fixed=False)

    def step(self) -> int:
        """Return the next token."""
        token = self.next
        self.see(token, fixed=self.compiled is not None)
        return int(token)
