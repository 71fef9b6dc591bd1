"""Values that rules must not change: constants beside casts, wrapped sums, boolean indices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from polygrad import Tensor

# Types, and numbers that most of them do not hold.
TYPES = (
    *("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"),
    *("float16", "float32", "float64"),
)
NUMBERS = (0, 2, -1, 1.5, 0.1, 300, 1e6, 2.0**24 + 1, 2.0**40, float("inf"), float("-inf"))
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")


def held(value: float, dtype: str) -> bool:
    """Tell whether a type of numpy has the number, or a rounded one in its range."""
    if dtype == "bool":
        return value in (0, 1)
    if np.dtype(dtype).kind == "f":
        return dtype != "float16" or abs(value) <= 65504 or np.isinf(value)
    info = np.iinfo(dtype)
    return value == np.trunc(value) and info.min <= value <= info.max


@pytest.mark.parametrize("outer", TYPES)
@pytest.mark.parametrize("inner", TYPES)
def test_constants_beside_casts(inner: str, outer: str) -> None:
    x = np.array([1, 0, 1, 1], inner)
    cast = x.astype(outer)
    for value in NUMBERS:
        if not held(value, outer):
            continue
        number = np.array(value).astype(outer)
        given: Any = number.item()
        padded = Tensor(x).cast(outer).pad((1, 2), value=given)
        expected = np.pad(cast, (1, 2), constant_values=number)
        np.testing.assert_array_equal(padded.numpy(), expected, err_msg=f"pad with {value}")
        mask = np.array([True, False, False, True])
        other = Tensor(np.full(4, number))
        for t, e in [
            (Tensor(mask).where(Tensor(x).cast(outer), other), np.where(mask, cast, number)),
            (Tensor(mask).where(other, Tensor(x).cast(outer)), np.where(mask, number, cast)),
        ]:
            np.testing.assert_array_equal(t.numpy(), e, err_msg=f"where with {value}")
    least = np.array(-np.inf if np.dtype(outer).kind == "f" else 0).astype(outer)
    top = Tensor(x).cast(outer).pad((1, 1), value=least.item()).max()
    assert top.item() == np.pad(cast, (1, 1), constant_values=least).max()


WRAPPING: dict[str, Callable[[Any, Any], Any]] = {
    "difference below": lambda x, n: x - 3 < n,
    "sum below": lambda x, n: x + 250 < n,
    "sum above": lambda x, n: x + 3 > n,
    "negation below": lambda x, n: -x < n,
    "product below": lambda x, n: x * 100 < n,
    "clip": lambda x, n: (x - 3).clip(1, 200),
    "max": lambda x, n: (-x).max(),
    "min": lambda x, n: (-x).min(),
    "max of products": lambda x, n: (x * 77).max(),
    "argmax": lambda x, n: (-x).argmax(),
    "argmin": lambda x, n: (x - 3).argmin(),
    "remainder": lambda x, n: (x % (x + 1)) % ((x % (x + 1)) + 1),
    "quotients": lambda x, n: x // 16 // 17,
    "quotient of a sum": lambda x, n: (x // 3 + 100) // 7,
    "quotient of a wrapped sum": lambda x, n: (x - 5) // 7,
    "half of a sum": lambda x, n: (x + x) // 2,
    "shifted": lambda x, n: (x << 3) >> 3,
    "difference is not 0": lambda x, n: x - n != 0,
}


@pytest.mark.parametrize("dtype", (*UNSIGNED, "int8", "int16"))
@pytest.mark.parametrize("name", WRAPPING)
def test_arithmetic_wraps(name: str, dtype: str) -> None:
    info = np.iinfo(dtype)
    x = np.array([3, 6, 2, 4, 0, 5, 9, 100, 127, info.max, info.max - 1, info.min + 2], dtype)
    if name == "sum below" and dtype == "int8":
        x = x[x >= 0]
        WRAPPED: Any = lambda x, n: x + 120 < n  # noqa: E731
    else:
        WRAPPED = WRAPPING[name]
    if "remainder" in name:
        x = x[(x > 0) & (x < 100)]
    with np.errstate(over="ignore"):
        for n in (1, 5, 100):
            expected = WRAPPED(x, np.array(n, dtype))
            got = WRAPPED(Tensor(x), n)
            np.testing.assert_array_equal(got.numpy(), expected, err_msg=f"n = {n}")


@pytest.mark.parametrize("dtype", ("int8", "uint8", "int32", "int64"))
@pytest.mark.parametrize(
    "mask",
    (lambda x: x > 0, lambda x: x == 3, lambda x: (x > 0) & (x < 3), lambda x: (x > 5) | (x < 0)),
)
@pytest.mark.parametrize("more", (lambda i: i, lambda i: i + 0, lambda i: i * 2, lambda i: 1 - i))
def test_indices_made_of_bools(mask: Any, more: Any, dtype: str) -> None:
    x = np.array([3, -1, 2, 7], np.float32)
    values = np.array([10, 20, 30], np.float32)
    at = more(mask(x).astype(dtype))
    index = more(mask(Tensor(x)).cast(dtype))
    t = Tensor(values)
    np.testing.assert_array_equal(t[index].numpy(), values[at])
    if dtype != "uint8":
        index = more(mask(Tensor(x)).cast(dtype))
    np.testing.assert_array_equal(t.gather(0, index).numpy(), values[at])
    rows = np.arange(12, dtype=np.int32).reshape(3, 4)
    np.testing.assert_array_equal(Tensor(rows)[index].numpy(), rows[at])


def test_index_of_an_index() -> None:
    v = Tensor(np.arange(32, dtype=np.float32).reshape(8, 4))
    w = (v * v).gather(-2, Tensor(np.array([[1, 2, 4]])))
    assert w[Tensor(np.array(-1)), Tensor(np.array(1))].item() == 81


def test_views_of_one_contiguous_value_together() -> None:
    a = -Tensor([1, 2])
    b = a.contiguous()
    c, d, e = b.reshape(2, 1), b.maximum(a), b.reshape(1, 2).permute(1, 0)
    Tensor.realize(c, d, e)
    assert (c.tolist(), d.tolist(), e.tolist()) == ([[-1], [-2]], [-1, -2], [[-1], [-2]])


def test_sums_of_floats_are_not_regrouped() -> None:
    """What cancels exactly does not take the rest with it; rounding by a large number works."""
    x, y = Tensor([1e8]), Tensor([0.5])
    assert ((x - 1e8) + y).item() == 0.5
    assert ((y + 1e8) - 1e8).item() == 0.0
    assert ((x * -1 + 1e8) + y).item() == 0.5
    rounding = 1.5 * 2**23
    assert ((Tensor([2.4, -3.7]) + rounding) - rounding).tolist() == [2.0, -4.0]
    narrow = Tensor([-18.0]).cast("bfloat16")
    below = narrow - 1.625
    assert (below.minimum(0.25) + below).item() == -39.25


def test_floats_are_computed_as_written() -> None:
    """A part of an expression overflows, cancels or is rounded only if numpy's does."""
    x = Tensor([3e38, 3e38])
    assert (x * 1e-10).sum().item() == np.float32(6e28)
    large, more = np.float32(1e38), np.float32(1e30)
    assert (Tensor([large]) / Tensor([more]) / Tensor([more])).item() == large / more / more
    assert (Tensor([1e-40]) * 1e30 * 1e30).item() > 9.9e19
    small = Tensor([1e-9, 2.0])
    assert (small * (1 + small).reciprocal()).tolist() == [np.float32(1e-9), np.float32(2 / 3)]
    whole = np.arange(1, 2000, dtype=np.float32)
    for divisor in (3, 7, 10, 47, 61):
        assert np.array_equal((Tensor(whole * divisor) / divisor).numpy(), whole)
    # The product has seven more bits than a float32.
    assert (Tensor([16777217.0 / 3]) * 3.0).item() == np.float32(np.float32(16777217 / 3) * 3)


def test_derivatives_of_written_sigmoids() -> None:
    """The first two derivatives of 1/(1+e^-x) are numbers for each x, also if it is written out."""
    at = [-np.inf, -200.0, -50.0, 0.0, 1.0, 200.0, np.inf]
    for function in (lambda x: x.sigmoid(), lambda x: 1 / (1 + (-x).exp())):
        x = Tensor(at, requires_grad=True)
        (slope,) = function(x).sum().gradient(x)
        (bend,) = slope.sum().gradient(x)
        tiny = np.exp(-50.0)
        y = 1 / (1 + np.exp(-1.0))
        third = y * (1 - y) * (1 - 2 * y)
        np.testing.assert_allclose(slope.numpy(), [0, 0, tiny, 0.25, y * (1 - y), 0, 0], 1e-6)
        np.testing.assert_allclose(bend.numpy(), [0, 0, tiny, 0, third, 0, 0], 1e-6)


@pytest.mark.parametrize("count", [2, 40])
@pytest.mark.parametrize("shape", [(1,), (3,), (64, 8), (5, 300)])
def test_joined_zeros_keep_their_signs(shape: tuple[int, ...], count: int) -> None:
    """Elements are selected where tensors are joined, not added to the zeros of paddings."""
    zeros = [Tensor(np.full(shape, -0.0, dtype="float32")) for _ in range(count)]
    ones = Tensor(np.ones(shape, dtype="float32"))
    for dim in range(len(shape)):
        for joined in (Tensor.cat(ones, *zeros, dim=dim), Tensor.stack(ones, *zeros, dim=dim)):
            values = joined.numpy()
            np.testing.assert_array_equal(np.signbit(values), values == 0)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_derivatives_of_sigmoids_in_short_types(dtype: str) -> None:
    """The exponential may be infinite in the type: the derivative is a number."""
    x = Tensor([-100.0, -12.0, 0.0, 100.0]).cast(dtype)
    written = [lambda x: 1 / (1 + (-x).exp()), lambda x: 1 / (1 + (-x).exp2())]
    for function in (Tensor.sigmoid, Tensor.tanh, Tensor.silu, *written):
        (slope,) = function(x).sum().gradient(x)
        assert np.isfinite(slope.cast("float32").numpy()).all(), function


def test_derivatives_of_what_where_does_not_take() -> None:
    """The gradient of the branch not taken is 0, also where its slopes are infinite or NaN."""

    def shared(x: Tensor) -> Tensor:
        root = x.sqrt()
        return (x > 0).where(root * root.exp() + root, 0) + (x > 0).where(root, x)

    def several(x: Tensor) -> Tensor:
        root = x.sqrt()
        return (x > 0).where(root, 0) + (x > 1).where(root * x, 0)

    def doubled(x: Tensor) -> Tensor:
        y = x.log()
        for _ in range(60):  # sums that share their terms
            y = y + y
        return (x > 0).where(y, 0)

    def rows(x: Tensor) -> Tensor:
        return x.log().reshape(3, 1)

    x = Tensor([-1.0, 0.0, 4.0], requires_grad=True)
    half_log, quarter = [0, 0, np.log(4) / 2], [0, 0, 0.25]
    for function, want in (
        (doubled, [0, 0, 2.0**58]),
        (lambda x: (x > 0).where(x.log() * x.log(), 0), half_log),
        (lambda x: (x > 0).where((x.sqrt() + 1).log() * x.sqrt(), x), [1, 1, 0.44132]),
        (shared, [1, 1, 0.25 * np.exp(2) * 3 + 0.5]),
        (several, [0, 0, 0.25 + 3]),
        (lambda x: (x > 0).where((x > 1).where(x.log() * x.log(), x.log()), 0), half_log),
        (lambda x: (x.flip(0).reshape(3, 1) > 0).where(x.log().flip(0).reshape(3, 1), 0), quarter),
        (lambda x: (x.pad((1, 0)) > 0).where(x.log().pad((1, 0)), 0), quarter),
        (lambda x: (x > 0).where(x.log().pad((1, 1))[1:-1], 0), quarter),
        (lambda x: (x > 0).reshape(3, 1).expand(3, 4).where(rows(x).expand(3, 4), 0), [0, 0, 1]),
        (lambda x: (x.reshape(3, 1) > 0).where(rows(x).expand(3, 4), 0), [0, 0, 1]),
        (lambda x: (x > 0).where(rows(x).sum(1), 0), quarter),
        (lambda x: (x > 0).where(x.log().contiguous().contiguous_backward(), 0), quarter),
    ):
        (slope,) = function(x).sum().gradient(x)
        np.testing.assert_allclose(slope.numpy(), want, rtol=1e-4)


def test_derivatives_by_constants() -> None:
    """A constant tensor is no number: derivatives by it, also second ones, keep it."""
    x, w = Tensor([2.0, 1.0]), Tensor.ones(2)
    (slope,) = (w * x * x).sum().gradient(x)
    assert ((slope * slope).sum() + (w * w).sum()).gradient(w)[0].tolist() == [34.0, 10.0]
    written = 1 / (w + x.exp2())
    direct = -((1 + np.exp2([2.0, 1.0])) ** -2)
    np.testing.assert_allclose(written.sum().gradient(w)[0].numpy(), direct, 1e-6)


def test_quotients_by_tiny_numbers_and_maxima_of_constants() -> None:
    """1/c may be infinite in the type; the maximum with NaN is NaN."""
    assert (Tensor([0.0, 2.0**-120]) / 2.0**-130).tolist() == [0.0, 1024.0]
    assert np.isnan(Tensor.full((2,), 3.0).maximum(float("nan")).numpy()).all()


def test_chains_of_values_that_sums_read_take_linear_time() -> None:
    """Each value is read by a sum and by the next: deciding what is stored looks at each once."""
    x = Tensor.ones(8, 8)
    for _ in range(40):
        x = x * 0.5 + x.sum(1, keepdim=True) / 16
    np.testing.assert_allclose(x.numpy(), 1, 1e-5)
