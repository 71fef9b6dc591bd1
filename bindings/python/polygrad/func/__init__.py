"""Function transformations: gradients, Jacobians, tangents and batches, in any order and depth.

A function takes and returns tensors, also in dicts, lists, tuples, named tuples and dataclasses.
Each call of a transformed function calls it once, on placeholders that have no elements. It
must be pure: it cannot read elements, call backward or write tensors that it has not created.
Tensors from outside are constants. Names are JAX's; torch.func's are there too.

>>> from polygrad.func import grad, vmap
>>> def loss(w, x):
...     return ((x * w).sum() - 1) ** 2
>>> w, xs = Tensor([1.0, 2.0]), Tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
>>> grad(loss)(w, xs[0]).tolist()
[0.0, 0.0]
>>> vmap(grad(loss), in_axes=(None, 0))(w, xs).tolist()  # one for each example
[[0.0, 0.0], [0.0, 2.0], [4.0, 4.0]]
"""

from __future__ import annotations

import functools
from typing import Any, Callable, NamedTuple

from polygrad._library import ArgumentError, JitError
from polygrad.dtype import DType
from polygrad.func._expr import DERIVE
from polygrad.func._jit import CacheInfo, jit, make_jaxpr
from polygrad.func._rules import (
    checkpoint,
    checkpoint_policies,
    custom_jvp,
    custom_vjp,
    custom_vmap,
    sequential_vmap,
)
from polygrad.func._traced import Function, Traced, fit, leaves_like, need_function, numbers_of
from polygrad.func._trees import LEAF, Structure, flatten, spread
from polygrad.func._trees import register as register_pytree_node
from polygrad.tensor import Tensor

__all__ = [
    "CacheInfo",
    "ShapeDtype",
    "TraceError",
    "checkpoint",
    "checkpoint_policies",
    "custom_jvp",
    "custom_vjp",
    "custom_vmap",
    "eval_shape",
    "functional_call",
    "grad",
    "grad_and_value",
    "hessian",
    "hvp",
    "jacfwd",
    "jacrev",
    "jit",
    "jvp",
    "linear_transpose",
    "linearize",
    "make_jaxpr",
    "register_pytree_node",
    "remat",
    "sequential_vmap",
    "stop_gradient",
    "tree_map",
    "value_and_grad",
    "vjp",
    "vmap",
]

#: checkpoint by its other name.
remat = checkpoint

#: The error of a function that needs a value while it is traced.
TraceError = JitError


def tree_map(f: Function, tree: Any, *rest: Any) -> Any:
    """Apply f to the leaves of a tree, and to those of further trees of the same structure.

    >>> tree_map(lambda x, y: x + y, {"a": 1, "b": (2, 3)}, {"a": 10, "b": (20, 30)})
    {'a': 11, 'b': (22, 33)}
    """
    leaves, structure = flatten(tree)
    others = [leaves_like(t, structure, "tree_map", "rest", "tree") for t in rest]
    return structure.build([f(*given) for given in zip(leaves, *others)])


def value_and_grad(
    f: Function, argnums: Any = 0, has_aux: bool = False, holomorphic: bool = False
) -> Function:
    """Return a function that computes f, a loss, and its gradients with respect to some arguments.

    The loss is a scalar. argnums is the number of an argument or a tuple of numbers; a gradient
    is a tree like its argument. With has_aux f returns a pair of the loss and auxiliary output,
    which is returned with the loss. With holomorphic the loss and the arguments are complex, and
    the gradients are the derivatives of the loss, not their conjugates.

    >>> value, gradient = value_and_grad(lambda p: (p["w"] ** 2).sum())({"w": Tensor([1.0, 3.0])})
    >>> value.item(), gradient["w"].tolist()
    (10.0, [2.0, 6.0])
    """

    @_like_function(f)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        numbers = numbers_of("grad", argnums, len(args))
        t = Traced("grad", _with_loss_first(f, has_aux), args, kwargs, set(numbers))
        chosen = [t.floats(i) for i in numbers]
        flat = [k for own in chosen for k in own]
        found = t.apply(t.expr.derive(DERIVE.GRAD + DERIVE.HOLOMORPHIC * bool(holomorphic), flat))
        grads = t.by_argument(numbers, found[: len(flat)])
        result = t.out.build(found[len(flat) :])
        return (result if has_aux else result[0]), _one(grads, argnums)

    return wrapped


def _like_function(f: Function) -> Callable[[Function], Function]:
    """Return a decorator that gives a function the name and docstring of f."""

    def named(wrapped: Function) -> Function:
        made: Function = functools.update_wrapper(wrapped, f) if callable(f) else wrapped
        return made

    return named


def _with_loss_first(f: Function, has_aux: bool) -> Function:
    need_function("grad", f)

    def call(*args: Any, **kwargs: Any) -> Any:
        result = f(*args, **kwargs)
        if has_aux and not (isinstance(result, tuple) and len(result) == 2):
            raise ArgumentError("grad: has_aux: the function returns no pair of a loss and more")
        loss = result[0] if has_aux else result
        if flatten(loss)[1] is not LEAF:
            raise ArgumentError(f"grad: the function returns {loss!r}, expected a loss: one scalar")
        return result if has_aux else (result,)

    return call


def _one(trees: tuple[Any, ...], argnums: Any) -> Any:
    return trees if isinstance(argnums, (tuple, list)) else trees[0]


def grad(
    f: Function, argnums: Any = 0, has_aux: bool = False, holomorphic: bool = False
) -> Function:
    """Return a function that computes the gradients of f, a loss, with respect to some arguments.

    With has_aux it returns the gradients and the auxiliary output of f. See value_and_grad.

    >>> grad(grad(lambda x: x**3))(2.0).item()
    12.0
    """
    both = value_and_grad(f, argnums, has_aux, holomorphic)

    @_like_function(f)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        value, grads = both(*args, **kwargs)
        return (grads, value[1]) if has_aux else grads

    return wrapped


def grad_and_value(f: Function, argnums: Any = 0, has_aux: bool = False) -> Function:
    """Return value_and_grad with its results in the order of torch.func: the gradients first."""
    both = value_and_grad(f, argnums, has_aux)

    @_like_function(f)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return both(*args, **kwargs)[::-1]

    return wrapped


def _linear(
    who: str, f: Function, primals: tuple[Any, ...], has_aux: bool
) -> tuple[Traced, list[int]]:
    """Trace a function; also return the indices of its floating tensors."""
    if has_aux:
        f = _detached_aux(f, who)
    t = Traced(who, f, primals, {})
    return t, [k for k, x in enumerate(t.tensors) if x.dtype.differentiable]


def _detached_aux(f: Function, who: str) -> Function:
    def call(*args: Any, **kwargs: Any) -> Any:
        result = f(*args, **kwargs)
        if not (isinstance(result, tuple) and len(result) == 2):
            raise ArgumentError(f"{who}: has_aux: the function returns no pair of a value and more")
        return result[0], stop_gradient(result[1])

    return call


def _split(t: Traced, found: list[Tensor], has_aux: bool) -> tuple[Any, Any, int, Structure]:
    """Return the value, the auxiliary output, the number of the value's tensors, its structure."""
    out = t.out.build(found)
    structure = t.out.children[0] if has_aux else t.out
    value, aux = out if has_aux else (out, None)
    return value, aux, structure.size, structure


def jvp(f: Function, primals: Any, tangents: Any, has_aux: bool = False) -> Any:
    """Return f of primals, and its directional derivative along tangents (forward mode).

    Both are tuples with a tree for each argument. Tangents of integers do not matter.

    >>> value, change = jvp(lambda x: x.sin(), (Tensor(0.0),), (Tensor(2.0),))
    >>> value.item(), change.item()
    (0.0, 2.0)
    """
    for name, given in (("primals", primals), ("tangents", tangents)):
        if not isinstance(given, (tuple, list)):
            raise ArgumentError(
                f"jvp: {name}: {given!r}, expected a tuple with one tree for each argument"
            )
    value, change, *aux = linearize(f, *primals, has_aux=has_aux)
    return (value, change(*tangents), *aux)


def linearize(f: Function, *primals: Any, has_aux: bool = False) -> Any:
    """Return f of primals, and its linearization, from tangents of primals to that of the result.

    The latter does not call f.

    >>> value, change = linearize(lambda x: x**2, Tensor(3.0))
    >>> value.item(), change(Tensor(1.0)).item(), change(Tensor(2.0)).item()
    (9.0, 6.0, 12.0)
    """
    t, by = _linear("jvp", f, primals, has_aux)
    value, aux, n, structure = _split(t, t.apply(t.expr), has_aux)
    expr = t.expr.derive(DERIVE.JVP, by)
    total = t.out.size

    def change(*tangents: Any) -> Any:
        given = []
        for i, tree in enumerate(tangents):
            given += leaves_like(tree, t.structures[i], "jvp", f"tangents[{i}]", f"primals[{i}]")
        if len(tangents) != len(primals):
            raise ArgumentError(
                f"jvp: {len(tangents)} tangents, expected {len(primals)} as primals"
            )
        tensors = [fit("jvp", given[k], t.tensors[k], f"the tangent of {t.names[k]}") for k in by]
        return structure.build(t.apply(expr, tensors)[total : total + n])

    return (value, change, aux) if has_aux else (value, change)


def vjp(f: Function, *primals: Any, has_aux: bool = False) -> Any:
    """Return f of primals, and its pullback, from a cotangent of the result to the gradients.

    A cotangent is a tree like the result; the gradients are a tuple with a tree for each argument,
    with None for integers. The pullback does not call f.

    >>> value, pullback = vjp(lambda x, y: x * y, Tensor(2.0), Tensor(3.0))
    >>> [g.item() for g in pullback(Tensor(1.0))]
    [3.0, 2.0]
    """
    return _pulled("vjp", DERIVE.VJP, f, primals, has_aux)


def _pulled(who: str, derivative: int, f: Function, primals: Any, has_aux: bool = False) -> Any:
    t, by = _linear(who, f, primals, has_aux)
    found = t.apply(t.expr)
    value, aux, n, structure = _split(t, found, has_aux)
    expr = t.expr.derive(derivative, by)

    def pullback(cotangent: Any) -> Any:
        given = leaves_like(cotangent, structure, who, "the cotangent", "the result")
        names = structure.paths("the cotangent")
        tensors = [fit(who, c, out, name) for c, out, name in zip(given, found, names)]
        # The auxiliary output is detached, so its cotangents do not matter: its values are passed.
        grads = dict(zip(by, t.apply(expr, [*tensors, *found[n:]])))
        leaves = iter([grads.get(k) for k in range(len(t.tensors))])
        return tuple(s._build(leaves) for s in t.structures)

    return (value, pullback, aux) if has_aux else (value, pullback)


def linear_transpose(f: Function, *primals: Any) -> Function:
    """Return the transpose of a linear function; it takes a cotangent, a tree like f's result.

    A function that is not linear is an error.

    >>> linear_transpose(lambda x: x * 3, Tensor(0.0))(Tensor(2.0))[0].item()
    6.0
    """
    pullback: Function = _pulled("linear_transpose", DERIVE.TRANSPOSE, f, primals)[1]
    return pullback


def vmap(
    f: Function,
    in_axes: Any = 0,
    out_axes: Any = 0,
    axis_size: int | None = None,
    axis_name: str | None = None,
    **torch: Any,
) -> Function:
    """Return a function that computes f for all elements of a batch at once.

    in_axes gives the batch axis of each argument: an integer, or None for an argument
    that all elements share; a tuple has one entry for each argument, which may be a tree. out_axes
    gives those of the results. Keyword arguments have batch axis 0. axis_size is needed if in_axes
    has none; axis_name names the axis for polygrad.lax.psum and others. in_dims and out_dims are
    torch.func's names for in_axes and out_axes. Random numbers are the same for all elements.

    >>> x = Tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> vmap(lambda v, w: (v * w).sum(), in_axes=(1, None))(x, Tensor([1.0, 10.0])).tolist()
    [31.0, 42.0]
    """
    in_axes, out_axes = torch.pop("in_dims", in_axes), torch.pop("out_dims", out_axes)
    if torch:
        raise ArgumentError(f"vmap: {next(iter(torch))} is no parameter")

    @_like_function(f)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        def axes(structure: Structure) -> list[Any]:
            named = sum(s.size for s in structure.children[len(args) :])
            positional = Structure(tuple, None, structure.names, structure.children[: len(args)])
            prefix = tuple(in_axes) if isinstance(in_axes, list) else in_axes
            return spread(prefix, positional, "vmap: in_axes") + [0] * named

        named = None if axis_name is None else (axis_name, -1 if axis_size is None else axis_size)
        t = Traced("vmap", f, args, kwargs, axes=axes, by=set(), axis=named)
        out = spread(out_axes, t.out, "vmap: out_axes")
        return t.out.build(t.apply(t.expr.batch(axis_size, t.axes or [], out)))

    return wrapped


def _jacobian(
    who: str, derivative: int, f: Function, argnums: Any, has_aux: bool, holomorphic: bool
) -> Function:
    derivative += DERIVE.HOLOMORPHIC * bool(holomorphic)

    @_like_function(f)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        numbers = numbers_of(who, argnums, len(args))
        t = Traced(who, _detached_aux(f, who) if has_aux else f, args, kwargs, set(numbers))
        flat = [k for i in numbers for k in t.floats(i)]
        structure = t.out.children[0] if has_aux else t.out
        value = t.expr.select(list(range(structure.size))) if has_aux else t.expr
        found = t.apply(value.derive(derivative, flat))
        rows = [found[i : i + len(flat)] for i in range(0, len(found), len(flat) or 1)]
        made = structure.build([_one(t.by_argument(numbers, row), argnums) for row in rows])
        if not has_aux:
            return made
        rest = t.expr.select(list(range(structure.size, t.out.size)))
        return made, t.out.children[1].build(t.apply(rest))

    return wrapped


def jacfwd(
    f: Function, argnums: Any = 0, has_aux: bool = False, holomorphic: bool = False
) -> Function:
    """Return a function for the Jacobian of f with respect to some arguments, in forward mode.

    For each result it is a tree like the argument, or a tuple of trees if argnums is a tuple; each
    tensor has the shape of the result followed by that of the argument. It suits functions with
    fewer inputs than outputs. With has_aux f returns a pair of a value and auxiliary output, which
    is returned with the Jacobian of the value. With holomorphic arguments and results are complex.

    >>> jacfwd(lambda x: x**2)(Tensor([1.0, 2.0])).tolist()
    [[2.0, 0.0], [0.0, 4.0]]
    """
    return _jacobian("jacfwd", DERIVE.JACFWD, f, argnums, has_aux, holomorphic)


def jacrev(
    f: Function, argnums: Any = 0, has_aux: bool = False, holomorphic: bool = False
) -> Function:
    """Return jacfwd in reverse mode, for functions with fewer results than arguments."""
    return _jacobian("jacrev", DERIVE.JACREV, f, argnums, has_aux, holomorphic)


def hessian(
    f: Function, argnums: Any = 0, has_aux: bool = False, holomorphic: bool = False
) -> Function:
    """Return a function for the second derivatives of f with respect to some arguments.

    >>> hessian(lambda x: (x**3).sum())(Tensor([1.0, 2.0])).tolist()
    [[6.0, 0.0], [0.0, 12.0]]
    """
    return jacfwd(jacrev(f, argnums, has_aux, holomorphic), argnums, has_aux, holomorphic)


def hvp(f: Function, primals: Any, vectors: Any) -> Any:
    """Return the Hessian-vector product of f, a loss.

    primals and vectors are tuples with a tree for each argument; so is the result. The Hessian is
    not computed.

    >>> hvp(lambda x: (x**3).sum(), (Tensor([1.0, 2.0]),), (Tensor([1.0, 1.0]),))[0].tolist()
    [6.0, 12.0]
    """
    return jvp(grad(f, tuple(range(len(primals)))), primals, vectors)[1]


def stop_gradient(tree: Any) -> Any:
    """Return a tree through which no derivative flows.

    >>> grad(lambda x: x * stop_gradient(x))(3.0).item()
    3.0
    """
    return tree_map(lambda x: x.detach() if isinstance(x, Tensor) else x, tree)


class ShapeDtype(NamedTuple):
    """The shape and data type of a tensor: see eval_shape."""

    shape: tuple[Any, ...]
    dtype: DType


def eval_shape(f: Function, *args: Any, **kwargs: Any) -> Any:
    """Return the shapes and data types of what f returns, without computing it.

    >>> eval_shape(lambda x: x @ x.T, Tensor.empty(1000, 2))
    ShapeDtype(shape=(1000, 1000), dtype=dtypes.float32)
    """
    t = Traced("eval_shape", f, args, kwargs)
    return t.out.build([ShapeDtype(tuple(x.shape), x.dtype) for x in t.apply(t.expr)])


def functional_call(module: Any, parameters: Any, args: Any = (), kwargs: Any = None) -> Any:
    """Call a layer with its parameters replaced, by their names in its state dict.

    Its own parameters are restored afterwards. args is a tuple of arguments, or the only one.

    >>> from polygrad import nn
    >>> layer = nn.Linear(2, 1, bias=False)
    >>> functional_call(layer, {"weight": Tensor([[1.0, 10.0]])}, Tensor([3.0, 4.0])).tolist()
    [43.0]
    """
    from polygrad.nn.state import get_state_dict

    own = get_state_dict(module)
    unknown = [name for name in parameters if name not in own]
    if unknown:
        raise ArgumentError(
            f"functional_call: parameters: {unknown[0]!r}, expected names of {sorted(own)}"
        )
    before = {name: own[name]._handle for name in parameters}
    try:
        for name, tensor in parameters.items():
            own[name]._handle = tensor._handle
        return module(*(args if isinstance(args, tuple) else (args,)), **(kwargs or {}))
    finally:
        for name, handle in before.items():
            own[name]._handle = handle
