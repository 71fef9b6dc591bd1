"""Optimizers: chains of transformations, with optax's names, arguments and defaults."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from polygrad.dtype import dtypes
from polygrad.optim import _transforms as t
from polygrad.optim._base import identity
from polygrad.optim._masks import masked
from polygrad.optim._wrappers import chain

if TYPE_CHECKING:
    from polygrad.optim._base import GradientTransformation, GradientTransformationExtraArgs

    Chain = GradientTransformationExtraArgs


def _step(direction: GradientTransformation, learning_rate: Any) -> Chain:
    return chain(direction, t.scale_by_learning_rate(learning_rate))


def _decayed(
    direction: GradientTransformation, learning_rate: Any, weight_decay: Any, mask: Any
) -> Chain:
    decay = t.add_decayed_weights(weight_decay, mask)
    return chain(direction, decay, t.scale_by_learning_rate(learning_rate))


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
    first = identity() if momentum is None else t.trace(momentum, nesterov, accumulator_dtype)
    return _step(first, learning_rate)


def adam(
    learning_rate: Any,
    b1: Any = 0.9,
    b2: Any = 0.999,
    eps: Any = 1e-8,
    eps_root: Any = 0.0,
    mu_dtype: Any = None,
    *,
    nesterov: bool = False,
) -> Chain:
    """Adam (Kingma and Ba, arXiv:1412.6980)."""
    return _step(t.scale_by_adam(b1, b2, eps, eps_root, mu_dtype, nesterov=nesterov), learning_rate)


def nadam(
    learning_rate: Any,
    b1: Any = 0.9,
    b2: Any = 0.999,
    eps: Any = 1e-8,
    eps_root: Any = 0.0,
    mu_dtype: Any = None,
    *,
    nesterov: bool = True,
) -> Chain:
    """Adam with Nesterov momentum (Dozat, 2016)."""
    return adam(learning_rate, b1, b2, eps, eps_root, mu_dtype, nesterov=nesterov)


def adamw(
    learning_rate: Any,
    b1: Any = 0.9,
    b2: Any = 0.999,
    eps: Any = 1e-8,
    eps_root: Any = 0.0,
    mu_dtype: Any = None,
    weight_decay: Any = 1e-4,
    mask: Any = None,
    *,
    nesterov: bool = False,
) -> Chain:
    """Adam with decoupled weight decay (Loshchilov and Hutter, arXiv:1711.05101).

    mask says which parameters decay: see add_decayed_weights.
    """
    direction = t.scale_by_adam(b1, b2, eps, eps_root, mu_dtype, nesterov=nesterov)
    return _decayed(direction, learning_rate, weight_decay, mask)


def nadamw(
    learning_rate: Any,
    b1: Any = 0.9,
    b2: Any = 0.999,
    eps: Any = 1e-8,
    eps_root: Any = 0.0,
    mu_dtype: Any = None,
    weight_decay: Any = 1e-4,
    mask: Any = None,
    *,
    nesterov: bool = True,
) -> Chain:
    """NAdam with decoupled weight decay."""
    return adamw(
        learning_rate, b1, b2, eps, eps_root, mu_dtype, weight_decay, mask, nesterov=nesterov
    )


def adabelief(
    learning_rate: Any,
    b1: Any = 0.9,
    b2: Any = 0.999,
    eps: Any = 1e-16,
    eps_root: Any = 1e-16,
    *,
    nesterov: bool = False,
) -> Chain:
    """AdaBelief (Zhuang et al., arXiv:2010.07468)."""
    return _step(t.scale_by_belief(b1, b2, eps, eps_root, nesterov=nesterov), learning_rate)


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
        t.scale_by_adadelta(rho, eps),
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
    """Adafactor (Shazeer and Stern, arXiv:1804.04235): second moments as rows and columns."""
    steps = [
        t.scale_by_factored_rms(factored, decay_rate, decay_offset, min_dim_size_to_factor, eps)
    ]
    if clipping_threshold is not None:
        steps.append(t.clip_by_block_rms(clipping_threshold))
    if learning_rate is not None:
        steps.append(t.scale_by_learning_rate(learning_rate, flip_sign=False))
    if multiply_by_parameter_scale:
        steps.append(t.scale_by_param_block_rms())
    if momentum is not None:
        steps.append(t.ema(momentum, debias=False, accumulator_dtype=dtype_momentum))
    if weight_decay_rate is not None:
        steps.append(t.add_decayed_weights(weight_decay_rate, weight_decay_mask))
    return chain(*steps, t.scale(-1))


def adagrad(learning_rate: Any, initial_accumulator_value: Any = 0.1, eps: Any = 1e-7) -> Chain:
    """Adagrad (Duchi et al., 2011)."""
    return _step(t.scale_by_rss(initial_accumulator_value, eps), learning_rate)


def adamax(learning_rate: Any, b1: Any = 0.9, b2: Any = 0.999, eps: Any = 1e-8) -> Chain:
    """Adam with the greatest gradients for second moments (Kingma and Ba, arXiv:1412.6980)."""
    return _step(t.scale_by_adamax(b1, b2, eps), learning_rate)


def adamaxw(
    learning_rate: Any,
    b1: Any = 0.9,
    b2: Any = 0.999,
    eps: Any = 1e-8,
    weight_decay: Any = 1e-4,
    mask: Any = None,
) -> Chain:
    """Adamax with decoupled weight decay."""
    return _decayed(t.scale_by_adamax(b1, b2, eps), learning_rate, weight_decay, mask)


def adan(
    learning_rate: Any,
    b1: Any = 0.98,
    b2: Any = 0.92,
    b3: Any = 0.99,
    eps: Any = 1e-8,
    eps_root: Any = 1e-8,
    weight_decay: Any = 0.0,
    mask: Any = None,
) -> Chain:
    """Adan (Xie et al., arXiv:2208.06677)."""
    return _decayed(t.scale_by_adan(b1, b2, b3, eps, eps_root), learning_rate, weight_decay, mask)


def amsgrad(
    learning_rate: Any,
    b1: Any = 0.9,
    b2: Any = 0.999,
    eps: Any = 1e-8,
    eps_root: Any = 0.0,
    mu_dtype: Any = None,
    bias_correction_mu: bool = True,
    bias_correction_nu: bool = True,
) -> Chain:
    """AMSGrad (Reddi et al., arXiv:1904.09237)."""
    direction = t.scale_by_amsgrad(
        b1, b2, eps, eps_root, mu_dtype, bias_correction_mu, bias_correction_nu
    )
    return _step(direction, learning_rate)


def fromage(learning_rate: Any, min_norm: Any = 1e-6) -> Chain:
    """Frobenius matched descent (Bernstein et al., arXiv:2002.03432)."""

    def shrink(rate: Any) -> Any:
        return 1 / (1 + rate**2) ** 0.5

    if callable(learning_rate):
        return chain(
            t.scale_by_trust_ratio(min_norm),
            t.scale_by_learning_rate(lambda n: shrink(learning_rate(n)) * learning_rate(n)),
            t.add_decayed_weights(lambda n: shrink(learning_rate(n)) - 1),
        )
    factor = shrink(learning_rate)
    return chain(
        t.scale_by_trust_ratio(min_norm),
        t.scale_by_learning_rate(learning_rate * factor),
        t.add_decayed_weights(factor - 1),
    )


def lamb(
    learning_rate: Any,
    b1: Any = 0.9,
    b2: Any = 0.999,
    eps: Any = 1e-6,
    eps_root: Any = 0.0,
    weight_decay: Any = 0.0,
    mask: Any = None,
) -> Chain:
    """Layer-wise adaptive moments (You et al., arXiv:1904.00962)."""
    return chain(
        t.scale_by_adam(b1, b2, eps, eps_root),
        t.add_decayed_weights(weight_decay, mask),
        t.scale_by_trust_ratio(),
        t.scale_by_learning_rate(learning_rate),
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
    """Layer-wise adaptive rates (You, Gitman and Ginsburg, arXiv:1708.03888)."""
    ratio = t.scale_by_trust_ratio(trust_coefficient=trust_coefficient, eps=eps)
    return chain(
        t.add_decayed_weights(weight_decay, weight_decay_mask),
        masked(ratio, trust_ratio_mask),
        t.scale_by_learning_rate(learning_rate),
        t.trace(momentum, nesterov),
    )


def lbfgs(
    learning_rate: Any = None,
    memory_size: int = 10,
    scale_init_precond: bool = True,
    linesearch: GradientTransformation | None = None,
) -> Chain:
    """L-BFGS: steps by an approximation of the inverse Hessian.

    linesearch is a transformation that finds the size of a step, as
    scale_by_backtracking_linesearch; None takes learning_rate, or 1.
    """
    rate = t.scale(-1.0) if learning_rate is None else t.scale_by_learning_rate(learning_rate)
    direction = t.scale_by_lbfgs(memory_size, scale_init_precond)
    return chain(direction, rate, linesearch or identity())


def lion(
    learning_rate: Any,
    b1: Any = 0.9,
    b2: Any = 0.99,
    mu_dtype: Any = None,
    weight_decay: Any = 1e-3,
    mask: Any = None,
) -> Chain:
    """Lion: steps by the sign of a moment (Chen et al., arXiv:2302.06675)."""
    return _decayed(t.scale_by_lion(b1, b2, mu_dtype), learning_rate, weight_decay, mask)


def noisy_sgd(
    learning_rate: Any, eta: Any = 0.01, gamma: Any = 0.55, key: Any = None, *, seed: Any = None
) -> Chain:
    """Gradient descent with noise that decays (Neelakantan et al., arXiv:1511.06807)."""
    return _step(t.add_noise(eta, gamma, key, seed=seed), learning_rate)


def novograd(
    learning_rate: Any,
    b1: Any = 0.9,
    b2: Any = 0.25,
    eps: Any = 1e-6,
    eps_root: Any = 0.0,
    weight_decay: Any = 0.0,
) -> Chain:
    """NovoGrad (Ginsburg et al., arXiv:1905.11286)."""
    return _step(t.scale_by_novograd(b1, b2, eps, eps_root, weight_decay), learning_rate)


def optimistic_gradient_descent(learning_rate: Any, alpha: Any = 1.0, beta: Any = 1.0) -> Chain:
    """Optimistic gradient descent, for games (Mokhtari et al., arXiv:1906.01115)."""
    return _step(t.scale_by_optimistic_gradient(alpha, beta), learning_rate)


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
    direction = t.scale_by_adam(b1, b2, eps, eps_root, mu_dtype, nesterov=nesterov)
    ahead = t.scale_by_optimistic_gradient(alpha, beta)
    return chain(direction, ahead, t.scale_by_learning_rate(learning_rate))


def polyak_sgd(
    max_learning_rate: Any = 1.0,
    scaling: Any = 1.0,
    f_min: Any = 0.0,
    eps: Any = 0.0,
    variant: str = "sps",
) -> Chain:
    """Gradient descent by the value of the loss, which update takes as value=."""
    return chain(sgd(scaling), t.scale_by_polyak(f_min, max_learning_rate, eps, variant))


def radam(
    learning_rate: Any,
    b1: Any = 0.9,
    b2: Any = 0.999,
    eps: Any = 1e-8,
    eps_root: Any = 0.0,
    threshold: Any = 5.0,
    *,
    nesterov: bool = False,
) -> Chain:
    """Rectified Adam (Liu et al., arXiv:1908.03265)."""
    direction = t.scale_by_radam(b1, b2, eps, eps_root, threshold, nesterov=nesterov)
    return _step(direction, learning_rate)


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
    """RMSProp (Tieleman and Hinton, 2012); centered takes the variance of the gradient."""
    scale = t.scale_by_stddev if centered else t.scale_by_rms
    return chain(
        scale(decay, eps, initial_scale, eps_in_sqrt, bias_correction),
        t.scale_by_learning_rate(learning_rate),
        identity() if momentum is None else t.trace(momentum, nesterov),
    )


def rprop(
    learning_rate: Any,
    eta_minus: Any = 0.5,
    eta_plus: Any = 1.2,
    min_step_size: Any = 1e-6,
    max_step_size: Any = 50.0,
) -> Chain:
    """Resilient back-propagation (Riedmiller and Braun, 1993)."""
    direction = t.scale_by_rprop(learning_rate, eta_minus, eta_plus, min_step_size, max_step_size)
    return chain(direction, t.scale(-1.0))


def sign_sgd(learning_rate: Any) -> Chain:
    """Gradient descent by signs (Bernstein et al., arXiv:1802.04434)."""
    return _step(t.scale_by_sign(), learning_rate)


def signum(learning_rate: Any, beta: Any = 0.9, accumulator_dtype: Any = None) -> Chain:
    """Gradient descent by signs of averages (Bernstein et al., arXiv:1802.04434)."""
    average = t.ema(beta, debias=False, accumulator_dtype=accumulator_dtype)
    return chain(average, t.scale_by_sign(), t.scale_by_learning_rate(learning_rate))


def sm3(learning_rate: Any, momentum: Any = 0.9) -> Chain:
    """SM3 (Anil et al., arXiv:1901.11150): second moments as maxima along axes."""
    return chain(t.scale_by_sm3(momentum), t.scale(-learning_rate))


def yogi(learning_rate: Any, b1: Any = 0.9, b2: Any = 0.999, eps: Any = 1e-3) -> Chain:
    """Yogi (Zaheer et al., 2018)."""
    return _step(t.scale_by_yogi(b1, b2, eps), learning_rate)
