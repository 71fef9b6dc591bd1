"""Layers of convolution, and norms over channels and batches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numeric import RNG, close
from test_spatial import conv, conv_transpose

from polygrad import Tensor, viz
from polygrad.nn import (
    SGD,
    BatchNorm,
    Conv1d,
    Conv2d,
    ConvTranspose1d,
    ConvTranspose2d,
    InstanceNorm,
    compile_step,
    get_parameters,
    get_state_dict,
)


def test_convolutions() -> None:
    x = RNG.normal(size=(2, 4, 6, 7)).astype(np.float32)
    layer = Conv2d(4, 6, (3, 2), stride=(2, 1), padding=1, dilation=(1, 2), groups=2)
    assert layer.bias is not None
    want = conv(x, layer.weight.numpy(), 2, (2, 1), (1, 2), 1)
    close(layer(Tensor(x)), want + layer.bias.numpy()[:, None, None], 1e-4, 1e-5)
    assert Conv2d(4, 6, 3, padding="same", dilation=2)(Tensor(x)).shape == (2, 6, 6, 7)
    assert Conv2d(4, 6, (4, 1), padding="same")(Tensor(x)).shape == (2, 6, 6, 7)
    line = Conv1d(4, 5, 3, stride=2, bias=False)
    close(line(Tensor(x[:, :, 0])), conv(x[:, :, 0], line.weight.numpy(), stride=2), 1e-4, 1e-5)
    back = ConvTranspose2d(4, 6, 3, 2, 1, 1, groups=2, bias=False)
    want = conv_transpose(x, back.weight.numpy(), 2, 2, 1, 1, 1)
    close(back(Tensor(x)), want, 1e-4, 1e-5)
    assert ConvTranspose1d(4, 2, 3)(Tensor(x[:, :, 0])).shape == (2, 2, 9)
    bound = 1 / np.sqrt(2 * 3 * 2)
    assert 0.8 * bound < np.abs(layer.weight.numpy()).max() <= bound
    with pytest.raises(ValueError, match="same"):
        Conv2d(1, 1, 3, padding="valid")
    with pytest.raises(ValueError, match="stride"):
        Conv2d(1, 1, 3, stride=2, padding="same")


def test_batchnorm() -> None:
    x = RNG.normal(2, 3, (4, 3, 5)).astype(np.float32)
    norm = BatchNorm(3)
    close(norm(Tensor(x)), x / np.sqrt(1 + 1e-5), 1e-5, 1e-5)
    with Tensor.train():
        got = norm(Tensor(x))
    mean, var = x.mean((0, 2)), x.var((0, 2))
    want = (x - mean[:, None]) / np.sqrt(var + 1e-5)[:, None]
    close(got, want, 1e-4, 1e-4)
    assert norm.running_mean is not None
    assert norm.running_var is not None
    close(norm.running_mean, 0.1 * mean, 1e-5)
    close(norm.running_var, 0.9 + 0.1 * x.var((0, 2), ddof=1), 1e-5)
    assert norm.num_batches_tracked.item() == 1
    names = ["bias", "num_batches_tracked", "running_mean", "running_var", "weight"]
    assert sorted(get_state_dict(norm)) == names
    assert len(get_parameters(norm)) == 2
    plain = BatchNorm(3, affine=False, track_running_stats=False)
    close(plain(Tensor(x)), want, 1e-4, 1e-4)
    flat = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    close(InstanceNorm(3)(Tensor(x)), flat, 1e-4, 1e-4)


def test_gradients_go_once_through_what_a_batchnorm_was_given() -> None:
    def gradients(tracked: bool) -> tuple[int, list[Any]]:
        Tensor.manual_seed(1)
        first, second = Conv2d(1, 4, 3), Conv2d(4, 4, 3)
        norms = [BatchNorm(4, track_running_stats=tracked) for _ in range(2)]
        x = Tensor(np.random.default_rng(0).normal(size=(8, 1, 9, 9)).astype(np.float32))
        with Tensor.train():
            norms[1](second(norms[0](first(x)).relu())).square().mean().backward()
        grads = [first.weight.grad, second.weight.grad]
        return sum(k.flops for k in viz.profile(*grads, runs=1).kernels), grads

    work, grads = gradients(True)
    all_work, expected = gradients(False)
    assert work < all_work, "statistics that are computed need not be computed again"
    for got, want in zip(grads, expected):
        close(got, want.numpy(), 1e-3, 1e-6)


class Net:
    """A small network of images."""

    def __init__(self) -> None:
        Tensor.manual_seed(1)
        self.first = Conv2d(1, 4, 3, padding=1)
        self.norm = BatchNorm(4)
        self.second = Conv2d(4, 2, 3)

    def __call__(self, x: Tensor) -> Tensor:
        """Return logits."""
        y = self.norm(self.first(x)).relu().max_pool2d()
        return self.second(y).mean((2, 3))


@pytest.mark.parametrize("compiled", [False, True])
def test_training(compiled: bool) -> None:
    rng = np.random.default_rng(0)
    images = rng.normal(size=(32, 1, 8, 8)).astype(np.float32)
    classes = rng.integers(0, 2, 32).astype(np.int32)
    images += np.where(classes, 1.0, -1.0)[:, None, None, None] * np.linspace(-1, 1, 8)
    images = images.astype(np.float32)
    net = Net()
    optimizer = SGD(get_parameters(net), lr=0.5)
    x, y = Tensor(images), Tensor(classes)

    def step() -> Tensor:
        with Tensor.train():
            loss = net(x).cross_entropy(y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return loss

    losses = []
    if compiled:
        program = compile_step(step)
        for _ in range(15):
            program.run()
            losses.append(program.loss_value())
    else:
        losses = [float(step().item()) for _ in range(15)]
    assert losses[-1] < 0.5 * losses[0]
    assert net.norm.num_batches_tracked.item() >= 15
    accuracy = float((net(x).argmax(1) == y).float().mean().item())
    assert accuracy > 0.9
