"""numpy.pad and its modes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from polygrad._library import wrong
from polygrad.numpy import _operations
from polygrad.numpy._arrays import array as _array
from polygrad.tensor import Tensor

if TYPE_CHECKING:
    from polygrad._base import Operand

_MODES = {"empty": "constant", "edge": "replicate", "wrap": "circular"}
_STATISTICS = {"maximum": "max", "minimum": "min", "mean": "mean", "median": "median"}


def pad(
    array: Operand,
    pad_width: Any,
    mode: str = "constant",
    constant_values: Any = 0,
    stat_length: Any = None,
    end_values: Any = 0,
) -> Tensor:
    """Return an array padded before and after each axis.

    mode is "constant", "edge", "reflect", "symmetric", "wrap", "empty", "linear_ramp", or a
    statistic of the stat_length elements at the edge: "maximum", "minimum", "mean", "median".
    """
    x = _array(array)
    widths = _pairs("pad_width", pad_width, x.ndim)
    if not all(isinstance(n, int) and n >= 0 for pair in widths for n in pair):
        raise wrong("pad_width", pad_width, "whole numbers of 0 or more")
    if mode in ("reflect", "symmetric", *_MODES):
        return x.pad(widths, mode=_MODES.get(mode, mode))
    if mode == "constant" and not isinstance(constant_values, (list, tuple, Tensor, np.ndarray)):
        return x.pad(widths, value=constant_values).cast(x.dtype)
    values = {"constant": constant_values, "linear_ramp": end_values}
    if mode not in values and mode not in _STATISTICS:
        modes = ", ".join(
            f'"{m}"' for m in ("reflect", "symmetric", *_MODES, *values, *_STATISTICS)
        )
        raise wrong("mode", mode, f"one of {modes}")
    if 0 in x.shape and mode != "constant":
        raise wrong("array", f"no elements of shape {x.shape}", f"some to continue by {mode}")
    given = _pairs("values", values.get(mode, stat_length), x.ndim)
    for axis, ends in enumerate(widths):
        before, after = (_margin(x, axis, mode, ends[i], given[axis][i], i == 1) for i in (0, 1))
        x = _operations.concat([before, x, after], axis=axis)
    return x


def _pairs(name: str, given: Any, n: int) -> list[Any]:
    """Return pairs of numbers, for before and after each of n axes."""
    given = given.numpy() if isinstance(given, Tensor) else given
    try:
        return list(np.broadcast_to(np.asarray(given), (n, 2)).tolist())
    except ValueError:
        raise wrong(name, given, f"a number, a pair, or one for each of {n} axes") from None


def _margin(x: Tensor, axis: int, mode: str, n: int, given: Any, behind: bool) -> Tensor:
    """Return the n elements of padding before or after an axis."""
    size = x.shape[axis]
    shape = [*x.shape[:axis], n, *x.shape[axis + 1 :]]
    if mode == "constant":
        return Tensor.full(tuple(shape), given, dtype=x.dtype)
    at = [slice(None)] * x.ndim
    length = 1 if mode == "linear_ramp" else size if given is None else min(given, size)
    at[axis] = slice(size - length, None) if behind else slice(0, length)
    edge = x[tuple(at)]
    if mode == "linear_ramp":
        steps = Tensor.arange(n).reshape([-1 if i == axis else 1 for i in range(x.ndim)])
        edge = edge if x.is_floating_point() else edge.cast("float64")
        ramp: Tensor = given + (edge - given) * (n - 1 - steps if behind else steps) / n
        ramp = ramp if x.is_floating_point() else ramp.floor()
        return ramp.cast(x.dtype)
    r: Tensor = getattr(_operations, _STATISTICS[mode])(edge, axis, keepdims=True)
    r = r if x.dtype in (r.dtype, "bool") or x.is_floating_point() else r.round()
    return r.cast(x.dtype).expand(shape)
