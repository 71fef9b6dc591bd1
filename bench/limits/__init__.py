"""The limits of this machine, measured by a small C program."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tasks import Task

HERE = Path(__file__).resolve().parent
OPTIONS = ["-O3", "-march=native", "-Wall", "-Wextra", "-pthread"]
TILES = "AMX"  # its name in the program's output
OWN = ("L1", "L2")  # caches private to a core


def measure(folder: Path, threads: list[int]) -> Any:
    """Return the limits for each number of threads.

    {threads: {"gflops", "narrow": {numbers: rate}, "how": {numbers: what computes them},
    "caches": {level: bytes}, "gbytes": {level: rate}}}
    """
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "limits"
    command = ["gcc", *OPTIONS, str(HERE / "limits.c"), "-o", str(program)]
    subprocess.run(command, check=True)
    arguments = [str(program), *map(str, threads)]
    done = subprocess.run(arguments, check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout)


def traffic(moved: float, threads: int, limits: Any) -> tuple[str, float]:
    """Return a lower bound of the seconds to move bytes, and the outermost level in use.

    Each cache level holds as many of them as fit, the next one the rest: no order of accesses, nor
    any reuse of data from the previous run, is faster.
    """
    seconds, name = 0.0, "DRAM"
    for name, rate in limits["gbytes"].items():
        room = limits["caches"].get(name, moved) * (threads if name in OWN else 1)
        seconds += min(moved, room) / rate / 1e9
        moved -= min(moved, room)
        if moved <= 0:
            break
    return name, seconds


def arithmetic(task: Task, limits: Any) -> float:
    """Return a lower bound of the seconds for the operations of a task."""
    rate = max(limits["gflops"], limits["narrow"].get(task.numbers, 0.0))
    return float(task.flops / rate / 1e9)


def has_tiles(limits: Any) -> bool:
    """Report whether the CPU has AMX tiles, and this process may use them."""
    return all(found["how"].get("bfloat16") == TILES for found in limits.values())


def bounds(limits: Any, threads: int, task: Task) -> dict[str, float]:
    """Return lower bounds of the seconds of work, by its arithmetic and by its memory traffic."""
    found = limits[str(threads)]
    level, seconds = traffic(task.moved, threads, found)
    return {"arithmetic": arithmetic(task, found), level: seconds}
