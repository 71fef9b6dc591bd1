"""Views of tensors, and writing.

A view shows elements of another tensor, its root, in another order or shape. A computed root
is memory: a write to it, or through one of its views, changes all of them. All other tensors keep
their values: lazy tensors that depend on memory about to be overwritten are computed first.

A root without memory is not written; instead its tensors and views get the node of the new value.
The same holds for tensors with gradients and during a trace.
"""

from __future__ import annotations

from ctypes import byref, c_int64
from typing import TYPE_CHECKING, Any
from weakref import getweakrefcount

import numpy as np

try:
    from sys import getrefcount
except ImportError:
    getrefcount = None  # type: ignore[assignment]

from polygrad import _live, _trace
from polygrad._graph import CTX, Node, compute, describe, largest
from polygrad._library import fail, lib

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Sequence

    from polygrad.tensor import Tensor


def root(node: Node) -> Node:
    """Return the node that a node is a view of, which may be itself."""
    while node.shows and lib.poly_is_view(CTX, node.handle, node.source[0].handle) == 1:
        node = node.source[0]
    return node


def moved(node: Node, before: Node, after: Node) -> Node:
    """Return a view of one node as the same view of another one."""
    if node is before:
        return after
    handle = lib.poly_move_view(CTX, node.handle, before.handle, after.handle)
    if handle is None:
        fail()
    made = Node(handle, (after,), None, after.tracked)
    made.known = node.known
    made.shows = True
    return made


def find_memory(tensor: Tensor) -> Node:
    """Return the root of a tensor; the tensor is made to show its memory if there is some."""
    node = tensor._node
    base = root(node)
    kept = base.memory and base.memory()
    if kept:
        tensor._node = moved(node, base, kept)
        return kept
    return base


def show(tensor: Tensor) -> bool:
    """Give a view of memory that memory as its data, if numpy can see it so."""
    base = find_memory(tensor)
    node = tensor._node
    if node is base or base.data is None:
        return node.data is not None
    shape, dtype = describe(node)
    if largest(shape) is not shape:
        return False
    strides, offset = (c_int64 * len(shape))(), c_int64()
    known = lib.poly_view_layout(CTX, node.handle, base.handle, strides, len(shape), byref(offset))
    if known != 1:
        return False
    size = dtype.itemsize
    steps = [size * s for s in strides]
    node.data = np.ndarray(shape, dtype.storage, base.data, size * offset.value, steps)
    return True


def is_there(tensor: Tensor) -> bool:
    """Tell whether the values of a tensor, or of its root, are computed."""
    return show(tensor) or find_memory(tensor).data is not None


def settle_root(tensor: Tensor) -> Node:
    """Return the root of a tensor, computed: the tensor shows its memory then."""
    base = find_memory(tensor)
    if base.data is None:
        made = compute([base])[0]
        stand_for(base, made)
        return made
    return base


def stand_for(before: Node, after: Node) -> None:
    """Let the tensors that stand for a node, and its views, stand for another one."""
    _trace.changed(before, after)
    settled = before.data is not None or before.is_input
    everybody: Any = _live.every() if settled else _live.lazy()
    for tensor in everybody:
        node = tensor._node
        if node is before or (node.shows and root(node) is before):
            if _trace.active():
                _trace.keep(tensor)
                if node is before and before.owner is not None and before.owner() is tensor:
                    after.owner = before.owner
                    after.tracked = True
            tensor._node = moved(node, before, after)
            _live.watch(tensor)


def put(tensor: Tensor, value: Node) -> None:
    """Give a tensor, and its root, a new value of its shape and type."""
    node = tensor._node
    base = root(node)
    if node is not base:
        handle = lib.poly_set_view(CTX, node.handle, base.handle, value.handle)
        if handle is None:
            fail()
        value = Node(handle, (node, value), None, node.tracked or value.tracked)
    stand_for(base, value)


def write(tensor: Tensor, value: Tensor) -> None:
    """Write a value of a tensor's shape and type into its memory."""
    uses = value._node.source.count(tensor._node)
    kept = uses and (_references(value) > _ALONE or value._node.shows or value._node.tracked)
    if not kept and alone(tensor, uses):
        # Nothing else is computed from it.
        compute((), (tensor._node,), (value._node,))
        if uses:
            _show_written((value,), tensor._node)
        return
    base = find_memory(tensor)
    if base.data is None and tensor._node is base:
        # What it would have been is of no interest.
        made = compute([value.detach()._node])[0]
        if base.owner is not None:
            made.owner, made.tracked = base.owner, True
        stand_for(base, made)
        return
    base = settle_root(tensor)
    cut_history(base)
    node = tensor._node
    readers = _readers((base,))
    source = value._node
    reads = readers.get(source, [])
    if source.tracked or any(other._node is not source for other in reads):
        reads = []
    if reads:
        del readers[source]
    _bind(readers, compute(list(readers), (node,), (source,)))
    if reads:
        _show_written(reads, node)


def _show_written(values: Sequence[Tensor], node: Node) -> None:
    """Let tensors whose sources were overwritten refer to the written memory."""
    handle = lib.poly_contiguous(CTX, node.handle)
    if handle is None:
        fail()
    made = Node(handle, (node,))
    for value in values:
        value._node = made
        _live.watch(value)


def alone(tensor: Tensor, uses: int = 0) -> bool:
    """Tell whether a tensor is memory that no other tensor knows, and a number of nodes."""
    if _references(tensor) > _ALONE + uses:
        return False
    node = tensor._node
    if node.data is None or node.source or node.origin is not None:
        return False
    # The lazy node that was computed into it refers to it weakly: views of that may exist.
    return getweakrefcount(node) == 0


def _references(tensor: Tensor | _Alone) -> int:
    return getrefcount(tensor._node)


class _Alone:
    def __init__(self) -> None:
        self._node = object()


# Where references are not counted, every tensor may be known to others.
_ALONE = -1
if getrefcount is not None:
    _ALONE = _references(_Alone())


def cut_history(node: Node) -> None:
    """Forget how memory came about that is written to: no gradient flows on from there."""
    if node.origin is not None:
        node.origin = None
        node.tracked = node.owner is not None


def overwrite(targets: Sequence[Tensor], values: Sequence[Tensor]) -> None:
    """Write values into the memory of tensors that have their own.

    Lazy tensors that need the old contents are computed in the same run, except the values.
    """
    nodes = [t._node for t in targets]
    readers = _readers(nodes, {id(v) for v in values})
    _bind(readers, compute(list(readers), nodes, [v._node for v in values]))


def keep_readers(targets: Iterable[Node]) -> None:
    """Compute the lazy tensors that need memory which is about to be overwritten."""
    if _live.none_is_lazy():
        return
    readers = _readers(targets)
    if readers:
        _bind(readers, compute(list(readers)))


def _bind(tensors: dict[Node, list[Tensor]], made: Iterable[Node]) -> None:
    """Let tensors stand for the computed nodes, or views of them."""
    for node, computed in zip(tensors, made):
        for tensor in tensors[node]:
            tensor._node = moved(tensor._node, node, computed)


# How a node depends on memory: directly, or by a node that was computed into it.
_DIRECTLY, _ONCE = 1, 2


def _readers(nodes: Iterable[Node], but: Container[int] = frozenset()) -> dict[Node, list[Tensor]]:
    """Return the lazy tensors that need the memory of nodes, by the node to compute for them.

    For views of one root that is the root, so they stay its views. Views of the memory need
    nothing, and views of a lazy node that was computed into the memory become its views. Tensors
    whose id is in but are left out.
    """
    targets = set(nodes)
    ways = dict.fromkeys(targets, _DIRECTLY)
    groups: dict[Node, list[Tensor]] = {}
    lazy: Any = _live.lazy()
    for tensor in lazy:
        if id(tensor) in but:
            continue
        node = tensor._node
        way = _way(node, targets, ways)
        base = root(node) if way and node.shows else node
        if not way or base in targets:
            continue
        kept = base.memory and base.memory()
        if kept and (way & _DIRECTLY or kept in targets):
            tensor._node = moved(node, base, kept)
        elif way & _DIRECTLY:
            groups.setdefault(base, []).append(tensor)
    return {
        base if len(tensors) > 1 else tensors[0]._node: tensors for base, tensors in groups.items()
    }


def _way(start: Node, targets: set[Node], ways: dict[Node, int]) -> int:
    """Return how a node depends on targets; ways caches the results of others."""
    stack = [start]
    while stack:
        node = stack[-1]
        if node not in ways:
            missing = [s for s in node.source if s not in ways]
            if missing:
                stack += missing
                continue
            way = _ONCE if node.memory and node.memory() in targets else 0
            for source in node.source:
                way |= ways[source]
            ways[node] = way
        stack.pop()
    return ways[start]
