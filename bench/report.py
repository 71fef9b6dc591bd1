"""The part of bench/RESULTS.md that compares with other frameworks, from rows (see rows.py)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from rows import Row

UNITS = (("s", 1e6), ("ms", 1e3), ("us", 1.0))
GROUPS = {
    "elementwise": "Elementwise",
    "reduce": "Sums",
    "rows": "Rows",
    "matmul": "Products",
    "conv": "Convolutions",
    "models": "Models",
}


def duration(us: float | None) -> str:
    """Return a time to read, in three digits."""
    if us is None:
        return "-"
    unit, size = next((u for u in UNITS if us >= u[1]), UNITS[-1])
    value = us / size
    digits = max(0, 2 - int(math.log10(max(value, 1))))
    return f"{value:.{digits}f} {unit}"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return a Markdown table."""
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    return lines + [f"| {' | '.join(row)} |" for row in rows]


def number(value: float | None, digits: int = 2) -> str:
    """Return a number that may be missing."""
    return "" if value is None else f"{value:.{digits}f}"


def share(value: float | None) -> str:
    """Return a share in percent; what is above 100 lies in a nearer memory than was assumed."""
    return "" if value is None else f"{value:.0%}"


def _verdict(row: Row) -> str:
    wrong = "" if row["same_values"] else " **wrong values**"
    return ("**missed**" if row["verdict"] == "missed" else str(row["verdict"])) + wrong


def _promise(row: Row) -> str:
    return "" if row["goal"] is None else f"{row['goal']:.2f} / {row['gate']:.2f}"


def times(rows: list[Row], names: Sequence[str]) -> list[str]:
    """Return the table of times and ratios of one number of threads."""
    lines = []
    for row in rows:
        cells = [row["workload"], duration(row["ours_us"])]
        cells += [
            f"**{duration(row['peers_us'][name])}**"
            if name == row["best_peer"]
            else duration(row["peers_us"].get(name))
            for name in names
        ]
        cells += [number(row["ratio"]), _promise(row), _verdict(row)]
        bound = f"{share(row.get('share_of_limit'))} {row.get('bound', '')}".strip()
        lines.append([*cells, bound])
    heads = ["work", "ours", *names, "ratio", "goal / gate", "kept", "share of the limit"]
    return table(heads, lines)


def missed(rows: list[Row]) -> list[str]:
    """Say by how much goals are missed and what bounds the work."""
    lines = []
    for row in rows:
        if row["ratio"] is None or row["goal"] is None or row["ratio"] <= row["goal"]:
            continue
        above = row["ratio"] / row["goal"]
        lines.append(
            f"- {row['workload']}, {row['threads']} thread{'s' * (row['threads'] > 1)}: "
            f"{number(row['ratio'])} instead of {number(row['goal'])}, {above:.1f} times the goal; "
            f"at {share(row.get('share_of_limit'))} of what {_bound(row)} allows{_beyond(row)}"
        )
    return lines or ["All goals are reached."]


def _beyond(row: Row) -> str:
    """Say if a goal, against peers that were not known when it was set, needs a faster machine."""
    wanted, least = row["goal"] * row["peers_us"][row["best_peer"]], row.get("limit_us") or 0.0
    if wanted >= least:
        return ""
    return f"; the goal means {duration(wanted)}, the limit is {duration(least)}"


def _bound(row: Row) -> str:
    bound = row.get("bound", "arithmetic")
    return "arithmetic" if bound == "arithmetic" else f"{bound} bandwidth"


def left_out(rows: list[Row]) -> list[str]:
    """Say what was not measured."""
    found: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        for name, note in row["notes"].items():
            works = found.setdefault((name, note), [])
            if row["workload"] not in works:
                works.append(row["workload"])
    return [f"- {name}: {note}: {', '.join(works)}" for (name, note), works in found.items()]


def compilation(rows: list[Row]) -> list[str]:
    """Return the table of compile times, code and memory, of rows that were probed."""
    lines = []
    for row in rows:
        probe, first = row.get("probe"), row["first_ms"]
        if not probe:
            continue
        kernels, code = probe["kernels"], probe.get("code_bytes")
        cells = [row["workload"], f"{kernels}", f"{probe['compile_ms']:.2f}"]
        cells.append(f"{probe['compile_ms'] / kernels:.2f}")
        cells += [f"{first[n]:.0f}" if n in first else "-" for n in ("torch compile", "jax")]
        cells.append("-" if code is None else f"{code / 1024:.1f}")
        lines.append([*cells, f"{probe['arrays_mib']:.0f}", f"{probe['peak_mib']:.0f}"])
    heads = ["work", "kernels", "compile, ms", "per kernel, ms", "torch.compile, ms", "jax, ms"]
    return table([*heads, "code, KiB", "inputs, MiB", "peak memory, MiB"], lines)


def section(rows: list[Row], limits: dict[str, dict[str, object]], names: Sequence[str]) -> str:
    """Return the whole part."""
    lines = [
        "## Against other frameworks",
        "",
        "Every framework has a process of its own; they take turns of some hundredths of a second,",
        "while the others are stopped, and the median of the turns counts. Memory is in place,",
        "programs are compiled, results are written into memory that was used before. The best",
        "peer is bold; ratio is our time to its. Goal and gate are the largest ratios that are",
        "wanted and allowed. The last column is the least time that this machine's arithmetic",
        "(counted operations, as fused multiply-adds) or memory (bytes that must be read and",
        "written, at the rate of the level that they fit in) needs, as a share of our time.",
        "",
        "![Our time as a share of the best peer's](results.svg)",
        "",
        *_limits(limits),
        "",
    ]
    for threads in sorted({row["threads"] for row in rows}, reverse=True):
        lines += [f"### {threads} thread{'s' * (threads > 1)}", ""]
        lines += [*times([r for r in rows if r["threads"] == threads], names), ""]
    lines += ["### Goals that are missed", "", *missed(rows), ""]
    lines += ["### Not measured", "", *left_out(rows), ""]
    lines += [
        "### Compiling, code and memory",
        "",
        "Ours: building the graph, scheduling and compiling with empty caches, without running.",
        "torch.compile, jax: until the first result is there (torch.compile keeps on disk what it",
        "compiled in an earlier run). Peak memory is what was resident at most in a process that",
        "does only this, with Python, numpy (some 35 MiB) and inputs.",
        "",
        *compilation(rows),
        "",
    ]
    return "\n".join(lines)


def _limits(limits: dict[str, dict[str, object]]) -> list[str]:
    rows = []
    for threads, found in limits.items():
        rates = found["gbytes"]
        assert isinstance(rates, dict)
        rows.append([threads, f"{found['gflops']}", *(f"{rate}" for rate in rates.values())])
    heads = ["threads", "float32, GFLOP/s", "L1, GB/s", "L2, GB/s", "L3, GB/s", "DRAM, GB/s"]
    first = "Limits measured in this run, by C loops with the processor's vectors:"
    return [first, "", *table(heads, rows)]
