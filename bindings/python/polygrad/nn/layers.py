"""Layers: objects that hold parameters and are called with a tensor."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from polygrad import _methods as op
from polygrad._graph import several
from polygrad.dtype import dtypes
from polygrad.nn._inputs import check
from polygrad.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class Linear:
    """y = x @ weight.T + bias, with weight of shape (out_features, in_features).

    >>> Linear(3, 2)(Tensor.ones(4, 3)).shape
    (4, 2)
    """

    def __init__(self, in_features: int, out_features: int, bias: bool = True) -> None:
        bound = 1 / math.sqrt(in_features) if in_features > 0 else 0.0
        self.weight = Tensor.uniform(
            out_features, in_features, low=-bound, high=bound, requires_grad=True
        )
        self.bias: Tensor | None = None
        if bias:
            self.bias = Tensor.uniform(out_features, low=-bound, high=bound, requires_grad=True)

    def __call__(self, x: Tensor) -> Tensor:
        """Return the outputs, shape (…, out_features), of inputs of shape (…, in_features)."""
        check(self, x)
        return x.linear(self.weight.T, self.bias)


class LayerNorm:
    """(x - mean) / sqrt(variance + eps) * weight + bias over the last axes.

    >>> LayerNorm(2)(Tensor([[1.0, 3.0]])).numpy().round(3).tolist()
    [[-1.0, 1.0]]
    """

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
    ) -> None:
        self.normalized_shape = several(normalized_shape)
        self.eps = eps
        self.weight: Tensor | None = None
        self.bias: Tensor | None = None
        if elementwise_affine:
            self.weight = Tensor.ones(*self.normalized_shape, requires_grad=True)
            self.bias = Tensor.zeros(*self.normalized_shape, requires_grad=True)

    def __call__(self, x: Tensor) -> Tensor:
        """Return x normalised, of the same shape."""
        check(self, x)
        n = len(self.normalized_shape)
        if x.shape[-n:] != self.normalized_shape:
            raise ValueError(
                f"LayerNorm: x: shape {x.shape}, expected (…, {self.normalized_shape})"
            )
        return x.layernorm(range(-n, 0), self.eps, self.weight, self.bias)


class LayerNorm2d(LayerNorm):
    """LayerNorm over the channels of images (N, C, height, width).

    >>> LayerNorm2d(2)(Tensor([[[[1.0]], [[3.0]]]])).numpy().round(3).tolist()
    [[[[-1.0]], [[1.0]]]]
    """

    def __call__(self, x: Tensor) -> Tensor:
        """Return x normalised, of the same shape."""
        check(self, x)
        if x.ndim != 4:
            raise ValueError(f"LayerNorm2d: x: shape {x.shape}, expected 4 dimensions")
        return super().__call__(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


class RMSNorm:
    """x / sqrt(mean(x^2) + eps) * weight over the last axis (arXiv:1910.07467).

    >>> RMSNorm(2)(Tensor([[3.0, 3.0]])).numpy().round(3).tolist()
    [[1.0, 1.0]]
    """

    def __init__(self, dim: int, eps: float = 1e-6, elementwise_affine: bool = True) -> None:
        self.eps = eps
        self.weight: Tensor | None = None
        if elementwise_affine:
            self.weight = Tensor.ones(dim, requires_grad=True)

    def __call__(self, x: Tensor) -> Tensor:
        """Return x normalised, of the same shape."""
        check(self, x)
        return x.rmsnorm(self.eps, self.weight)


class GroupNorm:
    """Normalise the channels of x, shape (N, C, …), in groups; then weight and bias per channel.

    >>> GroupNorm(1, 2)(Tensor([[[1.0], [3.0]]])).numpy().round(3).tolist()
    [[[-1.0], [1.0]]]
    """

    def __init__(
        self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True
    ) -> None:
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.weight: Tensor | None = None
        self.bias: Tensor | None = None
        if affine:
            self.weight = Tensor.ones(num_channels, requires_grad=True)
            self.bias = Tensor.zeros(num_channels, requires_grad=True)

    def __call__(self, x: Tensor) -> Tensor:
        """Return x normalised, of the same shape."""
        check(self, x)
        return x.groupnorm(self.num_groups, self.eps, self.weight, self.bias)


class Embedding:
    """A table with a row for each of vocab_size tokens.

    >>> Embedding(10, 4)(Tensor([[1, 2, 3]])).shape
    (1, 3, 4)
    """

    def __init__(self, vocab_size: int, embed_size: int) -> None:
        self.vocab_size = vocab_size
        self.embed_size = embed_size
        self.weight = Tensor.glorot_uniform(vocab_size, embed_size, requires_grad=True)

    def __call__(self, idx: Tensor) -> Tensor:
        """Return the rows of tokens idx, shape idx.shape + (embed_size,)."""
        check(self, idx, "idx")
        if not dtypes.is_int(idx.dtype):
            raise TypeError(f"Embedding: Expected integer dtype for index, got {idx.dtype}")
        return self.weight._call1(op.EMBEDDING, idx)


class Dropout:
    """Set elements to 0 with probability p while Tensor.training is set.

    >>> Dropout(0.5)(Tensor([1.0, 2.0])).tolist()
    [1.0, 2.0]
    """

    def __init__(self, p: float = 0.5) -> None:
        if not 0 <= p <= 1:
            raise ValueError(f"Dropout: p: {p}, expected 0 to 1")
        self.p = p

    def __call__(self, x: Tensor) -> Tensor:
        """Return x with some elements dropped and the others scaled by 1 / (1 - p)."""
        check(self, x)
        return x.dropout(self.p)


class Sequential:
    """Layers and functions of one tensor, one after the other; indices give them back.

    >>> model = Sequential(Linear(4, 8), Tensor.relu, Linear(8, 2))
    >>> model(Tensor.ones(3, 4)).shape, len(model)
    ((3, 2), 3)
    """

    def __init__(self, *layers: Callable[[Tensor], Tensor]) -> None:
        for i, layer in enumerate(layers):
            if not callable(layer):
                kind = type(layer).__name__
                raise TypeError(f"Sequential: layer {i}: a {kind}, expected a layer or a function")
        self.layers = list(layers)

    def __call__(self, x: Tensor) -> Tensor:
        """Apply the layers in order."""
        check(self, x)
        return x.sequential(self.layers)

    def __getitem__(self, i: int) -> Callable[[Tensor], Tensor]:
        return self.layers[i]

    def __len__(self) -> int:
        return len(self.layers)
