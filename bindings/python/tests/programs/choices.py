"""Random choices: numbers, indices, and variables of the program so far."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

from programs.oracle import Reject, State, Step

UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
SIGNED = ("int8", "int16", "int32", "int64")
FLOATS = ("float16", "float32", "float64")
TYPES = ("bool", *UNSIGNED, *SIGNED, *FLOATS)


class Choices:
    """The program so far, and what a new step can be made of."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.gradients = self.rng.random() < 0.15
        self.state = State()
        self.steps: list[Step] = []

    def numbers(self, dtype: str, shape: tuple[int, ...]) -> np.ndarray:
        rng, n = self.rng, int(np.prod(shape))
        if dtype == "bool":
            data: list[Any] = [rng.random() < 0.5 for _ in range(n)]
        elif dtype in FLOATS:
            data = [rng.randint(-24, 24) / 8 for _ in range(n)]
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
        return np.array(data, dtype).reshape(shape)

    def constant(self, dtype: str, wild: bool = False) -> Any:
        rng = self.rng
        if dtype == "bool":
            return np.bool_(rng.random() < 0.5)
        if dtype in FLOATS:
            odd = [float("inf"), float("-inf"), 255.5, 60000.0]
            odd += [1e6, 2.0**24 - 1, -300.0] if dtype != "float16" else []
            odd += [0.1, 2.0**40 + 1] if dtype == "float64" else []
            return np.dtype(dtype).type(
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

    def pick(self, *kinds: str, least: int = 0, size: int = 1) -> str:
        """Return a variable of one of the types, with at least so many axes and elements."""
        fits = [
            n
            for n, v in self.state.values.items()
            if (not kinds or v.root.flat.dtype.name in kinds)
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
        return self.state.values[name].root.flat.dtype.name

    def same(self, name: str) -> str:
        """Return a variable of the type of another one that broadcasts with it."""
        mine = self.array(name)
        fits = []
        for n, v in self.state.values.items():
            try:
                shape = np.broadcast_shapes(v.at.shape, mine.shape)
            except ValueError:
                continue
            if v.root.flat.dtype == mine.dtype and int(np.prod(shape)) <= 64 and len(shape) <= 3:
                fits.append(n)
        return self.rng.choice(fits)

    def fresh(self, text: str, f: Callable[..., Any], *names: str) -> Step:
        """A new variable, computed by f from the arrays of others."""
        name = self.name

        def run(state: State) -> None:
            values = [state.values[n] for n in names]
            r = f(*[v.array for v in values])
            if np.asarray(r).size > 64:
                raise Reject
            state.fresh(name, r, values)

        return Step(f"{name} = {text}", run)

    def items(self, shape: tuple[int, ...]) -> tuple[tuple[Any, ...], str]:
        """Return an index of numbers and slices, and its text."""
        items: list[Any] = []
        written = []
        for n in shape[: self.rng.randint(1, len(shape))]:
            if n == 0:
                raise Reject
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
        x = self.pick()
        if self.gradients:
            raise Reject
        return x


def small(shape: tuple[int, ...]) -> None:
    if int(np.prod(shape)) > 64 or len(shape) > 3:
        raise Reject
