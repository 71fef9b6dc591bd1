"""The Python side of the graph: nodes that hold handles of the library.

A Tensor is a variable; its value is a Node, which never changes. A Node keeps its sources alive:
the nodes that it was made of and, at the leaves, numpy arrays whose memory the library reads
without copying.
"""

from __future__ import annotations

import atexit
import ctypes
import threading
import weakref
from array import array as packed
from ctypes import addressof, byref, c_char, c_int, c_void_p
from typing import TYPE_CHECKING, Any

import numpy as np

from polygrad._library import fail, lib
from polygrad._live import forget_dead
from polygrad._memory import empty
from polygrad.dtype import DType, dtype_by_id, dtypes

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from polygrad.tensor import Tensor

_context = lib.poly_ctx_new()
if not _context:
    fail(RuntimeError)
CTX: int = _context

MAX_DIMS = 16
_dims_types = [ctypes.c_int64 * n for n in range(MAX_DIMS + 1)]
_All = _dims_types[MAX_DIMS]
_describe = lib.poly_describe
_pointers = [c_void_p * n for n in range(5)]  # the usual sizes, made once

# Handles of nodes that are gone, given back to the library many at a time.
_dead: list[int] = []
_dead_lock = threading.Lock()
_RELEASE_AT = 256


def release_dead() -> None:
    """Give the handles of collected nodes back to the library."""
    # A finalizer may run inside this function: it must not wait for the lock.
    if not _dead_lock.acquire(blocking=False):
        return
    try:
        n = len(_dead)
        handles = (c_void_p * n)(*_dead[:n])
        del _dead[:n]
    finally:
        _dead_lock.release()
    lib.poly_uop_release_n(CTX, handles, n)
    forget_dead()


@atexit.register
def _destroy() -> None:
    lib.poly_ctx_destroy(CTX)


# Sets that get all new leaves: see Trace.
leaf_recorders: list[set[Node]] = []


class Node:
    """A node of the graph.

    handle  the library's handle, given back when the Node is collected
    source  the nodes whose memory the value is computed from
    data    the value as an array, of a node that has been computed or is a leaf
    origin  the lazy node that a computed one came from, for gradients
    owner   the tensor that wants the gradient with respect to this node
    tracked whether gradients flow through this node; None if unset
    known   shape and type, cached on first use
    shows   whether it may be a view of its only source
    memory  the computed node that has the value of this one
    is_input whether it stands for an argument of a function that is being captured
    """

    __slots__ = (
        "__weakref__",
        "data",
        "handle",
        "is_input",
        "known",
        "memory",
        "origin",
        "owner",
        "shows",
        "source",
        "tracked",
    )

    def __init__(
        self,
        handle: int,
        source: tuple[Node, ...] = (),
        data: np.ndarray[Any, Any] | None = None,
        tracked: bool | None = None,
    ) -> None:
        self.handle = handle
        self.source = source
        self.data = data
        self.known: tuple[tuple[int, ...], DType] | None = None
        self.origin: Node | None = None
        self.owner: weakref.ref[Tensor] | None = None
        self.tracked = tracked
        self.shows = False
        self.memory: weakref.ref[Node] | None = None
        self.is_input = False

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("a node of the graph cannot be copied: its handle has one owner")

    def __del__(
        self, _add: Any = _dead.append, _dead: list[int] = _dead, _full: int = _RELEASE_AT
    ) -> None:
        _add(self.handle)
        if len(_dead) >= _full and release_dead is not None:
            release_dead()


class LateLeaf(Node):
    """A node on the memory of an array that gets its handle when it is used in the graph."""

    __slots__ = ("_made",)

    def __init__(self, array: np.ndarray[Any, Any], dtype: DType, shape: tuple[int, ...]) -> None:
        self._made = 0
        self.source = ()
        self.data = array
        self.known = shape, dtype
        self.origin = None
        self.owner = None
        self.tracked = False
        self.shows = False
        self.memory = None
        self.is_input = False

    @property
    def handle(self) -> int:  # type: ignore[override]
        """The handle."""
        if not self._made:
            assert self.known is not None and self.data is not None
            shape, dtype = self.known
            self._made = host_buffer(self.data, dtype, shape)
        return self._made

    def __del__(self) -> None:  # type: ignore[override]
        if self._made:
            super().__del__()


def dims(shape: Sequence[int], name: str = "shape") -> Any:
    """Return a shape, or other numbers of which each axis has one, as an array of int64 for C."""
    if len(shape) > MAX_DIMS:
        raise ValueError(f"{name}: {len(shape)} dimensions, expected at most {MAX_DIMS}")
    return _dims_types[len(shape)](*integers(shape, name))


def integers(values: Iterable[Any], name: str) -> packed[int]:
    """Check that integers fit in 64 bits and return them: ctypes would truncate others."""
    try:
        return packed("q", values)
    except TypeError:
        pass
    try:
        return packed("q", [getattr(v, "_size", v) for v in values])
    except TypeError:
        raise TypeError(f"{name}: {values!r}, expected integers") from None
    except OverflowError:
        raise OverflowError(f"{name}: {values!r} does not fit in 64 bits") from None


def several(value: Any) -> tuple[Any, ...]:
    """Return f(1), f((1, 2)) or f([1, 2])'s argument as a tuple; arrays count as lists."""
    value = plain(value)
    return tuple(value) if hasattr(value, "__iter__") else (value,)


def plain_scalar(value: Any) -> Any:
    """Return an array without axes as the number of its type; anything else as it is."""
    return value[()] if isinstance(value, np.ndarray) and value.ndim == 0 else value


def plain(value: Any) -> Any:
    """Return an array as a list, or as the number that it is; anything else as it is."""
    return value.tolist() if isinstance(value, np.ndarray) else value


def pointers(values: Sequence[int]) -> Any:
    """Return handles or addresses as an array for C."""
    n = len(values)
    kind = _pointers[n] if n < len(_pointers) else c_void_p * n
    return kind(*values)


def handles(nodes: Iterable[Node]) -> Any:
    """Return the handles of nodes as an array for C."""
    return pointers([n.handle for n in nodes])


def pointer(array: np.ndarray[Any, Any]) -> int:
    """Return the address of an array's memory."""
    try:
        return addressof(c_char.from_buffer(array))  # type: ignore[arg-type]
    except (TypeError, ValueError):  # read-only or empty: the slow way
        address: int = array.__array_interface__["data"][0]
        return address


def describe(node: Node) -> tuple[tuple[int, ...], DType]:
    """Return the shape and the type of a node."""
    known = node.known
    if known is None:
        sizes = _All()
        number = c_int()
        n = _describe(CTX, node.handle, sizes, MAX_DIMS, byref(number))
        if n < 0:
            fail()
        shape = tuple(sizes[:n])
        if n and min(shape) < 0:
            shape = symbolic(node, shape)
        known = node.known = shape, dtype_by_id(number.value)
    return known


def largest(shape: tuple[Any, ...]) -> tuple[int, ...]:
    """Return the shape of the memory of a tensor: symbolic sizes as the largest they can be."""
    for n in shape:
        if type(n) is not int:
            return tuple(getattr(m, "max", m) for m in shape)
    return shape


def symbolic(node: Node, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """Return the shape of a node in which some sizes are no numbers."""
    from polygrad.variable import size_of  # which stands on this module

    return tuple(size_of(node, i) if n < 0 else n for i, n in enumerate(shape))


def leaf(array: np.ndarray[Any, Any], dtype: DType, shape: tuple[int, ...] | None = None) -> Node:
    """Make a node on the memory of an array, which must be contiguous and writable."""
    if shape is None:
        shape = array.shape
    node = Node(host_buffer(array, dtype, shape), (), array)
    node.known = shape, dtype
    for recorder in leaf_recorders:
        recorder.add(node)
    return node


def host_buffer(array: np.ndarray[Any, Any], dtype: DType, shape: tuple[int, ...]) -> int:
    """Return the handle of a new leaf on the memory of an array."""
    n = len(shape)
    handle: int | None = lib.poly_buffer_host(
        CTX, dtype.id, dims(shape), n, pointer(array), array.nbytes
    )
    if handle is None:
        fail()
    return handle


def compute(
    nodes: Sequence[Node],
    targets: Sequence[Node] = (),
    updates: Sequence[Node] = (),
) -> list[Node]:
    """Compute nodes into new arrays, then write updates into the memory of targets.

    Return the computed nodes, which have their data and remember where they came from.
    """
    arrays = room(nodes)
    n = len(arrays)
    out = pointers([0] * n)
    memory = pointers([pointer(a) for a in arrays])
    if targets:
        status = lib.poly_update(
            CTX, handles(nodes), memory, n, out, handles(targets), handles(updates), len(targets)
        )
    else:
        status = lib.poly_realize_into(CTX, handles(nodes), memory, n, out)
    if status != 0:
        fail(RuntimeError)
    return computed(nodes, arrays, out)


def room(nodes: Sequence[Node]) -> list[np.ndarray[Any, Any]]:
    """Return new arrays for the values of nodes."""
    arrays = []
    for node in nodes:
        shape, dtype = describe(node)
        arrays.append(empty(largest(shape), dtype.storage))
    return arrays


def computed(
    nodes: Sequence[Node], arrays: Sequence[np.ndarray[Any, Any]], out: Sequence[int]
) -> list[Node]:
    """Return nodes whose values are in arrays, with the handles of the leaves on these."""
    made = []
    for node, array, handle in zip(nodes, arrays, out):
        leaf = Node(handle, (), array)
        leaf.known = node.known
        for recorder in leaf_recorders:
            recorder.add(leaf)
        node.memory = weakref.ref(leaf)
        if node.tracked and dtypes.is_float(describe(node)[1]):
            leaf.origin = node
            leaf.tracked = True
            leaf.owner = node.owner
        elif node.tracked is False:
            leaf.tracked = False
        made.append(leaf)
    return made
