"""Memory of large results: kept for the next ones, never while somebody can see it."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from polygrad import Tensor
from polygrad.nn import compile_step

# Memory of so many elements is kept for the next results.
N = 2 << 20


def address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


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
    assert any(faults() == 0 for _ in range(10))
