"""Selecting elements: items, slices, tensors of positions; gather and one_hot."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cases.builder import Draw, Tensor, case


def add() -> None:
    """Add the cases of this group."""
    _items()
    _positions()
    _setitem()
    _gather()
    _select()
    _scatter()


def _numpy_items(items: list[Any], arrays: tuple[Any, ...]) -> tuple[Any, ...]:
    out: list[Any] = []
    for item in items:
        if isinstance(item, dict) and "slice" in item:
            out.append(slice(*item["slice"]))
        elif isinstance(item, dict):
            out.append(arrays[item["input"]])
        elif item == "...":
            out.append(Ellipsis)
        else:
            out.append(item)
    return tuple(out)


def cut(
    start: int | None = None, stop: int | None = None, step: int | None = None
) -> dict[str, Any]:
    """Return a slice as an item."""
    return {"slice": [start, stop, step]}


def _get(
    shape: list[int],
    items: list[Any],
    view: Any = None,
    dtype: str = "float32",
    what: str = "",
    positions: Any = (),
) -> None:
    name = f"getitem {items} of shape {shape}{what}".replace("'", "")
    values = Draw(name).reals(shape) if "float" in dtype else Draw(name).ints(shape, 0, 99)
    inputs = [Tensor(values, dtype, view or []), *positions]
    case(
        name,
        "getitem",
        inputs,
        lambda *v: v[0][_numpy_items(items, v)],
        {"items": items},
        kind="index",
        rtol=0,
        atol=0,
        grad=[0] if "float" in dtype else False,
    )


def _items() -> None:
    _get([4], [2])
    _get([4], [-1])
    _get([3, 4], [1])
    _get([3, 4], [1, -2])
    _get([4], [cut(1, 3)])
    _get([5], [cut(None, None, 2)])
    _get([5], [cut(None, None, -1)])
    _get([6], [cut(4, 1, -2)])
    _get([6], [cut(-3, None)])
    _get([6], [cut(None, -2)])
    _get([6], [cut(2, 100)])
    _get([6], [cut(4, 2)])
    _get([3, 4], [cut(), 1])
    _get([3, 4], [cut(0, 2), cut(1, None, 2)])
    _get([3, 4], ["...", 0])
    _get([2, 3, 4], [1, "...", cut(1, 3)])
    _get([3, 4], [None, 1])
    _get([3, 4], [cut(), None, cut(1, 2)])
    _get([3], ["...", None])
    _get([2, 3], [0, 1, None])
    _get([4, 3], [cut(1, 3), cut(None, None, -1)], [["permute", [1, 0]]], what=" permuted")
    _get([3, 4], [1], [["flip", [0, 1]]], what=" flipped")
    _get([3, 4], [cut(1, 2), 3], dtype="int32", what=" int32")
    _get([0, 2], [cut(0, 3)])


def _positions() -> None:
    def at(values: Any, dtype: str = "int32") -> Tensor:
        return Tensor(np.array(values), dtype, index=True)

    _get([4], [{"input": 1}], positions=[at([3, 0, 0])])
    _get([4, 2], [{"input": 1}], positions=[at([[3, 0], [1, -1]])])
    _get([3, 4], [cut(), {"input": 1}], positions=[at([2, 0, 2], "int64")])
    _get([3, 4], [{"input": 1}, {"input": 2}], positions=[at([0, 2]), at([3, 1])])
    both = [at([0, 2]), at([3, 1])]
    _get([3, 4], [{"input": 1}, {"input": 2}], dtype="bool", what=" bool", positions=both)
    _get(
        [3, 4],
        [{"input": 1}, {"input": 2}],
        what=" broadcast",
        positions=[at([[0], [2]]), at([3, 1])],
    )
    _get([3, 4, 2], [{"input": 1}, "...", 0], positions=[at([2, 1])])
    _get([3, 4], [{"input": 1}], [["permute", [1, 0]]], what=" permuted", positions=[at([3, 0])])
    _get([3, 2], [{"input": 1}, None], positions=[at([0, 1])])
    _get([3], [{"input": 1}], what=" none", positions=[at(np.zeros([0], int))])


def _setitem() -> None:
    def put(shape: list[int], items: list[Any], value: Any, what: str = "") -> None:
        name = f"setitem {items} of shape {shape}{what}".replace("'", "")
        x = Tensor(Draw(name).reals(shape))

        def fn(v: Any, new: Any) -> Any:
            out = v.copy()
            out[_numpy_items(items, (v, new))] = new
            return out

        case(name, "setitem", [x, value], fn, {"items": items}, kind="index", rtol=0, atol=0)

    put([4], [1], 9.5)
    put([3, 4], [cut(0, 2), 1], Tensor([1.5, 2.5]))
    put([3, 4], [1], Tensor([1.0, 2.0, 3.0, 4.0]))
    put([3, 4], [cut(None, None, 2)], 0.5)
    put([3, 4], ["...", cut(2, None)], Tensor([[7.0], [8.0], [9.0]]))
    put([5], [cut(None, None, -2)], Tensor([1.0, 2.0, 3.0]))


def _one(
    op: str,
    name: str,
    inputs: list[Any],
    fn: Callable[..., Any],
    args: dict[str, Any],
    **options: Any,
) -> None:
    case(name, op, inputs, fn, args, rtol=0, atol=0, **options)


def _gather() -> None:
    draw = Draw("gather")

    def take(
        shape: list[int], dim: int, index: Any, view: Any = None, dtype: str = "int32"
    ) -> None:
        x = Tensor(draw.reals(shape), view=view or [])
        at = Tensor(np.array(index), dtype, index=True)

        def fn(v: Any, i: Any) -> Any:
            box = tuple(
                slice(0, n) if k != dim % v.ndim else slice(None) for k, n in enumerate(i.shape)
            )
            return np.take_along_axis(v[box], i, dim)

        what = dtype + (" of a view" if view else "")
        name = f"gather dim {dim} of shape {shape} at {list(np.shape(index))} {what}"
        _one("gather", name, [x, at], fn, {"dim": dim, "index": {"input": 1}}, grad=[0])

    take([3, 4], 0, [[2, 0, 1, 1], [0, 0, 2, 1]])
    take([3, 4], 1, [[3, 0], [1, 1], [2, 0]])
    take([3, 4], -1, [[3], [1], [2]], dtype="int64")
    take([3, 4], 0, [[2, 0]])
    take([2, 3, 2], 1, [[[2, 0]], [[1, 1]]])
    take([4, 3], 1, [[3, 0], [1, 1], [2, 0]], [["permute", [1, 0]]])
    for dtype in ("int32", "uint8", "int64"):
        x = Tensor([0, 2, 1], dtype, index=True)
        _one(
            "one_hot",
            f"one_hot {dtype}",
            [x],
            lambda v: np.eye(4, dtype=int)[v.astype(int)],
            {"num_classes": 4},
            out="int32",
        )
    x = Tensor([[0, 1], [1, 2]], "int32", index=True)
    _one(
        "one_hot",
        "one_hot of two axes",
        [x],
        lambda v: np.eye(3, dtype=int)[v],
        {"num_classes": 3},
        out="int32",
    )


def _select() -> None:
    draw = Draw("select")
    for shape, dim, index in (
        ([4], 0, [3, 0, 0]),
        ([3, 4], 1, [2, 0]),
        ([3, 4], 0, [-1, 1]),
        ([2, 3, 2], -2, [1]),
    ):
        x, at = Tensor(draw.reals(shape)), Tensor(np.array(index), "int32", index=True)
        fn = lambda v, i, d=dim: np.take(v, i, d)
        args = {"dim": dim, "index": {"input": 1}}
        _one(
            "index_select", f"index_select dim {dim} of shape {shape}", [x, at], fn, args, grad=[0]
        )
    x = Tensor(draw.reals([3, 4]), view=[["permute", [1, 0]]])
    at = Tensor([2, 0], "int64", index=True)
    args = {"dim": 1, "index": {"input": 1}}
    _one("index_select", "index_select of a view", [x, at], lambda v, i: v[:, i], args, grad=[0])
    x = Tensor(draw.reals([2, 3]))
    mask = Tensor([[True, False, True], [False, False, True]], "bool")
    args = {"mask": {"input": 1}}
    _one("masked_select", "masked_select", [x, mask], lambda v, m: v[m], args, grad=[0])
    rows = Tensor([[True], [False]], "bool")
    fn = lambda v, m: v[np.broadcast_to(m, v.shape)]
    _one("masked_select", "masked_select of rows", [x, rows], fn, args)
    none = Tensor(np.zeros([2, 3]), "bool")
    _one("masked_select", "masked_select of nothing", [x, none], lambda v, m: v[m], args)
    y = Tensor([[1, 0, 2], [0, 0, 3]], "int32")
    fn = lambda v: np.argwhere(v)
    _one("nonzero", "nonzero", [y], fn, {}, out="int32", index_out=[0])
    _one(
        "nonzero",
        "nonzero of a vector",
        [Tensor([0.0, 1.5, 0.0, -2.0])],
        fn,
        {},
        out="int32",
        index_out=[0],
    )
    _one("nonzero", "nonzero of zeros", [Tensor([0.0, 0.0])], fn, {}, out="int32", index_out=[0])


def _scatter() -> None:
    draw = Draw("scatter")
    combine: dict[str, Callable[[float, float], float]] = {
        "sum": lambda a, b: a + b,
        "prod": lambda a, b: a * b,
        "amax": max,
        "amin": min,
        "mean": lambda a, b: a + b,
    }

    def put(x: Any, index: Any, src: Any, dim: int, how: str | None, keep: bool) -> Any:
        out, counts = x.copy(), np.full(x.shape, int(keep))
        for at in np.ndindex(*index.shape):
            to = list(at)
            to[dim] = index[at]
            place = tuple(to)
            if how is None or counts[place] == 0:
                out[place] = src[at]
            else:
                out[place] = combine[how](out[place], src[at])
            counts[place] += 1
        return np.where(counts > 0, out / np.maximum(counts, 1), x) if how == "mean" else out

    def one(
        op: str,
        what: str,
        shape: list[int],
        index: Any,
        dim: int,
        how: str | None = None,
        keep: bool = True,
        grad: bool = True,
    ) -> None:
        at = np.array(index)
        x, src = Tensor(draw.reals(shape)), Tensor(draw.reals(at.shape))
        args: dict[str, Any] = {"dim": dim, "index": {"input": 1}, "src": {"input": 2}}
        if how:
            args["reduce"] = how
        if not keep:
            args["include_self"] = False
        three = [x, Tensor(at, "int32", index=True), src]
        case(
            what,
            op,
            three,
            lambda v, i, s: put(v, i, s, dim, how, keep),
            args,
            rtol=2e-6,
            atol=1e-6,
            grad=[0, 2] if grad else False,
        )

    one("scatter", "scatter dim 0", [3, 4], [[2, 0, 1, 1]], 0)
    one("scatter", "scatter dim 1", [2, 4], [[3, 1], [0, 2]], 1)
    one("scatter", "scatter, the last one wins", [1, 3], [[1, 1, 0]], 1, grad=False)
    one("scatter", "scatter of a vector", [5], [4, 0], 0)
    for how in combine:
        for keep in (True, False):
            what = f"scatter_reduce {how}{'' if keep else ' without self'}"
            smooth = how in ("sum", "mean")
            one("scatter_reduce", what, [2, 4], [[1, 1, 3], [0, 2, 0]], 1, how, keep, grad=smooth)
    one("scatter_reduce", "scatter_reduce dim 0", [3, 2], [[2, 0], [2, 2], [0, 1]], 0, "sum")
