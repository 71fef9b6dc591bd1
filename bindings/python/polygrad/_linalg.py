"""Tensor methods of linear algebra."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

import numpy as np

from polygrad._base import Base, Operand, as_operand, call, combine, made, several_results
from polygrad._graph import CTX, describe, handles
from polygrad._library import ArgumentError, c_text, fail, lib
from polygrad._random import next_seed, words_of
from polygrad.dtype import DTypeLike, to_dtype

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Self


def _scores(query: tuple[Any, ...], key: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the shape of query @ key.T, with the heads of query where they share a key."""
    try:
        lead = np.broadcast_shapes(query[:-2], key[:-2])
    except (TypeError, ValueError):
        lead = query[:-2]
    return (*lead, *query[-2:-1], *key[-2:-1])


class Linalg(Base):
    """Products of matrices, decompositions and attention, over the last two axes."""

    __slots__ = ()

    def matmul(self, x: Operand, reverse: bool = False, dtype: DTypeLike | None = None) -> Self:
        """Return the matrix product self @ x (x @ self if reverse).

        The sums are taken in dtype, if it is given, and have that type.

        >>> Tensor([[1.0, 2.0]]).matmul(Tensor([[3.0], [4.0]])).tolist()
        [[11.0]]
        """
        pair = (as_operand(x, self), self) if reverse else (self, as_operand(x, self))
        if dtype is not None:
            return combine("poly_matmul_as", *pair, to_dtype(dtype).id)
        return combine("poly_matmul", *pair)

    def dot(self, w: Operand, dtype: DTypeLike | None = None) -> Self:
        """Return the matrix product."""
        return self.matmul(w, dtype=dtype)

    def __matmul__(self, x: Operand) -> Self:
        return self.matmul(x)

    def __rmatmul__(self, x: Operand) -> Self:
        return self.matmul(x, reverse=True)

    def linear(
        self, weight: Self, bias: Self | None = None, dtype: DTypeLike | None = None
    ) -> Self:
        """Return x @ weight + bias for a weight of shape (in, out).

        A weight of one axis multiplies element by element; one of shape (out, in), as nn.Linear
        keeps it, is turned where only that fits. With dtype, all three are converted first.

        >>> Tensor([1.0, 2.0]).linear(Tensor([[3.0], [4.0]]), Tensor([0.5])).tolist()
        [11.5]
        """
        if dtype is None:
            return combine("poly_dense", self, weight, bias)
        kind = to_dtype(dtype).id
        x, w = (call("poly_cast_by_id", t, kind) for t in (self, weight))
        return combine(
            "poly_dense", x, w, None if bias is None else call("poly_cast_by_id", bias, kind)
        )

    @classmethod
    def einsum(cls, formula: str, *operands: Self, dtype: DTypeLike | None = None) -> Self:
        """Sum products of elements, as the formula says; with dtype, operands are converted first.

        >>> a, b = Tensor([[1.0, 2.0], [3.0, 4.0]]), Tensor([[5.0, 6.0], [7.0, 8.0]])
        >>> Tensor.einsum("ij,jk->ik", a, b).tolist(), Tensor.einsum("ii", a).item()
        ([[19.0, 22.0], [43.0, 50.0]], 5.0)
        """
        if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
            operands = tuple(operands[0])
        if dtype is not None:
            kind = to_dtype(dtype).id
            operands = tuple(call("poly_cast_by_id", t, kind) for t in operands)
        nodes = tuple(t._node for t in operands)
        handle = lib.poly_einsum(
            CTX,
            c_text("einsum: formula", formula),
            handles(nodes),
            None,
            None,
            len(nodes),
            None,
            None,
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
        a, right = self._node, b._node
        flags = (upper, transpose, unit_diagonal)
        handle = lib.poly_triangular_solve(
            CTX, a.handle, None, 0, right.handle, None, 0, *flags, None, None
        )
        return made(type(self), handle, (a, right))

    def solve(self, b: Self) -> Self:
        """Solve self @ x = b for square matrices; infinite or NaN where they are singular.

        b is a vector, a stack of vectors (one for each matrix) or matrices.

        >>> Tensor([[0.0, 2.0], [1.0, 1.0]]).solve(Tensor([2.0, 3.0])).tolist()
        [2.0, 1.0]
        """
        return combine("poly_solve", self, b)

    def inv(self) -> Self:
        """Return the inverse of square matrices; infinite or NaN where they are singular.

        >>> Tensor([[0.0, 2.0], [1.0, 1.0]]).inv().tolist()
        [[-0.5, 1.0], [0.5, 0.0]]
        """
        return call("poly_inv", self)

    def det(self) -> Self:
        """Return the determinant of square matrices.

        >>> Tensor([[0.0, 2.0], [1.0, 1.0]]).det().item()
        -2.0
        """
        return call("poly_det", self)

    def slogdet(self) -> tuple[Self, ...]:
        """Return the sign of the determinant and the logarithm of its absolute value.

        >>> [t.item() for t in Tensor([[0.0, 1.0], [1.0, 0.0]]).slogdet()]
        [-1.0, 0.0]
        """
        return several_results("poly_slogdet", 2, self)

    def qr(self) -> tuple[Self, ...]:
        """Return orthogonal Q (…, m, m) and upper triangular R (…, m, n) with Q @ R = self.

        >>> q, r = Tensor([[3.0, 1.0], [4.0, 2.0]]).qr()
        >>> r.numpy().round(4)
        array([[-5. , -2.2],
               [ 0. ,  0.4]], dtype=float32)
        """
        return several_results("poly_qr", 2, self)

    def svd(self, full_matrices: bool = True) -> tuple[Self, ...]:
        """Return U, S and V^T with U @ diag(S) @ V^T = self, the greatest of S first.

        For matrices (…, m, n) with k = min(m, n), U is (…, m, m) and V^T (…, n, n), or
        (…, m, k) and (…, k, n) without full_matrices; S is (…, k). It takes many steps: for
        small matrices.

        >>> Tensor([[0.0, 2.0], [3.0, 0.0]]).svd()[1].tolist()
        [3.0, 2.0]
        """
        return several_results("poly_svd", 3, self, full_matrices)

    def eigh(self, upper: bool = False) -> tuple[Self, ...]:
        """Return eigenvalues (…, n) and eigenvectors (…, n, n) of symmetric matrices (…, n, n).

        The least value comes first; the vectors are orthonormal columns. Only the lower triangle
        is read, or the upper one. It takes many steps: for small matrices.

        >>> values, vectors = Tensor([[2.0, 1.0], [1.0, 2.0]]).eigh()
        >>> values.numpy().round(4), abs(vectors.numpy()).round(4)
        (array([1., 3.], dtype=float32), array([[0.7071, 0.7071],
               [0.7071, 0.7071]], dtype=float32))
        """
        return several_results("poly_eigh", 2, self, upper)

    def lstsq(self, b: Self, rcond: float | None = None) -> tuple[Self, ...]:
        """Solve self @ x = b by least squares: return x, residuals, rank and singular values.

        self is (…, m, n), b (m), (…, m) or (…, m, k) and x (n), (…, n) or (…, n, k), the least of
        the solutions if there are many. The residuals are sums of squares, one for each column of
        b. Singular values up to rcond times the greatest count as 0 in the rank; by default the
        type's epsilon times the greater of m and n. It takes many steps: for small matrices.

        >>> a = Tensor([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]])
        >>> x, residuals, rank, s = a.lstsq(Tensor([1.0, 3.0, 5.0]))
        >>> x.numpy().round(4), rank.item()
        (array([1., 2.], dtype=float32), 2)
        """
        cutoff = -1.0 if rcond is None else rcond
        if rcond is not None and not 0 <= rcond < 1:
            raise ArgumentError(f"lstsq: rcond: {rcond}, expected 0 or more, below 1")
        a, right = self._node, b._node
        out = (ctypes.c_void_p * 4)()
        if lib.poly_lstsq(CTX, a.handle, right.handle, cutoff, out) != 0:
            fail()
        return tuple(made(type(self), handle, (a, right)) for handle in out)

    def newton_schulz(self, steps: int, params: Sequence[float], eps: float = 1e-7) -> Self:
        """Bring the singular values of matrices near 1 by steps of an odd polynomial.

        The matrix is scaled to norm 1; a step is x = sum of params[i] (x x^T)^i x.

        >>> x = Tensor([[3.0, 0.0], [0.0, 4.0]]).newton_schulz(20, (1.5, -0.5))
        >>> x.numpy().round(4).tolist()
        [[1.0, 0.0], [0.0, 1.0]]
        """
        factors = (ctypes.c_double * len(params))(*params)
        return call("poly_newton_schulz", self, steps, factors, len(params), eps)

    def scaled_dot_product_attention(
        self,
        key: Base,
        value: Base,
        attn_mask: Base | None = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        enable_gqa: bool = False,
        scale: float | None = None,
    ) -> Self:
        """Return softmax(scale * self @ key.T + mask) @ value over the last two axes.

        A bool mask tells which pairs may attend; another one is added. is_causal hides keys
        after the query. With enable_gqa several heads (axis -3) of self share one of key and
        value. scale is 1/sqrt(d) by default. Weights are dropped with probability dropout_p
        while Tensor.training is set. What is hidden may be left out of the computation: a NaN
        there shows in the result or not, as the sizes have it.

        >>> q = Tensor([[1.0, 0.0]])
        >>> q.scaled_dot_product_attention(q, Tensor([[2.0, 3.0]])).tolist()
        [[2.0, 3.0]]
        """
        if scale == 0:
            raise ArgumentError("scaled_dot_product_attention: scale: 0, expected another number")
        nodes = [self._node, as_operand(key, self)._node, as_operand(value, self)._node]
        mask = seed = None
        if attn_mask is not None:
            nodes.append(as_operand(attn_mask, self)._node)
            mask = nodes[-1].handle
        drop = dropout_p if type(self).training else 0.0  # type: ignore[attr-defined]
        if drop:
            nodes.append(next_seed(words_of(_scores(*(describe(n)[0] for n in nodes[:2])))))
            seed = nodes[-1].handle
        flags = (is_causal, enable_gqa, 0.0 if scale is None else scale, drop, seed)
        handle = lib.poly_attention(CTX, *(n.handle for n in nodes[:3]), mask, *flags)
        return made(type(self), handle, tuple(nodes))
