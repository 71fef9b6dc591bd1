"""Optimizers: they hold parameters and change them by their gradients.

Names, arguments and formulas are tinygrad's, each with the paper that it comes from. Three
things are up to the caller here: step() works outside of Tensor.train() too, since it has no
randomness that the mode would switch off; a parameter without a gradient stays as it is; and
fused changes nothing, because all updates of a step are one program anyway.
"""

from __future__ import annotations

import ctypes
import math
from typing import TYPE_CHECKING, Any

from polygrad._base import handles, made, release_dead
from polygrad._library import fail, lib
from polygrad.dtype import dtypes
from polygrad.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def _number(owner: object, name: str, value: Any, below: float = math.inf) -> float:
    """Return a setting as a number, from 0 on and less than below."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        kind = type(value).__name__
        raise TypeError(f"{type(owner).__name__}: {name}: a {kind}, expected a number") from None
    if not 0 <= number < below:
        limit = "0 or more" if below == math.inf else f"0 or more and less than {below:g}"
        raise ValueError(f"{type(owner).__name__}: {name}: {value}, expected {limit}")
    return number


# What poly_optim_state is asked for.
_RATE, _POWERS, _FIRST, _SECOND = 0, 2, 3, 4


class Optimizer:
    """The base class of optimizers.

    params are tensors of floating types, each of which counts once. They are made to require
    gradients; tensors with requires_grad=False, and tensors of integers, are buffers, which no
    step changes. step() computes all new values from the old ones, in one program, and writes
    them in place.
    """

    # The rate that schedules begin with, kept by the first of them.
    initial_lr: Tensor | None = None
    _optim: int | None = None

    def __init__(self, params: Iterable[Tensor], lr: float, fused: bool = False) -> None:
        name = type(self).__name__
        if isinstance(params, Tensor):
            raise TypeError(f"{name}: params is a tensor, expected a list of them")
        given = list({id(p): p for p in params}.values())
        for i, p in enumerate(given):
            if not isinstance(p, Tensor):
                raise TypeError(f"{name}: params[{i}]: a {type(p).__name__}, expected a tensor")
        self.buffers = [
            p for p in given if p.requires_grad is False or not dtypes.is_float(p.dtype)
        ]
        left = set(map(id, self.buffers))
        self.params = [p for p in given if id(p) not in left]
        if not self.params:
            raise ValueError(f"{name}: params is empty, expected tensors of floating types")
        self.fused = fused
        _number(self, "lr", lr)

    def _begin(self, function: Any, lr: float, *settings: Any) -> None:
        """Make the optimizer of the library."""
        self._optim = function(handles(self.params), len(self.params), float(lr), *settings)
        if self._optim is None:
            fail()
        for p in self.params:
            p._frozen = False
        # A leaf rather than a constant: another rate needs no other program.
        self._lr = self._of(_RATE, 0)

    def __del__(self, _release: Any = lib.poly_optim_release) -> None:
        if getattr(self, "_optim", None) is not None:
            _release(self._optim)

    def _of(self, what: int, i: int) -> Tensor:
        """Return a tensor of the state."""
        tensor = made(Tensor, lib.poly_optim_state(self._optim, what, i))
        tensor._frozen = True
        return tensor

    def _each(self, what: int) -> list[Tensor]:
        return [self._of(what, i) for i in range(len(self.params))]

    @property
    def lr(self) -> Tensor:
        """The learning rate, a tensor of one element.

        Programs of compile_step read it: lr.assign(x), or optimizer.lr = x, changes the rate of
        the steps that follow and compiles nothing.
        """
        return self._lr

    @lr.setter
    def lr(self, value: float | Tensor) -> None:
        if isinstance(value, Tensor):
            self._lr.assign(value.reshape(1).cast(self._lr.dtype))
        else:
            self._lr.assign(_number(self, "lr", value))

    @property
    def device(self) -> str:
        """The device of the parameters."""
        return self.params[0].device

    def zero_grad(self) -> None:
        """Forget the gradients of all parameters."""
        for param in self.params:
            param.grad = None

    def step(self) -> None:
        """Change each parameter that has a gradient."""
        members = self._members()
        release_dead()
        given = (ctypes.c_void_p * len(members))(*(o._optim for o in members))
        if lib.poly_optim_step(given, len(members)) != 0:
            fail()

    def _members(self) -> Sequence[Optimizer]:
        """Return the optimizers that step."""
        if self._optim is None:
            raise TypeError("Optimizer is only a base; use SGD, Adam or another one")
        return (self,)

    def schedule_step(self) -> list[Tensor]:
        """Do a step; return the parameters, state and buffers for a program to realize.

        >>> p = Tensor([1.0], requires_grad=True)
        >>> optimizer = SGD([p], lr=0.5)
        >>> loss = p.sum().backward()
        >>> loss.realize(*optimizer.schedule_step()).item(), p.item()
        (1.0, 0.5)
        """
        self.step()
        return [*self._tensors(), *self.params, *self.buffers]

    def _tensors(self) -> list[Tensor]:
        """Return the state."""
        return []


class OptimizerGroup(Optimizer):
    """Several optimizers whose step is one program.

    >>> a, b = Tensor([1.0], requires_grad=True), Tensor([1.0], requires_grad=True)
    >>> group = OptimizerGroup(SGD([a], lr=0.5), SGD([b], lr=0.25))
    >>> loss = (a + b).sum().backward()
    >>> group.step()
    >>> a.item(), b.item(), group[1].lr.item()
    (0.5, 0.75, 0.25)
    """

    def __init__(self, *optimizers: Optimizer) -> None:
        if not optimizers:
            raise ValueError("OptimizerGroup: no optimizers, expected one or more")
        for optimizer in optimizers:
            if not isinstance(optimizer, Optimizer):
                kind = type(optimizer).__name__
                raise TypeError(f"OptimizerGroup: a {kind}, expected optimizers")
        self.optimizers = optimizers
        self.params = [p for o in optimizers for p in o.params]
        self.buffers = [b for o in optimizers for b in o.buffers]

    def __getitem__(self, i: int) -> Optimizer:
        return self.optimizers[i]

    @property
    def lr(self) -> Tensor:
        """Each optimizer has its own rate."""
        raise AttributeError("OptimizerGroup has no lr; its optimizers have: group[0].lr")

    @lr.setter
    def lr(self, value: float | Tensor) -> None:
        raise AttributeError("OptimizerGroup has no lr; its optimizers have: group[0].lr")

    def _tensors(self) -> list[Tensor]:
        return [t for o in self.optimizers for t in o._tensors()]

    def _members(self) -> Sequence[Optimizer]:
        return [member for o in self.optimizers for member in o._members()]


class LARS(Optimizer):
    """Layer-wise adaptive rate scaling (You, Gitman and Ginsburg, arXiv:1708.03888).

    The rate of a parameter p with the gradient g is lr * tcoef * |p| / (|g| + weight_decay * |p|),
    or lr if tcoef is 0. g += weight_decay * p; b = momentum * b + rate * g; p -= b. Unless
    classic, b = momentum * b + g and p -= rate * b. nesterov looks one step ahead: momentum * b + g
    stands for b in the last step. With ns_coefficients the step is made orthogonal by ns_steps of
    Newton and Schulz's iteration. Without pre_wd the parameter itself shrinks by lr * weight_decay.

    >>> p = Tensor([3.0, 4.0], requires_grad=True)
    >>> optimizer = LARS([p], lr=1.0, momentum=0.0, weight_decay=0.0, tcoef=0.5)
    >>> loss = p.sum().backward()
    >>> optimizer.step()
    >>> print(p.numpy().round(3))  # a step as long as half of p
    [1.232 2.232]
    """

    def __init__(
        self,
        params: Iterable[Tensor],
        lr: float = 0.001,
        momentum: float = 0.9,
        weight_decay: float = 1e-4,
        ns_steps: int = 0,
        ns_coefficients: Sequence[float] | None = None,
        nesterov: bool = False,
        classic: bool = True,
        pre_wd: bool = True,
        tcoef: float = 0.001,
        fused: bool = False,
    ) -> None:
        super().__init__(params, lr, fused)
        self.momentum = _number(self, "momentum", momentum)
        self.wd = _number(self, "weight_decay", weight_decay)
        self.tcoef = _number(self, "tcoef", tcoef)
        self.ns_steps = ns_steps
        self.ns_coefficients = None if ns_coefficients is None else tuple(ns_coefficients)
        self.nesterov, self.classic, self.pre_wd = nesterov, classic, pre_wd
        for p in self.params if self.ns_coefficients else ():
            if p.ndim == 0:
                name = type(self).__name__
                raise ValueError(f"{name}: params: a scalar, expected 1 dimension or more")
        factors = self.ns_coefficients or ()
        self._begin(
            lib.poly_optim_lars,
            lr,
            self.momentum,
            self.wd,
            self.tcoef,
            nesterov,
            classic,
            not pre_wd,
            ns_steps,
            (ctypes.c_double * len(factors))(*factors),
            len(factors),
        )
        self.b = self._each(_FIRST) if momentum else []

    def _tensors(self) -> list[Tensor]:
        return self.b


class SGD(LARS):
    """Gradient descent: g += weight_decay * p, b = momentum * b + g, p -= lr * b.

    nesterov looks one step ahead: p -= lr * (g + momentum * b). With classic the rate goes into
    the momentum: b = momentum * b + lr * g, p -= b.

    >>> p = Tensor([1.0], requires_grad=True)
    >>> optimizer = SGD([p], lr=0.5)
    >>> loss = (p * p).sum().backward()
    >>> optimizer.step()
    >>> p.tolist()
    [0.0]
    """

    def __init__(
        self,
        params: Iterable[Tensor],
        lr: float = 0.001,
        momentum: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
        classic: bool = False,
        fused: bool = False,
    ) -> None:
        super().__init__(
            params,
            lr,
            momentum,
            weight_decay,
            nesterov=nesterov,
            classic=classic,
            tcoef=0.0,
            fused=fused,
        )


class Muon(LARS):
    """Gradient descent by steps that are made orthogonal (Jordan et al., 2024; arXiv:2502.16982).

    The step is newton_schulz(g + momentum * b, ns_steps, ns_coefficients), of a parameter as a
    matrix of its first axis and all others together; decay shrinks the parameter itself. It is
    meant for matrices: give biases, norms and embeddings to AdamW (see OptimizerGroup).

    >>> p = Tensor([[1.0, 0.0], [0.0, 1.0]], requires_grad=True)
    >>> optimizer = Muon([p], lr=0.1, weight_decay=0.0, ns_steps=20, ns_coefficients=(1.5, -0.5))
    >>> loss = (p * Tensor([[3.0, 0.0], [0.0, 4.0]])).sum().backward()
    >>> optimizer.step()
    >>> print(p.numpy().round(3) + 0)
    [[0.9 0. ]
     [0.  0.9]]
    """

    def __init__(
        self,
        params: Iterable[Tensor],
        lr: float = 0.001,
        momentum: float = 0.95,
        weight_decay: float = 0.1,
        ns_steps: int = 5,
        ns_coefficients: Sequence[float] = (3.4445, -4.775, 2.0315),
        nesterov: bool = True,
        fused: bool = False,
    ) -> None:
        super().__init__(
            params,
            lr,
            momentum,
            weight_decay,
            ns_steps,
            ns_coefficients,
            nesterov,
            classic=False,
            pre_wd=False,
            tcoef=0.0,
            fused=fused,
        )


class LAMB(Optimizer):
    """Moments, and the ratio of norms of each parameter (You et al., arXiv:1904.00962).

    m = b1 * m + (1 - b1) * g, v = b2 * v + (1 - b2) * g^2, and after t steps the step is
    s = m / (1 - b1^t) / (sqrt(v / (1 - b2^t)) + eps) + weight_decay * p; p -= lr * |p| / |s| * s.
    A ratio of which a norm is 0 counts as 1; adam leaves it out.

    >>> p = Tensor([3.0, 4.0], requires_grad=True)
    >>> optimizer = LAMB([p], lr=0.1)
    >>> loss = p.sum().backward()
    >>> optimizer.step()
    >>> print(p.numpy().round(3))  # a step as long as a tenth of p
    [2.646 3.646]
    """

    # Whether decay is added to the gradient instead.
    _coupled = False

    def __init__(
        self,
        params: Iterable[Tensor],
        lr: float = 0.001,
        b1: float = 0.9,
        b2: float = 0.999,
        eps: float = 1e-6,
        weight_decay: float = 0.0,
        adam: bool = False,
        fused: bool = False,
        *,
        betas: Sequence[float] | None = None,
    ) -> None:
        super().__init__(params, lr, fused)
        if betas is not None:
            b1, b2 = betas
        self.b1, self.b2 = _number(self, "b1", b1, 1), _number(self, "b2", b2, 1)
        self.eps = _number(self, "eps", eps)
        self.wd = _number(self, "weight_decay", weight_decay)
        self.adam = adam
        given = (self.b1, self.b2, self.eps, self.wd, adam, self._coupled)
        self._begin(lib.poly_optim_lamb, lr, *given)
        # The powers b^t, in float64 because they come close to 1 and are subtracted from it.
        self.b1_t, self.b2_t = self._of(_POWERS, 0), self._of(_POWERS, 1)
        self.m, self.v = self._each(_FIRST), self._each(_SECOND)

    def _tensors(self) -> list[Tensor]:
        return [self.b1_t, self.b2_t, *self.m, *self.v]


class Adam(LAMB):
    """Adam (Kingma and Ba, arXiv:1412.6980); weight_decay is added to the gradient.

    betas stands for the pair of b1 and b2.

    >>> p = Tensor([1.0], requires_grad=True)
    >>> optimizer = Adam([p], lr=0.5)
    >>> loss = (p * p).sum().backward()
    >>> optimizer.step()
    >>> round(p.item(), 4)
    0.5
    """

    _coupled = True

    def __init__(
        self,
        params: Iterable[Tensor],
        lr: float = 0.001,
        b1: float = 0.9,
        b2: float = 0.999,
        eps: float = 1e-8,
        fused: bool = False,
        *,
        betas: Sequence[float] | None = None,
        weight_decay: float = 0.0,
    ) -> None:
        super().__init__(params, lr, b1, b2, eps, weight_decay, True, fused, betas=betas)


class AdamW(LAMB):
    """Adam whose weight decay acts on the parameter itself (arXiv:1711.05101).

    p -= lr * weight_decay * p beside the step of Adam (Loshchilov and Hutter).

    >>> p = Tensor([1.0], requires_grad=True)
    >>> optimizer = AdamW([p], lr=0.5, weight_decay=0.1)
    >>> loss = (p * p).sum().backward()
    >>> optimizer.step()
    >>> round(p.item(), 4)
    0.45
    """

    def __init__(
        self,
        params: Iterable[Tensor],
        lr: float = 0.001,
        b1: float = 0.9,
        b2: float = 0.999,
        eps: float = 1e-8,
        weight_decay: float = 0.01,
        fused: bool = False,
        *,
        betas: Sequence[float] | None = None,
    ) -> None:
        super().__init__(params, lr, b1, b2, eps, weight_decay, True, fused, betas=betas)
