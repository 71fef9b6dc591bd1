"""Functions that are compiled once for each signature of the arguments: see jit."""

from __future__ import annotations

import functools
import inspect
import threading
from typing import Any, NamedTuple

import numpy as np

from polygrad._base import describe
from polygrad._library import ArgumentError
from polygrad._trace import Function as Program
from polygrad._trace import active, expressed
from polygrad.func._traced import Function, Traced, need_function, numbers_of
from polygrad.func._trees import Structure, flatten
from polygrad.tensor import Tensor


class CacheInfo(NamedTuple):
    """Hits and misses of the cache of compiled programs, and the number of programs."""

    hits: int
    misses: int
    size: int


class _Call:
    """The arguments of a call: tensors, and the key by which its program is found."""

    def __init__(self, of: jit, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        static, names = of._static(args)
        fixed: list[Any] = [len(args)]
        trees: list[Any] = []
        for name, value in [*enumerate(args), *sorted(kwargs.items())]:
            if name in static or name in names:
                fixed.append((name, type(value), value))
            else:
                trees.append(value)
        leaves, self.structure = flatten((trees, sorted(kwargs)))
        self.args, self.kwargs, self.fixed, self.trees = args, kwargs, static | names, trees
        self.tensors: list[Tensor] = []
        self.places: list[int] = []
        places: dict[int, int] = {}
        kinds: list[Any] = []
        for leaf in leaves:
            if isinstance(leaf, (bool, int, float, np.ndarray, np.generic)):
                leaf = Tensor(leaf)
            if not isinstance(leaf, Tensor):
                kinds.append(leaf)  # the names of arguments; other objects must be hashable
                self.places.append(-1)
                continue
            at = places.setdefault(id(leaf), len(self.tensors))
            if at == len(self.tensors):
                self.tensors.append(leaf)
                kinds.append(describe(leaf))
            else:
                kinds.append(at)
            self.places.append(at)
        self.leaves = leaves
        self.key = (tuple(fixed), self.structure, tuple(kinds))
        try:
            hash(self.key)
        except TypeError as e:
            raise ArgumentError(
                f"jit: {e}: what is no tensor or number must be hashable; see static_argnums"
            ) from None

    def call(self, f: Function) -> Any:
        """Call a function on the arguments, with numbers and arrays replaced by their tensors."""
        now = [self.tensors[p] if p >= 0 else x for p, x in zip(self.places, self.leaves)]
        rest = iter(self.structure.build(now)[0])
        names = sorted(self.kwargs)
        args = [a if i in self.fixed else next(rest) for i, a in enumerate(self.args)]
        return f(*args, **{n: self.kwargs[n] if n in self.fixed else next(rest) for n in names})

    def donated(self, of: jit) -> list[Tensor]:
        """Return the tensors whose memory results may overwrite."""
        wanted = (
            numbers_of("jit", of._donated, len(self.args), "donate_argnums") if self.args else []
        )
        trees = [self.args[i] for i in wanted]
        trees += [self.kwargs[n] for n in of._donated_names if n in self.kwargs]
        own = {id(t) for t in flatten(trees)[0]}
        return [t for t in self.tensors if id(t) in own]


class Compiled:
    """A function that is compiled for one signature of the arguments."""

    def __init__(self, of: jit, call: _Call) -> None:
        self._of, self._key = of, call.key
        donated = call.donated(of)
        out: list[Structure] = []

        def trace() -> tuple[list[int], list[Tensor]]:
            leaves, structure = flatten(call.call(of._f))
            out.append(structure)
            made: list[Tensor] = []
            places: list[int] = []
            at = {id(t): i for i, t in enumerate(call.tensors)}
            free = list(donated)
            for leaf in leaves:
                if isinstance(leaf, (bool, int, float, np.ndarray, np.generic)):
                    leaf = Tensor(leaf)
                if not isinstance(leaf, Tensor):
                    raise ArgumentError(f"jit: the function returns {leaf!r}, expected tensors")
                if id(leaf) in at:
                    places.append(-1 - at[id(leaf)])
                    continue
                kind = describe(leaf)
                places.append(len(made))
                made.append(leaf)
                fit = next((t for t in free if describe(t) == kind), None)
                if fit is not None:
                    free = [t for t in free if t is not fit]
                    writes.append((fit, len(made) - 1))
            for target, k in writes:
                target.assign(made[k])
            taken = {k: at[id(t)] for t, k in writes}
            kept = [k for k in range(len(made)) if k not in taken]
            place = {k: i for i, k in enumerate(kept)}
            places = [-1 - taken[p] if p in taken else place[p] if p >= 0 else p for p in places]
            # A program needs a result of its own, also if all results are arguments.
            return places, [made[k] for k in kept] or [Tensor(0)]

        writes: list[tuple[Tensor, int]] = []
        self._program = Program("jit", trace, call.tensors, 0)
        self._same = self._program.same
        self._out = out[0]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the program on arguments like those it was compiled for."""
        call = _Call(self._of, args, kwargs)
        if call.key != self._key:
            raise ArgumentError(
                f"jit: compiled for {self._key!r}, called with {call.key!r}: call the function of "
                "jit, which compiles it for each kind of arguments"
            )
        return self._run(call)

    def _run(self, call: _Call) -> Any:
        made = self._program.run(Tensor, call.tensors, None, 0)
        made = [new if same is None else same for new, same in zip(made, self._same)]
        places = self._program.result
        return self._out.build([made[p] if p >= 0 else call.tensors[-1 - p] for p in places])

    @property
    def n_kernels(self) -> int:
        """The number of kernels that a run launches."""
        return self._program.counts()[0]


class Lowered:
    """A function that is traced for one signature of the arguments."""

    def __init__(self, of: jit, call: _Call) -> None:
        self._of, self._call = of, call

    def as_text(self) -> str:
        """Return the function as text: see make_jaxpr."""
        call = self._call
        return str(
            Traced(
                "jit", lambda *stand: _with(call, stand, self._of._f), tuple(call.tensors), {}
            ).expr
        )

    def compile(self) -> Compiled:
        """Compile the function, or return the program already compiled for such arguments."""
        return self._of._compiled(self._call)


def _with(call: _Call, tensors: tuple[Tensor, ...], f: Function) -> Any:
    before, call.tensors = call.tensors, list(tensors)
    try:
        return call.call(f)
    finally:
        call.tensors = before


class jit:
    """A function that is compiled once for each signature of its arguments, and then only run.

    A signature is the tree of the arguments, the shapes and types of its tensors, and the
    values of the arguments static_argnums and static_argnames, which may be any hashable objects.
    Numbers and arrays count as tensors. Results overwrite donated arguments of their shape and
    type: the donated tensor then is that result. Transformations trace the original function.

    >>> from polygrad.func import grad, jit
    >>> slope = jit(grad(lambda x, n: x**n), static_argnums=1)
    >>> slope(2.0, 3).item(), slope(3.0, 3).item(), slope(3.0, 2).item()
    (12.0, 27.0, 6.0)
    >>> slope.cache_info()
    CacheInfo(hits=1, misses=2, size=2)
    """

    def __init__(
        self,
        f: Function,
        static_argnums: Any = (),
        static_argnames: Any = (),
        donate_argnums: Any = (),
        donate_argnames: Any = (),
    ) -> None:
        need_function("jit", f)
        self._f = f
        self._numbers, self._names = static_argnums, _strings(static_argnames)
        self._donated, self._donated_names = donate_argnums, _strings(donate_argnames)
        self._lock = threading.RLock()
        self._programs: dict[Any, Compiled] = {}
        self._hits = self._misses = 0
        functools.update_wrapper(self, f)
        try:
            parameters = dict(inspect.signature(f).parameters)
        except (TypeError, ValueError):
            parameters = {}
        self._parameters = list(parameters)
        kinds = {p.kind for p in parameters.values()}
        if kinds and inspect.Parameter.VAR_POSITIONAL not in kinds:
            for name, chosen in (("static", static_argnums), ("donate", donate_argnums)):
                if chosen != ():
                    numbers_of("jit", chosen, len(parameters), f"{name}_argnums")
        if kinds and inspect.Parameter.VAR_KEYWORD not in kinds:
            for name in (*self._names, *self._donated_names):
                if name not in parameters:
                    raise ArgumentError(f"jit: {name!r} is no argument of the function")

    def _static(self, args: tuple[Any, ...]) -> tuple[set[Any], set[str]]:
        chosen = self._numbers if isinstance(self._numbers, (tuple, list)) else [self._numbers]
        known = [n for n in chosen if not isinstance(n, int) or -len(args) <= n < len(args)]
        static = set(numbers_of("jit", known, len(args), "static_argnums")) if known else set()
        static |= {i for i, n in enumerate(self._parameters[: len(args)]) if n in self._names}
        named = {self._parameters[n] for n in chosen if 0 <= n < len(self._parameters)}
        return static, set(self._names) | named

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the program for these arguments; compile it first if there is none."""
        if expressed() or active():
            return self._f(*args, **kwargs)
        call = _Call(self, args, kwargs)
        with self._lock:
            program = self._programs.get(call.key)
            if program is None:
                program = self._compiled(call)
            else:
                self._hits += 1
            return program._run(call)

    def _compiled(self, call: _Call) -> Compiled:
        with self._lock:
            program = self._programs.get(call.key)
            if program is None:
                self._misses += 1
                program = self._programs[call.key] = Compiled(self, call)
            return program

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """Return the function traced for such arguments, to compile it ahead of time."""
        return Lowered(self, _Call(self, args, kwargs))

    def cache_info(self) -> CacheInfo:
        """Return the numbers of cache hits, of misses (compilations) and of cached programs."""
        return CacheInfo(self._hits, self._misses, len(self._programs))

    def cache_size(self) -> int:
        """Return the number of cached programs."""
        return len(self._programs)

    def clear_cache(self) -> None:
        """Drop all cached programs."""
        with self._lock:
            self._programs.clear()
            self._hits = self._misses = 0


def _strings(names: Any) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


class Jaxpr(str):
    """A function as text: its inputs, one equation a line with names and types, its outputs."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def make_jaxpr(f: Function) -> Function:
    """Return a function that takes arguments of f and returns the graph of f as text.

    >>> from polygrad.func import grad, make_jaxpr
    >>> make_jaxpr(lambda x, y: x * y + 2)(1.0, 2.0)
    { lambda ; a:float32[] b:float32[]. let
        c:float32[] = mul a b
        d:float32[] = add c 2.0
      in (d) }
    """

    def wrapped(*args: Any, **kwargs: Any) -> Jaxpr:
        return Jaxpr(Traced("make_jaxpr", f, args, kwargs).expr)

    return wrapped
