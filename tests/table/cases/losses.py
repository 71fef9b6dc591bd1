"""Losses."""

from __future__ import annotations

from typing import Any

import numpy as np

from cases.builder import Draw, Tensor, case
from cases.special import sigmoid

NEAR = {"rtol": 4e-6, "atol": 2e-6}


def add() -> None:
    """Add the cases of this group."""
    _cross_entropy()
    _binary()


def _log_softmax(x: Any, axis: int) -> Any:
    x = x - x.max(axis=axis, keepdims=True)
    return x - np.log(np.exp(x).sum(axis=axis, keepdims=True))


def _by_class(axis: int) -> Any:
    def fn(x: Any, classes: Any) -> Any:
        at = np.expand_dims(classes.astype(int), axis)
        return -np.take_along_axis(_log_softmax(x, axis), at, axis).mean()

    return fn


def _by_probability(axis: int) -> Any:
    return lambda x, p: -(p * _log_softmax(x, axis)).sum(axis=axis).mean()


def _cross_entropy() -> None:
    draw = Draw("cross entropy")
    op = "cross_entropy"
    for dtype in ("int32", "int64", "uint8"):
        x = Tensor(draw.reals([3, 4]))
        classes = Tensor([1, 0, 3], dtype, index=True)
        case(f"{op} of classes {dtype}", op, [x, classes], _by_class(-1), grad=[0], **NEAR)
    p = Tensor([[0.25, 0.75, 0.0], [0.5, 0.25, 0.25]])
    case(
        f"{op} of probabilities",
        op,
        [Tensor(draw.reals([2, 3])), p],
        _by_probability(-1),
        grad=[0],
        **NEAR,
    )
    x = Tensor(draw.reals([2, 3, 2]))
    classes = Tensor([[0, 2], [1, 1]], "int32", index=True)
    case(f"{op} axis 1", op, [x, classes], _by_class(1), {"axis": 1}, grad=[0], **NEAR)
    one = [Tensor(draw.reals([4])), Tensor(2, "int32", index=True)]
    case(f"{op} of one vector", op, one, _by_class(-1), grad=[0], **NEAR)
    large = [Tensor([[1000.0, 0.0]]), Tensor([1], "int32", index=True)]
    case(f"{op} does not overflow", op, large, _by_class(-1), **NEAR)
    view = Tensor(draw.reals([3, 2]), view=[["permute", [1, 0]]])
    case(
        f"{op} of a view",
        op,
        [view, Tensor([2, 0], "int32", index=True)],
        _by_class(-1),
        grad=[0],
        **NEAR,
    )
    sparse = "sparse_categorical_crossentropy"
    x = Tensor(draw.reals([3, 4]))
    case(
        sparse, sparse, [x, Tensor([1, 0, 3], "int32", index=True)], _by_class(-1), grad=[0], **NEAR
    )


def _binary() -> None:
    draw = Draw("binary")

    def plain(x: Any, y: Any) -> Any:
        return -(y * np.log(x) + (1 - y) * np.log(1 - x)).mean()

    def logits(x: Any, y: Any) -> Any:
        return (np.maximum(x, 0) - x * y + np.log1p(np.exp(-np.abs(x)))).mean()

    x, y = Tensor(draw.reals([2, 3], 0.1, 0.9)), Tensor([[1.0, 0.0, 1.0], [0.0, 0.5, 0.25]])
    case("binary_crossentropy", "binary_crossentropy", [x, y], plain, grad=[0], **NEAR)
    z = Tensor(draw.reals([2, 3], -3, 3))
    op = "binary_crossentropy_logits"
    case(op, op, [z, y], logits, grad=[0], **NEAR)
    large = [Tensor([100.0, -100.0]), Tensor([0.0, 1.0])]
    case(f"{op} does not overflow", op, large, logits, **NEAR)
    assert abs(logits(z.values, y.values) - plain(sigmoid(z.values), y.values)) < 1e-12
