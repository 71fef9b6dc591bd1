"""Measure compiled kernels against the loops that gcc makes, in one process, turn by turn.

kernels.py [matmul]     all of it, or the matrix product alone

Prints one JSON object: {"kernels": {name: {"ours_us", "gcc_us", "bytes"}}, "call": the same for
4 elements, "matmul_512_gflops": ...}. Both run on the same arrays, and on one core when the
process is bound to one (run.py does that); then what counts is the processor time of the thread,
which other programs do not disturb. gcc may reorder sums (-ffast-math): it would not
vectorise them otherwise; exp is then glibc's vector function.
"""

from __future__ import annotations

import ctypes
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import workloads
from abi import ADD, MAX, MUL, SUM, Graph

HERE = Path(__file__).resolve().parent
BUILD = HERE.parent / "build"
SIZES = {"L1": 2048, "L2": 65536, "memory": 1 << 22}
ROW = 1024
ROUNDS = 25

Make = Callable[[Graph, int, int, int], int]


def chain5(g: Graph, a: int, b: int, _n: int) -> int:
    """((a + b) * a - b) * 0.5 + 1."""
    difference = g.add(g.mul(g.add(a, b), a), g.scalar(MUL, b, -1.0))
    return g.scalar(ADD, g.scalar(MUL, difference, 0.5), 1.0)


KERNELS: dict[str, tuple[Make, int]] = {
    "add": (lambda g, a, b, n: g.add(a, b), 3),
    "chain5": (chain5, 3),
    "exp": (lambda g, a, b, n: g.exp(a), 2),
    "relu_scale": (lambda g, a, b, n: g.mul(g.relu(a), b), 3),
    "sum": (lambda g, a, b, n: g.reduce(SUM, a), 1),
    "max": (lambda g, a, b, n: g.reduce(MAX, a), 1),
    "dot": (lambda g, a, b, n: g.reduce(SUM, g.mul(a, b)), 2),
    "row_sum": (lambda g, a, b, n: g.reduce(SUM, g.reshape(a, n // ROW, ROW), 1), 1),
}


def loops() -> Any:
    """Compile the loops in C."""
    BUILD.mkdir(exist_ok=True)
    library = BUILD / "libloops.so"
    flags = ["-O3", "-msse4.2", "-ffast-math", "-shared", "-fPIC"]
    source = str(HERE / "loops" / "loops.c")
    subprocess.run(["gcc", *flags, source, "-o", str(library), "-lm"], check=True)
    return ctypes.CDLL(str(library))


ONE_CORE = len(os.sched_getaffinity(0)) == 1
clock = time.thread_time if ONE_CORE else time.perf_counter


def per_call(work: Callable[[], object], seconds: float = 0.01) -> float:
    """Return the time of one call in seconds, over enough calls to fill the time."""
    calls = 1
    while True:
        start = clock()
        for _ in range(calls):
            work()
        spent = clock() - start
        if spent >= seconds / 4:
            return spent / calls
        calls *= 4


def by_turns(ours: Callable[[], object], theirs: Callable[[], object]) -> tuple[float, float]:
    """Time both alternately, so that what disturbs one disturbs the other; medians."""
    pairs = [(per_call(ours), per_call(theirs)) for _ in range(ROUNDS)]
    return statistics.median(p[0] for p in pairs), statistics.median(p[1] for p in pairs)


def compare(library: Any, name: str, n: int) -> dict[str, float]:
    """Measure one kernel on n elements."""
    make, streams = KERNELS[name]
    g = Graph()
    a, b = g.random(n), g.random(n)
    node = make(g, a, b, n)
    data = g.outputs([node])
    step = g.compile([node], data)
    function = getattr(library, f"loop_{name}")
    pointers = [ctypes.c_void_p(x) for x in (data[0], *g.addresses(2))]
    arguments = (*pointers, ctypes.c_long(n))
    ours, theirs = by_turns(lambda: g.run_step(step), lambda: function(*arguments))
    g.close()
    return {"ours_us": ours * 1e6, "gcc_us": theirs * 1e6, "bytes": streams * n * 4}


def matmul_gflops(n: int) -> float:
    """Return the speed of an n x n float32 matrix product."""
    g = Graph()
    node = workloads.matmul(g, n)()[0]
    step = g.compile([node], g.outputs([node]))
    seconds = statistics.median(per_call(lambda: g.run_step(step), 0.1) for _ in range(ROUNDS))
    g.close()
    return 2 * n**3 / seconds / 1e9


def main() -> None:
    """Measure everything."""
    results: dict[str, object] = {}
    if "matmul" not in sys.argv[1:]:
        library = loops()
        results["call"] = compare(library, "add", 4)
        results["kernels"] = {
            f"{name}, {place}": compare(library, name, n)
            for name in KERNELS
            for place, n in SIZES.items()
        }
    results["matmul_512_gflops"] = matmul_gflops(512)
    print(json.dumps(results))


if __name__ == "__main__":
    main()
