"""Tensors themselves: how they are made, what they tell, memory, gradients."""

from __future__ import annotations

import copy
import gc
import gzip
import hashlib
import http.server
import operator
import pickle
import threading
import weakref

import numpy as np
import pytest
from numeric import GPU, RNG, check_gradient, close

from polygrad import Device, Tensor, Variable, dtypes
from polygrad._base import release_dead
from polygrad._graph import CTX
from polygrad._library import lib
from polygrad.nn import SGD


def test_from_data():
    assert Tensor([1.0, 2.0]).dtype == dtypes.float32
    assert Tensor([1, 2]).dtype == dtypes.int32
    assert Tensor([True]).dtype == dtypes.bool
    assert Tensor([1, 2.5]).dtype == dtypes.float32
    assert Tensor(3.5).shape == ()
    assert Tensor(2**40).dtype == dtypes.int64
    assert Tensor(np.float16(1)).dtype == dtypes.float16
    assert Tensor(np.arange(3)).dtype == dtypes.int64
    assert Tensor([[1.0], [2.0]], dtype="float64").numpy().dtype == np.float64
    assert Tensor([1, 2], dtype=float).tolist() == [1.0, 2.0]
    assert Tensor((1, 2)).tolist() == [1, 2]
    assert Tensor(range(3)).tolist() == [0, 1, 2]
    assert Tensor([]).shape == (0,)
    assert Tensor([Tensor([1, 2]), Tensor([3, 4])]).tolist() == [[1, 2], [3, 4]]
    assert Tensor(Tensor([1.0])).tolist() == [1.0]
    big_endian = np.array([1, 2], dtype=">i4")
    assert Tensor(big_endian).tolist() == [1, 2]
    assert Tensor(np.arange(6).reshape(2, 3).T).tolist() == [[0, 3], [1, 4], [2, 5]]


@pytest.mark.parametrize("data", ["text", [1, [2, 3]], [object()], np.zeros(2, "S3"), {1: 2}])
def test_bad_data(data):
    with pytest.raises((TypeError, ValueError)):
        Tensor(data)


def test_construction():
    close(Tensor.zeros(2, 3), np.zeros((2, 3)))
    close(Tensor.zeros((2, 3)), np.zeros((2, 3)))
    close(Tensor.ones(4, dtype="int8"), np.ones(4))
    close(Tensor.full((2, 2), 2.5), np.full((2, 2), 2.5))
    assert Tensor.full((2,), True).dtype == dtypes.bool
    assert Tensor.full(3, 7).tolist() == [7, 7, 7]
    close(Tensor.arange(10), np.arange(10))
    close(Tensor.arange(2, 10, 3), np.arange(2, 10, 3))
    close(Tensor.arange(5, 0, -1), np.arange(5, 0, -1))
    close(Tensor.arange(0, 1, 0.1), np.arange(0, 1, 0.1))
    close(Tensor.arange(5, 2), np.arange(5, 2))
    close(Tensor.linspace(-1, 1, 7), np.linspace(-1, 1, 7))
    close(Tensor.linspace(3, 5, 1), [3.0])
    close(Tensor.eye(3), np.eye(3))
    close(Tensor.eye(2, 4), np.eye(2, 4))
    assert Tensor.empty(2, 5).shape == (2, 5)
    close(Tensor([1.5]).full_like(2), [2.0])
    assert Tensor([1, 2]).ones_like().dtype == dtypes.int32
    for bad in (lambda: Tensor.zeros(-1), lambda: Tensor.zeros(2**40, 2**40)):
        with pytest.raises(ValueError, match="shape"):
            bad()
    with pytest.raises(ValueError, match="step"):
        Tensor.arange(0, 1, 0)
    assert Tensor.full((2,), fill_value=2**40).tolist() == [2**40, 2**40]
    assert Tensor.full(np.int64(2), np.float64(0.1)).tolist() == [0.1, 0.1]
    with pytest.raises(TypeError, match="full: fill_value"):
        Tensor.full((2,), "a")


def test_long_axes_are_counted():
    # Nothing has so many elements in memory: what is not asked for is not computed.
    assert Tensor.arange(2**31)[-2:].tolist() == [2**31 - 2, 2**31 - 1]
    assert Tensor.arange(5, 2**30, 2)[-2:].tolist() == [2**30 - 3, 2**30 - 1]
    assert Tensor.zeros(2**31, dtype="int8").argmax().dtype == dtypes.int64
    assert Tensor.zeros(2**31 - 1, dtype="int8").argmax().dtype == dtypes.int32


def test_arange_by_name():
    assert Tensor.arange(5, start=2).tolist() == [2, 3, 4]
    assert Tensor.arange(stop=3).tolist() == [0, 1, 2]
    assert Tensor.arange(1, stop=6, step=2).tolist() == [1, 3, 5]
    assert Tensor.arange(np.int64(3)).dtype == dtypes.int32
    for wrong in (
        lambda: Tensor.arange(),
        lambda: Tensor.arange(1, 2, start=0),
        lambda: Tensor.arange(1, 2, 3, 4),
    ):
        with pytest.raises(TypeError, match="arange"):
            wrong()


@pytest.mark.parametrize(
    "call",
    [
        lambda t: Tensor.zeros(2**64 + 2),
        lambda t: Tensor.eye(2**64),
        lambda t: Tensor.full((2,), 2**70),
        lambda t: Tensor.linspace(0, 1, 2**70),
        lambda t: Tensor([1]) + 2**70,
        lambda t: (Tensor([True]) > 0).where(2**70, Tensor([1])),
        lambda t: t.reshape(2**64 + 2),
        lambda t: t.sum(2**64),
        lambda t: t.pad([(0, 2**64)]),
        lambda t: t.repeat(2**64 + 1),
        lambda t: t.split([2**64 + 2]),
    ],
)
def test_integers_that_do_not_fit_in_c(call):
    with pytest.raises(OverflowError):
        call(Tensor([1.0, 2.0]))


def test_large_integers():
    t = Tensor([1.0, 2.0])
    assert (t * 2**64).tolist() == [2.0**64, 2.0**65]
    assert (t > 0).where(2**70, t).tolist() == [2.0**70, 2.0**70]
    assert (Tensor([1], dtype="uint64") + (2**64 - 2)).tolist() == [2**64 - 1]
    assert t[: 2**70].tolist() == [1.0, 2.0]
    assert t[-(2**70) :].tolist() == [1.0, 2.0]
    with pytest.raises(IndexError):
        t[2**70]


def test_numpy_integers_as_arguments():
    i = np.int64
    t = Tensor.zeros(i(2), i(3))
    assert t.sum(i(1)).shape == (2,)
    assert t.flip(i(0)).shape == (2, 3)
    assert t.layernorm(i(1)).shape == (2, 3)
    assert [p.shape for p in t.split(i(1))] == [(1, 3), (1, 3)]
    assert [p.shape for p in t.chunk(chunks=i(2))] == [(1, 3), (1, 3)]
    assert t.reshape(i(3), i(-1)).unsqueeze(i(0)).transpose(i(1), i(2)).shape == (1, 2, 3)
    Tensor.manual_seed(i(3))
    a = Tensor.rand(4).tolist()
    Tensor.manual_seed(3)
    assert Tensor.rand(4).tolist() == a


@pytest.mark.parametrize("seed", [1.5, "a", None])
def test_a_bad_seed_changes_nothing(seed):
    Tensor.manual_seed(7)
    with pytest.raises(TypeError):
        Tensor.manual_seed(seed)
    a = Tensor.rand(4).tolist()
    Tensor.manual_seed(7)
    assert Tensor.rand(4).tolist() == a


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda t: t.sum("a"), "axis"),
        (lambda t: t.sum(1.5), "axis"),
        (lambda t: t.permute("a"), "order"),
        (lambda t: t.repeat(0.5), "repeats"),
        (lambda t: t.unsqueeze(1.5), "dim"),
    ],
)
def test_what_is_no_integer_is_named(call, said):
    with pytest.raises(TypeError, match=said):
        call(Tensor([1.0, 2.0]))


def test_properties():
    t = Tensor.zeros(2, 3, 4)
    assert (t.shape, t.ndim, t.numel(), t.size(), t.size(1)) == ((2, 3, 4), 3, 24, (2, 3, 4), 3)
    assert (t.dtype, t.device, t.nbytes(), t.element_size()) == ("float32", Device.DEFAULT, 96, 4)
    assert t.is_floating_point()
    assert not Tensor([1]).is_floating_point()
    assert t.grad is None
    assert t.requires_grad is None
    assert "shape=(2, 3, 4)" in repr(t)
    assert float(Tensor(2.5)) == 2.5
    assert int(Tensor([3])) == 3
    assert [10, 20, 30][Tensor(1)] == 20
    assert bool(Tensor([1.0]))
    assert not Tensor(0)
    assert Tensor([3]) in [Tensor([4]), Tensor([3])]
    with pytest.raises(ValueError, match="truth of a tensor of several elements"):
        bool(Tensor([1.0, 2.0]))
    with pytest.raises(ValueError, match="one element"):
        Tensor([1.0, 2.0]).item()


def test_memory_is_shared_with_numpy():
    x = np.array([1.0, 2.0], dtype=np.float32)
    t = Tensor(x)
    x[0] = 10
    assert t.tolist() == ([1, 2] if GPU else [10, 2])  # a GPU has a copy
    t._data[1] = 20
    assert t.tolist() == ([1, 20] if GPU else [10, 20])
    assert x.tolist() == ([10, 2] if GPU else [10, 20])
    y = t + 1
    assert np.shares_memory(y.numpy(), y.numpy())
    assert np.asarray(t).tolist() == ([1, 20] if GPU else [10, 20])
    assert np.shares_memory(np.asarray(t), x) != GPU
    frozen = np.array([1.0], dtype=np.float32)
    frozen.flags.writeable = False
    assert not np.shares_memory(Tensor(frozen).numpy(), frozen)


def test_data_outlives_its_tensors():
    x = Tensor(np.full(1000, 2.0, dtype=np.float32))
    y = x * 3
    z = y + 1
    del x, y
    gc.collect()
    junk = [np.full(1000, 9.0, dtype=np.float32) for _ in range(20)]
    assert (z.numpy() == 7).all()
    h = Tensor([1.0]) * 2
    later = h + 1
    h.realize()
    del h
    assert later.item() == 3
    assert junk


def test_gradients_in_a_circle_are_freed():
    gc.collect()
    release_dead()
    before = lib.poly_ctx_live_nodes(CTX)
    for _ in range(20):
        x, y = Tensor([1.0, 2.0]), Tensor([3.0, 4.0])
        x.grad = x
        assert x.grad.tolist() == [1, 2]
        x.grad, y.grad = y, x
        assert y.grad.tolist() == [1, 2]
    del x, y
    gc.collect()
    release_dead()
    assert lib.poly_ctx_live_nodes(CTX) <= before + 5


def test_handles_are_given_back():
    release_dead()
    gc.collect()
    release_dead()
    before = lib.poly_ctx_live_nodes(CTX)
    for _ in range(300):
        ((Tensor([1.0, 2.0]) + 1) * 2).numpy()
    gc.collect()
    release_dead()
    assert lib.poly_ctx_live_nodes(CTX) <= before + 5


def test_long_chains():
    t = Tensor([0.0])
    for _ in range(20000):
        t = t + 1
    del t
    t = Tensor([0.0])
    for _ in range(200):
        t = t + 1
    assert t.item() == 200


def test_realize_several():
    a, b = Tensor([1.0]) + 1, Tensor([2.0]) * 3
    assert a.realize(b) is a
    assert a.is_realized and b.is_realized
    assert (a.tolist(), b.tolist()) == ([2.0], [6.0])


def test_assign():
    t = Tensor([1.0, 2.0])
    memory = t.numpy()
    t.assign(t + 1)
    assert memory.tolist() == [2, 3]
    t += 1
    assert memory.tolist() == [3, 4]
    t.assign([5.0, 6.0])
    assert memory.tolist() == [5, 6]
    a, b = Tensor([1.0, 2.0]), Tensor([3.0, 4.0])
    from polygrad.tensor import assign

    assign([a, b], [b, a])
    assert (a.tolist(), b.tolist()) == ([3, 4], [1, 2])
    with pytest.raises(ValueError, match="shape"):
        a.assign(Tensor([1.0, 2.0, 3.0]))
    flipped = Tensor([1.0, 2.0, 3.0])
    flipped.assign(flipped.flip(0))
    assert flipped.tolist() == [3, 2, 1]
    lazy = Tensor([1.0]) + 1
    other = lazy + 1
    lazy += 5
    assert (lazy.item(), other.item()) == (7, 3)


def test_clone_and_detach():
    x = Tensor([1.0, 2.0], requires_grad=True)
    c = x.clone()
    c._data[0] = 9
    assert x.tolist() == [1, 2]
    assert c.requires_grad
    d = x.detach()
    assert not d.requires_grad
    (x.detach() * x).sum().backward()
    assert x.grad.tolist() == [1, 2]


def test_copies_and_pickles():
    x = Tensor([1.0, 2.0], requires_grad=True)
    for again in (copy.deepcopy(x), copy.copy(x), pickle.loads(pickle.dumps(x))):
        assert again.tolist() == [1, 2]
        assert again.requires_grad
        assert not np.shares_memory(again.numpy(), x.numpy())
    assert pickle.loads(pickle.dumps(x * 2)).tolist() == [2, 4]
    half = Tensor([1.5], dtype="bfloat16")
    assert copy.deepcopy(half).dtype == dtypes.bfloat16
    assert copy.deepcopy(half).item() == 1.5


def test_devices():
    assert ("WEBGPU" if GPU else "CPU") == Device.DEFAULT
    assert "CPU" in Device.available()
    t = Tensor([1.0]).to("cpu")
    assert t.device == "CPU"
    assert Device.canonicalize("cpu:0") == "CPU"
    with pytest.raises(ValueError, match="unknown"):
        t.to("abacus")
    if not Device.cuda_available():
        with pytest.raises(RuntimeError, match="CUDA is not available"):
            t.cuda()


@pytest.mark.skipif("WEBGPU" not in Device.available(), reason="no WebGPU here: POLY_WEBGPU")
def test_tensors_on_a_gpu():
    x, w = Tensor([1.0, 2.0]), Tensor([3.0, 4.0], device="webgpu", requires_grad=True)
    loss = (x * w).sum()
    loss.backward()
    usual = Device.DEFAULT
    assert (x.device, w.device, loss.device, w.grad.device) == (usual, *["WEBGPU"] * 3)
    assert (loss.item(), w.grad.tolist()) == (11, [1, 2])
    with pytest.raises(ValueError, match="operands are on the devices webgpu and cpu"):
        w + x.clone().to_("cpu")
    assert w.cpu().device == x.clone().to("webgpu").to_("cpu").device == "CPU"
    Device.DEFAULT = "webgpu"
    try:
        assert (x.device, (x + 1).tolist(), w.cpu().device) == ("WEBGPU", [2, 3], "CPU")
    finally:
        Device.DEFAULT = usual
    assert x.device == Device.DEFAULT == usual


# Random numbers


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


# Gradients


def test_backward():
    x = Tensor([1.0, 2.0, 3.0])
    x.requires_grad = True
    loss = (x * x).sum()
    assert loss.requires_grad
    loss.backward()
    assert x.grad.tolist() == [2.0, 4.0, 6.0]
    (x * 3).sum().backward()
    assert x.grad.tolist() == [5.0, 7.0, 9.0]


def test_backward_after_looking_at_values():
    x = Tensor([1.0, 2.0], requires_grad=True)
    h = x * x
    assert h.tolist() == [1, 4]
    loss = (h * h).sum()
    assert loss.item() == 17
    loss.backward()
    assert x.grad.tolist() == [4.0, 32.0]
    y = Tensor([2.0], requires_grad=True)
    a = y * 3
    b = a + 1
    a.realize()
    ((a * b) + a).sum().backward()
    assert y.grad.tolist() == [3 * 7 + 6 * 3 + 3]


def test_gradient_of_an_intermediate_tensor():
    x = Tensor([1.0, 2.0], requires_grad=True)
    h = x * 2
    h.requires_grad = True
    early = h * 1
    h.realize()
    (early + h * h).sum().backward()
    assert h.grad.tolist() == [5.0, 9.0]
    assert x.grad.tolist() == [10.0, 18.0]


def test_backward_with_a_gradient():
    x = Tensor([1.0, 2.0], requires_grad=True)
    (x * x).backward(Tensor([1.0, 10.0]))
    assert x.grad.tolist() == [2.0, 40.0]


def test_gradients_add_up_in_the_tensor_that_holds_them():
    x = Tensor([3.0], requires_grad=True)
    (x * 2).backward()
    held = x.grad
    (x * 3).backward()
    assert held.tolist() == [5.0]


def test_errors_of_backward():
    with pytest.raises(RuntimeError, match="requires a gradient"):
        Tensor([1.0]).sum().backward()
    with pytest.raises(ValueError, match="one element"):
        Tensor([1.0, 2.0], requires_grad=True).backward()
    with pytest.raises(TypeError, match="floating"):
        Tensor([1, 2], requires_grad=True)


def test_equal_parameters_have_gradients_of_their_own():
    a = Tensor.zeros(2, requires_grad=True)
    b = Tensor.zeros(2, requires_grad=True)
    (a * 2 + b * 3).sum().backward()
    assert (a.grad.tolist(), b.grad.tolist()) == ([2, 2], [3, 3])
    c = Tensor(a, requires_grad=True)
    (c * 5).sum().backward()
    assert (a.grad.tolist(), c.grad.tolist()) == ([2, 2], [5, 5])


def test_gradient():
    x, y = Tensor([1.0, 2.0]), Tensor([3.0, 4.0])
    gx, gy = (x * x * y).sum().gradient(x, y)
    close(gx, [6, 16])
    close(gy, [1, 4])
    close(x.sum().gradient(y, materialize_grads=True)[0], [0, 0])
    with pytest.raises(RuntimeError, match=r"targets\[1\]: the tensor does not depend"):
        x.sum().gradient(x, y)
    close((x * x).sum().gradient(x, gradient=Tensor([3.0]))[0], [6, 12])


SECOND = {
    "cube": lambda x: (x**3).sum(),
    "exp": lambda x: (x * x).exp().sum(),
    "softmax": lambda x: (x.softmax() * Tensor([1.0, -2.0, 3.0], dtype="float64")).sum(),
    "layernorm": lambda x: (x.layernorm() ** 3).sum(),
    "sigmoid": lambda x: (x.sigmoid() * x).sum(),
    "matmul": lambda x: (x.unsqueeze(1) @ x.unsqueeze(0)).square().sum(),
}


@pytest.mark.parametrize("name", SECOND)
def test_double_backward(name):
    function = SECOND[name]
    x = RNG.uniform(-1, 1, 3)

    def first(t):
        return function(t).gradient(t)[0]

    check_gradient(first, x, rtol=1e-4)
    t = Tensor(x.copy(), requires_grad=True)
    function(t).backward()
    grad, t.grad = t.grad, None
    grad.sum().backward()
    u = Tensor(x.copy())
    close(t.grad, first(u).sum().gradient(u)[0], rtol=1e-9)


def test_threads():
    failures = []

    def work(k):
        for i in range(30):
            x = Tensor([float(k), float(i)], requires_grad=True)
            (x * x).sum().backward()
            if x.grad.tolist() != [2 * k, 2 * i]:
                failures.append((k, i))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert failures == []


def test_tensors_are_collected():
    t = Tensor([1.0], requires_grad=True)
    ref = weakref.ref(t)
    loss = (t * 2).sum()
    del t
    assert ref() is None
    with pytest.raises(RuntimeError):
        loss.backward()


IN_PLACE = {
    "//": (lambda t: operator.ifloordiv(t, 2), [3, 2, 1]),
    "%": (lambda t: operator.imod(t, 4), [2, 1, 3]),
    "**": (lambda t: operator.ipow(t, 2), [36, 25, 9]),
    "@": (lambda t: operator.imatmul(t, Tensor([[1, 0, 0], [0, 2, 0], [0, 0, 3]])), [6, 10, 9]),
    "&": (lambda t: operator.iand(t, 5), [4, 5, 1]),
    "|": (lambda t: operator.ior(t, 1), [7, 5, 3]),
    "^": (lambda t: operator.ixor(t, 1), [7, 4, 2]),
    "<<": (lambda t: operator.ilshift(t, 1), [12, 10, 6]),
    ">>": (lambda t: operator.irshift(t, 1), [3, 2, 1]),
}


@pytest.mark.parametrize("name", IN_PLACE)
def test_in_place_operators(name):
    change, expected = IN_PLACE[name]
    t = Tensor([6, 5, 3]).realize()
    memory = t._data
    assert change(t) is t
    assert t.tolist() == expected
    assert np.shares_memory(t._data, memory)


def test_elements_cannot_be_deleted():
    with pytest.raises(TypeError, match="deleted"):
        del Tensor([1, 2])[0]


def test_bytes():
    t = Tensor(b"ab")
    assert t.dtype == dtypes.uint8
    assert t.tolist() == [97, 98]
    t[0] = 1
    assert t.tolist() == [1, 98]
    numbers = np.array([1.5, -2.0], np.float32)
    assert Tensor(numbers.tobytes(), dtype="float32").tolist() == [1.5, -2.0]
    assert Tensor(b"\x80\x3f", dtype="bfloat16").tolist() == [1.0]
    with pytest.raises(ValueError, match="multiple of element size"):
        Tensor(b"abc", dtype="int16")


def test_train_as_a_decorator():
    @Tensor.train()
    def training():
        return Tensor.training

    assert training() and training()
    assert not Tensor.training


def test_default_types_of_python_numbers(monkeypatch):
    assert dtypes.from_py([[1], [2.0]]) is dtypes.float32
    monkeypatch.setattr(dtypes, "default_float", dtypes.float16)
    assert dtypes.from_py(1.0) is dtypes.float16
    assert Tensor([1, 2]).cast(float).dtype == dtypes.float16
    with pytest.raises(TypeError, match="numbers"):
        dtypes.from_py("1")


@pytest.mark.parametrize("dtype", dtypes.all)
def test_limits_of_types(dtype):
    if dtypes.is_float(dtype):
        assert dtypes.max(dtype) == -dtypes.min(dtype) == np.inf
        assert sum(dtypes.finfo(dtype)) == dtype.bitsize - 1
        return
    with pytest.raises(ValueError, match="floating"):
        dtypes.finfo(dtype)
    if dtype is dtypes.bool:
        assert (dtypes.min(dtype), dtypes.max(dtype)) == (False, True)
    else:
        limits = np.iinfo(dtype.numpy)
        assert (dtypes.min(dtype), dtypes.max(dtype)) == (limits.min, limits.max)


def test_kinds_of_errors():
    with pytest.raises(ValueError, match="do not multiply") as error:
        Tensor.ones(2, 3) @ Tensor.ones(2, 3)
    assert isinstance(error.value, RuntimeError)
    with pytest.raises(TypeError, match="type") as error:
        Tensor([1.0]) & Tensor([2.0])
    assert isinstance(error.value, RuntimeError)
    with pytest.raises(IndexError, match="out of range") as error:
        Tensor.ones(2, 3).sum(2)
    assert isinstance(error.value, ValueError)
    with pytest.raises(TypeError, match="no_type") as error:
        Tensor([1], dtype="no_type")
    assert isinstance(error.value, AttributeError)


@pytest.mark.parametrize("dtype", dtypes.floats)
def test_rand_stays_below_one(dtype):
    values = Tensor.rand(20000, dtype=dtype).float().numpy()
    assert 0 <= values.min() < 0.2
    assert 0.7 < values.max() < 1


def test_names_of_other_operations():
    t = Tensor([[1.9, 2.9]])
    assert t.short().dtype == dtypes.int16
    assert t.to_("cpu") is t
    assert t.shrink_to((None, 1)).shape == (1, 1)
    assert t.pad_to(None, 3).shape == (1, 3)
    with pytest.raises(ValueError, match="pad_to: shape: 1 sizes"):
        t.pad_to(3)


def test_memory_of_others():
    given = np.array([[1, 2], [3, 4]], np.int32)
    t = Tensor.from_blob(given.ctypes.data, (2, 2), dtype="int32")
    assert (t + 1).tolist() == [[2, 3], [4, 5]]
    given[0, 0] = 9
    assert (t + 1).tolist() == [[2 if GPU else 10, 3], [4, 5]]
    for ptr, shape in ((0, (2,)), (-8, (2,)), (given.ctypes.data + 1, (2,)), (8, (-1,))):
        with pytest.raises(ValueError, match="from_blob"):
            Tensor.from_blob(ptr, shape)
    with pytest.raises(TypeError):
        Tensor.from_blob("x", (2,))


def test_contents_of_urls(tmp_path, monkeypatch):
    data = bytes(range(256))
    (tmp_path / "plain").write_bytes(data)
    (tmp_path / "packed").write_bytes(gzip.compress(data))
    plain, packed = ((tmp_path / name).as_uri() for name in ("plain", "packed"))
    assert bytes(Tensor.from_url(plain).tolist()) == data
    assert bytes(Tensor.from_url(packed, gunzip=True).tolist()) == data
    assert Tensor.from_url(plain, dtype="float32").shape == (64,)
    with pytest.raises(OSError, match="gzip"):
        Tensor.from_url(plain, gunzip=True)
    with pytest.raises(ValueError, match="url: 'no url', expected a URL"):
        Tensor.from_url("no url")

    class Server(http.server.BaseHTTPRequestHandler):
        asked = 0

        def do_GET(self) -> None:
            Server.asked += 1
            self.send_response(404 if "none" in self.path else 200)
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *args: object) -> None:
            pass

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with http.server.HTTPServer(("127.0.0.1", 0), Server) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        root = f"http://127.0.0.1:{server.server_port}"
        for _ in range(2):
            assert bytes(Tensor.from_url(root + "/file").tolist()) == data
        assert Server.asked == 1
        with pytest.raises(OSError, match="404"):
            Tensor.from_url(root + "/none")
        server.shutdown()
    assert len(list((tmp_path / "cache/polygrad/downloads").iterdir())) == 1


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


# Whether gradients are wanted


def test_requires_grad_is_none_until_somebody_says():
    a, b = Tensor([1.0]), Tensor([1.0], requires_grad=False)
    w = Tensor([1.0], requires_grad=True)
    assert (a.requires_grad, b.requires_grad, w.requires_grad) == (None, False, True)
    assert ((a + b).requires_grad, (b + b).requires_grad, (a + w).requires_grad) == (
        None,
        None,
        True,
    )
    assert (a + b).realize().requires_grad is None
    assert Tensor(w, requires_grad=False).requires_grad is False
    assert w.requires_grad is True
    w.requires_grad = None
    assert w.requires_grad is None
    for tensor in (a, b, Tensor([1.0], requires_grad=True)):
        again = pickle.loads(pickle.dumps(tensor))
        assert again.requires_grad is copy.copy(tensor).requires_grad is tensor.requires_grad


def test_optimizers_train_what_is_not_excluded():
    a, b = Tensor([1.0]), Tensor([1.0], requires_grad=False)
    optimizer = SGD([a, b], lr=0.5)
    assert (a.requires_grad, b.requires_grad) == (True, False)
    (a * b).sum().backward()
    optimizer.step()
    assert (a.item(), b.item(), b.grad) == (0.5, 1, None)
    with pytest.raises(ValueError, match="params: is empty"):
        SGD([b])


def test_replace_keeps_requires_grad():
    w = Tensor([1.0, 2.0], requires_grad=True)
    assert w.replace(Tensor.ones(2).contiguous()) is w
    assert w.requires_grad
    (w * 3).sum().backward()
    assert w.grad.tolist() == [3, 3]
    x = Tensor([1.0])
    x.replace(w * 2)
    x.sum().backward()
    assert w.grad.tolist() == [5, 5]
    with pytest.raises(TypeError, match="replace: x: a list"):
        w.replace([1.0, 2.0])


def test_tensors_on_the_way_get_gradients_if_they_are_asked_for():
    a = Tensor([3.0], requires_grad=True)
    x = RNG.standard_normal((5, 2)).astype(np.float32)
    wide = a.expand(10).requires_grad_()
    kept = wide.reshape(5, 2)
    (kept * Tensor(x)).sum().backward()
    close(wide.grad.numpy(), x.reshape(10))
    assert kept.grad is None
    close(a.grad.numpy(), [x.sum()])
    untracked = Tensor([1.0]) * 2
    (untracked * a).sum().backward()
    assert untracked.grad is None


def test_gradients_flow_through_clones():
    a = Tensor([1.0, 2.0], requires_grad=True)
    b = a.clone()
    assert b.requires_grad
    (b * b).sum().backward()
    assert b.grad is None
    assert a.grad.tolist() == [2, 4]


def test_gradients_of_several_elements_need_their_own():
    x = Tensor([1.0, 2.0])
    with pytest.raises(ValueError, match=r"the tensor has shape \(2\), expected one element"):
        (x * x).gradient(x)
    (grad,) = (x * x).gradient(x, gradient=Tensor([1.0, 10.0]))
    assert grad.tolist() == [2, 40]


def test_is_realized():
    t = Tensor.arange(4) + 1
    view = t[1:]
    assert not t.is_realized
    assert not view.is_realized
    t.realize()
    assert t.is_realized
    assert view.is_realized
    assert not (view + 1).is_realized
    assert Tensor([1]).is_realized


def test_tensors_of_nothing():
    for tensor in (Tensor(), Tensor(None), Tensor([])):
        assert (tensor.shape, tensor.dtype) == ((0,), dtypes.float32)
    assert Tensor(None, dtype="int32").dtype == dtypes.int32


def test_rows_of_bytes():
    assert Tensor([b"abc", b"def"]).tolist() == [[97, 98, 99], [100, 101, 102]]
    assert Tensor((b"ab",), dtype="float32").tolist() == [[97.0, 98.0]]
    with pytest.raises(ValueError, match="several lengths"):
        Tensor([b"ab", b"c"])
    with pytest.raises(TypeError):
        Tensor([b"ab", 1])


def test_what_is_no_index():
    for t in (Tensor([3]), Tensor([[3]]), Tensor(3.0)):
        with pytest.raises(TypeError, match="not an index"):
            operator.index(t)
    assert operator.index(Tensor(3)) == 3


def test_bitcast_has_no_gradient():
    x = Tensor([1.0], requires_grad=True)
    with pytest.raises(RuntimeError, match="bitcast"):
        x.bitcast("int32")
    assert x.detach().bitcast("int32").tolist() == [0x3F800000]


def test_results_of_no_grad_do_not_require_gradients() -> None:
    w = Tensor([1.0, 2.0], requires_grad=True)

    @Tensor.no_grad()
    def double() -> Tensor:
        return w * 2

    y = double()
    assert y.requires_grad is None
    (y * w).sum().backward()
    assert w.grad is not None
    assert w.grad.tolist() == [2.0, 4.0]
    with pytest.raises(KeyError), Tensor.no_grad(), Tensor.no_grad():
        raise KeyError
    assert (w * 2).requires_grad is True
