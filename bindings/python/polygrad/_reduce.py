"""Tensor methods that reduce, normalise and compare distributions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polygrad import _prototypes as c
from polygrad._base import Base, Operand, call, made, operand
from polygrad._graph import CTX, dims, handles, several
from polygrad._library import lib

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Self, TypeAlias

Axes: TypeAlias = "int | Sequence[int] | None"


class Reduce(Base):
    """Reductions, softmax, norms, products of matrices and losses."""

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

    def sum(self, axis: Axes = None, keepdim: bool = False) -> Self:
        """Add up along axes (None: all).

        >>> t = Tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> t.sum().item(), t.sum(0).tolist(), t.sum(1, keepdim=True).tolist()
        (10.0, [4.0, 6.0], [[3.0], [7.0]])
        """
        return self._reduce(c.POLY_REDUCE_SUM, axis, keepdim)

    def prod(self, axis: Axes = None, keepdim: bool = False) -> Self:
        """Multiply along axes.

        >>> Tensor([1.0, 2.0, 3.0]).prod().item()
        6.0
        """
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

    # Softmax and norms

    def softmax(self, axis: int = -1) -> Self:
        """Return e^x / sum(e^x) along an axis.

        >>> Tensor([0.0, 0.0]).softmax().tolist()
        [0.5, 0.5]
        """
        return call("poly_softmax", self, None, 0, axis)

    def log_softmax(self, axis: int = -1) -> Self:
        """Return log(softmax(x)) along an axis."""
        return call("poly_log_softmax", self, None, 0, axis)

    def layernorm(self, axis: int | Sequence[int] = -1, eps: float = 1e-5) -> Self:
        """Return (x - mean) / sqrt(variance + eps) along axes.

        >>> Tensor([1.0, 3.0]).layernorm(eps=0).tolist()
        [-1.0, 1.0]
        """
        axes = several(axis)
        return call("poly_layernorm_axes", self, dims(axes, "axis"), len(axes), eps, None, None)

    # Products

    def matmul(self, other: Operand) -> Self:
        """Return the matrix product.

        >>> Tensor([[1.0, 2.0]]).matmul(Tensor([[3.0], [4.0]])).tolist()
        [[11.0]]
        """
        second = operand(other, self)
        handle = lib.poly_matmul(CTX, self._node.handle, second.handle)
        return made(type(self), handle, (self._node, second))

    def dot(self, other: Operand) -> Self:
        """Return the matrix product."""
        return self.matmul(other)

    def __matmul__(self, other: Operand) -> Self:
        return self.matmul(other)

    def __rmatmul__(self, other: Operand) -> Self:
        first = operand(other, self)
        handle = lib.poly_matmul(CTX, first.handle, self._node.handle)
        return made(type(self), handle, (first, self._node))

    def linear(self, weight: Base, bias: Base | None = None) -> Self:
        """Return x @ weight.T + bias for a weight of shape (out, in).

        >>> Tensor([1.0, 2.0]).linear(Tensor([[3.0, 4.0]]), Tensor([0.5])).tolist()
        [11.5]
        """
        nodes = (self._node, weight._node)
        if bias is None:
            handle = lib.poly_affine(CTX, nodes[0].handle, nodes[1].handle, None)
            return made(type(self), handle, nodes)
        add = bias._node
        handle = lib.poly_affine(CTX, nodes[0].handle, nodes[1].handle, add.handle)
        return made(type(self), handle, (*nodes, add))

    @classmethod
    def einsum(cls, formula: str, *operands: Self) -> Self:
        """Sum products of elements, as the formula says.

        >>> a, b = Tensor([[1.0, 2.0], [3.0, 4.0]]), Tensor([[5.0, 6.0], [7.0, 8.0]])
        >>> Tensor.einsum("ij,jk->ik", a, b).tolist(), Tensor.einsum("ii", a).item()
        ([[19.0, 22.0], [43.0, 50.0]], 5.0)
        """
        if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
            operands = tuple(operands[0])
        nodes = tuple(t._node for t in operands)
        handle = lib.poly_einsum(
            CTX, formula.encode(), handles(nodes), None, None, len(nodes), None, None
        )
        return made(cls, handle, nodes)

    def cholesky(self, upper: bool = False) -> Self:
        """Return the Cholesky factor of symmetric positive definite matrices.

        >>> Tensor([[4.0, 2.0], [2.0, 5.0]]).cholesky().tolist()
        [[2.0, 0.0], [1.0, 2.0]]
        """
        return call("poly_cholesky", self, None, 0, upper)

    def triangular_solve(
        self,
        b: Base,
        upper: bool = False,
        transpose: bool = False,
        unit_diagonal: bool = False,
    ) -> Self:
        """Solve self @ x = b for a triangular matrix.

        >>> Tensor([[2.0, 0.0], [1.0, 4.0]]).triangular_solve(Tensor([2.0, 9.0])).tolist()
        [1.0, 2.0]
        """
        nodes = (self._node, b._node)
        handle = lib.poly_triangular_solve(
            CTX,
            nodes[0].handle,
            None,
            0,
            nodes[1].handle,
            None,
            0,
            upper,
            transpose,
            unit_diagonal,
            None,
            None,
        )
        return made(type(self), handle, nodes)

    def scaled_dot_product_attention(
        self, key: Base, value: Base, attn_mask: Base | None = None, is_causal: bool = False
    ) -> Self:
        """Return softmax(self @ key.T / sqrt(d) + mask) @ value over the last two axes.

        A bool mask tells which pairs may attend; another one is added.

        >>> q = Tensor([[1.0, 0.0]])
        >>> q.scaled_dot_product_attention(q, Tensor([[2.0, 3.0]])).tolist()
        [[2.0, 3.0]]
        """
        nodes = [self._node, key._node, value._node]
        mask = None
        if attn_mask is not None:
            nodes.append(attn_mask._node)
            mask = attn_mask._node.handle
        handle = lib.poly_attention(
            CTX, *(n.handle for n in nodes[:3]), mask, is_causal, False, 0.0, 0.0, None
        )
        return made(type(self), handle, tuple(nodes))

    # Losses

    def cross_entropy(self, target: Operand, axis: int = -1) -> Self:
        """Return the mean cross entropy of logits and class numbers or probabilities.

        >>> round(Tensor([[0.0, 0.0]]).cross_entropy(Tensor([1])).item(), 4)
        0.6931
        """
        second = operand(target, self)
        handle = lib.poly_cross_entropy(
            CTX, self._node.handle, None, 0, second.handle, None, 0, axis, None, None
        )
        return made(type(self), handle, (self._node, second))

    def binary_crossentropy(self, target: Operand) -> Self:
        """Return the mean of -(y log x + (1-y) log(1-x)).

        >>> round(Tensor([0.5, 0.5]).binary_crossentropy(Tensor([1.0, 0.0])).item(), 4)
        0.6931
        """
        second = operand(target, self)
        handle = lib.poly_binary_cross_entropy(CTX, self._node.handle, second.handle, 0)
        return made(type(self), handle, (self._node, second))

    def binary_crossentropy_logits(self, target: Operand) -> Self:
        """Return binary_crossentropy of sigmoid(x), without overflow."""
        second = operand(target, self)
        handle = lib.poly_binary_cross_entropy_logits(
            CTX, self._node.handle, second.handle, None, 0
        )
        return made(type(self), handle, (self._node, second))

    def sparse_categorical_crossentropy(self, target: Operand) -> Self:
        """Return the mean cross entropy of logits along the last axis and class numbers."""
        return self.cross_entropy(target, -1)
