"""Training steps as one compiled program."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from polygrad._library import ArgumentError, caller, fail, lib, need
from polygrad._prototypes import POLY_TRACE_FIXED
from polygrad._trace import Function, Program
from polygrad.nn.state import get_state_dict
from polygrad.tensor import Tensor

if TYPE_CHECKING:
    import numpy as np


_rerun = lib.poly_function_rerun


class CompiledTrainingStep(Program):
    """A program that was traced from a function of tensors; see compile_step."""

    def __init__(self, function: Function) -> None:
        need(Function, "function", function, "what compile_step makes")
        self._function = function
        self._handle = function._handle
        self._results = [result for result in function.same if result is not None]

    def run(self) -> None:
        """Execute all kernels: forward, backward and the update."""
        if _rerun(self._handle) != 0:
            fail(RuntimeError)

    def __call__(self) -> None:
        """Execute all kernels."""
        self.run()

    def loss_value(self) -> float:
        """Return the loss of the last run, computed before its update."""
        if not self._results or self._results[0].numel() != 1:
            raise ValueError(f"{caller()}: the function does not return a tensor with one element")
        return float(self._results[0].item())

    @property
    def outputs(self) -> list[np.ndarray[Any, Any]]:
        """The memory of all results of the function, written by each run."""
        return [result._data for result in self._results]


def compile_step(function: Callable[..., Any], *args: Any, **kwargs: Any) -> CompiledTrainingStep:
    """Trace a training step and compile it into one program.

    function(*args) is called once. It may compute, call backward and step an optimizer, and
    returns the loss, a tuple of tensors (the loss first) or None; it must not read values.
    The tensors that it uses are inputs of the program: write new data into them (x.assign(batch))
    and call run() again. Numbers and shapes are constants of the program.

    >>> from polygrad.nn import Linear, SGD, get_parameters
    >>> model = Linear(2, 1)
    >>> optimizer = SGD(get_parameters(model), lr=0.1)
    >>> x, y = Tensor([[1.0, 2.0]]), Tensor([[3.0]])
    >>> def train(x, y):
    ...     optimizer.zero_grad()
    ...     loss = (model(x) - y).square().mean()
    ...     loss.backward()
    ...     optimizer.step()
    ...     return loss
    >>> step = compile_step(train, x, y)
    >>> for _ in range(50):
    ...     step.run()
    >>> step.loss_value() < 1e-3
    True
    """
    need(Callable, "function", function, "a function")
    inputs = list(get_state_dict([args, kwargs]).values())
    if inputs:
        inputs[0].realize(*inputs[1:])

    def trace() -> tuple[Any, list[Tensor]]:
        result = function(*args, **kwargs)
        if result is None:
            result = ()
        elif not isinstance(result, (tuple, list)):
            result = (result,)
        if not all(isinstance(t, Tensor) for t in result):
            raise TypeError("compile_step: the function must return tensors or None")
        return None, list(result)

    return CompiledTrainingStep(
        Function("compile_step", trace, (), POLY_TRACE_FIXED, ArgumentError)
    )
