"""polygrad: methods of Tensor, some of which are operators in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from polygrad import Tensor

if TYPE_CHECKING:
    from sweep.cases import Operation, Program


def _with_item(x: Tensor, items: Any, value: Any) -> Tensor:
    y = x.clone()
    y[tuple(items)] = value
    return y


NAMES: dict[str, Callable[..., Any]] = {
    **{name: getattr(Tensor, f"__{name}__") for name in ("floordiv", "lt", "le", "gt", "ge")},
    "T": lambda x: x.T,
    "allclose": lambda x, y: x.isclose(y).all(),  # a tensor: allclose would return a bool
    "getitem": lambda x, items: x[tuple(items)],
    "with_item": _with_item,
    "embedding": lambda x, index: x[index],
    "max_pool2d_with_indices": lambda x, *a, **k: x.max_pool2d(*a, return_indices=True, **k),
    "lstsq": lambda x, b: x.lstsq(b)[:3],  # PyTorch's default driver returns no singular values
    "einsum": lambda xs, formula: Tensor.einsum(formula, *xs),
    "cat": lambda xs, dim=0: xs[0].cat(*xs[1:], dim=dim),
    "stack": lambda xs, dim=0: xs[0].stack(*xs[1:], dim=dim),
    "meshgrid": lambda xs: xs[0].meshgrid(*xs[1:]),
}


def function(op: Operation) -> Callable[..., Any]:
    """Return the function of an operation."""
    found: Callable[..., Any] = NAMES.get(op["Name"]) or getattr(Tensor, op["Name"])
    return found


def _several(result: Any) -> list[Tensor]:
    return list(result) if isinstance(result, (tuple, list)) else [result]


def run(program: Program, *arrays: Tensor) -> list[Tensor]:
    """Return the results of a call; and gradients, if those by the results are given."""
    inputs, upstream = arrays[: program.inputs], arrays[program.inputs :]
    wanted = [x for x in inputs if upstream and x.is_floating_point()]
    for x in wanted:
        x.requires_grad = True
    with Tensor.train(program.op["Name"] == "dropout"):
        results = _several(program.apply(function(program.op), inputs))
    if program.op["View"]:
        results = [y.contiguous() for y in results]
    if not upstream:
        return results
    results = [y for y in results if y.is_floating_point()]
    loss = Tensor.stack(*((y * g).sum() for y, g in zip(results, upstream))).sum()
    return [*results, *loss.gradient(*wanted)]
