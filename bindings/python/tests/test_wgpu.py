"""Buffers that tensors and programs of the package wgpu have in common."""

from __future__ import annotations

import gc
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from test_refusals import faults

from polygrad import Device, Tensor, TinyJit
from polygrad._library import last_error, lib

wgpu = pytest.importorskip("wgpu", reason="PyPI's wgpu is not installed")

USAGE = "STORAGE|COPY_SRC|COPY_DST"
SHADER = """
@group(0) @binding(0) var<storage, read_write> b: array<f32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) i: vec3<u32>) {
  if (i.x < arrayLength(&b)) { b[i.x] = 2.0 * b[i.x] + 1.0; }
}"""


def opened():
    try:
        return wgpu.gpu.request_adapter_sync().request_device_sync()
    except RuntimeError as error:
        pytest.skip(f"no GPU for wgpu: {error}")


@pytest.fixture(scope="module")
def shared():
    return opened()


@pytest.fixture
def gpu(shared):
    """The device that is given; others are given up by the next test."""
    assert Device.init("webgpu", shared) == "WEBGPU"
    return shared


def shade(gpu, buffer, n):
    """Run a program's own shader: 2 x + 1 of each element."""
    module = gpu.create_shader_module(code=SHADER)
    pipeline = gpu.create_compute_pipeline(
        layout="auto", compute={"module": module, "entry_point": "main"}
    )
    bound = {"binding": 0, "resource": {"buffer": buffer, "offset": 0, "size": 4 * n}}
    group = gpu.create_bind_group(layout=pipeline.get_bind_group_layout(0), entries=[bound])
    encoder = gpu.create_command_encoder()
    run = encoder.begin_compute_pass()
    run.set_pipeline(pipeline)
    run.set_bind_group(0, group)
    run.dispatch_workgroups(-(-n // 64))
    run.end()
    gpu.queue.submit([encoder.finish()])


def read(gpu, buffer, n):
    return np.frombuffer(gpu.queue.read_buffer(buffer, 0, 4 * n), np.float32).tolist()


def made(gpu, values):
    return gpu.create_buffer_with_data(data=np.float32(values), usage=USAGE)


@pytest.mark.parametrize("n", [3, 40_000])
def test_shaders_and_tensors_work_on_the_same_memory(gpu, n):
    x = np.arange(n, dtype=np.float32)
    buffer = made(gpu, x)
    shade(gpu, buffer, n)
    t = Tensor.from_gpu_buffer(buffer)
    assert (t.device, t.shape, t.dtype.name) == ("WEBGPU", (n,), "float32")
    y = (t * 3).realize()
    shade(gpu, y.gpu_buffer(), n)  # behind what the library has submitted
    assert y.numpy().tolist() == (2 * 3 * (2 * x + 1) + 1).tolist()
    shade(gpu, buffer, n)
    assert t.numpy().tolist() == (4 * x + 3).tolist()
    other = y.gpu_buffer()
    assert other.size >= 4 * n
    assert read(gpu, other, n) == y.tolist()


def test_writes_go_to_the_buffer(gpu):
    buffer = made(gpu, np.arange(6))
    t = Tensor.from_gpu_buffer(buffer, (2, 3))
    before = t + 1  # lazy: it has the elements from before the writes
    t.assign(t * 2 + 1)
    t[0] = 7
    assert read(gpu, buffer, 6) == t.flatten().tolist() == [7, 7, 7, 7, 9, 11]
    assert before.tolist() == [[1, 2, 3], [4, 5, 6]]
    w = (Tensor.ones(3, device="webgpu") * 4).realize()
    lent = w.gpu_buffer()

    @TinyJit
    def step(x):
        w.assign(w + x)
        return (w * 2).realize()

    for i in range(1, 5):
        assert step(Tensor([1.0]).to("webgpu")).tolist() == [8 + 2 * i] * 3
        assert read(gpu, lent, 3) == [4 + i] * 3


def test_shapes_types_and_offsets(gpu):
    buffer = gpu.create_buffer_with_data(data=np.arange(96, dtype=np.int32), usage=USAGE)
    assert Tensor.from_gpu_buffer(buffer, dtype="int32").shape == (96,)
    t = Tensor.from_gpu_buffer(buffer, [2, 4], "int32", offset=256)
    assert t.tolist() == [[64, 65, 66, 67], [68, 69, 70, 71]]
    assert Tensor.from_gpu_buffer(buffer, (4,), "uint8").tolist() == [0, 0, 0, 0]
    t.assign(t * 0)
    assert Tensor.from_gpu_buffer(buffer, dtype="int32").sum().item() == sum(range(64)) + sum(
        range(72, 96)
    )


def test_each_keeps_the_memory_alive(gpu):
    buffer = made(gpu, [1, 2, 3])
    t = Tensor.from_gpu_buffer(buffer)
    del buffer
    gc.collect()
    assert t.tolist() == [1, 2, 3]
    y = (t + 1).realize()
    lent = y.gpu_buffer()
    del t, y
    gc.collect()
    for _ in range(20):  # takes what memory is idle
        Tensor.full((64,), 5.0, device="webgpu").realize()
    assert read(gpu, lent, 3) == [2, 3, 4]


def test_buffers_that_do_not_fit(gpu):
    buffer, whose = made(gpu, np.arange(100)), "Tensor.from_gpu_buffer: "
    mapped = gpu.create_buffer(size=64, usage=USAGE, mapped_at_creation=True)
    gone = made(gpu, [1])
    gone.destroy()
    for arguments, kind, said in [
        ((5,), TypeError, "buffer: an int, expected a GPUBuffer of the package wgpu"),
        ((buffer, (101,)), ValueError, "buffer: has 400 bytes from the offset on, expected 404"),
        ((buffer, (1,), "float32", 4), ValueError, "offset 4, expected a multiple of 256"),
        ((buffer, (1,), "float32", -256), ValueError, "offset -256, expected a multiple of 256"),
        ((buffer, None, "float32", 512), ValueError, "buffer: has -112 bytes from the offset on"),
        ((buffer, None, "float32", "x"), TypeError, "offset: a str, expected an integer"),
        ((buffer, (-1,)), ValueError, r"shape\[0\]: -1, expected 0 or more"),
        ((gpu.create_buffer(size=64, usage="STORAGE"),), ValueError, "buffer: its usage is 0x80"),
        (
            (gpu.create_buffer(size=64, usage="MAP_READ|COPY_DST"),),
            ValueError,
            "buffer: its usage is 0x9",
        ),
        ((mapped,), ValueError, "buffer: it is mapped, expected an unmapped one"),
        (
            (made(opened(), [1]),),
            ValueError,
            "buffer: it cannot be used on the device: .*doesn't match",
        ),
        ((gone,), ValueError, "buffer: it cannot be used on the device: .*has been destroyed"),
    ]:
        with pytest.raises(kind, match=whose + said):
            Tensor.from_gpu_buffer(*arguments)
    assert Tensor.from_gpu_buffer(buffer).sum().item() == 4950
    assert faults("Tensor.from_gpu_buffer", Tensor.from_gpu_buffer, {"buffer": buffer}) == []


def test_tensors_without_a_buffer(gpu):
    with pytest.raises(RuntimeError, match="gpu_buffer: the device has no buffers of WebGPU"):
        Tensor([1.0], device="cpu").gpu_buffer()
    with pytest.raises(RuntimeError, match="gpu_buffer: the tensor is a view, expected one"):
        Tensor([[1.0, 2.0]], device="webgpu").T.gpu_buffer()


def test_buffers_that_are_destroyed_are_errors_where_they_are_used(gpu):
    buffer = made(gpu, [1, 2, 3])
    t = Tensor.from_gpu_buffer(buffer)
    y = (t + 1).realize()
    buffer.destroy()
    for use in (
        t.tolist,
        lambda: (t + 1).tolist(),
        lambda: t.assign(t + 1).realize(),
        lambda: t.assign(Tensor([1.0, 2.0, 3.0])),
        t.gpu_buffer,
    ):
        with pytest.raises(RuntimeError, match="has been destroyed"):
            use()
    assert (y.tolist(), (y + 1).tolist()) == ([2, 3, 4], [3, 4, 5])


def test_the_device_is_one_of_wgpu():
    with pytest.raises(TypeError, match=r"Device.init: device: an int, expected a GPUDevice"):
        Device.init("webgpu", 5)
    with pytest.raises(
        ValueError, match=r"Device.init: device: <GPUDevice .*, expected None for CPU"
    ):
        Device.init("cpu", opened())


def test_libraries_that_the_program_has_not_loaded(gpu):
    t = (Tensor([1.0], device="webgpu") + 1).realize()
    for library, adapter, said in [
        (None, 1, "library: is NULL, expected the file of the library of the device"),
        (b"libm.so", 0, "adapter: is 0, expected the adapter of the device"),
        (b"libmissing.so", 1, 'of library "libmissing.so": the program has not loaded it'),
    ]:
        assert lib.poly_webgpu_init(library, adapter, 1) == -1
        assert said in last_error()
    assert t.tolist() == [2]  # the device stays
    loaded = lib._name.encode()
    assert lib.poly_webgpu_init(loaded, 1, 1) == -1
    assert "it has no function wgpu" in last_error()


def test_another_device(gpu):
    only = (Tensor([1.0, 2.0], device="webgpu") + 1).realize()
    assert Device.init("webgpu", gpu) == "WEBGPU"  # the same one
    assert only.tolist() == [2, 3]
    both, only = Tensor([1.0, 2.0]), (Tensor([1.0, 2.0], device="webgpu") + 1).realize()
    next_one = opened()
    Device.init("webgpu", next_one)
    for use in only.tolist, (only + 1).tolist, only.gpu_buffer:
        with pytest.raises(RuntimeError, match="the device was lost, and the elements"):
            use()
    assert (both.to("webgpu") + 1).tolist() == [2, 3]
    with pytest.raises(ValueError, match="it cannot be used on the device"):
        Tensor.from_gpu_buffer(made(gpu, [1]))
    assert Tensor.from_gpu_buffer(made(next_one, [1])).tolist() == [1]


def test_a_device_that_is_destroyed():
    device = opened()
    Device.init("webgpu", device)
    x = Tensor([1.0, 2.0], device="webgpu")
    y = (x + 1).realize()
    device.destroy()
    for use in y.tolist, (y * 3).tolist, (x * 5).tolist:
        with pytest.raises(RuntimeError, match="the device was lost"):
            use()
    with pytest.raises(RuntimeError, match=r"Device.init: .*the device was lost: it was destroyed"):
        Device.init("webgpu", device)
    device = opened()
    Device.init("webgpu", device)
    assert (x * 5).tolist() == [5, 10]  # the host has it
    with pytest.raises(RuntimeError, match="the device was lost"):
        y.tolist()


def test_errors_of_the_program_are_its_own(gpu):
    t = Tensor.from_gpu_buffer(made(gpu, [1, 2]))
    with pytest.raises(wgpu.GPUValidationError):
        gpu.create_buffer(size=4, usage="MAP_READ|MAP_WRITE")
    assert (t + 1).tolist() == [2, 3]


def test_the_example_of_the_guide(shared):
    guide = Path(__file__).parents[3] / "docs" / "guide" / "gpu.md"
    (example,) = (
        b for b in re.findall(r"```python\n(.*?)```", guide.read_text(), re.S) if "wgpu" in b
    )
    done = subprocess.run([sys.executable, "-c", example], capture_output=True, text=True)
    (wanted,) = re.findall(r"tolist\(\)\)  # (.*)", example)
    assert done.stdout.strip() == wanted, done.stderr


PROGRAM = """
import wgpu
from polygrad import Device, Tensor
gpu = wgpu.gpu.request_adapter_sync().request_device_sync()
{}
"""


def test_a_program_ends_while_much_is_pending(shared):
    pending = """
Device.init("webgpu", gpu)
x = Tensor.rand(256, 256, device="webgpu")
for _ in range(20):
    x = (x @ x / 256).realize()
kept = gpu.create_buffer(size=64, usage="MAP_READ|COPY_DST").map_async("READ")
print("end")
"""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(pending)], capture_output=True, timeout=300
    )
    assert (done.returncode, done.stdout) == (0, b"end\n"), done.stderr.decode()


def test_a_device_is_given_before_its_buffers(shared):
    early = """
x = Tensor([1.0])
for use in x.gpu_buffer, lambda: Tensor.from_gpu_buffer(None):
    try:
        use()
    except TypeError as error:
        print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(early)], capture_output=True, timeout=300, text=True
    )
    wanted = "the device of Device.init: a NoneType, expected a GPUDevice of the package wgpu"
    lines = [f"Tensor.{name}: {wanted}" for name in ("gpu_buffer", "from_gpu_buffer")]
    assert done.stdout.splitlines() == lines, done.stderr
