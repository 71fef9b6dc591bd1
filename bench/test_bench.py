"""Tests of the benchmark itself: its tasks cover all promises, and its reports are right."""

from __future__ import annotations

import json
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import chart
import fuzzpage
import generation
import gpt2
import limits
import memory
import numpy as np
import overheads
import peers.numpy
import peers.polygrad
import programs
import pytest
import report
import showcase
import values
import variations
from contestants import BEAM, OURS, SPLIT
from duel import SEARCH_BUDGET, Contestant, Outcome, Pace, duel, prepare
from limits import bounds
from rows import Row, failures, row
from sweep import cases
from sweep.__main__ import Row as Swept
from sweep.__main__ import main as sweep_main
from sweep.__main__ import page
from tasks import BY_NAME, PARITY, TASKS, UNSEARCHED, Task, int8, normal

# Goal, gate and peer of the original promises, for two threads.
PROMISED: dict[str, tuple[float, float | None, str] | None] = {
    "vector add 1e3": None,
    "vector add 1e6": (0.52, 0.65, "numpy"),
    "vector add 1e7": (0.71, 0.85, "tinygrad"),
    "elementwise chain 5": (0.77, 0.90, "tinygrad"),
    "elementwise chain 10": (0.79, 0.90, BEAM),
    "elementwise chain 20": (0.50, 0.65, "tinygrad"),
    "exp 1e6": (0.28, 0.45, "numpy"),
    "sin 1e6": (0.34, 0.50, "numpy"),
    "tanh 1e6": (0.45, 0.60, "numpy"),
    "gelu 1e6": (0.07, 0.12, "tinygrad"),
    "sum all 1e7": (0.44, 0.60, BEAM),
    "sum axis 0, 4096^2": (0.48, 0.60, "numpy"),
    "sum axis 1, 4096^2": (0.70, 0.80, "tinygrad"),
    "softmax 4096x1024": (0.06, 0.12, BEAM),
    "layernorm 4096x1024": (0.30, 0.45, BEAM),
    "matmul 64": (0.79, 0.95, "numpy"),
    "matmul 256": (0.78, 0.95, "numpy"),
    "matmul 512": (0.80, 0.95, "numpy"),
    "matmul 1024": (0.95, 1.05, "numpy"),
    "matmul 2048": (0.95, 1.05, "numpy"),
    "matvec 4096": (1.00, 1.05, "numpy"),
    "batched matmul 32x128x64x128": (0.41, 0.70, "numpy"),
    "transposed copy 4096^2": (0.33, 0.55, BEAM),
    "conv2d 1x64x56x56, 3x3, 64": (0.48, 0.80, "numpy"),
    "MLP 784-512-256-10 b128 forward": (0.62, 0.85, "numpy"),
    "MLP 784-512-256-10 b128 training step": (0.37, 0.60, "numpy"),
    "MLP 64-64-1 b4 training step": (0.20, 0.50, "numpy"),
    "GPT 2x256 T128 forward": (0.34, 0.60, "numpy"),
    "GPT 2x256 T128 training step": (0.35, 0.60, "numpy"),
    "matmul 1024, POLY_F32=bf16x3": (0.63, None, "numpy"),
    "matmul 2048, POLY_F32=bf16x3": (0.66, None, "numpy"),
}
LIMITS = {
    str(n): {
        "gflops": 100.0 * n,
        "narrow": {"bfloat16": 1600.0 * n},
        "how": {"bfloat16": "AMX"},
        "caches": {"L1": 32 << 10, "L2": 1 << 20, "L3": 50 << 20},
        "gbytes": {"L1": 400.0, "L2": 200.0, "L3": 40.0, "DRAM": 20.0},
    }
    for n in (1, 2)
}


@pytest.mark.parametrize("name", PROMISED)
def test_every_promise_is_measured(name: str) -> None:
    assert BY_NAME[name].promise(2) == PROMISED[name]


def test_nothing_else_is_promised_but_to_be_as_fast_as_the_best() -> None:
    assert {t.name for t in TASKS if t.promise(2)} == {n for n, limit in PROMISED.items() if limit}
    optional = {task.name for task in TASKS if task.optional}
    assert optional == {"vector add 1e3", *(t.name for t in TASKS if t.subject == SPLIT)}


def test_tasks_have_names_and_groups_of_their_own() -> None:
    assert len(BY_NAME) == len(TASKS)
    assert {task.group for task in TASKS} == set(report.GROUPS)


def outcomes(ours: float, **others: float) -> dict[str, Outcome]:
    """Return outcomes with these seconds and equal values."""
    times = {OURS: ours, **others}
    return {
        n: Outcome(turns=[s, s, 9.0], least=s, first=1.0, difference="") for n, s in times.items()
    }


def faked(name: str, threads: int = 2, **seconds: float) -> Row:
    """Return the row of a task with these times."""
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


def test_the_page_of_numerics_says_how_fast_bf16x3_was() -> None:
    results = json.loads((showcase.ROOT / "bench" / "results.json").read_text())["rows"]
    times = {(r["workload"], r["threads"]): r["ours_us"] for r in results}
    ratios = [
        us / times[f"{name}, POLY_F32=bf16x3", threads]
        for (name, threads), us in times.items()
        if (f"{name}, POLY_F32=bf16x3", threads) in times
    ]
    if ratios:  # empty on a CPU without AMX
        page = " ".join((showcase.ROOT / "docs" / "guide" / "numerics.md").read_text().split())
        assert f"{min(ratios):.2f} to {max(ratios):.2f} times as fast for matrices of" in page


def test_goals_are_for_the_peer_that_they_were_set_against() -> None:
    found = faked("exp 1e6", ours=1.0, torch=1.0)
    assert (found["goal"], found["goal_ratio"], found["verdict"]) == (0.28, None, "")
    assert found["parity_verdict"] == "kept"
    # The promise for sums is relative to tinygrad's search: other peers do not stand in for it.
    found = faked("sum all 1e7", ours=0.1, numpy=1.0, tinygrad=1.0)
    assert (found["goal_peer"], found["goal_ratio"], found["verdict"]) == (BEAM, None, "")
    text = report.section([found], LIMITS, ["numpy"])
    assert f"| not measured | 0.44 / 0.60 of {BEAM} |" in text and "of 0 rows 0\nreach" in text
    searched = outcomes(0.5, numpy=1.0)
    searched[BEAM] = searched["numpy"]
    found = row(BY_NAME["sum all 1e7"], 2, searched, LIMITS)
    assert (found["goal_ratio"], found["verdict"]) == (0.5, "gate")


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


def folder_of(path: Path, **results: Any) -> Path:
    """Save results; an underscore in a name stands for a space."""
    for name, result in results.items():
        values.save(path, name.replace("_", " "), np.asarray(result, np.float32))
    return path


def test_every_value_of_every_result_is_compared(tmp_path: Path) -> None:
    many = np.linspace(1, 2, 5000, dtype=np.float32)
    ours = folder_of(tmp_path / "ours", output_0=many, output_1=[1, np.nan, np.inf])
    same = folder_of(tmp_path / "same", output_0=many * 1.0001, output_1=[1, np.nan, np.inf])
    assert values.difference(ours, same) == ""
    one = many.copy()
    one[4321] *= 1.01
    other = folder_of(tmp_path / "other", output_0=one, output_1=[1, np.nan, np.inf])
    found = values.difference(ours, other)
    assert found.startswith("output 0: 1 of 5000 values differ, number 4321 is 1.8")
    assert values.difference(ours, other, "bfloat16") == ""
    shapes = folder_of(tmp_path / "shapes", output_0=many[:-1], output_1=[1, np.nan, np.inf])
    assert "shape (5000,), the peer's is (4999,)" in values.difference(ours, shapes)
    assert "the peer has output 0" in values.difference(
        ours, folder_of(tmp_path / "x", output_0=many)
    )
    nan = folder_of(tmp_path / "nan", output_0=many, output_1=[1, 2, np.inf])
    assert values.difference(ours, nan).startswith("output 1: 1 of 3 values differ, number 1")


def test_weights_are_compared_by_what_steps_have_added(tmp_path: Path) -> None:
    before = np.full(3, 0.05, np.float32)
    step = np.array([1e-5, -2e-5, 0], np.float32)
    ours = folder_of(tmp_path / "ours", weight_0=before - step, gradient_0=step * 1e4)
    same = folder_of(tmp_path / "same", weight_0=before - step * np.float32(1.0005))
    assert values.difference(ours, same, before=[before]) == ""  # the peer has no gradients
    forgotten = folder_of(tmp_path / "forgotten", weight_0=before)
    assert "weight 0: 2 of 3" in values.difference(ours, forgotten, before=[before])
    assert values.difference(ours, forgotten, before=[before * 0]) == ""
    wrong = folder_of(tmp_path / "wrong", weight_0=before - step, gradient_0=step)
    assert "gradient 0: 2 of 3" in values.difference(ours, wrong, before=[before])


def test_other_values_fail_the_run() -> None:
    found = outcomes(1.0, numpy=2.0, torch=2.0)
    found["torch"].difference = "weight 3: 5 of 8 values differ"
    made = row(BY_NAME["exp 1e6"], 2, found, LIMITS)
    assert made["compared"] == ["numpy", "torch"]
    assert failures([made]) == ["exp 1e6, threads: 2: torch: weight 3: 5 of 8 values differ"]
    assert "**other values**" in report.section([made], LIMITS, ["numpy", "torch"])
    assert "1 rows differ from one" in report.section([made], LIMITS, ["numpy", "torch"])
    assert failures([faked("exp 1e6", ours=1.0, numpy=1.0)]) == []
    died = outcomes(1.0, numpy=1.0)
    died[OURS] = Outcome(note="died")
    assert failures([row(BY_NAME["exp 1e6"], 1, died, LIMITS)]) == ["exp 1e6, threads: 1: died"]


def limit_of(
    flops: float, moved: float, threads: int, numbers: str = "float32"
) -> tuple[float, str]:
    """Return the lower bound of the time of some work in seconds, and what bounds it."""
    task = Task("", "", programs.add, [], flops, moved, numbers=numbers)
    parts = bounds(LIMITS, threads, task)
    return max((seconds, name) for name, seconds in parts.items())


def test_the_slower_of_arithmetic_and_memory_is_the_limit() -> None:
    assert limit_of(100e9, 8.0, 1) == (1.0, "arithmetic")
    assert limit_of(1.0, 4000, 2) == (1e-8, "L1")
    # A part of the data may still be in each cache from the previous run.
    l1, l2, l3 = (32 << 10) / 400e9, (1 << 20) / 200e9, (50 << 20) / 40e9
    in_l3 = 40e6 - 2 * (32 << 10) - 2 * (1 << 20)
    seconds, name = limit_of(1.0, 40e6, 2)
    assert name == "L3" and seconds == pytest.approx(2 * (l1 + l2) + in_l3 / 40e9)
    beyond = 2e9 - (32 << 10) - (1 << 20) - (50 << 20)
    seconds, name = limit_of(1.0, 2e9, 1)
    assert name == "DRAM" and seconds == pytest.approx(l1 + l2 + l3 + beyond / 20e9)
    assert limit_of(1600e9, 8.0, 1, numbers="bfloat16") == (1.0, "arithmetic")
    # Types without instructions of their own have the peak of float32.
    assert limit_of(100e9, 8.0, 1, numbers="float16") == (1.0, "arithmetic")


def test_the_limits_of_this_machine_are_measured(tmp_path: Path) -> None:
    found = limits.measure(tmp_path, [1])["1"]
    assert set(found["how"]) == set(found["narrow"]) and found["gflops"] > 1
    assert list(found["gbytes"]) == ["L1", "L2", "L3", "DRAM"]
    assert found["caches"]["L1"] < found["caches"]["L2"] < found["caches"]["L3"]


def test_training_steps_count_no_gradient_of_the_input() -> None:
    batch, first, rest = 128, 784 * 512, 512 * 256 + 256 * 10
    mlp = BY_NAME["MLP 784-512-256-10 b128 training step"]
    # Forward and the gradient of the weights; for later layers also the gradient of the input.
    assert mlp.flops == 2 * batch * (2 * first + 3 * rest)
    cnn = BY_NAME["CNN 28x28, 32-64 channels, b32 training step"]
    taps = (28 * 28 * 32 * 9, 28 * 28 * 64 * 32 * 9, 640 * 14 * 14)
    assert cnn.flops == 2 * 32 * (2 * taps[0] + 3 * sum(taps[1:]))
    lstm = BY_NAME["LSTM 128, 16 steps, b32 training step"]
    assert lstm.flops == 2 * 32 * 512 * 128 * (2 * 16 + 3 * 15)


def test_the_report_shows_every_row() -> None:
    rows = [faked(task.name, ours=1e-3, numpy=5e-3, torch=2e-4) for task in TASKS]
    rows[0]["probe"] = {"compile_ms": 0.5, "kernels": 2, "arrays_mib": 1.0, "peak_mib": 40.0}
    text = report.section(rows, LIMITS, ["numpy", "torch"])
    for task in TASKS:
        assert f"| {task.name} | 2 | 1.00 ms | 5.00 ms | **200 us** |" in text
    assert "| 0.20 goal | 0.79 / 0.95 of numpy | 5.00 **missed** | 0% arithmetic |" in text
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


def test_the_page_of_the_fuzzer_shows_every_program() -> None:
    def outcome(device: str, seed: int, fused: float) -> fuzzpage.Outcome:
        return fuzzpage.Outcome(device, seed, 24, [fused, 2.0, 1.0], [1, 2, 2], "", "v = x")

    found = [outcome("native", 1, 0.5), outcome("native", 2, 1.5), outcome("wasm", 1, 2.0)]
    assert fuzzpage.spread(found[:2], 1.15)[1:] == [
        *("0.866", "0", "1", "0", "0", "0", "0", "1", "1", "1.50")
    ]
    root = ET.fromstring(fuzzpage.draw(found, 1.15))
    lines = root.findall("{http://www.w3.org/2000/svg}polyline")
    assert [len(line.attrib["points"].split()) for line in lines] == [2, 1]
    text = fuzzpage.page(found, 1.15, "a.svg")
    assert text.index("| wasm | 1 | 24 | 2.00 |") < text.index("| native | 2 | 24 | 1.50 |")


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
    ours, weights = peers.polygrad.training(task.program, *task.arrays(), rate=0.1)
    theirs, their_weights = peers.numpy.training(task.program, *task.arrays(), rate=0.1)
    for _ in range(4):
        peers.polygrad.check(ours())
        np.testing.assert_allclose(ours.results[0], theirs(), rtol=1e-4)
    for got, want in zip(weights(), their_weights()):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-6)
    gradients = [
        peer.gradients(task.program, *task.arrays()) for peer in (peers.polygrad, peers.numpy)
    ]
    assert len(gradients[0]) == len(task.parameters)
    for got, want in zip(*gradients):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-6)


def test_processes_take_turns() -> None:
    contestants = [Contestant(name, 1) for name in (OURS, "numpy")]
    try:
        found = duel(contestants, BY_NAME["vector add 1e3"], Pace(2, 0.001, 1.0))
    finally:
        for contestant in contestants:
            contestant.close()
    assert [len(o.turns) for o in found.values()] == [2, 2]
    assert found["numpy"].difference == ""


def test_training_steps_of_models_are_searched_within_a_budget() -> None:
    small = {t.name for t in TASKS if t.group == "models" and t.parameters and t.flops < 2e10}
    promised = {t.name for t in TASKS if t.two and t.two.peer == BEAM}
    searched = {t.name for t in TASKS if BEAM not in t.skip}
    assert len(promised) == 5 and promised < searched
    assert len(small) == 5 and {name.split()[0] for name in small - searched} == {"LSTM"}
    assert BY_NAME["exp 1e6"].skip[BEAM] == UNSEARCHED
    assert BEAM not in BY_NAME["exp 1e6"].searched().skip

    class Searcher:
        name, patience, busy = BEAM, 120.0, SEARCH_BUDGET - 60
        asked = 0.0

        def ask(self, patience: float, **request: Any) -> Any:
            self.asked = patience
            return {"first": 1.0}

    searcher: Any = Searcher()
    step = BY_NAME["MLP 64-64-1 b4 training step"]
    assert prepare(searcher, step, Path()).first == 1.0
    assert searcher.asked == 60
    searcher.busy, searcher.asked = SEARCH_BUDGET, 0.0
    assert "searching were over" in prepare(searcher, step, Path()).note
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


def test_variations_are_rows_with_two_ratios() -> None:
    names = [v.task.name for v in variations.VARIATIONS]
    assert len({*names, *BY_NAME}) == len(names) + len(BY_NAME)
    for v in variations.VARIATIONS:
        base = BY_NAME[v.of]
        assert 0.1 < v.task.flops / (base.flops or base.moved) < 7, v.task.name
    found = variations.Result(variations.VARIATIONS[0], 2, 2e-3, 1.31, 4e-3, 0.5, [])
    assert found.cells()[1:] == ["2", "2.00 ms", "1.31 **missed**", "4.00 ms", "0.50"]


def test_the_sweep_has_arguments_for_every_operation() -> None:
    operations = cases.described()
    chosen = [c for c in cases.cases(operations, [cases.TINY]) if c.dtype == "float32"]
    assert {c.op["Name"] for c in chosen} == {op["Name"] for op in operations}
    assert len({c.name for c in chosen}) == len(chosen)
    for case in chosen:
        task = cases.task(case)
        run = peers.polygrad.program(task.program, task.arrays()[1])
        assert run() >= 0, case.name
        assert all(np.asarray(result).ndim < 6 for result in run.results), case.name


def test_the_sweep_finds_tasks_by_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    operations = cases.described()
    monkeypatch.setattr(cases, "FILE", tmp_path / "operations.json")
    cases.FILE.write_text(json.dumps(operations))
    case = next(c for c in cases.cases(operations) if c.name == "sum axis 0, odd, float64")
    wanted = cases.task(case, [[1021]])
    assert wanted.name == "sum axis 0, odd, float64, gradients of 1021"
    found = cases.find(wanted.name)
    assert found.name == wanted.name
    assert [a.shape for a in found.arrays()[1]] == [(127, 1021), (1021,)]
    assert {a.dtype for a in found.arrays()[1]} == {np.dtype(np.float64)}


def test_the_page_of_the_sweep_names_the_worst() -> None:
    rows = [
        Swept("exp, odd, float32", "Functions", {OURS: 1e-3, "numpy": 5e-4, "torch": 1e-3}, []),
        Swept("sum, odd, float32", "Reductions", {OURS: 1e-3, "numpy": 1e-3}, ["other values"]),
        Swept("hash, odd, uint8", "Linear algebra", {OURS: 1e-3}, []),
    ]
    text = page(rows, 1, "before: 0.5")
    assert "- Threads: 1; load before: 0.5\n" in text
    assert "| all | 2 | 1.50 | 50% | 50% | 2.0 |" in text
    assert "| exp, odd, float32 | 2.00 | 1.00 ms | 500 us | numpy |" in text
    assert "- sum, odd, float32: other values" in text
    assert "## No peer\n\nhash." in text


def test_parts_of_the_sweep_are_joined(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    files = [tmp_path / "a.json", tmp_path / "b.json"]
    for file, name in zip(files, ("exp", "sin")):
        row = Swept(f"{name}, odd, float32", "Functions", {OURS: 1e-3, "numpy": 1e-3}, [])
        file.write_text(json.dumps([row._asdict()]))
    written = tmp_path / "page.md"
    monkeypatch.setattr(sys, "argv", ["sweep", "--read", *map(str, files), "--write", str(written)])
    assert sweep_main() == 0
    text = written.read_text()
    assert "| all | 2 | 1.00 | 100% | 100% | 1.0 |" in text
    assert "load of 2 parts at a time" in text
