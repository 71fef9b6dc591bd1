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
    expm,
    inv,
    matrix_power,
    multi_dot,
    solve,
    svdvals,
    tensorinv,
    tensorsolve,
    vector_norm,
)
from polygrad.numpy._arrays import array
from polygrad.numpy._operations import cross as _cross
from polygrad.numpy._operations import diagonal as _diagonal
from polygrad.numpy._operations import expand_dims, matmul, matrix_transpose, moveaxis, vecdot
from polygrad.numpy._operations import outer as _outer
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


def eig(a: Operand) -> EigResult:
    """Return the complex eigenvalues and eigenvectors of square matrices."""
    return EigResult(*_linalg.eig(a))


def eigh(a: Operand, UPLO: str = "L") -> EighResult:
    """Return the eigenvalues and eigenvectors of symmetric matrices.

    Only one triangle is read, the lower or, with UPLO "U", the upper.
    """
    return EighResult(*_linalg.eigh(a, _upper(UPLO)))


def eigvalsh(a: Operand, UPLO: str = "L") -> Tensor:
    """Return the eigenvalues (…, n) of symmetric matrices (…, n, n) in ascending order.

    UPLO is that of eigh.
    """
    return _linalg.eigvalsh(a, _upper(UPLO))


def _upper(UPLO: str) -> bool:
    if UPLO not in ("L", "U"):
        raise wrong("UPLO", UPLO, '"L" or "U"')
    return UPLO == "U"


def qr(a: Operand, mode: str = "reduced") -> Any:
    """Return orthogonal Q and upper triangular R with a = Q R.

    mode "complete" makes Q square, "r" returns R alone.
    """
    if mode == "r":
        return _linalg.qr(a)[1]
    return QRResult(*_linalg.qr(a, mode))


def slogdet(a: Operand) -> SlogdetResult:
    """Return the sign of the determinant, and the logarithm of its absolute value."""
    return SlogdetResult(*_linalg.slogdet(a))


def svd(
    a: Operand, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
) -> Any:
    """Return U, S and Vh with a = U diag(S) Vh; without compute_uv S alone.

    hermitian is ignored: symmetric matrices use the same algorithm.
    """
    if not compute_uv:
        return _linalg.svdvals(a)
    return SVDResult(*_linalg.svd(a, full_matrices))


def lstsq(a: Operand, b: Operand, rcond: float | None = None) -> tuple[Tensor, ...]:
    """Return the least squares solution x of a x = b, residuals (k), rank and singular values.

    a is (m, n), b (m) or (m, k), x (n) or (n, k); k is 1 for a vector. Singular values up to rcond
    times the greatest count as 0.
    """
    x, residuals, rank, s = _linalg.lstsq(a, b, rcond)
    return x, residuals.reshape(-1), rank, s


def pinv(
    a: Operand, rcond: Any = None, hermitian: bool = False, *, rtol: Operand | None = None
) -> Tensor:
    """Return the Moore-Penrose pseudoinverse, (…, n, m) for matrices (…, m, n).

    Singular values up to rtol, or rcond, times the greatest count as 0, by default the machine
    epsilon times the greater size. hermitian changes nothing.
    """
    if rcond is not None and rtol is not None:
        raise wrong("rtol", rtol, "rcond or rtol, not both")
    return _linalg.pinv(a, rcond if rtol is None else rtol)


def matrix_rank(
    A: Operand, tol: Any = None, hermitian: bool = False, *, rtol: Operand | None = None
) -> Tensor:
    """Return the number of singular values above tol, or rtol times the greatest.

    It is int32, of shape (…) for matrices (…, m, n).

    Without both rtol is the machine epsilon times the greater size. hermitian changes nothing.
    """
    if tol is None:
        return _linalg.matrix_rank(A, rtol)
    if rtol is not None:
        raise wrong("rtol", rtol, "tol or rtol, not both")
    return (_linalg.svdvals(A) > expand_dims(tol, -1)).sum(-1)


def outer(x: Operand, y: Operand) -> Tensor:
    """Return the outer product of two vectors."""
    for name, v in (("x", x), ("y", y)):
        if array(v).ndim != 1:
            raise wrong(name, f"an array of shape {array(v).shape}", "a vector")
    return _outer(x, y)


def cross(x: Operand, y: Operand, axis: int = -1) -> Tensor:
    """Return the cross product of vectors of 3 elements along an axis."""
    for name, v in (("x", array(x)), ("y", array(y))):
        if v.ndim == 0 or v.size(axis) != 3:
            raise wrong(name, f"an array of shape {v.shape}", f"3 elements along axis {axis}")
    return _cross(x, y, axis=axis)


def diagonal(x: Operand, /, *, offset: int = 0) -> Tensor:
    """Return the diagonal of the last two axes."""
    return _diagonal(x, offset, -2, -1)


def trace(x: Operand, /, *, offset: int = 0, dtype: Any = None) -> Tensor:
    """Return the sum of the diagonal of the last two axes."""
    return _trace(x, offset, -2, -1, dtype)


def tensordot(a: Operand, b: Operand, /, axes: Any = 2) -> Tensor:
    """Return the sum of products over axes (contraction): their number, or the axes of both."""
    return _tensordot(a, b, axes) if isinstance(axes, int) else _tensordot(a, b, *axes)


def matrix_norm(x: Operand, /, *, keepdims: bool = False, ord: Any = "fro") -> Tensor:
    """Return a norm of matrices: "fro", "nuc", 1, -1, 2, -2, inf or -inf."""
    if isinstance(ord, float) and math.isinf(ord):
        ord = "inf" if ord > 0 else "-inf"
    return _linalg.matrix_norm(x, keepdims, ord)


def norm(x: Operand, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Return the norm of vectors along an axis, of matrices along two, or of all elements.

    Without an axis, ord selects a vector norm for vectors, and a matrix norm for matrices.
    """
    if ord is None:
        return vector_norm(x, axis, keepdims)
    x = array(x)
    axes = tuple(range(x.ndim)) if axis is None else axis
    axes = (axes,) if isinstance(axes, int) else tuple(axes)
    if len(axes) not in (1, 2):
        raise wrong("axis", axis, "one or two axes")
    if len(axes) == 1:
        return vector_norm(x, axes[0], keepdims, ord)
    norms = matrix_norm(moveaxis(x, axes, (-2, -1)), ord=ord)
    return expand_dims(norms, tuple(a % x.ndim for a in axes)) if keepdims else norms
