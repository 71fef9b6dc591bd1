"""Gradient transformations: scaling, clipping, weight decay, noise and accumulation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

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
    Tree,
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
)
from polygrad.optim._masks import masked
from polygrad.optim._states import (
    AddNoiseState,
    ApplyEvery,
    ScaleByLBFGSState,
    ScaleByOptimisticGradientState,
    ScaleByScheduleState,
    WeightDecaySchedule,
    ZeroNansState,
)
from polygrad.tensor import Tensor

if TYPE_CHECKING:
    from polygrad.optim._base import Schedule

# fmt: off
__all__ = [
    "adaptive_grad_clip", "add_decayed_weights", "add_noise", "apply_every", "centralize", "clip",
    "clip_by_block_rms", "clip_by_global_norm", "keep_params_nonnegative",
    "normalize_by_update_norm", "per_example_global_norm_clip", "per_example_layer_norm_clip",
    "scale", "scale_by_lbfgs", "scale_by_learning_rate", "scale_by_optimistic_gradient",
    "scale_by_param_block_norm", "scale_by_param_block_rms", "scale_by_polyak",
    "scale_by_schedule", "scale_by_sign", "unitwise_clip", "unitwise_norm", "zero_nans",
]
# fmt: on


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
    """Return updates times the root mean squares of their parameters."""
    return _by_params(
        "scale_by_param_block_rms", lambda u, p: u * safe_root_mean_squares(p, min_scale)
    )


def scale_by_schedule(step_size_fn: Schedule) -> GradientTransformation:
    """Return updates times the value of a schedule."""

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
    """Return updates times the learning rate, a number or a schedule; negated if flip_sign."""
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


def scale_by_polyak(
    f_min: Any = 0.0, max_learning_rate: Any = 1.0, eps: Any = 0.0, variant: str = "sps"
) -> GradientTransformationExtraArgs:
    """Return Polyak's step size times updates, from the loss, which update takes as value=.

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
    """Scale updates so that their norm over all parameters is scale_factor."""

    def update(updates: Tree, _: Tree) -> Tree:
        norm = (tree.norm(updates) + eps) / scale_factor
        return tree.map(lambda g: g / norm, updates)

    return stateless(update)


def scale_by_lbfgs(
    memory_size: int = 10, scale_init_precond: bool = True
) -> GradientTransformation:
    """Return updates times the L-BFGS approximation of the inverse Hessian."""
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


def apply_every(k: Any = 1) -> GradientTransformation:
    """Return the sum of the last k updates every k steps, else zeros; see MultiSteps for means."""

    def update(updates: Tree, state: Tree, params: Tree = None) -> tuple[Tree, Tree]:
        place = state.count % k
        total = tree.map(lambda g, a: g + (place != 0).where(a, 0.0), updates, state.grad_acc)
        new = tree.map(lambda a: (place == k - 1).where(a, 0.0), total)
        return new, ApplyEvery(safe_increment(state.count) % k, total)

    return transformation(lambda params: ApplyEvery(zero(), tree.zeros_like(params)), update)


def centralize() -> GradientTransformation:
    """Subtract the means along all axes but the first from updates (arXiv:2004.01461)."""

    def one(g: Tensor, p: Any) -> Tensor:
        n = len(g.shape)
        return g - g.mean(axis=tuple(range(1, n)), keepdim=True) if n > 1 else g

    return stateless_with_tree_map(one)


def add_decayed_weights(weight_decay: Any = 0.0, mask: Any = None) -> GradientTransformation:
    """Add weight_decay, a number or a schedule, times the parameters to updates.

    mask selects the parameters: a tree of bools, or a function from parameters to one.
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
    """Add noise of variance eta / (1 + count)**gamma to updates (arXiv:1511.06807).

    key is a random key (see polygrad.random) or a number to make one from; seed is an alias.
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
    """Clip the elements of updates to [-max_delta, max_delta]."""
    return stateless_with_tree_map(lambda g, p: g.clip(-max_delta, max_delta))


def clip_by_block_rms(threshold: Any) -> GradientTransformation:
    """Scale each update so that its root mean square is at most threshold."""
    return stateless_with_tree_map(
        lambda g, p: g / (g.square().mean().sqrt() / threshold).maximum(1.0)
    )


def clip_by_global_norm(max_norm: Any) -> GradientTransformation:
    """Scale updates so that their norm over all parameters is at most max_norm.

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
    """Sum per-example gradients, clipped to norm l2_norm_clip; also count the clipped ones.

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
    """Apply per_example_global_norm_clip to each parameter, with its share of the norm.

    The shares of the squared norm are equal if uniform, else proportional to numbers of elements.
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

    They are taken over axis, by default over axis 0 of matrices and of tensors with 3 axes, all
    axes but the last of kernels with 4 or 5, and all elements if at most one axis is longer than 1.
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
    """Clip a gradient to norms max_norm; all arguments have the gradient's shape."""
    return (g_norm < max_norm).where(grad, grad * (max_norm / g_norm.maximum(div_eps)))


def adaptive_grad_clip(clipping: Any, eps: Any = 1e-3, axis: Any = None) -> GradientTransformation:
    """Clip each unit's update to norm clipping times that of the unit's parameters (NFNet)."""

    def one(g: Tensor, p: Tensor) -> Tensor:
        most = unitwise_norm(p, axis).maximum(eps) * clipping
        return unitwise_clip(unitwise_norm(g, axis), most, g)

    return _by_params("adaptive_grad_clip", one)


def keep_params_nonnegative() -> GradientTransformation:
    """Limit updates so that nonnegative parameters stay nonnegative."""
    return _by_params("keep_params_nonnegative", lambda u, p: (p + u < 0.0).where(-p, u))


def zero_nans() -> GradientTransformation:
    """Replace NaN in updates by 0; the state records which updates had a NaN."""

    def init(params: Tree) -> Tree:
        return ZeroNansState(tree.map(lambda p: Tensor(False), params))

    def update(updates: Tree, state: Tree, params: Tree = None) -> tuple[Tree, Tree]:
        found = tree.map(lambda g: g.isnan().any(), updates)
        return tree.map(lambda g: g.isnan().where(0.0, g), updates), ZeroNansState(found)

    return transformation(init, update)
