"""The arguments of NumPy's functions: their names and order, and what they do."""

from __future__ import annotations

import inspect
import io
from collections.abc import Callable
from types import ModuleType
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from polygrad import Tensor
from polygrad import numpy as pnp
from polygrad.func import grad, vmap

RNG = np.random.default_rng(3)

# Arguments of NumPy that are not there: results are new arrays in row-major order, functions of
# elements are no objects, and files hold numbers only.
LEFT_OUT = {
    *("out", "order", "subok", "overwrite_input", "casting", "like", "signature", "ndmax"),
    *("mmap_mode", "allow_pickle", "fix_imports", "encoding", "max_header_size"),
}
OTHERWISE = {
    "arange": "the first argument of NumPy has no name",
    "can_cast": "the standard has no casting",
    "clip": "the standard has min and max, a_min and a_max are other names of them",
    "einsum_path": "NumPy hides the names",
    "isin": "kind names an algorithm of NumPy",
    "meshgrid": "copy: the results are never views of one array",
    "promote_types": "it is result_type, with any number of types",
    "full_like": "shape is no positional argument",
    "ones_like": "shape is no positional argument",
    "zeros_like": "shape is no positional argument",
    "empty_like": "shape is no positional argument",
}


def modules() -> list[Any]:
    return [(np, pnp), (np.linalg, pnp.linalg), (np.fft, pnp.fft)]


def names() -> list[Any]:
    found = []
    for theirs, ours in modules():
        for name in sorted(set(dir(theirs)) & set(dir(ours)) - set(OTHERWISE)):
            of = getattr(theirs, name)
            if (
                name[0] != "_"
                and callable(of)
                and callable(getattr(ours, name))
                and not isinstance(of, (type, np.ufunc))
            ):
                found.append(pytest.param(theirs, ours, name, id=f"{theirs.__name__}.{name}"))
    return found


def arguments(f: Callable[..., Any]) -> list[inspect.Parameter]:
    return [p for p in inspect.signature(f).parameters.values() if p.name not in LEFT_OUT]


@pytest.mark.parametrize(("theirs", "ours", "name"), names())
def test_names_and_order(theirs: ModuleType, ours: ModuleType, name: str) -> None:
    try:
        wanted, found = arguments(getattr(theirs, name)), arguments(getattr(ours, name))
    except ValueError:  # NumPy's own does not tell
        return
    wanted = [p for p in wanted if p.kind != p.VAR_KEYWORD]
    if any(p.kind == p.VAR_POSITIONAL for p in wanted):
        wanted = [p for p in wanted if p.kind == p.KEYWORD_ONLY and p.name != "copy"]
    names = {p.name for p in found}
    every = list(inspect.signature(getattr(theirs, name)).parameters)
    behind = every[every.index("out") :] if "out" in every else []  # have no position without it
    assert all(p.kind == p.KEYWORD_ONLY for p in found if p.name in behind)
    sized = any(p.kind == p.VAR_KEYWORD for p in found)
    for i, p in enumerate(wanted):
        if p.kind == p.POSITIONAL_ONLY or p.name == "device":
            continue
        assert p.name in names or sized, f"{p.name} is missing"
        if p.kind == p.POSITIONAL_OR_KEYWORD and p.name not in behind:
            assert found[i].name == p.name, f"{found[i].name} stands in the place of {p.name}"
            assert found[i].kind == p.kind, f"{p.name} is no positional argument, or has no name"


def normal(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape)


def flat(value: Any) -> list[np.ndarray]:
    if isinstance(value, (tuple, list)):
        return [x for part in value for x in flat(part)]
    return [value.numpy() if isinstance(value, Tensor) else np.asarray(value)]


X, V, M = normal(4, 5), normal(6), normal(4, 4)
HOLES = np.where(RNG.random((4, 5)) < 0.3, np.nan, X)
MASK = RNG.random((4, 5)) < 0.6
WHOLE = RNG.integers(-5, 5, (4, 5)).astype("int32")
WEIGHTS = RNG.integers(0, 4, (4, 5)).astype("float64")
ROWS = RNG.integers(0, 2, (12, 3)).astype("int32")
S = M @ M.T
CALLS: dict[str, Callable[[Any], Any]] = {
    "sum initial": lambda m: m.sum(WHOLE, 1, initial=3),
    "sum where": lambda m: m.sum(X, axis=0, where=MASK),
    "sum where row": lambda m: m.sum(X, 0, None, keepdims=True, where=MASK[:1], initial=2),
    "prod": lambda m: m.prod(X, axis=1, where=MASK, initial=0.5),
    "max": lambda m: m.max(X, axis=1, initial=0.3, where=MASK),
    "min": lambda m: m.min(WHOLE, axis=0, initial=2, where=MASK),
    "where of all": lambda m: m.max(X, axis=1, where=True) + m.mean(X, 1, where=True),
    "power of a number": lambda m: m.power(np.int64(3), np.arange(70)),
    "poly of unsigned": lambda m: m.poly(np.array([3, 2, 1], "uint32")),
    "broadcast_to": lambda m: m.broadcast_to(array=X[0], shape=(2, 5)),
    "ravel_multi_index": lambda m: m.ravel_multi_index(multi_index=([1, 0], [2, 3]), dims=(3, 4)),
    "unique in no order": lambda m: np.sort(flat(m.unique(WHOLE, sorted=False))[0]),
    "max of none": lambda m: m.max(np.zeros((3, 0)), axis=1, initial=-4.0),
    "max of none twice": lambda m: m.amax(np.zeros((0, 3, 0)), initial=-4.0),
    "any": lambda m: m.any(WHOLE > 2, axis=1, where=MASK),
    "all": lambda m: m.all(WHOLE > -4, axis=0, where=MASK),
    "mean": lambda m: m.mean(X, 1, np.float64, where=MASK),
    "var": lambda m: m.var(X, 0, np.float64, ddof=1, where=MASK),
    "std mean": lambda m: m.std(X, axis=1, mean=np.mean(X, 1, keepdims=True)),
    "var mean": lambda m: m.var(X, mean=np.zeros((1, 1)), keepdims=True, correction=2),
    "nansum": lambda m: m.nansum(HOLES, 1, np.float64, initial=3, where=MASK),
    "nanprod": lambda m: m.nanprod(HOLES, axis=0, where=MASK),
    "nanmax": lambda m: m.nanmax(HOLES, axis=1, initial=0, where=MASK),
    "nanmin": lambda m: m.nanmin(HOLES, axis=1, initial=0, where=MASK),
    "nanmean": lambda m: m.nanmean(HOLES, 1, where=MASK),
    "nanvar": lambda m: m.nanvar(HOLES, 0, where=MASK),
    "nanstd": lambda m: m.nanstd(HOLES, 0, ddof=1),
    "diff": lambda m: m.diff(X, 2),
    "diff axis": lambda m: m.diff(X, 1, 0),
    "cov": lambda m: m.cov(X, dtype=np.float64),
    "corrcoef": lambda m: m.corrcoef(X, dtype=np.float64),
    "quantile weights": lambda m: m.quantile(
        X, [0.0, 0.2, 0.5, 1.0], axis=1, method="inverted_cdf", weights=WEIGHTS + 1
    ),
    "quantile weights of 0": lambda m: m.quantile(
        X[0], [0.0, 0.3, 0.9], method="inverted_cdf", weights=np.array([0, 1, 0, 2, 1.0])
    ),
    "quantile one row": lambda m: m.percentile(
        X, 40, axis=1, method="inverted_cdf", weights=WEIGHTS[0] + 1, keepdims=True
    ),
    "nanquantile weights": lambda m: m.nanquantile(
        HOLES, [0.1, 0.7], axis=1, method="inverted_cdf", weights=WEIGHTS + 0.5
    ),
    "cross 2": lambda m: m.cross(X[:, :2], X[:, 2:4]),
    "cross 2 and 3": lambda m: m.cross(X[:, :2], X[:, 2:5]),
    "cross axes": lambda m: m.cross(X[:, :3], M[1:, :], axisa=1, axisb=0, axisc=0),
    "cross axis": lambda m: m.cross(X[:3], X[1:], axis=0),
    "setxor1d NaN": lambda m: m.setxor1d(np.array([6.0, 1]), np.array([0, np.inf, np.nan, 1])),
    "norm 2 of none": lambda m: m.linalg.norm(np.zeros((2, 0, 3)), 2, (1, 2)),
    "norm 1 of none": lambda m: m.linalg.matrix_norm(np.zeros((2, 0)), ord=1, keepdims=True),
    "cholesky of integers": lambda m: m.linalg.cholesky(np.array([[4, 2], [2, 3]], "int64")),
    "isin": lambda m: m.isin(WHOLE, WHOLE[0], True, True),
    "setdiff1d": lambda m: m.setdiff1d(WHOLE, WHOLE[0], True),
    "setdiff1d bool": lambda m: m.setdiff1d(MASK, [True]),
    "extract bool": lambda m: m.extract(X > 0, MASK),
    "sort flat": lambda m: m.sort(X, None),
    "argsort flat": lambda m: m.argsort(X, axis=None),
    "partition flat": lambda m: m.partition(X, 3, None)[3],
    "unique complex": lambda m: m.unique(np.round(X[:, :2] + 1j * X[:, 2:4]), axis=0),
    "linspace int": lambda m: m.linspace(-2, -1, 4, dtype=np.int32),
    "logspace int": lambda m: m.logspace(1, 4, 5, dtype=np.int32),
    "min initial": lambda m: m.min(WHOLE, initial=-2.5),
    "max bool": lambda m: m.max(MASK, axis=0, initial=3),
    "gradient": lambda m: m.gradient(np.array([-np.inf, -np.inf, 0.7, 2.2, 3.0, np.inf])),
    "norm of none": lambda m: m.linalg.vector_norm(np.zeros(0), ord=np.inf),
    "size": lambda m: m.size(np.zeros((2, 3, 4)), (0, 2)),
    "setxor1d": lambda m: m.setxor1d(WHOLE[0], WHOLE[1]),
    "intersect1d": lambda m: m.intersect1d(WHOLE, WHOLE[::2], return_indices=True),
    "unique rows": lambda m: m.unique(ROWS, True, True, True, 0),
    "unique columns": lambda m: m.unique(ROWS, axis=1),
    "unique NaN": lambda m: m.unique(np.array([[1, np.nan], [0, 2], [1, 2.0], [0, 2]]), axis=0),
    "unique of 3 axes": lambda m: m.unique(ROWS.reshape(3, 2, 6), axis=1),
    "take wrap": lambda m: m.take(X, np.array([[7, -8], [1, 2]]), 1, mode="wrap"),
    "take clip": lambda m: m.take(X, np.array([7, -8, 2]), mode="clip"),
    "choose wrap": lambda m: m.choose(np.array([0, 4, -1, 5, 1]), list(WHOLE), mode="wrap"),
    "choose clip": lambda m: m.choose(np.array([0, 4, -1, 5, 1]), list(WHOLE), mode="clip"),
    "roll twice": lambda m: m.roll(X, (1, 2, 3), (0, 1, 0)),
    "linspace": lambda m: m.linspace(start=0, stop=1, num=7, endpoint=False, retstep=True),
    "linspace arrays": lambda m: m.linspace(np.array([0.0, 1]), np.array([[2.0], [3]]), 5, axis=1),
    "linspace one": lambda m: m.linspace(np.array([0.0, 1]), 5, 1),
    "linspace complex": lambda m: m.linspace(1j, 2, 5),
    "logspace": lambda m: m.logspace(np.array([0.0, 1]), 2, 4, base=2.0, axis=-1),
    "geomspace": lambda m: m.geomspace(np.array([1.0, -2]), np.array([8.0, -3]), 4),
    "arange": lambda m: m.arange(1, 10, 2, np.float32),
    "zeros": lambda m: m.zeros((2, 3), np.int32),
    "full": lambda m: m.full((2, 3), np.array([1.0, 2, 3])),
    "full_like": lambda m: m.full_like(X, 3, np.int32, shape=(2, 2)),
    "array": lambda m: m.array([1, 2], np.float32, ndmin=3),
    "eye": lambda m: m.eye(3, 4, 1, np.int32),
    "tri": lambda m: m.tri(N=3, M=4, k=-1),
    "indices": lambda m: m.indices((2, 3), sparse=True),
    "indices of none": lambda m: m.indices(()),
    "meshgrid": lambda m: m.meshgrid(V, X[0], M[0], sparse=True),
    "meshgrid ij": lambda m: m.meshgrid(V, X[0], sparse=True, indexing="ij"),
    "reshape F": lambda m: m.reshape(X, (5, 2, -1), order="F"),
    "ravel F": lambda m: m.ravel(X, "F"),
    "concatenate": lambda m: m.concatenate((X, X), 1, dtype=np.float32),
    "stack": lambda m: m.stack((X, X), 1, dtype=np.float32),
    "hstack": lambda m: m.hstack((X, X), dtype=np.float32),
    "repeat": lambda m: m.repeat(X, 2, 0),
    "clip": lambda m: m.clip(X, a_min=-0.5, a_max=0.5),
    "clip min": lambda m: m.clip(X, min=0),
    "split": lambda m: m.split(X, indices_or_sections=2, axis=0),
    "vander": lambda m: m.vander(V, N=3),
    "tile": lambda m: m.tile(X, reps=(2, 1)),
    "searchsorted": lambda m: m.searchsorted(np.sort(V), v=X[0], side="right"),
    "sort": lambda m: m.sort(X, 0, "stable"),
    "argsort": lambda m: m.argsort(X, 0, kind="stable"),
    "partition": lambda m: m.partition(X, 2, 1, kind="introselect")[:, 2],
    "nan_to_num": lambda m: m.nan_to_num(HOLES, True, 3.0),
    "select": lambda m: m.select(condlist=[X > 1, X > 0], choicelist=[X, X * 2], default=-1.0),
    "piecewise": lambda m: m.piecewise(
        V, [V > 0, V < -1], [lambda x, a, b: x * a + b, 3, 4], 2, b=1
    ),
    "histogram": lambda m: m.histogram(V, 4, (-2.0, 2.0), True),
    "histogram weights": lambda m: m.histogram(V, 4, (-2.0, 2.0), weights=X[0, :].repeat(2)[:6]),
    "histogram rule": lambda m: m.histogram(X, "sturges"),
    "edges rule": lambda m: m.histogram_bin_edges(X, bins="fd"),
    "histogram2d": lambda m: m.histogram2d(V, V[::-1], bins=3),
    "histogram2d edges": lambda m: m.histogram2d(
        V, V[::-1], [3, np.array([-3.0, 0, 3])], density=True
    ),
    "histogramdd": lambda m: m.histogramdd(X[:, :3], (2, 3, 4), [(-2, 2), (-1, 1), (-2, 2)])[0],
    "polyfit": lambda m: m.polyfit(V, V**2 + np.cos(V), 2, w=np.arange(1, 7.0)),
    "polyfit full": lambda m: m.polyfit(V, V**2 + np.cos(V), 2, full=True, rcond=1e-10)[:4],
    "polyfit cov": lambda m: m.polyfit(V, V**2 + np.cos(V), 2, cov=True),
    "polyfit unscaled": lambda m: m.polyfit(V, np.stack([V**2, V], 1), 1, cov="unscaled"),
    "trim_zeros": lambda m: m.trim_zeros(np.array([0, 0, 1, 0, 2, 0]), "f"),
    "trim_zeros none": lambda m: m.trim_zeros(np.zeros(3)),
    "trim_zeros of a matrix": lambda m: m.trim_zeros(np.pad(np.eye(2), 1)),
    "trim_zeros behind": lambda m: m.trim_zeros(np.pad(np.eye(2), 1), "b", axis=-1),
    "trim_zeros of zeros": lambda m: m.trim_zeros(np.zeros((2, 3)), axis=(0,)),
    "trim_zeros of a number": lambda m: m.trim_zeros(np.array(0.0)),
    "repeat a number": lambda m: m.repeat(np.array(3), 2, axis=0),
    "interp complex": lambda m: m.interp(
        np.array([-1.0, 0.25, 2.0]), np.array([0.0, 1.0]), np.array([1 + 1j, 2 - 1j]), left=5.0
    ),
    "sort_complex": lambda m: m.sort_complex(np.array([3.0, 1, 2])),
    "compress": lambda m: m.compress(condition=[True, False, True, True], a=X, axis=0),
    "apply_along_axis": lambda m: m.apply_along_axis(lambda v, k: v * k, 0, X, 3.0),
    "vectorize": lambda m: m.vectorize(pyfunc=lambda a, b: a * b + 1)(V, 2.0),
    "vectorize core": lambda m: m.vectorize(lambda a, b: (a * b).sum(), signature="(n),(n)->()")(
        X, X[0]
    ),
    "norm over axes": lambda m: m.linalg.norm(np.stack([M, S, X[:, 1:]]), 2, (2, 0), True),
    "norm fro over axes": lambda m: m.linalg.norm(np.stack([M, S]), "fro", axis=(0, 1)),
    "norm of lists": lambda m: m.linalg.norm(X.tolist(), 1),
    "norm of one axis": lambda m: m.linalg.norm(X, 1, (0,)),
    "norm of all": lambda m: m.linalg.norm(np.stack([M, S])),
    "matrix_rank": lambda m: m.linalg.matrix_rank(S, tol=1e-3, hermitian=True),
    "pinv": lambda m: m.linalg.pinv(X, 1e-10),
    "eigvalsh": lambda m: m.linalg.eigvalsh(S, "U"),
    "svd": lambda m: m.linalg.svd(S, compute_uv=False, hermitian=True),
    "qr": lambda m: np.abs(flat(m.linalg.qr(X, "r"))[0]),
    "tensorsolve": lambda m: m.linalg.tensorsolve(
        np.eye(24).reshape(6, 4, 2, 3, 4)[..., ::-1, :] + 0, np.arange(24.0).reshape(6, 4)
    ),
    "tensorsolve axes": lambda m: m.linalg.tensorsolve(
        np.random.default_rng(0).normal(size=(2, 6, 3)), np.arange(6.0), axes=(0, 2)
    ),
    "fft": lambda m: m.fft.fft(a=X, n=4, axis=0),
    "fftfreq": lambda m: m.fft.fftfreq(8, 0.5),
    "ediff1d": lambda m: m.ediff1d(ary=V, to_end=3.0),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.filterwarnings("ignore")
def test_values(name: str) -> None:
    got, want = flat(CALLS[name](pnp)), flat(CALLS[name](np))
    assert [x.shape for x in got] == [x.shape for x in want]
    for x, y in zip(got, want):
        kinds = {"i": "iu", "u": "iu"}.get(y.dtype.kind, y.dtype.kind)
        assert x.dtype.kind in kinds
        near = 1e-10 if x.dtype == np.float64 else 2e-5
        np.testing.assert_allclose(x, y, rtol=near, atol=near)


def test_what_jax_has() -> None:
    """Arguments that NumPy does not have, or whose results are new arrays here."""
    x = np.arange(6.0)
    places = np.array([1, 9, -1, -7])
    for kind in ("float32", "int32", "uint8", "bool"):
        a = x.astype(kind)
        got, want = pnp.take(a, places, mode="fill"), jnp.take(jnp.asarray(a), places, mode="fill")
        np.testing.assert_array_equal(got.numpy(), np.asarray(want))
    assert pnp.take(x, places, mode="fill", fill_value=7).tolist() == [1, 7, 5, 7]
    for mode, at in (("clip", [-3, 9]), ("wrap", [1, 9])):
        got = pnp.put(x, np.array(at), [9, 8], mode)
        wanted = x.copy()
        np.put(wanted, at, [9, 8], mode)
        np.testing.assert_array_equal(got.numpy(), wanted)
    a = np.zeros((2, 3))
    got = pnp.put_along_axis(a, np.array([[1], [2]]), np.array([[5.0], [6.0]]), 1, inplace=False)
    wanted = a.copy()
    np.put_along_axis(wanted, np.array([[1], [2]]), np.array([[5.0], [6.0]]), 1)
    np.testing.assert_array_equal(got.numpy(), wanted)
    with pytest.raises(ValueError, match=r"fill_diagonal: inplace: is true, expected false"):
        pnp.fill_diagonal(a, 1, inplace=True)
    counts = Tensor([2, 0, 3])
    got = pnp.repeat(Tensor([5, 6, 7]), counts, total_repeat_length=7)
    want = jnp.repeat(jnp.array([5, 6, 7]), jnp.array([2, 0, 3]), total_repeat_length=7)
    np.testing.assert_array_equal(got.numpy(), np.asarray(want))
    for signature in ("(n)", "n->()", "(n),(m)->"):
        with pytest.raises(ValueError, match="vectorize: signature"):
            pnp.vectorize(lambda x: x, signature=signature)
    with pytest.raises(ValueError, match=r"vectorized: args\[0\]: an array of shape \(\)"):
        pnp.vectorize(lambda x: x, signature="(n)->()")(1.0)
    pair = pnp.vectorize(lambda x, k: x * k, excluded=(1,))(Tensor(x), 3)
    assert pair.tolist() == (x * 3).tolist()


def test_derivatives_and_batches() -> None:
    x, mask = Tensor(X), Tensor(MASK)
    functions: dict[str, Callable[[Tensor], Tensor]] = {
        "sum": lambda x: pnp.sum(x, where=mask),
        "max": lambda x: pnp.max(x, axis=1, initial=0.1, where=mask).sum(),
        "std": lambda x: pnp.std(x, axis=0, where=mask, ddof=-1).sum(),
        "nanvar": lambda x: pnp.nanvar(x, axis=0, where=mask).sum(),
        "quantile": lambda x: pnp.quantile(
            x, 0.6, axis=1, method="inverted_cdf", weights=WEIGHTS + 1
        ).sum(),
    }
    for f in functions.values():
        found, step = grad(f)(x).numpy(), 1e-6
        along = normal(4, 5)
        slope = (f(x + along * step).item() - f(x - along * step).item()) / (2 * step)
        assert (found * along).sum() == pytest.approx(slope, rel=1e-5, abs=1e-8)
        two = vmap(f)(pnp.stack([x, x * 2])).numpy()
        np.testing.assert_allclose(two, [f(x).item(), f(x * 2).item()], rtol=1e-12)


def test_files() -> None:
    file = io.BytesIO()
    pnp.save(file, Tensor(X))
    file.seek(0)
    np.testing.assert_array_equal(pnp.load(file).numpy(), X)
    file = io.BytesIO()
    pnp.savez(file, Tensor(V), weights=M)
    file.seek(0)
    found = pnp.load(file)
    assert sorted(found) == ["arr_0", "weights"]
    np.testing.assert_array_equal(found["weights"].numpy(), M)
    with pytest.raises(ValueError, match="names other than those of args"):
        pnp.savez(io.BytesIO(), V, arr_0=V)
    assert pnp.fromiter((i * i for i in range(5)), "int32", 3).tolist() == [0, 1, 4]
    assert pnp.frombuffer(np.arange(4, dtype="int16").tobytes(), "int16", 2, 2).tolist() == [1, 2]


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: pnp.max(X, where=MASK), r"numpy\.max: initial: is not given, expected a number"),
        (lambda: pnp.max(X[:0], axis=0), r"numpy\.max: a: of shape \(0,5\) has no elements along"),
        (lambda: pnp.ptp(X[:0]), r"numpy\.ptp: a: of shape \(0,5\) has no elements along"),
        (lambda: pnp.i0(X * 1j), r"numpy\.i0: x: expected a real type: float64 has no imaginary"),
        (lambda: pnp.concat([X, V]), r"numpy\.concat: arrays\[1\]: has shape \(6\), expected"),
        (lambda: pnp.sort(X, 5), r"numpy\.sort: axis: 5 is out of range"),
        (lambda: pnp.swapaxes(X, 0, 7), r"numpy\.swapaxes: axis2: 7 is out of range"),
        (lambda: pnp.transpose(X, (0, 0)), r"numpy\.permute_dims: axes: axis 0 is given twice"),
        (lambda: pnp.linalg.norm(np.ones((2, 2, 2)), 2), r"norm: axis: None, expected one or two"),
        (lambda: pnp.sum(X, where=np.ones(3, bool)), r"sum: where: has shape \(3\), expected one"),
        (lambda: pnp.quantile(X, 0.5, weights=X), r"method: \"linear\", expected \"inverted_cdf\""),
        (lambda: pnp.cross(M, M), r"numpy\.cross: a: has shape \(4,4\), expected vectors of 2"),
        (lambda: pnp.linalg.outer(M, M), r"outer: x: an array of shape"),
        (lambda: pnp.linalg.cross(X[:, :2], X[:, :2]), r"cross: x: an array of shape \(4, 2\)"),
        (lambda: pnp.reshape(X, (5, 4), order="Z"), r"reshape: order: Z"),
        (lambda: pnp.clip(X, 1, a_min=2), "a_min and min, or a_max and max, are one argument"),
        (lambda: pnp.geomspace(1, -2), "geomspace: stop: -2"),
        (lambda: pnp.take(X, [99]), r"numpy\.take: indices: 99 is out of bounds"),
        (lambda: pnp.polyfit(V[:2], V[:2], 3, cov=True), 'cov: True, expected False or "unscaled"'),
        (lambda: pnp.histogramdd(V), r"histogramdd: sample: an array of shape \(6,\)"),
        (lambda: pnp.meshgrid(V, V, sparse=True, indexing="x"), r"meshgrid: indexing: x"),
        (lambda: pnp.greater(X * 1j, X), "Tensor.gt: operands: are complex128: complex numbers"),
        (lambda: pnp.partition(V, 6), "numpy.partition: kth: 6 is out of bounds"),
        (
            lambda: pnp.take(np.float32(1), [0], 0, mode="wrap"),
            "axis: 0 of a scalar, expected a tensor",
        ),
        (lambda: pnp.compress(MASK[0], V[:1]), "compress: condition: true behind the 1 elements"),
        (lambda: pnp.delete(V, MASK[0]), r"delete: obj: a mask of shape \(5,\), expected one of"),
        (lambda: pnp.linspace(None, 3), "linspace: x: a NoneType, expected an array or a number"),
        (lambda: pnp.eye(2.5), "eye: N: 2.5, expected a whole number"),
        (lambda: pnp.delete(V, "a"), 'numpy.delete: obj: is "a", expected integers'),
        (lambda: pnp.pad(V[:0], 1, mode="mean"), r"pad: array: no elements of shape \(0,\)"),
        (lambda: pnp.eye(-2), "eye: N: -2, expected 0 or more"),
        (lambda: pnp.linalg.pinv(X, 0.1, rtol=0.1), "pinv: rtol: 0.1, expected rcond or rtol"),
        (lambda: pnp.select([X > 0], []), "select: choicelist: 0 arrays, expected 1"),
        (lambda: pnp.piecewise(V, [V > 0], []), "piecewise: funclist: 0 functions"),
    ],
)
def test_refusals(call: Callable[[], Any], match: str) -> None:
    with pytest.raises((ValueError, TypeError, IndexError), match=match):
        call()
