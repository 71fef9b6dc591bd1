"""Memory for the results of computations.

Fresh memory costs a page fault for each page that is touched first, which for large arrays is
more than most computations on them. So the memory of large arrays that are gone is kept for the
next ones of the same size, in huge pages where the system has such.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_Bytes = np.ndarray[Any, np.dtype[np.uint8]]

LARGE = 4 << 20
_HUGE_PAGE = 2 << 20
# As much memory as this is kept at most.
_LIMIT = 512 << 20

# Memory that no array uses, by size. An array may end in any thread and at any allocation, so
# nothing here takes a lock: append and pop of a list are atomic.
_idle: dict[int, list[_Bytes]] = {}


class _Block:
    """Memory in use by one array and its views, all of which have it as their base."""

    def __init__(self, memory: _Bytes, shape: Sequence[int], dtype: np.dtype[Any]) -> None:
        self._memory = memory
        at: int = memory.ctypes.data
        self.__array_interface__ = {
            "version": 3,
            "shape": tuple(shape),
            "typestr": dtype.str,
            "data": (at + -at % _HUGE_PAGE, False),
        }

    def __del__(self) -> None:
        _keep(self._memory)


def _keep(memory: _Bytes) -> None:
    """Cache memory; beyond the limit memory of other sizes is dropped first."""
    size = memory.nbytes
    _idle.setdefault(size, []).append(memory)
    total = sum(other * len(kept) for other, kept in list(_idle.items()))
    sizes = list(_idle)
    sizes.sort(key=size.__eq__)
    for other in sizes:
        with suppress(IndexError):  # nothing is left, or another thread was first
            while total > _LIMIT:
                _idle[other].pop()
                total -= other


def _take(size: int) -> _Bytes:
    """Return memory that was used before, or else fresh memory.

    It comes from numpy, which asks for huge pages, and so lies where inputs lie: kernels of the
    device wasm reach 4 GiB, and buffers that are farther apart are copied.
    """
    try:
        return _idle[size].pop()
    except (KeyError, IndexError):
        return np.empty(size, np.uint8)


def empty(shape: Sequence[int], dtype: Any) -> np.ndarray[Any, Any]:
    """Return a new array whose elements may be anything."""
    return maker(shape, dtype)()


def maker(shape: Sequence[int], dtype: Any) -> Callable[[], np.ndarray[Any, Any]]:
    """Return a function that makes arrays like those of empty."""
    dtype = np.dtype(dtype)
    n = prod(shape) * dtype.itemsize
    if n < LARGE:
        return partial(np.empty, shape, dtype)
    size = (-(-n // _HUGE_PAGE) + 1) * _HUGE_PAGE  # one more, to begin at a multiple
    return lambda: np.asarray(_Block(_take(size), shape, dtype))
