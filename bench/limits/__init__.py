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

# Up to which bytes per thread, or in all, work counts as lying in a level of memory.
LEVELS = (("L1", 32 << 10, 0), ("L2", 1536 << 10, 0), ("L3", 0, 80 << 20))


def measure(folder: Path, threads: list[int]) -> Any:
    """Return {threads: {"gflops", "narrow": {numbers: rate}, "gbytes": {level: rate}}}."""
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "limits"
    command = ["gcc", *OPTIONS, str(HERE / "limits.c"), "-o", str(program)]
    subprocess.run(command, check=True)
    arguments = [str(program), *map(str, threads)]
    done = subprocess.run(arguments, check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout)


def level(moved: float, threads: int) -> str:
    """Return the level of memory in which so many bytes lie."""
    fits = (name for name, each, both in LEVELS if moved <= each * threads + both)
    return next(fits, "DRAM")


def bounds(limits: Any, threads: int, task: Task) -> dict[str, float]:
    """Return the seconds that work takes at least for its arithmetic, and for its memory."""
    found = limits[str(threads)]
    at = level(task.moved, threads)
    rate = found["narrow"].get(task.numbers, found["gflops"])
    return {"arithmetic": task.flops / rate / 1e9, at: task.moved / found["gbytes"][at] / 1e9}
