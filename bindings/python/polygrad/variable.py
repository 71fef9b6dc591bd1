"""Variables: integers in shapes and indices that get their values when a program runs."""

from __future__ import annotations

import ctypes
from ctypes import byref
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import numpy as np

from polygrad import _prototypes as c
from polygrad._graph import CTX, Node
from polygrad._library import ArgumentError, check, fail, integer, last_error, lib, need, wrong

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from typing_extensions import TypeAlias

Size: TypeAlias = "int | SymInt"

_NONE = -(1 << 63)
_TEXT = 4096

# SymInts by handle, so that equal sizes are one object.
_known: WeakValueDictionary[int, SymInt] = WeakValueDictionary()


def _operator(op: int) -> tuple[Callable[[SymInt, Any], Any], Callable[[SymInt, Any], Any]]:
    """Return the two methods of an operator: with self as left and as right operand."""
    return (lambda x, y: x._op(op, y)), (lambda x, y: x._op(op, y, True))


def _comparison(strict: bool, swapped: bool) -> Callable[[SymInt, Any], Any]:
    """Return the method of a comparison: of x < y or x <= y, or of y < x or y <= x."""
    return lambda x, y: x._below(y, strict, swapped)


class SymInt:
    """An integer made of variables: a size, a bound or an index of a tensor.

    Integers, variables and sizes can be added, subtracted, multiplied and divided (//, %). Two of
    them are equal if they are the same expression, with the same values of their variables.
    An order that depends on values is an error: see val.

    >>> n = Variable("n", 1, 8)
    >>> n * 2 + 1, (n.bind(3) * 2 + 1).val, (n * 4) // 4 == n
    (n*2+1, 7, True)
    >>> n < 9, n > 8
    (True, False)
    """

    __slots__ = (
        "__weakref__", "_node", "_size", "_unbound", "_value", "_variables", "max", "min"
    )  # fmt: skip

    _node: Node
    _size: int
    _value: int | None
    #: The least value.
    min: int
    #: The greatest value.
    max: int

    def _set(self, handle: int) -> SymInt:
        lo, hi, value = ctypes.c_int64(), ctypes.c_int64(), ctypes.c_int64()
        known = check(lib.poly_size_info(CTX, handle, byref(lo), byref(hi), byref(value)))
        self._node = Node(handle)
        self._size = -handle
        self._value = value.value if known else None
        self._unbound: Any = None
        self._variables: dict[SymInt, int | None] | None = None
        self.min, self.max = lo.value, hi.value
        return self

    @property
    def val(self) -> int:
        """The value; all variables must be bound.

        >>> (Variable("n", 1, 8).bind(3) + 1).val
        4
        """
        if self._value is None:
            raise ValueError(f"{self!r} has no value: bind its variables")
        return self._value

    @property
    def variables(self) -> dict[SymInt, int | None]:
        """The variables in the expression, with their values, None if they are not bound.

        >>> n, m = Variable("n", 1, 8), Variable("m", 1, 8)
        >>> (n.bind(3) * m).variables
        {m: None, n: 3}
        """
        if self._variables is not None:
            return dict(self._variables)
        handle = self._node.handle
        count = lib.poly_size_n_variables(CTX, handle)
        found: dict[SymInt, int | None] = {}
        for i in range(count):
            value = ctypes.c_int64()
            variable = of_handle(lib.poly_size_variable(CTX, handle, i, byref(value)))
            found[variable] = None if value.value == _NONE else value.value
        if self not in found:  # a reference to itself would keep it alive
            self._variables = found
        return dict(found)

    def unbind(self) -> tuple[Any, int]:
        """Return the expression with its variables unbound, and its value.

        >>> Variable("n", 1, 8).bind(3).unbind()
        (n, 3)
        """
        return self.unbound, self.val

    @property
    def unbound(self) -> Any:
        """The expression with its variables unbound."""
        if self._unbound is not None:
            return self._unbound
        unbound = of_handle(lib.poly_size_unbind(CTX, self._node.handle))
        if unbound is not self:
            self._unbound = unbound
        return unbound

    def __repr__(self) -> str:
        text = ctypes.create_string_buffer(_TEXT)
        if lib.poly_size_text(CTX, self._node.handle, text, _TEXT) < 0:
            fail()
        written = text.value.decode()
        return written[1:-1] if written[1:-1].replace("=", "").isidentifier() else written

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError(f"{self!r} belongs to a running program and cannot be copied")

    def _op(self, op: int, other: Any, swapped: bool = False) -> Any:
        if not isinstance(other, _SIZES):
            return NotImplemented
        a, b = (other, self) if swapped else (self, other)
        handle = lib.poly_size_op(CTX, op, a, b)
        if handle is None:
            reason = last_error().rpartition(": ")[2]
            raise ArgumentError(f"Variable: {a!r} {_SYMBOLS[op]} {b!r}: {reason}")
        return of_handle(handle)

    __add__, __radd__ = _operator(c.POLY_SIZE_ADD)
    __sub__, __rsub__ = _operator(c.POLY_SIZE_SUB)
    __mul__, __rmul__ = _operator(c.POLY_SIZE_MUL)
    __floordiv__, __rfloordiv__ = _operator(c.POLY_SIZE_DIV)
    __mod__, __rmod__ = _operator(c.POLY_SIZE_MOD)

    def __neg__(self) -> Any:
        return 0 - self

    def minimum(self, other: Size) -> Any:
        """Return the lesser of two.

        >>> Variable("n", 1, 8).bind(6).minimum(4).val
        4
        """
        return self._op(c.POLY_SIZE_MIN, _other(other))

    def maximum(self, other: Size) -> Any:
        """Return the greater of two."""
        return self._op(c.POLY_SIZE_MAX, _other(other))

    def _below(self, other: Any, strict: bool, swapped: bool) -> Any:
        """Return whether self < other (or <=) for all values; an error if it depends on them."""
        distance = self._op(c.POLY_SIZE_SUB, other, not swapped)  # other - self
        if distance is NotImplemented:
            return NotImplemented
        lo, hi = bounds(distance)
        if lo >= strict:
            return True
        if hi < strict:
            return False
        raise ValueError(
            f"whether {self!r} is less than {other!r} depends on values: compare .val, "
            "or bounds by .min and .max"
        )

    __lt__ = _comparison(True, False)
    __le__ = _comparison(False, False)
    __gt__ = _comparison(True, True)
    __ge__ = _comparison(False, True)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SymInt) and other._size == self._size

    def __hash__(self) -> int:
        return hash(self._size)

    def __bool__(self) -> bool:
        if self.min <= 0 <= self.max:
            raise ValueError(f"whether {self!r} is 0 depends on values: ask .val")
        return True


_SIZES = (SymInt, int, np.integer)


def _other(size: Any) -> Any:
    """Return the operand of a method, an integer or a size."""
    need(_SIZES, "other", size, "an integer or a size")
    return size if isinstance(size, SymInt) else integer("other", size)


# In the order of PolySizeOp.
_SYMBOLS = ("+", "-", "*", "//", "%", "minimum", "maximum")


class Variable(SymInt):
    """An integer from min_val to max_val, both included, bound to a value in each run of a program.

    Sizes, bounds and indices of tensors may be variables and expressions of variables. A program
    compiled with one value of a variable serves all values.

    >>> from polygrad import Tensor
    >>> n = Variable("n", 1, 4)
    >>> t = Tensor([1.0, 2.0, 3.0, 4.0])
    >>> [t[:n.bind(i)].sum().item() for i in (1, 2, 3)]
    [1.0, 3.0, 6.0]
    """

    __slots__ = ("_var", "name")

    def __init__(self, name: str, min_val: int, max_val: int) -> None:
        if not isinstance(name, str) or not name.isidentifier():
            raise wrong("name", repr(name), "an identifier")
        lo, hi = integer("min_val", min_val), integer("max_val", max_val)
        if not -(1 << 31) <= lo <= hi < 1 << 31:
            raise wrong("min_val", f"{lo} to {hi}", "an interval of int32")
        handle = check(lib.poly_define_var(CTX, name.encode(), lo, hi))
        self.name = name
        self._var = Node(handle)
        size = check(lib.poly_size_op(CTX, c.POLY_SIZE_ADD, -handle, 0))
        self._set(size)

    @property
    def expr(self) -> str:
        """The name."""
        return self.name

    def bind(self, val: int) -> Any:
        """Return the variable with a value.

        >>> Variable("n", 1, 4).bind(3).val
        3
        """
        handle = check(lib.poly_bind_var(CTX, self._var.handle, integer("val", val)))
        bound = Node(handle)
        return of_handle(lib.poly_size_op(CTX, c.POLY_SIZE_ADD, -bound.handle, 0))


def of_handle(handle: int | None) -> Any:
    """Return a size as an int, if it is constant, or a SymInt; NULL raises the library's error."""
    if handle is None:
        fail()
    known = _known.get(handle)
    if known is not None:
        Node(handle)  # releases the reference that was passed
        return known
    size = SymInt.__new__(SymInt)._set(handle)
    if size.min == size.max:
        return size.min
    _known[handle] = size
    return size


def size_of(node: Node, axis: int) -> Any:
    """Return the size of an axis of a node."""
    return of_handle(lib.poly_size_of(CTX, node.handle, axis))


def bounds(size: Size) -> tuple[int, int]:
    """Return the least and the greatest value of a size."""
    return (size.min, size.max) if isinstance(size, SymInt) else (size, size)


def values(shape: Iterable[Size]) -> tuple[int, ...]:
    """Return a shape as integers; its variables must be bound."""
    return tuple(n.val if isinstance(n, SymInt) else n for n in shape)
