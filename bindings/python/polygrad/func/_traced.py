"""Tracing of functions of trees: finds the tensors among arguments and results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

import numpy as np

from polygrad._library import ArgumentError
from polygrad.func._expr import Expr, trace
from polygrad.func._trees import Structure, flatten
from polygrad.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Sequence

Function = Callable[..., Any]


def need_function(who: str, f: Any) -> None:
    if not callable(f):
        raise ArgumentError(f"{who}: f: {f!r}, expected a function")


def leaves_like(tree: Any, structure: Structure, who: str, name: str, like: str) -> list[Any]:
    leaves, found = flatten(tree)
    if found != structure:
        raise ArgumentError(f"{who}: {name}: a tree {found!r}, expected {structure!r} as {like}")
    return leaves


class Traced:
    """A traced function: the expression of the tensors among its arguments, and the structures."""

    def __init__(
        self,
        who: str,
        f: Function,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        by: set[int] | None = None,
        axes: Any = None,
        axis: tuple[str, int] | None = None,
    ) -> None:
        """Trace f; numbers in the arguments by become tensors, as do all arrays."""
        self.who = who
        need_function(who, f)
        leaves: list[Any] = []
        structures: list[Structure] = []
        names: list[str] = []
        #: For each argument the indices of its tensors in self.tensors.
        self.of: list[list[int]] = []
        self.tensors: list[Tensor] = []
        places: list[int] = []
        for i, (name, arg) in enumerate([*enumerate(args), *kwargs.items()]):
            found, structure = flatten(arg)
            wanted = by is None or i in by
            own: list[int] = []
            for leaf in found:
                if isinstance(leaf, (np.ndarray, np.generic)) or (
                    wanted and isinstance(leaf, (int, float))
                ):
                    leaf = Tensor(leaf)
                if isinstance(leaf, Tensor):
                    own.append(len(self.tensors))
                    self.tensors.append(leaf)
                    places.append(len(leaves))
                leaves.append(leaf)
            self.of.append(own)
            structures.append(structure)
            label = name if isinstance(name, str) else f"args[{name}]"
            names += structure.paths(label)
        self.structures = structures
        #: The path of each tensor in the arguments, for errors.
        self.names = [names[p] for p in places]
        chosen = None
        if axes is not None:
            given = axes(Structure(tuple, None, [f"[{i}]" for i in range(len(args))], structures))
            chosen = [_axis(who, a, leaves[i], names[i]) for i, a in enumerate(given)]
            chosen = [chosen[p] for p in places]
        self.axes = chosen

        def call(stand: list[Tensor]) -> list[Tensor]:
            now = list(leaves)
            for place, tensor in zip(places, stand):
                now[place] = tensor
            rest = iter(now)
            trees = [s._build(rest) for s in structures]
            n = len(args)
            results, self.out = flatten(f(*trees[:n], **dict(zip(kwargs, trees[n:]))))
            self.results = [self._result(r) for r in results]
            return self.results

        self.expr = trace(who, self.tensors, chosen, call, self.names, axis)

    def _result(self, value: Any) -> Tensor:
        if isinstance(value, (int, float, np.ndarray, np.generic)):
            value = Tensor(value)
        if not isinstance(value, Tensor):
            raise ArgumentError(f"{self.who}: the function returns {value!r}, expected tensors")
        return value

    def floats(self, arg: int) -> list[int]:
        """Return the indices of an argument's tensors; raise unless all leaves are floating."""
        for k in self.of[arg]:
            if not self.tensors[k].dtype.differentiable:
                name = self.tensors[k].dtype.name
                raise ArgumentError(
                    f"{self.who}: {self.names[k]} is {name}, expected a floating type to "
                    "differentiate by"
                )
        if len(self.of[arg]) != self.structures[arg].size:
            raise ArgumentError(
                f"{self.who}: args[{arg}] has other leaves than tensors and numbers, expected "
                "those only to differentiate by"
            )
        return self.of[arg]

    def by_argument(self, numbers: list[int], found: list[Tensor]) -> tuple[Any, ...]:
        """Build the trees of some arguments from a flat list of their leaves."""
        rest = iter(found)
        return tuple(self.structures[i]._build(rest) for i in numbers)

    def trees(self, tensors: list[Any]) -> tuple[Any, ...]:
        """Build the trees of all arguments from a flat list of their leaves."""
        rest = iter(tensors)
        return tuple(s._build(rest) for s in self.structures)

    def apply(self, expr: Expr, more: Sequence[Tensor] = ()) -> list[Tensor]:
        """Apply an expression to the tensors, followed by more inputs."""
        return expr.apply([*self.tensors, *more])


def _axis(who: str, axis: Any, leaf: Any, name: str) -> int | None:
    """Return the batch axis of a leaf, counted from the front."""
    if axis is None:
        return None
    if not isinstance(axis, int):
        raise ArgumentError(f"{who}: in_axes: {axis!r}, expected integers and None")
    if not isinstance(leaf, (Tensor, np.ndarray)):
        raise ArgumentError(
            f"{who}: {name} is {leaf!r}, expected a tensor with an axis {axis} of the batch, or "
            "None in in_axes"
        )
    n = len(leaf.shape)
    if not -n <= axis < n:
        raise ArgumentError(
            f"{who}: {name} has shape {tuple(leaf.shape)}, which has no axis {axis} of the batch"
        )
    return axis % n


def numbers_of(who: str, argnums: Any, count: int, name: str = "argnums") -> list[int]:
    """Return the positions in argnums, checked and counted from the front, of count arguments."""
    numbers = list(argnums) if isinstance(argnums, (tuple, list)) else [argnums]
    if numbers and not count:
        raise ArgumentError(
            f"{who}: {name}: {argnums!r}, and the function is called without arguments"
        )
    for k, n in enumerate(numbers):
        if not isinstance(n, int) or not -count <= n < count:
            raise ArgumentError(f"{who}: {name}: {n!r}, expected 0 to {count - 1}")
        numbers[k] = n % count
    return numbers


def fit(who: str, value: Any, like: Tensor, name: str) -> Tensor:
    """Return a tangent or a cotangent as a tensor, checked to have like's type and shape."""
    if not isinstance(value, Tensor):
        value = Tensor(value, dtype=like.dtype)
    if tuple(value.shape) != tuple(like.shape) or value.dtype != like.dtype:
        raise ArgumentError(
            f"{who}: {name} is {value.dtype.name} of shape {tuple(value.shape)}, "
            f"expected {like.dtype.name} of shape {tuple(like.shape)}"
        )
    fitted: Tensor = value
    return fitted
