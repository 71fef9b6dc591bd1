"""Measure the time to load the library, and memory of small and large workloads.

Prints one JSON object: {"load_ms", "small_mib", "large_mib"}: loading the library and making a
context; resident memory of Python, numpy and the binding after adding 10 numbers; the peak of it
when 1e7 numbers are added. Every figure is of processes of their own.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

LOAD = """
import ctypes, os, time
start = time.perf_counter()
library = ctypes.CDLL(os.environ["POLYGRAD_LIB"])
library.poly_ctx_new.restype = ctypes.c_void_p
assert library.poly_ctx_new()
print((time.perf_counter() - start) * 1e3)
"""
ADD = """
import numpy as np
from pathlib import Path
from polygrad import Tensor
a, b = Tensor(np.ones({n}, np.float32)), Tensor(np.ones({n}, np.float32))
assert (a + b).numpy()[-1] == 2
lines = Path("/proc/self/status").read_text().splitlines()
print(next(int(line.split()[1]) for line in lines if line.startswith("{field}")) / 1024)
"""
ROUNDS = 7


def figure(program: str) -> float:
    """Return the median of the numbers that runs of a program print."""
    command = [sys.executable, "-c", program]
    runs = (subprocess.run(command, check=True, stdout=subprocess.PIPE) for _ in range(ROUNDS))
    return statistics.median(float(run.stdout) for run in runs)


def main() -> None:
    """Measure."""
    root = Path(__file__).resolve().parent.parent
    os.environ.setdefault("POLYGRAD_LIB", str(root / "build" / "libpolygrad.so"))
    results = {
        "load_ms": figure(LOAD),
        "small_mib": figure(ADD.format(n=10, field="VmRSS")),
        "large_mib": figure(ADD.format(n=10_000_000, field="VmHWM")),
    }
    print(json.dumps(results))


if __name__ == "__main__":
    main()
