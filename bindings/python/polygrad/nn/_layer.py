"""Weights of layers, and Sequential."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from polygrad._base import make_all
from polygrad._library import integer, need
from polygrad.tensor import Tensor

_PARTS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")


def weights(op: int, parameters: int, *args: Any) -> tuple[Any, ...]:
    """Make the weights of a layer: the first `parameters` (0: all) are trained, others buffers."""
    made: tuple[Any, ...] = make_all(Tensor, op, *args)
    for i, weight in enumerate(made):
        if weight is None:
            continue
        if i < parameters or not parameters:
            weight.requires_grad = True
        else:
            weight.requires_grad = False
            weight.realize()
    return made


def sequence_weights(layer: Any) -> list[str]:
    """Return the names of the weights of a recurrent layer, in their order."""
    ways = ("", "_reverse") if layer.bidirectional else ("",)
    parts = _PARTS if layer.bias else _PARTS[:2]
    layers = range(integer("num_layers", layer.num_layers))
    return [f"{part}_l{i}{way}" for i in layers for way in ways for part in parts]


class Sequential:
    """Layers and functions of one tensor, applied in order; sequential[i] is layer i.

    >>> from polygrad.nn import Linear
    >>> model = Sequential(Linear(4, 8), Tensor.relu, Linear(8, 2))
    >>> model(Tensor.ones(3, 4)).shape, len(model)
    ((3, 2), 3)
    """

    def __init__(self, *layers: Callable[[Tensor], Tensor]) -> None:
        for i, layer in enumerate(layers):
            need(Callable, f"layers[{i}]", layer, "a layer or a function")
        self.layers = list(layers)

    def __call__(self, x: Tensor) -> Tensor:
        """Apply the layers in order."""
        return need(Tensor, "x", x, "a tensor").sequential(self.layers)

    def __getitem__(self, i: int) -> Callable[[Tensor], Tensor]:
        return self.layers[i]

    def __len__(self) -> int:
        return len(self.layers)
