"""The library in a process: loading, forks, signals, exit; the documented programs."""

from __future__ import annotations

import _ctypes

import pytest
from processes import check, run

from polygrad import Device


def test_quick_start():
    out = check(
        """
        from polygrad import Tensor

        # Create tensors
        a = Tensor.rand(3, 4)
        b = Tensor.rand(4, 5)

        # Matrix multiply + softmax
        c = (a @ b).softmax(-1)
        print(c.numpy())

        # Autograd
        x = Tensor([1.0, 2.0, 3.0])
        x.requires_grad = True
        loss = (x * x).sum()
        loss.backward()
        print(x.grad.numpy())  # [2.0, 4.0, 6.0]
        """
    )
    assert out.splitlines()[-1] == "[2. 4. 6.]"


def test_training_example():
    out = check(
        """
        from polygrad import Tensor
        from polygrad.nn import Linear, SGD, get_parameters

        Tensor.manual_seed(42)
        model = Linear(2, 1)
        opt = SGD(get_parameters(model), lr=0.01)

        for i in range(100):
            opt.zero_grad()
            x = Tensor([[1.0, 2.0], [3.0, 4.0]])
            target = Tensor([[5.0], [11.0]])
            loss = (model(x) - target).square().mean()
            loss.backward()
            opt.step()

        print(f"loss: {loss.item():.4f}")
        """
    )
    assert float(out.removeprefix("loss: ")) < 0.1


def test_compiled_steps():
    out = check(
        """
        import numpy as np
        from polygrad import Tensor
        from polygrad.nn import Linear, SGD, get_parameters, compile_step

        Tensor.manual_seed(42)
        model = Linear(4, 1)
        opt = SGD(get_parameters(model), lr=0.01)

        # Sample inputs (shapes must match at runtime)
        x = Tensor.rand(8, 4)
        y = Tensor.rand(8, 1)

        def train_step(model, opt, x, y):
            loss = (model(x) - y).square().mean()
            loss.backward()
            opt.step()
            opt.zero_grad()
            return loss

        # Compile: traces forward + backward + optimizer into one PolyStep
        step = compile_step(train_step, model, opt, x, y)

        # Run: executes compiled kernels with current buffer data
        for i in range(100):
            x._data[:] = np.full((8, 4), 0.5)
            y._data[:] = np.full((8, 1), 2.0)
            step.run()
            print(f"step {i}: loss = {step.loss_value():.4f}")
        """
    )
    lines = out.splitlines()
    assert len(lines) == 100
    first, last = (float(line.rpartition(" ")[2]) for line in (lines[0], lines[-1]))
    assert last < 0.2 * first


def test_devices_example():
    out = check(
        """
        from polygrad import Device, Tensor

        x = Tensor.rand(4)

        if Device.cuda_available():
            y = (x * 2).to('cuda')
            print(y.device)      # CUDA
            print(y.numpy())     # executes on CUDA, returns host numpy array
        else:
            y = (x * 2).to('cpu')
            print(y.device)      # CPU
        """
    )
    assert out.split()[0] in ("CPU", "CUDA")


def test_forked_children_get_an_error():
    out = check(
        """
        import os
        from polygrad import Tensor
        t = Tensor([1.0])
        (t + 1).numpy()
        pid = os.fork()
        if pid == 0:
            try:
                t + 1
            except RuntimeError as error:
                print("child:", "forked" in str(error), flush=True)
            os._exit(0)
        os.waitpid(pid, 0)
        print("parent:", (t + 1).item())
        """,
        PYTHONWARNINGS="ignore::DeprecationWarning",  # fork() beside threads, says Python 3.12
    )
    assert out.split("\n")[:2] == ["child: True", "parent: 2.0"]


def test_spawned_workers():
    out = check(
        """
        import subprocess, sys
        from polygrad import Tensor
        Tensor([1.0]).numpy()
        code = "from polygrad import Tensor; print((Tensor([1.0]) + 1).item())"
        print(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout)
        """
    )
    assert out.split() == ["2.0"]


def test_interrupts_reach_python():
    """Whatever the library does then, none is lost, or becomes another exception."""
    out = check(
        """
        import signal, time
        from polygrad import Tensor

        def interrupt(*_):
            raise KeyboardInterrupt

        signal.signal(signal.SIGALRM, interrupt)
        x = Tensor([1.0])
        (x + 1).numpy()
        for _ in range(500):
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.001)
                end = time.time() + 20
                while time.time() < end:
                    (x + 1).numpy()
                print("not interrupted")
            except KeyboardInterrupt:
                pass
        print((x + 1).item())
        """
    )
    assert out.split() == ["2.0"]


def test_exit_with_living_tensors():
    check(
        """
        from polygrad import Tensor
        from polygrad.nn import Linear, SGD, compile_step, get_parameters
        model = Linear(2, 1)
        x = Tensor([[1.0, 2.0]])
        step = compile_step(lambda: model(x).sum())
        keep = [Tensor([1.0]) + i for i in range(1000)]
        circle = {}
        circle["self"] = (circle, keep)
        """
    )


def test_missing_library():
    done = run("import polygrad", POLYGRAD_LIB="/nonexistent/libpolygrad.so")
    assert done.returncode != 0
    assert "make build" in done.stderr
    other = _ctypes.__file__  # a library, but not of ours
    done = run("import polygrad", POLYGRAD_LIB=other)
    assert f"ImportError: {other} has no poly_" in done.stderr
    assert "of another version" in done.stderr


@pytest.mark.parametrize("device", ["interp", "wasm", "native"])
def test_back_ends(device):
    out = check(
        """
        from polygrad import Device, Tensor
        t = Tensor([[1.0, 2.0], [3.0, 4.0]])
        print((t @ t).softmax().sum().item(), Device.backend)
        """,
        POLY_DEVICE=device,
    )
    number, runs = out.split()
    assert abs(float(number) - 2) < 1e-6
    assert runs == device or (device == "native" and runs == "wasm")


def test_no_native_code():
    out = check(
        "from polygrad import Device; print(Device.backend, *Device.available())",
        POLY_DEVICE="",
        POLY_CPU="wasm",
    )
    runs, *available = out.split()
    assert runs == "wasm"
    assert "WASM_JIT" in available
    assert "X64_JIT" not in available


def test_unknown_back_end():
    done = run("from polygrad import Tensor; (Tensor([1.0]) + 1).numpy()", POLY_DEVICE="abacus")
    assert (
        'POLY_DEVICE: got "abacus", expected one of native, wasm, webgpu, interp, clang'
        in done.stderr
    )


@pytest.mark.parametrize(
    ("began", "change"), [("wasm", '["POLY_DEVICE"] = "interp"'), ("abacus", '.pop("POLY_DEVICE")')]
)
def test_variables_that_the_program_sets_before_the_import(began, change):
    out = check(
        f"""
        import os
        os.environ{change}
        from polygrad import Device, Tensor
        print((Tensor([1.0]) + 1).item(), Device.backend)
        """,
        POLY_DEVICE=began,
    )
    number, runs = out.split()
    assert number == "2.0"
    assert runs == "interp" if "interp" in change else runs in {"native", "wasm"}


def test_unknown_processor():
    done = run(
        "from polygrad import Tensor; (Tensor([1.0]) + 1).numpy()",
        POLY_DEVICE="native",
        POLY_CPU="mmx",
    )
    assert done.stderr.endswith('POLY_CPU: got "mmx", expected one of avx512, avx2, sse4, wasm\n')


@pytest.mark.skipif(Device.backend != "native", reason="the code of others is their own")
def test_results_do_not_depend_on_how_the_host_rounds():
    out = check(
        """
        import ctypes
        import numpy as np
        from polygrad import Tensor
        from polygrad.nn import compile_step

        libm = ctypes.CDLL("libm.so.6")
        UPWARD, ALL = 0x800, 0x3D  # of fenv.h on x86-64
        few, many = (np.linspace(0.1, 9.9, n, dtype=np.float32) for n in (33, 2_000_000))
        step = compile_step(lambda x: x * x * 0.7 + x, Tensor(few))
        shared = np.ones(4096, np.float32)

        def results():
            for _ in range(40):  # until C runs it by itself
                step.run()
            for i in range(3000):  # garbage for Go's collector, which computes with floats
                Tensor(shared).reshape(64, 64).sum(i % 2)
            sums = [(Tensor(x) * 0.3 + Tensor(x)).numpy() for x in (few, many)]
            return b"".join(array.tobytes() for array in (*sums, *step.outputs))

        expected = results()
        libm.fesetround(UPWARD)
        assert results() == expected, "rounded upwards"
        one, little = np.ones(1), np.full(1, 1e-30)
        assert libm.fegetround() == UPWARD and one + little > one, "the host's mode is gone"
        libm.fesetround(0)
        libm.feclearexcept(ALL)  # what the x87 unit has met before would trap now
        libm.feenableexcept(ALL)
        assert results() == expected, "with traps"
        assert libm.fegetexcept() == ALL, "the host's traps are gone"
        print("same")
        """
    )
    assert out == "same\n"
