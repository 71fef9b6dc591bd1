"""Seeds of random tensors.

Random tensors take their words from one stream of the library, whose numbers are tinygrad's. The
seed of a tensor, three words, is a leaf of the graph, so that programs which differ only in it
are compiled once.
"""

from __future__ import annotations

from operator import index
from typing import Any

import numpy as np

from polygrad._graph import Node, leaf
from polygrad._library import fail, lib
from polygrad.dtype import dtypes
from polygrad.variable import SymInt

Seed = tuple[Node, int]  # the leaf, the words that the tensor takes
_recorders: list[list[Seed]] = []


MOST = 1 << 32  # words that a tensor can take


def words_of(shape: tuple[Any, ...], each: int = 4) -> int:
    """Return the words of numbers that take 4, 8 or fewer bytes each.

    An axis of symbolic size takes the words of its largest size. Invalid sizes get no words: the
    following call reports them.
    """
    number = each
    for size in shape:
        most = size.max if isinstance(size, SymInt) else size
        if not isinstance(most, (int, np.integer)) or most < 0:
            return 0
        number *= int(most)
    return min(-(-number // 4), MOST)


def set_seed(seed: int) -> None:
    """Begin the stream again."""
    lib.poly_random_seed(index(seed) % 2**64)


def _take(words: np.ndarray[Any, Any], count: int) -> None:
    if lib.poly_random_take(count, words.ctypes.data) != 0:
        fail()


def next_seed(count: int) -> Node:
    """Return the seed of a tensor that takes a number of words: a leaf of three uint32."""
    words = np.empty(3, dtype=np.uint32)
    _take(words, count)
    seed = leaf(words, dtypes.uint32)
    for recorder in _recorders:
        recorder.append((seed, count))
    return seed


class record_seeds:
    """A context in which the seeds that are handed out are written down."""

    def __enter__(self) -> list[Seed]:
        """Start recording."""
        self.seeds: list[Seed] = []
        _recorders.append(self.seeds)
        return self.seeds

    def __exit__(self, *_: object) -> None:
        """Stop recording."""
        _recorders.remove(self.seeds)


def renew(seeds: list[Seed]) -> None:
    """Write the next seeds into the memory of seeds that were handed out."""
    for seed, count in seeds:
        assert seed.data is not None
        _take(seed.data, count)
