"""numpy with OpenBLAS."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Array = Any  # np.ndarray; numpy's stubs lose the type in many operations
OPS = sys.modules[__name__]


def setup(threads: int, variant: str) -> None:
    """Do nothing: OpenBLAS reads the number of threads from the environment."""


def version() -> str:
    """Return the version."""
    return np.__version__


def array(data: Array) -> Array:
    """Return a tensor."""
    return data


def read(result: Any) -> Array:
    """Return a result as an array."""
    return np.asarray(result)


def program(function: Callable[..., Any], arrays: Sequence[Array]) -> Callable[[], Any]:
    """Return a callable that runs function once on the arrays."""
    return lambda: function(OPS, *arrays)


def training(
    loss: Callable[..., Any], parameters: Sequence[Array], arrays: Sequence[Array], rate: float
) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """Return callables for a step, of the losses with a gradient below, and for the weights."""
    gradient = GRADIENTS[loss.__name__]

    def step() -> Any:
        value, gradients = gradient(parameters, *arrays)
        for p, g in zip(parameters, gradients):
            g *= rate
            p -= g
        return value

    return step, lambda: parameters


def gradients(
    loss: Callable[..., Any], parameters: Sequence[Array], arrays: Sequence[Array]
) -> Sequence[Array]:
    """Return the gradients of a loss."""
    _, found = GRADIENTS[loss.__name__](parameters, *arrays)
    return found


exp, sin, tanh = np.exp, np.sin, np.tanh
matmul = np.matmul


def matmul_int(a: Array, b: Array) -> Array:
    """Return the integer product, accumulated in int32."""
    return np.matmul(a, b, dtype=np.int32)


def gelu(x: Array) -> Array:
    """Return the GELU of x, by its tanh approximation."""
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * (x * x * x))))


def maximum(x: Array, other: float) -> Array:
    """Return the elementwise maximum of x and a number."""
    return np.maximum(x, np.float32(other))


def relu(x: Array) -> Array:
    """Return the positive part."""
    return np.maximum(x, np.float32(0))


def sigmoid(x: Array) -> Array:
    """Return 1 / (1 + exp(-x))."""
    return 1 / (1 + np.exp(-x))


def total(x: Array, axis: int | None = None) -> Array:
    """Return the sum."""
    return np.asarray(x.sum(axis))


def mean(x: Array) -> Array:
    """Return the mean of all."""
    return np.asarray(x.mean())


def softmax(x: Array) -> Array:
    """Return softmax along the last axis."""
    e = np.exp(x - x.max(-1, keepdims=True))
    e /= e.sum(-1, keepdims=True)
    return e


def layernorm(x: Array, weight: Array | None = None, bias: Array | None = None) -> Array:
    """Normalise along the last axis."""
    y = x - x.mean(-1, keepdims=True)
    y *= 1 / np.sqrt(np.square(y).mean(-1, keepdims=True) + np.float32(1e-5))
    if weight is not None:
        y *= weight
    if bias is not None:
        y += bias
    return y


def transpose(x: Array, a: int, b: int) -> Array:
    """Swap two axes."""
    return np.swapaxes(x, a, b)


def copy(x: Array) -> Array:
    """Return x, contiguous."""
    return np.ascontiguousarray(x)


def reshape(x: Array, shape: Sequence[int]) -> Array:
    """Return x in another shape."""
    return x.reshape(shape)


def linear(x: Array, weight: Array, bias: Array | None = None) -> Array:
    """Return x @ weight.T + bias."""
    y = x @ weight.T
    if bias is not None:
        y += bias
    return y


def conv2d(x: Array, weight: Array, stride: int = 1, padding: int = 0) -> Array:
    """Return the convolution, through im2col and a matrix product."""
    size = weight.shape[2]
    if padding:
        x = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    windows = np.lib.stride_tricks.sliding_window_view(x, (size, size), (2, 3))
    windows = windows[:, :, ::stride, ::stride]
    n, c, h, w = windows.shape[:4]
    columns = windows.transpose(0, 1, 4, 5, 2, 3).reshape(n, c * size * size, h * w)
    product = weight.reshape(weight.shape[0], -1) @ columns
    return product.reshape(n, weight.shape[0], h, w)


def embedding(weight: Array, indices: Array) -> Array:
    """Return rows of a table."""
    return weight[indices]


def cross_entropy(logits: Array, target: Array) -> Array:
    """Return the mean cross entropy of logits and class indices."""
    shifted = logits - logits.max(-1, keepdims=True)
    logs = np.log(np.exp(shifted).sum(-1))
    return np.asarray((logs - shifted[np.arange(len(target)), target]).mean())


def attention(q: Array, k: Array, v: Array) -> Array:
    """Return causal attention."""
    length = q.shape[-2]
    scores = q @ np.swapaxes(k, -1, -2)
    scores *= np.float32(1 / math.sqrt(q.shape[-1]))
    scores += np.triu(np.full((length, length), -np.inf, np.float32), 1)
    return softmax(scores) @ v


def _dense_gradient(
    parameters: Sequence[Array], x: Array, lost: Callable[[Array], tuple[Array, Array]]
) -> tuple[Array, list[Array]]:
    """Return loss and gradients of an MLP; lost(scores) returns the loss and its gradient."""
    pairs = list(zip(parameters[::2], parameters[1::2]))
    inputs = [x]
    for weight, bias in pairs[:-1]:
        inputs.append(relu(linear(inputs[-1], weight, bias)))
    loss, g = lost(linear(inputs[-1], *pairs[-1]))
    gradients: list[Array] = []
    for i in range(len(pairs) - 1, -1, -1):
        gradients[:0] = [g.T @ inputs[i], g.sum(0)]
        if i:
            g = g @ pairs[i][0]
            g *= inputs[i] > 0
    return loss, gradients


def _mlp_gradient(parameters: Sequence[Array], x: Array, y: Array) -> tuple[Array, list[Array]]:
    rows = np.arange(len(y))

    def lost(scores: Array) -> tuple[Array, Array]:
        scores -= scores.max(-1, keepdims=True)
        chosen = scores[rows, y]
        np.exp(scores, out=scores)
        sums = scores.sum(-1, keepdims=True)
        scores /= sums
        scores[rows, y] -= 1
        scores *= np.float32(1 / len(y))
        return (np.log(sums[:, 0]) - chosen).mean(), scores

    return _dense_gradient(parameters, x, lost)


def _regression_gradient(
    parameters: Sequence[Array], x: Array, y: Array
) -> tuple[Array, list[Array]]:
    def lost(scores: Array) -> tuple[Array, Array]:
        scores -= y
        return np.square(scores).mean(), scores * np.float32(2 / scores.size)

    return _dense_gradient(parameters, x, lost)


# Handwritten gradients, by the name of the loss in programs.
GRADIENTS = {"mlp_loss": _mlp_gradient, "regression_loss": _regression_gradient}
