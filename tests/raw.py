"""The C interface as a frontend of the original library uses it."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from polygrad._library import last_error, lib

Array = np.ndarray[Any, Any]

DTYPES = {
    name: lib.poly_dtype_id_parse(name.encode())
    for name in ("bool", "int8", "uint8", "int32", "int64", "float16", "float32", "float64")
}
OPS = {lib.poly_op_name(i).decode(): i for i in range(lib.poly_op_count())}


def dims(*sizes: int) -> Any:
    return (ctypes.c_int64 * len(sizes))(*sizes)


def pairs(*bounds: tuple[int, int]) -> Any:
    return (ctypes.c_int64 * (2 * len(bounds)))(*[n for pair in bounds for n in pair])


class Binding(ctypes.Structure):
    """A PolyBufferBinding of 32 bytes."""

    _fields_ = (
        ("buffer", ctypes.c_void_p),
        ("ptr", ctypes.c_void_p),
        ("nbytes", ctypes.c_size_t),
        ("domain", ctypes.c_int32),
        ("owned", ctypes.c_bool),
    )


class Raw:
    """A context with buffers that are bound when a program runs.

    raw.exp(x) is poly_exp(ctx, x), and so on; NULL raises the library's error.
    """

    def __init__(self) -> None:
        self.ctx = lib.poly_ctx_new()
        self.memory: dict[int, Array] = {}

    def __del__(self) -> None:
        lib.poly_ctx_destroy(self.ctx)

    def __getattr__(self, name: str) -> Any:
        function = getattr(lib, "poly_" + name)

        def call(*arguments: Any) -> Any:
            result = function(self.ctx, *arguments)
            if result is None:
                raise RuntimeError(last_error())
            return result

        return call

    def flat(self, array: Array) -> int:
        """Return a BUFFER that stands for an array."""
        array = np.ascontiguousarray(array)
        buffer: int = self.buffer_by_id(array.size, DTYPES[array.dtype.name])
        self.memory[buffer] = array
        return buffer

    def input(self, values: Any) -> int:
        """Return a node of the shape of an array (float32 if it is a list)."""
        array = np.asarray(values, None if isinstance(values, np.ndarray) else np.float32)
        node: int = self.reshape(self.flat(array), dims(*array.shape), array.ndim)
        return node

    def shape(self, x: int) -> tuple[int, ...]:
        sizes = dims(*[0] * 16)
        return tuple(sizes[: lib.poly_shape(self.ctx, x, sizes, 16)])

    def sink(self, *writes: int) -> int:
        node: int = self.sink_n((ctypes.c_void_p * len(writes))(*writes), len(writes))
        return node

    def bindings(self) -> Any:
        records = (Binding * len(self.memory))()
        for record, (buffer, array) in zip(records, self.memory.items()):
            record.buffer, record.ptr = buffer, array.ctypes.data
        return records

    def run(self, *writes: int) -> None:
        """Realize a program on the memory of all buffers."""
        bound = self.bindings()
        if (
            lib.poly_realize(
                self.ctx, self.sink(*writes), ctypes.cast(bound, ctypes.c_void_p), len(bound)
            )
            != 0
        ):
            raise RuntimeError(last_error())

    def value(self, x: int, *shape: int, dtype: str = "float32") -> Array:
        """Realize a node into a buffer of the shape that the frontend believes it has."""
        out = np.zeros(shape, dtype)
        target = self.flat(out)
        try:
            self.run(self.store_val(target, x))
        finally:
            del self.memory[target]
        return out
