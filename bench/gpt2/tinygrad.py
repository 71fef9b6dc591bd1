"""tinygrad on its CPU device, modelled on its own example of GPT-2.

A step is replayed by TinyJit, with token and position as bound variables, and writes keys and
values into a cache. The prompt is processed at once, by kernels compiled the first time.
"""

from __future__ import annotations

from typing import Any

from tinygrad import Device, Tensor, TinyJit, Variable

from gpt2 import EPSILON, HEADS, LAYERS, SIZE, VOCABULARY, WIDTH, load

ROOM = 256


class Model:
    """The model; BEAM and CPU_COUNT are set by the environment."""

    def __init__(self, folder: str, kind: str, threads: int, compiled: bool) -> None:
        if kind != "float32":
            raise ValueError(f"weights of {kind}, expected float32")
        self.w = {n: Tensor(v, device="CPU").contiguous().realize() for n, v in load(folder)}
        size = (2, 1, ROOM, HEADS, SIZE)
        self.cache = [Tensor.zeros(*size).contiguous().realize() for _ in range(LAYERS)]
        self.token = Variable("token", 0, VOCABULARY - 1)
        self.place = Variable("place", 1, ROOM - 1)
        self.replayed: Any = TinyJit(self.one)
        self.at = self.next = 0

    def norm(self, x: Tensor, name: str) -> Tensor:
        """Normalize rows."""
        return x.layernorm(eps=EPSILON) * self.w[name + ".weight"] + self.w[name + ".bias"]

    def linear(self, x: Tensor, name: str) -> Tensor:
        """Multiply by a weight."""
        return x.linear(self.w[name + ".weight"], self.w[name + ".bias"])

    def layers(self, x: Tensor, at: Any, n: int) -> Tensor:
        """Return the token that follows n rows of embeddings from position at."""
        first = isinstance(at, int)
        mask = Tensor.full((1, 1, n, n), float("-inf")).triu(1) if n > 1 else None
        for i in range(LAYERS):
            h = f"h.{i}."
            qkv = self.linear(self.norm(x, h + "ln_1"), h + "attn.c_attn")
            q, k, v = (qkv.reshape(1, n, 3, HEADS, SIZE)[:, :, j] for j in range(3))
            cache = self.cache[i]
            written = cache.shrink((None, None, (at, at + n), None, None))
            written.assign(Tensor.stack(k, v)).realize()
            if not first:
                k, v = (cache[j].shrink((None, (0, at + n), None, None)) for j in range(2))
            q, k, v = (t.transpose(1, 2) for t in (q, k, v))
            mixed = q.scaled_dot_product_attention(k, v, attn_mask=mask).transpose(1, 2)
            x = x + self.linear(mixed.reshape(1, n, WIDTH), h + "attn.c_proj")
            x = x + self.linear(
                self.linear(self.norm(x, h + "ln_2"), h + "mlp.c_fc").gelu(), h + "mlp.c_proj"
            )
        scores = self.norm(x, "ln_f")[:, -1].linear(self.w["wte.weight"].transpose())
        return scores.argmax(-1).realize()

    def one(self, token: Any, at: Any) -> Tensor:
        """Process one token; return the next one."""
        rows = self.w["wte.weight"].shrink(((token, token + 1), None)).reshape(1, 1, WIDTH)
        places = self.w["wpe.weight"].shrink(((at, at + 1), None)).reshape(1, 1, WIDTH)
        return self.layers(rows + places, at, 1)

    def prompt(self, tokens: list[int]) -> None:
        """Process the prompt."""
        n = self.at = len(tokens)
        x = self.w["wte.weight"][Tensor([tokens])] + self.w["wpe.weight"][:n]
        self.next = int(self.layers(x, 0, n).item())

    def step(self) -> int:
        """Return the next token."""
        token, place = self.next, self.at
        self.at += 1
        found = self.replayed(self.token.bind(token), self.place.bind(place))
        self.next = int(found.item())
        Device["CPU"].synchronize()
        return token
