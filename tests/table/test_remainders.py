"""Remainders and whole quotients of floating point numbers of every size, without an error."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from polygrad import Tensor

Array = np.ndarray[Any, Any]

# For each type its bits, the type that they are the top of, by how many it is wider, and how many
# digits its numbers have.
KINDS = {
    "bfloat16": ("u4", "f4", 16, 8),
    "float16": ("u2", "f2", 0, 11),
    "float32": ("u4", "f4", 0, 24),
    "float64": ("u8", "f8", 0, 53),
}
SPECIAL = [0.0, 1.0, 2.0, 1.5, 3.0, 2.0**-1074, 2.0**-1022, 2.0**-149, 2.0**-133, 2.0**-24]
SPECIAL += [2.0**53 - 1, 2.0**24 - 1, 255.0, 1.7976931348623157e308, math.inf, math.nan]


def drawn(rng: np.random.Generator, dtype: str, n: int) -> Array:
    """Return numbers of random bits: of every exponent, subnormal, infinite and not numbers too."""
    bits, real, shift, _ = KINDS[dtype]
    top = 2 ** (8 * np.dtype(bits).itemsize - shift)
    values = rng.integers(0, top, n, dtype="u8").astype(bits) << np.array(shift, bits)
    with np.errstate(invalid="ignore"):
        result: Array = values.view(real).astype("f8")
    return result


def rounded(values: Array, dtype: str) -> Array:
    """Round float64 to a type."""
    result: Array = Tensor(values).cast(dtype).cast("float64").numpy()
    return result


@pytest.fixture(params=KINDS)
def operands(request: pytest.FixtureRequest) -> tuple[str, Array, Array]:
    """Return a type and numbers to divide: random ones, multiples, small ones and special ones."""
    dtype: str = request.param
    rng = np.random.default_rng(5)
    x, y = drawn(rng, dtype, 4000), drawn(rng, dtype, 4000)
    few = rng.integers(1, 4096, 4000).astype("f8")
    special = np.array([*SPECIAL, *(-s for s in SPECIAL)])
    with np.errstate(all="ignore"):
        dividends = [x, few * y, x, few / 8, np.repeat(special, len(special))]
        divisors = [y, y, few, 1 / few, np.tile(special, len(special))]
        return (
            dtype,
            rounded(np.concatenate(dividends), dtype),
            rounded(np.concatenate(divisors), dtype),
        )


def same(got: Tensor, want: Array, x: Array, y: Array) -> None:
    """Compare bit for bit, but for the bits of NaN."""
    values = got.cast("float64").numpy()
    equal = (values == want) & (np.signbit(values) == np.signbit(want))
    wrong = np.flatnonzero(~equal & ~(np.isnan(values) & np.isnan(want)))
    lines = [f"{x[i]!r}, {y[i]!r}: {values[i]!r}, expected {want[i]!r}" for i in wrong[:8]]
    assert not lines, f"{len(wrong)} differ:\n" + "\n".join(lines)


def test_fmod(operands: tuple[str, Array, Array]) -> None:
    dtype, x, y = operands
    with np.errstate(all="ignore"):
        want = np.fmod(x, y)
    same(Tensor(x).cast(dtype).fmod(Tensor(y).cast(dtype)), want, x, y)


def test_remainder(operands: tuple[str, Array, Array]) -> None:
    dtype, x, y = operands
    with np.errstate(all="ignore"):
        r = np.fmod(x, y)
        r = np.where((r != 0) & ((r < 0) != (y < 0)), r + y, r)
        want = rounded(np.where(r == 0, np.copysign(0, y), r), dtype)
        numpys = rounded(np.remainder(x, y), dtype)
    assert ((want == numpys) | np.isnan(want) & np.isnan(numpys) | ~np.isfinite(y)).all()
    same(Tensor(x).cast(dtype) % Tensor(y).cast(dtype), want, x, y)


def test_remainder_of_numbers(operands: tuple[str, Array, Array]) -> None:
    dtype, x, _ = operands
    for number in (3, -0.7, 1e-3, 200.0):
        divisor = np.full_like(x, float(rounded(np.array([number]), dtype)[0]))
        with np.errstate(all="ignore"):
            want = np.fmod(x, divisor)
        same(Tensor(x).cast(dtype).fmod(number), want, x, divisor)
        with np.errstate(all="ignore"):
            want = np.fmod(divisor, x)
        same(
            Tensor.full((len(x),), number, dtype=dtype).fmod(Tensor(x).cast(dtype)),
            want,
            divisor,
            x,
        )


def test_floor_divide(operands: tuple[str, Array, Array]) -> None:
    """It is the greatest whole number below, rounded where it has more digits than the type."""
    dtype, x, y = operands
    digits = KINDS[dtype][3]
    values = (Tensor(x).cast(dtype) // Tensor(y).cast(dtype)).cast("float64").numpy()
    with np.errstate(all="ignore"):
        numpys = np.floor_divide(x, y)
    unusual = ~np.isfinite(x) | ~np.isfinite(y) | (y == 0)
    np.testing.assert_array_equal(values[unusual], numpys[unusual])
    greatest = float(rounded(np.array([np.inf]), dtype)[0])
    checked = 0
    for i in np.flatnonzero(~unusual & (np.abs(values) != greatest)):
        whole = math.floor(Fraction(x[i]) / Fraction(y[i]))
        error = abs(Fraction(values[i]) - whole)
        assert error <= (
            0 if abs(whole) < 2 ** (digits - 2) else abs(whole) * Fraction(4, 2**digits)
        ), f"{x[i]!r}, {y[i]!r}: {values[i]!r}, expected {whole}"
        checked += 1
    assert checked > 5000, f"only {checked} quotients are numbers"


def test_constants_fold() -> None:
    """The remainder of two numbers is computed by the simplifier."""
    for x, y in ((7.5, 2.25), (-7.5, 2.25), (1e30, 7.0), (2.5, -7.0)):
        for dtype in ("float32", "float64"):
            a, b = (float(np.dtype(dtype).type(v)) for v in (x, y))
            got = Tensor.full((3,), x, dtype=dtype).fmod(y).tolist()
            assert got == [math.fmod(a, b)] * 3, (x, y, dtype)
