"""Schedules: functions from the number of earlier steps to the size of a step."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from polygrad._library import ArgumentError
from polygrad.numpy._arrays import array
from polygrad.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from polygrad.optim._base import Schedule

# fmt: off
__all__ = [
    "constant_schedule", "cosine_decay_schedule", "cosine_onecycle_schedule", "exponential_decay",
    "join_schedules", "linear_onecycle_schedule", "linear_schedule",
    "piecewise_constant_schedule", "piecewise_interpolate_schedule", "polynomial_schedule",
    "sgdr_schedule", "warmup_constant_schedule", "warmup_cosine_decay_schedule",
    "warmup_exponential_decay_schedule",
]
# fmt: on


def constant_schedule(value: Any) -> Schedule:
    """Return a schedule of one value."""
    return lambda count: value


def _need_steps(who: str, name: str, steps: Any) -> None:
    if not steps > 0:
        raise ArgumentError(f"{who}: {name}: {steps}, expected a positive number")


def polynomial_schedule(
    init_value: Any, end_value: Any, power: Any, transition_steps: int, transition_begin: int = 0
) -> Schedule:
    """Return a schedule from one value to another by a power of the remaining fraction of steps.

    The transition begins after transition_begin steps and takes transition_steps; if these are not
    positive, the schedule is constant.

    >>> s = polynomial_schedule(1.0, 0.0, 2, 4)
    >>> [s(n).item() for n in (0, 2, 4, 9)]
    [1.0, 0.25, 0.0, 0.0]
    """
    if transition_steps <= 0:
        return constant_schedule(init_value)
    begin = max(transition_begin, 0)

    def schedule(count: Any) -> Any:
        done = (array(count) - begin).clip(0, transition_steps)
        left = 1 - done / transition_steps
        return left**power * (init_value - end_value) + end_value

    return schedule


def linear_schedule(
    init_value: Any, end_value: Any, transition_steps: int, transition_begin: int = 0
) -> Schedule:
    """Return a linear schedule from one value to another.

    >>> [linear_schedule(0.0, 1.0, 4)(n).item() for n in (0, 1, 4, 9)]
    [0.0, 0.25, 1.0, 1.0]
    """
    return polynomial_schedule(init_value, end_value, 1, transition_steps, transition_begin)


def _need_scales(who: str, scales: Iterable[float]) -> None:
    if not all(s >= 0 for s in scales):
        raise ArgumentError(f"{who}: boundaries_and_scales: expected scales that are not negative")


def piecewise_constant_schedule(
    init_value: Any, boundaries_and_scales: dict[int, float] | None = None
) -> Schedule:
    """Return a schedule that is multiplied by a number at each boundary.

    >>> s = piecewise_constant_schedule(1.0, {2: 0.5, 4: 0.1})
    >>> [round(s(n).item(), 2) for n in range(6)]
    [1.0, 1.0, 0.5, 0.5, 0.05, 0.05]
    """
    steps = sorted((boundaries_and_scales or {}).items())
    _need_scales("piecewise_constant_schedule", [s for _, s in steps])

    def schedule(count: Any) -> Any:
        value = init_value
        for boundary, scale in steps:
            value = (array(count) < boundary).where(1.0, scale) * value
        return value

    return schedule


def exponential_decay(
    init_value: Any,
    transition_steps: int,
    decay_rate: Any,
    transition_begin: int = 0,
    staircase: bool = False,
    end_value: Any = None,
) -> Schedule:
    """Return a schedule that is multiplied by decay_rate every transition_steps.

    With staircase it changes only at multiples of these. end_value, if given, is its limit.
    """
    if transition_steps <= 0 or (not isinstance(decay_rate, Tensor) and decay_rate == 0):
        return constant_schedule(init_value)
    begin = max(transition_begin, 0)

    def schedule(count: Any) -> Any:
        done = array(count) - begin
        exponent = done / transition_steps
        if staircase:
            exponent = exponent.floor()
        value = (done <= 0).where(init_value, decay_rate**exponent * init_value)
        if end_value is None:
            return value
        return value.maximum(end_value) if decay_rate < 1.0 else value.minimum(end_value)

    return schedule


def cosine_decay_schedule(
    init_value: Any, decay_steps: int, alpha: Any = 0.0, exponent: Any = 1.0
) -> Schedule:
    """Return a schedule that decays along half a cosine from init_value to alpha * init_value.

    >>> s = cosine_decay_schedule(2.0, 10)
    >>> [round(s(n).item(), 3) for n in (0, 5, 10, 20)]
    [2.0, 1.0, 0.0, 0.0]
    """
    _need_steps("cosine_decay_schedule", "decay_steps", decay_steps)

    def schedule(count: Any) -> Any:
        done = array(count).minimum(decay_steps)
        wave = ((done / decay_steps * math.pi).cos() + 1) * 0.5
        return (wave**exponent * (1 - alpha) + alpha) * init_value

    return schedule


def piecewise_interpolate_schedule(
    interpolate_type: str, init_value: Any, boundaries_and_scales: dict[int, float] | None = None
) -> Schedule:
    """Return a schedule that interpolates between values at boundaries, "linear" or "cosine".

    The value at a boundary is the previous one times the scale.
    """
    who = "piecewise_interpolate_schedule"
    if interpolate_type not in ("linear", "cosine"):
        raise ArgumentError(
            f"{who}: interpolate_type: {interpolate_type!r}, expected linear, cosine"
        )
    bounds, values = [0], [init_value]
    for boundary, scale in sorted((boundaries_and_scales or {}).items()):
        bounds.append(boundary)
        values.append(values[-1] * scale)
        _need_scales(who, [scale])

    def schedule(count: Any) -> Any:
        count = array(count)
        value = values[0]
        for i in range(len(bounds) - 1):
            length = max(bounds[i + 1] - bounds[i], 1)
            done = ((count - bounds[i]) / length).clip(0, 1)
            if interpolate_type == "cosine":
                done = (1 - (done * math.pi).cos()) * 0.5
            piece = done * (values[i + 1] - values[i]) + values[i]
            value = (count >= bounds[i]).where(piece, value)
        return (count >= bounds[-1]).where(values[-1], value)

    return schedule


def linear_onecycle_schedule(
    transition_steps: int,
    peak_value: Any,
    pct_start: float = 0.3,
    pct_final: float = 0.85,
    div_factor: float = 25.0,
    final_div_factor: float = 1e4,
) -> Schedule:
    """Return a one-cycle schedule: up to a peak, back, then further down (arXiv:1708.07120)."""
    _need_steps("linear_onecycle_schedule", "transition_steps", transition_steps)
    scales = {
        int(pct_start * transition_steps): div_factor,
        int(pct_final * transition_steps): 1.0 / div_factor,
        transition_steps: 1.0 / final_div_factor,
    }
    return piecewise_interpolate_schedule("linear", peak_value / div_factor, scales)


def cosine_onecycle_schedule(
    transition_steps: int,
    peak_value: Any,
    pct_start: float = 0.3,
    div_factor: float = 25.0,
    final_div_factor: float = 1e4,
) -> Schedule:
    """Return a one-cycle schedule of two cosine pieces: up to a peak, then down."""
    _need_steps("cosine_onecycle_schedule", "transition_steps", transition_steps)
    scales = {
        int(pct_start * transition_steps): div_factor,
        int(transition_steps): 1.0 / (div_factor * final_div_factor),
    }
    return piecewise_interpolate_schedule("cosine", peak_value / div_factor, scales)


def join_schedules(schedules: Sequence[Schedule], boundaries: Sequence[int]) -> Schedule:
    """Concatenate schedules; each counts steps from its boundary.

    >>> s = join_schedules([constant_schedule(1.0), linear_schedule(1.0, 0.0, 4)], [10])
    >>> [s(n).item() for n in (0, 9, 10, 12, 14)]
    [1.0, 1.0, 1.0, 0.5, 0.0]
    """
    if len(schedules) != len(boundaries) + 1:
        raise ArgumentError(
            f"join_schedules: boundaries: {len(boundaries)}, expected one less than the "
            f"{len(schedules)} schedules"
        )

    def schedule(step: Any) -> Any:
        step = array(step)
        value = schedules[0](step)
        for boundary, after in zip(boundaries, schedules[1:]):
            value = (step < boundary).where(value, after(step - boundary))
        return value

    return schedule


def warmup_constant_schedule(init_value: Any, peak_value: Any, warmup_steps: int) -> Schedule:
    """Return a schedule that rises linearly to a value and stays there."""
    return linear_schedule(init_value, peak_value, warmup_steps)


def warmup_cosine_decay_schedule(
    init_value: Any,
    peak_value: Any,
    warmup_steps: int,
    decay_steps: int,
    end_value: Any = 0.0,
    exponent: Any = 1.0,
) -> Schedule:
    """Return a schedule that rises linearly and falls along a cosine until decay_steps.

    >>> s = warmup_cosine_decay_schedule(0.0, 1.0, 10, 30, end_value=0.1)
    >>> [round(s(n).item(), 3) for n in (0, 5, 10, 20, 30)]
    [0.0, 0.5, 1.0, 0.55, 0.1]
    """
    alpha = (
        0.0 if not isinstance(peak_value, Tensor) and peak_value == 0.0 else end_value / peak_value
    )
    return join_schedules(
        [
            linear_schedule(init_value, peak_value, warmup_steps),
            cosine_decay_schedule(peak_value, decay_steps - warmup_steps, alpha, exponent),
        ],
        [warmup_steps],
    )


def warmup_exponential_decay_schedule(
    init_value: Any,
    peak_value: Any,
    warmup_steps: int,
    transition_steps: int,
    decay_rate: Any,
    transition_begin: int = 0,
    staircase: bool = False,
    end_value: Any = None,
) -> Schedule:
    """Return a schedule that rises linearly and then decays: see exponential_decay."""
    decay = exponential_decay(
        peak_value, transition_steps, decay_rate, transition_begin, staircase, end_value
    )
    return join_schedules(
        [linear_schedule(init_value, peak_value, warmup_steps), decay], [warmup_steps]
    )


def sgdr_schedule(cosine_kwargs: Iterable[dict[str, Any]]) -> Schedule:
    """Return warm restarts: one warmup_cosine_decay_schedule after the other (arXiv:1608.03983)."""
    all_ = list(cosine_kwargs)
    boundaries: list[int] = []
    for kwargs in all_:
        boundaries.append((boundaries[-1] if boundaries else 0) + kwargs["decay_steps"])
    return join_schedules([warmup_cosine_decay_schedule(**k) for k in all_], boundaries[:-1])
