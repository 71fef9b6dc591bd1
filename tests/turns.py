"""Parts of long tables: each day has the next, POLY_TESTS=NUMBER that one, POLY_TESTS=all has all.

`make test-peers` compares all. Folders of tests have links to this file.
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
# How many parts the cases have that each week is to have all of: Go and Python have the same.
WEEK = int(re.findall(r"^const Week = (\d+)$", GO.read_text(), re.MULTILINE)[0])


def turn() -> int | None:
    """Return the number of the day, or that of POLY_TESTS; None where all cases are wanted.

    Where partly.py leaves tests out, that is so, too.
    """
    found = os.environ.get("POLY_TESTS") or str(int(time.time()) // (24 * 60 * 60))
    return None if found == "all" or "POLY_PART" in os.environ else int(found)


def today(parts: int, number: int) -> bool:
    """Report whether a case with a number is in the part that this day has, of so many."""
    day = turn()
    return day is None or (day - number) % parts == 0


def part(cases: Iterable[T], parts: int = WEEK, first: int = 0) -> list[T]:
    """Return one of so many parts of the cases; the first one has a number."""
    return [case for number, case in enumerate(cases, first) if today(parts, number)]
