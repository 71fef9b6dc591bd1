"""What is kept of a measured task: one object for each row of the table."""

from __future__ import annotations

import math
from typing import Any

from duel import OURS, Outcome
from limits import least_time
from tasks import Task

Row = dict[str, Any]


def agrees(values: list[float], others: list[list[float]]) -> bool:
    """Tell whether values are those of half of the others, roughly."""

    def close(other: list[float]) -> bool:
        slack = 2e-3 * max(map(abs, other), default=0)
        near = (math.isclose(a, b, rel_tol=2e-2, abs_tol=slack) for a, b in zip(values, other))
        return len(values) == len(other) and all(near)

    return not others or sum(map(close, others)) * 2 >= len(others)


def microseconds(seconds: float | None) -> float | None:
    """Return a time as it is written down."""
    return None if seconds is None else round(seconds * 1e6, 3)


def verdict(ratio: float | None, goal: float | None, gate: float | None) -> str:
    """Say what a ratio keeps: goal, gate or none (missed); nothing if nothing was promised."""
    if ratio is None or goal is None or gate is None:
        return ""
    return "goal" if ratio <= goal else "gate" if ratio <= gate else "missed"


def row(task: Task, threads: int, outcomes: dict[str, Outcome], limits: Any = None) -> Row:
    """Return what was measured, with limits if they are known."""
    ours = outcomes[OURS]
    peers = {name: o for name, o in outcomes.items() if name != OURS}
    times = {name: o.seconds for name, o in peers.items() if o.seconds is not None}
    best = min(times, key=lambda name: times[name]) if times else None
    ratio = least = None
    if ours.seconds is not None and best is not None:
        ratio = ours.seconds / times[best]
        least = ours.least / min(o.least for o in peers.values() if o.turns)
    goal, gate = task.limit(threads) or (None, None)
    found: Row = {
        "workload": task.name,
        "group": task.group,
        "threads": threads,
        "ours_us": microseconds(ours.seconds),
        "peers_us": {name: microseconds(o.seconds) for name, o in peers.items()},
        "best_peer": best,
        "ratio": ratio and round(ratio, 4),
        "ratio_of_least": least and round(least, 4),
        "goal": goal,
        "gate": gate,
        "verdict": verdict(ratio, goal, gate),
        "same_values": not ours.values
        or agrees(ours.values, [o.values for o in peers.values() if o.values]),
        "notes": {name: o.note for name, o in outcomes.items() if o.note},
        "first_ms": {name: round(o.first * 1e3, 2) for name, o in outcomes.items() if o.first},
    }
    if limits is not None:
        seconds, bound = least_time(limits, threads, task.flops, task.moved)
        found["limit_us"], found["bound"] = microseconds(seconds), bound
        found["share_of_limit"] = ours.seconds and round(seconds / ours.seconds, 4)
    return found
