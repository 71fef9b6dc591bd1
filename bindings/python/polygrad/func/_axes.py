"""Collective operations along a named axis of vmap: psum, all_gather and others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

from polygrad._library import ArgumentError
from polygrad.func._expr import along
from polygrad.func._trees import flatten
from polygrad.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Iterable


def _mapped(f: Callable[[Tensor], Tensor], tree: Any) -> Any:
    leaves, structure = flatten(tree)
    return structure.build([f(x if isinstance(x, Tensor) else Tensor(x)) for x in leaves])


def _names(axis_name: Any) -> list[str]:
    return list(axis_name) if isinstance(axis_name, (tuple, list)) else [axis_name]


def psum(x: Any, axis_name: Any) -> Any:
    """Return the sum of each tensor of a tree over a named batch axis, or several nested ones.

    >>> from polygrad.func import vmap
    >>> vmap(lambda x: x / psum(x, "i"), axis_name="i")(Tensor([1.0, 3.0])).tolist()
    [0.25, 0.75]
    """

    def summed(t: Tensor) -> Tensor:
        for name in _names(axis_name):
            t = along("psum", "psum", name, t)
        return t

    return _mapped(summed, x)


def axis_size(axis_name: Any) -> int:
    """Return the size of a named batch axis."""
    size = 1
    for name in _names(axis_name):
        size *= along("axis_size", "all_gather", name, Tensor(0)).shape[0]
    return size


def axis_index(axis_name: str) -> Tensor:
    """Return the index of the current element along a named batch axis.

    >>> from polygrad.func import vmap
    >>> vmap(lambda x: x * axis_index("i"), axis_name="i")(Tensor([1.0, 3.0])).tolist()
    [0.0, 3.0]
    """
    return along("axis_index", "axis_index", axis_name, Tensor(0))


def pmean(x: Any, axis_name: Any) -> Any:
    """Return the mean of each tensor of a tree over a named batch axis."""
    count = axis_size(axis_name)
    return _mapped(lambda t: t / count, psum(x, axis_name))


def all_gather(x: Any, axis_name: str, *, axis: int = 0, tiled: bool = False) -> Any:
    """Return the trees of all batch elements, stacked along a new axis; concatenated if tiled."""

    def gathered(t: Tensor) -> Tensor:
        every = along("all_gather", "all_gather", axis_name, t)
        n = len(t.shape) + (not tiled)
        if not -n <= axis < n:
            raise ArgumentError(f"all_gather: axis: {axis}, expected {-n} to {n - 1}")
        at = axis % n
        order = list(range(1, len(every.shape)))
        moved: Tensor = every.permute(*order[:at], 0, *order[at:])
        if not tiled:
            return moved
        shape = list(t.shape)
        shape[at] *= every.shape[0]
        return moved.reshape(*shape)

    return _mapped(gathered, x)


def pmax(x: Any, axis_name: str) -> Any:
    """Return the elementwise maximum over a named batch axis."""
    return _mapped(lambda t: along("pmax", "all_gather", axis_name, t).max(0), x)


def pmin(x: Any, axis_name: str) -> Any:
    """Return the elementwise minimum over a named batch axis."""
    return _mapped(lambda t: along("pmin", "all_gather", axis_name, t).min(0), x)


def ppermute(x: Any, axis_name: str, perm: Iterable[tuple[int, int]]) -> Any:
    """Send trees between batch elements, by pairs (from, to); zeros where no pair has that to."""
    perm = list(perm)
    pairs = dict((to, at) for at, to in perm)
    count = axis_size(axis_name)
    if any(not 0 <= i < count for pair in pairs.items() for i in pair):
        raise ArgumentError(f"ppermute: perm: {perm!r}, expected numbers from 0 to {count - 1}")
    if not len(perm) == len(pairs) == len(set(pairs.values())):
        raise ArgumentError(f"ppermute: perm: {perm!r}, expected each number once on a side")

    def permuted(t: Tensor) -> Tensor:
        every = along("ppermute", "all_gather", axis_name, t)
        zero = Tensor.zeros(*t.shape, dtype=t.dtype)
        rows = [every[pairs[i]] if i in pairs else zero for i in range(count)]
        return along("ppermute", "own", axis_name, Tensor.stack(*rows))

    return _mapped(permuted, x)
