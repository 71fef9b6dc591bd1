"""Functions with custom differentiation or batching rules: custom_jvp and others, checkpoint."""

from __future__ import annotations

import functools
import inspect
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from polygrad._library import ArgumentError
from polygrad.func._expr import BatchRule, trace
from polygrad.func._traced import Function, Traced, fit, leaves_like, need_function, numbers_of
from polygrad.func._trees import flatten
from polygrad.tensor import Tensor

if TYPE_CHECKING:
    from polygrad.func._trees import Structure

#: Policies of checkpoint: which intermediate values are stored besides the arguments.
checkpoint_policies = SimpleNamespace(
    nothing_saveable="nothing_saveable",
    dots_saveable="dots_saveable",
    checkpoint_dots="dots_saveable",
    everything_saveable="everything_saveable",
)


def checkpoint(
    f: Function | None = None, *, policy: str | None = None, static_argnums: Any = ()
) -> Any:
    """Return f, whose derivatives recompute intermediate values instead of storing them.

    The arguments are stored and, depending on policy (see checkpoint_policies), nothing else,
    the results of matrix products and convolutions, or everything, as without checkpoint. The
    arguments static_argnums are not traced. It is a decorator, too.

    >>> from polygrad.func import checkpoint, grad
    >>> grad(checkpoint(lambda x: x.sin().sin()))(0.0).item()
    1.0
    """
    if f is None:
        return functools.partial(checkpoint, policy=policy, static_argnums=static_argnums)
    need_function("checkpoint", f)

    @functools.wraps(f)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        static = set(numbers_of("checkpoint", static_argnums, len(args), "static_argnums"))
        by = set(range(len(args))) - static
        t = Traced("checkpoint", f, args, kwargs, by=by)
        return t.out.build(t.expr.checkpoint(policy, t.tensors))

    return wrapped


_DEEPEST = 3


class _Ruled:
    """A function with a rule, which is defined later. The rule gets positional arguments."""

    who = ""
    # The nesting depth of traced calls. A rule may call its function, so that higher derivatives
    # use the rule, too; at depth _DEEPEST the plain function is called instead.
    _depth = 0
    _call: Function

    def __init__(self, f: Function, nondiff_argnums: Any = ()) -> None:
        need_function(self.who, f)
        self.f = f
        self._fixed = nondiff_argnums
        functools.update_wrapper(self, f)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function."""
        if self._depth == _DEEPEST:
            return self.f(*args, **kwargs)
        self._depth += 1
        try:
            return self._call(*args, **kwargs)
        finally:
            self._depth -= 1

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def _arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the differentiated arguments, the fixed ones, and a wrapper that adds these."""
        try:
            bound = inspect.signature(self.f).bind(*args, **kwargs)
        except ValueError:  # a function without a signature, implemented in C
            bound = None
        if bound is not None:
            bound.apply_defaults()
            args, kwargs = bound.args, bound.kwargs
        if kwargs:
            raise ArgumentError(f"{self.who}: {next(iter(kwargs))} is given by name only")
        fixed = numbers_of(self.who, self._fixed, len(args), "nondiff_argnums")
        given = tuple(a for i, a in enumerate(args) if i not in fixed)

        def whole(f: Function) -> Function:
            def call(*given: Any) -> Any:
                rest = iter(given)
                return f(*(a if i in fixed else next(rest) for i, a in enumerate(args)))

            return call

        return given, [args[i] for i in sorted(fixed)], whole


class custom_jvp(_Ruled):
    """A function with a custom rule for its tangents, set by defjvp; both modes use it.

    The rule gets a tuple of primals and a tuple of tangents, and returns the result and its
    tangent, which must be linear in the tangents. Arguments nondiff_argnums are passed unchanged,
    as first arguments of the rule.

    >>> from polygrad.func import custom_jvp, grad
    >>> @custom_jvp
    ... def f(x):
    ...     return x.sin()
    >>> @f.defjvp
    ... def f_jvp(primals, tangents):
    ...     return f(*primals), 10 * tangents[0]
    >>> grad(f)(0.0).item()
    10.0
    """

    who = "custom_jvp"
    _rule: Function | None = None

    def defjvp(self, rule: Function) -> Function:
        """Set the rule."""
        need_function(self.who, rule)
        self._rule = rule
        return rule

    def defjvps(self, *rules: Function | None) -> None:
        """Set a rule for each argument: a function of its tangent, the result and the arguments."""

        def rule(*given: Any) -> Any:
            *fixed, primals, tangents = given
            result = self(*fixed, *primals)
            parts = [r(t, result, *primals) for r, t in zip(rules, tangents) if r is not None]
            return result, functools.reduce(lambda a, b: a + b, parts)

        self._rule = rule

    def _call(self, *args: Any, **kwargs: Any) -> Any:
        if self._rule is None:
            raise ArgumentError(f"{self.who}: no rule is stated: see defjvp")
        given, fixed, whole = self._arguments(args, kwargs)
        t = Traced(self.who, whole(self.f), given, {})
        by = [k for k, x in enumerate(t.tensors) if x.dtype.differentiable]
        n, rule = len(t.tensors), self._rule

        def tangent(stand: list[Tensor]) -> list[Tensor]:
            primals, moving = stand[:n], dict(zip(by, stand[n:]))
            leaves = [moving.get(k) for k in range(n)]
            changes = [x if c is None else c for x, c in zip(map(_zeros, primals), leaves)]
            out = rule(*fixed, t.trees(primals), t.trees(changes))
            if not (isinstance(out, tuple) and len(out) == 2):
                raise ArgumentError(f"{self.who}: the rule returns no pair of result and tangent")
            found = leaves_like(out[1], t.out, self.who, "the tangent", "the result")
            names = t.out.paths("the tangent of the result")
            return [
                fit(self.who, x, r, name)
                for x, r, name in zip(found, t.results, names)
                if r.dtype.differentiable
            ]

        inputs = [*t.tensors, *(t.tensors[k] for k in by)]
        expr = trace(self.who, inputs, None, tangent, t.names)
        return t.out.build(t.expr.custom_jvp(expr, t.tensors))


def _zeros(x: Tensor) -> Tensor:
    return Tensor.zeros(*x.shape, dtype=x.dtype)


class custom_vjp(_Ruled):
    """A function with custom rules for its gradients, set by defvjp.

    The first rule, fwd, gets the arguments and returns the result and residuals; the second, bwd,
    gets the residuals and a cotangent of the result, and returns a tuple of gradients, one for
    each argument, with None for zero. Arguments nondiff_argnums are passed unchanged, as first
    arguments of bwd. Forward mode uses the transpose of bwd, linearized at a cotangent of 0.

    >>> from polygrad.func import custom_vjp, grad
    >>> @custom_vjp
    ... def clipped(x):  # a gradient of 1 at most
    ...     return x
    >>> clipped.defvjp(lambda x: (x, None), lambda _, g: (g.clamp(-1, 1),))
    >>> grad(lambda x: clipped(x) ** 2)(3.0).item()
    1.0
    """

    who = "custom_vjp"
    _rules: tuple[Function, Function] | None = None

    def defvjp(self, fwd: Function, bwd: Function) -> None:
        """Set the rules."""
        need_function(self.who, fwd)
        need_function(self.who, bwd)
        self._rules = (fwd, bwd)

    def _call(self, *args: Any, **kwargs: Any) -> Any:
        if self._rules is None:
            raise ArgumentError(f"{self.who}: no rules are stated: see defvjp")
        fwd, bwd = self._rules
        given, fixed, whole = self._arguments(args, kwargs)
        t = Traced(self.who, whole(self.f), given, {})

        def pair(*given: Any) -> Any:
            out = whole(fwd)(*given)
            if not (isinstance(out, tuple) and len(out) == 2):
                raise ArgumentError(f"{self.who}: fwd returns no pair of a result and residuals")
            leaves_like(out[0], t.out, self.who, "the result of fwd", "that of the function")
            return out

        forward = Traced(self.who, pair, given, {})
        found = forward.apply(forward.expr)
        n, structure = t.out.size, forward.out.children[1]
        residuals, outs = found[n:], found[:n]
        m = len(residuals)

        def backward(stand: list[Tensor]) -> list[Tensor]:
            grads = bwd(*fixed, structure.build(stand[:m]), t.out.build(stand[m:]))
            if not isinstance(grads, (tuple, list)) or len(grads) != len(given):
                raise ArgumentError(
                    f"{self.who}: bwd returns {grads!r}, expected a tuple of {len(given)} "
                    "gradients, one for each argument"
                )
            leaves: list[Any] = []
            for i, (g, s) in enumerate(zip(grads, t.structures)):
                leaves += _gradients(g, s, f"{self.who}: gradient {i}")
            return [
                _zeros(x) if g is None else fit(self.who, g, x, f"the gradient of {name}")
                for g, x, name in zip(leaves, t.tensors, t.names)
                if x.dtype.differentiable
            ]

        expr = trace(self.who, [*residuals, *outs], None, backward, t.names)
        return t.out.build(t.expr.custom_vjp(forward.expr, expr, t.tensors))


def _gradients(tree: Any, structure: Structure, what: str) -> list[Any]:
    """Return the leaves of a gradient, None where it is None or the structure has a None."""
    if tree is None:
        return [None] * structure.size
    found = flatten(tree)
    if found[1] == structure:
        return found[0]
    if len(found[1].children) != len(structure.children) or not structure.children:
        raise ArgumentError(f"{what}: a tree {found[1]!r}, expected {structure!r}")
    parts = tree.values() if isinstance(tree, dict) else tree
    return [
        leaf
        for part, child in zip(parts, structure.children)
        for leaf in _gradients(part, child, what)
    ]


class custom_vmap(_Ruled):
    """A function with a batching rule for vmap, set by def_vmap.

    The rule gets the size of the batch, a list with a tree of bools like each argument (whether it
    is batched), and the arguments; batched ones have the batch as first axis. It returns the result
    and a tree of bools like it: batched results have the batch as first axis. It may call the
    function, and vmap. In vmap of a derivative, tangents are those of the rule, gradients those of
    the function; a derivative of vmap differentiates what the rule computes.

    >>> from polygrad.func import custom_vmap, vmap
    >>> @custom_vmap
    ... def product(a, b):
    ...     return a @ b
    >>> @product.def_vmap
    ... def _(axis_size, in_batched, a, b):  # one product of matrices for all vectors
    ...     return (b @ a.T if in_batched[0] else b @ a), True
    >>> vmap(product, (None, 0))(Tensor([1.0, 10.0]), Tensor([[1.0, 2.0], [3.0, 4.0]])).tolist()
    [21.0, 43.0]
    """

    who = "custom_vmap"
    _rule: Function | None = None

    def __init__(self, f: Function) -> None:
        super().__init__(f)

    def def_vmap(self, rule: Function) -> Function:
        """Set the rule."""
        need_function(self.who, rule)
        self._rule = rule
        return rule

    def _call(self, *args: Any, **kwargs: Any) -> Any:
        if self._rule is None:
            raise ArgumentError(f"{self.who}: no rule is stated: see def_vmap")
        given, _, whole = self._arguments(args, kwargs)
        t, rule = Traced(self.who, whole(self.f), given, {}), self._rule

        def compute(
            size: int, batched: list[bool], stand: list[Tensor]
        ) -> tuple[list[Tensor], list[bool]]:
            out = rule(size, list(t.trees(batched)), *t.trees(stand))
            if not (isinstance(out, tuple) and len(out) == 2):
                raise ArgumentError(
                    f"{self.who}: the rule returns no pair of a result and whether it is batched"
                )
            found = leaves_like(out[0], t.out, self.who, "the result of the rule", "the function's")
            flags = leaves_like(out[1], t.out, self.who, "what is batched", "the result")
            if not all(isinstance(f, bool) for f in flags):
                raise ArgumentError(f"{self.who}: what is batched: {out[1]!r}, expected bools")
            return [t._result(r) for r in found], flags

        return t.out.build(t.expr.custom_vmap(BatchRule(compute, t.names), t.tensors))


def sequential_vmap(f: Function) -> custom_vmap:
    """Return f with a batching rule that computes one element after the other, as lax.map does.

    >>> from polygrad.func import sequential_vmap, vmap
    >>> vmap(sequential_vmap(lambda x: x * 2))(Tensor([1.0, 2.0])).tolist()
    [2.0, 4.0]
    """
    from polygrad.lax import map as each  # imports this module

    made = custom_vmap(f)

    def rule(size: int, batched: list[Any], *args: Any) -> Any:
        leaves, structure = flatten(args)
        flags = flatten(tuple(batched))[0]

        def one(moving: list[Any]) -> Any:
            rest = iter(moving)
            return made(*structure.build([next(rest) if b else x for x, b in zip(leaves, flags)]))

        out = each(one, [x for x, b in zip(leaves, flags) if b])
        results, like = flatten(out)
        return out, like.build([True] * len(results))

    made.def_vmap(rule)
    return made
