"""Losses."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from cases.builder import Draw, Tensor, case
from cases.special import sigmoid

NEAR = {"rtol": 4e-6, "atol": 2e-6}


def add() -> None:
    """Add the cases of this group."""
    _cross_entropy()
    _binary()
    _smoothing()
    _nll()
    _ctc()
    _distances()


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
    case(f"{op} of axis 1 of three", op, [x, classes], _by_class(1), grad=[0], **NEAR)
    last = Tensor([[0, 1, 1], [1, 0, 0]], "int32", index=True)
    case(f"{op} axis -1", op, [x, last], _by_class(-1), {"axis": -1}, grad=[0], **NEAR)
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


REDUCE: dict[str, Callable[[Any], Any]] = {"mean": np.mean, "sum": np.sum, "none": lambda v: v}


def _smoothing() -> None:
    draw = Draw("smoothing")

    def losses(x: Any, classes: Any, s: float) -> Any:
        n = x.shape[-1]
        p = (1 - s) * np.eye(n)[classes.astype(int)] + s / n
        return -(p * _log_softmax(x, -1)).sum(axis=-1)

    classes = Tensor([1, 0, 3], "int32", index=True)
    for op in ("cross_entropy", "sparse_categorical_crossentropy"):
        for how, reduce in REDUCE.items():
            for s in (0.0, 0.25):
                args: dict[str, Any] = {"reduction": how}
                if s:
                    args["label_smoothing"] = s
                fn = lambda v, t, a=s, r=reduce: np.asarray(r(losses(v, t, a)))
                name = f"{op} {how}{f' smoothing {s}' if s else ''}"
                two = [Tensor(draw.reals([3, 4])), classes]
                case(name, op, two, fn, args, grad=[0], **NEAR)
    p = Tensor([[0.25, 0.75, 0.0], [0.5, 0.25, 0.25]])
    fn = lambda v, q: -((0.9 * q + 0.1 / 3) * _log_softmax(v, -1)).sum(axis=-1).mean()
    case(
        "cross_entropy of probabilities with smoothing",
        "cross_entropy",
        [Tensor(draw.reals([2, 3])), p],
        fn,
        {"label_smoothing": 0.1},
        grad=[0],
        **NEAR,
    )
    some = Tensor([1, 2, 2], "int32", index=True)
    keep = np.array([True, False, False])
    op = "sparse_categorical_crossentropy"
    for how in REDUCE:

        def ignoring(v: Any, t: Any, h: str = how) -> Any:
            out = np.where(keep, losses(v, t, 0.0), 0)
            return (
                out if h == "none" else np.asarray(out.sum() / (keep.sum() if h == "mean" else 1))
            )

        case(
            f"{op} {how} ignoring",
            op,
            [Tensor(draw.reals([3, 4])), some],
            ignoring,
            {"reduction": how, "ignore_index": 2},
            grad=[0],
            **NEAR,
        )


def _nll() -> None:
    draw = Draw("nll")

    def fn(x: Any, t: Any, w: Any = None, how: str = "mean", ignore: int | None = None) -> Any:
        t = t.astype(int)
        each = np.ones(t.shape) if w is None else w[t]
        if ignore is not None:
            each = each * (t != ignore)
        out = -np.take_along_axis(x, np.expand_dims(t, 1), 1).reshape(t.shape) * each
        return (
            out if how == "none" else np.asarray(out.sum() / (each.sum() if how == "mean" else 1))
        )

    w = Tensor([0.5, 1.0, 2.0])
    for how in REDUCE:
        x, t = Tensor(draw.reals([4, 3])), Tensor([0, 2, 1, 2], "int32", index=True)
        one = lambda v, c, h=how: fn(v, c, None, h)
        case(f"nll_loss {how}", "nll_loss", [x, t], one, {"reduction": how}, grad=[0], **NEAR)
        one = lambda v, c, k, h=how: fn(v, c, k, h)
        args = {"reduction": how, "weight": {"input": 2}}
        case(f"nll_loss {how} with weights", "nll_loss", [x, t, w], one, args, grad=[0], **NEAR)
        one = lambda v, c, h=how: fn(v, c, None, h, 2)
        t = Tensor([0, 2, 1, 2], "int32", index=True)
        case(
            f"nll_loss {how} ignoring",
            "nll_loss",
            [x, t],
            one,
            {"reduction": how, "ignore_index": 2},
            grad=[0],
            **NEAR,
        )
    x, t = Tensor(draw.reals([2, 3, 2])), Tensor([[0, 2], [1, 1]], "int32", index=True)
    case("nll_loss of three axes", "nll_loss", [x, t], fn, grad=[0], **NEAR)


def _ctc() -> None:
    """Sum over all paths of classes, by going through them."""
    steps, samples, classes = 4, 3, 3

    def fn(x: Any, targets: Any, times: Any, counts: Any, how: str, blank: int) -> Any:
        x = x - np.log(np.exp(x).sum(-1, keepdims=True))
        losses = []
        for n in range(samples):
            time, count = int(times[n]), int(counts[n])
            total = 0.0
            for path in itertools.product(range(classes), repeat=time):
                heard = [c for c, _ in itertools.groupby(path) if c != blank]
                if heard == [int(c) for c in targets[n, :count]]:
                    total += np.exp(sum(x[t, n, c] for t, c in enumerate(path)))
            losses.append(-np.log(total) / (max(count, 1) if how == "mean" else 1))
        return np.array(losses) if how == "none" else np.asarray(getattr(np, how)(losses))

    draw = Draw("ctc")
    for how, blank, targets in (
        ("mean", 0, [[1, 2], [2, 2], [1, 0]]),
        ("sum", 2, [[0, 1], [1, 1], [0, 2]]),
        ("none", 0, [[1, 2], [2, 1], [1, 0]]),
    ):
        x = np.log(draw.reals([steps, samples, classes], 0.5, 1.5))
        x = Tensor(x - np.log(np.exp(x).sum(-1, keepdims=True)))
        given = [
            Tensor(targets, "int32", index=True),
            Tensor([4, 4, 2], "int32"),
            Tensor([2, 2, 1], "int32"),
        ]

        def of(v: Any, *a: Any, h: str = how, b: int = blank) -> Any:
            return fn(v, *a, h, b)

        args = {"input_lengths": {"input": 2}, "target_lengths": {"input": 3}}
        args |= {"reduction": how, "blank": blank} if blank else {"reduction": how}
        case(f"ctc_loss {how} with blank {blank}", "ctc_loss", [x, *given], of, args, **NEAR)


def _distances() -> None:
    draw = Draw("distances")

    def huber(d: Any, delta: float) -> Any:
        return np.where(np.abs(d) <= delta, d * d / 2, delta * (np.abs(d) - delta / 2))

    for how, reduce in REDUCE.items():
        x, y = Tensor(draw.reals([2, 3], -3, 3)), Tensor(draw.reals([2, 3], -3, 3) + 1 / 64)
        args = {"reduction": how}
        two = [x, y]
        case(
            f"mse_loss {how}",
            "mse_loss",
            two,
            lambda a, b, r=reduce: np.asarray(r((a - b) ** 2)),
            args,
            grad=True,
            **NEAR,
        )
        case(
            f"l1_loss {how}",
            "l1_loss",
            two,
            lambda a, b, r=reduce: np.asarray(r(np.abs(a - b))),
            args,
            grad=True,
            **NEAR,
        )
        for delta in (1.0, 0.3):
            fn = lambda a, b, r=reduce, d=delta: np.asarray(r(huber(a - b, d)))
            case(
                f"huber_loss {how} delta {delta}",
                "huber_loss",
                two,
                fn,
                {**args, "delta": delta},
                grad=True,
                **NEAR,
            )
        p, q = Tensor(draw.reals([2, 3], 0.1, 0.9)), Tensor(draw.reals([2, 3], 0, 1))
        fn = lambda a, b, r=reduce: np.asarray(r(-(b * np.log(a) + (1 - b) * np.log(1 - a))))
        case(
            f"binary_crossentropy {how}", "binary_crossentropy", [p, q], fn, args, grad=[0], **NEAR
        )
        weight = Tensor([0.5, 1.0, 2.0])

        def logits(a: Any, b: Any, k: Any = 1.0, r: Any = reduce) -> Any:
            positive, negative = -np.logaddexp(0, -a), -np.logaddexp(0, a)
            return np.asarray(r(-(k * b * positive + (1 - b) * negative)))

        op = "binary_crossentropy_logits"
        case(f"{op} {how}", op, [x, q], logits, args, grad=[0], **NEAR)
        three = [x, q, weight]
        case(
            f"{op} {how} with weights",
            op,
            three,
            logits,
            {**args, "pos_weight": {"input": 2}},
            grad=[0],
            **NEAR,
        )
