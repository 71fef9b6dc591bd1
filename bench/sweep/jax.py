"""JAX's functions of operations, where the names differ."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import jax.scipy as jsp

from sweep.cases import NoCounterpart, Program, counterpart

jax.config.update("jax_enable_x64", True)
Array = Any
PLACES = (jnp, jax.nn, jnp.linalg, jsp.special, jsp.linalg, jax.lax)
LETTERS = "DHW"


def _spatial(x: Array) -> str:
    return LETTERS[5 - x.ndim :]


def _conv(x: Array, weight: Array, bias: Array = None, **k: Any) -> Array:
    n, axes = x.ndim - 2, _spatial(x)
    y = jax.lax.conv_general_dilated(
        x,
        weight,
        (k.get("stride", 1),) * n,
        [(k.get("padding", 0),) * 2] * n,
        rhs_dilation=(k.get("dilation", 1),) * n,
        dimension_numbers=(f"NC{axes}", f"OI{axes}", f"NC{axes}"),
        feature_group_count=k.get("groups", 1),
    )
    return y if bias is None else y + bias.reshape(-1, *[1] * n)


def _pooled(x: Array, kernel: Any, start: float, combine: Any, **k: Any) -> Array:
    window = (1, 1, *kernel)
    stride = (1, 1, *[s or w for s, w in zip([k.get("stride")] * len(kernel), kernel)])
    pads = [(0, 0)] * 2 + [(k.get("padding", 0),) * 2] * len(kernel)
    return jax.lax.reduce_window(x, x.dtype.type(start), combine, window, stride, pads)


def _max_pool(x: Array, kernel: Any, **k: Any) -> Array:
    return _pooled(x, kernel, -jnp.inf, jax.lax.max, **k)


def _avg_pool(x: Array, kernel: Any, **k: Any) -> Array:
    size = functools.reduce(lambda a, b: a * b, kernel)
    return _pooled(x, kernel, 0, jax.lax.add, **k) / size


def _interpolate(x: Array, size: Any, mode: str = "linear", align_corners: bool = False) -> Array:
    if align_corners or mode in ("nearest", "bicubic", "area"):
        raise NoCounterpart(
            "JAX has other positions, another cubic function, and no means of areas"
        )
    name = "nearest" if mode.startswith("nearest") else "linear"
    return jax.image.resize(x, (*x.shape[:2], *size), name, antialias=False)


def _layernorm(x: Array, weight: Array = 1, bias: Array = 0) -> Array:
    y = x - x.mean(-1, keepdims=True)
    return y * jax.lax.rsqrt((y * y).mean(-1, keepdims=True) + 1e-5) * weight + bias


def _groupnorm(x: Array, groups: int, weight: Array = None, bias: Array = None) -> Array:
    y = x.reshape(x.shape[0], groups, -1)
    y = y - y.mean(-1, keepdims=True)
    y = (y * jax.lax.rsqrt((y * y).mean(-1, keepdims=True) + 1e-5)).reshape(x.shape)
    return y if weight is None else y * weight[:, None, None] + bias[:, None, None]


def _batchnorm(x: Array, *stats: Array) -> Array:
    weight, bias, mean, invstd = (s[:, None, None] for s in stats)
    return (x - mean) * (invstd * weight) + bias


def _batchnorm_stats(x: Array) -> tuple[Array, Array]:
    return x.mean((0, 2, 3)), x.var((0, 2, 3))


def _cross_entropy(x: Array, y: Array, **k: Any) -> Array:
    logs = jax.nn.log_softmax(x)
    smooth = k.get("label_smoothing", 0.0)
    loss = -jnp.take_along_axis(logs, y[:, None], 1)[:, 0]
    if smooth:
        loss = (1 - smooth) * loss - smooth * logs.mean(-1)
    if "ignore_index" in k:
        kept = y != k["ignore_index"]
        return jnp.where(kept, loss, 0).sum() / kept.sum()
    return loss if k.get("reduction") == "none" else loss.mean()


def _nll(x: Array, y: Array, weight: Array = None) -> Array:
    loss = -jnp.take_along_axis(x, y[:, None], 1)[:, 0]
    w = jnp.ones_like(loss) if weight is None else weight[y]
    return (loss * w).sum() / w.sum()


def _attention(q: Array, k: Array, v: Array, is_causal: bool = False) -> Array:
    moved = (jnp.swapaxes(t, 1, 2) for t in (q, k, v))
    return jnp.swapaxes(jax.nn.dot_product_attention(*moved, is_causal=is_causal), 1, 2)


def _scatter(x: Array, dim: int, index: Array, src: Array, reduce: str = "") -> Array:
    columns = jnp.broadcast_to(jnp.arange(index.shape[1]), index.shape)
    at = x.at[index, columns]
    names = {"": "set", "sum": "add", "prod": "multiply", "amax": "max", "amin": "min"}
    return getattr(at, names.get(reduce, reduce))(src)


def _pad(x: Array, padding: Any, mode: str) -> Array:
    left, right, top, bottom = padding
    names = {"replicate": "edge", "circular": "wrap"}
    return jnp.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)), names.get(mode, mode))


def _sorted(x: Array, dim: int) -> tuple[Array, Array]:
    order = jnp.argsort(x, dim)
    return jnp.take_along_axis(x, order, dim), order


def _topk(x: Array, k: int, dim: int) -> tuple[Array, Array]:
    found = jax.lax.top_k(jnp.moveaxis(x, dim, -1), k)
    return jnp.moveaxis(found[0], -1, dim), jnp.moveaxis(found[1], -1, dim)


def _mean_loss(f: Callable[..., Array]) -> Callable[..., Array]:
    return lambda x, y: f(x, y).mean()


def _by_axis(call: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, dim=-1: call(x, dim)


NAMES: dict[str, Callable[..., Any] | None] = {
    "sub": jnp.subtract,
    "mul": jnp.multiply,
    "div": lambda x, y: jnp.divide(x, y),
    "floordiv": jnp.floor_divide,
    "idiv": jax.lax.div,
    "pow": jnp.power,
    "lshift": jnp.left_shift,
    "rshift": jnp.right_shift,
    "masked_fill": lambda x, mask, value: jnp.where(mask, value, x),
    "lerp": lambda x, end, weight: x + (end - x) * weight,
    "clamp": jnp.clip,
    "clip": jnp.clip,
    "log10": jnp.log10,
    "lgamma": jsp.special.gammaln,
    "erfinv": jsp.special.erfinv,
    "quick_gelu": lambda x: x * jax.nn.sigmoid(1.702 * x),
    "gelu": functools.partial(jax.nn.gelu, approximate=True),
    "logsigmoid": jax.nn.log_sigmoid,
    "softsign": jax.nn.soft_sign,
    "hardswish": jax.nn.hard_swish,
    "hardsigmoid": jax.nn.hard_sigmoid,
    "hardtanh": jax.nn.hard_tanh,
    "dropout": None,
    "cast": lambda x, dtype: x.astype(dtype),
    "bitcast": lambda x, dtype: jax.lax.bitcast_convert_type(x, dtype),
    "float": lambda x: x.astype(jnp.float32),
    "double": lambda x: x.astype(jnp.float64),
    "half": lambda x: x.astype(jnp.float16),
    "bfloat16": lambda x: x.astype(jnp.bfloat16),
    "short": lambda x: x.astype(jnp.int16),
    "int": lambda x: x.astype(jnp.int32),
    "long": lambda x: x.astype(jnp.int64),
    "bool": lambda x: x.astype(jnp.bool_),
    "contiguous": jnp.copy,
    "contiguous_backward": jnp.copy,
    "var": functools.partial(jnp.var, ddof=1),
    "std": functools.partial(jnp.std, ddof=1),
    "var_mean": lambda x, axis=None: (jnp.var(x, axis, ddof=1), jnp.mean(x, axis)),
    "std_mean": lambda x, axis=None: (jnp.std(x, axis, ddof=1), jnp.mean(x, axis)),
    "logcumsumexp": lambda x, axis: jax.lax.cumlogsumexp(x, axis),
    "cummax": None,
    "cummin": None,
    "sort": _sorted,
    "argsort": _by_axis(jnp.argsort),
    "topk": _topk,
    "view": jnp.reshape,
    "flatten": jnp.ravel,
    "unflatten": lambda x, dim, sizes: x.reshape(*x.shape[:dim], *sizes),
    "unsqueeze": jnp.expand_dims,
    "expand": jnp.broadcast_to,
    "repeat": jnp.tile,
    "repeat_interleave": jnp.repeat,
    "permute": jnp.transpose,
    "T": jnp.transpose,
    "transpose": jnp.transpose,
    "shrink": lambda x, arg: x[tuple(slice(*pair) for pair in arg)],
    "pad": _pad,
    "unfold": None,
    "shrink_to": lambda x, shape: x[: shape[0], : shape[1]],
    "pad_to": lambda x, shape: jnp.pad(x, [(0, n - m) for n, m in zip(shape, x.shape)]),
    "rearrange": lambda x, formula: x.T,
    "cat": lambda xs, dim: jnp.concatenate(xs, dim),
    "stack": lambda xs, dim: jnp.stack(xs, dim),
    "meshgrid": lambda xs: jnp.meshgrid(*xs, indexing="ij"),
    "split": lambda x, sizes, dim: jnp.split(x, [sizes[0]], dim),
    "chunk": None,
    "getitem": lambda x, items: x[tuple(items)],
    "with_item": lambda x, items, value: x.at[tuple(items)].set(value),
    "gather": lambda x, dim, index: jnp.take_along_axis(x, index, dim),
    "index_select": lambda x, dim, index: jnp.take(x, index, dim),
    "scatter": _scatter,
    "scatter_reduce": lambda x, d, i, s, reduce: (
        None if reduce == "mean" else _scatter(x, d, i, s, reduce)
    ),
    "masked_select": None,
    "nonzero": None,
    "one_hot": lambda x, n: jax.nn.one_hot(x, n, dtype=jnp.int32),
    "embedding": lambda x, index: x[index],
    "linear": lambda x, weight, bias: x @ weight + bias,
    "einsum": lambda xs, formula: jnp.einsum(formula, *xs),
    "scaled_dot_product_attention": _attention,
    "triangular_solve": functools.partial(jsp.linalg.solve_triangular, lower=True),
    "cholesky": jnp.linalg.cholesky,
    "solve": jnp.linalg.solve,
    "det": jnp.linalg.det,
    "inv": jnp.linalg.inv,
    "qr": lambda x: tuple(jnp.linalg.qr(x)),
    "svd": lambda x: tuple(jnp.linalg.svd(x)),
    "eigh": lambda x: tuple(jnp.linalg.eigh(x)),
    "slogdet": lambda x: tuple(jnp.linalg.slogdet(x)),
    "lstsq": lambda x, b: tuple(jnp.linalg.lstsq(x, b)),
    "conv2d": _conv,
    "conv_transpose2d": None,
    "max_pool2d": _max_pool,
    "avg_pool2d": _avg_pool,
    "interpolate": _interpolate,
    "layernorm": _layernorm,
    "rmsnorm": lambda x, weight=1: (
        x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-5) * weight
    ),
    "groupnorm": _groupnorm,
    "batchnorm": _batchnorm,
    "batchnorm_stats": _batchnorm_stats,
    "cross_entropy": _cross_entropy,
    "sparse_categorical_crossentropy": _cross_entropy,
    "nll_loss": _nll,
    "mse_loss": _mean_loss(lambda x, y: jnp.square(x - y)),
    "l1_loss": _mean_loss(lambda x, y: jnp.abs(x - y)),
    "histogram": lambda x, bins, low, high: jnp.histogram(x, bins, (low, high)),
    **dict.fromkeys(("unique", "bincount"), None),
    "empty": None,
    "empty_like": None,
    "const_like": jnp.full_like,
    "full": lambda shape, value: jnp.full(shape, value, jnp.float32),
    "zeros": functools.partial(jnp.zeros, dtype=jnp.float32),
    "ones": functools.partial(jnp.ones, dtype=jnp.float32),
    "arange": functools.partial(jnp.arange, dtype=jnp.int32),
    "linspace": functools.partial(jnp.linspace, dtype=jnp.float32),
    "eye": functools.partial(jnp.eye, dtype=jnp.float32),
}


function = functools.cache(functools.partial(counterpart, names=NAMES, places=PLACES))


def run(program: Program, *arrays: Array) -> Any:
    """Return the results of a call; and gradients, if those by the results are given."""
    call = function(program.op["Name"])
    if program.op["Random"]:
        raise NoCounterpart("JAX draws from keys")
    inputs, upstream = arrays[: program.inputs], arrays[program.inputs :]
    if not upstream:
        result = program.apply(call, inputs)
        return tuple(result) if isinstance(result, (tuple, list)) else (result,)
    wanted = [i for i, x in enumerate(inputs) if jnp.issubdtype(x.dtype, jnp.floating)]

    def forward(*chosen: Array) -> tuple[Array, ...]:
        given = list(inputs)
        for i, x in zip(wanted, chosen):
            given[i] = x
        result = program.apply(call, given)
        results = result if isinstance(result, (tuple, list)) else [result]
        return tuple(y for y in results if jnp.issubdtype(y.dtype, jnp.floating))

    results, backward = jax.vjp(forward, *(inputs[i] for i in wanted))
    return (*results, *backward(upstream))
