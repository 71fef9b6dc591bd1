"""Training steps as one compiled program."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

import numpy as np

from polygrad import _random
from polygrad._graph import CTX, Node, describe, handles, pointer
from polygrad._library import fail, lib
from polygrad._memory import empty
from polygrad._trace import Trace
from polygrad.nn.state import get_state_dict
from polygrad.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# poly_step_run without bindings, the call of a training loop. What stands behind the declared
# arguments ctypes passes as it is: None and 0, with a third of the time gone.
_run: Any = lib["poly_step_run"]
_run.argtypes = [ctypes.c_void_p]
_run.restype = ctypes.c_int


class CompiledTrainingStep:
    """A program that was traced from a function of tensors; see compile_step."""

    def __init__(
        self,
        results: Sequence[Node],
        changes: Sequence[tuple[Node, Node]],
        seeds: list[np.ndarray[Any, Any]],
    ) -> None:
        self._seeds = seeds
        # The program works on the memory of these nodes.
        self._alive = (results, changes)
        self._arrays = []
        for node in results:
            shape, dtype = describe(node)
            array = empty(shape, dtype.storage)
            array[...] = 0
            self._arrays.append(array)
        n = len(self._arrays)
        memory = (ctypes.c_void_p * n)(*[pointer(a) for a in self._arrays])
        self._handle = lib.poly_compile_update(
            CTX,
            handles(results),
            memory,
            n,
            handles(before for before, _ in changes),
            handles(after for _, after in changes),
            len(changes),
        )
        if self._handle is None:
            fail(RuntimeError)

    def __del__(self, _destroy: Any = lib.poly_step_destroy) -> None:
        if getattr(self, "_handle", None):
            _destroy(self._handle)

    def run(self) -> None:
        """Execute all kernels: forward, backward and the update."""
        if self._seeds:
            _random.renew(self._seeds)
        if _run(self._handle, None, 0) != 0:
            fail(RuntimeError)

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
        count: int = lib.poly_step_n_kernels(self._handle)
        return count

    @property
    def n_intermediates(self) -> int:
        """The number of intermediate buffers."""
        count: int = lib.poly_step_n_intermediates(self._handle)
        return count


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
    with Trace() as trace, _random.record_seeds() as seeds:
        result = function(*args, **kwargs)
        if result is None:
            result = ()
        elif not isinstance(result, (tuple, list)):
            result = (result,)
        if not all(isinstance(t, Tensor) for t in result):
            raise TypeError("compile_step: the function must return tensors or None")
        nodes = [t._node for t in result]
    if not nodes and not trace.changes:
        raise ValueError("compile_step: the function returns nothing and changes nothing")
    return CompiledTrainingStep(nodes, trace.changes, seeds)
