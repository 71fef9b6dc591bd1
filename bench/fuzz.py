"""The speed of random programs: fusion must never lose.

python bench/fuzz.py [--seed FIRST] [--count N] [--sizes 24,96,384] [--limit 1.15]
                     [--write FILE [--devices native,wasm]]

A program is 2 to 6 steps of the public interface. It is timed as it is, with each step made
contiguous (forward and backward), and as a chain of programs that realize one step each, or the
gradients of one step; views cost nothing there. The results are compared too. A program must not
take more than the limit times as long as the faster of the other forms: those that do are printed,
as Python that runs. Then comes the distribution of the ratios to the chain. POLY_DEVICE and
POLY_THREADS say what is timed; --write makes a page with a plot of several devices. Exits with 1
if a program is over the limit or has other values.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import fuzzpage
import numpy as np
from fuzzpage import Outcome

from polygrad import Tensor, dtypes
from polygrad._library import lib

Array = Any
MOST_ELEMENTS, MOST_PRODUCTS = 3e6, 2.5e8
# The minimum length of a turn in seconds, the number of turns, and of more for what seems slow.
TURN, TURNS, MORE_TURNS = 1.5e-3, 5, 15
TOLERANCE = {dtypes.float32: 2e-3, dtypes.bfloat16: 6e-2}
HEAD = """\
import numpy as np
from polygrad import Tensor, dtypes
from polygrad.nn import compile_step
rng = np.random.default_rng({seed})
def normal(*shape): return Tensor(rng.standard_normal(shape, np.float32)).realize()
def below(n, *shape): return Tensor(rng.integers(0, n, shape, np.int32)).realize()
"""


class Reject(Exception):
    """A step fits none of the values."""


@dataclass(frozen=True)
class Program:
    """A program as source: expressions of its inputs, its steps, and its return value."""

    seed: int
    inputs: list[str]
    steps: list[str]
    returns: str

    def text(self, step: str) -> str:
        """Return runnable Python; step, an expression of t, wraps each step."""
        names = ", ".join(line.split(" = ")[0] for line in self.inputs)
        body = "".join(f"    {line}\n" for line in self.steps)
        head = HEAD.format(seed=self.seed) + "".join(f"{line}\n" for line in self.inputs)
        head += f"def step(t): return {step}\n"
        head += f"def program({names}):\n{body}    return {self.returns}\n"
        return head + f"run = compile_step(program, {names})\n"

    def compile(self, step: str) -> Any:
        """Return the compiled program."""
        scope: dict[str, Any] = {}
        exec(self.text(step), scope)
        return scope["run"]

    def chain(self) -> list[Any]:
        """Return a compiled program for each step, on realized results of those before.

        Then come the programs of the backward pass, one for each step in reverse order: it returns
        the gradients of the step's operands, accumulated with those of later steps.
        """
        scope: dict[str, Any] = {}
        exec(HEAD.format(seed=self.seed) + "".join(f"{line}\n" for line in self.inputs), scope)
        views: dict[str, list[str]] = {}  # the lines that make a view from realized values
        runs: list[Any] = []

        def realize(names: list[str], body: str, values: str) -> None:
            given = ", ".join(n for n in dict.fromkeys(NAME.findall(body + values)) if n in scope)
            exec(f"def program({given}): {body}; return {values},", scope)
            runs.append(eval(f"compile_step(program, {given})", scope))
            for name, out in zip(names, runs[-1].outputs):
                scope[name] = Tensor(out)
                views.pop(name, None)
                if out.dtype == np.uint16:
                    views[name] = [f"{name} = {name}.bitcast(dtypes.bfloat16)"]

        steps = [step[:-1].split(" = step(", 1) for step in self.steps if " = step(" in step]
        loss = LOSS.search(self.returns)
        if loss:
            steps.append(["v999", loss[1]])
        bodies = {}  # of the realized steps
        for name, text in steps:
            lines = [line for n in NAME.findall(text) for line in views.get(n, ())]
            lines = [*dict.fromkeys(lines), f"{name} = {text}"]
            if VIEW.fullmatch(text):
                if name not in NAME.findall(self.returns):
                    views[name] = lines
                    continue
                lines[-1] += ".contiguous()"  # as outputs of programs are
            bodies[name] = "; ".join(lines)
            realize([name], bodies[name], name)
        if not loss:
            return runs
        depends = set(NAME.findall(loss[2]))  # the values that gradients are propagated to
        for name, body in bodies.items():
            if depends.intersection(NAME.findall(body)):
                depends.add(name)
        for name, body in reversed(bodies.items()):
            own = [n for n in dict.fromkeys(NAME.findall(body)) if n in scope and n != name]
            to = [n for n in own if n in depends and dtypes.is_float(eval_type(scope, views, n))]
            if not to or (name != "v999" and f"g{name}" not in scope):
                continue
            seeds = [f"g{n}" for n in (name, *to) if f"g{n}" in scope]
            body = "; ".join([*(line for n in seeds for line in views.get(n, ())), body])
            seed = "" if name == "v999" else f", gradient=g{name}"
            body += f"; g = {name}.gradient({', '.join(to)}{seed}, materialize_grads=True)"
            sums = [f"g[{i}]" + f" + g{n}" * (f"g{n}" in scope) for i, n in enumerate(to)]
            realize([f"g{n}" for n in to], body, ", ".join(sums))
        return runs


def eval_type(scope: dict[str, Any], views: dict[str, list[str]], name: str) -> Any:
    """Return the dtype of a value; bfloat16 is kept as bits."""
    return dtypes.bfloat16 if name in views else scope[name].dtype


FUSED, APART = "t", "t.contiguous().contiguous_backward()"
# Steps that are views.
VIEW = re.compile(
    r"[vx]\d+(\.T|\.(flip|transpose|flatten|unsqueeze|unflatten|reshape|expand)\([^()]*(\(.*\))?\)|\[[:, \d-]+\])*"  # noqa: E501
)
NAME = re.compile(r"\bg?[vxi]\d+\b")
LOSS = re.compile(r"\*step\((.*)\)\.gradient\((.*)\),\)")


class Generator:
    """Generates a random program; its values are lazy tensors, for their shapes and types only."""

    def __init__(self, seed: int, size: int) -> None:
        self.rng = random.Random(seed)
        self.seed, self.size = seed, size
        self.inputs: list[str] = []
        self.steps: list[str] = []
        self.values: dict[str, Tensor] = {}
        self.scope: dict[str, Any] = {"Tensor": Tensor, "dtypes": dtypes, "step": lambda t: t}
        rng = np.random.default_rng(0)
        self.scope["normal"] = lambda *s: Tensor(rng.standard_normal(s, np.float32))
        self.scope["below"] = lambda n, *s: Tensor(rng.integers(0, n, s, np.int32))

    def length(self) -> int:
        """Return a length near the size, often odd."""
        n, rng = self.size, self.rng
        lengths = [n, n, n, n + 1, n - 3, n // 2, n // 3 + 1, 2 * n, 4 * n - 1]
        return max(2, rng.choice(lengths))

    def add_input(self, text: str) -> str:
        """Add an input and return its name."""
        name = f"x{len(self.inputs)}"
        self.inputs.append(f"{name} = {text}")
        self.values[name] = self.scope[name] = eval(text, self.scope)
        return name

    def numbers(self, shape: tuple[int, ...], kind: str = "") -> str:
        """Add an input of random numbers and return its name."""
        kind = kind or self.rng.choices(["f", "bf16", "int8"], [8, 1, 1])[0]
        if kind == "int8":
            count = f"below(100, {', '.join(map(str, shape))})"
            return self.add_input(f"({count} - 50).cast(dtypes.int8).realize()")
        text = f"normal({', '.join(map(str, shape))})"
        return self.add_input(text + (".bfloat16().realize()" if kind == "bf16" else ""))

    def pick(self, *dims: int, floats: bool = False) -> str:
        """Return a value whose ndim is one of dims, usually the latest one."""
        fits = [
            n
            for n, v in self.values.items()
            if (not dims or v.ndim in dims)
            and (not floats or dtypes.is_float(v.dtype))
            and not n.startswith("i")
        ]
        if not fits:
            raise Reject
        return fits[-1] if self.rng.random() < 0.75 else self.rng.choice(fits)

    def axis(self, name: str) -> int:
        """Return a random axis of a value."""
        return self.rng.randrange(self.values[name].ndim)

    def like(self, name: str) -> str:
        """Return another value, or a new input, that broadcasts to the shape of a value."""
        mine = self.values[name].shape
        fits = [n for n, v in self.values.items() if n != name and broadcasts(v.shape, mine)]
        if fits and self.rng.random() < 0.6:
            return self.rng.choice(fits)
        shape = [n if self.rng.random() < 0.7 else 1 for n in mine]
        return self.numbers(tuple(shape), "f")

    # Steps: each returns the source of an expression.

    def elementwise(self) -> str:
        """Return an elementwise function."""
        x = self.pick(floats=True)
        form = self.rng.choice(
            [
                "{x}.exp() * 0.1",
                "{x}.tanh()",
                "{x}.relu()",
                "{x}.gelu()",
                "{x} * 0.5 + 1",
                "{x}.sigmoid()",
                "({x} * {x} + 1).log()",
                "({x}.abs() + 1).sqrt()",
                "{x} / ({x}.abs() + 2)",
                "-{x}",
            ]
        )
        return form.format(x=x)

    def binary(self) -> str:
        """Return an operation on two values."""
        x = self.pick()
        y = self.like(x)
        form = self.rng.choice(["{x} + {y}", "{x} - {y}", "{x} * {y}", "{x}.maximum({y})"])
        if self.rng.random() < 0.2:
            form = "({x} > 0).where({x}, {y})"
        return form.format(x=x, y=y)

    def reduction(self) -> str:
        """Return a reduction over some axes."""
        x = self.pick(1, 2, 3, 4)
        kinds = ["sum", "sum", "mean", "max", "min"]
        if dtypes.is_float(self.values[x].dtype):
            kinds += ["var", "logsumexp"]
        kind = self.rng.choice(kinds)
        ndim = self.values[x].ndim
        axes: int | tuple[int, ...] | None = self.rng.choice([None, self.axis(x), self.axis(x), -1])
        if ndim > 2 and self.rng.random() < 0.3:
            axes = tuple(sorted(self.rng.sample(range(ndim), 2)))
        keep = ", keepdim=True" if self.rng.random() < 0.5 else ""
        scale = " * 0.05" if kind == "sum" and dtypes.is_float(self.values[x].dtype) else ""
        return f"{x}.{kind}({axes}{keep}){scale}"

    def argument(self) -> str:
        """Return an argmax or argmin."""
        x = self.pick(1, 2, 3, floats=True)
        return f"{x}.{self.rng.choice(['argmax', 'argmin'])}({self.axis(x)})"

    def centred(self) -> str:
        """Return a value centred, normalised or masked by a reduction of itself."""
        x = self.pick(1, 2, 3, floats=True)
        a = self.axis(x)
        return self.rng.choice(
            [
                f"{x} - {x}.mean({a}, keepdim=True)",
                f"{x} / ({x}.square().sum({a}, keepdim=True).sqrt() + 1)",
                f"{x} * ({x} == {x}.max({a}, keepdim=True))",
            ]
        )

    def softmax(self) -> str:
        """Return a softmax."""
        x = self.pick(1, 2, 3, floats=True)
        form = self.rng.choice(["softmax({a})", "log_softmax({a})", "softmax(-1)"])
        return f"{x}." + form.format(a=self.axis(x))

    def norm(self) -> str:
        """Return a normalised value."""
        x = self.pick(2, 3, floats=True)
        return f"{x}.{self.rng.choice(['layernorm()', 'rmsnorm()', 'layernorm((-2, -1))'])}"

    def product(self) -> str:
        """Return a matrix product."""
        x = self.pick(2, 3)
        v = self.values[x]
        k = v.shape[-1]
        n = self.length() if self.rng.random() < 0.9 else 1
        if math.prod(v.shape) * n > MOST_PRODUCTS:
            raise Reject
        if not dtypes.is_float(v.dtype):
            return f"{x}.matmul({self.numbers((k, n), 'int8')}, dtype=dtypes.int32)"
        scale = f" * {k**-0.5:.3f}"
        fits = [n for n, w in self.values.items() if w.ndim == 2 and dtypes.is_float(w.dtype)]
        right = [w for w in fits if self.values[w].shape[0] == k]
        turned = [f"{w}.T" for w in fits if self.values[w].shape[1] == k]
        if (right or turned) and self.rng.random() < 0.7:
            w = self.rng.choice(right + turned)
            n = self.values[w.split(".")[0]].shape[0 if w.endswith("T") else 1]
            if math.prod(v.shape) * n > MOST_PRODUCTS:
                raise Reject
            return f"{x} @ {w}{scale}"
        kind = "bf16" if v.dtype == dtypes.bfloat16 else "f"
        return f"{x} @ {self.numbers((k, n), kind)}{scale}"

    def window(self) -> str:
        """Return a convolution or pooling."""
        x = self.pick(4, floats=True)
        channels, w = self.values[x].shape[1], min(self.values[x].shape[2:])
        if w < 4:
            raise Reject
        kind = self.rng.choice(["max", "avg", "conv", "conv"])
        if kind == "conv":
            out = self.rng.choice([3, 8, 16])
            if math.prod(self.values[x].shape) * 9 * out > MOST_PRODUCTS:
                raise Reject
            weight = self.numbers((out, channels, 3, 3), "f")
            return f"{x}.conv2d({weight}, padding={self.rng.choice([0, 1])}) * 0.2"
        stride = self.rng.choice([1, 2])
        return f"{x}.{kind}_pool2d(({self.rng.choice([2, 3])}, 2), stride={stride})"

    def running(self) -> str:
        """Return a cumulative sum or a sliding window."""
        x = self.pick(1, 2, 3, floats=True)
        form = self.rng.choice(
            ["cumsum({a}) * 0.1", "unfold({a}, 3, 1).sum(-1)", "unfold({a}, 3, 1).max(-1)"]
        )
        return f"{x}." + form.format(a=self.axis(x))

    def image(self) -> str:
        """Return a matrix viewed as an image, with four axes."""
        x = self.pick(2)
        h, w = self.values[x].shape
        if h % 3 == 0:
            return f"{x}.reshape(1, 3, {h // 3}, {w})"
        if h % 8 == 0:
            return f"{x}.reshape(1, 8, {h // 8}, {w})"
        return f"{x}.reshape(1, 1, {h}, {w})"

    def gather(self) -> str:
        """Return elements taken by an index."""
        x = self.pick(1, 2, 3)
        a = self.axis(x)
        n = self.values[x].shape[a]
        i = self.add_index(n, self.length())
        return f"{x}[{':, ' * a}{i}]"

    def add_index(self, below: int, *shape: int) -> str:
        """Add an input of indices and return its name."""
        name = self.add_input(f"below({below}, {', '.join(map(str, shape))})")
        index = f"i{name[1:]}"
        self.inputs[-1] = self.inputs[-1].replace(name, index, 1)
        self.values[index] = self.scope[index] = self.values.pop(name)
        return index

    def scatter(self) -> str:
        """Return a scatter-add."""
        x = self.pick(1, 2)
        v = self.values[x]
        rows = self.length()
        base = f"Tensor.zeros({', '.join(map(str, (rows, *v.shape[1:])))}, dtype={v.dtype.name!r})"
        i = self.add_index(rows, v.shape[0])
        if v.ndim == 2:
            i = f"{i}.reshape(-1, 1).expand({v.shape[0]}, {v.shape[1]})"
        if math.prod(v.shape) * rows > MOST_PRODUCTS:
            raise Reject
        return f"{base}.scatter_reduce(0, {i}, {x}, 'sum')"

    def join(self) -> str:
        """Return a concatenation of two values."""
        x = self.pick(1, 2, 3)
        mine = self.values[x]
        fits = [n for n, v in self.values.items() if v.ndim == mine.ndim and v.dtype == mine.dtype]
        y = self.rng.choice(fits)
        a = self.axis(x)
        theirs = self.values[y].shape
        if any(p != q for k, (p, q) in enumerate(zip(mine.shape, theirs)) if k != a):
            y = x
        return f"{x}.cat({y}, dim={a})"

    def pad(self) -> str:
        """Return a padded value."""
        x = self.pick(1, 2, 3, 4)
        pads = [(self.rng.choice([0, 1, 3]), self.rng.choice([0, 2])) for _ in self.values[x].shape]
        return f"{x}.pad({tuple(pads)})"

    def move(self) -> str:
        """Return a movement operation: a flip, transpose, slice and such."""
        x = self.pick(1, 2, 3, 4)
        v = self.values[x]
        a = self.axis(x)
        forms = [f"{x}.flip({a})", f"{x}.roll(3, {a})", f"{x}.transpose(0, -1)", f"{x}.flatten()"]
        forms += [f"{x}.unsqueeze({a})", f"{x}.unsqueeze({a}).expand({expanded(v.shape, a, 5)})"]
        if v.shape[a] > 4:
            forms += [f"{x}[{':, ' * a}1:-1]", f"{x}[{':, ' * a}::2]"]
        if v.ndim == 2:
            forms += [f"{x}.tril()", f"{x}.T", f"{x}.T"]
        for b in (2, 3, 5):
            if v.shape[a] % b == 0 and v.ndim < 4:
                forms.append(f"{x}.unflatten({a}, ({b}, -1))")
        return self.rng.choice(forms)

    def loss(self) -> str:
        """Return a loss."""
        x = self.pick(2, floats=True)
        rows, classes = self.values[x].shape
        kind = self.rng.choice(["mse_loss", "l1_loss", "close", "cross_entropy"])
        if kind == "cross_entropy":
            return f"{x}.cross_entropy({self.add_index(classes, rows)})"
        y = self.numbers((rows, classes), "f")
        if kind == "close":
            return f"(({x} - {y}).abs() <= 0.1 + 0.1 * {y}.abs()).all()"
        return f"{x}.{kind}({y})"

    def cast(self) -> str:
        """Return a value of another type."""
        x = self.pick()
        return f"{x}.cast(dtypes.{self.rng.choice(['bfloat16', 'float32'])})"

    def add_step(self) -> None:
        """Add a random step that fits the values."""
        kinds: list[tuple[Callable[[], str], int]] = [
            (self.elementwise, 5), (self.binary, 5), (self.reduction, 8), (self.centred, 3),
            (self.softmax, 3), (self.norm, 2), (self.product, 7), (self.image, 2),
            (self.window, 5), (self.running, 2), (self.gather, 2), (self.scatter, 1),
            (self.join, 2), (self.pad, 2), (self.move, 4), (self.loss, 2), (self.argument, 1),
            (self.cast, 1),
        ]  # fmt: skip
        makers, weights = zip(*kinds)
        while True:
            before = len(self.inputs), dict(self.values)
            try:
                text = self.rng.choices(makers, weights)[0]()
                value = eval(text, self.scope)
                if not 1 <= math.prod(value.shape) <= MOST_ELEMENTS:
                    raise Reject
                break
            except (Reject, ValueError, RuntimeError, IndexError):
                del self.inputs[before[0] :]
                self.values = before[1]
        name = f"v{len(self.steps)}"
        self.steps.append(f"{name} = step({text})")
        self.values[name] = self.scope[name] = value

    def program(self) -> Program:
        """Return a program with at least two steps that are not views."""
        while True:
            program = self.draw()
            steps = [step[:-1].split(" = step(", 1)[1] for step in program.steps if "step(" in step]
            computing = sum(not VIEW.fullmatch(text) for text in steps)
            if computing + ("gradient" in program.returns) > 1:
                return program
            self.inputs, self.steps = [], []
            for name in [n for n in self.scope if NAME.fullmatch(n)]:
                del self.scope[name]
            self.values = {}

    def draw(self) -> Program:
        """Return a random program."""
        shape = (self.length(), self.length())
        self.numbers(shape)
        weighted = self.rng.random() < 0.35
        for _ in range(self.rng.randint(2, 6)):
            self.add_step()
        last = f"v{len(self.steps) - 1}"
        returns = [last]
        if self.rng.random() < 0.2:
            returns = sorted({last, f"v{self.rng.randrange(len(self.steps))}"}, reverse=True)
        v = self.values[last]
        if weighted and dtypes.is_float(v.dtype):
            used = [x.split(" = ")[0] for x in self.needed(last)[1]]
            wanted = [n for n in used if n[0] == "x" and dtypes.is_float(self.values[n].dtype)]
            wanted = wanted[: self.rng.choice([1, 3])]
            if wanted:
                self.steps[:0] = [f"{n}.requires_grad = True" for n in wanted]
                loss = self.rng.choice(
                    ["{}.mean()", "{}.square().sum()", "({} * 0.1).tanh().sum()"]
                )
                gradients = f"step({loss.format(last)}).gradient({', '.join(wanted)})"
                returns = [*returns[1:], f"*{gradients}"]
        steps, inputs = self.needed(" ".join(returns))
        return Program(self.seed, inputs, steps, f"({', '.join(returns)},)")

    def needed(self, text: str) -> tuple[list[str], list[str]]:
        """Return the steps and inputs that an expression depends on."""
        names = set(NAME.findall(text))
        steps = []
        for step in reversed(self.steps):
            if step.split(" = ")[0].split(".")[0] in names:
                steps.append(step)
                names.update(NAME.findall(step))
        return steps[::-1], [x for x in self.inputs if x.split(" = ")[0] in names]


def broadcasts(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
    """Report whether a shape broadcasts to another one."""
    return len(shape) <= len(to) and all(a in (1, b) for a, b in zip(shape[::-1], to[::-1]))


def expanded(shape: tuple[int, ...], axis: int, n: int) -> str:
    """Return the source of a shape with another size of an inserted axis."""
    return ", ".join(map(str, (*shape[:axis], n, *shape[axis:])))


class Timed:
    """A sequence of compiled programs, timed as one."""

    def __init__(self, runs: list[Any]) -> None:
        self.runs = runs
        handles = [run._function._handle for run in runs]
        self.call: list[Callable[[], int]] = [
            partial(lib.poly_function_rerun, handle) for handle in handles
        ]
        self.repeat(1)
        outputs = runs[-1].outputs if runs else []
        self.values = [np.array(widened(v), np.float64, ndmin=1) for v in outputs]
        self.calls = max(1, min(1000, int(TURN / self.repeat(1))))
        self.turns: list[float] = []

    @property
    def kernels(self) -> int:
        """The number of kernels of all programs."""
        return sum(run.n_kernels for run in self.runs)

    def repeat(self, calls: int) -> float:
        """Run all programs a number of times, and return the seconds."""
        call = self.call
        start = time.perf_counter()
        for _ in range(calls):
            for run in call:
                if run() != 0:
                    raise RuntimeError(lib.poly_last_error().decode())
        return time.perf_counter() - start

    def turn(self) -> None:
        """Time one turn."""
        self.turns.append(self.repeat(self.calls) / self.calls)

    @property
    def seconds(self) -> float:
        """The minimum time over the turns."""
        return min(self.turns)


def widened(values: Array) -> Array:
    """Return bfloat16 values, which are stored as bits, as float32."""
    bits = np.asarray(values)
    return (bits.astype(np.uint32) << 16).view(np.float32) if bits.dtype == np.uint16 else bits


def other_values(a: list[Array], b: list[Array], low: bool) -> str:
    """Return the first mismatch, or "". Rounding may flip 1% of values: maxima, comparisons."""
    tolerance = TOLERANCE[dtypes.bfloat16 if low else dtypes.float32]
    for i, (x, y) in enumerate(zip(a, b)):
        if x.shape != y.shape:
            return f"output {i} has the shapes {x.shape} and {y.shape}"
        # Absolute tolerance for exact zeros, as the gradient of the square sum of normalized rows.
        scale = np.abs(np.where(np.isfinite(y), y, 0)).max(initial=1e-3)
        with np.errstate(invalid="ignore"):
            wrong = ~((np.abs(x - y) <= tolerance * scale) | (x == y) | (np.isnan(x) & np.isnan(y)))
        if wrong.sum() > max(1, 0.01 * x.size):
            at = np.argwhere(wrong)[0]
            return f"{wrong.sum()} of {x.size} values of output {i}, as {x[tuple(at)]} and {y[tuple(at)]}"  # noqa: E501
    return ""


def measure(program: Program, size: int, limit: float) -> Outcome:
    """Compile a program in all forms and time them, interleaved."""
    fused, apart = Timed([program.compile(FUSED)]), Timed([program.compile(APART)])
    forms = [fused, apart]
    chain = Timed(program.chain())
    if chain.runs:
        forms.append(chain)
    different = other_values(fused.values, apart.values, "bf" in program.text(FUSED))
    gc.disable()
    for turn in range(TURNS + MORE_TURNS):
        if turn >= TURNS and fused.seconds <= limit * min(f.seconds for f in forms[1:]):
            break
        for timed in forms if turn % 2 else forms[::-1]:
            timed.turn()
    gc.enable()
    seconds, kernels = [f.seconds for f in forms], [f.kernels for f in forms]
    device, text = os.environ.get("POLY_DEVICE", "native"), program.text(FUSED)
    return Outcome(device, program.seed, size, seconds, kernels, different, text)


def timed(a: argparse.Namespace) -> tuple[list[Outcome], bool]:
    """Time the programs on the device of this process; also report whether one was bad."""
    outcomes: list[Outcome] = []
    bad = False
    for seed in range(a.seed, a.seed + a.count):
        for size in map(int, a.sizes.split(",")):
            program = Generator(seed, size).program()
            try:
                o = measure(program, size, a.limit)
            except Exception as e:
                print(f"# seed {seed}, size {size}: {e}\n{program.text(FUSED)}", flush=True)
                bad = True
                continue
            outcomes.append(o)
            if o.excess > a.limit or o.different:
                bad = True
                print(f"{o}\n{o.text}", flush=True)
            elif a.verbose:
                print(o, flush=True)
    return outcomes, bad


def on(device: str, a: argparse.Namespace) -> tuple[list[Outcome], bool]:
    """Time the programs on a device, in a child process."""
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        given = [f"--{k}={getattr(a, k)}" for k in ("seed", "count", "sizes", "limit")]
        command = [sys.executable, __file__, *given, "--record", file.name]
        code = subprocess.run(command, env={**os.environ, "POLY_DEVICE": device}, check=False)
        return [Outcome(*o) for o in json.load(file)], code.returncode != 0


def main() -> int:
    """Time the programs that were asked for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--sizes", default="24,96,384")
    parser.add_argument("--limit", type=float, default=1.15)
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--record", type=Path, help="write the outcomes to this file, as JSON")
    parser.add_argument("--write", type=Path, help="write a page about all devices to this file")
    parser.add_argument("--devices", default="native,wasm", help="those that --write times")
    a = parser.parse_args()
    if a.write:
        runs = [on(device, a) for device in a.devices.split(",")]
        outcomes, bad = [o for run in runs for o in run[0]], any(run[1] for run in runs)
        fuzzpage.write(a.write, outcomes, a.limit)
    else:
        outcomes, bad = timed(a)
    if a.record:
        a.record.write_text(json.dumps(outcomes))
    print("\n".join(fuzzpage.distribution(outcomes, a.limit)))
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
