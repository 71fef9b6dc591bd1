"""Files of NumPy, and the numbers in them.

python arrays.py >arrays.json
"""

from __future__ import annotations

import base64
import io
import json
import unittest.mock
import zipfile
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
    for kind in ("<c8", ">c16"):
        arrays[kind] = np.asfortranarray(rng.random((2, 3)) + 1j * rng.random((2, 3))).astype(kind)

    def text(save: Any, *args: Any, **options: Any) -> str:
        file = io.BytesIO()
        save(file, *args, **options)
        return base64.b64encode(file.getvalue()).decode()

    def listed(v: np.ndarray) -> Any:
        return (
            [[z.real, z.imag] for z in v.ravel().tolist()]
            if v.dtype.kind == "c"
            else v.astype(float).tolist()
        )

    numbers = {k: [list(v.shape), listed(v)] for k, v in arrays.items()}
    files = {k: text(np.save, v) for k, v in arrays.items()}
    some = {k: arrays[k] for k in ("columns", "big", "float16[2, 3]", "bool[3]", "float32[]")}
    archives = [text(np.savez, **some), text(np.savez_compressed, **some)]
    with unittest.mock.patch.multiple(
        zipfile, ZIP64_LIMIT=9, ZIP_FILECOUNT_LIMIT=1
    ):  # as if they were long
        archives.append(text(np.savez, **some))
    print(json.dumps({"numbers": numbers, "files": files, "archives": archives}))


if __name__ == "__main__":
    main()
