"""Arithmetic of trees of tensors, as optax.tree has it."""

from __future__ import annotations

import functools
import operator
from typing import Any, Callable

from polygrad import numpy as np
from polygrad._library import ArgumentError
from polygrad.dtype import DType, dtypes, known_dtype
from polygrad.func._trees import LEAF, Structure, flatten
from polygrad.func._trees import _children as children
from polygrad.numpy._arrays import array
from polygrad.tensor import Tensor

__all__ = [
    "add",
    "add_scale",
    "allclose",
    "batch_shape",
    "bias_correction",
    "cast",
    "cast_like",
    "clip",
    "div",
    "dtype",
    "full_like",
    "get",
    "get_all_with_path",
    "leaves",
    "map",
    "max",
    "min",
    "mul",
    "norm",
    "ones_like",
    "random_like",
    "scale",
    "set",
    "size",
    "split_key_like",
    "sub",
    "sum",
    "update_infinity_moment",
    "update_moment",
    "update_moment_per_elem_norm",
    "vdot",
    "where",
    "zeros_like",
]

_sum, _map, _max, _min = sum, map, max, min


def _subtrees(structure: Structure, tree: Any, name: str) -> list[Any]:
    """Return the subtrees of a tree at the leaves of a structure."""
    if structure is LEAF:
        return [tree]
    if structure.kind is None:
        found: Any = None if tree is not None else ([], None, [])
    else:
        found = children(tree) if isinstance(tree, structure.kind) else None
    if found is None or found[2] != structure.names:
        raise ArgumentError(f"{name}: {tree!r}, expected a tree {structure!r}")
    return [
        part
        for child, below, place in zip(structure.children, found[0], structure.names)
        for part in _subtrees(child, below, name + place)
    ]


def map(f: Callable[..., Any], tree: Any, *rest: Any) -> Any:
    """Apply f to the leaves of a tree and the subtrees at the same paths of other trees.

    >>> map(lambda wanted, x: x if wanted else None, {"a": True, "b": False}, {"a": [1, 2], "b": 3})
    {'a': [1, 2], 'b': None}
    """
    first, structure = flatten(tree)
    others = [_subtrees(structure, t, f"rest[{i}]") for i, t in enumerate(rest)]
    return structure.build([f(*parts) for parts in zip(first, *others)])


def leaves(tree: Any) -> list[Any]:
    """Return the leaves of a tree.

    >>> leaves({"b": 1, "a": [2, None]})
    [2, 1]
    """
    return flatten(tree)[0]


def _arrays(tree: Any) -> Any:
    """Convert the numbers and arrays in a tree to tensors."""
    return map(array, tree)


def add(tree: Any, *others: Any) -> Any:
    """Return the sums of the leaves of trees."""
    return map(lambda *xs: functools.reduce(operator.add, xs), tree, *others)


def sub(x: Any, y: Any) -> Any:
    """Return the differences of the leaves of two trees."""
    return map(operator.sub, x, y)


def mul(x: Any, y: Any) -> Any:
    """Return the products of the leaves of two trees."""
    return map(operator.mul, x, y)


def div(x: Any, y: Any) -> Any:
    """Return the quotients of the leaves of two trees."""
    return map(operator.truediv, x, y)


def scale(scalar: Any, tree: Any) -> Any:
    """Return a tree with all leaves multiplied by a number."""
    return map(lambda x: x * scalar, tree)


def add_scale(x: Any, scalar: Any, y: Any) -> Any:
    """Return x + scalar * y.

    >>> add_scale([Tensor(1.0)], 10, [Tensor(2.0)])[0].item()
    21.0
    """
    return map(lambda a, b: a + b * scalar, x, y)


def vdot(x: Any, y: Any) -> Tensor:
    """Return the inner product of all elements of two trees."""
    return sum(mul(x, y))


def _total(tree: Any, f: Callable[[Tensor], Tensor], join: Any, empty: float) -> Tensor:
    found = [f(array(x)) for x in leaves(tree)]
    return functools.reduce(join, found) if found else Tensor(empty)


def sum(tree: Any) -> Tensor:
    """Return the sum of all elements of a tree."""
    return _total(tree, lambda x: x.sum(), operator.add, 0)


def max(tree: Any) -> Tensor:
    """Return the greatest element of a tree."""
    return _total(tree, lambda x: x.max(), lambda a, b: a.maximum(b), -float("inf"))


def min(tree: Any) -> Tensor:
    """Return the least element of a tree."""
    return _total(tree, lambda x: x.min(), lambda a, b: a.minimum(b), float("inf"))


def size(tree: Any) -> int:
    """Return the number of elements of a tree."""
    return _sum(int(array(x).numel()) for x in leaves(tree))


def norm(tree: Any, ord: Any = None, squared: bool = False) -> Tensor:
    """Return a norm of all elements of a tree, of order 1, 2 (also None) or inf, or its square.

    >>> norm({"a": Tensor([3.0]), "b": Tensor([[4.0]])}).item()
    5.0
    """
    if ord in (None, 2):
        total = sum(map(lambda x: array(x).square(), tree))
        return total if squared else total.sqrt()
    sizes = map(lambda x: array(x).abs(), tree)
    if ord == 1:
        total = sum(sizes)
    elif ord in ("inf", "infinity", float("inf")):
        total = max(sizes)
    else:
        raise ArgumentError(f"norm: ord: {ord!r}, expected 1, 2, inf or None")
    return total.square() if squared else total


def full_like(tree: Any, fill_value: Any, dtype: Any = None) -> Any:
    """Return a tree of tensors of one value."""

    def full(x: Any) -> Tensor:
        x = array(x)
        kind = x.dtype if dtype is None else known_dtype(dtype)
        if isinstance(fill_value, Tensor):
            return fill_value.cast(kind).expand(x.shape)
        return Tensor.full(tuple(x.shape), fill_value, dtype=kind)

    return map(full, tree)


def zeros_like(tree: Any, dtype: Any = None) -> Any:
    """Return a tree of zeros."""
    return full_like(tree, 0, dtype)


def ones_like(tree: Any, dtype: Any = None) -> Any:
    """Return a tree of ones."""
    return full_like(tree, 1, dtype)


def split_key_like(key: Tensor, tree: Any) -> Any:
    """Return a tree of random keys (see polygrad.random)."""
    from polygrad import random

    structure = flatten(tree)[1]
    keys = random.split(key, structure.size)
    return structure.build([keys[i] for i in range(structure.size)])


def random_like(key: Tensor, tree: Any, sampler: Any = None, dtype: Any = None) -> Any:
    """Return a tree of random tensors, of sampler(key, shape, dtype): normal unless given."""
    from polygrad import random

    draw = random.normal if sampler is None else sampler
    return map(
        lambda k, x: draw(k, tuple(x.shape), x.dtype if dtype is None else known_dtype(dtype)),
        split_key_like(key, tree),
        _arrays(tree),
    )


def batch_shape(tree: Any, shape: tuple[int, ...] = ()) -> Any:
    """Return a tree with all leaves repeated along new first axes."""
    return map(lambda x: array(x).expand(*shape, *array(x).shape), tree)


def clip(tree: Any, min_value: Any = None, max_value: Any = None) -> Any:
    """Return a tree with elements clipped to [min_value, max_value]."""
    return map(lambda x: np.clip(x, min_value, max_value), tree)


def cast(tree: Any, dtype: Any) -> Any:
    """Return a tree converted to a type; None leaves it unchanged."""
    return tree if dtype is None else map(lambda x: x.cast(known_dtype(dtype)), tree)


def cast_like(tree: Any, other_tree: Any) -> Any:
    """Return a tree converted to the types of another tree."""
    return map(lambda x, y: x.cast(y.dtype), tree, other_tree)


def dtype(tree: Any, mixed_dtype_handler: str | None = None) -> DType:
    """Return the type of the leaves; of several types the "lowest", "highest" or "promote"d one."""
    found: list[DType] = []
    for x in leaves(tree):
        kind = array(x).dtype
        if kind not in found:
            found.append(kind)
    if not found:
        return dtypes.float32
    if len(found) > 1 and mixed_dtype_handler is None:
        raise ArgumentError(f"dtype: the tree has {', '.join(d.name for d in found)}, expected one")
    promoted: DType = functools.reduce(np.result_type, found)
    if mixed_dtype_handler == "lowest":
        return _min(found, key=lambda d: (d.itemsize, d is promoted))
    return promoted


def update_moment(updates: Any, moments: Any, decay: Any, order: int) -> Any:
    """Return (1 - decay) * updates**order + decay * moments."""
    return map(lambda g, m: averaged(_power(g, order), m, decay), updates, moments)


update_moment_per_elem_norm = update_moment


def update_infinity_moment(updates: Any, moments: Any, decay: Any, eps: Any) -> Any:
    """Return the maximum of |updates| + eps and decay * moments."""
    return map(lambda g, m: (g.abs() + eps).maximum(m * decay), updates, moments)


def _power(x: Tensor, order: int) -> Tensor:
    return x if order == 1 else x.square() if order == 2 else x**order


def averaged(x: Tensor, before: Tensor, decay: Any) -> Tensor:
    """Return an exponential moving average: (1 - decay) * x + decay * before."""
    return x * (1 - decay) + before * decay


def correction(decay: Any, count: Any, kind: DType) -> Tensor:
    """Return 1 - decay**count in a floating type."""
    wide = dtypes.float64 if kind == dtypes.float64 else dtypes.float32
    exponent = array(count).cast(wide)
    return (1 - decay**exponent).cast(kind)


def bias_correction(moment: Any, decay: Any, count: Any) -> Any:
    """Return moments / (1 - decay**count).

    >>> bias_correction(Tensor([0.19]), 0.9, Tensor(2)).numpy().round(4).tolist()
    [1.0]
    """
    return map(lambda m: m / correction(decay, count, m.dtype), moment)


def where(condition: Any, x: Any, y: Any) -> Any:
    """Return the leaves of x where a condition is true, of y elsewhere, in the types of x."""
    cond = array(condition)
    return map(lambda a, b: cond.where(a, b.cast(a.dtype)), _arrays(x), _arrays(y))


def allclose(
    a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> bool:
    """Return whether two trees have nearly equal elements."""
    close = map(
        lambda x, y: bool(
            np.all(np.isclose(array(x), array(y), rtol=rtol, atol=atol, equal_nan=equal_nan)).item()
        ),
        a,
        b,
    )
    return all(leaves(close))


def get_all_with_path(state: Any, key: str, filtering: Any = None) -> list[tuple[str, Any]]:
    """Return the paths and values of all fields and entries of a name in a state.

    filtering(path, value) selects among them.
    """
    found: list[tuple[str, Any]] = []

    def look(part: Any, path: str) -> None:
        below = children(part)
        for child, place in zip(below[0], below[2]) if below is not None else ():
            if place.strip("[].'\"") == key and (filtering is None or filtering(path, child)):
                found.append((path + place, child))
            look(child, path + place)

    look(state, "state")
    return found


def get(state: Any, key: str, default: Any = None, filtering: Any = None) -> Any:
    """Return the value of a name at any depth of a state; it is an error if it occurs repeatedly.

    >>> from polygrad import optim
    >>> state = optim.inject_hyperparams(optim.adam)(0.5).init(Tensor([1.0]))
    >>> get(state, "learning_rate").item(), get(state, "rho", "none")
    (0.5, 'none')
    """
    found = get_all_with_path(state, key, filtering)
    if len(found) > 1:
        raise ArgumentError(f"get: key: {key!r} is at {', '.join(path for path, _ in found)}")
    return found[0][1] if found else default


def set(state: Any, filtering: Any = None, /, **kwargs: Any) -> Any:
    """Return a state with the values of names, at any depth, replaced.

    >>> from polygrad import optim
    >>> state = optim.inject_hyperparams(optim.adam)(0.5).init(Tensor([1.0]))
    >>> get(set(state, learning_rate=Tensor(0.1)), "learning_rate").numpy().round(3)
    np.float32(0.1)
    """
    for key in kwargs:
        if not get_all_with_path(state, key, filtering):
            raise ArgumentError(f"set: {key!r} is in no part of the state")

    def change(part: Any, path: str) -> Any:
        below = children(part)
        if below is None or part is None:
            return part
        made = []
        for child, place in zip(below[0], below[2]):
            name = place.strip("[].'\"")
            chosen = name in kwargs and (filtering is None or filtering(path, child))
            made.append(kwargs[name] if chosen else change(child, path + place))
        return Structure(type(part), below[1], below[2], [])._make(made)

    return change(state, "state")
