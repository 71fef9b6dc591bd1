"""Schedules of learning rates, with PyTorch's names, arguments and conventions.

A schedule belongs to an optimizer, sets its rate when it is made and again by each step(), which
comes after the optimizer's. The rate and the number of steps are tensors: a step that stands in a
function given to compile_step or TinyJit is part of the program, and one that stands outside
changes the rate that the program reads. In neither case is anything compiled again.
"""

from __future__ import annotations

import ctypes
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from polygrad import _prototypes as c
from polygrad import _trace
from polygrad._base import by_nodes
from polygrad.nn.optim import Optimizer, OptimizerGroup
from polygrad.tensor import Tensor, assign

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def _need_optimizer(owner: object, optimizer: Any) -> Optimizer:
    name = type(owner).__name__
    if isinstance(optimizer, OptimizerGroup):
        raise TypeError(f"{name}: optimizer: a group; make a schedule for each of its optimizers")
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{name}: optimizer: a {type(optimizer).__name__}, expected an optimizer")
    return optimizer


class LRScheduler:
    """What schedules share: the number of steps so far, epoch_counter, and a rate made of it.

    The first schedule of an optimizer keeps its rate as initial_lr; all of its schedules begin
    with that.
    """

    _schedule = -1
    _numbers: tuple[float, ...] = ()

    def __init__(self, optimizer: Optimizer) -> None:
        self.optimizer = _need_optimizer(self, optimizer)
        if optimizer.initial_lr is None:
            optimizer.initial_lr = optimizer.lr.clone()
        self.base_lr: Tensor = optimizer.initial_lr
        self.epoch_counter = Tensor(np.zeros(1, np.int32))
        assign([optimizer.lr], [self._rate(self.base_lr, self.epoch_counter)])

    def get_lr(self) -> Tensor:
        """Return the rate for the number of steps so far, a tensor of one element."""
        return self._rate(self.base_lr, self.epoch_counter)

    def get_last_lr(self) -> list[float]:
        """Return the rate of the optimizer as a list of one number."""
        return [float(self.optimizer.lr.item())]

    def step(self) -> None:
        """Count a step and set the rate of the next one."""
        now = self.epoch_counter + 1
        assign([self.epoch_counter, self.optimizer.lr], [now, self._rate(self.base_lr, now)])

    def _rate(self, lr: Tensor, t: Tensor) -> Tensor:
        """Return the rate after t steps of a schedule that begins with lr."""
        numbers = (ctypes.c_double * len(self._numbers))(*self._numbers)
        return by_nodes("poly_learning_rate", 1, lr, t, self._schedule, numbers, len(numbers))[0]


class StepLR(LRScheduler):
    """The rate times gamma after each step_size steps.

    >>> from polygrad.nn import SGD, Linear, get_parameters
    >>> optimizer = SGD(get_parameters(Linear(1, 1)), lr=1.0)
    >>> schedule = StepLR(optimizer, step_size=2, gamma=0.5)
    >>> rates = []
    >>> for _ in range(5):
    ...     rates.append(optimizer.lr.item())
    ...     optimizer.step()
    ...     schedule.step()
    >>> rates
    [1.0, 1.0, 0.5, 0.5, 0.25]
    """

    _schedule = c.POLY_RATE_STEP

    def __init__(self, optimizer: Optimizer, step_size: float, gamma: float = 0.1) -> None:
        self._numbers = (step_size, gamma)
        super().__init__(optimizer)


class MultiStepLR(LRScheduler):
    """The rate times gamma for each milestone that the number of steps has reached.

    >>> from polygrad.nn import SGD, Linear, get_parameters
    >>> optimizer = SGD(get_parameters(Linear(1, 1)), lr=1.0)
    >>> schedule = MultiStepLR(optimizer, milestones=[1, 3], gamma=0.5)
    >>> rates = []
    >>> for _ in range(4):
    ...     rates.append(optimizer.lr.item())
    ...     schedule.step()
    >>> rates
    [1.0, 0.5, 0.5, 0.25]
    """

    _schedule = c.POLY_RATE_MULTISTEP

    def __init__(
        self, optimizer: Optimizer, milestones: Sequence[float], gamma: float = 0.1
    ) -> None:
        self._numbers = (gamma, *milestones)
        super().__init__(optimizer)


class ExponentialLR(LRScheduler):
    """The rate times gamma after each step.

    >>> from polygrad.nn import SGD, Linear, get_parameters
    >>> optimizer = SGD(get_parameters(Linear(1, 1)), lr=1.0)
    >>> schedule = ExponentialLR(optimizer, gamma=0.5)
    >>> schedule.step(); schedule.step()
    >>> schedule.get_last_lr()
    [0.25]
    """

    _schedule = c.POLY_RATE_EXPONENTIAL

    def __init__(self, optimizer: Optimizer, gamma: float) -> None:
        self._numbers = (gamma,)
        super().__init__(optimizer)


class ConstantLR(LRScheduler):
    """The rate times factor before total_iters steps, then the rate itself.

    >>> from polygrad.nn import SGD, Linear, get_parameters
    >>> optimizer = SGD(get_parameters(Linear(1, 1)), lr=1.0)
    >>> schedule = ConstantLR(optimizer, factor=0.5, total_iters=1)
    >>> before = optimizer.lr.item()
    >>> schedule.step()
    >>> before, optimizer.lr.item()
    (0.5, 1.0)
    """

    _schedule = c.POLY_RATE_CONSTANT

    def __init__(self, optimizer: Optimizer, factor: float = 1 / 3, total_iters: float = 5) -> None:
        self._numbers = (factor, total_iters)
        super().__init__(optimizer)


class LinearLR(LRScheduler):
    """The rate times a factor that goes from start_factor to end_factor in total_iters steps.

    A warmup: LinearLR(optimizer, 0.01, total_iters=100), and another schedule behind it in
    SequentialLR.

    >>> from polygrad.nn import SGD, Linear, get_parameters
    >>> optimizer = SGD(get_parameters(Linear(1, 1)), lr=1.0)
    >>> schedule = LinearLR(optimizer, start_factor=0.5, total_iters=2)
    >>> rates = []
    >>> for _ in range(4):
    ...     rates.append(optimizer.lr.item())
    ...     schedule.step()
    >>> rates
    [0.5, 0.75, 1.0, 1.0]
    """

    _schedule = c.POLY_RATE_LINEAR

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1 / 3,
        end_factor: float = 1.0,
        total_iters: float = 5,
    ) -> None:
        self._numbers = (start_factor, end_factor, total_iters)
        super().__init__(optimizer)


class PolynomialLR(LRScheduler):
    """The rate times (1 - t/total_iters)^power after t steps, 0 from total_iters on.

    >>> from polygrad.nn import SGD, Linear, get_parameters
    >>> optimizer = SGD(get_parameters(Linear(1, 1)), lr=1.0)
    >>> schedule = PolynomialLR(optimizer, total_iters=2, power=2)
    >>> schedule.step()
    >>> optimizer.lr.item()
    0.25
    """

    _schedule = c.POLY_RATE_POLYNOMIAL

    def __init__(self, optimizer: Optimizer, total_iters: float = 5, power: float = 1.0) -> None:
        self._numbers = (total_iters, power)
        super().__init__(optimizer)


class CosineAnnealingLR(LRScheduler):
    """The rate goes down to eta_min along a half cosine of T_max steps, and up again.

    Loshchilov and Hutter, SGDR: Stochastic Gradient Descent with Warm Restarts, arXiv:1608.03983.

    >>> from polygrad.nn import SGD, Linear, get_parameters
    >>> optimizer = SGD(get_parameters(Linear(1, 1)), lr=1.0)
    >>> schedule = CosineAnnealingLR(optimizer, T_max=2)
    >>> schedule.step()
    >>> optimizer.lr.item()
    0.5
    """

    _schedule = c.POLY_RATE_COSINE

    def __init__(self, optimizer: Optimizer, T_max: float, eta_min: float = 0.0) -> None:
        self._numbers = (T_max, eta_min)
        super().__init__(optimizer)


class CosineAnnealingLRWithWarmup(LRScheduler):
    """A rise to base_lr in warmup_steps steps, then a half cosine of decay_steps to end_lr.

    >>> from polygrad.nn import SGD, Linear, get_parameters
    >>> optimizer = SGD(get_parameters(Linear(1, 1)))
    >>> schedule = CosineAnnealingLRWithWarmup(optimizer, 1.0, 0.0, 2, 2)
    >>> rates = []
    >>> for _ in range(5):
    ...     rates.append(optimizer.lr.item())
    ...     schedule.step()
    >>> rates
    [0.5, 1.0, 0.5, 0.0, 0.0]
    """

    _schedule = c.POLY_RATE_WARMUP_COSINE

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float,
        end_lr: float,
        warmup_steps: float,
        decay_steps: float,
    ) -> None:
        self._numbers = (warmup_steps, decay_steps, end_lr)
        _need_optimizer(self, optimizer).lr = base_lr
        optimizer.initial_lr = optimizer.lr.clone()
        super().__init__(optimizer)


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half cosines down to eta_min in T_0, T_0 * T_mult, T_0 * T_mult^2 … steps.

    Loshchilov and Hutter, arXiv:1608.03983.

    >>> from polygrad.nn import SGD, Linear, get_parameters
    >>> optimizer = SGD(get_parameters(Linear(1, 1)), lr=1.0)
    >>> schedule = CosineAnnealingWarmRestarts(optimizer, T_0=2)
    >>> rates = []
    >>> for _ in range(4):
    ...     rates.append(optimizer.lr.item())
    ...     schedule.step()
    >>> rates
    [1.0, 0.5, 1.0, 0.5]
    """

    _schedule = c.POLY_RATE_COSINE_RESTARTS

    def __init__(
        self, optimizer: Optimizer, T_0: float, T_mult: int = 1, eta_min: float = 0.0
    ) -> None:
        self._numbers = (T_0, T_mult, eta_min)
        super().__init__(optimizer)


class OneCycleLR(LRScheduler):
    """One cycle: from max_lr/div_factor up to max_lr, and down to that /final_div_factor.

    The rise takes the share pct_start of total_steps. anneal_strategy is "cos" or "linear"; with
    three_phase the rate goes back to where it began as fast as it rose, and falls after that. The
    momentum stays as it is. Smith and Topin, Super-convergence, arXiv:1708.07120.

    >>> from polygrad.nn import SGD, Linear, get_parameters
    >>> optimizer = SGD(get_parameters(Linear(1, 1)))
    >>> schedule = OneCycleLR(optimizer, max_lr=1.0, total_steps=4, pct_start=0.5)
    >>> rates = []
    >>> for _ in range(4):
    ...     rates.append(round(optimizer.lr.item(), 4))
    ...     schedule.step()
    >>> rates
    [0.04, 1.0, 0.5, 0.0]
    """

    _schedule = c.POLY_RATE_ONE_CYCLE

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float,
        total_steps: float | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
    ) -> None:
        if total_steps is None:
            if epochs is None or steps_per_epoch is None:
                raise ValueError("OneCycleLR: total_steps, or epochs and steps_per_epoch")
            total_steps = epochs * steps_per_epoch
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"OneCycleLR: anneal_strategy: {anneal_strategy!r}, expected 'cos' or 'linear'"
            )
        shape = (pct_start, anneal_strategy == "linear", div_factor, final_div_factor, three_phase)
        self._numbers = (max_lr, total_steps, *shape)
        super().__init__(optimizer)


class LambdaLR(LRScheduler):
    """The rate times lr_lambda(t) after t steps.

    t is an int, but inside of compile_step and TinyJit a tensor of one element, of which
    lr_lambda must make its result by operations of tensors.

    >>> from polygrad.nn import SGD, Linear, get_parameters
    >>> optimizer = SGD(get_parameters(Linear(1, 1)), lr=1.0)
    >>> schedule = LambdaLR(optimizer, lambda t: 0.5**t)
    >>> schedule.step()
    >>> optimizer.lr.item()
    0.5
    """

    def __init__(self, optimizer: Optimizer, lr_lambda: Callable[[Any], Any]) -> None:
        if not callable(lr_lambda):
            kind = type(lr_lambda).__name__
            raise TypeError(f"LambdaLR: lr_lambda: a {kind}, expected a function")
        self.lr_lambda = lr_lambda
        super().__init__(optimizer)

    def _rate(self, lr: Tensor, t: Tensor) -> Tensor:
        if not _trace.active():
            return lr * float(self.lr_lambda(int(t.item())))
        rate: Tensor = lr * self.lr_lambda(t)
        return rate.reshape(1)


class SequentialLR(LRScheduler):
    """Schedules of one optimizer one after the other; each begins anew at its milestone.

    >>> from polygrad.nn import SGD, Linear, get_parameters
    >>> optimizer = SGD(get_parameters(Linear(1, 1)), lr=1.0)
    >>> warmup = LinearLR(optimizer, start_factor=0.5, total_iters=2)
    >>> rest = CosineAnnealingLR(optimizer, T_max=2)
    >>> schedule = SequentialLR(optimizer, [warmup, rest], milestones=[2])
    >>> rates = []
    >>> for _ in range(5):
    ...     rates.append(optimizer.lr.item())
    ...     schedule.step()
    >>> rates
    [0.5, 0.75, 1.0, 0.5, 0.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        schedulers: Sequence[LRScheduler],
        milestones: Sequence[int],
    ) -> None:
        if len(schedulers) != len(milestones) + 1 or list(milestones) != sorted(milestones):
            raise ValueError(
                f"SequentialLR: milestones: {list(milestones)} for {len(schedulers)} schedules, "
                "expected the steps, in their order, at which the ones after the first begin"
            )
        for schedule in schedulers:
            if not isinstance(schedule, LRScheduler) or schedule.optimizer is not optimizer:
                raise ValueError("SequentialLR: schedulers: expected schedules of the optimizer")
        self.schedulers, self.milestones = tuple(schedulers), tuple(milestones)
        super().__init__(optimizer)

    def _rate(self, lr: Tensor, t: Tensor) -> Tensor:
        rate = self.schedulers[0]._rate(self.schedulers[0].base_lr, t)
        for schedule, begin in zip(self.schedulers[1:], self.milestones):
            rate = (t >= begin).where(schedule._rate(schedule.base_lr, t - begin), rate)
        return rate


class ReduceLROnPlateau:
    """The rate times factor when a metric has stopped getting better.

    step(metrics) counts the steps without a metric that is less ("min") or greater ("max") than
    the best one so far by more than threshold, or threshold times the best ("rel", not "abs").
    After more than patience of them the rate falls, to at least min_lr and by more than eps, and
    cooldown steps do not count. Inside of compile_step and TinyJit metrics is a tensor.

    >>> from polygrad.nn import SGD, Linear, get_parameters
    >>> optimizer = SGD(get_parameters(Linear(1, 1)), lr=1.0)
    >>> schedule = ReduceLROnPlateau(optimizer, factor=0.5, patience=1)
    >>> rates = []
    >>> for loss in [3.0, 2.0, 2.0, 2.0, 2.0]:
    ...     schedule.step(loss)
    ...     rates.append(optimizer.lr.item())
    >>> rates
    [1.0, 1.0, 1.0, 0.5, 0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float = 0.0,
        eps: float = 1e-8,
    ) -> None:
        for name, value, choices in (
            ("mode", mode, ("min", "max")),
            ("threshold_mode", threshold_mode, ("rel", "abs")),
        ):
            if value not in choices:
                raise ValueError(f"ReduceLROnPlateau: {name}: {value!r}, expected one of {choices}")
        self.optimizer = _need_optimizer(self, optimizer)
        limits = (threshold, factor, min_lr, eps, patience, cooldown)
        self._settings: tuple[Any, ...] = (mode == "max", threshold_mode == "rel", *limits)
        first = -math.inf if mode == "max" else math.inf
        self.best = Tensor(np.array([first], np.float32), requires_grad=False)
        self.num_bad_epochs, self.cooldown_counter = (Tensor(np.zeros(1, np.int32)) for _ in "12")
        self._next(self.best)  # arguments that do not fit are an error here

    def _next(self, metric: Tensor) -> tuple[list[Tensor], tuple[Tensor, ...]]:
        state = [self.optimizer.lr, self.best, self.num_bad_epochs, self.cooldown_counter]
        given = (state[0], metric, *state[1:], *self._settings)
        return state, by_nodes("poly_plateau", 4, *given)

    def step(self, metrics: float | Tensor) -> None:
        """Look at a metric, which is a number or a tensor of one element."""
        if not isinstance(metrics, Tensor):
            metrics = Tensor(np.array([metrics], np.float32))
        assign(*self._next(metrics.detach()))

    def get_last_lr(self) -> list[float]:
        """Return the rate of the optimizer as a list of one number."""
        return [float(self.optimizer.lr.item())]


class LRSchedulerGroup:
    """Schedules, of the optimizers of a group, that step together.

    >>> from polygrad.nn import SGD, OptimizerGroup
    >>> a, b = (SGD([Tensor([1.0])], lr=1.0) for _ in range(2))
    >>> group = LRSchedulerGroup(StepLR(a, 1), ExponentialLR(b, 0.5))
    >>> group.step()
    >>> round(a.lr.item(), 3), b.lr.item()
    (0.1, 0.5)
    """

    def __init__(self, *schedulers: LRScheduler) -> None:
        self.schedulers = schedulers

    def __getitem__(self, i: int) -> LRScheduler:
        return self.schedulers[i]

    def step(self) -> None:
        """Step all schedules."""
        for scheduler in self.schedulers:
            scheduler.step()
