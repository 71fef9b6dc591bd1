"""What the tables of cases are written with: inputs, expected values, numeric gradients, JSON."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

FLOATS = ("float16", "bfloat16", "float32", "float64")
INTS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")

# How far a result may be from the value in float64: relative and absolute.
TOLERANCE = {
    "float64": (1e-12, 1e-13),
    "float32": (2e-6, 1e-6),
    "float16": (2e-3, 1e-3),
    "bfloat16": (1.6e-2, 8e-3),
}
NAN, INF = math.nan, math.inf


def rounded(values: Any, dtype: str) -> np.ndarray[Any, Any]:
    """Return numbers as the dtype holds them, in float64, int64, uint64 or bool."""
    if dtype == "bfloat16":
        bits = np.asarray(values, np.float32).view(np.uint32).astype(np.uint64)
        up = 0x7FFF + ((bits >> np.uint64(16)) & np.uint64(1))
        kept = ((bits + up) & np.uint64(0xFFFF0000)).astype(np.uint32).view(np.float32)
        exact = np.isfinite(np.asarray(values, np.float32))
        return np.where(exact, kept, np.asarray(values, np.float32)).astype(np.float64)
    if dtype in FLOATS:
        with np.errstate(over="ignore"):
            return np.asarray(values, np.float64).astype(dtype).astype(np.float64)
    if dtype == "bool":
        return np.asarray(values, bool)
    return np.asarray(values).astype(np.uint64 if dtype == "uint64" else np.int64)


@dataclass
class Tensor:
    """An operand: values of a type, seen through a view."""

    values: Any
    dtype: str = "float32"
    view: list[Any] = field(default_factory=list)
    index: bool = False

    def __post_init__(self) -> None:
        """Round the values to the type."""
        if self.dtype in ("int64", "uint64"):
            kind = np.uint64 if self.dtype == "uint64" else np.int64
            self.values = np.array(self.values, dtype=kind)
        else:
            self.values = rounded(self.values, self.dtype)

    def of(self, values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Return values as the view shows them."""
        for movement, arg in self.view:
            if movement == "permute":
                values = values.transpose(arg)
            elif movement == "flip":
                values = np.flip(values, arg)
            elif movement == "shrink":
                values = values[tuple(slice(a, b) for a, b in arg)]
            elif movement == "expand":
                values = np.broadcast_to(values, arg)
            else:
                assert movement == "reshape"
                values = values.reshape(arg)
        return values

    def json(self) -> dict[str, Any]:
        """Return the record of the table."""
        record: dict[str, Any] = {"dtype": self.dtype, "shape": list(self.values.shape)}
        record["data"] = [plain(v, self.dtype) for v in self.values.ravel().tolist()]
        if self.view:
            record["view"] = self.view
        if self.index:
            record["index"] = True
        return record


def plain(value: Any, dtype: str) -> Any:
    """Return a number as JSON holds it: short, and exact in its dtype."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if abs(value) <= 1 << 53 else str(value)
    if value != value:
        return "nan"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    if value == int(value) and abs(value) < 1e15 and math.copysign(1, value) * value >= 0:
        return int(value) if value or math.copysign(1, value) > 0 else -0.0
    if dtype == "float32":
        return float(str(np.float32(value)))
    return value if dtype in ("float16", "bfloat16") else float(f"{value:.16g}")


class Draw:
    """Numbers that depend on a name only: sixteenths, which every floating type holds."""

    def __init__(self, name: str) -> None:
        """Start the stream of a name."""
        self.random = random.Random(name)

    def reals(self, shape: Sequence[int], low: float = -2, high: float = 2) -> np.ndarray[Any, Any]:
        """Return sixteenths from low to high, none of them whole, most of them different."""
        count = math.prod(shape)
        steps = range(math.ceil(low * 16), math.floor(high * 16) + 1)
        every = [k / 16 for k in steps if k % 16]
        values: list[float] = []
        while len(values) < count:
            values += self.random.sample(every, len(every))
        return np.array(values[:count]).reshape(shape)

    def ints(self, shape: Sequence[int], low: int, high: int) -> np.ndarray[Any, Any]:
        """Return integers from low to high, both included."""
        values = [self.random.randint(low, high) for _ in range(math.prod(shape))]
        return np.array(values, dtype=object).reshape(shape)


@dataclass
class Call:
    """A case that other values can be put into: programs are made of them, too."""

    record: dict[str, Any]
    inputs: Sequence[Any]
    function: Callable[..., Any]
    types: Sequence[str]
    smooth: Sequence[int] | bool  # the inputs with gradients


CALLS: list[Call] = []
CASES: list[dict[str, Any]] = []
_names: set[str] = set()


def _add(record: dict[str, Any]) -> None:
    assert record["name"] not in _names, f"two cases are called {record['name']!r}"
    _names.add(record["name"])
    CASES.append(record)


def _arrays(inputs: Sequence[Any]) -> list[Any]:
    return [t.of(t.values) if isinstance(t, Tensor) else t for t in inputs]


def _results(fn: Callable[..., Any], arrays: Sequence[Any]) -> list[Any]:
    with np.errstate(all="ignore"):
        result = fn(*arrays)
    many = result if isinstance(result, (list, tuple)) else [result]
    return [np.asarray(r) for r in many]


def _record(
    name: str, op: str, kind: str, inputs: Sequence[Any], args: dict[str, Any] | None, options: Any
) -> dict[str, Any]:
    record: dict[str, Any] = {"name": name, "op": op, "kind": kind}
    if inputs:
        record["inputs"] = [t.json() if isinstance(t, Tensor) else t for t in inputs]
    if args:
        record["args"] = args
    record.update(options)
    return record


def case(
    name: str,
    op: str,
    inputs: Sequence[Any],
    fn: Callable[..., Any],
    args: dict[str, Any] | None = None,
    *,
    kind: str = "method",
    out: str | Sequence[str] | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    grad: Sequence[int] | bool = False,
    index_out: Sequence[int] = (),
    any_out: Sequence[int] = (),
    **options: Any,
) -> None:
    """Add a case whose results are fn(values of the inputs).

    out is the type of the results (of the first input if it is not given). any_out are results
    that may be anything. grad adds a second case, in float64, with the gradients of all (or the
    given) inputs.
    """
    tensors = [t for t in inputs if isinstance(t, Tensor)]
    results = _results(fn, _arrays(inputs))
    kinds = [out or tensors[0].dtype] * len(results) if out is None or isinstance(out, str) else out
    assert len(kinds) == len(results)
    record = _record(name, op, kind, inputs, args, options)
    record["outputs"] = []
    tolerances = [(0.0, 0.0)]
    for i, (values, dtype) in enumerate(zip(results, kinds)):
        if dtype in FLOATS and values.dtype.kind in "iub":
            values = values.astype(np.float64)
        assert (values.dtype.kind == "f") == (dtype in FLOATS), f"{name}: {values.dtype} as {dtype}"
        shown = Tensor(values, dtype, index=i in index_out).json()
        record["outputs"].append(None if i in any_out else shown)
        if dtype in FLOATS:
            tolerances.append(TOLERANCE[dtype])
    record["rtol"] = max(t[0] for t in tolerances) if rtol is None else rtol
    record["atol"] = max(t[1] for t in tolerances) if atol is None else atol
    for key in ("rtol", "atol"):
        if not record[key]:
            del record[key]
    _add(record)
    CALLS.append(Call(record, inputs, fn, kinds, grad))
    if grad is not False:
        name = f"{name}, gradient"
        gradient(name, op, inputs, fn, args, kind=kind, wrt=grad, index_out=index_out, **options)


def gradient(
    name: str,
    op: str,
    inputs: Sequence[Any],
    fn: Callable[..., Any],
    args: dict[str, Any] | None = None,
    *,
    kind: str = "method",
    wrt: Sequence[int] | bool = True,
    tol: float = 1e-8,
    step: float = 1e-3,
    index_out: Sequence[int] = (),
    **options: Any,
) -> None:
    """Add a case in float64 whose gradients are central differences of fn."""
    inputs = [
        Tensor(t.values, "float64", t.view) if isinstance(t, Tensor) and t.dtype in FLOATS else t
        for t in inputs
    ]
    results = _results(fn, _arrays(inputs))
    draw = Draw(name)
    weights = [draw.reals(r.shape, 0.5, 1.5) if r.dtype.kind == "f" else None for r in results]

    def loss(i: int, values: np.ndarray[Any, Any]) -> float:
        arrays = _arrays(inputs)
        arrays[i] = inputs[i].of(values)
        pairs = zip(_results(fn, arrays), weights)
        return float(sum((r * w).sum() for r, w in pairs if w is not None))

    def slope(i: int, at: int, h: float) -> float:
        values = inputs[i].values.copy()
        x = values.flat[at]
        values.flat[at] = x + h
        above = loss(i, values)
        values.flat[at] = x - h
        return (above - loss(i, values)) / (2 * h)

    grads: list[Any] = []
    for i, t in enumerate(inputs):
        asked = wrt is True or (wrt is not False and i in wrt)
        if not isinstance(t, Tensor) or t.dtype not in FLOATS or not asked:
            grads.append(None)
            continue
        # Richardson's extrapolation leaves an error of the fourth order in h.
        slopes = [(4 * slope(i, k, step) - slope(i, k, 2 * step)) / 3 for k in range(t.values.size)]
        grads.append([float(f"{s:.11g}") + 0.0 for s in slopes])
    record = _record(name, op, kind, inputs, args, options)
    types = {"f": "float64", "i": "int32", "b": "bool"}
    record["outputs"] = [
        Tensor(r, types[r.dtype.kind], index=i in index_out).json() for i, r in enumerate(results)
    ]
    record["rtol"], record["atol"] = TOLERANCE["float64"]
    record["rtol"] *= 10
    record["atol"] *= 10
    record["weights"] = [None if w is None else w.ravel().tolist() for w in weights]
    record["grads"] = grads
    record["grad_tol"] = tol
    _add(record)


def error(
    name: str,
    op: str,
    inputs: Sequence[Any],
    text: str,
    args: dict[str, Any] | None = None,
    *,
    kind: str = "method",
) -> None:
    """Add a call that must fail with a message that contains a text, which says what is wrong.

    One word is too little: every message has the names of the function and an argument.
    """
    assert " " in text, f"{name}: any message may contain {text!r}"
    _add(_record(name, op, kind, inputs, args, {"error": text}))


def dump() -> str:
    """Return the table, one case a line."""
    lines = [json.dumps(c, separators=(",", ":"), ensure_ascii=False) for c in CASES]
    return "[\n" + ",\n".join(lines) + "\n]\n"
