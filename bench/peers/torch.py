"""PyTorch, eager or through torch.compile."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

Array = np.ndarray[Any, Any]
Tensor = Any
OPS = sys.modules[__name__]
_compiled = False


def setup(threads: int, variant: str) -> None:
    """Set the number of threads and how programs run."""
    global _compiled
    torch.set_num_threads(threads)
    _compiled = variant == "compile"


def version() -> str:
    """Return the version."""
    return str(torch.__version__)


def array(data: Array) -> Tensor:
    """Return a tensor; uint16 is taken as the bits of bfloat16."""
    if data.dtype == np.uint16:
        return torch.from_numpy(data.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(data)


def read(result: Tensor) -> Array:
    """Return a result as an array; numpy has no bfloat16."""
    kept = result.detach()
    found: Array = (kept.float() if kept.dtype == torch.bfloat16 else kept).numpy()
    return found


def _prepared(function: Callable[..., Any]) -> Callable[..., Any]:
    return torch.compile(function, dynamic=False) if _compiled else function


def program(function: Callable[..., Any], arrays: Sequence[Array]) -> Callable[[], Any]:
    """Return a callable that runs function once on the arrays."""
    tensors = [array(a) for a in arrays]
    prepared = _prepared(lambda *given: function(OPS, *given))

    def run() -> Any:
        with torch.no_grad():
            return prepared(*tensors)

    return run


def training(
    loss: Callable[..., Any], parameters: Sequence[Array], arrays: Sequence[Array], rate: float
) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """Return a callable that runs a training step, and one that returns the weights."""
    weights = [array(p).requires_grad_() for p in parameters]
    tensors = [array(a) for a in arrays]
    prepared = _prepared(lambda weights, *given: loss(OPS, weights, *given))

    def run() -> Any:
        value = prepared(weights, *tensors)
        gradients = torch.autograd.grad(value, weights)
        with torch.no_grad():
            torch._foreach_add_(weights, gradients, alpha=-rate)
        return value

    return run, lambda: weights


def gradients(
    loss: Callable[..., Any], parameters: Sequence[Array], arrays: Sequence[Array]
) -> Sequence[Tensor]:
    """Return the gradients of a loss, without compiling it."""
    weights = [array(p).requires_grad_() for p in parameters]
    found: Sequence[Tensor] = torch.autograd.grad(loss(OPS, weights, *map(array, arrays)), weights)
    return found


exp, sin, tanh, relu, sigmoid = torch.exp, torch.sin, torch.tanh, torch.relu, torch.sigmoid
matmul, transpose, mean = torch.matmul, torch.transpose, torch.mean
matmul_int = torch._int_mm
linear = F.linear


def gelu(x: Tensor) -> Tensor:
    """Return the GELU of x, by its tanh approximation."""
    return F.gelu(x, approximate="tanh")


def maximum(x: Tensor, other: float) -> Tensor:
    """Return the elementwise maximum of x and a number."""
    return x.clamp(min=other)


def total(x: Tensor, axis: int | None = None) -> Tensor:
    """Return the sum."""
    return x.sum() if axis is None else x.sum(axis)


def softmax(x: Tensor) -> Tensor:
    """Return softmax along the last axis."""
    return F.softmax(x, -1)


def layernorm(x: Tensor, weight: Tensor | None = None, bias: Tensor | None = None) -> Tensor:
    """Normalise along the last axis."""
    return F.layer_norm(x, x.shape[-1:], weight, bias)


def copy(x: Tensor) -> Tensor:
    """Return x, contiguous."""
    return x.contiguous()


def reshape(x: Tensor, shape: Sequence[int]) -> Tensor:
    """Return x in another shape."""
    return x.reshape(shape)


def conv2d(
    x: Tensor, weight: Tensor, stride: int = 1, padding: int = 0, dilation: int = 1, groups: int = 1
) -> Tensor:
    """Return the convolution."""
    return F.conv2d(x, weight, None, stride, padding, dilation, groups)


def conv2d_backward(
    x: Tensor, weight: Tensor, gradient: Tensor, stride: int = 1, padding: int = 0
) -> tuple[Tensor, Tensor]:
    """Return the gradients of the convolution by the input and the weight."""
    sizes = [stride] * 2, [padding] * 2, [1, 1], False, [0, 0], 1
    backward = torch.ops.aten.convolution_backward
    both = backward(gradient, x, weight, None, *sizes, [True, True, False])
    return both[0], both[1]


def max_pool2d(x: Tensor) -> Tensor:
    """Return the maximum of every 2x2 window."""
    return F.max_pool2d(x, 2)


def embedding(weight: Tensor, indices: Tensor) -> Tensor:
    """Return rows of a table."""
    return F.embedding(indices, weight)


def cross_entropy(logits: Tensor, target: Tensor) -> Tensor:
    """Return the mean cross entropy of logits and class indices."""
    return F.cross_entropy(logits, target.long())


def cross_entropy_ignoring(logits: Tensor, target: Tensor, ignored: int) -> Tensor:
    """Return the mean cross entropy of the rows whose target is not ignored."""
    return F.cross_entropy(logits, target.long(), ignore_index=ignored)


def attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None = None,
    causal: bool = True,
    dropout: float = 0.0,
    **options: Any,
) -> Tensor:
    """Return attention, causal unless there is a mask."""
    causal = causal and mask is None
    return F.scaled_dot_product_attention(q, k, v, mask, dropout, causal, **options)


@functools.cache
def window(length: int, width: int) -> Tensor:
    """Return the mask of sliding-window attention, cached."""
    return torch.ones(length, length, dtype=torch.bool).tril().triu(1 - width)


@functools.cache
def added(length: int) -> Tensor:
    """Return an additive causal mask, of 0 and large negative numbers, cached."""
    return torch.full((length, length), -1e9).triu(1)


def padded(lengths: Tensor, length: int) -> Tensor:
    """Return the causal padding masks of sequences of some lengths."""
    columns = torch.arange(length)
    return (columns <= columns[:, None]) & (columns < lengths[:, None, None, None])


def largest(x: Tensor, axis: int) -> Tensor:
    """Return the maximum over an axis."""
    return x.amax(axis)


def prefix(x: Tensor, axis: int, length: int) -> Tensor:
    """Return the first elements of an axis."""
    return x.narrow(axis, 0, length)


def einsum(formula: str, *tensors: Tensor) -> Tensor:
    """Return an Einstein summation."""
    return torch.einsum(formula, *tensors)


def lstm(x: Tensor, wi: Tensor, wh: Tensor, bias: Tensor) -> Tensor:
    """Return the last output of an LSTM over x of shape (time, batch, features)."""
    if _compiled:
        return _unrolled(x, wi, wh, bias)
    zeros = x.new_zeros(1, x.shape[1], wh.shape[1])
    weights = (wi, wh, bias, torch.zeros_like(bias))
    out = torch.lstm(x, (zeros, zeros), weights, True, 1, 0.0, False, False, False)
    return out[0][-1]


def _unrolled(x: Tensor, wi: Tensor, wh: Tensor, bias: Tensor) -> Tensor:
    """Return the same by the formulas: torch.compile does not know torch.lstm."""
    h = c = x.new_zeros(x.shape[1], wh.shape[1])
    for step in x:
        i, f, g, o = (linear(step, wi, bias) + linear(h, wh)).chunk(4, 1)
        c = sigmoid(f) * c + sigmoid(i) * tanh(g)
        h = sigmoid(o) * tanh(c)
    return h
