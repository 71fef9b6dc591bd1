"""Gradient clipping, between backward() and the step of an optimizer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from polygrad import _trace
from polygrad._base import join, operation
from polygrad._library import number, wrong
from polygrad.nn._optimizer import tensors
from polygrad.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Iterable

_CLIP_GRAD_NORM = operation("clip_grad_norm")


def _with_gradients(parameters: Tensor | Iterable[Tensor]) -> list[Tensor]:
    """Return the parameters that have a gradient, each once."""
    given = tensors("parameters", [parameters] if isinstance(parameters, Tensor) else parameters)
    return list({id(p): p for p in given if p.grad is not None}.values())


def _replace(parameters: list[Tensor], grads: Iterable[Tensor]) -> None:
    """Overwrite the gradients of parameters, so that all references to them see the new values."""
    for parameter, grad in zip(parameters, grads):
        if _trace.active():
            parameter.grad = grad
        else:
            assert parameter.grad is not None
            parameter.grad.assign(grad)


def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
) -> Tensor:
    """Scale gradients so that their norm, as one vector, is at most max_norm; return the norm.

    The gradients are multiplied by min(1, max_norm / (norm + 1e-6)) (Pascanu, Mikolov and Bengio,
    arXiv:1211.5063). norm_type is the order of the norm, inf for the greatest element. The result
    is the norm before clipping, a scalar tensor. Parameters without a gradient are skipped. With
    error_if_nonfinite an infinite or NaN norm is an error; this computes the norm, so it cannot be
    used inside compile_step.

    >>> p = Tensor([1.0, 1.0], requires_grad=True)
    >>> loss = (p * Tensor([3.0, 4.0])).sum().backward()
    >>> clip_grad_norm_([p], max_norm=1.0).item()
    5.0
    >>> print(p.grad.numpy().round(3))
    [0.6 0.8]
    """
    chosen = _with_gradients(parameters)
    if not chosen:
        return Tensor(0.0)
    grads: list[Any] = [p.grad for p in chosen]
    norm: Tensor
    norm, *clipped = join(grads, _CLIP_GRAD_NORM, max_norm, norm_type)
    if not _trace.active():
        norm.realize(*clipped)
    if error_if_nonfinite and not bool(norm.isfinite().item()):
        raise RuntimeError(f"clip_grad_norm_: the norm of the gradients is {norm.item()}")
    _replace(chosen, clipped)
    return norm


def clip_grad_value_(parameters: Tensor | Iterable[Tensor], clip_value: float) -> None:
    """Clip the elements of gradients to -clip_value..clip_value.

    >>> p = Tensor([1.0, 1.0], requires_grad=True)
    >>> loss = (p * Tensor([3.0, -4.0])).sum().backward()
    >>> clip_grad_value_([p], 1.0)
    >>> p.grad.tolist()
    [1.0, -1.0]
    """
    limit = number("clip_value", clip_value)
    if not limit >= 0:
        raise wrong("clip_value", clip_value, "0 or more")
    chosen = _with_gradients(parameters)
    clipped = [p.grad.clamp(-limit, limit) for p in chosen if p.grad is not None]
    if clipped and not _trace.active():
        clipped[0].realize(*clipped[1:])
    _replace(chosen, clipped)
