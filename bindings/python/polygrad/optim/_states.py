"""The states of transformations: named tuples of trees like the parameters, and of counts."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

from polygrad.optim._base import EmptyState

# fmt: off
__all__ = [
    "AdaptiveGradClipState", "AddDecayedWeightsState", "AddNoiseState", "ApplyEvery",
    "ApplyIfFiniteState", "ClipByGlobalNormState", "ClipState", "ConditionallyMaskState",
    "ConditionallyTransformState", "EmaState", "FactoredState", "InjectHyperparamsState",
    "InjectStatefulHyperparamsState", "LookaheadState", "MonitorState", "MultiStepsState",
    "NonNegativeParamsState", "ScaleByAdaDeltaState", "ScaleByAdamState", "ScaleByAdanState",
    "ScaleByAmsgradState", "ScaleByBeliefState", "ScaleByDistanceOverGradientsState",
    "ScaleByLBFGSState", "ScaleByLionState", "ScaleByNovogradState",
    "ScaleByOptimisticGradientState", "ScaleByRStdDevState", "ScaleByRStdDevWithCountState",
    "ScaleByRmsState", "ScaleByRmsWithCountState", "ScaleByRpropState", "ScaleByRssState",
    "ScaleBySM3State", "ScaleByScheduleState", "ScaleByTrustRatioState", "ScaleState",
    "SnapshotState", "TraceState", "WeightDecaySchedule", "WrappedScheduleState", "ZeroNansState",
]
# fmt: on


def state(name: str, fields: str, doc: str, defaults: tuple[Any, ...] = ()) -> Any:
    """Return a class of states."""
    make: Any = namedtuple  # with names that are not written there
    made = make(name, fields, defaults=defaults, module="polygrad.optim")
    made.__doc__ = doc
    return made


# Of scales by moments and norms.
_COUNT = "The number of steps"
_MOMENTS = f"{_COUNT}, first and second moments."
ScaleByRssState = state("ScaleByRssState", "sum_of_squares", "The sums of squared gradients.")
ScaleByRmsState = state("ScaleByRmsState", "nu", "The averages of squared gradients.")
ScaleByRmsWithCountState = state(
    "ScaleByRmsWithCountState", "count nu", f"{_COUNT} and the averages of squared gradients."
)
ScaleByRStdDevState = state(
    "ScaleByRStdDevState", "mu nu", "The averages of updates and of their squares."
)
ScaleByRStdDevWithCountState = state(
    "ScaleByRStdDevWithCountState", "count mu nu", f"{_COUNT}, averages of updates and of squares."
)
ScaleByAdamState = state("ScaleByAdamState", "count mu nu", _MOMENTS)
ScaleByBeliefState = ScaleByNovogradState = ScaleByAdamState
ScaleByAmsgradState = state(
    "ScaleByAmsgradState", "count mu nu nu_max", f"{_MOMENTS[:-1]}, and maxima of second moments."
)
ScaleByLionState = state("ScaleByLionState", "count mu", f"{_COUNT} and first moments.")
ScaleByAdaDeltaState = state(
    "ScaleByAdaDeltaState", "e_g e_x", "The averages of squared gradients and of squared updates."
)
ScaleByAdanState = state(
    "ScaleByAdanState",
    "m v n g t",
    "Moments of gradients, of their differences, and second ones, last gradients, number of steps.",
)
ScaleByRpropState = state(
    "ScaleByRpropState", "step_sizes prev_updates", "The sizes of the steps and the last updates."
)
ScaleBySM3State = state(
    "ScaleBySM3State", "mu nu", "The maxima along each axis and the averages of updates."
)
ScaleByScheduleState = state("ScaleByScheduleState", "count", f"{_COUNT}.")
ScaleByOptimisticGradientState = state(
    "ScaleByOptimisticGradientState",
    "is_initial_step previous_gradient",
    "Whether the next step is the first one, and the last gradients.",
)
ScaleByDistanceOverGradientsState = state(
    "ScaleByDistanceOverGradientsState",
    "max_dist grad_sum_of_squares init_params",
    "The greatest distances, the sums of squared gradients and the initial parameters.",
)
FactoredState = state(
    "FactoredState",
    "count v_row v_col v",
    f"{_COUNT}, and second moments: factored into rows and columns, or whole.",
)
ScaleByLBFGSState = state(
    "ScaleByLBFGSState",
    "count params updates diff_params_memory diff_updates_memory weights_memory",
    f"{_COUNT}, the last parameters and updates, and the history of their differences.",
)
ScaleByAdemamixState = state(
    "ScaleByAdemamixState",
    "count count_m2 m1 m2 nu",
    "The numbers of steps, fast and slow averages, and second moments.",
)
ScaleBySimplifiedAdEMAMixState = state(
    "ScaleBySimplifiedAdEMAMixState",
    "t m n",
    f"{_COUNT}, decaying sums of gradients, and second moments.",
)

# Of other transformations of gradients.
TraceState = state("TraceState", "trace", "The decaying sums of updates.")
EmaState = state("EmaState", "count ema", f"{_COUNT} and the averages of updates.")
ApplyEvery = state(
    "ApplyEvery", "count grad_acc", "The steps since the last update, and the sum of the updates."
)
AddNoiseState = state("AddNoiseState", "count rng_key", f"{_COUNT} and the random key.")
WeightDecaySchedule = state("WeightDecaySchedule", "count", f"{_COUNT}.")
ZeroNansState = state("ZeroNansState", "found_nan", "Where the last updates had a NaN.")
AddDecayedWeightsState = ScaleState = ScaleByTrustRatioState = NormalizeState = EmptyState
AdaptiveGradClipState = ClipState = ClipByGlobalNormState = NonNegativeParamsState = EmptyState

# Of transformations of others.
SplitRealAndImaginaryState = state(
    "SplitRealAndImaginaryState", "inner_state", "The state of the inner transformation."
)
InjectHyperparamsState = state(
    "InjectHyperparamsState",
    "count hyperparams hyperparams_states inner_state",
    f"{_COUNT}, the hyperparameters, the states of schedules, the optimizer's state.",
)
InjectStatefulHyperparamsState = InjectHyperparamsState
WrappedScheduleState = state("WrappedScheduleState", "count", f"{_COUNT}.")
ApplyIfFiniteState = state(
    "ApplyIfFiniteState",
    "notfinite_count last_finite total_notfinite inner_state",
    "Counts of updates that were not finite: in a row and in all; whether the last one was finite.",
)
MultiStepsState = state(
    "MultiStepsState",
    "mini_step gradient_step inner_opt_state acc_grads skip_state",
    "Numbers of mini-steps and steps, the optimizer's state, the mean update, the state of skips.",
    ((),),
)
ConditionallyTransformState = state(
    "ConditionallyTransformState",
    "inner_state step",
    "The state of the transformation and the number of steps.",
)
ConditionallyMaskState = state(
    "ConditionallyMaskState",
    "step inner_state",
    "The number of steps and the state of the transformation.",
)
LookaheadState = state(
    "LookaheadState",
    "fast_state steps_since_sync",
    "The state of the fast optimizer, and the steps since the last synchronization.",
)
SnapshotState = state("SnapshotState", "measurement", "The stored value, by its name.")
MonitorState = state(
    "MonitorState",
    "measurements measure_states",
    "The values of the measures, by name, and their states.",
)
MuonState = state(
    "MuonState",
    "count mu ns_coeffs",
    f"{_COUNT}, the moments and the coefficients of the Newton-Schulz iteration.",
)
ScheduleFreeState = state(
    "ScheduleFreeState",
    "b1 weight_sum step_count max_lr base_optimizer_state z",
    "b1, the sum of weights, the number of steps, the maximal rate, the base state, and z.",
)
ReduceLROnPlateauState = state(
    "ReduceLROnPlateauState",
    "scale best_value plateau_count cooldown_count count avg_value",
    "The scale of updates, the best mean loss, counters, and the mean of the current losses.",
)
COCOBState = state(
    "COCOBState",
    "init_particles cumulative_gradients scale subgradients reward",
    "Initial parameters, sums of gradients, maxima and sums of their absolute values, rewards.",
)
MadgradState = state(
    "MadgradState",
    "count grad_sum_sq s x0",
    f"{_COUNT}, weighted sums of squared gradients and of gradients, and the initial parameters.",
)
DoGState = state(
    "DoGState",
    "is_init_step init_params max_dist sum_sq_norm_grads",
    "Whether it is the first step, initial parameters, greatest distance, sum of squared norms.",
)
DoWGState = state(
    "DoWGState",
    "init_params weighted_sq_norm_grads estim_sq_dist",
    "The initial parameters, the weighted sum of squared norms, and the greatest squared distance.",
)
DifferentiallyPrivateAggregateState = state(
    "DifferentiallyPrivateAggregateState", "rng_key", "The random key."
)
