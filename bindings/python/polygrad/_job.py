"""Computations in the background."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from polygrad._base import Base, handles, release_dead
from polygrad._graph import CTX
from polygrad._library import check, in_words, last_error, lib, need, number, wrong

if TYPE_CHECKING:
    from collections.abc import Sequence


class Job:
    """Tensors that are being computed, as Tensor.realize_async returns it.

    Jobs run one after the other. Until a job has ended, arrays that share memory with its tensors
    must not be changed; tensors may be written at any time.

    >>> x = Tensor([1.0, 2.0]) * 3
    >>> job = x.realize_async()
    >>> job.wait()
    True
    >>> x.tolist()
    [3.0, 6.0]
    """

    def __init__(self, tensors: Sequence[Base]) -> None:
        need((list, tuple), "tensors", tensors, "a list of tensors")
        release_dead()
        self._error = ""
        self._ended = False
        given = handles(tensors, "others")
        self._handle = check(lib.poly_array_realize_async(CTX, given, len(tensors)), RuntimeError)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the end, at most for timeout seconds; return whether the job has ended.

        Several threads may wait. A job that fails raises its error for each of them.
        """
        seconds = -1e-3 if timeout is None else max(number("timeout", timeout), 0.0)
        if not seconds < 2**50:
            raise wrong("timeout", timeout, "None or a number of seconds")
        milliseconds = int(seconds * 1000)
        if not self._ended:
            status = lib.poly_job_wait(self._handle, milliseconds)
            if status == 1:
                return False
            if status != 0:
                self._error = in_words(last_error() or "the library reported no error")
            self._ended = True
        if self._error:
            raise RuntimeError(self._error)
        return True

    def done(self) -> bool:
        """Return whether the job has ended."""
        return self.wait(0)

    def __del__(self, _release: Any = lib.poly_job_release) -> None:
        if getattr(self, "_handle", None) is not None:
            _release(self._handle)
