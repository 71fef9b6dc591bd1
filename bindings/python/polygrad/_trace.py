"""Tracing: a function of tensors is called on placeholders, and its graph is compiled."""

from __future__ import annotations

import traceback
from collections import Counter
from contextlib import contextmanager
from ctypes import byref, c_int, c_void_p
from typing import TYPE_CHECKING, Any

from polygrad._base import handles, made, release_dead
from polygrad._graph import CTX, pointers
from polygrad._library import JitError, check, fail, lib

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from polygrad.tensor import Tensor

_running: list[str] = []
_expressions = 0

_run = lib.poly_function_run


def active() -> bool:
    """Return whether a function is being traced."""
    return bool(_running)


@contextmanager
def expressing() -> Iterator[None]:
    """Mark the traced function as one that becomes an expression: see polygrad.func."""
    global _expressions
    _expressions += 1
    try:
        yield
    finally:
        _expressions -= 1


def expressed() -> bool:
    """Return whether a function is being traced to an expression."""
    return _expressions > 0


def endless(who: str, error: RecursionError) -> JitError:
    """Return the error of a traced function with endless recursion."""
    frames = (frame for frame, _ in traceback.walk_tb(error.__traceback__))
    users = (f for f in frames if not f.f_globals.get("__name__", "").startswith("polygrad."))
    names = Counter(f.f_code.co_name for f in users)
    name = names.most_common(1)[0][0] if names else "the function"
    return JitError(
        f"{who}: {name} calls itself without an end: what depends on a tensor ends nothing while "
        "a function is traced; use lax.while_loop, lax.fori_loop or lax.scan"
    )


class Program:
    """The base of objects with a compiled function."""

    _function: Function

    @property
    def n_kernels(self) -> int:
        """The number of kernels that a run launches."""
        return self._function.counts()[0]

    @property
    def n_intermediates(self) -> int:
        """The number of buffers between the kernels."""
        return self._function.counts()[1]


class Function:
    """A compiled function; it runs on the device of its arguments and of the tensors it uses.

    flags are POLY_TRACE_PRUNE and POLY_TRACE_FIXED.
    """

    def __init__(
        self,
        who: str,
        function: Callable[[], tuple[Any, Sequence[Tensor]]],
        arguments: Sequence[Tensor],
        flags: int,
        kind: type[Exception] = JitError,
    ) -> None:
        """Trace a function, which returns anything and the tensors among its results."""
        self._handle, self._who = None, who
        if _running:
            raise JitError(f"{who} inside of {_running[0]}")
        n = len(arguments)
        given = (c_void_p * n)()
        release_dead()
        check(lib.poly_trace_begin(CTX, who.encode(), handles(arguments), n, given), JitError, who)
        _running.append(who)
        from polygrad.tensor import Tensor  # imports this module

        before = [t._handle for t in arguments]
        for tensor, handle in zip(arguments, given):
            tensor._handle = handle
        try:
            #: What the function returned.
            self.result, tensors = function()
            self.results = len(tensors)
            made_of = lib.poly_trace_end(CTX, handles(tensors), len(tensors), flags)
            self._handle = check(made_of, kind, who)
            same = [lib.poly_function_result(self._handle, i) for i in range(self.results)]
            #: The results that are the same in each run, None for others.
            self.same = [None if h is None else made(Tensor, h) for h in same]
        except BaseException as error:
            lib.poly_trace_abandon(CTX)
            if isinstance(error, RecursionError):
                raise endless(who, error) from error
            raise
        finally:
            _running.pop()
            for tensor, handle in zip(arguments, before):
                tensor._handle = handle
            lib.poly_array_release_n(given, n)

    def __del__(self, _release: Any = lib.poly_function_release) -> None:
        if self._handle is not None:
            _release(self._handle)

    def run(
        self, cls: type[Tensor], arguments: Sequence[Tensor], variables: Any, count: int
    ) -> list[Tensor]:
        """Run the program and return the tensors of its results."""
        n = self.results
        out = pointers([0] * n)
        given = handles(arguments)
        release_dead()
        if _run(self._handle, given, len(arguments), variables, count, out, n) < 0:
            fail(JitError, self._who)
        return [made(cls, handle) for handle in out]

    def counts(self) -> tuple[int, int]:
        """Return the numbers of kernels and of buffers between them."""
        kernels, between = c_int(), c_int()
        known = lib.poly_function_info(self._handle, None, byref(kernels), byref(between))
        check(known, who=self._who)
        return kernels.value, between.value
