"""polygrad.special against scipy.special over the ranges of the functions, and derivatives."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special as scipy

from polygrad import Tensor, special
from polygrad.func import grad, jvp, vmap

RNG = np.random.default_rng(0)
COUNT = 2000


def even(low: float, high: float) -> np.ndarray:
    return RNG.uniform(low, high, COUNT)


def powers(low: float, high: float) -> np.ndarray:
    return np.exp(even(low, high))


# Operands, and the greatest relative error in float64.
CASES: dict[str, tuple[list[np.ndarray], float]] = {
    "gamma": ([even(-20, 170)], 2e-13),
    "gammaln": ([powers(-20, 20)], 1e-13),
    "gammasgn": ([even(-10, 10)], 0),
    "digamma": ([powers(-5, 10)], 1e-13),
    "polygamma": ([RNG.integers(0, 12, COUNT).astype(float), powers(-4, 6)], 1e-13),
    "factorial": ([even(0, 170)], 2e-13),
    "gammainc": ([powers(-6, 7), powers(-6, 7)], 5e-12),
    "gammaincc": ([powers(-6, 7), powers(-6, 7)], 5e-12),
    "beta": ([powers(-4, 4), powers(-4, 4)], 1e-13),
    "betainc": ([powers(-5, 7), powers(-5, 7), even(0, 1)], 1e-11),
    "zeta": ([1 + powers(-5, 4), powers(-5, 5)], 1e-13),
    "erf": ([even(-5, 5)], 1e-14),
    "erfc": ([even(-5, 20)], 5e-14),
    "erfinv": ([even(-1, 1)], 1e-14),
    "ndtr": ([even(-30, 8)], 5e-14),
    "log_ndtr": ([even(-50, 8)], 1e-14),
    "ndtri": ([even(0, 1)], 1e-13),
    "expit": ([even(-30, 30)], 1e-15),
    "logit": ([even(0, 1)], 1e-15),
    "i0": ([even(-700, 700)], 1e-13),
    "i0e": ([even(-100, 100)], 1e-14),
    "i1": ([even(-60, 60)], 1e-14),
    "i1e": ([even(-100, 100)], 1e-14),
    "expi": ([even(1, 700)], 1e-13),
    "exp1": ([powers(-8, 6)], 1e-14),
    "xlogy": ([powers(-8, 8), powers(-8, 8)], 1e-14),
    "xlog1py": ([powers(-8, 8), powers(-8, 8)], 1e-14),
    "entr": ([powers(-8, 8)], 1e-14),
    "rel_entr": ([powers(-8, 0), powers(1, 8)], 1e-13),
    "kl_div": ([powers(-8, 0), powers(1, 8)], 1e-13),
}


def wanted(name: str, operands: list[np.ndarray]) -> np.ndarray:
    with np.errstate(all="ignore"):
        return np.asarray(getattr(scipy, name)(*operands))


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_values(name: str, dtype: str) -> None:
    operands, error = CASES[name]
    operands = [x.astype(dtype) for x in operands]
    got = getattr(special, name)(*map(Tensor, operands)).numpy()
    want = wanted(name, [x.astype(np.float64) for x in operands])
    assert got.dtype == dtype
    with np.errstate(all="ignore"):
        close = want.astype(dtype)
    keep = np.abs(want) > (1e-290 if dtype == "float64" else 1e-37)
    keep &= np.isfinite(close)
    np.testing.assert_array_equal(np.isinf(got), np.isinf(close))
    # Of float32, two and a half units in the last place (ndtri).
    np.testing.assert_allclose(got[keep], want[keep], rtol=error if dtype == "float64" else 3e-7)


EDGES = [0.0, -0.0, 1.0, -1.0, 2.0, -2.5, 0.5, 1e-300, 1e300, np.inf, -np.inf, np.nan]
# Where SciPy has other conventions: gamma functions at their poles, NaN of i1(1e300), and
# limits of two infinite parameters.
OTHERS = {"gamma", "gammasgn", "digamma", "factorial", "polygamma", "gammainc", "gammaincc"}
OTHERS |= {"betainc", "beta", "zeta", "kl_div", "rel_entr", "gammaln", "i0", "i1"}


@pytest.mark.parametrize("name", sorted(set(CASES) - OTHERS))
def test_edges(name: str) -> None:
    count = len(CASES[name][0])
    grids = np.meshgrid(*[np.array(EDGES)] * count)
    operands = [g.ravel() for g in grids]
    got = getattr(special, name)(*map(Tensor, operands)).numpy()
    np.testing.assert_allclose(got, wanted(name, operands), rtol=1e-12, atol=1e-290)


@pytest.mark.parametrize("name", ["gammainc", "gammaincc", "betainc"])
def test_limits_of_distributions(name: str) -> None:
    values = [0.0, 0.5, 1.0, 3.0]
    count = len(CASES[name][0])
    operands = [g.ravel() for g in np.meshgrid(*[np.array(values)] * count)]
    want = wanted(name, operands)
    got = getattr(special, name)(*map(Tensor, operands)).numpy()
    keep = ~np.isnan(got)
    assert keep.sum() > keep.size // 4
    np.testing.assert_allclose(got[keep], want[keep], rtol=1e-12)


INSIDE: dict[str, list[float]] = {
    "gammainc": [2.5, 1.7],
    "gammaincc": [2.5, 4.7],
    "betainc": [2.5, 1.5, 0.4],
    "zeta": [2.5, 1.5],
    "rel_entr": [0.3, 0.6],
    "kl_div": [0.3, 0.6],
    "xlogy": [0.3, 0.6],
    "xlog1py": [0.3, 0.6],
    "beta": [2.5, 1.7],
    "log_ndtr": [-7.0],
    "erfinv": [0.3],
    "ndtri": [0.3],
    "logit": [0.3],
}


@pytest.mark.parametrize("name", sorted(set(CASES) - {"gammasgn", "polygamma"}))
def test_derivatives_and_batches(name: str) -> None:
    f = getattr(special, name)
    point = INSIDE.get(name, [0.7] * len(CASES[name][0]))
    operands = [Tensor(x, dtype="float64") for x in point]
    step = 1e-6
    for i in range(len(point)):
        up, down = list(point), list(point)
        up[i], down[i] = up[i] + step, down[i] - step
        slope = (wanted(name, up) - wanted(name, down)) / (2 * step)
        assert grad(f, argnums=i)(*operands).item() == pytest.approx(slope, rel=1e-6)
        ones = [Tensor(float(k == i), dtype="float64") for k in range(len(point))]
        assert jvp(f, tuple(operands), tuple(ones))[1].item() == pytest.approx(slope, rel=1e-6)
    batch = [Tensor([x, x], dtype="float64") for x in point]
    np.testing.assert_allclose(vmap(f)(*batch).numpy(), [wanted(name, point)] * 2, rtol=1e-12)


def test_functions_of_axes() -> None:
    x = RNG.normal(size=(3, 4))
    for axis in (None, 0, 1):
        for name in ("logsumexp", "softmax", "log_softmax"):
            got = getattr(special, name)(Tensor(x), axis=axis).numpy()
            np.testing.assert_allclose(got, getattr(scipy, name)(x, axis=axis), rtol=1e-13)
    a = powers(1.5, 4)
    got = special.multigammaln(Tensor(a), 3).numpy()
    np.testing.assert_allclose(got, scipy.multigammaln(a, 3), rtol=1e-13)


def test_operands() -> None:
    assert special.gammainc(1, Tensor([1.0, 2.0])).dtype.name == "float32"
    assert special.xlogy(0, 0.0).item() == 0
    assert special.i0([0, 1]).shape == (2,)
    with pytest.raises(RuntimeError, match=r"betainc: operands: .*broadcast"):
        special.betainc(Tensor([1.0, 2]), Tensor([1.0, 2, 3]), 0.5)


def test_erf_of_float32() -> None:
    """To two units in the last place, monotonic, at most 1, and itself of special values."""
    x = np.concatenate([np.linspace(0, 4.5, 200001), powers(-80, 2)]).astype(np.float32)
    x.sort()
    got = special.erf(Tensor(x)).numpy()
    want = scipy.erf(x.astype(np.float64))
    assert (np.abs(got - want) / np.spacing(want.astype(np.float32))).max() <= 2
    assert (np.diff(got) >= 0).all()
    assert got.max() == 1
    corners = np.array([0, -0.0, np.inf, -np.inf, np.nan, -1e30], np.float32)
    ends = special.erf(Tensor(corners)).numpy()
    np.testing.assert_array_equal(ends, [0, 0, 1, -1, np.nan, -1])
    assert np.signbit(ends[:2]).tolist() == [False, True]
