"""Computations that go on beside Python."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from polygrad._graph import CTX, Node, computed, handles, pointer, pointers, room
from polygrad._library import fail, last_error, lib

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polygrad.tensor import Tensor


class Job:
    """Tensors that are being computed, as Tensor.realize_async returns it.

    Jobs run one after the other. Until one has ended, the arrays that its tensors were made of
    must not be changed.

    >>> x = Tensor([1.0, 2.0]) * 3
    >>> job = x.realize_async()
    >>> job.wait()
    True
    >>> x.tolist()
    [3.0, 6.0]
    """

    def __init__(self, todo: dict[Node, list[Tensor]]) -> None:
        self._handle: int | None = None
        self._error = ""
        self._ending = threading.Lock()
        self._todo = todo
        self._nodes: Sequence[Node] = list(todo)
        self._arrays = room(self._nodes)
        self._out = pointers([0] * len(self._nodes))
        if not todo:
            return
        memory = pointers([pointer(a) for a in self._arrays])
        self._handle = lib.poly_realize_async(
            CTX, handles(self._nodes), memory, len(self._nodes), self._out
        )
        if self._handle is None:
            fail(RuntimeError)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the end, at most for some seconds, and tell whether it has come.

        Several threads may wait. A job that fails raises its error for each of them.
        """
        handle = self._handle
        if handle is not None:
            milliseconds = -1 if timeout is None else max(0, int(timeout * 1000))
            status = lib.poly_job_wait(handle, milliseconds)
            if status == 1:
                return False
            with self._ending:
                if self._handle is not None:  # else another thread was first, and status is its
                    self._finish(status)
        if self._error:
            raise RuntimeError(self._error)
        return True

    def _finish(self, status: int) -> None:
        """Give the tensors their values, or keep the error."""
        if status != 0:
            self._error = last_error() or "the library reported no error"
        made = computed(self._nodes, self._arrays, self._out)
        if status == 0:
            for node, leaf in zip(self._nodes, made):
                for tensor in self._todo[node]:
                    if tensor._node is node:
                        tensor._node = leaf
        self._end()

    def done(self) -> bool:
        """Tell whether the values are there."""
        return self.wait(0)

    def _end(self) -> None:
        handle, self._handle = self._handle, None
        lib.poly_job_release(handle)

    def __del__(self) -> None:
        # The job writes to arrays of its own.
        if self._handle is not None:
            lib.poly_job_wait(self._handle, -1)
            computed(self._nodes, self._arrays, self._out)
            self._end()
