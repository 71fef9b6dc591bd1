"""Special values against PyTorch: zeros, infinities, NaN, the least and greatest numbers."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from polygrad import Tensor

torch = pytest.importorskip("torch")
F = torch.nn.functional

from test_operations import ARITHMETIC, FUNCTIONS, Case  # noqa: E402

Array = Any
TYPES = {"float64": 1e-12, "float32": 8e-6, "float16": 2e-3, "bfloat16": 1.6e-2}
INF, NAN = math.inf, math.nan


def special(dtype: str) -> Array:
    """Return the values of a type that functions are tried with, as float64."""
    info = torch.finfo(getattr(torch, dtype))
    whole = 1 / info.eps  # where the distance of neighbours is 1
    signed = [0.0, 1, 0.5, 1.5, 2.5, 3, 0.3, 7.25, 20, 100, 1000, 1e-3, 1e-6, INF]
    signed += [whole - 1, whole + 1, whole / 2 + 0.5, 2 * whole + 2, info.eps]
    signed += [info.tiny, info.tiny / 4, info.max, info.max / 4, math.sqrt(info.max)]
    if info.max > 1e30:
        signed += [1e-20, 1e20, 88.5]
    both = [s * v for v in signed for s in (1.0, -1.0)]
    return (
        torch.tensor([*both, NAN], dtype=torch.float64).to(getattr(torch, dtype)).double().numpy()
    )


def tensors(arrays: list[Array], dtype: str, grad: bool) -> tuple[list[Any], list[Any]]:
    """Return the same tensors of this library and of torch."""
    ours = [Tensor(a).cast(dtype).detach() for a in arrays]
    theirs = [torch.tensor(a).to(getattr(torch, dtype)) for a in arrays]
    for t in (*ours, *theirs) if grad else ():
        t.requires_grad_(True)
    return ours, theirs


def numbers(t: Any) -> Array:
    """Return the values of a tensor as float64."""
    return t.cast("float64").numpy() if isinstance(t, Tensor) else t.detach().double().numpy()


def apart(got: Array, want: Array, rtol: float, atol: float, zeros: bool = False) -> Array:
    """Tell which elements differ; with zeros, the signs of zeros are compared too."""
    assert got.shape == want.shape, f"shape {got.shape}, expected {want.shape}"
    with np.errstate(all="ignore"):
        near = np.abs(got - want) <= rtol * np.abs(want) + atol
        same = (got == want) | (np.isnan(got) & np.isnan(want)) | near & np.isfinite(want)
    if zeros:
        same &= (np.signbit(got) == np.signbit(want)) | (got != 0) | (want != 0)
    return ~same


@dataclass(frozen=True)
class Known:
    """Where results differ from torch's, and why."""

    reason: str
    where: Callable[..., Array]
    types: tuple[str, ...] = tuple(TYPES)


def big(*values: Array) -> Array:
    """Tell where an intermediate result can be beyond the type."""
    return np.any([np.abs(v) > 1e4 for v in values], axis=0)


def exact(remainder: Callable[[float, float], float]) -> Callable[..., Any]:
    """Return a function of tensors from one of C or Python.

    Those of torch give NaN where the quotient overflows.
    """

    def each(x: float, y: float) -> float:
        return remainder(x, y) if math.isfinite(x) and y != 0 else NAN

    def of(x: Any, y: Any) -> Any:
        pairs = zip(x.double().ravel().tolist(), y.double().ravel().tolist())
        return torch.tensor([each(a, b) for a, b in pairs], dtype=torch.float64).to(x.dtype)

    return of


WIDE = ("float64", "float32", "bfloat16")
KNOWN = {
    "sign": Known("NaN stays NaN, as in numpy", np.isnan),
    "hardswish": Known(
        "the limit, not -inf * 0; x/6 does not overflow", lambda x: (x == -INF) | (x > 1e37)
    ),
    "gelu": Known(
        "torch's 1 + tanh(x) cancels", lambda x: x < -2, ("float64", "float32", "bfloat16")
    ),
    "quick_gelu": Known("the formula given here rounds twice more", np.isfinite, ("bfloat16",)),
    "hardsigmoid": Known("torch computes in bfloat16", lambda x: x == -2.5, ("bfloat16",)),
    "erf": Known("torch computes in bfloat16", lambda x: np.abs(x) < 1e-5, ("bfloat16",)),
    "digamma": Known(
        "the smallest numbers are added to 1/x", lambda x: np.abs(x) < 1e-308, ("float64",)
    ),
    "softplus by 2": Known("2x overflows", lambda x: x > 1e37, WIDE),
    "lerp": Known("torch has one rounding less", lambda x, y: big(x, y) | (np.abs(x) < 1e-2), WIDE),
    "copysign": Known("NaN has no sign", lambda _, y: np.isnan(y), ("bfloat16",)),
    "x ** 0.5": Known("torch: inf in this type only", lambda x: x == -INF, ("float16",)),
}
# Functions whose zeros have the sign that IEEE 754 or C says.
SIGNED = {
    "exp",
    "neg",
    "abs",
    "sin",
    "tan",
    "sinh",
    "tanh",
    "atanh",
    "asin",
    "sqrt",
    "ceil",
    "floor",
}
SIGNED |= {"trunc", "round", "erf", "expm1", "log1p", "silu", "reciprocal", "square"}
SIGNED |= {"add", "sub", "mul", "div", "copysign", "atan2", "fmod", "trunc_divide", "pow"}


def at(name: str, ours: Any, theirs: Any, arity: int = 1, grad: bool = True) -> Case:
    """Return a case of so many arguments."""
    return Case(name, ours, theirs, [()] * arity, grad=grad)


MORE = [
    at("swish", Tensor.swish, F.silu),
    at("quick_gelu", Tensor.quick_gelu, lambda x: x * torch.sigmoid(1.702 * x)),
    *(
        at(f"x ** {e}", lambda x, e=e: x**e, lambda x, e=e: x**e)
        for e in (0, 1, 2, 3, 4, -1, -2, -3, 0.5, 1.5, 2.5, 0.25)
    ),
    *(
        at(f"{b} ** x", lambda x, b=b: b**x, lambda x, b=b: b**x)
        for b in (0, 1, -1, 2.0, 0.5, -2.0, INF, NAN)
    ),
    *(
        at(
            f"clamp {lo} {hi}",
            lambda x, a=lo, b=hi: x.clamp(a, b),
            lambda x, a=lo, b=hi: x.clamp(a, b),
        )
        for lo, hi in ((-1.0, 1.75), (-1.0, None), (None, 1.75), (NAN, 1.0), (0.0, NAN))
    ),
    *(
        at(f"x // {n}", lambda x, n=n: x // n, lambda x, n=n: x // n, grad=False)
        for n in (2, 3, -0.75, 0)
    ),
    *(
        at(
            f"x % {n}",
            lambda x, n=n: x % n,
            lambda x, n=n: exact(operator.mod)(x, torch.tensor(n).expand_as(x)),
            grad=False,
        )
        for n in (2, 3, -3, 0.75, 0)
    ),
    *(
        at(n, getattr(Tensor, n), getattr(torch, n), grad=False)
        for n in ("isnan", "isinf", "isfinite", "logical_not")
    ),
    at("softplus by 2", lambda x: x.softplus(2.0), lambda x: F.softplus(x, 2.0)),
]
PAIRS = [
    *(at(n, getattr(Tensor, n), getattr(torch, n), 2) for n in ("eq", "ne")),
    *(
        at(n, getattr(Tensor, f"__{n}__"), getattr(torch, n), 2, False)
        for n in ("lt", "le", "gt", "ge")
    ),
    at("fmod", Tensor.fmod, exact(math.fmod), 2, False),
    at("mod", lambda x, y: x % y, exact(operator.mod), 2, False),
    at(
        "trunc_divide",
        lambda x, y: x.div(y, rounding_mode="trunc"),
        lambda x, y: torch.div(x, y, rounding_mode="trunc"),
        2,
        False,
    ),
    at("isclose", lambda x, y: x.isclose(y), torch.isclose, 2, False),
    at(
        "isclose, NaN too",
        lambda x, y: x.isclose(y, equal_nan=True),
        lambda x, y: torch.isclose(x, y, equal_nan=True),
        2,
        False,
    ),
    at("lerp", lambda x, y: x.lerp(y, x), lambda x, y: torch.lerp(x, y, x), 2),
    at("clamp by a tensor", lambda x, y: x.clamp(y, y), lambda x, y: x.clamp(y, y), 2),
    at(
        "mse_loss",
        lambda x, y: x.mse_loss(y, "none"),
        lambda x, y: F.mse_loss(x, y, reduction="none"),
        2,
    ),
    at(
        "l1_loss",
        lambda x, y: x.l1_loss(y, "none"),
        lambda x, y: F.l1_loss(x, y, reduction="none"),
        2,
    ),
    at(
        "huber_loss",
        lambda x, y: x.huber_loss(y, 1.0, "none"),
        lambda x, y: F.huber_loss(x, y, reduction="none"),
        2,
    ),
]
ELEMENTWISE = [
    *FUNCTIONS,
    *MORE,
    *(c for c in ARITHMETIC if len(c.shapes) == 2 and c.name != "mod"),
    *PAIRS,
    *(c for c in ARITHMETIC if c.name == "clamp"),
]


def arguments(case: Case, dtype: str) -> list[Array]:
    values = special(dtype)
    if len(case.shapes) == 1:
        return [values]
    return [g.ravel() for g in np.meshgrid(values, values, indexing="ij")]


def compare(
    case: Case, arrays: list[Array], bad: Array, got: Array, want: Array, known: Known | None
) -> None:
    """Fail with the first differences that are not known, or if none of the known ones is one."""
    if known is not None:
        expected = known.where(*arrays)
        assert (bad & expected).any(), f"no difference any more: {known.reason}"
        bad = bad & ~expected
    lines = [
        f"{[float(a[i]) for a in arrays]}: {got[i]}, expected {want[i]}"
        for i in np.flatnonzero(bad)[:8]
    ]
    assert not lines, f"{case.name}, {bad.sum()} differ:\n" + "\n".join(lines)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("case", ELEMENTWISE, ids=lambda c: c.name)
def test_values(case: Case, dtype: str) -> None:
    arrays = arguments(case, dtype)
    ours, theirs = tensors(arrays, dtype, False)
    try:
        want = numbers(case.theirs(*theirs))
    except NotImplementedError as e:
        pytest.skip(str(e))
    got = numbers(case.ours(*ours))
    info = torch.finfo(getattr(torch, dtype))
    bad = apart(got, want, TYPES[dtype], 2 * info.tiny, case.name in SIGNED)
    known = KNOWN.get(case.name)
    compare(case, arrays, bad, got, want, known if known and dtype in known.types else None)


def at_values(*values: float) -> Callable[[Array], Array]:
    return lambda x: np.isin(x, values)


BOUND = "a bound passes the gradient on"
KINK = "where lines meet, the right or the mean slope"
KNOWN_GRADIENTS = {
    "inf ** x": Known("infinity times 0", at_values(0.0)),
    "atan2": Known("no angle", lambda x, y: (x == 0) & (y == 0)),
    "hypot": Known("0, as that of abs", lambda x, y: (x == 0) & (y == 0)),
    "hardswish": Known(KINK, at_values(3.0)),
    "hardsigmoid": Known(KINK, at_values(3.0)),
    "hardtanh": Known(BOUND, at_values(1.0, -1.0)),
    "leaky_relu": Known(KINK, at_values(0.0)),
    "clamp": Known(BOUND, at_values(-0.5, 1.0)),
    "clamp -1.0 None": Known(BOUND, at_values(-1.0)),
    "clamp -1.0 1.75": Known(BOUND, at_values(-1.0, 1.75)),
}
SLOPES = {"float64": (1e-7, 1e-12), "float32": (1e-4, 4e-6)}


@pytest.mark.parametrize("dtype", SLOPES)
@pytest.mark.parametrize("case", [c for c in ELEMENTWISE if c.grad], ids=lambda c: c.name)
def test_gradients(case: Case, dtype: str) -> None:
    """Compare with torch's in float64: its own formulas cancel in float32."""
    arrays = arguments(case, dtype)
    usual = np.all(
        [(np.abs(a) < 80) & (np.abs(a) > 1e-7) | (a == 0) & ~np.signbit(a) for a in arrays], axis=0
    )
    arrays = [a[usual] for a in arrays]
    ours, _ = tensors(arrays, dtype, True)
    _, theirs = tensors(arrays, "float64", True)
    value = case.theirs(*theirs)
    if not value.requires_grad:
        return
    value.sum().backward()
    case.ours(*ours).sum().backward()
    defined = np.isfinite(numbers(value))
    known = KNOWN_GRADIENTS.get(case.name)
    expected = np.zeros(defined.shape, bool) if known is None else known.where(*arrays)
    stale = known is not None
    for mine, other in zip(ours, theirs):
        if other.grad is None:
            continue
        got, want = numbers(mine.grad), numbers(other.grad.to(getattr(torch, dtype)))
        bad = apart(got, want, *SLOPES[dtype]) & defined
        stale = stale and not (bad & expected).any()
        compare(case, arrays, bad & ~expected, got, want, None)
    assert not stale, f"no difference any more: {known}"


def along(name: str, other: str = "", **options: Any) -> Case:
    """Return a case of a reduction of rows."""
    theirs = getattr(torch, other or name)
    return at(name, lambda x: getattr(x, name)(axis=1), lambda x: theirs(x, dim=1, **options))


def wide(x: Any) -> Any:
    """Return float32, or float64 for that."""
    return torch.promote_types(x.dtype, torch.float32)


def ordered(name: str, i: int, descending: bool) -> Case:
    """Return a case of values or indices of sort."""
    label = f"sort, {['values', 'indices'][i]}, descending {descending}"
    return at(
        label,
        lambda x: x.sort(1, descending)[i],
        lambda x: x.sort(dim=1, descending=descending, stable=True)[i],
        grad=i == 0,
    )


ROWS = [
    *(along(n, o) for n, o in (("sum", ""), ("mean", ""), ("max", "amax"), ("min", "amin"))),
    # In float16 torch's products round at each step on some processors.
    at("prod", lambda x: x.prod(1), lambda x: x.prod(1, dtype=wide(x)).to(x.dtype)),
    *(along(n) for n in ("all", "any", "argmax", "argmin")),
    *(along(n) for n in ("var", "std", "softmax", "log_softmax", "logsumexp", "cumsum", "cumprod")),
    along("logcumsumexp"),
    at("std of all", lambda x: x.std(axis=1, correction=0), lambda x: x.std(1, correction=0)),
    at("cummax", lambda x: x.cummax(1)[0], lambda x: x.cummax(1)[0], grad=False),
    at("cummin", lambda x: x.cummin(1)[0], lambda x: x.cummin(1)[0], grad=False),
    *(ordered("sort", i, d) for i in (0, 1) for d in (False, True)),
    at("topk", lambda x: x.topk(2, 1)[0], lambda x: x.topk(2, 1)[0], grad=False),
    at("layernorm", Tensor.layernorm, lambda x: F.layer_norm(x, x.shape[-1:])),
    at("rmsnorm", Tensor.rmsnorm, lambda x: F.rms_norm(x, x.shape[-1:], eps=1e-5)),
    at(
        "max_pool2d",
        lambda x: x.reshape(1, 1, *x.shape).max_pool2d((1, x.shape[1])),
        lambda x: F.max_pool2d(x[None, None], (1, x.shape[1])),
        grad=False,  # of equal ones, all get a part: as max
    ),
    at(
        "cross_entropy",
        lambda x: x.cross_entropy(Tensor([0] * x.shape[0]), "none"),
        lambda x: F.cross_entropy(x, torch.zeros(len(x), dtype=torch.long), reduction="none"),
    ),
]
# Rows of one type: numbers whose squares are beyond float16, and what is beyond every type.
ENTRIES = [0.0, -0.0, 1.0, -2.0, 300.0, -300.0, INF, -INF, NAN]


def rows(width: int) -> Array:
    return np.array(list(itertools.product(ENTRIES, repeat=width)))[:: 1 if width < 3 else 2]


@pytest.mark.parametrize("width", (2, 3))
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("case", ROWS, ids=lambda c: c.name)
def test_rows(case: Case, dtype: str, width: int) -> None:
    array = rows(width)
    ours, theirs = tensors([array], dtype, False)
    got, want = numbers(case.ours(*ours)), numbers(case.theirs(*theirs))
    bad = apart(got, want, TYPES[dtype], TYPES[dtype])
    wrong = bad.reshape(len(array), -1).any(1)
    lines = [
        f"{array[i]}: {got.reshape(len(array), -1)[i]}, expected {want.reshape(len(array), -1)[i]}"
        for i in np.flatnonzero(wrong)[:8]
    ]
    assert not lines, f"{case.name}, {wrong.sum()} rows differ:\n" + "\n".join(lines)


@pytest.mark.parametrize("width", (1, 2, 3))
@pytest.mark.parametrize("case", [c for c in ROWS if c.grad], ids=lambda c: c.name)
def test_gradients_of_rows(case: Case, width: int) -> None:
    array = np.array(list(itertools.product([0.0, 1.0, -2.0, 30.0], repeat=width)))
    ours, theirs = tensors([array], "float64", True)
    value = case.theirs(*theirs)
    if not value.requires_grad:
        return
    value.sum().backward()
    case.ours(*ours).sum().backward()
    got, want = numbers(ours[0].grad), numbers(theirs[0].grad)
    bad = apart(got, want, 1e-9, 1e-12).any(1) & np.isfinite(numbers(value)).reshape(
        len(array), -1
    ).all(1)
    lines = [f"{array[i]}: {got[i]}, expected {want[i]}" for i in np.flatnonzero(bad)[:8]]
    assert not lines, f"{case.name}, {bad.sum()} rows differ:\n" + "\n".join(lines)
