"""The base classes of optimizers."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterable
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from polygrad._base import arguments, made, release_dead
from polygrad._graph import CTX
from polygrad._library import check, fail, lib, need, need_error, number, wrong
from polygrad.dtype import dtypes
from polygrad.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Sequence


# Kinds of state for poly_optim_state: learning rate, common state, state of each parameter.
_RATE, _POWERS, _FIRST = 0, 2, 3
_ARGUMENT = 16  # bytes of a PolyCallArg


def tensors(argument: str, given: Any) -> list[Tensor]:
    """Return an argument as a list of tensors."""
    expected = "a list of tensors"
    if isinstance(given, Tensor):
        raise need_error(argument, given, expected)
    all_ = list(need(Iterable, argument, given, expected))
    return [need(Tensor, f"{argument}[{i}]", t, "a tensor") for i, t in enumerate(all_)]


def two(argument: str, given: Any) -> tuple[Any, Any]:
    """Return an argument as two numbers."""
    if len(need((list, tuple), argument, given, "two numbers")) != 2:
        raise wrong(argument, given, "two numbers")
    return given[0], given[1]


class Optimizer:
    """The base class of optimizers.

    params are tensors of floating types; duplicates are dropped. They are made to require
    gradients; tensors with requires_grad=False, and tensors of integers, are buffers, which no
    step changes. step() computes all new values from the old ones, in one program, and writes
    them in place.
    """

    # The initial rate for schedules, set by the first of them.
    initial_lr: Tensor | None = None
    _optim: int | None = None
    # Attribute names of state that is common to all parameters, and of state of each parameter.
    _shared: tuple[str, ...] = ()
    _states: tuple[str, ...] = ()

    wd = property(attrgetter("weight_decay"), doc="weight_decay, as tinygrad calls it.")

    def __init__(self, params: Iterable[Tensor], lr: float = 0.001, fused: bool = False) -> None:
        raise TypeError("Optimizer is only a base; use SGD, Adam or another one")

    def _begin(self, op: int, params: Iterable[Tensor], fused: bool, **settings: Any) -> None:
        """Make the optimizer of the library."""
        given = list({id(p): p for p in tensors("params", params)}.values())
        self.buffers = [
            p for p in given if p.requires_grad is False or not dtypes.is_float(p.dtype)
        ]
        left = set(map(id, self.buffers))
        self.params = [p for p in given if id(p) not in left]
        if not self.params:
            raise wrong("params", "is empty", "tensors of floating types")
        states, packed = ctypes.c_int(), arguments(self.params, *settings.values())
        self._optim = lib.poly_optim_new(
            CTX, op, packed, len(packed) // _ARGUMENT, ctypes.byref(states)
        )
        if self._optim is None:
            fail()
        for p in self.params:
            p._frozen = False
        self.fused = fused
        del settings["lr"]
        vars(self).update(settings)
        # The rate is a buffer, not a constant, so that compiled steps stay valid when it changes.
        vars(self)["lr"] = self._of(_RATE, 0)
        for i, state in enumerate(self._shared):
            setattr(self, state, self._of(_POWERS, i))
        for what, state in enumerate(self._states, _FIRST):
            has = what < _FIRST + states.value
            all_ = [self._of(what, i) for i in range(len(self.params))] if has else []
            setattr(self, state, all_)

    def __del__(self, _release: Any = lib.poly_optim_release) -> None:
        if getattr(self, "_optim", None) is not None:
            _release(self._optim)

    def _of(self, what: int, i: int) -> Tensor:
        """Return a tensor of the state."""
        tensor = made(Tensor, lib.poly_optim_state(self._optim, what, i))
        tensor._frozen = True
        return tensor

    @property
    def lr(self) -> Tensor:
        """The learning rate, a tensor of one element.

        Programs of compile_step read it: lr.assign(x), or optimizer.lr = x, changes the rate of
        the steps that follow and compiles nothing.
        """
        rate: Tensor = vars(self)["lr"]
        return rate

    @lr.setter
    def lr(self, value: float | Tensor) -> None:
        if isinstance(value, Tensor):
            self.lr.assign(value.reshape(1).cast(self.lr.dtype))
        else:
            rate = number("lr", value)
            if not 0 <= rate < math.inf:
                raise wrong("lr", value, "0 or more")
            self.lr.assign(rate)

    @property
    def device(self) -> str:
        """The device of the parameters."""
        return self.params[0].device

    def zero_grad(self) -> None:
        """Remove the gradients of all parameters."""
        for param in self.params:
            param.grad = None

    def step(self) -> None:
        """Update each parameter that has a gradient."""
        members = self._members()
        release_dead()
        given = (ctypes.c_void_p * len(members))(*(o._optim for o in members))
        check(lib.poly_optim_step(given, len(members)))

    def _members(self) -> Sequence[Optimizer]:
        """Return the optimizers that a step updates."""
        return (self,)

    def schedule_step(self) -> list[Tensor]:
        """Do a step; return the parameters, state and buffers for a program to realize.

        >>> from polygrad.nn import SGD
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
        shared = [getattr(self, name) for name in self._shared]
        return [*shared, *(t for name in self._states for t in getattr(self, name))]


class OptimizerGroup(Optimizer):
    """Several optimizers whose step is one program.

    >>> from polygrad.nn import SGD
    >>> a, b = Tensor([1.0], requires_grad=True), Tensor([1.0], requires_grad=True)
    >>> group = OptimizerGroup(SGD([a], lr=0.5), SGD([b], lr=0.25))
    >>> loss = (a + b).sum().backward()
    >>> group.step()
    >>> a.item(), b.item(), group[1].lr.item()
    (0.5, 0.75, 0.25)
    """

    def __init__(self, *optimizers: Optimizer) -> None:
        if not optimizers:
            raise wrong("optimizers", "none", "one or more")
        for optimizer in optimizers:
            need(Optimizer, "optimizers", optimizer, "optimizers")
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
