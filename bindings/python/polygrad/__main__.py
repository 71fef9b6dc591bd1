"""Show how an expression is computed: python -m polygrad "Tensor.rand(64, 64).softmax()"."""

from __future__ import annotations

import argparse
import ast
import importlib
import math
import os
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import polygrad
from polygrad import Tensor, TinyJit, nn, viz

_EPILOG = """\
WHAT is Python code whose last line is an expression of tensors (Tensor, nn, dtypes, viz, np and
math are there), or FILE.py:FUNCTION or MODULE:FUNCTION: a function without arguments that returns
tensors, a compiled step or a TinyJit. The tensors must not be computed yet.

  python -m polygrad "Tensor.rand(64, 64) @ Tensor.rand(64, 64)"
  python -m polygrad --code "Tensor.rand(1000).softmax()"
  python -m polygrad --graph --format svg -o graph.svg model.py:forward
  POLY_DEVICE=wasm python -m polygrad --kernels "nn.Linear(8, 8)(Tensor.rand(4, 8))"
"""
_PARTS = ("graph", "kernels", "code")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    parser = _parser()
    options = parser.parse_args(arguments)
    parts = [part for part in _PARTS if getattr(options, part)] or ["graph", "kernels"]
    if options.format != "text" and len(parts) != 1:
        parser.error(f"--format {options.format}: ask for one of --graph, --kernels")
    if options.format != "text" and parts == ["code"]:
        parser.error(f"--format {options.format}: --code is text")
    try:
        found = evaluate(options.what)
        text = "\n".join(_view(part, found, options) for part in parts)
        if options.output:
            Path(options.output).write_text(text, encoding="utf-8")
            return 0
    except (OSError, ValueError) as error:
        parser.error(str(error))
    try:
        print(text, end="", flush=True)
    except BrokenPipeError:  # the reader has closed the pipe; Python must not flush at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m polygrad",
        description="Show how tensors are computed: the graph, the kernels and their times.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("what", metavar="WHAT", help="an expression, or FILE.py:FUNCTION")
    parser.add_argument("--graph", action="store_true", help="the graph (with --kernels, default)")
    parser.add_argument("--kernels", action="store_true", help="the kernels, each timed")
    parser.add_argument("--code", action="store_true", help="the graph and the code of each kernel")
    formats = [name for name in viz.FORMATS if name != "code"]
    parser.add_argument("--format", choices=formats, default="text", help="text if not given")
    parser.add_argument("--runs", type=int, default=20, help="times each kernel runs (20)")
    parser.add_argument("-o", "--output", metavar="FILE", help="write to a file")
    parser.add_argument("--version", action="version", version=polygrad.__version__)
    return parser


def _view(part: str, found: list[Any], options: argparse.Namespace) -> str:
    if part == "code":
        return viz.kernels(*found, format="code")
    if part == "kernels":
        return viz.kernels(*found, runs=options.runs, format=options.format)
    if not isinstance(found[0], Tensor):
        raise ValueError(f"a {type(found[0]).__name__} has no graph: ask for --kernels or --code")
    return viz.graph(*found, format=options.format)


def evaluate(what: str) -> list[Any]:
    """Return the tensors, or the compiled step, that code or a function gives.

    >>> evaluate("x = Tensor([1.0]); x + 1, x * 2")
    [Tensor(lazy, shape=(1,), dtype=float32), Tensor(lazy, shape=(1,), dtype=float32)]
    """
    place, colon, name = what.rpartition(":")
    named = place.endswith(".py") or all(part.isidentifier() for part in place.split("."))
    value = _call(place, name) if colon and name.isidentifier() and named else _run(what)
    found = list(_tensors(value))
    if not found:
        raise ValueError(f"{what!r} gives {type(value).__name__}, expected tensors")
    return found


def _call(place: str, name: str) -> Any:
    if place.endswith(".py"):
        if not Path(place).is_file():
            raise ValueError(f"{place} does not exist")
        sys.path.insert(0, str(Path(place).resolve().parent))
        function = runpy.run_path(place).get(name)
    else:
        sys.path.insert(0, "")
        try:
            function = getattr(importlib.import_module(place), name, None)
        except ImportError as error:
            raise ValueError(str(error)) from None
    if not callable(function):
        raise ValueError(f"{place} has no function {name}")
    return function()


def _run(code: str) -> Any:
    """Run code and return the value of its last line."""
    try:
        tree = ast.parse(code, "<expression>")
    except SyntaxError as error:
        raise ValueError(f"{code!r}: {error.msg}") from None
    if not tree.body or not isinstance(tree.body[-1], ast.Expr):
        raise ValueError(f"{code!r} does not end with an expression")
    last = ast.Expression(tree.body.pop().value)  # type: ignore[attr-defined]
    names = {**vars(polygrad), "nn": nn, "viz": viz, "np": np, "math": math}
    exec(compile(tree, "<expression>", "exec"), names)
    return eval(compile(last, "<expression>", "eval"), names)


def _tensors(value: Any) -> Any:
    """Yield the tensors in nested containers; a compiled program stands for itself."""
    if isinstance(value, (Tensor, nn.CompiledTrainingStep, TinyJit)):
        yield value
    elif isinstance(value, dict):
        yield from _tensors(list(value.values()))
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _tensors(item)


if __name__ == "__main__":
    sys.exit(main())
