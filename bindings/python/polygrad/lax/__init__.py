"""Control flow and operations of XLA, with the names and meaning of jax.lax.

Loops and branches are nodes of the graph and run in the library: neither the graph nor the time to
compile a loop grows with the number of its steps. Their functions are called once, on placeholders,
and must be pure, as in polygrad.func; loops and transformations nest in any order. Arguments and
results are trees of tensors. Python numbers in an initial carry take the type that a step returns.

Slices, gathers and scatters with tensors as indices, reductions, windows, convolutions and sorts
are those of XLA, with JAX's names and arguments.

>>> from polygrad import lax
>>> from polygrad.func import grad
>>> def compound(rate):  # what 10 years make of 1
...     return lax.fori_loop(0, 10, lambda i, x: x * (1 + rate), 1.0)
>>> round(compound(Tensor(0.5)).item(), 3), round(grad(compound)(0.5).item(), 3)
(57.665, 384.434)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

import numpy as np

from polygrad._library import ArgumentError, ArgumentTypeError
from polygrad.dtype import DType, dtypes
from polygrad.func import stop_gradient, vmap
from polygrad.func._axes import (
    all_gather,
    axis_index,
    axis_size,
    pmax,
    pmean,
    pmin,
    ppermute,
    psum,
)
from polygrad.func._expr import Expr, trace
from polygrad.func._trees import Structure, flatten
from polygrad.lax._forms import (
    GatherDimensionNumbers,
    ScatterDimensionNumbers,
    clamp,
    conv,
    conv_general_dilated,
    conv_transpose,
    conv_with_general_padding,
    dot_general,
    dynamic_slice,
    dynamic_update_slice,
    gather,
    iota,
    pad,
    reduce,
    reduce_window,
    scatter,
    scatter_add,
    scatter_max,
    scatter_min,
    scatter_mul,
    select_and_scatter_add,
    select_n,
    sort,
    sort_key_val,
)
from polygrad.lax._operations import (
    argmax,
    argmin,
    bitcast_convert_type,
    broadcasted_iota,
    cumlogsumexp,
    cummax,
    cummin,
    cumprod,
    cumsum,
    dynamic_index_in_dim,
    dynamic_slice_in_dim,
    dynamic_update_index_in_dim,
    dynamic_update_slice_in_dim,
    reduce_and,
    reduce_max,
    reduce_min,
    reduce_or,
    reduce_precision,
    reduce_prod,
    reduce_sum,
    reduce_xor,
    rev,
    sliding_windows,
    top_k,
)
from polygrad.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "GatherDimensionNumbers",
    "ScatterDimensionNumbers",
    "all_gather",
    "argmax",
    "argmin",
    "associative_scan",
    "axis_index",
    "axis_size",
    "bitcast_convert_type",
    "broadcasted_iota",
    "clamp",
    "cond",
    "conv",
    "conv_general_dilated",
    "conv_transpose",
    "conv_with_general_padding",
    "cumlogsumexp",
    "cummax",
    "cummin",
    "cumprod",
    "cumsum",
    "dot_general",
    "dynamic_index_in_dim",
    "dynamic_slice",
    "dynamic_slice_in_dim",
    "dynamic_update_index_in_dim",
    "dynamic_update_slice",
    "dynamic_update_slice_in_dim",
    "fori_loop",
    "gather",
    "iota",
    "map",
    "pad",
    "pmax",
    "pmean",
    "pmin",
    "ppermute",
    "psum",
    "reduce",
    "reduce_and",
    "reduce_max",
    "reduce_min",
    "reduce_or",
    "reduce_precision",
    "reduce_prod",
    "reduce_sum",
    "reduce_window",
    "reduce_xor",
    "rev",
    "scan",
    "scatter",
    "scatter_add",
    "scatter_max",
    "scatter_min",
    "scatter_mul",
    "select",
    "select_and_scatter_add",
    "select_n",
    "sliding_windows",
    "sort",
    "sort_key_val",
    "stop_gradient",
    "switch",
    "top_k",
    "while_loop",
]

Function = Callable[..., Any]


def _need_function(who: str, name: str, f: Any) -> None:
    if not callable(f):
        raise ArgumentError(f"{who}: {name}: {f!r}, expected a function")


def _is_number(x: Any) -> bool:
    return isinstance(x, (bool, int, float))


def _tensor(who: str, name: str, leaf: Any, dtype: DType | None = None) -> Tensor:
    """Return a leaf as a tensor; a Python number gets the type dtype if that can hold it."""
    if isinstance(leaf, Tensor):
        return leaf
    if _is_number(leaf):
        kinds = (dtypes.is_bool, dtypes.is_int, dtypes.is_float)
        first = 0 if isinstance(leaf, bool) else 1 if isinstance(leaf, int) else 2
        fits = dtype is not None and any(kind(dtype) for kind in kinds[first:])
        return Tensor(leaf, dtype=dtype) if fits else Tensor(leaf)
    if isinstance(leaf, (np.ndarray, np.generic)):
        return Tensor(leaf)
    raise ArgumentError(f"{who}: {name} is {leaf!r}, expected a tensor or a number")


def _described(x: Tensor) -> str:
    return f"{x.dtype.name} of shape {tuple(x.shape)}"


class _Tree:
    """A tree flattened to tensors, with the path of each for errors."""

    def __init__(self, who: str, name: str, tree: Any) -> None:
        self.leaves, self.structure = flatten(tree)
        self.names = list(self.structure.paths(name))
        self.tensors = [_tensor(who, n, x) for n, x in zip(self.names, self.leaves)]

    def build(self, tensors: list[Tensor]) -> Any:
        return self.structure.build(tensors)


class _WiderError(Exception):
    """Numbers of a carry have wider types after a step: it is traced again with these."""

    def __init__(self, types: dict[int, DType]) -> None:
        super().__init__()
        self.types = types


class _Carry(_Tree):
    """The initial carry of a loop."""

    def next(self, who: str, step: str, result: Any, given: list[Tensor]) -> list[Tensor]:
        """Return the tensors of the carry after a step; check that types and shapes are kept."""
        found, structure = flatten(result)
        if structure != self.structure:
            raise ArgumentTypeError(
                f"{who}: {step} returns a carry {structure!r}, expected {self.structure!r} as "
                "it is before"
            )
        out = [_tensor(who, n, x, c.dtype) for n, x, c in zip(self.names, found, given)]
        wider = {}
        for i, (before, after) in enumerate(zip(given, out)):
            same = before.dtype == after.dtype
            if tuple(before.shape) == tuple(after.shape):
                if same:
                    continue
                if _is_number(self.leaves[i]) and _widens(before.dtype, after.dtype):
                    wider[i] = after.dtype
                    continue
            raise ArgumentTypeError(
                f"{who}: {self.names[i]} is {_described(before)}, and {_described(after)} after "
                f"{step}: expected the same type and shape"
            )
        if wider:
            raise _WiderError(wider)
        return out

    def trace(
        self,
        who: str,
        call: Callable[[list[Tensor]], list[Tensor]],
        more: Sequence[Tensor] = (),
        names: Sequence[str] = (),
    ) -> Expr:
        """Trace a step as a function of the carry and of one element of each tensor in more."""
        axes = [None] * len(self.tensors) + [0] * len(more)
        while True:
            try:
                return trace(who, [*self.tensors, *more], axes, call, [*self.names, *names])
            except _WiderError as e:  # each type widens a few times at most
                for i, dtype in e.types.items():
                    self.tensors[i] = Tensor(self.leaves[i], dtype=dtype)


def _widens(old: DType, new: DType) -> bool:
    if dtypes.is_bool(old) or dtypes.is_bool(new):
        return False
    if dtypes.is_float(old) != dtypes.is_float(new):
        return bool(dtypes.is_float(new))
    return bool(new.bitsize > old.bitsize)


def _length(who: str, sequences: _Tree, length: Any) -> int:
    """Return the number of steps: the common size of the first axes of sequences, or length."""
    if length is not None and (not isinstance(length, (int, np.integer)) or length < 0):
        raise ArgumentError(f"{who}: length: {length!r}, expected 0 or more")
    of = "length"
    for name, x in zip(sequences.names, sequences.tensors):
        if not x.shape:
            raise ArgumentError(f"{who}: {name} is a scalar, expected an axis to go along")
        if length is None:
            length, of = x.shape[0], name
        elif x.shape[0] != length:
            raise ArgumentError(
                f"{who}: {name} has shape {tuple(x.shape)}, expected {length} steps as {of} has"
            )
    if length is None:
        raise ArgumentError(f"{who}: length: None, expected a number as xs has no tensors")
    return int(length)


def scan(
    f: Function,
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
) -> tuple[Any, Any]:
    """Run a step for each element of sequences; return the last carry and the stacked outputs.

    f(carry, x) returns the next carry, a tree of the same types and shapes as init, and an output
    tree. x is the slice of xs, a tree, at one position along the first axes; outputs are stacked
    along such an axis. With reverse the steps begin at the end of xs. length is needed if xs has no
    tensors. The loop has derivatives in both modes; reverse mode stores the carry before each step
    and values that cost much to compute, and recomputes the rest. unroll is a hint that changes no
    result: the library unrolls by itself.

    >>> total, sums = scan(lambda c, x: (c + x, c + x), 0, Tensor([1, 2, 3]))
    >>> total.item(), sums.tolist()
    (6, [1, 3, 6])
    """
    return _scan("scan", f, init, xs, length, reverse, unroll)


def _scan(
    who: str, f: Function, init: Any, xs: Any, length: Any, reverse: bool, unroll: Any = 1
) -> tuple[Any, Any]:
    _need_function(who, "f", f)
    if not isinstance(unroll, int) or unroll < 0:
        raise ArgumentError(f"{who}: unroll: {unroll!r}, expected a number of steps or a bool")
    carry, sequences = _Carry(who, "init", init), _Tree(who, "xs", xs)
    steps = _length(who, sequences, length)
    n = len(carry.tensors)
    kept: list[Structure] = []

    def call(given: list[Tensor]) -> list[Tensor]:
        result = f(carry.build(given[:n]), sequences.build(given[n:]))
        if not isinstance(result, tuple) or len(result) != 2:
            raise ArgumentError(
                f"{who}: f returns {result!r}, expected a pair of the carry and what is kept"
            )
        after = carry.next(who, "a step", result[0], given[:n])
        y = _Tree(who, "what f keeps", result[1])
        kept[:] = [y.structure]
        return [*after, *y.tensors]

    if not carry.tensors and not sequences.tensors:
        # No operand tells the steps apart: zeros of that length give the number of steps.
        sequences = _Tree(who, "xs", Tensor.zeros(steps))
        inner = f
        f = lambda c, _: inner(c, xs)  # noqa: E731
    expr = carry.trace(who, call, sequences.tensors, sequences.names)
    out = expr.scan(n, steps, bool(reverse), [*carry.tensors, *sequences.tensors])
    return carry.build(out[:n]), kept[0].build(out[n:])


def while_loop(cond_fun: Function, body_fun: Function, init_val: Any) -> Any:
    """Return the value after a loop that runs while a condition holds.

    cond_fun(value) returns a bool of shape (), body_fun(value) the next value: a tree of the same
    types and shapes. The trip count is not known in advance, so there are derivatives in
    forward mode only; for reverse mode use scan or fori_loop. In vmap the loop runs until the
    condition is false for all elements; an element whose condition is false keeps its value.

    >>> while_loop(lambda x: x < 100, lambda x: x * 2, Tensor(3)).item()
    192
    """
    _need_function("while_loop", "cond_fun", cond_fun)
    _need_function("while_loop", "body_fun", body_fun)
    carry = _Carry("while_loop", "init_val", init_val)
    if not carry.tensors:
        raise ArgumentError(f"while_loop: init_val: {init_val!r}, expected a tensor in the tree")

    def call(given: list[Tensor]) -> list[Tensor]:
        on = cond_fun(carry.build(given))
        on = Tensor(on) if isinstance(on, (bool, np.bool_)) else on
        if not isinstance(on, Tensor) or on.dtype != dtypes.bool or on.shape:
            found = _described(on) if isinstance(on, Tensor) else repr(on)
            raise ArgumentError(
                f"while_loop: cond_fun returns {found}, expected a bool of shape ()"
            )
        after = carry.next("while_loop", "body_fun", body_fun(carry.build(given)), given)
        return [*after, on]

    expr = carry.trace("while_loop", call)
    return carry.build(expr.loop(carry.tensors))


def fori_loop(lower: Any, upper: Any, body_fun: Function, init_val: Any) -> Any:
    """Return the value after a loop over the integers from lower to upper - 1.

    body_fun(i, value) returns the next value, a tree of the same types and shapes; i is an int32 of
    shape (), or an int64 if the bounds need it. The loop is a scan if the bounds are Python
    numbers, and a while_loop, with derivatives in forward mode only, if one of them is a tensor.

    >>> fori_loop(1, 6, lambda i, x: x * i, Tensor(1)).item()
    120
    """
    _need_function("fori_loop", "body_fun", body_fun)
    for name, bound in (("lower", lower), ("upper", upper)):
        if isinstance(bound, Tensor):
            whole = not bound.shape and dtypes.is_int(bound.dtype)
        else:
            whole = isinstance(bound, (int, np.integer)) and not isinstance(bound, bool)
        if not whole:
            found = _described(bound) if isinstance(bound, Tensor) else repr(bound)
            raise ArgumentError(f"fori_loop: {name} is {found}, expected an integer of shape ()")
    if not isinstance(lower, Tensor) and not isinstance(upper, Tensor):
        lower, upper = int(lower), max(int(lower), int(upper))
        short = lower >= -(2**31) and upper <= 2**31
        numbers = Tensor.arange(lower, upper, dtype=dtypes.int32 if short else dtypes.int64)

        def step(value: Any, i: Tensor) -> tuple[Any, None]:
            return body_fun(i, value), None

        return _scan("fori_loop", step, init_val, numbers, None, False)[0]
    kind = next(b.dtype for b in (lower, upper) if isinstance(b, Tensor))
    start, end = (
        b.cast(kind) if isinstance(b, Tensor) else Tensor(b, dtype=kind) for b in (lower, upper)
    )
    return while_loop(
        lambda state: state[0] < end,
        lambda state: (state[0] + 1, body_fun(*state)),
        (start, init_val),
    )[1]


def map(f: Function, xs: Any, batch_size: int | None = None) -> Any:
    """Apply f to each element of trees along their first axes, in order; stack the results.

    vmap computes all elements at once. With batch_size, that many elements are computed at once.

    >>> map(lambda x: x["a"] * 2, {"a": Tensor([1, 2, 3])}).tolist()
    [2, 4, 6]
    """
    _need_function("map", "f", f)
    if batch_size is None:
        return _scan("map", lambda _, x: (None, f(x)), None, xs, None, False)[1]
    if not isinstance(batch_size, int) or batch_size < 1:
        raise ArgumentError(f"map: batch_size: {batch_size!r}, expected 1 or more")
    tree = _Tree("map", "xs", xs)
    n = _length("map", tree, None)
    whole = n - n % batch_size
    size = (n // batch_size, batch_size)
    many = vmap(f)
    parts = []
    if whole:
        rows = tree.build([x[:whole].reshape(*size, *x.shape[1:]) for x in tree.tensors])
        found, structure = flatten(
            _scan("map", lambda _, x: (None, many(x)), None, rows, None, False)[1]
        )
        parts.append([y.reshape(whole, *y.shape[2:]) for y in found])
    if whole < n or not n:
        found, structure = flatten(many(tree.build([x[whole:] for x in tree.tensors])))
        parts.append(found)
    return structure.build([Tensor.cat(*ys) for ys in zip(*parts)])


def cond(pred: Any, true_fun: Function, false_fun: Function, *operands: Any) -> Any:
    """Apply true_fun or false_fun to operands; only the chosen one is computed.

    pred is a bool of shape (), or a number, where 0 is false. Both functions return trees of the
    same types and shapes. In vmap with a batched pred both are computed.

    >>> cond(Tensor(3.0) > 2, lambda x: x + 1, lambda x: x - 1, Tensor(10)).item()
    11
    """
    chosen = _tensor("cond", "pred", pred)
    if chosen.shape:
        raise ArgumentError(f"cond: pred is {_described(chosen)}, expected a bool of shape ()")
    if chosen.dtype != dtypes.bool:
        chosen = chosen != 0
    branches = {"false_fun": false_fun, "true_fun": true_fun}
    return _choose("cond", chosen.cast(dtypes.int32), branches, operands)


def switch(index: Any, branches: Sequence[Function], *operands: Any) -> Any:
    """Apply one of several functions to operands; only the chosen one is computed.

    index is an integer of shape (), clamped to the valid range. All functions return trees of the
    same types and shapes. In vmap with a batched index all of them are computed.

    >>> double, square = lambda x: x * 2, lambda x: x * x
    >>> switch(Tensor(1), [double, square], Tensor(5)).item()
    25
    """
    chosen = _tensor("switch", "index", index)
    if chosen.shape or not dtypes.is_int(chosen.dtype):
        raise ArgumentError(
            f"switch: index is {_described(chosen)}, expected an integer of shape ()"
        )
    if not isinstance(branches, (list, tuple)) or not branches:
        raise ArgumentError(f"switch: branches: {branches!r}, expected a list of functions")
    named = {f"branches[{i}]": f for i, f in enumerate(branches)}
    return _choose("switch", chosen, named, operands)


def _choose(who: str, index: Tensor, branches: dict[str, Function], operands: Any) -> Any:
    for name, f in branches.items():
        _need_function(who, name, f)
    tree = _Tree(who, "operands", operands)
    structures: list[Structure] = []

    def call(given: list[Tensor]) -> list[Tensor]:
        found = []
        structures.clear()
        for f in branches.values():
            leaves, structure = flatten(f(*tree.build(given[1:])))
            found.append(leaves)
            structures.append(structure)
        return _alike(who, list(branches), found, structures)

    expr = trace(who, [index, *tree.tensors], None, call, ["the index", *tree.names])
    return structures[0].build(expr.switch(len(branches), [index, *tree.tensors]))


def _alike(
    who: str, names: list[str], found: list[list[Any]], structures: list[Structure]
) -> list[Tensor]:
    """Return the results of all branches, checked to have equal structures, types and shapes."""
    for name, structure in zip(names, structures):
        if structure != structures[0]:
            raise ArgumentError(
                f"{who}: {name} returns a tree {structure!r}, and {names[0]} {structures[0]!r}"
            )
    paths = list(structures[0].paths(""))
    columns = []
    for path, leaves in zip(paths, zip(*found)):
        column = [
            None
            if _is_number(x)
            else _tensor(who, f"what {name} returns{path and f' at {path}'}", x)
            for name, x in zip(names, leaves)
        ]
        # Numbers take the type of a tensor in another branch, or else of the widest number.
        numbers = [Tensor(x) for x in leaves if _is_number(x)]
        known = [x.dtype for x in column if x is not None]
        widest = known[0] if known else max((x.dtype for x in numbers), key=dtypes.is_float)
        same = [_tensor(who, path, x, widest) if t is None else t for x, t in zip(leaves, column)]
        at, want = path and f" at {path}", _described(same[0])
        for name, x in zip(names, same):
            if _described(x) != want:
                raise ArgumentError(
                    f"{who}: {name} returns {_described(x)}{at}, and {names[0]} {want}"
                )
        columns.append(same)
    return [x for branch in zip(*columns) for x in branch]


def associative_scan(fn: Function, elems: Any, reverse: bool = False, axis: int = 0) -> Any:
    """Return the prefix scan of elements by an associative function.

    fn(a, b) takes two trees like elems with size 1 along the axis; a comes before b, or after it
    with reverse. It is called once, and computed for about sqrt(n) of the n positions at once. All
    elems have the same size along the axis; results have their types and shapes.

    >>> associative_scan(lambda a, b: a * b, Tensor([1, 2, 3, 4])).tolist()
    [1, 2, 6, 24]
    """
    _need_function("associative_scan", "fn", fn)
    if not isinstance(axis, int):
        raise ArgumentError(f"associative_scan: axis: {axis!r}, expected an integer")
    tree = _Tree("associative_scan", "elems", elems)
    if not tree.tensors:
        raise ArgumentError(f"associative_scan: elems: {elems!r}, expected a tensor in the tree")
    first = tree.tensors[0].shape
    for name, x in zip(tree.names, tree.tensors):
        if not -len(x.shape) <= axis < len(x.shape):
            raise ArgumentError(
                f"associative_scan: {name} has shape {tuple(x.shape)}, which has no axis {axis}"
            )
        if x.shape[axis] != first[axis]:
            raise ArgumentError(
                f"associative_scan: {name} has shape {tuple(x.shape)}, expected {first[axis]} "
                f"elements along axis {axis} as {tree.names[0]} has"
            )

    def combine(given: list[Tensor]) -> list[Tensor]:
        n = len(given) // 2
        leaves, structure = flatten(fn(tree.build(given[:n]), tree.build(given[n:])))
        if structure != tree.structure:
            raise ArgumentError(
                f"associative_scan: fn returns a tree {structure!r}, expected {tree.structure!r} "
                "as elems"
            )
        out = [_tensor("associative_scan", "what fn returns", x) for x in leaves]
        for name, x, like in zip(tree.names, out, given):
            if _described(x) != _described(like):
                raise ArgumentError(
                    f"associative_scan: {name} is {_described(like)}, and {_described(x)} of fn: "
                    "expected the same type and shape"
                )
        return out

    # The scanned axis becomes the first one, and fn sees an axis of size 1 in its place.
    at = [axis % len(x.shape) for x in tree.tensors]
    xs = [x.unsqueeze(k).permute(k + 1, *_without(k + 1, x)) for x, k in zip(tree.tensors, at)]
    expr = trace("associative_scan", xs + xs, [0] * (2 * len(xs)), combine, tree.names * 2)
    found = expr.associative_scan(bool(reverse), xs)
    out = [x.permute(*range(1, k + 2), 0, *range(k + 2, len(x.shape))) for x, k in zip(found, at)]
    return tree.build([x.squeeze(k) for x, k in zip(out, at)])


def _without(axis: int, x: Tensor) -> list[int]:
    """Return the axes 0 to x.ndim without one."""
    return [i for i in range(len(x.shape) + 1) if i != axis]


def select(pred: Any, on_true: Any, on_false: Any) -> Tensor:
    """Return the elements of on_true where pred is true, else those of on_false.

    Both are of the same type and shape; pred is a bool of that shape, or of shape ().

    >>> select(Tensor([True, False]), Tensor([1, 2]), Tensor([3, 4])).tolist()
    [1, 4]
    """
    which = _tensor("select", "pred", pred)
    yes = _tensor("select", "on_true", on_true)
    no = _tensor("select", "on_false", on_false, yes.dtype)
    if _described(yes) != _described(no):
        raise ArgumentError(
            f"select: on_true is {_described(yes)}, on_false {_described(no)}: expected the same"
        )
    if which.dtype != dtypes.bool or tuple(which.shape) not in ((), tuple(yes.shape)):
        raise ArgumentError(
            f"select: pred is {_described(which)}, expected bool of shape {tuple(yes.shape)} or ()"
        )
    return which.where(yes, no)
