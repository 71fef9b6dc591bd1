"""Random numbers: streams, seeds, distributions."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from polygrad import Tensor, Variable, dtypes


@pytest.mark.parametrize("seed", [1.5, "a", None])
def test_a_bad_seed_changes_nothing(seed):
    Tensor.manual_seed(7)
    with pytest.raises(TypeError):
        Tensor.manual_seed(seed)
    a = Tensor.rand(4).tolist()
    Tensor.manual_seed(7)
    assert Tensor.rand(4).tolist() == a


def threefry(x0: np.ndarray, x1: np.ndarray, k0: int, k1: int) -> np.ndarray:
    """Return the two words of THREEFRY2x32 with 20 rounds (Salmon et al., 2011)."""
    ks = np.array([k0, k1, k0 ^ k1 ^ 0x1BD11BDA], dtype=np.uint32)
    x0, x1 = x0 + ks[0], x1 + ks[1]
    for r in range(5):
        for bits in (13, 15, 26, 6) if r % 2 == 0 else (17, 29, 16, 24):
            x0 = x0 + x1
            x1 = (x1 << np.uint32(bits) | x1 >> np.uint32(32 - bits)) ^ x0
        x0, x1 = x0 + ks[(r + 1) % 3], x1 + ks[(r + 2) % 3] + np.uint32(r + 1)
    return np.array([x0, x1])


def test_threefry():
    """Answers from the authors' package, Random123."""
    for x0, x1, k0, k1, want in (
        (0, 0, 0, 0, (0x6B200159, 0x99BA4EFE)),
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344, (0xC4923A9C, 0x483DF7A0)),
    ):
        words = threefry(np.array([x0], np.uint32), np.array([x1], np.uint32), k0, k1)
        assert tuple(words[:, 0]) == want


def words(seed: int, first: int, n: int) -> np.ndarray:
    """Return n words of tinygrad's stream behind the first ones."""
    device = int.from_bytes(hashlib.sha256(bytes(4)).digest(), "big") % 2**32
    at = np.arange(first, first + (n + 1) // 2, dtype=np.uint32)
    return threefry(at, at + np.uint32((n + 1) // 2), device ^ seed >> 32, seed % 2**32).ravel()[:n]


def fractions(seed: int, first: int, n: int, dtype: type = np.float32) -> np.ndarray:
    """Return numbers of a floating type that have random bits in their mantissa, less 1."""
    one = np.array(1, dtype)
    size, whole = one.itemsize, np.dtype(f"u{one.itemsize}")
    bits = words(seed, first, -(-n * size // 4)).view(whole)[:n]
    shift = whole.type(8 * size - np.finfo(dtype).nmant)
    return (bits >> shift | one.view(whole)).view(dtype) - one


@pytest.mark.parametrize("seed", [0, 1337, 2**32 - 1, 2**63 + 12345])
def test_random_numbers_are_those_of_tinygrad(seed):
    Tensor.manual_seed(seed)
    taken = 0
    for n in (1000, 1, 333, 0, 64):
        assert (Tensor.rand(n).numpy() == fractions(seed, taken, n)).all()
        taken += n
    for dtype, name in ((np.float16, "float16"), (np.float64, "float64")):
        for n in (7, 100):
            assert (Tensor.rand(n, dtype=name).numpy() == fractions(seed, taken, n, dtype)).all()
            taken += -(-n * np.dtype(dtype).itemsize // 4)
    u = fractions(seed, taken, 200).astype(np.float64).reshape(2, 100)
    taken += 200
    want = np.cos(2 * np.pi * u[0]) * np.sqrt(-2 * np.log(1 - u[1]))
    np.testing.assert_allclose(Tensor.randn(100).numpy(), want, rtol=1e-5, atol=1e-6)
    got = Tensor.uniform(10, low=-2, high=6).numpy()
    assert (got == fractions(seed, taken, 10) * np.float32(8) - np.float32(2)).all()
    taken += 10
    got = Tensor.randint(50, low=-3, high=40).numpy()
    assert (got == (fractions(seed, taken, 50) * np.float32(43)).astype(np.int32) - 3).all()
    taken += 50
    got = Tensor.randint(9, low=-(2**61), high=2**61, dtype="int64").numpy()
    wide = words(seed, taken, 18).view(np.uint64) % np.uint64(2**62)
    assert (got == wide.astype(np.int64) - 2**61).all()
    taken += 18
    assert (Tensor.randperm(30).numpy() == fractions(seed, taken, 30).argsort()).all()
    taken += 30
    order = fractions(seed, taken, 1000).argsort(kind="stable")
    assert (Tensor.randperm(1000).numpy() == order).all()
    taken += 1000
    Tensor.training = True
    try:
        kept = Tensor.ones(40).dropout(0.25).numpy()
    finally:
        Tensor.training = False
    assert ((kept > 0) == (fractions(seed, taken, 40) >= 0.25)).all()
    taken += 40
    Tensor([1.0, 2.0, 3.0]).multinomial(8, replacement=True).realize()
    Tensor([[1.0, 2.0, 3.0]] * 2).multinomial(2).realize()
    Tensor.kaiming_normal(5, 3)
    Tensor.glorot_uniform(5, 3, dtype="float64")
    taken += 8 + 6 + 30 + 30
    assert (Tensor.rand(5).numpy() == fractions(seed, taken, 5)).all()


def test_axes_of_symbolic_size_take_the_words_of_the_largest():
    n = Variable("n", 1, 8).bind(3)
    Tensor.manual_seed(2)
    Tensor.rand(n, 2)
    assert (Tensor.rand(4).numpy() == fractions(2, 16, 4)).all()


def test_a_tensor_takes_the_words_of_one_key():
    for draw in (lambda: Tensor.rand(2**32, dtype="float64"), lambda: Tensor.randn(2**32)):
        with pytest.raises(ValueError, match=r"shape: needs 8589934592 random words"):
            draw()


def test_random_streams():
    Tensor.manual_seed(7)
    a, b = Tensor.rand(100).numpy(), Tensor.rand(100).numpy()
    assert (a != b).any()
    Tensor.manual_seed(1)
    normal = Tensor.randn(20000).numpy()
    assert abs(normal.mean()) < 0.03
    assert abs(normal.std() - 1) < 0.03
    whole = Tensor.randint(-3, 4, (1000,)).numpy()
    assert set(whole) == set(range(-3, 4))
    assert whole.dtype == np.int32
    assert Tensor.randint(4, 5).shape == (4, 5)
    assert 0 <= Tensor.randint(100).min().item() <= Tensor.randint(100).max().item() < 10
    assert Tensor.randint(2, 3, low=5, high=6).tolist() == [[5, 5, 5], [5, 5, 5]]
    wide = Tensor.uniform(1000, low=-2, high=3).numpy()
    assert -2 <= wide.min() < -1.8
    assert 2.8 < wide.max() < 3
    assert Tensor.rand(3, dtype="float64").dtype == dtypes.float64
    with pytest.raises(TypeError):
        Tensor.rand(3, dtype="int32")


@pytest.mark.parametrize("dtype", dtypes.floats)
def test_rand_stays_below_one(dtype):
    values = Tensor.rand(20000, dtype=dtype).float().numpy()
    assert 0 <= values.min() < 0.2
    assert 0.7 < values.max() < 1


def test_random_integers_of_any_function():
    Tensor.manual_seed(1)
    drawn = Tensor.uniform(2000, low=-3, high=4, dtype="int32")
    assert drawn.dtype == dtypes.int32
    assert set(drawn.tolist()) == set(range(-3, 4))
    assert set(Tensor.randn(500, dtype="int8").tolist()) <= set(range(-6, 7))
    assert Tensor.randn(3, dtype="bool").dtype == dtypes.bool
    assert abs(Tensor.normal(4000, mean=100, std=5, dtype="int64").float().mean().item() - 100) < 1
    for low, high in ((0.5, 3), (0, 2.5), (3, 3), (0, 1e30)):
        with pytest.raises(ValueError):
            Tensor.uniform(2, low=low, high=high, dtype="int32")
    with pytest.raises(TypeError, match="floating"):
        Tensor.rand(2, dtype="int32")
