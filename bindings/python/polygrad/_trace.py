"""Tracing: running a function of tensors without computing, to compile what it does.

While a function is traced, assignments are not carried out. The tensor stands for its new value
until the end, when what has changed becomes part of the program and everything is put back.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from polygrad._live import lazy

if TYPE_CHECKING:
    from polygrad._graph import Node
    from polygrad.tensor import Tensor

_state = threading.local()


class Trace:
    """What a traced function does to tensors that exist outside of it."""

    def __init__(self) -> None:
        self._before: dict[int, tuple[Tensor, Node]] = {}
        self._gradients: dict[int, tuple[Tensor, Tensor | None]] = {}
        self._memory: dict[Node, Node] = {}

    def __enter__(self) -> Trace:
        """Start tracing in this thread."""
        if active():
            raise RuntimeError("compile_step inside of compile_step")
        self._outside = {tensor._node for tensor in lazy()}
        _state.trace = self
        return self

    def __exit__(self, *_: object) -> None:
        """Stop tracing and put all tensors back."""
        _state.trace = None
        self.changes = [(leaf, now) for now, leaf in self._memory.items()]
        for tensor, before in self._before.values():
            tensor._node = before
        for tensor, grad in self._gradients.values():
            tensor.grad = grad

    def keep(self, tensor: Tensor) -> None:
        """Remember what a tensor stands for before the trace changes it."""
        self._before.setdefault(id(tensor), (tensor, tensor._node))

    def changed(self, before: Node, after: Node) -> None:
        """Note that a node is what another one has become."""
        if before in self._memory:
            self._memory[after] = self._memory.pop(before)
        elif before.data is not None:
            self._memory[after] = before
        elif before in self._outside:
            raise RuntimeError(
                "compile_step: a tensor is assigned that was not computed before the trace"
            )

    def keep_gradient(self, tensor: Tensor) -> None:
        """Remember the gradient that a tensor has before the trace changes it."""
        self._gradients.setdefault(id(tensor), (tensor, tensor.grad))


def active() -> bool:
    """Tell whether this thread traces a function."""
    return getattr(_state, "trace", None) is not None


def keep(tensor: Tensor) -> None:
    """Put back what a tensor stands for when the trace ends, if there is one."""
    if active():
        _state.trace.keep(tensor)


def changed(before: Node, after: Node) -> None:
    """Tell the trace, if there is one, that a node is what another one has become."""
    if active():
        _state.trace.changed(before, after)


def keep_gradient(tensor: Tensor) -> None:
    """Put the gradient of a tensor back when the trace ends, if there is one."""
    if active():
        _state.trace.keep_gradient(tensor)
