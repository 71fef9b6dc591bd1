"""Layers of convolution, and norms over channels and batches."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from polygrad import _trace
from polygrad.nn._inputs import check
from polygrad.nn.layers import GroupNorm
from polygrad.tensor import Tensor, assign

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import TypeAlias

Sizes: TypeAlias = "int | Sequence[int]"


def _each(value: Sizes, n: int) -> tuple[int, ...]:
    return (value,) * n if isinstance(value, int) else tuple(value)


def _same(kernel: tuple[int, ...], dilation: Sizes, stride: Sizes) -> tuple[int, ...]:
    """Return the padding that keeps sizes, two numbers an axis, the last axis first."""
    n = len(kernel)
    if _each(stride, n) != (1,) * n:
        raise ValueError(f"padding: 'same' with the stride {stride}, expected a stride of 1")
    reach = [d * (k - 1) for k, d in zip(kernel, _each(dilation, n))]
    return tuple(p for r in reversed(reach) for p in (r // 2, r - r // 2))


class Conv2d:
    """The convolution of (N, in, …) with weight of shape (out, in/groups, kernel…), plus bias.

    A number as kernel_size stands for two axes. padding "same" keeps sizes.

    >>> Conv2d(3, 8, 5, padding="same")(Tensor.ones(1, 3, 6, 6)).shape
    (1, 8, 6, 6)
    """

    axes = 2

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: Sizes | str = 0,
        dilation: Sizes = 1,
        groups: int = 1,
        bias: bool = True,
    ) -> None:
        kernel = self.kernel_size = _each(kernel_size, self.axes)
        if isinstance(padding, str):
            if padding.lower() != "same":
                raise ValueError(f"padding: {padding!r}, expected numbers or 'same'")
            padding = _same(kernel, dilation, stride)
        self.stride, self.padding, self.dilation, self.groups = stride, padding, dilation, groups
        bound = 1 / math.sqrt(in_channels // groups * math.prod(kernel))
        self.weight = self._uniform(bound, out_channels, in_channels // groups, *kernel)
        self.bias = self._uniform(bound, out_channels) if bias else None

    @staticmethod
    def _uniform(bound: float, *shape: int) -> Tensor:
        return Tensor.uniform(*shape, low=-bound, high=bound, requires_grad=True)

    def __call__(self, x: Tensor) -> Tensor:
        """Return the convolution of x, plus bias."""
        check(self, x)
        options = (self.groups, self.stride, self.dilation, self.padding)
        return x.conv2d(self.weight, self.bias, *options)


class Conv1d(Conv2d):
    """The convolution of (N, in, length) with weight of shape (out, in/groups, kernel_size).

    >>> Conv1d(2, 4, 3)(Tensor.ones(1, 2, 9)).shape
    (1, 4, 7)
    """

    axes = 1


class Conv3d(Conv2d):
    """The convolution of (N, in, depth, height, width).

    >>> Conv3d(2, 4, 3)(Tensor.ones(1, 2, 5, 5, 5)).shape
    (1, 4, 3, 3, 3)
    """

    axes = 3


class ConvTranspose2d(Conv2d):
    """The transposed convolution of (N, in, …), with weight of shape (in, out/groups, kernel…).

    >>> ConvTranspose2d(3, 8, 2, stride=2)(Tensor.ones(1, 3, 4, 4)).shape
    (1, 8, 8, 8)
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: Sizes = 0,
        output_padding: Sizes = 0,
        dilation: Sizes = 1,
        groups: int = 1,
        bias: bool = True,
    ) -> None:
        kernel = self.kernel_size = _each(kernel_size, self.axes)
        self.stride, self.padding, self.dilation, self.groups = stride, padding, dilation, groups
        self.output_padding = output_padding
        bound = 1 / math.sqrt(out_channels // groups * math.prod(kernel))
        self.weight = self._uniform(bound, in_channels, out_channels // groups, *kernel)
        self.bias = self._uniform(bound, out_channels) if bias else None

    def __call__(self, x: Tensor) -> Tensor:
        """Return the transposed convolution of x, plus bias."""
        check(self, x)
        options = (self.groups, self.stride, self.dilation, self.padding, self.output_padding)
        return x.conv_transpose2d(self.weight, self.bias, *options)


class ConvTranspose1d(ConvTranspose2d):
    """The transposed convolution of (N, in, length).

    >>> ConvTranspose1d(2, 4, 3)(Tensor.ones(1, 2, 9)).shape
    (1, 4, 11)
    """

    axes = 1


class BatchNorm:
    """Normalise the channels of (N, C, …) over the batch; then weight and bias per channel.

    While Tensor.training is set, by the statistics of the batch, which move running ones by
    the part momentum; otherwise by the running ones.

    >>> norm = BatchNorm(1, eps=0)
    >>> with Tensor.train():
    ...     norm(Tensor([[1.0], [3.0]])).tolist()
    [[-1.0], [1.0]]
    >>> norm.running_mean.numpy().round(3)
    array([0.2], dtype=float32)
    """

    def __init__(
        self,
        sz: int,
        eps: float = 1e-5,
        affine: bool = True,
        track_running_stats: bool = True,
        momentum: float = 0.1,
    ) -> None:
        self.eps, self.momentum = eps, momentum
        self.track_running_stats = track_running_stats
        self.weight = Tensor.ones(sz, requires_grad=True) if affine else None
        self.bias = Tensor.zeros(sz, requires_grad=True) if affine else None
        self.num_batches_tracked = Tensor.zeros(dtype="int64", requires_grad=False).realize()
        self.running_mean = self.running_var = None
        if track_running_stats:
            self.running_mean = Tensor.zeros(sz, requires_grad=False).realize()
            self.running_var = Tensor.ones(sz, requires_grad=False).realize()

    def __call__(self, x: Tensor) -> Tensor:
        """Return x normalised, of the same shape."""
        check(self, x)
        if Tensor.training and self.running_mean is not None and not _trace.active():
            # The statistics are computed below, for the running ones, and from what x is computed
            # of once: so are the gradients, which come to x from all three.
            x.realize()
        if Tensor.training or self.running_mean is None or self.running_var is None:
            mean, variance = x.batchnorm_stats()
        else:
            mean, variance = self.running_mean, self.running_var
        if Tensor.training:
            self._track(x.numel() // x.shape[1], mean, variance)
        invstd = (variance + self.eps).rsqrt()
        return x.batchnorm(self.weight, self.bias, mean, invstd)

    def _track(self, n: int, mean: Tensor, variance: Tensor) -> None:
        """Move the running statistics towards those of a batch of n values a channel."""
        if self.running_mean is None or self.running_var is None:
            return
        if not _trace.active():
            mean.realize(variance)
        unbiased = variance * (n / (n - 1)) if n > 1 else variance
        running = [self.running_mean, self.running_var]
        now = [
            old.lerp(new.detach().cast(old.dtype), self.momentum)
            for old, new in zip(running, (mean, unbiased))
        ]
        assign([*running, self.num_batches_tracked], [*now, self.num_batches_tracked + 1])


class InstanceNorm(GroupNorm):
    """Normalise each channel of (N, C, …) for itself; then weight and bias per channel.

    >>> InstanceNorm(1, eps=0)(Tensor([[[1.0, 3.0]]])).tolist()
    [[[-1.0, 1.0]]]
    """

    def __init__(self, num_features: int, eps: float = 1e-5, affine: bool = True) -> None:
        super().__init__(num_features, num_features, eps, affine)
