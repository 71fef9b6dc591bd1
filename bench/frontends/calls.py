"""What calls cost in Python, beside numpy, which computes at once.

Prints one JSON object: {"python": {"node", "realize"}, "numpy": {…}} in us.
"""

from __future__ import annotations

import json

import numpy as np
from timing import SIZE, median_us, node_us

from polygrad import Tensor


def main() -> None:
    """Measure both."""
    numbers = np.arange(SIZE, dtype=np.float32)
    x, y = Tensor(numbers), Tensor(numbers.copy())
    results = {
        "python": {
            "node": node_us(lambda: Tensor(numbers.copy()), y),
            "realize": median_us(lambda: (x + y).realize()),
        },
        "numpy": {
            "node": node_us(numbers.copy, numbers),
            "realize": median_us(lambda: numbers + numbers),
        },
    }
    print(json.dumps(results))


if __name__ == "__main__":
    main()
