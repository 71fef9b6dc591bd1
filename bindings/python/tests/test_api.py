"""Every name of tinygrad's Tensor is here, with its signature, or is left out for a reason.

tests/api/tensor.tsv lists the names and signatures, left_out.tsv the names that are missing and
why, differences.tsv the signatures that differ and why.
"""

from __future__ import annotations

import csv
import inspect
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import polygrad
import polygrad.nn
from polygrad import Tensor, dtypes

ROOT = Path(__file__).resolve().parents[3]
LISTS = ROOT / "tests" / "api"
# What every new tensor may be given, where tinygrad has **kwargs.
OPTIONS = {"dtype", "device", "requires_grad"}


@dataclass
class Parameter:
    """A parameter: kind is "", "*", "**" or "keyword"; default is None if it has none."""

    name: str
    kind: str = ""
    default: str | None = None


@dataclass
class Entry:
    """A name of the list."""

    name: str
    kind: str
    signature: str
    parameters: list[Parameter] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Read the signature."""
        self.parameters = parse(self.signature) if self.signature else []


def rows(name: str) -> list[dict[str, str]]:
    """Return the rows of a list."""
    with (LISTS / f"{name}.tsv").open() as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def reasons(name: str) -> dict[str, str]:
    """Return a list of names and reasons."""
    return {row["name"]: row["reason"] for row in rows(name)}


def entries() -> list[Entry]:
    """Return the list of names."""
    return [Entry(row["name"], row["kind"], row["signature"]) for row in rows("tensor")]


def pieces(text: str) -> list[str]:
    """Split at the commas that stand in no brackets.

    >>> pieces("a: tuple[int, ...] = (2, 2), b=1")
    ['a: tuple[int, ...] = (2, 2)', 'b=1']
    """
    found, depth = [""], 0
    for letter in text:
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and depth == 0:
            found.append("")
        else:
            found[-1] += letter
    return [piece.strip() for piece in found if piece.strip()]


def parse(signature: str) -> list[Parameter]:
    """Read a signature as the list writes it, without self.

    >>> [p.name + p.kind for p in parse("(self, *shape, a: int = 1, **kwargs) -> Tensor")]
    ['shape*', 'akeyword', 'kwargs**']
    """
    inner = signature[1 : signature.rindex(")")] if ") ->" not in signature else ""
    if not inner:
        inner = signature[1 : signature.rindex(") ->")] if ") ->" in signature else ""
    found: list[Parameter] = []
    starred = False
    for piece in pieces(inner):
        head, has_default, default = piece.partition("=")
        name = head.split(":")[0].strip()
        stars = "**" if name.startswith("**") else "*" if name.startswith("*") else ""
        kind = stars or ("keyword" if starred else "")
        starred = starred or stars == "*"
        if name != "self":
            found.append(
                Parameter(name.lstrip("*"), kind, default.strip() if has_default else None)
            )
    return found


def ours(function: Any) -> list[Parameter]:
    """Return the parameters of a method, without self."""
    kinds: dict[Any, str] = {
        inspect.Parameter.VAR_POSITIONAL: "*",
        inspect.Parameter.VAR_KEYWORD: "**",
        inspect.Parameter.KEYWORD_ONLY: "keyword",
    }
    return [
        Parameter(
            p.name,
            kinds.get(p.kind, ""),
            None if p.default is inspect.Parameter.empty else str(p.default),
        )
        for p in inspect.signature(function).parameters.values()
        if p.name != "self"
    ]


def same_default(want: str | None, got: str | None) -> bool:
    """Tell whether two defaults are the same value."""
    if want is not None and want.startswith("dtypes."):
        want = str(getattr(dtypes, want[len("dtypes.") :]))
    return want == got


def deviation(entry: Entry) -> str:
    """Say how a method's signature differs from the list's, "" if it does not."""
    method = getattr(Tensor, entry.name)
    if entry.kind == "property" or not entry.signature or inspect.isclass(method):
        return ""
    want, got = entry.parameters, ours(method)
    open_ended = bool(want) and want[-1].kind == "**"
    if open_ended:
        want = want[:-1]
        got = [p for p in got if p.kind != "**"]
    if entry.name.startswith("__"):  # called by an operator: names do not matter
        return "" if len(want) == len(got) else f"{len(got)} operands"
    # Arguments that only have names have no order.
    want, got = (
        sorted(ps, key=lambda p: p.name if p.kind == "keyword" else "") for ps in (want, got)
    )
    if open_ended:
        named = {p.name for p in want}
        got = [p for p in got if p.name in named or p.name not in OPTIONS]
    for i, parameter in enumerate(want):
        if i >= len(got):
            return f"{parameter.name} is missing"
        mine = got[i]
        if (mine.name, mine.kind) != (parameter.name, parameter.kind):
            return f"{mine.kind}{mine.name} in the place of {parameter.kind}{parameter.name}"
        sizes = mine.default == "()" and got[-1].kind == "*"  # none at all are those of a scalar
        if not sizes and not same_default(parameter.default, mine.default):
            return f"{mine.name} is {mine.default}, not {parameter.default}"
    for extra in got[len(want) :]:
        if extra.default is None and not extra.kind.startswith("*"):
            return f"{extra.name} is needed"
    return ""


ENTRIES = entries()
LEFT_OUT = reasons("left_out")
DIFFERENCES = reasons("differences")
NAMES = [e.name for e in ENTRIES]


def test_the_list_is_whole() -> None:
    assert len(NAMES) == len(set(NAMES)) == 293
    assert set(LEFT_OUT) <= set(NAMES)
    assert set(DIFFERENCES) <= set(NAMES)
    assert all(len(reason) > 9 for reason in (*LEFT_OUT.values(), *DIFFERENCES.values()))


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_here_or_left_out(name: str) -> None:
    assert hasattr(Tensor, name) != (name in LEFT_OUT)


@pytest.mark.parametrize("entry", [e for e in ENTRIES if e.name not in LEFT_OUT], ids=str)
def test_a_signature_is_the_same_or_differs_for_a_reason(entry: Entry) -> None:
    differs = deviation(entry)
    assert bool(differs) == (entry.name in DIFFERENCES), differs


@pytest.mark.parametrize("name", reasons("beside"))
def test_a_name_beside_the_tensor_is_left_out_for_a_reason(name: str) -> None:
    owner: Any = polygrad
    *path, last = name.split(".")
    for part in path:
        owner = getattr(owner, part)
    assert not hasattr(owner, last)
    assert len(reasons("beside")[name]) > 9


def test_signatures_are_read_as_python_reads_them() -> None:
    text = "(self, a, *rest: int, b: tuple[int, ...] = (2, 2), c='x', **kwargs) -> tuple[A, B]"
    read = [(p.name, p.kind, p.default) for p in parse(text)]
    assert read == [
        ("a", "", None),
        ("rest", "*", None),
        ("b", "keyword", "(2, 2)"),
        ("c", "keyword", "'x'"),
        ("kwargs", "**", None),
    ]
    assert parse("(self)") == []


def entry(signature: str) -> Entry:
    return Entry("sum", "method", signature)


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
    assert deviation(entry(signature)) == differs


def test_the_reference_has_every_name() -> None:
    page = (ROOT / "docs" / "api.md").read_text()
    here = set(NAMES) - set(LEFT_OUT)
    assert len(here) > 250
    assert not [name for name in here if not re.search(rf"[.`$]{name}\b", page)]
