"""What Python saved computes and learns the same bits in new processes of every language."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Any, Callable

import numpy as np
import pytest
from turns import part

from polygrad import Instance, Tensor, lax
from polygrad._library import lib
from polygrad.nn import (
    LAMB,
    LSTM,
    SGD,
    Adam,
    AdamW,
    BatchNorm,
    GRUCell,
    LayerNorm,
    Linear,
    Muon,
    TransformerBlock,
    get_parameters,
    get_state_dict,
    load_state_dict,
)
from polygrad.nn.files import safe_load, safe_save

ROOT = Path(__file__).parent.parent
FIXTURES = ROOT / "model" / "testdata"
HERE = Path(__file__).parent / "bundles"
LIBRARY = Path(lib._name).resolve()
RNG = np.random.default_rng(3)
STEPS = 4

# Runs a program of another process on a folder, for so many steps of training.
Predict = Callable[[Path, int], None]


def run(*command: object, cwd: Path | None = None, **environment: str) -> str:
    done = subprocess.run(
        [str(c) for c in command],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "POLYGRAD_LIB": str(LIBRARY), **environment},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


PYTHON = """if True:
    import sys
    from pathlib import Path
    import numpy as np
    from polygrad import Instance
    folder = Path(sys.argv[1])
    model = Instance.from_bundle((folder / "model.bundle").read_bytes())
    read = lambda name: np.fromfile(folder / name, np.float32).reshape(model.buffers[name].shape)
    model.forward(x=read("x"))["output"].tofile(folder / "output")
    (folder / "again.bundle").write_bytes(model.save_bundle())
    losses = [model.train_step(x=read("x"), y=read("y")) for _ in range(int(sys.argv[2]))]
    np.array(losses, np.float32).tofile(folder / "losses")
"""


def in_python(folder: Path, steps: int) -> None:
    run(sys.executable, "-c", PYTHON, folder, steps)


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return predict.c, compiled."""
    out = tmp_path_factory.mktemp("c") / "predict"
    flags = ("-std=c11", "-Wall", "-Wextra", "-Werror", "-I", ROOT / "include")
    # By its path: the library's own name is another one when it is not installed.
    library = out.with_name("libpolygrad.so")
    shutil.copy(LIBRARY, library)
    run("gcc", *flags, HERE / "predict.c", "-o", out, library, f"-Wl,-rpath,{out.parent}")
    return out


def in_c(program: Path) -> Predict:
    def predict(folder: Path, steps: int) -> None:
        libraries = f"{program.parent}:{os.environ.get('LD_LIBRARY_PATH', '')}"
        run(program, folder, steps, LD_LIBRARY_PATH=libraries)

    return predict


def ready(language: str, *tools: str) -> None:
    """Make a binding ready to be used from the checkout; skip where its runtime is missing."""
    found = subprocess.run(
        [str(ROOT / "scripts" / "require.sh"), *tools], capture_output=True, text=True, check=False
    )
    if found.returncode != 0:
        pytest.skip(found.stderr.strip().splitlines()[-1])
    run(ROOT / "scripts" / "binding.sh", language)


@pytest.fixture(scope="session")
def node() -> Path:
    """Return the Node package, whose own packages are there."""
    package = ROOT / "bindings" / "js"
    if not (package / "node_modules" / "koffi").is_dir():
        ready("js", "node", "npm")
    return package


@pytest.fixture(scope="session")
def r_library() -> Path:
    """Return the folder where the R package is installed."""
    library = ROOT / "build" / "r" / "library"
    made = library / "polygrad" / "DESCRIPTION"
    sources = (ROOT / "bindings" / "r").rglob("*")
    if not made.exists() or any(
        f.stat().st_mtime > made.stat().st_mtime for f in sources if f.is_file()
    ):
        ready("r", "R")
    return library


def in_node(package: Path) -> Predict:
    def predict(folder: Path, steps: int) -> None:
        run("node", HERE / "predict.cjs", folder, steps, POLYGRAD_JS=str(package))

    return predict


def in_r(library: Path) -> Predict:
    def predict(folder: Path, steps: int) -> None:
        run("Rscript", HERE / "predict.R", folder, steps, R_LIBS=str(library))

    return predict


@pytest.fixture(params=["python", "c", "node", "r"])
def predict(request: pytest.FixtureRequest) -> Predict:
    if request.param == "python":
        return in_python
    if request.param == "c":
        return in_c(request.getfixturevalue("program"))
    if request.param == "node":
        return in_node(request.getfixturevalue("node"))
    return in_r(request.getfixturevalue("r_library"))


def floats(file: Path) -> list[float]:
    values: list[float] = np.fromfile(file, np.float32).tolist()
    return values


MODELS: dict[str, Callable[[str], Instance]] = {
    "mlp": lambda loss: Instance.mlp(
        layers=[4, 33, 3], activation="gelu", batch_size=5, loss=loss, seed=1
    ),
    "tabm": lambda loss: Instance.tabm(
        layers=[4, 8, 2], n_ensemble=3, batch_size=5, loss=loss, seed=2
    ),
    "nam": lambda loss: Instance.nam(
        n_features=4, hidden_sizes=[8, 4], n_outputs=2, batch_size=5, loss=loss, seed=3
    ),
}


@pytest.mark.parametrize(("family", "kind"), part(product(MODELS, ["sgd", "adam", "adamw"])))
def test_training_goes_on_in_a_new_process(
    family: str, kind: str, tmp_path: Path, predict: Predict
) -> None:
    model = MODELS[family]("cross_entropy" if kind == "adam" else "mse")
    shapes = {name: model.buffers[name].shape for name in ("x", "y")}
    x = RNG.normal(size=shapes["x"]).astype(np.float32)
    y = RNG.uniform(size=shapes["y"]).astype(np.float32)
    model.set_optimizer(kind, lr=0.02, beta1=0.8, weight_decay=0.1)
    for _ in range(STEPS):
        model.train_step(x=x, y=y)
    bundle = model.save_bundle()
    x.tofile(tmp_path / "x")
    y.tofile(tmp_path / "y")
    (tmp_path / "model.bundle").write_bytes(bundle)
    predict(tmp_path, STEPS)
    assert floats(tmp_path / "output") == model.forward(x=x)["output"].ravel().tolist()
    assert (tmp_path / "again.bundle").read_bytes() == bundle
    losses = [model.train_step(x=x, y=y) for _ in range(STEPS)]
    assert floats(tmp_path / "losses") == losses
    assert len(set(losses)) == STEPS


@pytest.mark.parametrize("name", ["mlp_4_8_3", "mlp_gelu_b3", "tabm_4_8_1", "nam_3"])
def test_bundles_of_the_original(name: str, tmp_path: Path, predict: Predict) -> None:
    data = (FIXTURES / f"{name}.bundle").read_bytes()
    want: dict[str, Any] = json.loads((FIXTURES / f"{name}.json").read_text())
    x = np.array(want["x"], np.float32)
    x.tofile(tmp_path / "x")
    (tmp_path / "model.bundle").write_bytes(data)
    predict(tmp_path, 0)
    assert (tmp_path / "again.bundle").read_bytes() == data
    got = floats(tmp_path / "output")
    np.testing.assert_allclose(got, want["output"], rtol=1e-6, atol=1e-6)
    here = Instance.from_bundle(data).forward(x=x.reshape(want["x_shape"]))["output"]
    assert got == here.ravel().tolist()


def test_weights_are_those_of_an_uninterrupted_run(tmp_path: Path) -> None:
    code = """if True:
        import sys, numpy as np
        from polygrad import Instance
        model = Instance.from_bundle(open(sys.argv[1], "rb").read())
        x, y = np.load(sys.argv[2]), np.load(sys.argv[3])
        for _ in range(50):
            model.train_step(x=x, y=y)
        np.savez(sys.argv[4], **model.params)
    """
    model = MODELS["mlp"]("mse")
    x = RNG.normal(size=(5, 4)).astype(np.float32)
    y = RNG.normal(size=(5, 3)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "y.npy", y)
    model.set_optimizer("adamw", lr=0.01, weight_decay=0.05)
    for _ in range(25):
        model.train_step(x=x, y=y)
    (tmp_path / "b").write_bytes(model.save_bundle())
    run(sys.executable, "-c", code, *(tmp_path / n for n in ("b", "x.npy", "y.npy", "w.npz")))
    for _ in range(50):
        model.train_step(x=x, y=y)
    with np.load(tmp_path / "w.npz") as weights:
        assert set(weights) == set(model.params)
        for name, array in model.params.items():
            assert (weights[name] == array).all()


KINDS: dict[str, Callable[[Any], Any]] = {
    "sgd": lambda p: SGD(p, lr=0.05, momentum=0.9),
    "adam": lambda p: Adam(p, lr=0.01),
    "adamw": lambda p: AdamW(p, lr=0.01, weight_decay=0.1),
}


def state_layers(language: str) -> list[Any]:
    """Return a network; that of Go is of the layers that are one operation there."""
    if language == "go":
        return [Linear(4, 8), LayerNorm(8), Linear(8, 2)]
    return [Linear(4, 8), GRUCell(8, 8), BatchNorm(8), Linear(8, 2)]


@pytest.mark.parametrize("kind", part(KINDS, 3))
@pytest.mark.parametrize("language", ["go", "node", "r"])
def test_states_of_optimizers_move_to_another_language_and_back(
    kind: str, language: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    layers = state_layers(language)
    optimizer = KINDS[kind](get_parameters(layers))
    everything = {"net": {"layers": layers}, "optimizer": optimizer}
    data = {n: Tensor(RNG.normal(size=(6, k)).astype("f")) for n, k in (("x", 4), ("y", 2))}

    def train() -> list[float]:
        losses = []
        for _ in range(5):
            optimizer.zero_grad()
            with Tensor.train():
                out = layers[1](layers[0](data["x"]))
                for layer in layers[2:-1]:
                    out = layer(out)
                loss = (layers[-1](out.relu()) - data["y"]).square().mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses

    train()
    safe_save(get_state_dict(everything), str(tmp_path / "state.safetensors"))
    safe_save(data, str(tmp_path / "data.safetensors"))
    if language == "go":
        run("go", "run", "./tests/bundles/state", tmp_path, kind, cwd=ROOT)
    elif language == "r":
        library = request.getfixturevalue("r_library")
        run("Rscript", HERE / "state.R", tmp_path, kind, R_LIBS=str(library))
    else:
        package = request.getfixturevalue("node")
        run("node", HERE / "state.cjs", tmp_path, kind, POLYGRAD_JS=str(package))
    losses = train()
    back = safe_load(str(tmp_path / "back.safetensors"))
    # What R and Node still hold is stored: other kernels are fused, whose sums round differently.
    near = {"rtol": 1e-5, "atol": 1e-6}
    np.testing.assert_allclose(back.pop("losses").numpy(), losses, **near)
    want = {name: tensor.numpy().copy() for name, tensor in get_state_dict(everything).items()}
    assert set(back) == set(want)
    load_state_dict(everything, back)
    for name, tensor in get_state_dict(everything).items():
        np.testing.assert_allclose(tensor.numpy(), want[name], err_msg=name, **near)


def test_names_of_states_are_the_same_in_node(node: Path) -> None:
    net = [BatchNorm(3), LSTM(2, 3), GRUCell(2, 3), TransformerBlock(8, 2)]
    states = [net, [Muon(get_parameters(net)), LAMB(get_parameters(net))]]
    code = """
    const { BatchNorm, LSTM, GRUCell, TransformerBlock, Muon, LAMB, getParameters, getStateDict } =
      require(process.env.POLYGRAD_JS)
    const net = [new BatchNorm(3), new LSTM(2, 3), new GRUCell(2, 3), new TransformerBlock(8, 2)]
    const states = [net, [new Muon(getParameters(net)), new LAMB(getParameters(net))]]
    console.log(JSON.stringify(Object.keys(getStateDict(states))))
    """
    names = json.loads(run("node", "-e", code, POLYGRAD_JS=str(node)))
    assert set(names) == set(get_state_dict(states))


STATE = """if True:
    import sys, numpy as np
    from polygrad import Tensor
    from polygrad.nn import Adam, AdamW, LayerNorm, Linear, SGD
    from polygrad.nn import get_parameters, get_state_dict, load_state_dict
    kind, first, file, out = sys.argv[1:]

    class Net:
        def __init__(self):
            self.layers = [Linear(4, 8), LayerNorm(8), Linear(8, 2)]

        def __call__(self, x):
            return self.layers[2](self.layers[1](self.layers[0](x)).relu())

    Tensor.manual_seed(1 if first == "yes" else 2)
    net = Net()
    make = {"sgd": lambda p: SGD(p, lr=0.05, momentum=0.9), "adam": lambda p: Adam(p, lr=0.01),
            "adamw": lambda p: AdamW(p, lr=0.01, weight_decay=0.1)}[kind]
    optimizer = make(get_parameters(net))
    everything = {"net": net, "optimizer": optimizer}
    rng = np.random.default_rng(0)
    x, y = Tensor(rng.normal(size=(6, 4)).astype("f")), Tensor(rng.normal(size=(6, 2)).astype("f"))

    def train(n):
        losses = []
        for _ in range(n):
            optimizer.zero_grad()
            loss = (net(x) - y).square().mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses

    if first == "yes":
        train(5)
        np.savez(file, **{k: v.numpy() for k, v in get_state_dict(everything).items()})
    else:
        with np.load(file) as saved:
            load_state_dict(everything, dict(saved))
    losses = train(5)
    np.savez(out, losses=np.array(losses), **{k: v.numpy() for k, v in get_state_dict(net).items()})
"""


@pytest.mark.parametrize("kind", ["sgd", "adam", "adamw"])
def test_state_dicts_of_model_and_optimizer(kind: str, tmp_path: Path) -> None:
    state, here, there = (tmp_path / n for n in ("state.npz", "here.npz", "there.npz"))
    run(sys.executable, "-c", STATE, kind, "yes", state, here)
    run(sys.executable, "-c", STATE, kind, "no", state, there)
    with np.load(here) as a, np.load(there) as b:
        assert set(a) == set(b)
        for name in a:
            assert (a[name] == b[name]).all(), name
        assert len(set(a["losses"].tolist())) == 5


def test_loops_of_a_bundle_that_c_saved(tmp_path: Path) -> None:
    """A recurrence, a loop with a condition and a branch are computed as lax computes them."""
    folder = ROOT / "tests" / "abi" / "testdata"
    program, saved = tmp_path / "irspec", tmp_path / "loops.bundle"
    flags = (
        "-std=gnu11",
        "-I",
        folder,
        "-I",
        ROOT / "include",
        "-lm",
        f"-Wl,-rpath,{LIBRARY.parent}",
    )
    run("gcc", folder / "irspec.c", "-o", program, LIBRARY, *flags)
    run(program, saved)
    model = Instance.from_bundle(saved.read_bytes())
    w, s = Tensor(model.params["w"]), Tensor(RNG.normal(size=(3, 2)).astype("float32"))
    for start in ([1.0, -0.5], [-0.75, 0.5]):
        x = Tensor(start)
        found = model.forward(x=x.numpy(), s=s.numpy())
        last, _ = lax.scan(lambda h, e: ((w @ h + e).tanh(), None), x, s)
        grown = lax.while_loop(lambda y: y.square().sum() < 100, lambda y: y * 2, x)
        chosen = lax.cond(x.sum() > 0, Tensor.sin, Tensor.exp, x)
        for name, want in (("last", last), ("doubled", grown), ("chosen", chosen)):
            np.testing.assert_allclose(found[name], want.numpy(), rtol=1e-5, atol=1e-6)
