"""Layers with a state that goes from step to step."""

from __future__ import annotations

import math

from polygrad._base import by_nodes
from polygrad.nn._inputs import check
from polygrad.tensor import Tensor

_PARTS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")


def _uniform(bound: float, *shape: int) -> Tensor:
    return Tensor.uniform(*shape, low=-bound, high=bound, requires_grad=True)


class LSTMCell:
    """One step of long short-term memory (Hochreiter and Schmidhuber, 1997).

    The quarters i, f, g, o of x @ weight_ih.T + bias_ih + h @ weight_hh.T + bias_hh give
    c = sigmoid(f) * c + sigmoid(i) * tanh(g) and h = sigmoid(o) * tanh(c). weight_ih is
    (4 * hidden_size, input_size), weight_hh (4 * hidden_size, hidden_size). Weights begin uniform
    in 1/sqrt(hidden_size), biases at 0.

    >>> h, c = LSTMCell(3, 2)(Tensor.ones(5, 3))
    >>> h.shape, c.shape
    ((5, 2), (5, 2))
    """

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True) -> None:
        if hidden_size < 1:
            raise ValueError(f"LSTMCell: hidden_size: {hidden_size}, expected 1 or more")
        bound = 1 / math.sqrt(hidden_size)
        self.weight_ih = _uniform(bound, 4 * hidden_size, input_size)
        self.weight_hh = _uniform(bound, 4 * hidden_size, hidden_size)
        self.bias_ih: Tensor | None = None
        self.bias_hh: Tensor | None = None
        if bias:
            self.bias_ih = Tensor.zeros(4 * hidden_size, requires_grad=True)
            self.bias_hh = Tensor.zeros(4 * hidden_size, requires_grad=True)

    def __call__(self, x: Tensor, hc: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        """Return h and c, each (…, hidden_size), after an input of shape (…, input_size).

        hc are h and c before, zeros if there are none.
        """
        check(self, x)
        if hc is None:
            shape = (*x.shape[:-1], self.weight_hh.shape[1])
            hc = (Tensor.zeros(*shape, dtype=x.dtype),) * 2
        weights = (self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        h, c = by_nodes("poly_lstm_cell", 2, x, *hc, *weights)
        return h, c


class LSTM:
    """Layers of long short-term memory over a sequence, with PyTorch's names and arguments.

    Layer k has weight_ih_l{k}, weight_hh_l{k}, bias_ih_l{k} and bias_hh_l{k}, as in LSTMCell;
    bidirectional layers also have them for the reverse direction, with the suffix _reverse. dropout
    acts on the outputs of all layers but the last while Tensor.training is set. Weights are
    initialized uniformly in ±1/sqrt(hidden_size). The program is unrolled over the sequence.

    >>> out, (h, c) = LSTM(3, 2, num_layers=2)(Tensor.ones(7, 5, 3))
    >>> out.shape, h.shape, c.shape
    ((7, 5, 2), (2, 5, 2), (2, 5, 2))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
    ) -> None:
        for name, value in (("hidden_size", hidden_size), ("num_layers", num_layers)):
            if value < 1:
                raise ValueError(f"LSTM: {name}: {value}, expected 1 or more")
        if not 0 <= dropout <= 1:
            raise ValueError(f"LSTM: dropout: {dropout}, expected 0 to 1")
        self.input_size, self.hidden_size, self.num_layers = input_size, hidden_size, num_layers
        self.batch_first, self.dropout, self.bidirectional = batch_first, dropout, bidirectional
        self._ways = ("", "_reverse") if bidirectional else ("",)
        bound = 1 / math.sqrt(hidden_size)
        for layer in range(num_layers):
            inputs = hidden_size * len(self._ways) if layer else input_size
            for way in self._ways:
                sizes: list[tuple[int, ...]] = [(inputs,), (hidden_size,)]
                sizes += [(), ()] if bias else []
                for name, size in zip(_PARTS, sizes):
                    weight = _uniform(bound, 4 * hidden_size, *size)
                    setattr(self, f"{name}_l{layer}{way}", weight)

    def __call__(
        self, x: Tensor, hc: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Return the outputs of all steps, and h and c after the last one.

        x is (T, N, input_size), or (N, T, input_size) with batch_first, and the outputs have its
        order, with hidden_size (twice that if bidirectional) in the last axis. h and c are
        (num_layers, N, hidden_size), with twice as many layers, forwards and backwards in turn,
        if bidirectional; hc are those before, zeros if there are none.
        """
        check(self, x)
        if x.ndim != 3:
            raise ValueError(f"LSTM: x: shape {x.shape}, expected 3 dimensions")
        ways = self._ways
        shape = (self.num_layers * len(ways), x.shape[not self.batch_first], self.hidden_size)
        if hc is None:
            hc = (Tensor.zeros(*shape, dtype=x.dtype),) * 2
        for name, state in zip("hc", hc):
            if state.shape != shape:
                raise ValueError(f"LSTM: {name}: shape {state.shape}, expected {shape}")
        ends: list[tuple[Tensor, ...]] = []
        for layer in range(self.num_layers):
            if layer and self.dropout:
                x = x.dropout(self.dropout)
            outs = []
            for way in ways:
                start = (hc[0][len(ends)], hc[1][len(ends)])
                out, *end = by_nodes(
                    "poly_lstm",
                    3,
                    x,
                    *start,
                    *self._weights(f"l{layer}{way}"),
                    self.batch_first,
                    way == "_reverse",
                )
                outs.append(out)
                ends.append(tuple(end))
            x = outs[0] if len(outs) == 1 else outs[0].cat(outs[1], dim=-1)
        h, c = (Tensor.stack(*states) for states in zip(*ends))
        return x, (h, c)

    def _weights(self, end: str) -> list[Tensor | None]:
        return [getattr(self, f"{name}_{end}", None) for name in _PARTS]
