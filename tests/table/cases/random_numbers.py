"""The random stream: threefry 2x32 with 20 rounds (Salmon et al. 2011), in numpy, bit for bit."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

_SECOND = 0x9E3779B97F4A7C15
_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))


def _rotate(x: Any, by: int) -> Any:
    return (x << np.uint32(by)) | (x >> np.uint32(32 - by))


def bits(seed: int, n: int) -> Any:
    """Return n words of 32 bits: the counter is (i, 0), the key is (lo ^ rotl16(hi), 0)."""
    low, high = np.uint32(seed & 0xFFFFFFFF), np.uint32(seed >> 32)
    key = low ^ _rotate(high, 16)
    keys = [np.uint32(0), key ^ np.uint32(0x1BD11BDA), key]
    a = np.arange(n, dtype=np.uint32) + keys[2]
    b = np.zeros(n, np.uint32) + keys[0]
    with np.errstate(over="ignore"):
        for r in range(5):
            for by in _ROTATIONS[r % 2]:
                a = a + b
                b = _rotate(b, by) ^ a
            a = a + keys[r % 3]
            b = b + keys[(r + 1) % 3] + np.uint32(r + 1)
    return a


def uniform(seed: int, shape: list[int]) -> Any:
    """Return float32 in [0, 1): the upper 24 bits."""
    words = bits(seed, math.prod(shape)) >> np.uint32(8)
    return (words.astype(np.float32) * np.float32(2.0**-24)).reshape(shape)


def second(seed: int) -> int:
    """Return the seed of the other uniform number of a normal one."""
    return seed ^ _SECOND


def _log(x: Any) -> Any:
    f = np.float32
    small = x < f(1e-4)
    d = np.where(small, x * f(2.0**64), x).astype(f)
    e = np.floor(np.log2((d * f(1.33333337)).astype(np.float64))).astype(f)
    m = np.ldexp(d, -e.astype(int)).astype(f)
    t = ((m - f(1)) / (m + f(1))).astype(f)
    t2 = t * t
    p = (f(0.437455028) * t2 + f(0.576479018)) * t2 + f(0.961801291)
    e = np.where(small, e - f(64), e).astype(f)
    r = p * (t * t2) + e
    r = r + t * f(2.88539004)
    r = r + t * f(3.27344729e-08)
    return (r * f(0.693147182)).astype(f)


def _sin(v: Any) -> Any:
    f = np.float32
    s, a = np.where(v < 0, f(-1), f(1)).astype(f), np.abs(v)
    q = np.trunc(a * f(0.318309873) + f(0.5)).astype(f)
    d = a
    for part in (-3.14147949, -0.000113159418, -1.98418726e-09, -1.21542013e-10):
        d = (q * f(part) + d).astype(f)
    d2 = d * d
    p = f(2.60831598e-06)
    for c in (-0.000198106907, 0.00833307859, -0.166666597, 1.0):
        p = (p * d2 + f(c)).astype(f)
    return (d * p * np.where(q % 2 == 1, f(-1), f(1)) * s).astype(f)


def normal(seed: int, shape: list[int]) -> Any:
    """Return float32 by Box and Muller, every step rounded to float32."""
    f = np.float32
    u1, u2 = uniform(seed, shape), uniform(second(seed), shape)
    radius = np.sqrt(_log(np.maximum(u1, f(1e-7))) * f(-2)).astype(f)
    return (radius * _sin((f(1.57079637) - u2 * f(6.28318548)).astype(f))).astype(f)


def integers(seed: int, shape: list[int], low: int, high: int) -> Any:
    """Return integers in [low, high) for small ranges: a uniform number times their count."""
    return (uniform(seed, shape) * np.float32(high - low)).astype(np.int64) + low
