"""The base class of tensors: handles of arrays, calls of operations, conversion of operands."""

from __future__ import annotations

from ctypes import byref, c_int, c_int64, c_uint64
from typing import TYPE_CHECKING, Any, TypeVar, Union

import numpy as np

from polygrad._calls import bind
from polygrad._graph import (
    CTX,
    MAX_DIMS,
    Node,
    dims,
    plain,
    plain_scalar,
    pointer,
    pointers,
)
from polygrad._library import check, fail, lib, need, need_error, place, wrong
from polygrad.device import Device
from polygrad.dtype import BY_ID, DType, dtypes, known_dtype
from polygrad.variable import SymInt, size_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from typing_extensions import Self, TypeAlias

T = TypeVar("T", bound="Base")
Number = Union[int, float, complex, bool]
# The types of operands that methods accept.
Operand: TypeAlias = "Base | Number | np.ndarray[Any, Any] | np.generic | list[Any]"
Sizes: TypeAlias = "int | Sequence[int]"

_All = c_int64 * MAX_DIMS
_describe = lib.poly_array_describe
_AT_ONCE = 256

# Arrays whose memory the library uses in place, by the token with which it returns them; and the
# handles of tensors on such memory, which are released at once, not in batches.
_shared: dict[int, Any] = {}
_lent: set[int] = set()
_tokens = (c_uint64 * 64)()


_training = False


class Mode(type):
    """The metaclass of tensors: all classes share one training mode."""

    @property
    def training(cls) -> bool:
        """Whether training mode is on: see Tensor.train."""
        return _training

    @training.setter
    def training(cls, on: bool) -> None:
        global _training
        lib.poly_training(CTX, bool(on))
        _training = bool(on)


class Base(metaclass=Mode):
    """A variable of the library, by its handle."""

    __slots__ = ("__weakref__", "_frozen", "_handle", "_known")

    _handle: int
    _known: tuple[tuple[Any, ...], DType]
    # Set by requires_grad = False: no optimizer changes the tensor.
    _frozen: bool

    if TYPE_CHECKING:  # bind gives the calls to the class, Tensor has the others
        requires_grad: bool | None
        grad: Any

        def item(self) -> Any: ...
        def to(self, device: str | None) -> Self: ...
        def numpy(self) -> np.ndarray[Any, Any]: ...
        @property
        def _data(self) -> np.ndarray[Any, Any]: ...
        @property
        def is_realized(self) -> bool: ...
        def _in_place(self, result: Base) -> Self: ...
        def _call1(self, op: int, *args: Any) -> Self: ...
        def _call(self, op: int, *args: Any) -> tuple[Self, ...]: ...
        def _binary(self, op: int, other: Any, swapped: bool = False) -> Self: ...


class Pin:
    """A pin of a tensor's memory, which stays at its address as long as the pin lives."""

    __slots__ = ("_handle",)


def made(cls: type[T], handle: int | None) -> T:
    """Make a tensor of a handle of the library; NULL raises the library's last error."""
    if handle is None:
        fail()
    tensor = cls.__new__(cls)
    tensor._handle = handle
    return tensor


def join(tensors: Sequence[T], op: int, *args: Any) -> tuple[T, ...]:
    """Call an operation of a list of tensors."""
    if not tensors:
        raise wrong("tensors", "none", "one or more")
    return make_all(type(tensors[0]), op, tensors, *args)


def given(first: T, rest: tuple[T, ...]) -> list[T]:
    """Return the tensors of f(a, b) or f([a, b])."""
    if isinstance(first, (list, tuple)):
        if rest:
            raise wrong("tensors", "a list and more", "tensors or one list of them")
        if not first:
            raise wrong("tensors", "none", "one or more")
        return list(first)
    return [first, *rest]


def sizes(shape: tuple[Any, ...], name: str = "shape") -> tuple[int, ...]:
    """Return the integers of f(2, 3) or f((2, 3)) or f([2, 3]).

    >>> sizes((2, 3)), sizes(((2, 3),))
    ((2, 3), (2, 3))
    """
    if shape and isinstance(shape[0], np.ndarray):
        shape = (plain(shape[0]), *shape[1:])
    if shape and isinstance(shape[0], (tuple, list)):
        if len(shape) > 1:
            raise wrong(name, shape, "integers or one list of them")
        shape = tuple(shape[0])
    return shape


def finish(tensor: T, device: str | None, requires_grad: bool | None) -> T:
    """Apply the options device and requires_grad to a new tensor, where they are given."""
    if device is not None:
        Device._move(tensor._handle, device)
    if requires_grad is not None:
        tensor.requires_grad = requires_grad
    return tensor


def operation(name: str) -> int:
    """Return the number of an operation."""
    number: int = check(lib.poly_op(name.encode()), ImportError)
    return number


def _plain(value: Any) -> Any:
    """Convert a value to a type that operations take as argument, or return NotImplemented."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, dict):
        return [item for pair in value.items() for item in pair]
    if type(value) is int:
        raise OverflowError(f"{place(value)}: {value} does not fit in 64 bits")
    if isinstance(value, (list, tuple, range)):
        raise RecursionError(f"{place(value)}: the list is too deep")
    if hasattr(value, "__index__"):
        return value.__index__()
    if hasattr(value, "__float__"):
        return float(value)
    return NotImplemented


def _beside(value: Any, tensor: Base) -> Any:
    """Return the other operand of an operator as a tensor or a number."""
    if isinstance(value, SymInt):
        return type(tensor)(value)  # type: ignore[call-arg]
    known = (np.generic, np.ndarray, list, tuple, int)
    return operand(value, tensor) if isinstance(value, known) else NotImplemented


def operand(value: Any, like: Base) -> Any:
    """Return an operand as a tensor or a number; operations give numbers the type of like."""
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
    return value


def combine(x: T, code: int, other: Any, swapped: bool) -> T:
    """Apply a binary operator; an operand of an unsupported type is an error."""
    result = x._binary(code, other, bool(swapped))
    if result is NotImplemented:
        raise need_error("x", other, "a tensor or a number")
    return result


def source(value: Any, like: T) -> Any:
    """Return the source operand of scatter; an array gets the type of the target tensor."""
    if isinstance(value, (np.ndarray, list, tuple)) and np.ndim(value):
        return type(like)(value, dtype=describe(like)[1])  # type: ignore[call-arg]
    return operand(value, like)


def large(value: int, like: Base) -> float:
    """Return an integer beyond 64 bits as a float, if the tensor beside it is floating."""
    dtype = describe(like)[1]
    if dtypes.is_float(dtype):
        return float(value)
    raise OverflowError(f"{place(value)}: {value} does not fit in a tensor of {dtype.name}")


def pair(size: Any) -> Any:
    """Return the two sizes of a window; one number stands for both."""
    size = plain(size)
    return size if hasattr(size, "__iter__") else (size, size)


def float_type(kind: Any) -> Any:
    """Return a data type; None means dtypes.default_float."""
    return known_dtype(dtypes.default_float if kind is None else kind)


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
    known = tensor._known = shape, BY_ID[number.value]
    return known


def tensor(value: T, what: str) -> T:
    """Return an argument that must be a tensor."""
    return need(Base, what, value, "a tensor")


def handle_of(value: Any, what: str) -> int:
    """Return the handle of an argument that must be a tensor."""
    handle: int = tensor(value, what)._handle
    return handle


def handles(tensors: Iterable[Base], what: str = "tensors") -> Any:
    """Return the handles of tensors as an array for C."""
    return pointers([handle_of(t, what) for t in tensors])


def node_of(tensor: Base) -> Node:
    """Return the graph node of a tensor's current value."""
    return Node(lib.poly_array_node(tensor._handle))


def release_dead() -> None:
    """Release the handles of collected tensors, and the arrays whose memory they shared.

    It is called before everything that computes or writes: a dead tensor must not keep memory.
    """
    bury()
    # Live tensors use their arrays: only if there are more can some have been returned.
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
    """Make a tensor that shares the memory of an array, which must be contiguous and writable."""
    global _next_token
    if shape is None:
        shape = array.shape
    if len(_shared) >= _AT_ONCE:
        release_dead()
    _next_token += 1
    token = _next_token
    # Before the call: the library may return the token at any time.
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


def copied(cls: type[T], array: np.ndarray[Any, Any], dtype: DType) -> T:
    """Make a tensor with a copy of the elements of a contiguous array."""
    shape = array.shape
    at = pointer(array)
    tensor = made(cls, lib.poly_array_new(CTX, dtype.id, dims(shape), len(shape), at, array.nbytes))
    tensor._known = shape, dtype
    return tensor


_calls = bind(Base, Pin, _lent, _plain, _beside, release_dead)
if TYPE_CHECKING:

    def make(cls: type[T], op: int, *args: Any) -> T: ...
    def make_all(cls: type[T], op: int, *args: Any) -> tuple[T, ...]: ...
    def arguments(*values: Any) -> bytes: ...
    def bury() -> int: ...

else:
    make, make_all = _calls["make"], _calls["make_all"]
    arguments, bury = _calls["arguments"], _calls["bury"]
