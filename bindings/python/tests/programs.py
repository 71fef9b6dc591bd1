"""Random programs of the public interface, with numpy as the oracle.

A program is a list of steps: a line of Python that works on Tensors named v0, v1, ..., and a
function that does the same to arrays. The arrays of views are kept as places in the array of
their root, so that what is written through one is seen through all. A step whose result has no
one answer (overflow of int32, a number that a type does not hold) raises Reject and is not part
of the program.

    python bindings/python/tests/programs.py 3000        # many programs, from seed 0
    python bindings/python/tests/programs.py 1 1234      # the program of seed 1234
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from polygrad import Tensor

UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
SIGNED = ("int8", "int16", "int32", "int64")
FLOATS = ("float16", "float32", "float64")
TYPES = ("bool", *UNSIGNED, *SIGNED, *FLOATS)
# Python's operators, and how an oracle computes them.
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


class Reject(Exception):
    """A step has no one right answer."""


@dataclass(eq=False)
class Root:
    """Memory, or a value that has none yet."""

    flat: np.ndarray
    computed: bool = False
    # The memory that it is computed from: a write there computes it.
    needs: frozenset[Root] = frozenset()


@dataclass
class Value:
    """What a tensor shows: places in the values of its root.

    The gradient of what is computed in steps, by a cast to integers, is not that of differences:
    it flows through the cast.
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
    """The variables of the oracle, and what it has found so far."""

    values: dict[str, Value] = field(default_factory=dict)
    expected: list[np.ndarray] = field(default_factory=list)

    def fresh(self, name: str, array: Any, sources: list[Value], tracked: bool = False) -> None:
        array = np.asarray(array)
        at = np.arange(array.size).reshape(array.shape)
        tracked = tracked or any(v.tracked for v in sources)
        steps = any(v.steps for v in sources) or (tracked and array.dtype.kind in "iu")
        needs = [{v.root} if v.root.computed else v.root.needs for v in sources]
        root = Root(array.reshape(-1).copy(), needs=frozenset().union(*needs))
        self.values[name] = Value(root, at, tracked=tracked, steps=steps)

    def view(self, name: str, of: str, move: Callable[[np.ndarray], np.ndarray]) -> None:
        value = self.values[of]
        self.values[name] = Value(value.root, move(value.at), True, value.tracked, value.steps)

    def compute(self, names: tuple[str, ...]) -> None:
        """Computed views of what has no memory get memory of their own."""
        before = [self.values[n].root.computed for n in names]
        for name, there in zip(names, before):
            value = self.values[name]
            if value.root.flat.dtype.kind != "f":
                value.tracked = False  # only floats remember how they were computed
            if there:
                continue
            if value.is_view:
                value.root, value.is_view = Root(value.array.reshape(-1)), False
                value.at = np.arange(value.at.size).reshape(value.at.shape)
            value.root.computed = True

    def write(self, name: str, at: np.ndarray, new: Any) -> None:
        root = self.values[name].root
        shown: dict[Root, list[str]] = {}
        for n, v in self.values.items():
            if not v.root.computed and v.root is not root and root in v.root.needs:
                shown.setdefault(v.root, []).append(n)
        for names in shown.values():
            if len(names) == 1:
                self.compute((names[0],))
            else:
                self.values[names[0]].root.computed = True
        root.flat[at] = new


@dataclass
class Step:
    line: str
    run: Callable[[State], None]


def held(array: np.ndarray) -> np.ndarray:
    """Return numbers that arithmetic in any order gives exactly; raise Reject otherwise."""
    if array.dtype.kind != "f":
        return array
    limit = 255 if array.dtype == np.float16 else 2.0**17
    if not np.all(np.abs(array) <= limit) or np.any(array * 8 != np.round(array * 8)):
        raise Reject
    return array


def exact(f: Callable[..., Any], *arrays: Any) -> np.ndarray:
    """Compute f; int32 and int64 must not overflow, floats stay exact."""
    for a in arrays:
        held(np.asarray(a))
    r = np.asarray(f(*arrays))
    if r.dtype.kind == "i" and r.dtype.itemsize >= 4:
        big = np.asarray(f(*[np.asarray(a).astype(object) for a in arrays]), dtype=object)
        if not np.array_equal(big, r.astype(object)):
            raise Reject
    return held(r)


def cast(array: np.ndarray, dtype: str) -> np.ndarray:
    if array.dtype.kind == "f" and dtype != "bool":
        if not np.all(np.isfinite(array)):
            if np.dtype(dtype).kind != "f":
                raise Reject
        elif np.dtype(dtype).kind in "iu":
            info = np.iinfo(dtype)
            if array.size and (
                array.min() < float(info.min) or array.max() > min(float(info.max), 2.0**30)
            ):
                raise Reject
    r = array.astype(dtype)
    rounds = np.dtype(dtype).kind == "f" and array.dtype.kind != "b"
    if rounds and not np.array_equal(r.astype(np.float64), array.astype(np.float64)):
        raise Reject
    return r


def sum_type(dtype: np.dtype) -> np.dtype:
    if dtype.kind == "f" or dtype.itemsize > 4:
        return dtype
    return np.dtype("uint32" if dtype.kind == "u" else "int32")


def literal(array: np.ndarray) -> str:
    return f"np.array({array.tolist()!r}, {array.dtype.name!r})".replace("inf", "np.inf")


def number(x: Any) -> str:
    """Return a number as text."""
    x = x.item() if isinstance(x, (np.generic, np.ndarray)) else x
    if isinstance(x, float) and np.isinf(x):
        return f'float("{x}")'
    return repr(x)


class Generator:
    """Makes the steps of one program."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.gradients = self.rng.random() < 0.15
        self.state = State()
        self.steps: list[Step] = []
        self.count = 0

    # What there is to choose from.

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
        """Return a number to pad with, which the library takes as a double."""
        k = self.constant(dtype, wild=True)
        if (abs(float(k)) > 2.0**53 and not np.isinf(k)) or (dtype == "bool" and k):
            raise Reject
        return k

    def pick(self, *kinds: str, least: int = 0, size: int = 1) -> str:
        """Return a variable of one of the types, with a least number of axes."""
        fits = [
            n
            for n, v in self.state.values.items()
            if (not kinds or v.root.flat.dtype.name in kinds)
            and v.at.ndim >= least
            and v.at.size >= size
        ]
        if not fits:
            raise Reject
        # What was made last is used most.
        return self.rng.choice(fits[-4:] if self.rng.random() < 0.5 else fits)

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
        """A new value, computed by f from the arrays of some variables."""
        name = f"v{self.count}"

        def run(state: State) -> None:
            values = [state.values[n] for n in names]
            r = f(*[v.array for v in values])
            if np.asarray(r).size > 64:
                raise Reject
            state.fresh(name, r, values)

        return Step(f"{name} = {text}", run)

    # The steps.

    def leaf(self) -> Step:
        shape = tuple(
            self.rng.choice((1, 2, 3, 3, 4)) for _ in range(self.rng.choice((0, 1, 1, 1, 2, 2, 3)))
        )
        tracked = self.gradients and not any(v.tracked for v in self.state.values.values())
        dtype = "float64" if tracked else self.rng.choice(TYPES)
        data = self.numbers(dtype, shape)
        if tracked:  # different values: maxima have one place
            data = np.array(self.rng.sample(range(-40, 40), data.size), dtype).reshape(shape) / 8
        name = f"v{self.count}"

        def run(state: State) -> None:
            state.fresh(name, data, [], tracked)
            state.values[name].root.computed = True

        more = ", requires_grad=True" if tracked else ""
        return Step(f"{name} = Tensor({literal(data)}{more})", run)

    def cast(self) -> Step:
        x = self.pick()
        to = self.rng.choice([t for t in TYPES if t != self.dtype(x)])
        return self.fresh(f"{x}.cast({to!r})", lambda a: cast(a, to), x)

    def unary(self) -> Step:
        x = self.pick(*SIGNED, *UNSIGNED, *FLOATS)
        options: dict[str, Callable[[Any], Any]] = {
            f"-{x}": lambda a: -a,
            f"{x}.relu()": lambda a: np.maximum(a, a.dtype.type(0)),
            f"{x} * {x}": lambda a: a * a,
        }
        if self.dtype(x) not in FLOATS:
            options[f"~{x}"] = lambda a: ~a
        if self.dtype(x) not in UNSIGNED:
            options[f"{x}.abs()"] = abs
        text = self.rng.choice(list(options))
        return self.fresh(text, lambda a: exact(options[text], a), x)

    def binary(self) -> Step:
        x = self.pick()
        y = self.same(x)
        kind = self.dtype(x)
        ops = dict(COMPARISONS)
        if kind not in FLOATS:
            ops |= BITS
        if kind != "bool":
            ops |= ARITHMETIC
        if kind not in (*FLOATS, "bool"):
            ops |= DIVISION
        op = self.rng.choice(list(ops))
        return self.fresh(f"{x} {op} {y}", lambda a, b: apply(op, ops[op], a, b), x, y)

    def with_number(self) -> Step:
        x = self.pick(*SIGNED, *UNSIGNED, *FLOATS)
        kind = self.dtype(x)
        ops = ARITHMETIC | COMPARISONS | (BITS | DIVISION if kind not in FLOATS else {})
        op = self.rng.choice(list(ops))
        k = self.constant(kind)
        return self.fresh(f"{x} {op} {number(k)}", lambda a: apply(op, ops[op], a, k), x)

    def shift(self) -> Step:
        x = self.pick(*SIGNED, *UNSIGNED)
        n = self.rng.randrange(8)
        if self.rng.random() < 0.5:
            return self.fresh(f"{x} << {n}", lambda a: exact(lambda b: b << n if n else b, a), x)
        return self.fresh(f"{x} >> {n}", lambda a: a >> a.dtype.type(n), x)

    def extreme(self) -> Step:
        x = self.pick()
        y = self.same(x)
        name, f = self.rng.choice([("maximum", np.maximum), ("minimum", np.minimum)])
        return self.fresh(f"{x}.{name}({y})", f, x, y)

    def clip(self) -> Step:
        x = self.pick(*SIGNED, *UNSIGNED, *FLOATS)
        lo, hi = sorted((self.filling(self.dtype(x)), self.filling(self.dtype(x))))
        return self.fresh(f"{x}.clip({number(lo)}, {number(hi)})", lambda a: np.clip(a, lo, hi), x)

    def where(self) -> Step:
        m, x = self.pick("bool"), self.pick()
        y = self.same(x)
        small(np.broadcast_shapes(self.array(m).shape, self.array(x).shape, self.array(y).shape))
        return self.fresh(f"{m}.where({x}, {y})", np.where, m, x, y)

    def pad(self) -> Step:
        x = self.pick(least=1)
        widths = tuple((self.rng.randrange(3), self.rng.randrange(3)) for _ in self.array(x).shape)
        if not any(map(sum, widths)):
            raise Reject
        k = self.filling(self.dtype(x))
        return self.fresh(
            f"{x}.pad({widths}, value={number(k)})",
            lambda a: np.pad(a, widths, constant_values=k),
            x,
        )

    def cast_pad(self) -> Step:
        x = self.pick(least=1)
        to = self.rng.choice([t for t in TYPES if t != self.dtype(x)])
        k = self.filling(to)
        widths = tuple(
            (self.rng.randrange(1, 3), self.rng.randrange(3)) for _ in self.array(x).shape
        )
        text = f"{x}.cast({to!r}).pad({widths}, value={number(k)})"
        return self.fresh(text, lambda a: np.pad(cast(a, to), widths, constant_values=k), x)

    def mask(self) -> Step:
        x, m = self.pick(), self.pick("bool")
        small(np.broadcast_shapes(self.array(m).shape, self.array(x).shape))
        to = self.rng.choice([t for t in TYPES if t != self.dtype(x)])
        k = self.constant(to, wild=True)
        text = f"{m}.where({x}.cast({to!r}), Tensor({number(k)}, dtype={to!r}))"
        return self.fresh(text, lambda b, a: np.where(b, cast(a, to), k), m, x)

    def view(self) -> Step:
        x = self.pick()
        shape = self.array(x).shape
        rng, name = self.rng, f"v{self.count}"
        kind = rng.choice(("reshape", "permute", "flip", "slice", "slice", "new", "detach"))
        if kind == "reshape":
            n = self.array(x).size
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
        elif kind == "detach" and not self.state.values[x].tracked:
            text, f = f"{x}.detach()", lambda a: a
        elif kind == "new":
            text, f = f"{x}[None, ..., None]", lambda a: a[None, ..., None]
        else:
            items, written = self.items(shape)
            text, f = f"{x}[{written}]", lambda a: a[items]
        return Step(f"{name} = {text}", lambda state: state.view(name, x, f))

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

    def moved(self) -> Step:
        x = self.pick(least=1)
        y = self.same(x)
        axis = self.rng.randrange(self.array(x).ndim)
        if self.rng.random() < 0.3:
            n = self.rng.randrange(-2, 3)
            return self.fresh(f"{x}.roll({n}, {axis})", lambda a: np.roll(a, n, axis), x)
        if self.rng.random() < 0.5:
            shape = (2, *self.array(x).shape)
            small(shape)
            return self.fresh(f"{x}.expand{shape}", lambda a: np.broadcast_to(a, shape), x)
        if self.array(x).shape != self.array(y).shape:
            raise Reject
        return self.fresh(
            f"{x}.cat({y}, dim={axis})", lambda a, b: np.concatenate([a, b], axis), x, y
        )

    def reduce(self) -> Step:
        x = self.pick(least=1)
        kind = self.dtype(x)
        shape = self.array(x).shape
        axis = self.rng.choice([None, *range(len(shape))])
        keep = self.rng.random() < 0.3
        text = f"axis={axis}, keepdim={keep}"
        name = self.rng.choice(
            ("sum", "sum", "max", "min", "any", "all", "argmax", "argmin", "cumsum", "prod", "sort")
        )
        if name == "sum":

            def total(a: np.ndarray) -> np.ndarray:
                wide = a.astype(sum_type(a.dtype))
                return exact(lambda b: b.sum(axis=axis, keepdims=keep, dtype=b.dtype), wide)

            return self.fresh(f"{x}.sum({text})", total, x)
        if name in ("max", "min", "any", "all"):
            f = getattr(np, name)
            return self.fresh(f"{x}.{name}({text})", lambda a: f(a, axis=axis, keepdims=keep), x)
        if name in ("argmax", "argmin"):
            f = getattr(np, name)
            return self.fresh(
                f"{x}.{name}({text})", lambda a: np.int32(f(a, axis=axis, keepdims=keep)), x
            )
        axis = axis or 0
        if name == "cumsum":

            def running(a: np.ndarray) -> np.ndarray:
                wide = a.astype(sum_type(a.dtype))
                return exact(lambda b: b.cumsum(axis=axis, dtype=b.dtype), wide)

            return self.fresh(f"{x}.cumsum({axis})", running, x)
        if kind == "bool":
            raise Reject
        if name == "prod":
            return self.fresh(
                f"{x}.prod(axis={axis})",
                lambda a: exact(lambda b: b.prod(axis=axis, dtype=b.dtype), a),
                x,
            )
        return self.fresh(f"{x}.sort({axis})[0]", lambda a: np.sort(a, axis), x)

    def index(self, n: int) -> tuple[str, str, Callable[[np.ndarray], np.ndarray]]:
        """Return a variable, an index below n made of it, and how to compute that."""
        y = self.pick()
        kind = self.dtype(y)
        to = self.rng.choice(("int8", "uint8", "int32", "int32", "int64"))
        if kind == "bool" and n > 1:
            text = self.rng.choice((f"{y}.cast({to!r})", f"({y}.cast({to!r}) + 0)"))
            return y, text, lambda a: a.astype(int)
        if kind == "bool":
            raise Reject
        k = self.constant(kind)
        if n > 1 and self.rng.random() < 0.5:
            op = self.rng.choice(list(COMPARISONS))
            return (
                y,
                f"({y} {op} {number(k)}).cast({to!r})",
                lambda a: COMPARISONS[op](a, k).astype(int),
            )
        if kind in FLOATS:
            raise Reject
        return y, f"({y} % {n}).cast({to!r})", lambda a: (a % a.dtype.type(n)).astype(int)

    def take(self) -> Step:
        x = self.pick(least=1)
        n = self.array(x).shape[0]
        y, text, f = self.index(n)
        return self.fresh(f"{x}[{text}]", lambda a, b: a[f(b)], x, y)

    def gather(self) -> Step:
        x = self.pick(least=1)
        shape = self.array(x).shape
        axis = self.rng.randrange(len(shape))
        y, text, f = self.index(shape[axis])
        at = self.array(y).shape
        if len(at) != len(shape) or any(
            a > s for i, (a, s) in enumerate(zip(at, shape)) if i != axis
        ):
            raise Reject

        def taken(a: np.ndarray, b: np.ndarray) -> np.ndarray:
            cut = a[tuple(slice(None) if i == axis else slice(s) for i, s in enumerate(at))]
            return np.take_along_axis(cut, f(b), axis)

        return self.fresh(f"{x}.gather({axis}, {text})", taken, x, y)

    def scatter(self) -> Step:
        x = self.pick(*SIGNED, *UNSIGNED, *FLOATS, least=1)
        if self.array(x).ndim != 1:
            raise Reject
        y, text, f = self.index(self.array(x).shape[0])
        if self.array(y).ndim != 1:
            raise Reject
        k = self.constant(self.dtype(x))
        if self.rng.random() < 0.4:

            def put(a: np.ndarray, b: np.ndarray) -> np.ndarray:
                a = a.copy()
                a[f(b)] = k
                return a

            return self.fresh(f"{x}.scatter(0, {text}, {number(k)})", put, x, y)
        z = self.same(x)
        if self.array(z).ndim != 1 or self.array(z).size < self.array(y).size:
            raise Reject
        how, ufunc = self.rng.choice([("sum", np.add), ("amax", np.maximum), ("amin", np.minimum)])

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

        return self.fresh(f"{x}.scatter_reduce(0, {text}, {z}, {how!r})", join, x, y, z)

    def product(self) -> Step:
        x, y = self.pick("float32", "float64", least=2), self.pick("float32", "float64", least=2)
        a, b = self.array(x), self.array(y)
        if a.dtype != b.dtype or a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[0]:
            raise Reject
        return self.fresh(f"{x} @ {y}", lambda a, b: exact(np.matmul, a, b), x, y)

    def contiguous(self) -> Step:
        x = self.pick()
        return self.fresh(f"{x}.contiguous()", lambda a: a, x)

    def written(self) -> str:
        x = self.pick()
        if self.gradients:
            raise Reject
        return x

    def set_items(self) -> Step:
        x = self.written()
        value = self.state.values[x]
        if not value.at.ndim:
            raise Reject
        items, text = self.items(value.at.shape)
        k = self.constant(self.dtype(x), wild=True)
        fits = [
            n
            for n, v in self.state.values.items()
            if v.root.flat.dtype == value.root.flat.dtype and v.at.shape == value.at[items].shape
        ]
        y = self.rng.choice(fits) if fits and self.rng.random() < 0.6 else ""

        def run(state: State) -> None:
            new = state.values[y].array if y else k
            state.write(x, state.values[x].at[items], new)
            state.values[x].root.computed = True
            if y:
                state.compute((y,))

        return Step(f"{x}[{text}] = {y or number(k)}", run)

    def set_mask(self) -> Step:
        x = self.written()
        shape = self.array(x).shape
        fits = [
            n
            for n, v in self.state.values.items()
            if v.root.flat.dtype == bool and v.at.shape == shape != ()
        ]
        if not fits:
            raise Reject
        m = self.rng.choice(fits)
        k = self.constant(self.dtype(x))

        def run(state: State) -> None:
            state.values[x].root.computed = True
            state.compute((m,))
            state.write(x, state.values[x].at[state.values[m].array], k)

        return Step(f"{x}[{m}] = {number(k)}", run)

    def assign(self) -> Step:
        x = self.written()
        shape = self.array(x).shape
        y = self.same(x)
        if self.array(y).shape != shape:
            raise Reject
        if self.rng.random() < 0.5 and self.dtype(x) != "bool":
            op = self.rng.choice(list(ARITHMETIC))

            def change(state: State) -> None:
                new = exact(ARITHMETIC[op], state.values[x].array, state.values[y].array)
                state.write(x, state.values[x].at, new)

            return Step(f"{x} {op}= {y}", change)

        def run(state: State) -> None:
            state.write(x, state.values[x].at, state.values[y].array)
            state.values[x].root.computed = True

        return Step(
            f"{x}.assign({y} + 0)" if self.dtype(x) != "bool" else f"{x}.assign({y} | False)", run
        )

    def realize(self) -> Step:
        names = tuple(dict.fromkeys(self.pick() for _ in range(self.rng.choice((1, 2, 3, 4)))))
        return Step(f"Tensor.realize({', '.join(names)})", lambda state: state.compute(names))

    def check(self, name: str = "") -> Step:
        x = name or self.pick()

        def run(state: State) -> None:
            state.compute((x,))
            state.expected.append(state.values[x].array.copy())

        return Step(f"check({x})", run)

    def gradient(self) -> list[Step]:
        """The gradient of the sum of a value, by differences of what the oracle computes."""
        leaf = next((n for n, v in self.state.values.items() if v.tracked), "")
        ends = [
            n
            for n, v in self.state.values.items()
            if v.tracked and not v.steps and n != leaf and self.dtype(n) == "float64"
        ]
        if not ends:
            return []
        end = ends[-1]
        before = list(self.steps)

        def run(state: State) -> None:
            data = state.values[leaf].array
            slopes = np.zeros(data.size)
            base = self.replayed(before, leaf, data, end)
            if not abs(base) < 2.0**36:
                raise Reject  # differences are lost
            for i in range(data.size):
                sides = []
                for h in (2.0**-12, -(2.0**-12)):
                    moved = data.copy().reshape(-1)
                    moved[i] += h
                    sides.append(
                        (self.replayed(before, leaf, moved.reshape(data.shape), end) - base) / h
                    )
                if not abs(sides[0] - sides[1]) <= 0.02 * (1 + abs(sides[0])):
                    raise Reject  # at an edge
                slopes[i] = sum(sides) / 2
            state.expected.append(slopes.reshape(data.shape))

        return [
            Step(f"{end}.sum().backward()", lambda state: None),
            Step(f"check_gradient({leaf})", run),
        ]

    @staticmethod
    def replayed(steps: list[Step], leaf: str, data: np.ndarray, end: str) -> float:
        global held
        state = State()
        kept, held = held, lambda array: array
        try:
            for step in steps:
                step.run(state)
                if step.line.startswith(f"{leaf} = "):
                    state.values[leaf].root.flat = data.reshape(-1).copy()
            return float(state.values[end].array.sum())
        finally:
            held = kept

    KINDS = (
        *(
            "leaf",
            "cast",
            "unary",
            "binary",
            "binary",
            "with_number",
            "with_number",
            "shift",
            "extreme",
            "clip",
        ),
        *(
            "where",
            "pad",
            "cast_pad",
            "mask",
            "view",
            "view",
            "view",
            "moved",
            "reduce",
            "reduce",
            "take",
            "gather",
        ),
        *(
            "scatter",
            "product",
            "contiguous",
            "set_items",
            "set_items",
            "set_mask",
            "assign",
            "assign",
            "realize",
        ),
        *("realize", "check", "check"),
    )

    def make(self) -> list[Step]:
        for _ in range(self.rng.choice((2, 3))):
            self.add(self.leaf())
        for _ in range(self.rng.randint(5, 25)):
            for _ in range(20):
                try:
                    self.add(getattr(self, self.rng.choice(self.KINDS))())
                    break
                except (Reject, IndexError, ValueError):
                    continue
        try:
            for step in self.gradient() if self.gradients else ():
                self.add(step)
        except Reject:
            self.steps.pop()
        names = list(self.state.values)
        self.rng.shuffle(names)
        if self.rng.random() < 0.5:
            some = tuple(names[:5])
            self.add(Step(f"Tensor.realize({', '.join(some)})", lambda state: state.compute(some)))
        for name in names:
            self.add(self.check(name))
        return self.steps

    def add(self, step: Step) -> None:
        with np.errstate(all="ignore"):
            step.run(self.state)
        self.steps.append(step)
        self.count += 1


def small(shape: tuple[int, ...]) -> None:
    if int(np.prod(shape)) > 64 or len(shape) > 3:
        raise Reject


def apply(op: str, f: Callable[[Any, Any], Any], a: Any, b: Any) -> np.ndarray:
    if op in DIVISION:
        if np.any(b == 0) or (np.asarray(a).dtype.kind == "i" and np.any(b == -1)):
            raise Reject
        return np.asarray(f(a, b))
    return exact(f, a, b) if op in ARITHMETIC else f(a, b)


def expectations(steps: list[Step]) -> list[np.ndarray]:
    """Return what the checks of a program should find."""
    state = State()
    with np.errstate(all="ignore"):
        for step in steps:
            step.run(state)
    return state.expected


def problem(steps: list[Step]) -> str:
    """Run a program and tell what is wrong with it, or nothing."""
    expected = iter(expectations(steps))

    def check(tensor: Tensor) -> None:
        want = next(expected)
        got = tensor.numpy()
        assert got.dtype == want.dtype, f"is {got.dtype}, expected {want.dtype}"
        np.testing.assert_array_equal(got, want)

    def check_gradient(tensor: Tensor) -> None:
        assert tensor.grad is not None
        np.testing.assert_allclose(tensor.grad.numpy(), next(expected), rtol=1e-2, atol=1e-2)

    scope: dict[str, Any] = {
        "np": np,
        "Tensor": Tensor,
        "check": check,
        "check_gradient": check_gradient,
    }
    for step in steps:
        try:
            exec(step.line, scope)
        except Exception as error:
            return f"{step.line}: {type(error).__name__}: {error}"
    return ""


def shrunk(steps: list[Step]) -> list[Step]:
    """Leave out what a failing program does not need to fail."""
    size = max(1, len(steps) // 2)
    while size:
        for i in range(len(steps) - size, -1, -size):  # what depends on others first
            fewer = steps[:i] + steps[i + size :]
            try:
                found = problem(fewer)
            except (KeyError, Reject, IndexError, ValueError):
                continue
            if found and "NameError" not in found:
                steps = fewer
        size //= 2
    return steps


def text(steps: list[Step]) -> str:
    """Return a program that runs alone."""
    expected = iter(expectations(steps))
    lines = ["import numpy as np", "from polygrad import Tensor"]
    for step in steps:
        line = step.line
        if line.startswith("check("):
            line = f"np.testing.assert_array_equal({line[6:-1]}.numpy(), {literal(next(expected))})"
        elif line.startswith("check_gradient("):
            line = f"print({line[15:-1]}.grad.numpy(), {literal(next(expected))})"
        lines.append(line)
    return "\n".join(lines)


def failure(seed: int) -> str:
    """Return what is wrong with the program of a seed, made short; or nothing."""
    steps = Generator(seed).make()
    if not problem(steps):
        return ""
    steps = shrunk(steps)
    return f"seed {seed}: {problem(steps)}\n{text(steps)}\n"


def main() -> None:
    number_of, first = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    failed = 0
    for seed in range(first, first + number_of):
        found = failure(seed)
        if found:
            failed += 1
            print(found, flush=True)
    print(f"{failed} of {number_of} programs failed")


if __name__ == "__main__":
    main()
