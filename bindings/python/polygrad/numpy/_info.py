"""Data type functions and inspection of the array API standard."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from polygrad._library import wrong
from polygrad.dtype import DType, dtypes, known_dtype
from polygrad.numpy._operations import add
from polygrad.tensor import Tensor

_REAL = (dtypes.float32, dtypes.float64)
_KINDS = {
    "bool": (dtypes.bool,),
    "signed integer": (dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64),
    "unsigned integer": (dtypes.uint8, dtypes.uint16, dtypes.uint32, dtypes.uint64),
    "real floating": _REAL,
    "complex floating": (dtypes.complex64, dtypes.complex128),
}
_KINDS["integral"] = _KINDS["signed integer"] + _KINDS["unsigned integer"]
_KINDS["numeric"] = _KINDS["integral"] + _REAL + _KINDS["complex floating"]


class FInfo(NamedTuple):
    """Properties of a floating type."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: DType


def finfo(type: Any, /) -> FInfo:
    """Return the facts of a type, or of that of a tensor."""
    dtype = type.dtype if isinstance(type, Tensor) else known_dtype(type)
    if not isinstance(dtype, DType) or not dtype.differentiable or dtype.numpy is None:
        raise wrong("type", dtype, "float16, float32, float64, complex64 or complex128")
    facts = np.finfo(dtype.numpy)
    dtype = known_dtype(facts.dtype)
    eps, normal = float(facts.eps), float(facts.smallest_normal)
    return FInfo(facts.bits, eps, float(facts.max), float(facts.min), normal, dtype)


class IInfo(NamedTuple):
    """Properties of an integer type."""

    bits: int
    max: int
    min: int
    dtype: DType


def iinfo(type: Any, /) -> IInfo:
    """Return the facts of a type, or of that of a tensor."""
    dtype = type.dtype if isinstance(type, Tensor) else known_dtype(type)
    if not dtypes.is_int(dtype):
        raise wrong("type", dtype, "an integer type")
    facts = np.iinfo(dtype.numpy)
    return IInfo(facts.bits, int(facts.max), int(facts.min), dtype)


def isdtype(dtype: Any, kind: Any) -> bool:
    """Return whether a data type is of a kind, equals a type, or matches one of a tuple of both."""
    dtype = known_dtype(dtype)
    if isinstance(kind, tuple):
        return any(isdtype(dtype, k) for k in kind)
    if isinstance(kind, DType):
        return bool(dtype == kind)
    if kind not in _KINDS:
        raise wrong("kind", kind, "a data type or one of " + ", ".join(_KINDS))
    return dtype in _KINDS[kind] or (
        kind in ("real floating", "numeric") and dtypes.is_float(dtype)
    )


def result_type(*arrays_and_dtypes: Any) -> DType:
    """Return the type to which arrays, types and numbers are promoted."""
    found: Tensor | None = None
    numbers = []
    for item in arrays_and_dtypes:
        if isinstance(item, (bool, int, float, complex)):
            numbers.append(item)
            continue
        one = Tensor.zeros(1, dtype=item.dtype if isinstance(item, Tensor) else known_dtype(item))
        found = one if found is None else add(found, one) if one.dtype != found.dtype else found
    if found is None:
        raise wrong("arrays_and_dtypes", "numbers alone", "an array or a type")
    for number in numbers:
        if not (found.dtype == "bool" and isinstance(number, bool)):
            found = found * type(number)(1)
    return found.dtype


def can_cast(from_: Any, to: Any, /) -> bool:
    """Return whether a type, or that of an array, is promoted to another type by result_type."""
    source = from_.dtype if isinstance(from_, Tensor) else known_dtype(from_)
    return bool(result_type(source, known_dtype(to)) == known_dtype(to))


class Info:
    """Inspection of the namespace, as the standard has it."""

    def capabilities(self) -> dict[str, Any]:
        """Return which optional features of the standard the namespace has."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 16}

    def default_device(self) -> str:
        """Return the device of new tensors."""
        return Tensor.empty(0).device

    def devices(self) -> list[str]:
        """Return the devices of tensors."""
        return [self.default_device()]

    def default_dtypes(self, *, device: str | None = None) -> dict[str, DType]:
        """Return the default data types by kind."""
        default = {"real floating": dtypes.float32, "complex floating": dtypes.complex64}
        return {**default, "integral": dtypes.int32, "indexing": dtypes.int32}

    def dtypes(self, *, device: str | None = None, kind: Any = None) -> dict[str, DType]:
        """Return the data types of a kind, or all of them, by name."""
        kinds = (
            ("bool", "numeric") if kind is None else kind if isinstance(kind, tuple) else (kind,)
        )
        return {d.name: d for k in kinds for d in _KINDS[k]}


info = Info()
