"""Instances: families, training, bytes, and the Hugging Face loader."""

from __future__ import annotations

import json
import struct
import weakref
from pathlib import Path

import numpy as np
import pytest
from numeric import RNG, close

from polygrad import Instance
from polygrad.hf import generate, load_hf, load_hf_bytes


def relu(x):
    return np.maximum(x, 0)


def test_words_that_no_model_knows():
    with pytest.raises(RuntimeError, match='activation: "swish", expected one of relu'):
        Instance.mlp(layers=[2, 1], activation="swish")
    with pytest.raises(RuntimeError, match='loss: "mae", expected one of none, mse'):
        Instance.tabm(layers=[2, 1], loss="mae")
    with pytest.raises(RuntimeError, match="n_layers: unknown, expected activation"):
        Instance.nam(n_features=2, n_layers=3)


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
    rng = np.random.default_rng(0)  # not what earlier tests left of RNG
    x = rng.uniform(-1, 1, (6, 3)).astype(np.float32)
    y = np.eye(4, dtype=np.float32)[rng.integers(0, 4, 6)]
    out = net.forward(x=x)["output"]
    if loss == "mse":
        want = ((out - y) ** 2).mean()
    else:
        e = np.exp(out - out.max(1, keepdims=True))
        want = -(y * np.log(e / e.sum(1, keepdims=True))).sum(1).mean()
    net.set_optimizer(kind, lr=0.05, weight_decay=0.01)
    losses = [net.train_step(x=x, y=y) for _ in range(100)]
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


def test_instances_end():
    """Without a garbage collector, when the last array of one is gone."""
    net = Instance.mlp(layers=[2, 2], seed=1)
    owner = weakref.ref(net._owner)
    weight = net.params["layers.0.weight"]
    net.forward(x=[[1.0, 2.0]])
    del net
    assert owner() is not None
    del weight
    assert owner() is None


def test_inputs_of_other_types_and_sizes():
    net = Instance.mlp(layers=[3, 1], batch_size=4, seed=1)
    x = np.arange(6).reshape(2, 3)
    full = np.zeros((4, 3), np.float32)
    full[:2] = x
    close(net.forward(x=x)["output"], net.forward(x=full)["output"])
    close(net.forward(x=full.astype(np.float64))["output"], net.forward(x=full)["output"])


def test_training_needs_whole_arrays():
    net = Instance.mlp(layers=[3, 1], batch_size=4, loss="mse", seed=1)
    net.set_optimizer("sgd")
    whole = np.ones((4, 1), np.float32)
    with pytest.raises(ValueError, match=r"x: shape \(2, 3\), expected \(4, 3\)"):
        net.train_step(x=np.zeros((2, 3)), y=whole)
    with pytest.raises(ValueError, match="y: shape"):
        net.value_and_grad(x=np.zeros((4, 3)), y=whole[:2])
    assert net.train_step(x=np.zeros((4, 3)), y=whole.ravel()) == pytest.approx(1)


@pytest.mark.parametrize("loss", ["mse", "cross_entropy"])
@pytest.mark.parametrize("batch", [1, 2, 7])
def test_gradients_and_optimizers(batch, loss):
    """Loss, backpropagation and Adam written out in numpy, in float64."""
    net = Instance.mlp(layers=[4, 6, 3], activation="tanh", batch_size=batch, loss=loss, seed=3)
    x = RNG.normal(size=(batch, 4)).astype(np.float32)
    y = np.eye(3, dtype=np.float32)[RNG.integers(0, 3, batch)]
    names = list(net.params)
    p = {n: a.astype(np.float64) for n, a in net.params.items()}
    m = {n: np.zeros_like(a) for n, a in p.items()}
    v = {n: np.zeros_like(a) for n, a in p.items()}
    net.set_optimizer("adamw", lr=0.03, beta1=0.85, beta2=0.97, eps=1e-7, weight_decay=0.2)
    for t in range(1, 9):
        h = np.tanh(x @ p[names[0]].T + p[names[1]])
        out = h @ p[names[2]].T + p[names[3]]
        if loss == "mse":
            want, d = ((out - y) ** 2).mean(), 2 * (out - y) / out.size
        else:
            e = np.exp(out - out.max(1, keepdims=True))
            q = e / e.sum(1, keepdims=True)
            want, d = -(y * np.log(q)).sum(1).mean(), (q - y) / batch
        dh = (d @ p[names[2]]) * (1 - h * h)
        g = dict(zip(names, (dh.T @ x, dh.sum(0), d.T @ h, d.sum(0))))
        value, grads = net.value_and_grad(x=x, y=y)
        close(value, want, rtol=1e-5)
        for n in names:
            close(grads[n], g[n], rtol=1e-4, atol=1e-6)
        close(net.train_step(x=x, y=y), want, rtol=1e-5)
        for n in names:
            m[n] = 0.85 * m[n] + 0.15 * g[n]
            v[n] = 0.97 * v[n] + 0.03 * g[n] ** 2
            p[n] *= 1 - 0.03 * 0.2
            p[n] -= 0.03 * (m[n] / (1 - 0.85**t)) / (np.sqrt(v[n] / (1 - 0.97**t)) + 1e-7)
            close(net.params[n], p[n], rtol=1e-4, atol=1e-5)


def test_training_goes_on_after_loading():
    net = Instance.tabm(layers=[3, 5, 2], n_ensemble=3, loss="mse", batch_size=4, seed=8)
    x, y = RNG.normal(size=(4, 3)), RNG.normal(size=(4, 2))
    net.set_optimizer("adam", lr=0.02)
    for _ in range(5):
        net.train_step(x=x, y=y)
    same = Instance.from_bundle(net.save_bundle())
    for _ in range(5):
        assert same.train_step(x=x, y=y) == net.train_step(x=x, y=y)
    for name, array in net.params.items():
        assert (same.params[name] == array).all()


FIXTURES = Path(__file__).parents[3] / "model" / "testdata"


@pytest.mark.parametrize("name", ["mlp_4_8_3", "mlp_gelu_b3", "tabm_4_8_1", "nam_3"])
def test_bundles_of_the_original(name):
    data = (FIXTURES / f"{name}.bundle").read_bytes()
    want = json.loads((FIXTURES / f"{name}.json").read_text())
    net = Instance.from_bundle(data)
    x = np.array(want["x"], np.float32).reshape(want["x_shape"])
    close(net.forward(x=x)["output"].ravel(), want["output"], rtol=1e-6)
    assert net.save_bundle() == data


def test_weights():
    net = Instance.mlp(layers=[2, 3], seed=1)
    other = Instance.mlp(layers=[2, 3, 1], seed=2)
    with pytest.raises(RuntimeError, match=r"Instance\.import_weights"):
        net.import_weights(other.export_weights())
    net.import_weights(other.export_weights(), strict=False)
    assert (net.params["layers.0.weight"] == other.params["layers.0.weight"]).all()
    assert any("layers.1.weight" in note for note in net.notes)
    net.import_weights(net.export_weights())
    assert net.notes == []


def test_devices():
    net = Instance.mlp(layers=[2, 3], seed=1)
    before = net.forward(x=[[1.0, 2.0]])["output"]
    net.set_device("interp")
    close(net.forward(x=[[1.0, 2.0]])["output"], before)
    with pytest.raises(ValueError, match="CUDA cannot run kernels"):
        net.set_device("CUDA")


def test_errors():
    with pytest.raises(RuntimeError, match="layers"):
        Instance.mlp(layers=[3])
    with pytest.raises(RuntimeError, match=r"Instance\.from_bundle"):
        Instance.from_bundle(b"nonsense")
    with pytest.raises(RuntimeError, match=r"Instance\.from_ir"):
        Instance.from_ir(b"")
    net = Instance.mlp(layers=[2, 1], seed=1)
    with pytest.raises(ValueError, match="not an input"):
        net.forward(z=[1.0])
    with pytest.raises(ValueError, match="shape"):
        net.forward(x=[[1.0, 2.0, 3.0]])
    with pytest.raises(RuntimeError, match=r"Instance\.train_step"):
        net.train_step(x=[[1.0, 2.0]])
    with pytest.raises(ValueError, match="kind"):
        net.set_optimizer("magic")
    with pytest.raises(RuntimeError, match=r"Instance\.import_weights: data"):
        net.import_weights(b"12345678")


# Hugging Face

CONFIG = {
    "model_type": "gpt2",
    "vocab_size": 11,
    "n_embd": 8,
    "n_head": 2,
    "n_layer": 2,
    "n_positions": 6,
}


def gpt2_weights(rng):
    d, v, t = CONFIG["n_embd"], CONFIG["vocab_size"], CONFIG["n_positions"]
    shapes = {"wte.weight": (v, d), "wpe.weight": (t, d), "ln_f.weight": (d,), "ln_f.bias": (d,)}
    for i in range(CONFIG["n_layer"]):
        for name, shape in {
            "ln_1.weight": (d,),
            "ln_1.bias": (d,),
            "attn.c_attn.weight": (d, 3 * d),
            "attn.c_attn.bias": (3 * d,),
            "attn.c_proj.weight": (d, d),
            "attn.c_proj.bias": (d,),
            "ln_2.weight": (d,),
            "ln_2.bias": (d,),
            "mlp.c_fc.weight": (d, 4 * d),
            "mlp.c_fc.bias": (4 * d,),
            "mlp.c_proj.weight": (4 * d, d),
            "mlp.c_proj.bias": (d,),
        }.items():
            shapes[f"h.{i}.{name}"] = shape
    return {n: rng.normal(0, 0.5, s).astype(np.float32) for n, s in shapes.items()}


def safetensors(tensors, dtype="F32", prefix="transformer."):
    header, data = {}, b""
    for name, array in tensors.items():
        raw = array.astype({"F32": np.float32, "F16": np.float16}[dtype]).tobytes()
        header[prefix + name] = {
            "dtype": dtype,
            "shape": list(array.shape),
            "data_offsets": [len(data), len(data) + len(raw)],
        }
        data += raw
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def gpt2(w, tokens):
    """Return the logits of GPT-2 for one sequence, by the book."""

    def norm(x, name):
        x = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
        return x * w[name + ".weight"] + w[name + ".bias"]

    def linear(x, name):
        return x @ w[name + ".weight"] + w[name + ".bias"]

    n, heads = len(tokens), CONFIG["n_head"]
    x = w["wte.weight"][tokens] + w["wpe.weight"][:n]
    for i in range(CONFIG["n_layer"]):
        h = f"h.{i}."
        qkv = linear(norm(x, h + "ln_1"), h + "attn.c_attn").reshape(n, 3, heads, -1)
        q, k, v = qkv.transpose(1, 2, 0, 3)
        scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
        scores = np.where(np.tril(np.ones((n, n))), scores, -1e9)
        e = np.exp(scores - scores.max(-1, keepdims=True))
        mixed = (e / e.sum(-1, keepdims=True) @ v).swapaxes(0, 1).reshape(n, -1)
        x = x + linear(mixed, h + "attn.c_proj")
        m = linear(norm(x, h + "ln_2"), h + "mlp.c_fc")
        m = 0.5 * m * (1 + np.tanh(np.sqrt(2 / np.pi) * (m + 0.044715 * m**3)))
        x = x + linear(m, h + "mlp.c_proj")
    return norm(x, "ln_f") @ w["wte.weight"].T


@pytest.fixture
def folder(tmp_path):
    weights = gpt2_weights(np.random.default_rng(3))
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    half = len(weights) // 2
    names = list(weights)
    for i, part in enumerate((names[:half], names[half:])):
        file = safetensors({n: weights[n] for n in part})
        (tmp_path / f"model-{i}.safetensors").write_bytes(file)
    return tmp_path, weights


def test_gpt2(folder):
    path, weights = folder
    inst = load_hf(path, max_batch=1, max_seq_len=5)
    tokens = np.array([[1, 2, 3, 4]], dtype=np.float32)
    outputs = inst.forward(
        x=tokens,
        positions=np.arange(tokens.shape[1], dtype=np.float32).reshape(1, -1),
        arange=np.arange(5, dtype=np.float32),
    )
    logits = outputs["output"].reshape(1, 5, 11)
    close(logits[0, :4], gpt2(weights, [1, 2, 3, 4]), rtol=1e-3, atol=1e-3)
    again = load_hf_bytes(
        json.dumps(CONFIG), [safetensors(weights, "F16", prefix="")], max_seq_len=5
    )
    outputs = again.forward(x=tokens, positions=[[0, 1, 2, 3]], arange=range(5))
    close(outputs["output"].reshape(5, 11)[:4], logits[0, :4], rtol=0.05, atol=0.05)


def test_generate(folder):
    path, weights = folder
    inst = load_hf(path)
    want = [1, 2]
    for _ in range(6):
        want.append(int(gpt2(weights, want[-6:])[-1].argmax()))
    assert generate(inst, [[1, 2]], 6, temperature=0).tolist() == [want]
    a = generate(inst, [1, 2], max_new_tokens=4, temperature=1.0, top_k=3, seed=1)
    b = generate(inst, [1, 2], max_new_tokens=4, temperature=1.0, top_k=3, seed=1)
    assert a.shape == (1, 6)
    assert (a == b).all()
    assert (a < 11).all()


def test_errors_of_the_loader(tmp_path, folder):
    with pytest.raises(FileNotFoundError, match=r"config\.json"):
        load_hf(tmp_path / "nowhere")
    with pytest.raises(RuntimeError, match="model_type"):
        load_hf_bytes('{"model_type": "other"}', [])
    with pytest.raises(RuntimeError, match="load_hf_bytes"):
        load_hf_bytes("nonsense", [])
    with pytest.raises(ValueError, match=r"wte\.weight.*missing"):
        load_hf_bytes(json.dumps(CONFIG), [])
    inst = load_hf(folder[0])
    with pytest.raises(ValueError, match=r"row 0 is empty|a row of shape"):
        generate(inst, [[]], 1)
    with pytest.raises(ValueError, match="temperature: -1"):
        generate(inst, [[1]], 1, temperature=-1)
