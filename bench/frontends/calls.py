"""The overhead of calls in Python, beside numpy, which is eager.

Prints one JSON object: {"python": {"node", "realize", "rerun"}, "numpy": {…}} in us.
"""

from __future__ import annotations

import json
from functools import partial

import numpy as np
from timing import NODES, SIZE, median_us, node_us

from polygrad import Tensor
from polygrad._library import lib
from polygrad.nn import compile_step


def rerun_us(x: Tensor, y: Tensor) -> float:
    """Return the time of rerunning a compiled sum by a call of the library."""
    step = compile_step(lambda a, b: a + b, x, y)
    run = partial(lib.poly_function_rerun, step._function._handle)

    def several() -> None:
        for _ in range(NODES):
            run()

    return median_us(several) / NODES


def main() -> None:
    """Measure both."""
    numbers = np.arange(SIZE, dtype=np.float32)
    x, y = Tensor(numbers), Tensor(numbers.copy())
    results = {
        "python": {
            "node": node_us(lambda: Tensor(numbers.copy()), y),
            "realize": median_us(lambda: (x + y).realize()),
            "rerun": rerun_us(x, y),
        },
        "numpy": {
            "node": node_us(numbers.copy, numbers),
            "realize": median_us(lambda: numbers + numbers),
        },
    }
    print(json.dumps(results))


if __name__ == "__main__":
    main()
