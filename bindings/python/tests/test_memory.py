"""Memory of large results: kept for the next ones, never while somebody can see it."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from polygrad import Tensor, _memory
from polygrad.nn import compile_step

N = _memory.LARGE // 4


def address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


@pytest.fixture(autouse=True)
def _none_idle():
    gc.collect()
    _memory._idle.clear()


def test_memory_is_used_again():
    first = _memory.empty((N,), np.float32)
    at = address(first)
    del first
    again = _memory.empty((2, N // 2), np.int32)
    assert address(again) == at
    assert again.shape == (2, N // 2)
    assert again.dtype == np.int32
    again[...] = 7
    assert again.sum() == 7 * N


def test_memory_in_use_is_not():
    first = _memory.empty((N,), np.float32)
    view = first[10:20]
    view[:] = 3
    del first
    gc.collect()
    other = _memory.empty((N,), np.float32)
    other[:] = 5
    assert (view == 3).all()
    assert not np.shares_memory(view, other)


def test_small_arrays_are_numpys():
    assert _memory.empty((10,), np.float32).flags.owndata
    assert _memory.empty((0, N), np.float32).shape == (0, N)


def test_what_is_kept_has_a_limit(monkeypatch):
    arrays = [_memory.empty((N,), np.float32) for _ in range(5)]
    size = arrays[0].base._memory.nbytes
    monkeypatch.setattr(_memory, "_LIMIT", 3 * size)
    del arrays
    assert len(_memory._idle[size]) == 3
    larger = _memory.empty((3 * N,), np.float32)
    larger_size = larger.base._memory.nbytes
    del larger
    assert not _memory._idle[size]
    assert len(_memory._idle[larger_size]) == 1


def test_large_arrays_begin_at_huge_pages():
    array = _memory.empty((3 * N + 1,), np.float32)
    array[:] = 1
    assert address(array) % (2 << 20) == 0
    memory = array.base._memory
    assert address(memory) <= address(array)
    assert address(array) + array.nbytes <= address(memory) + memory.nbytes


def test_results_of_tensors():
    a = Tensor(np.arange(N, dtype=np.float32))
    seen = set()
    for k in range(6):
        result = (a + float(k)).realize()
        values = result.numpy()
        assert values[0] == k
        assert values[-1] == N - 1 + k
        seen.add(address(values))
        del result, values
        gc.collect()
    assert len(seen) < 6


def test_results_stay_apart():
    a = Tensor(np.ones(N, np.float32))
    results = [(a * float(k)).realize() for k in range(4)]
    for k, result in enumerate(results):
        assert (result.numpy() == k).all()


def test_steps_touch_no_fresh_memory():
    resource = pytest.importorskip("resource")
    a = Tensor(np.ones((2048, 1024), np.float32))
    step = compile_step(lambda x: (x @ x.transpose(0, 1)).softmax() @ x, a)

    def faults():
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        step.run()
        return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

    # The 16 MiB of the scores are 4096 small pages, or 8 huge ones. Threads may begin late.
    assert min(faults() for _ in range(10)) == 0
