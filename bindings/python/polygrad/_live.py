"""The registry of tensors.

A write must find the lazy tensors that depend on the overwritten memory, and its views. So every
tensor is registered here by a weak reference.
"""

from __future__ import annotations

import threading
from itertools import chain
from typing import TYPE_CHECKING
from weakref import ref

if TYPE_CHECKING:
    from polygrad._base import Base

_lock = threading.Lock()
# Tensors not examined yet, tensors without values, and the others.
_recent: list[ref[Base]] = []
_lazy: list[ref[Base]] = []
_settled: list[ref[Base]] = []
_limit = 512

note = _recent.append


def watch(tensor: Base) -> None:
    """Note a tensor that stands for another node from now on."""
    note(ref(tensor))


def _sort() -> list[Base]:
    """Sort the noted tensors and return those without values."""
    n = len(_recent)
    fresh = _recent[:n]
    del _recent[:n]
    found: dict[int, Base] = {}
    kept = []
    for reference in chain(_lazy, fresh):
        tensor = reference()
        if tensor is None:
            continue
        if tensor._node.data is not None:
            _settled.append(reference)
        elif id(tensor) not in found:
            found[id(tensor)] = tensor
            kept.append(reference)
    _lazy[:] = kept
    return list(found.values())


def lazy() -> list[Base]:
    """Return the tensors that have no values yet."""
    with _lock:
        return _sort()


def none_is_lazy() -> bool:
    """Tell whether all tensors are known to have values."""
    return not (_recent or _lazy)


def every() -> list[Base]:
    """Return all tensors."""
    with _lock:
        found = {id(t): t for t in _sort()}
        kept = {}
        for reference in _settled:
            tensor = reference()
            if tensor is not None:
                kept[id(tensor)] = reference
                found[id(tensor)] = tensor
        _settled[:] = kept.values()
        return list(found.values())


def forget_dead() -> None:
    """Drop the entries of freed tensors, if there are many."""
    global _limit
    # Called by finalizers: it must not wait for the lock.
    if len(_recent) + len(_settled) < _limit or not _lock.acquire(blocking=False):
        return
    try:
        _sort()
        _settled[:] = [r for r in _settled if r() is not None]
        _limit = 512 + 2 * len(_settled)
    finally:
        _lock.release()
