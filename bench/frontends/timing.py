"""How calls are timed in Python."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

NODES, ROUNDS, UNTIMED, SIZE = 100, 1000, 50, 10


def median_us(work: Callable[[], object]) -> float:
    """Return the median time of a call in us, without the first ones."""
    times = []
    for _ in range(ROUNDS + UNTIMED):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times[UNTIMED:]) * 1e6


def node_us(leaf: Callable[[], Any], b: Any) -> float:
    """Return the median time of an addition of b in us, in chains that begin at new leaves."""
    times = []
    for _ in range(ROUNDS + UNTIMED):
        x = leaf()  # a new one: so the sums are new too
        start = time.perf_counter()
        for _ in range(NODES):
            x = x + b
        times.append((time.perf_counter() - start) / NODES)
    return statistics.median(times[UNTIMED:]) * 1e6
