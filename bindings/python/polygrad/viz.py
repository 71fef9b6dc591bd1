"""Show how tensors are computed: graphs, kernels, their code and their times.

>>> from polygrad import Tensor, viz
>>> x = Tensor([[1.0, 2.0], [3.0, 4.0]])
>>> print(viz.graph((x * 2).sum(1)))
RESHAPE float32 (2)
└─ REDUCE_AXIS ADD(1) float32 (2,1)
   └─ MUL float32 (2,2)
      ├─ RESHAPE float32 (2,2)
      │  └─ BUFFER float32 (4)
      └─ 2.0 float32 (2,2)
<BLANKLINE>
>>> profile = viz.profile((x * 2).sum(1))
>>> [kernel.writes for kernel in profile.kernels], [b.role for b in profile.buffers]
([(0,)], ['output', 'input'])

The same from a shell: python -m polygrad "Tensor.rand(64, 64) @ Tensor.rand(64, 64)".
"""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polygrad import _prototypes as c
from polygrad._base import handle_of
from polygrad._graph import CTX, Node, pointers
from polygrad._library import ArgumentTypeError, caller, lib, need, taken, wrong
from polygrad.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Buffer", "Kernel", "Profile", "View", "graph", "kernels", "profile", "save"]

FORMATS = {
    "text": c.POLY_VIEW_TEXT,
    "json": c.POLY_VIEW_JSON,
    "dot": c.POLY_VIEW_DOT,
    "svg": c.POLY_VIEW_SVG,
    "code": c.POLY_VIEW_CODE,
}


class View(str):
    """A text for printing; a notebook draws it if it is an SVG."""

    kind: str

    def __new__(cls, text: str, format: str) -> View:
        """Make the view of a text in one of FORMATS."""
        self = super().__new__(cls, text)
        self.kind = format
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the arguments from which pickle and copy rebuild the view."""
        return View, (str(self), self.kind)

    def _repr_html_(self) -> str | None:
        return str(self) if self.kind == "svg" else None

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))


@dataclass(frozen=True)
class Buffer:
    """Memory that kernels work on; role is "input", "output", "updated" or "temporary"."""

    role: str
    dtype: str
    shape: tuple[int, ...]
    bytes: int


@dataclass(frozen=True)
class Kernel:
    """One kernel.

    reads and writes are indices of buffers; flops and bytes estimate the arithmetic and the memory
    traffic of one run; seconds is the fastest run; graph is its computation, code its generated
    code in language.
    """

    name: str
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    flops: int
    bytes: int
    seconds: float
    mean_seconds: float
    graph: str
    language: str
    code: str


@dataclass(frozen=True)
class Profile:
    """The kernels of a computation, in the order in which they run; prints as tables."""

    device: str
    kernels: tuple[Kernel, ...]
    buffers: tuple[Buffer, ...]
    runs: int
    compile_seconds: float
    temporary_bytes: int
    text: str

    @property
    def seconds(self) -> float:
        """The sum of the fastest runs of all kernels."""
        return sum(kernel.seconds for kernel in self.kernels)

    @property
    def flops(self) -> int:
        """The arithmetic operations of all kernels."""
        return sum(kernel.flops for kernel in self.kernels)

    def __repr__(self) -> str:
        return self.text


def graph(*tensors: Tensor, format: str = "text") -> View:
    """Return the graph by which tensors are computed.

    format is "text" (a tree), "dot" (for Graphviz), "svg" (a picture, of up to 3000 nodes),
    "json" (nodes and their sources) or "code" (all nodes, one a line).

    >>> view = viz.graph(Tensor([1.0]) + Tensor([2.0]), format="dot")
    >>> view.splitlines()[0]
    'digraph {'
    """
    nodes = _nodes("tensors", tensors)
    number = _number(format)
    return View(
        taken(lib.poly_view_graph(CTX, _handles(nodes), len(nodes), number)).decode(), format
    )


def kernels(*what: Any, runs: int = 0, format: str = "text") -> View:
    """Return the kernels of tensors, a compiled step or a TinyJit.

    They are compiled anew and, with runs, run and timed that often; memory is restored.
    format is "text" (tables), "dot" or "svg" (the dependences of kernels and buffers),
    "json", or "code" (the graph of each kernel, and its machine code).

    >>> print(viz.kernels(Tensor([1.0]) + Tensor([2.0])).splitlines()[0].partition(" on ")[0])
    1 kernel
    """
    number = _number(format)
    function = _function(what)
    if function is not None:
        text = taken(lib.poly_view_function(function._handle, runs, number))
        return View(text.decode(), format)
    nodes = _nodes("what", what)
    address = lib.poly_view_kernels(CTX, _handles(nodes), len(nodes), None, None, 0, runs, number)
    return View(taken(address).decode(), format)


def profile(*what: Any, runs: int = 20) -> Profile:
    """Time each kernel of tensors, a compiled step or a TinyJit.

    >>> print(viz.profile(Tensor.rand(64, 64) @ Tensor.rand(64, 64)))  # doctest: +SKIP
    3 kernels on native, 32 KiB of temporaries, compiled in 9.51 ms
    <BLANKLINE>
    #  kernel       reads  writes        work  memory  calls     time     mean  share  GFLOP/s  GB/s
    0  E_512_4_2    b1     b3       1.1 MFLOP  16 KiB     20  3.10 µs  3.32 µs   31 %      355  5.29
    ...
    """
    records = json.loads(kernels(*what, runs=runs, format="json"))
    records["kernels"] = tuple(
        Kernel(**{**k, "reads": tuple(k["reads"]), "writes": tuple(k["writes"])})
        for k in records["kernels"]
    )
    records["buffers"] = tuple(
        Buffer(**{**b, "shape": tuple(b["shape"])}) for b in records["buffers"]
    )
    return Profile(**{field.name: records[field.name] for field in fields(Profile)})


def save(path: str | Path, *tensors: Tensor) -> None:
    """Write the graph of tensors to a file: .svg, .dot, .json or .txt.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     viz.save(f"{folder}/sum.svg", Tensor([1.0, 2.0]).sum())
    """
    path = Path(need((str, PathLike), "path", path, "a path"))
    names = {".svg": "svg", ".dot": "dot", ".gv": "dot", ".json": "json", ".txt": "text"}
    if path.suffix not in names:
        raise wrong("path", repr(str(path)), f"a name with {', '.join(names)}")
    path.write_text(graph(*tensors, format=names[path.suffix]), encoding="utf-8")


def _number(format: str) -> int:
    if format not in list(FORMATS):
        raise wrong("format", repr(format), f"one of {', '.join(FORMATS)}")
    return FORMATS[format]


def _nodes(argument: str, tensors: Sequence[Any]) -> list[Node]:
    """Return the nodes of tensors; for a computed tensor the node it was computed from."""
    if not tensors:
        raise wrong(argument, "none", "at least one", ArgumentTypeError)
    return [Node(lib.poly_array_origin(handle_of(t, argument))) for t in tensors]


def _handles(nodes: Sequence[Node]) -> Any:
    return pointers([node.handle for node in nodes])


def _function(what: Sequence[Any]) -> Any:
    """Return the compiled function of a step or a TinyJit, None for tensors."""
    if len(what) != 1 or isinstance(what[0], Tensor):
        return None
    compiled = getattr(what[0], "captured", what[0])  # of a TinyJit
    if compiled is None and what[0] is not None:
        raise ValueError(f"{caller()}: the TinyJit has no program before its second call")
    return getattr(compiled, "_function", None)
