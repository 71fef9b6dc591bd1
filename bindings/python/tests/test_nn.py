"""Layers, optimizers, state and compiled steps."""

from __future__ import annotations

from collections import namedtuple

import numpy as np
import pytest
from numeric import RNG, check_gradient, close

from polygrad import Tensor, nn
from polygrad.nn import (
    SGD,
    Adam,
    AdamW,
    Dropout,
    Embedding,
    GroupNorm,
    LayerNorm,
    Linear,
    RMSNorm,
    compile_step,
    get_parameters,
    get_state_dict,
    load_state_dict,
)


def test_linear():
    layer = Linear(4, 3)
    x = RNG.uniform(-1, 1, (2, 4)).astype(np.float32)
    close(layer(Tensor(x)), x @ layer.weight.numpy().T + layer.bias.numpy(), rtol=1e-4)
    assert Linear(4, 3, bias=False).bias is None
    assert np.abs(layer.weight.numpy()).max() <= 0.5
    with pytest.raises(ValueError, match="Linear: x: shape"):
        layer(Tensor.zeros(2, 5))


def test_norms():
    x = RNG.uniform(-1, 1, (2, 6, 5)).astype(np.float32)
    want = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    close(LayerNorm(5)(Tensor(x)), want, rtol=1e-4, atol=1e-5)
    both = (x - x.mean((1, 2), keepdims=True)) / np.sqrt(x.var((1, 2), keepdims=True) + 1e-5)
    close(LayerNorm((6, 5))(Tensor(x)), both, rtol=1e-4, atol=1e-5)
    close(
        RMSNorm(5)(Tensor(x)),
        x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-6),
        rtol=1e-5,
        atol=1e-6,
    )
    assert RMSNorm(5, elementwise_affine=False).weight is None
    images = RNG.uniform(-1, 1, (2, 3, 4, 5)).astype(np.float32)
    want_images = images - images.mean(1, keepdims=True)
    want_images /= np.sqrt(images.var(1, keepdims=True) + 1e-5)
    close(nn.LayerNorm2d(3)(Tensor(images)), want_images, rtol=1e-4, atol=1e-5)
    with pytest.raises(ValueError, match="LayerNorm2d"):
        nn.LayerNorm2d(3)(Tensor(x))
    g = x.reshape(2, 3, 10)
    g = (g - g.mean(-1, keepdims=True)) / np.sqrt(g.var(-1, keepdims=True) + 1e-5)
    close(GroupNorm(3, 6)(Tensor(x)), g.reshape(x.shape), rtol=1e-4, atol=1e-5)
    with pytest.raises(ValueError, match="LayerNorm"):
        LayerNorm(4)(Tensor(x))
    with pytest.raises(ValueError, match="groups"):
        GroupNorm(4, 6)(Tensor(x))
    layer = LayerNorm(5)
    layer.weight.assign(Tensor([1.0, 2.0, 3.0, 4.0, 5.0]))
    layer.bias.assign(Tensor([1.0, 0.0, 0.0, 0.0, 0.0]))
    close(layer(Tensor(x)), want * [1, 2, 3, 4, 5] + [1, 0, 0, 0, 0], rtol=1e-4, atol=1e-5)


def test_embedding():
    layer = Embedding(10, 4)
    index = np.array([[1, 9], [0, 1]])
    close(layer(Tensor(index)), layer.weight.numpy()[index])
    layer(Tensor(index)).sum().backward()
    assert layer.weight.grad.numpy().sum(1).tolist() == [4, 8, 0, 0, 0, 0, 0, 0, 0, 4]
    with pytest.raises(TypeError, match="expected an integer type"):
        layer(Tensor([1.0]))


def test_dropout():
    x = Tensor.ones(1000)
    assert Dropout(0.5)(x).tolist() == x.tolist()
    with Tensor.train():
        a, b = Dropout(0.25)(x).numpy(), Dropout(0.25)(x).numpy()
    assert not Tensor.training
    assert 650 < (a > 0).sum() < 850
    close(np.unique(a), [0, 4 / 3])
    assert (a != b).any()
    with Tensor.train():
        assert x.dropout(1.0).sum().item() == 0
    with pytest.raises(ValueError, match="p:"):
        Dropout(1.5)


class Net:
    def __init__(self):
        self.layers = [Linear(4, 8), Linear(8, 2)]
        self.norm = LayerNorm(8)
        self.name = "net"

    def __call__(self, x):
        return self.layers[1](self.norm(self.layers[0](x).relu()))


def test_state():
    net = Net()
    names = [
        "layers.0.weight",
        "layers.0.bias",
        "layers.1.weight",
        "layers.1.bias",
        "norm.normalized_shape",
    ]
    found = get_state_dict(net)
    assert list(found)[:4] == names[:4]
    assert set(found) == {*names[:4], "norm.weight", "norm.bias"}
    assert len(get_parameters(net)) == 6
    other = Net()
    load_state_dict(other, found)
    for a, b in zip(get_parameters(net), get_parameters(other)):
        assert (a.numpy() == b.numpy()).all()
        assert not np.shares_memory(a.numpy(), b.numpy())
    load_state_dict(other, {k: v.numpy() for k, v in found.items()})
    with pytest.raises(KeyError, match="missing"):
        load_state_dict(other, {})
    text = r"Shape mismatch in layer `norm.bias`: Expected shape \(8,\), but found \(3,\) in state"
    with pytest.raises(ValueError, match=text):
        load_state_dict(other, {**found, "norm.bias": Tensor.zeros(3)})
    loaded = load_state_dict(other, {"norm.bias": Tensor.ones(8)}, strict=False)
    assert [t is other.norm.bias for t in loaded] == [True]
    assert other.norm.bias.numpy().sum() == 8
    more = {**found, "extra": Tensor.zeros(3)}
    with pytest.warns(UserWarning, match="extra"):
        load_state_dict(other, more)
    load_state_dict(other, more, verbose=False, consume=True)
    assert list(more) == ["extra"]
    one = [Tensor(2.0)]
    load_state_dict(one, {"0": np.array([3], np.int64)})
    assert one[0].tolist() == 3.0
    Pair = namedtuple("Pair", "left right")
    assert list(get_state_dict(Pair(one[0], [one[0]]), "m.")) == ["m.left", "m.right.0"]
    assert get_state_dict({"a": 1, "b": one}, tensor_type=int) == {"a": 1}
    shared = Linear(2, 2)
    assert len(get_parameters([shared, shared])) == 2
    optimizer = Adam(get_parameters([shared, Tensor.ones(3), Tensor([1, 2])]))
    assert [p.requires_grad for p in optimizer.params] == [True, True, True]
    schedule = nn.ReduceLROnPlateau(optimizer)
    assert len(get_parameters([shared, optimizer, schedule])) == 3
    frozen = Linear(2, 2)
    frozen.weight.requires_grad = False
    assert get_parameters(frozen) == [frozen.bias]
    assert len(SGD([frozen.weight, frozen.bias]).buffers) == 1


def reference(
    kind, p, grads, lr, wd=0.0, momentum=0.0, nesterov=False, betas=(0.9, 0.999), eps=1e-8
):
    """Return what textbook formulas make of a parameter."""
    p = p.astype(np.float64)
    b = m = v = np.zeros_like(p)
    for t, g in enumerate(grads, 1):
        if kind == "sgd":
            g = g + wd * p
            b = momentum * b + g
            p = p - lr * (g + momentum * b if nesterov else b)
            continue
        if kind == "adam":
            g = g + wd * p
        else:
            p = p * (1 - lr * wd)
        m = betas[0] * m + (1 - betas[0]) * g
        v = betas[1] * v + (1 - betas[1]) * g * g
        p = p - lr * (m / (1 - betas[0] ** t)) / (np.sqrt(v / (1 - betas[1] ** t)) + eps)
    return p


@pytest.mark.parametrize(
    ("make", "kind", "options"),
    [
        (SGD, "sgd", {}),
        (SGD, "sgd", {"momentum": 0.9}),
        (SGD, "sgd", {"momentum": 0.9, "weight_decay": 0.1}),
        (SGD, "sgd", {"momentum": 0.9, "weight_decay": 0.1, "nesterov": True}),
        (Adam, "adam", {}),
        (Adam, "adam", {"weight_decay": 0.1}),
        (AdamW, "adamw", {"weight_decay": 0.1}),
        (AdamW, "adamw", {"betas": (0.8, 0.9), "weight_decay": 0.01}),
    ],
)
def test_optimizers(make, kind, options):
    start = RNG.uniform(-1, 1, (3, 2))
    grads = [RNG.uniform(-1, 1, (3, 2)) for _ in range(5)]
    p = Tensor(start.copy(), requires_grad=True)
    unused = Tensor([1.0], requires_grad=True)
    optimizer = make([p, unused], lr=0.1, **options)
    for g in grads:
        optimizer.zero_grad()
        (p * Tensor(g)).sum().backward()
        optimizer.step()
    renamed = {"wd" if k == "weight_decay" else k: v for k, v in options.items()}
    close(p, reference(kind, start, grads, 0.1, **renamed), rtol=1e-5)
    assert unused.tolist() == [1.0]
    optimizer.lr = 0.5
    assert optimizer.lr.item() == 0.5
    # A gradient that reads the parameter element by element sees it before the update.
    q = Tensor([1.0, 2.0], requires_grad=True)
    optimizer = SGD([q], lr=0.1, momentum=0.5)
    for _ in range(2):
        optimizer.zero_grad()
        (q * q).sum().backward()
        optimizer.step()
    close(q, [0.8 - 0.1 * (1.6 + 1.0), 1.6 - 0.1 * (3.2 + 2.0)])


def test_optimizer_errors():
    with pytest.raises(ValueError, match="empty"):
        SGD([])
    with pytest.raises(ValueError, match="lr"):
        Adam([Tensor([1.0])], lr=-1)
    optimizer = SGD([Tensor([1.0])], lr=0.1)
    optimizer.step()


def batch(seed):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (16, 4)).astype(np.float32)
    return x, (x[:, 0] > x[:, 1]).astype(np.int32)


@pytest.mark.parametrize("make", [SGD, Adam, AdamW])
def test_a_compiled_step_does_what_the_function_does(make):
    Tensor.manual_seed(3)
    nets = [Net(), Net()]
    load_state_dict(nets[1], get_state_dict(nets[0]))
    optimizers = [make(get_parameters(n), lr=0.05) for n in nets]
    x, y = Tensor(batch(0)[0]), Tensor(batch(0)[1])

    def train(net, optimizer, x, y):
        optimizer.zero_grad()
        loss = net(x).cross_entropy(y)
        loss.backward()
        optimizer.step()
        return loss

    before = [p.numpy().copy() for p in get_parameters(nets[0])]
    step = compile_step(train, nets[0], optimizers[0], x, y)
    for p, b in zip(get_parameters(nets[0]), before):
        assert (p.numpy() == b).all(), "tracing must not change a parameter"
        assert p.grad is None
    assert step.n_kernels > 0
    assert step.n_intermediates >= 0
    losses = []
    for i in range(30):
        x._data[:], y._data[:] = batch(i)
        step.run()
        eager = train(nets[1], optimizers[1], Tensor(batch(i)[0]), Tensor(batch(i)[1]))
        losses.append(step.loss_value())
        close(losses[-1], eager.item(), rtol=1e-4, atol=1e-5)
    for p, q in zip(get_parameters(nets[0]), get_parameters(nets[1])):
        close(p, q.numpy(), rtol=2e-3, atol=1e-4)
    assert losses[-1] < losses[0]


def test_compiled_dropout_draws_anew():
    layer = Linear(8, 1)
    optimizer = SGD(get_parameters(layer), lr=0.0)
    x = Tensor.ones(4, 8)

    def train():
        optimizer.zero_grad()
        loss = layer(x.dropout(0.5)).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    with Tensor.train():
        step = compile_step(train)
    seen = set()
    for _ in range(10):
        step.run()
        seen.add(step.loss_value())
    assert len(seen) > 5


def test_compiled_step_outputs_and_errors():
    x = Tensor([1.0, 2.0])
    step = compile_step(lambda t: (t.sum(), t * 2), x)
    step()
    assert step.loss_value() == 3
    assert step.outputs[1].tolist() == [2, 4]
    with pytest.raises(ValueError, match="nothing"):
        compile_step(lambda: None)
    with pytest.raises(TypeError, match="tensors"):
        compile_step(lambda: [1])
    with pytest.raises(RuntimeError, match="traces"):
        compile_step(lambda t: t.exp().item(), x)
    step = compile_step(lambda t: t.assign(t + 1), x)
    step.run()
    step.run()
    assert x.tolist() == [3, 4]
    with pytest.raises(ValueError, match="loss_value"):
        step.loss_value()


def test_gradients_of_layers():
    x = RNG.uniform(-1, 1, (3, 4))
    w = RNG.uniform(-1, 1, 4)

    def norm(t, weight):
        layer = LayerNorm(4)
        layer.weight, layer.bias = weight, weight
        return layer(t)

    check_gradient(norm, x, w)

    def rms(t, weight):
        layer = RMSNorm(4)
        layer.weight = weight
        return layer(t)

    check_gradient(rms, x, w)

    def group(t, weight):
        layer = GroupNorm(2, 4)
        layer.weight, layer.bias = weight, weight
        return layer(t)

    check_gradient(group, x, w)


def test_training_memory_is_flat():
    from polygrad._base import release_dead
    from polygrad._graph import CTX
    from polygrad._library import lib

    layer = Linear(4, 1)
    optimizer = Adam(get_parameters(layer), lr=0.01)
    counts = []
    for i in range(60):
        optimizer.zero_grad()
        x, y = batch(i)
        loss = (layer(Tensor(x)).squeeze(-1) - Tensor(y.astype(np.float32))).square().mean()
        loss.backward()
        optimizer.step()
        release_dead()
        counts.append(lib.poly_ctx_live_nodes(CTX))
    assert max(counts[10:]) <= counts[10] + 20


def test_bad_arguments_of_layers_and_steps():
    with pytest.raises(ValueError, match="in_features: -1, expected 0 or more"):
        Linear(-1, 2)
    with pytest.raises(TypeError, match="params: a Tensor, expected a list of tensors"):
        SGD(Tensor([1.0]))
    with pytest.raises(TypeError, match="must return tensors"):
        compile_step(lambda x: 1.0, Tensor([1.0]))
    with pytest.raises(RuntimeError, match="a value is needed while compile_step traces"):
        compile_step(lambda x: x.item(), Tensor([1.0]))
    assert LayerNorm(np.int64(2)).normalized_shape == (2,)


@pytest.mark.parametrize("compiled_first", [True, False])
def test_a_compiled_step_goes_on_from_loaded_state(compiled_first):
    x, y = Tensor(RNG.uniform(size=(8, 4))), Tensor(RNG.uniform(size=(8, 1)))

    def step(model, optimizer):
        loss = (model[1](model[0](x).relu()) - y).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss

    def make():
        model = [Linear(4, 8), Linear(8, 1)]
        return model, Adam(get_parameters(model), lr=0.01)

    def losses(run):
        out = []
        for _ in range(5):
            run.run()
            out.append(run.loss_value())
        return out

    first = make()
    run = compile_step(step, *first)
    losses(run)
    saved = {name: t.numpy().copy() for name, t in get_state_dict(first).items()}
    want = losses(run)
    second = make()
    if compiled_first:
        again = compile_step(step, *second)
        again.run()
        load_state_dict(second, saved)
    else:
        load_state_dict(second, saved)
        again = compile_step(step, *second)
    assert losses(again) == want


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "int8", "int32"])
def test_cross_entropy_of_classes_that_wrapped_around(dtype: str) -> None:
    """x - 1 of an unsigned type is x + 255: the loss must not take that for a large class."""
    logits = np.arange(12, dtype=np.float32).reshape(3, 4) / 4
    classes = Tensor(np.array([2, 1, 4], dtype)) - 1
    want = Tensor(logits).cross_entropy(Tensor(np.array([1, 0, 3], np.int32))).item()
    np.testing.assert_allclose(Tensor(logits).cross_entropy(classes).item(), want, rtol=1e-6)


def test_batch_norm_of_images_and_volumes_is_the_same_layer():
    for layer, shape in ((nn.BatchNorm2d, (2, 3, 4, 4)), (nn.BatchNorm3d, (2, 3, 4, 4, 4))):
        with Tensor.train():
            out = layer(3)(Tensor(RNG.uniform(-1, 1, shape).astype(np.float32)))
        close(out.mean((0, *range(2, len(shape)))), [0, 0, 0], atol=1e-5)


@pytest.mark.parametrize(
    ("layer", "name"),
    [
        (nn.Linear(2, 2), "x"),
        (nn.LayerNorm(2), "x"),
        (nn.LayerNorm2d(2), "x"),
        (nn.RMSNorm(2), "x"),
        (nn.GroupNorm(1, 2), "x"),
        (nn.InstanceNorm(2), "x"),
        (nn.BatchNorm(2), "x"),
        (nn.Embedding(3, 2), "idx"),
        (nn.Dropout(0.5), "x"),
        (nn.Sequential(nn.Linear(2, 2)), "x"),
        (nn.Conv2d(1, 1, 3), "x"),
        (nn.ConvTranspose2d(1, 1, 3), "x"),
        (nn.LSTMCell(2, 2), "x"),
        (nn.LSTM(2, 2), "x"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_layers_say_that_they_want_tensors(layer, name):
    for wrong in (5, [1.0, 2.0], np.ones(2), None):
        kind = type(wrong).__name__
        with pytest.raises(
            TypeError, match=f"^{type(layer).__name__}: {name}: an? {kind}, expected a tensor"
        ):
            layer(wrong)


def test_blocks_of_training_that_end_in_any_order() -> None:
    first, second = Tensor.train(), Tensor.train()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert Tensor.training is True
    second.__exit__(None, None, None)
    assert Tensor.training is False
    with Tensor.train(), Tensor.train(False):
        assert Tensor.training is False
    assert Tensor.training is False
