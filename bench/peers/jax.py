"""JAX with XLA's CPU backend; every program is one compiled function."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

Array = np.ndarray[Any, Any]
Tensor = Any
OPS = sys.modules[__name__]


def setup(threads: int, variant: str) -> None:
    """Do nothing: XLA starts as many threads as the process has cores."""


def version() -> str:
    """Return the version."""
    return str(jax.__version__)


def array(data: Array) -> Tensor:
    """Return a tensor; uint16 is taken as the bits of bfloat16."""
    tensor = jnp.asarray(data)
    return tensor.view(jnp.bfloat16) if data.dtype == np.uint16 else tensor


def read(result: Tensor) -> Array:
    """Return a result as an array; numpy has no bfloat16."""
    return np.asarray(result.astype(jnp.float32) if result.dtype == jnp.bfloat16 else result)


def program(function: Callable[..., Any], arrays: Sequence[Array]) -> Callable[[], Any]:
    """Return a callable that runs function once on the arrays."""
    tensors = [array(a) for a in arrays]
    compiled = jax.jit(partial(function, OPS)).lower(*tensors).compile()
    return lambda: jax.block_until_ready(compiled(*tensors))


def training(
    loss: Callable[..., Any], parameters: Sequence[Array], arrays: Sequence[Array], rate: float
) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """Return a callable that runs a step with donated parameters, and one that returns these."""
    tensors = [array(a) for a in arrays]
    weights = [array(p) for p in parameters]

    def step(weights: list[Tensor], *given: Tensor) -> tuple[Tensor, list[Tensor]]:
        value, gradients = jax.value_and_grad(partial(loss, OPS))(weights, *given)
        return value, [w - rate * g for w, g in zip(weights, gradients)]

    compiled = jax.jit(step, donate_argnums=0).lower(weights, *tensors).compile()

    def run() -> Any:
        nonlocal weights
        value, weights = jax.block_until_ready(compiled(weights, *tensors))
        return value

    return run, lambda: weights


def gradients(
    loss: Callable[..., Any], parameters: Sequence[Array], arrays: Sequence[Array]
) -> Sequence[Tensor]:
    """Return the gradients of a loss."""
    found: Sequence[Tensor] = jax.grad(partial(loss, OPS))(
        [array(p) for p in parameters], *map(array, arrays)
    )
    return found


exp, sin, tanh, maximum, matmul = jnp.exp, jnp.sin, jnp.tanh, jnp.maximum, jnp.matmul
relu, sigmoid = jax.nn.relu, jax.nn.sigmoid
mean, transpose, reshape = jnp.mean, jnp.swapaxes, jnp.reshape
softmax = partial(jax.nn.softmax, axis=-1)
gelu = partial(jax.nn.gelu, approximate=True)


def matmul_int(a: Tensor, b: Tensor) -> Tensor:
    """Return the integer product, accumulated in int32."""
    return jnp.matmul(a, b, preferred_element_type=jnp.int32)


def total(x: Tensor, axis: int | None = None) -> Tensor:
    """Return the sum."""
    return x.sum(axis)


def layernorm(x: Tensor, weight: Tensor | None = None, bias: Tensor | None = None) -> Tensor:
    """Normalise along the last axis."""
    y = x - x.mean(-1, keepdims=True)
    y = y * jax.lax.rsqrt((y * y).mean(-1, keepdims=True) + 1e-5)
    y = y if weight is None else y * weight
    return y if bias is None else y + bias


def copy(x: Tensor) -> Tensor:
    """Return x; results are contiguous anyway."""
    return x


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return x @ weight.T + bias."""
    y = x @ weight.T
    return y if bias is None else y + bias


def conv2d(x: Tensor, weight: Tensor, stride: int = 1, padding: int = 0) -> Tensor:
    """Return the convolution."""
    pads = [(padding, padding)] * 2
    return jax.lax.conv_general_dilated(x, weight, (stride, stride), pads)


def conv2d_backward(
    x: Tensor, weight: Tensor, gradient: Tensor, stride: int = 1, padding: int = 0
) -> Any:
    """Return the gradients of the convolution by the input and the weight."""
    _, backward = jax.vjp(lambda x, w: conv2d(x, w, stride, padding), x, weight)
    return backward(gradient)


def max_pool2d(x: Tensor) -> Tensor:
    """Return the maximum of every 2x2 window."""
    window = (1, 1, 2, 2)
    return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, window, window, "VALID")


def embedding(weight: Tensor, indices: Tensor) -> Tensor:
    """Return rows of a table."""
    return weight[indices]


def cross_entropy(logits: Tensor, target: Tensor) -> Tensor:
    """Return the mean cross entropy of logits and class indices."""
    chosen = jnp.take_along_axis(logits, target[:, None], 1)[:, 0]
    return (jax.nn.logsumexp(logits, -1) - chosen).mean()


def attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Return causal attention; JAX's layout has the heads after the length."""
    moved = (jnp.swapaxes(t, 1, 2) for t in (q, k, v))
    return jnp.swapaxes(jax.nn.dot_product_attention(*moved, is_causal=True), 1, 2)


def lstm(x: Tensor, wi: Tensor, wh: Tensor, bias: Tensor) -> Tensor:
    """Return the last output of an LSTM over x of shape (time, batch, features)."""

    def cell(state: Any, gates: Tensor) -> Any:
        h, c = state
        i, f, g, o = jnp.split(gates + h @ wh.T, 4, -1)
        c = sigmoid(f) * c + sigmoid(i) * tanh(g)
        return (sigmoid(o) * tanh(c), c), None

    zeros = jnp.zeros((x.shape[1], wh.shape[1]), x.dtype)
    (h, _), _ = jax.lax.scan(cell, (zeros, zeros), linear(x, wi, bias))
    return h
