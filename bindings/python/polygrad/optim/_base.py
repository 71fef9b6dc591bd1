"""Gradient transformations, and functions that all of them use."""

from __future__ import annotations

import threading
from typing import Any, Callable, NamedTuple

from polygrad import _trace
from polygrad._library import ArgumentError
from polygrad.dtype import dtypes
from polygrad.numpy._arrays import array
from polygrad.optim import tree
from polygrad.tensor import Tensor

# fmt: off
__all__ = [
    "EmptyState", "GradientTransformation", "GradientTransformationExtraArgs", "Schedule",
    "apply_updates", "global_norm", "identity", "incremental_update", "init_empty_state",
    "periodic_update", "safe_increment", "safe_int32_increment", "safe_norm",
    "safe_root_mean_squares", "scale_gradient", "set_to_zero", "stateless",
    "stateless_with_tree_map", "with_extra_args_support",
]
# fmt: on

Tree = Any
#: A function from the number of earlier steps to the size of a step.
Schedule = Callable[[Any], Any]


class GradientTransformation(NamedTuple):
    """A gradient transformation.

    init(params) returns the initial state. update(updates, state, params=None) returns new updates,
    which apply_updates adds to the parameters, and the next state.
    """

    init: Callable[[Tree], Tree]
    update: Callable[..., tuple[Tree, Tree]]


class GradientTransformationExtraArgs(GradientTransformation):
    """A transformation whose update takes more arguments, by name: value=loss, for example."""

    __slots__ = ()


class EmptyState(NamedTuple):
    """The state of a stateless transformation."""


class _Depth(threading.local):
    value = 0


_depth = _Depth()


def compute(*trees: Tree) -> None:
    """Realize all lazy tensors of trees in one program; do nothing while a function is traced."""
    if _trace.expressed() or _trace.active():
        return
    found = [x for t in trees for x in tree.leaves(t) if isinstance(x, Tensor)]
    left = {id(x): x for x in found if not x.is_realized}
    if left:
        Tensor.realize(*left.values())


def transformation(
    init: Callable[[Tree], Tree], update: Callable[..., tuple[Tree, Tree]], extra: bool = False
) -> GradientTransformation:
    """Return a transformation of tensors.

    The outermost update first realizes the state and the parameters of the previous step, so that a
    loop without jit runs one program per step and its graph does not grow.
    """

    def outer(
        updates: Tree, state: Tree, params: Tree = None, **extra_args: Any
    ) -> tuple[Tree, Tree]:
        if not _depth.value:
            updates, params = tree.map(array, updates), tree.map(array, params)
            compute(state, params)
        _depth.value += 1
        try:
            return update(updates, state, params, **extra_args)
        finally:
            _depth.value -= 1

    def begin(params: Tree) -> Tree:
        return init(params if _depth.value else tree.map(array, params))

    return (GradientTransformationExtraArgs if extra else GradientTransformation)(begin, outer)


def with_extra_args_support(tx: GradientTransformation) -> GradientTransformationExtraArgs:
    """Return a transformation whose update ignores unknown keyword arguments."""
    if isinstance(tx, GradientTransformationExtraArgs):
        return tx
    if not isinstance(tx, tuple) or len(tx) != 2 or not all(_map_callable(tx)):
        raise ArgumentError(f"tx: {tx!r}, expected a GradientTransformation")

    def update(updates: Tree, state: Tree, params: Tree = None, **_: Any) -> tuple[Tree, Tree]:
        return tx.update(updates, state, params)

    return GradientTransformationExtraArgs(tx.init, update)


def _map_callable(tx: tuple[Any, ...]) -> list[bool]:
    return [callable(f) for f in tx]


def init_empty_state(params: Tree) -> EmptyState:
    """Return the state of a stateless transformation."""
    del params
    return EmptyState()


def stateless(f: Callable[[Tree, Tree], Tree]) -> GradientTransformation:
    """Return the stateless transformation f(updates, params)."""
    return transformation(init_empty_state, lambda u, s, p=None: (f(u, p), s))


def stateless_with_tree_map(f: Callable[[Tensor, Tensor | None], Tensor]) -> GradientTransformation:
    """Return the stateless transformation f(update, parameter), applied to each leaf.

    >>> t = stateless_with_tree_map(lambda g, p: g * 2)
    >>> t.update([Tensor(1.0)], t.init([Tensor(0.0)]))[0][0].item()
    2.0
    """

    def mapped(updates: Tree, params: Tree) -> Tree:
        if params is None:
            return tree.map(lambda u: f(u, None), updates)
        return tree.map(f, updates, params)

    return stateless(mapped)


def identity() -> GradientTransformation:
    """Return the transformation that leaves updates as they are."""
    return stateless(lambda updates, _: updates)


def set_to_zero() -> GradientTransformation:
    """Return the transformation that replaces updates by zeros."""
    return stateless(lambda updates, _: tree.zeros_like(updates))


def need_params(who: str, params: Tree) -> None:
    """Raise an error if update was called without parameters."""
    if params is None:
        raise ArgumentError(f"{who}: update: params: None, expected the parameters")


def zero() -> Tensor:
    """Return an int32 counter of 0."""
    return Tensor(0, dtype=dtypes.int32)


def safe_increment(count: Any) -> Tensor:
    """Return count + 1, saturated at the greatest integer of its type.

    >>> safe_increment(Tensor(2**31 - 1)).item() == 2**31 - 1
    True
    """
    count = array(count)
    if count.is_floating_point():
        return count + 1
    return count + (count < dtypes.max(count.dtype)).cast(count.dtype)


safe_int32_increment = safe_increment


def scheduled(value: Any, count: Tensor) -> Any:
    """Return a number unchanged, or the value of a schedule for a count."""
    return value(count) if callable(value) else value


class Step:
    """A step of a transformation: its number, from 1, and bias corrections for it."""

    def __init__(self, count: Tensor) -> None:
        self.count = count
        self._found: dict[Any, Tensor] = {}

    def debias(self, moment: Tensor, decay: Any, ahead: int = 0) -> Tensor:
        """Return a moment, which was initialized with zeros, with its bias corrected."""
        key = (id(decay), ahead, moment.dtype)
        if key not in self._found:
            self._found[key] = tree.correction(decay, self.count + ahead, moment.dtype)
        return moment / self._found[key]

    def first(self, moment: Tensor, g: Tensor, decay: Any, nesterov: bool) -> Tensor:
        """Return a first moment with its bias corrected, with Nesterov's look-ahead if wanted."""
        if not nesterov:
            return self.debias(moment, decay)
        return self.debias(moment, decay, 1) * decay + self.debias(g, decay) * (1 - decay)


def apply_updates(params: Tree, updates: Tree) -> Tree:
    """Return parameters plus updates, in the types of the parameters.

    >>> apply_updates({"w": Tensor([1.0, 2.0])}, {"w": Tensor([0.5, 0.5])})["w"].tolist()
    [1.5, 2.5]
    """
    params = tree.map(array, params)
    compute(params)
    return tree.map(lambda p, u: (p + u).cast(p.dtype), params, updates)


def incremental_update(new_tensors: Tree, old_tensors: Tree, step_size: Any) -> Tree:
    """Return exponential moving averages: step_size * new + (1 - step_size) * old."""
    compute(old_tensors)
    return tree.map(lambda n, o: n * step_size + o * (1.0 - step_size), new_tensors, old_tensors)


def periodic_update(new_tensors: Tree, old_tensors: Tree, steps: Any, update_period: Any) -> Tree:
    """Return new tensors if the number of steps is a multiple of a period, old ones otherwise."""
    return tree.where(array(steps) % update_period == 0, new_tensors, old_tensors)


def global_norm(updates: Tree) -> Tensor:
    """Return the Euclidean norm of all elements of a tree."""
    return tree.norm(updates)


def safe_norm(
    x: Tensor, min_norm: Any, ord: Any = None, axis: Any = None, keepdims: bool = False
) -> Tensor:
    """Return a norm, at least min_norm, whose gradient is 0 below it (and not NaN at 0)."""
    from polygrad import numpy as np

    least = np.linalg.norm(x, ord=ord, axis=axis, keepdims=True) <= min_norm
    norm = np.linalg.norm(least.where(1.0, x), ord=ord, axis=axis, keepdims=keepdims)
    if not keepdims:
        least = least.reshape(norm.shape)
    return least.where(array(min_norm, norm).cast(norm.dtype), norm)


def safe_root_mean_squares(x: Tensor, min_rms: Any) -> Tensor:
    """Return the root mean square, at least min_rms, with a gradient of 0 below it."""
    least = x.square().mean().sqrt() <= min_rms
    rms = least.where(1.0, x).square().mean().sqrt()
    return least.where(array(min_rms, rms).cast(rms.dtype), rms)


def scale_gradient(inputs: Tree, scale: Any) -> Tree:
    """Return inputs unchanged; gradients that flow through them are multiplied by scale.

    >>> from polygrad.func import grad
    >>> grad(lambda x: scale_gradient(x, 0.5) ** 2)(3.0).item()
    3.0
    """

    return tree.map(lambda x: x * scale + x.detach() * (1 - scale), tree.map(array, inputs))
