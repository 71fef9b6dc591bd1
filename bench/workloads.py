"""The graphs of the overhead measurements, the same as in tinygrad_overhead.py."""

from __future__ import annotations

import math
from collections.abc import Callable

from abi import MUL, Graph

Build = Callable[[], list[int]]


def vecadd(g: Graph, n: int = 10) -> Build:
    """Return a builder of a sum of two vectors."""
    a, b = g.random(n), g.random(n)
    return lambda: [g.add(a, b)]


def softmax(g: Graph) -> Build:
    """Return a builder of a softmax over rows."""
    x = g.random(32, 128)
    return lambda: [g.softmax(x)]


def layernorm(g: Graph) -> Build:
    """Return a builder of a layernorm of rows."""
    x, weight, bias = g.random(32, 128), g.random(128), g.random(128)
    return lambda: [g.layernorm(x, weight, bias)]


def matmul(g: Graph, n: int = 256) -> Build:
    """Return a builder of a product of two matrices."""
    a, b = g.random(n, n), g.random(n, n)
    return lambda: [g.matmul(a, b)]


def matmul512(g: Graph) -> Build:
    """Return a builder of a matrix product large enough for tiling."""
    return matmul(g, 512)


def mlp(g: Graph, sizes: tuple[int, ...] = (784, 512, 256, 10), batch: int = 128) -> Build:
    """Return a builder of the loss and gradients of an MLP."""
    layers = [(g.random(b, a), g.random(b)) for a, b in zip(sizes, sizes[1:])]
    parameters = [p for layer in layers for p in layer]
    x, y = g.random(batch, sizes[0]), g.integers(sizes[-1], batch)

    def build() -> list[int]:
        h = x
        for weight, bias in layers[:-1]:
            h = g.relu(g.affine(h, weight, bias))
        loss = g.cross_entropy(g.affine(h, *layers[-1]), y)
        return [loss, *g.gradients(loss, parameters)]

    return build


def gpt(
    g: Graph, vocabulary: int = 512, length: int = 128, dim: int = 256, heads: int = 4
) -> Build:
    """Return a builder of the loss and gradients of a GPT of two layers."""
    tokens, places = g.random(vocabulary, dim), g.random(length, dim)
    norms = [(g.random(dim), g.random(dim)) for _ in range(5)]
    shapes = [(3 * dim, dim), (dim, dim), (4 * dim, dim), (dim, 4 * dim)]
    blocks = [[g.random(*shape) for shape in shapes] for _ in range(2)]
    head = g.random(vocabulary, dim)
    x, y = g.integers(vocabulary, 1, length), g.integers(vocabulary, 1, length)
    parameters = [tokens, places, head]
    parameters += [p for group in (*norms, *blocks) for p in group]
    size = dim // heads

    def block(h: int, weights: list[int], norm1: tuple[int, int], norm2: tuple[int, int]) -> int:
        qkv, out, up, down = weights
        parts = g.split(g.affine(g.layernorm(h, *norm1), qkv), [dim] * 3, 2)
        q, k, v = [g.transpose(g.reshape(p, 1, length, heads, size), 1, 2) for p in parts]
        scores = g.scalar(MUL, g.matmul(q, g.transpose(k, -2, -1)), 1 / math.sqrt(size))
        mask = g.upper(-math.inf, 1, 1, length, length)
        mixed = g.matmul(g.softmax(g.add(scores, mask)), v)
        h = g.add(h, g.affine(g.reshape(g.transpose(mixed, 1, 2), 1, length, dim), out))
        return g.add(h, g.affine(g.gelu(g.affine(g.layernorm(h, *norm2), up)), down))

    def build() -> list[int]:
        h = g.add(g.rows(tokens, x), g.rows(places, g.reshape(g.arange(length), 1, length)))
        for i, weights in enumerate(blocks):
            h = block(h, weights, norms[2 * i], norms[2 * i + 1])
        loss = g.cross_entropy(g.affine(g.layernorm(h, *norms[4]), head), y)
        return [loss, *g.gradients(loss, parameters)]

    return build


def small_mlp(g: Graph) -> Build:
    """Return the graph of mlp with kernels too short to matter."""
    return mlp(g, (16, 16, 16, 10), 4)


def small_gpt(g: Graph) -> Build:
    """Return the graph of gpt with kernels too short to matter."""
    return gpt(g, 16, 8, 16, 4)
