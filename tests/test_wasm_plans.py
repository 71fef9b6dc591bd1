"""WASM step plans run in a host that knows nothing of the library: Node's WebAssembly."""

from __future__ import annotations

import base64
import ctypes
import json
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from raw import OPS, Raw, dims

from polygrad._library import lib

if TYPE_CHECKING:
    from collections.abc import Callable

NODE = shutil.which("node")
HOST = Path(__file__).parent / "wasm_host.cjs"
RNG = np.random.default_rng(0)


def text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def in_node(raw: Raw, plan: int, folder: Path, runs: int) -> dict[int, bytes]:
    """Run a plan in Node and return the bytes of every bindable buffer by its node."""
    length, count = ctypes.c_int(), ctypes.c_int()
    order = lib.poly_wasm_stepplan_exec_order(plan, ctypes.byref(count))
    order = ctypes.cast(order, ctypes.POINTER(ctypes.c_int))[: count.value]
    assert sorted(order) == list(range(lib.poly_wasm_stepplan_n_kernels(plan)))
    module = lib.poly_wasm_stepplan_kernel_bytes(plan, order[0], ctypes.byref(length))
    bindable = lib.poly_wasm_stepplan_n_bindable_buffers(plan)
    nodes = [lib.poly_wasm_stepplan_buf_uop(plan, i) for i in range(bindable)]
    buffers: list[dict[str, Any]] = []
    for i in range(lib.poly_wasm_stepplan_n_buffers(plan)):
        buffers.append({"nbytes": lib.poly_wasm_stepplan_buf_nbytes(plan, i)})
        if i < bindable:
            array = raw.memory[nodes[i]]
            assert buffers[i]["nbytes"] == array.nbytes
            assert lib.poly_wasm_stepplan_buf_size(plan, i) == array.size
            buffers[i]["data"] = text(array.tobytes())
    kernels = [
        [
            lib.poly_wasm_stepplan_kernel_param_buf_index(plan, k, i)
            for i in range(lib.poly_wasm_stepplan_kernel_n_params(plan, k))
        ]
        for k in range(len(order))
    ]
    file = folder / "plan.json"
    content = {
        "module": text(ctypes.string_at(module, length.value)),
        "buffers": buffers,
        "kernels": kernels,
        "order": order,
        "runs": runs,
    }
    file.write_text(json.dumps(content))
    done = subprocess.run(
        [str(NODE), str(HOST), str(file)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return {node: base64.b64decode(b) for node, b in zip(nodes, json.loads(done.stdout))}


def values(*shape: int) -> Any:
    return RNG.normal(size=shape).astype(np.float32)


def out(raw: Raw, x: int, n: int, dtype: str = "float32") -> int:
    write: int = raw.store_val(raw.flat(np.zeros(n, dtype)), x)
    return write


def softmax(raw: Raw) -> list[int]:
    return [out(raw, raw.softmax(raw.input(values(5, 33)), None, 0, 1), 165)]


def network(raw: Raw) -> list[int]:
    """Two layers, the loss and one step of gradient descent."""
    x, y = raw.input(values(16, 20)), raw.input(values(16, 3))
    a, b = raw.input(values(20, 32)), raw.input(values(32, 3))
    h = raw.tanh_act(raw.matmul(x, a))
    error = raw.square(raw.alu2(OPS["SUB"], raw.matmul(h, b), y))
    loss = raw.reduce(4, error, None, -1, 0, 0)
    writes = [out(raw, loss, 1)]
    for parameter in (a, b):
        step = raw.alu2(OPS["MUL"], raw.grad(loss, parameter), raw.const_float(0.1))
        writes.append(raw.assign(parameter, raw.alu2(OPS["SUB"], parameter, step)))
    return writes


def adam(raw: Raw) -> list[int]:
    """Moments that later assignments read."""
    p, m, v = (raw.input(values(100)) for _ in range(3))
    grad = raw.grad(raw.sum_reduce(raw.square(p), dims(100), 1, 0, 0, None, None), p)
    half = raw.const_float(0.5)
    m_new = raw.alu2(OPS["ADD"], raw.alu2(OPS["MUL"], m, half), raw.alu2(OPS["MUL"], grad, half))
    v_new = raw.alu2(OPS["ADD"], raw.alu2(OPS["MUL"], v, half), raw.square(grad))
    change = raw.alu2(OPS["MUL"], m, raw.rsqrt(raw.alu2(OPS["ADD"], raw.abs(v), half)))
    return [
        raw.assign(m, m_new),
        raw.assign(v, v_new),
        raw.assign(p, raw.alu2(OPS["SUB"], p, change)),
    ]


def functions(raw: Raw) -> list[int]:
    x = raw.input(values(77))
    wide = raw.input(RNG.uniform(0.1, 9, 31))
    return [
        out(raw, raw.sin(raw.exp(x)), 77),
        out(raw, raw.erfinv(raw.tanh_act(x)), 77),
        out(raw, raw.lgamma(wide), 31, "float64"),
    ]


def types(raw: Raw) -> list[int]:
    i = raw.input(RNG.integers(-100, 100, (4, 9)))
    h = raw.input(values(40).astype(np.float16))
    return [
        out(raw, raw.reduce(0, i, dims(1), 1, 0, 0), 4, "int64"),
        out(raw, raw.square(h), 40, "float16"),
        out(raw, raw.rand(dims(50), 1, 7), 50),
    ]


def copies(raw: Raw) -> list[int]:
    """Whole buffers that change places: what is stored is what was there before."""
    a, b = raw.flat(values(30)), raw.flat(values(30))
    return [raw.store_val(a, b), raw.store_val(b, a), out(raw, a, 30), out(raw, raw.exp(b), 30)]


@pytest.mark.skipif(NODE is None, reason="Node is not installed")
@pytest.mark.parametrize("program", [softmax, network, adam, functions, types, copies])
@pytest.mark.parametrize("runs", [1, 3])
def test_plan_runs_in_node(program: Callable[[Raw], list[int]], runs: int, tmp_path: Path) -> None:
    raw = Raw()
    writes = program(raw)
    plan = raw.render_step_wasm_plan(raw.sink(*writes))
    try:
        got = in_node(raw, plan, tmp_path, runs)
    finally:
        lib.poly_wasm_stepplan_destroy(plan)
    assert set(got) == set(raw.memory)
    for _ in range(runs):
        raw.run(*writes)
    for node, data in got.items():
        array = raw.memory[node]
        result = np.frombuffer(data, array.dtype)
        tolerance = 1e-3 if array.dtype == np.float16 else 2e-5
        np.testing.assert_allclose(result, array.ravel(), rtol=tolerance, atol=tolerance)
        assert np.abs(result.astype(np.float64)).sum() > 0


@pytest.mark.skipif(NODE is None, reason="Node is not installed")
def test_one_kernel_runs_in_node(tmp_path: Path) -> None:
    raw = Raw()
    x, y = values(40), values(40)
    a, b, sum_at = raw.flat(x), raw.flat(y), raw.flat(np.zeros(40, np.float32))
    sink = raw.sink(raw.store_val(sum_at, raw.alu2(OPS["ADD"], raw.exp(a), b)))
    length, count = ctypes.c_int(), ctypes.c_int()
    module = raw.render_kernel_wasm(sink, ctypes.byref(length), ctypes.byref(count))
    nodes = [raw.kernel_buf(i) for i in range(count.value)]
    assert set(nodes) == {a, b, sum_at}
    content = {
        "module": text(ctypes.string_at(module, length.value)),
        "buffers": [{"nbytes": 160, "data": text(raw.memory[n].tobytes())} for n in nodes],
        "kernels": [list(range(count.value))],
        "order": [0],
        "runs": 1,
    }
    libc = ctypes.CDLL(None)
    libc.free.argtypes = [ctypes.c_void_p]
    libc.free(module)
    file = tmp_path / "kernel.json"
    file.write_text(json.dumps(content))
    done = subprocess.run(
        [str(NODE), str(HOST), str(file)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    data = base64.b64decode(json.loads(done.stdout)[nodes.index(sum_at)])
    np.testing.assert_allclose(np.frombuffer(data, np.float32), np.exp(x) + y, rtol=1e-5)


def test_buffers_of_a_plan() -> None:
    raw = Raw()
    x, y = raw.flat(values(8)), raw.flat(values(8))
    plan = raw.render_step_wasm_plan(raw.sink(raw.store_val(y, raw.exp(x))))
    assert {lib.poly_wasm_stepplan_buf_uop(plan, i) for i in range(2)} == {x, y}
    assert lib.poly_wasm_stepplan_buf_uop(plan, 2) is None
    assert lib.poly_wasm_stepplan_buf_uop(plan, -1) is None
    lib.poly_ctx_destroy(raw.ctx)
    assert lib.poly_wasm_stepplan_buf_uop(plan, 0) is None
    lib.poly_wasm_stepplan_destroy(plan)
