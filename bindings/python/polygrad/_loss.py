"""Tensor methods that compare with a target."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polygrad import _prototypes as c
from polygrad._base import Base, Operand, as_operand, combine
from polygrad._graph import describe
from polygrad._library import ArgumentError

if TYPE_CHECKING:
    from typing_extensions import Self

_REDUCTIONS = {"mean": c.POLY_LOSS_MEAN, "sum": c.POLY_LOSS_SUM, "none": c.POLY_LOSS_NONE}


def _reduction(name: str) -> int:
    if name not in _REDUCTIONS:
        raise ArgumentError(f"reduction: {name!r}, expected 'mean', 'sum' or 'none'")
    return _REDUCTIONS[name]


class Loss(Base):
    """Losses. reduction combines the losses of the elements: "mean", "sum" or "none"."""

    __slots__ = ()

    def cross_entropy(
        self,
        Y: Operand,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
        axis: int | None = None,
    ) -> Self:
        """Return the cross entropy of logits (N, C, …) and class numbers (N, …).

        Y may also be probabilities of the shape of self. label_smoothing mixes it with the
        uniform distribution. The classes are axis 1, of a vector axis 0, if axis names no other.

        >>> round(Tensor([[0.0, 0.0]]).cross_entropy(Tensor([1])).item(), 4)
        0.6931
        """
        if axis is None:
            axis = min(1, len(describe(self._node)[0]) - 1)
        y = as_operand(Y, self)
        how = _reduction(reduction)
        return combine("poly_cross_entropy_loss", self, y, axis, label_smoothing, how)

    def sparse_categorical_crossentropy(
        self,
        Y: Operand,
        ignore_index: int = -1,
        label_smoothing: float = 0.0,
        reduction: str = "mean",
    ) -> Self:
        """Return the cross entropy of logits along the last axis and class numbers.

        Elements of Y equal to ignore_index do not count (-1: all count).

        >>> x = Tensor([[0.0, 0.0], [5.0, 0.0]])
        >>> round(x.sparse_categorical_crossentropy(Tensor([1, 0]), ignore_index=0).item(), 4)
        0.6931
        """
        y = as_operand(Y, self)
        options = (ignore_index, label_smoothing, _reduction(reduction))
        return combine("poly_sparse_cross_entropy_loss", self, y, *options)

    def nll_loss(
        self,
        Y: Operand,
        weight: Self | None = None,
        ignore_index: int | None = None,
        reduction: str = "mean",
    ) -> Self:
        """Return -x[n, Y[n]] * weight[Y[n]] for log probabilities x (N, C, …).

        weight has a number for each class; elements of Y equal to ignore_index do not count; the
        mean is divided by the sum of the weights.

        >>> x = Tensor([[-1.0, -2.0], [-3.0, -4.0]])
        >>> x.nll_loss(Tensor([0, 1])).item()
        2.5
        """
        y = as_operand(Y, self)
        skip = 0 if ignore_index is None else ignore_index
        options = (ignore_index is not None, skip, _reduction(reduction))
        return combine("poly_nll_loss", self, y, weight, *options)

    def mse_loss(self, Y: Operand, reduction: str = "mean") -> Self:
        """Return (x - Y)^2.

        >>> Tensor([1.0, 2.0]).mse_loss(Tensor([1.0, 4.0])).item()
        2.0
        """
        return combine("poly_mse_loss", self, as_operand(Y, self), _reduction(reduction))

    def l1_loss(self, Y: Operand, reduction: str = "mean") -> Self:
        """Return |x - Y|.

        >>> Tensor([1.0, 2.0]).l1_loss(Tensor([1.0, 4.0])).item()
        1.0
        """
        return combine("poly_l1_loss", self, as_operand(Y, self), _reduction(reduction))

    def huber_loss(self, Y: Operand, delta: float = 1.0, reduction: str = "mean") -> Self:
        """Return d^2 / 2 for d = |x - Y| up to delta, delta * (d - delta / 2) beyond.

        >>> Tensor([0.0, 0.0]).huber_loss(Tensor([1.0, 3.0]), reduction="none").tolist()
        [0.5, 2.5]
        """
        y = as_operand(Y, self)
        return combine("poly_huber_loss", self, y, delta, _reduction(reduction))

    def binary_crossentropy(self, Y: Operand, reduction: str = "mean") -> Self:
        """Return -(Y log x + (1-Y) log(1-x)).

        >>> round(Tensor([0.5, 0.5]).binary_crossentropy(Tensor([1.0, 0.0])).item(), 4)
        0.6931
        """
        y = as_operand(Y, self)
        return combine("poly_binary_cross_entropy", self, y, _reduction(reduction))

    def binary_crossentropy_logits(
        self, Y: Operand, reduction: str = "mean", pos_weight: Self | None = None
    ) -> Self:
        """Return binary_crossentropy of sigmoid(x), without overflow.

        pos_weight, if given, scales the term of Y = 1.

        >>> round(Tensor([0.0]).binary_crossentropy_logits(Tensor([1.0])).item(), 4)
        0.6931
        """
        y, how = as_operand(Y, self), _reduction(reduction)
        return combine("poly_binary_cross_entropy_logits", self, y, pos_weight, how)
