"""Data types of tensors."""

from __future__ import annotations

from typing import Any, ClassVar, Union

import numpy as np

from polygrad._library import fail, lib


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
    storage: np.dtype[Any]

    def __new__(cls, name: str) -> DType:
        """Look a type up by its name in the library."""
        self = super().__new__(cls, name)
        self.id = lib.poly_dtype_id_parse(name.encode())
        if self.id < 0:
            fail(TypeError)
        self.itemsize = lib.poly_dtype_id_size(self.id)
        if self.itemsize < 0:
            fail(TypeError)
        try:
            self.numpy = np.dtype(name)
        except TypeError:
            self.numpy = None
        # numpy has no bfloat16 and fp8: such tensors are kept as bytes of the right size.
        self.storage = self.numpy or np.dtype(f"uint{8 * self.itemsize}")
        return self

    @property
    def name(self) -> str:
        """The name as a plain string."""
        return str.__str__(self)

    def __repr__(self) -> str:
        return f"dtypes.{self.name}"

    def __reduce__(self) -> tuple[Any, ...]:
        return (_by_name, (self.name,))


def _by_name(name: str) -> DType:
    return _NAMES[name]


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

    char, uchar, short, ushort = int8, uint8, int16, uint16
    int, uint, long, ulong = int32, uint32, int64, uint64
    half, float, double = float16, float32, float64
    default_float, default_int = float32, int32

    @staticmethod
    def is_float(dtype: DType) -> Any:
        """Tell whether a type is a floating one.

        >>> dtypes.is_float(dtypes.bfloat16)
        True
        """
        return "float" in dtype.name or dtype.name.startswith("fp8")

    @staticmethod
    def is_int(dtype: DType) -> Any:
        """Tell whether a type is an integer one (bool is not)."""
        return "int" in dtype.name

    @staticmethod
    def is_unsigned(dtype: DType) -> Any:
        """Tell whether a type is an unsigned integer one."""
        return dtype.name.startswith("uint")


ALL: tuple[DType, ...] = (
    dtypes.bool,
    dtypes.int8,
    dtypes.uint8,
    dtypes.int16,
    dtypes.uint16,
    dtypes.int32,
    dtypes.uint32,
    dtypes.int64,
    dtypes.uint64,
    dtypes.fp8e4m3,
    dtypes.fp8e5m2,
    dtypes.float16,
    dtypes.bfloat16,
    dtypes.float32,
    dtypes.float64,
)
_BY_ID: dict[int, DType] = {d.id: d for d in ALL}
_NAMES: dict[str, DType] = {d.name: d for d in ALL}
_NAMES.update(
    char=dtypes.int8,
    uchar=dtypes.uint8,
    short=dtypes.int16,
    ushort=dtypes.uint16,
    int=dtypes.int32,
    uint=dtypes.uint32,
    long=dtypes.int64,
    ulong=dtypes.uint64,
    half=dtypes.float16,
    float=dtypes.float32,
    double=dtypes.float64,
)
_NUMPY: dict[Any, DType] = {d.numpy: d for d in ALL if d.numpy is not None}
_PYTHON: dict[Any, DType] = {bool: dtypes.bool, int: dtypes.int32, float: dtypes.float32}


def dtype_by_id(number: int) -> DType:
    """Return the type that has a number in the C interface."""
    return _BY_ID[number]


def by_numpy(kind: np.dtype[Any]) -> DType | None:
    """Return the type that has a numpy type, None if there is none or its bytes are swapped."""
    return _NUMPY.get(kind)


def to_dtype(kind: DTypeLike) -> DType:
    """Understand a type given as DType, name, numpy type or Python type.

    >>> to_dtype(np.int64), to_dtype("half"), to_dtype(float)
    (dtypes.int64, dtypes.float16, dtypes.float32)
    >>> to_dtype("complex64")
    Traceback (most recent call last):
      ...
    TypeError: 'complex64' is not a data type of tensors
    """
    if isinstance(kind, DType):
        return kind
    if isinstance(kind, np.dtype) and kind in _NUMPY:
        return _NUMPY[kind]
    if isinstance(kind, type) and kind in _PYTHON:
        return _PYTHON[kind]
    name = kind if isinstance(kind, str) else np.dtype(kind).name
    found = _NAMES.get(name)
    if found is None:
        raise TypeError(f"{name!r} is not a data type of tensors")
    return found
