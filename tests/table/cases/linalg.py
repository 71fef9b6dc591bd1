"""Products, factorisations, attention."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np

from cases.builder import Draw, Tensor, case, error

NEAR = {"rtol": 4e-6, "atol": 4e-6}


def add() -> None:
    """Add the cases of this group."""
    _matmul()
    _linear()
    _einsum()
    _factors()
    _pairs()
    _systems()
    _decompositions()
    _attention()
    _hashes()


def _matmul() -> None:
    draw = Draw("matmul")
    shapes = [
        ([2, 3], [3, 4]),
        ([3], [3]),
        ([2, 3], [3]),
        ([3], [3, 2]),
        ([2, 2, 3], [2, 3, 2]),
        ([2, 2, 3], [3, 2]),
        ([2, 1, 2, 3], [3, 3, 2]),
        ([1, 1], [1, 1]),
        ([0, 3], [3, 2]),
        ([2, 0], [0, 3]),
        ([2, 3], [3, 0]),
        ([9, 17], [17, 10]),
    ]
    for a, b in shapes:
        two = [Tensor(draw.reals(a)), Tensor(draw.reals(b))]
        smooth = len(a) + len(b) < 7 and 0 not in a + b and 17 not in a
        case(f"matmul of shapes {a} and {b}", "matmul", two, np.matmul, grad=smooth, **NEAR)
    left = Tensor(draw.reals([3, 2]), view=[["permute", [1, 0]]])
    right = Tensor(draw.reals([4, 5]), view=[["shrink", [[0, 3], [1, 3]]], ["flip", [0]]])
    case("matmul of views", "matmul", [left, right], np.matmul, grad=True, **NEAR)
    odd = [Tensor([[1.0, np.nan], [np.inf, 2.0], [0.0, 1.0]]), Tensor([[1.0, 0.0], [2.0, 3.0]])]
    case("matmul of NaN and infinities", "matmul", odd, np.matmul, **NEAR)
    case("dot", "dot", [Tensor(draw.reals([2, 3])), Tensor(draw.reals([3, 2]))], np.matmul, **NEAR)
    for dtype in ("int32", "int64", "uint8"):
        two = [Tensor(draw.ints([2, 3], 0, 5), dtype), Tensor(draw.ints([3, 2], 0, 5), dtype)]
        case(f"matmul {dtype}", "matmul", two, np.matmul)
    two = [Tensor(draw.reals([2, 3]), "float64"), Tensor(draw.reals([3, 2]), "float64")]
    case("matmul float64", "matmul", two, np.matmul)
    for dtype, tol in (("float16", 4e-3), ("bfloat16", 4e-2)):
        two = [Tensor(draw.reals([2, 3]), dtype), Tensor(draw.reals([3, 2]), dtype)]
        case(f"matmul {dtype}", "matmul", two, np.matmul, rtol=tol, atol=tol)
    two = [Tensor(draw.ints([2, 3], 0, 100), "int8"), Tensor(draw.ints([3, 2], 0, 100), "int8")]
    case("matmul int8 in int32", "matmul", two, np.matmul, {"dtype": "int32"}, out="int32")
    two = [Tensor(draw.reals([2, 3]), "float16"), Tensor(draw.reals([3, 2]), "float16")]
    case(
        "matmul float16 in float32",
        "matmul",
        two,
        np.matmul,
        {"dtype": "float32"},
        out="float32",
        **NEAR,
    )
    two = [Tensor(draw.reals([2, 3]), "float16"), Tensor(draw.reals([3, 2]), "float32")]
    case("matmul float16 and float32", "matmul", two, np.matmul, out="float32", **NEAR)


def _linear() -> None:
    draw = Draw("linear")

    def fn(x: Any, w: Any, b: Any = 0.0) -> Any:
        return x @ w + b

    bias = {"bias": {"input": 2}}
    for shape in ([3], [2, 3], [2, 2, 3], [0, 3]):
        x, w, b = Tensor(draw.reals(shape)), Tensor(draw.reals([3, 4])), Tensor(draw.reals([4]))
        case(
            f"linear of shape {shape}", "linear", [x, w, b], fn, bias, grad=shape == [2, 3], **NEAR
        )
    case("linear without bias", "linear", [x, w], fn, **NEAR)
    x, one, b = (Tensor(draw.reals(shape)) for shape in ([2, 3], [3], [3]))
    case("linear of one axis", "linear", [x, one, b], lambda x, w, b: x * w + b, bias, **NEAR)
    x = Tensor(draw.reals([3, 2]), view=[["permute", [1, 0]]])
    w = Tensor(draw.reals([4, 3]), view=[["permute", [1, 0]]])
    case("linear of views", "linear", [x, w], fn, grad=True, **NEAR)


def _einsum() -> None:
    draw = Draw("einsum")

    def one(formula: str, *shapes: list[int], numpy: str = "", grad: bool = True) -> None:
        inputs = [Tensor(draw.reals(s)) for s in shapes]
        fn = lambda *v: np.asarray(np.einsum(numpy or formula, *v))
        case(
            f"einsum {formula}",
            "einsum",
            inputs,
            fn,
            {"formula": formula},
            kind="list",
            grad=grad,
            **NEAR,
        )

    one("ij,jk->ik", [2, 3], [3, 2])
    one("ij,jk", [2, 3], [3, 2])
    one("ij->ji", [2, 3])
    one("ij->", [2, 3])
    one("ij->j", [2, 3])
    one("ba", [2, 3])
    one("i,i->", [3], [3])
    one("i,j->ij", [3], [2])
    one("bij,bjk->bik", [2, 2, 3], [2, 3, 2])
    one("ii->i", [3, 3])
    one("ii", [3, 3])
    one("ij,jk,kl->il", [2, 3], [3, 2], [2, 2])
    one("bhqd,bhkd->bhqk", [1, 2, 2, 3], [1, 2, 2, 3], grad=False)
    one(" i j , j k -> i k ", [2, 3], [3, 2], grad=False)
    one("...ij,...jk->...ik", [2, 2, 3], [2, 3, 2])
    one("...i,...i->...", [2, 3], [2, 3])
    x = Tensor(draw.reals([3, 2]), view=[["permute", [1, 0]]])
    y = Tensor(draw.reals([3, 2]), view=[["flip", [0]]])
    case(
        "einsum of views",
        "einsum",
        [x, y],
        lambda a, b: a @ b,
        {"formula": "ij,jk->ik"},
        kind="list",
        grad=True,
        **NEAR,
    )


def _spd(draw: Draw, shape: list[int]) -> np.ndarray[Any, Any]:
    a = draw.reals(shape, -1, 1)
    return np.array(a @ a.swapaxes(-1, -2) + 2 * np.eye(shape[-1]))


def _cholesky(x: Any) -> Any:
    # What is differentiated is a function of the lower triangle.
    low = np.tril(x)
    return np.linalg.cholesky(low + np.tril(x, -1).swapaxes(-1, -2))


def _triangle(a: Any, upper: bool, transpose: bool, unit: bool) -> Any:
    a = np.triu(a) if upper else np.tril(a)
    if unit:
        eye = np.eye(a.shape[-1])
        a = a * (1 - eye) + eye
    return a.swapaxes(-1, -2) if transpose else a


def _factors() -> None:
    draw = Draw("factors")
    for shape in ([1, 1], [3, 3], [2, 3, 3], [0, 2, 2]):
        x = Tensor(_spd(draw, shape))
        case(
            f"cholesky of shape {shape}", "cholesky", [x], np.linalg.cholesky, rtol=1e-5, atol=4e-6
        )
    upper: Callable[[Any], Any] = lambda v: np.linalg.cholesky(v).swapaxes(-1, -2)
    x = Tensor(_spd(draw, [3, 3]))
    case("cholesky upper", "cholesky", [x], upper, {"upper": True}, rtol=1e-5, atol=4e-6)
    case(
        "cholesky float64",
        "cholesky",
        [Tensor(x.values, "float64")],
        np.linalg.cholesky,
        rtol=1e-11,
    )
    ways = [(u, t, d) for u in (False, True) for t in (False, True) for d in (False, True)]
    for up, transpose, unit in ways:
        flags = {"upper": up, "transpose": transpose, "unit_diagonal": unit}
        args = {k: v for k, v in flags.items() if v}
        name = "triangular_solve " + (" ".join(args) or "lower")
        a = Tensor(draw.reals([3, 3], 0.5, 2))
        for b in ([3], [3, 2]):
            fn = lambda m, v, f=(up, transpose, unit): np.linalg.solve(_triangle(m, *f), v)
            two = [a, Tensor(draw.reals(b))]
            case(
                f"{name}, {b}",
                "triangular_solve",
                two,
                fn,
                args,
                grad=len(b) == 2,
                rtol=4e-5,
                atol=2e-5,
            )
    a, b = Tensor(draw.reals([2, 2, 2], 0.5, 2)), Tensor(draw.reals([2, 2, 3]))
    fn = lambda m, v: np.linalg.solve(np.tril(m), v)
    case("triangular_solve of two systems", "triangular_solve", [a, b], fn, rtol=4e-5, atol=2e-5)


def _pairs() -> None:
    draw = Draw("pairs")
    for p in (0.0, 1.0, 2.0, 3.0):

        def fn(x: Any, y: Any, e: float = p) -> Any:
            return np.linalg.norm(x[..., :, None, :] - y[..., None, :, :], e, -1)

        two = [Tensor(draw.reals([2, 3, 2])), Tensor(draw.reals([4, 2]))]
        args = {} if p == 2 else {"p": p}
        case(f"cdist {p}", "cdist", two, fn, args, grad=p > 0, rtol=2e-6, atol=2e-6)


def _systems() -> None:
    draw = Draw("systems")
    loose = {"rtol": 4e-5, "atol": 2e-5}

    def regular(shape: list[int]) -> Tensor:
        # Far from singular; the zero makes elimination swap rows.
        a = draw.reals(shape, -1, 1) + 3 * np.eye(shape[-1])[::-1]
        return Tensor(a)

    for shape, b in (
        ([3, 3], [3]),
        ([3, 3], [3, 2]),
        ([1, 1], [1]),
        ([2, 2, 2], [2, 2, 3]),
        ([0, 2, 2], [0, 2, 1]),
    ):
        two = [regular(shape), Tensor(draw.reals(b))]
        smooth = 0 not in shape
        case(
            f"solve of shapes {shape} and {b}", "solve", two, np.linalg.solve, grad=smooth, **loose
        )
    double = [Tensor(regular([4, 4]).values, "float64"), Tensor(draw.reals([4]), "float64")]
    case("solve float64", "solve", double, np.linalg.solve, rtol=1e-11, atol=1e-12)
    for shape in ([1, 1], [2, 2], [3, 3], [2, 3, 3]):
        a = regular(shape)
        small = len(shape) == 2
        case(f"inv of shape {shape}", "inv", [a], np.linalg.inv, grad=small, **loose)
        det = lambda v: np.asarray(np.linalg.det(v))
        case(f"det of shape {shape}", "det", [a], det, grad=small, rtol=2e-5, atol=2e-5)
        case(
            f"slogdet of shape {shape}",
            "slogdet",
            [a],
            lambda v: [np.asarray(r) for r in np.linalg.slogdet(v)],
            grad=small,
            **loose,
        )
    singular = Tensor([[1.0, 2.0], [2.0, 4.0]])
    case("det of a singular matrix", "det", [singular], lambda v: np.array(0.0), atol=1e-6)
    view = Tensor(regular([2, 2]).values, view=[["permute", [1, 0]], ["flip", [0]]])
    case("inv of a view", "inv", [view], np.linalg.inv, grad=True, **loose)


def _decompositions() -> None:
    draw = Draw("decompositions")
    loose = {"rtol": 4e-5, "atol": 4e-5}
    complete = lambda v: list(np.linalg.qr(v, "complete"))
    for shape in ([2, 2], [3, 3], [4, 2], [2, 3]):
        a = Tensor(draw.reals(shape, -2, 2) + 2 * np.eye(*shape))
        case(f"qr of shape {shape}", "qr", [a], complete, **loose)
        # Signs of singular vectors are free.
        values = lambda v: list(np.linalg.svd(v, full_matrices=True))
        out = ["float32"] * 3
        case(f"svd of shape {shape}", "svd", [a], values, out=out, any_out=[0, 2], **loose)
        thin = lambda v: list(np.linalg.svd(v, full_matrices=False))
        args = {"full_matrices": False}
        case(
            f"svd of shape {shape}, thin", "svd", [a], thin, args, out=out, any_out=[0, 2], **loose
        )
    two = Tensor(draw.reals([2, 3, 2], -2, 2))
    case(
        "svd of two matrices",
        "svd",
        [two],
        lambda v: list(np.linalg.svd(v)),
        out=["float32"] * 3,
        any_out=[0, 2],
        **loose,
    )

    both = ["float32"] * 2
    for shape in ([1, 1], [3, 3], [2, 4, 4]):
        x = Tensor(draw.reals(shape, -2, 2))
        lower = lambda v: list(np.linalg.eigh(v))
        upper = lambda v: list(np.linalg.eigh(v, "U"))
        case(f"eigh of shape {shape}", "eigh", [x], lower, out=both, any_out=[1], **loose)
        flag = {"upper": True}
        case(
            f"eigh of shape {shape}, upper",
            "eigh",
            [x],
            upper,
            flag,
            out=both,
            any_out=[1],
            **loose,
        )
    error(
        "eigh of a matrix that is not square",
        "eigh",
        [Tensor(draw.reals([2, 3]))],
        "expected square matrices",
    )
    four = ["float32", "float32", "int32", "float32"]
    for m, n, k in ((4, 2, []), (4, 2, [3]), (2, 3, [2]), (3, 3, [])):
        a, b = Tensor(draw.reals([m, n], -2, 2)), Tensor(draw.reals([m, *k], -2, 2))

        def least(v: Any, w: Any) -> Any:
            x, _, rank, s = np.linalg.lstsq(v, w, rcond=None)
            return [x, ((v @ x - w) ** 2).sum(axis=0), np.asarray(rank), s]

        case(f"lstsq of {m} x {n} and {[m, *k]}", "lstsq", [a, b], least, out=four, **loose)
    flat = Tensor([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]])
    case("lstsq of rank 1", "lstsq", [flat, Tensor([1.0, 2.0, 4.0])], least, out=four, **loose)
    short = [flat, Tensor([1.0, 2.0])]
    error("lstsq of sizes that do not fit", "lstsq", short, "b: has shape")

    def newton(x: Any, steps: int, params: list[float], eps: float = 1e-7) -> Any:
        x = x / (np.linalg.norm(x) + eps)
        for _ in range(steps):
            gram, power, out = x @ x.T, x, 0
            for p in params:
                out = out + p * power
                power = gram @ power
            x = out
        return x

    for steps, params in ((1, [1.5, -0.5]), (4, [1.5, -0.5]), (3, [3.4445, -4.775, 2.0315])):
        fn = lambda v, s=steps, p=params: newton(v, s, p)
        args = {"steps": steps, "params": params}
        case(
            f"newton_schulz {steps} steps of {params}",
            "newton_schulz",
            [Tensor(draw.reals([2, 3]))],
            fn,
            args,
            **loose,
        )


def _softmax(x: Any) -> Any:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def _attend(q: Any, k: Any, v: Any, mask: Any = None, causal: bool = False) -> Any:
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    if causal:
        scores = np.where(np.tril(np.ones(scores.shape[-2:], bool)), scores, -np.inf)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    return _softmax(scores) @ v


def _attention() -> None:
    draw = Draw("attention")
    op = "scaled_dot_product_attention"

    def three(lead: list[int], n: int, m: int) -> list[Tensor]:
        return [Tensor(draw.reals([*lead, r, 2])) for r in (n, m, m)]

    case(f"{op}", op, three([], 3, 4), _attend, grad=True, **NEAR)
    case(f"{op} batched", op, three([2, 2], 2, 3), _attend, **NEAR)
    causal = lambda q, k, v: _attend(q, k, v, causal=True)
    case(f"{op} causal", op, three([2], 3, 3), causal, {"is_causal": True}, **NEAR)
    case(
        f"{op} causal, 2 axes", op, three([], 2, 2), causal, {"is_causal": True}, grad=True, **NEAR
    )
    args = {"attn_mask": {"input": 3}}
    mask = Tensor(draw.reals([2, 3]))
    case(f"{op} with a mask", op, [*three([], 2, 3), mask], _attend, args, grad=True, **NEAR)
    grouped = [Tensor(draw.reals([4, 2, 2])), *(Tensor(draw.reals([2, 3, 2])) for _ in range(2))]
    fn = lambda q, k, v: _attend(q, k.repeat(2, 0), v.repeat(2, 0))
    case(f"{op} of grouped heads", op, grouped, fn, {"enable_gqa": True}, grad=True, **NEAR)
    where = Tensor([[True, False, True], [True, True, True]], "bool")
    case(f"{op} with a bool mask", op, [*three([], 2, 3), where], _attend, args, grad=True, **NEAR)


def _hashes() -> None:
    draw = Draw("hashes")
    for cfg, size in (("sha3_256", 3), ("sha3_256", 136), ("sha3_224", 143), ("shake_128", 9)):
        data = Tensor(draw.ints([2, size], 0, 255), "uint8")
        each = getattr(hashlib, cfg)
        length = [16] if cfg == "shake_128" else []

        def digests(v: Any, each: Any = each, length: list[int] = length) -> Any:
            rows = [each(bytes(map(int, row))).digest(*length) for row in v]
            return np.array([list(row) for row in rows])

        case(f"keccak {cfg} of {size} bytes", "keccak", [data], digests, {"cfg": cfg}, out="uint8")
