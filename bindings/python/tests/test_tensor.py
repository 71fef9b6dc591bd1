"""Tensors themselves: how they are made, what they tell, memory, gradients."""

from __future__ import annotations

import copy
import gc
import gzip
import http.server
import operator
import pickle
import threading
import weakref

import numpy as np
import pytest
from numeric import GPU, close

from polygrad import Device, Tensor, dtypes
from polygrad._base import release_dead
from polygrad._graph import CTX
from polygrad._library import lib


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
    with pytest.raises(ValueError, match="truth of a tensor of no elements"):
        bool(Tensor([]))
    for kind in (float, int, complex):
        for numbers in ([1.0, 2.0], []):
            with pytest.raises(
                TypeError, match=rf"{kind.__name__}: self: .*, expected one element"
            ):
                kind(Tensor(numbers))


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
