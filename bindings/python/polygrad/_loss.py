"""Tensor methods that compare with a target."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polygrad import _prototypes as c
from polygrad._base import Base, Operand, as_operand, combine
from polygrad._library import ArgumentError

if TYPE_CHECKING:
    from typing_extensions import Self

_REDUCTIONS = {"mean": c.POLY_LOSS_MEAN, "sum": c.POLY_LOSS_SUM, "none": c.POLY_LOSS_NONE}


def _reduction(name: str) -> int:
    if name not in _REDUCTIONS:
        raise ArgumentError(f"reduction: {name!r}, expected 'mean', 'sum' or 'none'")
    return _REDUCTIONS[name]


class Loss(Base):
    """Losses. reduction is what is made of those of the elements: "mean", "sum" or "none"."""

    __slots__ = ()

    def cross_entropy(
        self,
        target: Operand,
        axis: int = -1,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> Self:
        """Return the cross entropy of logits and class numbers or probabilities.

        axis is the one of the classes. label_smoothing mixes the target with the uniform
        distribution.

        >>> round(Tensor([[0.0, 0.0]]).cross_entropy(Tensor([1])).item(), 4)
        0.6931
        """
        y = as_operand(target, self)
        how = _reduction(reduction)
        return combine("poly_cross_entropy_loss", self, y, axis, label_smoothing, how)

    def sparse_categorical_crossentropy(
        self,
        target: Operand,
        ignore_index: int = -1,
        label_smoothing: float = 0.0,
        reduction: str = "mean",
    ) -> Self:
        """Return the cross entropy of logits along the last axis and class numbers.

        Targets equal to ignore_index do not count (-1: all count).

        >>> x = Tensor([[0.0, 0.0], [5.0, 0.0]])
        >>> round(x.sparse_categorical_crossentropy(Tensor([1, 0]), ignore_index=0).item(), 4)
        0.6931
        """
        y = as_operand(target, self)
        options = (ignore_index, label_smoothing, _reduction(reduction))
        return combine("poly_sparse_cross_entropy_loss", self, y, *options)

    def nll_loss(
        self,
        target: Operand,
        weight: Self | None = None,
        ignore_index: int | None = None,
        reduction: str = "mean",
    ) -> Self:
        """Return -x[n, target[n]] * weight[target[n]] for log probabilities x (N, C, …).

        weight has a number for each class; targets equal to ignore_index do not count; the
        mean is divided by the sum of the weights.

        >>> x = Tensor([[-1.0, -2.0], [-3.0, -4.0]])
        >>> x.nll_loss(Tensor([0, 1])).item()
        2.5
        """
        y = as_operand(target, self)
        skip = 0 if ignore_index is None else ignore_index
        options = (ignore_index is not None, skip, _reduction(reduction))
        return combine("poly_nll_loss", self, y, weight, *options)

    def mse_loss(self, target: Operand, reduction: str = "mean") -> Self:
        """Return (x - target)^2.

        >>> Tensor([1.0, 2.0]).mse_loss(Tensor([1.0, 4.0])).item()
        2.0
        """
        return combine("poly_mse_loss", self, as_operand(target, self), _reduction(reduction))

    def l1_loss(self, target: Operand, reduction: str = "mean") -> Self:
        """Return |x - target|.

        >>> Tensor([1.0, 2.0]).l1_loss(Tensor([1.0, 4.0])).item()
        1.0
        """
        return combine("poly_l1_loss", self, as_operand(target, self), _reduction(reduction))

    def huber_loss(self, target: Operand, delta: float = 1.0, reduction: str = "mean") -> Self:
        """Return d^2 / 2 for d = |x - target| up to delta, delta * (d - delta / 2) beyond.

        >>> Tensor([0.0, 0.0]).huber_loss(Tensor([1.0, 3.0]), reduction="none").tolist()
        [0.5, 2.5]
        """
        y = as_operand(target, self)
        return combine("poly_huber_loss", self, y, delta, _reduction(reduction))

    def binary_crossentropy(self, target: Operand, reduction: str = "mean") -> Self:
        """Return -(y log x + (1-y) log(1-x)).

        >>> round(Tensor([0.5, 0.5]).binary_crossentropy(Tensor([1.0, 0.0])).item(), 4)
        0.6931
        """
        y = as_operand(target, self)
        return combine("poly_binary_cross_entropy", self, y, _reduction(reduction))

    def binary_crossentropy_logits(
        self, target: Operand, reduction: str = "mean", pos_weight: Self | None = None
    ) -> Self:
        """Return binary_crossentropy of sigmoid(x), without overflow.

        pos_weight, if given, scales the term of y = 1.

        >>> round(Tensor([0.0]).binary_crossentropy_logits(Tensor([1.0])).item(), 4)
        0.6931
        """
        y, how = as_operand(target, self), _reduction(reduction)
        return combine("poly_binary_cross_entropy_logits", self, y, pos_weight, how)
