"""Optimizers of optax.contrib."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from polygrad._library import ArgumentError
from polygrad.dtype import dtypes
from polygrad.func._trees import Structure
from polygrad.func._trees import _children as children
from polygrad.func._trees import flatten as flatten_tree
from polygrad.numpy._arrays import array
from polygrad.optim import _transforms as t
from polygrad.optim import tree
from polygrad.optim._base import (
    GradientTransformation,
    GradientTransformationExtraArgs,
    Step,
    Tree,
    identity,
    need_params,
    safe_increment,
    scheduled,
    stateless,
    transformation,
    with_extra_args_support,
    zero,
)
from polygrad.optim._masks import partition
from polygrad.optim._optimizers import adamw, optimizer, sgd
from polygrad.optim._rules import (
    scale_by_acprop,
    scale_by_ademamix,
    scale_by_adopt,
    scale_by_cocob,
    scale_by_madgrad,
    scale_by_rms,
    scale_by_simplified_ademamix,
    trace,
)
from polygrad.optim._schedules import warmup_constant_schedule
from polygrad.optim._states import (
    COCOBState,
    DifferentiallyPrivateAggregateState,
    DoGState,
    DoWGState,
    MadgradState,
    MuonState,
    NormalizeState,
    ReduceLROnPlateauState,
    ScaleByAdemamixState,
    ScaleBySimplifiedAdEMAMixState,
    ScheduleFreeState,
    SplitRealAndImaginaryState,
)
from polygrad.optim._wrappers import chain
from polygrad.optim.tree import averaged
from polygrad.tensor import Tensor

__all__ = [
    "COCOBState",
    "DifferentiallyPrivateAggregateState",
    "DoGState",
    "DoWGState",
    "MadgradState",
    "MuonDimensionNumbers",
    "MuonState",
    "NormalizeState",
    "ReduceLROnPlateauState",
    "ScaleByAdemamixState",
    "ScaleBySimplifiedAdEMAMixState",
    "ScheduleFreeState",
    "SplitRealAndImaginaryState",
    "acprop",
    "ademamix",
    "adopt",
    "cocob",
    "differentially_private_aggregate",
    "dog",
    "dowg",
    "dpsgd",
    "madgrad",
    "muon",
    "normalize",
    "reduce_on_plateau",
    "scale_by_acprop",
    "scale_by_ademamix",
    "scale_by_adopt",
    "scale_by_cocob",
    "scale_by_dog",
    "scale_by_dowg",
    "scale_by_madgrad",
    "scale_by_muon",
    "scale_by_simplified_ademamix",
    "schedule_free",
    "schedule_free_adamw",
    "schedule_free_eval_params",
    "schedule_free_sgd",
    "simplified_ademamix",
    "split_real_and_imaginary",
]

_COMPLEX = (dtypes.complex64, dtypes.complex128)
_STANDARD = (3.4445, -4.7750, 2.0315)
_PRESETS: dict[str, Any] = {
    "standard": _STANDARD,
    "dion": (
        (4.0848, -6.8946, 2.9270),
        (3.9505, -6.3029, 2.6377),
        (3.7418, -5.5913, 2.3037),
        (2.8769, -3.1427, 1.2046),
        (2.8366, -3.0525, 1.2012),
    ),
}


class MuonDimensionNumbers(NamedTuple):
    """The input axes (reduction_axis) and output axes of a parameter as a weight matrix."""

    reduction_axis: Any = 0
    output_axis: Any = 1


def _axes(p: Tensor, numbers: MuonDimensionNumbers) -> tuple[tuple[int, ...], tuple[int, ...]]:
    n = len(p.shape)

    def one(axis: Any) -> tuple[int, ...]:
        return tuple(a % n for a in ((axis,) if isinstance(axis, int) else axis))

    reduced, out = one(numbers.reduction_axis), one(numbers.output_axis)
    if n < 2 or set(reduced) & set(out):
        raise ArgumentError(
            f"muon: a parameter of shape {tuple(p.shape)} with {numbers}, expected two axes or "
            "more, and different ones of inputs and of outputs"
        )
    return reduced, out


def _orthogonal(
    x: Tensor, coeffs: Tensor, steps: int, first: str, eps: Any, numbers: MuonDimensionNumbers
) -> Tensor:
    """Return matrices with nearly equal singular values, by the Newton-Schulz iteration."""
    shape = tuple(x.shape)
    reduced, out = _axes(x, numbers)
    batch = tuple(i for i in range(len(shape)) if i not in (*reduced, *out))
    order = (*batch, *reduced, *out)
    rows, columns = (math.prod(shape[i] for i in axes) for axes in (reduced, out))
    x = x.permute(*order).reshape(-1, rows, columns)
    wide = rows > columns
    x = x.transpose(1, 2) if wide else x
    if first == "frobenius":
        x = x / (x.square().sum(axis=(1, 2), keepdim=True).sqrt() + eps)
    elif first == "spectral":
        from polygrad import linalg

        x = x / (linalg.svdvals(x).max(axis=-1).reshape(-1, 1, 1) + eps)
    one_row = len(coeffs.shape) == 1
    for i in range(steps if one_row else coeffs.shape[0]):
        a, b, c = (coeffs[k] if one_row else coeffs[i, k] for k in range(3))
        gram = x @ x.transpose(1, 2)
        if i == 0 and first == "aol":
            s = gram.abs().sum(axis=-1, keepdim=True).maximum(eps).rsqrt()
            x, gram = x * s, gram * s * s.transpose(1, 2)
        elif i == 0 and first == "schatten":
            s = gram.square().sum(axis=(1, 2), keepdim=True).sqrt().maximum(eps).rsqrt()
            x, gram = x * s, gram * s.square()
        x = x * a + (gram * b + gram * c @ gram) @ x
    x = x.transpose(1, 2) if wide else x
    back = sorted(range(len(shape)), key=lambda i: order[i])
    return x.reshape(*(shape[i] for i in order)).permute(*back)


def _numbers_for(given: Any, updates: Tree) -> Tree:
    """Return dimension numbers for each parameter; given is one for all, a tree or a function."""
    found = given(updates) if callable(given) else given
    numbers = _as_leaves(MuonDimensionNumbers() if found is None else found)
    return tree.map(lambda own, below: tree.map(lambda _: own, below), numbers, updates)


class _Leaf:
    """Dimension numbers wrapped as a leaf: a tuple would be a tree."""

    def __init__(self, of: Any) -> None:
        self.of = of


def _as_leaves(found: Any) -> Any:
    """Wrap dimension numbers, and None, in a tree as leaves."""
    if found is None or isinstance(found, MuonDimensionNumbers):
        return _Leaf(found)
    below = children(found)
    if below is None:
        return found
    parts = [_as_leaves(c) for c in below[0]]
    return Structure(type(found), below[1], below[2], [])._make(parts)


def scale_by_muon(
    ns_coeffs: Any = _STANDARD,
    ns_steps: int = 5,
    beta: Any = 0.95,
    eps: Any = 1e-8,
    mu_dtype: Any = None,
    *,
    nesterov: bool = True,
    adaptive: bool = False,
    preconditioning: str = "frobenius",
    weight_dimension_numbers: Any = None,
) -> GradientTransformation:
    """Return orthogonalized moments: matrices with nearly equal singular values (Muon).

    ns_coeffs are three coefficients, or three for each step; preconditioning is "frobenius",
    "spectral", "aol" or "schatten". weight_dimension_numbers selects the axes of the matrices.
    """
    known = ("frobenius", "spectral", "aol", "schatten")
    if preconditioning not in known:
        raise ArgumentError(
            f"scale_by_muon: preconditioning: {preconditioning!r}, expected {', '.join(known)}"
        )
    coeffs = ns_coeffs if isinstance(ns_coeffs, Tensor) else Tensor(ns_coeffs, dtype="float32")
    if len(coeffs.shape) not in (1, 2) or coeffs.shape[-1] != 3:
        raise ArgumentError(
            f"scale_by_muon: ns_coeffs of shape {tuple(coeffs.shape)}, expected (3) or (n, 3)"
        )
    coeffs = coeffs if len(coeffs.shape) == 1 else coeffs[-ns_steps:]

    def init(params: Tree) -> Tree:
        return MuonState(zero(), tree.zeros_like(params, mu_dtype), coeffs)

    def update(updates: Tree, state: Tree, params: Tree = None) -> tuple[Tree, Tree]:
        after = safe_increment(state.count)
        step = Step(after)
        mu = tree.map(lambda g, m: averaged(g, m, beta), updates, state.mu)
        ahead = tree.map(lambda g, m: step.first(m, g, beta, nesterov), updates, mu)

        def one(m: Tensor, numbers: _Leaf) -> Tensor:
            own = state.ns_coeffs.cast(m.dtype)
            new = _orthogonal(m, own, ns_steps, preconditioning, eps, numbers.of)
            return (m * new).sum() * new if adaptive else new

        new = tree.map(one, ahead, _numbers_for(weight_dimension_numbers, updates))
        return new, MuonState(after, tree.cast_like(mu, state.mu), state.ns_coeffs)

    return transformation(init, update)


def _scale_by_shape(numbers: Any, consistent_rms: Any) -> GradientTransformation:
    def one(u: Tensor, own: _Leaf) -> Tensor:
        reduced, out = _axes(u, own.of)
        inputs, outputs = (math.prod(u.shape[i] for i in axes) for axes in (reduced, out))
        if consistent_rms is None:
            return u * math.sqrt(max(1, outputs / inputs))
        return u * (math.sqrt(max(inputs, outputs)) * consistent_rms)

    return stateless(lambda updates, _: tree.map(one, updates, _numbers_for(numbers, updates)))


def muon(
    learning_rate: Any,
    ns_coeffs: Any = _STANDARD,
    ns_steps: int = 5,
    beta: Any = 0.95,
    eps: Any = 1e-8,
    weight_decay: Any = 0.0,
    weight_decay_mask: Any = None,
    mu_dtype: Any = None,
    *,
    nesterov: bool = True,
    adaptive: bool = False,
    preconditioning: str = "frobenius",
    adam_b1: Any = 0.9,
    adam_b2: Any = 0.999,
    adam_eps_root: Any = 0.0,
    adam_weight_decay: Any = 0.0,
    adam_learning_rate: Any = None,
    muon_weight_dimension_numbers: Any = None,
    consistent_rms: Any = None,
) -> GradientTransformationExtraArgs:
    """Muon for matrices (Jordan et al., 2024), AdamW for all other parameters.

    muon_weight_dimension_numbers is a tree of MuonDimensionNumbers for matrices and None for other
    parameters, or a function that makes one; by default parameters with two axes are matrices.

    >>> from polygrad import Tensor, optim
    >>> params = {"w": Tensor([[1.0, 0.0], [0.0, 1.0]]), "b": Tensor([1.0])}
    >>> optimizer = muon(0.1, nesterov=False)
    >>> updates, state = optimizer.update(params, optimizer.init(params), params)
    >>> round(updates["b"].item(), 3)
    -0.1
    """
    if isinstance(ns_coeffs, str):
        if ns_coeffs not in _PRESETS:
            raise ArgumentError(f"muon: ns_coeffs: {ns_coeffs!r}, expected {', '.join(_PRESETS)}")
        ns_coeffs = _PRESETS[ns_coeffs]
    numbers = muon_weight_dimension_numbers

    def labels(params: Tree) -> Tree:
        if numbers is None:
            return tree.map(lambda p: "muon" if len(p.shape) == 2 else "adam", params)
        found = _numbers_for(numbers, params)
        return tree.map(lambda own: "adam" if own.of is None else "muon", found)

    direction = scale_by_muon(
        ns_coeffs,
        ns_steps,
        beta,
        eps,
        mu_dtype,
        nesterov=nesterov,
        adaptive=adaptive,
        preconditioning=preconditioning,
        weight_dimension_numbers=numbers,
    )
    matrices = chain(
        direction,
        _scale_by_shape(numbers, consistent_rms),
        t.add_decayed_weights(weight_decay, weight_decay_mask),
        t.scale_by_learning_rate(learning_rate),
    )
    other = adamw(
        learning_rate if adam_learning_rate is None else adam_learning_rate,
        adam_b1,
        adam_b2,
        eps,
        adam_eps_root,
        mu_dtype,
        adam_weight_decay,
        nesterov=nesterov,
    )
    return partition({"muon": matrices, "adam": other}, labels)


ademamix = optimizer(
    "ademamix",
    "AdEMAMix (Pagliardini et al., arXiv:2409.03137).",
    scale_by_ademamix,
    t.add_decayed_weights,
    alpha=5.0,
)
simplified_ademamix = optimizer(
    "simplified_ademamix",
    "Simplified AdEMAMix (Morwani et al., arXiv:2502.02431).",
    scale_by_simplified_ademamix,
    t.add_decayed_weights,
)


acprop = optimizer(
    "acprop",
    "ACProp (Zhuang et al., arXiv:2110.05454).",
    scale_by_acprop,
    t.add_decayed_weights,
)
adopt = optimizer("adopt", "ADOPT (Taniguchi et al., arXiv:2411.02853).", scale_by_adopt)


def cocob(
    learning_rate: Any = 1.0,
    alpha: Any = 100,
    eps: Any = 1e-8,
    weight_decay: Any = 0.0,
    mask: Any = None,
) -> GradientTransformationExtraArgs:
    """COCOB, which needs no learning rate (Orabona and Tommasi, arXiv:1705.07795)."""
    rate = t.scale_by_learning_rate(learning_rate, flip_sign=False)
    return chain(t.add_decayed_weights(weight_decay, mask), rate, scale_by_cocob(alpha, eps))


def madgrad(
    learning_rate: Any, momentum: Any = 0.9, weight_decay: Any = 0.0, eps: Any = 1e-6
) -> GradientTransformationExtraArgs:
    """MADGRAD (Defazio and Jelassi, arXiv:2101.11075)."""
    return chain(
        t.add_decayed_weights(weight_decay), scale_by_madgrad(learning_rate, momentum, eps)
    )


def scale_by_dog(init_step: tuple[str, Any], eps: Any = 1e-8) -> GradientTransformation:
    """Return g scaled by the distance of all parameters from the initial ones (DoG).

    See arXiv:2302.12022. init_step is the first distance: ("distance", r); ("heuristic", r), which
    is r * (1 + norm of the parameters); or ("learning_rate", the factor of the first step).
    """
    kind, value = init_step
    if kind not in ("distance", "heuristic", "learning_rate"):
        raise ArgumentError(
            f"scale_by_dog: init_step: {kind!r}, expected distance, heuristic, learning_rate"
        )

    def init(params: Tree) -> Tree:
        low = tree.dtype(params, "lowest")
        first = {"distance": value, "learning_rate": 0.0}.get(kind)
        far = array(tree.norm(params) * value + value if first is None else first).cast(low)
        return DoGState(Tensor(True), params, far, Tensor(0.0, dtype=low))

    def update(updates: Tree, state: Tree, params: Tree = None) -> tuple[Tree, Tree]:
        need_params("scale_by_dog", params)
        far = state.max_dist.maximum(tree.norm(tree.sub(state.init_params, params)))
        total = state.sum_sq_norm_grads + tree.norm(updates, squared=True)
        rate = far / (total + eps).sqrt()
        if kind == "learning_rate":
            rate = state.is_init_step.where(value, rate)
        after = DoGState(state.is_init_step & False, state.init_params, far, total)
        return tree.scale(rate, updates), after

    return transformation(init, update)


def _by_distance(
    scale: GradientTransformation, learning_rate: Any, weight_decay: Any, mask: Any
) -> GradientTransformationExtraArgs:
    decay = [] if weight_decay is None else [t.add_decayed_weights(weight_decay, mask)]
    return chain(*decay or [identity()], scale, t.scale_by_learning_rate(learning_rate))


def dog(
    learning_rate: Any = 1.0,
    init_step: tuple[str, Any] = ("heuristic", 1e-6),
    eps: Any = 1e-8,
    weight_decay: Any = None,
    mask: Any = None,
) -> GradientTransformationExtraArgs:
    """Distance over gradients (DoG), which needs no rate (Ivgi et al., arXiv:2302.12022)."""
    return _by_distance(scale_by_dog(init_step, eps), learning_rate, weight_decay, mask)


def scale_by_dowg(init_estim_sq_dist: Any = None, eps: Any = 1e-4) -> GradientTransformation:
    """Return g scaled by distances from the initial parameters (DoWG, arXiv:2305.16284)."""

    def init(params: Tree) -> Tree:
        low = tree.dtype(params, "lowest")
        first = eps if init_estim_sq_dist is None else init_estim_sq_dist
        return DoWGState(params, Tensor(0.0, dtype=low), array(first).cast(low))

    def update(updates: Tree, state: Tree, params: Tree = None) -> tuple[Tree, Tree]:
        need_params("scale_by_dowg", params)
        apart = tree.norm(tree.sub(state.init_params, params), squared=True)
        far = state.estim_sq_dist.maximum(apart)
        total = far * tree.norm(updates, squared=True) + state.weighted_sq_norm_grads
        after = DoWGState(state.init_params, total, far)
        return tree.scale(far / (total.sqrt() + eps), updates), after

    return transformation(init, update)


def dowg(
    learning_rate: Any = 1.0,
    init_estim_sq_dist: Any = None,
    eps: Any = 1e-4,
    weight_decay: Any = None,
    mask: Any = None,
) -> GradientTransformationExtraArgs:
    """Distance over weighted gradients (DoWG) (Khaled et al., arXiv:2305.16284)."""
    scale = scale_by_dowg(init_estim_sq_dist, eps)
    return _by_distance(scale, learning_rate, weight_decay, mask)


def differentially_private_aggregate(
    l2_norm_clip: Any, noise_multiplier: Any, key: Any = None, *, seed: int | None = None
) -> GradientTransformation:
    """Return means of clipped per-example gradients plus noise (arXiv:1607.00133).

    The examples are along the first axis of updates. The sum of gradients gets noise of deviation
    noise_multiplier * l2_norm_clip; key is a random key (polygrad.random) or a number to make one.
    """
    from polygrad import random

    if seed is not None and key is not None:
        raise ArgumentError("differentially_private_aggregate: key, seed: expected one of them")
    given = seed if key is None else key

    def init(params: Tree) -> Tree:
        first = given if isinstance(given, Tensor) else random.key(given or 0)
        return DifferentiallyPrivateAggregateState(first)

    def update(updates: Tree, state: Tree, params: Tree = None) -> tuple[Tree, Tree]:
        clipped, _ = t.per_example_global_norm_clip(updates, l2_norm_clip)
        leaves, structure = flatten_tree(clipped)
        n, keys = tree.leaves(updates)[0].shape[0], random.split(state.rng_key, len(leaves) + 1)
        deviation = l2_norm_clip * noise_multiplier
        noised = [
            (g + random.normal(keys[i], tuple(g.shape), g.dtype) * deviation) / n
            for i, g in enumerate(leaves, 1)
        ]
        return structure.build(noised), DifferentiallyPrivateAggregateState(keys[0])

    return transformation(init, update)


def dpsgd(
    learning_rate: Any,
    l2_norm_clip: Any,
    noise_multiplier: Any,
    seed: int,
    momentum: Any = None,
    nesterov: bool = False,
) -> GradientTransformationExtraArgs:
    """Differentially private gradient descent (Abadi et al., arXiv:1607.00133)."""
    first = differentially_private_aggregate(l2_norm_clip, noise_multiplier, seed=seed)
    sums = identity() if momentum is None else trace(momentum, nesterov)
    return chain(first, sums, t.scale_by_learning_rate(learning_rate))


def normalize() -> GradientTransformation:
    """Scale updates to norm 1 over all parameters: the ascent of sharpness-aware minimization."""
    return t.normalize_by_update_norm(eps=0.0)


def split_real_and_imaginary(inner: GradientTransformation) -> GradientTransformation:
    """Return a transformation that passes complex leaves to inner as pairs of real ones."""

    def split(x: Tree) -> Tree:
        pair = lambda leaf: (leaf.real, leaf.imag) if leaf.dtype in _COMPLEX else leaf  # noqa: E731
        return None if x is None else tree.map(pair, x)

    def update(updates: Tree, state: Tree, params: Tree = None) -> tuple[Tree, Tree]:
        step, below = inner.update(split(updates), state.inner_state, split(params))
        join = lambda u, new: new[0].complex(new[1]) if u.dtype in _COMPLEX else new  # noqa: E731
        return tree.map(join, updates, step), SplitRealAndImaginaryState(below)

    start = lambda params: SplitRealAndImaginaryState(inner.init(split(params)))  # noqa: E731
    return transformation(start, update)


def schedule_free(
    base_optimizer: GradientTransformation,
    learning_rate: Any,
    b1: Any = 0.9,
    weight_lr_power: Any = 2.0,
    state_dtype: Any = None,
) -> GradientTransformationExtraArgs:
    """Return an optimizer with averaging in place of a schedule (Defazio et al., arXiv:2405.15682).

    For evaluation use schedule_free_eval_params(state, params).
    """
    inner = with_extra_args_support(base_optimizer)

    def init(params: Tree) -> Tree:
        kind = tree.dtype(params, "lowest")
        number = Tensor(0.0, dtype=kind)
        one = Tensor(1, dtype=dtypes.int32)
        z = tree.cast(params, state_dtype)
        return ScheduleFreeState(number + b1, number, one, number, inner.init(params), z)

    def update(
        updates: Tree, state: Tree, params: Tree = None, **extra_args: Any
    ) -> tuple[Tree, Tree]:
        need_params("schedule_free", params)
        rate = array(scheduled(learning_rate, state.step_count), state.max_lr)
        most = state.max_lr.maximum(rate.cast(state.max_lr.dtype))
        weight = most**weight_lr_power
        total = state.weight_sum + weight
        share = weight / total
        share = (share.isnan() & ~weight.isnan() & ~total.isnan()).where(0.0, share)
        new, after = inner.update(updates, state.base_optimizer_state, params, **extra_args)
        z = tree.map(lambda p, u: (p + u).cast(p.dtype), state.z, new)
        x = tree.map(
            lambda y, old, z: (y - old * (1.0 - b1)) / b1 * (1.0 - share) + z * share,
            params,
            state.z,
            z,
        )
        new = tree.map(lambda x, z, p: x * b1 + z * (1.0 - b1) - p, x, z, params)
        count = safe_increment(state.step_count)
        return new, ScheduleFreeState(state.b1, total, count, most, after, z)

    return transformation(init, update, extra=True)  # type: ignore[return-value]


def schedule_free_eval_params(state: Tree, params: Tree) -> Tree:
    """Return the parameters for evaluation from a state of schedule_free."""
    if not hasattr(state, "b1") or not hasattr(state, "z"):
        raise ArgumentError("schedule_free_eval_params: state: expected that of schedule_free")
    return tree.map(lambda y, z: (y - (1.0 - state.b1) * z) / state.b1, params, state.z)


def _warm(learning_rate: Any, warmup_steps: int | None) -> Any:
    if warmup_steps is None:
        return learning_rate
    return warmup_constant_schedule(0, learning_rate, warmup_steps)


def schedule_free_sgd(
    learning_rate: Any = 1.0,
    warmup_steps: int | None = None,
    b1: Any = 0.9,
    weight_decay: Any = None,
    weight_lr_power: Any = 2.0,
    state_dtype: Any = None,
) -> GradientTransformationExtraArgs:
    """Gradient descent with averaging in place of a schedule: see schedule_free."""
    rate = _warm(learning_rate, warmup_steps)
    inner: GradientTransformation = sgd(rate)
    if weight_decay is not None:
        inner = chain(t.add_decayed_weights(weight_decay), inner)
    return schedule_free(inner, rate, b1, weight_lr_power, state_dtype)


def schedule_free_adamw(
    learning_rate: Any = 0.0025,
    warmup_steps: int | None = None,
    b1: Any = 0.9,
    b2: Any = 0.999,
    eps: Any = 1e-8,
    weight_decay: Any = 0.0,
    weight_lr_power: Any = 2.0,
    state_dtype: Any = None,
) -> GradientTransformationExtraArgs:
    """AdamW with averaging in place of a schedule: see schedule_free."""
    rate = _warm(learning_rate, warmup_steps)
    inner = chain(
        scale_by_rms(b2, eps, eps_in_sqrt=False, bias_correction=True),
        t.add_decayed_weights(weight_decay),
        t.scale_by_learning_rate(rate),
    )
    return schedule_free(inner, rate, b1, weight_lr_power, state_dtype)


def reduce_on_plateau(
    factor: float = 0.1,
    patience: int = 10,
    rtol: float = 1e-4,
    atol: float = 0.0,
    cooldown: int = 0,
    accumulation_size: int = 1,
    min_scale: Any = 0.0,
) -> GradientTransformationExtraArgs:
    """Return updates times a scale, which is multiplied by factor when the loss stops improving.

    update takes the loss as value=. Means of accumulation_size losses are compared: the scale
    changes if patience means in a row are not below (1 - rtol) * best - atol. The next cooldown
    means after a change do not count.
    """
    if not 0.0 < factor < 1.0:
        raise ArgumentError(f"reduce_on_plateau: factor: {factor}, expected between 0 and 1")
    if rtol < 0.0 or atol < 0.0 or rtol > 1.0 or rtol == atol == 0.0:
        raise ArgumentError(
            f"reduce_on_plateau: rtol, atol: {rtol}, {atol}, expected one above 0, rtol at most 1"
        )

    def init(params: Tree) -> Tree:
        low, high = tree.dtype(params, "lowest"), tree.dtype(params, "highest")
        best = Tensor(float("inf"), dtype=high)
        one, nothing = Tensor(1.0, dtype=low), Tensor(0.0, dtype=high)
        return ReduceLROnPlateauState(one, best, zero(), zero(), zero(), nothing)

    def update(
        updates: Tree, state: Tree, params: Tree = None, *, value: Any, **_: Any
    ) -> tuple[Tree, Tree]:
        count, kind = safe_increment(state.count), state.avg_value.dtype
        mean = (state.avg_value * state.count + array(value).cast(kind)) / count
        mean = mean.cast(kind)
        better = mean < state.best_value * (1 - rtol) - atol
        waited = better.where(0, safe_increment(state.plateau_count))
        cools, ends = state.cooldown_count > 0, waited == patience
        shrunk = ends.where(state.scale * factor, state.scale).maximum(min_scale)
        changed = ReduceLROnPlateauState(
            scale=cools.where(state.scale, shrunk),
            best_value=better.where(mean, state.best_value),
            plateau_count=cools.where(0, ends.where(0, waited)),
            cooldown_count=cools.where(state.cooldown_count - 1, ends.where(cooldown, 0)),
            count=zero(),
            avg_value=mean * 0,
        )
        same = state._replace(avg_value=mean, count=count)
        after = tree.map(
            lambda a, b, old: (count == accumulation_size).where(a, b).cast(old.dtype),
            changed,
            same,
            state,
        )
        return tree.map(lambda g: g * after.scale, updates), after

    return transformation(init, update, extra=True)  # type: ignore[return-value]
