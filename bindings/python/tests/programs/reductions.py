"""Steps that combine elements along an axis, and products."""

from __future__ import annotations

import numpy as np

from programs.choices import Choices
from programs.oracle import Reject, Step, exact, sum_type


def reduce(g: Choices) -> Step:
    x = g.pick(least=1, near=True)
    near = bool(g.state.values[x].root.error)
    kind = g.dtype(x)
    shape = g.array(x).shape
    axis = g.rng.choice([None, *range(len(shape))])
    keep = g.rng.random() < 0.3
    text = f"axis={axis}, keepdim={keep}"
    name = g.rng.choice(
        ("sum", "max", "min", "cumsum", "sort")
        if near
        else (
            "sum",
            "sum",
            "max",
            "min",
            "any",
            "all",
            "argmax",
            "argmin",
            "cumsum",
            "prod",
            "sort",
        )
    )
    if name == "sum":

        def total(a: np.ndarray) -> np.ndarray:
            wide = a.astype(sum_type(a.dtype))
            return exact(lambda b: b.sum(axis=axis, keepdims=keep, dtype=b.dtype), wide)

        return g.fresh(f"{x}.sum({text})", total, x, grows=64)
    if name in ("max", "min", "any", "all"):
        f = getattr(np, name)
        extremes = f(g.array(x), axis=axis, keepdims=True) == g.array(x)
        g.kinked(x, extremes.sum(axis=axis) > 1)
        return g.fresh(f"{x}.{name}({text})", lambda a: f(a, axis=axis, keepdims=keep), x)
    if name in ("argmax", "argmin"):
        f = getattr(np, name)
        return g.fresh(f"{x}.{name}({text})", lambda a: np.int32(f(a, axis=axis, keepdims=keep)), x)
    axis = axis or 0
    if name == "cumsum":

        def running(a: np.ndarray) -> np.ndarray:
            wide = a.astype(sum_type(a.dtype))
            return exact(lambda b: b.cumsum(axis=axis, dtype=b.dtype), wide)

        return g.fresh(f"{x}.cumsum({axis})", running, x, grows=64)
    if kind == "bool" or (kind == "bfloat16" and name == "prod"):
        raise Reject
    if name == "prod":
        return g.fresh(
            f"{x}.prod(axis={axis})",
            lambda a: exact(lambda b: b.prod(axis=axis, dtype=b.dtype), a),
            x,
        )
    g.kinked(x, np.diff(np.sort(g.array(x), axis), axis=axis) == 0)  # equals share the gradient
    return g.fresh(f"{x}.sort({axis})[0]", lambda a: np.sort(a, axis), x)


def product(g: Choices) -> Step:
    x, y = g.pick("float32", "float64", least=2), g.pick("float32", "float64", least=2)
    a, b = g.array(x), g.array(y)
    if a.dtype != b.dtype or a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[0]:
        raise Reject
    if not (np.all(np.isfinite(a)) and np.all(np.isfinite(b))):
        raise Reject  # factors that are the same for all terms are taken out of the sum
    return g.fresh(f"{x} @ {y}", lambda a, b: exact(np.matmul, a, b), x, y)
