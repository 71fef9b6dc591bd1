"""What all groups of tensor methods stand on."""

from __future__ import annotations

from ctypes import c_void_p
from typing import TYPE_CHECKING, Any, TypeVar, Union
from weakref import ref

import numpy as np

from polygrad._graph import CTX, Node, describe, plain_scalar
from polygrad._library import fail, lib
from polygrad._live import note
from polygrad.dtype import dtypes
from polygrad.variable import SymInt

if TYPE_CHECKING:
    from typing_extensions import TypeAlias

T = TypeVar("T", bound="Base")
Number = Union[int, float, bool]
# What a method accepts beside a tensor: numbers, arrays, nested lists.
Operand: TypeAlias = "Base | Number | np.ndarray[Any, Any] | np.generic | list[Any]"


class Base:
    """A variable that stands for a node of the graph."""

    __slots__ = ("__weakref__", "_node", "grad")

    _node: Node
    grad: Any


def made(cls: type[T], handle: int | None, source: tuple[Node, ...]) -> T:
    """Make a tensor from a handle of the library; NULL raises its error."""
    if handle is None:
        fail()
    tracked = False if source else None
    for node in source:
        if node.tracked:
            tracked = True
            break
        if node.tracked is None:
            tracked = None
    tensor = cls.__new__(cls)
    tensor._node = Node(handle, source, None, tracked)
    tensor.grad = None
    note(ref(tensor))
    return tensor


def call(name: str, tensor: T, *arguments: Any) -> T:
    """Call the library's function of one tensor and some numbers."""
    node = tensor._node
    return made(type(tensor), getattr(lib, name)(CTX, node.handle, *arguments), (node,))


def view(name: str, tensor: T, *arguments: Any) -> T:
    """Call the library's function that shows a tensor in another way."""
    node = tensor._node
    handle = getattr(lib, name)(CTX, node.handle, *arguments)
    if handle is None:
        fail()
    result = type(tensor).__new__(type(tensor))
    result._node = shown = Node(handle, (node,), None, node.tracked)
    shown.shows = True
    result.grad = None
    note(ref(result))
    return result


def several_results(name: str, count: int, tensor: T, *arguments: Any) -> tuple[T, ...]:
    """Call a function of the library that writes several results of one tensor to an array."""
    node = tensor._node
    out = (c_void_p * count)()
    if getattr(lib, name)(CTX, node.handle, *arguments, out) != 0:
        fail()
    return tuple(made(type(tensor), handle, (node,)) for handle in out)


def combine(name: str, first: T, *arguments: Any) -> T:
    """Call a function of several tensors, of which the first one comes first."""
    nodes, given = _given(first, arguments)
    return made(type(first), getattr(lib, name)(CTX, nodes[0].handle, *given), tuple(nodes))


def _given(first: Base, arguments: tuple[Any, ...]) -> tuple[list[Node], list[Any]]:
    """Return the nodes of tensors, and the arguments with handles in their place."""
    nodes = [first._node]
    given = []
    for argument in arguments:
        argument = plain_scalar(argument)
        if isinstance(argument, np.generic):
            argument = argument.item()
        if isinstance(argument, (np.ndarray, list, tuple, range)):
            argument = type(first)(argument)  # type: ignore[call-arg]
        if isinstance(argument, Base):
            nodes.append(argument._node)
            # As a pointer: where a number is expected, that is an error.
            argument = c_void_p(argument._node.handle)
        given.append(argument)
    return nodes, given


def combine_all(name: str, count: int, first: T, *arguments: Any) -> tuple[T, ...]:
    """Call a function of several tensors that writes count results to an array."""
    nodes, given = _given(first, arguments)
    out = (c_void_p * count)()
    if getattr(lib, name)(CTX, nodes[0].handle, *given, out) != 0:
        fail()
    source = tuple(nodes)
    return tuple(made(type(first), handle, source) for handle in out)


def as_operand(value: Any, like: T) -> T:
    """Return an operand as a tensor; a number takes its type from the tensor it meets."""
    if isinstance(value, type(like)):
        return value
    tensor = type(like).__new__(type(like))
    tensor._node = operand(value, like)
    tensor.grad = None
    note(ref(tensor))
    return tensor


def large(value: int, like: T) -> Any:
    """Return an integer beyond 64 bits as what can stand for it beside a tensor."""
    dtype = describe(like._node)[1]
    if dtypes.is_float(dtype):
        return float(value)
    if dtype is dtypes.uint64 and 0 < value < 1 << 64:
        return type(like)(value, dtype=dtype)  # type: ignore[call-arg]
    raise OverflowError(f"{value} does not fit in a tensor of {dtype.name}")


def size_node(size: SymInt) -> Node:
    """Return a size as a tensor of int32 without axes."""
    handle = lib.poly_size_tensor(CTX, size)
    if handle is None:
        fail()
    return Node(handle)


def operand(value: Any, like: T) -> Node:
    """Return the node of an operand; a number takes its type from the tensor it meets."""
    if isinstance(value, Base):
        return value._node
    value = plain_scalar(value)
    if isinstance(value, np.generic):
        value = value.item()
    elif isinstance(value, SymInt):
        return size_node(value)
    x = like._node.handle
    if isinstance(value, bool):
        handle = lib.poly_const_like_bool(CTX, x, value)
    elif isinstance(value, int):
        if not -(1 << 63) <= value < 1 << 63:
            return operand(large(value, like), like)
        handle = lib.poly_const_like_int(CTX, x, value)
    elif isinstance(value, float):
        handle = lib.poly_const_like_float(CTX, x, value)
    elif isinstance(value, (np.ndarray, list, tuple, range)):
        return type(like)(value)._node  # type: ignore[call-arg]
    else:
        raise TypeError(f"expected a tensor or a number, got {type(value).__name__}")
    if handle is None:
        fail()
    return Node(handle)
