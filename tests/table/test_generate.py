"""tests/ops.json is what generate.py writes, up to the last digits of numpy's functions."""

from __future__ import annotations

import json
import math
from typing import Any

import generate


def same(a: Any, b: Any) -> bool:
    """Compare parsed JSON; numbers may differ as two versions of numpy do."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, float) or isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-7, abs_tol=1e-9)
    return bool(a == b)


def test_table_is_up_to_date() -> None:
    made = json.loads(generate.table())
    kept = json.loads(generate.TABLE.read_text(encoding="utf-8"))
    names = [c["name"] for c in made]
    assert [c["name"] for c in kept] == names, "run python tests/table/generate.py"
    changed = [c["name"] for c, k in zip(made, kept) if not same(c, k)]
    assert not changed, "run python tests/table/generate.py"


def test_every_case_says_something() -> None:
    for case in json.loads(generate.TABLE.read_text(encoding="utf-8")):
        assert case.get("error") or case["outputs"], case["name"]
        assert 0 <= case.get("rtol", 0) <= 0.05, case["name"]
        assert 0 <= case.get("atol", 0) <= 0.05, case["name"]
