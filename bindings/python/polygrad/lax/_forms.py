"""Functions of the library whose signatures differ in JAX."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from polygrad._library import wrong
from polygrad.lax import _operations as ops
from polygrad.tensor import Tensor

Axes = Sequence[int]
Monoid = Callable[[Tensor, Tensor], Tensor]


class GatherDimensionNumbers(NamedTuple):
    """The axes of gather."""

    offset_dims: Axes
    collapsed_slice_dims: Axes
    start_index_map: Axes
    operand_batching_dims: Axes = ()
    start_indices_batching_dims: Axes = ()


class ScatterDimensionNumbers(NamedTuple):
    """The axes of scatter, scatter_add, scatter_mul, scatter_min and scatter_max."""

    update_window_dims: Axes
    inserted_window_dims: Axes
    scatter_dims_to_operand_dims: Axes
    operand_batching_dims: Axes = ()
    scatter_indices_batching_dims: Axes = ()


_NAMES: dict[Any, str] = {
    operator.add: "add",
    operator.mul: "mul",
    operator.and_: "and",
    operator.or_: "or",
    operator.xor: "xor",
    Tensor.add: "add",
    Tensor.mul: "mul",
    Tensor.maximum: "max",
    Tensor.minimum: "min",
}


def _starts(starts: Any) -> Tensor:
    """Return the start indices of a slice as one tensor."""
    if isinstance(starts, Tensor):
        return starts
    return Tensor.stack(
        *[(s if isinstance(s, Tensor) else Tensor(s)).cast("int64") for s in starts]
    )


def _row(padding: Any) -> Any:
    """Return pairs of padding as one flat list."""
    return padding if isinstance(padding, str) else [n for pair in padding for n in pair]


def dynamic_slice(operand: Tensor, start_indices: Any, slice_sizes: Axes) -> Tensor:
    """Return the slice of the given sizes from start_indices on, which are clamped so that it fits.

    The starts are one tensor, or a list of integers and tensors of shape ().

    >>> dynamic_slice(Tensor([[1, 2, 3], [4, 5, 6]]), (0, Tensor(1)), (2, 2)).tolist()
    [[2, 3], [5, 6]]
    """
    return ops.dynamic_slice(operand, _starts(start_indices), slice_sizes)


def dynamic_update_slice(operand: Tensor, update: Tensor, start_indices: Any) -> Tensor:
    """Return operand with the slice from start_indices on replaced by update.

    >>> dynamic_update_slice(Tensor([1, 2, 3, 4]), Tensor([8, 9]), [Tensor(1)]).tolist()
    [1, 8, 9, 4]
    """
    return ops.dynamic_update_slice(operand, update, _starts(start_indices))


def gather(
    operand: Tensor,
    start_indices: Tensor,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Axes,
    *,
    mode: str | None = None,
    fill_value: float | None = None,
) -> Tensor:
    """Return slices at start_indices. mode is "fill" (default), "clip" or "promise_in_bounds".

    >>> rows = GatherDimensionNumbers((1,), (0,), (0,))
    >>> gather(Tensor([[1, 2], [3, 4]]), Tensor([[1], [0], [1]]), rows, (1, 2)).tolist()
    [[3, 4], [1, 2], [3, 4]]
    """
    d = GatherDimensionNumbers(*dimension_numbers)
    return ops.gather(
        operand, start_indices, *d[:3], slice_sizes, *d[3:], mode or "fill", fill_value
    )


def _scatter(f: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def scatter(
        operand: Tensor,
        scatter_indices: Tensor,
        updates: Tensor,
        dimension_numbers: ScatterDimensionNumbers,
        *,
        mode: str | None = None,
    ) -> Tensor:
        numbers = ScatterDimensionNumbers(*dimension_numbers)
        return f(operand, scatter_indices, updates, *numbers, mode or "fill")

    scatter.__name__, scatter.__doc__ = f.__name__, f.__doc__
    return scatter


scatter, scatter_add, scatter_mul, scatter_min, scatter_max = (
    _scatter(f)
    for f in (ops.scatter, ops.scatter_add, ops.scatter_mul, ops.scatter_min, ops.scatter_max)
)


def pad(operand: Tensor, padding_value: Any, padding_config: Sequence[Axes]) -> Tensor:
    """Return operand with (low, high, interior) elements added along each axis.

    >>> pad(Tensor([1, 2, 3]), 0, [(-1, 1, 2)]).tolist()
    [0, 0, 2, 0, 0, 3, 0]
    """
    low, high, interior = zip(*padding_config) if padding_config else ((), (), ())
    return ops.pad(operand, padding_value, low, high, interior)


def clamp(min: Any, x: Tensor, max: Any) -> Tensor:
    """Return x clamped to [min, max].

    >>> clamp(0, Tensor([-1, 1, 5]), 3).tolist()
    [0, 1, 3]
    """
    return ops.clamp(x, min, max)


def select_n(which: Tensor, *cases: Tensor) -> Tensor:
    """Select elements from several tensors: `which` is the index of the tensor for each element.

    >>> select_n(Tensor([0, 2, 1]), *Tensor([[1, 2, 3], [4, 5, 6], [7, 8, 9]])).tolist()
    [1, 8, 6]
    """
    return ops.select_n([which, *cases])


def iota(dtype: Any, size: int) -> Tensor:
    """Return the numbers from 0 to size - 1."""
    return ops.broadcasted_iota(dtype, (size,), 0)


def sort(operand: Any, dimension: int = -1, is_stable: bool = True, num_keys: int = 1) -> Any:
    """Return a tensor sorted along an axis, or several, with the first num_keys of them as keys.

    >>> sort((Tensor([2, 1, 2]), Tensor([6, 5, 4])), num_keys=2)[1].tolist()
    [5, 4, 6]
    """
    if isinstance(operand, Tensor):
        return ops.sort([operand], dimension)[0]
    return ops.sort(list(operand), dimension, num_keys)


def reduce(operand: Tensor, init: Any, computation: str | Monoid, dimensions: Axes) -> Tensor:
    """Reduce axes by an associative function.

    computation is a name ("add", "mul", "max", "min", "and", "or", "xor"), or a function of two
    tensors, which is called about log2(n) times for n elements; init is its neutral element.

    >>> reduce(Tensor([[1, 2, 3], [4, 5, 6]]), 0, lambda a, b: a + b + a * b, (1,)).tolist()
    [23, 209]
    """
    name = _NAMES.get(computation, computation)
    if isinstance(name, str):
        return ops.reduce(operand, init, name, dimensions)
    axes = sorted(d % len(operand.shape) for d in dimensions)
    rest = [i for i in range(len(operand.shape)) if i not in axes]
    x = operand.permute(*rest, *axes).reshape(*(operand.shape[i] for i in rest), -1)
    return _fold(x, init, computation)


def _fold(x: Tensor, init: Any, computation: Any) -> Tensor:
    """Reduce the last axis by halving it repeatedly."""
    if not callable(computation):
        raise wrong("computation", repr(computation), "a function or a name")
    first = Tensor(init, dtype=x.dtype) if not isinstance(init, Tensor) else init
    while x.shape[-1] > 1:
        n = x.shape[-1] // 2
        pairs = x[..., : 2 * n].reshape(*x.shape[:-1], n, 2)
        combined = computation(pairs[..., 0], pairs[..., 1])
        x = Tensor.cat(combined, x[..., 2 * n :], dim=-1) if x.shape[-1] % 2 else combined
    begin = first.expand(tuple(x.shape[:-1]))
    return computation(begin, x[..., 0]) if x.shape[-1] else begin


def reduce_window(
    operand: Tensor,
    init: Any,
    computation: str | Monoid,
    window_dimensions: Axes,
    window_strides: Axes | None = None,
    padding: Any = "VALID",
    base_dilation: Axes | None = None,
    window_dilation: Axes | None = None,
) -> Tensor:
    """Reduce each window over all axes: see reduce.

    >>> reduce_window(Tensor([1.0, 2.0, 3.0]), 0.0, "add", (2,), (1,), "SAME").tolist()
    [3.0, 5.0, 3.0]
    """
    name = _NAMES.get(computation, computation)
    window = (window_dimensions, window_strides, _row(padding), base_dilation, window_dilation)
    if isinstance(name, str):
        return ops.reduce_window(operand, init, name, *window)
    x = ops.sliding_windows(operand, init, *window)
    return _fold(x.flatten(len(operand.shape)), init, computation)


def select_and_scatter_add(
    source: Tensor,
    operand: Tensor,
    select: str,
    window_dimensions: Axes,
    window_strides: Axes,
    padding: Any,
) -> Tensor:
    """Return zeros like operand, with source added at the maximum ("ge") of each window."""
    return ops.select_and_scatter_add(
        operand, source, select, window_dimensions, window_strides, _row(padding)
    )


def conv_general_dilated(
    lhs: Tensor,
    rhs: Tensor,
    window_strides: Axes,
    padding: Any,
    lhs_dilation: Axes | None = None,
    rhs_dilation: Axes | None = None,
    dimension_numbers: tuple[str, str, str] | None = None,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
    preferred_element_type: Any = None,
) -> Tensor:
    """Return a convolution; dimension_numbers are layouts, as in ("NHWC", "HWIO", "NHWC").

    >>> x, w = Tensor([[[1.0, 2.0, 3.0]]]), Tensor([[[1.0, 10.0]]])
    >>> conv_general_dilated(x, w, (1,), [(0, 1)]).tolist()
    [[[21.0, 32.0, 3.0]]]
    """
    specs: tuple[Any, Any, Any] = dimension_numbers or (None, None, None)
    window = (_row(padding), lhs_dilation, rhs_dilation, *specs)
    groups = (feature_group_count, batch_group_count)
    return ops.conv_general_dilated(
        lhs, rhs, window_strides, *window, *groups, preferred_element_type
    )


def conv(lhs: Tensor, rhs: Tensor, window_strides: Axes, padding: Any) -> Tensor:
    """Return the convolution of lhs (N, C, ...) with rhs (O, I, ...)."""
    return conv_general_dilated(lhs, rhs, window_strides, padding)


conv_with_general_padding = conv_general_dilated


def conv_transpose(
    lhs: Tensor,
    rhs: Tensor,
    strides: Axes,
    padding: Any,
    rhs_dilation: Axes | None = None,
    dimension_numbers: tuple[str, str, str] | None = None,
    transpose_kernel: bool = False,
) -> Tensor:
    """Return a transposed convolution; features are last unless dimension_numbers are given."""
    letters = "DHW"[-len(strides) :]
    specs = dimension_numbers or (f"N{letters}C", f"{letters}IO", f"N{letters}C")
    row = _row(padding)
    return ops.conv_transpose(lhs, rhs, strides, row, rhs_dilation, *specs, transpose_kernel)


def dot_general(
    lhs: Tensor,
    rhs: Tensor,
    dimension_numbers: Any,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Tensor:
    """Return sums of products; dimension_numbers are ((lhs axes, rhs axes), (batch axes of both)).

    >>> a, b = Tensor([[1, 2], [3, 4]]), Tensor([[5, 6], [7, 8]])
    >>> dot_general(a, b, (((0,), (1,)), ((), ()))).tolist()
    [[23, 31], [34, 46]]
    """
    (left, right), (left_batch, right_batch) = dimension_numbers
    return ops.dot_general(lhs, rhs, left, right, left_batch, right_batch, preferred_element_type)


def sort_key_val(keys: Tensor, values: Tensor, dimension: int = -1) -> tuple[Tensor, ...]:
    """Return keys sorted along an axis, and values in the same order."""
    return ops.sort([keys, values], dimension)
