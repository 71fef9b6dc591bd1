"""Compile one task with us, cold, and run it in a process of its own.

python bench/probe.py TASK

Prints one JSON object: {"compile_ms", "kernels", "code_bytes", "arrays_mib", "peak_mib"}.
compile_ms is from the first operation to the runnable program, with empty caches; the median of
some. code_bytes is there if the device writes a perf map, which POLY_PERF=1 asks for. peak_mib is
the peak of resident memory, with Python, numpy and the arrays themselves.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import peers.polygrad as ours
from tasks import BY_NAME, TRAINING_RATE
from worker import peak_mib

from polygrad._library import lib

SECONDS, ROUNDS = 0.5, 5


def code_bytes() -> int | None:
    """Return the size of all machine code compiled so far, by the perf map."""
    path = Path(f"/tmp/perf-{os.getpid()}.map")
    if not path.exists():
        return None
    return sum(int(line.split()[1], 16) for line in path.read_text().splitlines())


def main() -> None:
    """Measure one task."""
    task = BY_NAME[sys.argv[1]]
    parameters, arrays = task.arrays()

    def build() -> Any:
        if parameters:
            run, _ = ours.training(task.program, parameters, arrays, TRAINING_RATE)
            return run
        return ours.program(task.program, arrays)

    times: list[float] = []
    run = size = None
    while len(times) < ROUNDS and (not times or sum(times) < SECONDS):
        run = None  # frees the previous program
        lib.poly_cpu_cache_flush()
        lib.poly_sched_cache_flush()
        start = time.perf_counter()
        run = build()
        times.append(time.perf_counter() - start)
        size = size or code_bytes()
    assert run is not None
    for _ in range(2):
        ours.check(run())
    found: dict[str, float] = {
        "compile_ms": round(statistics.median(times) * 1e3, 3),
        "kernels": run.step.n_kernels,
        "arrays_mib": round(sum(a.nbytes for a in [*parameters, *arrays]) / 2**20, 1),
        "peak_mib": round(peak_mib(), 1),
    }
    if size is not None:
        found["code_bytes"] = size
    print(json.dumps(found))
    Path(f"/tmp/perf-{os.getpid()}.map").unlink(missing_ok=True)


if __name__ == "__main__":
    main()
