"""Tensor methods that reduce, accumulate, sort and normalise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polygrad import _prototypes as c
from polygrad._base import Base, call, combine, made, several_results
from polygrad._graph import CTX, dims, several
from polygrad._library import lib
from polygrad.dtype import DTypeLike, to_dtype

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Self, TypeAlias

Axes: TypeAlias = "int | Sequence[int] | None"


class Reduce(Base):
    """Reductions, running sums, sorting, softmax and norms."""

    __slots__ = ()

    def _reduce(self, op: int, axis: Axes, keepdim: bool, correction: int = 0) -> Self:
        node = self._node
        if axis is None:
            handle = lib.poly_reduce(CTX, op, node.handle, None, -1, keepdim, correction)
        else:
            axes = several(axis)
            given = dims(axes, "axis")
            handle = lib.poly_reduce(CTX, op, node.handle, given, len(axes), keepdim, correction)
        return made(type(self), handle, (node,))

    def _reduce_as(self, op: int, axis: Axes, keepdim: bool, dtype: DTypeLike) -> Self:
        node, kind = self._node, to_dtype(dtype).id
        if axis is None:
            handle = lib.poly_reduce_as(CTX, op, node.handle, None, -1, keepdim, kind)
        else:
            axes = several(axis)
            given = dims(axes, "axis")
            handle = lib.poly_reduce_as(CTX, op, node.handle, given, len(axes), keepdim, kind)
        return made(type(self), handle, (node,))

    def sum(self, axis: Axes = None, keepdim: bool = False, dtype: DTypeLike | None = None) -> Self:
        """Add up along axes (None: all).

        dtype is the type of accumulator and result; by default small integers and bools are added
        in 32 bits, and float16 in float32.

        >>> t = Tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> t.sum().item(), t.sum(0).tolist(), t.sum(1, keepdim=True).tolist()
        (10.0, [4.0, 6.0], [[3.0], [7.0]])
        """
        if dtype is not None:
            return self._reduce_as(c.POLY_REDUCE_SUM, axis, keepdim, dtype)
        return self._reduce(c.POLY_REDUCE_SUM, axis, keepdim)

    def prod(
        self, axis: Axes = None, keepdim: bool = False, dtype: DTypeLike | None = None
    ) -> Self:
        """Multiply along axes, in dtype if it is given.

        >>> Tensor([1.0, 2.0, 3.0]).prod().item()
        6.0
        """
        if dtype is not None:
            return self._reduce_as(c.POLY_REDUCE_PROD, axis, keepdim, dtype)
        return self._reduce(c.POLY_REDUCE_PROD, axis, keepdim)

    def max(self, axis: Axes = None, keepdim: bool = False) -> Self:
        """Return the greatest value along axes.

        >>> Tensor([[1, 5], [3, 4]]).max(1).tolist()
        [5, 4]
        """
        return self._reduce(c.POLY_REDUCE_MAX, axis, keepdim)

    def min(self, axis: Axes = None, keepdim: bool = False) -> Self:
        """Return the least value along axes.

        >>> Tensor([[1, 5], [3, 4]]).min(0).tolist()
        [1, 4]
        """
        return self._reduce(c.POLY_REDUCE_MIN, axis, keepdim)

    def mean(self, axis: Axes = None, keepdim: bool = False) -> Self:
        """Return the mean along axes; integers give float32.

        >>> Tensor([[1, 5], [3, 4]]).mean().item()
        3.25
        """
        return self._reduce(c.POLY_REDUCE_MEAN, axis, keepdim)

    def var(self, axis: Axes = None, keepdim: bool = False, correction: int = 1) -> Self:
        """Return the variance along axes, divided by count - correction.

        >>> Tensor([1.0, 2.0, 3.0, 4.0]).var(correction=0).item()
        1.25
        """
        return self._reduce(c.POLY_REDUCE_VAR, axis, keepdim, correction)

    def std(self, axis: Axes = None, keepdim: bool = False, correction: int = 1) -> Self:
        """Return the standard deviation along axes.

        >>> Tensor([1.0, 3.0]).std(correction=0).item()
        1.0
        """
        return self._reduce(c.POLY_REDUCE_STD, axis, keepdim, correction)

    def var_mean(
        self, axis: Axes = None, keepdim: bool = False, correction: int = 1
    ) -> tuple[Self, Self]:
        """Return variance and mean along axes.

        >>> [t.item() for t in Tensor([1.0, 3.0]).var_mean(correction=0)]
        [1.0, 2.0]
        """
        return self.var(axis, keepdim, correction), self.mean(axis, keepdim)

    def std_mean(
        self, axis: Axes = None, keepdim: bool = False, correction: int = 1
    ) -> tuple[Self, Self]:
        """Return standard deviation and mean along axes."""
        return self.std(axis, keepdim, correction), self.mean(axis, keepdim)

    def any(self, axis: Axes = None, keepdim: bool = False) -> Self:
        """Tell whether a value along axes is not 0.

        >>> Tensor([[0, 1], [0, 0]]).any(1).tolist()
        [True, False]
        """
        return self._reduce(c.POLY_REDUCE_ANY, axis, keepdim)

    def all(self, axis: Axes = None, keepdim: bool = False) -> Self:
        """Tell whether no value along axes is 0.

        >>> Tensor([[1, 1], [0, 1]]).all(1).tolist()
        [True, False]
        """
        return self._reduce(c.POLY_REDUCE_ALL, axis, keepdim)

    def argmax(self, axis: int | None = None, keepdim: bool = False) -> Self:
        """Return where the greatest value is (the first, if there are several).

        >>> Tensor([[1, 5], [7, 4]]).argmax(1).tolist(), Tensor([[1, 5], [7, 4]]).argmax().item()
        ([1, 0], 2)
        """
        return self._reduce(c.POLY_REDUCE_ARGMAX, axis, keepdim)

    def argmin(self, axis: int | None = None, keepdim: bool = False) -> Self:
        """Return where the least value is (the first, if there are several).

        >>> Tensor([3.0, 1.0, 2.0]).argmin().item()
        1
        """
        return self._reduce(c.POLY_REDUCE_ARGMIN, axis, keepdim)

    def logsumexp(self, axis: Axes = None, keepdim: bool = False) -> Self:
        """Return log(sum(e^x)) along axes, without overflow.

        >>> round(Tensor([1000.0, 1000.0]).logsumexp().item(), 3)
        1000.693
        """
        return self._reduce(c.POLY_REDUCE_LOGSUMEXP, axis, keepdim)

    def cumsum(self, axis: int = 0) -> Self:
        """Return the running sum along an axis.

        >>> Tensor([1.0, 2.0, 3.0]).cumsum().tolist()
        [1.0, 3.0, 6.0]
        """
        return call("poly_cumsum", self, axis)

    def cumprod(self, axis: int) -> Self:
        """Return the running product along an axis.

        >>> Tensor([1.0, 2.0, 3.0]).cumprod(0).tolist()
        [1.0, 2.0, 6.0]
        """
        return call("poly_cumprod", self, axis)

    def cummax(self, axis: int = 0) -> tuple[Self, ...]:
        """Return the running maximum along an axis and where each was found (the first place).

        >>> values, indices = Tensor([1.0, 3.0, 2.0]).cummax()
        >>> values.tolist(), indices.tolist()
        ([1.0, 3.0, 3.0], [0, 1, 1])
        """
        return several_results("poly_cummax", 2, self, axis)

    def cummin(self, axis: int = 0) -> tuple[Self, ...]:
        """Return the running minimum along an axis and where each was found (the first place).

        >>> values, indices = Tensor([2.0, 1.0, 3.0]).cummin()
        >>> values.tolist(), indices.tolist()
        ([2.0, 1.0, 1.0], [0, 1, 1])
        """
        return several_results("poly_cummin", 2, self, axis)

    def logcumsumexp(self, axis: int = 0) -> Self:
        """Return the running log(sum(e^x)) along an axis, without overflow.

        >>> Tensor([1000.0, 1000.0]).logcumsumexp().numpy().round(3)
        array([1000.   , 1000.693], dtype=float32)
        """
        return call("poly_logcumsumexp", self, axis)

    # Order

    def sort(self, dim: int = -1, descending: bool = False) -> tuple[Self, ...]:
        """Sort along an axis: return the values and where they came from.

        Equal values keep their order.

        >>> values, indices = Tensor([3, 1, 2]).sort()
        >>> values.tolist(), indices.tolist()
        ([1, 2, 3], [1, 2, 0])
        """
        return several_results("poly_sort", 2, self, dim, descending)

    def argsort(self, dim: int = -1, descending: bool = False) -> Self:
        """Return the indices that sort along an axis.

        >>> Tensor([3, 1, 2]).argsort().tolist()
        [1, 2, 0]
        """
        return call("poly_argsort", self, dim, descending)

    def topk(
        self, k: int, dim: int = -1, largest: bool = True, sorted_: bool = True
    ) -> tuple[Self, ...]:
        """Return the k largest (or smallest) values along an axis, and where they are.

        They come in order; sorted_ says whether that is needed.

        >>> values, indices = Tensor([3.0, 1.0, 2.0]).topk(2)
        >>> values.tolist(), indices.tolist()
        ([3.0, 2.0], [0, 2])
        """
        return several_results("poly_topk", 2, self, k, dim, largest)

    # Softmax and norms

    def softmax(self, axis: int = -1, dtype: DTypeLike | None = None) -> Self:
        """Return e^x / sum(e^x) along an axis; with dtype, x is converted first.

        >>> Tensor([0.0, 0.0]).softmax().tolist()
        [0.5, 0.5]
        """
        x = self if dtype is None else call("poly_cast_by_id", self, to_dtype(dtype).id)
        return call("poly_softmax", x, None, 0, axis)

    def log_softmax(self, axis: int = -1, dtype: DTypeLike | None = None) -> Self:
        """Return log(softmax(x)) along an axis; with dtype, x is converted first."""
        x = self if dtype is None else call("poly_cast_by_id", self, to_dtype(dtype).id)
        return call("poly_log_softmax", x, None, 0, axis)

    def layernorm(
        self,
        axis: int | Sequence[int] = -1,
        eps: float = 1e-5,
        weight: Self | None = None,
        bias: Self | None = None,
    ) -> Self:
        """Return (x - mean) / sqrt(variance + eps) along axes, then * weight + bias if given.

        >>> Tensor([1.0, 3.0]).layernorm(eps=0).tolist()
        [-1.0, 1.0]
        """
        axes = several(axis)
        given = dims(axes, "axis")
        return combine("poly_layernorm_axes", self, given, len(axes), eps, weight, bias)

    def rmsnorm(self, eps: float = 1e-5, weight: Self | None = None) -> Self:
        """Return x / sqrt(mean(x^2) + eps) along the last axis, then * weight if given.

        >>> Tensor([2.0, 2.0]).rmsnorm(eps=0).tolist()
        [1.0, 1.0]
        """
        return combine("poly_rmsnorm", self, eps, weight)

    def groupnorm(
        self,
        groups: int,
        eps: float = 1e-5,
        weight: Self | None = None,
        bias: Self | None = None,
    ) -> Self:
        """Normalise the channels of (N, C, …) in groups, then * weight + bias for each channel.

        >>> Tensor([[[1.0], [3.0]]]).groupnorm(1, eps=0).tolist()
        [[[-1.0], [1.0]]]
        """
        return combine("poly_groupnorm", self, groups, eps, weight, bias)

    def batchnorm(
        self,
        weight: Self | None,
        bias: Self | None,
        mean: Self,
        invstd: Self,
        axis: int | Sequence[int] = 1,
    ) -> Self:
        """Return (x - mean) * invstd * weight + bias.

        The parameters have the sizes of the given axes; weight and bias may be None.

        >>> x, one = Tensor([[1.0, 2.0], [3.0, 4.0]]), Tensor([1.0, 1.0])
        >>> x.batchnorm(None, None, Tensor([2.0, 3.0]), one).tolist()
        [[-1.0, -1.0], [1.0, 1.0]]
        """
        axes = several(axis)
        given = dims(axes, "axis")
        return combine("poly_batchnorm", self, weight, bias, mean, invstd, given, len(axes))

    def batchnorm_stats(self) -> tuple[Self, ...]:
        """Return mean and variance (over the count) of each channel of (N, C, …).

        >>> [t.tolist() for t in Tensor([[1.0, 5.0], [3.0, 5.0]]).batchnorm_stats()]
        [[2.0, 5.0], [1.0, 0.0]]
        """
        return several_results("poly_batchnorm_stats", 2, self)
