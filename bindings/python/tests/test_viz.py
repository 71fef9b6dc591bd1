"""Graphs, kernels and profiles, and the command that prints them."""

from __future__ import annotations

import copy
import json
import pickle
import re
import sys
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from processes import check, run

from polygrad import Tensor, TinyJit, Variable, nn, viz
from polygrad.__main__ import evaluate, main


def example():
    """Return a lazy tensor that needs two kernels, of values that are there."""
    a, b = Tensor(np.ones((16, 32), "float32")), Tensor(np.ones((32, 8), "float32"))
    return (a @ b).softmax()


def step():
    """Return a compiled training step and its model."""
    model = nn.Linear(4, 2)
    optimizer = nn.SGD(nn.get_parameters(model), lr=0.1)
    x, y = Tensor.ones(8, 4).realize(), Tensor.zeros(8, 2).realize()

    def train():
        optimizer.zero_grad()
        loss = (model(x) - y).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    return nn.compile_step(train), model


def test_graph_as_text():
    text = viz.graph(example())
    assert text.count("BUFFER float32") == 2
    assert "REDUCE_AXIS MAX(1) float32 (16,1)" in text
    assert "UNIQUE" not in text
    both = viz.graph(Tensor([1.0]), Tensor([2]))
    assert re.findall(r"BUFFER (\w+)", both) == ["float32", "int32"]


def test_kernels_of_complex_tensors():
    assert "kernel" in viz.kernels(Tensor([1j, 2]) * 2)
    assert "COMPLEX" in viz.graph(Tensor([1j, 2]) * 2)


def test_a_function_is_shown_after_other_work():
    run, _ = step()
    run()
    before = viz.kernels(run, format="code").split("compiled in")[1:]
    x = Tensor.ones(3).realize()
    for i in range(40):  # enough for the graph to drop what nobody uses
        y = x
        for j in range(1000):
            y = y + float(i * 1000 + j)
        del y
    after = viz.kernels(run, format="code").split("compiled in")[1:]
    assert [text.split("\n", 1)[1] for text in after] == [text.split("\n", 1)[1] for text in before]


def test_graph_as_records():
    records = json.loads(viz.graph(example(), format="json"))
    nodes = records["nodes"]
    assert records["roots"] == [len(nodes) - 1]
    for i, node in enumerate(nodes):
        assert set(node) <= {"name", "detail", "kind", "sources"}
        assert all(source < i for source in node["sources"])
    assert {node["kind"] for node in nodes} == {"memory", "constant", "movement", "math", "reduce"}


@pytest.mark.parametrize("show", [viz.graph, viz.kernels])
def test_pictures(show):
    view = show(example(), format="svg")
    root = ElementTree.fromstring(view)
    boxes = root.findall(".//{*}rect")
    texts = [t.text for t in root.iter() if t.tag.endswith("text")]
    assert len(boxes) > 3
    assert any("float32" in text for text in texts)
    assert view._repr_html_() == view
    assert show(example())._repr_html_() is None
    for same in (copy.copy(view), pickle.loads(pickle.dumps(view))):
        assert (same, same.kind) == (view, "svg")


@pytest.mark.parametrize("show", [viz.graph, viz.kernels])
def test_dot(show):
    lines = show(example(), format="dot").splitlines()
    assert (lines[0], lines[-1]) == ("digraph {", "}")
    nodes = {m for line in lines for m in re.findall(r"^  (n\d+) \[", line)}
    edges = [m.groups() for line in lines if (m := re.match(r"  (n\d+) -> (n\d+)$", line))]
    assert nodes
    assert edges
    assert all(a in nodes and b in nodes for a, b in edges)


def test_code():
    assert viz.graph(example(), format="code").count("BUFFER") == 2
    code = viz.kernels(example(), format="code")
    assert re.findall("--- kernel (.):", code)[0] == "0"
    assert "REDUCE ADD" in code
    assert "RANGE r" in code


def test_a_computed_tensor_is_shown_as_what_it_came_from():
    x = Tensor([1.0, 2.0], requires_grad=True)
    y = (x * 3).realize()
    assert "MUL" in viz.graph(y)
    assert "1 kernel on" in viz.kernels(y)
    assert viz.kernels(Tensor([1.0])).startswith("0 kernels on")


def test_profile():
    t = example()
    profile = viz.profile(t, runs=3)
    assert not t.is_realized  # looking at it computes nothing
    assert profile.runs == 3
    assert profile.device in {"native", "wasm", "interp", "clang"}
    assert 0 < profile.seconds < 1
    assert profile.flops == sum(k.flops for k in profile.kernels) >= 1.9 * 16 * 32 * 8
    assert str(profile).startswith(f"{len(profile.kernels)} kernels on {profile.device}")
    assert "GFLOP/s" in repr(profile)
    for kernel in profile.kernels:
        assert 0 < kernel.seconds <= kernel.mean_seconds
        assert kernel.code
        assert kernel.graph.startswith("SINK")
        for b in (*kernel.reads, *kernel.writes):
            assert profile.buffers[b].bytes > 0
    roles = [b.role for b in profile.buffers]
    assert (roles.count("input"), roles.count("output")) == (2, 1)
    shapes = {b.shape for b in profile.buffers if b.role == "input"}
    assert shapes == {(16, 32), (32, 8)}


def test_profile_of_a_step_changes_nothing():
    compiled, model = step()
    before = model.weight.numpy().copy()
    profile = viz.profile(compiled, runs=2)
    np.testing.assert_array_equal(model.weight.numpy(), before)
    assert len(profile.kernels) == compiled.n_kernels
    assert [b.role for b in profile.buffers].count("updated") == 2
    compiled.run()
    assert not np.array_equal(model.weight.numpy(), before)


def test_profile_of_a_jit():
    @TinyJit
    def scaled(x, y):
        return (x * 2 + y).realize()

    with pytest.raises(ValueError, match="no program before its second call"):
        viz.kernels(scaled)
    for _ in range(3):
        scaled(Tensor.ones(64), Tensor.ones(64))
    profile = viz.profile(scaled, runs=2)
    assert len(profile.kernels) == scaled.captured.n_kernels == 1
    assert [b.shape for b in profile.buffers] == [(64,)] * 3


def test_symbolic_sizes():
    n = Variable("n", 1, 8).bind(3)
    t = Tensor.ones(8).contiguous()[:n] * 2
    assert "SHRINK" in viz.graph(t)
    assert "lazy" in t._repr_html_()
    profile = viz.profile(t, runs=2)
    assert len(profile.kernels) == 2
    assert profile.seconds > 0


def test_bad_arguments():
    with pytest.raises(TypeError, match="graph: tensors: none"):
        viz.graph()
    with pytest.raises(TypeError, match="graph: tensors: a ndarray, expected a tensor"):
        viz.graph(np.ones(2))
    with pytest.raises(TypeError, match="kernels: what: an int"):
        viz.kernels(1)
    with pytest.raises(ValueError, match="format: 'png', expected one of text, json, dot, svg"):
        viz.graph(example(), format="png")
    with pytest.raises(ValueError, match=r"format: \[\], expected one of text"):
        viz.graph(example(), format=[])
    with pytest.raises(ValueError, match="runs: -1"):
        viz.profile(example(), runs=-1)
    with pytest.raises(ValueError, match=r"expected a name with \.svg"):
        viz.save("graph.png", example())


@pytest.mark.parametrize("suffix", ["svg", "dot", "gv", "json", "txt"])
def test_save(tmp_path, suffix):
    path = tmp_path / f"graph.{suffix}"
    viz.save(path, example())
    text = path.read_text(encoding="utf-8")
    first = {"svg": "<svg", "dot": "digraph", "gv": "digraph", "json": "{", "txt": "MUL float32"}
    assert text.startswith(first[suffix])


# The command


def test_command_shows_graph_and_times(capsys):
    assert main(["Tensor.ones(8, 8).contiguous() @ Tensor.eye(8)"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("RESHAPE float32 (8,8)")
    assert re.search(r"\d+ kernels? on \w+", out)
    assert "GFLOP/s" in out
    assert "--- kernel" not in out


def test_command_options(capsys, tmp_path):
    assert main(["--code", "Tensor.ones(8).contiguous() + 1"]) == 0
    assert capsys.readouterr().out.startswith("--- kernel 0:")
    assert main(["--kernels", "--runs", "0", "Tensor.ones(8).contiguous() + 1"]) == 0
    assert "GFLOP/s" not in capsys.readouterr().out
    path = tmp_path / "g.svg"
    assert (
        main(["--graph", "--format", "svg", "-o", str(path), "(Tensor.ones(2), Tensor([1]))"]) == 0
    )
    assert ElementTree.fromstring(path.read_text()).tag.endswith("svg")
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["1 + 1"], "gives int, expected tensors"),
        (["x = 1"], "does not end with an expression"),
        (["Tensor("], "Tensor("),
        (["nothing.py:f"], "nothing.py does not exist"),
        (["nothing.at.all:f"], "No module named"),
        (["--format", "svg", "Tensor([1])"], "ask for one of"),
        (["--format", "dot", "--code", "Tensor([1])"], "--code is text"),
        (["--format", "png", "Tensor([1])"], "invalid choice"),
        (["--runs", "-1", "Tensor([1])"], "expected 0 to 1000000"),
        (["--runs", "many", "Tensor([1])"], "invalid int value: 'many'"),
        (["-o", "/nothing/at/all", "Tensor([1]) + 1"], "No such file or directory"),
        (
            [
                "--graph",
                "--format=svg",
                "x = Tensor.ones(2)\nfor i in range(2000): x = (x + i).sin()\nx",
            ],
            "take DOT",
        ),
        ([], "WHAT"),
    ],
)
def test_command_refuses(arguments, message, capsys):
    with pytest.raises(SystemExit) as error:
        main(arguments)
    assert error.value.code == 2
    assert message in capsys.readouterr().err


def test_command_runs_functions(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "helper_of_model.py").write_text("SIZE = 3\n")
    path = tmp_path / "model.py"
    path.write_text(
        "from helper_of_model import SIZE\n"
        "from polygrad import Tensor, nn\n"
        "def forward():\n    return {'y': [nn.Linear(2, SIZE)(Tensor.ones(4, 2))]}\n"
        "def step():\n    t = Tensor([1.0]).realize()\n"
        "    return nn.compile_step(lambda: t.assign(t * 2))\n"
    )
    (tensor,) = evaluate(f"{path}:forward")
    assert tensor.shape == (4, 3)
    assert main(["--kernels", f"{path}:step"]) == 0
    assert "updated" in capsys.readouterr().out
    with pytest.raises(ValueError, match="has no function missing"):
        evaluate(f"{path}:missing")
    with pytest.raises(SystemExit):
        main(["--graph", f"{path}:step"])
    assert "has no graph" in capsys.readouterr().err
    assert [t.shape for t in evaluate("Tensor([1])[0:1]")] == [(1,)]
    monkeypatch.chdir(tmp_path)
    assert evaluate("model:forward")[0].shape == (4, 3)


def test_command_in_a_shell():
    program = """
    import subprocess, sys
    command = [sys.executable, "-m", "polygrad", "--kernels", "Tensor.rand(4).sum()"]
    print(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    """
    assert " on wasm, " in check(program, POLY_DEVICE="wasm")
    unread = """
    import subprocess, sys
    command = [sys.executable, "-m", "polygrad", "Tensor.rand(4).sum()"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, **pipes) as process:
        process.stdout.close()
        print(process.stderr.read(), process.wait())
    """
    assert check(unread) == "b'' 0\n"


@pytest.mark.parametrize("device", ["native", "wasm", "interp"])
def test_code_of_devices(device):
    done = run(
        """
        from polygrad import Tensor, viz
        kernel = viz.profile(Tensor.ones(64).contiguous() + 1, runs=1).kernels[-1]
        print(kernel.language)
        print(kernel.code)
        """,
        POLY_DEVICE=device,
    )
    assert done.returncode == 0, done.stderr
    language, _, code = done.stdout.partition("\n")
    expected = {"x86-64": "ret", "WebAssembly": "v128.store", "linear list": "PARAM"}
    assert expected[language] in code
