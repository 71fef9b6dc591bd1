"""Overhead of calls in tinygrad. Prints a JSON object: {"tinygrad": {"node", "realize"}} in us.

realize is on the NULL device, whose kernels do nothing.
"""

from __future__ import annotations

import json

from timing import SIZE, median_us, node_us
from tinygrad import Device, Tensor


def main() -> None:
    """Measure both."""
    Device.DEFAULT = "NULL"
    a, b = Tensor.empty(SIZE), Tensor.empty(SIZE)
    results = {
        "node": node_us(lambda: Tensor.empty(SIZE), b),
        "realize": median_us(lambda: (a + b).realize()),
    }
    print(json.dumps({"tinygrad": results}))


if __name__ == "__main__":
    main()
