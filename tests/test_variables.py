"""Batches whose size is a variable: one program, compiled once, for every size."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from raw import OPS, Array, Raw, dims

from polygrad._library import last_error, lib

if TYPE_CHECKING:
    from collections.abc import Callable

RNG = np.random.default_rng(4)
MOST = 16
ADD, SUB, MUL = OPS["ADD"], OPS["SUB"], OPS["MUL"]


class DType(ctypes.Structure):
    """A PolyDType, which poly_buffer_var takes by value."""

    _fields_ = (
        ("priority", ctypes.c_int8),
        ("bitsize", ctypes.c_uint16),
        ("name", ctypes.c_char_p),
        ("fmt", ctypes.c_char),
        ("count", ctypes.c_uint16),
        ("is_ptr", ctypes.c_bool),
        ("addrspace", ctypes.c_int32),
        ("vcount", ctypes.c_uint16),
        ("ptr_size", ctypes.c_int64),
    )


FLOAT32 = DType(13, 32, b"float", b"f", 1, False, 0, 1, -1)
buffer_var = ctypes.CDLL(lib._name).poly_buffer_var
buffer_var.restype = ctypes.c_void_p
buffer_var.argtypes = (ctypes.c_void_p, DType, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int)


class VarBinding(ctypes.Structure):
    _fields_ = (("var", ctypes.c_void_p), ("value", ctypes.c_int32))


class Batch(Raw):
    """A context with a variable n from 1 to 16 and tensors of n rows."""

    def __init__(self) -> None:
        super().__init__()
        self.n = self.define_var(b"n", 1, MOST)

    def rows(self, array: Array, size: int | None = None) -> int:
        inner = array.shape[1:]
        buffer: int = buffer_var(self.ctx, FLOAT32, size or self.n, dims(*inner), len(inner))
        assert buffer, last_error()
        self.memory[buffer] = array
        return buffer

    def run_with(self, n: int | None, *writes: int) -> int:
        bound, value = self.bindings(), VarBinding(self.n, n or 0)
        records = ctypes.cast(bound, ctypes.c_void_p)
        given = (None, 0) if n is None else (ctypes.addressof(value), 1)
        sink = self.sink(*writes)
        status: int = lib.poly_realize_ex(self.ctx, sink, records, len(bound), *given)
        return status


def normal(*shape: int) -> Array:
    return RNG.normal(size=shape).astype(np.float32)


X, W = normal(MOST, 4), normal(4, 3)
# name: (graph of x and w, the same in numpy)
PROGRAMS: dict[str, tuple[Callable[..., int], Callable[..., Any]]] = {
    "exp": (lambda r, x, _: r.exp(x), lambda x, _: np.exp(x)),
    "matmul": (lambda r, x, w: r.matmul(x, w), lambda x, w: x @ w),
    "softmax": (
        lambda r, x, _: r.softmax(x, None, 0, 1),
        lambda x, _: np.exp(x) / np.exp(x).sum(1, keepdims=True),
    ),
    "sum of rows": (lambda r, x, _: r.reduce(0, x, dims(1), 1, 0, 0), lambda x, _: x.sum(1)),
    "sum of columns": (lambda r, x, _: r.reduce(0, x, dims(0), 1, 0, 0), lambda x, _: x.sum(0)),
    "maximum": (lambda r, x, _: r.reduce(2, x, None, -1, 0, 0), lambda x, _: x.max()),
    "mean": (lambda r, x, _: r.reduce(4, x, None, -1, 0, 0), lambda x, _: x.mean()),
    "variance": (lambda r, x, _: r.reduce(10, x, dims(0), 1, 0, 0), lambda x, _: x.var(0)),
    "gradient": (
        lambda r, x, w: r.grad(r.reduce(4, r.square(r.matmul(x, w)), None, -1, 0, 0), w),
        lambda x, w: x.T @ (2 * (x @ w) / (len(x) * 3)),
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_batches(name: str) -> None:
    graph, reference = PROGRAMS[name]
    raw = Batch()
    node = graph(raw, raw.rows(X), raw.input(W))
    shape = raw.shape(node)
    variable = shape[:1] == (MOST,)
    targets = {"variable": np.full(shape, -7, np.float32), "fixed": np.full(shape, -7, np.float32)}
    writes = [raw.store_val(raw.flat(targets["fixed"]), node)]
    targets["fixed"] = list(raw.memory.values())[-1]
    if variable:
        writes.append(raw.store_val(raw.rows(targets["variable"]), node))
    for n in (1, 5, MOST, 2):
        assert raw.run_with(n, *writes) == 0, last_error()
        want = reference(X[:n], W)
        for kind in ("fixed", "variable") if variable else ("fixed",):
            out = targets[kind].reshape(shape)
            if variable:
                np.testing.assert_allclose(out[:n], want, rtol=1e-4, atol=1e-5)
                # What lies behind the batch is not touched.
                assert (out[n:] == -7).all()
                out[:] = -7
            else:
                np.testing.assert_allclose(out, want, rtol=1e-4, atol=1e-5)


def test_defaults_and_what_is_missing() -> None:
    raw = Batch()
    out = np.zeros(1, np.float32)
    x = raw.rows(np.ones((MOST, 2), np.float32), raw.bind_var(raw.n, 3))
    write = raw.store_val(raw.flat(out), raw.reduce(0, x, None, -1, 0, 0))
    out = list(raw.memory.values())[-1]
    assert raw.run_with(None, write) == 0
    assert out[0] == 6
    assert raw.run_with(8, write) == 0
    assert out[0] == 16
    for bad in (0, MOST + 1):
        assert raw.run_with(bad, write) == -1
        assert "n" in last_error()
    other = Batch()
    x = other.rows(np.ones((MOST, 2), np.float32))
    write = other.store_val(other.flat(np.zeros(1, np.float32)), other.reduce(0, x, None, -1, 0, 0))
    assert other.run_with(None, write) == -1
    assert "poly_realize_ex" in last_error()


def test_a_step_learns_from_batches_of_any_size() -> None:
    raw = Batch()
    x, y = np.zeros((MOST, 4), np.float32), np.zeros((MOST, 1), np.float32)
    truth, weight = normal(4, 1), np.zeros((4, 1), np.float32)
    w = raw.input(weight)
    error = raw.alu2(SUB, raw.matmul(raw.rows(x), w), raw.rows(y))
    loss = raw.reduce(4, raw.square(error), None, -1, 0, 0)
    flat = next(b for b, a in raw.memory.items() if a is weight)
    loss_at, grad_at = ctypes.c_int(), ctypes.c_int()
    parameters = (ctypes.c_void_p * 1)(flat)
    step = raw.compile_value_and_grad(
        loss, parameters, 1, ctypes.byref(loss_at), ctypes.byref(grad_at)
    )
    value, grad = np.zeros(1, np.float32), np.zeros(4, np.float32)
    known = {b: a.ctypes.data for b, a in raw.memory.items()}
    pointers = (ctypes.c_void_p * lib.poly_step_n_buffers(step))()
    base = {lib.poly_step_buf_uop(step, i): i for i in range(len(pointers))}
    pointers[loss_at.value], pointers[grad_at.value] = value.ctypes.data, grad.ctypes.data
    sizes = {int(np.prod(a.shape)): a for a in (x, y)}
    for node, i in base.items():
        if node in known:
            pointers[i] = known[node]
        elif node and i not in (loss_at.value, grad_at.value):
            pointers[i] = sizes[lib.poly_numel(raw.ctx, node)].ctypes.data
    for k in range(400):
        n = 1 + k % MOST
        x[:n] = normal(n, 4)
        x[n:] = np.nan  # is not read
        y[:n] = x[:n] @ truth
        binding = VarBinding(raw.n, n)
        assert (
            lib.poly_step_run_indexed_ex(
                step, pointers, len(pointers), ctypes.addressof(binding), 1
            )
            == 0
        ), last_error()
        want = ((x[:n] @ weight - y[:n]) ** 2).mean()
        np.testing.assert_allclose(value[0], want, rtol=1e-4, atol=1e-7)
        weight -= 0.05 * grad.reshape(4, 1)
    np.testing.assert_allclose(weight, truth, atol=1e-2)
    lib.poly_step_destroy(step)
