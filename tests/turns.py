"""Parts of long tables: each day runs the next part, POLY_TESTS=NUMBER that one, all: everything.

`make test-peers` compares all. Test folders have links to this file.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

GO = Path(__file__).resolve().parent / "part" / "part.go"
# The number of parts of cases that must all run within a week; the same constant as in Go.
WEEK = int(re.findall(r"^const Week = (\d+)$", GO.read_text(), re.MULTILINE)[0])


def turn() -> int | None:
    """Return the number of the day, or that of POLY_TESTS; None if all cases are wanted.

    It is also None if partly.py selects tests (POLY_PART), so that cases are not divided twice.
    """
    found = os.environ.get("POLY_TESTS") or str(int(time.time()) // (24 * 60 * 60))
    return None if found == "all" or "POLY_PART" in os.environ else int(found)


def today(parts: int, number: int) -> bool:
    """Report whether the case with a number is in today's part of so many parts."""
    day = turn()
    return day is None or (day - number) % parts == 0


def part(cases: Iterable[T], parts: int = WEEK, first: int = 0) -> list[T]:
    """Return the cases in today's part of so many parts; first is the number of the first case."""
    return [case for number, case in enumerate(cases, first) if today(parts, number)]
