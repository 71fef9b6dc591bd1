"""Measure tinygrad's overhead from the Tensor call to the source of its kernels.

Prints one JSON object: {workload: {"cold_ms", "cached_us", "kernels", "distinct"}}.
The compiler (clang) is left out: cold is building the graph, scheduling, lowering and rendering
for the CPU; cached is a repeated realize on the NULL device, whose kernels do nothing.
"""

from __future__ import annotations

import json
import math
import os
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("CPU_COUNT", "1")

from tinygrad import Device, Tensor, dtypes, nn
from tinygrad.codegen import get_program
from tinygrad.renderer.cstyle import ClangRenderer

Outputs = list[Any]
COLD_ROUNDS = 3


class MLP:
    """Three layers."""

    def __init__(self, sizes: tuple[int, ...]) -> None:
        self.layers = [nn.Linear(a, b) for a, b in zip(sizes, sizes[1:])]

    def __call__(self, x: Any) -> Any:
        """Return the scores."""
        for layer in self.layers[:-1]:
            x = layer(x).relu()
        return self.layers[-1](x)


class Block:
    """A transformer block without biases in its linear layers."""

    def __init__(self, dim: int, heads: int) -> None:
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv = nn.Linear(dim, 3 * dim, bias=False)
        self.out = nn.Linear(dim, dim, bias=False)
        self.up = nn.Linear(dim, 4 * dim, bias=False)
        self.down = nn.Linear(4 * dim, dim, bias=False)

    def __call__(self, x: Any, mask: Any) -> Any:
        """Attention, then the feed-forward layers."""
        batch, length, dim = x.shape
        size = dim // self.heads
        parts = self.qkv(self.norm1(x)).split(dim, dim=2)
        q, k, v = [p.reshape(batch, length, self.heads, size).transpose(1, 2) for p in parts]
        scores = (q @ k.transpose(-2, -1)) * (1 / math.sqrt(size)) + mask
        mixed = (scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, length, dim)
        x = x + self.out(mixed)
        return x + self.down(self.up(self.norm2(x)).gelu())


class GPT:
    """Two blocks between embeddings and a head."""

    def __init__(self, vocabulary: int, length: int, dim: int, heads: int) -> None:
        self.tokens, self.places = nn.Embedding(vocabulary, dim), nn.Embedding(length, dim)
        self.blocks = [Block(dim, heads) for _ in range(2)]
        self.norm, self.head = nn.LayerNorm(dim), nn.Linear(dim, vocabulary, bias=False)

    def __call__(self, x: Any) -> Any:
        """Return the logits of the next token."""
        length = x.shape[1]
        mask = Tensor.full((1, 1, length, length), float("-inf")).triu(1)
        x = self.tokens(x) + self.places(Tensor.arange(length).reshape(1, length))
        for block in self.blocks:
            x = block(x, mask)
        return self.head(self.norm(x))


def placed(model: Any) -> Any:
    """Replace each parameter's lazy random initialisation by an empty buffer."""
    for p in nn.state.get_parameters(model):
        p.replace(Tensor.empty(*p.shape))
        p.requires_grad = True
    return model


def loss_and_gradients(model: Any, x: Any, y: Any) -> Outputs:
    """Build the forward and backward pass."""
    loss = model(x).sparse_categorical_crossentropy(y)
    # After its first call an embedding lists its integer arange as a parameter, too.
    parameters = [p for p in nn.state.get_parameters(model) if p.requires_grad]
    return [loss, *loss.gradient(*parameters)]


def vecadd() -> Callable[[], Outputs]:
    """Return a builder of a sum of two vectors."""
    a, b = Tensor.empty(10), Tensor.empty(10)
    return lambda: [a + b]


def softmax() -> Callable[[], Outputs]:
    """Return a builder of a softmax over rows."""
    x = Tensor.empty(32, 128)
    return lambda: [x.softmax(-1)]


def matmul() -> Callable[[], Outputs]:
    """Return a builder of a product of two matrices."""
    a, b = Tensor.empty(256, 256), Tensor.empty(256, 256)
    return lambda: [a @ b]


def mlp() -> Callable[[], Outputs]:
    """Return a builder of the loss and gradients of an MLP."""
    model = placed(MLP((784, 512, 256, 10)))
    x, y = Tensor.empty(128, 784), Tensor.empty(128, dtype=dtypes.int)
    return lambda: loss_and_gradients(model, x, y)


def gpt() -> Callable[[], Outputs]:
    """Return a builder of the loss and gradients of a small GPT."""
    model = placed(GPT(512, 128, 256, 4))
    x, y = Tensor.empty(1, 128, dtype=dtypes.int), Tensor.empty(1, 128, dtype=dtypes.int)
    return lambda: loss_and_gradients(model, x, y)


WORKLOADS = {f.__name__: f for f in (vecadd, softmax, matmul, mlp, gpt)}


def cold(build: Callable[[], Outputs]) -> dict[str, float]:
    """Time one build, schedule and lowering in this process; count the kernels."""
    renderer = ClangRenderer()
    start = time.perf_counter()
    outputs = build()
    kernels = [item.ast for item in Tensor.schedule(*outputs)]
    distinct = set(kernels)
    for kernel in distinct:
        get_program(kernel, renderer)
    seconds = time.perf_counter() - start
    return {"cold_ms": seconds * 1e3, "kernels": len(kernels), "distinct": len(distinct)}


def cold_in_child(build: Callable[[], Outputs]) -> dict[str, float]:
    """Run cold in a forked child, which inherits our empty caches."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reader)
            with os.fdopen(writer, "w") as pipe:
                json.dump(cold(build), pipe)
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    result: dict[str, float] = json.loads(answer)
    return result


def cached(build: Callable[[], Outputs], seconds: float = 0.7) -> dict[str, float]:
    """Return the median time of repeated builds and realizes with warm caches."""
    times: list[float] = []
    end = time.perf_counter() + seconds
    while len(times) < 8 or time.perf_counter() < end:
        start = time.perf_counter()
        outputs = build()
        Tensor.realize(*outputs)
        times.append(time.perf_counter() - start)
    return {"cached_us": statistics.median(times[3:]) * 1e6}


def main() -> None:
    """Measure each workload."""
    names = sys.argv[1:] or list(WORKLOADS)
    cold((lambda a: lambda: [a.exp().sum()])(Tensor.empty(7)))  # imports lazily loaded modules
    results: dict[str, dict[str, float]] = {}
    for name in names:
        build = WORKLOADS[name]()
        rounds = [cold_in_child(build) for _ in range(COLD_ROUNDS)]
        results[name] = dict(rounds[0])
        results[name]["cold_ms"] = statistics.median(r["cold_ms"] for r in rounds)
    Device.DEFAULT = "NULL"
    for name in names:
        results[name] |= cached(WORKLOADS[name]())
    print(json.dumps(results))


if __name__ == "__main__":
    main()
