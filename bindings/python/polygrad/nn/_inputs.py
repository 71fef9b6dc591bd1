"""What layers are called with."""

from __future__ import annotations

from polygrad.tensor import Tensor


def check(layer: object, x: object, name: str = "x") -> None:
    """Raise an error if an input of a layer is no tensor."""
    if not isinstance(x, Tensor):
        kind = type(x).__name__
        raise TypeError(f"{type(layer).__name__}: {name}: {kind}, expected a Tensor")
