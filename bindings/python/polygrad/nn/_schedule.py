"""Base classes of learning rate schedules, and schedules composed of functions or others."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from polygrad import _trace
from polygrad._library import ArgumentTypeError, need, number, wrong
from polygrad.nn._optimizer import Optimizer, OptimizerGroup
from polygrad.tensor import Tensor, assign

if TYPE_CHECKING:
    from collections.abc import Sequence


def _need_optimizer(optimizer: Any) -> Optimizer:
    if isinstance(optimizer, OptimizerGroup):
        raise wrong("optimizer", "a group", "one of its optimizers", ArgumentTypeError)
    found: Optimizer = need(Optimizer, "optimizer", optimizer, "an optimizer")
    return found


class LRScheduler:
    """The base class of schedules: epoch_counter counts steps, and the rate depends on it.

    The first schedule of an optimizer stores its rate as initial_lr; all of its schedules start
    from that.
    """

    _op = -1
    _settings: tuple[Any, ...] = ()

    def __init__(self, optimizer: Optimizer) -> None:
        if self._op < 0 and type(self) is LRScheduler:
            raise TypeError("LRScheduler is only a base; use StepLR, LambdaLR or another one")
        self._begin(self._op, optimizer)

    def _begin(self, op: int, optimizer: Optimizer, **settings: Any) -> None:
        """Initialize the state, and set the rate of the first step."""
        self._op, self._settings = op, tuple(settings.values())
        self.optimizer = _need_optimizer(optimizer)
        if "base_lr" in settings:
            optimizer.lr = number("base_lr", settings["base_lr"])
            optimizer.initial_lr = None
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
        return lr._call1(self._op, t, *self._settings)


class LambdaLR(LRScheduler):
    """The rate is multiplied by lr_lambda(t) after t steps.

    t is an int; inside compile_step and TinyJit it is a tensor of one element, and
    lr_lambda must compute its result with tensor operations.

    >>> from polygrad.nn import SGD, Linear, get_parameters
    >>> optimizer = SGD(get_parameters(Linear(1, 1)), lr=1.0)
    >>> schedule = LambdaLR(optimizer, lambda t: 0.5**t)
    >>> schedule.step()
    >>> optimizer.lr.item()
    0.5
    """

    def __init__(self, optimizer: Optimizer, lr_lambda: Callable[[Any], Any]) -> None:
        self.lr_lambda = need(Callable, "lr_lambda", lr_lambda, "a function")
        super().__init__(optimizer)

    def _rate(self, lr: Tensor, t: Tensor) -> Tensor:
        if not _trace.active():
            return lr * float(self.lr_lambda(int(t.item())))
        rate: Tensor = lr * self.lr_lambda(t)
        return rate.reshape(1)


class SequentialLR(LRScheduler):
    """Schedules of one optimizer, one after the other; each starts at its milestone.

    >>> from polygrad.nn import SGD, CosineAnnealingLR, Linear, LinearLR, get_parameters
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
        for what, given in ("schedulers", schedulers), ("milestones", milestones):
            need((list, tuple), what, given, "a list")
        if len(schedulers) != len(milestones) + 1 or list(milestones) != sorted(milestones):
            expected = "the steps, in their order, at which the ones after the first begin"
            raise wrong("milestones", f"{milestones} for {len(schedulers)} schedules", expected)
        for schedule in schedulers:
            if not isinstance(schedule, LRScheduler) or schedule.optimizer is not optimizer:
                raise wrong("schedulers", repr(schedule), "schedules of the optimizer")
        self.schedulers, self.milestones = tuple(schedulers), tuple(milestones)
        super().__init__(optimizer)

    def _rate(self, lr: Tensor, t: Tensor) -> Tensor:
        rate = self.schedulers[0]._rate(self.schedulers[0].base_lr, t)
        for schedule, begin in zip(self.schedulers[1:], self.milestones):
            rate = (t >= begin).where(schedule._rate(schedule.base_lr, t - begin), rate)
        return rate


class Plateau:
    """The base class of ReduceLROnPlateau."""

    get_last_lr = LRScheduler.get_last_lr

    def _begin(self, op: int, optimizer: Optimizer, **settings: Any) -> None:
        self._op, self._settings = op, tuple(settings.values())
        self.optimizer = _need_optimizer(optimizer)
        first = -math.inf if settings["mode"] == "max" else math.inf
        self.best = Tensor(np.array([first], np.float32), requires_grad=False)
        self.num_bad_epochs, self.cooldown_counter = (Tensor(np.zeros(1, np.int32)) for _ in "12")
        self._next(self.best)  # a trial call: invalid settings are an error here

    def _next(self, metric: Tensor) -> tuple[list[Tensor], tuple[Tensor, ...]]:
        state = [self.optimizer.lr, self.best, self.num_bad_epochs, self.cooldown_counter]
        return state, state[0]._call(self._op, metric, *state[1:], *self._settings)

    def step(self, metrics: float | Tensor) -> None:
        """Count a step with a metric, a number or a tensor of one element, and set the rate."""
        if not isinstance(metrics, Tensor):
            metrics = Tensor(np.array([number("metrics", metrics)], np.float32))
        assign(*self._next(metrics.detach()))


class LRSchedulerGroup:
    """Schedules of the optimizers of a group, which step together.

    >>> from polygrad.nn import SGD, ExponentialLR, StepLR
    >>> a, b = (SGD([Tensor([1.0])], lr=1.0) for _ in range(2))
    >>> group = LRSchedulerGroup(StepLR(a, 1), ExponentialLR(b, 0.5))
    >>> group.step()
    >>> round(a.lr.item(), 3), b.lr.item()
    (0.1, 0.5)
    """

    def __init__(self, *schedulers: LRScheduler) -> None:
        for schedule in schedulers:
            need((LRScheduler, Plateau), "schedulers", schedule, "schedules")
        self.schedulers = schedulers

    def __getitem__(self, i: int) -> LRScheduler:
        return self.schedulers[i]

    def step(self) -> None:
        """Step all schedules."""
        for scheduler in self.schedulers:
            scheduler.step()
