"""Calls of the table of operations in the middle of a program: any operation, with any arguments.

The operands are the table's, or drawn from its numbers; they are made from what the program has.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import generate
import numpy as np
from cases import builder
from cases.builder import Call, rounded
from test_table import OPERATORS, SPREAD, UNARY_OPERATORS

from polygrad import Tensor
from programs.choices import FLOATS, Choices
from programs.oracle import Reject, State, Step
from programs.printer import literal, number

Function = Callable[[State], np.ndarray]

# Operations of the descriptions that no step makes, and why.
NOT_MADE = {
    "there is no right answer": "dropout empty empty_like glorot_uniform kaiming_normal "
    "kaiming_uniform multinomial normal rand rand_like randint randn randn_like randperm "
    "scaled_uniform uniform",
    "other names, or two operations in one": "const_like max_pool2d_with_indices pad_to short "
    "shrink_to std_mean var_mean",
    "written as another one in Python": "embedding with_item",
    "it gives a bool of Python": "allclose",
    "properties in Python": "imag real",
    "programs have no complex numbers": "complex",
    "slow": "hash",
}
# Other steps do them, one gives a bool of Python, and two are properties.
NOT_CALLED = {"setitem", "clone", "allclose", "imag", "real"}
# Whose elements are not drawn anew: results are near only for well conditioned matrices.
MATRICES = {"cholesky", "triangular_solve", "solve", "inv", "det", "slogdet", "qr"}
MATRICES |= {"svd", "eigh", "lstsq", "newton_schulz"}


@cache
def table() -> dict[str, list[Call]]:
    """Return the calls that a program can make, by operation."""
    every = builder.gradient
    builder.gradient = lambda *_, **__: None  # slow, and not needed here
    try:
        generate.table()
    finally:
        builder.gradient = every
    calls: dict[str, list[Call]] = {}
    for call in sorted(builder.CALLS, key=size):
        record = call.record
        if {"seed", "training"} & record.keys() or record["op"] in NOT_CALLED:
            continue
        kept = calls.setdefault(record["op"], [])
        if size(call) <= 64 or not kept:
            kept.append(call)
    return calls


def size(call: Call) -> int:
    """Return the number of elements of the largest tensor of a call."""
    operands = [t.values.size for t in call.inputs if isinstance(t, builder.Tensor)]
    return int(max([*operands, *(np.prod(r["shape"]) for r in call.record["outputs"] if r)]))


def call(g: Choices, op: str = "") -> Step:
    calls = table()
    of = g.rng.choice(calls[op or g.rng.choice(list(calls))])
    if g.gradients and not of.smooth:
        raise Reject
    drawn = g.rng.random() < 0.5 and not g.gradients
    texts, functions, used = [], [], set()
    for i, t in enumerate(of.inputs):
        if not isinstance(t, builder.Tensor):
            texts.append(repr(t))
            functions.append(lambda state, t=t: t)
            continue
        values, dtype = t.of(t.values), t.dtype
        if g.gradients and dtype in FLOATS:
            dtype = "float64"
        if drawn and not t.index:
            values = redrawn(g, of.record["op"], values)
        text, function, names = operand(
            g, values, dtype, of.smooth is True or i in (of.smooth or ())
        )
        texts.append(text)
        functions.append(function)
        used |= set(names)
    return step(g, of, texts, functions, sorted(used))


def redrawn(g: Choices, op: str, values: np.ndarray) -> np.ndarray:
    """Return other values, from the same domain."""
    if values.dtype.kind == "f" and not np.all(np.isfinite(values)):
        return values  # some of these functions know their values
    if op in MATRICES:
        return values * g.rng.choice((0.5, 1, 2))
    if op in ("searchsorted", "ctc_loss"):
        return values  # sorted, or logarithms of probabilities whose sum is 1
    picked = [g.rng.choice(values.reshape(-1)) for _ in range(values.size)]
    return np.array(picked, values.dtype).reshape(values.shape)


def operand(
    g: Choices, values: np.ndarray, dtype: str, smooth: bool
) -> tuple[str, Function, list[str]]:
    """Return an expression that has the values, as the table holds them, and what it reads."""
    held = "float32" if dtype == "bfloat16" else dtype
    array = np.asarray(values).astype(held)
    more = f".cast({dtype!r})" if dtype == "bfloat16" else ""
    plain = f"Tensor({literal(array)}){more}"

    def constant(state: State) -> np.ndarray:
        return rounded(array, dtype)

    kind = g.rng.choice(("plain", "flip", "cut", "join", "where", "tied", "tied", "tied"))
    if g.gradients:
        kind = "tied" if smooth and dtype in FLOATS else "plain"  # comparisons jump
    if kind == "tied":
        return tied(g, array, dtype, plain, smooth)
    if not array.ndim:
        return plain, constant, []
    if kind == "flip":
        order = tuple(reversed(range(array.ndim)))
        turned = literal(np.flip(array.transpose(order), 0))
        text = f"Tensor({turned}){more}.flip(0).permute({order})"
        return text, constant, []
    if kind == "cut":
        widths = [(g.rng.randrange(3), g.rng.randrange(2)) for _ in array.shape]
        wide = literal(np.pad(array, widths, mode="constant"))
        items = ", ".join(f"{lo}:{lo + n}" for (lo, _), n in zip(widths, array.shape))
        return f"Tensor({wide}){more}[{items}]", constant, []
    if kind == "join":
        n = g.rng.randrange(len(array) + 1)
        first, second = (f"Tensor({literal(a)}){more}" for a in (array[:n], array[n:]))
        return f"{first}.cat({second}, dim=0)", constant, []
    if kind == "where" and dtype != "bool":
        mask = np.array([g.rng.random() < 0.5 for _ in range(array.size)], bool).reshape(
            array.shape
        )
        zero = array.dtype.type(0)
        parts = [f"Tensor({literal(np.where(m, array, zero))}){more}" for m in (mask, ~mask)]
        return f"Tensor({literal(mask)}).where({', '.join(parts)})", constant, []
    return plain, constant, []


def tied(
    g: Choices, array: np.ndarray, dtype: str, plain: str, smooth: bool
) -> tuple[str, Function, list[str]]:
    """Return the values plus the difference of a variable and its numbers, which is 0."""
    x = g.pick(size=1)
    if g.gradients and smooth:
        fits = [n for n, v in g.state.values.items() if v.tracked and g.dtype(n) == "float64"]
        x = g.rng.choice([n for n in fits if not g.state.values[n].root.error])
    now = g.array(x).reshape(-1)
    if now.dtype.kind == "f" and not np.all(np.abs(now) <= 16):
        raise Reject
    places = np.array([g.rng.randrange(now.size) for _ in range(array.size)], "int32")
    places = places.reshape(array.shape)
    text = f"{x}.flatten()[Tensor({literal(places)})]"
    same = f"Tensor({literal(now[places])})"
    if g.dtype(x) == "bfloat16":
        same += ".cast('bfloat16')"
    if dtype in FLOATS and g.dtype(x) == dtype:

        def moved(state: State) -> np.ndarray:
            by = state.values[x].array.reshape(-1)[places] - now[places]
            return rounded(array + by, dtype)

        return f"({plain} + ({text} - {same}))", moved, [x]
    change = f"({text} != {same})"
    if dtype == "bool":

        def flipped(state: State) -> np.ndarray:
            return array ^ (state.values[x].array.reshape(-1)[places] != now[places])

        return f"({plain} ^ {change})", flipped, [x]

    def added(state: State) -> np.ndarray:
        by = state.values[x].array.reshape(-1)[places] != now[places]
        return rounded(array + by.astype(array.dtype), dtype)

    return f"({plain} + {change}.cast({dtype!r}))", added, [x]


def step(
    g: Choices, of: Call, texts: list[str], functions: list[Function], used: list[str]
) -> Step:
    """Return the step that makes the call and gives its results names."""
    record, name = of.record, g.name
    # Some results may be anything, as the signs of singular vectors.
    names = [f"{name}_{i}" if r else "_" for i, r in enumerate(record["outputs"])]
    types = ["float64" if g.gradients and t in FLOATS else t for t in of.types]

    def run(state: State) -> None:
        values = [state.values[n] for n in used]
        results = builder._results(of.function, [f(state) for f in functions])
        if len(results) != len(names):
            raise Reject
        for variable, result, dtype in zip(names, results, types):
            if variable == "_":
                continue
            held = "float32" if dtype == "bfloat16" else dtype
            array = rounded(result, dtype).astype(held)
            error = 0.0
            if dtype in FLOATS:
                most = float(np.abs(array[np.isfinite(array)]).max(initial=1))
                error = 8 * (record.get("atol", 0) + record.get("rtol", 0) * most)
            state.fresh(variable, array, values, dtype=dtype, error=error)

    line = f"{', '.join(names)}{',' if many(record) and len(names) == 1 else ''} = "
    return Step(line + written(record, texts), run)


def many(record: dict[str, Any]) -> bool:
    return record["op"] in ("split", "chunk", "meshgrid")


def written(record: dict[str, Any], texts: list[str]) -> str:
    """Return the call as Python."""
    op, kind = record["op"], record["kind"]
    args = dict(record.get("args", {}))
    named = {k: v["input"] for k, v in args.items() if isinstance(v, dict) and "input" in v}
    args.update({k: Raw(texts[i]) for k, i in named.items()})
    operands = [t for i, t in enumerate(texts) if i not in named.values()]
    if kind == "index":
        return f"{texts[0]}[{', '.join(item(e, texts) for e in args['items'])}]"
    if kind == "property":
        return f"{texts[0]}.{op}"
    spread = [repr(a) for a in args.pop(SPREAD[op]) or ((),)] if op in SPREAD else []
    args.update(args.pop("sizes", {}) if op == "rearrange" else {})
    first = [repr(args.pop("formula"))] if op == "einsum" else []
    if not (kind in ("static", "list") or hasattr(Tensor, op)):
        function = (UNARY_OPERATORS if len(operands) == 1 else OPERATORS)[op]
        operands = operands[::-1] if args.get("reverse") else operands
        return f"operator.{function.__name__}({', '.join(operands)})"
    given = [f"{k}={v if isinstance(v, Raw) else argument(v)}" for k, v in args.items()]
    if kind == "static":
        return f"Tensor.{op}({', '.join([*spread, *given])})"
    if kind == "list":
        return f"Tensor.{op}({', '.join([*first, *operands, *given])})"
    return f"{operands[0]}.{op}({', '.join([*operands[1:], *spread, *given])})"


class Raw(str):
    """An expression, not a text."""


def argument(value: Any) -> str:
    return number(value) if isinstance(value, float) else repr(value)


def item(entry: Any, texts: list[str]) -> str:
    """Return one item of an index."""
    if isinstance(entry, dict):
        return f"slice{tuple(entry['slice'])}" if "slice" in entry else texts[entry["input"]]
    return "..." if entry == "..." else repr(entry)
