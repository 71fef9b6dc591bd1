"""The programs that are compared with other frameworks, written once for all of them.

A program takes the module of a framework (see peers) and tensors. A loss takes a list of
parameters between them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

Tensor = Any
Ops = Any
Program = Callable[..., Any]


def add(f: Ops, a: Tensor, b: Tensor) -> Tensor:
    """Add two tensors."""
    return a + b


def chain(steps: int) -> Program:
    """Return a program of steps times five elementwise operations."""

    def program(f: Ops, x: Tensor) -> Tensor:
        y = x
        for _ in range(steps):
            y = f.maximum(y * 1.001 + 0.1, 0.2) * x - 0.3
        return y

    return program


def of(name: str) -> Program:
    """Return the program of one function of the framework."""
    return lambda f, *tensors: getattr(f, name)(*tensors)


def total(axis: int | None) -> Program:
    """Return the sum over an axis, or over all."""
    return lambda f, x: f.total(x, axis)


def product(f: Ops, a: Tensor, b: Tensor) -> Tensor:
    """Multiply matrices."""
    return f.matmul(a, b)


def product_int(f: Ops, a: Tensor, b: Tensor) -> Tensor:
    """Multiply matrices of int8, accumulating in int32."""
    return f.matmul_int(a, b)


def product_nt(f: Ops, a: Tensor, b: Tensor) -> Tensor:
    """Multiply by the transpose of the second matrix."""
    return f.matmul(a, f.transpose(b, 0, 1))


def product_tn(f: Ops, a: Tensor, b: Tensor) -> Tensor:
    """Multiply the transpose of the first matrix."""
    return f.matmul(f.transpose(a, 0, 1), b)


def transposed_copy(f: Ops, x: Tensor) -> Tensor:
    """Write the transpose of a matrix."""
    return f.copy(f.transpose(x, 0, 1))


def convolution(*options: int) -> Program:
    """Return a convolution with stride, padding, dilation and groups."""
    return lambda f, x, w: f.conv2d(x, w, *options)


def convolution_backward(stride: int, padding: int) -> Program:
    """Return the gradients of a convolution by its input and its weight."""
    return lambda f, x, w, g: f.conv2d_backward(x, w, g, stride, padding)


def cross_entropy_loss(f: Ops, parameters: Sequence[Tensor], target: Tensor) -> Tensor:
    """Return the cross entropy of logits, which are the parameter."""
    return f.cross_entropy(parameters[0], target)


def dense(f: Ops, parameters: Sequence[Tensor], x: Tensor) -> Tensor:
    """Apply linear layers with relu between them."""
    pairs = list(zip(parameters[::2], parameters[1::2]))
    for weight, bias in pairs[:-1]:
        x = f.relu(f.linear(x, weight, bias))
    return f.linear(x, *pairs[-1])


def mlp(f: Ops, x: Tensor, *parameters: Tensor) -> Tensor:
    """Return the logits of an MLP."""
    return dense(f, parameters, x)


def mlp_loss(f: Ops, parameters: Sequence[Tensor], x: Tensor, y: Tensor) -> Tensor:
    """Return the cross entropy of an MLP."""
    return f.cross_entropy(dense(f, parameters, x), y)


def regression_loss(f: Ops, parameters: Sequence[Tensor], x: Tensor, y: Tensor) -> Tensor:
    """Return the mean squared error of an MLP."""
    difference = dense(f, parameters, x) - y
    return f.mean(difference * difference)


def cnn_loss(f: Ops, parameters: Sequence[Tensor], x: Tensor, y: Tensor) -> Tensor:
    """Return the cross entropy of a CNN: two convolutions, pooling and a linear layer."""
    first, second, weight, bias = parameters
    x = f.relu(f.conv2d(x, first, 1, 1))
    x = f.max_pool2d(f.relu(f.conv2d(x, second, 1, 1)))
    return f.cross_entropy(f.linear(f.reshape(x, (x.shape[0], -1)), weight, bias), y)


def lstm_loss(f: Ops, parameters: Sequence[Tensor], x: Tensor, y: Tensor) -> Tensor:
    """Return the cross entropy of a linear layer on the last state of an LSTM."""
    wi, wh, bias, weight, b = parameters
    return f.cross_entropy(f.linear(f.lstm(x, wi, wh, bias), weight, b), y)


def transformer(heads: int, tied: bool) -> Program:
    """Return a decoder like GPT-2, from parameters and tokens (1, length) to logits.

    Parameters: embeddings of tokens and positions, per block norm, qkv, out, norm, up, down (with
    biases), the last norm and, unless it is tied to the tokens, the head.
    """

    def program(f: Ops, parameters: Sequence[Tensor], x: Tensor) -> Tensor:
        rest = list(parameters)
        tokens, places = rest[:2]
        head = tokens if tied else rest.pop()
        blocks, norm = rest[2:-2], rest[-2:]
        length, dim = places.shape
        size = dim // heads
        h = f.embedding(tokens, x) + places
        for i in range(0, len(blocks), 12):
            n1w, n1b, qkvw, qkvb, outw, outb, n2w, n2b, upw, upb, downw, downb = blocks[i : i + 12]
            qkv = f.linear(f.layernorm(h, n1w, n1b), qkvw, qkvb)
            parts = [qkv[:, :, n * dim : (n + 1) * dim] for n in range(3)]
            split = [f.transpose(f.reshape(p, (1, length, heads, size)), 1, 2) for p in parts]
            mixed = f.reshape(f.transpose(f.attention(*split), 1, 2), (1, length, dim))
            h = h + f.linear(mixed, outw, outb)
            up = f.gelu(f.linear(f.layernorm(h, n2w, n2b), upw, upb))
            h = h + f.linear(up, downw, downb)
        return f.linear(f.layernorm(h, *norm), head)

    return program


def transformer_forward(heads: int, tied: bool) -> Program:
    """Return the same with the parameters after the tokens."""
    logits = transformer(heads, tied)
    return lambda f, x, *parameters: logits(f, parameters, x)


def transformer_loss(heads: int, tied: bool) -> Program:
    """Return its cross entropy."""
    logits = transformer(heads, tied)

    def loss(f: Ops, parameters: Sequence[Tensor], x: Tensor, y: Tensor) -> Tensor:
        scores = logits(f, parameters, x)
        return f.cross_entropy(f.reshape(scores, (-1, scores.shape[-1])), y)

    return loss


def transformer_shapes(
    vocabulary: int, length: int, dim: int, layers: int, tied: bool
) -> list[tuple[int, ...]]:
    """Return the shapes of the parameters of a transformer."""
    block: list[tuple[int, ...]] = [(dim,), (dim,), (3 * dim, dim), (3 * dim,), (dim, dim), (dim,)]
    block += [(dim,), (dim,), (4 * dim, dim), (4 * dim,), (dim, 4 * dim), (dim,)]
    shapes: list[tuple[int, ...]] = [(vocabulary, dim), (length, dim)]
    shapes += [shape for _ in range(layers) for shape in block] + [(dim,), (dim,)]
    return shapes if tied else [*shapes, (vocabulary, dim)]


def transformer_flops(vocabulary: int, length: int, dim: int, layers: int) -> float:
    """Return the floating point operations of a forward pass."""
    products = layers * 12 * dim * dim + vocabulary * dim
    return 2.0 * length * products + layers * 4.0 * length * length * dim / 2


def dense_shapes(*sizes: int) -> list[tuple[int, ...]]:
    """Return the shapes of the parameters of linear layers."""
    return [shape for a, b in zip(sizes, sizes[1:]) for shape in ((b, a), (b,))]


def dense_flops(batch: int, *sizes: int) -> float:
    """Return the floating point operations of a forward pass of linear layers."""
    return 2.0 * batch * sum(a * b for a, b in zip(sizes, sizes[1:]))


def count(shapes: Sequence[Sequence[int]]) -> int:
    """Return how many numbers there are in arrays of these shapes."""
    return sum(math.prod(shape) for shape in shapes)
