"""What the documents of the original package promise, method by method, with their names."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any, Callable

import numpy as np
import pytest
from numeric import close
from test_instance import CONFIG, gpt2_weights, safetensors

import polygrad
from polygrad import Device, Tensor
from polygrad import nn as layers

X = np.random.default_rng(2).uniform(0.2, 0.9, (3, 4)).astype(np.float32)
Y = np.random.default_rng(3).uniform(0.2, 0.9, (3, 4)).astype(np.float32)


def x() -> Tensor:
    return Tensor(X)


def y() -> Tensor:
    return Tensor(Y)


def softmax(a: Any) -> Any:
    e = np.exp(a - a.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


sig = 1 / (1 + np.exp(-X))

CALLS: dict[str, tuple[Callable[[], Any], Any]] = {
    # construction
    "zeros": (lambda: Tensor.zeros(2, 3), np.zeros((2, 3))),
    "ones": (lambda: Tensor.ones(2, 3), np.ones((2, 3))),
    "full": (lambda: Tensor.full((2, 3), 7), np.full((2, 3), 7)),
    "arange": (lambda: Tensor.arange(4), np.arange(4)),
    "arange from": (lambda: Tensor.arange(10, start=4, step=2), [4, 6, 8]),
    "linspace": (lambda: Tensor.linspace(0, 1, 5), np.linspace(0, 1, 5)),
    "eye": (lambda: Tensor.eye(3), np.eye(3)),
    "scalar": (lambda: Tensor(2.5), 2.5),
    # properties
    "T": (lambda: x().T, X.T),
    # conversion
    "realize": (lambda: (x() * 2).realize(), X * 2),
    "detach": (lambda: x().detach(), X),
    "clone": (lambda: x().clone(), X),
    "to": (lambda: x().to("cpu"), X),
    "cpu": (lambda: x().cpu(), X),
    # arithmetic and comparisons
    "arithmetic": (lambda: -(x() + y() - 1) * x() / y() ** 2, -(X + Y - 1) * X / Y**2),
    "lt": (lambda: x() < y(), X < Y),
    "eq": (lambda: x() == x(), X == X),
    "ne": (lambda: x() != y(), X != Y),
    "gt": (lambda: x() > 0.5, X > 0.5),
    "ge": (lambda: x() >= y(), X >= Y),
    "le": (lambda: x() <= y(), X <= Y),
    # elementwise
    "exp": (lambda: x().exp(), np.exp(X)),
    "log": (lambda: x().log(), np.log(X)),
    "sqrt": (lambda: x().sqrt(), np.sqrt(X)),
    "square": (lambda: x().square(), X**2),
    "abs": (lambda: (-x()).abs(), X),
    "sign": (lambda: (-x()).sign(), -np.ones((3, 4))),
    "reciprocal": (lambda: x().reciprocal(), 1 / X),
    "rsqrt": (lambda: x().rsqrt(), X**-0.5),
    "sin": (lambda: x().sin(), np.sin(X)),
    "cos": (lambda: x().cos(), np.cos(X)),
    "tan": (lambda: x().tan(), np.tan(X)),
    "ceil": (lambda: x().ceil(), np.ceil(X)),
    "floor": (lambda: x().floor(), np.floor(X)),
    "round": (lambda: (x() * 10).round(), np.round(X * 10)),
    "trunc": (lambda: (x() * 10).trunc(), np.trunc(X * 10)),
    "isnan": (lambda: x().isnan(), np.isnan(X)),
    "isinf": (lambda: x().isinf(), np.isinf(X)),
    "exp2": (lambda: x().exp2(), np.exp2(X)),
    "log2": (lambda: x().log2(), np.log2(X)),
    "where": (lambda: (x() > 0.5).where(x(), y()), np.where(X > 0.5, X, Y)),
    "maximum": (lambda: x().maximum(y()), np.maximum(X, Y)),
    "minimum": (lambda: x().minimum(0.5), np.minimum(X, 0.5)),
    "clamp": (lambda: x().clamp(min_=0.4, max_=0.6), X.clip(0.4, 0.6)),
    "clamp below": (lambda: x().clamp(min_=0.4), X.clip(0.4)),
    # activations
    "relu": (lambda: (-x()).relu(), np.zeros((3, 4))),
    "relu6": (lambda: (x() * 9).relu6(), (X * 9).clip(0, 6)),
    "leaky_relu": (lambda: (-x()).leaky_relu(neg_slope=0.1), -X * np.float32(0.1)),
    "sigmoid": (lambda: x().sigmoid(), sig),
    "tanh": (lambda: x().tanh(), np.tanh(X)),
    "gelu": (
        lambda: x().gelu(),
        0.5 * X * (1 + np.tanh(np.sqrt(2 / np.pi) * (X + 0.044715 * X**3))),
    ),
    "quick_gelu": (lambda: x().quick_gelu(), X / (1 + np.exp(-1.702 * X))),
    "silu": (lambda: x().silu(), X * sig),
    "swish": (lambda: x().swish(), X * sig),
    "elu": (lambda: (-x()).elu(alpha=2.0), 2 * np.expm1(-X)),
    "softplus": (lambda: x().softplus(beta=2.0), np.log1p(np.exp(2 * X)) / 2),
    "mish": (lambda: x().mish(), X * np.tanh(np.log1p(np.exp(X)))),
    "hardtanh": (lambda: (x() * 3).hardtanh(min_val=-1, max_val=1), (X * 3).clip(-1, 1)),
    "hardswish": (lambda: x().hardswish(), X * (X + 3) / 6),
    "hardsigmoid": (lambda: x().hardsigmoid(), X / 6 + 0.5),
    # reductions
    "sum": (lambda: x().sum(axis=0, keepdim=True), X.sum(0, keepdims=True)),
    "sum of axes": (lambda: x().sum((0, 1)), X.sum()),
    "max": (lambda: x().max(axis=1), X.max(1)),
    "min": (lambda: x().min(axis=1), X.min(1)),
    "mean": (lambda: x().mean(axis=-1, keepdim=False), X.mean(1)),
    "var": (lambda: x().var(axis=1, keepdim=False, correction=0), X.var(1)),
    "std": (lambda: x().std(axis=1), X.std(1, ddof=1)),
    # movement
    "reshape": (lambda: x().reshape(2, -1), X.reshape(2, 6)),
    "view": (lambda: x().view(4, 3), X.reshape(4, 3)),
    "permute": (lambda: x().permute(1, 0), X.T),
    "transpose": (lambda: x().transpose(dim0=-2, dim1=-1), X.T),
    "expand": (lambda: x().unsqueeze(0).expand(2, 3, 4), np.stack([X, X])),
    "squeeze": (lambda: x().unsqueeze(1).squeeze(dim=1), X),
    "flatten": (lambda: x().flatten(start_dim=0, end_dim=-1), X.ravel()),
    "unflatten": (lambda: x().unflatten(1, (2, 2)), X.reshape(3, 2, 2)),
    "shrink": (lambda: x().shrink([(0, 2), (1, 3)]), X[:2, 1:3]),
    "pad": (lambda: x().pad([(1, 0), (0, 2)]), np.pad(X, ((1, 0), (0, 2)))),
    "flip": (lambda: x().flip(0), X[::-1]),
    "repeat": (lambda: x().repeat(2, 3), np.tile(X, (2, 3))),
    # linear algebra, normalization, loss
    "matmul": (lambda: x().matmul(y().T), X @ Y.T),
    "dot": (lambda: x().dot(y().T), X @ Y.T),
    "@": (lambda: x() @ y().T, X @ Y.T),
    "linear": (lambda: x().linear(y(), bias=Tensor.ones(3)), X @ Y.T + 1),
    "softmax": (lambda: x().softmax(axis=-1), softmax(X)),
    "log_softmax": (lambda: x().log_softmax(axis=-1), np.log(softmax(X))),
    "layernorm": (
        lambda: x().layernorm(axis=-1, eps=1e-5),
        (X - X.mean(1, keepdims=True)) / np.sqrt(X.var(1, keepdims=True) + 1e-5),
    ),
    "cross_entropy": (
        lambda: x().cross_entropy(Tensor([0, 1, 3]), axis=-1),
        -np.log(softmax(X))[[0, 1, 2], [0, 1, 3]].mean(),
    ),
    "binary_crossentropy": (
        lambda: x().binary_crossentropy(y()),
        -(Y * np.log(X) + (1 - Y) * np.log(1 - X)).mean(),
    ),
    # advanced
    "einsum": (lambda: Tensor.einsum("ij,kj->ik", x(), y()), X @ Y.T),
    "rearrange": (
        lambda: x().rearrange("a (b c) -> b a c", b=2),
        X.reshape(3, 2, 2).swapaxes(0, 1),
    ),
    "cat": (lambda: Tensor.cat(x(), y(), dim=1), np.concatenate([X, Y], 1)),
    "stack": (lambda: Tensor.stack(x(), y(), dim=0), np.stack([X, Y])),
    "split": (lambda: x().split(2, dim=1)[1], X[:, 2:]),
    "split in sizes": (lambda: x().split([1, 3], dim=1)[1], X[:, 1:]),
    "chunk": (lambda: x().chunk(2, dim=1)[0], X[:, :2]),
    "index": (lambda: x()[1, ..., None], X[1, ..., None]),
    "slice": (lambda: x()[::2, -2:], X[::2, -2:]),
}


@pytest.mark.parametrize("name", CALLS)
def test_method(name: str) -> None:
    call, want = CALLS[name]
    close(call(), want, rtol=2e-5, atol=2e-6)


def test_random_construction_and_facts() -> None:
    Tensor.manual_seed(3)
    for t in (Tensor.rand(40, 5), Tensor.randn(40, 5), Tensor.randint(2, 9, (40, 5))):
        assert t.shape == (40, 5)
        assert t.numel() == 200
        assert t.size() == (40, 5)
        assert t.size(dim=1) == 5
        assert t.ndim == 2
        assert t.device == "CPU"
    drawn = Tensor.randint(2, 9, (1000,)).numpy()
    assert set(drawn.tolist()) == set(range(2, 9))
    assert Tensor.empty(2, 3).shape == (2, 3)
    assert Tensor([1.0]).dtype == "float32"
    assert Tensor(np.zeros(2)).dtype == "float64"
    assert Tensor(3.5).item() == 3.5
    assert Tensor([[1.0, 2.0]]).tolist() == [[1.0, 2.0]]
    assert isinstance(Device.cuda_available(), bool)
    assert not x().requires_grad
    assert x().grad is None


def test_layers_optimizers_and_state() -> None:
    tokens = Tensor([[1, 2], [3, 0]])
    close(layers.Linear(4, 2, bias=True)(x()), layers.Linear(4, 2)(x()).numpy() * 0, atol=9)
    assert layers.LayerNorm(4, eps=1e-5)(x()).shape == (3, 4)
    assert layers.RMSNorm(4, eps=1e-5)(x()).shape == (3, 4)
    assert layers.Embedding(5, 6)(tokens).shape == (2, 2, 6)
    assert layers.Dropout(p=0.5)(x()).shape == (3, 4)
    assert layers.GroupNorm(2, 4)(x()).shape == (3, 4)
    model, model2 = layers.Linear(4, 2), layers.Linear(4, 2)
    params = layers.get_parameters(model)
    for make in (
        lambda: layers.SGD(params, lr=0.01, momentum=0.0, weight_decay=0.0),
        lambda: layers.Adam(params, lr=0.001, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0),
        lambda: layers.AdamW(params, lr=0.001, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01),
    ):
        optimizer, before = make(), model.weight.numpy().copy()
        optimizer.zero_grad()
        model(x()).square().mean().backward()
        optimizer.step()
        assert (model.weight.numpy() != before).any()
    state = layers.get_state_dict(model)
    assert set(state) == {"weight", "bias"}
    layers.load_state_dict(model2, state)
    close(model2(x()), model(x()).numpy())


def run(program: str, **environment: str) -> str:
    path = os.pathsep.join([str(Path(polygrad.__file__).parents[1]), environment.pop("EXTRA", "")])
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "PYTHONPATH": path, **environment},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_autograd_example() -> None:
    out = run(
        """
        from polygrad import Tensor
        x = Tensor([1.0, 2.0])
        x.requires_grad = True
        loss = (x * x).sum()
        loss.backward()
        print(x.grad.numpy())  # [2.0, 4.0]
        """
    )
    assert out == "[2. 4.]\n"


def test_hugging_face_example(tmp_path: Path) -> None:
    """As printed; the hub's own package is replaced by one that knows a single model."""
    import json

    repository, modules = tmp_path / "repository", tmp_path / "modules"
    repository.mkdir()
    modules.mkdir()
    config = {**CONFIG, "n_positions": 32}
    weights = gpt2_weights(np.random.default_rng(1))
    weights["wpe.weight"] = np.random.default_rng(2).normal(size=(32, CONFIG["n_embd"])).astype("f")
    (repository / "config.json").write_text(json.dumps(config))
    (repository / "model.safetensors").write_bytes(safetensors(weights))
    (modules / "huggingface_hub.py").write_text(
        f"def snapshot_download(repo_id, **options):\n    return {str(repository)!r}\n"
    )
    out = run(
        """
        from polygrad.hf import load_hf, download_hf, generate
        import numpy as np
        import json
        from pathlib import Path

        # Download a small GPT-2 checkpoint from HuggingFace Hub
        model_path = download_hf('hf-internal-testing/tiny-random-gpt2')
        config = json.loads((Path(model_path) / 'config.json').read_text())
        vocab_size = config['vocab_size']
        max_seq_len = 16

        # Load into a PolyInstance
        inst = load_hf(model_path, max_batch=1, max_seq_len=max_seq_len)

        # Run forward pass
        tokens = np.array([[1, 2, 3, 4]], dtype=np.float32)
        outputs = inst.forward(
            x=tokens,
            positions=np.arange(tokens.shape[1], dtype=np.float32).reshape(1, -1),
            arange=np.arange(max_seq_len, dtype=np.float32)
        )
        logits = outputs['output'].reshape(1, max_seq_len, vocab_size)

        # Autoregressive generation
        result = generate(inst, tokens, max_new_tokens=2, temperature=1.0, top_k=10)
        print(logits.shape, result.shape, result[0, :4])
        """,
        EXTRA=str(modules),
    )
    assert out == "(1, 16, 11) (1, 6) [1 2 3 4]\n"


def test_language_model_of_the_readme(tmp_path: Path) -> None:
    """The hub's package knows one small model, whose tokens are letters."""
    import json
    import re

    readme = Path(__file__).resolve().parents[3] / "README.md"
    (program,) = re.findall(r"^```py\n(.*?)^```", readme.read_text(), re.DOTALL | re.MULTILINE)
    repository, modules = tmp_path / "repository", tmp_path / "modules"
    repository.mkdir()
    modules.mkdir()
    (repository / "config.json").write_text(json.dumps(CONFIG))
    vocab = {chr(97 + i): i for i in range(CONFIG["vocab_size"])}
    words = {"type": "BPE", "vocab": vocab, "unk_token": "a"}
    tokenizer = {"model": words, "decoder": {"type": "Fuse"}}
    (repository / "tokenizer.json").write_text(json.dumps(tokenizer))
    weights = gpt2_weights(np.random.default_rng(1))
    (repository / "model.safetensors").write_bytes(safetensors(weights))
    (modules / "huggingface_hub.py").write_text(
        f"def snapshot_download(repo_id, **options):\n    return {str(repository)!r}\n"
    )
    assert re.fullmatch("[a-k]{50}", run(program, EXTRA=str(modules)))
