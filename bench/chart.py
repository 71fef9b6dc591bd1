"""A chart of ratios as SVG: one bar for each row, on a logarithmic scale."""

from __future__ import annotations

import math
from html import escape
from pathlib import Path

from report import GROUPS, duration
from rows import Row
from tasks import PARITY

NAMESPACE = "http://www.w3.org/2000/svg"
WIDTH, LEFT, RIGHT, TOP, BAR, STEP = 960, 330, 150, 64, 12, 19
LOWEST, HIGHEST = 0.02, 32.0
COLORS = {"kept": "#2a9d5c", "missed": "#d1495b", "": "#7a8896"}
MEANING = {"kept": f"at most {PARITY:g}", "missed": f"above {PARITY:g}", "": "optional"}
TICKS = (0.03, 0.1, 0.3, 1, 3, 10, 30)
STYLE = """
text { font-family: DejaVu Sans, Helvetica, sans-serif; font-size: 12px; fill: #3b4652 }
.head { font-weight: 600 } .small { font-size: 11px } .title { font-size: 16px; font-weight: 600 }
.grid { stroke: #c9d1d9; stroke-width: 1 } .one { stroke: #3b4652; stroke-width: 1.5 }
@media (prefers-color-scheme: dark) {
text { fill: #c9d1d9 } .grid { stroke: #3b4652 } .one { stroke: #c9d1d9 } }
"""


def place(ratio: float) -> float:
    """Return the x coordinate of a ratio on the logarithmic scale."""
    share = math.log(ratio / LOWEST) / math.log(HIGHEST / LOWEST)
    return LEFT + min(1.0, max(0.0, share)) * (WIDTH - LEFT - RIGHT)


def label(x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> str:
    """Return a text element with a CSS class."""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}">{escape(text)}</text>'
    )


def line(x: float, top: float, bottom: float, kind: str) -> str:
    """Return a vertical line."""
    return f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{top:.1f}" y2="{bottom:.1f}" class="{kind}"/>'


def _box(x: float, y: float, width: float, color: str) -> str:
    size = f'width="{width:.1f}" height="{BAR}"'
    return f'<rect x="{x:.1f}" y="{y:.1f}" {size} rx="2" fill="{color}"/>'


def _bar(row: Row, y: float) -> list[str]:
    ratio = row["ratio"]
    end, one = place(ratio), place(1)
    x, width = min(end, one), max(1.0, abs(end - one))
    color = COLORS[row["parity_verdict"]]
    middle = y + BAR - 2
    shapes = [
        label(LEFT - 10, middle, row["workload"], "", "end"),
        _box(x, y, width, color),
        label(WIDTH - RIGHT + 12, middle, f"{ratio:.{2 if ratio < 10 else 1}f}", "head"),
        label(WIDTH - RIGHT + 58, middle, f"{duration(row['ours_us'])}", "small"),
    ]
    return shapes


def draw(rows: list[Row], title: str) -> str:
    """Return the chart of rows that have a ratio."""
    rows = [row for row in rows if row["ratio"] is not None]
    shapes: list[str] = []
    y = float(TOP)
    for group, name in GROUPS.items():
        members = [row for row in rows if row["group"] == group]
        if not members:
            continue
        shapes.append(label(LEFT - 10, y + BAR, name, "head", "end"))
        y += STEP
        for row in members:
            shapes += _bar(row, y)
            y += STEP
        y += STEP / 2
    grid = []
    for tick in TICKS:
        grid.append(line(place(tick), TOP, y, "one" if tick == 1 else "grid"))
        grid.append(label(place(tick), y + 14, f"{tick:g}", "small", "middle"))
    legend = []
    x = float(LEFT)
    for verdict, meaning in MEANING.items():
        legend.append(_box(x, 36, BAR, COLORS[verdict]))
        legend.append(label(x + BAR + 5, 46, meaning, "small"))
        x += 110
    return image(WIDTH, y + 26, title, [*legend, *grid, *shapes])


def image(width: float, height: float, title: str, shapes: list[str]) -> str:
    """Return an SVG image with a title."""
    return "\n".join(
        [
            f'<svg xmlns="{NAMESPACE}" viewBox="0 0 {width:.0f} {height:.0f}" role="img">',
            f"<title>{escape(title)}</title>",
            f"<style>{STYLE}</style>",
            label(20, 22, title, "title"),
            *shapes,
            "</svg>",
            "",
        ]
    )


def write(path: Path, rows: list[Row], threads: int) -> None:
    """Write the chart of the rows of one number of threads."""
    title = f"Our time / the best peer's, {threads} threads: left of 1 we are faster"
    path.write_text(draw([row for row in rows if row["threads"] == threads], title))
