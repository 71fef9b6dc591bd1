"""Linear algebra: the extension of the array API standard, and names of numpy.linalg."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from polygrad import linalg as _linalg
from polygrad._library import wrong
from polygrad.linalg import (
    cholesky,
    cond,
    det,
    eigvals,
    eigvalsh,
    expm,
    inv,
    lstsq,
    matrix_power,
    matrix_rank,
    multi_dot,
    pinv,
    solve,
    svdvals,
    tensorinv,
    tensorsolve,
    vector_norm,
)
from polygrad.numpy._operations import cross, matmul, matrix_transpose, outer, vecdot
from polygrad.numpy._operations import diagonal as _diagonal
from polygrad.numpy._operations import tensordot as _tensordot
from polygrad.numpy._operations import trace as _trace

if TYPE_CHECKING:
    from polygrad._base import Operand
    from polygrad.tensor import Tensor

__all__ = [
    "cholesky",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "expm",
    "inv",
    "lstsq",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "multi_dot",
    "norm",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "tensorinv",
    "tensorsolve",
    "trace",
    "vecdot",
    "vector_norm",
]


class EigResult(NamedTuple):
    """Complex eigenvalues, in no particular order, and eigenvectors as columns."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class EighResult(NamedTuple):
    """Eigenvalues in ascending order, and eigenvectors as columns."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class QRResult(NamedTuple):
    """An orthogonal and an upper triangular factor."""

    Q: Tensor
    R: Tensor


class SlogdetResult(NamedTuple):
    """The sign of a determinant, and the logarithm of its absolute value."""

    sign: Tensor
    logabsdet: Tensor


class SVDResult(NamedTuple):
    """Singular vectors and values of x = U diag(S) Vh."""

    U: Tensor
    S: Tensor
    Vh: Tensor


def eig(x: Operand, /) -> EigResult:
    """Return the complex eigenvalues and eigenvectors of square matrices."""
    return EigResult(*_linalg.eig(x))


def eigh(x: Operand, /, UPLO: str = "L") -> EighResult:
    """Return the eigenvalues and eigenvectors of symmetric matrices.

    Only one triangle is read, the lower or, with UPLO "U", the upper.
    """
    if UPLO not in ("L", "U"):
        raise wrong("UPLO", UPLO, '"L" or "U"')
    return EighResult(*_linalg.eigh(x, UPLO == "U"))


def qr(x: Operand, /, *, mode: str = "reduced") -> QRResult:
    """Return orthogonal Q and upper triangular R with x = Q R; mode "complete" makes Q square."""
    return QRResult(*_linalg.qr(x, mode))


def slogdet(x: Operand, /) -> SlogdetResult:
    """Return the sign of the determinant, and the logarithm of its absolute value."""
    return SlogdetResult(*_linalg.slogdet(x))


def svd(x: Operand, /, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    """Return U, S and Vh with x = U diag(S) Vh; without compute_uv S alone."""
    if not compute_uv:
        return _linalg.svdvals(x)
    return SVDResult(*_linalg.svd(x, full_matrices))


def diagonal(x: Operand, /, *, offset: int = 0) -> Tensor:
    """Return the diagonal of the last two axes."""
    return _diagonal(x, offset, -2, -1)


def trace(x: Operand, /, *, offset: int = 0, dtype: Any = None) -> Tensor:
    """Return the sum of the diagonal of the last two axes."""
    return _trace(x, offset, -2, -1, dtype)


def tensordot(x: Operand, y: Operand, /, axes: Any = 2) -> Tensor:
    """Return the sum of products over axes: a number of them, or those of both."""
    return _tensordot(x, y, axes) if isinstance(axes, int) else _tensordot(x, y, *axes)


def matrix_norm(x: Operand, /, *, keepdims: bool = False, ord: Any = "fro") -> Tensor:
    """Return a norm of matrices: "fro", "nuc", 1, -1, 2, -2, inf or -inf."""
    if isinstance(ord, float) and math.isinf(ord):
        ord = "inf" if ord > 0 else "-inf"
    return _linalg.matrix_norm(x, keepdims, ord)


def norm(x: Operand, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Return the norm of vectors along an axis, or of matrices along the two last axes."""
    if ord is None:
        return vector_norm(x, axis, keepdims)
    if isinstance(ord, str) or (axis is None and getattr(x, "ndim", 1) == 2):
        return matrix_norm(x, keepdims=keepdims, ord=ord)
    return vector_norm(x, axis, keepdims, ord)
