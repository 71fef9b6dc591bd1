"""Parts of long tables: each day has the next, POLY_TESTS=NUMBER that one, POLY_TESTS=all has all.

`make test-peers` compares all. Folders of tests have links to this file.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from typing import TypeVar

T = TypeVar("T")

TURN = os.environ.get("POLY_TESTS") or str(int(time.time()) // (24 * 60 * 60))
# Where partly.py leaves tests out, these have all cases.
ALL = TURN == "all" or "POLY_PART" in os.environ
WEEK = 7


def part(cases: Iterable[T], parts: int = WEEK) -> list[T]:
    """Return one of so many parts of the cases."""
    found = list(cases)
    return found if ALL else found[int(TURN) % parts :: parts]
