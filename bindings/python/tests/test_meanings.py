"""The programs of tests/programs.json: variables mean the same here as in every language."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from polygrad import Tensor, TinyJit, Variable
from polygrad.nn import SGD, Adam, AdamW

if TYPE_CHECKING:
    from collections.abc import Callable

PROGRAMS = json.loads((Path(__file__).resolve().parents[3] / "tests" / "programs.json").read_text())
OPTIMIZERS: dict[str, Any] = {"sgd": SGD, "adam": Adam, "adamw": AdamW}


class Machine:
    """What runs a program."""

    def __init__(self, variables: dict[str, Any]) -> None:
        self.variables = variables

    def value(self, given: Any) -> Any:
        """Return the value of a statement: a number, or a variable's tensor."""
        return self.variables[given["var"]] if isinstance(given, dict) else given

    def items(self, items: list[Any]) -> tuple[Any, ...]:
        """Return an index expression."""
        out: list[Any] = []
        for item in items:
            if isinstance(item, dict):
                out.append(slice(*item["slice"]) if "slice" in item else self.value(item))
            else:
                out.append(... if item == "..." else item)
        return tuple(out)

    def run(self, s: dict[str, Any]) -> None:
        """Run a statement: the first of its names that says what it is."""
        for kind in KINDS:
            if kind in s:
                KINDS[kind](self, s)
                return
        raise AssertionError(f"unknown statement {s}")

    def data(self, s: dict[str, Any]) -> None:
        """Make a tensor."""
        array = np.array(s["data"], s["dtype"]).reshape(s["shape"])
        self.variables[s["let"]] = Tensor(array, requires_grad=s.get("grad"))

    def op(self, s: dict[str, Any]) -> None:
        """Call an operation."""
        first, *others = (self.variables[name] for name in s["of"])
        args = dict(s.get("args", {}))
        if "with" in s:
            others.append(s["with"])
        if s["op"] == "getitem":
            result = first[self.items(args["items"])]
        else:
            result = getattr(first, s["op"])(*others, **args)
        self.variables[s["let"]] = result

    def assign(self, s: dict[str, Any]) -> None:
        """Give a tensor a value."""
        self.variables[s["assign"]].assign(self.value(s["value"]))

    def set(self, s: dict[str, Any]) -> None:
        """Give elements a value."""
        self.variables[s["set"]][self.items(s["items"])] = self.value(s["value"])

    def realize(self, s: dict[str, Any]) -> None:
        """Compute tensors."""
        first, *others = (self.variables[name] for name in s["realize"])
        first.realize(*others)

    def drop(self, s: dict[str, Any]) -> None:
        """Forget a variable."""
        del self.variables[s["drop"]]

    def backward(self, s: dict[str, Any]) -> None:
        """Compute gradients."""
        given = s.get("gradient")
        self.variables[s["backward"]].backward(self.variables[given] if given else None)

    def zero_grad(self, s: dict[str, Any]) -> None:
        """Forget a gradient."""
        self.variables[s["zero_grad"]].grad = None

    def optimizer(self, s: dict[str, Any]) -> None:
        """Make an optimizer."""
        params = [self.variables[name] for name in s["params"]]
        made = OPTIMIZERS[s["kind"]](params, lr=s["lr"], **s["args"])
        self.variables[s["optimizer"]] = made

    def step(self, s: dict[str, Any]) -> None:
        """Let an optimizer change its parameters."""
        self.variables[s["step"]].step()

    def function(self, s: dict[str, Any]) -> None:
        """Make a function that is captured."""

        def body(*args: Any) -> Any:
            inner = Machine({**self.variables, **dict(zip(s["params"], args))})
            for statement in s["do"]:
                inner.run(statement)
            return [inner.variables[name] for name in s["returns"]]

        self.variables[s["function"]] = TinyJit(body)

    def call(self, s: dict[str, Any]) -> None:
        """Call such a function."""
        results = self.variables[s["run"]](*(self.variables[name] for name in s["with"]))
        self.variables.update(zip(s["let"], results))

    def expect(self, s: dict[str, Any]) -> None:
        """Compare a tensor."""
        tensor = self.variables[s["expect"]]
        assert tensor.shape == tuple(s["shape"])
        assert tensor.dtype == s["dtype"]
        compare(tensor, s)

    def expect_grad(self, s: dict[str, Any]) -> None:
        """Compare a gradient."""
        grad = self.variables[s["expect_grad"]].grad
        if s["values"] is None:
            assert grad is None
        else:
            compare(grad, s)

    def gradients(self, s: dict[str, Any]) -> None:
        """Compute gradients as tensors."""
        targets = [self.variables[name] for name in s["of"]]
        grads = self.variables[s["gradients"]].gradient(*targets)
        self.variables.update(zip(s["let"], grads))

    def size(self, s: dict[str, Any]) -> None:
        """Make a symbolic size."""
        self.variables[s["size"]] = Variable(s["size"], s["min"], s["max"])

    def first(self, s: dict[str, Any]) -> None:
        """Take the first elements, as many as a size is."""
        bound = self.variables[s["first"]].bind(s["is"])
        self.variables[s["let"]] = self.variables[s["of"][0]].shrink(((0, bound),))

    def seed(self, s: dict[str, Any]) -> None:
        """Start the random stream."""
        Tensor.manual_seed(s["seed"])

    def same(self, s: dict[str, Any]) -> None:
        """Compare two tensors."""
        a, b = (self.variables[name].tolist() for name in s["same"])
        assert (a == b) is s["is"], (a, b)

    def read(self, s: dict[str, Any]) -> None:
        """Read the elements of a tensor."""
        self.variables[s["read"]].tolist()

    def error(self, s: dict[str, Any]) -> None:
        """Run a statement that must fail."""
        with pytest.raises((ValueError, TypeError, IndexError, RuntimeError)) as raised:
            self.run(s["do"])
        assert s["error"] in str(raised.value).lower()


def compare(tensor: Any, s: dict[str, Any]) -> None:
    """Compare the elements of a tensor with those of a statement."""
    tolerance = s.get("tolerance", 1e-6)
    got = tensor.numpy().reshape(-1)
    assert np.allclose(got, s["values"], rtol=tolerance, atol=tolerance), (got, s["values"])


# A call and an error have names that stand in other statements too: they are looked at first.
KINDS: dict[str, Callable[[Machine, dict[str, Any]], None]] = {
    "error": Machine.error,
    "function": Machine.function,
    "run": Machine.call,
    "data": Machine.data,
    "op": Machine.op,
    "gradients": Machine.gradients,
    "size": Machine.size,
    "first": Machine.first,
    "seed": Machine.seed,
    "same": Machine.same,
    "read": Machine.read,
    "assign": Machine.assign,
    "set": Machine.set,
    "realize": Machine.realize,
    "drop": Machine.drop,
    "backward": Machine.backward,
    "zero_grad": Machine.zero_grad,
    "optimizer": Machine.optimizer,
    "step": Machine.step,
    "expect": Machine.expect,
    "expect_grad": Machine.expect_grad,
}


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: f"{p['topic']}: {p['name']}")
def test_program(program: dict[str, Any]) -> None:
    """Run a program."""
    machine = Machine({})
    for statement in program["do"]:
        machine.run(statement)
