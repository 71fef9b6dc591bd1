"""Special functions in float64, which numpy lacks. Formulas: DLMF 5.5.2, 5.11.2 and 7.17."""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist
from typing import Any

import numpy as np


def each(f: Callable[[float], float]) -> Callable[[Any], np.ndarray[Any, Any]]:
    """Return f for arrays; NaN stays NaN."""

    def of(x: Any) -> np.ndarray[Any, Any]:
        x = np.asarray(x, np.float64)
        flat = [v if v != v else f(v) for v in x.ravel().tolist()]
        return np.array(flat, np.float64).reshape(x.shape)

    return of


def _erfinv(x: float) -> float:
    if abs(x) >= 1:
        return math.copysign(math.inf, x) if abs(x) == 1 else math.nan
    if x == 0:
        return 0.0
    y = NormalDist().inv_cdf((abs(x) + 1) / 2) / math.sqrt(2)
    for _ in range(3):  # Newton's method; the tail is compared, not the sum with 1
        gap = math.erf(y) - abs(x) if abs(x) < 0.5 else (1 - abs(x)) - math.erfc(y)
        y -= gap * math.sqrt(math.pi) / 2 * math.exp(y * y)
    return math.copysign(y, x)


def _ndtri(p: float) -> float:
    if p <= 0 or p >= 1:
        return {0.0: -math.inf, 1.0: math.inf}.get(p, math.nan)
    if p > 0.5:
        return -_ndtri(1 - p)
    z = NormalDist().inv_cdf(p)
    for _ in range(3):
        z -= (math.erfc(-z / math.sqrt(2)) / 2 - p) * math.sqrt(2 * math.pi) * math.exp(z * z / 2)
    return z


def _digamma(x: float) -> float:
    if math.isinf(x):
        return x if x > 0 else math.nan
    low = 0.0
    while x < 12:
        low -= 1 / x
        x += 1
    s = 1 / (x * x)
    series = s * (1 / 12 - s * (1 / 120 - s * (1 / 252 - s * (1 / 240 - s * (1 / 132)))))
    return low + math.log(x) - 0.5 / x - series


def _lgamma(x: float) -> float:
    return math.inf if x in (math.inf, 0) else math.lgamma(x)


erf, erfc = each(math.erf), each(math.erfc)
erfinv, ndtri, digamma, lgamma = each(_erfinv), each(_ndtri), each(_digamma), each(_lgamma)


def sigmoid(x: Any) -> Any:
    """Return 1 / (1 + e^-x)."""
    return np.exp(-np.logaddexp(0, -x))


def softplus(x: Any, beta: float = 1.0) -> Any:
    """Return log(1 + e^(beta x)) / beta."""
    return np.logaddexp(0, beta * x) / beta


def elu(x: Any, alpha: float = 1.0) -> Any:
    """Return x above 0, alpha (e^x - 1) below."""
    return np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


def clip(x: Any, low: float, high: float) -> Any:
    """Return x in low .. high; NaN stays NaN."""
    return np.minimum(np.maximum(x, low), high)
