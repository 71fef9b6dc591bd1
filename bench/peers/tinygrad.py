"""tinygrad on its CPU device (clang), replayed by TinyJit; BEAM=2 is a variant."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from tinygrad import Device, Tensor, TinyJit, dtypes
from tinygrad.helpers import BEAM
from tinygrad.nn.optim import SGD

Array = np.ndarray[Any, Any]
OPS = sys.modules[__name__]


def setup(threads: int, variant: str) -> None:
    """Choose the search; CPU_COUNT in the environment is the number of threads."""
    BEAM.value = 2 if variant == "beam" else 0
    os.environ["IGNORE_BEAM_CACHE"] = "0"


def version() -> str:
    """Return the version."""
    from importlib.metadata import version as installed

    return installed("tinygrad")


def array(data: Array) -> Tensor:
    """Return a tensor with memory of its own on the device."""
    return Tensor(data, device="CPU").contiguous().realize()


def read(result: Any) -> Array:
    """Return a result as an array; numpy has no bfloat16."""
    found: Array = (result.float() if result.dtype == dtypes.bfloat16 else result).numpy()
    return found


def _replayed(function: Callable[[], Any]) -> Callable[[], Any]:
    jit: Any = TinyJit(function)
    device = Device["CPU"]
    for _ in range(2):  # TinyJit captures the second call
        jit()

    def run() -> Any:
        result = jit()
        device.synchronize()
        return result

    return run


def program(function: Callable[..., Any], arrays: Sequence[Array]) -> Callable[[], Any]:
    """Return a callable that runs function once on the arrays."""
    tensors = [array(a) for a in arrays]

    def call() -> Any:
        results = function(OPS, *tensors)
        if isinstance(results, (tuple, list)):
            Tensor.realize(*results)
            return results
        return results.contiguous().realize()

    return _replayed(call)


def training(
    loss: Callable[..., Any], parameters: Sequence[Array], arrays: Sequence[Array], rate: float
) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """Return a callable that runs a training step, and one that returns the weights."""
    tensors = [array(a) for a in arrays]
    weights = [array(p) for p in parameters]
    for weight in weights:
        weight.requires_grad = True
    optimizer = SGD(weights, lr=rate)

    def step() -> Any:
        with Tensor.train():
            optimizer.zero_grad()
            value = loss(OPS, weights, *tensors).backward()
            return value.realize(*optimizer.schedule_step())

    run = _replayed(step)
    for weight, parameter in zip(weights, parameters):  # undo the steps of the capture
        weight.assign(array(parameter)).realize()
    return run, lambda: weights


exp, sin, tanh, gelu = Tensor.exp, Tensor.sin, Tensor.tanh, Tensor.gelu
relu, sigmoid, maximum = Tensor.relu, Tensor.sigmoid, Tensor.maximum
total, mean, softmax = Tensor.sum, Tensor.mean, Tensor.softmax
matmul, transpose, copy = Tensor.matmul, Tensor.transpose, Tensor.contiguous
reshape = Tensor.reshape


def layernorm(x: Tensor, weight: Any = None, bias: Any = None) -> Tensor:
    """Normalise along the last axis."""
    y = x.layernorm()
    y = y if weight is None else y * weight
    return y if bias is None else y + bias


def linear(x: Tensor, weight: Tensor, bias: Any = None) -> Tensor:
    """Return x @ weight.T + bias."""
    return x.linear(weight.transpose(), bias)


def conv2d(x: Tensor, weight: Tensor, stride: int = 1, padding: int = 0) -> Tensor:
    """Return the convolution."""
    return x.conv2d(weight, stride=stride, padding=padding)


def conv2d_backward(
    x: Tensor, weight: Tensor, gradient: Tensor, stride: int = 1, padding: int = 0
) -> Any:
    """Return the gradients of the convolution by the input and the weight."""
    out = conv2d(x, weight, stride, padding)
    return tuple(out.gradient(x, weight, gradient=gradient))


def max_pool2d(x: Tensor) -> Tensor:
    """Return the maximum of every 2x2 window."""
    return x.max_pool2d(2)


def embedding(weight: Tensor, indices: Tensor) -> Tensor:
    """Return rows of a table."""
    return weight[indices]


def cross_entropy(logits: Tensor, target: Tensor) -> Tensor:
    """Return the mean cross entropy of logits and class indices."""
    return logits.sparse_categorical_crossentropy(target)


def attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Return causal attention."""
    return q.scaled_dot_product_attention(k, v, is_causal=True)


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
