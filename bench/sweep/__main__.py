"""Time every described operation, with its gradients, against the fastest peer.

python -m sweep [--only PATTERN] [--sizes cache,memory,odd] [--types float32,float64]
                [--threads 1] [--rounds N] [--turn SECONDS] [--write FILE] [--json FILE]
python -m sweep --read FILE... [--write FILE]    join rows that --json wrote; of a row that several
                                                 files have, the last one counts

Prints a line for each row, then the worst and the distribution; `make bench-sweep` writes
bench/SWEEP.md.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import duel
import numpy as np
from contestants import OURS
from report import duration, table, where

from sweep.cases import EAGER, FILE, FLAT, SIZES, UNCOMPARED, Case, cases, described, task

PEERS = ("numpy", "torch", "jax")
WORST = 20
BOUNDS = (1.1, 1.5)


class Row(NamedTuple):
    """The results of a case: minimum times in seconds by framework, and errors."""

    name: str
    topic: str
    times: dict[str, float]
    wrong: list[str]

    @property
    def best(self) -> str:
        """Return the fastest peer, "" if there is none."""
        peers = {name: t for name, t in self.times.items() if name != OURS}
        return min(peers, key=lambda name: peers[name], default="")

    @property
    def ratio(self) -> float | None:
        """Return the ratio of our time to the fastest peer's."""
        return (
            self.times[OURS] / self.times[self.best] if OURS in self.times and self.best else None
        )

    def __str__(self) -> str:
        ratio = "     -" if self.ratio is None else f"{self.ratio:6.2f}"
        times = ", ".join(f"{name} {duration(t * 1e6)}" for name, t in self.times.items())
        return f"{ratio} {self.name}: {times}{''.join(f'; {w}' for w in self.wrong)}"


def _measure(
    contestants: list[duel.Contestant], case: Case, shapes: Any, pace: duel.Pace
) -> tuple[Row, list[list[int]]]:
    """Time a case, interleaved; return also the shapes of its differentiable results."""
    wanted = task(case, shapes)
    with tempfile.TemporaryDirectory() as folder:
        outcomes = {c.name: duel.prepare(c, wanted, Path(folder) / c.name) for c in contestants}
        random = case.op["Random"] or case.op["Name"] in UNCOMPARED
        if not random:
            duel.compare(wanted, outcomes)
        files = sorted((Path(folder) / OURS).glob("*.npy"))
        results = [np.load(file, mmap_mode="r") for file in files]
        found = [list(r.shape) for r in results if r.dtype.kind == "f"]
    wrong = [f"{n} has other values: {o.difference}" for n, o in outcomes.items() if o.difference]
    if outcomes[OURS].note:
        wrong.append(outcomes[OURS].note)
    duel.take_turns([(c, outcomes[c.name]) for c in contestants], pace)
    times = {name: o.least for name, o in outcomes.items() if o.turns}
    name = case.name + ", gradients" * bool(shapes)
    return Row(name, case.op["Topic"], times, wrong), found


def _differentiable(case: Case) -> bool:
    if case.op["Random"] or case.op["Name"] in FLAT | EAGER:
        return False
    rng = np.random.default_rng(0)
    return any(make(rng).dtype.kind == "f" for make in case.call.inputs)


def measure(
    chosen: Iterable[Case], threads: int, pace: duel.Pace, forward_only: bool = False
) -> Iterator[Row]:
    """Time cases, and their gradients where they have some."""
    contestants = [duel.Contestant(name, threads) for name in (OURS, *PEERS)]
    try:
        for case in chosen:
            row, shapes = _measure(contestants, case, (), pace)
            yield row
            if shapes and not forward_only and _differentiable(case):
                yield _measure(contestants, case, shapes, pace)[0]
    finally:
        for contestant in contestants:
            contestant.close()


def _share(ratios: list[float], bound: float) -> str:
    return f"{sum(r <= bound for r in ratios) / len(ratios):.0%}"


def _spread(title: str, rows: list[Row]) -> list[str]:
    ratios = [row.ratio for row in rows if row.ratio is not None]
    if not ratios:
        return [title, "0", "", "", "", ""]
    shares = [_share(ratios, bound) for bound in BOUNDS]
    return [
        title,
        f"{len(ratios)}",
        f"{statistics.median(ratios):.2f}",
        *shares,
        f"{max(ratios):.1f}",
    ]


def summary(rows: list[Row]) -> list[str]:
    """Return the distribution by size and topic, and the worst rows."""
    groups = {"all": rows}
    groups |= {size: [r for r in rows if f", {size}, " in r.name] for size in SIZES}
    groups["gradients"] = [r for r in rows if r.name.endswith("gradients")]
    groups |= {
        topic: [r for r in rows if r.topic == topic]
        for topic in dict.fromkeys(r.topic for r in rows)
    }
    heads = ["rows", "number", "median", *(f"up to {b}" for b in BOUNDS), "most"]
    lines = [
        "## Ratios",
        "",
        *table(heads, [_spread(title, own) for title, own in groups.items()]),
        "",
    ]
    compared = [row for row in rows if row.ratio is not None]
    worst = sorted(compared, key=lambda row: -(row.ratio or 0))[:WORST]
    cells = [
        [
            r.name,
            f"{r.ratio:.2f}",
            duration(r.times[OURS] * 1e6),
            duration(r.times[r.best] * 1e6),
            r.best,
        ]
        for r in worst
    ]
    lines += ["## The worst", "", *table(["row", "ratio", "ours", "best", ""], cells), ""]
    wrong = [f"- {row.name}: {'; '.join(row.wrong)}" for row in rows if row.wrong]
    return lines + (["## Other values and errors", "", *wrong, ""] if wrong else [])


def page(rows: list[Row], threads: int, load: str) -> str:
    """Return bench/SWEEP.md."""
    alone = sorted({row.name.split(",")[0] for row in rows if row.ratio is None and not row.wrong})
    lines = [
        "# Every operation",
        "",
        "Written by `make bench-sweep`; do not edit. Every described operation, with its gradients",
        "where it has some, for matrices in the cache, in memory and of odd sizes, in float32 and",
        "float64 (integers: int32 and int64). The ratio is our least time to that of the fastest",
        f"of {', '.join(PEERS)}, by turns in one run; results and gradients are compared, too.",
        "Ours is a compiled step, JAX a compiled function; PyTorch and numpy are called. A result",
        "that would be a view is copied.",
        "",
        *where(),
        f"- Threads: {threads}; load {load}",
        "",
        *summary(rows),
        "## No peer",
        "",
        f"{', '.join(alone)}.",
        "",
    ]
    return "\n".join(lines)


def main() -> int:
    """Measure what was asked for."""
    parser = argparse.ArgumentParser(description="Time every operation against the best peer.")
    parser.add_argument("--only", default="", help="regular expression: names of rows")
    parser.add_argument("--sizes", default=",".join(SIZES))
    parser.add_argument("--types", default="float32,float64")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--turn", type=float, default=0.01, help="seconds of a turn")
    parser.add_argument("--forward", action="store_true", help="no gradients")
    parser.add_argument("--write", type=Path, help="also write the page to this file")
    parser.add_argument("--json", type=Path, help="also write the rows to this file")
    parser.add_argument("--read", type=Path, nargs="+", help="join rows instead of measuring them")
    args = parser.parse_args()
    if args.read:
        read = [Row(**row) for file in args.read for row in json.loads(file.read_text())]
        rows = list({row.name: row for row in read}.values())
        text = page(rows, args.threads, f"of {len(args.read)} parts at a time")
        print(text) if args.write is None else args.write.write_text(text)
        return int(any(row.wrong for row in rows))
    load = f"before: {os.getloadavg()[0]:.1f}"
    operations = described()
    FILE.write_text(json.dumps(operations))
    every = cases(operations, args.sizes.split(","))
    chosen = [c for c in every if c.dtype in args.types and re.search(args.only, c.name)]
    rows = []
    for row in measure(chosen, args.threads, duel.Pace(args.rounds, args.turn, 1.0), args.forward):
        rows.append(row)
        print(row, flush=True)
    print("\n".join(summary(rows)))
    if args.write:
        args.write.write_text(page(rows, args.threads, load))
    if args.json:
        args.json.write_text(json.dumps([row._asdict() for row in rows], indent=1) + "\n")
    return int(any(row.wrong for row in rows))


if __name__ == "__main__":
    sys.exit(main())
