"""Model files opened by the library: tensors on their memory, and metadata."""

from __future__ import annotations

import base64
import ctypes
import errno
import json
import os
import re
from math import prod
from typing import TYPE_CHECKING, Any, Union

import numpy as np

from polygrad import _prototypes as c
from polygrad._base import operation, share
from polygrad._graph import MAX_DIMS, Memory, pointer
from polygrad._library import (
    ArgumentTypeError,
    check,
    fail,
    in_words,
    last_error,
    lib,
    need,
    need_error,
    wrong,
)
from polygrad.dtype import BY_ID, DType, dtypes
from polygrad.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Mapping

# A path, or the contents of a file: bytes, or a tensor of uint8.
Source = Union[str, "os.PathLike[str]", bytes, Tensor]


class OpenFile:
    """A file that the library keeps open until nothing uses its memory any more."""

    def __init__(self, source: Source, kind: int) -> None:
        self.handle: int | None = None
        self._made: dict[int, Tensor] = {}
        if isinstance(source, (bytes, Tensor)):
            data = _contents(source)
            self.handle = lib.poly_file_read(pointer(data), data.nbytes, kind)
        elif isinstance(source, (str, os.PathLike)):
            os.stat(source)  # Python's own errors for missing files
            self.handle = lib.poly_file_open(os.fsencode(source), kind)
        else:
            raise need_error("fn", source, "a path, bytes or a tensor of uint8")
        if self.handle is None:  # both C functions' parameters, data and path, are fn here
            raise ValueError(re.sub(": (data|path): ", ": fn: ", in_words(last_error()), count=1))

    def __del__(self, _free: Any = lib.poly_file_free) -> None:
        if self.handle is not None:
            _free(self.handle)

    def tensor(self, i: int) -> Tensor:
        """Return tensor i, which shares the memory of the file."""
        sizes, number = (ctypes.c_int64 * MAX_DIMS)(), ctypes.c_int()
        ndim = lib.poly_file_describe(self.handle, i, sizes, MAX_DIMS, ctypes.byref(number))
        shape, dtype = tuple(sizes[:ndim]), BY_ID[number.value]
        quant = lib.poly_file_quant(self.handle, i)
        if not quant:
            return share(Tensor, self._array(i, shape, dtype), dtype, shape)
        blocks = self._array(i, None, dtypes.uint8)
        packed = share(Tensor, blocks, dtypes.uint8)
        return dequantize(packed, prod(shape), quant).reshape(shape)

    def _array(self, i: int, shape: tuple[int, ...] | None, dtype: DType) -> np.ndarray[Any, Any]:
        length = ctypes.c_int64()
        address = lib.poly_file_data(self.handle, i, ctypes.byref(length))
        if address is None:
            if length.value or shape is None or prod(shape):
                fail(ValueError)
            return np.empty(shape, dtype.storage)
        shape = (length.value,) if shape is None else shape
        return np.asarray(Memory(self, address, shape, dtype.storage))

    def tensors(self) -> dict[str, Tensor]:
        """Return all tensors by name."""
        places = range(lib.poly_file_count(self.handle))
        return {lib.poly_file_name(self.handle, i).decode(): self.tensor(i) for i in places}

    def value(self) -> Any:
        """Return the metadata of the file."""
        text = check(lib.poly_file_value(self.handle), ValueError)
        return json.loads(text, object_hook=self._special)

    def _special(self, found: dict[str, Any]) -> Any:
        """Decode an object with one key that begins with $."""
        if len(found) != 1:
            return found
        ((key, value),) = found.items()
        if key == "$tensor":
            if value not in self._made:
                self._made[value] = self.tensor(value)
            return self._made[value]
        return _SPECIAL[key](value) if key in _SPECIAL else found


_SPECIAL: dict[str, Any] = {
    "$float": float,
    "$int": int,
    "$tuple": tuple,
    "$dict": dict,
    "$bytes": base64.b64decode,
}


def _contents(source: bytes | Tensor) -> np.ndarray[Any, Any]:
    if isinstance(source, bytes):
        return np.frombuffer(source, np.uint8)
    if source.dtype != dtypes.uint8 or source.ndim != 1:
        given = f"a tensor of {source.dtype.name} with shape {source.shape}"
        raise wrong("fn", given, "uint8 and one dimension", ArgumentTypeError)
    return np.ascontiguousarray(source.numpy())


def save(
    tensors: Mapping[str, Tensor],
    fn: str | os.PathLike[str],
    metadata: Mapping[str, str] | None,
    max_shard_bytes: int,
) -> int:
    """Write a safetensors file, or shards and their index; return the number of files."""
    need((str, os.PathLike), "fn", fn, "a path")
    # Python's own errors for paths that cannot be written.
    if os.path.isdir(fn):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(fn))
    os.stat(os.path.dirname(os.fspath(fn)) or ".")
    values = list(tensors.values())
    if values:
        values[0].realize(*values[1:])
    arrays = [np.ascontiguousarray(t._data) for t in values]
    shapes = [(ctypes.c_int64 * t.ndim)(*t.shape) for t in values]
    entries = (c.PolyFileTensor * len(values))()
    for entry, name, value, array, shape in zip(entries, tensors, values, arrays, shapes):
        entry.name, entry.data = name.encode(), pointer(array)
        entry.shape, entry.ndim = ctypes.addressof(shape), value.ndim
        entry.dtype = value.dtype.id
    meta = None if metadata is None else json.dumps(dict(metadata)).encode()
    path = os.fsencode(fn)
    n = len(values)
    made = lib.poly_safetensors_save(path, entries, n, meta, max_shard_bytes)
    return int(check(made, ValueError))


SAFETENSORS, GGUF = c.POLY_FILE_SAFETENSORS, c.POLY_FILE_GGUF
TORCH, RAW = c.POLY_FILE_TORCH, c.POLY_FILE_RAW


_DEQUANTIZE = operation("dequantize")


def dequantize(blocks: Tensor, n: int, kind: int) -> Tensor:
    """Return the n numbers of quantized blocks."""
    try:
        return blocks._call1(_DEQUANTIZE, kind, n)
    except TypeError as error:  # the message is about the ggml type of the blocks
        raise ValueError(str(error)) from None
