"""The oracle: numpy arrays that change as the tensors of a program do.

A view is an array of places in the memory of its root, so a write through one view shows in all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from cases.builder import rounded


class Reject(Exception):
    """A step has no one right answer."""


# Tensors have at most as many dimensions.
MOST_DIMS = 16


@dataclass(eq=False)
class Root:
    """A buffer, or a lazy value without one."""

    flat: np.ndarray
    computed: bool = False
    dtype: str = ""
    error: float = 0.0  # how far the elements of the tensor may be from these

    def __post_init__(self) -> None:
        self.dtype = self.dtype or self.flat.dtype.name


@dataclass
class Value:
    """A tensor: an array of places in its root.

    A step function (steps: some cast to integers or bool) has no finite differences to compare to:
    its gradient flows through the cast.
    """

    root: Root
    at: np.ndarray
    is_view: bool = False
    tracked: bool = False
    steps: bool = False

    @property
    def array(self) -> np.ndarray:
        return self.root.flat[self.at]


@dataclass
class State:
    """The variables of the oracle, and the results of the checks so far."""

    values: dict[str, Value] = field(default_factory=dict)
    expected: list[tuple[np.ndarray, float]] = field(default_factory=list)

    def fresh(
        self,
        name: str,
        array: Any,
        sources: list[Value],
        tracked: bool = False,
        dtype: str = "",
        error: float = 0.0,
    ) -> None:
        """Add a variable; numpy has no bfloat16, so float32 numbers hold it."""
        array = np.asarray(array)
        if array.ndim > MOST_DIMS:
            raise Reject
        if not dtype and array.dtype == np.float32:
            # The first operand that is not a condition says the type.
            dtype = next((v.root.dtype for v in sources if v.root.flat.dtype == np.float32), "")
        if dtype == "bfloat16" and not error and not same(rounded(array, dtype), array):
            raise Reject
        at = np.arange(array.size).reshape(array.shape)
        tracked = tracked or any(v.tracked for v in sources)
        steps = any(v.steps for v in sources) or (tracked and array.dtype.kind in "biu")
        root = Root(array.reshape(-1).copy(), dtype=dtype, error=error)
        self.values[name] = Value(root, at, tracked=tracked, steps=steps)

    def view(self, name: str, of: str, move: Callable[[np.ndarray], np.ndarray]) -> None:
        value = self.values[of]
        self.values[name] = Value(value.root, move(value.at), True, value.tracked, value.steps)

    def compute(self, names: tuple[str, ...]) -> None:
        """Give the variables buffers."""
        for name in names:
            value = self.values[name]
            if value.root.flat.dtype.kind != "f":
                value.tracked = False  # only floats keep their graph for gradients
            if not value.is_view:
                value.root.computed = True

    def write(self, name: str, at: np.ndarray, new: Any, source: str = "") -> None:
        root = self.values[name].root
        root.flat[at] = new
        root.error = max(root.error, self.values[source].root.error if source else 0)


@dataclass
class Step:
    """A line of the program, and its effect on the oracle."""

    line: str
    run: Callable[[State], None]


_exact = True


@contextmanager
def inexact() -> Iterator[None]:
    """Allow numbers that rounding or the order of arithmetic may change."""
    global _exact
    _exact = False
    try:
        yield
    finally:
        _exact = True


def held(array: np.ndarray) -> np.ndarray:
    """Return numbers that arithmetic in any order gives exactly; raise Reject otherwise."""
    if array.dtype.kind != "f" or not _exact:
        return array
    limit = 255 if array.dtype == np.float16 else 2.0**17
    finite = array[np.isfinite(array)]
    if np.any(np.abs(finite) > limit) or np.any(finite * 8 != np.round(finite * 8)):
        raise Reject
    return array


def same(a: np.ndarray, b: np.ndarray) -> bool:
    """Report whether the numbers are equal; NaN equals NaN."""
    return np.array_equal(a, b, equal_nan=a.dtype.kind == "f")


def exact(f: Callable[..., Any], *arrays: Any) -> np.ndarray:
    """Compute f; int32 and int64 must not overflow, floats stay exact."""
    for a in arrays:
        held(np.asarray(a))
    r = np.asarray(f(*arrays))
    if r.dtype.kind == "i" and r.dtype.itemsize >= 4:
        big = np.asarray(f(*[np.asarray(a).astype(object) for a in arrays]), dtype=object)
        if not np.array_equal(big, r.astype(object)):
            raise Reject
    if _exact and r.dtype in (
        np.float16,
        np.float32,
    ):  # large ones are multiples of 1/8 by rounding
        wide = f(*[np.asarray(a).astype(np.float64) for a in arrays])
        if not same(wide, r):
            raise Reject
    return held(r)


def converted(array: np.ndarray, dtype: str) -> np.ndarray:
    kind = np.dtype("float32" if dtype == "bfloat16" else dtype)
    if array.dtype.kind == "f" and dtype != "bool":
        if not np.all(np.isfinite(array)):
            if kind.kind != "f":
                raise Reject
        elif kind.kind in "iu":
            info = np.iinfo(kind)
            if array.size and (
                array.min() < float(info.min) or array.max() > min(float(info.max), 2.0**30)
            ):
                raise Reject
    r = array.astype(kind)
    rounds = kind.kind == "f" and array.dtype.kind != "b"
    narrow = rounded(r, dtype) if dtype == "bfloat16" else r.astype(np.float64)
    if rounds and not same(narrow, array.astype(np.float64)):
        raise Reject
    return r


def sum_type(dtype: np.dtype) -> np.dtype:
    if dtype.kind == "f" or dtype.itemsize > 4:
        return dtype
    return np.dtype("uint32" if dtype.kind == "u" else "int32")


def expectations(steps: list[Step]) -> list[tuple[np.ndarray, float]]:
    """Return the expected values of the checks of a program, and their errors."""
    state = State()
    with np.errstate(all="ignore"):
        for step in steps:
            step.run(state)
    return state.expected
