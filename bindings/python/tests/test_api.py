"""Every name of tinygrad's Tensor is here, with its signature, or is left out for a reason."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "scripts"))

import api_table  # noqa: E402

ENTRIES = api_table.entries()
LEFT_OUT = api_table.reasons("left_out")
DIFFERENCES = api_table.reasons("differences")
NAMES = [e.name for e in ENTRIES]


def test_the_list_is_whole() -> None:
    assert len(NAMES) == len(set(NAMES)) == 293
    assert set(LEFT_OUT) <= set(NAMES)
    assert set(DIFFERENCES) <= set(NAMES)
    assert all(len(reason) > 9 for reason in (*LEFT_OUT.values(), *DIFFERENCES.values()))


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_here_or_left_out(name: str) -> None:
    assert api_table.present(name) != (name in LEFT_OUT)


@pytest.mark.parametrize("entry", [e for e in ENTRIES if e.name not in LEFT_OUT], ids=str)
def test_a_signature_is_the_same_or_differs_for_a_reason(entry: api_table.Entry) -> None:
    differs = api_table.deviation(entry)
    assert bool(differs) == (entry.name in DIFFERENCES), differs


def test_signatures_are_read_as_python_reads_them() -> None:
    text = "(self, a, *rest: int, b: tuple[int, ...] = (2, 2), c='x', **kwargs) -> tuple[A, B]"
    read = [(p.name, p.kind, p.default) for p in api_table.parse(text)]
    assert read == [
        ("a", "", None),
        ("rest", "*", None),
        ("b", "keyword", "(2, 2)"),
        ("c", "keyword", "'x'"),
        ("kwargs", "**", None),
    ]
    assert api_table.parse("(self)") == []


def entry(signature: str) -> api_table.Entry:
    return api_table.Entry("sum", "method", signature)


@pytest.mark.parametrize(
    ("signature", "differs"),
    [
        ("(self, axis=None, keepdim=False, dtype=None)", ""),
        ("(self, axis=None, keepdim=False)", ""),
        ("(self, axis=None, **kwargs)", ""),
        ("(self, dim=None, keepdim=False, dtype=None)", "axis in the place of dim"),
        ("(self, axis=0, keepdim=False, dtype=None)", "axis is None, not 0"),
        ("(self, axis=None, keepdim=False, dtype=None, out=None)", "out is missing"),
        ("(self, keepdim=False, axis=None, dtype=None)", "axis in the place of keepdim"),
    ],
)
def test_a_deviation_is_seen(signature: str, differs: str) -> None:
    assert api_table.deviation(entry(signature)) == differs


def test_the_page_is_what_the_script_writes() -> None:
    assert api_table.PAGE.read_text() == api_table.page(), "run python scripts/api_table.py"
