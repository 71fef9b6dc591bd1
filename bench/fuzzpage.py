"""The page of the performance fuzzer: the distribution of its ratios, and the outliers."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from chart import image, label
from report import duration, table, where

BOUNDS = (0.3, 0.5, 0.7, 0.9, 1.05)
WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 720, 360, 60, 50, 40
TICKS = (0.05, 0.1, 0.2, 0.5, 1, 2, 5)
COLORS = ("#2a6f97", "#d17b0f", "#2a9d5c", "#d1495b")  # of devices
BOX = 'width="10" height="10" rx="2"'


class Outcome(NamedTuple):
    """The result of a program: times and kernels of its forms, fused first, chained last."""

    device: str
    seed: int
    size: int
    seconds: list[float]
    kernels: list[int]
    different: str
    text: str

    @property
    def excess(self) -> float:
        """The time as a ratio to the fastest of the other forms."""
        return self.seconds[0] / min(self.seconds[1:])

    @property
    def gain(self) -> float:
        """The time as a ratio to the chain of realized steps."""
        return self.seconds[0] / self.seconds[-1]

    def __str__(self) -> str:
        times = ", ".join(f"{t * 1e6:.1f}" for t in self.seconds)
        return (
            f"# seed {self.seed}, size {self.size}: {self.excess:.2f} and {self.gain:.2f}; "
            f"{times} us; {self.kernels} kernels {self.different}"
        )


def geometric_mean(ratios: Sequence[float]) -> float:
    """Return the geometric mean."""
    return math.exp(statistics.fmean(map(math.log, ratios)))


def spread(outcomes: list[Outcome], limit: float) -> list[str]:
    """Return the cells of the distribution of outcomes."""
    bounds = (*BOUNDS, limit, math.inf)
    bins = Counter(next(b for b in bounds if o.gain <= b) for o in outcomes)
    return [
        f"{len(outcomes)}",
        f"{geometric_mean([o.gain for o in outcomes]):.3f}",
        *(f"{bins[b]}" for b in bounds),
        f"{sum(o.excess > limit for o in outcomes)}",
        f"{max(o.excess for o in outcomes):.2f}",
    ]


def distribution(outcomes: list[Outcome], limit: float) -> list[str]:
    """Return the table of the distribution by devices and sizes."""
    heads = ["device", "size", "programs", "geometric mean"]
    heads += [*(f"to {b:g}" for b in (*BOUNDS, limit)), "above", f"over {limit:g}", "worst"]
    rows = []
    for device in dict.fromkeys(o.device for o in outcomes):
        own = [o for o in outcomes if o.device == device]
        for size in sorted({o.size for o in own}):
            rows.append([device, f"{size}", *spread([o for o in own if o.size == size], limit)])
        rows.append([device, "all", *spread(own, limit)])
    return table(heads, rows)


def _across(share: float) -> float:
    return LEFT + share * (WIDTH - LEFT - 20)


def _down(ratio: float) -> float:
    low, high = math.log(TICKS[0]), math.log(TICKS[-1])
    share = (min(max(math.log(ratio), low), high) - low) / (high - low)
    return HEIGHT - BOTTOM - share * (HEIGHT - BOTTOM - TOP)


def draw(outcomes: list[Outcome], limit: float) -> str:
    """Return the plot: for each device the sorted ratios to realized steps."""
    title = "Time as written / with every step realized: below 1 fusion gains"
    shapes = []
    for tick in (*TICKS, limit):
        y, kind = _down(tick), "one" if tick == 1 else "grid"
        shapes.append(f'<path d="M{LEFT} {y:.1f}H{WIDTH - 20}" class="{kind}"/>')
    shapes += [label(LEFT - 8, _down(t) + 4, f"{t:g}", "small", "end") for t in TICKS]
    below = HEIGHT - BOTTOM + 18
    shapes += [label(_across(n / 5), below, f"{20 * n} %", "small", "middle") for n in range(6)]
    shapes.append(label(WIDTH - 20, HEIGHT - 6, "of programs", "small", "end"))
    for i, device in enumerate(dict.fromkeys(o.device for o in outcomes)):
        ratios = sorted(o.gain for o in outcomes if o.device == device)
        at = [(_across((n + 0.5) / len(ratios)), _down(r)) for n, r in enumerate(ratios)]
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in at)
        stroke = f'fill="none" stroke="{COLORS[i]}" stroke-width="2"'
        shapes.append(f'<polyline points="{points}" {stroke}/>')
        shapes.append(f'<rect x="{LEFT + 10 + 90 * i}" y="33" {BOX} fill="{COLORS[i]}"/>')
        shapes.append(label(LEFT + 26 + 90 * i, 42, device))
    return image(WIDTH, HEIGHT, title, shapes)


def page(outcomes: list[Outcome], limit: float, plot: str) -> str:
    """Return the page."""
    over = sorted((o for o in outcomes if o.excess > limit), key=lambda o: -o.excess)
    lines = [
        "# Random programs",
        "",
        "Written by `make bench-fuzz FUZZ='--write bench/FUZZ.md'`; do not edit. Programs of 2",
        "to 6 random steps, forward and backward, are timed as written and with every step",
        "realized, by turns. The ratio is that of the least times; a program is over the limit if",
        f"another form of it, fused or not, is faster by more than {limit:g}.",
        "",
        *where(),
        f"- Seeds: {min(o.seed for o in outcomes)} to {max(o.seed for o in outcomes)}",
        "",
        *distribution(outcomes, limit),
        "",
        f"![The ratios in order]({plot})",
        "",
        f"## Over {limit:g}",
        "",
    ]
    rows = [
        [
            o.device,
            f"{o.seed}",
            f"{o.size}",
            f"{o.excess:.2f}",
            *(duration(t * 1e6) for t in (o.seconds[0], min(o.seconds[1:]))),
            f"{o.kernels[0]}",
        ]
        for o in over
    ]
    heads = ["device", "seed", "size", "ratio", "as written", "other form", "kernels"]
    return "\n".join([*lines, *table(heads, rows), ""])


def write(path: Path, outcomes: list[Outcome], limit: float) -> None:
    """Write the page and its plot beside it."""
    plot = path.with_suffix(".svg")
    plot.write_text(draw(outcomes, limit))
    path.write_text(page(outcomes, limit, plot.name))
