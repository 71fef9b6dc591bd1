"""DLPack: tensors of other libraries on the same memory.

numpy makes and consumes the capsules, so its code owns and frees the memory. It does not know
bfloat16 and fp8, and old releases do not know bool: numpy sees such elements as unsigned integers,
and this module writes the real type into the capsule, or reads it from there.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from polygrad._library import need_error, wrong
from polygrad.dtype import ALL, DType

CPU = (1, 0)  # kDLCPU and its number
_VERSIONED = tuple(map(int, np.__version__.split(".")[:2])) >= (2, 1)
_READ_ONLY = 1


class _DataType(ctypes.Structure):
    """DLDataType."""

    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class _Tensor(ctypes.Structure):
    """DLTensor, the first member of DLManagedTensor and the only one that is read here."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("dtype", _DataType),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
    )


class _Versioned(ctypes.Structure):
    """DLManagedTensorVersioned, whose first fields never change."""

    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    )


# Numbers of DLDataTypeCode.
_UINT, _COMPLEX = 1, 5
_CODES = {"int": 0, "uint": _UINT, "float": 2, "bfloat": 4, "complex": _COMPLEX, "bool": 6}
_FP8_CODES = {"fp8e4m3": 10, "fp8e5m2": 12}  # kDLFloat8_e4m3fn, kDLFloat8_e5m2


def _code(dtype: DType) -> int:
    name = dtype.name
    return _FP8_CODES[name] if name in _FP8_CODES else _CODES[name.rstrip("0123456789")]


_TYPES = {(_code(d), 8 * d.itemsize): d for d in ALL}

_pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.argtypes, _pointer_of.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_void_p
_name_of = ctypes.pythonapi.PyCapsule_GetName
_name_of.argtypes, _name_of.restype = [ctypes.py_object], ctypes.c_char_p
_Capsule = type(np.zeros(1).__dlpack__())


def _opened(capsule: Any) -> tuple[_Tensor, int]:
    """Return the DLTensor in a capsule, and its flags (0 for capsules without a version)."""
    name: bytes = _name_of(capsule)
    if name == b"dltensor":
        return _Tensor.from_address(_pointer_of(capsule, name)), 0
    if name != b"dltensor_versioned":
        raise wrong("x", f"a capsule called {name!r}", "one that is not used", BufferError)
    managed = _Versioned.from_address(_pointer_of(capsule, name))
    if managed.major != 1:
        raise BufferError(f"Tensor.from_dlpack: DLPack {managed.major}.{managed.minor}, expected 1")
    return managed.tensor, managed.flags


def export(
    array: np.ndarray[Any, Any],
    dtype: DType,
    stream: Any,
    max_version: tuple[int, int] | None,
    dl_device: tuple[int, int] | None,
    copy: bool | None,
) -> Any:
    """Return a capsule that shares the memory of an array, with elements of type dtype."""
    if dl_device is not None and tuple(dl_device) != CPU:
        raise BufferError(f"__dlpack__: dl_device: {dl_device}, expected {CPU}: the tensor's")
    bits = array if dtype.numpy == array.dtype else array.view(f"uint{8 * dtype.itemsize}")
    if _VERSIONED:
        capsule = bits.__dlpack__(stream=stream, max_version=max_version, copy=copy)
    else:
        capsule = (bits.copy() if copy else bits).__dlpack__(stream=stream)
    tensor, _ = _opened(capsule)
    tensor.dtype.code = _code(dtype)
    return capsule


class _AsIntegers:
    """Another library's tensor, with its elements as unsigned integers of the same size."""

    def __init__(self, capsule: Any) -> None:
        tensor, flags = _opened(capsule)
        kind = tensor.dtype
        dtype = _TYPES.get((kind.code, kind.bits))
        if dtype is None or kind.lanes != 1:
            given = f"DLPack type {kind.code}, {kind.bits} bits, {kind.lanes} lanes"
            raise wrong("x", given, f"one of {', '.join(d.name for d in ALL)}", BufferError)
        kind.code = _COMPLEX if kind.code == _COMPLEX else _UINT
        self.dtype = dtype
        self.read_only = bool(flags & _READ_ONLY)
        self._capsule = capsule

    def __dlpack__(self, **_: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return CPU


class _Writable:
    """The memory of an array that numpy marked read-only, as its owner's DLPack has no flag."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self._array = array
        interface = dict(array.__array_interface__)
        interface["data"] = (interface["data"][0], False)
        self.__array_interface__ = interface


def load(x: Any, copy: bool | None) -> tuple[np.ndarray[Any, Any], DType]:
    """Return the elements of another library's tensor, in place if possible, and their type."""
    if not _VERSIONED and isinstance(x, np.ndarray) and not x.flags.writeable:
        # These versions of numpy do not export read-only arrays.
        if copy is False:
            raise BufferError("Tensor.from_dlpack: copy is False, but the memory is read-only")
        x = x.copy()
    ints = _AsIntegers(x if isinstance(x, _Capsule) else _capsule_of(x))
    array = np.from_dlpack(ints)
    if not array.flags.writeable and not ints.read_only:
        array = np.asarray(_Writable(array))
    fits = array.flags.carray
    if copy is False and not fits:
        why = "read-only" if array.flags.c_contiguous else "not contiguous"
        raise BufferError(f"Tensor.from_dlpack: copy is False, but the memory is {why}")
    if copy or not fits:
        array = np.array(array, order="C", copy=True)
    return array.view(ints.dtype.storage), ints.dtype


def _capsule_of(x: Any) -> Any:
    if not hasattr(x, "__dlpack__") or not hasattr(x, "__dlpack_device__"):
        raise need_error("x", x, "an object with __dlpack__")
    device = tuple(map(int, x.__dlpack_device__()))
    if device[0] != CPU[0]:
        expected = f"the processor's {CPU}: move it there first"
        raise wrong("x", f"a tensor on DLPack device {device}", expected, BufferError)
    try:
        return x.__dlpack__(max_version=(1, 0))
    except TypeError:  # a version of DLPack before 1.0
        return x.__dlpack__()


def is_foreign(data: Any) -> bool:
    """Return whether data is a tensor of another library than numpy."""
    return hasattr(type(data), "__dlpack__") and not isinstance(data, np.ndarray)
