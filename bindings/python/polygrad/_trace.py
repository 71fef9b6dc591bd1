"""Tracing: running a function of tensors without computing, to compile what it does.

While a function is traced, assignments are not carried out. The tensor stands for its new value
until the end, when what has changed becomes part of the program and everything is put back.
"""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from polygrad._graph import Node
    from polygrad.tensor import Tensor

_state = threading.local()


class Trace:
    """What a traced function does to tensors that exist outside of it."""

    def __init__(self) -> None:
        self._before: dict[int, tuple[Tensor, Node]] = {}
        self._gradients: dict[int, tuple[Tensor, Tensor | None]] = {}

    def __enter__(self) -> Trace:
        """Start tracing in this thread."""
        if active():
            raise RuntimeError("compile_step inside of compile_step")
        _state.trace = self
        return self

    def __exit__(self, *_: object) -> None:
        """Stop tracing and put all tensors back."""
        _state.trace = None
        self.changes = [(before, t._node) for t, before in self._before.values()]
        for tensor, before in self._before.values():
            tensor._node = before
        for tensor, grad in self._gradients.values():
            tensor.grad = grad

    def change(self, tensor: Tensor, node: Node) -> None:
        """Let a tensor stand for a new value."""
        before = tensor._node
        if id(tensor) not in self._before:
            if before.data is None or before.source or before.origin is not None:
                raise RuntimeError(
                    "compile_step: a tensor is assigned that was not computed before the trace"
                )
            self._before[id(tensor)] = (tensor, before)
        if before.owner is not None:
            node.owner = weakref.ref(tensor)
            node.tracked = True
        tensor._node = node

    def keep_gradient(self, tensor: Tensor) -> None:
        """Remember the gradient that a tensor has before the trace changes it."""
        self._gradients.setdefault(id(tensor), (tensor, tensor.grad))


def active() -> bool:
    """Tell whether this thread traces a function."""
    return getattr(_state, "trace", None) is not None


def change(tensor: Tensor, node: Node) -> None:
    """Let a tensor stand for a new value until the trace ends."""
    _state.trace.change(tensor, node)


def keep_gradient(tensor: Tensor) -> None:
    """Put the gradient of a tensor back when the trace ends, if there is one."""
    if active():
        _state.trace.keep_gradient(tensor)
