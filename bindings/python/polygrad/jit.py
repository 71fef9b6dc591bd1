"""Functions of tensors that are compiled once and then run without being called again."""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from weakref import WeakKeyDictionary

from polygrad._base import describe
from polygrad._library import JitError, need
from polygrad._prototypes import POLY_TRACE_PRUNE, PolyVarBinding
from polygrad._trace import Function, Program, active, expressed
from polygrad.tensor import Tensor
from polygrad.variable import SymInt

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polygrad.dtype import DType

__all__ = ["JitError", "TinyJit"]

R = TypeVar("R")


# Static arguments of these types are compared by value, all others by identity.
_PLAIN = (int, float, complex, str, bytes, type(None))


def _enabled() -> bool:
    """Return whether functions are captured, by the environment variable JIT."""
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

    With prune=True everything that depends on no argument, no random number and no tensor that the
    function assigns is computed only once, when the function is captured: for example sums,
    products and contiguous copies of weights that never change.

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
        self.fxn = need(Callable, "fxn", fxn, "a function")
        self.prune = bool(prune)
        self._lock = threading.RLock()
        self._of: WeakKeyDictionary[Any, TinyJit[R]] = WeakKeyDictionary()
        functools.update_wrapper(self, fxn, updated=())
        self.reset()

    def reset(self) -> None:
        """Discard the program: the next call runs the function, the one after it captures it."""
        #: The number of calls so far.
        self.cnt = 0
        #: The CapturedJit, None before the second call.
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
        if expressed():
            return self.fxn(*args, **kwargs)
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
                if found := Arguments((result,), {}).tensors if result is not None else []:
                    found[0].realize(*found[1:])
            else:
                captured = CapturedJit(self.fxn, args, kwargs, self.prune)
                self.captured = captured
                result = captured.first
                captured.first = None
            self.cnt += 1
        returned: R = result
        return returned


class CapturedJit(Program):
    """A captured function: its program, the kinds of its arguments, how to build its result."""

    def __init__(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        prune: bool,
    ) -> None:
        given = Arguments(args, kwargs)
        tensors = given.tensors
        self._static = given.static
        self._kinds = [_kind(t) for t in tensors]
        variables = given.values()
        self._variables = list(variables)
        self._plain = not kwargs and not variables and all(type(a) is Tensor for a in args)

        # While the function is traced, its tensor arguments are placeholders without values.
        made: list[Tensor] = []

        def trace() -> tuple[Any, list[Tensor]]:
            at = {id(t): i for i, t in enumerate(tensors)}
            return _form(function(*args, **kwargs), at, made), made

        self._function = Function("TinyJit", trace, tensors, POLY_TRACE_PRUNE if prune else 0)
        #: Results that existed before the call: these tensors themselves are returned.
        self._same = [t if s is not None else None for t, s in zip(made, self._function.same)]
        #: The result of the capturing call.
        self.first: Any = self._run(tensors, variables)

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run the program on arguments like those it was captured with."""
        if self._plain and not kwargs and self._fit(args):
            return self._run(args, {})
        given = Arguments(args, kwargs)
        self._check(given)
        return self._run(given.tensors, given.values() if self._variables else {})

    def _fit(self, args: tuple[Any, ...]) -> bool:
        """Return whether arguments are distinct tensors of the captured shapes and types."""
        kinds = self._kinds
        if len(args) != len(kinds):
            return False
        for t, kind in zip(args, kinds):
            if type(t) is not Tensor or describe(t) != kind:
                return False
        return len(args) < 2 or len(set(map(id, args))) == len(args)

    def _check(self, given: Arguments) -> None:
        """Raise an error if the arguments do not match the capture."""
        if given.static != self._static:
            raise JitError(_difference(given.static, self._static))
        for i, (tensor, kind) in enumerate(zip(given.tensors, self._kinds)):
            if _kind(tensor) != kind:
                (shape, dtype), (old, old_dtype) = _kind(tensor), kind
                raise JitError(
                    f"TinyJit: tensor {i} of the arguments is {dtype.name} of shape {shape}, "
                    f"expected {old_dtype.name} of shape {old} as it was captured"
                )

    def _run(self, tensors: Sequence[Tensor], variables: dict[SymInt, int]) -> Any:
        if list(variables) != self._variables:
            raise JitError(
                f"TinyJit: the variables of the arguments are {list(variables)}, "
                f"expected {self._variables} as it was captured"
            )
        n = len(variables)
        bindings = None
        if variables:
            kind = PolyVarBinding * n
            bindings = kind(*[PolyVarBinding(v._node.handle, x) for v, x in variables.items()])
        made = self._function.run(Tensor, tensors, bindings, n)
        made = [new if same is None else same for new, same in zip(made, self._same)]
        return self._function.result(tensors, made)


# A function that builds the result from the tensor arguments and the computed tensors of a call.
Form = Callable[["Sequence[Tensor]", "Sequence[Tensor]"], Any]


def _form(value: Any, at: dict[int, int], made: list[Tensor]) -> Form:
    """Return the function that rebuilds a result in each call; append its new tensors to made."""
    if isinstance(value, Tensor):
        if id(value) in at:
            i = at[id(value)]
            return lambda given, new: given[i]
        made.append(value)
        n = len(made) - 1
        return lambda given, new: new[n]
    if isinstance(value, (list, tuple, dict)):
        kind, keys = type(value), list(value)
        parts = value.values() if isinstance(value, dict) else value
        forms = [_form(part, at, made) for part in parts]

        def items(given: Sequence[Tensor], new: Sequence[Tensor]) -> Any:
            found = [form(given, new) for form in forms]
            if isinstance(value, dict):
                return dict(zip(keys, found))
            return kind(*found) if hasattr(kind, "_fields") else kind(found)

        return items
    if value is None:
        return lambda given, new: None
    raise JitError(
        f"TinyJit: the function returns {value!r} of type {type(value).__name__}, "
        "expected tensors: other values would be frozen as they were captured"
    )


class Arguments:
    """The arguments of a call: tensors, bound variables, and static values."""

    __slots__ = ("sizes", "static", "tensors")

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.tensors: list[Tensor] = []
        self.sizes: list[SymInt] = []
        # The arguments flattened: static values, and placeholders for tensors and sizes.
        self.static: list[Any] = []
        for value in args:
            self._find(value)
        for name in sorted(kwargs):
            self.static.append(name)
            self._find(kwargs[name])
        if len(set(map(id, self.tensors))) != len(self.tensors):
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

    def values(self) -> dict[SymInt, int]:
        """Return the variables in the arguments and in the shapes of tensors, with their values."""
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
    """A static argument, which is part of the program: a plain value, or the same object."""

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


def _unbound(size: Any) -> Any:
    return size.unbound if isinstance(size, SymInt) else size


def _kind(tensor: Tensor) -> tuple[tuple[Any, ...], DType]:
    """Return shape and type of a tensor, without the values of variables."""
    shape, dtype = describe(tensor)
    return tuple(map(_unbound, shape)), dtype


def _difference(a: list[Any], b: list[Any]) -> str:
    """Describe how the static arguments differ from the captured ones."""
    for x, y in zip(a, b):
        if x != y and len(a) == len(b) and type(x) is type(y) and isinstance(x, (_Other, SymInt)):
            return (
                f"TinyJit: an argument is {x!r}, but the function was captured with {y!r}: "
                "what changes from call to call must be a Tensor or a Variable"
            )
    return "TinyJit: the arguments have another structure than those it was captured with"
