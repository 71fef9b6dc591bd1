"""Memory for the results of computations.

Fresh memory costs a page fault for each page that is touched first, which for large arrays is
more than most computations on them. So the memory of large arrays that are gone is kept for the
next ones of the same size, in huge pages where the system has such.
"""

from __future__ import annotations

import mmap
from contextlib import suppress
from ctypes import addressof, c_char
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

LARGE = 4 << 20
_HUGE_PAGE = 2 << 20
# As much memory as this is kept at most.
_LIMIT = 512 << 20

# Memory that no array uses, by size. An array may end in any thread and at any allocation, so
# nothing here takes a lock: append and pop of a list are atomic.
_idle: dict[int, list[mmap.mmap]] = {}


class _Block:
    """Memory in use by one array and its views, all of which have it as their base."""

    def __init__(self, memory: mmap.mmap, shape: Sequence[int], dtype: np.dtype[Any]) -> None:
        self._memory = memory
        self.__array_interface__ = {
            "version": 3,
            "shape": tuple(shape),
            "typestr": dtype.str,
            "data": (addressof(c_char.from_buffer(memory)), False),
        }

    def __del__(self) -> None:
        _keep(self._memory)


def _keep(memory: mmap.mmap) -> None:
    """Keep memory for later; what is of other sizes goes first if it becomes too much."""
    size = len(memory)
    _idle.setdefault(size, []).append(memory)
    total = sum(other * len(kept) for other, kept in list(_idle.items()))
    sizes = list(_idle)
    sizes.sort(key=size.__eq__)
    for other in sizes:
        with suppress(IndexError):  # nothing is left, or another thread was first
            while total > _LIMIT:
                _idle[other].pop()
                total -= other


def _take(size: int) -> mmap.mmap:
    """Return memory that was used before, or else fresh memory."""
    try:
        return _idle[size].pop()
    except (KeyError, IndexError):
        memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        memory.madvise(mmap.MADV_HUGEPAGE)
        return memory


def empty(shape: Sequence[int], dtype: Any) -> np.ndarray[Any, Any]:
    """Return a new array whose elements may be anything."""
    return maker(shape, dtype)()


def maker(shape: Sequence[int], dtype: Any) -> Callable[[], np.ndarray[Any, Any]]:
    """Return what makes arrays like those of empty, again and again."""
    dtype = np.dtype(dtype)
    n = prod(shape) * dtype.itemsize
    if n < LARGE or not hasattr(mmap, "MADV_HUGEPAGE"):
        return partial(np.empty, shape, dtype)
    size = -(-n // _HUGE_PAGE) * _HUGE_PAGE
    return lambda: np.asarray(_Block(_take(size), shape, dtype))
