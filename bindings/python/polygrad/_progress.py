"""Progress displays: tqdm's where it is installed, a line of text else."""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

T = TypeVar("T")


def meter(steps: Iterable[T], total: int, unit: str) -> Iterator[T]:
    """Yield steps, and show on the standard error how many there were and how fast they come."""
    try:
        tqdm: Any = importlib.import_module("tqdm")
    except ImportError:
        yield from _plain(steps, total, unit)
        return
    bar = tqdm.tqdm(total=total, unit=f" {unit}")
    try:
        for step in steps:
            bar.update()
            yield step
    finally:
        bar.close()


def _plain(steps: Iterable[T], total: int, unit: str) -> Iterator[T]:
    start = shown = time.monotonic()
    count = 0

    def show(now: float, end: str) -> None:
        speed = count / max(now - start, 1e-9)
        print(f"\r{count}/{total} {unit}, {speed:.1f} a second", end=end, file=sys.stderr)

    try:
        for step in steps:
            count += 1
            now = time.monotonic()
            if now - shown > 0.2:
                shown = now
                show(now, "")
            yield step
    finally:
        show(time.monotonic(), "\n")
