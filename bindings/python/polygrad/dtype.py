"""Data types of tensors."""

from __future__ import annotations

from typing import Any, ClassVar, Union

import numpy as np

from polygrad._library import (
    OutOfBoundsError,
    UnknownTypeError,
    caller,
    check,
    lib,
    need_error,
    number,
    wrong,
)


class DType(str):
    """A data type: its name as a string, with a few facts.

    >>> dtypes.float16.itemsize
    2
    >>> dtypes.float32 == "float32"
    True
    """

    id: int
    itemsize: int
    priority: int
    numpy: np.dtype[Any] | None
    differentiable: bool
    storage: np.dtype[Any]

    def __new__(cls, name: str) -> DType:
        """Look a type up by its name in the library."""
        if not isinstance(name, str):
            raise unknown_type(name, "name")
        self = super().__new__(cls, name)
        self.id = check(lib.poly_dtype_id_parse(name.encode()), TypeError)
        self.itemsize = check(lib.poly_dtype_id_size(self.id), TypeError)
        # numpy has no bfloat16 and fp8 (ml_dtypes adds "bfloat16" when it is imported, by JAX for
        # one): such tensors are kept as bytes of the right size.
        self.numpy = None if name.startswith(("bfloat", "fp8")) else np.dtype(name)
        self.differentiable = name.startswith(("float", "bfloat", "fp8", "complex"))
        self.storage = self.numpy or np.dtype(f"uint{8 * self.itemsize}")
        return self

    @property
    def name(self) -> str:
        """The name as a plain string."""
        return str.__str__(self)

    @property
    def bitsize(self) -> int:
        """The number of bits of information: 1 for bool, otherwise 8 * itemsize.

        >>> dtypes.bool.bitsize, dtypes.int16.bitsize
        (1, 16)
        """
        return 1 if self.name == "bool" else 8 * self.itemsize

    def __repr__(self) -> str:
        return f"dtypes.{self.name}"

    def __reduce__(self) -> tuple[Any, ...]:
        return (getattr, (dtypes, self.name))


def unknown_type(given: Any, argument: str = "dtype") -> Exception:
    """Return the error of a value that is not a data type."""
    return UnknownTypeError(f"{caller()}: {argument}: {given!r} is not a data type of tensors")


DTypeLike = Union[DType, str, "np.dtype[Any]", type]


class dtypes:
    """All data types by name.

    >>> dtypes.int32, dtypes.default_float
    (dtypes.int32, dtypes.float32)
    """

    bool: ClassVar[DType] = DType("bool")
    int8: ClassVar[DType] = DType("int8")
    uint8: ClassVar[DType] = DType("uint8")
    int16: ClassVar[DType] = DType("int16")
    uint16: ClassVar[DType] = DType("uint16")
    int32: ClassVar[DType] = DType("int32")
    uint32: ClassVar[DType] = DType("uint32")
    int64: ClassVar[DType] = DType("int64")
    uint64: ClassVar[DType] = DType("uint64")
    fp8e4m3: ClassVar[DType] = DType("fp8e4m3")
    fp8e5m2: ClassVar[DType] = DType("fp8e5m2")
    float16: ClassVar[DType] = DType("float16")
    bfloat16: ClassVar[DType] = DType("bfloat16")
    float32: ClassVar[DType] = DType("float32")
    float64: ClassVar[DType] = DType("float64")
    complex64: ClassVar[DType] = DType("complex64")
    complex128: ClassVar[DType] = DType("complex128")

    char, uchar, short, ushort = int8, uint8, int16, uint16
    int, uint, long, ulong = int32, uint32, int64, uint64
    half, float, double = float16, float32, float64
    default_float, default_int = float32, int32

    fp8s = (fp8e4m3, fp8e5m2)
    floats = (*fp8s, float16, bfloat16, float32, float64)
    uints = (uint8, uint16, uint32, uint64)
    sints = (int8, int16, int32, int64)
    ints = uints + sints
    all = (*floats, *ints, bool)

    @staticmethod
    def is_float(dtype: DType) -> Any:
        """Return whether a type is a floating one.

        >>> dtypes.is_float(dtypes.bfloat16)
        True
        """
        name = to_dtype(dtype).name
        return "float" in name or name.startswith("fp8")

    @staticmethod
    def is_int(dtype: DType) -> Any:
        """Return whether a type is an integer one (bool is not)."""
        return "int" in to_dtype(dtype).name

    @staticmethod
    def is_unsigned(dtype: DType) -> Any:
        """Return whether a type is an unsigned integer one."""
        return to_dtype(dtype).name.startswith("uint")

    @staticmethod
    def is_bool(dtype: DType) -> Any:
        """Return whether a type is bool."""
        return to_dtype(dtype).name == "bool"

    @staticmethod
    def min(dtype: DType) -> Any:
        """Return the smallest value of a type, -inf for a floating one.

        >>> dtypes.min(dtypes.int8), dtypes.min(dtypes.uint8), dtypes.min(dtypes.float32)
        (-128, 0, -inf)
        """
        if dtypes.is_float(dtype):
            return -_INFINITY
        if dtypes.is_bool(dtype):
            return False
        return 0 if dtypes.is_unsigned(dtype) else -(1 << (dtype.bitsize - 1))

    @staticmethod
    def max(dtype: DType) -> Any:
        """Return the largest value of a type, inf for a floating one.

        >>> dtypes.max(dtypes.int8), dtypes.max(dtypes.bool), dtypes.max(dtypes.float32)
        (127, True, inf)
        """
        if dtypes.is_float(dtype):
            return _INFINITY
        if dtypes.is_bool(dtype):
            return True
        return dtypes.min(dtype) + (1 << dtype.bitsize) - 1

    @staticmethod
    def finfo(dtype: DType) -> Any:
        """Return the numbers of exponent and mantissa bits of a floating type.

        >>> dtypes.finfo(dtypes.float16)
        (5, 10)
        """
        kind = to_dtype(dtype)
        if kind not in _EXPONENT_AND_MANTISSA:
            raise ValueError(f"finfo: dtype: {kind.name}, expected a floating type")
        return _EXPONENT_AND_MANTISSA[kind]

    @staticmethod
    def from_py(x: Any) -> DType:
        """Return the type that a Python number, or a list of them, gets in a tensor.

        >>> dtypes.from_py(1), dtypes.from_py([True, 2.5]), dtypes.from_py([])
        (dtypes.int32, dtypes.float32, dtypes.float32)
        """
        if isinstance(x, (list, tuple)):
            order = (dtypes.bool, dtypes.default_int, dtypes.default_float)
            found = [dtypes.from_py(item) for item in x] or [dtypes.default_float]
            return order[max(order.index(kind) for kind in found)]
        for kind, dtype in _from_python().items():
            if type(x) is kind:
                return dtype
        raise need_error("x", x, "numbers")

    @staticmethod
    def as_const(val: Any, dtype: DType) -> Any:
        """Return a number as the Python number that a type holds.

        >>> dtypes.as_const(2.9, dtypes.int32), dtypes.as_const(1, dtypes.float32)
        (2, 1.0)
        """
        value = number("val", val)
        if dtypes.is_float(dtype):
            return value
        return bool(value) if dtypes.is_bool(dtype) else int(val)


_INFINITY = float("inf")
_EXPONENT_AND_MANTISSA = {
    dtypes.fp8e4m3: (4, 3),
    dtypes.fp8e5m2: (5, 2),
    dtypes.float16: (5, 10),
    dtypes.bfloat16: (8, 7),
    dtypes.float32: (8, 23),
    dtypes.float64: (11, 52),
}


def _from_python() -> dict[type, DType]:
    """Return the types of Python's numbers; the program may change the defaults of dtypes."""
    numbers = {int: dtypes.default_int, float: dtypes.default_float}
    return {bool: dtypes.bool, **numbers, complex: dtypes.complex64}


ALL: tuple[DType, ...] = tuple(dict.fromkeys(d for d in vars(dtypes).values() if type(d) is DType))
BY_ID: dict[int, DType] = {d.id: d for d in ALL}
# Types by name, also by C's names.
_NAMES: dict[str, DType] = {
    name: d for name, d in vars(dtypes).items() if type(d) is DType and "_" not in name
}
BY_NUMPY: dict[Any, DType] = {d.numpy: d for d in ALL if d.numpy is not None}


def need_held(argument: str, kind: DType, *values: float) -> None:
    """Refuse numbers out of the range of an integer type; unsigned ones wrap below 0, as in C."""
    if kind.numpy is None or kind.numpy.kind not in "iu":
        return
    limits = np.iinfo(kind.numpy)
    for value in values:
        if not (limits.min or -limits.max) <= value <= limits.max:
            held = f"integers from {limits.min} to {limits.max} for {kind.name}"
            raise wrong(argument, value, held, OutOfBoundsError)


def to_dtype(kind: DTypeLike) -> DType:
    """Understand a type given as DType, name, numpy type or Python type.

    >>> to_dtype(np.int64), to_dtype("half"), to_dtype(float)
    (dtypes.int64, dtypes.float16, dtypes.float32)
    >>> to_dtype("int128")
    Traceback (most recent call last):
      ...
    polygrad._library.UnknownTypeError: to_dtype: dtype: 'int128' is not a data type of tensors
    """
    found = known_dtype(kind)
    if not isinstance(found, DType):
        raise unknown_type(kind)
    return found


def known_dtype(kind: Any) -> Any:
    """Return a data type; anything unknown unchanged: the library reports it with the caller."""
    if kind is None or isinstance(kind, DType):
        return kind
    if isinstance(kind, np.dtype) and kind in BY_NUMPY:
        return BY_NUMPY[kind]
    if isinstance(kind, type) and kind in (bool, int, float, complex):
        return _from_python()[kind]
    try:
        name = kind if isinstance(kind, str) else np.dtype(kind).name
    except (TypeError, ValueError):
        return kind
    return _NAMES.get(name) or _NAMES.get(name.lower()) or kind
