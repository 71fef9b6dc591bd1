"""polygrad.optim against optax: states and updates step by step, schedules, losses, projections.

POLY_TESTS=all compares all optimizers and losses, as `make test-peers` does; without it a seventh.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any, Callable

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from turns import part

from polygrad import Tensor, TinyJit, optim
from polygrad.func import grad, jit, value_and_grad, vmap
from polygrad.optim import tree

RNG = np.random.default_rng(0)
PARAMS = {
    "dense": {"w": RNG.normal(size=(4, 3)), "b": RNG.normal(size=3)},
    "list": [RNG.normal(size=(2, 3, 2)), RNG.normal(size=())],
    "square": RNG.normal(size=(5, 5)),
}
PARAMS = jax.tree.map(lambda x: np.asarray(x, np.float32), PARAMS)
GRADS = [
    jax.tree.map(lambda x: RNG.normal(size=x.shape).astype("float32"), PARAMS) for _ in range(7)
]
MASK = {"dense": {"w": True, "b": False}, "list": [True, False], "square": True}


@pytest.fixture(autouse=True)
def singles() -> Iterator[None]:
    """Compute with JAX in float32: other tests switch that in this process."""
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", False)
    yield
    jax.config.update("jax_enable_x64", before)


def ours(given: Any) -> Any:
    return jax.tree.map(lambda x: Tensor(np.array(x)), given)


def theirs(given: Any) -> Any:
    return jax.tree.map(jnp.asarray, given)


def same(found: Any, wanted: Any, name: str, rtol: float = 2e-5, atol: float = 2e-6) -> None:
    """Compare trees: of a class of the same name or kind, and of the same leaves."""
    if isinstance(wanted, jax.Array) and jnp.issubdtype(wanted.dtype, jax.dtypes.prng_key):
        wanted = jax.random.key_data(wanted)
    if isinstance(wanted, (jax.Array, np.ndarray, np.generic, float, int, bool)):
        found = found.numpy() if isinstance(found, Tensor) else np.asarray(found)
        wanted = np.asarray(wanted)
        assert found.shape == wanted.shape, name
        assert found.dtype == wanted.dtype or not isinstance(wanted, jax.Array), name
        np.testing.assert_allclose(found, wanted, rtol, atol, err_msg=name)
    elif isinstance(wanted, dict):
        assert set(found) == set(wanted), name
        for key in wanted:
            same(found[key], wanted[key], f"{name}[{key!r}]", rtol, atol)
    elif wanted is None:
        assert found is None, name
    else:
        assert len(found) == len(wanted), f"{name}: {type(found)}, {type(wanted)}"
        if hasattr(wanted, "_fields"):
            assert found._fields == wanted._fields, name
        for i, (a, b) in enumerate(zip(found, wanted)):
            same(a, b, f"{name}.{i}", rtol, atol)


EAGER = ["adam 0.05", "lamb 0.05", "masked", "inject_hyperparams", "muon", "flatten"]

# A case: a name, and a function of the module (optax or ours) that returns an optimizer.
CASES: dict[str, Callable[[Any], Any]] = {}
# Those that are compared without the state, or with other tolerances.
LOOSE = {
    "muon": 2e-3,
    "muon wide": 2e-3,
    "radam 0.05": 2e-2,
    "adam 0.05 mu_dtype=bfloat16": 2e-2,
    "adopt nesterov": 2e-3,  # what is not clipped is great, and differences of it are small
    "rmsprop 0.05 centered=True bias_correction=True eps=0.01": 2e-4,
}


def case(name: str, *args: Any, **options: Any) -> None:
    title = " ".join([name, *map(str, args), *(f"{k}={v}" for k, v in options.items())])
    CASES[title] = lambda m: getattr(m, name)(*args, **options)


ALIASES = (
    "adabelief adagrad adam adamax adamaxw adamw adan amsgrad fromage lamb lars lion nadam nadamw "
    "novograd optimistic_gradient_descent radam rmsprop rprop sgd sign_sgd signum sm3 yogi "
    "optimistic_adam_v2 adafactor adadelta"
)
for name in ALIASES.split():
    case(name, 0.05)
case("adadelta", 0.1, weight_decay=0.01)
case("adafactor", 0.05, min_dim_size_to_factor=2, momentum=0.9, weight_decay_rate=0.01)
case("adafactor", None, min_dim_size_to_factor=4, clipping_threshold=None)
case("adafactor", 0.05, factored=False, multiply_by_parameter_scale=False)
case("adam", 0.05, b1=0.5, b2=0.9, eps=1e-3, eps_root=1e-4, nesterov=True)
case("adam", 0.05, mu_dtype="bfloat16")
case("adamw", 0.05, weight_decay=0.1, mask=MASK)
case("adabelief", 0.05, nesterov=True)
case("amsgrad", 0.05, bias_correction_mu=False, bias_correction_nu=False)
case("lamb", 0.05, weight_decay=0.1)
case("lars", 0.05, weight_decay=0.1, nesterov=True, trust_ratio_mask=MASK)
case("lion", 0.05, weight_decay=0.1, mask=MASK)
case("novograd", 0.05, weight_decay=0.1)
case("radam", 0.05, b2=0.9, threshold=2.0, nesterov=True)
case("rmsprop", 0.05, centered=True, momentum=0.9, nesterov=True)
case("rmsprop", 0.05, eps_in_sqrt=False, bias_correction=True, initial_scale=1.0)
case("rmsprop", 0.05, centered=True, bias_correction=True, eps=1e-2)
case("sgd", 0.05, momentum=0.9)
case("sgd", 0.05, momentum=0.9, nesterov=True, accumulator_dtype="float16")
case("sm3", 0.05, momentum=0.5)
case("scale_by_lion", mode="smooth", smooth_beta=2.0)
case("scale_by_lion", mode="refined")
case("scale_by_lbfgs", 3)
case("scale_by_lbfgs", 2, scale_init_precond=False)
case("scale_by_distance_over_gradients")
case("scale_by_param_block_norm")
case("scale_by_param_block_rms", 0.5)
case("scale_by_trust_ratio", min_norm=0.5, trust_coefficient=0.1, eps=0.1)
case("scale_by_sign")
case("normalize_by_update_norm", 2.0)
case("trace", 0.9)
case("ema", 0.9)
case("ema", 0.9, debias=False, accumulator_dtype="float16")
case("apply_every", 3)
case("centralize")
case("add_decayed_weights", 0.1)
case("clip", 0.5)
case("clip_by_block_rms", 0.5)
case("clip_by_global_norm", 1.0)
case("clip_by_global_norm", 100.0)
case("adaptive_grad_clip", 0.1)
case("keep_params_nonnegative")
case("zero_nans")
case("identity")
case("set_to_zero")
case("add_noise", 0.01, 0.55, 3)
case("noisy_sgd", 0.1, key=3)
COSINE = {"init_value": 0.0, "peak_value": 0.5, "warmup_steps": 2, "decay_steps": 6}
CASES["adamw schedules"] = lambda m: m.adamw(
    m.warmup_cosine_decay_schedule(**COSINE), weight_decay=m.linear_schedule(0.1, 0.0, 5)
)
CASES["fromage schedule"] = lambda m: m.fromage(m.linear_schedule(0.1, 0.0, 5))
CASES["chain"] = lambda m: m.chain(m.clip_by_global_norm(1.0), m.scale_by_adam(), m.scale(-0.1))
CASES["named_chain"] = lambda m: m.named_chain(("a", m.scale_by_adam()), ("b", m.scale(-0.1)))
CASES["masked"] = lambda m: m.masked(m.adam(0.1), MASK)
CASES["masked function"] = lambda m: m.masked(
    m.adam(0.1), lambda p: jax.tree.map(lambda x: len(x.shape) > 1, p)
)
CASES["freeze"] = lambda m: m.chain(m.adam(0.1), m.freeze(MASK))
CASES["selective_transform"] = lambda m: m.selective_transform(m.adam(0.1), freeze_mask=MASK)
LABELS = {"dense": {"w": "a", "b": "b"}, "list": "c", "square": "a"}
LABELS = {"dense": {"w": "a", "b": "b"}, "list": ["c", "c"], "square": "a"}
CASES["multi_transform"] = lambda m: m.multi_transform(
    {"a": m.adam(0.1), "b": m.sgd(0.1), "c": m.set_to_zero()}, LABELS
)
CASES["inject_hyperparams"] = lambda m: m.inject_hyperparams(m.adamw)(
    learning_rate=m.linear_schedule(0.1, 0.0, 5), weight_decay=0.1
)
CASES["inject_hyperparams static"] = lambda m: m.inject_hyperparams(m.adam, static_args="b1")(
    learning_rate=0.1
)
CASES["apply_if_finite"] = lambda m: m.apply_if_finite(m.adam(0.1), 2)
CASES["conditionally_transform"] = lambda m: m.conditionally_transform(
    m.adam(0.1), lambda step: step >= 2
)
CASES["conditionally_mask"] = lambda m: m.conditionally_mask(
    m.adam(0.1), lambda step: step % 2 == 0
)
CASES["flatten"] = lambda m: m.flatten(m.adam(0.1))
CASES["lbfgs"] = lambda m: m.lbfgs(0.1, memory_size=3, linesearch=None)
for options in ({}, {"use_grad_mean": False}, {"should_skip_update_fn": "skip_not_finite"}):

    def steps(m: Any, options: dict[str, Any] = options) -> Any:
        given = dict(options)
        if given.get("should_skip_update_fn"):
            given["should_skip_update_fn"] = m.skip_not_finite
        return m.MultiSteps(m.adam(0.1), 3, **given)

    CASES[f"MultiSteps {options}"] = steps
CASES["MultiSteps schedule"] = lambda m: m.MultiSteps(m.sgd(0.1), lambda step: step + 1)
CASES["snapshot"] = lambda m: m.chain(m.snapshot("norm", lambda g: m.tree.norm(g)), m.adam(0.1))
CASES["monitor"] = lambda m: m.chain(
    m.monitor({"norm": m.tree.norm, "ema": m.measure_with_ema(m.tree.norm, 0.9)}), m.adam(0.1)
)
CASES["muon"] = lambda m: m.contrib.muon(0.1)
CASES["muon wide"] = lambda m: m.contrib.muon(
    0.1, nesterov=False, adaptive=True, weight_decay=0.1, ns_coeffs="dion", consistent_rms=0.2
)
for first in ("spectral", "schatten"):
    LOOSE[f"muon {first}"] = 2e-3
    CASES[f"muon {first}"] = lambda m, first=first: m.contrib.muon(0.1, preconditioning=first)


def numbers(m: Any) -> Any:
    own = m.contrib.MuonDimensionNumbers
    return {
        "dense": {"w": own(1, 0), "b": None},
        "list": [own((0, 2), 1), None],
        "square": None,
    }


LOOSE["muon axes"] = 2e-3
CASES["muon axes"] = lambda m: m.contrib.muon(0.1, muon_weight_dimension_numbers=numbers(m))
CASES["ademamix"] = lambda m: m.contrib.ademamix(0.1, alpha=m.linear_schedule(0.0, 5.0, 5))
CASES["simplified_ademamix"] = lambda m: m.contrib.simplified_ademamix(0.1, alpha=2.0)
CASES["schedule_free_sgd"] = lambda m: m.contrib.schedule_free_sgd(0.1, warmup_steps=3)
CASES["schedule_free_adamw"] = lambda m: m.contrib.schedule_free_adamw(0.1, weight_decay=0.1)
CASES["normalize"] = lambda m: m.contrib.normalize()
CASES["split"] = lambda m: m.contrib.split_real_and_imaginary(m.adam(0.1))
CASES["acprop"] = lambda m: m.contrib.acprop(0.1, weight_decay=0.1)
CASES["adopt"] = lambda m: m.contrib.adopt(0.1, b2=0.9)
CASES["adopt nesterov"] = lambda m: m.contrib.adopt(0.1, nesterov=True, use_clipping=False)
CASES["cocob"] = lambda m: m.contrib.cocob(weight_decay=0.1)
CASES["madgrad"] = lambda m: m.contrib.madgrad(m.linear_schedule(0.1, 0.0, 5), weight_decay=0.1)
for first in ("distance", "heuristic", "learning_rate"):
    CASES[f"dog {first}"] = lambda m, first=first: m.contrib.dog(init_step=(first, 0.1))
CASES["dowg"] = lambda m: m.contrib.dowg(weight_decay=0.1)
CASES["dpsgd"] = lambda m: m.contrib.dpsgd(0.1, 1.0, 0.0, 3, momentum=0.9)
# Those of which update takes the value of the loss.
VALUES = [3.0, 2.5, 2.6, 2.7, 2.8, 1.0, 1.5]
CASES["polyak_sgd value"] = lambda m: m.polyak_sgd(2.0)
CASES["polyak_sgd value sps+"] = lambda m: m.polyak_sgd(2.0, f_min=2.0, variant="sps+")
CASES["reduce_on_plateau value"] = lambda m: m.chain(
    m.adam(0.1), m.contrib.reduce_on_plateau(0.5, patience=2, cooldown=1)
)
CASES["reduce_on_plateau value mean"] = lambda m: m.contrib.reduce_on_plateau(
    0.5, patience=1, accumulation_size=2
)


def run(m: Any, make: Callable[[Any], Any], name: str, wrap: Any, params: Any, grads: list) -> list:
    """Return updates, states and parameters of some steps."""
    optimizer = make(m)

    def step(params: Any, state: Any, g: Any, value: Any) -> Any:
        more = {"value": value} if " value" in name else {}
        updates, state = optimizer.update(g, state, params, **more)
        return updates, state, m.apply_updates(params, updates)

    state = optimizer.init(params)
    found = [state]
    step = wrap(step)
    for g, value in zip(grads, VALUES):
        updates, state, params = step(params, state, g, value)
        found.append((updates, state, params))
    return found


@pytest.mark.parametrize("name", part(CASES))
def test_steps_are_those_of_optax(name: str) -> None:
    tolerance = LOOSE.get(name, 2e-5)
    params, grads = PARAMS, GRADS
    if name.startswith(("sm3", "scale_by_distance")):  # theirs takes no scalars, or makes vectors
        params, *grads = ({**t, "list": t["list"][:1]} for t in (PARAMS, *GRADS))
    if name == "dpsgd":  # of two examples
        grads = [jax.tree.map(lambda a, b: np.stack([a, b]), g, GRADS[0]) for g in GRADS]
    wanted = run(optax, CASES[name], name, jax.jit, theirs(params), list(map(theirs, grads)))
    # Compiled, and for some also one operation after the other.
    for wrap in (jit, lambda f: f)[: 1 + (name in EAGER)]:
        found = run(optim, CASES[name], name, wrap, ours(params), list(map(ours, grads)))
        for i, (a, b) in enumerate(zip(found, wanted)):
            same(a, b, f"{name} step {i}", tolerance, tolerance / 10)


def test_updates_that_are_not_finite() -> None:
    grads = [dict(g) for g in GRADS]
    for i in (1, 2, 3, 5):
        grads[i]["square"] = np.full((5, 5), np.nan, np.float32)
    for name in (
        "apply_if_finite",
        "zero_nans",
        "MultiSteps {'should_skip_update_fn': 'skip_not_finite'}",
    ):
        wanted = run(
            optax, CASES[name], name, lambda f: f, theirs(PARAMS), list(map(theirs, grads))
        )
        found = run(optim, CASES[name], name, jit, ours(PARAMS), list(map(ours, grads)))
        same(found, wanted, name)


SCHEDULES: dict[str, Callable[[Any], Any]] = {
    "constant": lambda m: m.constant_schedule(0.3),
    "linear": lambda m: m.linear_schedule(1.0, 0.1, 10, 3),
    "polynomial": lambda m: m.polynomial_schedule(1.0, 0.1, 2.5, 10, -3),
    "polynomial of no steps": lambda m: m.polynomial_schedule(1.0, 0.1, 2, 0),
    "piecewise": lambda m: m.piecewise_constant_schedule(1.0, {5: 0.1, 2: 3.0}),
    "piecewise alone": lambda m: m.piecewise_constant_schedule(1.0),
    "piecewise linear": lambda m: m.piecewise_interpolate_schedule("linear", 1.0, {5: 0.1, 2: 3.0}),
    "piecewise cosine": lambda m: m.piecewise_interpolate_schedule("cosine", 1.0, {5: 0.1, 9: 3.0}),
    "exponential": lambda m: m.exponential_decay(1.0, 3, 0.5, 2),
    "exponential stairs": lambda m: m.exponential_decay(1.0, 3, 0.5, staircase=True, end_value=0.2),
    "exponential growth": lambda m: m.exponential_decay(1.0, 3, 1.5, end_value=2.0),
    "cosine": lambda m: m.cosine_decay_schedule(2.0, 10, 0.1, 1.5),
    "linear onecycle": lambda m: m.linear_onecycle_schedule(20, 2.0),
    "cosine onecycle": lambda m: m.cosine_onecycle_schedule(20, 2.0),
    "warmup": lambda m: m.warmup_constant_schedule(0.0, 2.0, 5),
    "warmup cosine": lambda m: m.warmup_cosine_decay_schedule(0.1, 2.0, 5, 15, 0.5),
    "warmup exponential": lambda m: m.warmup_exponential_decay_schedule(0.1, 2.0, 5, 3, 0.5),
    "joined": lambda m: m.join_schedules(
        [m.constant_schedule(1.0), m.linear_schedule(1.0, 0.0, 5), m.constant_schedule(2.0)], [3, 9]
    ),
    "restarts": lambda m: m.sgdr_schedule([{**COSINE, "decay_steps": n} for n in (5, 9, 20)]),
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules_are_those_of_optax(name: str) -> None:
    wanted, found = SCHEDULES[name](optax), SCHEDULES[name](optim)
    for n in range(30):
        a, b = found(Tensor(n)), float(wanted(jnp.asarray(n)))
        a = a.item() if isinstance(a, Tensor) else a
        assert a == pytest.approx(b, rel=1e-5, abs=1e-6), n
        a = found(n)
        assert (a.item() if isinstance(a, Tensor) else a) == pytest.approx(b, rel=1e-5, abs=1e-6)


def normal(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype("float32")


X, Y = normal(6, 5), normal(6, 5)
P = np.abs(normal(6, 5))
P /= P.sum(1, keepdims=True)
SIGNS = np.sign(Y)
CLASSES = RNG.integers(0, 5, 6)
WHERE = RNG.random((6, 5)) < 0.7
WHERE[:, 0] = True
LOSSES: dict[str, tuple[str, tuple[Any, ...], dict[str, Any]]] = {}


def loss(name: str, *args: Any, **options: Any) -> None:
    LOSSES[f"{name} {len(LOSSES)}"] = (name, args, options)


for name in ("squared_error", "l2_loss", "huber_loss", "log_cosh"):
    loss(name, X, Y)
    loss(name, X)
loss("huber_loss", X, Y, delta=0.3)
loss("hinge_loss", X, SIGNS)
loss("perceptron_loss", X, SIGNS)
for name in ("cosine_similarity", "cosine_distance"):
    loss(name, X, Y)
    loss(name, X, Y, epsilon=0.1, axis=0, where=WHERE)
loss("sigmoid_binary_cross_entropy", X * 30, SIGNS > 0)
loss("sigmoid_focal_loss", X, (SIGNS > 0).astype("float32"))
loss("sigmoid_focal_loss", X, (SIGNS > 0).astype("float32"), alpha=0.25, gamma=1.5)
for options in ({}, {"axis": 0}, {"where": WHERE}):
    loss("softmax_cross_entropy", X, P, **options)
loss("safe_softmax_cross_entropy", X, P)
loss("softmax_cross_entropy_with_integer_labels", X, CLASSES)
loss("softmax_cross_entropy_with_integer_labels", X.T.copy(), CLASSES, axis=0)
loss("softmax_cross_entropy_with_integer_labels", normal(3, 2, 4), np.array([3, 7, 0]), axis=(1, 2))
loss("softmax_cross_entropy_with_integer_labels", X, CLASSES * 0, where=WHERE)
loss("multiclass_hinge_loss", X, CLASSES)
loss("multiclass_perceptron_loss", X, CLASSES)
loss("poly_loss_cross_entropy", X, P, epsilon=1.5)
loss("kl_divergence", X, P * (P > 0.1))
loss("kl_divergence", X, P, where=WHERE)
loss("kl_divergence_with_log_targets", X, Y)
loss("generalized_kl_divergence", X, P)
loss("smooth_labels", P, 0.2)
loss("smooth_labels", P, 0.2, axis=0, where=WHERE)
loss("triplet_margin_loss", X, Y, normal(6, 5))
loss("ntxent", normal(8, 4), np.array([0, 0, 1, 1, 2, 2, 0, 1]))
PADS = (np.arange(9)[None] >= np.array([9, 7, 8, 5])[:, None]).astype("float32")
LABEL_PADS = (np.arange(4)[None] >= np.array([4, 2, 3, 0])[:, None]).astype("float32")
loss("ctc_loss", normal(4, 9, 6), PADS, RNG.integers(1, 6, (4, 4)), LABEL_PADS)
loss("ctc_loss", normal(4, 9, 6), PADS, RNG.integers(0, 2, (4, 4)), LABEL_PADS, blank_id=5)
BINARY = (RNG.random((3, 4, 4)) < 0.5).astype("float32")


@pytest.mark.parametrize("name", part(LOSSES))
def test_losses_are_those_of_optax(name: str) -> None:
    function, args, options = LOSSES[name]
    a, b = getattr(optim.losses, function), getattr(optax.losses, function)
    more = {k: Tensor(v) if isinstance(v, np.ndarray) else v for k, v in options.items()}
    given = [Tensor(x) if isinstance(x, np.ndarray) else x for x in args]
    same(a(*given, **more), b(*args, **options), name, 1e-5, 1e-5)
    if function == "cosine_similarity":
        return
    first = grad(lambda x: a(x, *given[1:], **more).sum())(given[0])
    wanted = jax.grad(lambda x: b(x, *args[1:], **options).sum())(jnp.asarray(args[0]))
    same(first, wanted, f"{name} gradient", 2e-4, 2e-5)


TREE = {"a": normal(4), "b": [normal(2, 3)]}
OTHER = {"a": normal(4), "b": [normal(2, 3)]}
PROJECTIONS: list[tuple[str, tuple[Any, ...]]] = [
    ("projection_non_negative", (TREE,)),
    ("projection_box", (TREE, OTHER, jax.tree.map(lambda x: x + 1, OTHER))),
    ("projection_hypercube", (TREE["a"], 0.5)),
    ("projection_simplex", (TREE,)),
    ("projection_simplex", (TREE, 3.0)),
    ("projection_l1_sphere", (TREE, 2.0)),
    ("projection_l1_ball", (TREE, 2.0)),
    ("projection_l1_ball", (TREE, 200.0)),
    ("projection_l2_sphere", (TREE, 2.0)),
    ("projection_l2_ball", (TREE, 0.2)),
    ("projection_l2_ball", (TREE, 200.0)),
    ("projection_linf_ball", (TREE, 0.3)),
    ("projection_vector", (TREE, OTHER)),
    ("projection_hyperplane", (TREE, OTHER, 0.3)),
    ("projection_halfspace", (TREE, OTHER, -5.0)),
]


@pytest.mark.parametrize("case", part(range(len(PROJECTIONS))))
def test_projections_are_those_of_optax(case: int) -> None:
    name, args = PROJECTIONS[case]
    given = [ours(a) if isinstance(a, (dict, np.ndarray)) else a for a in args]
    f, g = getattr(optim.projections, name), getattr(optax.projections, name)
    same(f(*given), g(*args), name)
    if name in ("projection_box", "projection_hypercube"):
        return
    weights = normal(4)
    found = grad(lambda t: (f(t, *given[1:])["a"] * Tensor(weights)).sum())(given[0])
    wanted = jax.grad(lambda t: (g(t, *args[1:])["a"] * weights).sum())(theirs(args[0]))
    same(found, wanted, f"{name} gradient", 1e-4, 1e-5)


TREES: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("add", (TREE, OTHER, TREE), {}),
    ("sub", (TREE, OTHER), {}),
    ("mul", (TREE, OTHER), {}),
    ("div", (TREE, OTHER), {}),
    ("scale", (0.5, TREE), {}),
    ("add_scale", (TREE, 0.5, OTHER), {}),
    ("vdot", (TREE, OTHER), {}),
    ("sum", (TREE,), {}),
    ("max", (TREE,), {}),
    ("min", (TREE,), {}),
    ("norm", (TREE,), {}),
    ("norm", (TREE,), {"squared": True}),
    ("norm", (TREE, 1), {}),
    ("norm", (TREE, "inf"), {"squared": True}),
    ("zeros_like", (TREE,), {}),
    ("ones_like", (TREE,), {"dtype": "int32"}),
    ("full_like", (TREE, 2.5), {}),
    ("clip", (TREE, -0.5, 0.3), {}),
    ("cast", (TREE, "float16"), {}),
    ("where", (True, TREE, OTHER), {}),
    ("bias_correction", (TREE, 0.9, np.array(3)), {}),
    ("update_moment", (TREE, OTHER, 0.9, 1), {}),
    ("update_moment_per_elem_norm", (TREE, OTHER, 0.9, 2), {}),
    ("update_infinity_moment", (TREE, OTHER, 0.9, 0.01), {}),
    ("batch_shape", (TREE, (2, 3)), {}),
]


@pytest.mark.parametrize("case", range(len(TREES)))
def test_trees_are_those_of_optax(case: int) -> None:
    name, args, options = TREES[case]
    given = [ours(a) if isinstance(a, (dict, np.ndarray)) else a for a in args]
    same(getattr(tree, name)(*given, **options), getattr(optax.tree, name)(*args, **options), name)


def test_signatures_are_those_of_optax() -> None:
    """The names, the order and the defaults of arguments."""
    for module, other in (
        (optim, optax),
        (optim.losses, optax.losses),
        (optim.contrib, optax.contrib),
    ):
        for name in module.__all__:
            f, g = getattr(module, name), getattr(other, name, None)
            if g is None or not inspect.isfunction(f) or name in ("lbfgs",):
                continue
            found, wanted = (inspect.signature(h).parameters for h in (f, g))
            if set(wanted) == {"args", "kwargs"}:
                continue
            names = [n for n in wanted if n not in ("verbose",)]
            if module is optim.contrib or name not in ("lbfgs",):
                assert [*found] == names or {*found} == {"args"}, name
            for n in names:
                a, b = found[n].default, wanted[n].default
                if isinstance(b, (int, float, str, bool, type(None))):
                    assert a == b and found[n].kind == wanted[n].kind, f"{name} {n}"


def test_optimizers_in_lax_scan_and_vmap() -> None:
    from polygrad import lax

    optimizer, other = optim.adam(0.1), optax.adam(0.1)

    def train(m: Any, scan: Any, g: Any, rate: Any) -> Any:
        t = m.inject_hyperparams(m.adam)(learning_rate=0.1) if rate is None else m.adam(rate)

        def step(carry: Any, _: Any) -> Any:
            x, state = carry
            updates, state = t.update(g(lambda x: ((x - 3) ** 2).sum())(x), state, x)
            x = m.apply_updates(x, updates)
            return (x, state), x

        start = jnp.zeros(2) if m is optax else Tensor.zeros(2)
        return scan(step, (start, t.init(start)), None, length=20)[1]

    assert optimizer is not None and other is not None
    for rate in (0.1, None):
        same(train(optim, lax.scan, grad, rate), train(optax, jax.lax.scan, jax.grad, rate), "scan")
    rates = np.array([0.1, 0.2, 0.3], np.float32)
    found = vmap(lambda r: train(optim, lax.scan, grad, r))(Tensor(rates))
    wanted = jax.vmap(lambda r: train(optax, jax.lax.scan, jax.grad, r))(jnp.asarray(rates))
    same(found, wanted, "vmap")


def test_a_training_step_in_tinyjit_and_eagerly() -> None:
    x, y = Tensor(normal(32, 3)), Tensor(normal(32, 1))

    def loss_of(p: Any) -> Tensor:
        return optim.l2_loss((x @ p["w"] + p["b"]).tanh(), y).mean()

    def begin() -> Any:
        return {"w": Tensor(np.full((3, 1), 0.1, np.float32)), "b": Tensor([0.0])}

    optimizer = optim.adamw(0.05)

    def step(params: Any, state: Any) -> Any:
        value, grads = value_and_grad(loss_of)(params)
        updates, state = optimizer.update(grads, state, params)
        return optim.apply_updates(params, updates), state, value

    results = []
    for wrap in (lambda f: f, jit, TinyJit):
        params = begin()
        state, run = optimizer.init(params), wrap(step)
        for _ in range(12):
            params, state, value = run(params, state)
            if wrap is TinyJit:
                params = tree.map(lambda t: t.clone().realize(), params)
                state = tree.map(lambda t: t.clone().realize(), state)
        results.append((value.item(), params["w"].numpy()))
    for value, w in results[1:]:
        assert value == pytest.approx(results[0][0], rel=1e-5)
        np.testing.assert_allclose(w, results[0][1], rtol=1e-5)


def test_lookahead() -> None:
    found, wanted = [], []
    for m, wrap, kept in ((optim, ours, found), (optax, theirs, wanted)):
        for reset in (False, True):
            t = m.lookahead(m.adam(0.1), 3, 0.5, reset)
            params = m.LookaheadParams.init_synced(wrap(PARAMS))
            state = t.init(params)
            for g in GRADS:
                updates, state = t.update(wrap(g), state, params)
                params = m.apply_updates(params, updates)
                kept.append((params, state))
    same(found, wanted, "lookahead")


def test_what_has_no_state() -> None:
    new, old = ours(PARAMS), ours(GRADS[0])
    same(
        optim.incremental_update(new, old, 0.1), optax.incremental_update(PARAMS, GRADS[0], 0.1), ""
    )
    for n in (3, 4):
        wanted = optax.periodic_update(theirs(PARAMS), theirs(GRADS[0]), jnp.asarray(n), 2)
        same(optim.periodic_update(new, old, Tensor(n), 2), wanted, "")
    same(optim.global_norm(new), optax.global_norm(PARAMS), "")
    for x, least in ((X, 0.1), (X * 0, 0.1), (X * 0, 0.0)):
        same(optim.safe_norm(Tensor(x), least), optax.safe_norm(x, least), "")
        found = grad(lambda x, least=least: optim.safe_norm(x, least))(Tensor(x))
        same(found, jax.grad(lambda x, least=least: optax.safe_norm(x, least))(jnp.asarray(x)), "")
        rms = optim.safe_root_mean_squares(Tensor(x), least)
        same(rms, optax.safe_root_mean_squares(jnp.asarray(x), least), "")
    batch = {"a": normal(6, 3), "b": normal(6, 2, 2)}
    for f in ("per_example_global_norm_clip", "per_example_layer_norm_clip"):
        same(getattr(optim, f)(ours(batch), 1.5), getattr(optax, f)(theirs(batch), 1.5), f)
    found = optim.per_example_layer_norm_clip(ours(batch), 1.5, uniform=False)
    same(found, optax.per_example_layer_norm_clip(theirs(batch), 1.5, uniform=False), "")


def test_bad_input() -> None:
    for call, text in (
        (lambda: optim.adam(), "^adam: missing a required argument: 'learning_rate'"),
        (lambda: optim.nadam(0.1, b3=1), "^nadam: got an unexpected keyword argument 'b3'"),
        (lambda: optim.scale_by_lion(mode="soft"), "^scale_by_lion: mode: 'soft', expected hard"),
        (lambda: optim.contrib.scale_by_dog(("far", 1)), "^scale_by_dog: init_step: 'far'"),
        (lambda: optim.scale_by_novograd().update([], ()), "^scale_by_novograd: .*the parameters$"),
        (lambda: step_of(optim.adam(0.1, b1="x")), 'scale_by_adam: b1: is "x", expected a tensor'),
        (lambda: step_of(optim.adam(0.1), 3), "scale_by_adam: gradient: is int32, expected"),
    ):
        with pytest.raises((TypeError, ValueError), match=text):
            call()


def step_of(optimizer: Any, gradient: Any = 1.0) -> Any:
    return optimizer.update(Tensor(gradient), optimizer.init(Tensor(1.0)))
