"""Functions against NumPy, SciPy and JAX for all their types and for odd shapes.

A row of the table says which functions, of which operands. The cases are all combinations of types
and shapes that suit it; each has a name: the function, types, shapes and arguments. POLY_TESTS=all
compares all of them, as `make test-peers` does; without it one in four.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, Callable, NamedTuple

import numpy as np
import pytest
import scipy.fft
import scipy.linalg
import scipy.signal
import scipy.special
from turns import part

from polygrad import Tensor, fft, lax, linalg, special
from polygrad import numpy as pnp

FLOATS = ("float16", "float32", "float64")
WIDE = ("float32", "float64")
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTEGERS = SIGNED + UNSIGNED
ALL = ("bool", *INTEGERS, *FLOATS)
SHAPES = ((), (0,), (1,), (7,), (3, 5), (1, 9), (2, 1, 3), (2, 0, 3), (33,))
PAIRS = (
    ((), ()),
    ((7,), ()),
    ((3, 5), (5,)),
    ((3, 1), (1, 4)),
    ((2, 1, 3), (5, 1)),
    ((0, 3), (3,)),
)
# The greatest relative error, by the type of the result.
ERRORS = {"float16": 2e-3, "float32": 2e-6, "float64": 1e-12, "bfloat16": 1e-2}
EDGES = np.array([0.0, -0.0, 1.0, -1.0, 0.5, np.inf, -np.inf, np.nan, 2.5, -3.5, 1e-3])


class Case(NamedTuple):
    """A call: f of our module and of theirs, on the same operands."""

    name: str
    ours: Callable[..., Any]
    theirs: Callable[..., Any]
    operands: tuple[np.ndarray, ...]
    scale: float


CASES: dict[str, list[Case]] = {}


def draw(seed: Any, dtype: str, shape: tuple[int, ...], kind: str) -> np.ndarray:
    """Return values of a type: any, positive, unit (from -1 to 1), small, edges, distinct."""
    rng = np.random.default_rng(abs(hash(seed)) % 2**32 if not isinstance(seed, int) else seed)
    size = int(np.prod(shape))
    if kind == "distinct":
        return rng.permutation(size).reshape(shape).astype(dtype)
    if dtype == "bool":
        return rng.random(shape) < 0.5
    if dtype in INTEGERS:
        low, high = {"small": (0, 4), "positive": (1, 12)}.get(kind, (0, 100))
        values = rng.integers(low, high, shape)
        signs = 1 if dtype in UNSIGNED or kind != "any" else rng.choice([-1, 1], shape)
        return (values * signs).astype(dtype)
    if kind == "edges":
        return rng.choice(EDGES, shape).astype(dtype)
    if kind in ("positive", "small"):
        return np.exp(rng.uniform(-2, 2, shape)).astype(dtype)
    return rng.uniform(-1, 1, shape).astype(dtype) * (1 if kind == "unit" else 4)


def wide(x: np.ndarray) -> np.ndarray:
    return x.astype(np.float64) if x.dtype.kind == "f" else x


def add(
    group: str,
    name: str,
    operands: tuple[np.ndarray, ...],
    ours: Callable[..., Any] | None = None,
    theirs: Callable[..., Any] | None = None,
    scale: float = 1.0,
    args: str = "",
) -> None:
    """Add a case; the functions are those with the name unless they are given."""
    what = " ".join(f"{x.dtype}{list(x.shape)}" for x in operands)
    full = f"{name}({what}{', ' + args if args else ''})"
    f, g = ours or getattr(pnp, name), theirs or getattr(np, name)
    CASES.setdefault(group, []).append(Case(full, f, g, operands, scale))


def seeded(*parts: Any) -> int:
    return sum(ord(c) * (i + 1) for i, c in enumerate(repr(parts)))


def every(
    group: str,
    names: str,
    dtypes: tuple[str, ...],
    kind: str,
    shapes: Any = SHAPES,
    scale: float = 1,
) -> None:
    """Functions of one operand, of each type and shape."""
    for name, dtype, shape in itertools.product(names.split(), dtypes, SHAPES):
        add(group, name, (draw(seeded(name, dtype, shape), dtype, shape, kind),), scale=scale)


def both(group: str, names: str, dtypes: tuple[str, ...], kind: str, scale: float = 1) -> None:
    """Functions of two operands of a type, whose shapes broadcast."""
    for name, dtype, (a, b) in itertools.product(names.split(), dtypes, PAIRS):
        x, y = (draw(seeded(name, dtype, s, i), dtype, s, kind) for i, s in enumerate((a, b)))
        add(group, name, (x, y), scale=scale)


def reduced(
    group: str, names: str, dtypes: tuple[str, ...], kind: str, empty: bool, scale: float
) -> None:
    """Reductions along each axis, and of all elements."""
    for name, dtype, shape in itertools.product(names.split(), dtypes, SHAPES):
        if not empty and 0 in shape:
            continue
        x = draw(seeded(name, dtype, shape), dtype, shape, kind)
        for axis in (None, *range(len(shape))):
            add(
                group,
                name,
                (x,),
                lambda x, n=name, a=axis: getattr(pnp, n)(x, axis=a),
                lambda x, n=name, a=axis: getattr(np, n)(x, axis=a),
                scale * max(1, x.size) ** 0.5,
                f"axis={axis}",
            )


# Elementwise
every(
    "exact", "floor ceil trunc rint abs sign negative square isnan isinf isfinite", FLOATS, "edges"
)
every("exact", "abs sign square isfinite positive", INTEGERS, "any")
every("exact", "negative", SIGNED, "any")
every("exact", "bitwise_invert", ("bool", *INTEGERS), "any")
every("exact", "logical_not", ALL, "any")
every("exact", "signbit", FLOATS, "edges")
every(
    "elementwise", "sin cos exp expm1 tanh sinh cosh arctan arcsinh cbrt exp2 sinc", FLOATS, "any"
)
every("elementwise", "tan degrees radians", WIDE, "any", scale=4)
every("elementwise", "arcsin arccos arctanh", FLOATS, "unit", scale=4)
every("elementwise", "log log2 log10 log1p sqrt reciprocal", FLOATS, "positive", scale=4)
every("elementwise", "sqrt exp tanh", FLOATS, "edges")
both(
    "exact",
    "add subtract multiply maximum minimum equal not_equal less greater_equal",
    ALL[1:],
    "any",
)
both("exact", "logical_and logical_or logical_xor", ALL, "any")
both("exact", "bitwise_and bitwise_or bitwise_xor", ("bool", *INTEGERS), "any")
both("exact", "bitwise_left_shift bitwise_right_shift", INTEGERS, "small")
both("exact", "floor_divide remainder", (*INTEGERS, *WIDE), "positive", scale=1)
both("exact", "gcd lcm", INTEGERS, "positive")
both("exact", "fmax fmin copysign maximum minimum", FLOATS, "edges")
both("elementwise", "divide", (*INTEGERS, *FLOATS), "positive")
both("elementwise", "arctan2 hypot logaddexp", FLOATS, "any", scale=2)
both("elementwise", "power float_power", WIDE, "positive", scale=20)
both("exact", "power", ("int32", "int64", "uint8"), "small")
both("exact", "power", INTEGERS, "positive")
both("exact", "power", UNSIGNED, "any")
both("exact", "isclose", ("bool", *INTEGERS, *WIDE), "any")

# Reductions
reduced("reductions", "sum", (*INTEGERS, *FLOATS), "any", True, 4)
reduced("reductions", "prod", ("int32", "int64", *WIDE), "unit", True, 4)
reduced("reductions", "any all count_nonzero", ALL, "small", True, 1)
reduced("reductions", "max min argmax argmin", (*INTEGERS, *FLOATS), "any", False, 1)
reduced("reductions", "mean", FLOATS, "any", False, 4)
reduced("reductions", "var std ptp median", WIDE, "any", False, 8)
reduced("reductions", "nansum nanmax nanmin", WIDE, "any", False, 4)

# Orders
for name, dtype, shape in itertools.product(("sort", "argsort"), (*INTEGERS, *FLOATS), SHAPES):
    x = draw(seeded(name, dtype, shape), dtype, shape, "distinct")
    for axis in range(len(shape)):
        add(
            "orders",
            name,
            (x,),
            lambda x, n=name, a=axis: getattr(pnp, n)(x, axis=a),
            lambda x, n=name, a=axis: getattr(np, n)(x, axis=a),
            args=f"axis={axis}",
        )
for name, dtype, shape in itertools.product(
    ("cumsum", "cumprod"), ("int32", "int64", *WIDE), SHAPES
):
    for axis in range(len(shape)):
        add(
            "orders",
            name,
            (draw(seeded(name, dtype, shape), dtype, shape, "unit"),),
            lambda x, n=name, a=axis: getattr(pnp, n)(x, axis=a),
            lambda x, n=name, a=axis: getattr(np, n)(x, axis=a),
            8,
            f"axis={axis}",
        )
for dtype, n, m in itertools.product((*INTEGERS, *FLOATS), (1, 5, 40), (0, 1, 13)):
    x = np.sort(draw(seeded(dtype, n), dtype, (n,), "any"))
    y = draw(seeded(dtype, m, 1), dtype, (m,), "any")
    for side in ("left", "right"):
        add(
            "orders",
            "searchsorted",
            (x, y),
            lambda x, y, s=side: pnp.searchsorted(x, y, side=s),
            lambda x, y, s=side: np.searchsorted(x, y, side=s),
            args=side,
        )
    add("orders", "isin", (y, x))
    if m:
        add("orders", "union1d", (x, y))
for dtype, n in itertools.product(ALL, (1, 8, 40)):
    add(
        "orders", "unique_values", (draw(seeded(dtype, n), dtype, (n,), "small"),), theirs=np.unique
    )

# Shapes
MOVES: dict[str, Callable[[Any, Any], Any]] = {
    "flip": lambda m, x: m.flip(x),
    "roll": lambda m, x: m.roll(x, 2),
    "ravel": lambda m, x: m.reshape(x, (-1,)) if x.shape != () else m.reshape(x, (1,)),
    "tile": lambda m, x: m.tile(x, (2, 1)),
    "stack": lambda m, x: m.stack([x, x], axis=-1),
    "expand_dims": lambda m, x: m.expand_dims(x, axis=0),
    "where": lambda m, x: m.where(x == x, x, x),
    "triu": lambda m, x: m.triu(m.stack([m.reshape(x, (-1,))] * 3)) if x.shape else x,
    "concat": lambda m, x: m.concat([m.reshape(x, (-1,)), m.reshape(x, (-1,))]),
    "transpose": lambda m, x: m.permute_dims(x, tuple(range(len(x.shape)))[::-1]),
    "repeat": lambda m, x: m.repeat(m.reshape(x, (-1,)), 3),
    "pad": lambda m, x: m.pad(x, 1),
    "rot90": lambda m, x: m.rot90(m.stack([m.reshape(x, (-1,))] * 2)),
}
for (name, move), dtype, shape in itertools.product(MOVES.items(), ALL, SHAPES):
    x = draw(seeded(name, dtype, shape), dtype, shape, "any")
    if name == "ravel" and 0 in shape:
        continue
    add("shapes", name, (x,), lambda x, f=move: f(pnp, x), lambda x, f=move: f(np, x))

# Linear algebra
PRODUCTS = (
    ((3,), (3,)),
    ((2, 3), (3,)),
    ((2, 3), (3, 4)),
    ((5, 2, 3), (3, 1)),
    ((1, 17), (17, 1)),
    ((0, 3), (3, 2)),
)
for dtype, (a, b) in itertools.product((*INTEGERS, *FLOATS), PRODUCTS):
    x, y = draw(seeded(dtype, a), dtype, a, "small"), draw(seeded(dtype, b), dtype, b, "small")
    add("linear", "matmul", (x, y), scale=8)
    if len(b) == 1:
        add("linear", "vecdot", (x, y), scale=8)
for dtype, n, m in itertools.product((*INTEGERS, *FLOATS), (1, 4, 7), (1, 5)):
    x, y = (
        draw(seeded(dtype, n), dtype, (n,), "small"),
        draw(seeded(dtype, m), dtype, (m,), "small"),
    )
    for name in ("outer", "kron"):
        add("linear", name, (x, y))
FACTORS: dict[str, tuple[Callable[[Any, Any], Any], Callable[[Any], Any]]] = {
    "det": (lambda m, x: m.det(x), np.linalg.det),
    "inv": (lambda m, x: m.inv(x), np.linalg.inv),
    "slogdet": (lambda m, x: m.slogdet(x)[1], lambda x: np.linalg.slogdet(x)[1]),
    "cholesky": (
        lambda m, x: m.cholesky(x @ x.mT + Tensor.eye(x.shape[-1]).cast(x.dtype)),
        lambda x: np.linalg.cholesky(x @ np.swapaxes(x, -1, -2) + np.eye(x.shape[-1])),
    ),
    "svdvals": (lambda m, x: m.svdvals(x), lambda x: np.linalg.svd(x, compute_uv=False)),
    "eigvalsh": (
        lambda m, x: m.eigvalsh(x + x.mT),
        lambda x: np.linalg.eigvalsh(x + np.swapaxes(x, -1, -2)),
    ),
    "eigvals": (  # a function of them that has no order
        lambda m, x: (m.eigvals(x).abs() ** 2).sum(-1),
        lambda x: (np.abs(np.linalg.eigvals(x)) ** 2).sum(-1),
    ),
    "eig": (
        lambda m, x: (lambda w, v: (x @ v - v * w.unsqueeze(-2)).abs() + 1)(*m.eig(x)),
        lambda x: np.ones_like(x),
    ),
    "qr": (
        lambda m, x: m.qr(x)[1].abs(),
        lambda x: np.abs(np.linalg.qr(x)[1]),
    ),
    "solve": (
        lambda m, x: m.solve(x, x[..., :1] * 2),
        lambda x: np.linalg.solve(x, x[..., :1] * 2),
    ),
    "pinv": (lambda m, x: m.pinv(x), np.linalg.pinv),
    "matrix_power": (lambda m, x: m.matrix_power(x, 3), lambda x: np.linalg.matrix_power(x, 3)),
    "matrix_norm": (lambda m, x: m.matrix_norm(x), lambda x: np.linalg.norm(x, axis=(-2, -1))),
}
SQUARES = tuple((*b, n, n) for b in ((), (1,), (3,), (2, 2)) for n in (1, 2, 3, 5, 8, 13))
for (name, (f, g)), dtype, shape in itertools.product(FACTORS.items(), WIDE, SQUARES):
    x = draw(seeded(name, dtype, shape), dtype, shape, "unit") + 3 * np.eye(shape[-1], dtype=dtype)
    add("factors", name, (x.astype(dtype),), lambda x, f=f: f(linalg, x), g, 50 * shape[-1])


# Fourier transforms
SIZES = (1, 2, 3, 4, 5, 7, 8, 9, 12, 13, 16, 17, 21, 31, 32, 37, 45, 64, 97, 100)
for name, dtype, n in itertools.product(("fft", "ifft"), WIDE, SIZES):
    for batch in ((), (3,), (2, 1)):
        x = draw(seeded(name, dtype, n, batch), dtype, (2, *batch, n), "unit")
        f = getattr(fft, name)
        g = getattr(scipy.fft, name)
        add(
            "fourier",
            name,
            (x[0], x[1]),
            lambda re, im, f=f: f(re + 1j * im),
            lambda re, im, g=g: g(re + 1j * im),
            20 * n**0.5,
        )
for dtype, n, batch in itertools.product(WIDE, SIZES, ((), (3,))):
    x = draw(seeded(dtype, n, batch), dtype, (*batch, n), "unit")
    add("fourier", "rfft", (x,), fft.rfft, scipy.fft.rfft, 20 * n**0.5)
CONVOLVED = (((9,), (4,)), ((4,), (9,)), ((6, 7), (3, 2)), ((1, 5), (1, 5)), ((2, 8, 9), (2, 3, 3)))
for mode, dtype, (a, b) in itertools.product(("full", "same", "valid"), WIDE, CONVOLVED):
    x, y = (draw(seeded(mode, dtype, s, i), dtype, s, "unit") for i, s in enumerate((a, b)))
    for axes in (None, (-1,)) if a[:-1] == b[:-1] else (None,):
        add(
            "fourier",
            "fftconvolve",
            (x, y),
            lambda x, y, m=mode, a=axes: fft.fftconvolve(x, y, m, a),
            lambda x, y, m=mode, a=axes: scipy.signal.fftconvolve(x, y, m, a),
            100,
            f"{mode}, axes={axes}",
        )
ROOTS = itertools.product(WIDE, (2, 3, 4, 6, 9, 12), range(3))
for dtype, n, i in ROOTS:  # the distances of the roots from their mean have no order
    x = draw(seeded("roots", dtype, n, i), dtype, (n,), "unit") + np.eye(1, n, dtype=dtype)[0] * 4
    add(
        "linear",
        "roots",
        (x.astype(dtype),),
        lambda x: (pnp.roots(x).abs() ** 2).sum(),
        lambda x: (np.abs(np.roots(x)) ** 2).sum(),
        500,
    )

# Special functions
GAMMAS = "gammaln digamma erf erfc ndtr log_ndtr expit i0 i0e i1 i1e exp1 expi entr gamma"
for name in GAMMAS.split():
    for dtype, shape in itertools.product(WIDE, SHAPES):
        x = draw(seeded(name, dtype, shape), dtype, shape, "positive")
        add("special", name, (x,), getattr(special, name), getattr(scipy.special, name), 50)
for name in ["xlogy", "xlog1py", "rel_entr", "kl_div", "beta", "betaln", "gammainc", "gammaincc"]:
    for dtype, (a, b) in itertools.product(WIDE, PAIRS):
        x, y = (draw(seeded(name, dtype, s, i), dtype, s, "positive") for i, s in enumerate((a, b)))
        add("special", name, (x, y), getattr(special, name), getattr(scipy.special, name), 200)
for name in ("logsumexp", "softmax", "log_softmax"):
    for dtype, shape in itertools.product(WIDE, SHAPES):
        if 0 in shape or shape == ():
            continue
        x = draw(seeded(name, dtype, shape), dtype, shape, "any")
        for axis in range(len(shape)):
            add(
                "special",
                name,
                (x,),
                lambda x, n=name, a=axis: getattr(special, n)(x, axis=a),
                lambda x, n=name, a=axis: getattr(scipy.special, n)(x, axis=a),
                20,
                f"axis={axis}",
            )


def jax_cases() -> Iterator[Case]:
    """Return cases of lax against JAX, which has the functions that NumPy has not."""
    import jax.lax

    calls: dict[str, Callable[[Any, Any], Any]] = {
        "pad": lambda m, x: m.pad(x, 0 * x[0], [(1, -1, 2)]),
        "rev": lambda m, x: m.rev(x, (0,)),
        "cummax": lambda m, x: m.cummax(x, axis=0),
        "cummin reverse": lambda m, x: m.cummin(x, axis=0, reverse=True),
        "dynamic_slice": lambda m, x: m.dynamic_slice(x, (3,), (4,)),
        "dynamic_update_slice": lambda m, x: m.dynamic_update_slice(x, x[:3], (2,)),
        "top_k": lambda m, x: m.top_k(x, 3)[0],
        "sort": lambda m, x: m.sort(x),
    }
    for (name, call), dtype, n in itertools.product(calls.items(), (*INTEGERS, *FLOATS), (9, 16)):
        if dtype in ("int64", "uint64", "float64"):
            continue  # they need JAX's x64 mode, which is one for the process
        x = draw(seeded(name, dtype, n), dtype, (n,), "distinct")
        yield Case(
            f"lax.{name}({dtype}[{n}])",
            lambda x, f=call: f(lax, x),
            lambda x, f=call: np.asarray(f(jax.lax, jax.numpy.asarray(x))),
            (x,),
            1,
        )


def compare(case: Case) -> str | None:
    """Return what is wrong with a case, or None."""
    with np.errstate(all="ignore"):
        operands = case.operands
        wanted = case.theirs(*(operands if case.name.startswith("lax.") else map(wide, operands)))
    try:
        found = case.ours(*map(Tensor, operands))
    except Exception as e:
        return f"{case.name}: {type(e).__name__}: {e}"
    found = found if isinstance(found, (tuple, list)) else [found]
    wanted = wanted if isinstance(wanted, tuple) else [wanted]
    sizes = np.concatenate([np.abs(np.ravel(w)).astype(float) for w in wanted])
    biggest = np.max(sizes, initial=0, where=np.isfinite(sizes))
    for f, w in zip(found, wanted):
        f, w = f.numpy(), np.asarray(w)
        if f.shape != w.shape:
            return f"{case.name}: shape {f.shape}, expected {w.shape}"
        if f.dtype.kind not in "fc":
            with np.errstate(all="ignore"):
                good = np.array_equal(f, w.astype(f.dtype))
        else:
            error = ERRORS[f.real.dtype.name] * case.scale
            with np.errstate(all="ignore"):
                w = w.astype(f.dtype)
            few = error * (float(biggest) if case.scale > 1 else 1e-3)
            good = np.allclose(f, w, error, few, equal_nan=True)
        if not good:
            return f"{case.name}:\n{f}\nexpected\n{w}"
    return None


@pytest.mark.parametrize("group", [*CASES, "lax"])
def test_cases(group: str) -> None:
    cases = part(jax_cases() if group == "lax" else CASES[group])
    wrong = [text for text in map(compare, cases) if text is not None]
    assert not wrong, f"{len(wrong)} of {len(cases)}:\n" + "\n".join(wrong[:40])


def test_a_wrong_value_is_found() -> None:
    x = np.array([1.0, 2.0])
    for change in (lambda t: t + 1e-6, lambda t: t.cast("float32").sin(), lambda t: t[:1]):
        assert compare(Case("wrong", lambda t, f=change: f(t.sin()), np.sin, (x,), 1)) is not None
    assert compare(Case("right", lambda t: t.sin(), np.sin, (x,), 1)) is None


def test_there_are_enough_cases() -> None:
    names = [c.name for cases in CASES.values() for c in cases]
    assert len(set(names)) >= 5000
