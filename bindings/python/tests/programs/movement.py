"""Steps that move elements: views, padding, concatenation."""

from __future__ import annotations

import numpy as np

from programs.choices import TYPES, Choices, small
from programs.oracle import Reject, Step, converted
from programs.printer import number


def view(g: Choices) -> Step:
    x = g.pick(near=True)
    shape = g.array(x).shape
    rng, name = g.rng, g.name
    kind = rng.choice(("reshape", "permute", "flip", "slice", "slice", "new", "detach"))
    if kind == "reshape":
        n = g.array(x).size
        parts = rng.choice(
            [s for s in ((n,), (1, n), (n, 1), (2, n // 2), (n // 3, 3)) if np.prod(s) == n]
        )
        text, f = (
            f"{x}.reshape{parts if len(parts) > 1 else f'({n})'}",
            lambda a: a.reshape(parts),
        )
    elif not shape:
        raise Reject
    elif kind == "permute":
        order = tuple(rng.sample(range(len(shape)), len(shape)))
        text, f = f"{x}.permute({order})", lambda a: a.transpose(order)
    elif kind == "flip":
        axis = rng.randrange(len(shape))
        text, f = f"{x}.flip({axis})", lambda a: np.flip(a, axis)
    elif kind == "detach" and not g.state.values[x].tracked:
        text, f = f"{x}.detach()", lambda a: a
    elif kind == "new":
        text, f = f"{x}[None, ..., None]", lambda a: a[None, ..., None]
    else:
        items, written = g.items(shape)
        text, f = f"{x}[{written}]", lambda a: a[items]
    return Step(f"{name} = {text}", lambda state: state.view(name, x, f))


def moved(g: Choices) -> Step:
    x = g.pick(least=1, near=True)
    y = g.same(x, near=True)
    axis = g.rng.randrange(g.array(x).ndim)
    if g.rng.random() < 0.3:
        n = g.rng.randrange(-2, 3)
        return g.fresh(f"{x}.roll({n}, {axis})", lambda a: np.roll(a, n, axis), x)
    if g.rng.random() < 0.5:
        shape = (2, *g.array(x).shape)
        small(shape)
        return g.fresh(f"{x}.expand{shape}", lambda a: np.broadcast_to(a, shape), x)
    if g.array(x).shape != g.array(y).shape:
        raise Reject
    return g.fresh(f"{x}.cat({y}, dim={axis})", lambda a, b: np.concatenate([a, b], axis), x, y)


def pad(g: Choices) -> Step:
    x = g.pick(least=1, near=True)
    widths = tuple((g.rng.randrange(3), g.rng.randrange(3)) for _ in g.array(x).shape)
    if not any(map(sum, widths)):
        raise Reject
    k = g.filling(g.dtype(x))
    return g.fresh(
        f"{x}.pad({widths}, value={number(k)})",
        lambda a: np.pad(a, widths, constant_values=k),
        x,
    )


def cast_pad(g: Choices) -> Step:
    x = g.pick(least=1)
    to = g.rng.choice([t for t in TYPES if t != g.dtype(x)])
    k = g.filling(to)
    widths = tuple((g.rng.randrange(1, 3), g.rng.randrange(3)) for _ in g.array(x).shape)
    text = f"{x}.cast({to!r}).pad({widths}, value={number(k)})"
    return g.fresh(text, lambda a: np.pad(converted(a, to), widths, constant_values=k), x, dtype=to)
