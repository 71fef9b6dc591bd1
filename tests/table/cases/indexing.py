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
