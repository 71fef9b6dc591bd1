"""Random choices: numbers, indices, and variables of the program so far."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np

from programs.oracle import Reject, State, Step, inexact

NOT_FINITE = (float("nan"), float("inf"), float("-inf"))
EPSILON = {"bfloat16": 2.0**-8, "float16": 2.0**-11, "float32": 2.0**-24, "float64": 2.0**-53}
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
SIGNED = ("int8", "int16", "int32", "int64")
FLOATS = ("bfloat16", "float16", "float32", "float64")
TYPES = ("bool", *UNSIGNED, *SIGNED, *FLOATS)


class Choices:
    """The program so far, and what a new step can be made of."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.gradients = self.rng.random() < 0.15
        self.state = State()
        self.steps: list[Step] = []

    def numbers(self, dtype: str, shape: tuple[int, ...]) -> np.ndarray:
        """Return an array; some have NaN and infinities."""
        rng, n = self.rng, int(np.prod(shape))
        if dtype == "bool":
            data: list[Any] = [rng.random() < 0.5 for _ in range(n)]
        elif dtype in FLOATS:
            odd = rng.choice((0, 0, 0, 0, 0, 0.3)) if not self.gradients else 0
            data = [
                rng.choice(NOT_FINITE) if rng.random() < odd else rng.randint(-24, 24) / 8
                for _ in range(n)
            ]
        else:
            info = np.iinfo(dtype)
            ends = [info.max, info.max - 1, info.min, info.min + 1]
            narrow = dtype in UNSIGNED or info.bits < 32
            data = [
                rng.choice(ends)
                if narrow and rng.random() < 0.15
                else rng.randint(-9 if info.min else 0, 9)
                for _ in range(n)
            ]
        return np.array(data, "float32" if dtype == "bfloat16" else dtype).reshape(shape)

    def constant(self, dtype: str, wild: bool = False) -> Any:
        rng = self.rng
        if dtype == "bool":
            return np.bool_(rng.random() < 0.5)
        if dtype in FLOATS:
            odd = [float("inf"), float("-inf"), 256.0]
            odd += [255.5, 60000.0] if dtype != "bfloat16" else []
            odd += [1e6, 2.0**24 - 1, -300.0] if dtype in ("float32", "float64") else []
            odd += [0.1, 2.0**40 + 1] if dtype == "float64" else []
            return np.dtype("float32" if dtype == "bfloat16" else dtype).type(
                rng.choice(odd) if wild and rng.random() < 0.4 else rng.randint(-16, 16) / 8
            )
        info = np.iinfo(dtype)
        if rng.random() < 0.3 and (wild or info.bits < 32 or dtype in UNSIGNED):
            return np.dtype(dtype).type(
                rng.choice([info.max, info.min, info.max - 2, info.max // 2 + 1])
            )
        return np.dtype(dtype).type(rng.randint(-5 if info.min else 0, 9))

    def filling(self, dtype: str) -> Any:
        """Return a number to pad with; the library takes it as a double."""
        k = self.constant(dtype, wild=True)
        if (abs(float(k)) > 2.0**53 and not np.isinf(k)) or (dtype == "bool" and k):
            raise Reject
        return k

    def pick(self, *kinds: str, least: int = 0, size: int = 0, near: bool = False) -> str:
        """Return a variable of one of the types, with at least so many axes and elements.

        Those that numpy only finds nearly are for steps that keep them so: near.
        """
        fits = [
            n
            for n, v in self.state.values.items()
            if (not kinds or v.root.dtype in kinds)
            and (near or not v.root.error)
            and v.at.ndim >= least
            and v.at.size >= size
        ]
        if not fits:
            raise Reject
        # The newest variables are used most.
        return self.rng.choice(fits[-4:] if self.rng.random() < 0.5 else fits)

    @property
    def name(self) -> str:
        """The name of the variable that the next step makes."""
        return f"v{len(self.steps)}"

    def array(self, name: str) -> np.ndarray:
        return self.state.values[name].array

    def dtype(self, name: str) -> str:
        return self.state.values[name].root.dtype

    def kinked(self, name: str, at: Any) -> None:
        """Leave a step out whose gradient would be at an edge, which differences cannot see."""
        if self.state.values[name].tracked and np.any(at):
            raise Reject

    def same(self, name: str, near: bool = False) -> str:
        """Return a variable of the type of another one that broadcasts with it."""
        mine, dtype = self.array(name), self.dtype(name)
        fits = []
        for n, v in self.state.values.items():
            try:
                shape = np.broadcast_shapes(v.at.shape, mine.shape)
            except ValueError:
                continue
            if v.root.error and not near:
                continue
            if v.root.dtype == dtype and int(np.prod(shape)) <= 64 and len(shape) <= 3:
                fits.append(n)
        return self.rng.choice(fits)

    def fresh(
        self,
        text: str,
        f: Callable[..., Any],
        *names: str,
        dtype: str = "",
        error: float = 0.0,
        grows: float = 1.0,
    ) -> Step:
        """A new variable, computed by f from the arrays of others.

        error is that of f, of its greatest value; those of the others count grows times.
        """
        name = self.name

        def run(state: State) -> None:
            values = [state.values[n] for n in names]
            off = grows * sum(v.root.error for v in values)
            with inexact() if off else nullcontext():
                r = np.asarray(f(*[v.array for v in values]))
            if r.size > 64:
                raise Reject
            if off or error:
                unit = max(EPSILON.get(v.root.dtype, 0) for v in values)
                off += (error or 2 * unit) * greatest(r)
            state.fresh(name, r, values, dtype=dtype, error=off)

        return Step(f"{name} = {text}", run)

    def items(self, shape: tuple[int, ...]) -> tuple[tuple[Any, ...], str]:
        """Return an index of numbers and slices, and its text."""
        items: list[Any] = []
        written = []
        for n in shape[: self.rng.randint(1, len(shape))]:
            if n == 0:
                items.append(slice(None))
                written.append(":")
                continue
            if self.rng.random() < 0.3:
                i = self.rng.randrange(-n, n)
                items.append(i)
                written.append(str(i))
                continue
            lo = self.rng.randrange(n)
            hi = self.rng.randint(lo + 1, n)
            step = self.rng.choice((1, 1, 2))
            items.append(slice(lo, hi, step))
            written.append(f"{lo}:{hi}:{step}")
        return tuple(items), ", ".join(written)

    def target(self) -> str:
        """Return a variable to write to; gradients would flow through the write."""
        x = self.pick(near=True)
        if self.gradients:
            raise Reject
        return x


def greatest(array: np.ndarray) -> float:
    """Return the greatest magnitude, 1 at least; raise Reject where rounding may overflow."""
    finite = np.abs(array[np.isfinite(array)], dtype=np.float64)
    if np.any(finite > 2.0**15):
        raise Reject
    return float(finite.max(initial=1))


def small(shape: tuple[int, ...]) -> None:
    if int(np.prod(shape)) > 64 or len(shape) > 3:
        raise Reject
