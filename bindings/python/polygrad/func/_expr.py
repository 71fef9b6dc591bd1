"""Expressions: functions of tensors as graphs of the library."""

from __future__ import annotations

import itertools
import re
from ctypes import byref, c_int, c_int64, c_void_p
from typing import TYPE_CHECKING, Any, Callable, NamedTuple, NoReturn

from polygrad import _trace
from polygrad._base import handles, made, release_dead
from polygrad._graph import CTX, pointers
from polygrad._library import ArgumentError, JitError, c_text, last_error, lib, taken
from polygrad.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Sequence

_NONE = -1


class BatchRule(NamedTuple):
    """A batching rule: compute(size, batched, tensors) computes a function for a whole batch.

    It returns the results, and which of them are batched. names are the paths of the tensors.
    """

    compute: Callable[[int, list[bool], list[Tensor]], tuple[list[Tensor], list[bool]]]
    names: list[str]


#: A stack with one dict for each function being traced: the batching rules it has used, by number.
_used: list[dict[int, BatchRule]] = []
_numbers = itertools.count()


class DERIVE:
    """The derivatives of an expression, as the C interface numbers them."""

    JVP, VJP, GRAD, JACFWD, JACREV = range(5)
    TRANSPOSE = 8
    HOLOMORPHIC = 3  # added to GRAD, JACFWD and JACREV for holomorphic functions


# Python's names of functions that messages of the library name.
_OWN = {"JVP": "jvp", "Scan": "scan", "ForLoop": "fori_loop"}


def _fail(who: str, names: Sequence[str] = ()) -> NoReturn:
    """Raise the last error of the library as an error of the function who."""
    text = re.sub(r"^poly_\w+: (?:(?:f|args|results|length|size|x|axis): )?", "", last_error())
    text = re.sub(
        r"\bargument (\d+)\b",
        lambda m: names[int(m[1])] if int(m[1]) < len(names) else m[0],
        text,
    )
    text = re.sub(r"\b(?:JVP|Scan|ForLoop)\b", lambda m: _OWN[m[0]], text)
    kind = JitError if "trace" in text else ArgumentError
    raise kind(f"{who}: {text}")


def _ints(values: Sequence[int | None]) -> Any:
    return (c_int * len(values))(*(_NONE if v is None else v for v in values))


def trace(
    who: str,
    tensors: list[Tensor],
    axes: list[int | None] | None,
    call: Callable[[list[Tensor]], list[Tensor]],
    names: list[str],
    axis: tuple[str, int] | None = None,
) -> Expr:
    """Trace a function: call it on placeholders for tensors, whose shapes lack the batch axes.

    axis is the name of the batch axis, and its size, -1 to take it from the tensors.
    """
    n = len(tensors)
    given = (c_void_p * n)()
    at = None if axes is None else _ints(axes)
    release_dead()
    if lib.poly_expr_begin(CTX, who.encode(), handles(tensors), n, at, given) != 0:
        _fail(who, names)
    if axis is not None and lib.poly_expr_axis(CTX, c_text("axis_name", axis[0]), axis[1]) != 0:
        try:
            _fail(who, names)
        finally:
            lib.poly_expr_abandon(CTX)
    return _called(who, given, call, names)


def _called(
    who: str, given: Any, call: Callable[[list[Tensor]], list[Tensor]], names: list[str]
) -> Expr:
    """Complete a trace that has begun: call the function on the placeholders given."""
    rules: dict[int, BatchRule] = {}
    _used.append(rules)
    try:
        with _trace.expressing():
            results = call([made(Tensor, h) for h in given])
            ndims = [len(r.shape) for r in results]
        handle = lib.poly_expr_end(CTX, handles(results), len(results))
    except BaseException as error:
        lib.poly_expr_abandon(CTX)
        if isinstance(error, RecursionError):
            raise _trace.endless(who, error) from error
        raise
    finally:
        _used.pop()
        if _used:
            _used[-1].update(rules)
    return Expr(who, handle, names, ndims, rules)


def along(who: str, operation: str, axis: str, x: Tensor) -> Tensor:
    """Apply a collective operation along the named axis of a batch."""
    release_dead()
    handle = lib.poly_expr_along(x._handle, operation.encode(), c_text("axis_name", axis))
    if handle is None:
        _fail(who)
    return made(Tensor, handle)


class Expr:
    """A function of tensors as a graph, which can be transformed and applied."""

    def __init__(
        self,
        who: str,
        handle: int | None,
        names: list[str],
        ndims: Sequence[int] = (),
        rules: dict[int, BatchRule] | None = None,
    ) -> None:
        self._handle = handle
        if handle is None:
            _fail(who, names)
        self.who, self._names, self._ndims, self._rules = who, names, ndims, rules
        outputs = c_int()
        if lib.poly_expr_info(handle, None, byref(outputs)) != 0:
            _fail(who)
        self._outputs = outputs.value

    def __del__(self, _release: Any = lib.poly_expr_release) -> None:
        if self._handle is not None:
            _release(self._handle)

    def _made(self, handle: int | None) -> Expr:
        return Expr(self.who, handle, self._names, rules=self._rules)

    def _transformed(self, transform: Callable[..., int | None], *how: Any) -> Expr:
        """Transform the function, again with more batching rules until none is missing."""
        found = self._made(transform(self._handle, *how))
        while self._rules and self._add_rule():
            while self._add_rule():
                pass
            found = self._made(transform(self._handle, *how))
        return found

    def _add_rule(self) -> bool:
        """Trace and add the next missing batching rule; return False if none is missing."""
        rules = self._rules or {}
        room = max(len(rule.names) for rule in rules.values())
        number, size, given = c_int64(), c_int64(), (c_void_p * room)()
        flags = (c_int * room)()
        who, head = "custom_vmap", (byref(number), byref(size), flags, given, room)
        n = lib.poly_expr_begin_rule(self._handle, who.encode(), *head)
        if n < 0:
            _fail(who)
        if n == 0:
            return False
        rule, batched = rules[number.value], [f != 0 for f in flags[:n]]

        def call(stand: list[Tensor]) -> list[Tensor]:
            results, self._batched = rule.compute(size.value, batched, stand)
            return results

        expr = _called(who, given[:n], call, rule.names)
        rules.update(expr._rules or {})
        out = self._batched
        if lib.poly_expr_add_rule(self._handle, expr._handle, _ints(out), len(out)) != 0:
            _fail(who)
        return True

    def derive(self, derivative: int, of: list[int]) -> Expr:
        """Return a derivative with respect to some inputs: see PolyDerivative in polygrad.h."""
        return self._transformed(lib.poly_expr_derive, derivative, _ints(of), len(of))

    def batch(self, size: int | None, in_axes: list[int | None], out_axes: list[Any]) -> Expr:
        """Return the function mapped over a batch; size is None to take it from the inputs."""
        for i, (axis, ndim) in enumerate(zip(out_axes, self._ndims)):
            if axis is None:
                continue
            if not isinstance(axis, int) or not -ndim - 1 <= axis <= ndim:
                raise ArgumentError(f"vmap: out_axes: {axis!r}, expected {-ndim - 1} to {ndim}")
            out_axes[i] = axis % (ndim + 1)
        n, m = len(in_axes), len(out_axes)
        count = _NONE if size is None else size
        return self._transformed(lib.poly_expr_batch, count, _ints(in_axes), n, _ints(out_axes), m)

    def apply(self, tensors: list[Tensor]) -> list[Tensor]:
        """Apply the function to tensors, which must have the types and shapes of its inputs."""
        return self._run(lib.poly_expr_apply, (), tensors)

    def scan(self, carried: int, length: int, reverse: bool, tensors: list[Tensor]) -> list[Tensor]:
        """Return the final carry of a loop over sequences, and the stacked outputs of its steps."""
        return self._run(lib.poly_expr_scan, (carried, length, int(reverse)), tensors)

    def associative_scan(self, reverse: bool, tensors: list[Tensor]) -> list[Tensor]:
        """Return the prefix scan of sequences, with this expression as the operator."""
        return self._run(lib.poly_expr_associative_scan, (int(reverse),), tensors)

    def loop(self, tensors: list[Tensor]) -> list[Tensor]:
        """Return the final carry of a loop that runs while the last output is true."""
        return self._run(lib.poly_expr_while, (), tensors)

    def switch(self, branches: int, tensors: list[Tensor]) -> list[Tensor]:
        """Return the outputs of one branch; the first tensor is its number."""
        return self._run(lib.poly_expr_switch, (branches,), tensors)

    def select(self, outputs: list[int]) -> Expr:
        """Return the expression with some of the outputs only."""
        return self._made(lib.poly_expr_select(self._handle, _ints(outputs), len(outputs)))

    def checkpoint(self, policy: str | None, tensors: list[Tensor]) -> list[Tensor]:
        """Return the outputs; derivatives recompute intermediate values, as policy says."""
        name = None if policy is None else c_text("policy", policy)
        return self._run(lib.poly_expr_checkpoint, (name,), tensors)

    def custom_jvp(self, tangent: Expr, tensors: list[Tensor]) -> list[Tensor]:
        """Return the outputs; another expression computes their tangents."""
        return self._run(lib.poly_expr_custom_jvp, (tangent._handle,), tensors)

    def custom_vjp(self, forward: Expr, backward: Expr, tensors: list[Tensor]) -> list[Tensor]:
        """Return the outputs; the expressions forward and backward compute their gradients."""
        how = (forward._handle, backward._handle)
        return self._run(lib.poly_expr_custom_vjp, how, tensors)

    def custom_vmap(self, rule: BatchRule, tensors: list[Tensor]) -> list[Tensor]:
        """Return the outputs; for a batch the rule computes them."""
        number = next(_numbers)
        if _used:  # outside of a trace nothing can batch them
            _used[-1][number] = rule
        return self._run(lib.poly_expr_custom_vmap, (number,), tensors)

    def __str__(self) -> str:
        return taken(lib.poly_expr_text(self._handle)).decode()

    def _run(
        self, run: Callable[..., int], how: tuple[Any, ...], given: list[Tensor]
    ) -> list[Tensor]:
        room = self._outputs
        out = pointers([0] * room)
        release_dead()
        n = run(self._handle, *how, handles(given), len(given), out, room)
        if n < 0:
            _fail(self.who, self._names)
        return [made(Tensor, handle) for handle in out[:n]]
