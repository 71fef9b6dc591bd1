"""Peak memory of training steps, each framework and task in a fresh process."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from contestants import WAYS
from duel import Contestant, Gone
from report import table
from rows import Row
from tasks import BY_NAME

SECONDS = 0.2  # of steps
AT_ONCE = 2  # measured in parallel: their speed does not matter here


def wanted(row: Row) -> bool:
    """Report whether the memory of a row is measured: training of models above toy size."""
    task = BY_NAME[row["workload"]]
    return row["group"] == "models" and bool(task.parameters) and task.flops > 1e7


def peak(name: str, task: str, threads: int, device: str) -> tuple[float | None, str]:
    """Return the peak resident memory of some steps in MiB; or None, and the reason."""
    contestant = None
    try:
        contestant = Contestant(name, threads, device, as_usual=True)
        requests: list[dict[str, Any]] = [
            {"do": "prepare", "task": task},
            {"do": "time", "seconds": SECONDS},
            {"do": "memory"},
        ]
        answer: Any = {}
        for request in requests:
            answer = contestant.ask(contestant.patience, **request)
            if "error" in answer:
                return None, str(answer["error"])
        return float(answer["peak_mib"]), ""
    except Gone as gone:
        return None, str(gone)
    finally:
        if contestant is not None:
            contestant.close()


def probe(rows: Sequence[Row], device: str = "") -> None:
    """Add peaks to the rows with the most threads, of all frameworks that were timed."""
    most = max(row["threads"] for row in rows)
    todo = [row for row in rows if row["threads"] == most and wanted(row)]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        jobs = []
        for row in todo:
            task = row["workload"]
            timed = [name for name, us in row["peers_us"].items() if us is not None]
            ours = [BY_NAME[task].subject] if row["ours_us"] is not None else []
            for name in ours + timed:
                where = device if name in WAYS else ""
                jobs.append((row, name, pool.submit(peak, name, task, most, where)))
        for row, name, job in jobs:
            found, note = job.result()
            row.setdefault("peak_mib", {})[name] = found
            if note:
                row["notes"][f"{name}, memory"] = note


def section(rows: Sequence[Row], names: Sequence[str]) -> list[str]:
    """Return the part of bench/RESULTS.md, nothing if no row was probed."""
    lines = []
    for row in rows:
        peaks = row.get("peak_mib")
        if peaks:
            columns = [BY_NAME[row["workload"]].subject, *names]
            cells = [peaks.get(name) for name in columns]
            shown = ["-" if cell is None else f"{cell:.0f}" for cell in cells]
            lines.append([row["workload"], *shown])
    if not lines:
        return []
    return [
        "### Memory of training steps",
        "",
        "Peak of resident memory in MiB, in a process that does only this: Python, the framework,",
        "compiling and some steps.",
        "",
        *table(["work", "ours", *names], lines),
        "",
    ]
