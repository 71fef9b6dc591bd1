"""Seeds of random tensors.

Each random tensor has a seed of its own: after manual_seed(s) the first one uses s, the next
s + 1, and so on. A seed is a leaf of the graph, so that programs which differ only in it are
compiled once.
"""

from __future__ import annotations

import os
import threading
from operator import index
from typing import Any

import numpy as np

from polygrad._graph import Node, leaf
from polygrad.dtype import dtypes

_lock = threading.Lock()
_next = int.from_bytes(os.urandom(8), "little")
_recorders: list[list[np.ndarray[Any, Any]]] = []


def set_seed(seed: int) -> None:
    """Make the next random tensor use a seed."""
    global _next
    seed = index(seed)
    with _lock:
        _next = seed % 2**64


def next_seed() -> Node:
    """Return a leaf of two uint32, the low and the high word of the next seed."""
    global _next
    with _lock:
        seed = _next
        _next = (_next + 1) % 2**64
    words = np.array([seed & 0xFFFFFFFF, seed >> 32], dtype=np.uint32)
    for recorder in _recorders:
        recorder.append(words)
    return leaf(words, dtypes.uint32)


class record_seeds:
    """A context in which the seeds that are handed out are written down."""

    def __enter__(self) -> list[np.ndarray[Any, Any]]:
        """Start recording."""
        self.seeds: list[np.ndarray[Any, Any]] = []
        _recorders.append(self.seeds)
        return self.seeds

    def __exit__(self, *_: object) -> None:
        """Stop recording."""
        _recorders.remove(self.seeds)


def renew(seeds: list[np.ndarray[Any, Any]]) -> None:
    """Write the next seeds into the memory of seeds that were handed out."""
    global _next
    with _lock:
        for words in seeds:
            words[0] = _next & 0xFFFFFFFF
            words[1] = _next >> 32
            _next = (_next + 1) % 2**64
