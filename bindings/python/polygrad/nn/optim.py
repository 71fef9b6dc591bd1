"""Optimizers: they hold parameters and change them by their gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from polygrad.tensor import Tensor, assign, settle

if TYPE_CHECKING:
    from collections.abc import Sequence


class Optimizer:
    """What all optimizers share.

    step() computes all new values from the old ones, in one program, and writes them in place.
    """

    def __init__(self, params: Sequence[Tensor], lr: float) -> None:
        if isinstance(params, Tensor):
            raise TypeError(f"{type(self).__name__}: params is a tensor, expected a list of them")
        # A parameter that a model uses in two places is updated once.
        self.params = list({id(p): p for p in params}.values())
        if not self.params:
            raise ValueError(f"{type(self).__name__}: params is empty")
        if lr < 0:
            raise ValueError(f"{type(self).__name__}: lr: {lr}, expected 0 or more")
        for param in self.params:
            settle(param)
            if not param.requires_grad:
                param.requires_grad = True
        # A leaf rather than a constant: another rate needs no other program.
        self._lr = Tensor(np.array(lr, dtype=np.float32))

    @property
    def lr(self) -> float:
        """The learning rate."""
        return float(self._lr._data)

    @lr.setter
    def lr(self, value: float) -> None:
        self._lr._data[()] = value

    def zero_grad(self) -> None:
        """Forget the gradients of all parameters."""
        for param in self.params:
            param.grad = None

    def step(self) -> None:
        """Change each parameter that has a gradient."""
        targets: list[Tensor] = []
        values: list[Tensor] = []
        chosen = [i for i, p in enumerate(self.params) if p.grad is not None]
        if not chosen:
            return
        common = self._begin(targets, values)
        for i in chosen:
            param = self.params[i]
            assert param.grad is not None
            self._update(i, param.detach(), param.grad.detach(), common, targets, values)
        assign(targets, values)

    def _state(self) -> list[Tensor]:
        """Return a tensor of zeros for each parameter."""
        return [Tensor(np.zeros(p.shape, p.dtype.storage), dtype=p.dtype) for p in self.params]

    def _begin(self, targets: list[Tensor], values: list[Tensor]) -> list[Tensor]:
        """Add updates that concern no single parameter; return what all of them need."""
        del targets, values
        return []

    def _update(
        self,
        i: int,
        param: Tensor,
        grad: Tensor,
        common: list[Tensor],
        targets: list[Tensor],
        values: list[Tensor],
    ) -> None:
        """Add the updates of parameter i and of its state."""
        raise TypeError("Optimizer is only a base; use SGD, Adam or AdamW")


class SGD(Optimizer):
    """Gradient descent: b = momentum * b + grad + weight_decay * p, p -= lr * b.

    nesterov looks one step ahead: p -= lr * (grad + weight_decay * p + momentum * b).

    >>> p = Tensor([1.0], requires_grad=True)
    >>> optimizer = SGD([p], lr=0.5)
    >>> loss = (p * p).sum().backward()
    >>> optimizer.step()
    >>> p.tolist()
    [0.0]
    """

    def __init__(
        self,
        params: Sequence[Tensor],
        lr: float = 0.01,
        momentum: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
    ) -> None:
        super().__init__(params, lr)
        self.momentum = momentum
        self.weight_decay = weight_decay
        self.nesterov = nesterov
        self.b = self._state() if momentum else []

    def _update(
        self,
        i: int,
        param: Tensor,
        grad: Tensor,
        common: list[Tensor],
        targets: list[Tensor],
        values: list[Tensor],
    ) -> None:
        if self.weight_decay:
            grad = grad + param * self.weight_decay
        if self.momentum:
            b = self.b[i] * self.momentum + grad
            targets.append(self.b[i])
            values.append(b)
            grad = b * self.momentum + grad if self.nesterov else b
        targets.append(self.params[i])
        values.append(param - self._lr * grad)


class Adam(Optimizer):
    """Adam (Kingma and Ba, 2015); weight_decay is added to the gradient.

    >>> p = Tensor([1.0], requires_grad=True)
    >>> optimizer = Adam([p], lr=0.5)
    >>> loss = (p * p).sum().backward()
    >>> optimizer.step()
    >>> round(p.item(), 4)
    0.5
    """

    decoupled = False

    def __init__(
        self,
        params: Sequence[Tensor],
        lr: float = 0.001,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ) -> None:
        super().__init__(params, lr)
        self.betas = betas
        self.eps = eps
        self.weight_decay = weight_decay
        self.m = self._state()
        self.v = self._state()
        # The powers beta^t, in float64 because they come close to 1 and are subtracted from it.
        self._powers = [Tensor(np.array(1.0)), Tensor(np.array(1.0))]

    def _begin(self, targets: list[Tensor], values: list[Tensor]) -> list[Tensor]:
        powers = [p * b for p, b in zip(self._powers, self.betas)]
        targets += self._powers
        values += powers
        # Not kept: the tensors of an optimizer are its state.
        return [(1 / (1 - p)).float() for p in powers]

    def _update(
        self,
        i: int,
        param: Tensor,
        grad: Tensor,
        common: list[Tensor],
        targets: list[Tensor],
        values: list[Tensor],
    ) -> None:
        beta1, beta2 = self.betas
        if self.weight_decay and not self.decoupled:
            grad = grad + param * self.weight_decay
        m = self.m[i] * beta1 + grad * (1 - beta1)
        v = self.v[i] * beta2 + grad.square() * (1 - beta2)
        first, second = common
        new = param
        if self.weight_decay and self.decoupled:
            new = new * (1 - self._lr * self.weight_decay)
        new = new - self._lr * (m * first) / ((v * second).sqrt() + self.eps)
        targets += [self.params[i], self.m[i], self.v[i]]
        values += [new, m, v]


class AdamW(Adam):
    """Adam whose weight decay acts on the parameter itself (Loshchilov and Hutter, 2019)."""

    decoupled = True

    def __init__(
        self,
        params: Sequence[Tensor],
        lr: float = 0.001,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.01,
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay)
