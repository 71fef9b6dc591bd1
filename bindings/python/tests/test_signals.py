"""Signals, faults and forks while kernels run: they are the program's, as without the library."""

from __future__ import annotations

import sys

import pytest
from processes import check, run

FAULT = """
import ctypes, faulthandler, sys
import numpy as np
{before}
from polygrad import Device, Tensor
if Device.backend != "native":
    sys.exit(77)
N = 1 << 20
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
memory = libc.mmap(None, 4 * N, 3, 0x22, -1, 0)
t = Tensor(np.ctypeslib.as_array((ctypes.c_float * N).from_address(memory)))
(t + 1).numpy()
{after}
libc.munmap(memory, 4 * N)
(t + 2).numpy()
print("nothing happened")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="native code is for Linux")
@pytest.mark.parametrize("handler", ["none", "before", "after"])
def test_faults_are_told(handler):
    enable = "faulthandler.enable()"
    program = FAULT.format(
        before=enable if handler == "before" else "", after=enable if handler == "after" else ""
    )
    done = run(program, POLY_THREADS="1")  # another thread would fault while Python still writes
    if done.returncode == 77:
        pytest.skip("no native code here")
    assert done.returncode != 0
    assert done.stdout == ""
    if handler != "after":  # then Python is the first to know, and sends a signal of its own
        assert "polygrad: SIGSEGV in kernel E_" in done.stderr
        assert "which accesses address 0x" in done.stderr
    assert ("Fatal Python error: Segmentation fault" in done.stderr) == (handler != "none")
    assert ("in numpy" in done.stderr) == (handler != "none")  # where Python was


def test_timers_strike_in_kernels():
    out = check(
        """
        import signal, time
        import numpy as np
        from polygrad import Tensor
        struck = {signal.SIGPROF: 0, signal.SIGALRM: 0}
        def handler(number, frame):
            struck[number] += 1
        for number in struck:
            signal.signal(number, handler)
        x = Tensor(np.arange(300 * 300, dtype=np.float32).reshape(300, 300) % 7)
        want = (x @ x).numpy()
        signal.setitimer(signal.ITIMER_PROF, 0.001, 0.001)
        signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
        end = time.monotonic() + 60
        wrong = 0
        while min(struck.values()) < 30 and time.monotonic() < end:
            wrong += not np.array_equal((x @ x).numpy(), want)
        for timer in (signal.ITIMER_PROF, signal.ITIMER_REAL):
            signal.setitimer(timer, 0)
        print(wrong, min(struck.values()) >= 30)
        """
    )
    assert out.split() == ["0", "True"]


def test_interrupts_come_behind_a_computation():
    out = check(
        """
        import os, signal, threading, time
        import numpy as np
        from polygrad import Tensor
        signal.signal(signal.SIGINT, signal.default_int_handler)
        x = Tensor(np.eye(400, dtype=np.float32))
        def compute():
            y = x
            for _ in range(30):
                y = y @ x
            return y.numpy()
        compute()
        running = threading.Event()
        def strike():
            running.wait()
            os.kill(os.getpid(), signal.SIGINT)
        threading.Thread(target=strike).start()
        try:
            running.set()
            for _ in range(10000):
                compute()
            print("not interrupted")
        except KeyboardInterrupt:
            print("interrupted", np.array_equal(compute(), np.eye(400)))
        """
    )
    assert out.split() == ["interrupted", "True"]


def test_forked_workers_end_when_threads_were_used():
    out = check(
        """
        import multiprocessing, warnings
        import numpy as np
        from polygrad import Tensor
        warnings.simplefilter("ignore", DeprecationWarning)
        x = Tensor(np.eye(600, dtype=np.float32))
        def work(results):
            try:
                results.put(float((x @ x).numpy().sum()))
            except RuntimeError as error:
                results.put(str(error))
        print((x @ x).numpy().sum())  # on all threads
        fork = multiprocessing.get_context("fork")
        results = fork.Queue()
        workers = [fork.Process(target=work, args=(results,)) for _ in range(3)]
        for w in workers:
            w.start()
        for w in workers:
            message = results.get(timeout=60)
            print("forked" in message and "spawn" in message)
        for w in workers:
            w.join(60)
            print(w.exitcode)
        print((x @ x).numpy().sum())
        """
    )
    assert out.split() == ["600.0", *["True"] * 3, *["0"] * 3, "600.0"]


def test_threads_of_python_share_the_pool():
    out = check(
        """
        import threading
        import numpy as np
        from polygrad import Tensor
        rounds = [0] * 4
        wrong = []
        def work(i):
            x = np.random.default_rng(i).integers(-3, 4, (200, 200)).astype(np.float32)
            want = x @ x
            for _ in range(40):
                if not np.array_equal((Tensor(x) @ Tensor(x)).numpy(), want):
                    wrong.append(i)
                rounds[i] += 1
        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        print(rounds, wrong)
        """
    )
    assert out.strip() == "[40, 40, 40, 40] []"


LOOP = """
import os, signal, threading, time
from polygrad import Tensor, lax
{handler}
x = Tensor.ones(200, 200).contiguous().realize()
threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
step = lambda s: (x @ s[0] * 0 + 1, s[1] + 1)
try:
    print({loop})
except KeyboardInterrupt:
    print("interrupted", (Tensor([1.0]) + 1).item())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals are those of POSIX")
def test_loops_without_an_end_are_interrupted():
    handler = "signal.signal(signal.SIGINT, signal.default_int_handler)"
    for loop in (
        "lax.while_loop(lambda s: (s[0] > 0).all(), step, (x, 0))[1].item()",
        # In one kernel.
        "lax.fori_loop(0, 2**31 - 1, lambda i, s: (s * i).sin(), Tensor(1.0)).item()",
    ):
        assert check(LOOP.format(handler=handler, loop=loop)).split() == ["interrupted", "2.0"]


@pytest.mark.skipif(sys.platform == "win32", reason="signals are those of POSIX")
def test_other_handlers_run_behind_a_loop():
    """They are called once for each signal, and may use the library."""
    handler = """
import socket
ours, theirs = socket.socketpair()
theirs.setblocking(False)
signal.set_wakeup_fd(theirs.fileno())
signal.signal(signal.SIGINT, lambda *_: print((x[0, 0] + 1).item(), len(ours.recv(100))))
"""
    lasts = "(s[0] > 0).all() * (s[1] < 12000)"
    loop = f"lax.while_loop(lambda s: {lasts}, step, (x, 0))[1].item()"
    out = check(LOOP.format(handler=handler, loop=loop))
    assert sorted(out.split()) == ["1", "12000", "2.0"]
