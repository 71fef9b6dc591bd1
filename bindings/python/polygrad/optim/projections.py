"""Projections of trees of tensors onto sets, as optax.projections has them."""

from __future__ import annotations

from typing import Any

from polygrad import numpy as np
from polygrad.func._trees import LEAF
from polygrad.func._trees import flatten as flatten_tree
from polygrad.numpy._arrays import array
from polygrad.optim import tree
from polygrad.tensor import Tensor

__all__ = [
    "projection_box",
    "projection_halfspace",
    "projection_hypercube",
    "projection_hyperplane",
    "projection_l1_ball",
    "projection_l1_sphere",
    "projection_l2_ball",
    "projection_l2_sphere",
    "projection_linf_ball",
    "projection_non_negative",
    "projection_simplex",
    "projection_vector",
]


def projection_non_negative(tree_: Any) -> Any:
    """Project onto non-negative elements."""
    return tree.map(lambda x: array(x).relu(), tree_)


def projection_box(tree_: Any, lower: Any, upper: Any) -> Any:
    """Clip elements to bounds: numbers, or trees."""
    structure = flatten_tree(tree_)[1]

    def like(bound: Any) -> Any:
        alone = isinstance(bound, (int, float, Tensor)) and structure is not LEAF
        return tree.map(lambda _: bound, tree_) if alone else bound

    return tree.map(lambda x, a, b: np.clip(array(x), a, b), tree_, like(lower), like(upper))


def projection_hypercube(tree_: Any, scale: Any = 1) -> Any:
    """Clip elements to [0, scale]."""
    return projection_box(tree_, 0, scale)


def projection_simplex(tree_: Any, scale: Any = 1) -> Any:
    """Return the nearest tree without negative elements that sums to scale.

    >>> projection_simplex(Tensor([1.0, 0.5, -3.0])).tolist()
    [0.75, 0.25, 0.0]
    """
    parts = [array(x) for x in tree.leaves(tree_)]
    flat = [p.reshape(-1) for p in parts]
    x = (flat[0].cat(*flat[1:]) if len(flat) > 1 else flat[0]) / scale
    fixed = x.detach()
    falling = fixed.sort(descending=True)[0]
    sums, place = falling.cumsum(0), Tensor.arange(1, x.shape[0] + 1)
    support = ((1.0 - sums) / place + falling > 0).sum()
    limit = falling[support - 1]
    kept = (fixed >= limit).cast(x.dtype)
    count = kept.sum()
    new = kept * (x + (1.0 - (kept * x).sum()) / count)
    new, at, made = new.relu() * scale, 0, []
    for p in parts:
        made.append(new[at : at + p.numel()].reshape(p.shape))
        at += p.numel()
    return flatten_tree(tree_)[1].build(made)


def projection_l1_sphere(tree_: Any, scale: Any = 1) -> Any:
    """Return the nearest tree whose absolute values sum to scale."""
    sizes = projection_simplex(tree.map(lambda x: array(x).abs(), tree_), scale)
    return tree.map(lambda x, size: array(x).sign() * size, tree_, sizes)


def projection_l1_ball(tree_: Any, scale: Any = 1) -> Any:
    """Return the nearest tree whose absolute values sum to at most scale."""
    inside = tree.norm(tree_, ord=1) <= scale
    return tree.where(inside, tree_, projection_l1_sphere(tree_, scale))


def projection_l2_sphere(tree_: Any, scale: Any = 1) -> Any:
    """Return the nearest tree of the Euclidean norm scale."""
    return tree.scale(scale / tree.norm(tree_), tree_)


def projection_l2_ball(tree_: Any, scale: Any = 1) -> Any:
    """Return the nearest tree of at most the Euclidean norm scale."""
    square = tree.norm(tree_, squared=True)
    return tree.scale(scale / square.maximum(scale**2).sqrt(), tree_)


def projection_linf_ball(tree_: Any, scale: Any = 1) -> Any:
    """Clip elements to [-scale, scale]."""
    return projection_box(tree_, -scale, scale)


def projection_vector(x: Any, a: Any) -> Any:
    """Return the nearest multiple of a tree a."""
    return tree.scale(tree.vdot(x, a) / tree.vdot(a, a), a)


def projection_hyperplane(x: Any, a: Any, b: Any) -> Any:
    """Return the nearest tree whose inner product with a is b."""
    return tree.add_scale(x, (b - tree.vdot(x, a)) / tree.vdot(a, a), a)


def projection_halfspace(x: Any, a: Any, b: Any) -> Any:
    """Return the nearest tree whose inner product with a is at most b."""
    return tree.add_scale(x, ((b - tree.vdot(x, a)) / tree.vdot(a, a)).minimum(0.0), a)
