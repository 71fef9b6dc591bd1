"""Gradients of convolutions, pools and windows, and gradients of these.

All of them are sums of products, so with small integers every number is exact. A gradient is right
if it is the adjoint: the sum of gradient * v is that of upstream * f(v) for every v.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from polygrad import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable

# x, weight, arguments of conv2d
CASES: list[tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = [
    ((2, 3, 7), (4, 3, 3), {"padding": 1}),
    ((2, 4, 9), (4, 2, 3), {"stride": 2, "groups": 2}),
    ((2, 3, 6, 5), (4, 3, 3, 2), {"padding": 1}),
    ((1, 3, 9, 8), (4, 3, 3, 3), {"stride": 2, "padding": 1}),
    ((2, 2, 9, 8), (4, 2, 1, 1), {"stride": 2}),
    ((2, 2, 9, 8), (4, 2, 2, 2), {"stride": 3}),
    ((1, 2, 11, 9), (2, 2, 5, 3), {"stride": 2, "padding": 2}),
    ((1, 2, 9, 9), (2, 2, 3, 3), {"dilation": 2, "padding": 1}),
    ((1, 2, 9, 9), (2, 2, 3, 3), {"dilation": 2, "stride": 2, "padding": 2}),
    ((1, 2, 9, 9), (2, 2, 3, 3), {"dilation": (1, 2), "stride": (3, 1)}),
    ((2, 4, 6, 6), (4, 1, 3, 3), {"groups": 4, "stride": 2, "padding": 1}),
    ((2, 3, 5, 5), (4, 3, 5, 5), {}),
    ((6, 16, 10, 10), (2, 16, 3, 3), {"padding": 1}),
    ((16, 16, 8, 8), (2, 16, 1, 1), {}),
    ((1, 2, 4, 5, 6), (2, 2, 2, 3, 3), {"stride": 2, "padding": 1}),
]


def whole(shape: tuple[int, ...], seed: int) -> Tensor:
    """Return small integers that a gradient can be taken for."""
    values = np.random.default_rng(seed).integers(-3, 4, shape).astype(np.float32)
    return Tensor(values, requires_grad=True)


def total(x: Tensor, y: Tensor) -> float:
    """Return the sum of the products of elements."""
    return float((x.numpy().astype(np.float64) * y.numpy()).sum())


@pytest.mark.parametrize("case", CASES, ids=str)
def test_convolution(case: tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]) -> None:
    """Both gradients are adjoints, and so are their own gradients."""
    shape, kernel, arguments = case

    def conv(x: Tensor, w: Tensor) -> Tensor:
        result: Tensor = x.conv2d(w, **arguments)
        return result

    x, w, v, u = whole(shape, 0), whole(kernel, 1), whole(shape, 2), whole(kernel, 3)
    y = conv(x, w)
    g = whole(y.shape, 4)
    dx, dw = y.gradient(x, w, gradient=g)
    along_x, along_w = total(conv(v, w), g), total(conv(x, u), g)
    assert (dx.shape, dw.shape) == (shape, kernel)
    assert total(dx, v) == along_x
    assert total(dw, u) == along_w
    # dx is linear in g and w, dw in g and x.
    twice_g, twice_w = (dx * v).sum().gradient(g, w)
    assert np.array_equal(twice_g.numpy(), conv(v, w).numpy())
    assert total(twice_w, w) == along_x
    assert total(twice_w, u) == total(conv(v, u), g)
    twice_g, twice_x = (dw * u).sum().gradient(g, x)
    assert np.array_equal(twice_g.numpy(), conv(x, u).numpy())
    assert total(twice_x, x) == along_w
    assert total(twice_x, v) == total(conv(v, u), g)


@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_windows(size: int, stride: int) -> None:
    """Gradients of windows and of sums over them are adjoints, and so are their own gradients."""
    functions: list[Callable[[Tensor], Tensor]] = [
        lambda x: x.unfold(1, size, stride),
        lambda x: x.reshape(1, 2, 11, 13).avg_pool2d(size, stride=stride) * float(size * size),
        lambda x: x.reshape(1, 2, 11, 13).avg_pool2d(2, stride=stride, padding=1) * 4.0,
    ]
    for function in functions:
        x, v = whole((2, 143), 0), whole((2, 143), 1)
        y = function(x)
        g = whole(y.shape, 2)
        (dx,) = y.gradient(x, gradient=g)
        assert total(dx, v) == pytest.approx(total(function(v), g), abs=1e-2)
        (twice,) = (dx * v).sum().gradient(g)
        assert np.allclose(twice.numpy(), function(v).numpy(), atol=1e-4)


@pytest.mark.parametrize(
    ("size", "stride", "dilation"),
    [(2, 2, 1), (3, 2, 1), (3, 1, 1), (2, 3, 1), (3, 1, 2), (3, 2, 2)],
)
def test_max_pool(size: int, stride: int, dilation: int) -> None:
    """Each window gives its gradient to where its maximum is."""
    values = np.random.default_rng(0).permutation(2 * 9 * 10).reshape(1, 2, 9, 10)
    x = Tensor(values.astype(np.float32), requires_grad=True)
    y = x.max_pool2d(size, stride=stride, dilation=dilation)
    g = whole(y.shape, 1)
    (dx,) = y.gradient(x, gradient=g)
    want = np.zeros(values.shape, np.float32)
    for place in np.ndindex(*y.shape):
        want[values == y.numpy()[place]] += g.numpy()[place]
    assert np.array_equal(dx.numpy(), want)
