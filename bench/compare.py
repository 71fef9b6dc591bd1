"""Compare us with other frameworks, task by task.

python bench/compare.py [--only PATTERN] [--threads 1,2] [--peers numpy,torch] [--device NAME]
                        [--rounds N] [--turn SECONDS] [--list]

Prints a table; `make bench` runs all of it and writes bench/RESULTS.md. The frameworks must be
installed (python bench/peers/install.py build/peers).
"""

from __future__ import annotations

import argparse
import math
import re

from duel import CONTESTANTS, OURS, Contestant, Outcome, Pace, duel
from tasks import TASKS, Task

UNITS = (("s", 1.0), ("ms", 1e-3), ("us", 1e-6))


def duration(seconds: float | None) -> str:
    """Return a time to read, in three digits."""
    if seconds is None:
        return "-"
    unit, size = next((u for u in UNITS if seconds >= u[1]), UNITS[-1])
    value = seconds / size
    return f"{value:.{max(0, 2 - int(math.log10(max(value, 1))))}f} {unit}"


def agrees(values: list[float], others: list[list[float]]) -> bool:
    """Tell whether values are those of most others, roughly."""
    same = [
        len(values) == len(other)
        and all(
            math.isclose(a, b, rel_tol=2e-2, abs_tol=2e-3 * max(map(abs, other), default=0))
            for a, b in zip(values, other)
        )
        for other in others
    ]
    return not same or sum(same) * 2 >= len(same)


def row(task: Task, threads: int, outcomes: dict[str, Outcome]) -> str:
    """Return one line of the table."""
    ours = outcomes[OURS]
    peers = {n: o for n, o in outcomes.items() if n != OURS}
    times = {n: o.seconds for n, o in peers.items() if o.seconds is not None}
    cells = [f"{task.name:44.44} {threads}", f"{duration(ours.seconds):>8}"]
    cells += [f"{duration(o.seconds):>8}" for o in peers.values()]
    if ours.seconds is not None and times:
        best = min(times, key=lambda n: times[n])
        ratio = ours.seconds / times[best]
        least = ours.least / min(o.least for o in peers.values() if o.turns)
        limit = task.limit(threads)
        cells.append(f"{ratio:6.2f} {least:6.2f}")
        cells.append(f"{limit[0]:.2f}/{limit[1]:.2f}" if limit else "    -    ")
        verdict = "" if not limit else "GOAL" if ratio <= limit[0] else "gate"
        cells.append(f"{'miss' if limit and ratio > limit[1] else verdict:4}")
        cells.append(best)
        if not agrees(ours.values, [o.values for o in peers.values() if o.values]):
            cells.append("WRONG RESULT")
    notes = [f"{n}: {o.note}" for n, o in outcomes.items() if o.note]
    return " | ".join(cells) + ("  " + "; ".join(notes) if notes else "")


def main() -> None:
    """Measure what was asked for."""
    parser = argparse.ArgumentParser(description="Compare us with other frameworks.")
    parser.add_argument("--only", default="", help="regular expression: names or groups of tasks")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--peers", default=",".join(n for n in CONTESTANTS if n != OURS))
    parser.add_argument("--device", default="", help="POLY_DEVICE")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--turn", type=float, default=0.03)
    parser.add_argument("--most", type=float, default=4.0)
    parser.add_argument("--list", action="store_true", help="only print the tasks")
    args = parser.parse_args()
    tasks = [t for t in TASKS if re.search(args.only, f"{t.group}: {t.name}")]
    if args.list:
        print("\n".join(f"{t.group}: {t.name}" for t in tasks))
        return
    names = [OURS, *filter(None, args.peers.split(","))]
    pace = Pace(args.rounds, args.turn, args.most)
    heads = [
        f"{'':46}",
        *(f"{n:>8.8}" for n in names),
        "ratio  (least)",
        "goal/gate",
        "    ",
        "best",
    ]
    print(" | ".join(heads))
    for threads in map(int, args.threads.split(",")):
        contestants = [Contestant(name, threads, args.device) for name in names]
        for task in tasks:
            print(row(task, threads, duel(contestants, task, pace)), flush=True)
        for contestant in contestants:
            contestant.close()


if __name__ == "__main__":
    main()
