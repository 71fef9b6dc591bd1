"""Time programs on a GPU through WebGPU, beside PyTorch on CUDA where that is installed.

POLY_WEBGPU=libwgpu_native.so python bench/gpu.py [--only PATTERN] [--small] [--write FILE]

Each program is compiled (TinyJit), its inputs are on the GPU, and nothing is read in between: a
time is that of many runs and a read, less that of half as many. Results are compared with
PyTorch's, if it is installed; its products are float32 too (no TF32). A first run includes
tracing, compiling and reading.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

os.environ["POLY_DEVICE"] = "webgpu"

import numpy as np
from report import duration, table, where

from polygrad import Tensor, TinyJit
from polygrad.nn import Adam, Linear, compile_step

try:
    import torch
except ImportError:
    torch = None
CUDA = torch is not None and torch.cuda.is_available()
RNG = np.random.default_rng(0)
Array = np.ndarray[Any, Any]
LEAST = 0.1  # minimum seconds of a measurement


def normal(*shape: int) -> Array:
    """Return normal numbers."""
    return RNG.standard_normal(shape, dtype=np.float32)


class Program(NamedTuple):
    """A function of tensors, in polygrad and in PyTorch, and its amount of work."""

    name: str
    inputs: list[Array]
    ours: Callable[..., Any]
    theirs: Callable[..., Any]
    flops: int = 0
    bytes: int = 0


def programs(part: int) -> list[Program]:
    """Return the programs; part divides their sizes."""
    f: Any = torch.nn.functional if torch else None
    out = []

    def add(name: str, inputs: list[Array], ours: Any, theirs: Any = None, **work: int) -> None:
        out.append(Program(name, inputs, ours, theirs or ours, **work))

    for n in (512, 1023, 1024, 2048, 4096):
        n //= part
        add(f"matmul {n}", [normal(n, n), normal(n, n)], lambda a, b: a @ b, flops=2 * n**3)
    n = 2048 // part
    square = [normal(n, n), normal(n, n)]
    add(f"matmul {n}, a transposed", square, lambda a, b: a.T @ b, flops=2 * n**3)
    add(f"matmul {n}, b transposed", square, lambda a, b: a @ b.T, flops=2 * n**3)
    add(
        f"matmul {n}, bias and gelu", [*square, normal(n)],
        lambda a, b, c: (a @ b + c).gelu(),
        lambda a, b, c: f.gelu(a @ b + c, approximate="tanh"), flops=2 * n**3,
    )  # fmt: skip
    n = 128 // part
    stacks = [normal(64, n, n), normal(64, n, n)]
    add(f"64 products of {n}", stacks, lambda a, b: a @ b, flops=128 * n**3)
    n = 4096 // part
    vector = [normal(1, n), normal(n, n)]
    add(f"vector by matrix {n}", vector, lambda a, b: a @ b, bytes=4 * n * n)
    add(f"vector by transposed {n}", vector, lambda a, b: a @ b.T, bytes=4 * n * n)
    add(
        "vector by 768x3072", [normal(1, 768), normal(768, 3072)], lambda a, b: a @ b, bytes=9437184
    )
    n = 16_000_000 // part
    x = normal(n)
    add(f"add {n / 1e6:g}e6", [x, x + 1], lambda a, b: a + b, bytes=12 * n)
    add(
        f"gelu {n / 1e6:g}e6",
        [x],
        lambda a: a.gelu(),
        lambda a: f.gelu(a, approximate="tanh"),
        bytes=8 * n,
    )
    add(f"sin {n / 1e6:g}e6", [x], lambda a: a.sin(), bytes=8 * n)
    add(f"sum {n / 1e6:g}e6", [x], lambda a: a.sum(), bytes=4 * n)
    add(f"sum {n / 16e6:g}e6", [x[: n // 16]], lambda a: a.sum(), bytes=n // 4)
    add(f"cumsum {n / 16e6:g}e6", [x[: n // 16]], lambda a: a.cumsum(0), bytes=n // 2)
    add(f"sort {n / 16e6:g}e6", [x[: n // 16]], lambda a: a.sort()[0], bytes=n // 2)
    y = normal(4096 // part, 1024)
    name = f"{y.shape[0]}x1024"
    add(f"softmax {name}", [y], lambda a: a.softmax(-1), bytes=8 * y.size)
    add(
        f"layernorm {name}",
        [y],
        lambda a: a.layernorm(),
        lambda a: f.layer_norm(a, (1024,)),
        bytes=8 * y.size,
    )
    add(f"sum axis 0, {name}", [y], lambda a: a.sum(0), bytes=4 * y.size)
    add(f"sum axis 1, {name}", [y], lambda a: a.sum(1), bytes=4 * y.size)
    add(f"transpose {name}", [y], lambda a: a.T.contiguous(), bytes=8 * y.size)
    n = 1024 // part
    heads = [normal(1, 8, n, 64) for _ in range(3)]
    for causal in (False, True):
        add(
            f"attention 8x{n}x64" + ", causal" * causal, heads,
            lambda q, k, v, c=causal: q.scaled_dot_product_attention(k, v, is_causal=c),
            lambda q, k, v, c=causal: f.scaled_dot_product_attention(q, k, v, is_causal=c),
            flops=2048 * n * n // (1 + causal),
        )  # fmt: skip
    images = [normal(32 // part, 64, 32, 32), normal(64, 64, 3, 3)]
    add(
        f"conv 3x3, {len(images[0])}x64x32x32", images,
        lambda a, b: a.conv2d(b, padding=1), lambda a, b: f.conv2d(a, b, padding=1),
        flops=2 * len(images[0]) * 64 * 64 * 9 * 1024,
    )  # fmt: skip
    layers = [normal(128, 784), normal(784, 512), normal(512, 512), normal(512, 10)]
    work = 2 * 128 * (784 * 512 + 512 * 512 + 512 * 10)
    add(
        "MLP forward, batch 128",
        layers,
        lambda x, a, b, c: ((x @ a).relu() @ b).relu() @ c,
        flops=work,
    )
    add("add of 4", [normal(4), normal(4)], lambda a, b: a + b)
    return out


def least(run: Callable[[], object], wait: Callable[[], object]) -> float:
    """Return the seconds of a run: the difference of 2n and n runs, divided by n."""

    def timed(n: int) -> float:
        start = time.perf_counter()
        for _ in range(n):
            run()
        wait()
        return time.perf_counter() - start

    n = 4
    while n < 4096 and timed(n) < LEAST:
        n *= 2
    return (min(timed(2 * n) for _ in range(3)) - min(timed(n) for _ in range(3))) / n


def measure(p: Program) -> list[str]:
    """Return the row of a program."""
    tensors = [Tensor(a).realize() for a in p.inputs]
    jitted = TinyJit(lambda *args: p.ours(*args).realize())
    last: Any = None

    def run() -> None:
        nonlocal last
        last = jitted(*tensors)

    start = time.perf_counter()
    run()
    got = last.numpy().copy()
    first = time.perf_counter() - start
    for _ in range(3):
        run()
    ours = least(run, lambda: last.flatten()[0].item())
    theirs = None
    if torch:
        given = [torch.tensor(a, device="cuda" if CUDA else "cpu") for a in p.inputs]
        result = p.theirs(*given)
        want = (result if torch.is_tensor(result) else result[0]).cpu().numpy()
        apart = float(np.abs(got - want).max() / max(np.abs(want).max(), 1e-30))
        if apart > 1e-3:
            raise AssertionError(f"{p.name}: {apart:.0e} apart, of the greatest value")
        if CUDA:
            theirs = least(lambda: p.theirs(*given), torch.cuda.synchronize)
    rate = f"{p.flops / ours / 1e9:,.0f} GFLOP/s" if p.flops else ""
    return row(
        p.name, ours, f"{p.bytes / ours / 1e9:,.0f} GB/s" if p.bytes else rate, first, theirs
    )


def row(name: str, ours: float, rate: str, first: float, theirs: float | None) -> list[str]:
    """Return the cells of a row; times are in seconds."""
    peer = [duration(1e6 * theirs), f"{ours / theirs:.2f}"] if theirs else ["", ""]
    return [name, duration(1e6 * ours), rate, f"{1e3 * first:.0f} ms", *peer]


def training() -> list[str]:
    """Return the row of a training step: an MLP of 784, 512, 512, 10, a batch of 128, Adam."""
    start = time.perf_counter()
    sizes = [784, 512, 512, 10]
    net = [Linear(n, m) for n, m in zip(sizes, sizes[1:])]
    parameters: list[Any] = [p for layer in net for p in (layer.weight, layer.bias)]
    x, y = normal(128, 784), RNG.integers(0, 10, 128)

    def train(net: Any, optimizer: Any, x: Tensor, y: Tensor) -> Any:
        optimizer.zero_grad()
        loss = net[2](net[1](net[0](x).relu()).relu()).cross_entropy(y)
        loss.backward()
        optimizer.step()
        return loss

    step = compile_step(train, net, Adam(parameters), Tensor(x), Tensor(y.astype(np.int32)))
    step.run()
    step.loss_value()
    first = time.perf_counter() - start
    ours, theirs = least(step.run, step.loss_value), None
    if CUDA:
        layers = [torch.nn.Linear(n, m) for n, m in zip(sizes, sizes[1:])]
        model = torch.nn.Sequential(
            layers[0], torch.nn.ReLU(), layers[1], torch.nn.ReLU(), layers[2]
        )
        model = model.cuda()
        optimizer = torch.optim.Adam(model.parameters(), fused=True)
        given, classes = torch.tensor(x, device="cuda"), torch.tensor(y, device="cuda")

        def run() -> None:
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(given), classes).backward()
            optimizer.step()

        run()
        theirs = least(run, torch.cuda.synchronize)
    return row(f"MLP training step, Adam, {step.n_kernels} kernels", ours, "", first, theirs)


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", help="a pattern of names")
    parser.add_argument("--small", action="store_true", help="an eighth of the sizes")
    parser.add_argument("--write", type=Path, help="the file to write")
    args = parser.parse_args()
    chosen = [p for p in programs(8 if args.small else 1) if re.search(args.only or "", p.name)]
    rows = []
    for work in [*(lambda p=p: measure(p) for p in chosen), *([] if args.only else [training])]:
        rows.append(work())
        print(*rows[-1], sep=", ", flush=True)
    notes = __doc__.split("\n\n", 2)[2].strip().splitlines()
    peer = [f"- PyTorch {torch.__version__}, {torch.cuda.get_device_name()}"] if CUDA else []
    heads = ["program", "polygrad", "rate", "first run", "PyTorch", "ratio"]
    lines = ["# On a GPU", "", *notes, "", *where(), *peer, "", *table(heads, rows)]
    if args.write:
        args.write.write_text("\n".join(lines) + "\n")
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
