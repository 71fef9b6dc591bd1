"""Finds libpolygrad, loads it and turns its errors into Python's."""

from __future__ import annotations

import ctypes
import os
import re
from pathlib import Path
from typing import Any, NoReturn

from polygrad._prototypes import PROTOTYPES

_NAME = "libpolygrad.so"


def _candidates() -> list[Path]:
    """Return the places where the library may be, the most wanted first."""
    chosen = os.environ.get("POLYGRAD_LIB")
    if chosen:
        return [Path(chosen)]
    here = Path(__file__).resolve().parent
    # Beside this file when installed; in build/ when run from a checkout.
    places = [here / _NAME]
    if len(here.parents) > 2:
        places.append(here.parents[2] / "build" / _NAME)
    return places


def _load() -> Any:
    places = _candidates()
    path = next((p for p in places if p.is_file()), None)
    if path is None:
        tried = ", ".join(map(str, places))
        raise ImportError(
            f"{_NAME} not found (looked at {tried}): build it with `make build`, "
            "or set POLYGRAD_LIB to its path"
        )
    library = ctypes.CDLL(str(path))
    for name, (result, arguments) in PROTOTYPES.items():
        function = getattr(library, name)
        function.restype = result
        function.argtypes = arguments
    return library


lib: Any = _load()

_TYPE = re.compile(r"\btype\b")


def last_error() -> str:
    """Return the library's message about the last call of this thread that failed."""
    text: bytes = lib.poly_last_error()
    return text.decode()


def fail(kind: type[Exception] = ValueError) -> NoReturn:
    """Raise the last error of the library.

    kind is what a bad argument of the failed call means; indices that are out of range and
    wrong types are told apart from it by what the message says.
    """
    text = last_error() or "the library reported no error"
    if kind is ValueError:
        if "out of range" in text:
            kind = IndexError
        elif "internal error" in text or "forked" in text or "stale" in text:
            kind = RuntimeError
        elif _TYPE.search(text):
            kind = TypeError
    raise kind(text)
