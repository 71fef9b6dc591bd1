"""Jobs: computations beside Python, and copies."""

from __future__ import annotations

import ctypes
import gc
import threading
import time
from typing import Any

import numpy as np
import pytest

from polygrad import Tensor
from polygrad._graph import CTX, pointer, pointers
from polygrad._library import fail, last_error, lib
from polygrad.dtype import dtypes

FLOAT = dtypes.float32.id


def slow(n: int = 700) -> tuple[Any, Any]:
    """Return a tensor that takes a while, and its value."""
    x = np.random.default_rng(0).random((n, n), np.float32) / n
    t, want = Tensor(x), x
    for _ in range(4):
        t = t @ Tensor(x) + 1
        want = want @ x + 1
    return t, want


def test_computes_beside_python() -> None:
    slow()[0].realize()  # compiled
    y, want = slow()
    job = y.realize_async()
    other = [Tensor([1.0]) + i for i in range(100)]  # graphs can be built meanwhile
    assert not y.is_realized
    assert job.wait()
    assert job.done()
    np.testing.assert_allclose(y.numpy(), want, rtol=1e-4)
    assert other[7].item() == 8


def test_many_threads_wait() -> None:
    results: list[Any] = []

    def wait(job: Any) -> None:
        try:
            results.append(job.wait())
        except RuntimeError as error:
            results.append(str(error))

    for i in range(30):
        y = Tensor.ones(40, 40).contiguous() @ Tensor.full((40, 40), i).contiguous()
        job = y.realize_async()
        threads = [threading.Thread(target=wait, args=(job,)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert results == [True] * 8
        assert y.is_realized
        assert y[3, 3].item() == 40 * i
        results.clear()


def test_errors_of_jobs_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    job = (Tensor([1.0]) + 1).realize_async()
    lib.poly_job_wait(job._handle, -1)
    monkeypatch.setattr(lib, "poly_job_wait", lambda *_: -1)
    for _ in range(2):
        with pytest.raises(RuntimeError):
            job.wait()


def test_what_runs_later_waits() -> None:
    y, want = slow(300)
    job = y.realize_async()
    # The value is asked for before the job has been waited for: it is computed after it.
    np.testing.assert_allclose((y + 1).numpy(), want + 1, rtol=1e-4)
    assert job.wait(10)
    np.testing.assert_allclose(y.numpy(), want, rtol=1e-4)


def test_gradients_go_through_jobs() -> None:
    x = Tensor([1.0, 2.0], requires_grad=True)
    y = x * x
    y.realize_async().wait()
    (y * 3).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [6.0, 12.0]


def test_dropped_jobs_end_first() -> None:
    before = lib.poly_ctx_live_nodes(CTX)
    for _ in range(20):
        slow(100)[0].realize_async()
    gc.collect()
    Tensor([1.0]).realize_async().wait()  # nothing to do
    assert lib.poly_ctx_live_nodes(CTX) < before + 2000


def test_jobs_of_threads() -> None:
    failures: list[Exception] = []

    def work(i: int) -> None:
        try:
            for k in range(10):
                t = Tensor(np.full(50, i, np.float32)) * k
                assert t.realize_async().wait(60)
                assert t.tolist() == [float(i * k)] * 50
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures


def test_polling() -> None:
    slow(1200)[0].realize()
    y, _ = slow(1200)
    start = time.monotonic()
    job = y.realize_async()
    assert time.monotonic() - start < 30
    while not job.done():
        time.sleep(0.001)
    assert y.is_realized


def tensor_of(array: np.ndarray) -> int:
    shape = (ctypes.c_int64 * array.ndim)(*array.shape)
    handle = lib.poly_from_host(CTX, FLOAT, shape, array.ndim, pointer(array), array.nbytes)
    if handle is None:
        fail()
    return int(handle)


def test_copies() -> None:
    source = np.arange(6, dtype=np.float32).reshape(2, 3)
    x = tensor_of(source)
    source[:] = 0  # a copy was taken
    out = np.empty((2, 3), np.float32)
    assert lib.poly_copy_to_host(CTX, x, pointer(out), out.nbytes) == 0
    assert out.tolist() == [[0, 1, 2], [3, 4, 5]]
    y = lib.poly_square(CTX, x)
    assert lib.poly_copy_to_host(CTX, y, pointer(out), out.nbytes) == 0
    assert out.tolist() == [[0, 1, 4], [9, 16, 25]]
    new = np.full((2, 3), 3, np.float32)
    assert lib.poly_copy_from_host(CTX, x, pointer(new), new.nbytes) == 0
    assert lib.poly_copy_to_host(CTX, y, pointer(out), out.nbytes) == 0
    assert out.tolist() == [[9, 9, 9], [9, 9, 9]]
    assert lib.poly_copy_from_host(CTX, y, pointer(new), new.nbytes) == -1
    assert "buffer" in last_error()
    assert lib.poly_copy_from_host(CTX, x, pointer(new), 20) == -1
    assert "20 bytes" in last_error()
    assert lib.poly_copy_to_host(CTX, x, pointer(out), 20) == -1
    assert "24" in last_error()
    for handle in (x, y):
        lib.poly_uop_release(CTX, handle)
    empty = tensor_of(np.empty((0, 3), np.float32))
    assert lib.poly_copy_to_host(CTX, empty, None, 0) == 0
    lib.poly_uop_release(CTX, empty)


def test_steps_as_jobs() -> None:
    x = tensor_of(np.ones(4, np.float32))
    double = lib.poly_binary_float(CTX, 2, x, 2.0, 0)
    sink = lib.poly_sink1(CTX, lib.poly_assign(CTX, x, double))
    step = lib.poly_compile_step(CTX, sink)
    jobs = [lib.poly_step_run_async(step, None, 0, None, 0) for _ in range(5)]
    out = np.empty(4, np.float32)
    assert lib.poly_copy_to_host(CTX, x, pointer(out), out.nbytes) == 0  # waits for all
    assert out.tolist() == [32.0] * 4
    for job in jobs:
        assert lib.poly_job_wait(job, 0) == 0
        lib.poly_job_release(job)
        assert lib.poly_job_wait(job, 0) == -1
        assert "stale" in last_error()
    lib.poly_step_destroy(step)


def test_a_failing_job_says_why() -> None:
    free = lib.poly_buffer_f32(CTX, 4)
    out = np.empty(4, np.float32)
    values, memory = pointers([lib.poly_exp(CTX, free)]), pointers([pointer(out)])
    job = lib.poly_realize_async(CTX, values, memory, 1, None)
    assert job is not None
    assert lib.poly_job_wait(job, -1) == -1
    assert "not bound" in last_error()
    assert lib.poly_job_wait(job, -1) == -1
    lib.poly_job_release(job)
    with pytest.raises((ValueError, RuntimeError), match="realize_async: values"):
        fail() if lib.poly_realize_async(CTX, None, None, 1, None) is None else None


def test_a_context_waits_for_its_jobs() -> None:
    ctx = lib.poly_ctx_new()
    a = np.random.default_rng(0).random((600, 600), np.float32)
    shape = (ctypes.c_int64 * 2)(600, 600)
    x = lib.poly_from_host(ctx, FLOAT, shape, 2, pointer(a), a.nbytes)
    y = lib.poly_matmul(ctx, lib.poly_matmul(ctx, x, x), x)
    out = np.zeros((600, 600), np.float32)
    job = lib.poly_realize_async(ctx, pointers([y]), pointers([pointer(out)]), 1, None)
    lib.poly_uop_release(ctx, x)  # the job holds the memory
    gc.collect()
    lib.poly_ctx_destroy(ctx)
    np.testing.assert_allclose(out, a @ a @ a, rtol=1e-3)
    assert lib.poly_job_wait(job, 0) == -1
    lib.poly_job_release(job)


def test_build_info() -> None:
    info = dict(part.split("=", 1) for part in lib.poly_build_info().decode().split())
    assert info["version"] == lib.poly_version().decode()
    assert {"go", "os", "arch"} <= set(info)
