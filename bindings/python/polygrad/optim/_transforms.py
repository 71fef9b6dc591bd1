"""Transformations of gradients: scales by moments and norms, clipping, averages."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Callable, NamedTuple

from polygrad import lax
from polygrad._library import ArgumentError
from polygrad.dtype import dtypes
from polygrad.func._trees import flatten as flatten_tree
from polygrad.numpy._arrays import array
from polygrad.optim import tree
from polygrad.optim._base import (
    EmptyState,
    GradientTransformation,
    GradientTransformationExtraArgs,
    Step,
    Tree,
    by_leaf,
    full,
    identity,
    init_empty_state,
    need_params,
    safe_increment,
    safe_norm,
    safe_root_mean_squares,
    scheduled,
    stateless,
    stateless_with_tree_map,
    transformation,
    zero,
    zeros,
)
from polygrad.optim._masks import masked
from polygrad.optim.tree import averaged
from polygrad.tensor import Tensor

if TYPE_CHECKING:
    from polygrad.optim._base import Schedule


class ScaleByRssState(NamedTuple):
    """The sums of squares."""

    sum_of_squares: Tree


class ScaleByRmsState(NamedTuple):
    """The averages of squares."""

    nu: Tree


class ScaleByRmsWithCountState(NamedTuple):
    """The number of steps and the averages of squares."""

    count: Tensor  # type: ignore[assignment]
    nu: Tree


class ScaleByRStdDevState(NamedTuple):
    """The averages of updates and of their squares."""

    mu: Tree
    nu: Tree


class ScaleByRStdDevWithCountState(NamedTuple):
    """The number of steps, the averages of updates and of their squares."""

    count: Tensor  # type: ignore[assignment]
    mu: Tree
    nu: Tree


class ScaleByAdamState(NamedTuple):
    """The number of steps, first and second moments."""

    count: Tensor  # type: ignore[assignment]
    mu: Tree
    nu: Tree


ScaleByBeliefState = ScaleByNovogradState = ScaleByAdamState


class ScaleByAmsgradState(NamedTuple):
    """The number of steps, first and second moments, and the greatest of the latter."""

    count: Tensor  # type: ignore[assignment]
    mu: Tree
    nu: Tree
    nu_max: Tree


class ScaleByLionState(NamedTuple):
    """The number of steps and first moments."""

    count: Tensor  # type: ignore[assignment]
    mu: Tree


class ScaleByAdaDeltaState(NamedTuple):
    """The averages of squares of gradients and of updates."""

    e_g: Tree
    e_x: Tree


class ScaleByAdanState(NamedTuple):
    """The moments of gradients, of differences and of both, the last gradients, the steps."""

    m: Tree
    v: Tree
    n: Tree
    g: Tree
    t: Tensor


class ScaleByRpropState(NamedTuple):
    """The sizes of the steps and the last updates."""

    step_sizes: Tree
    prev_updates: Tree


class ScaleBySM3State(NamedTuple):
    """The maxima along each axis and the averages of updates."""

    mu: Tree
    nu: Tree


class ScaleByScheduleState(NamedTuple):
    """The number of steps."""

    count: Tensor  # type: ignore[assignment]


class ScaleByOptimisticGradientState(NamedTuple):
    """Whether no step was made, and the last gradients."""

    is_initial_step: Tensor
    previous_gradient: Tree


class ScaleByDistanceOverGradientsState(NamedTuple):
    """The greatest distances, the sums of squares and the first parameters."""

    max_dist: Tree
    grad_sum_of_squares: Tree
    init_params: Tree


class FactoredState(NamedTuple):
    """The number of steps, and averages of squares: of rows, of columns, or of all elements."""

    count: Tensor  # type: ignore[assignment]
    v_row: Tree
    v_col: Tree
    v: Tree


class ScaleByLBFGSState(NamedTuple):
    """The number of steps, the last parameters and updates, and differences of earlier ones."""

    count: Tensor  # type: ignore[assignment]
    params: Tree
    updates: Tree
    diff_params_memory: Tree
    diff_updates_memory: Tree
    weights_memory: Tensor


class TraceState(NamedTuple):
    """The sums of updates that decay."""

    trace: Tree


class EmaState(NamedTuple):
    """The number of steps and the averages of updates."""

    count: Tensor  # type: ignore[assignment]
    ema: Tree


class ApplyEvery(NamedTuple):
    """The steps since the last update, and the sum of the updates since."""

    count: Tensor  # type: ignore[assignment]
    grad_acc: Tree


class AddNoiseState(NamedTuple):
    """The number of steps and the random key."""

    count: Tensor  # type: ignore[assignment]
    rng_key: Tensor


class WeightDecaySchedule(NamedTuple):
    """The number of steps."""

    count: Tensor  # type: ignore[assignment]


class ZeroNansState(NamedTuple):
    """Where the last updates had a NaN."""

    found_nan: Tree


AddDecayedWeightsState = ScaleState = ScaleByTrustRatioState = EmptyState
AdaptiveGradClipState = ClipState = ClipByGlobalNormState = NonNegativeParamsState = EmptyState


def _rsqrt_where_positive(x: Tensor, eps: Any) -> Tensor:
    return (x > 0).where((x + eps).rsqrt(), 0.0)


def scale_by_rss(initial_accumulator_value: Any = 0.1, eps: Any = 1e-7) -> GradientTransformation:
    """Return g over the root of the sum of all squares (Adagrad)."""

    def rule(step: Step, g: Tensor, p: Any, total: Tensor) -> tuple[Tensor, ...]:
        total = g.square() + total
        return g * _rsqrt_where_positive(total, eps), total

    slots = {"sum_of_squares": full(initial_accumulator_value)}
    return by_leaf(ScaleByRssState, slots, rule, count=None)


def _scale_by_deviation(
    centered: bool,
    decay: Any,
    eps: Any,
    initial_scale: Any,
    eps_in_sqrt: bool,
    bias_correction: bool,
) -> GradientTransformation:
    def rule(step: Step, g: Tensor, p: Any, *own: Tensor) -> tuple[Tensor, ...]:
        own = (
            *(averaged(g, m, decay) for m in own[:-1]),
            averaged(g.square(), own[-1], decay),
        )
        flat = [step.debias(m, decay) if bias_correction else m for m in own]
        square = flat[-1] - flat[0].square() if centered else flat[-1]
        scale = (square + eps).rsqrt() if eps_in_sqrt else 1 / (square.sqrt() + eps)
        return (g * scale, *own)

    slots = {"mu": zeros()} if centered else {}
    slots["nu"] = full(initial_scale)
    states: Any = {
        (False, False): ScaleByRmsState,
        (False, True): ScaleByRmsWithCountState,
        (True, False): ScaleByRStdDevState,
        (True, True): ScaleByRStdDevWithCountState,
    }
    state = states[centered, bias_correction]
    return by_leaf(state, slots, rule, count="count" if bias_correction else None)


def scale_by_rms(
    decay: Any = 0.9,
    eps: Any = 1e-8,
    initial_scale: Any = 0.0,
    eps_in_sqrt: bool = True,
    bias_correction: bool = False,
) -> GradientTransformation:
    """Return g over the root of the average of squares."""
    return _scale_by_deviation(False, decay, eps, initial_scale, eps_in_sqrt, bias_correction)


def scale_by_stddev(
    decay: Any = 0.9,
    eps: Any = 1e-8,
    initial_scale: Any = 0.0,
    eps_in_sqrt: bool = True,
    bias_correction: bool = False,
) -> GradientTransformation:
    """Return g over its standard deviation, by averages that decay."""
    return _scale_by_deviation(True, decay, eps, initial_scale, eps_in_sqrt, bias_correction)


def _scale_by_moments(
    second: Callable[[Tensor, Tensor, Tensor, Any], Tensor],
    b1: Any,
    b2: Any,
    eps: Any,
    eps_root: Any,
    nesterov: bool = False,
    slots: Any = None,
    finish: Any = None,
) -> GradientTransformation:
    """Return the family of Adam: first moments over the roots of second ones, without bias.

    second(g, mu, nu, b2) is the new second moment; finish(step, m, v) is the update of both.
    """

    def over(step: Step, m: Tensor, v: Tensor) -> Tensor:
        return m / ((v + eps_root).sqrt() + eps)

    def rule(step: Step, g: Tensor, p: Any, mu: Tensor, nu: Tensor) -> tuple[Tensor, ...]:
        mu = averaged(g, mu, b1)
        nu = second(g, mu, nu, b2)
        m, v = step.first(mu, g, b1, nesterov), step.debias(nu, b2)
        return (finish or over)(step, m, v), mu, nu

    return by_leaf(ScaleByAdamState, slots or {"mu": zeros(), "nu": zeros()}, rule)


def _squares(g: Tensor, mu: Tensor, nu: Tensor, b2: Any) -> Tensor:
    return averaged(g.square(), nu, b2)


def scale_by_adam(
    b1: Any = 0.9,
    b2: Any = 0.999,
    eps: Any = 1e-8,
    eps_root: Any = 0.0,
    mu_dtype: Any = None,
    *,
    nesterov: bool = False,
) -> GradientTransformation:
    """Return the direction of Adam (arXiv:1412.6980).

    First moments over the roots of second ones, without bias; with nesterov that of NAdam.
    mu_dtype is the type of the first moments.
    """
    slots = {"mu": zeros(mu_dtype), "nu": zeros()}
    return _scale_by_moments(_squares, b1, b2, eps, eps_root, nesterov, slots)


def scale_by_amsgrad(
    b1: Any = 0.9,
    b2: Any = 0.999,
    eps: Any = 1e-8,
    eps_root: Any = 0.0,
    mu_dtype: Any = None,
    bias_correction_mu: bool = True,
    bias_correction_nu: bool = True,
) -> GradientTransformation:
    """Return scale_by_adam with the greatest second moment so far (arXiv:1904.09237)."""

    def rule(step: Step, g: Tensor, p: Any, mu: Tensor, nu: Tensor, most: Tensor) -> Any:
        mu, nu = averaged(g, mu, b1), averaged(g.square(), nu, b2)
        m = step.debias(mu, b1) if bias_correction_mu else mu
        most = most.maximum(step.debias(nu, b2) if bias_correction_nu else nu)
        return m / ((most + eps_root).sqrt() + eps), mu, nu, most

    slots = {"mu": zeros(mu_dtype), "nu": zeros(), "nu_max": zeros()}
    return by_leaf(ScaleByAmsgradState, slots, rule)


def scale_by_adamax(b1: Any = 0.9, b2: Any = 0.999, eps: Any = 1e-8) -> GradientTransformation:
    """Return first moments over the greatest gradients, which decay (arXiv:1412.6980)."""

    def rule(step: Step, g: Tensor, p: Any, mu: Tensor, nu: Tensor) -> tuple[Tensor, ...]:
        mu, nu = averaged(g, mu, b1), (g.abs() + eps).maximum(nu * b2)
        return step.debias(mu, b1) / nu, mu, nu

    return by_leaf(ScaleByAdamState, {"mu": zeros(), "nu": zeros()}, rule)


def scale_by_belief(
    b1: Any = 0.9,
    b2: Any = 0.999,
    eps: Any = 1e-16,
    eps_root: Any = 1e-16,
    *,
    nesterov: bool = False,
) -> GradientTransformation:
    """Return scale_by_adam with the variance of the gradient (AdaBelief, arXiv:2010.07468)."""

    def second(g: Tensor, mu: Tensor, nu: Tensor, b2: Any) -> Tensor:
        return averaged((g - mu).square(), nu, b2) + eps_root

    return _scale_by_moments(second, b1, b2, eps, 0.0, nesterov)


def scale_by_yogi(
    b1: Any = 0.9,
    b2: Any = 0.999,
    eps: Any = 1e-3,
    eps_root: Any = 0.0,
    initial_accumulator_value: Any = 1e-6,
) -> GradientTransformation:
    """Return scale_by_adam with second moments that change by the size of the gradient (Yogi)."""

    def second(g: Tensor, mu: Tensor, nu: Tensor, b2: Any) -> Tensor:
        return nu - (nu - g.square()).sign() * g.square() * (1 - b2)

    start = full(initial_accumulator_value)
    slots = {"mu": start, "nu": start}
    return _scale_by_moments(second, b1, b2, eps, eps_root, slots=slots)


def scale_by_radam(
    b1: Any = 0.9,
    b2: Any = 0.999,
    eps: Any = 1e-8,
    eps_root: Any = 0.0,
    threshold: Any = 5.0,
    *,
    nesterov: bool = False,
) -> GradientTransformation:
    """Return scale_by_adam rectified by the variance of its rate (arXiv:1908.03265)."""
    most = 2.0 / (1.0 - b2) - 1.0

    def finish(step: Step, m: Tensor, v: Tensor) -> Tensor:
        power = b2 ** step.count.cast(dtypes.float32)
        ro = most - step.count * power * 2 / (1 - power)
        r = ((ro - 4.0) * (ro - 2.0) * most / ((most - 4.0) * (most - 2.0) * ro)).sqrt()
        return (ro >= threshold).where(r.cast(m.dtype) * m / ((v + eps_root).sqrt() + eps), m)

    return _scale_by_moments(_squares, b1, b2, eps, eps_root, nesterov, finish=finish)


def scale_by_novograd(
    b1: Any = 0.9,
    b2: Any = 0.25,
    eps: Any = 1e-8,
    eps_root: Any = 0.0,
    weight_decay: Any = 0.0,
    mu_dtype: Any = None,
) -> GradientTransformation:
    """Return moments of gradients over norms of layers (arXiv:1905.11286); needs parameters."""

    def rule(step: Step, g: Tensor, p: Tensor, mu: Tensor, nu: Tensor) -> tuple[Tensor, ...]:
        begins, square = step.count == 1, g.square().sum()
        nu = begins.where(square, averaged(square, nu, b2))
        new = g / ((nu + eps_root).sqrt() + eps) + p * weight_decay
        mu = begins.where(new, mu * b1 + new)
        return mu, mu, nu

    slots = {"mu": zeros(mu_dtype), "nu": lambda p: Tensor(0, dtype=p.dtype)}
    return by_leaf(ScaleByNovogradState, slots, rule, params_for="scale_by_novograd")


def scale_by_lion(
    b1: Any = 0.9,
    b2: Any = 0.99,
    mu_dtype: Any = None,
    *,
    mode: str = "hard",
    smooth_beta: Any = 1.0,
) -> GradientTransformation:
    """Return the sign of a moment (Lion, arXiv:2302.06675).

    With mode "smooth" it is tanh(smooth_beta * moment), with "refined" the moment itself where
    it is less than 1.
    """
    modes: dict[str, Callable[[Tensor], Tensor]] = {
        "hard": lambda x: x.sign(),
        "smooth": lambda x: (x * smooth_beta).tanh(),
        "refined": lambda x: (x.abs() < 1.0).where(x, x.sign()),
    }
    if mode not in modes:
        raise ArgumentError(f"scale_by_lion: mode: {mode!r}, expected {', '.join(modes)}")

    def rule(step: Step, g: Tensor, p: Any, mu: Tensor) -> tuple[Tensor, ...]:
        return modes[mode](averaged(g, mu, b1)), averaged(g, mu, b2)

    return by_leaf(ScaleByLionState, {"mu": zeros(mu_dtype)}, rule)


def scale_by_adadelta(rho: Any = 0.9, eps: Any = 1e-6) -> GradientTransformation:
    """Return g times the root of averages: of squares of updates over those of gradients."""

    def rule(step: Step, g: Tensor, p: Any, e_g: Tensor, e_x: Tensor) -> tuple[Tensor, ...]:
        e_g = averaged(g.square(), e_g, rho)
        new = (e_x + eps).sqrt() / (e_g + eps).sqrt() * g
        return new, e_g, averaged(new.square(), e_x, rho)

    return by_leaf(ScaleByAdaDeltaState, {"e_g": zeros(), "e_x": zeros()}, rule, count=None)


def scale_by_adan(
    b1: Any = 0.98, b2: Any = 0.92, b3: Any = 0.99, eps: Any = 1e-8, eps_root: Any = 0.0
) -> GradientTransformation:
    """Return moments of gradients and of their changes (Adan, arXiv:2208.06677)."""

    def rule(
        step: Step, g: Tensor, p: Any, m: Tensor, v: Tensor, n: Tensor, last: Tensor
    ) -> tuple[Tensor, ...]:
        change = (step.count == 1).where(0.0, g - last)
        m, v = averaged(g, m, b1), averaged(change, v, b2)
        n = averaged((g + change * (1 - b2)).square(), n, b3)
        new = step.debias(m, b1) + step.debias(v, b2) * (1 - b2)
        return new / ((step.debias(n, b3) + eps_root).sqrt() + eps), m, v, n, g

    slots = {name: zeros() for name in "mvng"}
    return by_leaf(ScaleByAdanState, slots, rule, count="t")


def scale_by_rprop(
    learning_rate: Any,
    eta_minus: Any = 0.5,
    eta_plus: Any = 1.2,
    min_step_size: Any = 1e-6,
    max_step_size: Any = 50.0,
) -> GradientTransformation:
    """Return steps by the sign of the gradient, longer while it stays and shorter when it turns.

    An update is that of the gradient before, as in optax: the first one is 0.
    """

    def rule(step: Step, g: Tensor, p: Any, size: Tensor, last: Tensor) -> tuple[Tensor, ...]:
        sign = g * last
        changed = (size * (sign > 0).where(eta_plus, eta_minus)).clip(min_step_size, max_step_size)
        size = (sign == 0).where(size, changed)
        new = (sign < 0).where(0.0, size * g.sign())
        return (sign < 0).where(0.0, last), size, new

    slots = {"step_sizes": full(learning_rate), "prev_updates": zeros()}
    return by_leaf(ScaleByRpropState, slots, rule, count=None)


def scale_by_sm3(b1: Any = 0.9, b2: Any = 1.0, eps: Any = 1e-8) -> GradientTransformation:
    """Return g over roots of maxima along each axis (SM3, arXiv:1901.11150)."""

    def rule(step: Step, g: Tensor, p: Any, mu: list[Tensor], nu: Tensor) -> tuple[Any, ...]:
        n = len(g.shape)
        wide = [m.reshape(-1, *[1] * (n - 1 - k)) for k, m in enumerate(mu)]
        least = functools.reduce(lambda a, b: a.minimum(b), wide) if wide else g * 0
        share = 1.0 if not isinstance(b2, Tensor) and b2 == 1.0 else 1.0 - b2
        total = g.square() * share + least * b2
        nu = averaged(g * _rsqrt_where_positive(total, eps), nu, b1)
        axes = [tuple(i for i in range(n) if i != k) for k in range(n)]
        return nu, [total.max(axis=a) if a else total for a in axes], nu

    def along(p: Tensor) -> list[Tensor]:
        return [Tensor.zeros(size, dtype=p.dtype) for size in p.shape]

    return by_leaf(ScaleBySM3State, {"mu": along, "nu": zeros()}, rule, count=None)


def _decay_rate_pow(step: Tensor, exponent: Any) -> Tensor:
    return 1.0 - (step + 1).cast(dtypes.float32) ** (-exponent)


def _factored_dims(shape: Any, factored: bool, least: int) -> tuple[int, int] | None:
    """Return the second longest and the longest axis, if both are long enough."""
    if not factored or len(shape) < 2:
        return None
    order = sorted(range(len(shape)), key=lambda i: shape[i])
    return None if shape[order[-2]] < least else (order[-2], order[-1])


def scale_by_factored_rms(
    factored: bool = True,
    decay_rate: Any = 0.8,
    step_offset: Any = 0,
    min_dim_size_to_factor: int = 128,
    epsilon: Any = 1e-30,
    decay_rate_fn: Callable[[Any, Any], Any] = _decay_rate_pow,
) -> GradientTransformation:
    """Return g over the root of averages of squares, kept as rows and columns (arXiv:1804.04235).

    This saves memory for parameters with two axes of at least min_dim_size_to_factor elements.
    """

    def dims(p: Tensor) -> tuple[int, int] | None:
        return _factored_dims(p.shape, factored, min_dim_size_to_factor)

    def without(p: Tensor, which: int) -> Tensor:
        found = dims(p)
        if found is None:
            return Tensor.zeros(1, dtype=p.dtype)
        shape = [n for i, n in enumerate(p.shape) if i != found[which]]
        return Tensor.zeros(*shape, dtype=p.dtype)

    def rule(step: Step, g: Tensor, p: Tensor, row: Tensor, col: Tensor, v: Tensor) -> Any:
        rate = decay_rate_fn(step.count - 1 - step_offset, decay_rate)
        square, found = g.square() + epsilon, dims(p)
        if found is None:
            v = (averaged(square, v, rate)).cast(p.dtype)
            return g * v**-0.5, row, col, v
        second, longest = found
        row = averaged(square.mean(axis=longest), row, rate).cast(p.dtype)
        col = averaged(square.mean(axis=second), col, rate).cast(p.dtype)
        mean = row.mean(axis=second - (second > longest), keepdim=True)
        new = g * ((row / mean) ** -0.5).unsqueeze(longest) * (col**-0.5).unsqueeze(second)
        return new, row, col, v

    slots: dict[str, Callable[[Tensor], Any]] = {
        "v_row": lambda p: without(p, 1),
        "v_col": lambda p: without(p, 0),
        "v": lambda p: zeros()(p) if dims(p) is None else Tensor.zeros(1, dtype=p.dtype),
    }
    return by_leaf(FactoredState, slots, rule, params_for="scale_by_factored_rms")


def scale(step_size: Any) -> GradientTransformation:
    """Return updates times a number."""
    return stateless_with_tree_map(lambda g, p: g * step_size)


def scale_by_sign() -> GradientTransformation:
    """Return the signs of updates."""
    return stateless_with_tree_map(lambda g, p: g.sign())


def _by_params(who: str, f: Callable[[Tensor, Tensor], Tensor]) -> GradientTransformation:
    def update(updates: Tree, params: Tree) -> Tree:
        need_params(who, params)
        return tree.map(f, updates, params)

    return stateless(update)


def scale_by_param_block_norm(min_scale: Any = 1e-3) -> GradientTransformation:
    """Return updates times the norms of their parameters, at least min_scale."""
    return _by_params("scale_by_param_block_norm", lambda u, p: u * safe_norm(p, min_scale))


def scale_by_param_block_rms(min_scale: Any = 1e-3) -> GradientTransformation:
    """Return updates times the roots of the mean squares of their parameters."""
    return _by_params(
        "scale_by_param_block_rms", lambda u, p: u * safe_root_mean_squares(p, min_scale)
    )


def scale_by_trust_ratio(
    min_norm: Any = 0.0, trust_coefficient: Any = 1.0, eps: Any = 0.0
) -> GradientTransformation:
    """Return updates as long as their parameters, times trust_coefficient (LARS, LAMB)."""

    def one(u: Tensor, p: Tensor) -> Tensor:
        norm, length = safe_norm(p, min_norm), safe_norm(u, min_norm)
        ratio = norm * trust_coefficient / (length + eps)
        return u * ((norm == 0.0) | (length == 0.0)).where(1.0, ratio)

    return _by_params("scale_by_trust_ratio", one)


def scale_by_schedule(step_size_fn: Schedule) -> GradientTransformation:
    """Return updates times what a schedule says of the number of steps before."""

    def update(updates: Tree, state: Tree, params: Tree = None) -> tuple[Tree, Tree]:
        size = step_size_fn(state.count)
        new = tree.map(
            lambda g: g * (size.cast(g.dtype) if isinstance(size, Tensor) else size), updates
        )
        return new, ScaleByScheduleState(safe_increment(state.count))

    return transformation(lambda _: ScaleByScheduleState(zero()), update)


def scale_by_learning_rate(
    learning_rate: Any = None, *, flip_sign: bool = True
) -> GradientTransformation:
    """Return updates times the learning rate, a number or a schedule, and -1 unless told not to."""
    sign = -1 if flip_sign else 1
    if learning_rate is None:
        return identity()
    if callable(learning_rate):
        return scale_by_schedule(lambda count: learning_rate(count) * sign)
    return scale(learning_rate * sign)


def scale_by_optimistic_gradient(alpha: Any = 1.0, beta: Any = 1.0) -> GradientTransformation:
    """Return (alpha + beta) * g - beta * the last g (arXiv:1711.00141)."""

    def init(params: Tree) -> Tree:
        return ScaleByOptimisticGradientState(Tensor(True), tree.zeros_like(params))

    def update(updates: Tree, state: Tree, params: Tree = None) -> tuple[Tree, Tree]:
        begins = state.is_initial_step
        new = tree.map(
            lambda g, last: g * (alpha + beta) - begins.where(g, last) * beta,
            updates,
            state.previous_gradient,
        )
        return new, ScaleByOptimisticGradientState(begins & False, updates)

    return transformation(init, update)


def scale_by_distance_over_gradients(
    reps_rel: Any = 1e-6,
    eps: Any = 1e-8,
    param_dtype: Any = dtypes.float32,
    global_scale: Any = 1.0,
) -> GradientTransformation:
    """Return steps by the distance from the first parameters (DoG, arXiv:2302.12022)."""

    def length(x: Tensor) -> Tensor:
        return x.square().sum().sqrt()

    def init(params: Tree) -> Tree:
        return ScaleByDistanceOverGradientsState(
            tree.map(lambda x: (length(x) + 1) * reps_rel, params),
            tree.map(lambda x: Tensor.zeros(1), params),
            tree.cast(params, param_dtype),
        )

    def update(updates: Tree, state: Tree, params: Tree = None) -> tuple[Tree, Tree]:
        need_params("scale_by_distance_over_gradients", params)
        far = tree.map(
            lambda d, x, y: d.maximum(length(x - y)), state.max_dist, params, state.init_params
        )
        total = tree.map(lambda x, y: x + y.square().sum(), state.grad_sum_of_squares, updates)
        new = tree.map(lambda g, d, t: d / (t + eps).sqrt() * global_scale * g, updates, far, total)
        return new, ScaleByDistanceOverGradientsState(far, total, state.init_params)

    return transformation(init, update)


def scale_by_polyak(
    f_min: Any = 0.0, max_learning_rate: Any = 1.0, eps: Any = 0.0, variant: str = "sps"
) -> GradientTransformationExtraArgs:
    """Return steps by the value of the loss, which update takes as value= (Polyak).

    With variant "sps+" values below f_min give no step.
    """
    if variant not in ("sps", "sps+"):
        raise ArgumentError(f"scale_by_polyak: variant: {variant!r}, expected sps, sps+")

    def update(
        updates: Tree, state: Tree, params: Tree = None, *, value: Any, **_: Any
    ) -> tuple[Tree, Tree]:
        square = tree.norm(updates, squared=True)
        gap = array(value - f_min).cast(square.dtype)
        gap = gap.relu() if variant == "sps+" else gap
        tiny = square + eps <= 1.1920928955078125e-07
        size = tiny.where(0.0, (gap / (square + eps)).minimum(max_learning_rate))
        return tree.scale(size, updates), state

    return transformation(init_empty_state, update, extra=True)  # type: ignore[return-value]


def normalize_by_update_norm(scale_factor: Any = 1.0, eps: Any = 1e-6) -> GradientTransformation:
    """Return updates whose norm, over all parameters, is scale_factor."""

    def update(updates: Tree, _: Tree) -> Tree:
        norm = (tree.norm(updates) + eps) / scale_factor
        return tree.map(lambda g: g / norm, updates)

    return stateless(update)


def scale_by_lbfgs(
    memory_size: int = 10, scale_init_precond: bool = True
) -> GradientTransformation:
    """Return updates times an approximation of the inverse Hessian, of the last steps (L-BFGS)."""
    if memory_size < 1:
        raise ArgumentError(f"scale_by_lbfgs: memory_size: {memory_size}, expected at least 1")

    def init(params: Tree) -> Tree:
        memory = tree.map(lambda p: Tensor.zeros(memory_size, *p.shape, dtype=p.dtype), params)
        nothing = tree.zeros_like(params)
        return ScaleByLBFGSState(
            zero(), nothing, nothing, memory, memory, Tensor.zeros(memory_size)
        )

    def update(updates: Tree, state: Tree, params: Tree = None) -> tuple[Tree, Tree]:
        need_params("scale_by_lbfgs", params)
        began, places = state.count > 0, Tensor.arange(memory_size)
        at = places == (state.count + memory_size - 1) % memory_size
        moved = tree.sub(params, state.params)
        turned = tree.sub(updates, state.updates)
        inner = tree.vdot(turned, moved)
        weight = (inner == 0.0).where(0.0, 1.0 / inner)
        moved, turned, weight = tree.map(lambda x: began.where(x, 0.0), (moved, turned, weight))

        def kept(memory: Tensor, new: Tensor) -> Tensor:
            return at.reshape(memory_size, *[1] * len(new.shape)).where(new, memory)

        xs = tree.map(kept, state.diff_params_memory, moved)
        gs = tree.map(kept, state.diff_updates_memory, turned)
        weights = kept(state.weights_memory, weight)
        scale: Any = 1.0
        if scale_init_precond:
            square = tree.norm(turned, squared=True)
            scale = (square > 0.0).where(tree.vdot(turned, moved) / square, 1.0)
            scale = began.where(scale, (1.0 / tree.norm(updates)).minimum(1.0))
        order = (state.count + places) % memory_size

        def row(memory: Tree, i: Tensor) -> Tree:
            return tree.map(lambda m: lax.dynamic_index_in_dim(m, i, 0, keepdims=False), memory)

        def back(vector: Tree, i: Tensor) -> tuple[Tree, Tensor]:
            alpha = row(weights, i) * tree.vdot(row(xs, i), vector)
            new = tree.add_scale(vector, -alpha, row(gs, i))
            return tree.cast_like(new, vector), alpha

        def forth(vector: Tree, i_alpha: tuple[Tensor, Tensor]) -> tuple[Tree, Tensor]:
            i, alpha = i_alpha
            beta = row(weights, i) * tree.vdot(row(gs, i), vector)
            new = tree.add_scale(vector, alpha - beta, row(xs, i))
            return tree.cast_like(new, vector), beta

        new, alphas = lax.scan(back, updates, order, reverse=True)
        new = tree.cast_like(tree.scale(scale, new), updates)
        new, _ = lax.scan(forth, new, (order, alphas))
        after = safe_increment(state.count)
        return new, ScaleByLBFGSState(after, params, updates, xs, gs, weights)

    return transformation(init, update)


def trace(
    decay: Any, nesterov: bool = False, accumulator_dtype: Any = None
) -> GradientTransformation:
    """Return momentum: sums of updates that decay."""

    def rule(step: Step, g: Tensor, p: Any, before: Tensor) -> tuple[Tensor, ...]:
        after = g + before * decay
        return (g + after * decay if nesterov else after), after

    return by_leaf(TraceState, {"trace": zeros(accumulator_dtype)}, rule, count=None)


def ema(decay: Any, debias: bool = True, accumulator_dtype: Any = None) -> GradientTransformation:
    """Return averages of updates, which decay; with debias as if they had not begun at zero."""

    def rule(step: Step, g: Tensor, p: Any, before: Tensor) -> tuple[Tensor, ...]:
        after = averaged(g, before, decay)
        return (step.debias(after, decay) if debias else after), after

    return by_leaf(EmaState, {"ema": zeros(accumulator_dtype)}, rule)


def apply_every(k: Any = 1) -> GradientTransformation:
    """Return the sum of k updates every k steps, zeros between; see MultiSteps for means."""

    def update(updates: Tree, state: Tree, params: Tree = None) -> tuple[Tree, Tree]:
        place = state.count % k
        total = tree.map(lambda g, a: g + (place != 0).where(a, 0.0), updates, state.grad_acc)
        new = tree.map(lambda a: (place == k - 1).where(a, 0.0), total)
        return new, ApplyEvery(safe_increment(state.count) % k, total)

    return transformation(lambda params: ApplyEvery(zero(), tree.zeros_like(params)), update)


def centralize() -> GradientTransformation:
    """Return updates whose means along all axes but the first are 0 (arXiv:2004.01461)."""

    def one(g: Tensor, p: Any) -> Tensor:
        n = len(g.shape)
        return g - g.mean(axis=tuple(range(1, n)), keepdim=True) if n > 1 else g

    return stateless_with_tree_map(one)


def add_decayed_weights(weight_decay: Any = 0.0, mask: Any = None) -> GradientTransformation:
    """Return updates and weight_decay, a number or a schedule, times the parameters.

    mask says for which of them: a tree of bools, or a function that makes one of the parameters.
    """
    varies = callable(weight_decay)

    def init(params: Tree) -> Tree:
        return WeightDecaySchedule(zero()) if varies else EmptyState()

    def update(updates: Tree, state: Tree, params: Tree = None) -> tuple[Tree, Tree]:
        need_params("add_decayed_weights", params)
        after = WeightDecaySchedule(safe_increment(state.count)) if varies else state
        if not varies and not isinstance(weight_decay, Tensor) and weight_decay == 0.0:
            return updates, after
        size = scheduled(weight_decay, state.count if varies else zero())
        return tree.map(lambda g, p: g + p * size, updates, params), after

    made = transformation(init, update)
    return made if mask is None else masked(made, mask)


def add_noise(
    eta: Any, gamma: Any, key: Any = None, *, seed: int | None = None
) -> GradientTransformation:
    """Return updates and noise of the variance eta / (1 + count)**gamma (arXiv:1511.06807).

    key is a random key (see polygrad.random) or a number to make one of; seed is another name.
    """
    from polygrad import random

    if seed is not None and key is not None:
        raise ArgumentError("add_noise: key, seed: expected one of them")
    given = seed if key is None else key

    def init(params: Tree) -> Tree:
        first = given if isinstance(given, Tensor) else random.key(given or 0)
        return AddNoiseState(zero(), first)

    def update(updates: Tree, state: Tree, params: Tree = None) -> tuple[Tree, Tree]:
        after = safe_increment(state.count)
        deviation = (eta / after.cast(dtypes.float32) ** gamma).sqrt()
        keys = random.split(state.rng_key)
        noise = tree.random_like(keys[1], updates)
        new = tree.map(lambda g, n: g + n * deviation.cast(g.dtype), updates, noise)
        return new, AddNoiseState(after, keys[0])

    return transformation(init, update)


def clip(max_delta: Any) -> GradientTransformation:
    """Return updates with elements from -max_delta to max_delta."""
    return stateless_with_tree_map(lambda g, p: g.clip(-max_delta, max_delta))


def clip_by_block_rms(threshold: Any) -> GradientTransformation:
    """Return updates whose roots of mean squares, each by itself, are at most threshold."""
    return stateless_with_tree_map(
        lambda g, p: g / (g.square().mean().sqrt() / threshold).maximum(1.0)
    )


def clip_by_global_norm(max_norm: Any) -> GradientTransformation:
    """Return updates whose norm, over all parameters, is at most max_norm.

    >>> t = clip_by_global_norm(1.0)
    >>> new, state = t.update({"a": Tensor([3.0]), "b": Tensor([4.0])}, t.init(None))
    >>> new["a"].numpy().round(3), new["b"].numpy().round(3)
    (array([0.6], dtype=float32), array([0.8], dtype=float32))
    """

    def update(updates: Tree, _: Tree) -> Tree:
        norm = tree.norm(updates)
        small = norm < max_norm
        return tree.map(lambda g: small.where(g, g / norm.cast(g.dtype) * max_norm), updates)

    return stateless(update)


def _batch(who: str, grads: Tree) -> int:
    sizes = {tuple(g.shape[:1]) for g in tree.leaves(grads)}
    if len(sizes) != 1 or sizes == {()}:
        raise ArgumentError(
            f"{who}: grads: expected tensors with the examples along the first axis"
        )
    return next(iter(sizes))[0]


def per_example_global_norm_clip(grads: Tree, l2_norm_clip: Any) -> tuple[Tree, Tensor]:
    """Return sums of gradients of examples, of norms at most l2_norm_clip, and how many were cut.

    The examples are along the first axis.
    """
    n = _batch("per_example_global_norm_clip", grads)
    square = tree.add(*[g.reshape(n, -1).square().sum(axis=1) for g in tree.leaves(grads)])
    factors = (l2_norm_clip / square.sqrt()).minimum(1.0)
    factors = factors.isnan().where(1.0, factors)

    def total(g: Tensor) -> Tensor:
        return (g * factors.cast(g.dtype).reshape(n, *[1] * (len(g.shape) - 1))).sum(axis=0)

    return tree.map(total, grads), (factors < 1.0).sum()


def per_example_layer_norm_clip(
    grads: Tree, global_l2_norm_clip: Any, uniform: bool = True
) -> tuple[Tree, Tree]:
    """Return per_example_global_norm_clip of each parameter, with shares of the norm.

    The shares are equal, or by the numbers of elements.
    """
    n = _batch("per_example_layer_norm_clip", grads)
    layers, elements = len(tree.leaves(grads)), tree.size(grads) / max(n, 1)

    def one(g: Tensor) -> list[Tensor]:
        share = 1 / layers if uniform else g.numel() / n / elements
        return list(per_example_global_norm_clip(g, global_l2_norm_clip * share**0.5))

    pairs = [one(g) for g in tree.leaves(grads)]
    structure = flatten_tree(grads)[1]
    return structure.build([p[0] for p in pairs]), structure.build([p[1] for p in pairs])


def unitwise_norm(x: Tensor, axis: Any = None) -> Tensor:
    """Return the norms of the units of a layer, in the shape of its parameter.

    Those of a matrix are along axis 0, of a kernel along all axes but the last, of what has
    fewer axes that are longer than 1 all elements; unless axis says so.
    """
    n = len(x.shape)
    if axis is None:
        if sum(size != 1 for size in x.shape) <= 1:
            axis = tuple(range(n))
        elif n in (2, 3):
            axis = 0
        elif n in (4, 5):
            axis = tuple(range(n - 1))
        else:
            raise ArgumentError(f"unitwise_norm: x has {n} axes, expected at most 5, or axis")
    return x.square().sum(axis=axis, keepdim=True).sqrt().expand(x.shape)


def unitwise_clip(g_norm: Tensor, max_norm: Tensor, grad: Tensor, div_eps: Any = 1e-6) -> Tensor:
    """Return a gradient of norms at most max_norm, all of the shape of the gradient."""
    return (g_norm < max_norm).where(grad, grad * (max_norm / g_norm.maximum(div_eps)))


def adaptive_grad_clip(clipping: Any, eps: Any = 1e-3, axis: Any = None) -> GradientTransformation:
    """Return updates whose units have norms at most clipping times the parameter's (NFNet)."""

    def one(g: Tensor, p: Tensor) -> Tensor:
        most = unitwise_norm(p, axis).maximum(eps) * clipping
        return unitwise_clip(unitwise_norm(g, axis), most, g)

    return _by_params("adaptive_grad_clip", one)


def keep_params_nonnegative() -> GradientTransformation:
    """Return updates after which no parameter is below 0, if none was."""
    return _by_params("keep_params_nonnegative", lambda u, p: (p + u < 0.0).where(-p, u))


def zero_nans() -> GradientTransformation:
    """Return updates with 0 for NaN; the state says where some were."""

    def init(params: Tree) -> Tree:
        return ZeroNansState(tree.map(lambda p: Tensor(False), params))

    def update(updates: Tree, state: Tree, params: Tree = None) -> tuple[Tree, Tree]:
        found = tree.map(lambda g: g.isnan().any(), updates)
        return tree.map(lambda g: g.isnan().where(0.0, g), updates), ZeroNansState(found)

    return transformation(init, update)
