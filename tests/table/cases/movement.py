"""Views: reshape, permute, pad and the like; joining and cutting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cases.builder import NAN, Draw, Tensor, case


def add() -> None:
    """Add the cases of this group."""
    _shapes()
    _axes()
    _borders()
    _modes()
    _moves()
    _rearrange()
    _joins()
    _cuts()


def _x(
    name: str, shape: list[int], view: list[Any] | None = None, dtype: str = "float32"
) -> Tensor:
    if "float" in dtype:
        return Tensor(Draw(name).reals(shape, -5, 5), dtype, view or [])
    return Tensor(Draw(name).ints(shape, 0, 9), dtype, view or [])


def _one(
    op: str,
    shape: list[int],
    fn: Callable[[Any], Any],
    what: str = "",
    view: Any = None,
    /,
    dtype: str = "float32",
    grad: bool = True,
    **args: Any,
) -> None:
    """Add a movement of one tensor; it only copies, so the values are exact."""
    given = ", ".join(f"{k} {v}" for k, v in args.items())
    name = " ".join(s for s in (op, what, f"of shape {shape}" if not what else "", given) if s)
    x = _x(name, shape, view, dtype)
    case(name, op, [x], fn, args, rtol=0, atol=0, grad=grad and "float" in dtype)


def _shapes() -> None:
    swapped = [["permute", [1, 0]]]
    for op in ("reshape", "view"):
        _one(op, [2, 6], lambda v: v.reshape(3, 4), shape=[3, 4])
    for shape, to in (
        ([2, 3], [6]),
        ([6], [2, -1]),
        ([1], []),
        ([], [1, 1]),
        ([0, 3], [3, 0]),
        ([2, 2, 3], [-1]),
    ):
        _one("reshape", shape, lambda v, t=to: v.reshape(t), shape=to)
    _one("reshape", [2, 3], lambda v: v.reshape(2, 3), "permuted", swapped, shape=[2, 3])
    _one("reshape", [2, 3], lambda v: v.reshape(6), "flipped", [["flip", [0, 1]]], shape=[6])
    _one(
        "reshape",
        [4, 4],
        lambda v: v.reshape(6),
        "shrunk",
        [["shrink", [[1, 3], [1, 4]]]],
        shape=[6],
    )
    _one(
        "reshape", [2, 1], lambda v: v.reshape(3, 2), "expanded", [["expand", [2, 3]]], shape=[3, 2]
    )
    for dtype in ("int32", "uint8", "int64", "float64", "float16"):
        _one(
            "reshape",
            [2, 3],
            lambda v: v.reshape(3, 2),
            dtype,
            dtype=dtype,
            grad=False,
            shape=[3, 2],
        )
    for shape, to, full in (
        ([2, 1], [2, 3], [2, 3]),
        ([3], [2, 3], [2, 3]),
        ([1, 3], [2, -1], [2, 3]),
        ([], [2, 2], [2, 2]),
        ([1, 2], [0, 2], [0, 2]),
        ([1], [4], [4]),
    ):
        _one("expand", shape, lambda v, t=full: np.broadcast_to(v, t), shape=to)
    _one("flatten", [2, 3, 4], lambda v: v.reshape(-1))
    _one("flatten", [2, 3, 4], lambda v: v.reshape(2, 12), start_dim=1)
    _one("flatten", [2, 3, 4], lambda v: v.reshape(6, 4), start_dim=0, end_dim=1)
    _one("flatten", [2, 3, 4], lambda v: v.reshape(2, 12), start_dim=-2, end_dim=-1)
    _one("flatten", [2, 3], lambda v: v.reshape(-1), "permuted", swapped)
    _one("flatten", [], lambda v: v.reshape(1))
    _one("unflatten", [2, 12], lambda v: v.reshape(2, 3, 4), dim=1, sizes=[3, 4])
    _one("unflatten", [6, 2], lambda v: v.reshape(2, 3, 2), dim=0, sizes=[2, -1])
    _one("unflatten", [2, 4], lambda v: v.reshape(2, 2, 2), dim=-1, sizes=[2, 2])
    for dim in (0, 2, -1, None):
        args = {} if dim is None else {"dim": dim}
        _one("squeeze", [1, 3, 1], lambda v, d=dim: np.squeeze(v, d), **args)
    _one("squeeze", [2, 3], lambda v: v, dim=0)
    _one("squeeze", [1, 1], lambda v: v.reshape([]))
    for dim in (0, 1, 2, -1, -2):
        _one("unsqueeze", [2, 3], lambda v, d=dim: np.expand_dims(v, d), dim=dim)
    _one("unsqueeze", [], lambda v: v.reshape(1), dim=0)
    _one("repeat", [2], lambda v: np.tile(v, [3]), repeats=[3])
    _one("repeat", [2, 2], lambda v: np.tile(v, [2, 3]), repeats=[2, 3])
    _one("repeat", [2], lambda v: np.tile(v, [2, 2]), repeats=[2, 2])
    _one("repeat", [2, 1], lambda v: np.tile(v, [1, 4]), repeats=[1, 4])
    _one("repeat", [2], lambda v: np.tile(v, [0]), repeats=[0])
    _one("repeat", [3, 2], lambda v: np.tile(v, [2, 1]), "permuted", swapped, repeats=[2, 1])


def _axes() -> None:
    for order in ([2, 0, 1], [0, 2, 1], [-1, 0, 1], [0, 1, 2]):
        _one("permute", [2, 3, 4], lambda v, o=order: np.transpose(v, o), order=order)
    _one("permute", [], lambda v: v, order=[])
    _one("permute", [0, 3], lambda v: v.T, order=[1, 0])
    _one("permute", [3, 2], lambda v: v.T, "flipped", [["flip", [0]]], order=[1, 0])
    _one("transpose", [2, 3], lambda v: v.T)
    _one("transpose", [2, 3, 4], lambda v: v.swapaxes(0, 2), dim0=0, dim1=2)
    _one("transpose", [2, 3, 4], lambda v: v.swapaxes(-1, 0), dim0=-1, dim1=0)
    case("T", "T", [_x("T", [2, 3, 4])], lambda v: v.swapaxes(-1, -2), kind="property", grad=True)
    case("T of a view", "T", [_x("TV", [2, 3], [["flip", [1]]])], lambda v: v.T, kind="property")
    for axis in (0, 1, [0, 1], -1, [0, -1]):
        axes = tuple(axis) if isinstance(axis, list) else axis
        _one("flip", [2, 3], lambda v, a=axes: np.flip(v, a), axis=axis)
    _one("flip", [2, 3], lambda v: np.flip(v, 0), "permuted", [["permute", [1, 0]]], axis=0)
    _one("flip", [0, 2], lambda v: np.flip(v, 1), axis=1)
    _one("flip", [3], lambda v: np.flip(v, 0), "int32", dtype="int32", axis=[0])


def _borders() -> None:
    _one("shrink", [4, 5], lambda v: v[1:3, 0:4], arg=[[1, 3], [0, 4]])
    _one("shrink", [4, 5], lambda v: v[:, 2:5], arg=[None, [2, 5]])
    _one("shrink", [3, 3], lambda v: v[1:1, :], arg=[[1, 1], [0, 3]])
    _one(
        "shrink",
        [3, 4],
        lambda v: v[1:3, 1:2],
        "permuted",
        [["permute", [1, 0]]],
        arg=[[1, 3], [1, 2]],
    )
    for arg in ([[1, 2], [0, 1]], [[0, 0], [3, 0]], [[2, 2], [2, 2]]):
        _one("pad", [2, 3], lambda v, p=arg: np.pad(v, p), padding=arg)
    _one(
        "pad",
        [2, 3],
        lambda v: np.pad(v, [[1, 0], [0, 2]], constant_values=-1.5),
        padding=[[1, 0], [0, 2]],
        value=-1.5,
    )
    _one("pad", [2, 3], lambda v: np.pad(v, [[0, 0], [1, 2]]), "a flat list", padding=[1, 2])
    _one(
        "pad",
        [2, 3],
        lambda v: np.pad(v, [[3, 0], [1, 2]]),
        "a flat list of two axes",
        padding=[1, 2, 3, 0],
    )
    _one(
        "pad",
        [2, 4],
        lambda v: np.pad(v[:, 1:], [[1, 0], [0, 2]]),
        "cuts",
        padding=[[1, 0], [-1, 2]],
    )
    _one("pad", [0], lambda v: np.pad(v, [[1, 2]]), padding=[[1, 2]])
    _one(
        "pad",
        [3],
        lambda v: np.pad(v, [[1, 2]], constant_values=7),
        "int32",
        dtype="int32",
        padding=[[1, 2]],
        value=7,
    )
    _one(
        "pad",
        [3, 2],
        lambda v: np.pad(v, [[0, 1], [1, 0]]),
        "permuted",
        [["permute", [1, 0]]],
        padding=[[0, 1], [1, 0]],
    )
    odd = Tensor([[1.0, NAN, 3.0], [4.0, 5.0, np.inf], [7.0, 8.0, -np.inf]])
    for op, fn in (("tril", np.tril), ("triu", np.triu)):
        for diagonal in (0, 1, -1, 5):
            args = {"diagonal": diagonal} if diagonal else {}
            _one(op, [3, 4], lambda v, f=fn, d=diagonal: f(v, d), **args)
        _one(op, [2, 3, 3], lambda v, f=fn: f(v))
        _one(op, [3, 2], lambda v, f=fn: f(v), "permuted", [["permute", [1, 0]]])
        _one(op, [3, 3], lambda v, f=fn: f(v), "int32", dtype="int32")
        keep = fn(np.ones([3, 3], bool))
        case(f"{op} of NaN and infinities", op, [odd], lambda v, k=keep: np.where(k, v, 0))


def _modes() -> None:
    names = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}
    for mode, name in names.items():
        for shape, arg in (([4], [[2, 1]]), ([2, 3], [[1, 0], [0, 2]]), ([3, 3], [[0, 0], [1, 1]])):
            fn = lambda v, p=arg, m=name: np.pad(v, p, mode=m)
            _one("pad", shape, fn, padding=arg, mode=mode)
        _one(
            "pad",
            [3, 2],
            lambda v, m=name: np.pad(v, [[1, 1], [0, 1]], mode=m),
            f"{mode} permuted",
            [["permute", [1, 0]]],
            padding=[[1, 1], [0, 1]],
            mode=mode,
        )

    for shape, arg in (([5], [[1, -5]]), ([5], [[-2, 3]]), ([3, 4], [[0, 2], [-1, -1]])):

        def around(v: Any, p: Any = arg) -> Any:
            for axis, (before, after) in enumerate(p):
                at = np.arange(-before, v.shape[axis] + after) % v.shape[axis]
                v = v.take(at, axis)
            return v

        _one("pad", shape, around, "cut", padding=arg, mode="circular")


def _moves() -> None:
    for shape, repeats, dim in (
        ([3], 2, 0),
        ([2, 3], 2, 1),
        ([2, 3], 3, 0),
        ([2, 2], 2, -1),
        ([2], 0, 0),
    ):
        _one(
            "repeat_interleave",
            shape,
            lambda v, r=repeats, d=dim: np.repeat(v, r, d),
            repeats=repeats,
            dim=dim,
        )
    _one("repeat_interleave", [2, 3], lambda v: np.repeat(v, 2), "flattened", repeats=2)
    for shape, dim, size, step in (
        ([6], 0, 2, 2),
        ([6], 0, 3, 1),
        ([2, 5], 1, 2, 3),
        ([5, 2], 0, 5, 1),
        ([4, 2], -2, 2, 1),
    ):

        def windows(v: Any, d: int = dim, n: int = size, s: int = step) -> Any:
            every = np.lib.stride_tricks.sliding_window_view(v, n, d)
            return np.take(every, range(0, every.shape[d % v.ndim], s), d % v.ndim)

        _one("unfold", shape, windows, dim=dim, size=size, step=step)
    none = lambda v: np.zeros((2, 2, 3, 0))
    case(
        "unfold windows of size 0",
        "unfold",
        [_x("none", [2, 4, 3])],
        none,
        {"dim": 1, "size": 0, "step": 3},
    )
    for shape, shifts, dims in (
        ([5], 2, 0),
        ([5], -1, 0),
        ([2, 3], 1, 1),
        ([2, 3], [1, -1], [0, 1]),
        ([3, 2], 5, 0),
        ([4], 0, 0),
    ):
        axes = tuple(dims) if isinstance(dims, list) else dims
        fn = lambda v, s=shifts, a=axes: np.roll(v, s, a)
        _one("roll", shape, fn, shifts=shifts, dims=dims)
    _one("roll", [2, 3], lambda v: np.roll(v, 2), "flattened", shifts=2)
    for shape, args in (
        ([3, 3], {}),
        ([2, 4], {"offset": 1}),
        ([4, 2], {"offset": -1}),
        ([2, 3, 3], {"dim1": 1, "dim2": 2}),
        ([2, 3, 3], {"dim1": 2, "dim2": 1, "offset": 1}),
        ([2, 2], {"offset": 5}),
    ):
        fn = lambda v, a=args: (
            np.diagonal(v, a.get("offset", 0), a.get("dim1", 0), a.get("dim2", 1))
            if a.get("offset") != 5
            else np.zeros([0])
        )
        _one("diagonal", shape, fn, **args)
    for n in (3, 1):
        _one("diag", [n], np.diag)
    _one("diag", [3], np.diag, "flipped", [["flip", [0]]])


def _rearrange() -> None:
    def one(shape: list[int], formula: str, fn: Callable[[Any], Any], **sizes: int) -> None:
        args: dict[str, Any] = {"formula": formula}
        if sizes:
            args["sizes"] = sizes
        x = _x(formula, shape)
        case(f"rearrange {formula}", "rearrange", [x], fn, args, rtol=0, atol=0, grad=True)

    one([2, 3], "a b -> b a", lambda v: v.T)
    one([2, 3, 4], "a b c -> (a b) c", lambda v: v.reshape(6, 4))
    one([2, 12], "b (h w) -> h b w", lambda v: v.reshape(2, 3, 4).transpose(1, 0, 2), h=3)
    one(
        [6, 2],
        "(a b) c -> a (c b)",
        lambda v: v.reshape(2, 3, 2).transpose(0, 2, 1).reshape(2, 6),
        b=3,
    )
    one([2, 1, 3], "a 1 b -> a b", lambda v: v.reshape(2, 3))
    one([2, 3], "a b -> a 1 b 1", lambda v: v.reshape(2, 1, 3, 1))
    one([2, 3, 4], "a ... -> ... a", lambda v: v.transpose(1, 2, 0))
    one([2, 3, 4], "... c -> (...) c", lambda v: v.reshape(6, 4))
    one(
        [1, 4, 4, 2],
        "b (h p) (w q) c -> b (h w) (p q c)",
        lambda v: v.reshape(1, 2, 2, 2, 2, 2).transpose(0, 1, 3, 2, 4, 5).reshape(1, 4, 8),
        p=2,
        q=2,
    )


def _joins() -> None:
    def join(
        op: str,
        shapes: list[list[int]],
        fn: Callable[..., Any],
        dim: int | None,
        what: str = "",
        views: Any = None,
        dtypes: Any = None,
    ) -> None:
        args = {} if dim is None else {"dim": dim}
        name = f"{op} of shapes {shapes}{what}" + ("" if dim is None else f" dim {dim}")
        draw = Draw(name)
        kinds = dtypes or ["float32"] * len(shapes)
        views = views or [[]] * len(shapes)
        inputs = [
            Tensor(draw.reals(s) if "float" in k else draw.ints(s, 0, 9), k, v)
            for s, k, v in zip(shapes, kinds, views)
        ]
        smooth = all("float" in k for k in kinds)
        case(name, op, inputs, fn, args, kind="list", rtol=0, atol=0, grad=smooth)

    def cat(axis: int) -> Callable[..., Any]:
        return lambda *v: np.concatenate(v, axis)

    def stack(axis: int) -> Callable[..., Any]:
        return lambda *v: np.stack(v, axis)

    join("cat", [[2], [3]], cat(0), None)
    join("cat", [[2, 3], [1, 3]], cat(0), 0)
    join("cat", [[2, 1], [2, 2], [2, 3]], cat(1), 1)
    join("cat", [[2, 1], [2, 2]], cat(-1), -1)
    join("cat", [[2, 3]], cat(0), 0)
    join("cat", [[0, 2], [2, 2]], cat(0), 0)
    join("cat", [[2, 0], [2, 0]], cat(1), 1)
    join("cat", [[2, 2], [2, 2]], cat(0), 0, " views", [[["permute", [1, 0]]], [["flip", [1]]]])
    join("cat", [[2], [2]], cat(0), 0, " int32", dtypes=["int32", "int32"])
    join("cat", [[1]] * 9, cat(0), 0)
    join("stack", [[2], [2]], stack(0), None)
    join("stack", [[2, 3], [2, 3]], stack(1), 1)
    join("stack", [[2, 3], [2, 3], [2, 3]], stack(-1), -1)
    join("stack", [[], []], stack(0), 0)
    join("stack", [[0], [0]], stack(1), 1)
    join("stack", [[2, 2], [2, 2]], stack(0), 0, " views", [[["permute", [1, 0]]], [["flip", [0]]]])

    for indexing in ("ij", "xy"):
        x, y = Tensor(Draw("grid").reals([2])), Tensor(Draw("grid y").reals([3]))
        fn = lambda *v, i=indexing: np.meshgrid(*v, indexing=i)
        args = {"indexing": indexing}
        case(
            f"meshgrid {indexing}",
            "meshgrid",
            [x, y],
            fn,
            args,
            kind="list",
            rtol=0,
            atol=0,
            grad=True,
        )
        three = [x, y, Tensor(Draw("grid z").reals([2]))]
        case(
            f"meshgrid {indexing} of three",
            "meshgrid",
            three,
            fn,
            args,
            kind="list",
            rtol=0,
            atol=0,
        )


def _cuts() -> None:
    def cut(
        op: str, shape: list[int], at: list[int], axis: int, view: Any = None, /, **args: Any
    ) -> None:
        given = ", ".join(f"{k} {v}" for k, v in args.items())
        name = f"{op} of shape {shape} {given}{' of a view' if view else ''}"
        x = _x(name, shape, view)
        case(name, op, [x], lambda v: np.split(v, at, axis), args, rtol=0, atol=0, grad=True)

    cut("split", [5], [2, 4], 0, sizes=2)
    cut("split", [5], [1, 3], 0, sizes=[1, 2, 2])
    cut("split", [2, 5], [3], 1, sizes=[3, 2], dim=1)
    cut("split", [2, 4], [2], -1, sizes=2, dim=-1)
    cut("split", [3], [0], 0, sizes=[0, 3])
    cut("split", [3], [], 0, sizes=5)
    cut("split", [4, 2], [1], 1, [["permute", [1, 0]]], sizes=[1, 3], dim=1)
    cut("chunk", [6], [2, 4], 0, chunks=3)
    cut("chunk", [5], [3], 0, chunks=2)
    cut("chunk", [2, 7], [3, 6], 1, chunks=3, dim=1)
    cut("chunk", [2], [1], 0, chunks=4)
