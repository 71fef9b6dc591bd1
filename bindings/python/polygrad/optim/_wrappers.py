"""Transformations that combine or wrap other transformations."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any, Callable, NamedTuple

from polygrad._library import ArgumentError
from polygrad.dtype import dtypes, known_dtype
from polygrad.func._trees import flatten as flatten_tree
from polygrad.numpy._arrays import array
from polygrad.optim import tree
from polygrad.optim._base import (
    GradientTransformation,
    GradientTransformationExtraArgs,
    Tree,
    safe_increment,
    stateless,
    transformation,
    with_extra_args_support,
    zero,
)
from polygrad.optim._rules import ema
from polygrad.optim._states import (
    ApplyIfFiniteState,
    ConditionallyMaskState,
    ConditionallyTransformState,
    InjectHyperparamsState,
    LookaheadState,
    MonitorState,
    MultiStepsState,
    SnapshotState,
    WrappedScheduleState,
)
from polygrad.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Iterable

# fmt: off
__all__ = [
    "LookaheadParams", "MultiSteps", "WrappedSchedule", "apply_if_finite", "chain",
    "conditionally_mask", "conditionally_transform", "flatten", "inject_hyperparams",
    "inject_stateful_hyperparams", "lookahead", "measure_with_ema", "monitor", "named_chain",
    "skip_large_updates", "skip_not_finite", "snapshot",
]
# fmt: on


class LookaheadParams(NamedTuple):
    """Fast parameters, which every step updates, and slow ones, which follow them."""

    fast: Tree
    slow: Tree

    @classmethod
    def init_synced(cls, params: Tree) -> LookaheadParams:
        """Return fast and slow parameters that are equal."""
        return cls(slow=params, fast=params)


def _extra(init: Any, update: Any) -> GradientTransformationExtraArgs:
    return transformation(init, update, extra=True)  # type: ignore[return-value]


def chain(*args: GradientTransformation) -> GradientTransformationExtraArgs:
    """Apply one transformation after the other; the state is a tuple of their states.

    >>> from polygrad import Tensor, optim
    >>> t = chain(optim.clip(1.0), optim.scale(-0.5))
    >>> t.update(Tensor([3.0]), t.init(Tensor([0.0])))[0].item()
    -0.5
    """
    transforms = [with_extra_args_support(t) for t in args]

    def update(
        updates: Tree, state: Tree, params: Tree = None, **extra_args: Any
    ) -> tuple[Tree, Tree]:
        if not isinstance(state, tuple) or len(state) != len(transforms):
            raise ArgumentError(
                f"chain: update: state: expected a tuple of {len(transforms)} states as of init"
            )
        after = []
        for t, own in zip(transforms, state):
            updates, new = t.update(updates, own, params, **extra_args)
            after.append(new)
        return updates, tuple(after)

    return _extra(lambda params: tuple(t.init(params) for t in transforms), update)


def named_chain(*args: tuple[str, GradientTransformation]) -> GradientTransformationExtraArgs:
    """Chain pairs of a name and a transformation; the state is a dict by these names."""
    transforms = {name: with_extra_args_support(t) for name, t in args}
    if len(transforms) != len(args):
        raise ArgumentError(f"named_chain: {[n for n, _ in args]}, expected different names")

    def update(
        updates: Tree, state: Tree, params: Tree = None, **extra_args: Any
    ) -> tuple[Tree, Tree]:
        after = {}
        for name, t in transforms.items():
            updates, after[name] = t.update(updates, state[name], params, **extra_args)
        return updates, after

    return _extra(lambda params: {n: t.init(params) for n, t in transforms.items()}, update)


class WrappedSchedule:
    """A schedule with a state, which counts steps."""

    def __init__(self, schedule_fn: Callable[[Any], Any]) -> None:
        """Wrap a schedule."""
        self.schedule_fn = schedule_fn

    def init(self) -> Tree:
        """Return the initial state."""
        return WrappedScheduleState(zero())

    def update(self, state: Tree, **_: Any) -> Tree:
        """Return the state after a step."""
        return WrappedScheduleState(safe_increment(state.count))

    def __call__(self, state: Tree, **_: Any) -> Any:
        """Return the value for a state."""
        return self.schedule_fn(state.count)


def inject_hyperparams(
    inner_factory: Callable[..., GradientTransformation],
    static_args: str | Iterable[str] = (),
    hyperparam_dtype: Any = None,
) -> Callable[..., GradientTransformationExtraArgs]:
    """Return an optimizer whose hyperparameters are in its state, to be read and changed there.

    Schedules are evaluated for each step, and their values are there, too. static_args names
    numbers that must not become tensors.

    >>> from polygrad import Tensor, optim
    >>> t = inject_hyperparams(optim.sgd)(learning_rate=0.5)
    >>> state = t.init(Tensor([1.0]))
    >>> state.hyperparams["learning_rate"] = Tensor(0.25)
    >>> t.update(Tensor([1.0]), state, Tensor([1.0]))[0].item()
    -0.25
    """
    static = {static_args} if isinstance(static_args, str) else set(static_args)
    signature = inspect.signature(inner_factory)
    unknown = sorted(static - set(signature.parameters))
    if unknown:
        raise ArgumentError(
            f"inject_hyperparams: static_args: {unknown[0]!r}, expected parameters of "
            f"{getattr(inner_factory, '__name__', 'the optimizer')}"
        )

    @functools.wraps(inner_factory)
    def made(*args: Any, **kwargs: Any) -> GradientTransformationExtraArgs:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        schedules: dict[str, Any] = {}
        numbers: dict[str, Any] = {}
        other: dict[str, Any] = {}
        for name, value in bound.arguments.items():
            if name in static or isinstance(value, bool):
                other[name] = value
            elif hasattr(value, "init") and callable(value):
                schedules[name] = value
            elif callable(value):
                schedules[name] = WrappedSchedule(value)
            elif isinstance(value, (int, float, Tensor)) or hasattr(value, "__array__"):
                numbers[name] = value
            else:
                other[name] = value

        def fitted(values: dict[str, Any], params: Tree) -> dict[str, Any]:
            kind = known_dtype(hyperparam_dtype or tree.dtype(params, "highest"))

            def one(value: Any) -> Tensor:
                if isinstance(value, Tensor):
                    return value
                return Tensor(value, dtype=kind if isinstance(value, float) else None)

            return {name: one(v) for name, v in values.items()}

        def inner(numbers: dict[str, Any]) -> GradientTransformationExtraArgs:
            return with_extra_args_support(inner_factory(**other, **numbers))

        def init(params: Tree) -> Tree:
            counts = {name: s.init() for name, s in schedules.items()}
            now = {name: s(counts[name]) for name, s in schedules.items()}
            found = fitted({**numbers, **now}, params)
            return InjectHyperparamsState(zero(), found, counts, inner(found).init(params))

        def update(
            updates: Tree, state: Tree, params: Tree = None, **extra_args: Any
        ) -> tuple[Tree, Tree]:
            counts = state.hyperparams_states
            now = {name: s(counts[name], **extra_args) for name, s in schedules.items()}
            found = fitted({**state.hyperparams, **now}, params)
            updates, after = inner(found).update(updates, state.inner_state, params, **extra_args)
            counts = {name: s.update(counts[name], **extra_args) for name, s in schedules.items()}
            return updates, InjectHyperparamsState(
                safe_increment(state.count), found, counts, after
            )

        return _extra(init, update)

    return made


inject_stateful_hyperparams = inject_hyperparams


def _finite(updates: Tree) -> Tensor:
    all_ = [g.isfinite().all() for g in tree.leaves(updates)]
    return functools.reduce(lambda a, b: a & b, all_, Tensor(True))


def apply_if_finite(
    inner: GradientTransformation, max_consecutive_errors: int
) -> GradientTransformationExtraArgs:
    """Skip updates that are not finite.

    After more than max_consecutive_errors of them in a row, updates are applied nevertheless.
    """
    inner = with_extra_args_support(inner)

    def init(params: Tree) -> Tree:
        return ApplyIfFiniteState(zero(), Tensor(True), zero(), inner.init(params))

    def update(
        updates: Tree, state: Tree, params: Tree = None, **extra_args: Any
    ) -> tuple[Tree, Tree]:
        finite = _finite(updates)
        row = finite.where(0, safe_increment(state.notfinite_count))
        total = finite.where(state.total_notfinite, safe_increment(state.total_notfinite))
        new, after = inner.update(updates, state.inner_state, params, **extra_args)
        takes = finite | (row > max_consecutive_errors)
        after = tree.where(takes, after, state.inner_state)
        new = tree.where(takes, new, tree.zeros_like(new))
        return new, ApplyIfFiniteState(row, finite, total, after)

    return _extra(init, update)


def skip_not_finite(updates: Tree, gradient_step: Any, params: Tree) -> tuple[Tensor, Tree]:
    """Return whether updates have elements that are not finite, for MultiSteps, and their count."""
    counts = [(~g.isfinite()).sum() for g in tree.leaves(updates)]
    total = functools.reduce(lambda a, b: a + b, counts)
    return total > 0, {"should_skip": total > 0, "num_not_finite": total}


def skip_large_updates(
    updates: Tree, gradient_step: Any, params: Tree, max_squared_norm: Any
) -> tuple[Tensor, Tree]:
    """Return whether the squared norm of updates is too large, for MultiSteps, and that norm."""
    square = tree.norm(updates, squared=True)
    skip = ~(square < max_squared_norm)
    return skip, {"should_skip": skip, "norm_squared": square}


class MultiSteps:
    """An optimizer that makes a step every k updates, by their mean (or their sum).

    every_k_schedule is k, or a function of the number of steps. should_skip_update_fn(updates,
    step, params) returns whether to skip an update, and a tree that the state keeps.

    >>> from polygrad import Tensor, optim
    >>> t = MultiSteps(optim.sgd(1.0), every_k_schedule=2)
    >>> state = t.init(Tensor([0.0]))
    >>> first, state = t.update(Tensor([1.0]), state)
    >>> second, state = t.update(Tensor([3.0]), state)
    >>> first.item(), second.item(), t.has_updated(state).item()
    (0.0, -2.0, True)
    """

    def __init__(
        self,
        opt: GradientTransformation,
        every_k_schedule: Any,
        use_grad_mean: bool = True,
        should_skip_update_fn: Any = None,
        accumulator_dtype: Any = dtypes.float32,
    ) -> None:
        """Wrap an optimizer."""
        self._opt = with_extra_args_support(opt)
        self._every, self._mean, self._dtype = every_k_schedule, use_grad_mean, accumulator_dtype
        self._skip = should_skip_update_fn
        self.init, self.update = _extra(self._init, self._update)

    @property
    def inner_opt(self) -> GradientTransformation:
        """The optimizer."""
        return self._opt

    def _init(self, params: Tree) -> Tree:
        nothing = tree.zeros_like(params)
        skipped = self._skip(nothing, zero(), params)[1] if self._skip else ()
        return MultiStepsState(
            mini_step=zero(),
            gradient_step=zero(),
            inner_opt_state=self._opt.init(params),
            acc_grads=tree.zeros_like(params, self._dtype),
            skip_state=skipped,
        )

    def _update(
        self, updates: Tree, state: Tree, params: Tree = None, **extra_args: Any
    ) -> tuple[Tree, Tree]:
        small, steps = state.mini_step, state.gradient_step
        k = self._every(steps) if callable(self._every) else self._every
        share = (small + 1).cast(dtypes.float32) if self._mean else None

        def join(g: Tensor, a: Tensor) -> Tensor:
            return g + a if share is None else a + (g - a) / share

        total = tree.map(join, updates, state.acc_grads)
        new, inner = self._opt.update(
            tree.cast_like(total, updates), state.inner_opt_state, params, **extra_args
        )
        emit = small == k - 1
        nothing = tree.zeros_like(total)
        after = MultiStepsState(
            mini_step=safe_increment(small) % k,
            gradient_step=emit.where(safe_increment(steps), steps),
            inner_opt_state=tree.where(emit, inner, state.inner_opt_state),
            acc_grads=tree.cast_like(tree.where(emit, nothing, total), state.acc_grads),
            skip_state=(),
        )
        new = tree.where(emit, new, tree.zeros_like(new))
        if self._skip is None:
            return new, after
        skip, kept = self._skip(updates, steps, params)
        same = state._replace(skip_state=())
        after = tree.where(array(skip), same, after)._replace(skip_state=kept)
        return tree.where(array(skip), tree.zeros_like(new), new), after

    def has_updated(self, state: Tree) -> Tensor:
        """Return whether the last update made a step."""
        return (state.mini_step == 0) & (state.gradient_step > 0)

    def gradient_transformation(self) -> GradientTransformation:
        """Return init and update as a transformation."""
        return GradientTransformationExtraArgs(self.init, self.update)


def _conditionally(
    state_type: Any, otherwise: Callable[[Tree], Tree]
) -> Callable[..., GradientTransformationExtraArgs]:
    def make(
        inner: GradientTransformation, should_transform_fn: Any, forward_extra_args: bool = False
    ) -> GradientTransformationExtraArgs:
        inner = with_extra_args_support(inner)

        def update(
            updates: Tree, state: Tree, params: Tree = None, **extra_args: Any
        ) -> tuple[Tree, Tree]:
            known = extra_args if forward_extra_args else {}
            takes = array(should_transform_fn(state.step, **known))
            new, after = inner.update(updates, state.inner_state, params, **extra_args)
            return tree.where(takes, new, otherwise(updates)), state_type(
                inner_state=tree.where(takes, after, state.inner_state),
                step=safe_increment(state.step),
            )

        return _extra(lambda p: state_type(inner_state=inner.init(p), step=zero()), update)

    return make


def conditionally_transform(
    inner: GradientTransformation, should_transform_fn: Any, forward_extra_args: bool = False
) -> GradientTransformationExtraArgs:
    """Apply a transformation in the steps for which a function of the step number is true.

    In other steps updates stay unchanged. With forward_extra_args the function receives extra args.
    """
    make = _conditionally(ConditionallyTransformState, lambda updates: updates)
    return make(inner, should_transform_fn, forward_extra_args)


def conditionally_mask(
    inner: GradientTransformation, should_transform_fn: Any, forward_extra_args: bool = False
) -> GradientTransformationExtraArgs:
    """Return conditionally_transform, but with updates of zeros in the other steps."""
    make = _conditionally(ConditionallyMaskState, tree.zeros_like)
    return make(inner, should_transform_fn, forward_extra_args)


def flatten(inner: GradientTransformation) -> GradientTransformationExtraArgs:
    """Apply a transformation to all parameters concatenated into one vector."""
    inner = with_extra_args_support(inner)

    def flat(given: Tree) -> Tensor:
        parts = [x.reshape(-1) for x in tree.leaves(given)]
        return parts[0].cat(*parts[1:]) if len(parts) > 1 else parts[0]

    def update(
        updates: Tree, state: Tree, params: Tree = None, **extra_args: Any
    ) -> tuple[Tree, Tree]:
        own = None if params is None else flat(params)
        new, state = inner.update(flat(updates), state, own, **extra_args)
        at, parts = 0, []
        for g in tree.leaves(updates):
            parts.append(new[at : at + g.numel()].reshape(g.shape))
            at += g.numel()
        return flatten_tree(updates)[1].build(parts), state

    return _extra(lambda params: inner.init(flat(params)), update)


def lookahead(
    fast_optimizer: GradientTransformation,
    sync_period: int,
    slow_step_size: Any,
    reset_state: bool = False,
) -> GradientTransformation:
    """Return an optimizer of LookaheadParams: slow parameters follow fast ones (arXiv:1907.08610).

    Every sync_period steps both become slow + slow_step_size * (fast - slow).
    """
    if sync_period < 1:
        raise ArgumentError(f"lookahead: sync_period: {sync_period}, expected at least 1")

    def init(params: Tree) -> Tree:
        return LookaheadState(fast_optimizer.init(getattr(params, "fast", params)), zero())

    def update(updates: Tree, state: Tree, params: Tree = None) -> tuple[Tree, Tree]:
        if not isinstance(params, LookaheadParams):
            raise ArgumentError(
                f"lookahead: params: {type(params).__name__}, expected LookaheadParams"
            )
        new, fast_state = fast_optimizer.update(updates, state.fast_state, params.fast)
        meet = state.steps_since_sync == sync_period - 1
        apart = tree.map(lambda f, u, s: f + u - s, params.fast, new, params.slow)
        slow = tree.map(lambda d: meet.where(d * slow_step_size, 0.0), apart)
        fast = tree.map(lambda u, d: u - meet.where(d * (1 - slow_step_size), 0.0), new, apart)
        if reset_state:
            fast_state = tree.where(meet, fast_optimizer.init(params.fast), fast_state)
        after = (state.steps_since_sync + 1) % sync_period
        return LookaheadParams(fast=fast, slow=slow), LookaheadState(fast_state, after)

    return transformation(init, update)


def snapshot(measure_name: str, measure: Callable[[Tree], Any]) -> GradientTransformation:
    """Return a transformation that stores a function of the updates in its state."""

    def update(updates: Tree, state: Tree, params: Tree = None) -> tuple[Tree, Tree]:
        return updates, SnapshotState({measure_name: measure(updates)})

    return transformation(lambda params: SnapshotState({measure_name: measure(params)}), update)


def _measured(measure: Callable[[Tree], Any]) -> GradientTransformation:
    return stateless(lambda updates, _: measure(updates))


def monitor(measures: dict[str, Any]) -> GradientTransformationExtraArgs:
    """Return a transformation that stores measures of the updates in its state, by name.

    A measure is a function of the updates, or a transformation, whose new updates are stored.
    """
    known = {
        name: with_extra_args_support(m if isinstance(m, GradientTransformation) else _measured(m))
        for name, m in measures.items()
    }

    def update(
        updates: Tree, state: Tree, params: Tree = None, **extra_args: Any
    ) -> tuple[Tree, Tree]:
        found, after = {}, []
        for (name, m), own in zip(known.items(), state.measure_states):
            found[name], new = m.update(updates, own, params, **extra_args)
            after.append(new)
        return updates, MonitorState(found, tuple(after))

    return _extra(lambda p: MonitorState({}, tuple(m.init(p) for m in known.values())), update)


def measure_with_ema(
    measure: Callable[[Tree], Any], decay: Any, debias: bool = True, accumulator_dtype: Any = None
) -> GradientTransformationExtraArgs:
    """Return an exponential moving average of a measure of the updates, for monitor."""
    average = ema(decay, debias, accumulator_dtype)
    own = GradientTransformation(lambda params: average.init(measure(params)), average.update)
    return chain(_measured(measure), own)
