"""Optimizers: chains of transformations, with optax's names, arguments and defaults."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Callable

from polygrad.dtype import dtypes
from polygrad.optim import _rules as r
from polygrad.optim import _transforms as t
from polygrad.optim._base import identity
from polygrad.optim._masks import masked
from polygrad.optim._rules import signed
from polygrad.optim._wrappers import chain

if TYPE_CHECKING:
    from polygrad.optim._base import GradientTransformation, GradientTransformationExtraArgs

    Chain = GradientTransformationExtraArgs

# fmt: off
__all__ = [
    "adabelief", "adadelta", "adafactor", "adagrad", "adam", "adamax", "adamaxw", "adamw", "adan",
    "amsgrad", "fromage", "lamb", "lars", "lbfgs", "lion", "nadam", "nadamw", "noisy_sgd",
    "novograd", "optimistic_adam_v2", "optimistic_gradient_descent", "polyak_sgd", "radam",
    "rmsprop", "rprop", "sgd", "sign_sgd", "signum", "sm3", "yogi",
]
# fmt: on


def optimizer(
    name: str, doc: str, *parts: Callable[..., Any], without: str = "", **own: Any
) -> Callable[..., Chain]:
    """Return a function that makes a chain of parts followed by scale_by_learning_rate.

    It takes a learning rate and the parts' arguments, without some; own has different defaults.
    """
    left = without.split()
    known = [inspect.signature(p).parameters for p in parts]
    takes = [[n for n in of if n not in left] for of in known]
    all_ = {
        n: of[n].replace(default=own.get(n, of[n].default))
        for of, ns in zip(known, takes)
        for n in ns
    }
    rate = inspect.Parameter("learning_rate", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    signature = inspect.Signature(sorted([rate, *all_.values()], key=lambda p: p.kind))

    def make(given: dict[str, Any]) -> Chain:
        made = [p(**{n: given[n] for n in names}) for p, names in zip(parts, takes)]
        return chain(*made, t.scale_by_learning_rate(given["learning_rate"]))

    return signed(make, name, doc, signature)


_ADAM_TAKES = "mu_dtype nesterov"

adam = optimizer("adam", "Adam (Kingma and Ba, arXiv:1412.6980).", r.scale_by_adam)
nadam = optimizer(
    "nadam", "Adam with Nesterov momentum (Dozat, 2016).", r.scale_by_adam, nesterov=True
)
adamw = optimizer(
    "adamw",
    """Adam with decoupled weight decay (Loshchilov and Hutter, arXiv:1711.05101).

    mask says which parameters decay: see add_decayed_weights.
    """,
    r.scale_by_adam,
    t.add_decayed_weights,
    weight_decay=1e-4,
)
nadamw = optimizer(
    "nadamw",
    "NAdam with decoupled weight decay.",
    r.scale_by_adam,
    t.add_decayed_weights,
    weight_decay=1e-4,
    nesterov=True,
)
adabelief = optimizer(
    "adabelief", "AdaBelief (Zhuang et al., arXiv:2010.07468).", r.scale_by_belief
)
adagrad = optimizer("adagrad", "Adagrad (Duchi et al., 2011).", r.scale_by_rss)
adamax = optimizer(
    "adamax",
    "Adam with the infinity norm for second moments (Kingma and Ba, arXiv:1412.6980).",
    r.scale_by_adamax,
)
adamaxw = optimizer(
    "adamaxw",
    "Adamax with decoupled weight decay.",
    r.scale_by_adamax,
    t.add_decayed_weights,
    weight_decay=1e-4,
)
adan = optimizer(
    "adan",
    "Adan (Xie et al., arXiv:2208.06677).",
    r.scale_by_adan,
    t.add_decayed_weights,
    eps_root=1e-8,
)
amsgrad = optimizer("amsgrad", "AMSGrad (Reddi et al., arXiv:1904.09237).", r.scale_by_amsgrad)
lamb = optimizer(
    "lamb",
    "Layer-wise adaptive moments (You et al., arXiv:1904.00962).",
    r.scale_by_adam,
    t.add_decayed_weights,
    lambda: r.scale_by_trust_ratio(),
    without=_ADAM_TAKES,
    eps=1e-6,
)
lion = optimizer(
    "lion",
    "Lion: steps along the sign of a moment (Chen et al., arXiv:2302.06675).",
    r.scale_by_lion,
    t.add_decayed_weights,
    without="mode smooth_beta",
    weight_decay=1e-3,
)
noisy_sgd = optimizer(
    "noisy_sgd",
    "Gradient descent with decaying gradient noise (Neelakantan et al., arXiv:1511.06807).",
    t.add_noise,
    eta=0.01,
    gamma=0.55,
)
novograd = optimizer(
    "novograd",
    "NovoGrad (Ginsburg et al., arXiv:1905.11286).",
    r.scale_by_novograd,
    without="mu_dtype",
    eps=1e-6,
)
optimistic_gradient_descent = optimizer(
    "optimistic_gradient_descent",
    "Optimistic gradient descent, for games (Mokhtari et al., arXiv:1906.01115).",
    t.scale_by_optimistic_gradient,
)
radam = optimizer("radam", "Rectified Adam (Liu et al., arXiv:1908.03265).", r.scale_by_radam)
sign_sgd = optimizer(
    "sign_sgd",
    "Gradient descent with the signs of gradients (Bernstein et al., arXiv:1802.04434).",
    t.scale_by_sign,
)
yogi = optimizer(
    "yogi",
    "Yogi (Zaheer et al., 2018).",
    r.scale_by_yogi,
    without="eps_root initial_accumulator_value",
)


def sgd(
    learning_rate: Any,
    momentum: Any = None,
    nesterov: bool = False,
    accumulator_dtype: Any = None,
) -> Chain:
    """Gradient descent, with momentum if it is given.

    >>> from polygrad import Tensor, optim
    >>> optimizer = sgd(0.5)
    >>> params = Tensor([1.0])
    >>> updates, state = optimizer.update(params * 2, optimizer.init(params))
    >>> optim.apply_updates(params, updates).item()
    0.0
    """
    first = identity() if momentum is None else r.trace(momentum, nesterov, accumulator_dtype)
    return chain(first, t.scale_by_learning_rate(learning_rate))


def adadelta(
    learning_rate: Any = None,
    rho: Any = 0.9,
    eps: Any = 1e-6,
    weight_decay: Any = 0.0,
    weight_decay_mask: Any = None,
) -> Chain:
    """Adadelta (Zeiler, arXiv:1212.5701)."""
    return chain(
        t.add_decayed_weights(weight_decay, weight_decay_mask),
        r.scale_by_adadelta(rho, eps),
        t.scale_by_learning_rate(learning_rate),
    )


def adafactor(
    learning_rate: Any = None,
    min_dim_size_to_factor: int = 128,
    decay_rate: Any = 0.8,
    decay_offset: Any = 0,
    multiply_by_parameter_scale: bool = True,
    clipping_threshold: Any = 1.0,
    momentum: Any = None,
    dtype_momentum: Any = dtypes.float32,
    weight_decay_rate: Any = None,
    eps: Any = 1e-30,
    factored: bool = True,
    weight_decay_mask: Any = None,
) -> Chain:
    """Adafactor (Shazeer and Stern, arXiv:1804.04235): factored second moments."""
    steps = [
        r.scale_by_factored_rms(factored, decay_rate, decay_offset, min_dim_size_to_factor, eps)
    ]
    if clipping_threshold is not None:
        steps.append(t.clip_by_block_rms(clipping_threshold))
    if learning_rate is not None:
        steps.append(t.scale_by_learning_rate(learning_rate, flip_sign=False))
    if multiply_by_parameter_scale:
        steps.append(t.scale_by_param_block_rms())
    if momentum is not None:
        steps.append(r.ema(momentum, debias=False, accumulator_dtype=dtype_momentum))
    if weight_decay_rate is not None:
        steps.append(t.add_decayed_weights(weight_decay_rate, weight_decay_mask))
    return chain(*steps, t.scale(-1))


def fromage(learning_rate: Any, min_norm: Any = 1e-6) -> Chain:
    """Frobenius matched descent (Bernstein et al., arXiv:2002.03432)."""

    def shrink(rate: Any) -> Any:
        return 1 / (1 + rate**2) ** 0.5

    if callable(learning_rate):
        return chain(
            r.scale_by_trust_ratio(min_norm),
            t.scale_by_learning_rate(lambda n: shrink(learning_rate(n)) * learning_rate(n)),
            t.add_decayed_weights(lambda n: shrink(learning_rate(n)) - 1),
        )
    factor = shrink(learning_rate)
    return chain(
        r.scale_by_trust_ratio(min_norm),
        t.scale_by_learning_rate(learning_rate * factor),
        t.add_decayed_weights(factor - 1),
    )


def lars(
    learning_rate: Any,
    weight_decay: Any = 0.0,
    weight_decay_mask: Any = True,
    trust_coefficient: Any = 0.001,
    eps: Any = 0.0,
    trust_ratio_mask: Any = True,
    momentum: Any = 0.9,
    nesterov: bool = False,
) -> Chain:
    """Layer-wise adaptive rate scaling (You, Gitman and Ginsburg, arXiv:1708.03888)."""
    ratio = r.scale_by_trust_ratio(trust_coefficient=trust_coefficient, eps=eps)
    return chain(
        t.add_decayed_weights(weight_decay, weight_decay_mask),
        masked(ratio, trust_ratio_mask),
        t.scale_by_learning_rate(learning_rate),
        r.trace(momentum, nesterov),
    )


def lbfgs(
    learning_rate: Any = None,
    memory_size: int = 10,
    scale_init_precond: bool = True,
    linesearch: GradientTransformation | None = None,
) -> Chain:
    """L-BFGS: steps scaled by an approximation of the inverse Hessian.

    linesearch is a transformation that finds the step size, such as
    scale_by_backtracking_linesearch; None uses learning_rate, or 1.
    """
    rate = t.scale(-1.0) if learning_rate is None else t.scale_by_learning_rate(learning_rate)
    direction = t.scale_by_lbfgs(memory_size, scale_init_precond)
    return chain(direction, rate, linesearch or identity())


def optimistic_adam_v2(
    learning_rate: Any,
    *,
    alpha: Any = 1.0,
    beta: Any = 1.0,
    b1: Any = 0.9,
    b2: Any = 0.999,
    eps: Any = 1e-8,
    eps_root: Any = 0.0,
    mu_dtype: Any = None,
    nesterov: bool = True,
) -> Chain:
    """Optimistic Adam, for games (Daskalakis et al., arXiv:1711.00141)."""
    direction = r.scale_by_adam(b1, b2, eps, eps_root, mu_dtype, nesterov=nesterov)
    ahead = t.scale_by_optimistic_gradient(alpha, beta)
    return chain(direction, ahead, t.scale_by_learning_rate(learning_rate))


def polyak_sgd(
    max_learning_rate: Any = 1.0,
    scaling: Any = 1.0,
    f_min: Any = 0.0,
    eps: Any = 0.0,
    variant: str = "sps",
) -> Chain:
    """Gradient descent with Polyak's step size, from the loss, which update takes as value=."""
    return chain(sgd(scaling), t.scale_by_polyak(f_min, max_learning_rate, eps, variant))


def rmsprop(
    learning_rate: Any,
    decay: Any = 0.9,
    eps: Any = 1e-8,
    initial_scale: Any = 0.0,
    eps_in_sqrt: bool = True,
    centered: bool = False,
    momentum: Any = None,
    nesterov: bool = False,
    bias_correction: bool = False,
) -> Chain:
    """RMSProp (Tieleman and Hinton, 2012); centered divides by the standard deviation instead."""
    scale = r.scale_by_stddev if centered else r.scale_by_rms
    return chain(
        scale(decay, eps, initial_scale, eps_in_sqrt, bias_correction),
        t.scale_by_learning_rate(learning_rate),
        identity() if momentum is None else r.trace(momentum, nesterov),
    )


def rprop(
    learning_rate: Any,
    eta_minus: Any = 0.5,
    eta_plus: Any = 1.2,
    min_step_size: Any = 1e-6,
    max_step_size: Any = 50.0,
) -> Chain:
    """Resilient back-propagation (Riedmiller and Braun, 1993)."""
    direction = r.scale_by_rprop(learning_rate, eta_minus, eta_plus, min_step_size, max_step_size)
    return chain(direction, t.scale(-1.0))


def signum(learning_rate: Any, beta: Any = 0.9, accumulator_dtype: Any = None) -> Chain:
    """Gradient descent with signs of moving averages (Bernstein et al., arXiv:1802.04434)."""
    average = r.ema(beta, debias=False, accumulator_dtype=accumulator_dtype)
    return chain(average, t.scale_by_sign(), t.scale_by_learning_rate(learning_rate))


def sm3(learning_rate: Any, momentum: Any = 0.9) -> Chain:
    """SM3 (Anil et al., arXiv:1901.11150): second moments stored as maxima along axes."""
    return chain(r.scale_by_sm3(momentum), t.scale(-learning_rate))
