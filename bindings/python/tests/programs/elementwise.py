"""Steps that compute each element of their result alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from programs.choices import FLOATS, SIGNED, TYPES, UNSIGNED, Choices, small
from programs.oracle import Reject, State, Step, converted, exact
from programs.printer import literal, number

# Python's operators and their numpy equivalents.
ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
}
DIVISION: dict[str, Callable[[Any, Any], Any]] = {
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
}
BITS: dict[str, Callable[[Any, Any], Any]] = {
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
}
COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}


def apply(op: str, f: Callable[[Any, Any], Any], a: Any, b: Any) -> np.ndarray:
    if op in DIVISION:
        if np.any(b == 0) or (np.asarray(a).dtype.kind == "i" and np.any(b == -1)):
            raise Reject
        return np.asarray(f(a, b))
    return exact(f, a, b) if op in ARITHMETIC else f(a, b)


def leaf(g: Choices) -> Step:
    sizes = (1, 2, 3, 3, 4) if g.gradients or g.rng.random() < 0.9 else (0, 1, 3)
    shape = tuple(g.rng.choice(sizes) for _ in range(g.rng.choice((0, 1, 1, 1, 2, 2, 3))))
    tracked = g.gradients and not any(v.tracked for v in g.state.values.values())
    dtype = "float64" if tracked else g.rng.choice(TYPES)
    data = g.numbers(dtype, shape)
    if tracked:  # different values: maxima have one place
        data = np.array(g.rng.sample(range(-40, 40), data.size), dtype).reshape(shape) / 8
    name = g.name

    def run(state: State) -> None:
        state.fresh(name, data, [], tracked, dtype)
        state.values[name].root.computed = True

    more = ", requires_grad=True" if tracked else ""
    cast = ".cast('bfloat16').realize()" if dtype == "bfloat16" else ""
    return Step(f"{name} = Tensor({literal(data)}{more}){cast}", run)


def cast(g: Choices) -> Step:
    x = g.pick()
    to = g.rng.choice([t for t in TYPES if t != g.dtype(x)])
    return g.fresh(f"{x}.cast({to!r})", lambda a: converted(a, to), x, dtype=to)


def unary(g: Choices) -> Step:
    x = g.pick(*SIGNED, *UNSIGNED, *FLOATS, near=True)
    g.kinked(x, g.array(x) == 0)
    options: dict[str, Callable[[Any], Any]] = {
        f"-{x}": lambda a: -a,
        f"{x}.relu()": lambda a: np.maximum(a, a.dtype.type(0)),
    }
    if not g.state.values[x].root.error:
        options[f"{x} * {x}"] = lambda a: a * a
    if g.dtype(x) not in FLOATS:
        options[f"~{x}"] = lambda a: ~a
    if g.dtype(x) not in UNSIGNED:
        options[f"{x}.abs()"] = abs
    text = g.rng.choice(list(options))
    return g.fresh(text, lambda a: exact(options[text], a), x)


def binary(g: Choices) -> Step:
    x = g.pick(near=True)
    y = g.same(x, near=True)
    kind = g.dtype(x)
    near = any(g.state.values[n].root.error for n in (x, y))
    ops = {} if near else dict(COMPARISONS)
    if kind not in FLOATS:
        ops |= BITS
    if kind != "bool":
        ops |= {op: f for op, f in ARITHMETIC.items() if op != "*" or not near}
    if kind not in (*FLOATS, "bool"):
        ops |= DIVISION
    op = g.rng.choice(list(ops))
    return g.fresh(f"{x} {op} {y}", lambda a, b: apply(op, ops[op], a, b), x, y)


def with_number(g: Choices) -> Step:
    x = g.pick(*SIGNED, *UNSIGNED, *FLOATS)
    kind = g.dtype(x)
    ops = ARITHMETIC | COMPARISONS | (BITS | DIVISION if kind not in FLOATS else {})
    op = g.rng.choice(list(ops))
    k = g.constant(kind)
    return g.fresh(f"{x} {op} {number(k)}", lambda a: apply(op, ops[op], a, k), x)


def shift(g: Choices) -> Step:
    x = g.pick(*SIGNED, *UNSIGNED)
    n = g.rng.randrange(8)
    if g.rng.random() < 0.5:
        return g.fresh(f"{x} << {n}", lambda a: exact(lambda b: b << n if n else b, a), x)
    return g.fresh(f"{x} >> {n}", lambda a: a >> a.dtype.type(n), x)


def extreme(g: Choices) -> Step:
    x = g.pick()
    y = g.same(x)
    g.kinked(x, g.array(x) == g.array(y))
    g.kinked(y, g.array(x) == g.array(y))
    name, f = g.rng.choice([("maximum", np.maximum), ("minimum", np.minimum)])
    return g.fresh(f"{x}.{name}({y})", f, x, y)


def clip(g: Choices) -> Step:
    x = g.pick(*SIGNED, *UNSIGNED, *FLOATS)
    lo, hi = sorted((g.filling(g.dtype(x)), g.filling(g.dtype(x))))
    g.kinked(x, np.isin(g.array(x), (lo, hi)))
    return g.fresh(f"{x}.clip({number(lo)}, {number(hi)})", lambda a: np.clip(a, lo, hi), x)


def where(g: Choices) -> Step:
    m, x = g.pick("bool"), g.pick(near=True)
    y = g.same(x, near=True)
    small(np.broadcast_shapes(g.array(m).shape, g.array(x).shape, g.array(y).shape))
    return g.fresh(f"{m}.where({x}, {y})", np.where, m, x, y)


def mask(g: Choices) -> Step:
    x, m = g.pick(), g.pick("bool")
    small(np.broadcast_shapes(g.array(m).shape, g.array(x).shape))
    to = g.rng.choice([t for t in TYPES if t != g.dtype(x)])
    k = g.constant(to, wild=True)
    text = f"{m}.where({x}.cast({to!r}), Tensor({number(k)}, dtype={to!r}))"
    return g.fresh(text, lambda b, a: np.where(b, converted(a, to), k), m, x, dtype=to)


def contiguous(g: Choices) -> Step:
    x = g.pick(near=True)
    return g.fresh(f"{x}.contiguous()", lambda a: a, x)
