"""Functions of tensors as compiled programs: what TinyJit and compile_step stand on."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

import numpy as np

from polygrad import _random
from polygrad._graph import CTX, Node, describe, handles, largest, pointer
from polygrad._library import fail, lib
from polygrad._memory import maker
from polygrad._trace import Trace

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from polygrad.tensor import Tensor

# A run without bindings. What stands behind the declared arguments ctypes passes as it is:
# None and 0, with a third of the time gone.
_run: Any = lib["poly_step_run"]
_run.argtypes = [ctypes.c_void_p]
_run.restype = ctypes.c_int

_run_on: Any = lib["poly_step_run_indexed_ex"]
_run_on.argtypes = [ctypes.c_void_p] * 2 + [ctypes.c_int, ctypes.c_void_p, ctypes.c_int]
_run_on.restype = ctypes.c_int


class VarBinding(ctypes.Structure):
    """PolyVarBinding: a variable and its value."""

    _fields_ = (("var", ctypes.c_void_p), ("value", ctypes.c_int32))


class Traced:
    """The effects of a function while it was traced.

    result   its return value
    changes  its assignments: memory, and the node of its new value
    written  the memory that it assigned
    assigned the ids of the tensors that stand for other values after it
    leaves   the leaves that it made
    seeds    the memory of the seeds of its random tensors
    """

    def __init__(self, function: Callable[[], Any], who: str) -> None:
        with Trace(who) as trace, _random.record_seeds() as seeds:
            self.result = function()
            self.nodes: dict[int, tuple[Any, Node]] = {}
            self._note(self.result)
        self.changes = trace.changes
        self.assigned = trace.assigned
        self.leaves = trace.leaves
        self.written = {before for before, _ in trace.changes}
        self.seeds = seeds

    def _note(self, value: Any) -> None:
        """Remember the nodes of the tensors that are returned: the trace puts tensors back."""
        if hasattr(value, "_node"):
            self.nodes[id(value)] = value, value._node
        elif isinstance(value, dict):
            for item in value.values():
                self._note(item)
        elif isinstance(value, (list, tuple)):
            for item in value:
                self._note(item)

    def node(self, tensor: Tensor) -> Node:
        """Return the node of a returned tensor at the end of the function."""
        return self.nodes[id(tensor)][1]


class Program:
    """Values to compute and memory to change, compiled once.

    The values are written to arrays, by default the same in each run. If inputs are given, only
    their memory, that of seeds and changed memory may differ from run to run: values that depend
    on none of it are computed once.
    """

    def __init__(
        self,
        values: Sequence[Node],
        changes: Sequence[tuple[Node, Node]],
        seeds: list[_random.Seed],
        inputs: Sequence[Node] | None = None,
    ) -> None:
        self.values = list(values)
        # The program works on the memory of these nodes.
        self._alive = (self.values, changes)
        self._seeds = seeds
        self._rooms = [maker(largest(s), d.storage) for s, d in map(describe, self.values)]
        self.arrays = self.room()
        self.nbytes = sum(array.nbytes for array in self.arrays)
        for array in self.arrays:
            array[...] = 0
        n = len(self.arrays)
        memory = (ctypes.c_void_p * n)(*[pointer(a) for a in self.arrays])
        asked = (
            CTX,
            handles(self.values),
            memory,
            n,
            handles(before for before, _ in changes),
            handles(after for _, after in changes),
            len(changes),
        )
        if inputs is None:
            self._handle = lib.poly_compile_update(*asked)
        else:
            given = [*inputs, *(seed for seed, _ in seeds)]
            self._handle = lib.poly_compile_update_pruned(*asked, handles(given), len(given))
        if self._handle is None:
            fail(RuntimeError)

    def __del__(self, _destroy: Any = lib.poly_step_destroy) -> None:
        if getattr(self, "_handle", None):
            _destroy(self._handle)

    def room(self) -> list[np.ndarray[Any, Any]]:
        """Return new arrays for the values."""
        return [make() for make in self._rooms]

    def renew(self) -> None:
        """Give the random tensors of the next run new seeds."""
        if self._seeds:
            _random.renew(self._seeds)

    def run(self) -> None:
        """Run with the inputs given when the program was made."""
        if _run(self._handle, None, 0) != 0:
            fail(RuntimeError)

    def run_on(self, memory: Any, n: int, variables: Any, count: int) -> None:
        """Run on other memory, by the indices of buffers, with other values of variables."""
        if _run_on(self._handle, memory, n, variables, count) != 0:
            fail(RuntimeError)

    def index_of(self, node: Node) -> int:
        """Return the index of the buffer of a node, -1 if the program does not use it."""
        index: int = lib.poly_step_buf_index(self._handle, node.handle)
        return index

    def index_of_value(self, i: int) -> int:
        """Return the index of the buffer that a value is written to, -1 if it is empty."""
        index: int = lib.poly_step_value_index(self._handle, i)
        return index

    @property
    def n_buffers(self) -> int:
        """The number of buffers that have an index."""
        count: int = lib.poly_step_n_bindable_buffers(self._handle)
        return count

    @property
    def n_kernels(self) -> int:
        """The number of compiled kernels."""
        count: int = lib.poly_step_n_kernels(self._handle)
        return count

    @property
    def n_intermediates(self) -> int:
        """The number of intermediate buffers."""
        count: int = lib.poly_step_n_intermediates(self._handle)
        return count
