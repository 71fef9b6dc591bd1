"""What record.py and compare.py have in common: the inputs of programs, and kernels as text."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
FLOATS = {"float": np.float32, "double": np.float64}
INTEGERS = {
    "char": np.int8,
    "uchar": np.uint8,
    "short": np.int16,
    "ushort": np.uint16,
    "int": np.int32,
    "uint": np.uint32,
    "long": np.int64,
    "ulong": np.uint64,
}
NODE = re.compile(r"\s*\d+ (\S+)\s+(\S+)\s+\[([\d,]*)\] ?(.*?)(?: tag=.*)?$")


def numbers(shape: tuple[int, ...], dtype: str) -> Array:
    """Return the input of a program, for half and bfloat16 in float32."""
    at = np.arange(math.prod(shape)).reshape(shape)
    if dtype == "bool":
        return np.asarray(at % 3 == 0)
    if dtype in INTEGERS:
        return np.asarray(1 + at * 7 % 3, INTEGERS[dtype])
    values = ((37 * at + 11) % 101 - 50) / 16
    return np.asarray(values, FLOATS.get(dtype, np.float32))


def inputs(tensor: Any, wanted: Any) -> list[Any]:
    """Return the inputs as tensors with memory of their own."""
    made = []
    for shape, dtype in wanted:
        x = tensor(numbers(shape, dtype))
        made.append((x.cast(dtype) if dtype in ("half", "bfloat16") else x).contiguous().realize())
    return made


def outputs(result: Any) -> list[Any]:
    """Return what a program returned as a list."""
    return list(result) if isinstance(result, (tuple, list)) else [result]


def canonical(line: str) -> str:
    """Return a node, as it is printed, with numbers in one spelling."""
    found = NODE.match(line)
    if not found:
        raise ValueError(f"no node: {line!r}")
    op, dtype, sources, arg = found.groups()
    if op == "CONST" and arg not in ("true", "false", "Invalid"):
        arg = repr(float(arg))
    return f"{op} {dtype} [{sources}] {arg}".rstrip()
