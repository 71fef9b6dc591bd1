"""The context of the library, its nodes, and arguments for C."""

from __future__ import annotations

import atexit
import ctypes
from ctypes import addressof, c_char, c_void_p
from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np

from polygrad._library import fail, lib

if TYPE_CHECKING:
    from collections.abc import Sequence

_context = lib.poly_ctx_new()
if not _context:
    fail(RuntimeError)
CTX: int = _context

MAX_DIMS = 16

atexit.register(lib.poly_ctx_destroy, CTX)


class Memory:
    """Memory of an owner, as the base object of arrays on it: they keep the owner alive."""

    __slots__ = ("__array_interface__", "_owner")

    def __init__(
        self,
        owner: object,
        address: int | None,
        shape: tuple[int, ...],
        kind: np.dtype[Any],
        writable: bool = True,
        strides: tuple[int, ...] | None = None,
    ) -> None:
        self._owner = owner
        self.__array_interface__ = {
            "version": 3,
            "shape": shape,
            "typestr": kind.str,
            "data": (address or 64, not writable),
            "strides": strides,
        }


class Node:
    """A node of the graph: a symbolic size, or the current value of a tensor."""

    __slots__ = ("__weakref__", "handle")

    def __init__(self, handle: int | None) -> None:
        if handle is None:
            fail()
        self.handle: int = handle

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("a node of the graph cannot be copied: its handle has one owner")

    def __del__(self, _release: Any = lib.poly_uop_release, _context: int = CTX) -> None:
        handle = getattr(self, "handle", None)
        if handle is not None:
            _release(_context, handle)


def dims(shape: Sequence[int]) -> Any:
    """Return a shape as an array of int64 for C."""
    if len(shape) > MAX_DIMS:
        raise ValueError(f"shape: {len(shape)} dimensions, expected at most {MAX_DIMS}")
    return (ctypes.c_int64 * len(shape))(*map(index, shape))


def several(value: Any) -> tuple[Any, ...]:
    """Return the argument of f(1), f((1, 2)) or f([1, 2]) as a tuple; arrays count as lists."""
    value = plain(value)
    return tuple(value) if hasattr(value, "__iter__") else (value,)


def plain_scalar(value: Any) -> Any:
    """Return an array without axes as a numpy scalar; anything else unchanged."""
    return value[()] if isinstance(value, np.ndarray) and value.ndim == 0 else value


def plain(value: Any) -> Any:
    """Return an array as nested lists, or a number if it has no axes; anything else unchanged."""
    return value.tolist() if isinstance(value, np.ndarray) else value


def pointers(values: Sequence[int]) -> Any:
    """Return handles or addresses as an array for C."""
    return (c_void_p * len(values))(*values)


def pointer(array: np.ndarray[Any, Any]) -> int:
    """Return the address of an array's memory."""
    try:
        return addressof(c_char.from_buffer(array))  # type: ignore[arg-type]
    except (TypeError, ValueError):  # read-only or empty: the slow way
        address: int = array.__array_interface__["data"][0]
        return address
