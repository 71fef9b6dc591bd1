"""Measure small workloads through the Python binding, where overhead dominates.

Prints one JSON object: {work: microseconds}. Everything is compiled before it is timed.
"""

from __future__ import annotations

import itertools
import json
import statistics
import time
from collections.abc import Callable

import numpy as np

from polygrad import Tensor, TinyJit
from polygrad.nn import SGD, Linear, compile_step, get_parameters

ROUNDS = 2000
UNTIMED = 50


def median_us(work: Callable[[], object]) -> float:
    """Return the median time of a call, after warm-up."""
    times: list[float] = []
    for _ in range(ROUNDS + UNTIMED):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times[UNTIMED:]) * 1e6


class Model:
    """An MLP of two layers."""

    def __init__(self) -> None:
        self.first, self.second = Linear(16, 16), Linear(16, 4)

    def __call__(self, x: Tensor) -> Tensor:
        """Return the logits."""
        return self.second(self.first(x).relu())


def main() -> None:
    """Measure each kind of work."""
    numbers = np.arange(10, dtype=np.float32)
    a, b = Tensor(numbers), Tensor(numbers.copy())
    results = {
        "(a + b).realize(), 10 elements": median_us(lambda: (a + b).realize()),
        "((a + b) * a).sum().item()": median_us(lambda: ((a + b) * a).sum().item()),
    }
    add = TinyJit(lambda x, y: (x + y).realize())
    for _ in range(3):
        add(a, b)
    turns = itertools.cycle([Tensor(numbers.copy()), Tensor(numbers.copy())])
    results["the sum from TinyJit, of the same tensors"] = median_us(lambda: add(a, b))
    results["the sum from TinyJit, of other tensors"] = median_us(lambda: add(next(turns), b))
    model = Model()
    optimizer = SGD(get_parameters(model), lr=0.01)
    x, y = Tensor(np.ones((4, 16), np.float32)), Tensor(np.ones((4, 4), np.float32))

    def train(x: Tensor, y: Tensor) -> Tensor:
        optimizer.zero_grad()
        loss = (model(x) - y).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    results["training step of 16-16-4, built anew"] = median_us(lambda: train(x, y))
    step = TinyJit(train)
    for _ in range(3):
        step(x, y)
    results["the same from TinyJit"] = median_us(lambda: step(x, y))
    results["the same from compile_step"] = median_us(compile_step(train, x, y).run)
    print(json.dumps(results))


if __name__ == "__main__":
    main()
