"""Operations on so many elements that kernels work on several at once, and have some left over."""

from __future__ import annotations

from typing import Any

import numpy as np

from cases.builder import FLOATS, INTS, TOLERANCE, Draw, Tensor, case
from cases.elementwise import ARITHMETIC, COMPARISONS

N = 37


def add() -> None:
    """Add the cases of this group."""
    for dtype in INTS:
        _integers(dtype)
    for dtype in FLOATS:
        _floats(dtype)
    for one in (*FLOATS, *INTS, "bool"):
        for two in (*FLOATS, *INTS, "bool"):
            if one != two:
                _cast(one, two)


def _integers(dtype: str) -> None:
    draw = Draw(f"vectors {dtype}")
    low = 0 if dtype.startswith("u") else -11
    a, b = Tensor(draw.ints([N], low, 11), dtype), Tensor(draw.ints([N], 1, 9), dtype)

    def wrapped(fn: Any) -> Any:
        return lambda x, y: np.asarray(fn(x.astype(dtype), y.astype(dtype)))

    for op in ("add", "sub", "mul", "floordiv", "mod", "maximum", "minimum"):
        case(f"{op} {dtype} of {N}", op, [a, b], wrapped(ARITHMETIC[op]))
    for op in ("bitwise_and", "bitwise_or", "bitwise_xor"):
        case(f"{op} {dtype} of {N}", op, [a, b], getattr(np, op))
    for op, fn in COMPARISONS.items():
        case(f"{op} {dtype} of {N}", op, [a, b], fn, out="bool")
    case(
        f"where {dtype} of {N}",
        "where",
        [Tensor(draw.ints([N], 0, 1), "bool"), a, b],
        np.where,
        out=dtype,
    )
    big = {"uint8": "uint32", "uint16": "uint32", "int8": "int32", "int16": "int32"}
    case(
        f"sum {dtype} of {N}", "sum", [a], lambda v: np.asarray(v.sum()), out=big.get(dtype, dtype)
    )
    case(f"max {dtype} of {N}", "max", [a], lambda v: np.asarray(v.max()))
    case(
        f"argmin {dtype} of {N}",
        "argmin",
        [a],
        lambda v: np.asarray(v.argmin()),
        out="int32",
        index_out=[0],
    )
    case(f"flip {dtype} of {N}", "flip", [a], lambda v: v[::-1], {"axis": 0})
    rows = Tensor(draw.ints([5, N], low, 11), dtype, view=[["permute", [1, 0]]])
    case(f"contiguous {dtype} of {N} by 5, permuted", "contiguous", [rows], lambda v: v)


def _floats(dtype: str) -> None:
    draw = Draw(f"vectors {dtype}")
    rtol, atol = TOLERANCE[dtype]
    near = {"rtol": 2 * rtol, "atol": 2 * atol}
    a, b = Tensor(draw.reals([N], -3, 3), dtype), Tensor(draw.reals([N], 0.3, 3), dtype)
    for op in ("add", "sub", "mul", "div", "maximum", "minimum"):
        case(f"{op} {dtype} of {N}", op, [a, b], ARITHMETIC[op], **near)
    for op in ("lt", "eq", "ge"):
        case(f"{op} {dtype} of {N}", op, [a, b], COMPARISONS[op], out="bool")
    for op, fn in (("exp", np.exp), ("sqrt", np.sqrt), ("floor", np.floor), ("neg", np.negative)):
        case(f"{op} {dtype} of {N}", op, [b], fn, **near)
    case(
        f"where {dtype} of {N}",
        "where",
        [Tensor(draw.ints([N], 0, 1), "bool"), a, b],
        np.where,
        out=dtype,
    )
    case(
        f"sum {dtype} of {N}",
        "sum",
        [a],
        lambda v: np.asarray(v.sum()),
        rtol=near["rtol"],
        atol=min(20 * atol, 0.05),
    )
    case(f"max {dtype} of {N}", "max", [a], lambda v: np.asarray(v.max()))
    case(
        f"argmax {dtype} of {N}",
        "argmax",
        [a],
        lambda v: np.asarray(v.argmax()),
        out="int32",
        index_out=[0],
    )
    rows = Tensor(draw.reals([5, N]), dtype, view=[["permute", [1, 0]], ["flip", [0]]])
    case(f"contiguous {dtype} of {N} by 5, permuted and flipped", "contiguous", [rows], lambda v: v)
    x, y = Tensor(draw.reals([5, 19]), dtype), Tensor(draw.reals([19, 7]), dtype)
    case(
        f"matmul {dtype} of shapes [5, 19] and [19, 7]",
        "matmul",
        [x, y],
        np.matmul,
        rtol=min(4 * rtol, 0.03),
        atol=min(30 * atol, 0.05),
    )


def _cast(one: str, two: str) -> None:
    draw = Draw(f"cast {one} {two}")
    signed = "u" not in one and "u" not in two and one != "bool"
    low = -50 if signed else 0
    if one == "bool":
        values: Any = draw.ints([N], 0, 1)
    elif one in INTS:
        values = draw.ints([N], low, 100)
    else:
        values = draw.reals([N], low / 16, 6)

    def fn(v: Any) -> Any:
        if two == "bool":
            return v != 0
        if two in INTS:
            return np.trunc(v).astype(int) if v.dtype.kind == "f" else v.astype(int)
        return v.astype(float)

    name = f"cast {one} to {two} of {N}"
    case(name, "cast", [Tensor(values, one)], fn, {"dtype": two}, out=two, rtol=0, atol=0)
