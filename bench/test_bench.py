"""The benchmark itself: it measures all that was promised, and reports what it measured."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import Any

import chart
import generation
import gpt2
import memory
import numpy as np
import overheads
import peers.numpy
import peers.polygrad
import programs
import pytest
import report
import showcase
from contestants import BEAM, OURS, SPLIT
from duel import SEARCH_BUDGET, Contestant, Outcome, Pace, duel, prepare
from limits import bounds
from rows import Row, agrees, row
from tasks import BY_NAME, PARITY, TASKS, UNSEARCHED, Limit, Task, int8, normal

# Goal and gate for two threads of what was promised from the start.
PROMISED: dict[str, Limit | None] = {
    "vector add 1e3": None,
    "vector add 1e6": (0.52, 0.65),
    "vector add 1e7": (0.71, 0.85),
    "elementwise chain 5": (0.77, 0.90),
    "elementwise chain 10": (0.79, 0.90),
    "elementwise chain 20": (0.50, 0.65),
    "exp 1e6": (0.28, 0.45),
    "sin 1e6": (0.34, 0.50),
    "tanh 1e6": (0.45, 0.60),
    "gelu 1e6": (0.07, 0.12),
    "sum all 1e7": (0.44, 0.60),
    "sum axis 0, 4096^2": (0.48, 0.60),
    "sum axis 1, 4096^2": (0.70, 0.80),
    "softmax 4096x1024": (0.06, 0.12),
    "layernorm 4096x1024": (0.30, 0.45),
    "matmul 64": (0.79, 0.95),
    "matmul 256": (0.78, 0.95),
    "matmul 512": (0.80, 0.95),
    "matmul 1024": (0.95, 1.05),
    "matmul 2048": (0.95, 1.05),
    "matvec 4096": (1.00, 1.05),
    "batched matmul 32x128x64x128": (0.41, 0.70),
    "transposed copy 4096^2": (0.33, 0.55),
    "conv2d 1x64x56x56, 3x3, 64": (0.48, 0.80),
    "MLP 784-512-256-10 b128 forward": (0.62, 0.85),
    "MLP 784-512-256-10 b128 training step": (0.37, 0.60),
    "MLP 64-64-1 b4 training step": (0.20, 0.50),
    "GPT 2x256 T128 forward": (0.34, 0.60),
    "GPT 2x256 T128 training step": (0.35, 0.60),
    "matmul 1024, POLY_F32=bf16x3": (0.63, None),
    "matmul 2048, POLY_F32=bf16x3": (0.66, None),
}
LIMITS = {
    str(n): {
        "gflops": 100.0 * n,
        "narrow": {"bfloat16": 1600.0 * n},
        "gbytes": {"L1": 400.0, "L2": 200.0, "L3": 40.0, "DRAM": 20.0},
    }
    for n in (1, 2)
}


@pytest.mark.parametrize("name", PROMISED)
def test_every_promise_is_measured(name: str) -> None:
    assert BY_NAME[name].limit(2) == PROMISED[name]


def test_nothing_else_is_promised_but_to_be_as_fast_as_the_best() -> None:
    assert {t.name for t in TASKS if t.limit(2)} == {n for n, limit in PROMISED.items() if limit}
    optional = {task.name for task in TASKS if task.optional}
    assert optional == {"vector add 1e3", *(t.name for t in TASKS if t.subject == SPLIT)}


def test_tasks_have_names_and_groups_of_their_own() -> None:
    assert len(BY_NAME) == len(TASKS)
    assert {task.group for task in TASKS} == set(report.GROUPS)


def outcomes(ours: float, **others: float) -> dict[str, Outcome]:
    """Return outcomes of so many seconds, of equal values."""
    times = {OURS: ours, **others}
    return {
        n: Outcome(turns=[s, s, 9.0], least=s, first=1.0, values=[1.0]) for n, s in times.items()
    }


def faked(name: str, threads: int = 2, **seconds: float) -> Row:
    """Return a row of a task."""
    task, found = BY_NAME[name], outcomes(**seconds)
    return row(task, threads, {task.subject: found.pop(OURS), **found}, LIMITS)


def test_a_row_compares_with_the_best_peer() -> None:
    found = faked("matmul 64", ours=2e-6, numpy=4e-6, torch=1e-6)
    assert (found["goal_peer"], found["goal_ratio"], found["verdict"]) == ("numpy", 0.5, "goal")
    assert (found["best_peer"], found["ratio"]) == ("torch", 2.0)
    assert (found["parity"], found["parity_verdict"]) == (PARITY, "missed")
    assert found["ours_us"] == 2.0 and found["peers_us"] == {"numpy": 4.0, "torch": 1.0}
    assert found["share_of_limit"] == pytest.approx(2 * 64**3 / 200e9 / 2e-6, rel=1e-3)
    assert set(found["shares_of_limits"]) == {"arithmetic", "L1"}


@pytest.mark.parametrize(
    "ours, verdict", [(0.79, "goal"), (0.80, "gate"), (0.95, "gate"), (0.96, "missed")]
)
def test_goal_and_gate_are_kept_up_to_their_ratio(ours: float, verdict: str) -> None:
    assert faked("matmul 64", ours=ours, numpy=1.0)["verdict"] == verdict


def test_goals_are_for_the_peers_that_they_were_set_against() -> None:
    found = faked("exp 1e6", ours=1.0, torch=1.0)
    assert (found["goal"], found["goal_ratio"], found["verdict"]) == (0.28, None, "")
    assert found["parity_verdict"] == "kept"


def test_what_is_optional_has_no_gate_against_all() -> None:
    name = "matmul 1024, POLY_F32=bf16x3"
    found = faked(name, ours=2.0, numpy=1.0)
    assert found["optional"] and found["ratio"] == 2.0
    assert found["verdict"] == found["parity_verdict"] == ""
    assert faked(name, ours=0.6, numpy=1.0)["verdict"] == "goal"


def test_what_failed_is_noted_and_does_not_count() -> None:
    found = outcomes(1.0, numpy=2.0)
    found["torch"] = Outcome(note="no such thing")
    made = row(BY_NAME["exp 1e6"], 2, found, LIMITS)
    assert made["notes"] == {"torch": "no such thing"} and made["best_peer"] == "numpy"
    found[OURS] = Outcome(note="died")
    made = row(BY_NAME["exp 1e6"], 2, found, LIMITS)
    assert made["ratio"] is None and made["goal_ratio"] is None and made["share_of_limit"] is None
    assert made["verdict"] == made["parity_verdict"] == ""


def test_values_of_others_are_looked_at() -> None:
    assert agrees([1.0, 2.0], [[1.001, 2.0], [5.0, 5.0]])
    assert not agrees([1.0, 2.1], [[1.0, 2.0], [1.0, 2.0], [1.0, 2.1]])
    assert not agrees([1.0], [[1.0, 2.0]])


def limit_of(
    flops: float, moved: float, threads: int, numbers: str = "float32"
) -> tuple[float, str]:
    """Return the seconds that work takes at least, and what bounds it."""
    task = Task("", "", programs.add, [], flops, moved, numbers=numbers)
    parts = bounds(LIMITS, threads, task)
    return max((seconds, name) for name, seconds in parts.items())


def test_the_slower_of_arithmetic_and_memory_is_the_limit() -> None:
    assert limit_of(100e9, 8.0, 1) == (1.0, "arithmetic")
    assert limit_of(1.0, 2e9, 1) == (0.1, "DRAM")
    assert limit_of(1.0, 40e6, 2) == (1e-3, "L3")
    assert limit_of(1.0, 4000, 2) == (1e-8, "L1")
    assert limit_of(1600e9, 8.0, 1, numbers="bfloat16") == (1.0, "arithmetic")


def test_the_report_shows_every_row() -> None:
    rows = [faked(task.name, ours=1e-3, numpy=5e-3, torch=2e-4) for task in TASKS]
    rows[0]["probe"] = {"compile_ms": 0.5, "kernels": 2, "arrays_mib": 1.0, "peak_mib": 40.0}
    text = report.section(rows, LIMITS, ["numpy", "torch"])
    for task in TASKS:
        assert f"| {task.name} | 2 | 1.00 ms | 5.00 ms | **200 us** |" in text
    assert "| 0.20 goal | 0.79 / 0.95 | 5.00 **missed** | 0% arithmetic |" in text
    assert "- matmul 64, 2 threads: 5.00 of torch, the gate is 1.05. No limit" in text
    assert f"| {TASKS[0].name} | 2 | 0.50 | 0.25 |" in text
    assert f"0 of {sum(not t.optional for t in TASKS)} rows take at most" in text


def test_what_is_missed_says_what_bounds_it() -> None:
    slow = faked("matmul 64", ours=4e-6, numpy=1e-6, jax=4e-6)
    assert report.missed([slow]) == [
        "- matmul 64, 2 threads: 4.00 of numpy, the gate is 0.95, which means 0.95 us: below the "
        "limit of 2.62 us; 4.00 of numpy, the gate is 1.05, which means 1.05 us: below the limit "
        "of 2.62 us. It runs at 66% of the arithmetic."
    ]
    kept = faked("matmul 64", ours=0.9, numpy=1.0)
    assert "0.90 of numpy, the goal is 0.79, the gate is kept" in report.missed([kept])[0]
    assert report.missed([faked("matmul 64", ours=0.5, numpy=1.0)]) == ["All goals are reached."]


def test_the_chart_has_a_bar_for_every_row() -> None:
    rows = [faked(task.name, ours=1e-3, numpy=5e-3) for task in TASKS]
    root = ET.fromstring(chart.draw(rows, "A < B"))
    boxes = root.findall("{http://www.w3.org/2000/svg}rect")
    assert len(boxes) == len(rows) + len(chart.COLORS)
    assert chart.place(0.1) < chart.place(1) < chart.place(10)


def test_overheads_keep_their_limits() -> None:
    cold = {name: {"cold_ms": 4.0} for name in ("vecadd", "softmax", "layernorm", "matmul512")}
    cold |= {"mlp": {"cold_ms": 4.0}, "gpt": {"cold_ms": 40.0}}
    call = {"realize": 20.0, "rerun": 0.4, "call": 0.06}
    calls = dict.fromkeys(("python", "c", "node_js"), call)
    sizes = {"load_ms": 6.0, "small_mib": 40.0, "large_mib": 200.0}
    rows = overheads.rows(
        {"cold": cold, "calls": calls, "nodes": 6e6, "footprint": sizes, "bf16_times": 5.0}
    )
    kept = {r["overhead"]: r["verdict"] for r in rows}
    assert len(kept) == len(overheads.OVERHEADS)
    assert kept["cold: one elementwise kernel"] == "missed"
    assert kept["cold: GPT of 2 layers, loss and gradients"] == "gate"
    assert kept["cold: MLP, loss and gradients"] == "goal"
    assert kept["building nodes of the graph, in Go"] == "gate"
    assert kept["peak memory, Python adds 1e7 elements"] == "missed"
    text = "\n".join(overheads.section(rows))
    assert "| cold: one elementwise kernel | 4 | ms | 0.2 | 0.5 | **missed** |" in text


PROGRAMS: dict[str, tuple[Any, list[Any]]] = {
    "chain": (programs.chain(2), [normal(30)]),
    "gelu": (programs.of("gelu"), [normal(30)]),
    "sum": (programs.total(0), [normal(5, 6)]),
    "softmax": (programs.of("softmax"), [normal(5, 6)]),
    "layernorm": (programs.of("layernorm"), [normal(5, 6)]),
    "product_int": (programs.product_int, [int8(40, 50), int8(50, 60)]),
    "product_nt": (programs.product_nt, [normal(5, 6), normal(7, 6)]),
    "product_tn": (programs.product_tn, [normal(5, 6), normal(5, 7)]),
    "transpose": (programs.transposed_copy, [normal(5, 6)]),
    "conv2d": (programs.convolution(2, 1), [normal(1, 3, 8, 8), normal(4, 3, 3, 3)]),
    "attention": (programs.of("attention"), [normal(1, 2, 6, 4) for _ in range(3)]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_frameworks_compute_the_same(name: str) -> None:
    program, inputs = PROGRAMS[name]
    _, arrays = Task(name, "", program, inputs).arrays()
    ours = peers.polygrad.program(program, arrays)
    peers.polygrad.check(ours())
    theirs = peers.numpy.program(program, arrays)()
    np.testing.assert_allclose(peers.polygrad.read(ours.results[0]), theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["MLP 64-64-1 b4 training step"])
def test_frameworks_train_the_same(name: str) -> None:
    task = BY_NAME[name]
    ours = peers.polygrad.training(task.program, *task.arrays(), rate=0.1)
    theirs = peers.numpy.training(task.program, *task.arrays(), rate=0.1)
    for _ in range(4):
        peers.polygrad.check(ours())
        np.testing.assert_allclose(ours.results[0], theirs(), rtol=1e-4)


def test_processes_take_turns() -> None:
    contestants = [Contestant(name, 1) for name in (OURS, "numpy")]
    try:
        found = duel(contestants, BY_NAME["vector add 1e3"], Pace(2, 0.001, 1.0))
    finally:
        for contestant in contestants:
            contestant.close()
    assert [len(o.turns) for o in found.values()] == [2, 2]
    assert found[OURS].values == found["numpy"].values and len(found[OURS].values) == 50


def test_training_steps_of_models_are_searched_within_a_budget() -> None:
    small = {t.name for t in TASKS if t.group == "models" and t.parameters and t.flops < 2e10}
    searched = {t.name for t in TASKS if BEAM not in t.skip}
    assert len(small) == 5 and {name.split()[0] for name in small - searched} == {"LSTM"}
    assert BY_NAME["exp 1e6"].skip[BEAM] == UNSEARCHED
    assert BEAM not in BY_NAME["exp 1e6"].searched().skip

    class Searcher:
        name, patience, busy = BEAM, 120.0, SEARCH_BUDGET - 60
        asked = 0.0

        def ask(self, patience: float, **request: Any) -> Any:
            self.asked = patience
            return {"first": 1.0, "sample": []}

    searcher: Any = Searcher()
    assert prepare(searcher, BY_NAME["MLP 64-64-1 b4 training step"]).first == 1.0
    assert searcher.asked == 60
    searcher.busy, searcher.asked = SEARCH_BUDGET, 0.0
    assert "searching were over" in prepare(searcher, BY_NAME["MLP 64-64-1 b4 training step"]).note
    assert searcher.asked == 0


def test_gpt2_has_124_million_weights() -> None:
    assert sum(int(np.prod(shape)) for shape in gpt2.shapes().values()) == 124_439_808


def test_generation_says_who_was_fast_and_who_wrote_nothing() -> None:
    fast, slow, failed = (
        generation.Written(generation.Entrant(name, kind))
        for name, kind in ((OURS, "float32"), ("torch", "float32"), (BEAM, "float32"))
    )
    fast.token, fast.first, fast.peak_mib = [0.01, 0.02, 0.01], [0.1], 500.0
    slow.token, slow.first = [0.1], [1.0]
    failed.note = "no answer in 120 s"
    rows = [fast.row(True), slow.row(False), failed.row(False)]
    assert rows[0]["tokens_per_second"] == 100 and rows[0]["first_ms"] == 100
    text = "\n".join(generation.section(rows))
    assert "| polygrad | float32 | **100.0** | 100 | 500 | 0.0 | 0.0 |" in text
    assert "| torch | float32 | 10.0 **other tokens** | 1000 |" in text
    assert "| tinygrad beam | float32 | no answer in 120 s | - | - | - | - |" in text


def test_memory_is_measured_of_models_in_training() -> None:
    rows = [faked(task.name, ours=1e-3, numpy=5e-3) for task in TASKS]
    wanted = [row["workload"] for row in rows if memory.wanted(row)]
    assert [name.split()[0] for name in wanted] == ["MLP", "CNN", "LSTM", "GPT", "GPT-2"]
    rows = [faked("MLP 64-64-1 b4 training step", ours=1e-3, numpy=5e-3)]
    assert memory.section(rows, ["numpy"]) == []
    found, note = memory.peak(OURS, "MLP 64-64-1 b4 training step", 1, "")
    assert found is not None and found > 20 and note == ""
    rows[0]["peak_mib"] = {OURS: found, "numpy": None}
    line = f"| MLP 64-64-1 b4 training step | {found:.0f} | - |"
    assert line in memory.section(rows, ["numpy"])


def test_examples_are_shown_with_their_figures() -> None:
    example = next(e for e in showcase.EXAMPLES if e.name == "chargpt.py")
    row = example.measured(quick=True)
    assert [(loop["name"], loop["steps"]) for loop in row["loops"]] == [
        ("training", 20),
        ("writing", 40),
    ]
    text = "\n".join(showcase.section([row]))
    assert "[chargpt.py](../examples/chargpt.py) | `--steps 20 --length 40` | words of the " in text
    assert "<br>loss=" in text and "training: 20 steps, " in text
    assert "```text\nYou may " in text


def test_every_example_in_python_is_shown() -> None:
    folder = showcase.ROOT / "examples"
    assert {e.name for e in showcase.EXAMPLES} == {p.name for p in folder.glob("*.py")}
