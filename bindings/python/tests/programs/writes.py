"""Steps that write to a tensor, compute it, or compare it with the oracle."""

from __future__ import annotations

from cases.builder import rounded

from programs.choices import Choices
from programs.elementwise import ARITHMETIC
from programs.oracle import Reject, State, Step, exact, same
from programs.printer import number


def set_items(g: Choices) -> Step:
    x = g.target()
    value = g.state.values[x]
    if not value.at.ndim:
        raise Reject
    items, text = g.items(value.at.shape)
    k = g.constant(g.dtype(x), wild=True)
    fits = [
        n
        for n, v in g.state.values.items()
        if v.root.dtype == value.root.dtype and v.at.shape == value.at[items].shape
    ]
    y = g.rng.choice(fits) if fits and g.rng.random() < 0.6 else ""

    def run(state: State) -> None:
        new = state.values[y].array if y else k
        state.write(x, state.values[x].at[items], new, y)
        state.values[x].root.computed = True
        if y:
            state.compute((y,))

    return Step(f"{x}[{text}] = {y or number(k)}", run)


def set_mask(g: Choices) -> Step:
    x = g.target()
    shape = g.array(x).shape
    fits = [
        n for n, v in g.state.values.items() if v.root.dtype == "bool" and v.at.shape == shape != ()
    ]
    if not fits:
        raise Reject
    m = g.rng.choice(fits)
    k = g.constant(g.dtype(x))

    def run(state: State) -> None:
        state.values[x].root.computed = True
        state.compute((m,))
        state.write(x, state.values[x].at[state.values[m].array], k)

    return Step(f"{x}[{m}] = {number(k)}", run)


def assign(g: Choices) -> Step:
    x = g.target()
    shape = g.array(x).shape
    y = g.same(x, near=True)
    if g.array(y).shape != shape:
        raise Reject
    near = any(g.state.values[n].root.error for n in (x, y))
    if g.rng.random() < 0.5 and g.dtype(x) != "bool" and not near:
        op = g.rng.choice(list(ARITHMETIC))

        def change(state: State) -> None:
            new = exact(ARITHMETIC[op], state.values[x].array, state.values[y].array)
            if state.values[x].root.dtype == "bfloat16" and not same(rounded(new, "bfloat16"), new):
                raise Reject
            state.write(x, state.values[x].at, new)

        return Step(f"{x} {op}= {y}", change)

    def run(state: State) -> None:
        state.write(x, state.values[x].at, state.values[y].array, y)
        state.values[x].root.computed = True

    return Step(f"{x}.assign({y} + 0)" if g.dtype(x) != "bool" else f"{x}.assign({y} | False)", run)


def realize(g: Choices) -> Step:
    names = tuple(dict.fromkeys(g.pick(near=True) for _ in range(g.rng.choice((1, 2, 3, 4)))))
    return Step(f"Tensor.realize({', '.join(names)})", lambda state: state.compute(names))


def check(g: Choices, name: str = "") -> Step:
    x = name or g.pick(near=True)

    def run(state: State) -> None:
        state.compute((x,))
        state.expected.append((state.values[x].array.copy(), state.values[x].root.error))

    return Step(f"check({x})", run)
