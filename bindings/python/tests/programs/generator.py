"""Makes the random program of a seed."""

from __future__ import annotations

import numpy as np

from programs import calls, elementwise, indexing, movement, order, reductions, writes
from programs.choices import Choices
from programs.gradients import gradient
from programs.oracle import Reject, Step

# Each kind of step; one listed twice is chosen twice as often.
KINDS = (
    elementwise.leaf,
    elementwise.cast,
    elementwise.unary,
    elementwise.binary,
    elementwise.binary,
    elementwise.with_number,
    elementwise.with_number,
    elementwise.shift,
    elementwise.extreme,
    elementwise.clip,
    elementwise.where,
    movement.pad,
    movement.cast_pad,
    elementwise.mask,
    movement.view,
    movement.view,
    movement.view,
    movement.moved,
    reductions.reduce,
    reductions.reduce,
    indexing.take,
    indexing.gather,
    indexing.scatter,
    order.sort,
    order.running,
    order.search,
    order.einsum,
    order.scatter,
    order.matrix,
    calls.call,
    calls.call,
    reductions.product,
    elementwise.contiguous,
    writes.set_items,
    writes.set_items,
    writes.set_mask,
    writes.assign,
    writes.assign,
    writes.realize,
    writes.realize,
    writes.check,
    writes.check,
)


def generate(seed: int) -> list[Step]:
    g = Choices(seed)
    for _ in range(g.rng.choice((2, 3))):
        add(g, elementwise.leaf(g))
    for _ in range(g.rng.randint(5, 25)):
        for _ in range(20):
            try:
                with np.errstate(all="ignore"):
                    step = g.rng.choice(KINDS)(g)
                add(g, step)
                break
            except (Reject, IndexError, ValueError):
                continue
    try:
        for step in gradient(g) if g.gradients else ():
            add(g, step)
    except Reject:
        g.steps.pop()  # backward() without its check
    names = list(g.state.values)
    g.rng.shuffle(names)
    if g.rng.random() < 0.5:
        some = tuple(names[:5])
        add(g, Step(f"Tensor.realize({', '.join(some)})", lambda state: state.compute(some)))
    for name in names:
        add(g, writes.check(g, name))
    return g.steps


def add(g: Choices, step: Step) -> None:
    with np.errstate(all="ignore"):
        step.run(g.state)
    g.steps.append(step)
