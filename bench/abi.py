"""A minimal ctypes interface to the C API for the measurements, without the Python binding.

So the figures are those of the library itself, without the overhead of a language binding.
"""

from __future__ import annotations

import ctypes
import math
import mmap
import os
from collections.abc import Sequence
from ctypes import POINTER, byref, c_char_p, c_double, c_int, c_int64, c_size_t, c_void_p
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

LIBRARY = Path(__file__).resolve().parent.parent / "build" / "libpolygrad.so"

DTYPES = {"int32": 6, "float32": 12}
ADD, MUL = 0, 2
SUM, MAX = 0, 2

_HANDLES = POINTER(c_void_p)
_SHAPE = POINTER(c_int64)
_SHAPED = [c_void_p, _SHAPE, c_int]
_VALUES = [_HANDLES, _HANDLES, c_int]
_TARGETS = [_HANDLES, _HANDLES, c_int]
_SHAPE_OUT = [_SHAPE, POINTER(c_int)]
_SIGNATURES: dict[str, tuple[Any, list[Any]]] = {
    "poly_last_error": (c_char_p, []),
    "poly_version": (c_char_p, []),
    "poly_cpu_cache_flush": (None, []),
    "poly_sched_cache_flush": (None, []),
    "poly_ctx_new": (c_void_p, []),
    "poly_ctx_destroy": (None, [c_void_p]),
    "poly_ctx_live_nodes": (c_int64, [c_void_p]),
    "poly_uop_release_n": (None, [c_void_p, _HANDLES, c_int]),
    "poly_buffer_host": (c_void_p, [c_void_p, c_int, _SHAPE, c_int, c_void_p, c_size_t]),
    "poly_binary": (c_void_p, [c_void_p, c_int, c_void_p, c_void_p]),
    "poly_binary_float": (c_void_p, [c_void_p, c_int, c_void_p, c_double, c_int]),
    "poly_relu": (c_void_p, [c_void_p, c_void_p]),
    "poly_gelu": (c_void_p, [c_void_p, c_void_p]),
    "poly_exp": (c_void_p, [c_void_p, c_void_p]),
    "poly_reshape": (c_void_p, [c_void_p, c_void_p, _SHAPE, c_int]),
    "poly_transpose": (c_void_p, [c_void_p, c_void_p, c_int, c_int]),
    "poly_split": (c_int, [c_void_p, c_void_p, _SHAPE, c_int, c_int, _HANDLES]),
    "poly_full": (c_void_p, [c_void_p, _SHAPE, c_int, c_double]),
    "poly_triu": (c_void_p, [c_void_p, c_void_p, _SHAPE, c_int, c_int]),
    "poly_arange_by_id": (c_void_p, [c_void_p, c_int, c_double, c_double, c_double]),
    "poly_gather": (c_void_p, [c_void_p, *_SHAPED, *_SHAPED, *_SHAPE_OUT]),
    "poly_reduce": (c_void_p, [c_void_p, c_int, c_void_p, _SHAPE, c_int, c_int, c_int]),
    "poly_softmax": (c_void_p, [c_void_p, c_void_p, _SHAPE, c_int, c_int]),
    "poly_layernorm_axes": (c_void_p, [c_void_p, *_SHAPED, c_double, c_void_p, c_void_p]),
    "poly_matmul": (c_void_p, [c_void_p, c_void_p, c_void_p]),
    "poly_affine": (c_void_p, [c_void_p, c_void_p, c_void_p, c_void_p]),
    "poly_cross_entropy": (c_void_p, [c_void_p, *_SHAPED, *_SHAPED, c_int, *_SHAPE_OUT]),
    "poly_grad_many": (c_int, [c_void_p, c_void_p, c_void_p, _HANDLES, c_int, _HANDLES]),
    "poly_numel": (c_int64, [c_void_p, c_void_p]),
    "poly_realize_into": (c_int, [c_void_p, *_VALUES, _HANDLES]),
    "poly_update": (c_int, [c_void_p, *_VALUES, _HANDLES, *_TARGETS]),
    "poly_compile_update": (c_void_p, [c_void_p, *_VALUES, *_TARGETS]),
    "poly_step_run": (c_int, [c_void_p, c_void_p, c_int]),
    "poly_step_n_kernels": (c_int, [c_void_p]),
    "poly_step_destroy": (None, [c_void_p]),
}


def load() -> Any:
    """Load the library and declare the functions that are used."""
    library = ctypes.CDLL(os.environ.get("POLYGRAD_LIB", str(LIBRARY)))
    for name, (result, arguments) in _SIGNATURES.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


LIB = load()


def version() -> str:
    """Return the version of the library."""
    text: bytes = LIB.poly_version()
    return text.decode()


def flush() -> None:
    """Clear the caches of compiled programs."""
    LIB.poly_cpu_cache_flush()
    LIB.poly_sched_cache_flush()


class PolygradError(Exception):
    """A call of the library failed."""


def memory(shape: Sequence[int], dtype: Any) -> npt.NDArray[Any]:
    """Return an array of zeros in its own mapping; the system places mappings side by side.

    malloc takes blocks of some megabytes from two distant regions. Kernels of a run address a span
    of 4 GiB, so arrays that are further apart would be copied for every run.
    """
    count = math.prod(shape)
    pages = mmap.mmap(-1, max(count, 1) * np.dtype(dtype).itemsize)
    return np.frombuffer(pages, dtype, count).reshape(shape)


def _dims(values: Sequence[int]) -> Any:
    return (c_int64 * len(values))(*values)


def _handles(values: Sequence[int]) -> Any:
    return (c_void_p * len(values))(*values)


class Graph:
    """A context; its methods take and return handles of nodes."""

    def __init__(self) -> None:
        self.ctx = LIB.poly_ctx_new()
        self._made: list[int] = []
        self._memory: list[npt.NDArray[Any]] = []
        self._steps: list[int] = []

    def close(self) -> None:
        """Destroy the context and its steps."""
        for step in self._steps:
            LIB.poly_step_destroy(step)
        LIB.poly_ctx_destroy(self.ctx)

    def node(self, handle: int | None) -> int:
        """Record a handle for release; raise the library's last error if it is NULL."""
        if not handle:
            raise PolygradError(LIB.poly_last_error().decode())
        self._made.append(handle)
        return handle

    def check(self, status: int) -> None:
        """Raise the library's last error if a call failed."""
        if status != 0:
            raise PolygradError(LIB.poly_last_error().decode())

    def mark(self) -> int:
        """Return a position for release_since."""
        return len(self._made)

    def release_since(self, mark: int) -> None:
        """Release the nodes made since the mark."""
        made = self._made[mark:]
        LIB.poly_uop_release_n(self.ctx, _handles(made), len(made))
        del self._made[mark:]

    def live_nodes(self) -> int:
        """Return the number of live nodes of the context."""
        count: int = LIB.poly_ctx_live_nodes(self.ctx)
        return count

    def tensor(self, array: npt.NDArray[Any]) -> int:
        """Make a buffer that shares the memory of an array."""
        self._memory.append(array)
        dtype = DTYPES[str(array.dtype)]
        shape = _dims(array.shape)
        return self.node(
            LIB.poly_buffer_host(
                self.ctx, dtype, shape, array.ndim, array.ctypes.data, array.nbytes
            )
        )

    def random(self, *shape: int) -> int:
        """Make a buffer of small random float32 numbers."""
        numbers = memory(shape, np.float32)
        np.random.default_rng(len(self._memory)).standard_normal(out=numbers, dtype=np.float32)
        numbers *= 0.1
        return self.tensor(numbers)

    def integers(self, high: int, *shape: int) -> int:
        """Make a buffer of random int32 numbers below high."""
        numbers = memory(shape, np.int32)
        numbers[:] = np.random.default_rng(1).integers(0, high, shape)
        return self.tensor(numbers)

    def add(self, a: int, b: int) -> int:
        """Return a + b."""
        return self.node(LIB.poly_binary(self.ctx, ADD, a, b))

    def mul(self, a: int, b: int) -> int:
        """Return a * b."""
        return self.node(LIB.poly_binary(self.ctx, MUL, a, b))

    def scalar(self, op: int, x: int, value: float) -> int:
        """Return x op value."""
        return self.node(LIB.poly_binary_float(self.ctx, op, x, value, 0))

    def relu(self, x: int) -> int:
        """Return max(x, 0)."""
        return self.node(LIB.poly_relu(self.ctx, x))

    def exp(self, x: int) -> int:
        """Return e to the x."""
        return self.node(LIB.poly_exp(self.ctx, x))

    def gelu(self, x: int) -> int:
        """Return the GELU of x."""
        return self.node(LIB.poly_gelu(self.ctx, x))

    def reshape(self, x: int, *shape: int) -> int:
        """Return x in another shape."""
        return self.node(LIB.poly_reshape(self.ctx, x, _dims(shape), len(shape)))

    def transpose(self, x: int, axis0: int, axis1: int) -> int:
        """Return x with two axes swapped."""
        return self.node(LIB.poly_transpose(self.ctx, x, axis0, axis1))

    def split(self, x: int, sizes: Sequence[int], axis: int) -> list[int]:
        """Return the parts of x along an axis."""
        parts = _handles([0] * len(sizes))
        self.check(LIB.poly_split(self.ctx, x, _dims(sizes), len(sizes), axis, parts))
        return [self.node(part) for part in parts]

    def upper(self, value: float, *shape: int) -> int:
        """Return a strictly upper triangular matrix: the value above the diagonal, 0 elsewhere."""
        full = self.node(LIB.poly_full(self.ctx, _dims(shape), len(shape), value))
        return self.node(LIB.poly_triu(self.ctx, full, None, 0, 1))

    def arange(self, stop: int) -> int:
        """Return the int32 numbers below stop."""
        return self.node(LIB.poly_arange_by_id(self.ctx, DTYPES["int32"], 0.0, float(stop), 1.0))

    def rows(self, table: int, index: int) -> int:
        """Return rows of a table."""
        nodes = LIB.poly_gather(self.ctx, table, None, 0, index, None, 0, None, None)
        return self.node(nodes)

    def reduce(self, op: int, x: int, *axes: int) -> int:
        """Return x reduced over axes, or over all of them."""
        count = len(axes) or -1
        return self.node(LIB.poly_reduce(self.ctx, op, x, _dims(axes), count, 0, 0))

    def softmax(self, x: int) -> int:
        """Return the softmax over the last axis."""
        return self.node(LIB.poly_softmax(self.ctx, x, None, 0, -1))

    def layernorm(self, x: int, weight: int, bias: int) -> int:
        """Return x normalised over the last axis."""
        axes = _dims([-1])
        return self.node(LIB.poly_layernorm_axes(self.ctx, x, axes, 1, 1e-5, weight, bias))

    def matmul(self, a: int, b: int) -> int:
        """Return a @ b."""
        return self.node(LIB.poly_matmul(self.ctx, a, b))

    def affine(self, x: int, weight: int, bias: int | None = None) -> int:
        """Return x @ weight.T + bias."""
        return self.node(LIB.poly_affine(self.ctx, x, weight, bias))

    def cross_entropy(self, scores: int, target: int) -> int:
        """Return the mean cross entropy over the last axis."""
        loss = LIB.poly_cross_entropy(
            self.ctx, scores, None, 0, target, None, 0, -1, None, byref(c_int())
        )
        return self.node(loss)

    def gradients(self, y: int, parameters: Sequence[int]) -> list[int]:
        """Return dy/dp for each parameter."""
        out, n = _handles([0] * len(parameters)), len(parameters)
        self.check(LIB.poly_grad_many(self.ctx, y, None, _handles(parameters), n, out))
        return [self.node(gradient) for gradient in out]

    def addresses(self, count: int) -> list[int]:
        """Return the addresses of the first buffers."""
        return [array.ctypes.data for array in self._memory[:count]]

    def outputs(self, nodes: Sequence[int]) -> Any:
        """Return output buffers for float32 nodes, as run and compile take them."""
        arrays = [memory([LIB.poly_numel(self.ctx, x)], np.float32) for x in nodes]
        self._memory += arrays
        return _handles([a.ctypes.data for a in arrays])

    def run(self, nodes: Sequence[int], data: Any) -> None:
        """Compute nodes into output buffers."""
        n = len(nodes)
        self.check(LIB.poly_realize_into(self.ctx, _handles(nodes), data, n, None))

    def update(self, targets: Sequence[int], values: Sequence[int]) -> None:
        """Replace the contents of buffers by values."""
        n = len(targets)
        self.check(
            LIB.poly_update(self.ctx, None, None, 0, None, _handles(targets), _handles(values), n)
        )

    def compile(self, nodes: Sequence[int], data: Any) -> int:
        """Compile what run would execute into a step, without running it."""
        step = LIB.poly_compile_update(self.ctx, _handles(nodes), data, len(nodes), None, None, 0)
        if not step:
            raise PolygradError(LIB.poly_last_error().decode())
        self._steps.append(step)
        return int(step)

    def run_step(self, step: int) -> None:
        """Run a compiled step."""
        self.check(LIB.poly_step_run(step, None, 0))

    def kernels(self, step: int) -> int:
        """Return the number of kernels of a step."""
        count: int = LIB.poly_step_n_kernels(step)
        return count
