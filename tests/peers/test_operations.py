"""Operations and their gradients against PyTorch: same numbers in, same numbers out."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from polygrad import Tensor

torch = pytest.importorskip("torch")
F = torch.nn.functional

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Case:
    """A function of ours and the one of torch that it should equal, with what they are given."""

    name: str
    ours: Callable[..., Any]
    theirs: Callable[..., Any]
    shapes: list[Shape]
    low: float = -2
    high: float = 2
    # Integers that come behind the real arguments: (shape, how many classes).
    classes: list[tuple[Shape, int]] = field(default_factory=list)
    grad: bool = True


def same(name: str, shapes: list[Shape], low: float = -2, high: float = 2, **options: Any) -> Case:
    """Return a case of a function that is a method of the same name in both, or torch's own."""
    theirs = getattr(torch, name, None) or getattr(F, name)
    return Case(name, getattr(Tensor, name), theirs, shapes, low, high, **options)


ONE: list[Shape] = [(3, 5)]
TWO: list[Shape] = [(3, 1, 5), (4, 1)]

FUNCTIONS = [
    *(same(n, ONE) for n in ("exp", "exp2", "expm1", "square", "neg", "abs", "sin", "cos", "atan")),
    *(same(n, ONE) for n in ("sinh", "cosh", "tanh", "asinh", "sigmoid", "erf", "erfc", "relu")),
    *(same(n, ONE) for n in ("relu6", "silu", "softplus", "mish", "softsign", "elu", "celu")),
    *(same(n, ONE) for n in ("hardswish", "hardsigmoid", "hardtanh", "logsigmoid", "leaky_relu")),
    *(same(n, ONE, 0.2, 3) for n in ("log", "log2", "log10", "log1p", "sqrt", "rsqrt", "lgamma")),
    *(same(n, ONE, 0.2, 3) for n in ("reciprocal", "digamma")),
    *(same(n, ONE, -0.9, 0.9) for n in ("asin", "acos", "atanh", "erfinv", "tan")),
    same("acosh", ONE, 1.1, 4),
    *(same(n, ONE, grad=False) for n in ("ceil", "floor", "trunc", "round", "sign")),
    Case("gelu", Tensor.gelu, lambda x: F.gelu(x, approximate="tanh"), ONE),
    Case("selu", lambda x: x.selu(1.6732632423543772, 1.0507009873554805), torch.selu, ONE),
    Case("ndtri", Tensor.ndtri, torch.special.ndtri, ONE, 0.05, 0.95),
]
ARITHMETIC = [
    *(
        same(n, TWO)
        for n in ("add", "sub", "mul", "div", "maximum", "minimum", "logaddexp", "atan2")
    ),
    same("pow", TWO, 0.3, 2),
    same("hypot", TWO, 0.3, 2),
    same("copysign", TWO, grad=False),
    Case("floor_divide", lambda x, y: x // y, torch.floor_divide, TWO, grad=False),
    Case("mod", lambda x, y: x % y, torch.remainder, TWO, grad=False),
    Case(
        "where",
        lambda x, y: (x > y).where(x, y * 2),
        lambda x, y: torch.where(x > y, x, y * 2),
        TWO,
    ),
    Case("lerp", lambda x, y, w: x.lerp(y, w), torch.lerp, [(3, 4), (3, 4), (4,)]),
    Case("power of a number", lambda x: 2**x, lambda x: 2**x, ONE),
    Case("clamp", lambda x: x.clamp(-0.5, 1), lambda x: x.clamp(-0.5, 1), ONE),
]
THREE: list[Shape] = [(3, 4, 5)]
REDUCTIONS = [
    Case(
        f"{name} over {axis}",
        lambda x, n=name, a=axis: getattr(x, n)(axis=a),
        lambda x, n=other, a=axis: getattr(torch, n)(x, dim=a),
        THREE,
    )
    for axis in (0, -1, (0, 2))
    for name, other in (("sum", "sum"), ("mean", "mean"), ("max", "amax"), ("min", "amin"))
]
REDUCTIONS += [
    Case("prod", lambda x: x.prod(1), lambda x: x.prod(1), THREE),
    Case("var", lambda x: x.var(axis=(0, 1)), lambda x: x.var(dim=(0, 1)), THREE),
    Case("std", lambda x: x.std(axis=1, correction=0), lambda x: x.std(1, correction=0), THREE),
    Case("logsumexp", lambda x: x.logsumexp(1), lambda x: x.logsumexp(1), THREE),
    Case("softmax", lambda x: x.softmax(1), lambda x: x.softmax(1), THREE),
    Case("log_softmax", lambda x: x.log_softmax(), lambda x: x.log_softmax(-1), THREE),
    Case("cumsum", lambda x: x.cumsum(1), lambda x: x.cumsum(1), THREE),
    Case("cumprod", lambda x: x.cumprod(1), lambda x: x.cumprod(1), THREE, 0.5, 1.5),
    Case("cummax", lambda x: x.cummax(1)[0], lambda x: x.cummax(1)[0], THREE),
    Case("logcumsumexp", lambda x: x.logcumsumexp(1), lambda x: x.logcumsumexp(1), THREE),
    Case("argmax", lambda x: x.argmax(1), lambda x: x.argmax(1), THREE, grad=False),
    Case("norm", lambda x: x.square().sum(-1).sqrt(), lambda x: x.norm(dim=-1), THREE),
]
MOVEMENTS = [
    Case("sort", lambda x: x.sort(1)[0], lambda x: x.sort(1)[0], THREE),
    Case("argsort", lambda x: x.argsort(1, True), lambda x: x.argsort(1, True), THREE, grad=False),
    Case("topk", lambda x: x.topk(2, 1)[0], lambda x: x.topk(2, 1)[0], THREE),
    Case(
        "gather",
        lambda x, i: x.gather(1, i),
        lambda x, i: x.gather(1, i),
        THREE,
        classes=[((3, 6, 5), 4)],
    ),
    Case(
        "scatter",
        lambda x, y, i: x.scatter(0, i, y),
        lambda x, y, i: x.scatter(0, i, y),
        [(9, 4), (1, 4)],
        classes=[((1, 4), 9)],
    ),
    *(
        Case(
            f"scatter_reduce {how}",
            lambda x, y, i, h=how: x.scatter_reduce(0, i, y, h, include_self=h != "mean"),
            lambda x, y, i, h=how: x.scatter_reduce(0, i, y, h, include_self=h != "mean"),
            [(4, 3), (7, 3)],
            classes=[((7, 3), 4)],
            grad=how in ("sum", "mean"),
        )
        for how in ("sum", "prod", "mean", "amax", "amin")
    ),
    Case(
        "take rows",
        lambda x, i: x[i],
        lambda x, i: x[i],
        [(7, 3)],
        classes=[((2, 4), 7)],
    ),
    Case("slices", lambda x: x[1:, ::2, None, -1], lambda x: x[1:, ::2, None, -1], THREE),
    Case("roll", lambda x: x.roll((1, -2), (0, 2)), lambda x: x.roll((1, -2), (0, 2)), THREE),
    Case("tril", lambda x: x.tril(1), lambda x: x.tril(1), THREE),
    Case("triu", lambda x: x.triu(-1), lambda x: x.triu(-1), THREE),
    Case("diagonal", lambda x: x.diagonal(), lambda x: x.diagonal(), [(4, 4)]),
    Case(
        "im2col",
        lambda x: x.im2col((3, 2), 2, 1),
        lambda x: F.unfold(x, (3, 2), 2, 1),
        [(2, 3, 7, 6)],
    ),
    Case(
        "col2im",
        lambda x: x.col2im((7, 6), (3, 2), 2, 1),
        lambda x: F.fold(x, (7, 6), (3, 2), 2, 1),
        [(2, 18, 30)],
    ),
    *(
        Case(
            f"cdist {p}",
            lambda x, y, p=p: x.cdist(y, p),
            lambda x, y, p=p: torch.cdist(x, y, p),
            [(3, 4), (5, 4)],
        )
        for p in (1.0, 2.0, 3.0)
    ),
    Case(
        "pixel_shuffle",
        lambda x: x.pixel_shuffle(2),
        lambda x: F.pixel_shuffle(x, 2),
        [(2, 8, 3, 5)],
    ),
    Case(
        "pixel_unshuffle",
        lambda x: x.pixel_unshuffle(2),
        lambda x: F.pixel_unshuffle(x, 2),
        [(2, 2, 6, 4)],
    ),
    Case(
        "ctc_loss",
        lambda x, t: x.log_softmax().ctc_loss(t + 1, Tensor([9, 5]), Tensor([3, 2])),
        lambda x, t: F.ctc_loss(
            x.log_softmax(-1), t + 1, torch.tensor([9, 5]), torch.tensor([3, 2])
        ),
        [(9, 2, 4)],
        classes=[((2, 3), 3)],
    ),
    Case("unfold", lambda x: x.unfold(1, 3, 2), lambda x: x.unfold(1, 3, 2), [(2, 9)]),
    *(
        Case(
            f"pad {mode}",
            lambda x, m=mode: x.pad((2, 1, 1, 2), mode=m),
            lambda x, m=mode: F.pad(x, (2, 1, 1, 2), mode=m),
            [(2, 3, 4, 5)],
        )
        for mode in ("constant", "reflect", "replicate", "circular")
    ),
    *(
        Case(
            f"interpolate {mode} to {size}, corners {corners}",
            lambda x, m=mode, s=size, c=corners: x.interpolate(s, mode=m, align_corners=bool(c)),
            lambda x, m=mode, s=size, c=corners: F.interpolate(
                x, s, mode="bilinear" if m == "linear" else m, align_corners=c
            ),
            [(2, 3, 5, 4)],
        )
        for size in ((7, 9), (3, 2))
        for mode, corners in (
            ("nearest", None),
            ("nearest-exact", None),
            ("linear", False),
            ("linear", True),
            ("bicubic", False),
            ("bicubic", True),
            ("area", None),
        )
    ),
]
PRODUCTS = [
    Case("matmul", lambda a, b: a @ b, lambda a, b: a @ b, [(5, 1, 3, 4), (2, 4, 6)]),
    Case("dot", lambda a, b: a.dot(b), torch.dot, [(7,), (7,)]),
    Case(
        "einsum",
        lambda a, b: Tensor.einsum("bij,bkj->bik", a, b),
        lambda a, b: torch.einsum("bij,bkj->bik", a, b),
        [(2, 3, 4), (2, 5, 4)],
    ),
    Case("linear", lambda x, w, b: x.linear(w.T, b), F.linear, [(2, 3, 4), (5, 4), (5,)]),
    *(
        Case(
            f"attention, causal {causal}",
            lambda q, k, v, c=causal: q.scaled_dot_product_attention(k, v, is_causal=c),
            lambda q, k, v, c=causal: F.scaled_dot_product_attention(q, k, v, is_causal=c),
            [(2, 3, 6, 4)] * 3,
        )
        for causal in (False, True)
    ),
    Case(
        "attention of groups",
        lambda q, k, v: q.scaled_dot_product_attention(k, v, enable_gqa=True),
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, enable_gqa=True),
        [(2, 6, 5, 4), (2, 2, 7, 4), (2, 2, 7, 4)],
    ),
    Case(
        "attention with a mask",
        lambda q, k, v, m: q.scaled_dot_product_attention(k, v, attn_mask=m),
        lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, attn_mask=m),
        [(2, 3, 5, 4), (2, 3, 7, 4), (2, 3, 7, 4), (5, 7)],
    ),
]
IMAGE: Shape = (2, 4, 9, 8)
WINDOWS = [
    *(
        Case(
            f"conv2d {options}",
            lambda x, w, b, o=options: x.conv2d(w, b, **o),
            lambda x, w, b, o=options: F.conv2d(x, w, b, **o),
            [IMAGE, (6, 4 // options.get("groups", 1), 3, 2), (6,)],
        )
        for options in (
            {},
            {"stride": 2, "padding": 1},
            {"dilation": (2, 1), "padding": (0, 1)},
            {"groups": 2, "stride": (1, 3)},
        )
    ),
    *(
        Case(
            f"conv_transpose2d {options}",
            lambda x, w, b, o=options: x.conv_transpose2d(w, b, **o),
            lambda x, w, b, o=options: F.conv_transpose2d(x, w, b, **o),
            [IMAGE, (4, 6 // options.get("groups", 1), 3, 2), (6,)],
        )
        for options in (
            {},
            {"stride": 2, "padding": 1, "output_padding": 1},
            {"dilation": 2},
            {"groups": 2, "stride": (1, 3)},
        )
    ),
    Case(
        "conv1d",
        lambda x, w: x.conv2d(w, padding=2),
        lambda x, w: F.conv1d(x, w, padding=2),
        [(2, 3, 9), (5, 3, 4)],
    ),
    Case(
        "conv3d",
        lambda x, w: x.conv2d(w, stride=2),
        lambda x, w: F.conv3d(x, w, stride=2),
        [(2, 3, 5, 6, 7), (4, 3, 2, 3, 2)],
    ),
    *(
        Case(
            f"max_pool2d {options}",
            lambda x, o=options: x.max_pool2d(**o),
            lambda x, o=options: F.max_pool2d(x, **o),
            [IMAGE],
        )
        for options in (
            {"kernel_size": 2},
            {"kernel_size": 3, "stride": 2, "padding": 1},
            {"kernel_size": (3, 2), "dilation": 2},
            {"kernel_size": 3, "stride": 2, "ceil_mode": True},
        )
    ),
    *(
        Case(
            f"avg_pool2d {options}",
            lambda x, o=options: x.avg_pool2d(**o),
            lambda x, o=options: F.avg_pool2d(x, **o),
            [IMAGE],
        )
        for options in (
            {"kernel_size": 2},
            {"kernel_size": 3, "stride": 2, "padding": 1},
            {"kernel_size": 3, "stride": 2, "padding": 1, "count_include_pad": False},
            {"kernel_size": 3, "stride": 2, "ceil_mode": True},
        )
    ),
    Case("layernorm", lambda x: x.layernorm(), lambda x: F.layer_norm(x, x.shape[-1:]), THREE),
    Case(
        "groupnorm",
        lambda x, w, b: x.groupnorm(2, weight=w, bias=b),
        lambda x, w, b: F.group_norm(x, 2, w, b),
        [IMAGE, (4,), (4,)],
    ),
]
POSITIVE = np.array([0.5, 1, 2])
LOSSES = [
    *(
        Case(
            f"cross_entropy of {shape}, {reduction}, smoothing {smoothing}",
            lambda x, y, r=reduction, s=smoothing: x.cross_entropy(y, r, s),
            lambda x, y, r=reduction, s=smoothing: F.cross_entropy(
                x, y, reduction=r, label_smoothing=s
            ),
            [shape],
            classes=[((shape[0], *shape[2:]), shape[1])],
        )
        for shape in ((6, 4), (3, 4, 5))
        for reduction in ("mean", "sum", "none")
        for smoothing in (0.0, 0.1)
    ),
    Case(
        "nll_loss",
        lambda x, y: x.log_softmax(1).nll_loss(y),
        lambda x, y: F.nll_loss(x.log_softmax(1), y),
        [(6, 4)],
        classes=[((6,), 4)],
    ),
    Case(
        "binary_crossentropy",
        lambda x, y: x.binary_crossentropy(y),
        F.binary_cross_entropy,
        [(5, 3)] * 2,
        0.1,
        0.9,
    ),
    Case(
        "binary_crossentropy_logits",
        lambda x, y: x.binary_crossentropy_logits(y, pos_weight=Tensor(POSITIVE)),
        lambda x, y: F.binary_cross_entropy_with_logits(x, y, pos_weight=torch.tensor(POSITIVE)),
        [(5, 3)] * 2,
        0.1,
        0.9,
    ),
]
LINEAR_ALGEBRA = [
    Case("inv", lambda x: x.inv(), torch.linalg.inv, [(2, 4, 4)]),
    Case("det", lambda x: x.det(), torch.linalg.det, [(2, 4, 4)]),
    Case("solve", lambda a, b: a.solve(b), torch.linalg.solve, [(4, 4), (4, 2)]),
    Case(
        "svd: singular values",
        lambda x: x.svd()[1],
        lambda x: torch.linalg.svd(x)[1],
        [(5, 3)],
        grad=False,
    ),
    Case(
        "qr: the product",
        lambda x: x.qr()[0] @ x.qr()[1],
        lambda x: x,
        [(5, 3)],
        grad=False,
    ),
]
CASES = [
    *FUNCTIONS,
    *ARITHMETIC,
    *REDUCTIONS,
    *MOVEMENTS,
    *PRODUCTS,
    *WINDOWS,
    *LOSSES,
    *LINEAR_ALGEBRA,
]


def arguments(case: Case) -> tuple[list[Any], list[Any]]:
    """Draw the real arguments of a case and its integers."""
    rng = np.random.default_rng(zlib.crc32(case.name.encode()))
    reals = [rng.uniform(case.low, case.high, shape) for shape in case.shapes]
    whole = [rng.integers(0, n, shape) for shape, n in case.classes]
    return reals, whole


def close(got: Any, want: Any, tolerance: float) -> None:
    """Compare arrays; what is small is compared with the largest."""
    got, want = np.asarray(got, np.float64), np.asarray(want, np.float64)
    assert got.shape == want.shape, f"shape {got.shape}, expected {want.shape}"
    scale = max(1.0, float(np.abs(want).max(initial=0)))
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance * scale)


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_values_and_gradients(case: Case) -> None:
    reals, whole = arguments(case)
    ours = [Tensor(a, requires_grad=case.grad) for a in reals]
    theirs = [torch.tensor(a, requires_grad=case.grad) for a in reals]
    got = case.ours(*ours, *(Tensor(i) for i in whole))
    want = case.theirs(*theirs, *(torch.tensor(i) for i in whole))
    close(got.numpy(), want.detach().numpy(), 1e-9)
    if not case.grad:
        return
    weights = np.random.default_rng(1).uniform(0.5, 1.5, want.shape)
    (got * Tensor(weights)).sum().backward()
    (want * torch.tensor(weights)).sum().backward()
    for mine, other in zip(ours, theirs):
        assert mine.grad is not None
        close(mine.grad.numpy(), other.grad.numpy(), 1e-7)


SMOOTH = [*FUNCTIONS, *ARITHMETIC, *PRODUCTS, *WINDOWS]
NARROW = {"float32": 2e-5, "bfloat16": 0.06, "float16": 8e-3}


@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize(
    "case", [*FUNCTIONS, *ARITHMETIC, *PRODUCTS, *WINDOWS], ids=lambda c: c.name
)
def test_types(case: Case, dtype: str) -> None:
    reals, whole = arguments(case)
    rounded = [torch.tensor(a).to(getattr(torch, dtype)).double() for a in reals]
    got = case.ours(*(Tensor(a.numpy()).cast(dtype) for a in rounded), *map(Tensor, whole))
    want = case.theirs(*rounded, *map(torch.tensor, whole))
    assert got.dtype == dtype
    if case.name in ("floor_divide", "mod"):
        return  # a quotient next to an integer jumps with its rounding
    close(got.cast("float64").numpy(), want.numpy(), NARROW[dtype])


@pytest.mark.parametrize("corners", [False, True])
@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize("size", [(10, 10), (100, 90), (5, 128), (3, 2), (1, 2)])
def test_images_of_bytes(mode: str, size: tuple[int, int], corners: bool) -> None:
    """Resized bytes are PyTorch's, bit for bit: weights in fixed point, rounded after each axis."""
    for shape in ((2, 3, 37, 53), (1, 1, 5, 4)):
        x = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
        want = F.interpolate(torch.tensor(x), size, mode=mode, align_corners=corners)
        got = Tensor(x).interpolate(size, mode=mode, align_corners=corners)
        np.testing.assert_array_equal(got.numpy(), want.numpy())


def test_areas_of_bytes_are_rounded() -> None:
    x = np.random.default_rng(1).integers(0, 256, (1, 1, 6, 9), dtype=np.uint8)
    want = F.interpolate(torch.tensor(x, dtype=torch.float64), (3, 2), mode="area")
    got = Tensor(x).interpolate((3, 2), mode="area").numpy()
    np.testing.assert_array_equal(got, np.floor(want.numpy() + 0.5))
