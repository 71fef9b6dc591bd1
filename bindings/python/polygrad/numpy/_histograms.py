"""Histograms: counts of elements in bins."""

from __future__ import annotations

import builtins
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from polygrad._library import wrong
from polygrad.numpy import _operations
from polygrad.numpy._arrays import array, maybe, tensors
from polygrad.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polygrad._base import Operand

__all__ = ["histogram", "histogram2d", "histogram_bin_edges", "histogramdd"]


def _edges(a: Tensor, bins: Any, range: Any, weights: Any) -> Any:
    """Return bins for the library; a rule's name becomes NumPy's number of bins for the values."""
    if not isinstance(bins, str):
        return bins if isinstance(bins, (int, np.integer, Tensor)) else array(bins)
    given = None if weights is None else array(weights).numpy()
    return len(np.histogram_bin_edges(a.numpy(), bins, range, given)) - 1


def histogram_bin_edges(
    a: Operand, bins: Any = 10, range: Sequence[float] | None = None, weights: Any = None
) -> Tensor:
    """Return the edges of histogram."""
    a = array(a)
    return _operations.histogram_bin_edges(a, _edges(a, bins, range, weights), range)


def histogram(
    a: Operand,
    bins: Any = 10,
    range: Sequence[float] | None = None,
    density: bool = False,
    weights: Operand | None = None,
) -> tuple[Tensor, ...]:
    """Return the number of elements in each bin, and the edges of the bins.

    bins is the number of bins of equal width over range (by default from the least to the greatest
    element), an array of edges, or the name of a rule of NumPy, such as "auto", for which the array
    is computed. With density the counts are divided by their sum and the width of the bin.
    """
    a = array(a)
    edges = _edges(a, bins, range, weights)
    return _operations.histogram(a, edges, range, density, maybe(weights))


def histogramdd(
    sample: Any,
    bins: Any = 10,
    range: Sequence[Any] | None = None,
    density: bool = False,
    weights: Operand | None = None,
) -> tuple[Tensor, list[Tensor]]:
    """Return the number of points (n, d) in each bin of d axes, and a list of the edges.

    sample is an array, or a list of d vectors. bins and range are as for histogram; bins is one
    value for all axes or a list of d.
    """
    given = isinstance(sample, (list, tuple))
    x = _operations.stack(sample, -1) if given else array(sample)
    if x.ndim != 2:
        raise wrong("sample", f"an array of shape {x.shape}", "points (n, d)")
    d = x.shape[1]
    each = list(bins) if isinstance(bins, (list, tuple)) else [bins] * d
    ranges = [None] * d if range is None else list(range)
    if len(each) != d or len(ranges) != d:
        raise wrong("bins", f"{len(each)} bins, {len(ranges)} ranges", f"{d} of each, one an axis")
    columns = [x[:, i] for i in builtins.range(d)]
    edges = [histogram_bin_edges(*of) for of in zip(columns, each, ranges)]
    sizes = [e.shape[0] - 1 for e in edges]
    places, inside = [], None
    for column, e, n in zip(columns, edges, sizes):
        at = _operations.searchsorted(e, column, "right") - 1
        at = (column == e[-1]).where(n - 1, at)  # the last bin includes its right edge
        kept = (at >= 0) & (at < n)
        places.append(at.maximum(0).minimum(n - 1))
        inside = kept if inside is None else inside & kept
    assert inside is not None
    floating = (x * 1.0).dtype
    count = inside.cast(floating) if weights is None else inside.where(array(weights), 0)
    flat = _operations.ravel_multi_index(places, sizes)
    counts = _operations.bincount(flat, count, length=math.prod(sizes)).reshape(sizes)
    if density:
        counts = counts / counts.sum()
        for i, e in enumerate(edges):
            width = _operations.diff(e)
            counts = counts / width.reshape(tuple(-1 if i == k else 1 for k in builtins.range(d)))
    return counts, edges


def histogram2d(
    x: Operand,
    y: Operand,
    bins: Any = 10,
    range: Sequence[Any] | None = None,
    density: bool = False,
    weights: Operand | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the number of points in each bin of two axes, and the edges of each axis.

    bins and range are as for histogramdd; an array of edges is used for both axes.
    """
    pair = isinstance(bins, (list, tuple)) and len(bins) == 2
    points = tensors((x, y))
    counts, edges = histogramdd(points, bins if pair else [bins] * 2, range, density, weights)
    return counts, edges[0], edges[1]
