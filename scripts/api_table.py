"""Writes docs/api.md: tinygrad's Tensor, name by name, and what stands for it in each language.

tests/api/tensor.tsv lists the names and signatures, left_out.tsv the names that are missing and
why, differences.tsv the signatures that differ and why. The rest is read from the bindings.

    python scripts/api_table.py
"""

from __future__ import annotations

import csv
import inspect
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
if __name__ == "__main__":  # the checkout's package, not one that is installed
    sys.path.insert(0, str(ROOT / "bindings" / "python"))

from polygrad import Tensor, dtypes  # noqa: E402

LISTS = ROOT / "tests" / "api"
PAGE = ROOT / "docs" / "api.md"
# What every new tensor may be given, where tinygrad has **kwargs.
OPTIONS = {"dtype", "device", "requires_grad"}
# R's operators; JavaScript has none, its methods have the names of the operations.
R_OPERATORS = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "%/%", "mod": "%%", "pow": "^",
    "and": "&", "or": "|", "matmul": "%*%", "neg": "-x", "invert": "!x", "getitem": "x[i]",
    "setitem": "x[i] <-", "len": "length(x)",
}  # fmt: skip

# JavaScript's methods for what are operators of Python.
JS_METHODS = {"getitem": "getitem", "setitem": "setitem", "len": "length"}

# What does the same under another name.
OTHERWISE = {
    "numpy": ("`toArray`", "`as.array(x)`"),
    "tolist": ("", "`as.array(x)`"),
    "train": ("", "`Tensor$training <-`"),
}


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
        if not same_default(parameter.default, mine.default):
            return f"{mine.name} is {mine.default}, not {parameter.default}"
    for extra in got[len(want) :]:
        if extra.default is None and not extra.kind.startswith("*"):
            return f"{extra.name} is needed"
    return ""


def added(entry: Entry) -> list[str]:
    """Return the further parameters that a method has after the list's; all have defaults."""
    method = getattr(Tensor, entry.name, None)
    if not callable(method) or not entry.signature or inspect.isclass(method):
        return []
    known = {p.name for p in entry.parameters}
    open_ended = any(p.kind == "**" for p in entry.parameters)
    return [
        p.name
        for p in ours(method)
        if p.name not in known and p.kind != "**" and not (open_ended and p.name in OPTIONS)
    ]


def present(name: str) -> bool:
    """Tell whether Tensor has a name; grad is an attribute of each tensor."""
    return hasattr(Tensor, name)


_CALL = re.compile(r'\b(poly_\w+)"?')
_INNER = re.compile(r"\b(?:self|cls|super\(\))\.(\w+)|\btype\(self\)\.(\w+)")
_OPERATION = re.compile(r"\bc\.(POLY_\w+)")
_PLUMBING = {"poly_cast_by_id", "poly_describe"}


def source(name: str) -> str:
    """Return the text of a method or property of Tensor, without its documentation."""
    method = inspect.getattr_static(Tensor, name, None)
    if isinstance(method, property):
        method = method.fget
    method = getattr(method, "__func__", method)
    if not inspect.isfunction(method):
        return ""
    text = inspect.getsource(method)
    return text.replace(f'"""{method.__doc__}"""', "") if method.__doc__ else text


def functions(name: str, depth: int = 0) -> list[str]:
    """Return the functions of the C interface that a method calls, itself or by other methods."""
    text = source(name)
    found = _CALL.findall(text)
    operations = _OPERATION.findall(text)
    if re.search(r"\._(with|method)\(", text) and operations:
        found.append("poly_binary")
    elif depth < 3:
        for inner in (a or b for a, b in _INNER.findall(text)):
            if inner not in (name, "_node", "_size") and inspect.isfunction(
                getattr(inspect.getattr_static(Tensor, inner, None), "__func__", None)
                or inspect.getattr_static(Tensor, inner, None)
            ):
                found += functions(inner, depth + 1)
    return sorted(set(found) - _PLUMBING or set(found))


def js_names() -> set[str]:
    """Return the names that the types of the JavaScript package give to Tensor."""
    js = ROOT / "bindings" / "js"
    text = (js / "index.d.ts").read_text()
    start = text.index("export class Tensor")
    body = text[start : text.index("\n}\n", start)] + (js / "lib" / "methods.d.ts").read_text()
    return set(re.findall(r"^  (?:static |readonly |get |set )*(\w+)\??[(:<]", body, re.MULTILINE))


def r_names() -> set[str]:
    """Return the names of the R package's methods, functions and properties of Tensor."""
    texts = "\n".join(p.read_text() for p in sorted((ROOT / "bindings/r/R").glob("*.R")))
    found = set(re.findall(r"\btensor_(?:methods|statics|properties)\$(\w+) <-", texts))
    found |= set(re.findall(r"\btensor_methods\$`(\w+)` <-", texts))
    return found | {"training"}


def camel(name: str) -> str:
    """Return a name as JavaScript writes it: requires_grad_ is requiresGrad_."""
    return re.sub(r"(?<=\w)_([a-z0-9])", lambda m: m.group(1).upper(), name)


def row(entry: Entry, js: set[str], r: set[str]) -> str:
    """Return a line of the table."""
    name = entry.name
    plain = name.strip("_")
    if name.startswith("__"):
        operator = R_OPERATORS.get(plain) or R_OPERATORS.get(plain[1:])
        if plain[0] == "i" and R_OPERATORS.get(plain) is None:
            operator = None
        method = JS_METHODS.get(plain)
        other = [f"`{method}`" if method else "", f"`{operator}`" if operator else ""]
    else:
        other = [f"`{camel(name)}`" if camel(name) in js else "", f"`{name}`" if name in r else ""]
        other = [own or called for own, called in zip(other, OTHERWISE.get(name, ("", "")))]
    calls = " ".join(f"`{f}`" for f in functions(name))
    text = entry.signature.partition(" -> ")[0] if entry.signature else ""
    shown = ", ".join(
        {"*": "*", "**": "**"}.get(p.kind, "") + p.name + (f"={p.default}" if p.default else "")
        for p in entry.parameters
    )
    call = f"`{name}({shown})`" if text else f"`{name}`"
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in (call, *other, calls)) + " |"


def page() -> str:
    """Return docs/api.md."""
    left, differ = reasons("left_out"), reasons("differences")
    js, r = js_names(), r_names()
    known = entries()
    here = [e for e in known if present(e.name)]
    lines = [
        "# The Tensor",
        "",
        "Written by `scripts/api_table.py`: run it after a change; `tests/test_api.py` of the"
        " Python package compares.",
        "",
        f"Of the {len(known)} public names of tinygrad's Tensor, {len(here)} are here, with the"
        f" same arguments, order and defaults; {len(left)} are left out. Further"
        " arguments of ours come after those of the table; where tinygrad takes any keyword, ours"
        " are `dtype`, `device` and `requires_grad`. The last column names the functions of the C"
        " interface (`include/polygrad.h`) that a method calls.",
        "",
        "| Python | JavaScript | R | C |",
        "|---|---|---|---|",
        *(row(e, js, r) for e in here),
        "",
        "## Signatures that differ",
        "",
        "| name | why |",
        "|---|---|",
        *(f"| `{name}` | {why} |" for name, why in differ.items()),
        "",
        "## Arguments of ours",
        "",
        "| name | further arguments |",
        "|---|---|",
        *(
            f"| `{e.name}` | {', '.join(f'`{a}`' for a in added(e))} |"
            for e in here
            if added(e) and e.name not in differ and not e.name.startswith("__")
        ),
        "",
        "## Left out",
        "",
        "| name | why |",
        "|---|---|",
        *(f"| `{name}` | {why} |" for name, why in left.items()),
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    """Write the page."""
    PAGE.write_text(page())
    sys.stdout.write(f"{PAGE}\n")


if __name__ == "__main__":
    main()
