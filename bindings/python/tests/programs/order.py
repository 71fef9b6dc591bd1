"""Steps that sort, search and count, running products and extremes, and writes that meet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from programs.choices import FLOATS, SIGNED, UNSIGNED, Choices
from programs.indexing import index
from programs.oracle import Reject, Step, exact, sum_type
from programs.printer import number


def ranks(a: np.ndarray) -> np.ndarray:
    """Return the place of each element among the distinct ones: NaN is the greatest."""
    return np.unique(a, return_inverse=True)[1].reshape(a.shape)


def places(a: np.ndarray, axis: int, down: bool) -> np.ndarray:
    """Return the stable order of the elements along an axis."""
    return np.argsort(-ranks(a) if down else ranks(a), axis, kind="stable").astype(np.int32)


def first(a: np.ndarray, axis: int, n: int) -> np.ndarray:
    return a[(slice(None),) * axis + (slice(n),)]


def sort(g: Choices) -> Step:
    x = g.pick(least=1)
    a = g.array(x)
    axis, down = g.rng.randrange(a.ndim), g.rng.random() < 0.5
    n = g.rng.randint(0, a.shape[axis])
    g.kinked(x, np.diff(np.sort(a, axis), axis=axis) == 0)

    def sorted_(a: np.ndarray) -> np.ndarray:
        return np.take_along_axis(a, places(a, axis, down), axis)

    options: list[tuple[str, Callable[[Any], Any]]] = [
        (f"argsort({axis}, {down})", lambda a: places(a, axis, down)),
        (f"sort({axis}, {down})[0]", sorted_),
        (f"sort({axis}, {down})[1]", lambda a: places(a, axis, down)),
        (f"topk({n}, {axis}, {down})[0]", lambda a: first(sorted_(a), axis, n)),
        (f"topk({n}, {axis}, {down})[1]", lambda a: first(places(a, axis, down), axis, n)),
    ]
    text, f = g.rng.choice(options)
    return g.fresh(f"{x}.{text}", f, x)


def running(g: Choices) -> Step:
    x = g.pick(*SIGNED, *UNSIGNED, *FLOATS, least=1)
    axis = g.rng.randrange(g.array(x).ndim)
    greatest = g.rng.random() < 0.5
    name = "cummax" if greatest else "cummin"
    f = np.maximum if greatest else np.minimum

    def found(a: np.ndarray) -> np.ndarray:
        best = f.accumulate(a, axis)
        before = np.roll(best, 1, axis)
        new = (best != before) & ~((best != best) & (before != before))
        at = np.arange(a.shape[axis]).reshape([-1 if i == axis else 1 for i in range(a.ndim)])
        return np.maximum.accumulate(np.where(new & (at > 0), at, 0), axis).astype(np.int32)

    if not g.array(x).shape[axis]:
        raise Reject
    kind = g.rng.randrange(4)
    if kind == 0:
        return g.fresh(f"{x}.{name}({axis})[1]", found, x)
    if kind == 1 and g.dtype(x) in ("float32", "float64") and np.all(np.abs(g.array(x)) < 9):
        text = f"{x}.logcumsumexp({axis})"
        error = 4e-6 if g.dtype(x) == "float32" else 1e-13
        return g.fresh(text, lambda a: np.logaddexp.accumulate(a, axis), x, error=error)
    if kind == 2 and g.dtype(x) != "bfloat16":

        def product(a: np.ndarray) -> np.ndarray:
            return exact(lambda b: b.cumprod(axis=axis, dtype=b.dtype), a)

        return g.fresh(f"{x}.cumprod({axis})", product, x)
    ties = np.diff(np.sort(g.array(x), axis), axis=axis) == 0
    g.kinked(x, ties)
    return g.fresh(f"{x}.{name}({axis})[0]", lambda a: f.accumulate(a, axis), x)


def search(g: Choices) -> Step:
    x = g.pick(least=1)
    y = g.same(x)
    a, b = g.array(x), g.array(y)
    kind = g.rng.randrange(4)
    if kind == 0:
        return g.fresh(f"{x}.isin({y})", np.isin, x, y)
    if kind == 1:
        which = g.rng.randrange(3)

        def distinct(a: np.ndarray) -> np.ndarray:
            values, inverse, counts = np.unique(a, return_inverse=True, return_counts=True)
            return (
                values,
                inverse.reshape(a.shape).astype(np.int32),
                counts.astype(np.int32),
            )[which]

        return g.fresh(f"{x}.unique()[{which}]", distinct, x)
    if kind == 2:
        if a.ndim != 1 or g.dtype(x) == "bool":
            raise Reject
        right = g.rng.random() < 0.5
        side = "right" if right else "left"

        def at(a: np.ndarray, b: np.ndarray) -> np.ndarray:
            return np.searchsorted(np.sort(a), b, side=side).astype(np.int32)

        return g.fresh(f"{x}.sort(0)[0].searchsorted({y}, right={right})", at, x, y)
    if g.dtype(x) not in FLOATS or not np.all(np.isfinite(b)):
        n = g.rng.randint(2, 5)
        z, text, f = index(g, n)

        def counts(b: np.ndarray) -> np.ndarray:
            return np.bincount(f(b).reshape(-1), minlength=n).astype(np.int32)

        return g.fresh(f"{text}.bincount(minlength={n})", counts, z)
    # Edges that every type holds.
    text = f"{x}.histogram(4, -4, 4)[0]"
    return g.fresh(text, lambda a: np.histogram(a, 4, (-4, 4))[0].astype(np.int32), x)


def einsum(g: Choices) -> Step:
    x = g.pick("float32", "float64")
    y = g.rng.choice([n for n in g.state.values if g.dtype(n) == g.dtype(x)])
    if g.state.values[y].root.error:
        raise Reject
    if not all(np.all(np.isfinite(g.array(n))) for n in (x, y)):
        raise Reject  # a product of sums is not a sum of products then
    letters: dict[str, int] = {}
    formula = []
    for n in (x, y):
        word = ""
        for size in g.array(n).shape:
            fits = [c for c, s in letters.items() if s == size and c not in word]
            c = g.rng.choice(fits) if fits and g.rng.random() < 0.7 else "abcdefgh"[len(letters)]
            letters[c] = size
            word += c
        formula.append(word)
    out = "".join(g.rng.sample(list(letters), g.rng.randint(0, min(3, len(letters)))))
    text = f"{','.join(formula)}->{out}"

    def f(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return exact(lambda p, q: np.asarray(np.einsum(text, p, q)), a, b)

    return g.fresh(f"Tensor.einsum({text!r}, {x}, {y})", f, x, y)


REDUCE: dict[str, Callable[[Any, Any], Any]] = {
    "sum": lambda a, b: a + b,
    "prod": lambda a, b: a * b,
    "mean": lambda a, b: a + b,
    "amax": np.maximum,
    "amin": np.minimum,
}


def scatter(g: Choices) -> Step:
    """Write along an axis where several values meet, with each way to combine them."""
    x = g.pick(*SIGNED, *UNSIGNED, *FLOATS, least=1)
    a = g.array(x)
    axis = g.rng.randrange(a.ndim)
    if not a.shape[axis]:
        raise Reject
    y, text, f = index(g, a.shape[axis])
    at = g.array(y)
    if at.ndim != a.ndim or any(
        n > m for i, (n, m) in enumerate(zip(at.shape, a.shape)) if i != axis
    ):
        raise Reject
    fits = [
        n
        for n, v in g.state.values.items()
        if v.root.dtype == g.dtype(x) and v.at.ndim == a.ndim and not v.root.error
        if all(s >= m for s, m in zip(v.at.shape, at.shape))
    ]
    z = g.rng.choice(fits)
    how = g.rng.choice((*REDUCE, "", "add", "multiply"))
    own = g.rng.random() < 0.7 or how in ("", "add", "multiply")
    if g.gradients and how not in ("sum", "add", ""):
        raise Reject
    if how == "mean" and g.dtype(x) not in ("float32", "float64"):
        raise Reject
    if how in ("sum", "add") and sum_type(a.dtype) != a.dtype:
        raise Reject
    if how in ("prod", "multiply") and g.dtype(x) == "bfloat16":
        raise Reject
    combine = REDUCE.get({"add": "sum", "multiply": "prod"}.get(how, how), lambda p, q: q)

    def put(p: np.ndarray, b: np.ndarray, q: np.ndarray) -> np.ndarray:
        out, to = p.copy(), f(b)
        counts = np.full(p.shape, int(own))
        for i in np.ndindex(*to.shape):
            j = (*i[:axis], int(to[i]), *i[axis + 1 :])
            out[j] = combine(out[j], q[i]) if counts[j] else q[i]
            counts[j] += 1
        return out / np.maximum(counts, 1).astype(p.dtype) if how == "mean" else out

    arithmetic = how in ("sum", "prod", "mean", "add", "multiply")

    def joined(p: np.ndarray, b: np.ndarray, q: np.ndarray) -> np.ndarray:
        return exact(lambda r, s: put(r, b, s), p, q) if arithmetic else put(p, b, q)

    if how in ("", "add", "multiply"):
        tail = f", reduce={how!r}" if how else ""
        return g.fresh(f"{x}.scatter({axis}, {text}, {z}{tail})", joined, x, y, z)
    call = f"{x}.scatter_reduce({axis}, {text}, {z}, {how!r}, include_self={own})"
    return g.fresh(call, joined, x, y, z)


def matrix(g: Choices) -> Step:
    """A product of a matrix with itself, with a diagonal that makes it positive definite."""
    x = g.pick("float32", "float64", least=2)
    a = g.array(x)
    if a.ndim != 2 or not a.size or not np.all(np.abs(a) <= 4):
        raise Reject
    n = len(a)
    eye = f"Tensor.eye({n}, dtype={g.dtype(x)!r}) * {number(4.0)}"
    text = f"({x} @ {x}.T + {eye})"

    def square(a: np.ndarray) -> np.ndarray:
        return (a @ a.T + 4 * np.eye(n)).astype(np.float64)

    def root(a: np.ndarray) -> np.ndarray:
        return np.linalg.eigvalsh(square(a))

    error = 2e-5 if g.dtype(x) == "float32" else 1e-12
    options: dict[str, Callable[[Any], Any]] = {
        f"{text}.cholesky()": lambda a: np.linalg.cholesky(square(a)),
        f"{text}.inv()": lambda a: np.linalg.inv(square(a)),
        f"{text}.solve({x})": lambda a: np.linalg.solve(square(a), a),
        f"{text}.slogdet()[1]": lambda a: np.linalg.slogdet(square(a))[1],
        f"(lambda q, r: q @ r)(*{text}.qr())": square,
        f"{text}.svd()[1]": lambda a: root(a)[::-1],
        f"{text}.eigh()[0]": root,
        f"{text}.cholesky().triangular_solve({x}).square().sum()": lambda a: (
            a * np.linalg.solve(square(a), a)
        ).sum(),
    }
    line = g.rng.choice(list(options))
    return g.fresh(line, lambda a: options[line](a).astype(a.dtype), x, error=error)
