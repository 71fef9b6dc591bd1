"""Reductions, scans, softmax and norms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cases.builder import INF, NAN, Draw, Tensor, case

Axes = Any


def _axes(axis: Axes) -> Axes:
    return tuple(axis) if isinstance(axis, list) else axis


def _logsumexp(x: Any, axis: Axes = None, keepdims: bool = False) -> Any:
    top = np.max(x, axis=axis, keepdims=True)
    safe = np.where(np.isfinite(top), top, 0)
    out = np.log(np.sum(np.exp(x - safe), axis=axis, keepdims=True)) + safe
    return out if keepdims else out.reshape(np.sum(x, axis=axis).shape)


REDUCTIONS: dict[str, Callable[..., Any]] = {
    "sum": np.sum,
    "prod": np.prod,
    "max": np.max,
    "min": np.min,
    "mean": np.mean,
    "logsumexp": _logsumexp,
    "any": np.any,
    "all": np.all,
}
# axis, keepdim on a tensor of shape (2, 3, 4)
WAYS: list[tuple[Axes, bool]] = [
    (None, False),
    (None, True),
    (0, False),
    (1, True),
    (-1, False),
    ([0, 2], False),
    ([-1, 1], True),
    ([0, 1, 2], False),
]
VIEWS: list[tuple[str, list[int], list[Any]]] = [
    ("permuted", [4, 2, 3], [["permute", [1, 2, 0]]]),
    ("flipped and shrunk", [3, 3, 5], [["flip", [0]], ["shrink", [[1, 3], [0, 3], [1, 5]]]]),
    ("expanded", [2, 1, 4], [["expand", [2, 3, 4]]]),
]
NEAR = {"rtol": 4e-6, "atol": 2e-6}


def add() -> None:
    """Add the cases of this group."""
    for op, fn in REDUCTIONS.items():
        _reduction(op, fn)
    _spread()
    _squares()
    _where()
    _types()
    _scans()
    _softmax()
    _norms()


def _named(axis: Axes, keepdim: bool) -> str:
    what = "all" if axis is None else f"axis {axis}"
    return f"{what} keepdim" if keepdim else what


def _options(axis: Axes, keepdim: bool) -> dict[str, Any]:
    args: dict[str, Any] = {}
    if axis is not None:
        args["axis"] = axis
    if keepdim:
        args["keepdim"] = True
    return args


def _reduction(op: str, fn: Callable[..., Any]) -> None:
    draw = Draw(op)
    logical = op in ("any", "all")
    out = "bool" if logical else None

    def values(shape: list[int], view: list[Any] | None = None) -> Tensor:
        if logical:
            return Tensor(np.array(draw.ints(shape, 0, 2), float), view=view or [])
        return Tensor(draw.reals(shape, 0.5 if op == "prod" else -3, 3), view=view or [])

    for axis, keepdim in WAYS:
        x = values([2, 3, 4])
        smooth = not logical and axis in (1, -1, [0, 2]) and op != "max"
        case(
            f"{op} {_named(axis, keepdim)}",
            op,
            [x],
            lambda v, a=_axes(axis), k=keepdim: np.asarray(fn(v, axis=a, keepdims=k)),
            _options(axis, keepdim),
            out=out,
            grad=smooth,
            **NEAR,
        )
    for what, shape, view in VIEWS:
        case(
            f"{op} axis 1 {what}",
            op,
            [values(shape, view)],
            lambda v: fn(v, axis=1),
            {"axis": 1},
            out=out,
            grad=not logical and what == "permuted",
            **NEAR,
        )
    case(f"{op} of a scalar", op, [values([])], fn, out=out, **NEAR)
    case(
        f"{op} of ones",
        op,
        [values([1, 1, 3])],
        lambda v: fn(v, axis=1),
        {"axis": 1},
        out=out,
        **NEAR,
    )
    long = values([300])
    case(f"{op} of 300", op, [long], fn, out=out, rtol=1e-5, atol=1e-5)
    if op not in ("mean", "max", "min", "logsumexp"):
        case(f"{op} of nothing", op, [values([0])], fn, out=out)
        case(
            f"{op} of no rows", op, [values([0, 3])], lambda v: fn(v, axis=0), {"axis": 0}, out=out
        )
    case(f"{op} to nothing", op, [values([0, 3])], lambda v: fn(v, axis=1), {"axis": 1}, out=out)
    if not logical:
        double = Tensor(draw.reals([2, 3], 0.5, 3), "float64")
        case(f"{op} float64", op, [double], lambda v: fn(v, axis=0), {"axis": 0})
        for dtype, tol in (("float16", 4e-3), ("bfloat16", 3e-2)):
            half = Tensor(draw.reals([2, 3], 0.5, 2), dtype)
            case(
                f"{op} {dtype}",
                op,
                [half],
                lambda v: fn(v, axis=1),
                {"axis": 1},
                rtol=tol,
                atol=tol,
            )
        odd = Tensor([[1.0, NAN], [INF, 2.0], [-INF, 3.0]])
        case(f"{op} of NaN and infinities", op, [odd], lambda v: fn(v, axis=1), {"axis": 1}, **NEAR)
    if op == "max":
        distinct = Tensor(np.arange(12.0).reshape(3, 4) * 5 % 12)
        case(
            "max of different numbers",
            op,
            [distinct],
            lambda v: fn(v, axis=0),
            {"axis": 0},
            grad=True,
        )


def _spread() -> None:
    for op, fn in (("var", np.var), ("std", np.std)):
        draw = Draw(op)
        for axis, keepdim in WAYS:
            for correction in (None, 0) if axis in (None, 1) else (None,):
                ddof = 1 if correction is None else correction
                args = _options(axis, keepdim)
                name = f"{op} {_named(axis, keepdim)}"
                if correction is not None:
                    args["correction"] = correction
                    name += f" correction {correction}"
                case(
                    name,
                    op,
                    [Tensor(draw.reals([2, 3, 4], -3, 3))],
                    lambda v, fn=fn, a=_axes(axis), k=keepdim, d=ddof: np.asarray(
                        fn(v, axis=a, keepdims=k, ddof=d)
                    ),
                    args,
                    grad=axis in (-1, [0, 2]),
                    **NEAR,
                )
        x = Tensor(draw.reals([3, 2], 97, 100), view=[["permute", [1, 0]]])
        case(
            f"{op} far from 0",
            op,
            [x],
            lambda v, f=fn: f(v, axis=1, ddof=1),
            {"axis": 1},
            rtol=1e-4,
        )
        five = Tensor(draw.reals([5]), "float64")
        case(f"{op} float64", op, [five], lambda v, fn=fn: fn(v, ddof=1))
        odd = Tensor([[1.0, NAN, 2.0], [1.0, INF, 2.0], [1.0, 2.0, 4.0]])
        case(
            f"{op} of NaN and infinity",
            op,
            [odd],
            lambda v, fn=fn: fn(v, axis=1, ddof=1),
            {"axis": 1},
            **NEAR,
        )


def _squares() -> None:
    """Add what has squares beyond the type, and products of zeros, which have a gradient."""
    rows = Tensor([[300.0, -300.0, 0.0], [60000.0, 60000.0, -500.0]], "float16")
    near: dict[str, Any] = {"rtol": 2e-3, "atol": 1e-3}
    case("std float16", "std", [rows], lambda v: v.std(1, ddof=1), {"axis": 1}, **near)
    case("layernorm float16", "layernorm", [rows], lambda v: _normal(v, -1, 1e-5), **near)
    case(
        "rmsnorm float16",
        "rmsnorm",
        [rows],
        lambda v: v / np.sqrt((v * v).mean(1)[:, None] + 1e-6),
        **near,
    )
    zeros = Tensor([[2.0, 0.0, 3.0], [0.0, 0.0, 3.0], [2.0, 4.0, 3.0]])
    case("prod of zeros", "prod", [zeros], lambda v: v.prod(1), {"axis": 1}, grad=True)
    case("cumprod of zeros", "cumprod", [zeros], lambda v: v.cumprod(1), {"axis": 1}, grad=True)


def _arg(fn: Callable[..., Any], axis: int | None, keepdim: bool) -> Callable[[Any], Any]:
    return lambda v: np.asarray(fn(v, axis=axis, keepdims=keepdim))


def _where() -> None:
    for op, fn in (("argmax", np.argmax), ("argmin", np.argmin)):
        draw = Draw(op)
        for axis, keepdim in ((None, False), (0, False), (1, True), (-1, False), (None, True)):
            x = Tensor(draw.reals([2, 3, 4], -3, 3))
            name = f"{op} {_named(axis, keepdim)}"
            args = _options(axis, keepdim)
            case(name, op, [x], _arg(fn, axis, keepdim), args, out="int32", index_out=[0])
        one = {"axis": 1}
        ties = Tensor([[1.0, 3.0, 3.0], [2.0, 2.0, 2.0]])
        case(
            f"{op} of equals is the first",
            op,
            [ties],
            _arg(fn, 1, False),
            one,
            out="int32",
            index_out=[0],
        )
        odd = Tensor([[1.0, NAN, INF, NAN], [-INF, 0.0, INF, INF]])
        case(
            f"{op} of NaN and infinities",
            op,
            [odd],
            _arg(fn, 1, False),
            one,
            out="int32",
            index_out=[0],
        )
        whole = Tensor([[3, -1, 3], [0, 5, -9]], "int32")
        case(f"{op} int32", op, [whole], _arg(fn, 1, False), one, out="int32", index_out=[0])
        small = Tensor([[3, 0, 255]], "uint8")
        case(f"{op} uint8", op, [small], _arg(fn, 1, False), one, out="int32", index_out=[0])
        view = Tensor(draw.reals([4, 3]), view=[["permute", [1, 0]], ["flip", [1]]])
        case(f"{op} of a view", op, [view], _arg(fn, 1, False), one, out="int32", index_out=[0])
        alone = Tensor(draw.reals([2, 1]))
        case(f"{op} of one", op, [alone], _arg(fn, 1, False), one, out="int32", index_out=[0])


def _types() -> None:
    big = {"uint8": "uint32", "uint16": "uint32", "int8": "int32", "int16": "int32"}
    for dtype in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"):
        x = Tensor([[100, 50, 27], [1, 2, 3]], dtype)
        case(
            f"sum {dtype}",
            "sum",
            [x],
            lambda v: v.sum(axis=1),
            {"axis": 1},
            out=big.get(dtype, dtype),
        )
        case(f"max {dtype}", "max", [x], lambda v: v.max(axis=0), {"axis": 0})
        case(f"min {dtype}", "min", [x], lambda v: v.min(axis=1), {"axis": 1})
    negative = Tensor([[-128, -1], [5, -7]], "int8")
    case("max int8 of negative numbers", "max", [negative], lambda v: v.max(axis=1), {"axis": 1})
    case("min int8 of negative numbers", "min", [negative], lambda v: v.min(axis=1), {"axis": 1})
    case(
        "mean int32",
        "mean",
        [Tensor([[1, 2], [4, 5]], "int32")],
        lambda v: v.mean(axis=1),
        {"axis": 1},
        out="float32",
    )
    case("sum bool counts", "sum", [Tensor([True, True, False], "bool")], np.sum, out="int32")
    case(
        "max bool",
        "max",
        [Tensor([[True, False], [False, False]], "bool")],
        lambda v: v.max(axis=1),
        {"axis": 1},
    )
    case(
        "prod int32",
        "prod",
        [Tensor([[1, 2, 3], [4, -5, 6]], "int32")],
        lambda v: v.prod(axis=1),
        {"axis": 1},
    )
    for op, fn in (("any", np.any), ("all", np.all)):
        case(
            f"{op} int32",
            op,
            [Tensor([[0, 3], [0, 0], [1, 1]], "int32")],
            lambda v, f=fn: f(v, axis=1),
            {"axis": 1},
            out="bool",
        )
        case(f"{op} bool", op, [Tensor([[True, False]], "bool")], lambda v, f=fn: np.asarray(f(v)))
        case(f"{op} of NaN", op, [Tensor([NAN, 0.0])], lambda v, f=fn: np.asarray(f(v)), out="bool")
    case("sum int64 beyond 2^53", "sum", [Tensor([2**60, 2**60, 1], "int64")], np.sum)
    half = Tensor(np.full([2, 600], 2.5), "float16")
    case(
        "sum float16 does not stall", "sum", [half], lambda v: v.sum(axis=1), {"axis": 1}, rtol=1e-3
    )

    for op, fn in (("sum", np.sum), ("prod", np.prod)):
        x = Tensor([[1, 2, 3], [4, 5, 6]], "int8")
        for dtype in ("int64", "float32"):
            args = {"axis": 1, "dtype": dtype}
            kind = (lambda v: v) if dtype == "int64" else (lambda v: v.astype(float))
            case(
                f"{op} int8 in {dtype}",
                op,
                [x],
                lambda v, f=fn, k=kind: f(k(v), axis=1),
                args,
                out=dtype,
            )
        half = Tensor(Draw(op).reals([2, 3], 0.5, 2), "float16")
        case(
            f"{op} float16 in float32",
            op,
            [half],
            lambda v, f=fn: f(v, axis=1),
            {"axis": 1, "dtype": "float32"},
            out="float32",
            **NEAR,
        )
        whole = lambda v, f=fn: f(v, keepdims=True)
        args = {"dtype": "int64", "keepdim": True}
        case(f"{op} int8 of all in int64", op, [x], whole, args, out="int64")


def _scans() -> None:
    draw = Draw("scan")
    for axis in (0, 1, -1):
        x = Tensor(draw.reals([2, 3, 2]))
        case(
            f"cumsum axis {axis}",
            "cumsum",
            [x],
            lambda v, a=axis: np.cumsum(v, axis=a),
            {"axis": axis},
            grad=axis == 1,
            **NEAR,
        )
    case("cumsum int32", "cumsum", [Tensor([1, 2, 3], "int32")], np.cumsum)
    case("cumsum of 300", "cumsum", [Tensor(draw.reals([300]))], np.cumsum, rtol=1e-5, atol=1e-5)
    view = Tensor(draw.reals([3, 4]), view=[["permute", [1, 0]], ["flip", [0]]])
    case(
        "cumsum of a view",
        "cumsum",
        [view],
        lambda v: np.cumsum(v, axis=0),
        {"axis": 0},
        grad=True,
        **NEAR,
    )
    case("cumsum of nothing", "cumsum", [Tensor(np.zeros([0]))], np.cumsum)
    case("cumsum of one", "cumsum", [Tensor([[1.5]])], lambda v: np.cumsum(v, axis=1), {"axis": 1})


def _softmax_of(x: Any, axis: int) -> Any:
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def _log_softmax_of(x: Any, axis: int) -> Any:
    return x - _logsumexp(x, axis, keepdims=True)


def _softmax() -> None:
    for op, fn in (("softmax", _softmax_of), ("log_softmax", _log_softmax_of)):
        draw = Draw(op)
        last = lambda v, f=fn: f(v, -1)
        for axis in (0, 1, -1):
            x = Tensor(draw.reals([2, 3, 4], -3, 3))
            case(
                f"{op} axis {axis}",
                op,
                [x],
                lambda v, a=axis, f=fn: f(v, a),
                {"axis": axis},
                grad=axis != 0,
                **NEAR,
            )
        case(f"{op} of the last axis", op, [Tensor(draw.reals([2, 5]))], last, **NEAR)
        case(f"{op} float64", op, [Tensor(draw.reals([5]), "float64")], last)
        large = Tensor([[1000.0, 1001.0, 0.0], [-1000.0, -1000.0, -1000.0]])
        case(f"{op} of large numbers", op, [large], last, **NEAR)
        case(f"{op} of -infinity", op, [Tensor([0.0, -INF, 1.0])], last, **NEAR)
        odd = Tensor([[0.0, NAN, 1.0], [0.0, INF, 1.0], [1.0, 2.0, 3.0]])
        # The greatest is subtracted from all: infinity minus infinity is NaN, here and in torch.
        known = lambda v, f=last: np.where(np.isfinite(v).all(axis=-1, keepdims=True), f(v), NAN)
        case(f"{op} of NaN and infinity", op, [odd], known, **NEAR)
        view = Tensor(draw.reals([4, 3]), view=[["permute", [1, 0]], ["flip", [1]]])
        case(f"{op} of a view", op, [view], last, grad=True, **NEAR)
        case(f"{op} of one", op, [Tensor([[2.5], [-1.5]])], last)
        case(f"{op} of no rows", op, [Tensor(np.zeros([0, 3]))], last)
        for dtype, tol in (("float16", 4e-3), ("bfloat16", 4e-2)):
            case(f"{op} {dtype}", op, [Tensor(draw.reals([4]), dtype)], last, rtol=tol, atol=tol)


def _normal(x: Any, axis: Axes, eps: float) -> Any:
    d = x - x.mean(axis=axis, keepdims=True)
    return d / np.sqrt((d * d).mean(axis=axis, keepdims=True) + eps)


def _norms() -> None:
    draw = Draw("norms")
    for axis in (-1, 0, [1, 2], [-1, -2]):
        x = Tensor(draw.reals([2, 3, 4], -3, 3))
        axes = _axes(axis)
        case(
            f"layernorm axis {axis}",
            "layernorm",
            [x],
            lambda v, a=axes: _normal(v, a, 1e-5),
            {"axis": axis},
            grad=True,
            rtol=1e-5,
            atol=4e-6,
        )
    x = Tensor(draw.reals([2, 5]))
    case(
        "layernorm eps",
        "layernorm",
        [x],
        lambda v: _normal(v, -1, 0.25),
        {"eps": 0.25},
        grad=True,
        rtol=1e-5,
        atol=4e-6,
    )
    view = Tensor(draw.reals([5, 2]), view=[["permute", [1, 0]], ["flip", [1]]])
    case(
        "layernorm of a view",
        "layernorm",
        [view],
        lambda v: _normal(v, -1, 1e-5),
        rtol=1e-5,
        atol=4e-6,
    )
    case(
        "layernorm of equals",
        "layernorm",
        [Tensor(np.full([2, 4], 3.5))],
        lambda v: _normal(v, -1, 1e-5),
        atol=1e-6,
    )
    case(
        "layernorm float64",
        "layernorm",
        [Tensor(draw.reals([6]), "float64")],
        lambda v: _normal(v, -1, 1e-5),
        rtol=1e-11,
    )
    w, b = Tensor(draw.reals([4])), Tensor(draw.reals([4]))
    scaled = {"weight": {"input": 1}, "bias": {"input": 2}}
    near = {"rtol": 1e-5, "atol": 4e-6}
    x = Tensor(draw.reals([2, 4], -3, 3))
    case(
        "layernorm with weight and bias",
        "layernorm",
        [x, w, b],
        lambda v, k, c: _normal(v, -1, 1e-5) * k + c,
        scaled,
        grad=True,
        **near,
    )
    case(
        "layernorm with weight",
        "layernorm",
        [x, w],
        lambda v, k: _normal(v, -1, 1e-5) * k,
        {"weight": {"input": 1}},
        grad=True,
        **near,
    )
    _rms(draw)
    _groups(draw)
    _batch(draw)


def _rms(draw: Draw) -> None:
    def fn(x: Any, w: Any = 1.0, eps: float = 1e-6) -> Any:
        return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + eps) * w

    near = {"rtol": 1e-5, "atol": 4e-6}
    x, w = Tensor(draw.reals([2, 4], -3, 3)), Tensor(draw.reals([4]))
    case("rmsnorm", "rmsnorm", [x], fn, {"eps": 1e-6}, grad=True, **near)
    case("rmsnorm eps", "rmsnorm", [x], lambda v: fn(v, eps=0.5), {"eps": 0.5}, **near)
    case(
        "rmsnorm with weight",
        "rmsnorm",
        [x, w],
        fn,
        {"eps": 1e-6, "weight": {"input": 1}},
        grad=True,
        **near,
    )


def _groups(draw: Draw) -> None:
    def fn(x: Any, w: Any = None, b: Any = None, groups: int = 1, eps: float = 1e-5) -> Any:
        flat = x.reshape(x.shape[0], groups, -1)
        y = _normal(flat, -1, eps).reshape(x.shape)
        shape = [1, -1, *[1] * (x.ndim - 2)]
        y = y if w is None else y * w.reshape(shape)
        return y if b is None else y + b.reshape(shape)

    near = {"rtol": 1e-5, "atol": 4e-6}
    for groups in (1, 2, 4):
        x = Tensor(draw.reals([2, 4, 3], -3, 3))
        one = lambda v, g=groups: fn(v, groups=g)
        case(
            f"groupnorm of {groups} groups",
            "groupnorm",
            [x],
            one,
            {"groups": groups},
            grad=groups == 2,
            **near,
        )
    x, w, b = Tensor(draw.reals([1, 4, 2, 2])), Tensor(draw.reals([4])), Tensor(draw.reals([4]))
    args = {"groups": 2, "eps": 0.1, "weight": {"input": 1}, "bias": {"input": 2}}
    case(
        "groupnorm with weight and bias",
        "groupnorm",
        [x, w, b],
        lambda v, k, c: fn(v, k, c, 2, 0.1),
        args,
        grad=True,
        **near,
    )


def _batch(draw: Draw) -> None:
    def fn(x: Any, w: Any, b: Any, mean: Any, invstd: Any, axis: int = 1) -> Any:
        shape = [-1 if i == axis else 1 for i in range(x.ndim)]
        w, b, mean, invstd = (v.reshape(shape) for v in (w, b, mean, invstd))
        return (x - mean) * w * invstd + b

    names = ("weight", "bias", "mean", "invstd")
    args: dict[str, Any] = {name: {"input": i + 1} for i, name in enumerate(names)}
    four = [Tensor(draw.reals([3], 0.5, 2)) for _ in names]
    for shape in ([2, 3], [2, 3, 2, 2]):
        x = Tensor(draw.reals(shape, -3, 3))
        case(f"batchnorm of shape {shape}", "batchnorm", [x, *four], fn, args, grad=True, **NEAR)
    x = Tensor(draw.reals([2, 2, 3], -3, 3))
    axes = {2: 0, 3: (0, 2), 4: (0, 2, 3)}
    stats = lambda v: [v.mean(axis=axes[v.ndim]), v.var(axis=axes[v.ndim])]
    for shape in ([4, 3], [2, 3, 2], [2, 3, 2, 2]):
        y = Tensor(draw.reals(shape, -3, 3))
        smooth = len(shape) == 3
        case(
            f"batchnorm_stats of shape {shape}", "batchnorm_stats", [y], stats, grad=smooth, **NEAR
        )
    case(
        "batchnorm axis 2",
        "batchnorm",
        [x, *four],
        lambda *v: fn(*v, axis=2),
        {**args, "axis": 2},
        **NEAR,
    )
