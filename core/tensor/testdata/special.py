"""Writes special.tsv: special functions to 200 bits, rounded to float64.

Run with mpmath installed: python special.py > special.tsv
Each line is a function, an argument and the value, as hexadecimal floats. Arguments are float32
numbers, but for a few that only float64 holds.
"""

import struct
from statistics import NormalDist

import mpmath as mp

mp.mp.prec = 400


def f32(x):
    return struct.unpack("f", struct.pack("f", x))[0]


def lgamma(x):
    if x <= 0 and x == mp.floor(x):
        return mp.inf
    if x > 0:
        return mp.loggamma(x)
    return mp.log(mp.pi / abs(x * mp.sinpi(x))) - mp.loggamma(-x)


def digamma(x):
    if x <= 0 and x == mp.floor(x):
        return -mp.inf if x == 0 else mp.nan
    return mp.digamma(x)


def ndtri(p):
    if p in (0, 1):
        return mp.inf * (2 * p - 1)
    tail = min(p, 1 - p)
    x = mp.mpf(NormalDist().inv_cdf(float(tail)))
    for _ in range(8):  # Newton's method on log(tail)
        c = mp.erfc(-x / mp.sqrt(2)) / 2
        x -= mp.log(c / tail) * c * mp.sqrt(2 * mp.pi) * mp.exp(x * x / 2)
    return x if p < 0.5 else -x


def erfinv(x):
    if abs(x) == 1:
        return mp.inf * x
    return mp.erfinv(x)


def span(lo, hi, n):
    return [f32(lo + (hi - lo) * (i + 0.37) / n) for i in range(n)]


def powers(lo, hi, step, sign=1):
    return [f32(sign * 1.37 * 2.0**e) for e in range(lo, hi, step)]


def roots(function, near):
    """Return the float32 numbers around zeros of a function."""
    out = []
    for start in near:
        r = f32(float(mp.findroot(function, start)))
        bits = struct.unpack("i", struct.pack("f", r))[0]
        for d in (-4096, -16, -1, 0, 1, 16, 4096):
            out.append(struct.unpack("f", struct.pack("i", bits + d))[0])
    return out


def above(x, n):
    """Return x and float32 numbers n steps of its last place away from it, to both sides."""
    bits = struct.unpack("i", struct.pack("f", x))[0]
    return [struct.unpack("f", struct.pack("i", bits + d))[0] for d in (-n, 0, n)]


tiny = powers(-148, -20, 9)
large = powers(3, 127, 9)
poles = [y for k in (1, 2, 3, 10, 33) for n in (1, 40) for y in above(-float(k), n)]
FUNCTIONS = {
    "erf": (mp.erf, span(-6, 6, 60) + span(-0.6, 0.6, 20) + tiny + [-t for t in tiny] + large),
    "erfc": (mp.erfc, span(-6, 9.1, 80) + span(-0.6, 0.6, 20) + tiny + [12.0, 20.0, 26.5]),
    "erfinv": (
        erfinv,
        span(-1, 1, 80)
        + tiny
        + [-t for t in tiny]
        + [1 - 2.0**-k for k in range(2, 54, 3)]
        + [2.0**-k - 1 for k in range(2, 25)]
        + [1.0, -1.0],
    ),
    "ndtri": (
        ndtri,
        span(0, 1, 80)
        + [t for t in tiny if t > 0]
        + [1 - 2.0**-k for k in range(2, 54, 3)]
        + [2.0**-k for k in range(2, 60, 3)]
        + [1e-300, 0.0, 1.0],
    ),
    "lgamma": (
        lgamma,
        span(0, 12, 80)
        + span(-12, 0, 80)
        + span(12, 200, 20)
        + span(-200, -12, 20)
        + tiny
        + [-t for t in tiny]
        + large
        + poles
        + roots(lgamma, [1.0001, 2.0001, -2.457, -2.7477, -3.1435, -3.9553, -4.0393])
        + [0.0, -1e9, -1e30, 1e300, 1e-200, -1e-200],
    ),
    "digamma": (
        digamma,
        span(0, 12, 80)
        + span(-12, 0, 80)
        + span(12, 200, 20)
        + span(-200, -12, 20)
        + tiny
        + [-t for t in tiny]
        + large
        + poles
        + roots(digamma, [1.4616, -0.5041, -1.5735, -2.6107, -3.6353])
        + [0.0, -1e9, -1e30, 1e300, 1e-200, -1e-200],
    ),
}


def text(v):
    v = float(v)
    return {"inf": "+Inf", "-inf": "-Inf", "nan": "NaN"}.get(str(v), v.hex())


for name, (function, arguments) in FUNCTIONS.items():
    for x in arguments:
        print(name, float(x).hex(), text(function(mp.mpf(x))), sep="\t")
