"""Schedules of learning rates against PyTorch's definitions, written out for each step."""

from __future__ import annotations

import math
from typing import Any, Callable

import numpy as np
import pytest
from numeric import close

from polygrad import Tensor, TinyJit, nn
from polygrad.nn import SGD, compile_step

STEPS = 24


def half(a: float, b: float, x: float) -> float:
    return b + (a - b) * (1 + math.cos(math.pi * x)) / 2


def line(a: float, b: float, x: float) -> float:
    return a + (b - a) * x


def restarts(t: int, first: int, factor: int, least: float) -> float:
    length = first
    while t >= length:
        t, length = t - length, length * factor
    return half(0.3, least, t / length)


def cycle(ends: list[tuple[float, float, float]], ease: Callable[..., float]) -> Any:
    def rate(t: int) -> float:
        start = 0.0
        for end, a, b in ends:
            if t <= end or end == ends[-1][0]:
                return ease(a, b, min((t - start) / (end - start), 1))
            start = end
        raise AssertionError

    return rate


def sequence(optimizer: Any) -> nn.SequentialLR:
    warmup = nn.LinearLR(optimizer, 0.1, total_iters=5)
    parts = [warmup, nn.CosineAnnealingLR(optimizer, 10), nn.ExponentialLR(optimizer, 0.9)]
    return nn.SequentialLR(optimizer, parts, milestones=[5, 15])


def of_sequence(t: int) -> float:
    if t < 5:
        return 0.3 * line(0.1, 1, t / 5)
    return half(0.3, 0, (t - 5) / 10) if t < 15 else 0.3 * 0.9 ** (t - 15)


CASES: dict[str, tuple[Any, Any]] = {
    "step": (lambda o: nn.StepLR(o, 7, 0.3), lambda t: 0.3 * 0.3 ** (t // 7)),
    "multistep": (
        lambda o: nn.MultiStepLR(o, [3, 5, 20], 0.5),
        lambda t: 0.3 * 0.5 ** sum(t >= m for m in (3, 5, 20)),
    ),
    "exponential": (lambda o: nn.ExponentialLR(o, 0.9), lambda t: 0.3 * 0.9**t),
    "constant": (lambda o: nn.ConstantLR(o, 0.25, 6), lambda t: 0.3 * (0.25 if t < 6 else 1)),
    "linear": (
        lambda o: nn.LinearLR(o, 0.1, 0.8, 9),
        lambda t: 0.3 * line(0.1, 0.8, min(t / 9, 1)),
    ),
    "polynomial": (
        lambda o: nn.PolynomialLR(o, 11, 2.5),
        lambda t: 0.3 * (1 - min(t / 11, 1)) ** 2.5,
    ),
    "polynomial of power 0": (lambda o: nn.PolynomialLR(o, 11, 0), lambda t: 0.3 * (t < 11)),
    "cosine": (lambda o: nn.CosineAnnealingLR(o, 8, 0.01), lambda t: half(0.3, 0.01, t / 8)),
    "restarts": (
        lambda o: nn.CosineAnnealingWarmRestarts(o, 4, eta_min=0.02),
        lambda t: restarts(t, 4, 1, 0.02),
    ),
    "longer restarts": (
        lambda o: nn.CosineAnnealingWarmRestarts(o, 3, 2, 0.01),
        lambda t: restarts(t, 3, 2, 0.01),
    ),
    "warmup": (
        lambda o: nn.CosineAnnealingLRWithWarmup(o, 0.5, 0.1, 6, 9),
        lambda t: 0.5 * (t + 1) / 6 if t < 6 else half(0.5, 0.1, min((t - 5) / 9, 1)),
    ),
    "one cycle": (
        lambda o: nn.OneCycleLR(o, 1.0, total_steps=20),
        cycle([(5, 0.04, 1), (19, 1, 0.04 / 1e4)], half),
    ),
    "one cycle of lines": (
        lambda o: nn.OneCycleLR(o, 1.0, epochs=5, steps_per_epoch=4, anneal_strategy="linear"),
        cycle([(5, 0.04, 1), (19, 1, 0.04 / 1e4)], line),
    ),
    "one cycle of three phases": (
        lambda o: nn.OneCycleLR(o, 1.0, 20, None, None, 0.4, "cos", 10.0, 100.0, True),
        cycle([(7, 0.1, 1), (14, 1, 0.1), (19, 0.1, 0.001)], half),
    ),
    "lambda": (lambda o: nn.LambdaLR(o, lambda t: 0.9**t), lambda t: 0.3 * 0.9**t),
    "sequence": (sequence, of_sequence),
}


@pytest.mark.parametrize("name", CASES)
def test_schedules(name: str) -> None:
    make, formula = CASES[name]
    want = [formula(t) for t in range(STEPS)]
    optimizer = SGD([Tensor([1.0])], lr=0.3)
    schedule = make(optimizer)
    seen = []
    for _ in range(STEPS):
        seen.append(schedule.get_last_lr()[0])
        close(schedule.get_lr(), seen[-1:], rtol=1e-7)
        schedule.step()
    close(seen, want, rtol=1e-6, atol=1e-8)

    other = SGD([Tensor([1.0])], lr=0.3)
    inside = make(other)

    def train() -> Tensor:
        rate = other.lr + 0
        inside.step()
        return rate

    step = compile_step(train)
    compiled = []
    for _ in range(STEPS):
        step.run()
        compiled.append(step.loss_value())
    close(compiled, want, rtol=1e-6, atol=1e-8)
    assert inside.epoch_counter.item() == STEPS


def test_schedules_and_clipping_inside_of_a_jit() -> None:
    rates: list[list[float]] = [[], []]
    weights = []
    for jitted, seen in zip((False, True), rates):
        p = Tensor([1.0, 1.0])
        optimizer = SGD([p], lr=1.0)
        schedule = nn.CosineAnnealingLR(optimizer, 4)

        def train(
            x: Tensor, p: Tensor = p, o: SGD = optimizer, s: nn.LRScheduler = schedule
        ) -> tuple[Tensor, Tensor]:
            o.zero_grad()
            loss = (p * x).sum()
            loss.backward()
            nn.clip_grad_norm_(o.params, 1.0)
            o.step()
            s.step()
            return loss.realize(), (o.lr + 0).realize()

        step = TinyJit(train) if jitted else train
        for i in range(6):
            seen.append(float(step(Tensor([3.0, 4.0 + i]).realize())[1].item()))
        weights.append(p.numpy().copy())
    close(rates[0], [half(1, 0, t / 4) for t in range(1, 7)], rtol=1e-6, atol=1e-7)
    close(rates[1], rates[0])
    close(weights[1], weights[0], rtol=1e-6)


def plateau(
    metrics: Any, sign: int, relative: bool, threshold: float, patience: int, cooldown: int
) -> list[float]:
    """Return the rates that PyTorch's rule gives, with the factor 0.5 and the least rate 0.05."""
    lr, best, bad, cooling, rates = 0.3, math.inf * sign, 0, 0, []
    for m in metrics:
        limit = best * (1 - sign * threshold) if relative else best - sign * threshold
        if sign * m < sign * limit:
            best, bad = m, 0
        else:
            bad += 1
        if cooling > 0:
            cooling, bad = cooling - 1, 0
        if bad > patience:
            lower = max(lr * 0.5, 0.05)
            lr = lower if lr - lower > 1e-8 else lr
            cooling, bad = cooldown, 0
        rates.append(lr)
    return rates


@pytest.mark.parametrize("mode", ["min", "max"])
@pytest.mark.parametrize(
    ("relative", "threshold", "patience", "cooldown"),
    [(True, 1e-4, 2, 0), (True, 0.1, 0, 2), (False, 0.05, 1, 3)],
)
def test_plateaus(
    mode: str, relative: bool, threshold: float, patience: int, cooldown: int
) -> None:
    rng = np.random.default_rng(2)
    metrics = np.exp(-np.arange(40) / 4) + 0.3 + rng.normal(size=40) * 0.05
    metrics = (metrics if mode == "min" else 3 - metrics).astype(np.float32)
    want = plateau(
        metrics.tolist(), 1 if mode == "min" else -1, relative, threshold, patience, cooldown
    )
    rates: list[list[float]] = [[], []]
    kind = "rel" if relative else "abs"
    value = Tensor(metrics[:1].copy())
    optimizers = [SGD([Tensor([1.0])], lr=0.3) for _ in range(2)]
    schedules = [
        nn.ReduceLROnPlateau(o, mode, 0.5, patience, threshold, kind, cooldown, 0.05)
        for o in optimizers
    ]
    step = compile_step(lambda: schedules[1].step(value * 1))
    for m in metrics:
        schedules[0].step(float(m))
        value._data[:] = m
        step.run()
        for o, seen in zip(optimizers, rates):
            seen.append(o.lr.item())
    close(rates[0], want, rtol=1e-6)
    close(rates[1], want, rtol=1e-6)
    assert schedules[0].get_last_lr() == rates[0][-1:]


def test_groups_and_a_state_that_is_loaded() -> None:
    a, b = (SGD([Tensor([1.0])], lr=1.0) for _ in range(2))
    group = nn.LRSchedulerGroup(nn.StepLR(a, 2, 0.5), nn.ExponentialLR(b, 0.5))
    for _ in range(3):
        group.step()
    assert (a.lr.item(), b.lr.item()) == (0.5, 0.125)
    again = SGD([Tensor([1.0])], lr=1.0)
    schedule = nn.StepLR(again, 2, 0.5)
    nn.load_state_dict(schedule, nn.get_state_dict(group[0]))
    schedule.step()
    assert again.lr.item() == 0.25


def test_bad_arguments() -> None:
    o = SGD([Tensor([1.0])], lr=0.3)
    step = nn.StepLR(o, 1)
    cases: list[tuple[Any, type[Exception], str]] = [
        (lambda: nn.StepLR(3, 1), TypeError, "StepLR: optimizer: an int"),  # type: ignore[arg-type]
        (
            lambda: nn.StepLR(nn.OptimizerGroup(o), 1),
            TypeError,
            "a group, expected one of its optimizers",
        ),
        (lambda: nn.StepLR(o, 0), ValueError, "step_size: is 0"),
        (lambda: nn.ExponentialLR(o, math.nan), ValueError, "finite"),
        (lambda: nn.ConstantLR(o, 0.5, -1), ValueError, "total_iters"),
        (lambda: nn.LinearLR(o, total_iters=0), ValueError, "total_iters"),
        (lambda: nn.PolynomialLR(o, power=-1), ValueError, "power"),
        (lambda: nn.CosineAnnealingLR(o, -5), ValueError, "T_max"),
        (lambda: nn.CosineAnnealingWarmRestarts(o, 2, 0), ValueError, "T_mult"),
        (lambda: nn.CosineAnnealingLRWithWarmup(o, 1, 0, 0, 5), ValueError, "warmup_steps"),
        (lambda: nn.OneCycleLR(o, 1.0), ValueError, "total_steps"),
        (lambda: nn.OneCycleLR(o, 1.0, 10, pct_start=2), ValueError, "pct_start"),
        (lambda: nn.OneCycleLR(o, 1.0, 10, div_factor=0), ValueError, "div_factor"),
        (lambda: nn.OneCycleLR(o, 1.0, 10, anneal_strategy="no"), ValueError, "anneal_strategy"),
        (lambda: nn.LambdaLR(o, 0.5), TypeError, "lr_lambda: a float"),  # type: ignore[arg-type]
        (lambda: nn.SequentialLR(o, [step], [1]), ValueError, "milestones"),
        (lambda: nn.SequentialLR(SGD([Tensor([1.0])]), [step], []), ValueError, "schedules of"),
        (lambda: nn.ReduceLROnPlateau(o, "least"), ValueError, 'mode: "least"'),
        (lambda: nn.ReduceLROnPlateau(o, factor=1.0), ValueError, "factor: is 1"),
        (lambda: nn.ReduceLROnPlateau(o, patience=-1), ValueError, "patience"),
        (lambda: nn.ReduceLROnPlateau(o).step(Tensor([1.0, 2.0])), ValueError, "metric"),
    ]
    for function, kind, text in cases:
        with pytest.raises(kind, match=text):
            function()
