"""Transformations that apply to a subset of the parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from polygrad._library import ArgumentError
from polygrad.func._trees import flatten as flatten_tree
from polygrad.optim import tree
from polygrad.optim._base import (
    GradientTransformation,
    GradientTransformationExtraArgs,
    Tree,
    set_to_zero,
    transformation,
    with_extra_args_support,
)

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

# fmt: off
__all__ = [
    "MaskedNode", "MaskedState", "MultiTransformState", "PartitionState", "freeze", "masked",
    "multi_transform", "partition", "selective_transform",
]
# fmt: on


class MaskedState(NamedTuple):
    """The state of a masked transformation."""

    inner_state: Tree


class MaskedNode(NamedTuple):
    """A placeholder for a parameter that is masked: a tree without leaves."""


class PartitionState(NamedTuple):
    """The states of the transformations, by label."""

    inner_states: dict[Any, Tree]


MultiTransformState = PartitionState


def masked(
    inner: GradientTransformation, mask: Any, *, mask_compatible_extra_args: bool = False
) -> GradientTransformationExtraArgs:
    """Apply a transformation to the updates for which mask is true; others stay unchanged.

    mask is a tree of bools, which may be a prefix of the parameters' tree, or a function that
    makes one. With mask_compatible_extra_args, extra arguments like the updates are masked, too.

    >>> from polygrad import Tensor, optim
    >>> t = masked(optim.scale(10), {"a": True, "b": False})
    >>> params = {"a": Tensor(1.0), "b": Tensor(1.0)}
    >>> new, state = t.update(params, t.init(params))
    >>> new["a"].item(), new["b"].item()
    (10.0, 1.0)
    """
    inner = with_extra_args_support(inner)

    def chosen(given: Tree) -> Tree:
        return mask(given) if callable(mask) else mask

    def seen(wanted: Tree, given: Tree) -> Tree:
        return tree.map(lambda m, x: x if m else MaskedNode(), wanted, given)

    def init(params: Tree) -> Tree:
        return MaskedState(inner.init(seen(chosen(params), params)))

    def update(
        updates: Tree, state: Tree, params: Tree = None, **extra_args: Any
    ) -> tuple[Tree, Tree]:
        wanted = chosen(updates)
        if mask_compatible_extra_args:
            like = flatten_tree(updates)[1]
            extra_args = {
                k: seen(wanted, v) if flatten_tree(v)[1] == like else v
                for k, v in extra_args.items()
            }
        own = None if params is None else seen(wanted, params)
        new, after = inner.update(seen(wanted, updates), state.inner_state, own, **extra_args)
        merged = tree.map(lambda m, n, old: n if m else old, wanted, new, updates)
        return merged, MaskedState(after)

    return transformation(init, update, extra=True)  # type: ignore[return-value]


def partition(
    transforms: Mapping[Hashable, GradientTransformation],
    param_labels: Any,
    *,
    mask_compatible_extra_args: bool = False,
) -> GradientTransformationExtraArgs:
    """Apply to each parameter the transformation of its label.

    param_labels is a tree of labels, or a function from parameters to one.

    >>> from polygrad import Tensor, optim
    >>> t = partition({"slow": optim.sgd(0.1), "fixed": optim.set_to_zero()},
    ...               {"w": "slow", "b": "fixed"})
    >>> params = {"w": Tensor(1.0), "b": Tensor(1.0)}
    >>> new, state = t.update(params, t.init(params))
    >>> round(new["w"].item(), 2), new["b"].item()
    (-0.1, 0.0)
    """

    def labels_of(given: Tree) -> Tree:
        return param_labels(given) if callable(param_labels) else param_labels

    def one(label: Any, labels: Tree) -> GradientTransformationExtraArgs:
        wanted = tree.map(lambda own: own == label, labels)
        return masked(
            transforms[label], wanted, mask_compatible_extra_args=mask_compatible_extra_args
        )

    def init(params: Tree) -> Tree:
        labels = labels_of(params)
        for label in tree.leaves(labels):
            if label not in transforms:
                known = ", ".join(map(repr, transforms))
                raise ArgumentError(f"partition: param_labels: {label!r}, expected {known}")
        return PartitionState({k: one(k, labels).init(params) for k in transforms})

    def update(
        updates: Tree, state: Tree, params: Tree = None, **extra_args: Any
    ) -> tuple[Tree, Tree]:
        labels, after = labels_of(updates), {}
        for label in transforms:
            updates, after[label] = one(label, labels).update(
                updates, state.inner_states[label], params, **extra_args
            )
        return updates, PartitionState(after)

    return transformation(init, update, extra=True)  # type: ignore[return-value]


multi_transform = partition


def freeze(mask: Any) -> GradientTransformation:
    """Return the transformation that sets updates to zero where mask is true."""
    return masked(set_to_zero(), mask)


def selective_transform(
    optimizer: GradientTransformation, *, freeze_mask: Any
) -> GradientTransformation:
    """Return an optimizer of the parameters for which freeze_mask is false; others are frozen."""
    labels = tree.map(lambda fixed: "freeze" if fixed else "train", freeze_mask)
    return partition({"train": optimizer, "freeze": set_to_zero()}, labels)
