"""Control flow and rules nested three deep, transformed three times: against JAX.

POLY_TESTS=all compares all programs, as `make test-peers` does; without it one in 28.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from test_func import ONE_IN, TANGENT, TRANSFORMS, Function, N, W, _convert, _cos, _forget, _sin
from turns import part

from polygrad import func, lax

_used = _forget  # a fixture: what JAX has compiled is dropped


class Unrolled:
    """Loops of JAX without its scan, whose second derivatives forget the rules of what is in it."""

    while_loop, cond, switch = jax.lax.while_loop, jax.lax.cond, jax.lax.switch

    @staticmethod
    def scan(step: Any, carry: Any, xs: Any, reverse: bool = False) -> Any:
        """Return what jax.lax.scan does."""
        kept = []
        for x in xs[::-1] if reverse else xs:
            carry, y = step(carry, x)
            kept.append(y)
        return carry, None if kept[0] is None else jnp.stack(kept[:: -1 if reverse else 1])

    @staticmethod
    def fori_loop(lower: int, upper: int, step: Any, carry: Any) -> Any:
        """Return what jax.lax.fori_loop does."""
        for i in range(lower, upper):
            carry = step(i, carry)
        return carry

    @staticmethod
    def map(f: Any, xs: Any) -> Any:
        """Return what jax.lax.map does."""
        return jnp.stack([f(x) for x in xs])


class Side:
    """The names of a library: ours or JAX's."""

    def __init__(self, lib: Any) -> None:
        self.lib = lib
        self.lax: Any = lax if lib is func else Unrolled
        self.w, self.v = _convert(lib, W), _convert(lib, TANGENT)


def _scan(s: Side, g: Function) -> Function:
    def step(c: Any, row: Any) -> Any:
        c = g(c) * 0.5 + row
        return c, c * row

    return lambda x: s.lax.scan(step, x, x * s.w)[1].sum(0)


def _scan_back(s: Side, g: Function) -> Function:
    def step(c: Any, row: Any) -> Any:
        return {"m": g(c["m"]) * 0.3 + row, "n": c["n"] + 1}, None

    def f(x: Any) -> Any:
        last = s.lax.scan(step, {"m": x, "n": 0}, s.w * x[0], reverse=True)[0]
        return last["m"] * last["n"]

    return f


def _for(s: Side, g: Function) -> Function:
    return lambda x: s.lax.fori_loop(0, 2, lambda i, c: g(c) * 0.4 + x * i, x)


def _while(s: Side, g: Function) -> Function:
    def goes_on(c: Any) -> Any:
        return (c[0] < 3) & ((c[1] * c[1]).sum() < 50)

    return lambda x: s.lax.while_loop(goes_on, lambda c: (c[0] + 1, g(c[1]) * 0.7 + x), (0, x))[1]


def _cond(s: Side, g: Function) -> Function:
    return lambda x: s.lax.cond(x.sum() > 0, g, lambda x: _sin(x) * s.w, x)


def _switch(s: Side, g: Function) -> Function:
    branches = [lambda x: g(x) * 2, lambda x: x * x, lambda x: g(_sin(x))]
    return lambda x: s.lax.switch((x[0] > 0.2).sum(), branches, x)


def _map(s: Side, g: Function) -> Function:
    return lambda x: s.lax.map(lambda row: g(x * row).sum(1), x)


def _vmap(s: Side, g: Function) -> Function:
    return lambda x: s.lib.vmap(lambda row: g(x * row).sum(0))(x)


def _jit(s: Side, g: Function) -> Function:
    return s.lib.jit(g)


def _checkpoint(s: Side, g: Function) -> Function:
    return s.lib.checkpoint(g)


def _jvp_rule(s: Side, g: Function) -> Function:
    """A tangent that is twice that of g."""
    f = s.lib.custom_jvp(g)

    @f.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        return f(*primals), s.lib.jvp(g, primals, tangents)[1] * 2

    return f


def _jvp_formula(s: Side, g: Function) -> Function:
    """A tangent by a formula, which serves reverse mode where g has none."""
    f = s.lib.custom_jvp(lambda x, w: g(x) * w)
    f.defjvp(lambda xs, ts: (f(*xs), _cos(xs[0]) * ts[0] * xs[1] + f(*xs) * ts[1]))
    return lambda x: f(x, s.w)


def _vjp_rule(s: Side, g: Function) -> Function:
    """A gradient that is twice that of g."""
    f = s.lib.custom_vjp(g)
    # Calling f, not g, states that derivatives of all orders are by the rule: with g JAX would
    # differentiate g once the rule has been used, where ours is the rule's everywhere.
    f.defvjp(lambda x: (f(x), x), lambda x, ct: (s.lib.vjp(g, x)[1](ct)[0] * 2,))
    return f


def _vjp_formula(s: Side, g: Function) -> Function:
    f = s.lib.custom_vjp(lambda x, w: g(x) * w)

    def backward(rest: Any, ct: Any) -> Any:
        x, w = rest
        return _cos(x) * ct * w, ct * x

    f.defvjp(lambda x, w: (f(x, w), (x, w)), backward)
    return lambda x: f(x, s.w)


CONSTRUCTS = {
    "scan": _scan,
    "scan in reverse": _scan_back,
    "fori_loop": _for,
    "while_loop": _while,
    "cond": _cond,
    "switch": _switch,
    "map": _map,
    "vmap": _vmap,
    "jit": _jit,
    "checkpoint": _checkpoint,
    "custom_jvp": _jvp_rule,
    "custom_jvp by a formula": _jvp_formula,
    "custom_vjp": _vjp_rule,
    "custom_vjp by a formula": _vjp_formula,
}

LEAVES: dict[str, Any] = {
    "sin": lambda s: lambda x: _sin(x) + x * 0.1,
    "product": lambda s: lambda x: x @ s.w * 0.3,
    "quotient": lambda s: lambda x: x / (1 + (x * x).sum()),
    "power": lambda s: lambda x: x * x * s.v,
}

FORWARD = ["jvp", "jacfwd", "linearize", "vmap", "vmap along 1"]
REVERSE = ["vjp", "grad", "jacrev", "vmap", "vmap along 1"]


def _modes(names: list[str]) -> list[list[str]]:
    """Return the modes in which constructs, from the inside, have derivatives in JAX."""
    forward = reverse = True
    for name in names:
        if name == "while_loop":
            reverse = False
        elif name == "custom_vjp by a formula":
            forward, reverse = False, True
        elif name == "custom_jvp by a formula":
            forward = reverse = True
        elif name == "custom_vjp":
            forward = False
    return [FORWARD] * forward + [REVERSE] * reverse


def _programs(seed: int) -> Any:
    """Return a program: a leaf, three constructs from the inside, and three transformations."""
    r = random.Random(seed)
    while True:
        names = [r.choice(list(CONSTRUCTS)) for _ in range(3)]
        modes = _modes(names)
        if not modes or len(set(names)) == 1:
            continue
        if len(modes) == 2:
            transforms = [r.choice(FORWARD + REVERSE) for _ in range(3)]
        else:
            transforms = [r.choice(modes[0]) for _ in range(3)]
        # More than one that adds the axes of a matrix would give many elements.
        if sum(t.startswith("jac") for t in transforms) < 2:
            return r.choice(list(LEAVES)), names, transforms


def _result(lib: Any, leaf: str, names: list[str], transforms: list[str], x: np.ndarray) -> Any:
    side = Side(lib)
    f = LEAVES[leaf](side)
    for name in names:
        f = CONSTRUCTS[name](side, f)
    for t in transforms:
        f = TRANSFORMS[t](lib, f)
    y = (f if lib is func else jax.jit(f))(_convert(lib, x))
    return y.numpy() if lib is func else np.asarray(y)


PROGRAMS = 12


@pytest.mark.parametrize("seed", part(range(45), ONE_IN))
def test_nested_programs(seed: int) -> None:
    failed, counts = [], Counter[str]()
    for k in range(PROGRAMS):
        leaf, names, transforms = _programs(seed * PROGRAMS + k)
        x = np.random.default_rng(seed).uniform(-1, 1, (N, N))
        try:
            theirs = _result(jax, leaf, names, transforms, x)
        except (TypeError, ValueError, NotImplementedError):  # JAX has no such derivative
            counts["without"] += 1
            continue
        counts["compared"] += 1
        what = f"{transforms} of {names} of {leaf}"
        try:
            ours = _result(func, leaf, names, transforms, x)
            assert ours.shape == theirs.shape and ours.dtype == theirs.dtype
            scale = float(np.abs(theirs).max(initial=1))
            np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-8 * scale)
        except Exception as e:
            failed.append(f"{what}: {type(e).__name__} {str(e)[:300]}")
    assert not failed, "\n".join(failed)
    assert counts["compared"] > counts["without"]
