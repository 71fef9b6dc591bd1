"""The results of a program do not depend on what the process has computed before."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt

from polygrad import Instance, Tensor, nn
from polygrad.nn.optim import Adam

MODELS = Path(__file__).parents[3] / "model" / "testdata"
Array = npt.NDArray[np.float32]


def drawn(*shape: int) -> Array:
    return np.random.default_rng(len(shape)).standard_normal(shape).astype(np.float32)


def trained() -> list[Array]:
    """Train a layer."""
    layer = nn.Linear(24, 10)
    layer.weight.assign(Tensor(drawn(10, 24)))
    optimizer = Adam([layer.weight, layer.bias], lr=0.01)
    x, labels = Tensor(drawn(32, 24)), Tensor(np.arange(32, dtype=np.int32) % 10)
    layer.bias.assign(Tensor(drawn(10)))
    with Tensor.train():
        for _ in range(3):
            optimizer.zero_grad()
            layer(x).tanh().sparse_categorical_crossentropy(labels).backward()
            optimizer.step()
    return [layer.weight.numpy(), layer.bias.numpy()]


def attended() -> list[Array]:
    """Differentiate attention."""
    q = Tensor(drawn(1, 2, 37, 16), requires_grad=True)
    out = q.scaled_dot_product_attention(q, q * 0.5, is_causal=True)
    out.square().mean().backward()
    assert q.grad is not None
    return [out.numpy(), q.grad.numpy()]


def modelled() -> list[Array]:
    """Run models, whose graphs are their own; the second is of the original library."""
    model = Instance.mlp(layers=[8, 16, 3], activation="gelu", batch_size=4, seed=5)
    other = Instance.from_bundle((MODELS / "mlp_gelu_b3.bundle").read_bytes())
    given = drawn(3, 5)
    outputs = [model.forward(x=drawn(4, 8)), other.forward(x=given)]
    return [np.asarray(v) for out in outputs for v in out.values()]


def chained() -> list[Array]:
    """Compute functions of elements, rows and windows with constants between them."""
    x = Tensor(drawn(33, 70))
    y = ((x * 1.3 + 0.7) / 7 - 0.1).gelu() * x.softmax(1) + x.layernorm() / 3
    image = Tensor(drawn(2, 3, 12, 12)).conv2d(Tensor(drawn(4, 3, 3, 3))).silu().avg_pool2d(3)
    return [y.numpy(), y.var(0).numpy(), (x @ y.T).sum(1).numpy(), image.numpy()]


PROGRAMS: list[Callable[[], list[Array]]] = [modelled, chained, attended, trained]


def digests(programs: list[Callable[[], list[Array]]]) -> list[str]:
    """Run programs; each gives the digest of its results."""
    return [hashlib.sha256(b"".join(a.tobytes() for a in p())).hexdigest() for p in programs]


def test_results_are_those_of_a_new_process() -> None:
    code = "import test_same_bits as t; print(*t.digests(t.PROGRAMS))"
    path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    new = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    want = new.stdout.split()
    assert digests(PROGRAMS[::-1])[::-1] == want
