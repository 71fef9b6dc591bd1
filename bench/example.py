"""Run one of the examples in this process and record its loops.

python bench/example.py FILE [ARGUMENT...]

Prints one JSON object: {"output", "peak_mib", "loops"}: what the example printed, the peak of
resident memory, and for each loop that shows its progress
{"name", "items", "unit", "steps", "seconds", "shown"}: how many steps of training or other compiled
steps it made, and what it showed beside the progress at its end.
"""

from __future__ import annotations

import contextlib
import io
import json
import runpy
import sys
import time
from functools import wraps
from pathlib import Path
from typing import Any

import tqdm
from worker import peak_mib

from polygrad import Instance
from polygrad.nn import CompiledTrainingStep

loops: list[dict[str, Any]] = []
steps = 0


def counted(function: Any) -> Any:
    """Return a method wrapped to count its calls as steps."""

    @wraps(function)
    def step(*args: Any, **kwargs: Any) -> Any:
        global steps
        steps += 1
        return function(*args, **kwargs)

    return step


class Loop:
    """A replacement of tqdm's progress bar."""

    def __init__(self, desc: str | None, total: int | None, unit: str) -> None:
        self.found: dict[str, Any] = {"name": desc or "", "items": 0, "unit": unit.strip()}
        self.found["shown"] = ""
        self.start, self.steps = time.perf_counter(), steps

    def update(self) -> None:
        """Count an item."""
        self.found["items"] += 1

    def set_postfix_str(self, text: str) -> None:
        """Record the postfix."""
        self.found["shown"] = text

    def close(self) -> None:
        """Record the loop."""
        self.found["seconds"] = round(time.perf_counter() - self.start, 4)
        self.found["steps"] = steps - self.steps
        loops.append(self.found)


class Terminal(io.StringIO):
    """A standard error that claims to be a terminal, so that progress is shown."""

    def isatty(self) -> bool:
        """Return True."""
        return True


def main() -> None:
    """Run the example."""
    path = Path(sys.argv[1]).resolve()
    sys.argv[:] = [str(path), *sys.argv[2:]]
    sys.path[0] = str(path.parent)
    tqdm.tqdm = Loop
    CompiledTrainingStep.run = counted(CompiledTrainingStep.run)  # type: ignore[method-assign]
    Instance.train_step = counted(Instance.train_step)  # type: ignore[method-assign]
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(Terminal()):
        runpy.run_path(str(path), run_name="__main__")
    print(
        json.dumps({"output": output.getvalue(), "peak_mib": round(peak_mib(), 1), "loops": loops})
    )


if __name__ == "__main__":
    main()
