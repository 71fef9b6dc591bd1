"""Measure the product of two 512x512 float32 matrices with numpy, on one core.

Prints one JSON object: {"gflops"}; the time is the processor time of the thread.
"""

from __future__ import annotations

import json
import os
import statistics
import time

os.environ["OPENBLAS_NUM_THREADS"] = "1"
import numpy as np

SIZE, ROUNDS = 512, 31


def main() -> None:
    """Print the median speed."""
    a = np.random.default_rng(0).random((SIZE, SIZE), dtype=np.float32)
    times = []
    for _ in range(ROUNDS):
        start = time.thread_time()
        a @ a
        times.append(time.thread_time() - start)
    print(json.dumps({"gflops": 2 * SIZE**3 / statistics.median(times) / 1e9}))


if __name__ == "__main__":
    main()
