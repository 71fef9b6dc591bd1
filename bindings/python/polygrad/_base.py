"""What all groups of tensor methods stand on: handles of arrays, and calls of operations."""

from __future__ import annotations

from ctypes import byref, c_int, c_int64, c_uint64, c_void_p
from struct import Struct
from sys import is_finalizing
from typing import TYPE_CHECKING, Any, TypeVar, Union

import numpy as np

from polygrad._graph import (
    CTX,
    MAX_DIMS,
    Node,
    Released,
    dims,
    plain,
    plain_scalar,
    pointer,
    pointers,
)
from polygrad._library import fail, lib
from polygrad.dtype import DType, dtype_by_id, dtypes
from polygrad.dtype import to_dtype as _to_dtype
from polygrad.variable import SymInt, size_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from typing_extensions import Self, TypeAlias

T = TypeVar("T", bound="Base")
Number = Union[int, float, bool]
# What a method accepts beside a tensor: numbers, arrays, nested lists.
Operand: TypeAlias = "Base | Number | np.ndarray[Any, Any] | np.generic | list[Any]"
Sizes: TypeAlias = "int | Sequence[int]"

_All = c_int64 * MAX_DIMS
_describe = lib.poly_array_describe
_call = lib.poly_array_call
_arrays = Released(lib.poly_array_release_n)
_AT_ONCE = 256

# Memory that the library works on, by the token it tells when that is over, and the handles of
# tensors that were made on some: they are given back at once.
_shared: dict[int, Any] = {}
_lent: set[int] = set()
_tokens = (c_uint64 * 64)()


class Base:
    """A variable of the library, by its handle."""

    __slots__ = ("__weakref__", "_frozen", "_handle", "_known")

    _handle: int
    _known: tuple[tuple[Any, ...], DType]
    # Said by requires_grad = False: no optimizer changes the tensor.
    _frozen: bool

    def __del__(
        self,
        _gone: Released = _arrays,
        _lent: set[int] = _lent,
        _full: int = _AT_ONCE,
        _over: Any = is_finalizing,
    ) -> None:
        try:
            handle = self._handle
        except AttributeError:  # its constructor has failed
            return
        _gone.handles.append(handle)
        if (len(_gone.handles) >= _full or handle in _lent) and not _over():
            _lent.discard(handle)
            release_dead()

    def _call1(self, op: int, *args: Any) -> Self:
        """Call an operation with one result."""
        out = c_void_p()
        given = packed(self, args)
        if _call(CTX, op, given, len(given) >> 4, byref(out), 1) < 0:
            fail()
        tensor = self.__new__(type(self))
        tensor._handle = out.value  # type: ignore[assignment]
        return tensor

    def _call(self, op: int, *args: Any) -> tuple[Self, ...]:
        """Call an operation with several results."""
        return called(type(self), op, packed(self, args))


def called(cls: type[T], op: int, given: bytes) -> tuple[T, ...]:
    """Call an operation with packed arguments."""
    room = 8
    while True:
        out = (c_void_p * room)()
        count = _call(CTX, op, given, len(given) >> 4, out, room)
        if count < 0:
            fail()
        if count <= room:
            return tuple(made(cls, handle) for handle in out[:count])
        room = count


def made(cls: type[T], handle: int | None) -> T:
    """Make a tensor of a handle of the library; NULL raises its error."""
    if handle is None:
        fail()
    tensor = cls.__new__(cls)
    tensor._handle = handle
    return tensor


def make(cls: type[T], op: int, *args: Any) -> T:
    """Make a tensor by an operation without an operand."""
    return called(cls, op, packed(None, args))[0]


def join(tensors: Sequence[T], op: int, *args: Any) -> tuple[T, ...]:
    """Call an operation of a list of tensors."""
    return called(type(tensors[0]), op, packed(None, (tensors, *args)))


def operation(name: str) -> int:
    """Return the number of an operation."""
    number: int = lib.poly_op(name.encode())
    if number < 0:
        fail(ImportError)
    return number


# Arguments are PolyCallArg: kind, count, and eight bytes.
_word = Struct("=iiq").pack
_unsigned = Struct("=iiQ").pack
_float = Struct("=iid").pack
_NONE, _BOOL, _INT, _UINT, _FLOAT, _TENSOR, _SIZE, _DTYPE = range(8)
_CHARS, _LIST, _SLICE, _ELLIPSIS = 9, 10, 14, 15
_NOTHING = _word(_NONE, 0, 0)


def packed(tensor: Base | None, args: Sequence[Any]) -> bytes:
    """Return the arguments of an operation, and its operand before them, for C."""
    n = len(args)
    while n and args[n - 1] is None:
        n -= 1
    out = [] if tensor is None else [_word(_TENSOR, 0, tensor._handle)]
    for value in args[:n]:
        pack(value, out)
    return b"".join(out)


def pack(value: Any, out: list[bytes]) -> None:
    """Add an argument, by the type that it has."""
    kind = type(value)
    if kind is int:
        if -(1 << 63) <= value < 1 << 63:
            out.append(_word(_INT, 0, value))
        elif 0 < value < 1 << 64:
            out.append(_unsigned(_UINT, 0, value))
        else:
            raise OverflowError(f"{value} does not fit in 64 bits")
    elif value is None:
        out.append(_NOTHING)
    elif isinstance(value, Base):
        out.append(_word(_TENSOR, 0, value._handle))
    elif kind is bool:
        out.append(_word(_BOOL, 0, value))
    elif kind is float:
        out.append(_float(_FLOAT, 0, value))
    elif isinstance(value, (tuple, list, range)):
        out.append(_word(_LIST, len(value), 0))
        for item in value:
            pack(item, out)
    elif isinstance(value, DType):
        out.append(_word(_DTYPE, 0, value.id))
    elif isinstance(value, str):
        text = value.encode()
        words = -(-len(text) // 16)
        out += (_word(_CHARS, len(text), 0), text.ljust(16 * words, b"\0"))
    elif isinstance(value, SymInt):
        out.append(_word(_SIZE, 0, value._node.handle))
    elif isinstance(value, np.generic):
        pack(value.item(), out)
    elif isinstance(value, np.ndarray):
        pack(value.tolist(), out)
    elif isinstance(value, slice):
        out.append(_word(_SLICE, 0, 0))
        for bound in (value.start, value.stop, value.step):
            pack(bound, out)
    elif value is Ellipsis:
        out.append(_word(_ELLIPSIS, 0, 0))
    elif isinstance(value, dict):
        pack([item for pair in value.items() for item in pair], out)
    elif hasattr(value, "__index__"):
        pack(value.__index__(), out)
    elif hasattr(value, "__float__"):
        pack(float(value), out)
    else:
        raise TypeError(f"expected a tensor or a number, got {kind.__name__}")


def argument(value: Any) -> bytes:
    """Return one argument for C."""
    out: list[bytes] = []
    pack(value, out)
    return b"".join(out)


def operand(value: Any, like: Base) -> Any:
    """Return an operand as a tensor or a number, which takes its type from the tensor it meets."""
    kind = type(value)
    if value is None or kind is float or kind is bool or isinstance(value, (Base, SymInt)):
        return value
    if kind is int:
        return value if -(1 << 63) <= value < 1 << 64 else large(value, like)
    value = plain_scalar(value)
    if isinstance(value, np.generic):
        return operand(value.item(), like)
    if isinstance(value, (np.ndarray, list, tuple, range)):
        return type(like)(value)  # type: ignore[call-arg]
    if isinstance(value, (int, float)):
        return value
    raise TypeError(f"expected a tensor or a number, got {kind.__name__}")


def as_tensor(value: Any, like: T) -> T:
    """Return an operand as a tensor; a number has the type that it takes from another one."""
    value = operand(value, like)
    if value is None or isinstance(value, type(like)):
        return value  # type: ignore[return-value]
    dtype = describe(like)[1]
    if not dtypes.is_float(dtype) and isinstance(value, float):
        dtype = dtypes.default_float
    new: Any = type(like)
    result: T = new(value) if isinstance(value, SymInt) else new.full((), value, dtype)
    return result


def large(value: int, like: Base) -> float:
    """Return an integer beyond 64 bits as what can stand for it beside a tensor."""
    dtype = describe(like)[1]
    if dtypes.is_float(dtype):
        return float(value)
    raise OverflowError(f"{value} does not fit in a tensor of {dtype.name}")


def pair(size: Any) -> Any:
    """Return the sizes of a window; a number stands for two axes."""
    size = plain(size)
    return size if hasattr(size, "__iter__") else (size, size)


def to_dtype(kind: Any) -> DType | None:
    """Return a data type; None stands for the default."""
    return None if kind is None else _to_dtype(kind)


def describe(tensor: Base) -> tuple[tuple[Any, ...], DType]:
    """Return the shape and the type of a tensor."""
    try:
        return tensor._known
    except AttributeError:
        pass
    sizes = _All()
    number = c_int()
    n = _describe(tensor._handle, sizes, MAX_DIMS, byref(number))
    if n < 0:
        fail()
    shape: tuple[Any, ...] = tuple(sizes[:n])
    if n and min(shape) < 0:
        node = node_of(tensor)
        shape = tuple(size_of(node, i) if s < 0 else s for i, s in enumerate(shape))
    known = tensor._known = shape, dtype_by_id(number.value)
    return known


def largest(shape: tuple[Any, ...]) -> tuple[int, ...]:
    """Return the shape of the memory of a tensor: symbolic sizes as the largest they can be."""
    return tuple(getattr(n, "max", n) for n in shape)


def handles(tensors: Iterable[Base]) -> Any:
    """Return the handles of tensors as an array for C."""
    return pointers([t._handle for t in tensors])


def node_of(tensor: Base) -> Node:
    """Return the node that a tensor stands for now."""
    return Node(lib.poly_array_node(tensor._handle))


def release_dead() -> None:
    """Give the handles of collected tensors back to the library, and memory to its owners.

    Who computes or writes calls it before: a tensor that is gone must not keep memory.
    """
    if _arrays.handles:
        _arrays.give_back()
    # Memory of tensors that are there is in use.
    while len(_shared) > len(_lent):
        n = lib.poly_array_released(CTX, _tokens, len(_tokens))
        for token in _tokens[: max(n, 0)]:
            _shared.pop(token, None)
        if n < len(_tokens):
            break


_next_token = 0


def share(
    cls: type[T], array: np.ndarray[Any, Any], dtype: DType, shape: tuple[int, ...] | None = None
) -> T:
    """Make a tensor on the memory of an array, which must be contiguous and writable."""
    global _next_token
    if shape is None:
        shape = array.shape
    if len(_shared) >= _AT_ONCE:
        release_dead()
    _next_token += 1
    token = _next_token
    # Before the call: the library may tell at any time that it is over.
    _shared[token] = array
    n = len(shape)
    handle = lib.poly_array_share(
        CTX, dtype.id, dims(shape), n, pointer(array), array.nbytes, token
    )
    if handle is None:
        del _shared[token]
        fail()
    _lent.add(handle)
    tensor = made(cls, handle)
    tensor._known = shape, dtype
    return tensor


def copied(
    cls: type[T], array: np.ndarray[Any, Any], dtype: DType, shape: tuple[int, ...] | None = None
) -> T:
    """Make a tensor of the elements of a contiguous array."""
    if shape is None:
        shape = array.shape
    n = len(shape)
    handle = lib.poly_array_new(CTX, dtype.id, dims(shape), n, pointer(array), array.nbytes)
    tensor = made(cls, handle)
    tensor._known = shape, dtype
    return tensor


def by_nodes(name: str, count: int, first: T, *arguments: Any) -> tuple[T, ...]:
    """Call a function of the library on nodes, of which the first one comes first."""
    tensors: list[Base] = []
    nodes = []
    given = []
    for value in (first, *arguments):
        if isinstance(value, (np.ndarray, list, tuple, range)):
            value = type(first)(value)  # type: ignore[call-arg]
        if isinstance(value, Base):
            tensors.append(value)
            nodes.append(node_of(value))
            # As a pointer: where a number is expected, that is an error.
            value = c_void_p(nodes[-1].handle)
        given.append(value)
    function = getattr(lib, name)
    if count == 1:
        results = [Node(function(CTX, *given))]
    else:
        out = (c_void_p * count)()
        if function(CTX, *given, out) != 0:
            fail()
        results = [Node(handle) for handle in out]
    sources = handles(tensors)
    return tuple(
        made(type(first), lib.poly_array_of(CTX, node.handle, sources, len(tensors)))
        for node in results
    )
