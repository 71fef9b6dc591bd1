"""Files of a task's results in each framework, compared elementwise.

A result has a name: "output 0", after a training step "loss 1", "gradient 0", "weight 0".
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

# Tolerances against a peer's value: relative to it, and to the result's largest magnitude.
SLACK = {
    "float32": (1e-3, 2e-4),
    "float16": (4e-3, 2e-3),
    "bfloat16": (2e-2, 8e-3),
    "int8": (0.0, 0.0),
}
ROUNDINGS = 4  # rounding error of an updated weight, in units of the last place
CHUNK = 1 << 22


def save(folder: Path, name: str, value: Any) -> None:
    """Save a result."""
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / f"{name}.npy", np.asarray(value))


def names(folder: Path) -> set[str]:
    """Return the names of the results in a folder."""
    return {path.stem for path in folder.glob("*.npy")}


def _load(folder: Path, name: str) -> Array:
    array: Array = np.load(folder / f"{name}.npy", mmap_mode="r")
    return array


def difference(
    ours: Path, theirs: Path, numbers: str = "float32", before: Sequence[Array] = ()
) -> str:
    """Describe the first difference from a peer's results, "" if they agree.

    Weights are compared by their updates, which are far smaller than the weights.
    A peer need not have gradients: the updates of its weights show them.
    """
    here, there = names(ours), names(theirs)
    optional = {name for name in here if name.startswith("gradient")}
    if here - there - optional or there - here:
        return f"results {', '.join(sorted(here))}, the peer has {', '.join(sorted(there))}"
    for name in sorted(here & there):
        start = before[int(name.split()[1])] if name.startswith("weight") else None
        found = _compare(_load(ours, name), _load(theirs, name), numbers, start)
        if found:
            return f"{name}: {found}"
    return ""


def _compare(ours: Array, theirs: Array, numbers: str, before: Array | None) -> str:
    if ours.size != theirs.size or ours.squeeze().shape != theirs.squeeze().shape:
        return f"shape {ours.shape}, the peer's is {theirs.shape}"
    a, b = ours.reshape(-1), theirs.reshape(-1)
    start = None if before is None else before.reshape(-1)
    pieces = [slice(i, i + CHUNK) for i in range(0, a.size, CHUNK)]

    def changes(values: Array, piece: slice) -> Array:
        part = values[piece].astype(np.float64)
        return part if start is None else part - start[piece]

    largest = max((_magnitude(changes(b, piece)) for piece in pieces), default=0.0)
    relative, share = SLACK[numbers]
    slack = share * largest
    if start is not None:
        slack += ROUNDINGS * float(np.finfo(np.float32).eps) * _magnitude(start)
    wrong, first = 0, ""
    for piece in pieces:
        got, want = changes(a, piece), changes(b, piece)
        bad = ~np.isclose(got, want, rtol=relative, atol=slack, equal_nan=True)
        if bad.any() and not wrong:
            at = int(np.argmax(bad))
            first = f"number {piece.start + at} is {got[at]:g}, the peer's {want[at]:g}"
        wrong += int(bad.sum())
    return f"{wrong} of {a.size} values differ, {first}" if wrong else ""


def _magnitude(values: Array) -> float:
    finite = np.abs(values[np.isfinite(values)])
    return float(finite.max()) if finite.size else 0.0
