"""Time function transformations, loops and keyed samplers against JAX (jit) and torch.func.

python bench/transforms.py [--only PATTERN] [--rounds N] [--write FILE]

Each row is one program of gradients, batches and loops, written with polygrad.func and
polygrad.lax, with jax and jax.lax, and with torch.func where that has all of it. They run by turns
in one process, each time as many calls as take 20 ms, and results are compared. polygrad and JAX
are compiled whole (TinyJit, jax.jit), torch.func runs eagerly and by torch.compile. The first call
is tracing, transforming, compiling and running once, in a new process for each program: the median
of three. Memory is that of temporaries.
"""

from __future__ import annotations

import argparse
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import torch
from report import duration, table, where

from polygrad import Tensor, TinyJit, func, lax, random, viz

RNG = np.random.default_rng(0)
Array = np.ndarray[Any, Any]


def normal(*shape: int, scale: float = 1.0) -> Array:
    """Return normal numbers."""
    return (RNG.normal(size=shape) * scale).astype("float32")


class Frame(NamedTuple):
    """The interface of programs: functions that the frameworks name differently."""

    of: Any  # grad, vmap, jvp …
    lax: Any
    random: Any
    tanh: Callable[[Any], Any]
    sigmoid: Callable[[Any], Any]
    exp: Callable[[Any], Any]
    relu: Callable[[Any], Any]
    log_softmax: Callable[[Any], Any]
    softmax: Callable[[Any], Any]
    stack: Callable[..., Any]
    conv: Callable[[Any, Any], Any]
    full: Callable[[float], Any]
    permute: Callable[..., Any]


OURS = Frame(
    func,
    lax,
    random,
    Tensor.tanh,
    Tensor.sigmoid,
    Tensor.exp,
    Tensor.relu,
    lambda x: x.log_softmax(-1),
    lambda x: x.softmax(-1),
    lambda *xs: Tensor.stack(*xs),
    lambda x, w: x.conv2d(w),
    lambda x: Tensor(x),
    lambda x, *axes: x.permute(*axes),
)
THEIRS = Frame(
    jax,
    jax.lax,
    jax.random,
    jnp.tanh,
    jax.nn.sigmoid,
    jnp.exp,
    jax.nn.relu,
    jax.nn.log_softmax,
    jax.nn.softmax,
    lambda *xs: jnp.stack(xs),
    lambda x, w: jax.lax.conv(x, w, (1, 1), "VALID"),
    lambda x: jnp.float32(x),
    lambda x, *axes: jnp.transpose(x, axes),
)
TORCH = Frame(
    torch.func,
    None,
    None,
    torch.tanh,
    torch.sigmoid,
    torch.exp,
    torch.relu,
    lambda x: torch.log_softmax(x, -1),
    lambda x: torch.softmax(x, -1),
    lambda *xs: torch.stack(xs),
    torch.conv2d,
    torch.tensor,
    lambda x, *axes: x.permute(*axes),
)
TURN = 0.02  # seconds
REST = 0.25  # seconds before a turn: OpenMP threads busy-wait for 0.2 after the previous one
PEERS = ("theirs", "torch", "inductor")
# A program returns a function of arrays, whose results are compared.
Program = Callable[[Frame], Any]
ROWS: dict[str, tuple[Program, list[Array]]] = {}
IN_TORCH: set[str] = set()  # rows that are also run in torch.func
# JAX's rejection loop redraws also accepted elements until all are done: other samples.
BY_DISTRIBUTION = {"binomial samples, 1e6"}


def row(name: str, *arrays: Array, torch: bool = False) -> Callable[[Program], Program]:
    """Add a row."""

    def add(program: Program) -> Program:
        ROWS[name] = (program, list(arrays))
        if torch:
            IN_TORCH.add(name)
        return program

    return add


@row(
    "per-example gradients of an MLP, 128 of 784-256-10",
    normal(784, 256, scale=0.05),
    normal(256, 10, scale=0.1),
    normal(128, 784),
    np.eye(10, dtype="float32")[RNG.integers(0, 10, 128)],
    torch=True,
)
def mlp(f: Frame) -> Any:
    """Return the gradients of each example."""

    def loss(w1: Any, w2: Any, x: Any, y: Any) -> Any:
        return -(f.log_softmax(f.relu(x @ w1) @ w2) * y).sum()

    return f.of.vmap(f.of.grad(loss, argnums=(0, 1)), (None, None, 0, 0))


@row(
    "per-example gradients of a CNN, 64 of 1x28x28",
    normal(8, 1, 3, 3, scale=0.3),
    normal(16, 8, 3, 3, scale=0.1),
    normal(16 * 24 * 24, 10, scale=0.02),
    normal(64, 1, 28, 28),
    np.eye(10, dtype="float32")[RNG.integers(0, 10, 64)],
    torch=True,
)
def cnn(f: Frame) -> Any:
    """Return the gradients of each example."""

    def loss(k1: Any, k2: Any, w: Any, x: Any, y: Any) -> Any:
        h = f.relu(f.conv(f.relu(f.conv(x.reshape(1, 1, 28, 28), k1)), k2))
        return -(f.log_softmax(h.reshape(-1) @ w) * y).sum()

    return f.of.vmap(f.of.grad(loss, argnums=(0, 1, 2)), (None, None, None, 0, 0))


@row(
    "Hessian-vector product of a transformer layer, 64x128",
    normal(64, 128),
    *[normal(128, 128, scale=0.09) for _ in range(4)],
    normal(128, 512, scale=0.09),
    normal(512, 128, scale=0.04),
    torch=True,
)
def transformer(f: Frame) -> Any:
    """Return a Hessian-vector product, with the parameters as the vector."""

    def layer(x: Any, ws: Any) -> Any:
        q, k, v, o, up, down = ws
        heads = [(x @ w).reshape(64, 4, 32) for w in (q, k, v)]
        a, b, c = (f.permute(h, 1, 0, 2) for h in heads)
        mixed = f.permute(f.softmax(a @ f.permute(b, 0, 2, 1) / 32**0.5) @ c, 1, 0, 2)
        x = x + mixed.reshape(64, 128) @ o
        return ((x + f.tanh(x @ up) @ down) ** 2).mean()

    def product(x: Any, *ws: Any) -> Any:
        gradient = f.of.grad(lambda *w: layer(x, w), argnums=tuple(range(6)))
        return f.of.jvp(gradient, ws, ws)[1]

    return product


@row(
    "Hessian of a logistic regression, 1000x64",
    normal(64, scale=0.1),
    normal(1000, 64),
    RNG.integers(0, 2, 1000).astype("float32"),
    torch=True,
)
def logistic(f: Frame) -> Any:
    """Return the Hessian."""

    def loss(w: Any, x: Any, y: Any) -> Any:
        z = x @ w
        return (f.sigmoid(z) * (1 - y) + f.sigmoid(-z) * y).mean()

    return f.of.hessian(loss)


GPT = [normal(8, 128, 128)]
for _ in range(4):
    GPT += [normal(128, 384, scale=0.09), normal(128, 128, scale=0.09)]
    GPT += [normal(128, 512, scale=0.09), normal(512, 128, scale=0.04)]


def gpt(checkpointed: bool) -> Program:
    """Return the gradients of a GPT's blocks, with or without checkpointing."""

    def program(f: Frame) -> Any:
        keep = np.tril(np.ones((128, 128), "float32")) * 1e9 - 1e9
        mask = Tensor(keep) if f is OURS else jnp.asarray(keep)

        def block(x: Any, qkv: Any, o: Any, up: Any, down: Any) -> Any:
            z = (x @ qkv).reshape(8, 128, 3, 4, 32)
            q, k, v = (f.permute(z[:, :, i], 0, 2, 1, 3) for i in range(3))
            weights = f.softmax(q @ f.permute(k, 0, 1, 3, 2) / 32**0.5 + mask)
            x = x + f.permute(weights @ v, 0, 2, 1, 3).reshape(8, 128, 128) @ o
            return x + f.tanh(x @ up) @ down

        def loss(x: Any, *ws: Any) -> Any:
            for i in range(0, 16, 4):
                x = (f.of.checkpoint(block) if checkpointed else block)(x, *ws[i : i + 4])
            return (x**2).mean()

        return f.of.grad(loss, argnums=tuple(range(1, 17)))

    return program


ROWS["GPT of 4 blocks, gradients, 8x128x128"] = gpt(False), GPT
ROWS["GPT of 4 blocks, gradients, checkpointed"] = gpt(True), GPT

BODIES = np.array(
    [[0.97, -0.24, 0.47, 0.43], [-0.97, 0.24, 0.47, 0.43], [0, 0, -0.93, -0.86]], "float32"
)


@row("Jacobian through 1,000 RK4 steps of 3 bodies", BODIES)
def bodies(f: Frame) -> Any:
    """Return the Jacobian of the last state by the first, in forward mode."""

    def slope(s: Any) -> Any:
        p, v = s[:, :2], s[:, 2:]
        d = p[None, :, :] - p[:, None, :]
        r = (d * d).sum(-1) + 1e-3
        a = (d * (r**-1.5)[:, :, None]).sum(1)
        return Tensor.cat(v, a, dim=1) if f is OURS else jnp.concatenate([v, a], 1)

    def step(s: Any, _: Any) -> Any:
        h = 1e-3
        k1 = slope(s)
        k2 = slope(s + k1 * (h / 2))
        k3 = slope(s + k2 * (h / 2))
        k4 = slope(s + k3 * h)
        return s + (k1 + k2 * 2 + k3 * 2 + k4) * (h / 6), None

    def run(s: Any) -> Any:
        return f.lax.scan(step, s, None, length=1000)[0]

    return f.of.jacfwd(run)


def lstm(f: Frame) -> Any:
    """Return a loss of an LSTM."""

    def loss(wx: Any, wh: Any, b: Any, xs: Any, h: Any) -> Any:
        def step(carry: Any, x: Any) -> Any:
            h, c = carry
            z = x @ wx + h @ wh + b
            i, g, o, forget = (z[:, 64 * k : 64 * (k + 1)] for k in range(4))
            c = f.sigmoid(forget) * c + f.sigmoid(i) * f.tanh(g)
            h = f.sigmoid(o) * f.tanh(c)
            return (h, c), h

        return (f.lax.scan(step, (h, h), xs)[1] ** 2).mean()

    return loss


RECURRENT = [
    normal(32, 256, scale=0.1),
    normal(64, 256, scale=0.1),
    normal(256, scale=0.1),
    normal(256, 16, 32),
    np.zeros((16, 64), "float32"),
]
ROWS["LSTM by scan, 256 steps of 16x64"] = (lstm, RECURRENT)
ROWS["LSTM by scan, gradients"] = (
    lambda f: f.of.grad(lstm(f), argnums=(0, 1, 2)),
    RECURRENT,
)


@row(
    "Newton's method by while_loop, from 1,000 starts", RNG.uniform(0.5, 50, 1000).astype("float32")
)
def newton(f: Frame) -> Any:
    """Return the roots of x^3 + x = a by Newton's method."""

    def root(a: Any) -> Any:
        def improve(state: Any) -> Any:
            x, _ = state
            d = (x * x * x + x - a) / (3 * x * x + 1)
            return x - d, d * d

        return f.lax.while_loop(lambda s: s[1] > 1e-10, improve, (a, a))[0]

    return f.of.vmap(root)


@row(
    "HMC, 1,000 leapfrog steps, 100 dimensions",
    normal(100),
    normal(100),
    normal(100, 100, scale=0.02),
)
def hmc(f: Frame) -> Any:
    """Return position and momentum."""

    def run(q: Any, p: Any, a: Any) -> Any:
        force = f.of.grad(lambda q: ((a @ q) ** 2).sum() / 2 + (q**4).sum() / 4)

        def step(carry: Any, _: Any) -> Any:
            q, p = carry
            p = p - force(q) * 5e-4
            q = q + p * 1e-3
            return (q, p - force(q) * 5e-4), None

        return f.lax.scan(step, (q, p), None, length=1000)[0]

    return run


@row(
    "linear recurrence of 1e6 by associative_scan",
    RNG.uniform(0.5, 1, 1_000_000).astype("float32"),
    normal(1_000_000),
)
def recurrence(f: Frame) -> Any:
    """Return the linear recurrence x[i] = a[i] x[i-1] + b[i], by a prefix scan."""

    def run(a: Any, b: Any) -> Any:
        return f.lax.associative_scan(lambda x, y: (x[0] * y[0], y[0] * x[1] + y[1]), (a, b))[1]

    return run


def samples(name: str, *parameters: float) -> Program:
    """Return a program that draws a million samples."""
    return lambda f: lambda key: getattr(f.random, name)(key, *parameters, (1_000_000,))


KEY = np.array([0, 42], "uint32")
ROWS["gamma samples, 1e6"] = samples("gamma", 2.0), [KEY]
ROWS["poisson samples, 1e6"] = samples("poisson", 5.0), [KEY]
ROWS["binomial samples, 1e6"] = samples("binomial", 50.0, 0.3), [KEY]
ROWS["gamma samples, gradients of 1e5"] = (
    lambda f: lambda key, a: f.of.grad(lambda a: f.random.gamma(key, a).sum())(a),
    [np.array([0, 42], "uint32"), RNG.uniform(0.1, 20, 100_000).astype("float32")],
)


def leaves(x: Any) -> list[Any]:
    """Return the leaves of a nested result."""
    return [y for part in x for y in leaves(part)] if isinstance(x, (list, tuple)) else [x]


def compiled(
    frame: Frame, program: Program, arrays: list[Array], inductor: bool = False
) -> Callable[[], list[Any]]:
    """Compile a program to a function that blocks until its results are ready."""
    if frame is OURS:
        tensors = [Tensor(a).realize() for a in arrays]

        def whole(*xs: Tensor) -> list[Tensor]:
            results = leaves(program(OURS)(*xs))
            Tensor.realize(*results)
            return results

        ours = TinyJit(whole)

        def run_ours() -> list[Any]:
            results = ours(*tensors)
            results[0].numpy()
            return results

        return run_ours
    if frame is THEIRS:
        inputs, theirs = [jnp.asarray(a) for a in arrays], jax.jit(program(THEIRS))
        return lambda: leaves(jax.block_until_ready(theirs(*inputs)))
    given, eager = [torch.tensor(a) for a in arrays], program(TORCH)
    if inductor:
        eager = torch.compile(eager)
    return lambda: leaves(eager(*given))


def first_call(name: str, frame: str) -> float:
    """Return the median seconds of a first call in new processes."""
    command = [sys.executable, __file__, "--first", frame, "--only", f"^{re.escape(name)}$"]
    done = [subprocess.run(command, capture_output=True, text=True, check=True) for _ in range(3)]
    return statistics.median(float(run.stdout.splitlines()[-1]) for run in done)


def memory(program: Program, arrays: list[Array]) -> tuple[int, int]:
    """Return the bytes of temporaries in polygrad and in JAX."""
    tensors = [Tensor(a).realize() for a in arrays]
    ours = viz.profile(*leaves(program(OURS)(*tensors)), runs=1).temporary_bytes
    lowered = jax.jit(program(THEIRS)).lower(*[jnp.asarray(a) for a in arrays])
    return ours, lowered.compile().memory_analysis().temp_size_in_bytes


def greatest(left: Array, right: Array) -> float:
    """Return the maximum difference relative to the maximum magnitude."""
    return float(np.abs(left - right).max() / max(np.abs(right).max(), 1e-30))


def steps(left: Array, right: Array) -> float:
    """Return the two-sample Kolmogorov-Smirnov statistic."""
    at = np.union1d(left, right)
    below = [np.searchsorted(np.sort(x), at, "right") / x.size for x in (left, right)]
    return float(np.abs(below[0] - below[1]).max())


def turn(run: Callable[[], Any]) -> float:
    """Return the seconds of a call; if it is short, the mean of several after a warm-up."""
    start = time.perf_counter()
    run()
    taken = time.perf_counter() - start
    if taken > TURN:
        return taken
    calls, start = 0, time.perf_counter()
    while time.perf_counter() - start < TURN:
        run()
        calls += 1
    return (time.perf_counter() - start) / calls


def measure(name: str, rounds: int) -> dict[str, float]:
    """Return median and first times in seconds, memory, and the errors of the results."""
    program, arrays = ROWS[name]
    runs = {"ours": compiled(OURS, program, arrays), "theirs": compiled(THEIRS, program, arrays)}
    if name in IN_TORCH:
        runs["torch"] = compiled(TORCH, program, arrays)
        runs["inductor"] = compiled(TORCH, program, arrays, inductor=True)
    times: dict[str, list[float]] = {n: [] for n in runs}
    for _ in range(rounds + 1):
        for n, run in runs.items():
            time.sleep(REST)
            times[n].append(turn(run))
    results = {n: run() for n, run in runs.items()}
    apart = 0.0
    for other in list(results)[1:]:
        for a, b in zip(results["ours"], results[other], strict=True):
            left, right = a.numpy().astype("float64"), np.asarray(b).astype("float64")
            apart = max(apart, (steps if name in BY_DISTRIBUTION else greatest)(left, right))
    found = {n: statistics.median(t[1:]) for n, t in times.items()}
    ours, theirs = memory(program, arrays)
    firsts = {"first": first_call(name, "ours"), "their first": first_call(name, "theirs")}
    return {**found, **firsts, "apart": apart, "memory": ours, "their memory": theirs}


def size(n: float) -> str:
    """Format a number of bytes."""
    return f"{n / 2**20:.1f} MiB" if n >= 2**19 else f"{n / 2**10:.0f} KiB"


def main() -> None:
    """Measure, print a line for each row, and write a page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--write", type=Path)
    parser.add_argument("--first", choices=["ours", "theirs"], help="time a first call alone")
    options = parser.parse_args()
    lines = []
    for name, (program, arrays) in ROWS.items():
        if not re.search(options.only, name):
            continue
        if options.first:
            run = compiled({"ours": OURS, "theirs": THEIRS}[options.first], program, arrays)
            start = time.perf_counter()
            run()
            print(time.perf_counter() - start)
            continue
        m = measure(name, options.rounds)
        line = [
            name,
            duration(m["ours"] * 1e6),
            duration(m["theirs"] * 1e6),
            *(duration(m[n] * 1e6) if n in m else "" for n in ("torch", "inductor")),
            f"{m['ours'] / min(m[n] for n in PEERS if n in m):.2f}",
            duration(m["first"] * 1e6),
            duration(m["their first"] * 1e6),
            f"{m['first'] / m['their first']:.2f}",
            size(m["memory"]),
            size(m["their memory"]),
            f"{m['apart']:.0e}",
        ]
        print(" | ".join(line), flush=True)
        lines.append(line)
    if options.write:
        heads = ["", "polygrad", "JAX", "torch.func", "compiled", "ratio"]
        heads += ["first call", "JAX", "ratio", "memory", "JAX", "apart"]
        text = [
            "# Function transformations against JAX and torch.func",
            "",
            "Gradients, batches, loops and samplers. polygrad and JAX are compiled whole",
            "(TinyJit, jax.jit), torch.func runs eagerly and by torch.compile; by turns of 20 ms",
            "in one process, medians. The ratio is to the best of them. A first call traces,",
            "transforms, compiles and runs, in a new process, the median of three. Memory is that",
            "of temporaries. apart is the greatest difference, of the greatest result. Binomial",
            "samples are others than JAX's, which replaces samples as long as others of the batch",
            "have none: apart is how far the distributions are apart, 2e-03 by chance.",
            "A first call touches 20 to 70 MB for the first time, for which virtual machines need",
            "up to 1.5 ms for each 2 MiB, here in about two of three processes.",
            "Written by `make bench-transforms`.",
            "",
            *where(),
            f"- JAX {jax.__version__}, PyTorch {torch.__version__}",
            "",
            *table(heads, lines),
        ]
        options.write.write_text("\n".join(text) + "\n")


if __name__ == "__main__":
    main()
