"""Training steps as one compiled program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from polygrad._program import Program, Traced
from polygrad.nn.state import get_state_dict
from polygrad.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np


class CompiledTrainingStep:
    """A program that was traced from a function of tensors; see compile_step."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._arrays = program.arrays

    def run(self) -> None:
        """Execute all kernels: forward, backward and the update."""
        self._program.renew()
        self._program.run()

    def __call__(self) -> None:
        """Execute all kernels."""
        self.run()

    def loss_value(self) -> float:
        """Return the loss of the last run, computed before its update."""
        if not self._arrays or self._arrays[0].size != 1:
            raise ValueError("loss_value: the function does not return a tensor with one element")
        return float(self._arrays[0].item())

    @property
    def outputs(self) -> list[np.ndarray[Any, Any]]:
        """The memory of all results of the function, written by each run."""
        return self._arrays

    @property
    def n_kernels(self) -> int:
        """The number of compiled kernels."""
        return self._program.n_kernels

    @property
    def n_intermediates(self) -> int:
        """The number of intermediate buffers."""
        return self._program.n_intermediates


def compile_step(function: Callable[..., Any], *args: Any, **kwargs: Any) -> CompiledTrainingStep:
    """Trace a training step and compile it into one program.

    function(*args) is called once. It may compute, call backward and step an optimizer, and
    returns the loss, a tuple of tensors (the loss first) or None; it must not look at values.
    The tensors it used are inputs of the program: change them in place (x._data[:] = …) and
    run() again. What it did not find in tensors (numbers, the shape of things) stays as it was.

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
    inputs = list(get_state_dict([args, kwargs]).values())
    if inputs:
        inputs[0].realize(*inputs[1:])
    traced = Traced(lambda: function(*args, **kwargs), "compile_step")
    result = traced.result
    if result is None:
        result = ()
    elif not isinstance(result, (tuple, list)):
        result = (result,)
    if not all(isinstance(t, Tensor) for t in result):
        raise TypeError("compile_step: the function must return tensors or None")
    if not result and not traced.changes:
        raise ValueError("compile_step: the function returns nothing and changes nothing")
    nodes = [traced.node(t) for t in result]
    return CompiledTrainingStep(Program(nodes, traced.changes, traced.seeds))
