"""The programs of tests/programs.json: variables mean the same here as in every language."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from polygrad import Tensor, TinyJit, Variable, func, lax
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

        if "as" not in s:
            self.variables[s["function"]] = TinyJit(body)
            return
        f: Any = single(body)
        for how in s["as"]:
            f = single(self.transformed(f, how))
        self.variables[s["function"]] = f

    def transformed(self, f: Any, how: dict[str, Any]) -> Any:
        """Return a transformation of a function."""
        kind = next(iter(how))
        given = how[kind]
        if kind in ("grad", "jacfwd", "jacrev", "hessian"):
            return getattr(func, kind)(f, argnums=tuple(given))
        if kind == "vmap":
            out = how["out"][0] if len(how["out"]) == 1 else tuple(how["out"])
            return func.vmap(f, tuple(given), out, axis_name=how.get("name"))
        if kind == "jvp":
            return lambda *xs: func.jvp(f, xs[:given], xs[given:])
        if kind == "vjp":
            return lambda *xs: func.vjp(f, *xs[:given])[1](one(xs[given:]))
        if kind == "checkpoint":
            return func.checkpoint(f, policy=given)
        if kind == "custom_jvp":
            rule = self.variables[given]
            made = func.custom_jvp(f)
            made.defjvp(lambda xs, ts: (f(*xs), rule(*xs, *ts)))
            return made
        forward, backward = (self.variables[name] for name in given)
        made = func.custom_vjp(f)

        def first(*xs: Any) -> Any:
            value, *kept = forward(*xs)
            return value, kept

        made.defvjp(first, lambda kept, g: (backward(*kept, g),))
        return made

    def call(self, s: dict[str, Any]) -> None:
        """Call such a function."""
        results = self.variables[s["run"]](*(self.variables[name] for name in s["with"]))
        self.variables.update(zip(s["let"], leaves(results)))

    def control(self, s: dict[str, Any]) -> None:
        """Run a loop or a branch."""
        fs = [self.variables[name] for name in s["functions"]]
        named = {k: [self.variables[n] for n in s.get(k, [])] for k in ("carry", "over", "with")}
        carry, over, n = tuple(named["carry"]), tuple(named["over"]), len(named["carry"])

        def step(c: Any, x: Any) -> Any:
            found = leaves(fs[0](*c, *x))
            return tuple(found[:n]), tuple(found[n:])

        kind = s["control"]
        if kind == "cond":
            results = lax.cond(self.variables[s["on"]], *fs, *named["with"])
        elif kind == "switch":
            results = lax.switch(self.variables[s["on"]], fs, *named["with"])
        elif kind == "scan":
            results = lax.scan(step, carry, over, reverse=s.get("reverse", False))
        elif kind == "while_loop":
            test, body = fs
            results = lax.while_loop(lambda c: test(*c), lambda c: tuple(leaves(body(*c))), carry)
        elif kind == "fori_loop":
            body = fs[0]
            results = lax.fori_loop(*s["between"], lambda i, c: tuple(leaves(body(i, *c))), carry)
        elif kind == "map":
            results = lax.map(lambda x: fs[0](*x), over)
        else:
            results = lax.associative_scan(
                lambda a, b: tuple(leaves(fs[0](*a, *b))), over, reverse=s.get("reverse", False)
            )
        self.variables.update(zip(s["let"], leaves(results)))

    def along(self, s: dict[str, Any]) -> None:
        """Compute with all elements of a batch."""
        self.variables[s["let"]] = getattr(lax, s["along"])(self.variables[s["of"][0]], s["axis"])

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


def leaves(results: Any) -> list[Any]:
    """Return the tensors of nested tuples and lists."""
    if isinstance(results, (tuple, list)):
        return [leaf for part in results for leaf in leaves(part)]
    return [results]


def one(results: Any) -> Any:
    """Return the tensor of a list of one, or a tuple."""
    return results[0] if len(results) == 1 else tuple(results)


def single(f: Any) -> Any:
    """Return a function whose result is a tensor, or a tuple of several."""
    return lambda *args: one(leaves(f(*args)))


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
    "control": Machine.control,
    "along": Machine.along,
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
