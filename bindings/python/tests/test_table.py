"""Runs the table of operations that all languages share: see tests/table/README.md."""

from __future__ import annotations

import json
import operator
import re
from pathlib import Path
from typing import Any, Callable

import numpy as np
import pytest
from turns import part

from polygrad import Tensor, dtypes

TABLE = Path(__file__).resolve().parents[3] / "tests" / "ops.json"
CASES: list[dict[str, Any]] = json.loads(TABLE.read_text(encoding="utf-8"))

# JavaScript and R have the other parts on the same day.
TODAY = part(CASES, 3)

# Operators of the language that mean an operation.
OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "floordiv": operator.floordiv,
    "mod": operator.mod,
    "pow": operator.pow,
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor,
    "lshift": operator.lshift,
    "rshift": operator.rshift,
    "matmul": operator.matmul,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "eq": operator.eq,
    "ne": operator.ne,
}
UNARY_OPERATORS: dict[str, Callable[[Any], Any]] = {
    "neg": operator.neg,
    "abs": operator.abs,
    "bitwise_not": operator.invert,
}
# Arguments that Python takes as *args: sizes, orders, counts.
SPREAD = {
    "reshape": "shape",
    "view": "shape",
    "expand": "shape",
    "permute": "order",
    "repeat": "repeats",
    "zeros": "shape",
    "ones": "shape",
    "empty": "shape",
    "randint": "shape",
    "rand": "shape",
    "randn": "shape",
    "uniform": "shape",
    "normal": "shape",
    "scaled_uniform": "shape",
    "glorot_uniform": "shape",
    "kaiming_uniform": "shape",
    "kaiming_normal": "shape",
}


def values(record: dict[str, Any]) -> np.ndarray[Any, Any]:
    """Return the elements of a tensor of the table: float64, integers, or bools."""
    if record["dtype"] == "float32":
        return np.array([float(v) for v in record["data"]], np.float32).reshape(record["shape"])
    kind: Any = np.dtype(record["dtype"]) if "int" in record["dtype"] else np.float64
    convert = int if "int" in record["dtype"] else float
    if record["dtype"] == "bool":
        kind, convert = np.bool_, bool
    return np.array([convert(v) for v in record["data"]], kind).reshape(record["shape"])


def leaf(record: Any, wants: bool) -> Any:
    """Return an input, a tensor or a plain number."""
    if not isinstance(record, dict):
        return record
    array = values(record)
    dtype = getattr(dtypes, record["dtype"])
    if dtype.numpy is None:
        return Tensor(array.astype(np.float32)).cast(dtype).realize()
    return Tensor(array.astype(dtype.numpy), requires_grad=wants)


def seen(tensor: Any, record: Any) -> Any:
    """Return a leaf through its view."""
    if isinstance(record, dict):
        for movement, argument in record.get("view", ()):
            args = (argument or ((),)) if movement in SPREAD else (argument,)
            tensor = getattr(tensor, movement)(*args)
    return tensor


def item(entry: Any, inputs: list[Any]) -> Any:
    """Return one item of an index."""
    if isinstance(entry, dict):
        return slice(*entry["slice"]) if "slice" in entry else inputs[entry["input"]]
    return ... if entry == "..." else entry


def run(case: dict[str, Any], inputs: list[Any], operators: bool = False) -> list[Tensor]:
    """Make the call of a case and return its results."""
    args = dict(case.get("args", {}))
    op, kind = case["op"], case["kind"]
    named = {k: v["input"] for k, v in args.items() if isinstance(v, dict) and "input" in v}
    args.update({k: inputs[i] for k, i in named.items()})
    operands = [x for i, x in enumerate(inputs) if i not in named.values()]
    if kind == "index":
        items = tuple(item(e, inputs) for e in args["items"])
        key = items[0] if len(items) == 1 else items
        if op == "getitem":
            return [inputs[0][key]]
        inputs[0][key] = inputs[1]
        return [inputs[0]]
    if kind == "property" or op in ("real", "imag"):
        return [getattr(inputs[0], op)]
    # An empty shape is one argument: f(()).
    spread = args.pop(SPREAD[op]) or ((),) if op in SPREAD else ()
    args.update(args.pop("sizes", {}) if op == "rearrange" else {})
    if kind == "static":
        made = getattr(Tensor, op)(*spread, **args)
    elif kind == "list":
        formula = [args.pop("formula")] if op == "einsum" else []
        made = getattr(Tensor, op)(*formula, *operands, **args)
    elif operators or not hasattr(Tensor, op):
        made = by_operator(op, operands, args)
    else:
        made = getattr(operands[0], op)(*operands[1:], *spread, **args)
    if isinstance(made, bool):  # allclose
        made = Tensor(made)
    return list(made) if isinstance(made, (list, tuple)) else [made]


def by_operator(op: str, operands: list[Any], args: dict[str, Any]) -> Tensor:
    """Compute a case with an operator of the language."""
    if len(operands) == 1:
        return UNARY_OPERATORS[op](operands[0])
    first, second = operands
    return OPERATORS[op](second, first) if args.get("reverse") else OPERATORS[op](first, second)


def has_operator(case: dict[str, Any]) -> bool:
    """Tell whether the language has an operator that means the call."""
    names = UNARY_OPERATORS if len(case.get("inputs", ())) == 1 else OPERATORS
    return case["op"] in names and set(case.get("args", ())) <= {"reverse"}


def compare(got: Tensor, want: dict[str, Any], rtol: float, atol: float) -> None:
    """Compare type, shape and elements."""
    assert got.dtype == want["dtype"]
    assert list(got.shape) == want["shape"]
    array, expected = got.numpy(), values(want)
    if expected.dtype.kind != "f":
        np.testing.assert_array_equal(array, expected)
    else:
        array, expected = array.astype(np.float64), expected.astype(np.float64)
        np.testing.assert_allclose(array, expected, rtol=rtol, atol=atol)


def check(case: dict[str, Any], operators: bool) -> None:
    """Run a case and compare its results and gradients."""
    grads = case.get("grads", [None] * len(case.get("inputs", ())))
    leaves = [leaf(r, g is not None) for r, g in zip(case.get("inputs", ()), grads)]
    inputs = [seen(t, r) for t, r in zip(leaves, case.get("inputs", ()))]
    Tensor.training = case.get("training", False)
    try:
        results = run(case, inputs, operators)
    finally:
        Tensor.training = False
    assert len(results) == len(case["outputs"])
    if "seed" in case:
        # The table's numbers are those of a seed, which Python takes from its stream.
        for got, want in zip(results, case["outputs"]):
            assert (got.dtype, list(got.shape)) == (want["dtype"], want["shape"])
            got.realize()
        return
    for got, want in zip(results, case["outputs"]):
        if want is not None:
            compare(got, want, case.get("rtol", 0), case.get("atol", 0))
    if "grads" not in case:
        return
    loss: Any = 0.0
    for got, weight in zip(results, case["weights"]):
        if weight is not None:
            loss = loss + (got * Tensor(np.array(weight, np.float64).reshape(got.shape))).sum()
    loss.backward()
    for i, (tensor, grad) in enumerate(zip(leaves, grads)):
        if grad is None:
            continue
        assert tensor.grad is not None, f"input {i} has no gradient"
        want = np.array(grad, np.float64).reshape(tensor.shape)
        tol = case["grad_tol"]
        np.testing.assert_allclose(tensor.grad.numpy(), want, rtol=tol, atol=tol)


def name_of(case: dict[str, Any]) -> str:
    return str(case["name"])


@pytest.mark.parametrize("case", [c for c in TODAY if "error" not in c], ids=name_of)
def test_values(case: dict[str, Any]) -> None:
    check(case, operators=False)


@pytest.mark.parametrize(
    "case", [c for c in TODAY if "error" not in c and has_operator(c)], ids=name_of
)
def test_operators(case: dict[str, Any]) -> None:
    check(case, operators=True)


@pytest.mark.parametrize("case", [c for c in TODAY if "error" in c], ids=name_of)
def test_errors(case: dict[str, Any]) -> None:
    inputs = [seen(leaf(r, False), r) for r in case.get("inputs", ())]
    Tensor.training = True
    try:
        with pytest.raises(Exception, match="(?i)" + re.escape(case["error"])):
            for result in run(case, inputs):
                result.realize()
    finally:
        Tensor.training = False


# Methods that are no operation with a value of its own; other tests are about them.
NOT_OPERATIONS = {
    "what a tensor is": "device dtype element_size is_floating_point is_realized nbytes ndim numel "
    "shape size",
    "values": "data item numpy realize realize_async tolist",
    "memory": "assign cpu cuda empty empty_like replace to to_ to_device",
    "memory of others": "from_blob from_dlpack from_gpu_buffer from_numpy from_url gpu_buffer",
    "names of others": "const_like mT pad_to sequential short shrink_to",
    "gradients": "backward grad gradient requires_grad requires_grad_",
    "slow": "hash",
    "test_complex.py has it": "complex",
    "modes": "manual_seed no_grad train",
    "two operations of the table in one call": "std_mean var_mean",
}


def test_every_method_is_in_the_table() -> None:
    reached = {c["op"] for c in CASES}
    others = {name for names in NOT_OPERATIONS.values() for name in names.split()}
    methods = {name for name in dir(Tensor) if not name.startswith("_")}
    assert methods - reached - others == set()
    assert others - methods == set()
    assert others & reached == set()


def test_every_operation_is_a_method_or_an_operator() -> None:
    operators = {*OPERATORS, *UNARY_OPERATORS, "getitem", "setitem"}
    assert {c["op"] for c in CASES if not hasattr(Tensor, c["op"])} <= operators


def test_table_is_whole() -> None:
    """The file was not cut off, and no case hides another one."""
    assert len(CASES) > 2000
    assert len({c["name"] for c in CASES}) == len(CASES)
