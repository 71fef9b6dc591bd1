"""Vandermonde matrices, and polynomial fits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from polygrad import linalg
from polygrad._library import wrong
from polygrad.numpy import _operations
from polygrad.numpy._arrays import array, maybe
from polygrad.tensor import Tensor

if TYPE_CHECKING:
    from polygrad._base import Operand


def vander(x: Operand, N: int | None = None, increasing: bool = False) -> Tensor:
    """Return the Vandermonde matrix of a vector, with N columns, by default len(x)."""
    return _operations.vander(x, N, increasing)


def polyfit(
    x: Operand,
    y: Operand,
    deg: int,
    rcond: float | None = None,
    full: bool = False,
    w: Operand | None = None,
    cov: Any = False,
) -> Any:
    """Return the coefficients of the least squares polynomial fit of degree deg to y at x.

    The highest power is first; their shape is (deg + 1), or (deg + 1, k) for y (n, k). w (n) are
    weights. With full it also returns the residuals, the rank, the singular values of the scaled
    Vandermonde matrix, and rcond; with cov the covariance matrix of the coefficients, not scaled by
    the residual variance if cov is "unscaled".
    """
    x, y = array(x), array(y)
    if not full and not cov and rcond is None:
        return _operations.polyfit(x, y, deg, w)
    if x.ndim != 1 or y.ndim not in (1, 2) or y.shape[0] != x.shape[0]:
        raise wrong("y", f"shape {y.shape}", f"({x.shape[0]}) or ({x.shape[0]}, k), as x (n)")
    powers = _operations.vander(x * 1.0, deg + 1)
    right, weights = y, maybe(w)
    if weights is not None:
        powers = powers * weights.reshape(-1, 1)
        right = y * (weights if y.ndim == 1 else weights.reshape(-1, 1))
    scale = (powers * powers).sum(0).sqrt()
    powers = powers / scale
    if rcond is None:
        rcond = x.shape[0] * (2.0**-52 if powers.dtype == "float64" else 2.0**-23)
    found, residuals, rank, values = linalg.lstsq(powers, right, rcond)
    fit: Tensor = found / (scale if y.ndim == 1 else scale.reshape(-1, 1))
    if full:
        return fit, residuals.reshape(-1), rank, values, rcond
    if not cov:
        return fit
    spread = linalg.inv(powers.transpose() @ powers) / _operations.outer(scale, scale)
    if cov == "unscaled":
        factor: Any = 1.0
    elif x.shape[0] <= deg + 1:
        raise wrong("cov", cov, f'False or "unscaled" for {x.shape[0]} points and degree {deg}')
    else:
        off = right - powers @ found
        factor = (off * off).sum(0) / (x.shape[0] - deg - 1)
    if y.ndim == 1:
        return fit, spread * factor
    return fit, spread.unsqueeze(-1) * factor
