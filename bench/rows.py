"""The results of a measured task: one object for each row of the table."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from duel import Outcome
from limits import bounds
from tasks import PARITY, Task

Row = dict[str, Any]


def microseconds(seconds: float | None) -> float | None:
    """Return a time in microseconds, rounded for results.json."""
    return None if seconds is None else round(seconds * 1e6, 3)


def verdict(ratio: float | None, goal: float | None, gate: float | None) -> str:
    """Return which promise a ratio meets: goal, gate or none (missed); "" without a promise."""
    if ratio is None or goal is None:
        return ""
    if ratio <= goal:
        return "goal"
    return "" if gate is None else "gate" if ratio <= gate else "missed"


def _kept(ratio: float | None, gate: float | None) -> str:
    if ratio is None or gate is None:
        return ""
    return "kept" if ratio <= gate else "missed"


def _best(times: dict[str, float]) -> str | None:
    return min(times, key=lambda name: times[name]) if times else None


def failures(rows: Iterable[Row]) -> list[str]:
    """List the results that differ from a peer's, and those that are missing."""
    found = []
    for row in rows:
        where = f"{row['workload']}, threads: {row['threads']}"
        found += [f"{where}: {name}: {text}" for name, text in row["differences"].items()]
        if row["ours_us"] is None:
            found.append(f"{where}: {'; '.join(row['notes'].values())}")
    return found


def row(task: Task, threads: int, outcomes: dict[str, Outcome], limits: Any = None) -> Row:
    """Return the row of a task, with limits of the machine if they are known."""
    ours = outcomes[task.subject]
    peers = {name: o for name, o in outcomes.items() if name != task.subject}
    times = {name: o.seconds for name, o in peers.items() if o.seconds is not None}
    best = _best(times)
    promise = task.promise(threads)
    goal, gate, goal_peer = promise or (None, None, None)
    ratio = least = goal_ratio = None
    if ours.seconds is not None:
        ratio = ours.seconds / times[best] if best else None
        goal_ratio = ours.seconds / times[goal_peer] if goal_peer in times else None
        least = ours.least / min(o.least for o in peers.values() if o.turns) if best else None
    parity = None if task.optional else PARITY
    found: Row = {
        "workload": task.name,
        "group": task.group,
        "threads": threads,
        "optional": task.optional,
        "ours_us": microseconds(ours.seconds),
        "peers_us": {name: microseconds(o.seconds) for name, o in peers.items()},
        "goal_peer": goal_peer,
        "goal_ratio": goal_ratio and round(goal_ratio, 4),
        "goal": goal,
        "gate": gate,
        "verdict": verdict(goal_ratio, goal, gate),
        "best_peer": best,
        "ratio": ratio and round(ratio, 4),
        "ratio_of_least": least and round(least, 4),
        "parity": parity,
        "parity_verdict": _kept(ratio, parity),
        "compared": [name for name, o in peers.items() if o.difference is not None],
        "differences": {name: o.difference for name, o in peers.items() if o.difference},
        "notes": {name: o.note for name, o in outcomes.items() if o.note},
        "first_ms": {name: round(o.first * 1e3, 2) for name, o in outcomes.items() if o.first},
    }
    if limits is not None:
        parts = bounds(limits, threads, task)
        found["bound"] = max(parts, key=lambda name: parts[name])
        found["limit_us"] = microseconds(parts[found["bound"]])
        found["shares_of_limits"] = ours.seconds and {
            name: round(seconds / ours.seconds, 4) for name, seconds in parts.items()
        }
        found["share_of_limit"] = ours.seconds and found["shares_of_limits"][found["bound"]]
    return found
