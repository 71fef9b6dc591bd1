"""Measure the overhead from the call to the runnable kernel, and memory over many steps.

overhead.py [WORKLOAD...] [memory]     all workloads without names

Prints one JSON object: {workload: {"cold_ms", "cached_us", "kernels"}, "memory": [...]}.
Cold is building the graph and compiling all of it with empty caches, without running. Cached is
building, looking up and running graphs that were seen before, with kernels too short to matter.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import workloads
from abi import MUL, Graph, flush

COLD_ROUNDS = 7
COLD_SECONDS = 0.7
MEMORY_STEPS = 100_000

COLD: dict[str, Callable[[Graph], workloads.Build]] = {
    "vecadd": workloads.vecadd,
    "softmax": workloads.softmax,
    "matmul": workloads.matmul,
    "mlp": workloads.mlp,
    "gpt": workloads.gpt,
}
# Workloads without a counterpart in tinygrad_overhead.py.
ALONE = {"layernorm": workloads.layernorm, "matmul512": workloads.matmul512}
CACHED = COLD | {"mlp": workloads.small_mlp, "gpt": workloads.small_gpt}


def cold(make: Callable[[Graph], workloads.Build]) -> dict[str, float]:
    """Return the median time of compiling with empty caches.

    Short compilations are repeated often: the first dozen in a process also pays for page faults
    of the growing heap.
    """
    times: list[float] = []
    kernels = 0
    end = time.perf_counter() + COLD_SECONDS
    while len(times) < COLD_ROUNDS or time.perf_counter() < end:
        owner = Graph()  # owns the memory of the outputs
        data = owner.outputs(make(owner)())
        g = Graph()
        build = make(g)
        flush()
        start = time.perf_counter()
        step = g.compile(build(), data)
        times.append(time.perf_counter() - start)
        kernels = g.kernels(step)
        g.close()
        owner.close()
    return {"cold_ms": statistics.median(times) * 1e3, "kernels": kernels}


def cached(make: Callable[[Graph], workloads.Build], seconds: float = 0.7) -> dict[str, float]:
    """Return the median time of building and running with warm caches."""
    g = Graph()
    build = make(g)
    data = g.outputs(build())
    times: list[float] = []
    end = time.perf_counter() + seconds
    while len(times) < 8 or time.perf_counter() < end:
        mark = g.mark()
        start = time.perf_counter()
        g.run(build(), data)
        times.append(time.perf_counter() - start)
        g.release_since(mark)
    g.close()
    return {"cached_us": statistics.median(times[3:]) * 1e6}


def resident_kib() -> int:
    """Return the resident memory of the process."""
    status = Path("/proc/self/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1])


def memory(steps: int) -> list[dict[str, int]]:
    """Train a small model, building every step anew; sample memory over time."""
    g = Graph()
    weight, bias = g.random(1, 4), g.random(1)
    x, y = g.random(8, 4), g.random(8, 1)
    marks = {steps // 10, steps // 4, steps // 2, steps}
    seen = []
    for step in range(1, steps + 1):
        mark = g.mark()
        error = g.add(g.affine(x, weight, bias), g.scalar(MUL, y, -1.0))
        loss = g.reduce(0, g.mul(error, error))
        parameters = [weight, bias]
        gradients = g.gradients(loss, parameters)
        updates = [g.add(p, g.scalar(MUL, d, -0.01)) for p, d in zip(parameters, gradients)]
        g.update(parameters, updates)
        g.release_since(mark)
        if step in marks:
            seen.append(
                {"step": step, "resident_kib": resident_kib(), "live_nodes": g.live_nodes()}
            )
    g.close()
    return seen


def main() -> None:
    """Measure each workload."""
    names = sys.argv[1:] or [*COLD, *ALONE]
    results: dict[str, object] = {}
    for name in names:
        if name == "memory":
            results[name] = memory(MEMORY_STEPS)
        elif name in ALONE:
            results[name] = cold(ALONE[name])
        else:
            results[name] = cold(COLD[name]) | cached(CACHED[name])
    print(json.dumps(results))


if __name__ == "__main__":
    main()
