"""Steps that read and write at computed places: take, gather, scatter."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from programs.choices import FLOATS, SIGNED, UNSIGNED, Choices
from programs.elementwise import COMPARISONS
from programs.oracle import Reject, Step, exact, sum_type
from programs.printer import number


def index(g: Choices, n: int) -> tuple[str, str, Callable[[np.ndarray], np.ndarray]]:
    """Return a variable, an index below n as text, and a function from the variable to it."""
    y = g.pick()
    kind = g.dtype(y)
    to = g.rng.choice(("int8", "uint8", "int32", "int32", "int64"))
    if kind == "bool" and n > 1:
        text = g.rng.choice((f"{y}.cast({to!r})", f"({y}.cast({to!r}) + 0)"))
        return y, text, lambda a: a.astype(int)
    if kind == "bool":
        raise Reject
    k = g.constant(kind)
    if n > 1 and g.rng.random() < 0.5:
        op = g.rng.choice(list(COMPARISONS))
        return (
            y,
            f"({y} {op} {number(k)}).cast({to!r})",
            lambda a: COMPARISONS[op](a, k).astype(int),
        )
    if kind in FLOATS:
        raise Reject
    return y, f"({y} % {n}).cast({to!r})", lambda a: (a % a.dtype.type(n)).astype(int)


def take(g: Choices) -> Step:
    x = g.pick(least=1, near=True)
    n = g.array(x).shape[0]
    if not n:
        raise Reject
    y, text, f = index(g, n)
    return g.fresh(f"{x}[{text}]", lambda a, b: a[f(b)], x, y)


def gather(g: Choices) -> Step:
    x = g.pick(least=1, near=True)
    shape = g.array(x).shape
    axis = g.rng.randrange(len(shape))
    y, text, f = index(g, shape[axis])
    at = g.array(y).shape
    if len(at) != len(shape) or any(a > s for i, (a, s) in enumerate(zip(at, shape)) if i != axis):
        raise Reject

    def taken(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        cut = a[tuple(slice(None) if i == axis else slice(s) for i, s in enumerate(at))]
        return np.take_along_axis(cut, f(b), axis)

    return g.fresh(f"{x}.gather({axis}, {text})", taken, x, y)


def scatter(g: Choices) -> Step:
    x = g.pick(*SIGNED, *UNSIGNED, *FLOATS, least=1)
    if g.array(x).ndim != 1:
        raise Reject
    y, text, f = index(g, g.array(x).shape[0])
    if g.array(y).ndim != 1:
        raise Reject
    k = g.constant(g.dtype(x))
    if g.rng.random() < 0.4:

        def put(a: np.ndarray, b: np.ndarray) -> np.ndarray:
            a = a.copy()
            a[f(b)] = k
            return a

        return g.fresh(f"{x}.scatter(0, {text}, {number(k)})", put, x, y)
    z = g.same(x)
    if g.array(z).ndim != 1 or g.array(z).size < g.array(y).size:
        raise Reject
    how, ufunc = g.rng.choice([("sum", np.add), ("amax", np.maximum), ("amin", np.minimum)])

    def join(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
        def at(p: np.ndarray, q: np.ndarray) -> np.ndarray:
            p = p.copy()
            for i, v in zip(f(b), q):
                p[i] = ufunc(p[i], v)
            return p

        if how != "sum":
            return at(a, c[: b.size])
        if sum_type(a.dtype) != a.dtype:
            raise Reject
        return exact(at, a, c[: b.size])

    return g.fresh(f"{x}.scatter_reduce(0, {text}, {z}, {how!r})", join, x, y, z)
