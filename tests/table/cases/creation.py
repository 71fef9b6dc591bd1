"""Tensors made of numbers, and random ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from cases import random_numbers as rng
from cases.builder import FLOATS, INTS, Draw, Tensor, case


def add() -> None:
    """Add the cases of this group."""
    _filled()
    _ranges()
    _likes()
    _random()
    _weights()
    _choices()


def _make(op: str, values: Any, out: str, what: str = "", **args: Any) -> None:
    given = ", ".join(f"{k} {v}" for k, v in args.items())
    name = " ".join(s for s in (op, given, what) if s)
    case(name, op, [], lambda: np.asarray(values), args, kind="static", out=out)


def _filled() -> None:
    for shape in ([2, 3], [], [0], [1, 1]):
        _make("zeros", np.zeros(shape), "float32", shape=shape)
        _make("ones", np.ones(shape), "float32", shape=shape)
    for dtype in (*FLOATS, *INTS, "bool"):
        one = True if dtype == "bool" else 1 if dtype in INTS else 1.0
        kind = bool if dtype == "bool" else type(one)
        _make("ones", np.ones([2], kind), dtype, shape=[2], dtype=dtype)
        _make("zeros", np.zeros([2], kind), dtype, shape=[2], dtype=dtype)
        _make("full", np.full([2], one), dtype, shape=[2], fill_value=one, dtype=dtype)
    _make("full", np.array(0.1), "float64", shape=[], fill_value=0.1, dtype="float64")
    _make("full", np.array(2**40 + 1), "int64", shape=[], fill_value=2**40 + 1, dtype="int64")
    _make("full", np.array(7), "uint8", shape=[], fill_value=7, dtype="uint8")
    _make("full", np.full([2, 2], 2.5), "float32", shape=[2, 2], fill_value=2.5)
    _make("full", np.full([3], 7), "int32", shape=[3], fill_value=7, dtype="int32")
    _make("full", np.array(-1.5), "float32", shape=[], fill_value=-1.5)
    _make("full", np.full([1], -3), "int8", shape=[1], fill_value=-3, dtype="int8")


def _ranges() -> None:
    _make("arange", np.arange(5), "int32", stop=5, dtype="int32")
    _make("arange", np.arange(2, 10, 3), "int32", start=2, stop=10, step=3, dtype="int32")
    _make("arange", np.arange(5, 0, -2), "int32", start=5, stop=0, step=-2, dtype="int32")
    _make("arange", np.arange(0, 2, 0.25), "float32", start=0, stop=2, step=0.25, dtype="float32")
    _make("arange", np.arange(1, 4, 0.5), "float64", start=1, stop=4, step=0.5, dtype="float64")
    _make("arange", np.arange(0), "int32", stop=0, dtype="int32")
    _make("arange", np.arange(3), "int64", stop=3, dtype="int64")
    _make("arange", np.arange(3), "uint8", stop=3, dtype="uint8")
    _make("arange", np.arange(3.0), "float16", stop=3, dtype="float16")
    for start, stop, steps in ((0, 1, 5), (-1, 1, 3), (2, 2, 2), (3, 7, 1), (5, 1, 4), (0, 1, 0)):
        values = np.linspace(start, stop, steps)
        _make("linspace", values, "float32", start=start, stop=stop, steps=steps)
    _make("linspace", np.linspace(0, 1, 4), "float64", start=0, stop=1, steps=4, dtype="float64")
    _make("eye", np.eye(3), "float32", n=3)
    _make("eye", np.eye(2, 3), "float32", n=2, m=3)
    _make("eye", np.eye(3, 2), "float64", n=3, m=2, dtype="float64")
    _make("eye", np.eye(0), "float32", n=0)


def _likes() -> None:
    for dtype in ("float32", "float64", "int32", "uint8", "float16"):
        kind = int if dtype in INTS else float
        x = Tensor(np.zeros([2, 3], kind), dtype)
        case(f"zeros_like {dtype}", "zeros_like", [x], lambda v: v * 0)
        case(f"ones_like {dtype}", "ones_like", [x], lambda v: v * 0 + 1)
        case(f"full_like {dtype}", "full_like", [x], lambda v: v * 0 + 3, {"fill_value": 3})


def _random() -> None:
    for seed in (0, 42, 2**32 + 5, 2**63 + 11):
        case(
            f"rand seed {seed}",
            "rand",
            [],
            lambda s=seed: rng.uniform(s, [2, 4]).astype(float),
            {"shape": [2, 4]},
            kind="static",
            out="float32",
            rtol=0,
            atol=0,
            seed=str(seed) if seed > 2**53 else seed,
        )
        case(
            f"randn seed {seed}",
            "randn",
            [],
            lambda s=seed: rng.normal(s, [8]).astype(float),
            {"shape": [8]},
            kind="static",
            out="float32",
            rtol=0,
            atol=0,
            seed=str(seed) if seed > 2**53 else seed,
        )
    for shape in ([], [0], [3, 1, 2]):
        case(
            f"rand of shape {shape}",
            "rand",
            [],
            lambda s=shape: rng.uniform(7, s).astype(float),
            {"shape": shape},
            kind="static",
            out="float32",
            rtol=0,
            atol=0,
            seed=7,
        )
    case(
        "randn of 300",
        "randn",
        [],
        lambda: rng.normal(9, [300]).astype(float),
        {"shape": [300]},
        kind="static",
        out="float32",
        rtol=0,
        atol=0,
        seed=9,
    )
    for low, high in ((0, 10), (-5, 5), (3, 4), (0, 1000)):
        args = {"shape": [9], "low": low, "high": high}
        case(
            f"randint {low} to {high}",
            "randint",
            [],
            lambda a=low, b=high: rng.integers(3, [9], a, b),
            args,
            kind="static",
            out="int32",
            seed=3,
        )
    args = {"shape": [5], "low": 0, "high": 100, "dtype": "int64"}
    case(
        "randint int64",
        "randint",
        [],
        lambda: rng.integers(4, [5], 0, 100),
        args,
        kind="static",
        out="int64",
        seed=4,
    )
    for dtype in ("float64", "float16"):
        case(
            f"rand {dtype}",
            "rand",
            [],
            lambda: rng.uniform(5, [4]).astype(float),
            {"shape": [4], "dtype": dtype},
            kind="static",
            out=dtype,
            seed=5,
        )
    case(
        "rand_like",
        "rand_like",
        [Tensor(np.zeros([3]))],
        lambda v: rng.uniform(6, [3]).astype(float),
        rtol=0,
        atol=0,
        seed=6,
    )
    case(
        "randn_like",
        "randn_like",
        [Tensor(np.zeros([3]))],
        lambda v: rng.normal(6, [3]).astype(float),
        rtol=0,
        atol=0,
        seed=6,
    )
    x = Tensor(Draw("dropout").reals([4, 4]))
    for p in (0.25, 0.5, 0.9):
        keep = rng.uniform(8, [4, 4]) >= np.float32(p)
        case(
            f"dropout {p}",
            "dropout",
            [x],
            lambda v, k=keep, q=p: np.where(k, v / (1 - q), 0),
            {"p": p},
            seed=8,
            training=True,
            grad=p == 0.5,
        )
    case("dropout 1", "dropout", [x], lambda v: v * 0, {"p": 1.0}, seed=8, training=True)
    case("dropout 0", "dropout", [x], lambda v: v, {"p": 0.0}, seed=8, training=True)
    case("dropout without training", "dropout", [x], lambda v: v, {"p": 0.5}, seed=8)


def _drawn(
    op: str, values: Any, seed: int, what: str = "", out: str = "float32", **args: Any
) -> None:
    given = ", ".join(f"{k} {v}" for k, v in args.items())
    name = " ".join(x for x in (op, given, what) if x)
    case(name, op, [], lambda: np.asarray(values), args, kind="static", out=out, seed=seed)


def _weights() -> None:
    for seed, shape in ((11, [5]), (12, [2, 3]), (13, [])):
        u, z = rng.uniform(seed, shape).astype(float), rng.normal(seed, shape).astype(float)
        _drawn("uniform", u, seed, shape=shape)
        _drawn("uniform", u * 3.5 - 1.5, seed, shape=shape, low=-1.5, high=2.0)
        _drawn("normal", z, seed, shape=shape)
        _drawn("normal", z * 0.5 + 3, seed, shape=shape, mean=3.0, std=0.5)
        _drawn("scaled_uniform", (2 * u - 1) / np.sqrt(max(u.size, 1)), seed, shape=shape)
    whole = rng.integers(17, [6], -3, 5)
    _drawn("uniform", whole, 17, out="int32", shape=[6], low=-3, high=5, dtype="int32")
    rounded = np.trunc(rng.normal(18, [6]).astype(np.float32) * np.float32(3)).astype(int)
    _drawn("normal", rounded, 18, out="int32", shape=[6], std=3.0, dtype="int32")
    u = rng.uniform(14, [4]).astype(float)
    _drawn("uniform", u, 14, out="float64", shape=[4], dtype="float64")
    for seed, shape in ((15, [3, 4]), (16, [2, 3, 2, 2])):
        u, z = rng.uniform(seed, shape).astype(float), rng.normal(seed, shape).astype(float)
        fan = float(np.prod(shape[1:]))
        _drawn("glorot_uniform", (2 * u - 1) * np.sqrt(6 / (shape[0] + fan)), seed, shape=shape)
        for a in (None, 0.5):
            args = {} if a is None else {"a": a}
            gain = 1 + (0.01 if a is None else a) ** 2
            _drawn(
                "kaiming_uniform", (2 * u - 1) * np.sqrt(6 / gain / fan), seed, shape=shape, **args
            )
            _drawn("kaiming_normal", z * np.sqrt(2 / gain / fan), seed, shape=shape, **args)


def _choices() -> None:
    def order(seed: int, n: int) -> Any:
        return np.argsort(rng.uniform(seed, [n]), kind="stable")

    for seed, n in ((21, 5), (22, 1), (23, 17), (24, 0)):
        case(
            f"randperm {n}",
            "randperm",
            [],
            lambda s=seed, k=n: order(s, k),
            {"n": n},
            kind="static",
            out="int32",
            seed=seed,
            index_out=[0],
        )
    case(
        "randperm int64",
        "randperm",
        [],
        lambda: order(25, 6),
        {"n": 6, "dtype": "int64"},
        kind="static",
        out="int64",
        seed=25,
        index_out=[0],
    )

    def with_replacement(w: Any, seed: int, n: int) -> Any:
        rows = np.atleast_2d(w)
        share = np.cumsum(rows, -1) / rows.sum(-1, keepdims=True)
        u = rng.uniform(seed, [n, len(rows), 1])
        drawn = (u >= share[None, :, :-1]).sum(-1).T
        return drawn.reshape(*w.shape[:-1], n)

    def without(w: Any, seed: int, n: int) -> Any:
        u = np.maximum(rng.uniform(seed, list(w.shape)).astype(float), 2.0**-25)
        with np.errstate(divide="ignore"):
            return np.argsort(-np.log(u) / w, -1, kind="stable")[..., :n]

    flat, rows = Tensor([1.0, 3.0, 0.0, 2.0]), Tensor([[1.0, 2.0, 5.0], [4.0, 0.0, 1.0]])
    for what, w, n, again, seed in (
        ("", flat, 1, False, 31),
        ("", flat, 6, True, 32),
        ("of rows ", rows, 4, True, 33),
        ("", flat, 2, False, 34),
        ("of rows ", rows, 2, False, 35),
    ):
        fn = (
            (lambda v, s=seed, k=n: with_replacement(v, s, k))
            if again or n == 1
            else (lambda v, s=seed, k=n: without(v, s, k))
        )
        args: dict[str, Any] = {"num_samples": n}
        if again:
            args["replacement"] = True
        case(
            f"multinomial {what}{n}{' with replacement' if again else ''}",
            "multinomial",
            [w],
            fn,
            args,
            out="int32",
            seed=seed,
            index_out=[0],
        )
