"""Functions of tensors that are compiled once and then run without being called again."""

from __future__ import annotations

import ctypes
import functools
import os
import threading
from typing import TYPE_CHECKING, Any, Callable, Generic, TypeVar
from weakref import WeakKeyDictionary, ref

from polygrad._graph import CTX, LateLeaf, Node, compute, describe, pointer
from polygrad._library import fail, lib
from polygrad._program import Program, Traced, VarBinding
from polygrad._trace import JitError, active
from polygrad._views import keep_readers
from polygrad.tensor import Tensor
from polygrad.variable import SymInt, of_handle

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polygrad.dtype import DType

__all__ = ["JitError", "TinyJit"]

R = TypeVar("R")


def _no_node() -> None:
    """Return None, like a weak reference to a node that has been freed."""


# Results of as many bytes are copied out of the program's own memory: a run that is told nothing
# costs so much less.
_COPIED = 16 << 10

# Values that are compared; other arguments must stay the same objects.
_PLAIN = (int, float, complex, str, bytes, type(None))


def _enabled() -> bool:
    """Tell whether functions are captured, by the environment variable JIT."""
    value = os.environ.get("JIT") or "1"
    if value not in ("0", "1", "2"):
        raise JitError(f"JIT: got {value!r}, expected one of 0, 1, 2")
    return value != "0"


class TinyJit(Generic[R]):
    """A decorator that compiles a function of tensors; later calls only run the program.

    The first call runs the function as it is, the second one captures it: all its computations
    and assignments become one program. Later calls run the program on their arguments, and the
    function itself is not called again. A training step may be such a function: gradients and
    optimizer steps are captured, too.

    Tensors are found among the arguments, also in lists, tuples and dicts, and must keep their
    shapes and types; sizes may be variables, which one program serves with all values. Variables
    may be arguments too. All other arguments must stay the same: their values are part of the
    program, and so are captured globals (the memory of captured tensors is shared, so the
    program sees their current values). Random tensors
    are new in each call. The function returns tensors, in lists, tuples and dicts, or None; they
    have memory of their own and no history. A violation is a JitError.

    With prune=True what depends on no argument, no random number and nothing that the function
    assigns is computed once, when the function is captured: sums, products and contiguous
    tensors of weights that never change.

    A jitted method has one program for each object. With the environment variable JIT=0 nothing
    is captured: each call runs the function.

    >>> from polygrad import Tensor, TinyJit
    >>> @TinyJit
    ... def scaled(x, y):
    ...     return (x * 2 + y).realize()
    >>> for i in range(4):
    ...     result = scaled(Tensor([1.0, i]), Tensor([0.5, 0.5]))
    >>> result.tolist()
    [2.5, 6.5]
    """

    def __init__(self, fxn: Callable[..., R], *, prune: bool = False) -> None:
        if not callable(fxn):
            raise TypeError(f"TinyJit: {fxn!r}, expected a function")
        self.fxn = fxn
        self.prune = bool(prune)
        self._lock = threading.RLock()
        self._of: WeakKeyDictionary[Any, TinyJit[R]] = WeakKeyDictionary()
        functools.update_wrapper(self, fxn, updated=())
        self.reset()

    def reset(self) -> None:
        """Forget the program: the next call runs the function, the one after it captures."""
        #: The number of calls so far.
        self.cnt = 0
        #: The program with its arguments, or None before the second call.
        self.captured: CapturedJit | None = None
        for bound in list(self._of.values()):
            bound.reset()

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """Return the method of an object; each object has a program of its own."""
        if instance is None:
            return self
        try:
            jit = self._of.get(instance)
            if jit is None:
                jit = self._of[instance] = TinyJit(self.fxn, prune=self.prune)
        except TypeError:  # an object that cannot be a key: one program for all
            jit = self
        return functools.partial(jit.__call__, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> R:
        """Call the function, or run its captured program."""
        with self._lock:
            if active():
                raise JitError("having TinyJit inside another TinyJit is not supported")
            captured = self.captured
            result: Any
            if captured is not None:
                result = captured(args, kwargs)
            elif self.cnt == 0 or not _enabled():
                Arguments(args, kwargs)
                result = self.fxn(*args, **kwargs)
                _compute(result)
            else:
                captured = CapturedJit(self.fxn, args, kwargs, self.prune)
                self.captured = captured
                result = captured.first
                captured.first = None
            self.cnt += 1
        returned: R = result
        return returned


class CapturedJit:
    """A function as a program, with its arguments and results."""

    def __init__(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        prune: bool,
    ) -> None:
        given = Arguments(args, kwargs)
        tensors = given.tensors
        memory = given.memory()
        self._static = given.static
        self._kinds = [_kind(t) for t in tensors]
        self._variables = list(given.values())

        # While the function is traced its arguments have no values that it could look at.
        before = [t._node for t in tensors]
        for tensor, node in zip(tensors, memory):
            tensor._node = _stand_in(node)
        stand_ins = [t._node for t in tensors]
        try:
            traced = Traced(lambda: function(*args, **kwargs), "TinyJit")
        finally:
            for tensor, node in zip(tensors, before):
                tensor._node = node

        self._values: list[Node] = []
        at = {id(t): i for i, t in enumerate(tensors)}
        self._form = self._result(traced.result, traced, at)
        if not self._values and not traced.changes:
            raise JitError(
                "TinyJit: the function computes nothing: it returns and assigns no tensor"
            )
        inputs = stand_ins if prune else None
        self._program = Program(self._values, traced.changes, traced.seeds, inputs)

        program = self._program
        self._memory = (ctypes.c_void_p * program.n_buffers)()
        # The nodes whose memory is in _memory since a call that has checked them, and those that
        # the program was compiled on.
        self._seen: list[Any] = [_no_node] * len(tensors)
        self._home = [ref(node) for node in memory]
        self._at_home = False
        self._plain = not kwargs and not self._variables and all(type(a) is Tensor for a in args)
        self._assigned = {i for i, node in enumerate(stand_ins) if node in traced.written}
        self._written = list(traced.written.difference(stand_ins))
        self._inputs = [program.index_of(node) for node in stand_ins]
        self._outputs = [program.index_of_value(i) for i in range(len(self._values))]
        self._bindings = (VarBinding * len(self._variables))(
            *[VarBinding(v._node.handle, 0) for v in self._variables]
        )
        self._shapes = [_Shape(*describe(node)) for node in self._values]
        self._needs_memory(tensors)
        #: The result of the call that captured.
        self.first: Any = self._run(tensors, memory, {})

    @property
    def n_kernels(self) -> int:
        """The number of kernels that a call launches."""
        return self._program.n_kernels

    @property
    def n_intermediates(self) -> int:
        """The number of intermediate buffers."""
        return self._program.n_intermediates

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run the program on arguments like those it was captured with."""
        if self._plain and not kwargs and self._given(args):
            return self._again(args)
        given = Arguments(args, kwargs)
        self._check(given)
        memory = given.memory()
        if self._assigned:
            self._needs_memory(given.tensors)
        variables = given.values() if self._variables else {}
        self._program.renew()
        return self._run(given.tensors, memory, variables)

    def _given(self, args: tuple[Any, ...]) -> bool:
        """Take the memory of arguments that are tensors on memory of their own, as expected.

        A node never changes, so memory taken for an earlier call is valid again. All other work
        and all errors are left to Arguments.
        """
        seen, kinds = self._seen, self._kinds
        if len(args) != len(kinds):
            return False
        new = False
        for i, tensor in enumerate(args):
            if type(tensor) is not Tensor:
                return False
            node = tensor._node
            if seen[i]() is node:
                continue
            if node.data is None or node.source or node.known != kinds[i]:
                return False
            new = True
        if new:
            nodes = [tensor._node for tensor in args]
            if len(set(nodes)) != len(nodes):
                return False
            self._take(nodes)
        return True

    def _take(self, nodes: list[Node]) -> None:
        """Run on the memory of nodes from now on."""
        memory, seen = self._memory, self._seen
        for i, (index, node) in enumerate(zip(self._inputs, nodes)):
            if seen[i]() is not node:
                if index >= 0:
                    array = node.data
                    assert array is not None
                    memory[index] = pointer(array)
                seen[i] = ref(node)
        self._at_home = all(node is home() for node, home in zip(nodes, self._home))

    def _again(self, tensors: Sequence[Tensor]) -> Any:
        """Run the program on the memory that was taken."""
        program = self._program
        program.renew()
        if self._written or self._assigned:
            keep_readers([*self._written, *(tensors[i]._node for i in self._assigned)])
        if not self._at_home or program.nbytes > _COPIED:
            return self._launch(tensors, 0)
        program.run()
        return self._results(tensors, [array.copy() for array in program.arrays], 0)

    def _check(self, given: Arguments) -> None:
        """Raise an error if the arguments do not match the capture."""
        if given.static != self._static:
            raise JitError(_difference(given.static, self._static))
        for i, (tensor, kind) in enumerate(zip(given.tensors, self._kinds)):
            if tensor._node.known != kind and _kind(tensor) != kind:
                raise JitError(
                    f"TinyJit: tensor {i} of the arguments is {_text(_kind(tensor))}, "
                    f"expected {_text(kind)} as it was captured"
                )

    def _needs_memory(self, tensors: list[Tensor]) -> None:
        """Raise an error if an assigned tensor is a view: the program would write to a copy."""
        for i in self._assigned:
            if tensors[i]._node.source:
                raise JitError(f"TinyJit: the function assigns argument {i}, which is a view")

    def _run(
        self, tensors: Sequence[Tensor], inputs: list[Node], variables: dict[SymInt, int]
    ) -> Any:
        if self._written or self._assigned:
            keep_readers([*self._written, *(inputs[i] for i in self._assigned)])
        self._take(inputs)
        count = 0
        if variables:
            if list(variables) != self._variables:
                raise JitError(
                    f"TinyJit: the variables of the arguments are {list(variables)}, "
                    f"expected {self._variables} as it was captured"
                )
            for binding, value in zip(self._bindings, variables.values()):
                binding.value = value
            count = len(self._bindings)
        return self._launch(tensors, count)

    def _launch(self, tensors: Sequence[Tensor], count: int) -> Any:
        """Run the program on _memory and _bindings, into new memory."""
        memory = self._memory
        arrays = self._program.room()
        for index, array in zip(self._outputs, arrays):
            if index >= 0:
                memory[index] = pointer(array)
        self._program.run_on(memory, len(memory), self._bindings, count)
        return self._results(tensors, arrays, count)

    def _results(self, tensors: Sequence[Tensor], arrays: Sequence[Any], count: int) -> Any:
        """Return the result of the function, on the arrays of its values."""
        made = [
            _tensor(array, shape, self._bindings, count)
            for array, shape in zip(arrays, self._shapes)
        ]
        return _fill(self._form, tensors, made)

    def _result(self, value: Any, traced: Traced, at: dict[int, int]) -> Any:
        """Return how a result is made in each call; add computed ones to _values."""
        if isinstance(value, Tensor):
            node = traced.node(value)
            if id(value) in at:
                return _Given(at[id(value)])
            if id(value) in traced.assigned:
                return value
            if node.data is not None and node not in traced.leaves:
                return value
            self._values.append(node)
            return _Made(len(self._values) - 1)
        if isinstance(value, (list, tuple)):
            items = [self._result(v, traced, at) for v in value]
            return _Items(_maker(value), items)
        if isinstance(value, dict):
            items = [self._result(v, traced, at) for v in value.values()]
            keys = list(value)
            return _Items(lambda found: dict(zip(keys, found)), items)
        if value is None:
            return None
        raise JitError(
            f"TinyJit: the function returns {value!r} of type {type(value).__name__}, "
            "expected tensors: other values would be frozen as they were captured"
        )


class Arguments:
    """The arguments of a call: tensors, variables with values, and all the rest."""

    __slots__ = ("sizes", "static", "tensors")

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.tensors: list[Tensor] = []
        self.sizes: list[SymInt] = []
        # The arguments one after another with places held by tensors and sizes.
        self.static: list[Any] = []
        for value in args:
            self._find(value)
        for name in sorted(kwargs):
            self.static.append(name)
            self._find(kwargs[name])
        if len({id(t._node) for t in self.tensors}) != len(self.tensors):
            raise JitError("TinyJit: one tensor is given more than once")

    def _find(self, value: Any) -> None:
        if isinstance(value, Tensor):
            self.tensors.append(value)
            self.static.append(Tensor)
        elif isinstance(value, SymInt):
            self.sizes.append(value)
            self.static.append(_unbound(value))
        elif isinstance(value, (list, tuple)):
            self.static.append((type(value), len(value)))
            for item in value:
                self._find(item)
        elif isinstance(value, dict):
            self.static.append((type(value), tuple(value)))
            for item in value.values():
                self._find(item)
        else:
            self.static.append(_Other(value))

    def memory(self) -> list[Node]:
        """Return the tensors with memory of their own: lazy ones are computed, views copied."""
        nodes = [t._node for t in self.tensors]
        for node in nodes:
            if node.data is None or node.source:
                break
        else:
            return nodes
        todo = [t for t in self.tensors if t._node.data is None]
        if todo:
            todo[0].realize(*todo[1:])
        nodes = [t._node for t in self.tensors]
        views = [i for i, node in enumerate(nodes) if node.source]
        if views:
            copies = compute([self.tensors[i].detach().contiguous()._node for i in views])
            for i, copy in zip(views, copies):
                nodes[i] = copy
        return nodes

    def values(self) -> dict[SymInt, int]:
        """Return the variables that take part in the arguments, with their values."""
        sizes = list(self.sizes)
        for tensor in self.tensors:
            shape: tuple[Any, ...] = tensor.shape
            sizes += [n for n in shape if isinstance(n, SymInt)]
        found: dict[SymInt, int] = {}
        for size in sizes:
            for variable, value in size.variables.items():
                if value is None:
                    raise JitError(f"TinyJit: {size!r} has no value: bind its variables")
                if found.setdefault(variable, value) != value:
                    raise JitError(f"TinyJit: {variable!r} is both {found[variable]} and {value}")
        return dict(sorted(found.items(), key=lambda item: item[0]._size))


class _Other:
    """An argument that is part of the program: a plain value, or always the same object."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Other):
            return False
        a, b = self.value, other.value
        return a is b or (type(a) is type(b) and isinstance(a, _PLAIN) and bool(a == b))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self.value)


class _Given:
    """A result that is an argument."""

    def __init__(self, index: int) -> None:
        self.index = index


class _Made:
    """A result that is computed."""

    def __init__(self, index: int) -> None:
        self.index = index


class _Items:
    """Results in a container."""

    def __init__(self, make: Callable[[list[Any]], Any], items: list[Any]) -> None:
        self.make = make
        self.items = items


class _Shape:
    """Shape and type of a result. Symbolic sizes take the values of each call."""

    def __init__(self, shape: tuple[Any, ...], dtype: DType) -> None:
        self.shape = shape
        self.dtype = dtype
        self.symbolic = any(isinstance(n, SymInt) for n in shape)


def _fill(form: Any, given: Sequence[Tensor], made: list[Tensor]) -> Any:
    """Make a result of its form."""
    if type(form) is _Made:
        return made[form.index]
    if type(form) is _Given:
        return given[form.index]
    if type(form) is _Items:
        return form.make([_fill(item, given, made) for item in form.items])
    return form


def _maker(value: Any) -> Callable[[list[Any]], Any]:
    """Return what makes a sequence of the kind of value from a list."""
    kind = type(value)
    return (lambda found: kind(*found)) if hasattr(value, "_fields") else kind


def _tensor(array: Any, shape: _Shape, bindings: Any, count: int) -> Tensor:
    """Return a tensor on an array."""
    sizes = shape.shape
    if shape.symbolic:
        sizes = tuple(
            of_handle(lib.poly_size_bind(CTX, n._node.handle, bindings, count))
            if isinstance(n, SymInt)
            else n
            for n in sizes
        )
    tensor = Tensor.__new__(Tensor)
    tensor._node = LateLeaf(array, shape.dtype, sizes)
    tensor.grad = None
    return tensor


def _stand_in(node: Node) -> Node:
    """Return a node like that of an argument, without a value."""
    handle = lib.poly_uop_retain(CTX, node.handle)
    if handle is None:
        fail(RuntimeError)
    other = Node(handle, (), None, node.tracked)
    other.known = node.known
    other.owner = node.owner
    other.is_input = True
    return other


def _unbound(size: Any) -> Any:
    return size.unbound if isinstance(size, SymInt) else size


def _kind(tensor: Tensor) -> tuple[tuple[Any, ...], DType]:
    """Return shape and type of a tensor, without the values of variables."""
    shape, dtype = describe(tensor._node)
    return tuple(map(_unbound, shape)), dtype


def _text(kind: tuple[tuple[Any, ...], DType]) -> str:
    return f"{kind[1].name} of shape {kind[0]}"


def _difference(a: list[Any], b: list[Any]) -> str:
    """Describe the difference of the plain arguments from the captured ones."""
    for x, y in zip(a, b):
        if x != y and len(a) == len(b) and type(x) is type(y) and isinstance(x, (_Other, SymInt)):
            return (
                f"TinyJit: an argument is {x!r}, but the function was captured with {y!r}: "
                "what changes from call to call must be a Tensor or a Variable"
            )
    return "TinyJit: the arguments have another structure than those it was captured with"


def _compute(value: Any) -> None:
    """Compute the tensors of a result."""
    found = Arguments((value,), {}).tensors if value is not None else []
    if found:
        found[0].realize(*found[1:])
