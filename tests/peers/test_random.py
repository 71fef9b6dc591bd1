"""Random numbers by key against jax.random: equal, or equal to rounding."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import numpy as np
import pytest
import scipy.stats

from polygrad import Tensor, TinyJit, lax, random
from polygrad.func import grad, vmap


@pytest.fixture(autouse=True)
def _types_of_32_bits() -> Iterator[None]:
    """Keep JAX's default: other tests of the same process may have changed it."""
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", False)
    yield
    jax.config.update("jax_enable_x64", before)


KEYS = [0, 42, -7, 2**31 - 1]
# Functions of a key, by the name of the function, with arguments that both understand.
EXACT: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("split", (), {}),
    ("split", (5,), {}),
    ("split", ((2, 3),), {}),
    ("fold_in", (7,), {}),
    ("bits", ((3, 5),), {}),
    ("bits", ((3, 5),), {"dtype": "uint8"}),
    ("bits", ((7,),), {"dtype": "uint16"}),
    ("uniform", ((4, 7),), {}),
    ("uniform", ((),), {}),
    ("uniform", ((0, 3),), {}),
    ("uniform", ((50,),), {"dtype": "float16"}),
    ("uniform", ((50,),), {"dtype": "bfloat16"}),
    ("randint", ((50,), 3, 100), {}),
    ("randint", ((50,), -(2**31), 2**31 - 1), {}),
    ("randint", ((50,), 0, 256), {"dtype": "uint8"}),
    ("randint", ((50,), -100, 100), {"dtype": "int8"}),
    ("randint", ((5,), 3, 3), {}),
    ("randint", ((4, 3), np.array([0, 10, -5]), np.array([5, 1000, 7])), {}),
    ("permutation", (20,), {}),
    ("permutation", (np.arange(24).reshape(4, 6),), {}),
    ("permutation", (np.arange(24).reshape(4, 6),), {"axis": 1}),
    ("permutation", (np.arange(24).reshape(4, 6),), {"axis": 1, "independent": True}),
    ("choice", (10, (7,)), {}),
    ("choice", (10, (7,)), {"replace": False}),
    ("choice", (np.arange(24).reshape(4, 6), (2, 3)), {"axis": 1}),
    ("bernoulli", (0.3, (50,)), {}),
    ("bernoulli", (np.array([0.1, 0.5, 1.0], "float32"),), {}),
    ("categorical", (np.array([[0.0, 1, 2], [3, 2, 1]], "float32"),), {}),
    ("categorical", (np.array([[0.0, 1, 2], [3, 2, 1]], "float32"),), {"axis": 0, "shape": (5, 3)}),
    ("categorical", (np.zeros((3, 4), "float32"),), {"shape": (2, 3), "replace": False}),
    ("rademacher", ((50,),), {}),
]
SHAPES = np.array([0.01, 0.1, 0.5, 1, 2, 10, 1000], "float32")
ROUNDED: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("uniform", ((100,),), {"minval": -2.5, "maxval": 7.0}),
    ("normal", ((100,),), {}),
    (
        "multivariate_normal",
        (np.array([1, 2], "float32"), np.array([[2, 0.5], [0.5, 1]], "float32")),
        {"shape": (6,)},
    ),
    ("orthogonal", (4,), {}),
    ("orthogonal", (3,), {"m": 5, "shape": (2,)}),
    ("truncated_normal", (-1.0, 0.5, (60,)), {}),
    ("lognormal", (0.5, (60,)), {}),
    ("exponential", ((60,),), {}),
    ("laplace", ((60,),), {}),
    ("logistic", ((60,),), {}),
    ("gumbel", ((60,),), {}),
    ("cauchy", ((60,),), {}),
    ("pareto", (np.array([0.5, 2.5], "float32"),), {"shape": (30, 2)}),
    ("rayleigh", (2.0, (60,)), {}),
    ("maxwell", ((60,),), {}),
    ("double_sided_maxwell", (1.0, 2.0, (60,)), {}),
    ("weibull_min", (2.0, 1.5, (60,)), {}),
    ("triangular", (-1.0, 0.0, 3.0, (60,)), {}),
    ("wald", (1.5, (60,)), {}),
    ("geometric", (np.array([0.1, 0.5, 0.9], "float32"), (10, 3)), {}),
    ("gamma", (SHAPES, (40, 7)), {}),
    ("gamma", (1.5, (60,)), {}),
    ("loggamma", (SHAPES, (40, 7)), {}),
    ("beta", (0.5, 2.0, (60,)), {}),
    ("chisquare", (3.0, (60,)), {}),
    ("f", (3.0, 5.0, (60,)), {}),
    ("t", (3.0, (60,)), {}),
    ("generalized_normal", (1.5, (60,)), {}),
    ("dirichlet", (np.array([0.5, 1, 2], "float32"),), {}),
    ("dirichlet", (np.ones((2, 3), "float32"), (4, 2)), {}),
    ("ball", (3,), {"shape": (20,)}),
    ("ball", (2, 1.5), {"shape": (4, 5)}),
    ("poisson", (np.array([0, 0.3, 2, 5, 7, 9, 9.9], "float32"), (30, 7)), {}),
    ("binomial", (np.array([5, 20, 30, 33, -1, np.nan], "float32"), 0.3, (20, 6)), {}),
    ("binomial", (25.0, np.array([0, 0.01, 0.3, 0.7, 1, np.nan, -1], "float32"), (9, 7)), {}),
    ("multinomial", (20.0, np.array([0.2, 0.3, 0.5], "float32")), {}),
    ("multinomial", (np.array([3, 20], "float32"), np.ones((2, 4), "float32")), {}),
]


def both(name: str, seed: int, args: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, Any]:
    """Return the samples of polygrad and of JAX as arrays."""
    ours = [Tensor(a) if isinstance(a, np.ndarray) else a for a in args]
    theirs = [jax.numpy.asarray(a) if isinstance(a, np.ndarray) else a for a in args]
    got = getattr(random, name)(random.key(seed), *ours, **named)
    want = getattr(jax.random, name)(jax.random.PRNGKey(seed), *theirs, **named)
    if want.dtype.name in {"bfloat16", "float16"}:
        got, want = got.float(), want.astype("float32")
    return got.numpy(), np.asarray(want)


@pytest.mark.parametrize("seed", KEYS)
@pytest.mark.parametrize(("name", "args", "named"), EXACT)
def test_equal(name: str, args: tuple[Any, ...], named: dict[str, Any], seed: int) -> None:
    got, want = both(name, seed, args, named)
    assert got.dtype.kind == want.dtype.kind
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("p", [1.0, 2.0, float("inf"), np.array([3, np.inf], "float32")])
def test_balls(p: Any) -> None:
    """Points of the ball of the p-norm have norms of uniform d-th powers; JAX has NaN for p = ∞."""
    ours = Tensor(p) if isinstance(p, np.ndarray) else p
    x = random.ball(random.key(3), 3, ours, (4000, 2)).numpy()
    for k, power in enumerate(np.broadcast_to(p, 2)):
        norms = np.linalg.norm(x[:, k].astype("float64"), power, axis=1)
        assert scipy.stats.kstest(norms**3, "uniform").pvalue > 1e-3


@pytest.mark.parametrize("seed", KEYS)
@pytest.mark.parametrize(("name", "args", "named"), ROUNDED)
def test_equal_to_rounding(
    name: str, args: tuple[Any, ...], named: dict[str, Any], seed: int
) -> None:
    got, want = both(name, seed, args, named)
    np.testing.assert_allclose(got, want, rtol=3e-5, atol=1e-5)


def test_keys() -> None:
    for seed in KEYS:
        want = np.asarray(jax.random.key_data(jax.random.key(seed)))
        np.testing.assert_array_equal(random.key(seed).numpy(), want)
    assert {name for name, _, _ in EXACT + ROUNDED} | {"key", "PRNGKey"} == set(random.__all__)


# Distributions with derivatives by their parameters along quantiles.
IMPLICIT: list[tuple[str, tuple[Any, ...]]] = [
    ("gamma", (SHAPES[1:],)),
    ("loggamma", (SHAPES[1:],)),  # JAX takes numbers below its least one for that
    ("beta", (SHAPES[1:], np.array(1.5, "float32"))),
    ("chisquare", (SHAPES[2:],)),
    ("f", (SHAPES[3:], np.array(4, "float32"))),
    ("t", (SHAPES[3:],)),
    ("dirichlet", (SHAPES,)),
]


@pytest.mark.parametrize(("name", "params"), IMPLICIT)
def test_implicit_derivatives(name: str, params: tuple[Any, ...]) -> None:
    keys = random.split(random.key(5), 3)
    weights = np.cos(np.arange(len(params[0]))).astype("float32")

    def ours(key: Tensor, *a: Tensor) -> Tensor:
        return (getattr(random, name)(key, *a) * Tensor(weights)).sum()

    def theirs(key: Any, *a: Any) -> Any:
        return (getattr(jax.random, name)(key, *a) * weights).sum()

    numbers = tuple(range(1, 1 + len(params)))
    axes = (0, *(None for _ in params))
    tensors = [Tensor(p) for p in params]
    got = vmap(grad(ours, argnums=numbers), axes)(keys, *tensors)
    want = jax.vmap(jax.grad(theirs, argnums=numbers), axes)(keys.numpy(), *params)
    for g, w in zip(got, want, strict=True):
        np.testing.assert_allclose(g.numpy(), np.asarray(w), rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize(
    ("name", "params"), [("gamma", (2.0,)), ("poisson", (3.0,)), ("binomial", (20.0, 0.4))]
)
def test_rejection_in_transformations(name: str, params: tuple[float, ...]) -> None:
    keys = random.split(random.key(9), 4)

    def sample(key: Any, of: Any = random) -> Any:
        return getattr(of, name)(key, *params, (5,))

    want = np.stack([np.asarray(sample(k, jax.random)) for k in keys.numpy()])
    np.testing.assert_allclose(vmap(sample)(keys).numpy(), want, rtol=3e-5)
    kept = lax.scan(lambda n, key: (n + 1, sample(key)), 0, keys)[1]
    np.testing.assert_allclose(kept.numpy(), want, rtol=3e-5)
    compiled = TinyJit(lambda key: sample(key).realize())
    for i in range(4):
        np.testing.assert_allclose(compiled(keys[i].contiguous()).numpy(), want[i], rtol=3e-5)
