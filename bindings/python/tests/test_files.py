"""Model files: written here by hand or by their own packages, and read by the library."""

import collections
import contextlib
import gc
import io
import json
import os
import pickle
import struct
import subprocess
import sys
import tempfile
import types
import zipfile
from pathlib import Path

import gguf
import numpy as np
import pytest
import safetensors.numpy

from polygrad import Tensor, dtypes
from polygrad.nn.state import (
    ggml_data_to_tensor,
    gguf_load,
    load_state_dict,
    safe_load,
    safe_load_metadata,
    safe_save,
    torch_load,
)

ALL = [d for d in dtypes.all if d.numpy is not None]


@pytest.fixture
def folder():
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def array_of(dtype, shape=(3, 5)):
    numbers = np.random.default_rng(1).integers(0, 100, shape)
    return (numbers % 2 == 0) if dtype == "bool" else numbers.astype(dtype.numpy)


# safetensors


def test_their_files_are_read_and_written_again_byte_by_byte(folder):
    arrays = {f"w.{d.name}": array_of(d) for d in ALL}
    arrays["scalar"] = np.array(3, np.float32)
    arrays["empty"] = np.zeros((0, 3), np.float32)
    safetensors.numpy.save_file(arrays, folder / "a", metadata={"format": "pt"})
    loaded = safe_load(folder / "a")
    for name, array in arrays.items():
        assert loaded[name].numpy().dtype == array.dtype
        np.testing.assert_array_equal(loaded[name].numpy(), array)
    safe_save(loaded, folder / "b", {"format": "pt"})
    assert (folder / "a").read_bytes() == (folder / "b").read_bytes()


def test_ours_are_read_by_them(folder):
    tensors = {d.name: Tensor(array_of(d)) for d in ALL}
    tensors["odd ä\n"] = Tensor([1, 2, 3], dtype="uint8")
    safe_save(tensors, folder / "a", {"a": "<\u2028>"})
    found = safetensors.numpy.load_file(folder / "a")
    assert sorted(found) == sorted(tensors)
    for name, array in found.items():
        np.testing.assert_array_equal(array, tensors[name].numpy())
    with safetensors.safe_open(folder / "a", "numpy") as f:
        assert f.metadata() == {"a": "<\u2028>"}
    assert list(safe_load(folder / "a")) == list(tensors)  # in the order in which they were given


@pytest.mark.parametrize("dtype", ["bfloat16", "fp8e4m3", "fp8e5m2"])
def test_types_that_numpy_does_not_have(folder, dtype):
    x = Tensor([1.5, -2.0, 0.0, 448.0]).cast(dtype)
    safe_save({"x": x}, folder / "a")
    y = safe_load(folder / "a")["x"]
    assert y.dtype == dtype
    assert y.float().tolist() == x.float().tolist()


def test_tensors_lie_on_the_file_and_the_file_stays_as_it_is(folder):
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    safe_save({"x": Tensor(x), "y": Tensor(x + 1)}, folder / "a")
    before = (folder / "a").read_bytes()
    loaded = safe_load(folder / "a")
    first, again = loaded["x"].numpy(), loaded["x"].numpy()
    assert first.base is not None and np.shares_memory(first, again)
    loaded["x"].assign(loaded["x"] * 10)
    loaded["y"][0, 1] = 99.0
    np.testing.assert_array_equal(loaded["x"].numpy(), x * 10)
    assert loaded["y"].tolist() == [[1, 99, 3], [4, 5, 6]]
    assert (folder / "a").read_bytes() == before
    np.testing.assert_array_equal(safe_load(folder / "a")["x"].numpy(), x)
    # An array outlives the tensor and the file's other tensors; the file may be written anew.
    safe_save({"x": loaded["y"]}, folder / "a")
    os.remove(folder / "a")
    del loaded
    gc.collect()
    np.testing.assert_array_equal(first, x * 10)


def test_loading_costs_no_memory(folder):
    n = 64 << 20
    header = json.dumps({"x": {"dtype": "F32", "shape": [n // 4], "data_offsets": [0, n]}}).encode()
    header += b" " * (-len(header) % 8)
    with open(folder / "a", "wb") as f:
        f.write(struct.pack("<Q", len(header)) + header)
        f.truncate(8 + len(header) + n)
    program = f"""if 1:
        import resource
        from polygrad.nn.state import safe_load
        def peak():
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
        before = peak()
        x = safe_load({str(folder / "a")!r})["x"]
        assert x.shape == ({n // 4},)
        assert peak() - before < {n} // 4, peak() - before
        assert x[5].item() == 0
        assert x.numpy().nbytes == {n}
        assert peak() - before < {n} // 2, peak() - before
    """
    subprocess.run([sys.executable, "-c", program], check=True)


def test_tensors_that_are_not_aligned(folder):
    arrays = {"a": np.array([1, 2, 3], np.uint8), "b": np.array([1.5, 2.5], np.float64)}
    header = json.dumps(
        {
            "a": {"dtype": "U8", "shape": [3], "data_offsets": [0, 3]},
            "b": {"dtype": "F64", "shape": [2], "data_offsets": [3, 19]},
        }
    ).encode()
    data = struct.pack("<Q", len(header)) + header + arrays["a"].tobytes() + arrays["b"].tobytes()
    (folder / "a").write_bytes(data)
    for source in (folder / "a", str(folder / "a"), data, Tensor(data)):
        loaded = safe_load(source)
        for name, array in arrays.items():
            np.testing.assert_array_equal(loaded[name].numpy(), array)


def test_shards(folder):
    tensors = {f"layers.{i}": Tensor.full((10,), float(i)) for i in range(5)}
    safe_save(tensors, folder / "model.safetensors", max_shard_size="80B")
    names = sorted(os.listdir(folder))
    assert names[:-1] == [f"model-0000{i}-of-00003.safetensors" for i in (1, 2, 3)]
    index = json.loads((folder / "model.safetensors.index.json").read_text())
    assert index["metadata"] == {"total_size": 200}
    assert index["weight_map"]["layers.4"] == names[2]
    for source in (folder, folder / "model.safetensors.index.json"):
        loaded = safe_load(source)
        assert {k: v[0].item() for k, v in loaded.items()} == {f"layers.{i}": i for i in range(5)}
    os.remove(folder / names[1])
    with pytest.raises(ValueError, match=names[1] + ".*no such file"):
        safe_load(folder)
    os.remove(folder / "model.safetensors.index.json")
    assert sorted(safe_load(folder)) == ["layers.0", "layers.1", "layers.4"]


def test_metadata(folder):
    safe_save({}, folder / "a", {"hello": "world"})
    raw, start, header = safe_load_metadata(folder / "a")
    assert header == {"__metadata__": {"hello": "world"}}
    assert raw.shape == (start,)
    assert safe_load(folder / "a") == {}


def test_loaded_tensors_are_parameters(folder):
    class Model:
        def __init__(self):
            self.weight = Tensor.zeros(2, 2)

    safe_save({"weight": Tensor([[1.0, 2.0], [3.0, 4.0]])}, folder / "a")
    model = Model()
    load_state_dict(model, safe_load(folder / "a"))
    assert model.weight.tolist() == [[1, 2], [3, 4]]
    x = safe_load(folder / "a")["weight"]
    x.requires_grad = True
    (x * x).sum().backward()
    assert x.grad.tolist() == [[2, 4], [6, 8]]


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda p: safe_load(p / "none"), FileNotFoundError, "none"),
        (lambda p: safe_load(3), TypeError, "safe_load: fn: an int, expected a path"),
        (lambda p: safe_load(Tensor([1.0])), TypeError, "expected uint8 and one dimension"),
        (lambda p: safe_load(b""), ValueError, "0 bytes, expected at least 8"),
        (lambda p: safe_load(p), ValueError, "holds no .safetensors file"),
        (lambda p: safe_load("/dev/zero"), ValueError, "no regular file"),
        (lambda p: gguf_load(b"GGUF"), ValueError, "4 bytes are needed, but 0 follow"),
        (lambda p: gguf_load(b"GGML" + bytes(40)), ValueError, "expected GGUF"),
        (lambda p: safe_save({"a": 1}, p / "a"), TypeError, r"tensors\['a'\]: an int"),
        (lambda p: safe_save({1: Tensor([1])}, p / "a"), TypeError, "tensors: an int"),
        (lambda p: safe_save({}, p / "a", {"a": 1}), TypeError, r"metadata\['a'\]: an int"),
        (lambda p: safe_save({}, p / "a", None, 0), ValueError, "at least 1"),
        (lambda p: safe_save({}, p / "a", None, "5 apples"), ValueError, "'5 apples'"),
        (lambda p: safe_save({}, p / "a", None, 1.5), TypeError, "max_shard_size: a float"),
        (lambda p: safe_save({}, p / "no" / "a"), FileNotFoundError, "No such file"),
        (lambda p: safe_save({}, p), IsADirectoryError, "Is a directory"),
        (lambda p: safe_save({}, 5), TypeError, "safe_save: fn: an int, expected a path"),
        (
            lambda p: safe_save([Tensor([1])], p / "a"),
            TypeError,
            "tensors: a list, expected tensors",
        ),
        (lambda p: safe_save({}, p / "a", "x"), TypeError, "metadata: a str, expected texts"),
        (
            lambda p: safe_save({"\ud800": Tensor([1])}, p / "a"),
            ValueError,
            "surrogates",
        ),
        (lambda p: safe_save({}, p / "a", {"a": "\ud800"}), ValueError, "surrogates"),
        (lambda p: load_state_dict([], 5), TypeError, "state_dict: an int, expected a dict"),
        (
            lambda p: ggml_data_to_tensor("a", 1, 0),
            TypeError,
            "t: a str, expected a tensor of uint8",
        ),
        (lambda p: safe_save({"a\0b": Tensor([1])}, p / "a"), ValueError, "text without NUL"),
        (lambda p: ggml_data_to_tensor(Tensor([1.0]), 1, 0), TypeError, "t: a tensor of float32"),
        (lambda p: ggml_data_to_tensor(Tensor(bytes(34)), 32, 99), ValueError, "99"),
        (lambda p: ggml_data_to_tensor(Tensor(bytes(34)), 64, 8), ValueError, "34 bytes hold 32"),
        (lambda p: ggml_data_to_tensor(Tensor(bytes(34)), 31, 8), ValueError, "multiple of 32"),
        (lambda p: ggml_data_to_tensor(Tensor(bytes(34)), -32, 8), ValueError, "-32"),
        (lambda p: ggml_data_to_tensor(Tensor(bytes(34)), 1 << 62, 0), ValueError, "n: "),
    ],
)
def test_bad_arguments(folder, call, kind, words):
    with pytest.raises(kind, match=words):
        call(folder)
    assert os.listdir(folder) == []


# GGUF

QUANTS = ["Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "MXFP4"]


def text(s):
    raw = s.encode() if isinstance(s, str) else s
    return struct.pack("<Q", len(raw)) + raw


def gguf_file(pairs, tensors, version=3, alignment=32):
    """Write a GGUF file: pairs are (key, type, bytes), tensors (name, shape, type, bytes)."""
    head = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(pairs))
    for key, kind, raw in pairs:
        head += text(key) + struct.pack("<I", kind) + raw
    data = b""
    for name, shape, kind, raw in tensors:
        dims = struct.pack(f"<{len(shape)}Q", *reversed(shape))
        head += text(name) + struct.pack("<I", len(shape)) + dims
        head += struct.pack("<IQ", kind, len(data))
        data += raw + bytes(-len(raw) % alignment)
    return head + bytes(-len(head) % alignment) + data


def blocks_of(name, n, seed=0):
    """Return n blocks of random bytes whose scales are numbers of ordinary size."""
    kind = gguf.GGMLQuantizationType[name]
    size = gguf.GGML_QUANT_SIZES[kind][1]
    blocks = np.random.default_rng(seed).integers(0, 256, (n, size), dtype=np.uint8)
    halves = {"Q2_K": (80, 82), "Q3_K": (108,), "Q6_K": (208,), "Q4_1": (0, 2), "Q5_1": (0, 2)}
    halves.update(Q4_K=(0, 2), Q5_K=(0, 2), MXFP4=())
    for at in halves.get(name, (0,)):
        scales = np.random.default_rng(seed + 1).normal(size=n).astype(np.float16)
        blocks[:, at : at + 2] = scales[:, None].view(np.uint8)
    return blocks


@pytest.mark.parametrize("name", QUANTS)
def test_dequantized_numbers_are_ggmls_to_the_last_bit(name):
    kind = gguf.GGMLQuantizationType[name]
    blocks = blocks_of(name, 257)
    want = gguf.quants.dequantize(blocks, kind).reshape(-1)
    got = ggml_data_to_tensor(Tensor(blocks), want.size, int(kind)).numpy()
    np.testing.assert_array_equal(got, want)


def test_every_exponent_of_mxfp4():
    blocks = np.zeros((256, 17), np.uint8)
    blocks[:, 0] = np.arange(256)
    blocks[:, 1:] = np.arange(16) * 17
    want = gguf.quants.dequantize(blocks, gguf.GGMLQuantizationType.MXFP4).reshape(-1)
    got = ggml_data_to_tensor(Tensor(blocks), want.size, 39).numpy()
    np.testing.assert_array_equal(got, want)


def test_gguf_files(folder):
    numbers = np.arange(64, dtype=np.float32).reshape(2, 32)
    tensors = [
        ("f32", (2, 32), 0, numbers.tobytes()),
        ("f16", (2, 32), 1, numbers.astype(np.float16).tobytes()),
        ("f64", (2, 32), 28, numbers.astype(np.float64).tobytes()),
        ("i8", (64,), 24, numbers.astype(np.int8).tobytes()),
        ("i16", (64,), 25, numbers.astype(np.int16).tobytes()),
        ("i32", (64,), 26, numbers.astype(np.int32).tobytes()),
        ("i64", (64,), 27, numbers.astype(np.int64).tobytes()),
        ("bf16", (2, 32), 30, (numbers.view(np.uint32) >> 16).astype(np.uint16).tobytes()),
    ]
    want = {name: numbers.reshape(shape) for name, shape, _, _ in tensors}
    for name in QUANTS:
        kind = gguf.GGMLQuantizationType[name]
        block = gguf.GGML_QUANT_SIZES[kind][0]
        blocks = blocks_of(name, 6)
        tensors.append((name, (2, 3 * block), int(kind), blocks.tobytes()))
        want[name] = gguf.quants.dequantize(blocks, kind).reshape(2, 3 * block)
    pairs = [
        ("u8", 0, b"\xff"),
        ("i8", 1, b"\xff"),
        ("u16", 2, b"\xff\xff"),
        ("i16", 3, b"\xff\xff"),
        ("u32", 4, b"\xff" * 4),
        ("i32", 5, b"\xff" * 4),
        ("f32", 6, struct.pack("<f", 0.1)),
        ("nan", 6, struct.pack("<f", float("nan"))),
        ("bool", 7, b"\x01"),
        ("string", 8, text("ä\0\n")),
        ("u64", 10, b"\xff" * 8),
        ("i64", 11, b"\xff" * 8),
        ("f64", 12, struct.pack("<d", -float("inf"))),
        ("bytes", 8, text(b"\xff\xfe")),
        ("tokens", 9, struct.pack("<IQ", 8, 2) + text("a") + text("$b")),
        ("nested", 9, struct.pack("<IQ", 9, 2) + 2 * (struct.pack("<IQ", 4, 1) + b"\1\0\0\0")),
        ("general.alignment", 4, struct.pack("<I", 64)),
    ]
    for version in (2, 3):
        (folder / "a.gguf").write_bytes(gguf_file(pairs, tensors, version, 64))
        kv, found = gguf_load(folder / "a.gguf")
        nan = kv.pop("nan")
        assert nan != nan
        assert kv == {
            "u8": 255, "i8": -1, "u16": 65535, "i16": -1, "u32": 2**32 - 1, "i32": -1,
            "f32": struct.unpack("<f", struct.pack("<f", 0.1))[0], "bool": True,
            "string": "ä\0\n", "u64": 2**64 - 1, "i64": -1, "f64": -float("inf"),
            "bytes": b"\xff\xfe", "tokens": ["a", "$b"], "nested": [[1], [1]],
            "general.alignment": 64,
        }  # fmt: skip
        assert type(kv["bool"]) is bool and type(kv["f32"]) is float
        assert list(found) == [name for name, *_ in tensors]
        for name, array in want.items():
            got = found[name].float().numpy() if name == "bf16" else found[name].numpy()
            assert got.shape == array.shape
            np.testing.assert_array_equal(got, array, err_msg=name)
    x = Tensor.ones(1, 96)
    product = (x @ found["Q4_0"].transpose()).numpy()  # computed from the packed numbers
    np.testing.assert_allclose(product[0], want["Q4_0"].sum(1), rtol=1e-4)


def test_files_of_the_gguf_package(folder):
    numbers = np.random.default_rng(3).normal(size=(4, 256)).astype(np.float32)
    writer = gguf.GGUFWriter(folder / "a.gguf", "llama")
    writer.add_uint32("llama.block_count", 2)
    writer.add_array("tokenizer.ggml.tokens", ["<s>", "a"])
    writer.add_tensor("w", numbers)
    for name in ("Q4_0", "Q8_0"):
        kind = gguf.GGMLQuantizationType[name]
        writer.add_tensor(name, gguf.quants.quantize(numbers, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    kv, tensors = gguf_load(folder / "a.gguf")
    assert kv["general.architecture"] == "llama" and kv["llama.block_count"] == 2
    assert kv["tokenizer.ggml.tokens"] == ["<s>", "a"]
    np.testing.assert_array_equal(tensors["w"].numpy(), numbers)
    np.testing.assert_allclose(tensors["Q8_0"].numpy(), numbers, atol=0.02)
    np.testing.assert_allclose(tensors["Q4_0"].numpy(), numbers, atol=0.4)


# PyTorch


class Storage(tuple):
    """A storage as torch pickles it: (class, key, array)."""


@contextlib.contextmanager
def torch_of_straw():
    """Yield modules that are named as torch's, for pickles that name what is in them."""

    def module(name, **members):
        made = types.ModuleType(name)
        for key, value in members.items():
            value.__module__, value.__qualname__ = name, key
            setattr(made, key, value)
        return made

    storages = {n: type(n, (), {}) for n in STORAGES.values()}
    rebuild = {"_rebuild_tensor_v2": lambda *_: None, "_rebuild_parameter": lambda *_: None}
    modules = {
        "torch": module("torch", **storages),
        "torch._utils": module("torch._utils", **rebuild),
    }
    sys.modules.update(modules)
    try:
        yield modules
    finally:
        for name in modules:
            del sys.modules[name]


STORAGES = {
    "float64": "DoubleStorage",
    "float32": "FloatStorage",
    "float16": "HalfStorage",
    "int64": "LongStorage",
    "int32": "IntStorage",
    "int16": "ShortStorage",
    "int8": "CharStorage",
    "uint8": "ByteStorage",
    "bool": "BoolStorage",
}


class View:
    """A tensor to be pickled: an array, which is a view of another one."""

    def __init__(self, array, base=None, parameter=False):
        self.array, self.base, self.parameter = array, array if base is None else base, parameter


class Pickler(pickle.Pickler):
    """Pickles arrays in Views as torch pickles tensors."""

    def __init__(self, file, modules, protocol, legacy):
        super().__init__(file, protocol)
        self.modules, self.legacy, self.storages = modules, legacy, []

    def persistent_id(self, x):
        if not isinstance(x, Storage):
            return None
        base = x[0]
        keys = [i for i, known in enumerate(self.storages) if known is base]
        if not keys:
            self.storages.append(base)
        key = str(keys[0] if keys else len(self.storages) - 1)
        kind = getattr(self.modules["torch"], STORAGES[base.dtype.name])
        found = ("storage", kind, key, "cpu", base.size)
        return (*found, None) if self.legacy else found

    def reducer_override(self, x):
        if not isinstance(x, View):
            return NotImplemented
        utils, array, base = self.modules["torch._utils"], x.array, x.base
        if x.parameter:
            args = (View(array, base), True, collections.OrderedDict())
            return utils._rebuild_parameter, args
        start = array.__array_interface__["data"][0] - base.__array_interface__["data"][0]
        strides = tuple(s // array.itemsize for s in array.strides)
        place = (Storage((base,)), start // array.itemsize, array.shape, strides)
        return utils._rebuild_tensor_v2, (*place, False, collections.OrderedDict())


def torch_zip(path, value, protocol=2, compression=zipfile.ZIP_STORED):
    with torch_of_straw() as modules:
        out = io.BytesIO()
        pickler = Pickler(out, modules, protocol, legacy=False)
        pickler.dump(value)
    with zipfile.ZipFile(path, "w", compression) as z:
        z.writestr("archive/data.pkl", out.getvalue())
        z.writestr("archive/byteorder", "little")
        for i, base in enumerate(pickler.storages):
            z.writestr(f"archive/data/{i}", base.tobytes())
        z.writestr("archive/version", "3\n")


def torch_legacy(path, value, protocol=2):
    with torch_of_straw() as modules, open(path, "wb") as f:
        for header in (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True}):
            pickle.dump(header, f, protocol=2)
        pickler = Pickler(f, modules, protocol, legacy=True)
        pickler.dump(value)
        pickle.dump([str(i) for i in range(len(pickler.storages))], f, protocol=2)
        for base in pickler.storages:
            f.write(struct.pack("<q", base.size) + base.tobytes())


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize("write", [torch_zip, torch_legacy])
def test_torch_files(folder, write, protocol):
    base = np.arange(24, dtype=np.float32)
    views = {
        "base": base.reshape(4, 6),
        "t": base.reshape(4, 6).T,
        "part": base.reshape(4, 6)[1:3, 2:5],
        "permuted": base.reshape(2, 3, 4).transpose(2, 0, 1),
        "scalar": base[7:8].reshape(()),
        "repeated": np.broadcast_to(base[:3], (5, 3)),
        "empty": base[:0].reshape(0, 3),
    }
    arrays = {d.name: array_of(d) for d in ALL if d.name in STORAGES}
    state = collections.OrderedDict((k, View(v, base)) for k, v in views.items())
    state.update((k, View(v)) for k, v in arrays.items())
    state._metadata = collections.OrderedDict({"": {"version": 1}})
    plain = {
        "epoch": 3, "lr": 1e-3, "betas": (0.9, 0.999), "none": None, "yes": True, "text": "ä\0\n",
        "bytes": b"\x00\xff", "list": [[1], {}], 0: {"step": -(2**40)}, "big": 2**100, 2.5: "float",
    }  # fmt: skip
    parameter = View(np.ones(3, np.float32), parameter=True)
    write(folder / "a.pth", {"model": state, "weight": parameter, **plain}, protocol)
    loaded = torch_load(folder / "a.pth")
    model = loaded.pop("model")
    assert loaded.pop("weight").tolist() == [1, 1, 1]
    assert loaded == plain
    assert list(model) == list(state)
    for name, array in {**views, **arrays}.items():
        assert model[name].numpy().dtype == array.dtype
        np.testing.assert_array_equal(model[name].numpy(), array, err_msg=name)
    before = (folder / "a.pth").read_bytes()
    model["base"].assign(model["base"] * 0)
    assert (folder / "a.pth").read_bytes() == before


def test_compressed_torch_files(folder):
    numbers = np.random.default_rng(0).normal(size=1000).astype(np.float32)
    torch_zip(folder / "a.pth", {"w": View(numbers)}, compression=zipfile.ZIP_DEFLATED)
    np.testing.assert_array_equal(torch_load(folder / "a.pth")["w"].numpy(), numbers)
    torch_zip(folder / "b.pth", {"w": View(np.zeros(4 << 20, np.float32))}, 2, zipfile.ZIP_DEFLATED)
    with pytest.raises(ValueError, match=r"data/0.*bytes would become 16777216"):
        torch_load(folder / "b.pth")


class Evil:
    def __reduce__(self):
        return os.mkdir, ("polygrad-was-here",)


@pytest.mark.parametrize("write", [torch_zip, torch_legacy])
@pytest.mark.parametrize("protocol", [2, 3, 4])
def test_code_in_pickles_is_not_run(folder, write, protocol, monkeypatch):
    monkeypatch.chdir(folder)
    write(folder / "a.pth", {"w": View(np.ones(2, np.float32)), "x": Evil()}, protocol)
    with pytest.raises(ValueError, match=r"a\.pth.*byte \d+ of the pickle.*mkdir.*refused"):
        torch_load(folder / "a.pth")
    assert os.listdir(folder) == ["a.pth"]
