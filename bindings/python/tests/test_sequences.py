"""Recurrent layers, attention and blocks of transformers against numpy in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numeric import RNG, check_gradient, close

from polygrad import Tensor, nn
from polygrad.nn import (
    GRU,
    LSTM,
    GRUCell,
    LSTMCell,
    MultiHeadAttention,
    TransformerBlock,
    get_state_dict,
)

Array = np.ndarray[Any, Any]


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def cell(x: Array, h: Array, c: Array, *weights: Array) -> tuple[Array, Array]:
    wi, wh, *biases = weights
    i, f, g, o = np.split(x @ wi.T + h @ wh.T + sum(biases), 4, -1)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


def numbers(*shape: int) -> Array:
    return RNG.uniform(-1, 1, shape)


def doubles(layer: Any) -> dict[str, Array]:
    """Make the parameters of a layer float64; return their values."""
    values = {}
    for name, tensor in get_state_dict(layer).items():
        values[name] = RNG.uniform(-0.7, 0.7, tensor.shape)
        *owner, last = name.split(".")
        target = getattr(layer, owner[0]) if owner else layer
        setattr(target, last, Tensor(values[name], requires_grad=True))
    return values


@pytest.mark.parametrize("bias", [True, False])
def test_lstm_cell(bias: bool) -> None:
    layer = LSTMCell(3, 2, bias)
    assert np.abs(layer.weight_ih.numpy()).max() <= 1 / np.sqrt(2)
    w = list(doubles(layer).values())
    assert len(w) == (4 if bias else 2)
    x, h, c = numbers(5, 3), numbers(5, 2), numbers(5, 2)
    for got, want in zip(layer(Tensor(x), (Tensor(h), Tensor(c))), cell(x, h, c, *w)):
        close(got, want, rtol=1e-12)
    zeros = np.zeros((5, 2))
    for got, want in zip(layer(Tensor(x)), cell(x, zeros, zeros, *w)):
        close(got, want, rtol=1e-12)
    check_gradient(lambda *t: Tensor.cat(*layer(t[0], (t[1], t[2]))), x, h, c)


def run(x: Array, h: Array, c: Array, w: list[Array], back: bool) -> tuple[Array, Array, Array]:
    outs = []
    for now in x[::-1] if back else x:
        h, c = cell(now, h, c, *w)
        outs.append(h)
    return np.stack(outs[::-1] if back else outs), h, c


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize(("layers", "bias", "length"), [(1, True, 1), (2, False, 5), (1, True, 35)])
def test_lstm(batch_first: bool, bidirectional: bool, layers: int, bias: bool, length: int) -> None:
    layer = LSTM(3, 2, layers, bias, batch_first, bidirectional=bidirectional)
    w = doubles(layer)
    ways = ["", "_reverse"] if bidirectional else [""]
    assert len(w) == layers * len(ways) * (4 if bias else 2)
    x = numbers(length, 4, 3)
    h, c = numbers(layers * len(ways), 4, 2), numbers(layers * len(ways), 4, 2)
    want, ends = x, []
    for k in range(layers):
        outs = []
        for way in ways:
            own = [w[f"{n}_l{k}{way}"] for n in nn._layer._PARTS if f"{n}_l{k}{way}" in w]
            at = len(ends)
            out, *end = run(want, h[at], c[at], own, bool(way))
            outs.append(out)
            ends.append(end)
        want = np.concatenate(outs, -1)
    given = x.swapaxes(0, 1).copy() if batch_first else x
    got, state = layer(Tensor(given), (Tensor(h), Tensor(c)))
    close(got, want.swapaxes(0, 1) if batch_first else want, rtol=1e-10)
    for tensor, values in zip(state, zip(*ends)):
        close(tensor, np.stack(values), rtol=1e-10)
    zeros = layer(Tensor(given), (Tensor(h * 0), Tensor(c * 0)))[0]
    close(layer(Tensor(given))[0], zeros.numpy(), rtol=1e-12)
    if length > 5:

        def loss(values: Array) -> Tensor:
            return layer(Tensor(values))[0].square().sum()

        weight = layer.weight_hh_l0  # type: ignore[attr-defined]
        inputs = Tensor(given.copy(), requires_grad=True)
        layer(inputs)[0].square().sum().backward()
        for at in ((0, 0, 0), (1, 2, 1), (-1, -1, 2)):
            up, down = given.copy(), given.copy()
            up[at] += 1e-5
            down[at] -= 1e-5
            slope = (loss(up).item() - loss(down).item()) / 2e-5
            assert inputs.grad is not None
            close(inputs.grad.numpy()[at], slope, rtol=1e-6, atol=1e-8)
        values, grad = weight.numpy().copy(), weight.grad.numpy()
        slopes = []
        for sign in (1, -1):
            weight._data[...] = values
            weight._data[3, 1] += sign * 1e-5
            slopes.append(loss(given).item())
        close(grad[3, 1], (slopes[0] - slopes[1]) / 2e-5, rtol=1e-6)


def gru(x: Array, h: Array, w: list[Array], back: bool = False) -> Array:
    wi, wh, bi, bh = w
    outs = []
    for now in x[::-1] if back else x:
        (p, q, s), (t, u, v) = np.split(now @ wi.T + bi, 3, -1), np.split(h @ wh.T + bh, 3, -1)
        z = sigmoid(q + u)
        h = (1 - z) * np.tanh(s + sigmoid(p + t) * v) + z * h
        outs.append(h)
    return np.stack(outs[::-1] if back else outs)


def test_gru() -> None:
    one = GRUCell(3, 2)
    w = list(doubles(one).values())
    x, h = numbers(5, 4, 3), numbers(4, 2)
    close(one(Tensor(x[0]), Tensor(h)), gru(x[:1], h, w)[0], rtol=1e-12)
    close(one(Tensor(x[0])), gru(x[:1], h * 0, w)[0], rtol=1e-12)
    check_gradient(lambda *t: one(t[0], t[1]), x[0], h)
    for batch_first in (False, True):
        layer = GRU(3, 2, batch_first=batch_first, bidirectional=True)
        w = list(doubles(layer).values())
        h = numbers(2, 4, 2)
        ways = [gru(x, h[0], w[:4]), gru(x, h[1], w[4:], True)]
        want = np.concatenate(ways, -1)
        turn = (1, 0, 2) if batch_first else (0, 1, 2)
        given = x.transpose(turn).copy()
        out, end = layer(Tensor(given), Tensor(h))
        close(out, want.transpose(turn), rtol=1e-10)
        close(end, np.stack([ways[0][-1], ways[1][0]]), rtol=1e-10)
        check_gradient(lambda *t, run=layer: run(t[0], t[1])[0], given, h)
    with pytest.raises(ValueError, match=r"GRU: h: shape \(1,4,2\), expected \(2,4,2\)"):
        layer(Tensor(given), Tensor(h[:1]))


@pytest.mark.parametrize("kind", [GRU, LSTM])
@pytest.mark.parametrize("bidirectional", [False, True])
def test_gradients_of_a_loop_have_gradients(kind: Any, bidirectional: bool) -> None:
    layer = kind(2, 2, bidirectional=bidirectional)
    doubles(layer)

    def slopes(x: Tensor, w: Tensor) -> Tensor:
        layer.weight_hh_l0 = w
        first = layer(x)[0].square().sum().gradient(x, w)
        return Tensor.cat(*((g * g.shape[0]).flatten() for g in first))

    check_gradient(slopes, numbers(3, 2, 2), layer.weight_hh_l0.numpy())


def test_lstm_drops_between_layers_while_training() -> None:
    layer = LSTM(3, 2, 2, dropout=1.0)
    x = Tensor(numbers(4, 2, 3).astype(np.float32))
    plain = layer(x)[0].numpy()
    with Tensor.train():
        dropped = layer(x)[0].numpy()
    assert np.abs(plain - dropped).max() > 1e-3
    other = layer(Tensor(numbers(4, 2, 3).astype(np.float32)))[0]
    with Tensor.train():
        again = layer(Tensor(other.numpy()[..., [0, 1, 1]].copy()))[0].numpy()
    close(again, dropped)  # the second layer sees only zeros


def softmax(x: Array) -> Array:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def attend(
    w: dict[str, Array], q: Array, k: Array, v: Array, heads: int, shared: int, mask: Any
) -> Array:
    size = q.shape[-1] // heads

    def part(name: str, x: Array) -> Array:
        y = x @ w[f"{name}.weight"].T + w.get(f"{name}.bias", np.zeros(1))
        return y.reshape(*y.shape[:-1], -1, size).swapaxes(-3, -2)

    q, k, v = part("q_proj", q), part("k_proj", k), part("v_proj", v)
    k, v = (np.repeat(t, heads // shared, -3) for t in (k, v))
    y = softmax(q @ k.swapaxes(-2, -1) / np.sqrt(size) + mask) @ v
    y = y.swapaxes(-3, -2).reshape(*y.shape[:-3], y.shape[-2], -1)
    return y @ w["o_proj.weight"].T + w.get("o_proj.bias", np.zeros(1))


@pytest.mark.parametrize("shared", [4, 2, 1])
@pytest.mark.parametrize("bias", [True, False])
def test_attention(shared: int, bias: bool) -> None:
    layer = MultiHeadAttention(8, 4, shared, bias)
    w = doubles(layer)
    assert w["k_proj.weight"].shape == (2 * shared, 8)
    x, y, z = numbers(2, 5, 8), numbers(2, 3, 8), numbers(2, 3, 8)
    causal = np.where(np.tri(5, dtype=bool), 0, -np.inf)
    masks = RNG.uniform(size=(5, 3)) > 0.4
    masks[:, 0] = True
    cases: list[tuple[Any, Any]] = [
        (layer(Tensor(x)), (x, x, x, 0.0)),
        (layer(Tensor(x), is_causal=True), (x, x, x, causal)),
        (layer(Tensor(x), Tensor(y)), (x, y, y, 0.0)),
        (layer(Tensor(x), Tensor(y), Tensor(z)), (x, y, z, 0.0)),
        (
            layer(Tensor(x), Tensor(y), attn_mask=Tensor(masks)),
            (x, y, y, np.where(masks, 0, -np.inf)),
        ),
        (layer(Tensor(x[0])), (x[0], x[0], x[0], 0.0)),
    ]
    for got, (q, k, v, mask) in cases:
        close(got, attend(w, q, k, v, 4, shared, mask), rtol=1e-10)
    check_gradient(lambda t: layer(t, is_causal=True), x[:1])


@pytest.mark.parametrize("norm", ["layer", "rms"])
@pytest.mark.parametrize("pre_norm", [True, False])
def test_transformer_block(norm: str, pre_norm: bool) -> None:
    block = TransformerBlock(
        8, 2, 12, 1, causal=True, pre_norm=pre_norm, norm=norm, activation=Tensor.relu
    )
    w = {name: t.numpy().astype(np.float64) for name, t in get_state_dict(block).items()}
    x = numbers(2, 5, 8).astype(np.float32)
    mask = np.where(np.tri(5, dtype=bool), 0, -np.inf)
    own = {name[5:]: v for name, v in w.items() if name.startswith("attn.")}

    def normal(y: Array) -> Array:
        y = y - y.mean(-1, keepdims=True) if norm == "layer" else y
        return y / np.sqrt((y * y).mean(-1, keepdims=True) + (1e-5 if norm == "layer" else 1e-6))

    def feed(y: Array) -> Array:
        y = np.maximum(y @ w["up.weight"].T + w["up.bias"], 0)
        return y @ w["down.weight"].T + w["down.bias"]

    def attention(y: Array) -> Array:
        return attend(own, y, y, y, 2, 1, mask)

    if pre_norm:
        want = x + attention(normal(x))
        want = want + feed(normal(want))
    else:
        want = normal(x + attention(x))
        want = normal(want + feed(want))
    close(block(Tensor(x)), want, rtol=1e-4, atol=1e-4)
    dropping = TransformerBlock(8, 2, dropout=0.5)
    plain = dropping(Tensor(x)).numpy()
    close(dropping(Tensor(x)), plain)
    with Tensor.train():
        assert np.abs(dropping(Tensor(x)).numpy() - plain).max() > 1e-3


def test_sequential() -> None:
    model = nn.Sequential(nn.Linear(3, 4), Tensor.relu, nn.Linear(4, 2))
    x = Tensor(numbers(5, 3).astype(np.float32))
    close(model(x), model[2](model[0](x).relu()).numpy())
    assert len(model) == 3
    assert len(nn.get_parameters(model)) == 4


def test_bad_arguments() -> None:
    x = Tensor.zeros(2, 5, 8)
    cases: list[tuple[Any, type[Exception], str]] = [
        (lambda: LSTMCell(3, 0), ValueError, "hidden_size"),
        (lambda: LSTMCell(3, 2)(Tensor.zeros(5, 4)), ValueError, r"x: shape \(5,4\)"),
        (lambda: LSTMCell(3, 2)(Tensor.zeros(5, 3), (x, x)), ValueError, "h"),
        (lambda: LSTM(3, 2, 0), ValueError, "num_layers"),
        (lambda: LSTM(3, 2, dropout=2.0), ValueError, "dropout"),
        (lambda: LSTM(3, 2)(Tensor.zeros(5, 3)), ValueError, "3 dimensions"),
        (lambda: LSTM(8, 2)(x, (x, x)), ValueError, r"h: shape \(2,5,8\), expected \(1,5,2\)"),
        (lambda: LSTM(8, 2)(Tensor.zeros(0, 2, 8)), ValueError, "one step"),
        (lambda: MultiHeadAttention(8, 3), ValueError, "num_heads: 3, expected a part of 8"),
        (lambda: MultiHeadAttention(8, 4, 3), ValueError, "num_kv_heads"),
        (lambda: MultiHeadAttention(8, 4, dropout=-1), ValueError, "dropout"),
        (lambda: MultiHeadAttention(8, 4)(Tensor.zeros(2, 5, 7)), ValueError, "shape"),
        (lambda: TransformerBlock(8, 2, norm="batch"), ValueError, "norm: 'batch'"),
        (lambda: nn.Sequential(3), TypeError, "layers\\[0\\]: an int"),  # type: ignore[arg-type]
    ]
    for function, kind, text in cases:
        with pytest.raises(kind, match=text):
            function()


def kernels_of_a_step(model: Any, function: Any, x: Tensor, classes: int) -> int:
    optimizer = nn.SGD(nn.get_parameters(model), lr=0.01)
    y = Tensor(RNG.integers(0, classes, function(x).shape[0]).astype(np.int32))

    def train() -> Tensor:
        optimizer.zero_grad()
        loss = function(x).cross_entropy(y)
        loss.backward()
        optimizer.step()
        return loss

    step = nn.compile_step(train)
    losses = []
    for _ in range(4):
        step.run()
        losses.append(step.loss_value())
    assert losses[-1] < losses[0]
    return step.n_kernels


def test_training_steps_keep_their_number_of_kernels() -> None:
    Tensor.manual_seed(7)
    layer, head = LSTM(128, 128), nn.Linear(128, 10)
    x = Tensor(numbers(16, 32, 128).astype(np.float32))
    assert kernels_of_a_step([layer, head], lambda t: head(layer(t)[0][-1]), x, 10) <= 91
    tokens, places = nn.Embedding(512, 256), nn.Embedding(128, 256)
    blocks = [TransformerBlock(256, 4, causal=True) for _ in range(2)]
    norm, out = nn.LayerNorm(256), nn.Linear(256, 512, bias=False)
    order = Tensor.arange(128).realize()

    def gpt(t: Tensor) -> Tensor:
        return out(norm(nn.Sequential(*blocks)(tokens(t) + places(order)))).reshape(128, 512)

    model = [tokens, places, blocks, norm, out]
    x = Tensor(RNG.integers(0, 512, (1, 128)).astype(np.int32))
    assert kernels_of_a_step(model, gpt, x, 512) <= 85
