"""Instances: families, training, bytes, and the Hugging Face loader."""

from __future__ import annotations

import json
import struct

import numpy as np
import pytest
from numeric import RNG, close

from polygrad.instance import Instance


def relu(x):
    return np.maximum(x, 0)


def test_mlp_forward():
    net = Instance.mlp(layers=[4, 8, 3], activation="relu", batch_size=5, seed=42)
    x = RNG.uniform(-1, 1, (5, 4)).astype(np.float32)
    p = net.params
    p["layers.0.bias"][:] = RNG.uniform(-1, 1, 8)
    h = relu(x @ p["layers.0.weight"].T + p["layers.0.bias"])
    want = h @ p["layers.1.weight"].T + p["layers.1.bias"]
    close(net.forward(x=x)["output"], want, rtol=1e-4, atol=1e-5)
    assert net.roles["x"] == "input"
    assert net.roles["output"] == "output"
    assert net.buffers["x"].tolist() == x.tolist()


def test_parameters_come_from_the_seed():
    weight = Instance.mlp(layers=[4, 8, 3], seed=42).params["layers.0.weight"]
    assert weight.ravel()[:3].tolist() == [
        0.6729374527931213,
        -0.7829083204269409,
        -0.37287580966949463,
    ]


@pytest.mark.parametrize("loss", ["mse", "cross_entropy"])
@pytest.mark.parametrize("kind", ["sgd", "adam", "adamw"])
def test_training(loss, kind):
    net = Instance.mlp(layers=[3, 16, 4], loss=loss, batch_size=6, seed=1)
    x = RNG.uniform(-1, 1, (6, 3)).astype(np.float32)
    y = np.eye(4, dtype=np.float32)[RNG.integers(0, 4, 6)]
    out = net.forward(x=x)["output"]
    if loss == "mse":
        want = ((out - y) ** 2).mean()
    else:
        e = np.exp(out - out.max(1, keepdims=True))
        want = -(y * np.log(e / e.sum(1, keepdims=True))).sum(1).mean()
    net.set_optimizer(kind, lr=0.05, weight_decay=0.01)
    losses = [net.train_step(x=x, y=y) for _ in range(60)]
    close(losses[0], want, rtol=1e-4)
    assert losses[-1] < 0.5 * losses[0]


def test_other_families():
    tabm = Instance.tabm(layers=[4, 8, 1], n_ensemble=4, loss="mse", batch_size=3, seed=3)
    nam = Instance.nam(n_features=3, hidden_sizes=[8, 4], loss="mse", batch_size=3, seed=5)
    assert "layers.0.r" in tabm.params
    assert "features.2.exu.1.bias" in nam.params
    x = RNG.uniform(-1, 1, (3, 4)).astype(np.float32)
    p = tabm.params
    h = x
    h = p["layers.0.s"] * ((p["layers.0.r"] * h[:, None]) @ p["layers.0.weight"].T)
    h = relu(h + p["layers.0.b"])
    h = p["layers.1.s"] * ((p["layers.1.r"] * h) @ p["layers.1.weight"].T) + p["layers.1.b"]
    close(tabm.forward(x=x)["output"], h.mean(1), rtol=1e-4, atol=1e-5)
    for net, inputs in ((tabm, x), (nam, x[:, :3])):
        net.set_optimizer("adam", lr=0.01)
        target = np.ones((3, 1), np.float32)
        losses = [net.train_step(x=inputs, y=target) for _ in range(40)]
        assert losses[-1] < losses[0]


def test_bytes():
    net = Instance.mlp(layers=[2, 4, 1], loss="mse", seed=9)
    x = np.array([[0.5, -1.0]], np.float32)
    want = net.forward(x=x)["output"]
    bundle = net.save_bundle()
    for same in (
        Instance.from_bundle(bundle),
        Instance.from_ir(net.export_ir(), net.export_weights()),
    ):
        close(same.forward(x=x)["output"], want)
        same.set_optimizer("adam", lr=0.01)
        first = same.train_step(x=x, y=[[1.0]])
        assert np.isfinite(same.train_step(x=x, y=[[1.0]]))
        assert first >= 0
    assert (Instance.from_ir(net.export_ir()).params["layers.0.weight"] == 0).all()
    other = Instance.mlp(layers=[2, 4, 1], loss="mse", seed=10)
    other.import_weights(net.export_weights())
    close(other.forward(x=x)["output"], want)


def test_arrays_outlive_their_instance():
    weight = Instance.mlp(layers=[2, 2], seed=1).params["layers.0.weight"]
    before = weight.copy()
    Instance.mlp(layers=[2, 2], seed=2)
    assert (weight == before).all()


def test_inputs_of_other_types_and_sizes():
    net = Instance.mlp(layers=[3, 1], batch_size=4, seed=1)
    x = np.arange(6).reshape(2, 3)
    full = np.zeros((4, 3), np.float32)
    full[:2] = x
    close(net.forward(x=x)["output"], net.forward(x=full)["output"])
    close(net.forward(x=full.astype(np.float64))["output"], net.forward(x=full)["output"])


def test_errors():
    with pytest.raises(RuntimeError, match="layers"):
        Instance.mlp(layers=[3])
    with pytest.raises(RuntimeError, match="poly_instance_from_bundle"):
        Instance.from_bundle(b"nonsense")
    with pytest.raises(RuntimeError, match="poly_instance_from_ir"):
        Instance.from_ir(b"")
    net = Instance.mlp(layers=[2, 1], seed=1)
    with pytest.raises(ValueError, match="not an input"):
        net.forward(z=[1.0])
    with pytest.raises(ValueError, match="shape"):
        net.forward(x=[[1.0, 2.0, 3.0]])
    with pytest.raises(RuntimeError, match="poly_instance_train_step"):
        net.train_step(x=[[1.0, 2.0]])
    with pytest.raises(ValueError, match="kind"):
        net.set_optimizer("magic")
    with pytest.raises(RuntimeError, match="poly_instance_import_weights"):
        net.import_weights(b"12345678")
