"""Optimizers and clipping against their formulas in float64."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numeric import RNG, close

from polygrad import Tensor, nn
from polygrad.nn import (
    LAMB,
    LARS,
    SGD,
    Adam,
    AdamW,
    Linear,
    Muon,
    OptimizerGroup,
    clip_grad_norm_,
    clip_grad_value_,
    compile_step,
    get_parameters,
)

Array = np.ndarray[Any, Any]


def norm(x: Array) -> float:
    return float(np.sqrt((x * x).sum()))


def newton_schulz(x: Array, steps: int, factors: tuple[float, ...]) -> Array:
    g = x.reshape(len(x), -1)
    turned = g.shape[0] > g.shape[1]
    g = g.T if turned else g
    g = g / (norm(g) + 1e-7)
    for _ in range(steps):
        square, power, total = g @ g.T, g, factors[0] * g
        for f in factors[1:]:
            power = square @ power
            total = total + f * power
        g = total
    return (g.T if turned else g).reshape(x.shape)


def lars(p: Array, grads: list[Array], lr: float, o: dict[str, Any]) -> Array:
    """Return what LARS makes of a parameter; o are its options."""
    b = np.zeros_like(p)
    for g in grads:
        r = 1.0
        if o.get("tcoef", 0.001):
            rp, rg = norm(p), norm(g)
            if rp > 0 and rg > 0:
                r = o.get("tcoef", 0.001) * rp / (rg + o.get("weight_decay", 1e-4) * rp)
        decay = o.get("weight_decay", 1e-4)
        g = g + decay * p if o.get("pre_wd", True) else g
        classic = o.get("classic", True)
        g = g * r * lr if classic else g
        momentum = o.get("momentum", 0.9)
        b = momentum * b + g
        g = g + momentum * b if o.get("nesterov") else b
        if o.get("ns_coefficients"):
            g = newton_schulz(g, o["ns_steps"], o["ns_coefficients"])
        p = p if o.get("pre_wd", True) else p * (1 - lr * decay)
        p = p - (g if classic else g * r * lr)
    return p


def lamb(p: Array, grads: list[Array], lr: float, o: dict[str, Any]) -> Array:
    b1, b2 = o.get("b1", 0.9), o.get("b2", 0.999)
    m = v = np.zeros_like(p)
    for t, g in enumerate(grads, 1):
        m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g * g
        step = m / (1 - b1**t) / (np.sqrt(v / (1 - b2**t)) + o.get("eps", 1e-6))
        step = step + o.get("weight_decay", 0.0) * p
        r = norm(p) / norm(step) if norm(p) > 0 and norm(step) > 0 else 1.0
        p = p - lr * r * step
    return p


MUON = {
    "momentum": 0.95,
    "weight_decay": 0.1,
    "ns_steps": 5,
    "ns_coefficients": (3.4445, -4.775, 2.0315),
    "nesterov": True,
    "classic": False,
    "pre_wd": False,
    "tcoef": 0,
}


@pytest.mark.parametrize(
    ("make", "formula", "given", "options"),
    [
        (LARS, lars, {}, {}),
        (LARS, lars, {"classic": False, "nesterov": True}, {"classic": False, "nesterov": True}),
        (LARS, lars, {"momentum": 0, "pre_wd": False}, {"momentum": 0, "pre_wd": False}),
        (
            SGD,
            lars,
            {"momentum": 0.9, "weight_decay": 0.1, "classic": True},
            {"weight_decay": 0.1, "tcoef": 0},
        ),
        (Muon, lars, {}, MUON),
        (
            Muon,
            lars,
            {"nesterov": False, "ns_steps": 3, "ns_coefficients": (1.5, -0.5), "momentum": 0.5},
            {
                **MUON,
                "nesterov": False,
                "ns_steps": 3,
                "ns_coefficients": (1.5, -0.5),
                "momentum": 0.5,
            },
        ),
        (LAMB, lamb, {}, {}),
        (LAMB, lamb, {"weight_decay": 0.1, "b1": 0.8}, {"weight_decay": 0.1, "b1": 0.8}),
        (LAMB, lamb, {"betas": (0.5, 0.7)}, {"b1": 0.5, "b2": 0.7}),
    ],
)
@pytest.mark.parametrize("shape", [(3, 2), (2, 3, 2), (4,)])
def test_formulas(make: Any, formula: Any, given: Any, options: Any, shape: Any) -> None:
    start = RNG.uniform(-1, 1, shape)
    grads = [RNG.uniform(-1, 1, shape) for _ in range(5)]
    for dtype, tolerance in ((np.float64, 1e-9), (np.float32, 2e-4)):
        p = Tensor(start.astype(dtype))
        optimizer = make([p], lr=0.1, **given)
        if dtype == np.float64:
            vars(optimizer)["lr"] = Tensor(np.array([0.1]))  # a rate in float32 is not 0.1
        for g in grads:
            optimizer.zero_grad()
            (p * Tensor(g.astype(dtype))).sum().backward()
            optimizer.step()
        close(p, formula(start, grads, 0.1, options), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("make", [SGD, LARS, LAMB, Adam, Muon])
def test_half_precision_keeps_its_state_in_float32(make: Any) -> None:
    p = Tensor(np.ones((2, 2), np.float16))
    optimizer = make([p], lr=1.0 if make is LARS else 1e-3)
    for _ in range(3):
        optimizer.zero_grad()
        (p * 3).sum().backward()
        optimizer.step()
    assert p.dtype == "float16"
    assert {t.dtype.name for t in optimizer._tensors()} <= {"float32", "float64"}
    assert 0.9 < p.numpy().min() < 1


def test_ratios_of_zeros_count_as_one() -> None:
    for make, want in ((LARS, [-1.0, -1.0]), (LAMB, [-1.0, -1.0])):
        options = {"momentum": 0.0} if make is LARS else {}
        p = Tensor([0.0, 0.0])
        optimizer: Any = make([p], lr=1.0, **options)
        p.sum().backward()
        optimizer.step()
        close(p, want, rtol=1e-5)


def test_a_group_steps_in_one_program() -> None:
    a, b = Tensor([1.0, 2.0]), Tensor([[3.0]])
    group = OptimizerGroup(SGD([a], lr=0.5), Adam([b], lr=0.25))
    # b's gradient reads a before a's step.
    ((a * a).sum() * b).sum().backward()
    group.step()
    close(a, [-2, -4])
    close(b, [[2.75]], rtol=1e-6)
    assert [len(group.params), len(group.optimizers), group[0].lr.item()] == [2, 2, 0.5]
    group.zero_grad()
    assert a.grad is None
    assert b.grad is None
    group.step()
    close(a, [-2, -4])
    with pytest.raises(AttributeError, match="group"):
        group.lr.item()
    with pytest.raises(TypeError, match="optimizers"):
        OptimizerGroup(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="optimizers: none"):
        OptimizerGroup()


def test_buffers_rates_and_the_tensors_of_a_step() -> None:
    p, count = Tensor([1.0]), Tensor(np.array([3]))
    optimizer = SGD([p, p, count], lr=0.5, momentum=0.9, fused=True)
    assert optimizer.params == [p]
    assert optimizer.buffers == [count]
    assert optimizer.device == p.device
    p.sum().backward()
    tensors = optimizer.schedule_step()
    assert [id(t) for t in tensors] == [id(t) for t in (optimizer.b[0], p, count)]
    assert p.item() == 0.5
    optimizer.lr.assign(Tensor([0.25]))
    assert float(optimizer.lr) == 0.25
    optimizer.lr = optimizer.lr * 0.5
    assert optimizer.lr.item() == 0.125
    assert optimizer.lr.shape == (1,)


def test_bad_arguments() -> None:
    p = Tensor([1.0])
    cases: list[tuple[Any, type[Exception], str]] = [
        (lambda: SGD([1.0]), TypeError, r"SGD: params\[0\]: a float"),  # type: ignore[list-item]
        (lambda: Adam([Tensor(np.array([1]))]), ValueError, "params: is empty"),
        (lambda: SGD([p], lr=-1), ValueError, "SGD: lr: -1, expected 0 or more"),
        (lambda: SGD([p], momentum=math.nan), ValueError, "momentum"),
        (lambda: SGD([p], lr="x"), TypeError, 'lr: is "x", expected a number'),  # type: ignore[arg-type]
        (lambda: LARS([p], weight_decay=-0.1), ValueError, "weight_decay"),
        (lambda: Adam([p], b1=1.0), ValueError, "b1: 1, expected 0 or more and less than 1"),
        (lambda: Adam([p], betas=(0.9, 1.5)), ValueError, "b2"),
        (lambda: LAMB([p], eps=-1), ValueError, "eps"),
        (lambda: Muon([Tensor(1.0)]), ValueError, "scalar"),
        (lambda: clip_grad_norm_([1], 1.0), TypeError, "clip_grad_norm_: parameters"),  # type: ignore[list-item]
        (lambda: clip_grad_value_([p], -1.0), ValueError, "clip_value"),
    ]
    for function, kind, text in cases:
        with pytest.raises(kind, match=text):
            function()
    optimizer = Muon([Tensor([[1.0]])], ns_steps=2000)
    optimizer.params[0].sum().backward()
    with pytest.raises(ValueError, match="ns_steps"):
        optimizer.step()
    p = Tensor([1.0], requires_grad=True)
    p.sum().backward()
    for options in ({"max_norm": -1.0}, {"max_norm": 1.0, "norm_type": 0}):
        with pytest.raises(ValueError, match="norm"):
            clip_grad_norm_([p], **options)


@pytest.mark.parametrize("order", [2.0, 1.0, 3.0, math.inf])
@pytest.mark.parametrize("most", [0.5, 1e3])
def test_clipping_norms(order: float, most: float) -> None:
    arrays = [RNG.uniform(-1, 1, s).astype(np.float32) for s in ((3, 4), (5,), (0, 2))]
    ps = [Tensor(a.copy(), requires_grad=True) for a in arrays]
    unused = Tensor([1.0], requires_grad=True)
    for p in ps:
        (p**3).sum().backward()
    held = ps[0].grad
    grads = [3 * a.astype(np.float64) ** 2 for a in arrays]
    flat = np.concatenate([g.ravel() for g in grads])
    want = float(np.linalg.norm(flat, order))
    got = clip_grad_norm_([*ps, ps[0], unused], most, order)
    assert got.shape == ()
    close(got, want, rtol=1e-5)
    scale = min(1.0, most / (want + 1e-6))
    for p, g in zip(ps, grads):
        close(p.grad, g * scale, rtol=1e-5)
    assert held is not None
    close(held, grads[0] * scale, rtol=1e-5)
    assert unused.grad is None
    assert clip_grad_norm_([unused], 1.0).item() == 0


def test_clipping_values_and_norms_that_are_not_finite() -> None:
    p = Tensor([1.0, 1.0], requires_grad=True)
    (p * Tensor([3.0, -4.0])).sum().backward()
    clip_grad_value_(p, 3.5)
    assert p.grad is not None
    assert p.grad.tolist() == [3.0, -3.5]
    p.grad = None
    (p * Tensor([math.inf, 1.0])).sum().backward()
    with pytest.raises(RuntimeError, match="norm of the gradients is inf"):
        clip_grad_norm_([p], 1.0, error_if_nonfinite=True)


class Net:
    def __init__(self) -> None:
        Tensor.manual_seed(5)
        self.layers = [Linear(6, 8), Linear(8, 3)]

    def __call__(self, x: Tensor) -> Tensor:
        return self.layers[1](self.layers[0](x).relu())


X = RNG.uniform(-1, 1, (16, 6)).astype(np.float32)
Y = RNG.integers(0, 3, 16).astype(np.int32)


@pytest.mark.parametrize("make", [SGD, LARS, Muon, LAMB, Adam, AdamW])
def test_compiled_steps_with_clipping_and_schedules_do_what_eager_ones_do(make: Any) -> None:
    nets = [Net(), Net()]
    parts = [p for n in nets for p in get_parameters(n)]
    count = len(parts) // 2
    chosen = [[p for p in parts[i * count : (i + 1) * count] if p.ndim > 1] for i in (0, 1)]
    optimizers = [make(c, lr=0.05) for c in chosen]
    schedules = [nn.StepLR(o, step_size=2, gamma=0.5) for o in optimizers]
    x, y = Tensor(X), Tensor(Y)

    def train(i: int) -> tuple[Tensor, Tensor]:
        optimizers[i].zero_grad()
        loss = nets[i](x).cross_entropy(y)
        loss.backward()
        size = clip_grad_norm_(chosen[i], 0.1)
        clip_grad_value_(chosen[i], 0.05)
        optimizers[i].step()
        schedules[i].step()
        return loss, size

    step = compile_step(train, 0)
    assert all(p.grad is None for p in chosen[0])
    for _ in range(6):
        step.run()
        loss, size = train(1)
        close(step.loss_value(), loss.item(), rtol=1e-4)
        close(step.outputs[1], size.item(), rtol=1e-3)
    assert schedules[0].epoch_counter.item() == 6
    close(optimizers[0].lr, [0.05 / 8], rtol=1e-6)
    for p, q in zip(*chosen):
        close(p, q.numpy(), rtol=2e-3, atol=2e-4)


@pytest.mark.parametrize(
    ("make", "kernels"),
    [(SGD, 13), (lambda p, lr: SGD(p, lr, 0.9), 13), (Adam, 18), (AdamW, 18)],
)
def test_a_step_of_an_mlp_keeps_its_number_of_kernels(make: Any, kernels: int) -> None:
    layers = [Linear(784, 256), Linear(256, 128), Linear(128, 10)]
    optimizer = make(get_parameters(layers), lr=0.01)
    x, y = Tensor.zeros(64, 784).realize(), Tensor(np.zeros(64, np.int32))

    def train() -> Tensor:
        optimizer.zero_grad()
        hidden = layers[1](layers[0](x).relu()).relu()
        loss = layers[2](hidden).cross_entropy(y)
        loss.backward()
        optimizer.step()
        return loss

    assert compile_step(train).n_kernels <= kernels


def test_another_rate_compiles_nothing() -> None:
    p = Tensor([1.0, 1.0])
    optimizer = SGD([p], lr=1.0)

    def train() -> Tensor:
        optimizer.zero_grad()
        loss = p.sum()
        loss.backward()
        optimizer.step()
        return loss

    step = compile_step(train)
    schedule = nn.MultiStepLR(optimizer, [1, 2], 0.5)
    seen = []
    for _ in range(3):
        before = p.numpy().copy()
        step.run()
        seen.append(float(before[0] - p.numpy()[0]))
        schedule.step()
    assert seen == [1.0, 0.5, 0.25]
    optimizer.lr = 2.0  # type: ignore[assignment]
    step.run()
    close(p, [-2.75, -2.75])
