"""polygrad, by the Python binding and compiled steps."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from polygrad import Tensor, Variable, dtypes
from polygrad._library import lib
from polygrad.nn import SGD, CompiledTrainingStep, compile_step

Array = np.ndarray[Any, Any]
OPS = sys.modules[__name__]


def setup(threads: int, variant: str) -> None:
    """Do nothing: the library reads the number of threads from the environment."""


def version() -> str:
    """Return the device."""
    return os.environ.get("POLY_DEVICE", "default device")


def array(data: Array) -> Tensor:
    """Return a tensor; uint16 is taken as the bits of bfloat16."""
    tensor = Tensor(data)
    if data.dtype != np.uint16:
        return tensor
    return tensor.bitcast(dtypes.bfloat16).contiguous().realize()


def read(result: Any) -> Array:
    """Return a result as an array; bfloat16, which is stored as bits, as float32."""
    bits = np.asarray(result)
    if bits.dtype != np.uint16:
        return bits
    return (bits.astype(np.uint32) << 16).view(np.float32)


def check(status: int) -> None:
    """Raise the library's last error if a run failed."""
    if status < 0:
        raise RuntimeError(lib.poly_last_error().decode())


class Run(partial[int]):
    """A partial that reruns a compiled step with minimal overhead; below 0 is an error."""

    step: CompiledTrainingStep
    results: list[Array]


def _run(step: CompiledTrainingStep) -> Run:
    run = Run(lib.poly_function_rerun, step._function._handle)
    run.step, run.results = step, step.outputs
    return run


class Call:
    """An eager call of a function that cannot be compiled."""

    def __init__(self, function: Callable[..., Any], arrays: Sequence[Array]) -> None:
        self.function, self.arrays = function, [array(a) for a in arrays]
        self.results: list[Any] = []

    def __call__(self) -> int:
        """Compute the results."""
        self.results = self.function(OPS, *self.arrays)
        Tensor.realize(*self.results)
        return 0


def program(function: Callable[..., Any], arrays: Sequence[Array]) -> Run | Call:
    """Return a callable that runs function once; it is compiled unless it is marked eager."""
    if getattr(function, "eager", False):
        return Call(function, arrays)
    return _run(compile_step(partial(function, OPS), *map(array, arrays)))


def training(
    loss: Callable[..., Any], parameters: Sequence[Array], arrays: Sequence[Array], rate: float
) -> tuple[Run, Callable[[], list[Array]]]:
    """Return a callable that runs a training step, and one that returns the weights."""
    weights = [Tensor(p, requires_grad=True) for p in parameters]
    optimizer = SGD(weights, lr=rate)

    def step(*given: Tensor) -> Tensor:
        optimizer.zero_grad()
        value: Tensor = loss(OPS, weights, *given)
        value.backward()
        optimizer.step()
        return value

    run = _run(compile_step(step, *map(array, arrays)))
    return run, lambda: [weight.numpy() for weight in weights]


def gradients(
    loss: Callable[..., Any], parameters: Sequence[Array], arrays: Sequence[Array]
) -> list[Array]:
    """Return the gradients of a loss."""
    weights = [Tensor(p, requires_grad=True) for p in parameters]
    found: Sequence[Tensor] = loss(OPS, weights, *map(array, arrays)).gradient(*weights)
    Tensor.realize(*found)
    return [gradient.numpy() for gradient in found]


exp, sin, tanh, gelu = Tensor.exp, Tensor.sin, Tensor.tanh, Tensor.gelu
relu, sigmoid, maximum = Tensor.relu, Tensor.sigmoid, Tensor.maximum
total, mean, softmax = Tensor.sum, Tensor.mean, Tensor.softmax
matmul, transpose, copy = Tensor.matmul, Tensor.transpose, Tensor.contiguous
reshape = Tensor.reshape
matmul_int = partial(Tensor.matmul, dtype=dtypes.int32)


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return x @ weight.T + bias."""
    return x.linear(weight.T, bias)


def layernorm(x: Tensor, weight: Tensor | None = None, bias: Tensor | None = None) -> Tensor:
    """Normalise along the last axis."""
    return x.layernorm(weight=weight, bias=bias)


def conv2d(
    x: Tensor, weight: Tensor, stride: int = 1, padding: int = 0, dilation: int = 1, groups: int = 1
) -> Tensor:
    """Return the convolution."""
    return x.conv2d(weight, None, groups, stride, dilation, padding)


def conv2d_backward(
    x: Tensor, weight: Tensor, gradient: Tensor, stride: int = 1, padding: int = 0
) -> tuple[Tensor, ...]:
    """Return the gradients of the convolution by the input and the weight."""
    for tensor in (x, weight):
        tensor.requires_grad = True
    out = conv2d(x, weight, stride, padding)
    return tuple(out.gradient(x, weight, gradient=gradient))


def max_pool2d(x: Tensor) -> Tensor:
    """Return the maximum of every 2x2 window."""
    largest: Tensor = x.max_pool2d(2)
    return largest


def embedding(weight: Tensor, indices: Tensor) -> Tensor:
    """Return rows of a table."""
    rows: Tensor = weight[indices]
    return rows


def cross_entropy(logits: Tensor, target: Tensor) -> Tensor:
    """Return the mean cross entropy of logits and class indices."""
    return logits.cross_entropy(target)


def cross_entropy_ignoring(logits: Tensor, target: Tensor, ignored: int) -> Tensor:
    """Return the mean cross entropy of the rows whose target is not ignored."""
    return logits.sparse_categorical_crossentropy(target, ignored)


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
    with Tensor.train(dropout > 0):
        return q.scaled_dot_product_attention(k, v, mask, dropout, causal, **options)


def window(length: int, width: int) -> Tensor:
    """Return the mask of sliding-window attention."""
    columns = Tensor.arange(length)
    rows = columns.reshape(-1, 1)
    return (columns <= rows) & (columns > rows - width)


def added(length: int) -> Tensor:
    """Return an additive causal mask, of 0 and large negative numbers."""
    columns = Tensor.arange(length)
    return (columns <= columns.reshape(-1, 1)).where(0.0, -1e9)


def padded(lengths: Tensor, length: int) -> Tensor:
    """Return the causal padding masks of sequences of some lengths."""
    columns = Tensor.arange(length)
    return (columns <= columns.reshape(-1, 1)) & (columns < lengths.reshape(-1, 1, 1, 1))


def largest(x: Tensor, axis: int) -> Tensor:
    """Return the maximum over an axis."""
    return x.max(axis)


def prefix(x: Tensor, axis: int, length: int) -> Tensor:
    """Return the first elements of an axis, with a symbolic length."""
    n = Variable("n", 1, x.shape[axis]).bind(length)
    return x[(slice(None),) * axis + (slice(0, n),)]


def einsum(formula: str, *tensors: Tensor) -> Tensor:
    """Return an Einstein summation."""
    return Tensor.einsum(formula, *tensors)


def lstm(x: Tensor, wi: Tensor, wh: Tensor, bias: Tensor) -> Tensor:
    """Return the last output of an LSTM over x of shape (time, batch, features)."""
    size = wh.shape[1]
    h = c = Tensor.zeros(x.shape[1], size)
    for t in range(x.shape[0]):
        gates = linear(x[t], wi, bias) + linear(h, wh)
        i, f, g, o = (gates[:, n * size : (n + 1) * size] for n in range(4))
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        h = o.sigmoid() * c.tanh()
    return h
