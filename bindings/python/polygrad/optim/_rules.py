"""Transformations that the library implements, as update rules of single parameters."""

from __future__ import annotations

import ast
import functools
import inspect
from typing import Any, Callable

from polygrad._base import operation
from polygrad._library import ArgumentError
from polygrad.dtype import dtypes
from polygrad.func._trees import flatten as flatten_tree
from polygrad.optim import _states as s
from polygrad.optim import tree
from polygrad.optim._base import (
    GradientTransformation,
    Tree,
    need_params,
    safe_increment,
    scheduled,
    transformation,
    zero,
)
from polygrad.tensor import Tensor

# fmt: off
__all__ = [
    "ema", "scale_by_adadelta", "scale_by_adam", "scale_by_adamax", "scale_by_adan",
    "scale_by_amsgrad", "scale_by_belief", "scale_by_distance_over_gradients",
    "scale_by_factored_rms", "scale_by_lion", "scale_by_novograd", "scale_by_radam",
    "scale_by_rms", "scale_by_rprop", "scale_by_rss", "scale_by_sm3", "scale_by_stddev",
    "scale_by_trust_ratio", "scale_by_yogi", "trace",
]
# fmt: on

_COUNTS = {"count", "count_m2", "t"}


def _decay_rate_pow(step: Tensor, exponent: Any) -> Tensor:
    return 1.0 - (step + 1).cast(dtypes.float32) ** (-exponent)


def _fourth_root(step: Tensor) -> Tensor:
    return step**0.25


_VALUES = {
    "float32": dtypes.float32,
    "_fourth_root": _fourth_root,
    "_decay_rate_pow": _decay_rate_pow,
}


def signature_of(text: str) -> inspect.Signature:
    """Parse a parameter list in Python's syntax into a signature."""
    takes = ast.parse(f"def f({text}): 0").body[0].args  # type: ignore[attr-defined]

    def value(node: Any) -> Any:
        if node is None:
            return inspect.Parameter.empty
        return _VALUES[node.id] if isinstance(node, ast.Name) else ast.literal_eval(node)

    left = [None] * (len(takes.args) - len(takes.defaults))
    usual, by_name = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    groups = (
        (usual, takes.args, [*left, *takes.defaults]),
        (by_name, takes.kwonlyargs, takes.kw_defaults),
    )
    return inspect.Signature(
        [
            inspect.Parameter(a.arg, k, default=value(d))
            for k, args, ds in groups
            for a, d in zip(args, ds)
        ]
    )


def signed(
    f: Callable[[dict[str, Any]], Any], name: str, doc: str, signature: inspect.Signature
) -> Callable[..., Any]:
    """Wrap f, which takes a dict of arguments, as a function with a signature."""

    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{name}: {error}") from None
        bound.apply_defaults()
        return f(bound.arguments)

    call.__name__ = call.__qualname__ = name
    call.__module__ = "polygrad.optim"
    call.__doc__ = doc
    call.__signature__ = signature  # type: ignore[attr-defined]
    return call


def rule(
    name: str,
    state: Any,
    settings: str,
    doc: str,
    begin: dict[str, Any] | None = None,
    op: str = "",
    needs: bool = False,
    given: Any = None,
    choices: dict[str, str] | None = None,
) -> Callable[..., GradientTransformation]:
    """Return a function that makes a transformation by a rule of the library (tensor.UpdateRules).

    state is the class of its states, or a function from the settings to it. Its fields are counters
    of steps, or tensors for each parameter. These are initialized with zeros, unless begin has an
    entry: the name of a setting, which is their type (mu_dtype, say) or value, or a function of the
    parameter and the settings. The rule op takes the other settings, in their order, or the result
    of given(parameter, steps, settings). needs says that update needs the parameters. choices are
    the valid values of a setting.
    """
    number = operation(f"optim.{op or name}")
    slots = begin or {}
    apart = {how for how in slots.values() if isinstance(how, str)}

    def make(chosen: dict[str, Any]) -> GradientTransformation:
        for n, known in (choices or {}).items():
            if chosen[n] not in known.split():
                raise ArgumentError(f"{name}: {n}: {chosen[n]!r}, expected {known}")
        kind: Any = state if isinstance(state, type) else state(chosen)
        own = [f for f in kind._fields if f not in _COUNTS]
        counts = [f for f in kind._fields if f in _COUNTS]

        def start(p: Tensor, field: str) -> Any:
            how = slots.get(field)
            if callable(how):
                return how(p, chosen)
            if how is None or how.endswith("dtype"):
                return tree.zeros_like(p, chosen[how] if how else None)
            return tree.full_like(p, chosen[how])

        def init(params: Tree) -> Tree:
            made = {f: tree.map(lambda p, f=f: start(p, f), params) for f in own}
            return kind(**made, **{f: zero() for f in counts})

        def update(updates: Tree, before: Tree, params: Tree = None) -> tuple[Tree, Tree]:
            if needs:
                need_params(name, params)
            steps: Any = getattr(before, counts[0]) if counts else None
            after = None if steps is None else safe_increment(steps)

            def values(p: Any) -> list[Any]:
                if given is not None:
                    return list(given(p, steps, chosen))
                found = (v for n, v in chosen.items() if n not in apart)
                return [scheduled(v, steps) for v in found]

            shared = None if given is not None else values(None)

            def one(g: Tensor, p: Any, *state: Any) -> _Parts:
                flat, structure = flatten_tree(list(state))
                how = values(p) if shared is None else shared
                new, *kept = g._call(number, p, after, flat, *how)
                return _Parts([new, *structure.build(kept)])

            around = params if needs else tree.map(lambda _: None, updates)
            parts = [getattr(before, f) for f in own]
            found = tree.map(one, updates, around, *parts)
            made = {f: tree.map(lambda x, i=i: x.of[i], found) for i, f in enumerate(own, 1)}
            counted = {f: after for f in counts}
            return tree.map(lambda x: x.of[0], found), kind(**made, **counted)

        return transformation(init, update)

    return signed(make, name, doc, signature_of(settings))


class _Parts:
    """The results for one parameter, wrapped so that they are one leaf."""

    def __init__(self, of: list[Any]) -> None:
        self.of = of


_MU: dict[str, Any] = {"mu": "mu_dtype"}

scale_by_adam = rule(
    "scale_by_adam",
    s.ScaleByAdamState,
    "b1=0.9, b2=0.999, eps=1e-8, eps_root=0.0, mu_dtype=None, *, nesterov=False",
    """Return the scaling of Adam (arXiv:1412.6980).

    First moments divided by the square roots of second ones, bias-corrected; with nesterov NAdam's.
    mu_dtype is the type of the first moments.
    """,
    _MU,
)
scale_by_amsgrad = rule(
    "scale_by_amsgrad",
    s.ScaleByAmsgradState,
    "b1=0.9, b2=0.999, eps=1e-8, eps_root=0.0, mu_dtype=None, bias_correction_mu=True, "
    "bias_correction_nu=True",
    "Return scale_by_adam with the running maximum of second moments (arXiv:1904.09237).",
    _MU,
)
scale_by_adamax = rule(
    "scale_by_adamax",
    s.ScaleByAdamState,
    "b1=0.9, b2=0.999, eps=1e-8",
    "Return first moments divided by the decaying maximum of |g| (arXiv:1412.6980).",
)
scale_by_belief = rule(
    "scale_by_belief",
    s.ScaleByAdamState,
    "b1=0.9, b2=0.999, eps=1e-16, eps_root=1e-16, *, nesterov=False",
    "Return scale_by_adam with the variance of the gradient (AdaBelief, arXiv:2010.07468).",
)
scale_by_yogi = rule(
    "scale_by_yogi",
    s.ScaleByAdamState,
    "b1=0.9, b2=0.999, eps=1e-3, eps_root=0.0, initial_accumulator_value=1e-6",
    "Return scale_by_adam whose second moments change by at most (1 - b2) * g**2 a step (Yogi).",
    {"mu": "initial_accumulator_value", "nu": "initial_accumulator_value"},
)
scale_by_radam = rule(
    "scale_by_radam",
    s.ScaleByAdamState,
    "b1=0.9, b2=0.999, eps=1e-8, eps_root=0.0, threshold=5.0, *, nesterov=False",
    "Return scale_by_adam rectified by the variance of its adaptive rate (arXiv:1908.03265).",
)
scale_by_novograd = rule(
    "scale_by_novograd",
    s.ScaleByNovogradState,
    "b1=0.9, b2=0.25, eps=1e-8, eps_root=0.0, weight_decay=0.0, mu_dtype=None",
    "Return momentum of gradients normalized by layer (arXiv:1905.11286); needs parameters.",
    {**_MU, "nu": lambda p, _: Tensor(0, dtype=p.dtype)},
    needs=True,
)
scale_by_lion = rule(
    "scale_by_lion",
    s.ScaleByLionState,
    "b1=0.9, b2=0.99, mu_dtype=None, *, mode='hard', smooth_beta=1.0",
    """Return the sign of a moment (Lion, arXiv:2302.06675).

    mode "hard" is the sign, "smooth" is tanh(smooth_beta * moment), and "refined" is the moment
    itself where its absolute value is less than 1, else its sign.
    """,
    _MU,
    choices={"mode": "hard smooth refined"},
)
scale_by_rss = rule(
    "scale_by_rss",
    s.ScaleByRssState,
    "initial_accumulator_value=0.1, eps=1e-7",
    "Return g divided by the root of the sum of all squared gradients (Adagrad).",
    {"sum_of_squares": "initial_accumulator_value"},
)


def _deviation(name: str, doc: str, plain: Any, counted: Any) -> Any:
    return rule(
        name,
        lambda settings: counted if settings["bias_correction"] else plain,
        "decay=0.9, eps=1e-8, initial_scale=0.0, eps_in_sqrt=True, bias_correction=False",
        doc,
        {"nu": "initial_scale"},
        op="scale_by_rms",
    )


scale_by_rms = _deviation(
    "scale_by_rms",
    "Return g divided by the root of the exponential moving average of its square.",
    s.ScaleByRmsState,
    s.ScaleByRmsWithCountState,
)
scale_by_stddev = _deviation(
    "scale_by_stddev",
    "Return g divided by its standard deviation, from exponential moving averages.",
    s.ScaleByRStdDevState,
    s.ScaleByRStdDevWithCountState,
)
scale_by_adadelta = rule(
    "scale_by_adadelta",
    s.ScaleByAdaDeltaState,
    "rho=0.9, eps=1e-6",
    "Return g times the ratio of the root mean squares of updates and of gradients.",
)
scale_by_adan = rule(
    "scale_by_adan",
    s.ScaleByAdanState,
    "b1=0.98, b2=0.92, b3=0.99, eps=1e-8, eps_root=0.0",
    "Return moments of gradients and of their differences (Adan, arXiv:2208.06677).",
)
scale_by_ademamix = rule(
    "scale_by_ademamix",
    s.ScaleByAdemamixState,
    "b1=0.9, b2=0.999, b3=0.9999, alpha=6.0, eps=1e-8, eps_root=0.0, mu_dtype=None",
    """Return scale_by_adam with a fast and a slow average (AdEMAMix, arXiv:2409.03137).

    b3 and alpha, the decay and the weight of the slow average, are numbers or schedules.
    """,
    {"m1": "mu_dtype", "m2": "mu_dtype", "nu": "mu_dtype"},
)
scale_by_simplified_ademamix = rule(
    "scale_by_simplified_ademamix",
    s.ScaleBySimplifiedAdEMAMixState,
    "b1=0.99, b2=0.95, alpha=0.0, eps=1e-8, eps_root=0.0",
    "Return momentum plus alpha * g, divided as in scale_by_adam (arXiv:2502.02431).",
)
scale_by_rprop = rule(
    "scale_by_rprop",
    s.ScaleByRpropState,
    "learning_rate, eta_minus=0.5, eta_plus=1.2, min_step_size=1e-6, max_step_size=50.0",
    """Return steps along the sign of g, which grow while it stays and shrink when it changes.

    An update is that of the previous gradient, as in optax: the first one is 0.
    """,
    {"step_sizes": "learning_rate"},
)
scale_by_sm3 = rule(
    "scale_by_sm3",
    s.ScaleBySM3State,
    "b1=0.9, b2=1.0, eps=1e-8",
    "Return g / roots of second moments, stored as maxima along axes (SM3, arXiv:1901.11150).",
    {"mu": lambda p, _: [Tensor.zeros(size, dtype=p.dtype) for size in p.shape]},
)


def _factored(p: Tensor, settings: dict[str, Any]) -> tuple[int, int] | None:
    """Return the second longest and the longest axis, None if the former is too short."""
    if not settings["factored"] or len(p.shape) < 2:
        return None
    order = sorted(range(len(p.shape)), key=lambda i: p.shape[i])
    short = p.shape[order[-2]] < settings["min_dim_size_to_factor"]
    return None if short else (order[-2], order[-1])


def _without(p: Tensor, settings: dict[str, Any], which: int) -> Tensor:
    found = _factored(p, settings)
    shape = [1] if found is None else [n for i, n in enumerate(p.shape) if i != found[which]]
    return Tensor.zeros(*shape, dtype=p.dtype)


scale_by_factored_rms = rule(
    "scale_by_factored_rms",
    s.FactoredState,
    "factored=True, decay_rate=0.8, step_offset=0, min_dim_size_to_factor=128, "
    "epsilon=1e-30, decay_rate_fn=_decay_rate_pow",
    """Return g / root of a second moment, factored into rows and columns (arXiv:1804.04235).

    This saves memory for parameters with two axes of at least min_dim_size_to_factor elements.
    """,
    {
        "v_row": functools.partial(_without, which=1),
        "v_col": functools.partial(_without, which=0),
        "v": lambda p, a: Tensor.zeros(
            *(p.shape if _factored(p, a) is None else [1]), dtype=p.dtype
        ),
    },
    needs=True,
    given=lambda p, steps, a: (
        a["decay_rate_fn"](steps - a["step_offset"], a["decay_rate"]),
        a["epsilon"],
        _factored(p, a),
    ),
)
scale_by_distance_over_gradients = rule(
    "scale_by_distance_over_gradients",
    s.ScaleByDistanceOverGradientsState,
    "reps_rel=1e-6, eps=1e-8, param_dtype=float32, global_scale=1.0",
    "Return g scaled by the distance from the initial parameters (DoG, arXiv:2302.12022).",
    {
        "max_dist": lambda p, a: (p.square().sum().sqrt() + 1) * a["reps_rel"],
        "grad_sum_of_squares": lambda p, a: Tensor.zeros(1),
        "init_params": lambda p, a: tree.cast(p, a["param_dtype"]),
    },
    needs=True,
    given=lambda p, steps, a: (a["eps"], a["global_scale"]),
)
scale_by_trust_ratio = rule(
    "scale_by_trust_ratio",
    s.ScaleByTrustRatioState,
    "min_norm=0.0, trust_coefficient=1.0, eps=0.0",
    "Return updates scaled to the norm of their parameter times trust_coefficient (LARS, LAMB).",
    needs=True,
)
trace = rule(
    "trace",
    s.TraceState,
    "decay, nesterov=False, accumulator_dtype=None",
    "Return momentum: exponentially decaying sums of updates.",
    {"trace": "accumulator_dtype"},
)
ema = rule(
    "ema",
    s.EmaState,
    "decay, debias=True, accumulator_dtype=None",
    "Return exponential moving averages of updates, with debias corrected for starting at zero.",
    {"ema": "accumulator_dtype"},
)
scale_by_acprop = rule(
    "scale_by_acprop",
    s.ScaleByBeliefState,
    "b1=0.9, b2=0.999, eps=1e-16, eps_root=1e-16",
    "Return g divided by the root of the previous step's variance (ACProp, arXiv:2110.05454).",
)
scale_by_adopt = rule(
    "scale_by_adopt",
    s.ScaleByAdamState,
    "b1=0.9, b2=0.9999, eps=1e-6, mu_dtype=None, *, nesterov=False, use_clipping=True, "
    "clip_value_fn=_fourth_root",
    """Return moments of g / the root of the previous second moment (ADOPT, arXiv:2411.02853).

    With use_clipping the quotients are clipped to clip_value_fn(number of previous steps).
    """,
    _MU,
    given=lambda p, steps, a: (
        *(a[n] for n in ("b1", "b2", "eps", "nesterov")),
        a["clip_value_fn"](steps) if a["use_clipping"] else None,
    ),
)
scale_by_cocob = rule(
    "scale_by_cocob",
    s.COCOBState,
    "alpha=100, eps=1e-8",
    "Return steps by coin betting for each element of the gradient (COCOB, arXiv:1705.07795).",
    {"init_particles": lambda p, _: p, "scale": "eps"},
    needs=True,
)
scale_by_madgrad = rule(
    "scale_by_madgrad",
    s.MadgradState,
    "learning_rate, momentum=0.9, eps=1e-6",
    "Return steps of dual averaging, scaled by cube roots of sums of squares (arXiv:2101.11075).",
    {"x0": lambda p, _: p},
    needs=True,
)
