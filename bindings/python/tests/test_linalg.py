"""Linear algebra, attention, norms and losses against numpy."""

from __future__ import annotations

import hashlib
import math
from itertools import product
from typing import Any

import numpy as np
import pytest
from numeric import RNG, check_gradient, close
from turns import part

from polygrad import Tensor


def spread(shape: tuple[int, ...]) -> Any:
    """Return well conditioned matrices with zeros on the diagonal."""
    a = RNG.normal(size=shape)
    n = shape[-1]
    return a * (1 - np.eye(n)) + 3 * np.roll(np.eye(n), 1, 0) if n > 1 else a + 2


@pytest.mark.parametrize("shape", [(1, 1), (2, 2), (5, 5), (3, 4, 4), (2, 1, 3, 3)])
def test_solve(shape: tuple[int, ...]) -> None:
    a = spread(shape)
    b = RNG.normal(size=(*shape[:-1], 2))
    near = {"rtol": 1e-9, "atol": 1e-10}
    close(Tensor(a).solve(Tensor(b)), np.linalg.solve(a, b), **near)
    close(Tensor(a).inv(), np.linalg.inv(a), **near)
    close(Tensor(a).det(), np.linalg.det(a), **near)
    for got, want in zip(Tensor(a).slogdet(), np.linalg.slogdet(a)):
        close(got, want, **near)
    v = RNG.normal(size=shape[:-1])
    close(Tensor(a).solve(Tensor(v)), np.linalg.solve(a, v[..., None])[..., 0], **near)
    single = Tensor(a.astype(np.float32)).solve(Tensor(b.astype(np.float32)))
    close(single, np.linalg.solve(a, b), rtol=1e-4, atol=1e-4)
    assert single.dtype == "float32"
    if len(shape) == 2:
        check_gradient(lambda t, u: t.solve(u), a, b)
        check_gradient(lambda t: t.inv(), a)
        check_gradient(lambda t: t.det(), a)
        check_gradient(lambda t: t.slogdet()[1], a)


def test_singular() -> None:
    a = Tensor([[1.0, 2.0], [2.0, 4.0]])
    assert a.det().item() == 0
    assert not np.isfinite(a.inv().numpy()).any()
    sign, log = Tensor(np.zeros((2, 2))).slogdet()
    assert (sign.item(), log.item()) == (0.0, -np.inf)
    for shape in ((0, 0), (2, 0, 0)):
        nothing = Tensor(np.zeros(shape))
        assert (nothing.det().numpy() == 1).all()
        for determinant in (nothing.det(), nothing.slogdet()[1]):
            assert determinant.sum().gradient(nothing)[0].shape == shape


@pytest.mark.parametrize("shape", [(1, 1), (3, 3), (5, 2), (2, 5), (2, 4, 3)])
def test_qr(shape: tuple[int, ...]) -> None:
    a = RNG.normal(size=shape)
    q, r = Tensor(a).qr()
    for got, want in zip((q, r), np.linalg.qr(a, mode="complete")):
        close(got, want, rtol=1e-9, atol=1e-10)
    if len(shape) == 2:
        check_gradient(lambda t: t.qr()[1], a)


@pytest.mark.parametrize("shape", [(1, 1), (2, 2), (4, 4), (5, 3), (2, 6), (2, 3, 3)])
@pytest.mark.parametrize("full", [True, False])
def test_svd(shape: tuple[int, ...], full: bool) -> None:
    a = RNG.normal(size=shape)
    u, s, vt = (t.numpy() for t in Tensor(a).svd(full))
    want = np.linalg.svd(a, full_matrices=full)
    assert [t.shape for t in (u, s, vt)] == [t.shape for t in want]
    near = {"rtol": 1e-9, "atol": 1e-10}
    close(s, want[1], **near)
    k = min(shape[-2:])
    close((u[..., :k] * s[..., None, :]) @ vt[..., :k, :], a, **near)
    close(
        np.swapaxes(u, -1, -2) @ u,
        np.broadcast_to(np.eye(u.shape[-1]), (*u.shape[:-2], u.shape[-1], u.shape[-1])),
        **near,
    )
    close(
        vt @ np.swapaxes(vt, -1, -2),
        np.broadcast_to(np.eye(vt.shape[-2]), (*vt.shape[:-2], vt.shape[-2], vt.shape[-2])),
        **near,
    )


def test_matmul_in_a_type() -> None:
    a = RNG.integers(-100, 100, (3, 40)).astype(np.int8)
    b = RNG.integers(-100, 100, (40, 2)).astype(np.int8)
    got = Tensor(a).matmul(Tensor(b), dtype="int32")
    assert got.dtype == "int32"
    close(got, a.astype(int) @ b.astype(int), 0, 0)
    close(Tensor(b).matmul(Tensor(a), reverse=True, dtype="int32"), a.astype(int) @ b.astype(int))
    x = RNG.normal(size=(2, 3)).astype(np.float32)
    assert Tensor(x).dot(Tensor(x.T), dtype="float64").dtype == "float64"
    assert Tensor(x).linear(Tensor(x), dtype="float16").dtype == "float16"
    assert Tensor.einsum("ij,kj->ik", Tensor(x), Tensor(x), dtype="float64").dtype == "float64"
    total = Tensor(np.full(70000, 1, np.uint8))
    assert total.sum(dtype="int64").item() == 70000
    assert total.sum(dtype="int64").dtype == "int64"
    assert Tensor(np.array([3, 100], np.int8)).prod(dtype="int32").item() == 300
    assert Tensor(np.ones((2, 3))).sum((0, 1), dtype="float32", keepdim=True).shape == (1, 1)


def attention(q: Any, k: Any, v: Any, mask: Any = None, scale: Any = None) -> Any:
    """Return softmax(q k^T * scale + mask) v."""
    s = q @ np.swapaxes(k, -1, -2) * (q.shape[-1] ** -0.5 if scale is None else scale)
    s = s if mask is None else s + mask
    e = np.exp(s - s.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True) @ v


def test_attention() -> None:
    q, k, v = (RNG.normal(size=(2, 4, n, d)) for n, d in ((3, 5), (6, 5), (6, 2)))
    t = [Tensor(a) for a in (q, k, v)]
    near = {"rtol": 1e-6, "atol": 1e-7}
    close(t[0].scaled_dot_product_attention(*t[1:]), attention(q, k, v), **near)
    close(
        t[0].scaled_dot_product_attention(*t[1:], scale=0.3), attention(q, k, v, scale=0.3), **near
    )
    bias = RNG.normal(size=(3, 6))
    got = t[0].scaled_dot_product_attention(*t[1:], attn_mask=Tensor(bias))
    close(got, attention(q, k, v, bias), **near)
    see = RNG.random((2, 1, 3, 6)) > 0.3
    see[..., 0] = True
    got = t[0].scaled_dot_product_attention(*t[1:], attn_mask=Tensor(see))
    close(got, attention(q, k, v, np.where(see, 0, -np.inf)), **near)
    past = np.where(np.tri(3, 6, dtype=bool), 0, -np.inf)
    got = t[0].scaled_dot_product_attention(*t[1:], is_causal=True)
    close(got, attention(q, k, v, past), **near)
    few = [Tensor(a[:, :2]) for a in (k, v)]
    want = attention(q, np.repeat(k[:, :2], 2, 1), np.repeat(v[:, :2], 2, 1))
    close(t[0].scaled_dot_product_attention(*few, enable_gqa=True), want, **near)
    small = [a[:1, :1] for a in (q, k, v)]
    check_gradient(
        lambda a, b, c: a.scaled_dot_product_attention(b, c, scale=0.7), *small, rtol=1e-4
    )
    with pytest.raises(ValueError, match="mask"):
        t[0].scaled_dot_product_attention(*t[1:], attn_mask=Tensor(bias), is_causal=True)
    with pytest.raises(ValueError, match="heads"):
        t[0].scaled_dot_product_attention(*(Tensor(a[:, :3]) for a in (k, v)), enable_gqa=True)


def test_attention_drops_weights() -> None:
    q = Tensor(np.zeros((1, 2000), np.float32).T.reshape(1, 2000, 1))
    v = Tensor(np.ones((1, 50, 1), np.float32))
    k = Tensor(np.zeros((1, 50, 1), np.float32))
    assert q.scaled_dot_product_attention(k, v, dropout_p=0.5).numpy().std() < 1e-6
    with Tensor.train():
        Tensor.manual_seed(3)
        out = q.scaled_dot_product_attention(k, v, dropout_p=0.5).numpy()
    assert abs(out.mean() - 1) < 0.02
    assert abs(out.std() - 50**-0.5) < 0.01


def test_norms() -> None:
    x, w, b = RNG.normal(size=(2, 4, 3)), RNG.normal(size=4), RNG.normal(size=4)
    flat = x.reshape(2, 2, 6)
    want = (flat - flat.mean(-1, keepdims=True)) / np.sqrt(flat.var(-1, keepdims=True) + 1e-5)
    want = want.reshape(2, 4, 3)
    close(Tensor(x).groupnorm(2), want)
    scaled = want * w[:, None] + b[:, None]
    close(Tensor(x).groupnorm(2, weight=Tensor(w), bias=Tensor(b)), scaled)
    mean, invstd = x.mean((0, 2)), 1 / np.sqrt(x.var((0, 2)) + 1e-5)
    parameters = [Tensor(p) for p in (w, b, mean, invstd)]
    want = (x - mean[:, None]) * invstd[:, None] * w[:, None] + b[:, None]
    close(Tensor(x).batchnorm(*parameters), want)
    two = [Tensor(RNG.normal(size=(2, 3))) for _ in range(4)]
    p, q, m, i = (t.numpy()[:, None] for t in two)
    close(Tensor(x).batchnorm(*two, axis=(0, 2)), (x - m) * i * p + q)
    last = RNG.normal(size=3)
    square = x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5)
    close(Tensor(x).rmsnorm(weight=Tensor(last)), square * last)
    with pytest.raises(ValueError, match="batchnorm: mean: has shape"):
        Tensor(x).batchnorm(None, None, Tensor(last), Tensor(last))


def reduced(values: Any, how: str) -> Any:
    """Return what a loss makes of the losses of the elements."""
    return {"mean": np.mean, "sum": np.sum, "none": np.asarray}[how](values)


@pytest.mark.parametrize("how", ["mean", "sum", "none"])
def test_losses(how: str) -> None:
    x, y = RNG.normal(size=(4, 5)), RNG.normal(size=(4, 5))
    t, u, d = Tensor(x), Tensor(y), np.abs(x - y)
    close(t.mse_loss(u, how), reduced(d**2, how))
    close(t.l1_loss(u, how), reduced(d, how))
    huber = np.where(d <= 0.5, d * d / 2, 0.5 * (d - 0.25))
    close(t.huber_loss(u, 0.5, how), reduced(huber, how))
    p, q = 1 / (1 + np.exp(-x)), RNG.random((4, 5))
    binary = -(q * np.log(p) + (1 - q) * np.log(1 - p))
    close(Tensor(p).binary_crossentropy(Tensor(q), how), reduced(binary, how))
    close(t.binary_crossentropy_logits(Tensor(q), how), reduced(binary, how))
    weight = RNG.random(5)
    weighted = -(weight * q * np.log(p) + (1 - q) * np.log(1 - p))
    got = t.binary_crossentropy_logits(Tensor(q), how, Tensor(weight))
    close(got, reduced(weighted, how))

    logp = x - np.log(np.exp(x).sum(1, keepdims=True))
    classes = np.array([0, 4, 2, 2], np.int32)
    for smoothing in (0.0, 0.3):
        target = (1 - smoothing) * np.eye(5)[classes] + smoothing / 5
        each = -(target * logp).sum(1)
        options: dict[str, Any] = {"reduction": how, "label_smoothing": smoothing}
        close(t.cross_entropy(Tensor(classes), **options), reduced(each, how))
        probable = Tensor(np.eye(5)[classes])
        close(t.cross_entropy(probable, **options), reduced(each, how))
        close(t.T.cross_entropy(Tensor(classes), axis=0, **options), reduced(each, how))
        close(t.sparse_categorical_crossentropy(Tensor(classes), **options), reduced(each, how))
        kept = classes != 2
        got = t.sparse_categorical_crossentropy(Tensor(classes), ignore_index=2, **options)
        close(got, (each * kept).sum() / kept.sum() if how == "mean" else reduced(each * kept, how))
    factor = weight[classes]
    each = -logp[range(4), classes] * factor
    want = each.sum() / factor.sum() if how == "mean" else reduced(each, how)
    close(Tensor(logp).nll_loss(Tensor(classes), Tensor(weight), reduction=how), want)
    factor = factor * (classes != 2)
    each = -logp[range(4), classes] * factor
    want = each.sum() / factor.sum() if how == "mean" else reduced(each, how)
    got = Tensor(logp).nll_loss(Tensor(classes), Tensor(weight), ignore_index=2, reduction=how)
    close(got, want)
    maps = RNG.normal(size=(2, 3, 4))
    at = RNG.integers(0, 3, (2, 4))
    picked = -np.take_along_axis(maps, at[:, None], 1)[:, 0]
    close(Tensor(maps).nll_loss(Tensor(at), reduction=how), reduced(picked, how))
    for loss in ("mse_loss", "l1_loss", "huber_loss", "binary_crossentropy_logits"):
        check_gradient(lambda a, b, n=loss: getattr(a, n)(b, reduction=how), x, y)
    check_gradient(
        lambda a: a.cross_entropy(Tensor(classes), reduction=how, label_smoothing=0.2), x
    )


def test_loss_errors() -> None:
    x = Tensor.ones(2, 3)
    for call, says in (
        (lambda: x.mse_loss(Tensor.ones(4)), "mse_loss: Y: has shape"),
        (lambda: x.mse_loss(x, "max"), "reduction"),
        (lambda: x.huber_loss(x, -1), "delta"),
        (lambda: x.cross_entropy(Tensor([0, 1]), label_smoothing=2), "label_smoothing"),
        (lambda: x.nll_loss(Tensor([0, 1, 2])), "nll_loss: Y"),
        (lambda: x.nll_loss(Tensor([0, 1]), Tensor.ones(2)), "weight"),
        (lambda: x.solve(x), "square"),
        (lambda: Tensor.ones(2, 2).solve(Tensor.ones(3)), "solve: b"),
        (lambda: Tensor.ones(3).qr(), "qr: x"),
        (lambda: x.int().inv(), "inv: x"),
    ):
        with pytest.raises((ValueError, TypeError), match=says):
            call()  # type: ignore[no-untyped-call]


def test_eigenvalues_of_symmetric_matrices():
    for shape in ((1, 1), (2, 2), (5, 5), (3, 4, 4)):
        a = RNG.normal(size=shape)
        a = a + a.swapaxes(-1, -2)
        values, vectors = (t.numpy() for t in Tensor(a).eigh())
        close(values, np.linalg.eigvalsh(a), rtol=1e-12, atol=1e-12)
        close(vectors @ (values[..., None] * vectors.swapaxes(-1, -2)), a, atol=1e-12)
        close(
            vectors.swapaxes(-1, -2) @ vectors,
            np.broadcast_to(np.eye(shape[-1]), shape),
            atol=1e-12,
        )
    lower = np.tril(a)
    close(Tensor(lower).eigh()[0], values, atol=1e-12)
    close(Tensor(lower.swapaxes(-1, -2).copy()).eigh(upper=True)[0], values, atol=1e-12)
    c = RNG.normal(size=3)
    b = RNG.normal(size=(3, 3))
    check_gradient(lambda t: ((t + t.T).eigh()[0] * Tensor(c)).sum(), b)
    with pytest.raises(ValueError, match="square"):
        Tensor.ones(2, 3).eigh()


@pytest.mark.parametrize(
    ("n", "name"), [(33, "float32"), (65, "float64"), (66, "float32"), (100, "float64")]
)
def test_matrices_whose_rows_are_padded(n: int, name: str) -> None:
    """Factors of rows that fill no block, and of a batch with zeros and ones, to 10 n epsilon."""
    limit = 10 * n * np.finfo(name).eps
    rng = np.random.default_rng(n)
    a = np.stack([rng.standard_normal((n, n)), np.eye(n), np.ones((n, n)), np.zeros((n, n))])
    a = a.astype(name)
    h = (a + a.swapaxes(1, 2)) / 2
    scale = np.maximum(np.linalg.norm(a, 2, (1, 2)), 1)[:, None, None]
    w, v = (t.numpy() for t in Tensor(h).eigh())
    u, s, vt = (t.numpy() for t in Tensor(a).svd())
    assert np.all(np.abs(h @ v - v * w[:, None]) <= limit * scale)
    assert np.all(np.abs(u * s[:, None] @ vt - a) <= limit * scale)
    for q in (v, u, vt):
        assert np.all(np.abs(q.swapaxes(1, 2) @ q - np.eye(n)) <= limit)
    inverse = Tensor(a[:2]).inv().numpy()
    condition = np.linalg.cond(a[:2])[:, None, None]
    assert np.all(np.abs(a[:2] @ inverse - np.eye(n)) <= limit * condition)
    assert not np.isfinite(Tensor(a[2:]).inv().numpy()).all(axis=(1, 2)).any()
    assert Tensor(a).det().numpy()[2:].tolist() == [0, 0]
    tall = rng.standard_normal((n + 9, n - 7)).astype(name)
    b = rng.standard_normal((n + 9, 3)).astype(name)
    x = Tensor(tall).lstsq(Tensor(b))
    x = (x[0] if isinstance(x, tuple) else x).numpy()
    assert np.all(np.abs(tall.T @ (tall @ x - b)) <= limit * np.linalg.norm(tall, 2) ** 2)


def test_least_squares():
    for m, n, k in ((5, 3, 2), (3, 5, 1), (4, 4, 3)):
        a, b = RNG.normal(size=(m, n)), RNG.normal(size=(m, k))
        x, residuals, rank, s = Tensor(a).lstsq(Tensor(b))
        want = np.linalg.lstsq(a, b, rcond=None)
        close(x, want[0], rtol=1e-9)
        close(residuals, ((a @ want[0] - b) ** 2).sum(0), atol=1e-20)
        assert (rank.item(), rank.dtype) == (want[2], "int32")
        close(s, want[3], rtol=1e-12)
        assert Tensor(a).lstsq(Tensor(b[:, 0]))[0].shape == (n,)
    a, b = RNG.normal(size=(2, 4, 3)), RNG.normal(size=(2, 4))
    close(Tensor(a).lstsq(Tensor(b))[0][1], np.linalg.lstsq(a[1], b[1], rcond=None)[0], rtol=1e-9)
    flat = np.outer([1.0, 2.0, 3.0], [1.0, 1e-9])
    assert Tensor(flat).lstsq(Tensor(b[0, :3]))[2].item() == 1
    wide = np.diag([1.0, 1e-3])
    assert Tensor(wide).lstsq(Tensor(b[0, :2]), rcond=1e-2)[2].item() == 1
    check_gradient(lambda t, u: (t.lstsq(u)[0] ** 2).sum(), a[0], b[0])
    for rcond in (-1.0, 1.0, float("nan")):
        with pytest.raises(ValueError, match="rcond"):
            Tensor(flat).lstsq(Tensor(b[0, :3]), rcond=rcond)
    with pytest.raises(ValueError, match="b: has shape"):
        Tensor(flat).lstsq(Tensor(b[0]))


def test_singular_matrices_have_orthonormal_vectors():
    for a in (
        np.zeros((3, 3)),
        np.outer([1.0, 2, 3, 4], [1.0, 2]),
        np.outer([1.0, 2], [1.0, 2, 3]),
    ):
        m, n = a.shape
        k = min(m, n)
        u, s, vt = (t.numpy() for t in Tensor(a).svd())
        close(u.T @ u, np.eye(m), atol=1e-12)
        close(vt @ vt.T, np.eye(n), atol=1e-12)
        close(u[:, :k] * s @ vt[:k], a, atol=1e-12)


def test_integers_are_solved_in_floats():
    a, b = Tensor([[2, 1], [1, 3]]), Tensor([3, 5])
    close(a.solve(b), [0.8, 1.4], rtol=1e-6)
    close(a.inv(), [[0.6, -0.2], [-0.2, 0.4]], rtol=1e-6)
    assert abs(a.det().item() - 5) < 1e-5
    close(a.lstsq(b)[0], [0.8, 1.4], rtol=1e-5)
    close(a.svd()[1], np.linalg.svd(a.numpy())[1], rtol=1e-5)


def test_hashes_of_bytes():
    data = RNG.integers(0, 256, (2, 300), dtype=np.uint8)
    for name in ("sha3_224", "sha3_256", "sha3_384", "sha3_512"):
        want = [list(hashlib.new(name, row.tobytes()).digest()) for row in data]
        assert Tensor(data).keccak(name).tolist() == want
    assert Tensor(data[0]).keccak("shake_128").tolist() == list(
        hashlib.shake_128(data[0].tobytes()).digest(16)
    )
    assert (
        Tensor(data[0]).keccak("shake_256").tolist() == Tensor(data[0]).keccak((136, 31)).tolist()
    )
    words = np.arange(5, dtype=np.float32)
    want = list(hashlib.sha3_256(words.tobytes()).digest())
    assert Tensor(words).keccak().tolist() == want
    long = RNG.integers(0, 256, 100_001, dtype=np.uint8)
    assert Tensor(long).keccak().tolist() == list(hashlib.sha3_256(long.tobytes()).digest())
    assert Tensor(long[:2048]).keccak((8, 6)).shape == (96,)
    assert Tensor(np.zeros((2, 0, 3), np.uint8)).keccak().shape == (2, 0, 32)
    for cfg in ("md5", (7, 6), (200, 6), (136, 0), (136, 128)):
        with pytest.raises(ValueError, match="keccak"):
            Tensor(data).keccak(cfg)


def test_hash_of_all_bytes():
    def node(chunk: bytes) -> bytes:
        blocks = (chunk[i : i + 4096] for i in range(0, 1 << 20, 4096))
        leaves = b"".join(hashlib.shake_128(block).digest(16) for block in blocks)
        return hashlib.shake_128(leaves).digest(16)

    assert bytes(Tensor(b"abc").hash().tolist()) == node(b"abc".ljust(1 << 20, b"\0"))


@pytest.mark.parametrize("length", [256, 517, 771])
@pytest.mark.parametrize(
    "mask",
    [
        lambda row, column: column <= row,
        lambda row, column: (column <= row) & (column > row - 100),
        lambda row, column: (column < row + 70) & (column + 70 > row),
        lambda row, column: column >= row + 3,  # nothing is left of the last rows
        lambda row, column: column >= 0,
    ],
    ids=["causal", "window", "band", "future", "all"],
)
def test_attention_with_blocks_of_any_height(length: int, mask: Any) -> None:
    # The scores of all heads are too many for blocks of whole matrices.
    shape = (max(2, 2**20 // length**2), length, 8)
    q, k, v = (RNG.normal(size=shape).astype(np.float32) for _ in range(3))
    at = Tensor.arange(length)
    got = (
        Tensor(q)
        .scaled_dot_product_attention(Tensor(k), Tensor(v), mask(at.reshape(-1, 1), at))
        .numpy()
    )
    numbers = np.arange(length)
    hidden = ~mask(numbers[:, None], numbers)
    scores = q.astype(np.float64) @ np.swapaxes(k, 1, 2) / np.sqrt(8)
    with np.errstate(invalid="ignore"):
        weights = np.exp(scores - scores.max(-1, keepdims=True)) * ~hidden
        want = weights / weights.sum(-1, keepdims=True) @ v
    np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("causal", [True, False])
def test_attention_to_texts_of_some_lengths(causal: bool) -> None:
    lengths, at = np.array([300, 120, 1, 77]), np.arange(300)
    q, k, v = (RNG.normal(size=(4, 5, 300, 8)).astype(np.float32) for _ in range(3))

    def mask(n: Any, at: Any) -> Any:
        kept = at < n.reshape(-1, 1, 1, 1)
        return kept & (at <= at.reshape(-1, 1)) if causal else kept & (at.reshape(-1, 1) >= 0)

    got = Tensor(q).scaled_dot_product_attention(
        Tensor(k), Tensor(v), mask(Tensor(lengths), Tensor.arange(300))
    )
    scores = q.astype(np.float64) @ np.swapaxes(k, 2, 3) / np.sqrt(8)
    weights = np.exp(scores - scores.max(-1, keepdims=True)) * mask(lengths, at)
    want = weights / weights.sum(-1, keepdims=True) @ v
    np.testing.assert_allclose(got.numpy(), want, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize(
    ("rows", "columns"), part([(256, 256), (517, 517), (771, 771), (300, 700)], 4)
)
@pytest.mark.parametrize(
    "mask",
    [
        lambda row, column: column <= row,
        lambda row, column: (column <= row) & (column > row - 100),
        lambda row, column: (column < row + 70) & (column + 70 > row),
        lambda row, column: column >= row,
        lambda row, column: column >= row + 3,
        lambda row, column: column <= row + 400,
        lambda row, column: (column <= row) & (column % 7 != 3),
    ],
    ids=["causal", "window", "band", "later", "future", "prefix", "holes"],
)
@pytest.mark.parametrize(("dropout", "low"), [(0.0, -math.inf), (0.3, -math.inf), (0.0, -1e9)])
def test_gradients_of_attention_in_a_band(
    rows: int, columns: int, mask: Any, dropout: float, low: float
) -> None:
    """What a mask leaves out of stored scores, and random numbers, is left out of no gradient."""
    shapes = [(2, 2, rows, 8), (2, 2, columns, 8), (2, 2, columns, 8)]
    inputs = [RNG.normal(size=shape).astype(np.float32) for shape in shapes]
    q, k, v = (x.astype(np.float64) for x in inputs)
    y = RNG.normal(size=shapes[0]).astype(np.float32)
    kept = np.ones((2, 2, rows, columns))
    tensors = [Tensor(x, requires_grad=True) for x in inputs]
    at = mask(Tensor.arange(rows).reshape(-1, 1), Tensor.arange(columns))
    if dropout:
        kept = (RNG.random(kept.shape) >= dropout) / (1 - dropout)
    scores = (tensors[0] @ tensors[1].transpose(-2, -1) / 8**0.5).masked_fill(~at, low)
    weights = scores.softmax(-1)
    if dropout:
        weights = weights * Tensor(kept.astype(np.float32))
    got = ((weights @ tensors[2]) * Tensor(y)).sum().gradient(*tensors)
    hidden = ~mask(np.arange(rows)[:, None], np.arange(columns))
    with np.errstate(invalid="ignore"):
        scores = np.where(hidden, low, q @ np.swapaxes(k, -2, -1) / np.sqrt(8))
        e = np.exp(scores - scores.max(-1, keepdims=True))
        p = e / e.sum(-1, keepdims=True)
    dp = y @ np.swapaxes(v, -2, -1) * kept
    ds = np.where(hidden, 0, p * (dp - (dp * p).sum(-1, keepdims=True)) / np.sqrt(8))
    wanted = [ds @ k, np.swapaxes(ds, -2, -1) @ q, np.swapaxes(p * kept, -2, -1) @ y]
    Tensor.realize(*got)
    for gradient, want in zip(got, wanted, strict=True):
        np.testing.assert_allclose(gradient.numpy(), want, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize(
    "mask",
    [
        lambda row, column: column <= row,
        lambda row, column: (column < row + 70) & (column + 70 > row),
        lambda row, column: column >= row + 3,  # the last rows are means of all values
        lambda row, column: (column <= row) & (column % 7 != 0),  # the first is
    ],
    ids=["causal", "band", "future", "holes"],
)
@pytest.mark.parametrize("length", [256, 517])
@pytest.mark.parametrize("how", part(["where", "add", "times", "twice", "also by data"], 5))
def test_low_scores(length: int, mask: Any, how: str) -> None:
    """Where rows have other elements, low finite scores are left out as minus infinity is."""
    shape = (2**21 // length**2, length, 8)
    q, k, v = (RNG.normal(size=shape).astype(np.float32) for _ in range(3))
    at, low = np.arange(length), -1e9
    hidden = ~mask(at[:, None], at)
    data = at > 40
    masked = ~mask(Tensor.arange(length).reshape(-1, 1), Tensor.arange(length))
    scores, wanted = Tensor(q) @ Tensor(k).transpose(-2, -1), q @ np.swapaxes(k, 1, 2)
    if how == "where":
        scores, wanted = scores.masked_fill(masked, low), np.where(hidden, low, wanted)
    elif how == "add":
        scores, wanted = scores + masked.where(low, 0.0), wanted + np.where(hidden, low, 0)
    elif how == "times":
        scores, wanted = scores + (1.0 - (~masked).float()) * low, wanted + hidden * low
    else:
        if how == "also by data":
            scores = Tensor(data).where(scores, low)
            wanted = np.where(data, wanted, low)
        else:
            late = Tensor.arange(length) > 40
            scores, wanted = late.where(scores, low), np.where(data, wanted, low)
        scores, wanted = scores.masked_fill(masked, low), np.where(hidden, low, wanted)
    wanted = wanted.astype(np.float32).astype(np.float64)
    e = np.exp(wanted - wanted.max(-1, keepdims=True))
    got = (scores.softmax(-1) @ Tensor(v)).numpy()
    want = e / e.sum(-1, keepdims=True) @ v
    np.testing.assert_allclose(got, want, rtol=2e-4, atol=2e-5)


def test_computed_constants_stay_out_of_loops() -> None:
    """The body of a loop has nodes of its own, also where equal ones were computed before."""
    for t in (Tensor(0.0, dtype="float64"), Tensor.eye(6, dtype="float64"), Tensor.arange(6)):
        t.realize()
    flag = Tensor(np.array(1.875), requires_grad=True)
    Tensor(np.arange(3.0))[(flag != 0.625).cast("int8")].sum().backward()
    assert flag.grad is not None
    assert flag.grad.item() == 0
    a = RNG.uniform(-1, 1, (6, 6))
    spd = a @ a.T + np.eye(6)
    close(Tensor(spd).cholesky(), np.linalg.cholesky(spd))
    close(Tensor(spd).inv(), np.linalg.inv(spd))


@pytest.mark.parametrize(("n", "rank"), part(product([3, 9, 12, 16, 18, 32, 33], [1, 2])))
def test_vectors_of_one_length(n: int, rank: int) -> None:
    """Where singular values are equal, each rotation is decided by rounding errors."""
    for dtype in (np.float32, np.float64):
        m = RNG.integers(-3, 4, (n, rank)).astype(dtype)
        a = m @ m.T + 4 * np.eye(n, dtype=dtype)
        error = 10 * n * np.finfo(dtype).eps
        u, s, vt = (t.numpy() for t in Tensor(a).svd())
        size = np.linalg.norm(a, 2)
        assert np.abs(s - np.linalg.svd(a.astype(float))[1]).max() < error * size
        assert np.abs((u * s) @ vt - a).max() < error * size
        assert np.abs(u.T @ u - np.eye(n)).max() < error
        assert np.abs(vt @ vt.T - np.eye(n)).max() < error
        values, vectors = (t.numpy() for t in Tensor(a).eigh())
        assert np.abs(a @ vectors - values * vectors).max() < error * size


@pytest.mark.parametrize("n", [12, 13, 16, 26])
def test_repeated_eigenvalues(n: int) -> None:
    """Vectors of eigenvalues that are equal, or nearly, are orthogonal."""
    q, _ = np.linalg.qr(np.random.default_rng(n).standard_normal((40, n, n)))
    limit = 10 * n * np.finfo(float).eps
    for values in (np.arange(n) // (n // 3 + 1) + 1e-3, np.where(np.arange(n) < 1, 5.0, 1.0)):
        x = (q * values) @ q.swapaxes(1, 2)
        w, v = (y.numpy() for y in Tensor((x + x.swapaxes(1, 2)) / 2).eigh())
        assert np.abs(v.swapaxes(1, 2) @ v - np.eye(n)).max() < limit
        assert np.abs((v * w[:, None]) @ v.swapaxes(1, 2) - x).max() < limit * values.max()
