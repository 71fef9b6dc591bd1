"""Elementwise operations against numpy, forward and backward."""

from __future__ import annotations

import math
import operator

import numpy as np
import pytest
from numeric import RNG, check_gradient, close

from polygrad import Tensor, dtypes

REAL = RNG.uniform(-3, 3, (3, 5))
POSITIVE = RNG.uniform(0.1, 4, (3, 5))
UNIT = RNG.uniform(-0.95, 0.95, (3, 5))
ABOVE_ONE = RNG.uniform(1.05, 4, (3, 5))
PROBABILITY = RNG.uniform(0.02, 0.98, (3, 5))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softplus(x):
    return np.log1p(np.exp(x))


def gelu(x):
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


SMOOTH = {
    "exp": (np.exp, REAL),
    "exp2": (np.exp2, REAL),
    "expm1": (np.expm1, REAL),
    "log": (np.log, POSITIVE),
    "log2": (np.log2, POSITIVE),
    "log10": (np.log10, POSITIVE),
    "log1p": (np.log1p, POSITIVE),
    "sqrt": (np.sqrt, POSITIVE),
    "rsqrt": (lambda x: 1 / np.sqrt(x), POSITIVE),
    "reciprocal": (lambda x: 1 / x, POSITIVE),
    "square": (np.square, REAL),
    "neg": (np.negative, REAL),
    "abs": (np.abs, REAL),
    "sin": (np.sin, REAL),
    "cos": (np.cos, REAL),
    "tan": (np.tan, UNIT),
    "asin": (np.arcsin, UNIT),
    "acos": (np.arccos, UNIT),
    "atan": (np.arctan, REAL),
    "sinh": (np.sinh, REAL),
    "cosh": (np.cosh, REAL),
    "tanh": (np.tanh, REAL),
    "asinh": (np.arcsinh, REAL),
    "acosh": (np.arccosh, ABOVE_ONE),
    "atanh": (np.arctanh, UNIT),
    "erf": (np.vectorize(math.erf), REAL),
    "erfc": (np.vectorize(math.erfc), REAL),
    "lgamma": (np.vectorize(math.lgamma), POSITIVE),
    "relu": (lambda x: np.maximum(x, 0), REAL),
    "relu6": (lambda x: np.clip(x, 0, 6), REAL * 3),
    "leaky_relu": (lambda x: np.where(x > 0, x, 0.01 * x), REAL),
    "sigmoid": (sigmoid, REAL),
    "logsigmoid": (lambda x: np.log(sigmoid(x)), REAL),
    "gelu": (gelu, REAL),
    "quick_gelu": (lambda x: x * sigmoid(1.702 * x), REAL),
    "silu": (lambda x: x * sigmoid(x), REAL),
    "swish": (lambda x: x * sigmoid(x), REAL),
    "elu": (lambda x: np.where(x > 0, x, np.expm1(x)), REAL),
    "celu": (lambda x: np.where(x > 0, x, np.expm1(x)), REAL),
    "selu": (lambda x: 1.0507 * np.where(x > 0, x, 1.67326 * np.expm1(x)), REAL),
    "softplus": (softplus, REAL),
    "mish": (lambda x: x * np.tanh(softplus(x)), REAL),
    "softsign": (lambda x: x / (1 + np.abs(x)), REAL),
    "hardtanh": (lambda x: np.clip(x, -1, 1), REAL),
    "hardswish": (lambda x: x * np.clip(x + 3, 0, 6) / 6, REAL),
    "hardsigmoid": (lambda x: np.clip(x / 6 + 0.5, 0, 1), REAL),
}
STEPS = {
    "sign": np.sign,
    "ceil": np.ceil,
    "floor": np.floor,
    "trunc": np.trunc,
    "round": np.round,
}


@pytest.mark.parametrize("name", SMOOTH)
def test_forward(name):
    function, x = SMOOTH[name]
    close(getattr(Tensor(x.astype(np.float32)), name)(), function(x), rtol=2e-5, atol=1e-5)
    close(getattr(Tensor(x), name)(), function(x), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", SMOOTH)
def test_backward(name):
    _, x = SMOOTH[name]
    check_gradient(lambda t: getattr(t, name)(), x[:2, :3])


@pytest.mark.parametrize("name", STEPS)
def test_steps(name):
    x = np.array([-2.5, -1.5, -1.2, -0.5, 0.0, 0.5, 1.2, 1.5, 2.5, 3.7], dtype=np.float32)
    close(getattr(Tensor(x), name)(), STEPS[name](x))


def test_inverse_error_function():
    close(Tensor(UNIT).erfinv().erf(), UNIT, rtol=1e-6)
    quantile = Tensor(PROBABILITY).ndtri().numpy()
    close(0.5 * np.vectorize(math.erfc)(-quantile / math.sqrt(2)), PROBABILITY, rtol=1e-6)


def test_digamma_is_the_derivative_of_lgamma():
    x = POSITIVE + 0.5
    eps = 1e-5
    lgamma = np.vectorize(math.lgamma)
    close(Tensor(x).digamma(), (lgamma(x + eps) - lgamma(x - eps)) / (2 * eps), rtol=1e-4)


BINARY = {
    "add": (np.add, lambda a, b: a + b),
    "sub": (np.subtract, lambda a, b: a - b),
    "mul": (np.multiply, lambda a, b: a * b),
    "div": (np.divide, lambda a, b: a / b),
    "pow": (np.power, lambda a, b: a**b),
    "maximum": (np.maximum, lambda a, b: a.maximum(b)),
    "minimum": (np.minimum, lambda a, b: a.minimum(b)),
    "logaddexp": (np.logaddexp, lambda a, b: a.logaddexp(b)),
}


@pytest.mark.parametrize("shapes", [((3, 4), (3, 4)), ((3, 4), (4,)), ((3, 1), (1, 4)), ((), (2,))])
@pytest.mark.parametrize("name", BINARY)
def test_binary(name, shapes):
    want, got = BINARY[name]
    a, b = (RNG.uniform(0.5, 2, s) for s in shapes)
    close(got(Tensor(a), Tensor(b)), want(a, b), rtol=1e-6)
    close(got(Tensor(a.astype(np.float32)), Tensor(b.astype(np.float32))), want(a, b), rtol=1e-5)
    check_gradient(got, a, b)


def test_numbers_on_either_side():
    a = np.array([1.0, 2.0, 4.0], dtype=np.float32)
    t = Tensor(a)
    close(t + 1, a + 1)
    close(2 + t, 2 + a)
    close(t - 1.5, a - 1.5)
    close(1.5 - t, 1.5 - a)
    close(t * 3, a * 3)
    close(3 * t, 3 * a)
    close(t / 2, a / 2)
    close(2 / t, 2 / a)
    close(t**2, a**2)
    close(2**t, 2**a)
    close(-t, -a)
    close(abs(-t), a)
    close(a + t, a + a)
    close(np.float32(2) * t, 2 * a)
    assert (t + 1).dtype == dtypes.float32
    assert (Tensor([1, 2]) + 1).dtype == dtypes.int32
    assert (Tensor([1, 2]) + 1.5).dtype == dtypes.float32
    assert (Tensor([1, 2]) / 2).dtype == dtypes.float32
    assert (Tensor([True]) + 1).dtype == dtypes.int32


def test_integers():
    a = np.array([-7, -1, 0, 3, 8], dtype=np.int32)
    b = np.array([2, 3, 5, -2, -3], dtype=np.int32)
    t, u = Tensor(a), Tensor(b)
    close(t // u, a // b)
    close(t % u, a % b)
    close(t // 3, a // 3)
    close(t % 3, a % 3)
    close(t.idiv(u), np.trunc(a / b))
    close(t & u, a & b)
    close(t | u, a | b)
    close(t ^ 5, a ^ 5)
    close(~t, ~a)
    x = np.array([1, 2, 5], dtype=np.uint32)
    close(Tensor(x) << 3, x << 3)
    close(Tensor(x * 100) >> 2, (x * 100) >> 2)
    close(Tensor(a) ** 2, a**2)


def test_comparisons():
    a = np.array([1.0, 2.0, 3.0], dtype=np.float32)
    b = np.array([3.0, 2.0, 1.0], dtype=np.float32)
    t, u = Tensor(a), Tensor(b)
    for got, want in [
        (t < u, a < b),
        (t <= u, a <= b),
        (t > u, a > b),
        (t >= u, a >= b),
        (t == u, a == b),
        (t != u, a != b),
        (t < 2, a < 2),
        (t == 2, a == 2),
        (2 < t, a > 2),  # noqa: SIM300 (the reflected operator)
    ]:
        assert got.dtype == dtypes.bool
        close(got, want)
    close((t < u) * 2.5, (a < b) * 2.5)
    close((t < u).sum(), (a < b).sum())


@pytest.mark.parametrize("kind", ["int8", "uint8", "int32", "int64", "uint64"])
@pytest.mark.parametrize("number", [2**63, 300, -300])
def test_numbers_beyond_the_type_compare_as_numbers(kind, number):
    limits = np.iinfo(kind)
    values = [0, 1, 255 - (limits.max < 255) * 128, limits.min, limits.max]
    t = Tensor(np.array(values, kind))
    for compare in (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne):
        assert compare(t, number).tolist() == [compare(value, number) for value in values]


def test_where_and_clamp():
    x = RNG.uniform(-2, 2, (3, 4))
    t = Tensor(x)
    close((t > 0).where(t, 0), np.where(x > 0, x, 0))
    close((t > 0).where(1, t), np.where(x > 0, 1, x))
    close((t > 0).where(1.0, 2.0), np.where(x > 0, 1.0, 2.0))
    close(t.clamp(-1, 1), np.clip(x, -1, 1))
    close(t.clamp(min_=0), np.maximum(x, 0))
    close(t.clip(max_=0.5), np.minimum(x, 0.5))
    close(t.masked_fill(t > 1, -5), np.where(x > 1, -5, x))
    check_gradient(lambda t: (t > 0).where(t * 2, t * 3), x)
    check_gradient(lambda t: t.clamp(-1, 1), x)
    with pytest.raises(ValueError, match="both missing"):
        t.clamp()


def test_lerp_and_copysign():
    a, b = RNG.uniform(-1, 1, (2, 3)), RNG.uniform(-1, 1, (2, 3))
    low, high = Tensor([2, 250, 250], dtype="uint8"), Tensor([250, 2, 255], dtype="uint8")
    assert low.lerp(high, Tensor([0.25, 0.25, 1.0])).tolist() == [64, 188, 255]
    close(Tensor(a).lerp(Tensor(b), 0.25), a + (b - a) * 0.25)
    for dtype in ("int8", "uint8", "int32"):
        ends = [Tensor(np.array([v], dtype)) for v in (np.iinfo(dtype).max, np.iinfo(dtype).min)]
        middle = (np.iinfo(dtype).max + np.iinfo(dtype).min) / 2
        close(ends[0].lerp(ends[1], 0.5), [middle], atol=0.6)
    close(Tensor(a).copysign(Tensor(b)), np.copysign(a, b))


def test_special_values():
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0], dtype=np.float32)
    t = Tensor(x)
    close(t.isnan(), np.isnan(x))
    close(t.isinf(), np.isinf(x))
    close(t.isfinite(), np.isfinite(x))
    with np.errstate(all="ignore"):
        close(t.exp(), np.exp(x))
        close(t.log(), np.log(x))
        close(t.sqrt(), np.sqrt(x))
        close(t.reciprocal(), 1 / x)
        close(t.tanh(), np.tanh(x))
    close(t.sigmoid(), [0.5, 0.5, 1, 0, np.nan, 0.7310586])
    close(t.sign(), np.sign(x))
    close(t.relu6(), [0, 0, 6, 0, np.nan, 1])
    close(t.hardsigmoid(), [0.5, 0.5, 1, 0, np.nan, 2 / 3])
    close(t.hardswish(), [0, 0, np.inf, 0, np.nan, 2 / 3])


def test_comparisons_with_nan():
    x = np.array([np.nan, 1, np.nan, 2, np.inf], np.float32)
    y = np.array([1, np.nan, np.nan, 2, 1], np.float32)
    for op in (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne):
        close(op(Tensor(x), Tensor(y)), op(x, y))
        close(op(Tensor(x), 1), op(x, 1))


def test_rounding_keeps_the_sign_of_zero():
    x = np.array([-0.5, -0.25, -0.0, 0.0, 0.25, 0.5, -1.5, 2.5], np.float32)
    for name in ("round", "trunc", "ceil", "floor"):
        got, want = getattr(Tensor(x), name)().numpy(), getattr(np, name)(x)
        close(got, want)
        assert (np.signbit(got) == np.signbit(want)).all()


TYPES = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
TYPES += ["float16", "float32", "float64"]


@pytest.mark.parametrize("name", TYPES)
def test_types(name):
    x = np.array([0, 1, 1, 0, 1]).astype(name)
    t = Tensor(x)
    assert t.dtype == name
    assert t.numpy().dtype == np.dtype(name)
    close((t + t).cast("float64"), (x + x).astype(np.float64))
    close((t * t).cast("float64"), (x * x).astype(np.float64))
    close(t == 1, x == 1)
    close(t.max(), x.max())
    close(t.sum(), x.sum())
    for other in TYPES:
        close(t.cast(other), x.astype(other))


def test_small_float_types():
    t = Tensor([1.0, 2.5, -3.0], dtype="bfloat16")
    assert t.dtype == dtypes.bfloat16
    assert t.nbytes() == 6
    close(t + 1, [2.0, 3.5, -2.0])
    assert (t + 1).dtype == dtypes.bfloat16
    eight = Tensor([1.0, 2.5, -3.0]).cast("fp8e4m3")
    close(eight, [1.0, 2.5, -3.0])


def test_bitcast():
    x = np.array([1.0, -2.0], dtype=np.float32)
    close(Tensor(x).bitcast("int32"), x.view(np.int32))
    with pytest.raises((ValueError, TypeError)):
        Tensor([1.0, 2.0, 3.0]).bitcast("float64")


def test_errors():
    with pytest.raises(ValueError, match="do not broadcast"):
        Tensor.zeros(2, 3) + Tensor.zeros(4)
    with pytest.raises(TypeError):
        Tensor([1.0]) + "x"
    with pytest.raises(TypeError):
        Tensor([1.0]).add(None)
    with pytest.raises(TypeError):
        Tensor([1.5]) & Tensor([1.5])
    with pytest.raises(TypeError, match="expected a data type"):
        Tensor([1.0]).cast("complex32")
    assert Tensor([1.0, 2.0]).tolist() == [1.0, 2.0]


@pytest.mark.parametrize("name", ["uint8", "int8", "int32"])
def test_relu6_of_integers(name):
    x = np.array([0, 3, 7, 100]).astype(name)
    close(Tensor(x).relu6(), [0, 3, 6, 6])
    if name != "uint8":
        close(Tensor(-x - 28).relu6(), [0, 0, 0, 0])


def test_shifts_below_0():
    with pytest.raises(ValueError, match="shift"):
        Tensor([1]) << -1
    with pytest.raises(ValueError, match="shift"):
        Tensor([1]) >> -1


def test_names_of_arguments():
    t = Tensor([1.0, 5.0])
    assert t.maximum(x=3).tolist() == [3.0, 5.0]
    assert t.minimum(x=3).tolist() == [1.0, 3.0]


@pytest.mark.parametrize("name", ["uint8", "uint16", "uint32", "uint64"])
def test_unsigned_minimum_with_a_number(name):
    x = np.array([0, 3, 7, 100]).astype(name)
    close(Tensor(x).minimum(6), np.minimum(x, 6))
    close(~Tensor(x), ~x)


@pytest.mark.parametrize("name", ["int8", "int32", "int64"])
def test_comparisons_of_signed_numbers_with_uint64(name):
    info = np.iinfo(name)
    x = np.array([-9, -1, 0, 38, info.min, info.max], name)
    y = np.array([0, 38, info.max, info.max + 1, 2**64 - 9, 2**64 - 1], "uint64")
    for method in ("__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__"):
        want = getattr(x[:, None], method)(y)
        close(getattr(Tensor(x[:, None]), method)(Tensor(y)), want)
        close(getattr(Tensor(y), method)(Tensor(x[:, None])), getattr(y, method)(x[:, None]))
        one = getattr(Tensor(-9, dtype=name), method)(Tensor(38, dtype="uint64"))
        assert one.item() == getattr(-9, method)(38)
    for a, b in ((x, y), (y, x), (y + 1, x), (x, y - 1)):
        assert Tensor(a).isin(Tensor(b)).tolist() == [i in b.tolist() for i in a.tolist()]
    assert Tensor(x[1]).isclose(Tensor(y[-1])).item() is False
    assert Tensor(x[3]).isclose(Tensor(y[1])).item() is True
    close(Tensor(y[:4]).searchsorted(Tensor(x)), y[:4].searchsorted(x))


@pytest.mark.parametrize(
    "name", ["sigmoid", "silu", "gelu", "quick_gelu", "tanh", "softplus", "mish"]
)
@pytest.mark.parametrize("n", [1, 11, 64, 1000])
def test_gradients_are_finite_for_large_arguments(name, n):
    values = np.linspace(-100, 100, n, dtype=np.float32) if n > 1 else np.float32([-100])
    x = Tensor(values, requires_grad=True)
    getattr(x, name)().sum().backward()
    assert np.isfinite(x.grad.numpy()).all(), x.grad.numpy()


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("divide", [operator.mod, operator.floordiv])
def test_zeros_of_divisions_have_numpys_signs(divide, dtype):
    values = [0, 1, 2, 0.5, 3, 7, np.inf, 1e-3, 29.5]
    x = np.array([v * s for v in values for s in (1, -1)] + [np.nan], dtype)
    with np.errstate(all="ignore"):
        want = divide(x[:, None], x)
    by_constants = np.stack([divide(Tensor(x), float(c)).numpy() for c in x], 1)
    for got in (divide(Tensor(x[:, None].copy()), Tensor(x)).numpy(), by_constants):
        np.testing.assert_array_equal(got, want)
        defined = ~np.isnan(want)
        np.testing.assert_array_equal(np.signbit(got)[defined], np.signbit(want)[defined])


def test_subnormal_numbers() -> None:
    x = np.array([5e-324, -5e-324, 1.5e-323, -0.0, 0.0])
    for name in ("log1p", "expm1", "sinh", "asinh", "atan", "atanh"):
        y = getattr(Tensor(x), name)().numpy()
        assert y.tobytes() == x.tobytes(), name


def test_powers_of_float64():
    """They are within a unit in the last place, and exact where they are whole numbers."""
    rng = np.random.default_rng(0)
    x, y = (t.astype("float64") for t in (rng.integers(1, 50, 5000), rng.integers(0, 9, 5000)))
    np.testing.assert_array_equal((Tensor(x) ** Tensor(y)).numpy(), x**y)
    for x, y in (
        (np.exp(rng.normal(size=5000) * 30), rng.normal(size=5000) * 8),
        (1 + rng.normal(size=5000) * 1e-5, rng.normal(size=5000) * 1e6),
        (rng.random(500) * 1e-310, rng.normal(size=500)),
    ):
        with np.errstate(all="ignore"):
            want = np.power(x, y)
        np.testing.assert_array_max_ulp((Tensor(x) ** Tensor(y)).numpy(), want, 2)
    for base in (10.0, 0.1, 1.0000001, 7.0, 1e-30):
        y = rng.normal(size=2000) * 400 / math.log2(base)
        with np.errstate(all="ignore"):
            want = np.power(base, y)
        np.testing.assert_array_max_ulp((base ** Tensor(y)).numpy(), want, 2)
    assert (10.0 ** Tensor(np.arange(16.0))).tolist() == [10.0**n for n in range(16)]
    edges = [0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 5e-324, 1e308, -3.0, 2.5, 1e19]
    x, y = (t.ravel() for t in np.meshgrid(edges, edges))
    with np.errstate(all="ignore"):
        want = np.power(x, y)
    got = (Tensor(x) ** Tensor(y)).numpy()
    np.testing.assert_array_max_ulp(got[~np.isnan(want)], want[~np.isnan(want)], 2)
    np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
    np.testing.assert_array_equal(np.signbit(got)[got == 0], np.signbit(want)[got == 0])
