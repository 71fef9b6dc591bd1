"""polygrad.func against JAX, in float64: every operation, two and three transformations deep.

POLY_TESTS=all compares all compositions, as `make test-peers` does; without it one in 28.
"""

from __future__ import annotations

import functools
import os
import random
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ["JAX_PLATFORMS"] = "cpu"
# JAX compiles each operation once: that takes most of the time.
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0")

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.scipy.linalg import solve_triangular
from turns import part, today

from polygrad import Tensor, func, lax

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_compilation_cache_dir", str(Path(__file__).parents[2] / "build" / "jax"))
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)

Function = Callable[[Any], Any]

ONE_IN = 28  # days: four weeks

N = 3
# A pair of functions of a matrix, ours and JAX's, with the operand W and the index I.
_rng = np.random.default_rng(7)
W = _rng.uniform(-1.5, 1.5, (N, N))
INDEX = np.array([[2, 0, 1], [1, 1, 0], [0, 2, 2]])
KERNEL = _rng.uniform(-1, 1, (1, 1, 2, 2))
TANGENT = _rng.uniform(-1, 1, (N, N))

w, index, kernel = Tensor(W), Tensor(INDEX), Tensor(KERNEL)
eye = np.eye(N)


def _positive(m: Any, one: Any) -> Any:
    return m @ m.T + 3 * one


def _conv(x: Any) -> Any:
    return jax.lax.conv_general_dilated(x[None, None], KERNEL, (1, 1), ((0, 1), (1, 0)))[0, 0]


def _standardized(x: Any) -> Any:
    return (x - x.mean(1, keepdims=True)) / jnp.sqrt(x.var(1, keepdims=True) + 1e-5)


def _pool(x: Any) -> Any:
    return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (2, 2), (1, 1), "VALID")


def _sin(x: Any) -> Any:
    return x.sin() if isinstance(x, Tensor) else jnp.sin(x)


def _scan_keeping(lax: Any, x: Any, w: Any) -> Any:
    def step(c: dict[str, Any], row: Any) -> tuple[dict[str, Any], Any]:
        c = {"h": _sin(c["h"] * 0.7 + row @ w), "n": c["n"] + 1}
        return c, (c["h"] * row, c["n"] * row[0])

    last, (kept, counted) = lax.scan(step, {"h": x[0] * 0, "n": 0}, x)
    return kept + last["h"] + counted.sum() + last["n"]


def _scan_of_scans(lax: Any, x: Any, w: Any) -> Any:
    def step(c: Any, row: Any) -> tuple[Any, Any]:
        inner = lax.scan(lambda d, e: (d * 0.5 + e * c[0], d * e), c.sum(), row)
        return _sin(c + inner[0]), inner[1]

    return lax.scan(step, x[0], x * w, reverse=True)[1]


def _branch_in_a_loop(lax: Any, x: Any, w: Any) -> Any:
    def step(i: Any, c: Any) -> Any:
        return lax.cond(c[0, 0] > 0.1, lambda c: c * x - i, lambda c: c * w + _sin(c), c)

    return lax.fori_loop(0, 4, step, x)


def _while_until(lax: Any, x: Any, w: Any) -> Any:
    def below(c: Any) -> Any:
        return (c[0] < 3) & ((c[1] * c[1]).sum() < 40)

    return lax.while_loop(below, lambda c: (c[0] + 1, c[1] * 1.5 + _sin(c[1]) * w), (0, x))[1]


def _linear(a: Any, b: Any) -> Any:
    return a[0] * b[0], b[0] * a[1] + b[1]


# Loops and branches, as functions of the module (ours or JAX's), a matrix and the operand.
CONTROL: dict[str, Callable[[Any, Any, Any], Any]] = {
    "scan": _scan_keeping,
    "scan in reverse": lambda lax, x, w: lax.scan(
        lambda c, row: (c * row + w[0], c * c), x[0], x, reverse=True
    )[1],
    "scan of scans": _scan_of_scans,
    "fori_loop": lambda lax, x, w: lax.fori_loop(1, 5, lambda i, c: _sin(c @ w) * i + x, x),
    "cond": lambda lax, x, w: lax.cond(x.sum() > 0, lambda x: x * x * w, lambda x: _sin(x) + w, x),
    "cond in a loop": _branch_in_a_loop,
    "switch": lambda lax, x, w: lax.switch(
        (x[0] > 0.3).sum(),
        [lambda x: x * x, lambda x: _sin(x) @ w, lambda x: x * x.sum()],
        x,
    ),
    "while_loop": _while_until,
    "map": lambda lax, x, w: lax.map(lambda row: _sin(row) * row.sum() + w[1], x),
    "map of batches": lambda lax, x, w: lax.map(lambda r: _sin(r) @ w * r[0], x, batch_size=2),
    "associative_scan": lambda lax, x, w: lax.associative_scan(
        _linear, (x * 0.7, _sin(x) + w), axis=1
    )[1],
    "associative_scan of products": lambda lax, x, w: lax.associative_scan(
        lambda a, b: a * b, x + w, reverse=True
    ),
}


def _cos(x: Any) -> Any:
    return x.cos() if isinstance(x, Tensor) else jnp.cos(x)


def _checkpointed(lib: Any, policy: str | None, x: Any, w: Any) -> Any:
    if lib is jax:
        policy = policy and getattr(jax.checkpoint_policies, policy)
    return lib.checkpoint(lambda x: _sin(_sin(x @ w) @ x) * w, policy=policy)(x)


def _checkpointed_steps(lib: Any, x: Any, w: Any) -> Any:
    step = lib.checkpoint(lambda c, row: (_sin(c * row) + w[0], c * c))
    return (lax if lib is func else jax.lax).scan(step, x[0], x)[1]


def _wrong_tangent(lib: Any, x: Any, w: Any) -> Any:
    @functools.partial(lib.custom_jvp, nondiff_argnums=(1,))
    def f(a: Any, n: int, b: Any) -> Any:
        return {"v": _sin(a) * b, "n": a * n}

    @f.defjvp
    def _(n: int, primals: Any, tangents: Any) -> Any:
        (a, b), (da, db) = primals, tangents
        out = f(a, n, b)
        return out, {"v": 3 * _cos(a) * da * b + out["v"] * db, "n": 2 * n * da * a}

    out = f(x * 1, 2, w)
    return out["v"] * out["n"]


def _wrong_gradient(lib: Any, x: Any, w: Any) -> Any:
    @lib.custom_vjp
    def f(a: Any, b: Any) -> Any:
        return _sin(a) * b[0], a.sum()

    def backward(rest: Any, g: Any) -> Any:
        a, _ = rest
        return _cos(a) * g[0] * g[0] + g[1], (2 * g[0] * a, None)

    f.defvjp(lambda a, b: (f(a, b), (a, b[0])), backward)
    v, total = f(x, (w * x, w))
    return v * total


def _batching(lib: Any) -> Any:
    return lib if lib is func else jax.custom_batching


def _ruled_product(lib: Any, factor: float = 1) -> Any:
    @_batching(lib).custom_vmap
    def product(a: Any, b: Any) -> Any:
        return {"v": _sin(a) @ b, "a": a * 2}

    @product.def_vmap
    def _(size: int, batched: Any, a: Any, b: Any) -> Any:
        in_a, in_b = batched
        if not in_a and not in_b:  # JAX asks for it in Jacobians: tangents are batched only
            return {"v": _sin(a) @ b * factor, "a": a * 2 * factor}, {"v": False, "a": False}
        if in_a and not in_b and len(a.shape) == 3:  # one product for all elements
            v = (_sin(a).reshape(-1, N) @ b).reshape(a.shape[:2] + b.shape[1:])
        else:
            axes = (0 if in_a else None, 0 if in_b else None)
            v = lib.vmap(lambda a, b: _sin(a) @ b, axes, axis_size=size)(a, b)
        return {"v": v * factor, "a": a * 2 * factor}, {"v": True, "a": in_a}

    return product


def _ruled_batches(lib: Any, x: Any, w: Any) -> Any:
    product = _ruled_product(lib)
    out = lib.vmap(product, (0, None))(x, w)
    nested = lib.vmap(lambda r: lib.vmap(product, (None, 0))(r, lib.vmap(product)(x, x * r)["a"]))(
        x
    )
    return out["v"] @ x + out["a"] + nested["v"]


def _ruled_steps(lib: Any, x: Any, w: Any) -> Any:
    product, m = _ruled_product(lib), lax if lib is func else jax.lax

    def step(c: Any, row: Any) -> Any:
        c = product(c, w)["v"] * 0.5 + row
        last = m.cond(c[0] > 0, lambda c: product(c, x)["v"], lambda c: product(w, c)["a"][0], c)
        return c, last

    return m.scan(step, w[0], x)[1]


# Functions with rules of their own, as functions of the module (ours or JAX's), a matrix and the
# operand.
RULES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "checkpoint": lambda lib, x, w: _checkpointed(lib, None, x, w),
    "checkpoint of what is no product": lambda lib, x, w: _checkpointed(lib, "dots_saveable", x, w),
    "checkpoint of nothing": lambda lib, x, w: _checkpointed(lib, "everything_saveable", x, w),
    "checkpoint in a loop": _checkpointed_steps,
    "custom_jvp": _wrong_tangent,
    "custom_vjp": _wrong_gradient,
    "custom_vmap": lambda lib, x, w: (
        _ruled_product(lib)(x, w)["v"] * _ruled_product(lib)(x, x)["a"]
    ),
    "custom_vmap of vmap": _ruled_batches,
    "custom_vmap in a loop": _ruled_steps,
}


def _along(lib: Any, f: Callable[[Any, Any], Any], x: Any) -> Any:
    return lib.vmap(lambda r: f(lax if lib is func else jax.lax, r), axis_name="i")(x)


RULES |= {
    "psum": lambda lib, x, w: _along(lib, lambda m, r: _sin(r) * m.psum(r * r, "i"), x) * w,
    "pmean and axis_index": lambda lib, x, w: _along(
        lib, lambda m, r: m.pmean(_sin(r), "i") * r * (m.axis_index("i") + 1), x
    ),
    "all_gather": lambda lib, x, w: _along(
        lib, lambda m, r: (m.all_gather(r * r, "i", axis=1) @ r) * r, x * w
    ),
    "ppermute": lambda lib, x, w: _along(
        lib, lambda m, r: m.ppermute(_sin(r), "i", [(0, 1), (1, 2), (2, 0)]) * r, x
    ),
    "psum of nested axes": lambda lib, x, w: _along(
        lib,
        lambda m, r: lib.vmap(
            lambda e: e * m.psum(e * e, ("i", "j")) + m.psum(e, "i"), axis_name="j"
        )(r),
        x,
    ),
}
# JAX has no derivative of them in forward mode.
REVERSE = {"custom_vjp"}
# Reverse mode does not know the number of their steps.
FORWARD = {"while_loop"}
# JAX has no gradients of them.
FORWARD |= {"custom_vmap", "custom_vmap of vmap", "custom_vmap in a loop"}


def _control(lax: Any, f: Callable[[Any, Any, Any], Any]) -> Function:
    return lambda x: f(lax, x, w if lax not in (jax, jax.lax) else jnp.asarray(W))


E = Tensor(eye)
PAIRS: dict[str, tuple[Function, Function]] = {
    "neg": (lambda x: -x, lambda x: -x),
    "add": (lambda x: x + w, lambda x: x + W),
    "mul": (lambda x: x * w * x, lambda x: x * W * x),
    "div": (lambda x: w / (x * x + 1), lambda x: W / (x * x + 1)),
    "sin": (lambda x: x.sin(), jnp.sin),
    "cos": (lambda x: x.cos(), jnp.cos),
    "tan": (lambda x: (x / 3).tan(), lambda x: jnp.tan(x / 3)),
    "exp": (lambda x: x.exp(), jnp.exp),
    "exp2": (lambda x: x.exp2(), jnp.exp2),
    "expm1": (lambda x: x.expm1(), jnp.expm1),
    "log": (lambda x: (x * x + 1).log(), lambda x: jnp.log(x * x + 1)),
    "log2": (lambda x: (x * x + 1).log2(), lambda x: jnp.log2(x * x + 1)),
    "log1p": (lambda x: (x * x).log1p(), lambda x: jnp.log1p(x * x)),
    "sqrt": (lambda x: (x * x + 1).sqrt(), lambda x: jnp.sqrt(x * x + 1)),
    "rsqrt": (lambda x: (x * x + 1).rsqrt(), lambda x: jax.lax.rsqrt(x * x + 1)),
    "tanh": (lambda x: x.tanh(), jnp.tanh),
    "sinh": (lambda x: x.sinh(), jnp.sinh),
    "cosh": (lambda x: x.cosh(), jnp.cosh),
    "asin": (lambda x: (x / 4).asin(), lambda x: jnp.arcsin(x / 4)),
    "acos": (lambda x: (x / 4).acos(), lambda x: jnp.arccos(x / 4)),
    "atan": (lambda x: x.atan(), jnp.arctan),
    "asinh": (lambda x: x.asinh(), jnp.arcsinh),
    "acosh": (lambda x: (x * x + 2).acosh(), lambda x: jnp.arccosh(x * x + 2)),
    "atanh": (lambda x: (x / 4).atanh(), lambda x: jnp.arctanh(x / 4)),
    "erf": (lambda x: x.erf(), jax.scipy.special.erf),
    "sigmoid": (lambda x: x.sigmoid(), jax.nn.sigmoid),
    "relu": (lambda x: x.relu(), jax.nn.relu),
    "softplus": (lambda x: x.softplus(), jax.nn.softplus),
    "gelu": (lambda x: x.gelu(), lambda x: jax.nn.gelu(x, approximate=True)),
    "silu": (lambda x: x.silu(), jax.nn.silu),
    "abs": (lambda x: x.abs(), jnp.abs),
    "sign": (lambda x: x.sign() * x, lambda x: jnp.sign(x) * x),
    "round": (lambda x: x.round() * x, lambda x: jnp.round(x) * x),
    "floor": (lambda x: x.floor() * x, lambda x: jnp.floor(x) * x),
    "pow": (lambda x: (x * x + 1) ** w, lambda x: (x * x + 1) ** W),
    "power of a number": (lambda x: x**3, lambda x: x**3),
    "maximum": (lambda x: x.maximum(w), lambda x: jnp.maximum(x, W)),
    "minimum": (lambda x: x.minimum(w), lambda x: jnp.minimum(x, W)),
    "clamp": (lambda x: x.clamp(-1, 1) * x, lambda x: jnp.clip(x, -1, 1) * x),
    "where": (lambda x: (x > w).where(x * x, w), lambda x: jnp.where(x > W, x * x, W)),
    "matmul": (lambda x: x @ w @ x, lambda x: x @ W @ x),
    "transpose": (lambda x: x.T * w, lambda x: x.T * W),
    "reshape": (
        lambda x: x.reshape(9)[1:7].reshape(2, 3),
        lambda x: x.reshape(9)[1:7].reshape(2, 3),
    ),
    "expand": (
        lambda x: x[:, :1].expand(N, 4) * x[0, 0],
        lambda x: jnp.broadcast_to(x[:, :1], (N, 4)) * x[0, 0],
    ),
    "pad": (lambda x: x.pad(((1, 0), (0, 2))), lambda x: jnp.pad(x, ((1, 0), (0, 2)))),
    "flip": (lambda x: x.flip(0) * x, lambda x: jnp.flip(x, 0) * x),
    "cat": (
        lambda x: Tensor.cat(x, w, x * x, dim=1),
        lambda x: jnp.concatenate([x, W, x * x], axis=1),
    ),
    "roll": (lambda x: x.roll(1, 0) * x, lambda x: jnp.roll(x, 1, 0) * x),
    "triu": (lambda x: x.triu() @ x, lambda x: jnp.triu(x) @ x),
    "sum": (lambda x: (x * x).sum(1), lambda x: (x * x).sum(1)),
    "mean": (lambda x: x.mean(0) * x, lambda x: x.mean(0) * x),
    "max": (lambda x: x.max(1), lambda x: x.max(1)),
    "min": (lambda x: x.min(0) * x, lambda x: x.min(0) * x),
    "prod": (lambda x: x.prod(1), lambda x: x.prod(1)),
    "var": (lambda x: x.var(1), lambda x: x.var(1, ddof=1)),
    "logsumexp": (lambda x: x.logsumexp(1), lambda x: jax.scipy.special.logsumexp(x, 1)),
    "softmax": (lambda x: x.softmax(1), lambda x: jax.nn.softmax(x, 1)),
    "log_softmax": (lambda x: x.log_softmax(0), lambda x: jax.nn.log_softmax(x, 0)),
    "cumsum": (lambda x: x.cumsum(1) * x, lambda x: jnp.cumsum(x, 1) * x),
    "cumprod": (lambda x: x.cumprod(1), lambda x: jnp.cumprod(x, 1)),
    "cummax": (lambda x: x.cummax(0)[0], lambda x: jax.lax.cummax(x, 0)),
    "logcumsumexp": (lambda x: x.logcumsumexp(1), lambda x: jax.lax.cumlogsumexp(x, 1)),
    "sort": (lambda x: x.sort(1)[0] * w, lambda x: jnp.sort(x, 1) * W),
    "topk": (lambda x: x.topk(2, 1)[0], lambda x: jax.lax.top_k(x, 2)[0]),
    "gather": (lambda x: x.gather(1, index), lambda x: jnp.take_along_axis(x, INDEX, 1)),
    "take": (lambda x: x[index[0]] * x, lambda x: x[INDEX[0]] * x),
    "take of two axes": (lambda x: x[index[0], index[1]], lambda x: x[INDEX[0], INDEX[1]]),
    "scatter_add": (
        lambda x: x.scatter_reduce(0, index, x * x, reduce="sum"),
        lambda x: x.at[INDEX, np.arange(N)].add(x * x),
    ),
    "setitem": (
        lambda x: _set(x * 1, x[0] * x[1]),
        lambda x: x.at[1].set(x[0] * x[1]),
    ),
    "conv2d": (
        lambda x: x[None, None].conv2d(kernel, padding=(1, 0, 0, 1))[0, 0],
        _conv,
    ),
    "max_pool2d": (lambda x: x[None].max_pool2d((2, 2), stride=1)[0], _pool),
    "solve": (
        lambda x: (x / 4 + E).solve(w),
        lambda x: jnp.linalg.solve(x / 4 + eye, W),
    ),
    "inverse": (lambda x: (x / 4 + E).inv(), lambda x: jnp.linalg.inv(x / 4 + eye)),
    "det": (lambda x: x.det(), jnp.linalg.det),
    "slogdet": (
        lambda x: _positive(x, E).slogdet()[1],
        lambda x: jnp.linalg.slogdet(_positive(x, eye))[1],
    ),
    "cholesky": (
        lambda x: _positive(x, E).cholesky(),
        lambda x: jnp.linalg.cholesky(_positive(x, eye)),
    ),
    "triangular_solve": (
        lambda x: (x.tril() / 4 + E).triangular_solve(w),
        lambda x: solve_triangular(jnp.tril(x) / 4 + eye, W, lower=True),
    ),
    "qr": (lambda x: _abs_r((x + 3 * E).qr()[1]), lambda x: _abs_r(jnp.linalg.qr(x + 3 * eye)[1])),
    "eigh": (
        lambda x: (x + x.T).eigh()[0],
        lambda x: jnp.linalg.eigh(x + x.T)[0],
    ),
    "svd": (lambda x: x.svd()[1], lambda x: jnp.linalg.svd(x)[1]),
    "einsum": (
        lambda x: Tensor.einsum("ij,jk,ik->ik", x, w, x),
        lambda x: jnp.einsum("ij,jk,ik->ik", x, W, x),
    ),
    "float32": (
        lambda x: (x * x).float().double(),
        lambda x: (x * x).astype("float32").astype("float64"),
    ),
    "stop_gradient": (
        lambda x: func.stop_gradient(x) * x,
        lambda x: jax.lax.stop_gradient(x) * x,
    ),
    **{name: (_control(lax, f), _control(jax.lax, f)) for name, f in CONTROL.items()},
    **{name: (_control(func, f), _control(jax, f)) for name, f in RULES.items()},
    "lgamma": (lambda x: (x * x + 1).lgamma(), lambda x: jax.lax.lgamma(x * x + 1)),
    "digamma": (lambda x: (x * x + 1).digamma(), lambda x: jax.lax.digamma(x * x + 1)),
    "atan2": (lambda x: x.atan2(w), lambda x: jnp.arctan2(x, W)),
    "logaddexp": (lambda x: x.logaddexp(w), lambda x: jnp.logaddexp(x, W)),
    "remainder": (lambda x: x % 0.7 * x, lambda x: jnp.mod(x, 0.7) * x),
    "layer norm": (
        lambda x: x.layernorm(),
        _standardized,
    ),
    "group norm": (
        lambda x: x.groupnorm(1, weight=w[0], bias=w[1]),
        lambda x: _standardized(x) * W[0] + W[1],
    ),
}


def _set(x: Any, row: Any) -> Any:
    x[1] = row
    return x


def _abs_r(r: Any) -> Any:
    return (r * r).sum(1)


def _weights(y: Any) -> np.ndarray:
    n = int(np.prod(y.shape))
    return np.cos(np.arange(1.0, n + 1)).reshape(tuple(y.shape))


def _convert(lib: Any, x: np.ndarray) -> Any:
    return Tensor(x) if lib is func else jnp.asarray(x)


def _pullback(lib: Any, f: Function) -> Function:
    def g(x: Any) -> Any:
        y, back = lib.vjp(f, x)
        return back(_convert(lib, _weights(y)))[0]

    return g


def _weighted(lib: Any, f: Function) -> Function:
    def g(x: Any) -> Any:
        y = f(x)
        return (y * _convert(lib, _weights(y))).sum()

    return g


def _vmap(lib: Any, f: Function, axis: int) -> Function:
    def g(x: Any) -> Any:
        parts = [x, x * 0.5]
        both = Tensor.stack(*parts, dim=axis) if lib is func else jnp.stack(parts, axis)
        return lib.vmap(f, in_axes=axis, out_axes=-1)(both)

    return g


# Transformations of a function of a matrix into another one.
TRANSFORMS: dict[str, Callable[[Any, Function], Function]] = {
    "jvp": lambda lib, f: lambda x: lib.jvp(f, (x,), (_convert(lib, TANGENT),))[1],
    "linearize": lambda lib, f: lambda x: lib.linearize(f, x)[1](_convert(lib, TANGENT)),
    "vjp": _pullback,
    "grad": lambda lib, f: lib.grad(_weighted(lib, f)),
    "jacfwd": lambda lib, f: lib.jacfwd(f),
    "jacrev": lambda lib, f: lib.jacrev(f),
    "hessian": lambda lib, f: lib.hessian(_weighted(lib, f)),
    "vmap": lambda lib, f: _vmap(lib, f, 0),
    "vmap along 1": lambda lib, f: _vmap(lib, f, 1),
}


PLAIN = ["jvp", "vjp", "jacfwd", "jacrev", "hessian", "vmap"]


def _check(ops: list[str], transforms: list[str], seed: int) -> None:
    x = np.random.default_rng(seed).uniform(-1.5, 1.5, (N, N))
    results = []
    for lib, side in ((func, 0), (jax, 1)):

        def f(x: Any, side: int = side) -> Any:
            for k, name in enumerate(ops):
                y = PAIRS[name][side](x)
                # The next operation takes a matrix again.
                x = y if k == len(ops) - 1 else x * 0.5 + y.mean() * 0.3
            return x

        g: Function = f
        for t in transforms:
            g = TRANSFORMS[t](lib, g)
        # JAX compiles one program in less time than each of its operations.
        y = (g if lib is func else jax.jit(g))(_convert(lib, x))
        results.append(y.numpy() if lib is func else np.asarray(y))
    ours, theirs = results
    assert ours.shape == theirs.shape and ours.dtype == theirs.dtype
    rounding = 3e-5 if "float32" in ops else 1e-8
    scale = float(np.abs(theirs).max(initial=1))
    np.testing.assert_allclose(ours, theirs, rtol=rounding, atol=rounding * scale)


@pytest.fixture(autouse=True)
def _forget() -> Iterator[None]:
    """Drop what JAX has compiled, which is gigabytes otherwise."""
    yield
    jax.clear_caches()


@pytest.mark.parametrize("op", PAIRS)
def test_two_transformations_of_an_operation(op: str) -> None:
    failed = []
    for first in PLAIN:
        for second in PLAIN:
            seed = zlib.crc32(f"{op}{first}{second}".encode())
            if not today(ONE_IN, seed):
                continue
            if op in REVERSE and not {first, second} <= {"vjp", "jacrev", "vmap"}:
                continue
            if op in FORWARD and not {first, second} <= {"jvp", "jacfwd", "vmap"}:
                continue
            try:
                _check([op], [first, second], seed)
            except Exception as e:
                failed.append(f"{second} of {first}: {type(e).__name__} {str(e)[:300]}")
    assert not failed, "\n".join(failed)


def test_rules_for_batches_are_used() -> None:
    """A rule that is not that of the function shows where it is used: as in JAX."""

    def programs(lib: Any) -> Iterator[Any]:
        m = lax if lib is func else jax.lax
        x, v = _convert(lib, W), _convert(lib, TANGENT)
        product = _ruled_product(lib, 10)
        yield product(x, v)
        yield lib.vmap(product)(x, x)
        yield lib.vmap(product, (1, None), {"v": 1, "a": 0})(x, v)
        yield lib.vmap(product, (None, 0), {"v": 0, "a": None})(x, v)
        yield lib.vmap(lambda r: lib.vmap(product, (0, None))(x, r))(v)
        yield lib.vmap(lambda r: lib.vmap(product)(x, r * v))(v)
        each = _batching(lib).sequential_vmap(lambda r, s: _sin(r) * s + r.sum())
        yield lib.vmap(each, (0, 1))(x, v), lib.vmap(lambda r: lib.vmap(each, (None, 0))(r, x))(v)
        yield lib.jvp(lib.vmap(each), (x, x), (v, v))
        yield lib.jvp(lib.vmap(product), (x, x), (v, v))
        yield lib.vmap(lambda r, t: lib.jvp(product, (r, r), (t, t)))(x, v)
        yield lib.jacfwd(lambda x: lib.vmap(product)(x, v))(x)
        yield lib.jit(
            lib.vmap(lambda r: m.fori_loop(0, 2, lambda i, c: product(r, x)["v"] + c, r))
        )(x)
        yield lib.vmap(lambda r: m.map(lambda s: product(r, s), x))(v)
        yield lib.vmap(
            lambda r: m.cond(r[0] > 0, lambda r: product(r, x), lambda r: product(r, v), r)
        )(x)

    for k, (ours, theirs) in enumerate(zip(programs(func), programs(jax))):
        leaves = [
            x.numpy() for x in jax.tree.leaves(func.tree_map(lambda x: x, ours), is_leaf=_is_tensor)
        ]
        for a, b in zip(leaves, jax.tree.leaves(theirs), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-10, err_msg=f"program {k}")


def _is_tensor(x: Any) -> bool:
    return isinstance(x, Tensor)


@pytest.mark.parametrize("seed", part(range(40), ONE_IN))
def test_three_transformations_of_random_programs(seed: int) -> None:
    r = random.Random(seed)
    for _ in range(3):
        ops = r.sample([p for p in PAIRS if p not in FORWARD | REVERSE], r.choice([1, 2, 3]))
        # More than one that adds the axes of a matrix would give many elements.
        transforms = [
            r.choice(list(TRANSFORMS)),
            *r.sample(["jvp", "vjp", "grad", "vmap", "vmap along 1"], 2),
        ]
        r.shuffle(transforms)
        try:
            _check(ops, transforms, seed)
        except AssertionError as e:
            raise AssertionError(f"{transforms} of {ops}: {e}") from None
