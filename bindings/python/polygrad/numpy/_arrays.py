"""Conversion of operands to tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from polygrad._base import operation
from polygrad._graph import plain_scalar
from polygrad._library import need_error
from polygrad.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Iterable


_MUL = operation("mul")


def array(x: Any, beside: Any = None) -> Tensor:
    """Return an operand as a tensor; a number is promoted with the other operand, a tensor."""
    if isinstance(x, Tensor):
        return x
    if isinstance(beside, Tensor) and isinstance(x, (bool, int, float)):
        return Tensor(x, dtype=beside._call1(_MUL, x).dtype)
    if x is None:
        raise need_error("x", x, "an array or a number")
    return Tensor(plain_scalar(x))


def maybe(x: Any) -> Tensor | None:
    """Return an optional operand as a tensor, or None."""
    return None if x is None else array(x)


def mask(where: Any) -> Tensor | None:
    """Return a mask as a tensor, or None if it is True."""
    return None if where is True else maybe(where)


def tensors(xs: Iterable[Any]) -> list[Tensor]:
    """Return operands as tensors."""
    return [array(x) for x in xs]
