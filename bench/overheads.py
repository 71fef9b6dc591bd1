"""Overheads beside the arithmetic, with goals and gates: the second table of targets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Overhead:
    """A figure with a promise; of extracts its value from all results."""

    name: str
    unit: str
    goal: float
    gate: float
    of: Callable[[Any], float]
    at_most: bool = True

    def verdict(self, value: float) -> str:
        """Return which of goal and gate a value meets."""
        sign = 1 if self.at_most else -1
        if sign * value <= sign * self.goal:
            return "goal"
        return "gate" if sign * value <= sign * self.gate else "missed"


def _cold(name: str) -> Callable[[Any], float]:
    return lambda found: float(found["cold"][name]["cold_ms"])


def _call(frontend: str, kind: str, scale: float = 1.0) -> Callable[[Any], float]:
    return lambda found: float(found["calls"][frontend][kind]) * scale


def _size(kind: str) -> Callable[[Any], float]:
    return lambda found: float(found["footprint"][kind])


OVERHEADS = [
    Overhead("add of 10 elements with realize, Python", "us", 10, 30, _call("python", "realize")),
    Overhead("the same, compiled, run again from Python", "us", 0.5, 1, _call("python", "rerun")),
    Overhead("the same from a loop in C", "us", 0.1, 0.3, _call("c", "rerun")),
    Overhead("cold: one elementwise kernel", "ms", 0.2, 0.5, _cold("vecadd")),
    Overhead("cold: softmax", "ms", 1, 5, _cold("softmax")),
    Overhead("cold: layernorm", "ms", 1, 5, _cold("layernorm")),
    Overhead("cold: matmul 512", "ms", 1, 5, _cold("matmul512")),
    Overhead("cold: MLP, loss and gradients", "ms", 5, 20, _cold("mlp")),
    Overhead("cold: GPT of 2 layers, loss and gradients", "ms", 30, 100, _cold("gpt")),
    Overhead("loading the library, first context", "ms", 5, 20, _size("load_ms")),
    Overhead(
        "building nodes of the graph, in Go",
        "million/s",
        10,
        5,
        lambda found: float(found["nodes"]) / 1e6,
        at_most=False,
    ),
    Overhead(
        "matmul 1024 in bfloat16, as fast as in float32",
        "times",
        4,
        4,
        lambda found: float(found["bf16_times"]),
        at_most=False,
    ),
    Overhead("a call from C", "ns", 50, 80, _call("c", "call", 1e3)),
    Overhead("a call from Node (koffi)", "ns", 70, 150, _call("node_js", "call", 1e3)),
    Overhead("resident memory, Python adds 10 elements", "MiB", 40, 46, _size("small_mib")),
    Overhead("peak memory, Python adds 1e7 elements", "MiB", 160, 180, _size("large_mib")),
]


def rows(found: Any) -> list[dict[str, Any]]:
    """Return every figure with its promise, for bench/results.json."""
    result = []
    for overhead in OVERHEADS:
        value = overhead.of(found)
        row = {"overhead": overhead.name, "unit": overhead.unit, "ours": round(value, 4)}
        row |= {"goal": overhead.goal, "gate": overhead.gate, "verdict": overhead.verdict(value)}
        result.append(row)
    return result


def section(rows: list[dict[str, Any]]) -> list[str]:
    """Return the part of bench/RESULTS.md."""
    lines = [
        "## Overheads",
        "",
        "Beside the arithmetic. Cold is from the call to the runnable kernel with empty caches;",
        "a call is the cheapest question that goes to Go and back.",
        "",
        "| what | ours | unit | goal | gate | kept |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        kept = "**missed**" if row["verdict"] == "missed" else row["verdict"]
        cells = [row["overhead"], f"{row['ours']:.3g}", row["unit"]]
        cells += [f"{row['goal']:g}", f"{row['gate']:g}", kept]
        lines.append(f"| {' | '.join(cells)} |")
    return [*lines, ""]
