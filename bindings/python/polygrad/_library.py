"""Finds libpolygrad, loads it and turns its errors into Python's."""

from __future__ import annotations

import ctypes
import os
import re
import sys
from operator import index
from pathlib import Path
from typing import Any, NoReturn

from polygrad._prototypes import PROTOTYPES

_NAME = "libpolygrad.so"


def _candidates() -> list[Path]:
    """Return the places where the library may be, the most wanted first."""
    chosen = os.environ.get("POLYGRAD_LIB")
    if chosen:
        return [Path(chosen)]
    here = Path(__file__).resolve().parent
    # Beside this file when installed; in build/ when run from a checkout.
    places = [here / _NAME]
    if len(here.parents) > 2:
        places.append(here.parents[2] / "build" / _NAME)
    return places


def _load() -> Any:
    places = _candidates()
    path = next((p for p in places if p.is_file()), None)
    if path is None:
        tried = ", ".join(map(str, places))
        raise ImportError(
            f"{_NAME} not found (looked at {tried}): build it with `make build`, "
            "or set POLYGRAD_LIB to its path"
        )
    library = ctypes.CDLL(str(path))
    for name, (result, arguments) in PROTOTYPES.items():
        function = getattr(library, name, None)
        if function is None:
            raise ImportError(
                f"{path} has no {name}: it is of another version than this package; build it "
                "again with `make build`, or set POLYGRAD_LIB to one that fits"
            )
        function.restype = result
        if name not in _INNER and any(kind in _CHECKED for kind in arguments):
            function.argtypes = [_CHECKED.get(kind, kind) for kind in arguments]
            setattr(library, name, _explained(name, function))
        else:
            function.argtypes = arguments
    return library


def _checked(kind: Any, bits: int) -> Any:
    """Return an integer type of C; ctypes itself would cut off the upper bits of others."""

    def from_param(cls: Any, value: Any) -> Any:
        value = getattr(value, "_size", None) or index(value)
        if not -(1 << bits - 1) <= value < 1 << bits - 1:
            raise OverflowError(f"{value} does not fit in {bits} bits")
        return kind(value)

    return type("Checked", (kind,), {"from_param": classmethod(from_param)})


_CHECKED = {
    kind: _checked(kind, 8 * ctypes.sizeof(kind)) for kind in (ctypes.c_int, ctypes.c_int64)
}

# Called most, with integers that the package itself makes or has looked at.
_INNER = frozenset(
    {
        "poly_array_describe",
        "poly_array_realize",
        "poly_array_release_n",
        "poly_function_rerun",
        "poly_function_run",
        "poly_uop_release",
    }
)


def _explained(name: str, function: Any) -> Any:
    """Return a function that raises Python's own exceptions, with its name, for bad arguments."""

    def explained(*arguments: Any) -> Any:
        try:
            return function(*arguments)
        except ctypes.ArgumentError as error:
            kind = OverflowError if "OverflowError" in str(error) else TypeError
            raise kind(f"{_method(name[5:])}: {error}") from None

    return explained


lib: Any = _load()

_TYPE = re.compile(r"\btype\b")


# Errors of arguments are what numpy's users expect and, as torch raises them, RuntimeErrors.
class ArgumentError(ValueError, RuntimeError):
    """An argument that does not fit, or arguments that do not fit each other."""


class ChoiceError(ArgumentError, NotImplementedError):
    """A name that is none of those an argument may have."""


class OutOfBoundsError(ArgumentError, OverflowError):
    """A number that integers of a type are not."""


class RangeError(IndexError, ArgumentError):
    """An index, an axis or a count that is out of range."""


class ArgumentTypeError(TypeError, RuntimeError):
    """A tensor of a data type that the operation does not have."""


def c_text(argument: str, value: Any) -> bytes:
    """Return a text for C, where it ends at its first NUL."""
    if not isinstance(value, str):
        raise ArgumentTypeError(f"{argument}: {type(value).__name__}, expected str")
    if "\0" in value:
        raise ArgumentError(f"{argument}: {value!r}, expected a text without NUL")
    return value.encode()


_libc = ctypes.CDLL(None)
_libc.free.argtypes = [ctypes.c_void_p]


def taken(address: int | None, length: int = -1, error: type[Exception] = ArgumentError) -> bytes:
    """Return bytes, or a text, that the library made, which are freed; NULL raises its error."""
    if not address:
        fail(error)
    try:
        return ctypes.string_at(address, length)
    finally:
        _libc.free(address)


def caller() -> str:
    """Return the name of what the user called: the outermost function of the package."""
    frame = sys._getframe(1)
    while frame.f_back and frame.f_back.f_globals.get("__package__", "") in _PACKAGES:
        frame = frame.f_back
    name, owner = frame.f_code.co_name, frame.f_locals.get("self")
    if owner is None:
        return name
    kind = type(owner).__name__
    return kind if name in {"__init__", "__call__"} else f"{kind}.{name.strip('_')}"


_PACKAGES = {"polygrad", "polygrad.nn"}


def integer(argument: str, value: Any) -> int:
    """Return an integer, whatever type it has."""
    try:
        return index(value)
    except TypeError:
        raise ArgumentTypeError(f"{argument}: {a_type(value)}, expected an integer") from None


class JitError(RuntimeError):
    """A function that cannot be captured, or a call that does not match the captured one."""


class UnknownTypeError(TypeError, AttributeError):
    """A name that is no data type: dtypes has no such attribute."""


def last_error() -> str:
    """Return the library's message about the last call of this thread that failed."""
    text: bytes = lib.poly_last_error()
    return text.decode()


def a_type(value: Any) -> str:
    """Return the name of a value's type with its article.

    >>> a_type(3), a_type("")
    ('an int', 'a str')
    """
    name = type(value).__name__
    return f"{'an' if name[0] in 'AEIOUaeiou' else 'a'} {name}"


def fail(kind: type[Exception] = ArgumentError, who: str | None = None) -> NoReturn:
    """Raise the last error of the library.

    kind is the exception for a bad argument of the failed call; the message distinguishes indices
    out of range and wrong types from it. who is what the user called, where that is not the method
    of the same name.
    """
    text = last_error() or "the library reported no error"
    operation = _OPERATION.match(text)
    if operation:
        text = (operation[1] or "Tensor.") + text[operation.end() :]
    else:
        text = _FUNCTION.sub(lambda found: f"{who or _method(found[1])}: ", text)
    if "traces the function" in text or "inside of " in text:
        kind = JitError
    if kind is ArgumentError:
        if text.startswith("Tensor.getitem"):
            kind = ArgumentError if "step" in text else RangeError
        elif "expected integers from" in text:
            kind = OutOfBoundsError
        elif _EXPECTED.search(text):
            kind = ArgumentTypeError
        elif "out of range" in text or "out of bounds" in text:
            kind = RangeError
        elif "internal error" in text or "forked" in text or "stale" in text:
            kind = RuntimeError
        elif _TYPE.search(text):
            kind = ArgumentTypeError
    raise kind(text)


# What stands in the place of another kind of argument.
_EXPECTED = re.compile(
    r"expected (?:a tensor|an integer|integers|axes|a number|numbers|a bool|a text|a data type|"
    r"sizes|an index)(?! from| for)"
)

# What stands in front of the name of an operation; those of classes begin with a capital letter.
_OPERATION = re.compile(
    r"^poly_(?:(?:array_call|optim_new): args|array_binary(?:_number)?: arguments): "
    r"((?:[A-Z]\w+|clip_grad_norm): )?"
)
# Other functions are known by the methods that call them.
_FUNCTION = re.compile(r"^poly_(\w+): (?:arguments: )?")
_OWNERS = {"array": "Tensor", "generator": "Generator", "instance": "Instance", "size": "Variable"}
_METHODS = {
    "array_assign_n": "Tensor.assign",
    "array_pin": "Tensor.numpy",
    "array_require_grad": "Tensor.requires_grad",
    "array_set": "Tensor.setitem",
    "array_set_grad": "Tensor.grad",
    "bind_var": "Variable.bind",
    "define_var": "Variable",
    "generator_new": "Generator",
    "hf_load_as": "load_hf_bytes",
    "hf_open": "load_hf",
    "instance_load_weights": "Instance.import_weights",
    "mlp_instance": "Instance.mlp",
    "nam_instance": "Instance.nam",
    "seed": "Tensor.manual_seed",
    "tabm_instance": "Instance.tabm",
}


def _method(function: str) -> str:
    """Return the name of the method that calls a function."""
    owner, _, name = function.partition("_")
    if owner in _OWNERS:
        function = f"{_OWNERS[owner]}.{name}"
    return _METHODS.get(f"{owner}_{name}".rstrip("_"), function)
