"""The Tensor."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from contextlib import contextmanager
from ctypes import byref, c_int, c_int64, c_void_p
from math import prod
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from polygrad import _dlpack
from polygrad import _methods as op
from polygrad._base import (
    Base,
    Operand,
    Pin,
    _lent,
    arguments,
    copied,
    describe,
    finish,
    handle_of,
    handles,
    join,
    made,
    operand,
    release_dead,
    share,
)
from polygrad._creation import Creation
from polygrad._display import Display
from polygrad._exchange import Exchange
from polygrad._graph import CTX, Memory, Node, pointer
from polygrad._indexing import Indexing, items
from polygrad._job import Job
from polygrad._library import (
    ArgumentError,
    ArgumentTypeError,
    RangeError,
    caller,
    check,
    fail,
    integer,
    last_error,
    lib,
    need,
    wrong,
)
from polygrad.device import Device
from polygrad.dtype import BY_NUMPY, DType, DTypeLike, dtypes, known_dtype, need_held, to_dtype
from polygrad.variable import SymInt, values

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from typing_extensions import Self


class Tensor(Creation, Indexing, Exchange, Display):
    """A multi-dimensional array that is computed when its values are needed.

    data is a number, a nested list, an array, another tensor, None for no elements, or bytes: the
    memory of elements. A contiguous numpy array is used in place: the tensor and the array share
    memory, and so does a tensor of another library (see from_dlpack). A GPU gets a copy. Without
    dtype, floats become float32, integers int32, bools bool, bytes uint8; arrays keep their type.

    >>> Tensor([[1.0, 2.0], [3.0, 4.0]]).sum(0).numpy()
    array([4., 6.], dtype=float32)

    Making tensors: Tensor(data), zeros, ones, full, eye, arange, linspace, rand, randn, uniform,
    randint, from_numpy, from_dlpack; tensors like another one: zeros_like, ones_like, rand_like.

    >>> Tensor.arange(6).reshape(2, 3).realize()
    Tensor([[0, 1, 2],
            [3, 4, 5]], shape=(2, 3), dtype=int32)

    Computing: every method returns a new tensor that holds a graph; nothing is
    computed before realize(), numpy(), tolist(), item() or backward() ask. Shapes and types are
    checked at once, shapes are broadcast, and integers meet floats, as in numpy.

    >>> x = Tensor([1.0, 2.0, 3.0])
    >>> y = (x * 2 + 1).sqrt()
    >>> y
    Tensor(lazy, shape=(3,), dtype=float32)
    >>> y.realize()
    Tensor([1.7320508, 2.236068 , 2.6457512], shape=(3,), dtype=float32)

    Selecting: t[1], t[:, ::2], t[..., None], t[Tensor([2, 0])]; t[0] = 5 writes; masked_select.

    >>> t = Tensor([[1, 2, 3], [4, 5, 6]])
    >>> t[:, -1].tolist(), t[1, ::2].tolist()
    ([3, 6], [4, 6])

    Gradients: backward() adds to the .grad of tensors made with requires_grad=True; gradient()
    returns gradients and stores none.

    >>> x = Tensor([1.0, 2.0, 3.0], requires_grad=True)
    >>> loss = (x * x).sum().backward()
    >>> x.grad.tolist()
    [2.0, 4.0, 6.0]

    Values: numpy(), tolist(), item() for one number; np.asarray(t), memoryview(t.data()) and
    torch.from_dlpack(t) use the same memory. Printing shows the values of a tensor that has been
    computed and computes nothing.

    See also polygrad.nn (layers, optimizers, compiled steps), polygrad.viz (graphs, kernels, their
    times), polygrad.dtypes, polygrad.Device.
    """

    __slots__ = ()

    # numpy leaves `array + tensor` to the tensor.
    __array_ufunc__ = None

    def __init__(
        self,
        data: Any = None,
        dtype: DTypeLike | None = None,
        device: str | None = None,
        requires_grad: bool | None = None,
    ) -> None:
        kind = None if dtype is None else to_dtype(dtype)
        if isinstance(data, Tensor):
            source = data if kind is None else data.cast(kind)
            made_of = source.detach() if requires_grad is False else source.clone()
        elif isinstance(data, (list, tuple)) and _has_tensors(data):
            joined = join([_as_tensor(item) for item in data], op.STACK, 0)[0]
            made_of = joined if kind is None else joined.cast(kind)
        else:
            made_of = _of_data(data, kind)
        # The handle moves to self: made_of must not release it.
        self._handle = made_of._handle
        del made_of._handle
        finish(self, device, requires_grad)

    # Properties

    @property
    def shape(self) -> tuple[int, ...]:
        """The size of each axis.

        >>> Tensor([[1, 2, 3]]).shape
        (1, 3)
        """
        return describe(self)[0]

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def dtype(self) -> DType:
        """The data type: a string with a few attributes.

        >>> Tensor([1.0]).dtype == "float32", Tensor([1]).dtype
        (True, dtypes.int32)
        """
        return describe(self)[1]

    @property
    def device(self) -> str:
        """The device that the tensor was put on (see to), else Device.DEFAULT."""
        return Device._of(self._handle)

    def numel(self) -> int:
        """Return the number of elements.

        >>> Tensor.zeros(2, 3).numel()
        6
        """
        return prod(self.shape)

    def element_size(self) -> int:
        """Return the number of bytes of an element."""
        return self.dtype.itemsize

    def nbytes(self) -> int:
        """Return the number of bytes of all elements."""
        return self.numel() * self.dtype.itemsize

    def is_floating_point(self) -> bool:
        """Return whether the data type is a floating one."""
        return bool(dtypes.is_float(self.dtype))

    def __len__(self) -> int:
        shape = self.shape
        if not shape:
            raise TypeError("len of a tensor without axes")
        return shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        return (self[i] for i in range(len(self)))

    def __bool__(self) -> bool:
        if self.numel() != 1:
            n = "several" if self.numel() else "no"
            raise ArgumentError(f"the truth of a tensor of {n} elements: say all() or any()")
        return bool(self.item())

    def __index__(self) -> int:
        if not dtypes.is_int(self.dtype) or self.shape:
            raise TypeError(
                f"a tensor of {self.dtype} and shape {self.shape} is not an index, expected an "
                "integer without axes"
            )
        return int(self.item())

    # Values

    @property
    def is_realized(self) -> bool:
        """Whether the elements of the tensor, or of the tensor that it is a view of, are computed.

        >>> x = Tensor([1.0, 2.0])
        >>> x.is_realized, x[1:].is_realized, (x + 1).is_realized, (x + 1).realize().is_realized
        (True, True, False, True)
        """
        there: int = check(lib.poly_array_is_computed(self._handle))
        return bool(there)

    def realize(self, *lst: Tensor, do_update_stats: bool = True) -> Tensor:
        """Compute this tensor (and others with it) and return it.

        No statistics are kept, so do_update_stats changes nothing: it is there for tinygrad's
        users.

        >>> (Tensor([1.0]) + 1).realize().tolist()
        [2.0]
        """
        release_dead()
        if lib.poly_array_realize(handles((self, *lst), "lst"), 1 + len(lst)) != 0:
            fail(RuntimeError)
        return self

    def realize_async(self, *others: Tensor) -> Job:
        """Start to compute this tensor (and others with it) in the background; return a Job.

        >>> x = Tensor([1.0]) + 1
        >>> x.realize_async().wait(), x.tolist()
        (True, [2.0])
        """
        return Job((self, *others))

    @property
    def _data(self) -> np.ndarray[Any, Any]:
        """The memory of the computed tensor; writes to it change the tensor.

        For a view without regular strides it is a read-only copy.
        """
        shape, dtype = describe(self)
        release_dead()
        n = len(shape)
        address, strides, writable = c_void_p(), (c_int64 * n)(), c_int()
        pin = lib.poly_array_pin(self._handle, byref(address), strides, n, byref(writable))
        check(pin, RuntimeError)
        steps = tuple([dtype.itemsize * s for s in strides])
        place = (address.value, values(shape), dtype.storage, bool(writable.value), steps)
        return np.asarray(Memory(made(Pin, pin), *place))  # type: ignore[type-var]

    def _read(self) -> np.ndarray[Any, Any]:
        """Return a copy of the values."""
        shape, dtype = describe(self)
        if dtype.numpy is None:
            return self.cast(dtypes.float32)._read()
        array = np.empty(values(shape), dtype.numpy)
        release_dead()
        check(lib.poly_array_read(self._handle, pointer(array), array.nbytes), RuntimeError)
        return array

    def numpy(self) -> np.ndarray[Any, Any]:
        """Compute the tensor and return its memory as a numpy array, not a copy.

        bfloat16 and fp8, which numpy does not have, are converted to float32. A view without
        regular strides is returned as a read-only copy.

        >>> Tensor([1, 2]).numpy()
        array([1, 2], dtype=int32)
        """
        if self.dtype.numpy is None:
            return self.cast(dtypes.float32)._data
        return self._data

    def item(self) -> Any:
        """Return the value of a tensor with one element.

        >>> Tensor([[2.5]]).item()
        2.5
        """
        array = self._read()
        if array.size != 1:
            raise wrong("self", f"a tensor of shape {array.shape}", "one element")
        return array.item()

    def tolist(self) -> Any:
        """Return the values as a nested list (a number for a tensor without axes).

        >>> Tensor([[1, 2], [3, 4]]).tolist()
        [[1, 2], [3, 4]]
        """
        return self._read().tolist()

    def detach(self) -> Tensor:
        """Return a view of the tensor through which no gradient flows.

        >>> Tensor([1.0], requires_grad=True).detach().requires_grad
        False
        """
        tensor = made(type(self), lib.poly_array_detach(self._handle))
        tensor._frozen = True
        return tensor

    def clone(self) -> Tensor:
        """Return a copy with memory of its own; gradients flow through it.

        >>> a = Tensor([1.0])
        >>> b = a.clone()
        >>> b[0] = 5
        >>> a.tolist()
        [1.0]
        """
        return made(type(self), lib.poly_array_clone(self._handle))

    # Operations that the generated methods do not cover

    def where(self, x: Operand, y: Operand) -> Tensor:
        """Return x where self is true, y elsewhere.

        >>> (Tensor([1.0, -2.0, 3.0]) > 0).where(Tensor([10.0, 20.0, 30.0]), 0).tolist()
        [10.0, 0.0, 30.0]
        """
        first = operand(x, y if isinstance(y, Base) else self)
        return self._call1(op.WHERE, first, operand(y, first if isinstance(first, Base) else self))

    def bitcast(self, dtype: DTypeLike) -> Tensor:
        """Return the same bits read as another data type; no gradient flows through it.

        Where the sizes of the types differ, the last axis grows or shrinks.

        >>> Tensor([1.0]).bitcast("uint32").tolist()
        [1065353216]
        """
        if self.requires_grad:
            raise RuntimeError("Tensor.bitcast: the tensor requires a gradient: detach it first")
        return self._call1(op.BITCAST, known_dtype(dtype))

    def size(self, dim: int | None = None) -> Any:
        """Return the shape, or the size of one axis.

        >>> Tensor.zeros(2, 3).size(), Tensor.zeros(2, 3).size(-1)
        ((2, 3), 3)
        """
        shape = describe(self)[0]
        if dim is None:
            return shape
        dim = integer("dim", dim)
        if not -len(shape) <= dim < len(shape):
            raise IndexError(f"Tensor.size: dim: {dim} is out of range for {len(shape)} dimensions")
        return shape[dim]

    # Devices

    def to(self, device: str | None) -> Self:
        """Return the tensor on a device; results computed from it are computed there, too.

        Tensors that were put on no device follow; tensors of two devices in one operation are an
        error. Gradients flow back. A tensor that is there is returned itself; None: Device.DEFAULT.
        """
        number = Device.require(device)
        there = number == lib.poly_array_device(self._handle)
        return self if there else made(type(self), lib.poly_array_to(self._handle, number))

    def to_(self, device: str | None) -> Tensor:
        """Put the tensor itself on a device, as to does, without a copy."""
        Device._move(self._handle, device)
        return self

    # Changing a tensor

    def assign(self, x: Any) -> Tensor:
        """Write new values into the tensor: of its type, broadcast to its shape.

        >>> t = Tensor([1.0, 2.0])
        >>> t.assign(t * 10).tolist()
        [10.0, 20.0]
        """
        release_dead()
        value = self._given(x)
        check(lib.poly_array_assign(self._handle, arguments(value)))
        return self

    def _given(self, x: Any) -> Any:
        """Return a value to be assigned as a number, or as a tensor of this tensor's type."""
        dtype = describe(self)[1]
        x = operand(x, self) if np.ndim(x) == 0 and not isinstance(x, SymInt) else x
        if not isinstance(x, (Tensor, bool, int, float)):
            x = Tensor(x, dtype=dtype)
        if isinstance(x, Tensor):
            other = describe(x)[1]
            if other is not dtype:
                raise ArgumentTypeError(
                    f"{caller()}: dtype mismatch: a value of {other.name}, "
                    f"expected the tensor's {dtype.name}"
                )
        return x

    def sequential(self, ll: Iterable[Callable[[Tensor], Tensor]]) -> Tensor:
        """Call functions, each with the result of the one before.

        >>> Tensor([-1.0, 4.0]).sequential([Tensor.relu, Tensor.sqrt]).tolist()
        [0.0, 2.0]
        """
        x = self
        for function in need(Iterable, "ll", ll, "a list of functions"):
            x = need(Callable, "ll", function, "functions")(x)
        return x

    def replace(self, x: Tensor) -> Tensor:
        """Make the tensor an alias of x: the same elements, shape and type. requires_grad stays.

        >>> w = Tensor([1.0], requires_grad=True)
        >>> w.replace(Tensor([2.0])).requires_grad, w.tolist()
        (True, [2.0])
        """
        check(lib.poly_array_replace(self._handle, handle_of(x, "x")))
        _lent.discard(self._handle)  # it has other memory now
        if hasattr(self, "_known"):
            del self._known
        return self

    def __setitem__(self, indices: Any, value: Any) -> None:
        release_dead()
        chosen = items(indices, self)
        place = arguments(chosen)[16:]
        value = self._given(value)
        if lib.poly_array_set(self._handle, place, len(place) >> 4, arguments(value)) != 0:
            fail(ArgumentError if _VALUE.search(last_error()) else RangeError)

    def __delitem__(self, indices: Any) -> None:
        raise TypeError("elements of a tensor cannot be deleted")

    def _in_place(self, result: Any) -> Tensor:
        """Replace the tensor's value by a result; only a view must keep its shape and type."""
        if describe(result) != describe(self) and lib.poly_array_is_view(self._handle) != 1:
            return self.replace(result)
        release_dead()
        if lib.poly_array_update(self._handle, arguments(result)) != 0:
            fail(ArgumentTypeError if result.dtype != self.dtype else ArgumentError)
        return self

    # Gradients

    @property
    def requires_grad(self) -> bool | None:
        """Whether backward computes a gradient for this tensor, or for one it was computed from.

        None means unset: an optimizer sets it to True, and leaves tensors with False alone.

        >>> x, w = Tensor([1.0]), Tensor([1.0], requires_grad=True)
        >>> x.requires_grad, w.requires_grad, (x * w).requires_grad, w.detach().requires_grad
        (None, True, True, False)
        """
        on: int = check(lib.poly_array_requires_grad(self._handle))
        return True if on else False if getattr(self, "_frozen", False) else None

    @requires_grad.setter
    def requires_grad(self, value: bool | None) -> None:
        if value:
            dtype = describe(self)[1]
            if not dtype.differentiable:
                given = f"{value} for a tensor of {dtype.name}"
                raise wrong("requires_grad", given, "a floating type", ArgumentTypeError)
        check(lib.poly_array_require_grad(self._handle, bool(value)))
        self._frozen = value is False

    @property
    def grad(self) -> Tensor | None:
        """The accumulated gradient of backward, None if there is none.

        >>> x = Tensor([1.0, 2.0], requires_grad=True)
        >>> loss = (x * 3).sum().backward()
        >>> x.grad.tolist()
        [3.0, 3.0]
        """
        handle = c_void_p()
        has = check(lib.poly_array_grad(self._handle, byref(handle)))
        return made(type(self), handle.value) if has else None

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        handle = None if value is None else handle_of(value, "value")
        check(lib.poly_array_set_grad(self._handle, handle))

    def requires_grad_(self, requires_grad: bool | None = True) -> Tensor:
        """Set requires_grad and return the tensor."""
        self.requires_grad = requires_grad
        return self

    def backward(self, gradient: Tensor | None = None) -> Tensor:
        """Compute the gradients of this tensor with respect to all tensors that require one.

        They are added to .grad. A tensor that is not a scalar needs its incoming gradient, of its
        own shape. What was computed from others gets a gradient of its own if requires_grad is
        set on it before. Gradients can be differentiated again.

        >>> x = Tensor([1.0, 2.0], requires_grad=True)
        >>> loss = (x ** 3).sum().backward()
        >>> x.grad.tolist()
        [3.0, 12.0]
        """
        release_dead()
        handle = None if gradient is None else handle_of(gradient, "gradient")
        check(lib.poly_array_backward(self._handle, handle))
        return self

    def gradient(
        self, *targets: Tensor, gradient: Tensor | None = None, materialize_grads: bool = False
    ) -> list[Tensor]:
        """Return the gradients of this tensor with respect to targets, as lazy tensors.

        gradient is the incoming gradient, of this tensor's shape; one element needs none.
        Targets that the tensor does not depend on are an error, or with materialize_grads have
        gradients of zeros.

        >>> x = Tensor([1.0, 2.0])
        >>> (x ** 3).sum().gradient(x)[0].tolist()
        [3.0, 12.0]
        """
        n = len(targets)
        out = (c_void_p * n)()
        incoming = None if gradient is None else handle_of(gradient, "gradient")
        given = (handles(targets, "targets"), n, incoming, bool(materialize_grads), out)
        check(lib.poly_array_gradient(self._handle, *given))
        return [made(type(self), handle) for handle in out]

    # Modes

    @staticmethod
    @contextmanager
    def train(mode: bool = True) -> Iterator[None]:
        """Set Tensor.training in a with statement, or in the function that this decorates.

        >>> with Tensor.train():
        ...     Tensor.training
        True
        """
        if not _blocks:
            _blocks.append([Tensor.training])
        block = [mode]
        _blocks.append(block)
        Tensor.training = mode
        try:
            yield
        finally:  # blocks of several threads end in any order
            _blocks[:] = [other for other in _blocks if other is not block]
            Tensor.training = _blocks[-1][0]
            if len(_blocks) == 1:
                _blocks.clear()

    @staticmethod
    @contextmanager
    def no_grad() -> Iterator[None]:
        """Compute without gradients in a with statement, or in the function that this decorates.

        Results of operations do not require gradients there, in all threads.

        >>> w = Tensor([3.0], requires_grad=True)
        >>> with Tensor.no_grad():
        ...     y = w * 2
        >>> print(w.requires_grad, y.requires_grad)
        True None
        """
        lib.poly_no_grad(CTX, 1)
        try:
            yield
        finally:
            lib.poly_no_grad(CTX, 0)


# The modes of the active blocks of Tensor.train, preceded by the mode from before the first.
_blocks: list[list[bool]] = []

# So that Python's own TypeErrors about calls say Tensor, not the name of a base class.
for _class in Tensor.__mro__[1:-1]:
    for _name, _value in vars(_class).items():
        _function = getattr(_value, "__func__", _value)
        if isinstance(_function, FunctionType):
            _function.__qualname__ = f"Tensor.{_name}"


def assign(targets: Sequence[Tensor], values: Sequence[Tensor]) -> None:
    """Assign to several tensors at once; all values are computed from the old contents."""
    release_dead()
    cast = [v if v.dtype is t.dtype else v.cast(t.dtype) for t, v in zip(targets, values)]
    check(lib.poly_array_assign_n(handles(targets), handles(cast), len(cast)))


# Messages about the assigned value, not about the index.
_VALUE = re.compile(r"\b(?:value|x|gradient)\b")


def _has_tensors(data: Any) -> bool:
    return any(
        isinstance(item, Tensor) or (isinstance(item, (list, tuple)) and _has_tensors(item))
        for item in data
    )


def _as_tensor(item: Any) -> Tensor:
    return item if isinstance(item, Tensor) else Tensor(item)


def _of_data(data: Any, kind: DType | None) -> Tensor:
    """Make a tensor of data, on its memory where that is possible."""
    if data is None:
        data = []
    if isinstance(data, SymInt):
        node = Node(lib.poly_size_tensor(CTX, data))
        size = made(Tensor, lib.poly_array_of(CTX, node.handle, None, 0))
        return size if kind is None else size.cast(kind)
    if isinstance(data, (list, tuple)) and data and all(isinstance(d, bytes) for d in data):
        rows = [np.frombuffer(row, np.uint8) for row in data]
        if len({row.size for row in rows}) > 1:
            raise wrong("data", "bytes of several lengths", "one length")
        data = np.stack(rows)
    if isinstance(data, (bytes, bytearray)):
        given = kind or dtypes.uint8
        return copied(Tensor, np.frombuffer(data, given.storage), given)
    if _dlpack.is_foreign(data):
        shared, own = _dlpack.load(data, None)
        tensor = share(Tensor, shared, own)
        return tensor if kind is None or kind is own else tensor.cast(kind).realize()
    if isinstance(data, np.ndarray):
        array = data
        known = BY_NUMPY.get(array.dtype)
        if known is not None and (kind is None or kind is known) and array.flags.carray:
            return share(Tensor, array, known)
    else:
        array = np.asarray(data)
    if isinstance(own := known_dtype(array.dtype), DType) and own.numpy is None:  # of ml_dtypes
        kind, array = kind or own, array.astype(np.float32)
    if array.dtype == object or array.dtype.kind in "USVmM":
        raise wrong("data", f"elements of type {array.dtype}", "numbers", ArgumentTypeError)
    if kind is not None:
        given = kind
        if array.size and array.dtype.kind == "f" and not hasattr(data, "__array__"):
            # whole numbers wrap around, which C leaves undefined for others
            ends = array.min(), array.max()
            need_held("data", kind, *(np.trunc(end).item() for end in ends))
    elif isinstance(data, (np.ndarray, np.generic)) or hasattr(data, "__array__"):
        given = to_dtype(array.dtype.newbyteorder("="))
    elif array.dtype.kind in "fc":
        given = dtypes.default_float if array.dtype.kind == "f" else dtypes.complex64
    elif array.dtype == np.int64 and (array == array.astype(np.int32)).all():
        given = dtypes.default_int
    else:
        given = to_dtype(array.dtype)
    if array.dtype.kind == "c" and given not in ("complex64", "complex128"):
        raise wrong("data", "complex numbers", f"real ones for {given.name}", ArgumentTypeError)
    if given.numpy is None:
        wide = copied(Tensor, np.require(array, np.float32, ["C", "A"]), dtypes.float32)
        return wide.cast(given).realize()
    return copied(Tensor, np.require(array, given.numpy, ["C", "A"]).reshape(array.shape), given)
