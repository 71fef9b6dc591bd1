"""Timing of calls in Python."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

NODES, ROUNDS, UNTIMED, SIZE = 100, 1000, 50, 10


def median_us(work: Callable[[], object]) -> float:
    """Return the median time of a call in us, after warm-up."""
    times = []
    for _ in range(ROUNDS + UNTIMED):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times[UNTIMED:]) * 1e6


def node_us(leaf: Callable[[], Any], b: Any) -> float:
    """Return the median time in us of an addition of b, in chains that begin at new leaves."""
    times = []
    for _ in range(ROUNDS + UNTIMED):
        x = leaf()  # new, so that none of the sums is cached
        start = time.perf_counter()
        for _ in range(NODES):
            x = x + b
        times.append((time.perf_counter() - start) / NODES)
    return statistics.median(times[UNTIMED:]) * 1e6
