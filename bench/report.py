"""The part of bench/RESULTS.md that compares with other frameworks, from rows (see rows.py)."""

from __future__ import annotations

import datetime
import math
import os
import platform
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from contestants import SPLIT
from limits import has_tiles
from rows import Row
from tasks import PARITY

UNITS = (("s", 1e6), ("ms", 1e3), ("us", 1.0))
GROUPS = {
    "elementwise": "Elementwise",
    "reduce": "Sums",
    "rows": "Rows",
    "matmul": "Products",
    "conv": "Convolutions",
    "models": "Models",
}

SMALL_SHARE = 0.05  # below this share of a limit, work is not bound by it


def duration(us: float | None) -> str:
    """Format a time with three significant digits."""
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


def where() -> list[str]:
    """Return the date and the machine of the measurements."""
    cpu = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    name = cpu.group(1) if cpu else platform.processor()
    return [
        f"- Date: {datetime.date.today().isoformat()}",
        f"- Processor: {name}, {len(os.sched_getaffinity(0))} cores",
    ]


def number(value: float | None, digits: int = 2) -> str:
    """Format a number that may be missing."""
    return "" if value is None else f"{value:.{digits}f}"


def share(value: float | None) -> str:
    """Format a share in percent; above 100, data came from a faster cache than assumed."""
    return "" if value is None else f"{value:.0%}"


def _marked(verdict: str) -> str:
    return "**missed**" if verdict == "missed" else verdict


def _to_goal_peers(row: Row) -> list[str]:
    if row["goal"] is None:
        return ["", ""]
    promise = f"{number(row['goal'])} / {number(row['gate']) or '-'} of {row['goal_peer']}"
    if row["goal_ratio"] is None:
        return ["not measured", promise]
    return [f"{number(row['goal_ratio'])} {_marked(row['verdict'])}".strip(), promise]


def _to_best(row: Row) -> str:
    wrong = " **other values**" if row["differences"] else ""
    word = "optional" if row["optional"] else _marked(row["parity_verdict"])
    return f"{number(row['ratio'])} {word}{wrong}".strip()


def times(rows: list[Row], names: Sequence[str]) -> list[str]:
    """Return the table of times and ratios."""
    lines = []
    for row in rows:
        cells = [row["workload"], f"{row['threads']}", duration(row["ours_us"])]
        cells += [
            f"**{duration(row['peers_us'][name])}**"
            if name == row["best_peer"]
            else duration(row["peers_us"].get(name))
            for name in names
        ]
        bound = f"{share(row.get('share_of_limit'))} {row.get('bound', '')}".strip()
        lines.append([*cells, *_to_goal_peers(row), _to_best(row), bound])
    heads = ["work", "threads", "ours", *names, "to the goal's peer", "goal / gate"]
    heads += ["to the best of all"]
    return table([*heads, "of the limit"], lines)


def _threads(row: Row) -> str:
    return f"{row['threads']} thread{'s' * (row['threads'] > 1)}"


def missed(rows: list[Row]) -> list[str]:
    """List by how much goals and gates are missed and what bounds the work."""
    lines = []
    for row in rows:
        reasons = []
        if row["goal_ratio"] is not None and row["goal"] and row["goal_ratio"] > row["goal"]:
            what = "gate" if row["verdict"] == "missed" else "goal"
            kept = ", the gate is kept" if row["verdict"] == "gate" else ""
            reasons.append(
                _reason(row, row["goal_ratio"], row["goal_peer"], row[what], what) + kept
            )
        if row["parity_verdict"] == "missed":
            reasons.append(_reason(row, row["ratio"], row["best_peer"], row["parity"], "gate"))
        if reasons:
            lines.append(f"- {row['workload']}, {_threads(row)}: {'; '.join(reasons)}. {_at(row)}.")
    return lines or ["All goals are reached."]


def _reason(row: Row, ratio: float, peer: str, limit: float, what: str) -> str:
    """Format by how much a promise is missed, and whether it is beyond the machine's limit."""
    wanted, least = limit * row["peers_us"][peer], row.get("limit_us") or 0.0
    beyond = ""
    if wanted < least:
        beyond = f", which means {duration(wanted)}: below the limit of {duration(least)}"
    return f"{number(ratio)} of {peer}, the {what} is {number(limit)}{beyond}"


def _at(row: Row) -> str:
    shares = sorted((row.get("shares_of_limits") or {}).items(), key=lambda item: -item[1])
    rates = [f"{share(value)} of {_rate(name)}" for name, value in shares if value >= SMALL_SHARE]
    return f"It runs at {' and '.join(rates)}" if rates else "No limit of the machine is near"


def _rate(bound: str) -> str:
    return "the arithmetic" if bound == "arithmetic" else f"the {bound} bandwidth"


def summary(rows: list[Row]) -> list[str]:
    """Count the goals, gates and parities that are met."""
    goals = Counter(row["verdict"] for row in rows if row["verdict"])
    best = Counter(row["parity_verdict"] for row in rows if row["parity_verdict"])
    unknown = [row for row in rows if row["goal"] is not None and row["goal_ratio"] is None]
    differing = sum(bool(row["differences"]) for row in rows)
    alone = [f"{row['workload']}, {_threads(row)}" for row in rows if not row["compared"]]
    return [
        f"Against the peer that a goal was set for: of {sum(goals.values())} rows {goals['goal']}",
        f"reach the goal, {goals['gate']} more keep the gate and {goals['missed']} miss it; of",
        f"{len(unknown)} rows that peer did not run, which tells nothing. Against the best of all:",
        f"{best['kept']} of {sum(best.values())} rows take at most {PARITY:g} times as long.",
        "",
        "All values of all results, gradients and updated weights included, were compared with",
        f"those of every peer: {differing} rows differ from one.",
        *([f"Nobody computed these too: {'; '.join(alone)}."] if alone else []),
    ]


def left_out(rows: list[Row]) -> list[str]:
    """List what was not measured, with reasons."""
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


def section(rows: list[Row], limits: dict[str, dict[str, Any]], names: Sequence[str]) -> str:
    """Return the whole part."""
    lines = [
        "## Against other frameworks",
        "",
        "Every framework has a process of its own; they take turns of some hundredths of a second,",
        "while the others are stopped, and the median of the turns counts. Memory is in place,",
        "programs are compiled, results are written into memory that was used before. The best",
        "peer is bold. There are two ratios of our time to a peer's:",
        "",
        "- to the peer for which goal and gate were set, the largest ratios that are wanted and",
        "  allowed (with two threads; few are for one);",
        f"- to the best of all, where at most {PARITY:g} is allowed.",
        "",
        "The last column is the least time that this machine's arithmetic (counted operations, as",
        "fused multiply-adds, or with what it has for narrow numbers) or memory (bytes that must",
        "be read and written, each at the rate of the nearest level with room for it) needs, as a",
        "share of our time.",
        "Rows that are optional promise nothing against all.",
        "",
        *summary(rows),
        "",
        "![Our time as a share of the best peer's](results.svg)",
        "",
        *_limits(limits),
        "",
    ]
    for group, title in GROUPS.items():
        members = [row for row in rows if row["group"] == group]
        if members:
            # Sorted by task: the row for two threads comes before that for one.
            order = {row["workload"]: i for i, row in reversed(list(enumerate(members)))}
            members.sort(key=lambda row: (order[row["workload"]], -row["threads"]))
            lines += [f"### {title}", "", *times(members, names), ""]
    lines += ["### Goals and gates that are missed", "", *missed(rows), ""]
    without = [] if has_tiles(limits) else [f"- {SPLIT}: this processor has no AMX"]
    lines += ["### Not measured", "", *left_out(rows), *without, ""]
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


def _limits(limits: dict[str, dict[str, Any]]) -> list[str]:
    narrow = dict.fromkeys(name for found in limits.values() for name in found["narrow"])
    levels = next(iter(limits.values()))["gbytes"]
    rows = [
        [
            threads,
            f"{found['gflops']:.0f}",
            *(f"{found['narrow'].get(name, 0):.0f}" for name in narrow),
            *(f"{rate}" for rate in found["gbytes"].values()),
        ]
        for threads, found in limits.items()
    ]
    heads = ["threads", "float32, GFLOP/s", *(f"{name}, Gop/s" for name in narrow)]
    how = {found["how"][name] for found in limits.values() for name in narrow}
    first = "Limits measured in this run, by C loops"
    first += f", narrow numbers with {' and '.join(sorted(how))}:" if how else ":"
    return [first, "", *table([*heads, *(f"{level}, GB/s" for level in levels)], rows)]
