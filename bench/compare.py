"""Compare us with other frameworks, task by task.

python bench/compare.py [--only PATTERN] [--threads 1,2] [--peers numpy,torch] [--device NAME]
                        [--rounds N] [--turn SECONDS] [--json FILE] [--list]

Prints a table; `make bench` runs all of it and writes bench/RESULTS.md. The frameworks must be
installed (python bench/peers/install.py build/peers).
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import limits
from contestants import BEAM, CONTESTANTS, SPLIT, USUAL, WAYS
from duel import ROOT, Contestant, Gone, Pace, duel
from report import duration, number
from rows import Row, failures, row
from tasks import TASKS, Task


def line(found: Row) -> str:
    """Return a row as a line of text."""
    cells = [f"{found['workload']:44.44} {found['threads']}", f"{duration(found['ours_us']):>8}"]
    cells += [f"{duration(us):>8}" for us in found["peers_us"].values()]
    if found["ratio"] is not None:
        cells.append(f"{found['ratio']:6.2f} {found['ratio_of_least']:6.2f}")
        cells.append("missed" if found["parity_verdict"] == "missed" else "      ")
        if found["goal_ratio"] is None or found["goal"] is None:
            cells.append(" " * 23)
        else:
            promised = f"({number(found['goal'])}/{number(found['gate']) or '-'})"
            cells.append(f"{found['goal_ratio']:.2f} {promised} {found['verdict']:6}")
    if found.get("share_of_limit") is not None:
        cells.append(f"{found['share_of_limit']:4.0%} {found['bound']:10}")
    cells += [found["best_peer"]] if found["best_peer"] else []
    cells += ["OTHER VALUES"] if found["differences"] else []
    notes = [f"{name}: {note}" for name, note in found["notes"].items()]
    return " | ".join(cells) + ("  " + "; ".join(notes) if notes else "")


def chosen(pattern: str) -> list[Task]:
    """Return the tasks of which "group: name" matches a regular expression."""
    return [task for task in TASKS if re.search(pattern, f"{task.group}: {task.name}")]


def enter(contestants: list[Contestant], name: str, threads: int, device: str) -> None:
    """Start a framework; a peer that is not installed is skipped."""
    try:
        contestants.append(Contestant(name, threads, device))
    except Gone as gone:
        if name in WAYS:
            raise SystemExit(f"{name}: {gone}") from None
        print(f"{name} is left out: {gone}", file=sys.stderr)


def measure(
    tasks: Sequence[Task],
    peers: Sequence[str],
    threads: Sequence[int],
    pace: Pace,
    device: str = "",
    show: Callable[[Row], None] = lambda found: None,
) -> tuple[list[Row], Any, dict[str, str]]:
    """Measure tasks; return the rows, the limits of the machine and the versions."""
    bounds = limits.measure(ROOT / "build", list(threads))
    if not limits.has_tiles(bounds):  # without AMX they would be the exact products again
        tasks = [task for task in tasks if task.subject != SPLIT]
    names = [*dict.fromkeys(task.subject for task in tasks), *peers]
    rows: list[Row] = []
    versions: dict[str, str] = {}
    for count in threads:
        contestants: list[Contestant] = []
        try:
            for name in names:
                if name == BEAM and count != max(threads):
                    continue  # it would search anew for each number of threads
                enter(contestants, name, count, device)
            versions |= {c.name: c.version for c in contestants}
            for task in tasks:
                rows.append(row(task, count, duel(contestants, task, pace), bounds))
                show(rows[-1])
        finally:
            for contestant in contestants:
                contestant.close()
        times = ", ".join(f"{c.name} {c.busy:.0f} s" for c in contestants)
        print(f"{count} thread{'s' * (count > 1)}: {times}", file=sys.stderr)
    return rows, bounds, versions


def main() -> None:
    """Measure what was asked for."""
    parser = argparse.ArgumentParser(description="Compare us with other frameworks.")
    parser.add_argument("--only", default="", help="regular expression: 'group: name' of tasks")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--peers", default=",".join(USUAL), help=f"of {', '.join(CONTESTANTS)}")
    parser.add_argument("--device", default="", help="POLY_DEVICE")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--turn", type=float, default=0.03, help="seconds of a turn")
    parser.add_argument("--most", type=float, default=4.0, help="seconds of all turns of one")
    parser.add_argument("--json", help="also write the rows to this file")
    parser.add_argument("--list", action="store_true", help="only print the tasks")
    args = parser.parse_args()
    tasks = chosen(args.only)
    if args.list:
        print("\n".join(f"{t.group}: {t.name}" for t in tasks))
        return
    peers = [*filter(None, args.peers.split(","))]
    threads = [int(number) for number in args.threads.split(",")]
    heads = [f"{'':46}", *(f"{n:>8.8}" for n in ("ours", *peers)), "to the best  ", "      "]
    print(" | ".join([*heads, f"{'(goal/gate)':23}", "of the limit   ", "best"]))
    pace = Pace(args.rounds, args.turn, args.most)
    rows, _, _ = measure(
        tasks, peers, threads, pace, args.device, lambda found: print(line(found), flush=True)
    )
    if args.json:
        Path(args.json).write_text(json.dumps(rows, indent=1) + "\n")
    wrong = failures(rows)
    if wrong:
        raise SystemExit("\n".join(["other values than a peer's:", *wrong]))


if __name__ == "__main__":
    main()
