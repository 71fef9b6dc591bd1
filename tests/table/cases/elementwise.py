"""Operations that work element by element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cases import special as sp
from cases.builder import FLOATS, INF, INTS, NAN, Draw, Tensor, case, error, gradient

# name: function of numpy, the interval it is tried in
FUNCTIONS: dict[str, tuple[Callable[[Any], Any], float, float]] = {
    "exp": (np.exp, -3, 3),
    "exp2": (np.exp2, -3, 3),
    "expm1": (np.expm1, -3, 3),
    "log": (np.log, 0.3, 4),
    "log2": (np.log2, 0.3, 4),
    "log10": (np.log10, 0.3, 4),
    "log1p": (np.log1p, -0.7, 4),
    "sqrt": (np.sqrt, 0.3, 4),
    "rsqrt": (lambda x: 1 / np.sqrt(x), 0.3, 4),
    "reciprocal": (lambda x: 1 / x, 0.3, 4),
    "square": (np.square, -3, 3),
    "neg": (np.negative, -3, 3),
    "abs": (np.abs, -3, 3),
    "sign": (np.sign, -3, 3),
    "real": (np.real, -3, 3),
    "imag": (np.imag, -3, 3),
    "conj": (np.conj, -3, 3),
    "angle": (np.angle, -3, 3),
    "sin": (np.sin, -4, 4),
    "cos": (np.cos, -4, 4),
    "tan": (np.tan, -1.2, 1.2),
    "asin": (np.arcsin, -0.8, 0.8),
    "acos": (np.arccos, -0.8, 0.8),
    "atan": (np.arctan, -4, 4),
    "sinh": (np.sinh, -3, 3),
    "cosh": (np.cosh, -3, 3),
    "tanh": (np.tanh, -3, 3),
    "asinh": (np.arcsinh, -4, 4),
    "acosh": (np.arccosh, 1.3, 4),
    "atanh": (np.arctanh, -0.8, 0.8),
    "ceil": (np.ceil, -3, 3),
    "floor": (np.floor, -3, 3),
    "trunc": (np.trunc, -3, 3),
    "round": (np.round, -3, 3),
    "erf": (sp.erf, -3, 3),
    "erfc": (sp.erfc, -3, 5),
    "erfinv": (sp.erfinv, -0.8, 0.8),
    "ndtri": (sp.ndtri, 0.15, 0.85),
    "logit": (lambda x: np.log(x) - np.log1p(-x), 0.1, 0.9),
    "lgamma": (sp.lgamma, 0.3, 5),
    "digamma": (sp.digamma, 0.3, 5),
    "relu": (lambda x: np.maximum(x, 0), -3, 3),
    "relu6": (lambda x: sp.clip(x, 0, 6), -2, 8),
    "sigmoid": (sp.sigmoid, -4, 4),
    "logsigmoid": (lambda x: -np.logaddexp(0, -x), -4, 4),
    "gelu": (lambda x: x * sp.sigmoid(1.5957691216057308 * (x + 0.044715 * x**3)), -3, 3),
    "quick_gelu": (lambda x: x * sp.sigmoid(1.702 * x), -3, 3),
    "silu": (lambda x: x * sp.sigmoid(x), -3, 3),
    "swish": (lambda x: x * sp.sigmoid(x), -3, 3),
    "mish": (lambda x: x * np.tanh(sp.softplus(x)), -3, 3),
    "softsign": (lambda x: x / (1 + np.abs(x)), -3, 3),
    "hardswish": (lambda x: x * sp.clip(x + 3, 0, 6) / 6, -4, 4),
    "hardsigmoid": (lambda x: sp.clip(x / 6 + 0.5, 0, 1), -4, 4),
    "leaky_relu": (lambda x: np.where(x >= 0, x, 0.01 * x), -3, 3),
    "elu": (sp.elu, -3, 3),
    "celu": (sp.elu, -3, 3),
    "selu": (lambda x: 1.0507 * sp.elu(x, 1.67326), -3, 3),
    "softplus": (sp.softplus, -4, 4),
    "hardtanh": (lambda x: sp.clip(x, -1, 1), -3, 3),
}
# Integers stay integers.
KEEP_TYPE = [
    "square",
    "neg",
    "abs",
    "sign",
    "real",
    "imag",
    "conj",
    "ceil",
    "floor",
    "trunc",
    "round",
    "relu",
    "hardtanh",
]
# Values at the ends of the domain, where all functions are what numpy says.
EDGES = [NAN, INF, -INF, 0.0, 1.0, -1.0]
EDGE_OF = {
    "celu": [NAN, INF, 0.0],
    "hardswish": [NAN, INF, 0.0],
    "digamma": [NAN, INF, 1.0],
    "gelu": [NAN, INF, 0.0],
    "lgamma": [NAN, INF, 0.0, 1.0],
    "mish": [NAN, INF, 0.0],
    "quick_gelu": [NAN, INF, 0.0],
    "silu": [NAN, INF, 0.0],
    "swish": [NAN, INF, 0.0],
    "softsign": [NAN, 0.0, 1.0],
    "tan": [NAN, INF, 0.0, 1.0],
}
VIEWS: list[tuple[str, list[int], list[Any]]] = [
    ("permuted", [3, 2], [["permute", [1, 0]]]),
    ("flipped", [2, 3], [["flip", [1]]]),
    ("shrunk", [4, 5], [["shrink", [[1, 3], [2, 5]]]]),
    ("expanded", [2, 1], [["expand", [2, 3]]]),
    ("permuted and flipped", [3, 1, 2], [["permute", [2, 0, 1]], ["flip", [0, 1]]]),
    ("flipped and reshaped", [2, 3], [["flip", [0]], ["reshape", [3, 2]]]),
]
COARSE = {"float16": (4e-3, 2e-3), "bfloat16": (3e-2, 2e-2)}


def add() -> None:
    """Add the cases of this group."""
    for op in FUNCTIONS:
        _function(op)
    _parameters()
    _tests()
    _binary()
    _integers()
    _comparisons()
    _three()
    _close()
    _angles()
    _beyond()
    _outside()
    _types()


def _function(op: str) -> None:
    fn, low, high = FUNCTIONS[op]
    draw = Draw(op)
    # Halves are where round jumps.
    x = Tensor(draw.reals([2, 3], low, high) + (1 / 64 if op == "round" else 0))
    # A relative error of a few units in the last place, except next to zeros of the function.
    case(f"{op}", op, [x], fn, rtol=2e-6, atol=1e-7, grad=True)
    case(f"{op} float64", op, [Tensor(draw.reals([4], low, high), "float64")], fn)
    if op in ("exp", "sqrt", "tanh", "relu", "gelu", "neg", "erf", "sin"):
        for dtype in ("float16", "bfloat16"):
            rtol, atol = COARSE[dtype]
            values = Tensor(draw.reals([5], low, high), dtype)
            case(f"{op} {dtype}", op, [values], fn, rtol=rtol, atol=atol)
    if op in KEEP_TYPE:
        for dtype in ("int32", "int8"):
            case(f"{op} {dtype}", op, [Tensor([-3, 0, 5], dtype)], fn)
    elif op in ("exp", "log", "sqrt", "sin", "sigmoid", "erf", "tanh", "atan"):
        values = Tensor([1, 2, 3], "int32")
        case(f"{op} int32", op, [values], fn, out="float32", rtol=2e-6)
        case(f"{op} bool", op, [Tensor([True], "bool")], _as_float(fn), out="float32", rtol=2e-6)
    edges = Tensor(EDGE_OF.get(op, EDGES))
    case(f"{op} of NaN, infinities and ends", op, [edges], fn, rtol=2e-6, atol=1e-7)
    if op in ("exp", "neg", "relu", "sqrt"):
        for shape in ([], [0], [2, 0, 3], [1, 1]):
            values = Tensor(draw.reals(shape, low, high))
            case(f"{op} of shape {shape}", op, [values], fn, rtol=2e-6)
        for what, shape, view in VIEWS:
            values = Tensor(draw.reals(shape, low, high), view=view)
            case(f"{op} {what}", op, [values], fn, rtol=2e-6, grad=op == "exp")


def _as_float(fn: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: fn(x.astype(np.float64))


def _parameters() -> None:
    def one(op: str, fn: Callable[[Any], Any], **args: Any) -> None:
        what = ", ".join(f"{k} {v}" for k, v in args.items())
        x = Tensor(Draw(what).reals([2, 4], -4, 4))
        case(f"{op} {what}", op, [x], fn, args, rtol=2e-6, atol=2e-7, grad=True)

    one("leaky_relu", lambda x: np.where(x >= 0, x, 0.2 * x), neg_slope=0.2)
    one("elu", lambda x: sp.elu(x, 0.5), alpha=0.5)
    one("hardsigmoid", lambda x: sp.clip(0.5 * x + 0.25, 0, 1), alpha=0.5, beta=0.25)
    one("celu", lambda x: np.maximum(x, 0) + np.minimum(0, 2 * np.expm1(x / 2)), alpha=2.0)
    one("selu", lambda x: 1.5 * sp.elu(x, 0.5), alpha=0.5, gamma=1.5)
    one("softplus", lambda x: sp.softplus(x, 3.0), beta=3.0)
    one("hardtanh", lambda x: sp.clip(x, -0.53, 2.47), min_val=-0.53, max_val=2.47)
    for op in ("clamp", "clip"):
        one(op, lambda x: sp.clip(x, -1.53, 2.47), min_=-1.53, max_=2.47)
    one("clamp", lambda x: np.maximum(x, 0.53), min_=0.53)
    one("clamp", lambda x: np.minimum(x, 0.53), max_=0.53)
    case(
        "clamp int32",
        "clamp",
        [Tensor([-5, 0, 5], "int32")],
        lambda x: sp.clip(x, -2, 3),
        {"min_": -2, "max_": 3},
    )
    case(
        "clamp uint8 beyond its type",
        "clamp",
        [Tensor([0, 5, 255], "uint8")],
        lambda x: np.minimum(x, 200).astype(np.uint8),
        {"min_": -3, "max_": 200},
    )
    case(
        "clamp int8 beyond its type",
        "clamp",
        [Tensor([-128, 5, 127], "int8")],
        lambda x: np.maximum(x, 4).astype(np.int8),
        {"min_": 4, "max_": 1000},
    )
    edges = Tensor([NAN, INF, -INF])
    case(
        "clamp of NaN and infinities",
        "clamp",
        [edges],
        lambda x: sp.clip(x, -2, 3),
        {"min_": -2, "max_": 3},
    )
    big = Tensor([1000.0, -1000.0, 0.0])
    case("softplus does not overflow", "softplus", [big], sp.softplus, rtol=2e-6)
    case(
        "logsigmoid does not overflow",
        "logsigmoid",
        [big],
        lambda x: -np.logaddexp(0, -x),
        rtol=2e-6,
    )
    case("sigmoid does not overflow", "sigmoid", [big], sp.sigmoid, rtol=2e-6)
    halves = Tensor([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 8388609.0])
    case("round halves to even", "round", [halves], np.round)
    tails = Tensor([4.0, 6.0, 8.0, 9.0])
    case("erfc in the tail", "erfc", [tails], sp.erfc, rtol=2e-6, atol=0)
    small = Tensor([1e-6, -1e-6, 1e-3])
    for op in ("expm1", "log1p", "erfinv", "sinh", "atanh", "asinh"):
        case(f"{op} near 0", op, [small], FUNCTIONS[op][0], rtol=2e-6, atol=0)
    ends = Tensor([1e-7, 1e-4, 0.5, 0.9999])
    case(
        "logit at its ends",
        "logit",
        [Tensor([0.0, 1e-30, 1.0, 2.0])],
        FUNCTIONS["logit"][0],
        rtol=2e-6,
    )
    halves = Tensor([0.5, 0.5000001, 0.4999, 0.25, 0.75])
    case("logit near 1/2", "logit", [halves], FUNCTIONS["logit"][0], rtol=2e-6, atol=0)
    case("ndtri in the tails", "ndtri", [ends], sp.ndtri, rtol=2e-6)
    large = Tensor([100.0, 1e4, 1e-6])
    case("lgamma of large and small numbers", "lgamma", [large], sp.lgamma, rtol=2e-6)
    case("digamma of large and small numbers", "digamma", [large], sp.digamma, rtol=2e-6)
    angles = Tensor([1e3, -1e4, 31416.0])
    for op, fn in (("sin", np.sin), ("cos", np.cos)):
        case(f"{op} of large angles", op, [angles], fn, rtol=2e-6, atol=1e-7)


def _tests() -> None:
    edges = Tensor([NAN, INF, -INF, 0.0, 1.5])
    for op, fn in (("isnan", np.isnan), ("isinf", np.isinf), ("isfinite", np.isfinite)):
        case(op, op, [edges], fn, out="bool")
        case(f"{op} int32", op, [Tensor([1, 2], "int32")], fn, out="bool")
        case(f"{op} float16", op, [Tensor([NAN, INF, 1.0], "float16")], fn, out="bool")
    zeros = Tensor([0.0, -2.0, NAN])
    case("logical_not", "logical_not", [zeros], np.logical_not, out="bool")
    case("logical_not int64", "logical_not", [Tensor([0, 3], "int64")], np.logical_not, out="bool")
    case("logical_not bool", "logical_not", [Tensor([True, False], "bool")], np.logical_not)
    for dtype in ("int32", "int64", "int8"):
        case(f"bitwise_not {dtype}", "bitwise_not", [Tensor([0, 5, -7], dtype)], np.invert)
    case("bitwise_not uint8", "bitwise_not", [Tensor([0, 5], "uint8")], lambda x: 255 - x)
    case("bitwise_not bool", "bitwise_not", [Tensor([True, False], "bool")], np.invert)
    case("neg bool", "neg", [Tensor([True, False], "bool")], np.logical_not)


ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "pow": np.power,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "logaddexp": np.logaddexp,
    "copysign": np.copysign,
    "mod": np.mod,
    "floordiv": np.floor_divide,
}
SHAPES = [([2, 3], [3]), ([2, 1], [1, 3]), ([], [2]), ([0, 3], [1, 3]), ([2, 3], [])]


def _binary() -> None:
    for op, fn in ARITHMETIC.items():
        draw = Draw(op)
        low = 0.3 if op == "pow" else -3
        a, b = draw.reals([2, 3], low, 3), draw.reals([2, 3], low, 3)
        smooth = op not in ("mod", "floordiv", "copysign")
        case(op, op, [Tensor(a), Tensor(b)], fn, rtol=2e-6, grad=smooth)
        case(f"{op} float64", op, [Tensor(a, "float64"), Tensor(b, "float64")], fn)
        for one, two in SHAPES:
            a, b = draw.reals(one, low, 3), draw.reals(two, low, 3)
            wide = smooth and one == [2, 1]
            case(
                f"{op} of shapes {one} and {two}",
                op,
                [Tensor(a), Tensor(b)],
                fn,
                rtol=2e-6,
                grad=wide,
            )
        a, b = draw.reals([3, 2], low, 3), draw.reals([4, 5], low, 3)
        left = Tensor(a, view=[["permute", [1, 0]]])
        right = Tensor(b, view=[["shrink", [[1, 3], [0, 3]]], ["flip", [1]]])
        case(f"{op} of views", op, [left, right], fn, rtol=2e-6, grad=smooth)
        x = Tensor(draw.reals([3], low, 3))
        case(f"{op} number", op, [x, 1.5], fn, rtol=2e-6, grad=smooth)
        if op not in ("maximum", "minimum", "logaddexp", "copysign", "floordiv"):
            swapped = (lambda f: lambda x, y: f(y, x))(fn)
            args = {"reverse": True}
            case(f"{op} number reversed", op, [x, 2.5], swapped, args, rtol=2e-6, grad=smooth)
        if smooth:
            for dtype in ("float16", "bfloat16"):
                a, b = draw.reals([3], max(low, -2), 2), draw.reals([3], max(low, -2), 2)
                rtol, atol = COARSE[dtype]
                two = [Tensor(a, dtype), Tensor(b, dtype)]
                case(f"{op} {dtype}", op, two, fn, rtol=rtol, atol=atol)
    odd = [Tensor([NAN, 1.0, INF, -INF, 0.0]), Tensor([1.0, NAN, -INF, INF, 0.0])]
    for op in ("add", "sub", "mul", "div", "maximum", "minimum"):
        case(f"{op} of NaN and infinities", op, odd, ARITHMETIC[op])
    case(
        "pow of ends",
        "pow",
        [Tensor([0.0, 0.0, INF, 2.0, -2.0, -2.0]), Tensor([0.0, 2.0, -1.0, INF, 3.0, 0.5])],
        np.power,
    )
    for power in (2, 3, 0, -1, 0.5):
        x = Tensor([0.5, 1.5, 2.5])
        case(
            f"pow {power}",
            "pow",
            [x, power],
            lambda x, p: np.power(x, float(p)),
            rtol=2e-6,
            grad=True,
        )
    negative = Tensor([-1.5, -0.5, 0.5])
    case("pow 2 of negative numbers", "pow", [negative, 2], np.power, rtol=2e-6, grad=True)
    case("pow 3 of negative numbers", "pow", [negative, 3], np.power, rtol=2e-6, grad=True)
    same = [Tensor([1.0, 2.0], "float64"), Tensor([1.0, 1.0], "float64")]
    case("maximum of equals", "maximum", same, np.maximum)
    large = [Tensor([1000.0, -1000.0]), Tensor([1000.0, -1001.0])]
    case("logaddexp does not overflow", "logaddexp", large, np.logaddexp, rtol=2e-6)
    signs = [Tensor([1.0, -2.0, 3.0]), Tensor([-0.0, 1.0, -INF])]
    case("copysign of zeros", "copysign", signs, np.copysign)


def _beyond() -> None:
    """Add what a formula loses that is right for usual numbers."""
    inf = [NAN, INF, -INF, 0.0, -0.0, 1.0, -1.0, -2.5]
    pairs = [(x, y) for x in inf for y in (NAN, INF, -INF, 0.0, 3.0, -2.0, 0.5)]
    grid = [Tensor([p[0] for p in pairs]), Tensor([p[1] for p in pairs])]
    for op, fn in (("pow", np.power), ("logaddexp", np.logaddexp), ("copysign", np.copysign)):
        if op == "copysign":
            grid = [Tensor([0.0, -0.0, 2.0, -INF]), Tensor([-1.0, 0.0, -INF, 1.0])]
        case(f"{op} of infinities and zeros", op, grid, fn, rtol=2e-6)
    parity = [Tensor([-1.0, -1.0, -2.0]), Tensor([3e9, 8388609.0, 4294967297.0])]
    case("pow of large exponents", "pow", parity, np.power)
    for dtype, big in (("float32", 1e30), ("float64", 1e300), ("float16", 6e4), ("bfloat16", 1e30)):
        x = Tensor([big, -big, 1.5, 1e-3, 7.0, INF, 5.0, 5.0], dtype)
        y = Tensor([3.0, 0.3, 0.3, 1e-5, -INF, 2.0, 0.0, -3.5], dtype)
        case(f"mod of huge quotients {dtype}", "mod", [x, y], np.mod, rtol=1e-7, atol=0)
        case(f"fmod of huge quotients {dtype}", "fmod", [x, y], np.fmod, rtol=1e-15, atol=0)
    close = [Tensor([1.5, 0.9, -0.6, 1.0, -1.0, INF]), Tensor([0.3, 0.1, 0.2, -INF, INF, 2.0])]
    case("floordiv next to whole quotients", "floordiv", close, np.floor_divide)
    near = [Tensor([-0.0, 0.0, -20.0]), Tensor([-7.25, -20.0, -30.0])]
    case("logaddexp near 0", "logaddexp", near, np.logaddexp, rtol=2e-6, atol=0)
    bounds = [Tensor([1.0, NAN, 5.0]), Tensor([NAN, 0.0, 2.0]), Tensor([3.0, 3.0, NAN])]
    args = {"min_": {"input": 1}, "max_": {"input": 2}}
    case("clamp to NaN", "clamp", bounds, lambda x, lo, hi: np.minimum(np.maximum(x, lo), hi), args)
    axes = [Tensor([0.0, 3.0, 0.0, -2.0], "float64"), Tensor([2.0, 0.0, 3.0, 0.0], "float64")]
    case("atan2 beside the axes", "atan2", axes, np.arctan2, grad=[0])


def _outside() -> None:
    """Add numbers that integers of the type of the tensor cannot be."""
    compare: dict[str, Callable[[Any, Any], Any]] = {
        "lt": np.less,
        "le": np.less_equal,
        "gt": np.greater,
        "ge": np.greater_equal,
        "eq": np.equal,
        "ne": np.not_equal,
    }
    for dtype, numbers in (("uint8", (300, 256, -1)), ("int8", (200, -129)), ("int32", (1 << 40,))):
        x = Tensor([0, 44, 127], dtype)
        for number in numbers:
            for op, fn in compare.items():
                case(f"{op} of {dtype} and {number}", op, [x, number], fn, out="bool")
    case("gt of uint64 and -1", "gt", [Tensor([0, 1], "uint64"), -1], np.greater, out="bool")
    x = Tensor([0, 44, 255], "uint8")
    case("maximum of uint8 and -3", "maximum", [x, -3], np.maximum)
    case("minimum of uint8 and 300", "minimum", [x, 300], np.minimum)
    case("div of uint8 by 1000", "div", [x, 1000], np.divide, out="float32", rtol=1e-6)
    case("add of uint8 and -1", "add", [x, -1], lambda v, n: (v + n) % 256)
    for op in ("add", "sub", "mul", "floordiv", "mod", "maximum", "bitwise_and", "masked_fill"):
        inputs = [x, Tensor([True, False, True], "bool")] if op == "masked_fill" else [x]
        error(f"{op} of uint8 and 1000", op, [*inputs, 1000], "wider type")


def _wrap(fn: Callable[..., Any], dtype: str) -> Callable[..., Any]:
    """Return fn on integers that wrap as the dtype does."""
    return lambda *x: np.asarray(fn(*(np.asarray(v, dtype) for v in x)))


def _integers() -> None:
    for dtype in INTS:
        draw = Draw(dtype)
        low = 1 if dtype.startswith("u") else -9
        a, b = draw.ints([2, 3], low, 9), draw.ints([3], 1, 5)
        for op in ("add", "mul", "maximum", "minimum"):
            case(f"{op} {dtype}", op, [Tensor(a, dtype), Tensor(b, dtype)], ARITHMETIC[op])
        b = np.where(draw.ints([3], 0, 1) == 1, b, b if low > 0 else -b)
        two = [Tensor(a, dtype), Tensor(b, dtype)]
        case(f"floordiv {dtype}", "floordiv", two, np.floor_divide)
        case(f"mod {dtype}", "mod", two, np.mod)
        case(
            f"idiv {dtype}",
            "idiv",
            two,
            lambda x, y: np.trunc(np.asarray(x, float) / y).astype(x.dtype),
        )
        case(f"bitwise_and {dtype}", "bitwise_and", two, np.bitwise_and)
        case(f"bitwise_or {dtype}", "bitwise_or", two, np.bitwise_or)
        case(f"bitwise_xor {dtype}", "bitwise_xor", two, np.bitwise_xor)
        shifts = [Tensor(a, dtype), Tensor([0, 1, 3], dtype)]
        case(f"lshift {dtype}", "lshift", shifts, np.left_shift)
        case(f"rshift {dtype}", "rshift", shifts, np.right_shift)
        bits = np.iinfo(dtype).bits
        beyond = [bits - 1, bits, 100 if low > 0 else -1]
        for op, shift in (("lshift", np.left_shift), ("rshift", np.right_shift)):
            x, wrapped = Tensor(a, dtype), _wrap(shift, dtype)
            case(f"{op} {dtype} beyond the width", op, [x, Tensor(beyond, dtype)], wrapped)
            case(f"{op} {dtype} by its width", op, [x, bits], wrapped)
        case(
            f"lshift {dtype} number",
            "lshift",
            [Tensor(a, dtype), 2],
            lambda x, n: x << np.asarray(n, x.dtype),
        )
        case(
            f"rshift {dtype} number",
            "rshift",
            [Tensor(a, dtype), 1],
            lambda x, n: x >> np.asarray(n, x.dtype),
        )
    for dtype, one in (
        ("int8", 127),
        ("uint8", 255),
        ("int16", 32767),
        ("int32", 2**31 - 1),
        ("uint32", 2**32 - 1),
    ):
        case(
            f"add {dtype} wraps",
            "add",
            [Tensor([one], dtype), Tensor([2], dtype)],
            _wrap(np.add, dtype),
        )
        case(
            f"mul {dtype} wraps",
            "mul",
            [Tensor([one], dtype), Tensor([3], dtype)],
            _wrap(np.multiply, dtype),
        )
    case(
        "sub uint8 wraps",
        "sub",
        [Tensor([1], "uint8"), Tensor([3], "uint8")],
        _wrap(np.subtract, "uint8"),
    )
    case(
        "add int64 beyond 2^53", "add", [Tensor([2**60 + 1], "int64"), Tensor([2], "int64")], np.add
    )
    case(
        "mul uint64 beyond 2^63",
        "mul",
        [Tensor([2**62 + 1], "uint64"), Tensor([3], "uint64")],
        np.multiply,
    )
    x, y = Tensor([7, -7, 7, -7], "int32"), Tensor([2, 2, -2, -2], "int32")
    case("div of integers is floating", "div", [x, y], np.divide, out="float32")
    for op, mode, fn in (
        ("div", "trunc", lambda x, y: np.trunc(x / y).astype(int)),
        ("div", "floor", np.floor_divide),
    ):
        case(f"{op} {mode}", op, [x, y], fn, {"rounding_mode": mode})
    case("idiv signs", "idiv", [x, y], lambda x, y: np.trunc(x / y).astype(int))
    case("mod signs", "mod", [x, y], np.mod)
    case("floordiv signs", "floordiv", [x, y], np.floor_divide)
    z = Tensor([7, 9], "int32")
    case("sub int32 number reversed", "sub", [z, 10], lambda x, n: n - x, {"reverse": True})
    case("idiv int32 number reversed", "idiv", [z, 20], lambda x, n: n // x, {"reverse": True})
    case("mod int32 number reversed", "mod", [z, 20], lambda x, n: n % x, {"reverse": True})
    case("add int32 and a float", "add", [z, 0.5], np.add, out="float32")
    case("mul int32 and a float", "mul", [z, 0.25], np.multiply, out="float32")
    case("add int8 and an integer", "add", [Tensor([1, 2], "int8"), 3], np.add)
    case(
        "add bool and an integer",
        "add",
        [Tensor([True, False], "bool"), 3],
        lambda x, n: x.astype(int) + n,
        out="int32",
    )
    case("mul float16 and a float", "mul", [Tensor([1.5, 2.5], "float16"), 0.5], np.multiply)
    case("pow int32", "pow", [Tensor([2, -3, 5], "int32"), 3], np.power)
    case(
        "pow int32 tensor",
        "pow",
        [Tensor([2, -3, 5], "int32"), Tensor([3, 2, 0], "int32")],
        np.power,
    )
    case(
        "pow int32 to a float",
        "pow",
        [Tensor([2, 4, 9], "int32"), 0.5],
        np.power,
        out="float32",
        rtol=2e-6,
    )
    for op, fn in (
        ("bitwise_and", np.bitwise_and),
        ("bitwise_or", np.bitwise_or),
        ("bitwise_xor", np.bitwise_xor),
    ):
        two = [Tensor([True, True, False], "bool"), Tensor([True, False, False], "bool")]
        case(f"{op} bool", op, two, fn)
        case(f"{op} number", op, [Tensor([12, 7], "int32"), 5], fn)
        case(f"{op} number reversed", op, [Tensor([12, 7], "int32"), 5], fn, {"reverse": True})
    case(
        "mul bool",
        "mul",
        [Tensor([True, False], "bool"), Tensor([True, True], "bool")],
        np.logical_and,
    )
    flags = Tensor([True, False], "bool")
    for op, fn in (
        ("bitwise_and", np.logical_and),
        ("bitwise_or", np.logical_or),
        ("bitwise_xor", np.logical_xor),
        ("eq", np.equal),
    ):
        case(f"{op} bool and a bool", op, [flags, True], fn, out="bool")
    case("add int32 and a bool", "add", [z, True], np.add)
    case("where of bools", "where", [flags, flags, True], np.where, out="bool")
    case(
        "maximum bool",
        "maximum",
        [Tensor([True, False], "bool"), Tensor([False, False], "bool")],
        np.logical_or,
    )
    types = [
        ("bool", "int8", "int8"),
        ("bool", "float32", "float32"),
        ("int8", "uint8", "int16"),
        ("int16", "uint16", "int32"),
        ("int32", "uint32", "int64"),
        ("uint8", "int32", "int32"),
        ("int32", "int64", "int64"),
        ("int32", "float32", "float32"),
        ("int64", "float16", "float16"),
        ("uint64", "float32", "float32"),
        ("float16", "bfloat16", "float32"),
        ("float16", "float32", "float32"),
        ("bfloat16", "float32", "float32"),
        ("float32", "float64", "float64"),
        ("int64", "float64", "float64"),
    ]
    for one, two, out in types:
        a, b = Tensor([1, 0, 1], one), Tensor([1, 1, 0], two)
        case(
            f"add {one} and {two}",
            "add",
            [a, b],
            lambda x, y: x.astype(float) + y if out in FLOATS else x.astype(int) + y,
            out=out,
        )


COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "eq": np.equal,
    "ne": np.not_equal,
}


def _comparisons() -> None:
    for op, fn in COMPARISONS.items():
        a, b = Tensor([1.0, 2.0, 3.0, NAN, INF]), Tensor([2.0, 2.0, 2.0, 2.0, INF])
        case(op, op, [a, b], fn, out="bool")
        case(f"{op} number", op, [a, 2.0], fn, out="bool")
        x, y = Tensor([[1, 2, 3]], "int32"), Tensor([[1], [3]], "int32")
        case(f"{op} int32, shapes [1, 3] and [2, 1]", op, [x, y], fn, out="bool")
        case(f"{op} int32 and a float", op, [x, 2.5], fn, out="bool")
        case(
            f"{op} bool",
            op,
            [Tensor([True, False], "bool"), Tensor([True, True], "bool")],
            fn,
            out="bool",
        )
        case(
            f"{op} uint64",
            op,
            [Tensor([2**63, 5], "uint64"), Tensor([5, 2**63], "uint64")],
            fn,
            out="bool",
        )
        case(
            f"{op} int64 beyond 2^53",
            op,
            [Tensor([2**60], "int64"), Tensor([2**60 + 1], "int64")],
            fn,
            out="bool",
        )
        case(
            f"{op} of no elements",
            op,
            [Tensor(np.zeros([0, 2])), Tensor([1.0, 2.0])],
            fn,
            out="bool",
        )
        view = Tensor([[1.0, 2.0], [3.0, 4.0]], view=[["permute", [1, 0]]])
        case(
            f"{op} of views",
            op,
            [view, Tensor([[1.0, 3.0], [2.0, 5.0]], view=[["flip", [0]]])],
            fn,
            out="bool",
        )


def _three() -> None:
    draw = Draw("three")
    cond = Tensor([[True, False, True]], "bool")
    a, b = Tensor(draw.reals([2, 3])), Tensor(draw.reals([2, 1]))
    case("where", "where", [cond, a, b], np.where, out="float32", grad=True)
    case("where with numbers", "where", [cond, a, 0.5], np.where, out="float32", grad=True)
    case("where number first", "where", [cond, 1.5, b], np.where, out="float32", grad=True)
    case(
        "where of a float condition",
        "where",
        [Tensor([0.0, 2.0, NAN]), Tensor([1.0, 2.0, 3.0]), Tensor([4.0, 5.0, 6.0])],
        np.where,
    )
    case(
        "where int32",
        "where",
        [cond, Tensor([1, 2, 3], "int32"), Tensor([4, 5, 6], "int32")],
        np.where,
        out="int32",
    )
    case(
        "where int32 and float32",
        "where",
        [cond, Tensor([1, 2, 3], "int32"), Tensor([0.5, 1.5, 2.5])],
        np.where,
        out="float32",
    )
    case(
        "where does not mix NaN in",
        "where",
        [Tensor([True, False], "bool"), Tensor([1.0, NAN]), Tensor([NAN, 2.0])],
        np.where,
        out="float32",
    )
    case(
        "where of no elements",
        "where",
        [Tensor(np.zeros([0]), "bool"), Tensor(np.zeros([0])), Tensor([1.0])],
        np.where,
        out="float32",
    )
    mask = Tensor([[True], [False]], "bool")
    case(
        "masked_fill", "masked_fill", [a, mask, -0.5], lambda x, m, v: np.where(m, v, x), grad=True
    )
    case(
        "masked_fill int32",
        "masked_fill",
        [Tensor([1, 2], "int32"), Tensor([True, False], "bool"), 9],
        lambda x, m, v: np.where(m, v, x),
    )
    infinite = Tensor(draw.reals([3]))
    case(
        "masked_fill with a large number",
        "masked_fill",
        [infinite, cond, -1e9],
        lambda x, m, v: np.where(m, v, x),
    )
    w = Tensor(draw.reals([3], 0, 1))
    mix = lambda x, y, w: x + (y - x) * w
    case("lerp", "lerp", [a, b, w], mix, grad=True)
    case("lerp number", "lerp", [a, Tensor(draw.reals([2, 3])), 0.25], mix, grad=True)


def _close() -> None:
    a = Tensor([1.0, 1.0, 1e6, NAN, INF, INF, 0.0])
    b = Tensor([1.0, 1.001, 1e6 + 1, NAN, INF, -INF, 1e-9])
    for args in ({}, {"rtol": 0.01}, {"rtol": 0.0, "atol": 0.5}, {"equal_nan": True}):
        fn = lambda x, y, a=args: np.isclose(x, y, **a)
        given = ", ".join(f"{k} {v}" for k, v in args.items())
        case(f"isclose {given}".strip(), "isclose", [a, b], fn, args, out="bool")
        same = [Tensor([1.0, NAN]), Tensor([1.000001, NAN])]
        fn = lambda x, y, a=args: np.asarray(np.allclose(x, y, **a))
        case(f"allclose {given}".strip(), "allclose", same, fn, args, out="bool")
    near = [Tensor([[1.0, 2.0]]), Tensor([[1.0], [1.0]])]
    case("isclose of shapes [1, 2] and [2, 1]", "isclose", near, np.isclose, out="bool")
    case(
        "allclose of equals",
        "allclose",
        [near[0], near[0]],
        lambda x, y: np.asarray(True),
        out="bool",
    )


def _angles() -> None:
    draw = Draw("angles")
    for op, fn in (("atan2", np.arctan2), ("hypot", np.hypot)):
        two = [Tensor(draw.reals([2, 4], -3, 3)), Tensor(draw.reals([2, 4], -3, 3))]
        case(op, op, two, fn, rtol=2e-6, atol=1e-7, grad=True)
        wide = [Tensor(draw.reals([3, 1])), Tensor(draw.reals([2]))]
        case(f"{op} of shapes [3, 1] and [2]", op, wide, fn, rtol=2e-6, grad=True)
        case(f"{op} number", op, [Tensor(draw.reals([3])), 0.5], fn, rtol=2e-6)
        case(
            f"{op} float64",
            op,
            [Tensor(draw.reals([3]), "float64"), Tensor(draw.reals([3]), "float64")],
            fn,
        )
        case(
            f"{op} int32",
            op,
            [Tensor([3, -3, 0], "int32"), Tensor([4, 4, -2], "int32")],
            fn,
            out="float32",
            rtol=2e-6,
        )
    axes = [
        Tensor([0.0, 1.0, -1.0, 0.0, INF, INF, NAN]),
        Tensor([-1.0, 0.0, 0.0, 1.0, INF, -INF, 1.0]),
    ]
    case("atan2 on the axes", "atan2", axes, np.arctan2, rtol=2e-6)
    large = [Tensor([3e30, 1e-30, INF, 0.0]), Tensor([4e30, 1e-30, 1.0, 0.0])]
    case("hypot does not overflow", "hypot", large, np.hypot, rtol=2e-6, atol=0)
    for dtype in INTS:
        low = 0 if dtype.startswith("u") else -9
        two = [Tensor(draw.ints([5], low, 9), dtype), Tensor(draw.ints([5], 1, 5), dtype)]
        case(f"fmod {dtype}", "fmod", two, np.fmod)
    case(
        "fmod signs",
        "fmod",
        [Tensor([7, -7, 7, -7], "int32"), Tensor([2, 2, -2, -2], "int32")],
        np.fmod,
    )
    x = [Tensor([5.5, -5.5, 5.5, -5.5]), Tensor([2.0, 2.0, -2.0, -2.0])]
    case("fmod", "fmod", x, np.fmod)
    low, high = Tensor([[-1.53], [0.03]]), Tensor([1.03, 0.53, 2.03])
    x = Tensor(draw.reals([2, 3], -3, 3))
    between = lambda v, a, b: np.minimum(np.maximum(v, a), b)
    bounds = {"min_": {"input": 1}, "max_": {"input": 2}}
    case("clamp with tensors", "clamp", [x, low, high], between, bounds, grad=[0])
    case(
        "clamp with a lower tensor", "clamp", [x, low], np.maximum, {"min_": {"input": 1}}, grad=[0]
    )
    case("clamp with an upper tensor", "clamp", [x, high], np.minimum, {"max_": {"input": 1}})
    case("contiguous_backward", "contiguous_backward", [x], lambda v: v, grad=True)


def _types() -> None:
    x = Tensor([-1.75, 0.0, 2.5, 100.0])
    for dtype in (*FLOATS, "int8", "int16", "int32", "int64", "bool"):
        fn = (
            (lambda v: v != 0) if dtype == "bool" else np.trunc if "int" in dtype else (lambda v: v)
        )
        value = (lambda f, d: lambda v: f(v).astype(int) if "int" in d else f(v))(fn, dtype)
        case(f"cast float32 to {dtype}", "cast", [x], value, {"dtype": dtype}, out=dtype)
    for dtype in INTS:
        n = Tensor([0, 1, 100], dtype)
        for to in ("float32", "bool", "int64", "uint8"):
            fn = (lambda v: v != 0) if to == "bool" else (lambda v: v)
            case(f"cast {dtype} to {to}", "cast", [n], fn, {"dtype": to}, out=to)
    case(
        "cast int32 to int8 wraps",
        "cast",
        [Tensor([300, -300], "int32")],
        lambda v: v.astype("int8"),
        {"dtype": "int8"},
        out="int8",
    )
    case(
        "cast int32 to uint8 wraps",
        "cast",
        [Tensor([300, -1], "int32")],
        lambda v: v.astype("uint8"),
        {"dtype": "uint8"},
        out="uint8",
    )
    case(
        "cast int64 to int32 wraps",
        "cast",
        [Tensor([2**32 + 7], "int64")],
        lambda v: v.astype("int32"),
        {"dtype": "int32"},
        out="int32",
    )
    case(
        "cast bool to float32",
        "cast",
        [Tensor([True, False], "bool")],
        lambda v: v.astype(float),
        {"dtype": "float32"},
        out="float32",
    )
    case(
        "cast float64 to float32",
        "cast",
        [Tensor([0.1, 1e300, NAN], "float64")],
        lambda v: v.astype("float32"),
        {"dtype": "float32"},
        out="float32",
    )
    case(
        "cast rounds to float16",
        "cast",
        [Tensor([2049.0, 2051.0, 1e5, 1e-8])],
        lambda v: v.astype("float16").astype(float),
        {"dtype": "float16"},
        out="float16",
        rtol=0,
        atol=0,
    )
    ties = Tensor([1.00390625, 1.01171875, -3.3, 1e38])
    case(
        "cast rounds to bfloat16",
        "cast",
        [ties],
        lambda v: v,
        {"dtype": "bfloat16"},
        out="bfloat16",
        rtol=0,
        atol=0,
    )
    gradient(
        "cast to float32, gradient", "cast", [Tensor([0.5, 1.5])], lambda v: v, {"dtype": "float64"}
    )
    for op, dtype in (
        ("float", "float32"),
        ("double", "float64"),
        ("half", "float16"),
        ("bfloat16", "bfloat16"),
    ):
        case(op, op, [Tensor([1.5, -2.0], "float64")], lambda v: v, out=dtype)
    for op, dtype in (("int", "int32"), ("long", "int64")):
        case(op, op, [Tensor([1.5, -2.75])], lambda v: np.trunc(v).astype(int), out=dtype)
    case("bool", "bool", [Tensor([1.5, 0.0])], lambda v: v != 0, out="bool")
    bits = Tensor([1.0, -2.5, 0.0])
    case(
        "bitcast float32 to int32",
        "bitcast",
        [bits],
        lambda v: v.astype("float32").view("int32"),
        {"dtype": "int32"},
        out="int32",
    )
    case(
        "bitcast float32 to uint32",
        "bitcast",
        [bits],
        lambda v: v.astype("float32").view("uint32"),
        {"dtype": "uint32"},
        out="uint32",
    )
    case(
        "bitcast float64 to int64",
        "bitcast",
        [Tensor([1.0, -2.5], "float64")],
        lambda v: v.view("int64"),
        {"dtype": "int64"},
        out="int64",
    )
    case(
        "bitcast int16 to float16",
        "bitcast",
        [Tensor([15360, -16384], "int16")],
        lambda v: v.astype("int16").view("float16").astype(float),
        {"dtype": "float16"},
        out="float16",
    )
    case(
        "bitcast uint32 to uint8",
        "bitcast",
        [Tensor([[1, 258]], "uint32")],
        lambda v: v.astype("uint32").view("uint8"),
        {"dtype": "uint8"},
        out="uint8",
    )
    case(
        "contiguous",
        "contiguous",
        [Tensor(Draw("c").reals([2, 3]), view=[["permute", [1, 0]]])],
        lambda v: v,
        grad=True,
    )
    case("detach", "detach", [Tensor([1.5, 2.5])], lambda v: v)
    case("clone", "clone", [Tensor([1.5, 2.5], view=[["flip", [0]]])], lambda v: v)
