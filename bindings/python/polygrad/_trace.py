"""Tracing: running a function of tensors without computing, to compile it.

While a function is traced, assignments only change the node of the tensor. At the end the changes
become part of the program, and all tensors are restored.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from polygrad._graph import Node, leaf_recorders
from polygrad._live import lazy

if TYPE_CHECKING:
    from polygrad.tensor import Tensor

_state = threading.local()


class JitError(RuntimeError):
    """A function that cannot be captured, or a call that does not match the captured one."""


class Trace:
    """What a traced function does to tensors that exist outside of it."""

    def __init__(self, who: str) -> None:
        self.who = who
        self._before: dict[int, tuple[Tensor, Node]] = {}
        self._gradients: dict[int, tuple[Tensor, Tensor | None]] = {}
        self._memory: dict[Node, Node] = {}

    def __enter__(self) -> Trace:
        """Start tracing in this thread."""
        if active():
            raise JitError(f"{self.who} inside of {_state.trace.who}")
        self._outside = {tensor._node for tensor in lazy()}
        #: The leaves that the function makes: they are no memory of the program.
        self.leaves: set[Node] = set()
        leaf_recorders.append(self.leaves)
        _state.trace = self
        return self

    def __exit__(self, *_: object) -> None:
        """Stop tracing and put all tensors back."""
        _state.trace = None
        leaf_recorders[:] = [r for r in leaf_recorders if r is not self.leaves]
        self.changes = [(leaf, now) for now, leaf in self._memory.items()]
        self.assigned = set(self._before)
        for tensor, before in self._before.values():
            tensor._node = before
        for tensor, grad in self._gradients.values():
            tensor.grad = grad

    def keep(self, tensor: Tensor) -> None:
        """Save the node of a tensor that is older than the trace."""
        node = tensor._node
        if node in self._outside or self._is_memory(node):
            self._before.setdefault(id(tensor), (tensor, node))

    def is_outside(self, node: Node) -> bool:
        """Tell whether a node without value is older than the trace."""
        return node in self._outside

    def _is_memory(self, node: Node) -> bool:
        """Tell whether a node is memory that the function has found."""
        return (node.data is not None or node.is_input) and node not in self.leaves

    def changed(self, before: Node, after: Node) -> None:
        """Record that a node replaces another one."""
        if before in self._memory:
            self._memory[after] = self._memory.pop(before)
        elif self._is_memory(before):
            self._memory[after] = before
        elif before in self._outside:
            raise JitError(
                f"{self.who}: a tensor is assigned that was not computed before the trace"
            )

    def keep_gradient(self, tensor: Tensor) -> None:
        """Remember the gradient that a tensor has before the trace changes it."""
        self._gradients.setdefault(id(tensor), (tensor, tensor.grad))


def active() -> bool:
    """Tell whether this thread traces a function."""
    return getattr(_state, "trace", None) is not None


def keep(tensor: Tensor) -> None:
    """Restore a tensor's node when the trace ends, if there is one."""
    if active():
        _state.trace.keep(tensor)


def changed(before: Node, after: Node) -> None:
    """Tell the trace, if there is one, that a node replaces another one."""
    if active():
        _state.trace.changed(before, after)


def value_needed() -> JitError:
    """Return the error of asking for a value while a function is traced."""
    return JitError(f"a value is needed while {_state.trace.who} traces the function")


def is_outside(node: Node) -> bool:
    """Tell whether a node without value is older than the trace that runs."""
    outside: bool = _state.trace.is_outside(node)
    return outside


def keep_gradient(tensor: Tensor) -> None:
    """Put the gradient of a tensor back when the trace ends, if there is one."""
    if active():
        _state.trace.keep_gradient(tensor)
