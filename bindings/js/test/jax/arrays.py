"""Files of NumPy, and the numbers in them.

python arrays.py >arrays.json
"""

from __future__ import annotations

import base64
import io
import json
from typing import Any

import numpy as np

TYPES = (
    "bool",
    "int8",
    "uint8",
    "int16",
    "uint16",
    "int32",
    "uint32",
    "float16",
    "float32",
    "float64",
)


def main() -> None:
    """Write the cases."""
    rng = np.random.default_rng(0)
    arrays: dict[str, np.ndarray] = {}
    for kind in TYPES:
        for shape in ((), (3,), (2, 3), (0, 2), (2, 2, 2)):
            arrays[f"{kind}{list(shape)}"] = (rng.random(shape) * 9).astype(kind)
    arrays["columns"] = np.asfortranarray(np.arange(24, dtype="float32").reshape(2, 3, 4))
    arrays["big"] = np.arange(5, dtype=">i4")
    arrays["long"] = np.arange(3, dtype="int64")

    def text(save: Any, *args: Any, **options: Any) -> str:
        file = io.BytesIO()
        save(file, *args, **options)
        return base64.b64encode(file.getvalue()).decode()

    numbers = {k: [list(v.shape), v.astype(float).tolist()] for k, v in arrays.items()}
    files = {k: text(np.save, v) for k, v in arrays.items()}
    some = {k: arrays[k] for k in ("columns", "big", "float16[2, 3]", "bool[3]", "float32[]")}
    archives = [text(np.savez, **some), text(np.savez_compressed, **some)]
    print(json.dumps({"numbers": numbers, "files": files, "archives": archives}))


if __name__ == "__main__":
    main()
