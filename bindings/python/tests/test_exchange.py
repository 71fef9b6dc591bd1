"""Memory shared with numpy and DLPack, in both directions; pickling and copying."""

from __future__ import annotations

import copy
import ctypes
import gc
import pickle
import sys
import weakref

import numpy as np
import pytest
from processes import run

from polygrad import Tensor, _dlpack, dtypes, nn
from polygrad.dtype import ALL

NUMPY_TYPES = [d for d in ALL if d.numpy is not None]


versions = pytest.mark.skipif(
    not _dlpack._VERSIONED, reason="numpy before 2.1 does not know versions of DLPack"
)


class Capsule:
    """Another library's tensor: what numpy makes, by a version of DLPack."""

    def __init__(self, array, versioned, device=(1, 0)):
        self.array, self.versioned, self.device = array, versioned, device

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**(options if self.versioned else {}))


class Old(Capsule):
    """A library that has not heard of versions."""

    def __dlpack__(self, stream=None):
        return self.array.__dlpack__()


@pytest.mark.parametrize(
    "view", [np.asarray, np.from_dlpack, lambda t: np.frombuffer(t.data(), "f4")]
)
def test_numpy_shares_memory(view):
    t = Tensor([1.0, 2.0]) * 2
    array = view(t)
    if array.flags.writeable:
        array[0] = 9
    else:  # numpy before 2.1 takes all of DLPack for read-only
        assert view is np.from_dlpack
        assert np.lib.NumpyVersion(np.__version__) < "2.1.0"
        t.numpy()[0] = 9
    assert array.tolist() == t.tolist() == [9, 4]
    t.assign(Tensor([5.0, 6.0]))
    assert array.tolist() == [5, 6]
    t.replace(Tensor([0.0, 0.0]))  # the array keeps the memory that it has
    del t
    gc.collect()
    assert array.tolist() == [5, 6]


@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (2, 3), (1, 1, 4)])
def test_shapes_of_arrays(shape):
    t = Tensor.arange(int(np.prod(shape))).reshape(shape)
    for array in (np.asarray(t), np.from_dlpack(t), Tensor.from_dlpack(t).numpy()):
        assert array.shape == shape
        assert array.ravel().tolist() == list(range(array.size))


@pytest.mark.parametrize(
    "view", [lambda x: x[:, 1], lambda x: x[::-1], lambda x: x.T, lambda x: x[:, None, :1]]
)
def test_numpy_shares_the_memory_of_views(view):
    t = Tensor([[1.0, 2.0], [3.0, 4.0]])
    array = np.asarray(view(t))
    assert array.tolist() == view(t.numpy()).tolist()
    assert np.shares_memory(array, t.numpy())


def test_array_protocol():
    t = Tensor([1, 2])
    assert np.asarray(t, dtype="float64").tolist() == [1, 2]
    assert not np.shares_memory(np.array(t), t.numpy())
    assert np.shares_memory(t.__array__(), t.numpy())
    assert not np.shares_memory(t.__array__(copy=True), t.numpy())
    assert t.__array__("int8").dtype == np.int8
    with pytest.raises(ValueError, match="copy is False"):
        t.__array__("int8", copy=False)
    wide = np.asarray(Tensor([1.5], dtype="bfloat16"))
    assert wide.dtype == np.float32
    assert wide.tolist() == [1.5]
    assert np.concatenate([t, t]).tolist() == [1, 2, 1, 2]


def test_buffers():
    t = Tensor([[1, 2], [3, 4]])
    view = t.data()
    assert (view.shape, view.format, view.readonly) == ((2, 2), "i", False)
    view[1, 1] = 7
    assert t.tolist() == [[1, 2], [3, 7]]
    assert t.__buffer__(0).tolist() == t.tolist()
    if sys.version_info >= (3, 12):
        assert memoryview(t).tolist() == t.tolist()


@pytest.mark.parametrize("dtype", ALL)
def test_dlpack_of_each_type(dtype):
    t = Tensor([1, 0, 1], dtype=dtype).realize()
    back = Tensor.from_dlpack(t)
    assert back.dtype is dtype
    assert back.tolist() == t.tolist()
    back._data[0] = 0
    assert t.tolist() == [0, 0, 1]


@pytest.mark.parametrize("dtype", NUMPY_TYPES)
@pytest.mark.parametrize("kind", [Capsule, Old])
def test_from_dlpack_shares(kind, dtype):
    array = np.ones((2, 3), dtype.numpy)
    t = Tensor.from_dlpack(kind(array, versioned=kind is Capsule))
    assert (t.shape, t.dtype) == ((2, 3), dtype)
    array[1, 2] = 0
    assert t.tolist() == array.tolist()
    t._data[0, 0] = 0
    assert array[0, 0] == 0
    owner = weakref.ref(array)
    del array
    gc.collect()
    assert owner() is not None
    assert t[0].tolist() == [0, 1, 1]
    del t
    gc.collect()
    assert owner() is None


def test_from_dlpack_copies_what_it_must():
    frozen = np.arange(3.0)
    frozen.flags.writeable = False
    turned = np.arange(6).reshape(2, 3).T
    for array in (frozen, turned, np.arange(6)[::2], np.arange(3)[::-1]):
        t = Tensor.from_dlpack(array)
        assert t.tolist() == array.tolist()
        assert not np.shares_memory(t.numpy(), array)
        with pytest.raises(BufferError, match="copy is False"):
            Tensor.from_dlpack(array, copy=False)
    array = np.arange(3)
    assert np.shares_memory(Tensor.from_dlpack(array, copy=False).numpy(), array)
    assert not np.shares_memory(Tensor.from_dlpack(array, copy=True).numpy(), array)
    assert np.array_equal(Tensor.from_dlpack(np.broadcast_to(2.0, (3,))).numpy(), [2, 2, 2])


@versions
def test_dlpack_arguments():
    t = Tensor([1.0, 2.0])
    assert t.__dlpack_device__() == (1, 0)
    assert '"dltensor"' in repr(t.__dlpack__())
    assert '"dltensor_versioned"' in repr(t.__dlpack__(max_version=(1, 0)))
    copied = np.from_dlpack(t, copy=True)
    assert not np.shares_memory(copied, t.numpy())
    with pytest.raises(BufferError, match="dl_device"):
        t.__dlpack__(dl_device=(2, 0))
    assert Tensor.from_dlpack(np.arange(2).__dlpack__()).tolist() == [0, 1]


def test_from_dlpack_refuses():
    with pytest.raises(TypeError, match="list, expected an object with __dlpack__"):
        Tensor.from_dlpack([1, 2])
    with pytest.raises(BufferError, match=r"device \(2, 0\)"):
        Tensor.from_dlpack(Capsule(np.arange(3), True, device=(2, 0)))
    capsule = np.zeros(2, np.float32).__dlpack__()
    _dlpack._opened(capsule)[0].dtype.code = 3  # an opaque handle
    with pytest.raises(BufferError, match="type 3, 32 bits"):
        Tensor.from_dlpack(capsule)
    capsule = np.arange(3).__dlpack__()
    Tensor.from_dlpack(capsule)
    with pytest.raises(BufferError, match="not used"):
        Tensor.from_dlpack(capsule)


@versions
def test_unknown_versions_are_refused():
    capsule = np.arange(3).__dlpack__(max_version=(1, 0))
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.argtypes, get.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_void_p
    ctypes.c_uint32.from_address(get(capsule, b"dltensor_versioned")).value = 2
    with pytest.raises(BufferError, match=r"DLPack 2.\d, expected 1"):
        Tensor.from_dlpack(capsule)


def test_capsules_that_nobody_takes_free_the_memory():
    array = np.array([1.0, 2.0])
    owner = weakref.ref(array)
    t = Tensor(array)
    del array
    capsules = [t.__dlpack__(), t.__dlpack__(max_version=(1, 0))]
    del t
    gc.collect()
    assert owner() is not None
    del capsules
    gc.collect()
    (Tensor([1.0]) + 1).realize()  # the library is asked what it has let go of
    assert owner() is None


def test_tensors_of_other_libraries_are_data():
    array = np.arange(3, dtype="float32")
    t = Tensor(Capsule(array, True))
    array[0] = 5
    assert t.tolist() == [5, 1, 2]
    assert Tensor(Capsule(array, True), dtype="int8").tolist() == [5, 1, 2]
    assert Tensor(Capsule(array, True), dtype="int8").dtype is dtypes.int8


def test_from_numpy():
    array = np.arange(3)
    assert np.shares_memory(Tensor.from_numpy(array).numpy(), array)
    with pytest.raises(TypeError, match="list, expected a numpy array"):
        Tensor.from_numpy([1, 2])


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("dtype", ALL)
def test_pickle(dtype, protocol):
    t = Tensor([[1, 0, 1]], dtype=dtype)
    back = pickle.loads(pickle.dumps(t, protocol))
    assert (back.dtype, back.shape, back.requires_grad) == (dtype, (1, 3), None)
    assert back.tolist() == t.tolist()
    back += 1  # its memory is its own
    assert t.tolist() == [[1, 0, 1]]


def test_pickle_out_of_band():
    t = Tensor.arange(1000.0).realize()
    buffers = []
    data = pickle.dumps(t, 5, buffer_callback=buffers.append)
    assert len(data) < 1000
    assert [b.raw().nbytes for b in buffers] == [4000]
    shared = pickle.loads(data, buffers=buffers)
    shared._data[3] = -1
    assert t[3].item() == -1
    frozen = pickle.loads(data, buffers=[bytes(b) for b in buffers])
    frozen.assign(frozen * 0)  # bytes never change
    assert frozen.sum().item() == 0
    assert t[4].item() == 4


def test_pickle_keeps_requires_grad_and_identity():
    x = Tensor([1.0, 2.0], requires_grad=True)
    (x * x).sum().backward()
    first, second, lazy = pickle.loads(pickle.dumps([x, x, x * 3]))
    assert first is second
    assert first.requires_grad
    assert first.grad is None
    assert lazy.tolist() == [3, 6]
    (first * 2).sum().backward()
    assert first.grad.tolist() == [2, 2]


class Named(Tensor):
    """A tensor with an attribute of its own."""


@pytest.mark.parametrize(
    "again", [copy.copy, copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t))]
)
def test_copies(again):
    t = Named([1.0, 2.0], requires_grad=True)
    t.name = "weight"
    made = again(t)
    assert type(made) is Named
    assert made.name == "weight"
    assert made.requires_grad
    made._data[0] = 5
    assert t.tolist() == [1, 2]


def test_deepcopy_keeps_tied_weights():
    x = Tensor([1.0])
    a, b = copy.deepcopy([x, x])
    assert a is b
    assert a is not x


@pytest.mark.parametrize(
    "layer", [nn.Linear(3, 2), nn.LayerNorm(3), nn.Embedding(4, 3), nn.BatchNorm(3)]
)
def test_pickled_layers(layer):
    again = pickle.loads(pickle.dumps(layer))
    before, after = nn.get_state_dict(layer), nn.get_state_dict(again)
    assert before.keys() == after.keys()
    for name, t in before.items():
        assert t.tolist() == after[name].tolist()
        assert t.requires_grad == after[name].requires_grad
        assert not np.shares_memory(t.numpy(), after[name].numpy())


def test_spawned_processes(tmp_path):
    program = tmp_path / "work.py"
    program.write_text(
        "import multiprocessing\n"
        "from polygrad import Tensor, nn\n"
        "def apply(job):\n"
        "    model, x = job\n"
        "    return model(x)\n"
        "if __name__ == '__main__':\n"
        "    model = nn.Linear(3, 2)\n"
        "    xs = [Tensor.rand(4, 3) for _ in range(3)]\n"
        "    with multiprocessing.get_context('spawn').Pool(2) as pool:\n"
        "        ys = pool.map(apply, [(model, x) for x in xs])\n"
        "    print(all((y - model(x)).abs().max().item() < 1e-6 for x, y in zip(xs, ys)))\n"
    )
    done = run(f"import runpy; runpy.run_path({str(program)!r}, run_name='__main__')")
    assert done.stdout == "True\n", done.stderr
