"""Sorting, choosing the greatest, running products and extremes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cases.builder import INF, NAN, Draw, Tensor, case, error

NEAR = {"rtol": 4e-6, "atol": 2e-6}


def add() -> None:
    """Add the cases of this group."""
    _sort()
    _topk()
    _quantile()
    _search()
    _distinct()
    _counts()
    _running()
    _not_numbers()


def _sorted(x: Any, axis: int, descending: bool) -> tuple[Any, Any]:
    flipped = -x if descending else x
    at = np.argsort(flipped, axis=axis, kind="stable")
    return np.take_along_axis(x, at, axis), at


def _sort() -> None:
    draw = Draw("sort")
    ways: list[tuple[str, Tensor, dict[str, Any]]] = [
        ("of a vector", Tensor(draw.reals([6])), {}),
        ("of one", Tensor(draw.reals([1])), {}),
        ("of the last axis", Tensor(draw.reals([2, 5])), {}),
        ("of axis 0", Tensor(draw.reals([4, 3])), {"dim": 0}),
        ("of axis 1 of three", Tensor(draw.reals([2, 3, 2])), {"dim": 1}),
        ("descending", Tensor(draw.reals([7])), {"descending": True}),
        ("of equals", Tensor([2.0, 1.0, 2.0, 1.0, 3.0, 1.0]), {}),
        ("of equals descending", Tensor([2.0, 1.0, 2.0, 1.0, 3.0, 1.0]), {"descending": True}),
        ("of infinities", Tensor([INF, 1.0, -INF, 0.5]), {}),
        ("int32", Tensor([3, -1, 7, 0, 3], "int32"), {}),
        ("uint8 descending", Tensor([3, 255, 0, 3], "uint8"), {"descending": True}),
        ("int64 beyond 2^53", Tensor([2**60 + 1, 2**60, -(2**60)], "int64"), {}),
        ("float64", Tensor(draw.reals([5]), "float64"), {}),
        ("of a view", Tensor(draw.reals([3, 4]), view=[["permute", [1, 0]], ["flip", [1]]]), {}),
        ("of 33", Tensor(draw.reals([33], -9, 9)), {}),
        ("of no rows", Tensor(np.zeros([0, 3])), {}),
    ]
    for what, x, args in ways:
        axis, down = args.get("dim", -1), args.get("descending", False)
        whole = "int" in x.dtype
        # -x of unsigned numbers wraps: Python's integers do not.
        fn = lambda v, a=axis, d=down: _sorted(
            np.asarray(v, np.int64) if v.dtype.kind in "iu" else v, a, d
        )
        smooth = what in ("of the last axis", "descending", "of a view", "of axis 0")
        case(
            f"sort {what}",
            "sort",
            [x],
            fn,
            args,
            out=[x.dtype, "int32"],
            rtol=0,
            atol=0,
            index_out=[1],
            grad=smooth and not whole,
        )
        at = lambda v, f=fn: f(v)[1]
        case(f"argsort {what}", "argsort", [x], at, args, out="int32", index_out=[0])


def _topk() -> None:
    draw = Draw("topk")

    def one(what: str, x: Tensor, k: int, grad: bool = False, **args: Any) -> None:
        axis, largest = args.get("dim", -1), args.get("largest", True)

        def fn(v: Any) -> tuple[Any, Any]:
            values, at = _sorted(v, axis, largest)
            first = [slice(None)] * v.ndim
            first[axis] = slice(0, k)
            return values[tuple(first)], at[tuple(first)]

        case(
            f"topk {what}",
            "topk",
            [x],
            fn,
            {"k": k, **args},
            out=[x.dtype, "int32"],
            rtol=0,
            atol=0,
            index_out=[1],
            grad=grad,
        )

    one("of a vector", Tensor(draw.reals([6])), 3, grad=True)
    one("of all", Tensor(draw.reals([4])), 4)
    one("of none", Tensor(draw.reals([4])), 0)
    one("smallest", Tensor(draw.reals([6])), 2, largest=False)
    one("of axis 0", Tensor(draw.reals([4, 3])), 2, grad=True, dim=0)
    one("of equals", Tensor([1.0, 3.0, 3.0, 2.0, 3.0]), 2)
    one("int32", Tensor([3, -1, 7, 0], "int32"), 2)
    one("of a view", Tensor(draw.reals([3, 4]), view=[["permute", [1, 0]]]), 2, grad=True)


def _running_extreme(greatest: bool, axis: int) -> Callable[[Any], tuple[Any, Any]]:
    def fn(x: Any) -> tuple[Any, Any]:
        rows = np.moveaxis(x, axis, -1)
        values, places = np.empty_like(rows), np.zeros(rows.shape, np.int64)
        for i in np.ndindex(*rows.shape[:-1]):
            best = 0
            for k, v in enumerate(rows[i]):
                if (v > rows[i][best]) if greatest else (v < rows[i][best]):
                    best = k
                values[i][k], places[i][k] = rows[i][best], best
        return np.moveaxis(values, -1, axis), np.moveaxis(places, -1, axis)

    return fn


def _quantile() -> None:
    draw = Draw("quantile")
    for axis, q in ((0, 0.5), (1, 0.25), (-1, 0.9), (1, 0.0), (0, 1.0)):
        case(
            f"quantile {q} axis {axis}",
            "quantile",
            [Tensor(draw.reals([4, 5], -5, 5))],
            lambda v, a=axis, share=q: np.quantile(v, share, axis=a),
            {"q": q, "axis": axis},
            grad=True,
            **NEAR,
        )
    case(
        "quantile of all, keepdim",
        "quantile",
        [Tensor(draw.reals([3, 2, 7], -5, 5))],
        lambda v: np.quantile(v, 0.3, keepdims=True),
        {"q": 0.3, "keepdim": True},
        **NEAR,
    )
    case(
        "quantile of int32 is float32",
        "quantile",
        [Tensor([5, 1, 4, 2], "int32")],
        lambda v: np.quantile(v, 0.5),
        {"q": 0.5},
        out="float32",
    )
    case(
        "quantile of many elements",
        "quantile",
        [Tensor(draw.reals([2, 50], -5, 5))],
        lambda v: np.quantile(v, 0.123, axis=1),
        {"q": 0.123, "axis": 1},
        **NEAR,
    )
    case(
        "quantile of NaN is NaN",
        "quantile",
        [Tensor([[1.0, NAN, 2.0], [INF, 3.0, -INF]])],
        lambda v: np.array([NAN, 3.0]),
        {"q": 0.5, "axis": 1},
    )
    share = {"q": 1.5}
    error("quantile of a share above 1", "quantile", [Tensor([1.0, 2.0])], "expected 0 to 1", share)


def _search() -> None:
    draw = Draw("search")
    for what, x, values in (
        ("reals", Tensor(np.sort(draw.reals([20], -3, 3))), Tensor(draw.reals([2, 7], -4, 4))),
        ("equals", Tensor([1, 2, 2, 2, 5], "int32"), Tensor([0, 1, 2, 3, 5, 6], "int32")),
        ("not a number", Tensor([-INF, 1.0, NAN, NAN]), Tensor([NAN, INF, -INF, 1.0])),
        ("no elements", Tensor(np.zeros(0)), Tensor([1.0, 2.0])),
    ):
        for right in (False, True):
            case(
                f"searchsorted {what}, right {right}",
                "searchsorted",
                [x, values],
                lambda v, w, side=("left", "right")[right]: np.searchsorted(v, w, side=side),
                {"right": right},
                out="int32",
            )
    case(
        "searchsorted of rows",
        "searchsorted",
        [Tensor(np.sort(draw.reals([3, 40], -3, 3), axis=1)), Tensor(draw.reals([3, 5], -4, 4))],
        lambda v, w: np.stack([np.searchsorted(a, b) for a, b in zip(v, w)]),
        out="int32",
    )
    wrong = [Tensor(draw.reals([3, 4])), Tensor(draw.reals([2, 5]))]
    error("searchsorted of other rows", "searchsorted", wrong, "but for the last axis")
    for what, x, values in (
        ("int32", Tensor([[1, 5, 3], [0, 9, 5]], "int32"), Tensor([5, 0, 7, 5], "int32")),
        ("not a number", Tensor([NAN, 1.0, 2.0]), Tensor([NAN, 2.0])),
        ("none", Tensor([1.0, 2.0]), Tensor(np.zeros(0))),
    ):
        case(f"isin {what}", "isin", [x, values], lambda v, w: np.isin(v, w), out="bool")


def _distinct() -> None:
    draw = Draw("unique")
    many = Tensor((draw.reals([70], 0, 9)).astype(np.int64), "int32")
    for what, x in (
        ("int32", Tensor([[3, 1, 3], [2, 1, 1]], "int32")),
        ("bool", Tensor([True, False, True], "bool")),
        ("uint8", Tensor([255, 0, 255, 7], "uint8")),
        ("not a number", Tensor([NAN, 1.0, -0.0, NAN, 0.0, -INF])),
        ("one element", Tensor([2.5])),
        ("no elements", Tensor(np.zeros([2, 0]))),
        ("many elements", many),
    ):
        case(
            f"unique {what}",
            "unique",
            [x],
            lambda v: np.unique(v, return_inverse=True, return_counts=True),
            out=[x.dtype, "int32", "int32"],
            rtol=0,
            atol=0,
            index_out=[1],
        )


def _counts() -> None:
    draw = Draw("counts")
    x = Tensor([[3, 1, 3], [0, 6, 3]], "int32")
    case("bincount", "bincount", [x], lambda v: np.bincount(v.ravel()), out="int32")
    for n in (3, 10):
        fn = lambda v, least=n: np.bincount(v.ravel(), minlength=least)
        case(f"bincount at least {n}", "bincount", [x], fn, {"minlength": n}, out="int32")
    none = Tensor(np.zeros(0, np.int64), "int64")
    case("bincount of none", "bincount", [none], lambda v: np.zeros(0, np.int64), out="int32")
    case("bincount of uint8", "bincount", [Tensor([2, 0, 2], "uint8")], np.bincount, out="int32")
    error("bincount of reals", "bincount", [Tensor([1.0, 2.0])], "an integer type")
    error("bincount of a negative length", "bincount", [x], "expected 0 or more", {"minlength": -1})
    values = draw.reals([50], -3, 3)
    for what, inputs, args, bounds in (
        ("reals", [Tensor(values)], {"bins": 7}, None),
        ("bounds", [Tensor(values)], {"bins": 6, "low": -1.5, "high": 1.5}, (-1.5, 1.5)),
        ("edges", [Tensor(np.arange(50.0))], {"bins": 7}, None),
        ("one value", [Tensor([2.0, 2.0])], {}, None),
        ("no elements", [Tensor(np.zeros(0))], {"bins": 3}, None),
    ):
        case(
            f"histogram {what}",
            "histogram",
            inputs,
            lambda v, n=args.get("bins", 10), b=bounds: np.histogram(v, n, b),
            args,
            out=["int32", "float32"],
        )
    error("histogram of no bins", "histogram", [Tensor(values)], "1 or more", {"bins": 0})


def _log_sum(axis: int) -> Callable[[Any], Any]:
    return lambda x: np.logaddexp.accumulate(x, axis=axis)


def _running() -> None:
    draw = Draw("running")
    for axis in (0, 1, -1):
        args = {"axis": axis}
        x = Tensor(draw.reals([2, 3, 2], 0.5, 2))
        case(
            f"cumprod axis {axis}",
            "cumprod",
            [x],
            lambda v, a=axis: np.cumprod(v, axis=a),
            args,
            grad=axis == 1,
            **NEAR,
        )
        x = Tensor(draw.reals([2, 3, 2]))
        case(
            f"logcumsumexp axis {axis}",
            "logcumsumexp",
            [x],
            _log_sum(axis),
            args,
            grad=axis == 1,
            **NEAR,
        )
    case(
        "cumprod int32",
        "cumprod",
        [Tensor([1, 2, 3, -4], "int32")],
        lambda v: np.cumprod(v),
        {"axis": 0},
    )
    case(
        "cumprod with zeros",
        "cumprod",
        [Tensor([2.0, 0.0, 3.0])],
        lambda v: np.cumprod(v),
        {"axis": 0},
    )
    large = Tensor([1000.0, 1000.0, -1000.0])
    case(
        "logcumsumexp does not overflow", "logcumsumexp", [large], _log_sum(0), {"axis": 0}, **NEAR
    )
    for op, greatest in (("cummax", True), ("cummin", False)):
        for axis in (0, 1):
            fn = _running_extreme(greatest, axis)
            x = Tensor(draw.reals([3, 4], -5, 5))
            case(
                f"{op} axis {axis}",
                op,
                [x],
                fn,
                {"axis": axis},
                out=["float32", "int32"],
                rtol=0,
                atol=0,
                index_out=[1],
                grad=True,
            )
        fn = _running_extreme(greatest, 0)
        ties = Tensor([2, 3, 3, 1, 1, 5, 5], "int32")
        case(
            f"{op} of equals is the first",
            op,
            [ties],
            fn,
            {"axis": 0},
            out=["int32", "int32"],
            index_out=[1],
        )
        view = Tensor(draw.reals([6], -5, 5), view=[["flip", [0]]])
        case(
            f"{op} of a view",
            op,
            [view],
            fn,
            {"axis": 0},
            out=["float32", "int32"],
            rtol=0,
            atol=0,
            index_out=[1],
        )


def _not_numbers() -> None:
    """NaN is greater than every number; what runs over it stays NaN."""
    x = Tensor([2.0, NAN, -INF, 1.0, NAN, INF])
    up, down = [2, 3, 0, 5, 1, 4], [1, 4, 5, 0, 3, 2]
    two = ["float32", "int32"]
    for name, at, args in (("", up, {}), (" descending", down, {"descending": True})):
        fn = lambda v, i=at: (v[i], np.array(i))
        case(f"sort of NaN{name}", "sort", [x], fn, args, out=two, index_out=[1])
        places = lambda v, i=at: np.array(i)
        case(f"argsort of NaN{name}", "argsort", [x], places, args, out="int32", index_out=[0])
    for name, at, args in (("", down[:3], {}), (" smallest", up[:3], {"largest": False})):
        fn = lambda v, i=at: (v[i], np.array(i))
        case(f"topk of NaN{name}", "topk", [x], fn, {"k": 3, **args}, out=two, index_out=[1])
    y = Tensor([1.0, 3.0, -INF, INF, NAN, 2.0])
    for op, values, at in (
        ("cummax", [1, 3, 3, INF, NAN, NAN], [0, 1, 1, 3, 4, 4]),
        ("cummin", [1, 1, -INF, -INF, NAN, NAN], [0, 0, 2, 2, 4, 4]),
    ):
        fn = lambda v, a=values, i=at: (np.array(a, float), np.array(i))
        case(f"{op} of NaN and infinities", op, [y], fn, {"axis": 0}, out=two, index_out=[1])
    z = Tensor([-INF, -INF, 1.0, 2.0, INF, 0.0, NAN, 1.0])
    case(
        "logcumsumexp of NaN and infinities", "logcumsumexp", [z], _log_sum(0), {"axis": 0}, **NEAR
    )
    case("cumsum of NaN and infinities", "cumsum", [z], np.cumsum, {"axis": 0})
    many = Tensor(Draw("many").reals([100], -20, 20))
    case(
        "sort of 100",
        "sort",
        [many],
        lambda v: _sorted(v, 0, False),
        out=two,
        rtol=0,
        atol=0,
        index_out=[1],
    )
    rows = Tensor(Draw("rows").reals([3, 65], -20, 20))
    case(
        "topk 5 of rows of 65",
        "topk",
        [rows],
        lambda v: [r[:, :5] for r in _sorted(v, 1, True)],
        {"k": 5},
        out=two,
        rtol=0,
        atol=0,
        index_out=[1],
    )
