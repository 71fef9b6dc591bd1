"""Tensor methods of sliding windows: convolution, pooling and resizing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from polygrad import _prototypes as c
from polygrad._base import Base, call, combine, several_results
from polygrad._graph import dims, plain
from polygrad._library import ArgumentError
from polygrad.dtype import DTypeLike, to_dtype

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Self, TypeAlias

Sizes: TypeAlias = "int | Sequence[int]"

_MODES = {
    "linear": c.POLY_INTERPOLATE_LINEAR,
    "nearest": c.POLY_INTERPOLATE_NEAREST,
    "nearest-exact": c.POLY_INTERPOLATE_NEAREST_EXACT,
}


def _each(value: Sizes, n: int, name: str) -> Any:
    """Return a number for each of n axes as int64[n]."""
    value = plain(value)
    numbers = tuple(value) if hasattr(value, "__iter__") else (value,) * n
    if len(numbers) != n:
        raise ArgumentError(f"{name}: {len(numbers)} numbers, expected one or {n}")
    return dims(numbers, name)


def _padding(value: Sizes, n: int) -> Any:
    """Return the padding before and after each of n axes as int64[2n].

    value is a number, one for each axis, or two for each axis, before and after the last one
    first, as in pad.
    """
    value = plain(value)
    numbers = tuple(value) if hasattr(value, "__iter__") else (value,) * n
    if len(numbers) == n:
        flat = [p for p in numbers for _ in range(2)]
    elif len(numbers) == 2 * n:
        flat = [p for i in reversed(range(n)) for p in numbers[2 * i : 2 * i + 2]]
    else:
        raise ArgumentError(f"padding: {len(numbers)} numbers, expected one, {n} or {2 * n}")
    return dims(flat, "padding")


class Spatial(Base):
    """Convolution, pooling and interpolation over the last axes of (N, C, …).

    A number stands for that number on every axis. padding may also have two numbers for each
    axis, before and after the last one first.
    """

    __slots__ = ()

    def conv2d(
        self,
        weight: Self,
        bias: Self | None = None,
        groups: int = 1,
        stride: Sizes = 1,
        dilation: Sizes = 1,
        padding: Sizes = 0,
        dtype: DTypeLike | None = None,
    ) -> Self:
        """Convolve (N, in, …) with weight (out, in/groups, …), and add bias (out).

        The windows slide over one, two, three or more axes, as many as weight has beyond two. An
        axis of size i becomes
        (i + padding - dilation * (kernel - 1) - 1) // stride + 1 long. With dtype, self and weight
        are converted first.

        >>> x = Tensor.arange(9).reshape(1, 1, 3, 3).float()
        >>> x.conv2d(Tensor.ones(1, 1, 2, 2)).tolist()
        [[[[8.0, 12.0], [20.0, 24.0]]]]
        """
        n = len(weight.shape) - 2  # type: ignore[attr-defined]
        if n < 1:
            raise ArgumentError("conv2d: weight: expected 3 dimensions or more")
        windows = (_each(stride, n, "stride"), _each(dilation, n, "dilation"))
        pads = _padding(padding, n)
        x = self
        if dtype is not None:
            x, weight = (call("poly_cast_by_id", t, to_dtype(dtype).id) for t in (x, weight))
        return combine("poly_conv", x, weight, bias, groups, *windows, pads, n)

    def conv_transpose2d(
        self,
        weight: Self,
        bias: Self | None = None,
        groups: int = 1,
        stride: Sizes = 1,
        dilation: Sizes = 1,
        padding: Sizes = 0,
        output_padding: Sizes = 0,
    ) -> Self:
        """Convolve (N, in, …) with the transpose of conv2d, for weight (in, out/groups, …).

        An axis of size i becomes
        (i - 1) * stride - padding + dilation * (kernel - 1) + output_padding + 1 long.

        >>> x = Tensor([[[[1.0, 2.0]]]])
        >>> x.conv_transpose2d(Tensor([[[[1.0, 10.0]]]])).tolist()
        [[[[1.0, 12.0, 20.0]]]]
        """
        n = len(weight.shape) - 2  # type: ignore[attr-defined]
        if n < 1:
            raise ArgumentError("conv_transpose2d: weight: expected 3 dimensions or more")
        windows = (_each(stride, n, "stride"), _each(dilation, n, "dilation"))
        pads = (_padding(padding, n), _each(output_padding, n, "output_padding"))
        return combine("poly_conv_transpose", self, weight, bias, groups, *windows, *pads, n)

    def avg_pool2d(
        self,
        kernel_size: Sizes = (2, 2),
        stride: Sizes | None = None,
        dilation: Sizes = 1,
        padding: Sizes = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> Self:
        """Return the mean of windows over as many last axes as kernel_size has numbers.

        stride is kernel_size by default. With ceil_mode a last window may reach over the end.
        count_include_pad counts padding as zeros.

        >>> Tensor([[[[1.0, 2.0], [3.0, 6.0]]]]).avg_pool2d().tolist()
        [[[[3.0]]]]
        """
        window = _window(kernel_size, stride, dilation, padding)
        return call("poly_avg_pool", self, *window, ceil_mode, count_include_pad)

    def max_pool2d(
        self,
        kernel_size: Sizes = (2, 2),
        stride: Sizes | None = None,
        dilation: Sizes = 1,
        padding: Sizes = 0,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:
        """Return the maximum of windows over as many last axes as kernel_size has numbers.

        With return_indices, also the place of each maximum in the flattened axes.

        >>> values, places = Tensor([[[[1.0, 2.0], [3.0, 6.0]]]]).max_pool2d(return_indices=True)
        >>> values.tolist(), places.tolist()
        ([[[[6.0]]]], [[[[3]]]])
        """
        window = _window(kernel_size, stride, dilation, padding)
        if return_indices:
            return several_results("poly_max_pool_indices", 2, self, *window, ceil_mode)
        return call("poly_max_pool", self, *window, ceil_mode)

    def max_unpool2d(
        self,
        indices: Self,
        kernel_size: Sizes = (2, 2),
        stride: Sizes | None = None,
        dilation: Sizes = 1,
        padding: Sizes = 0,
        output_size: Sequence[int] | None = None,
    ) -> Self:
        """Put values back where max_pool2d found them, zeros elsewhere.

        output_size is the shape of the result, or its last axes; by default the least one from
        which the pool makes self.

        >>> values, places = Tensor([[[[1.0, 2.0], [3.0, 6.0]]]]).max_pool2d(return_indices=True)
        >>> values.max_unpool2d(places).tolist()
        [[[[0.0, 0.0], [0.0, 6.0]]]]
        """
        window = _window(kernel_size, stride, dilation, padding)
        n = window[-1]
        size = None if output_size is None else _each(output_size[-n:], n, "output_size")
        return combine("poly_max_unpool", self, indices, *window, size)

    def interpolate(
        self, size: Sequence[int], mode: str = "linear", align_corners: bool = False
    ) -> Self:
        """Resize the last axes to the sizes given.

        mode is "linear" (along every axis), "nearest" or "nearest-exact". align_corners, for
        linear interpolation, keeps the outermost elements in place.

        >>> Tensor([[[1.0, 3.0]]]).interpolate((3,), align_corners=True).tolist()
        [[[1.0, 2.0, 3.0]]]
        """
        if mode not in _MODES:
            raise ArgumentError(f"interpolate: mode: {mode!r}, expected one of {list(_MODES)}")
        given = dims(tuple(size), "size")
        return call("poly_interpolate", self, given, len(given), _MODES[mode], align_corners)


def _window(kernel_size: Sizes, stride: Sizes | None, dilation: Sizes, padding: Sizes) -> Any:
    """Return kernel, stride, dilation, padding and the number of axes."""
    kernel_size = plain(kernel_size)
    kernel = tuple(kernel_size) if hasattr(kernel_size, "__iter__") else (kernel_size,) * 2
    n = len(kernel)
    by = None if stride is None else _each(stride, n, "stride")
    return (
        dims(kernel, "kernel_size"),
        by,
        _each(dilation, n, "dilation"),
        _padding(padding, n),
        n,
    )
