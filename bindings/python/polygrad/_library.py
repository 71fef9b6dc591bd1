"""Find libpolygrad, load it, and raise its errors as Python exceptions."""

from __future__ import annotations

import ctypes
import os
import re
import sys
from operator import index
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, SupportsFloat, SupportsIndex, TypeVar

from polygrad._prototypes import PROTOTYPES

if TYPE_CHECKING:
    from collections.abc import Sequence

T = TypeVar("T")

_NAME = "libpolygrad.so"


def _load() -> Any:
    # Beside this file when installed; in build/ when run from a checkout.
    here = Path(__file__).resolve().parent
    chosen = os.environ.get("POLYGRAD_LIB")
    places = [Path(chosen)] if chosen else [here / _NAME, here.parents[2] / "build" / _NAME]
    path = next((p for p in places if p.is_file()), None)
    if path is None:
        tried = ", ".join(map(str, places))
        raise ImportError(
            f"{_NAME} not found (looked at {tried}): build it with `make build`, "
            "or set POLYGRAD_LIB to its path"
        )
    library = ctypes.CDLL(str(path))
    for name, (result, kinds, names) in PROTOTYPES.items():
        function = getattr(library, name, None)
        if function is None:
            raise ImportError(
                f"{path} has no {name}: it is of another version than this package; build it "
                "again with `make build`, or set POLYGRAD_LIB to one that fits"
            )
        function.restype, function.argtypes = result, kinds
        if name not in _INNER and any(kind in _CHECKED for kind in kinds):
            function = _explained(function, kinds, names.split())
            setattr(library, name, function)
    return library


# ctypes cuts off the upper bits of integers.
_CHECKED = (ctypes.c_int, ctypes.c_int64)

# The most frequent functions: the package itself makes or has checked their integers.
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


def _explained(function: Any, kinds: Sequence[Any], names: Sequence[str]) -> Any:
    """Wrap a function so that bad arguments raise Python's own exceptions with their names.

    Integers are converted here, not in a from_param: ctypes turns every exception there, also a
    KeyboardInterrupt, into an ArgumentError.
    """
    places = [(i, 8 * ctypes.sizeof(k)) for i, k in enumerate(kinds) if k in _CHECKED]

    def explained(*arguments: Any) -> Any:
        given = [*arguments]
        for place, bits in places:
            value = given[place]
            if type(value) is not int:
                try:
                    value = given[place] = getattr(value, "_size", None) or index(value)
                except TypeError:
                    raise need_error(names[place], value, "an integer") from None
            if not -(1 << bits - 1) <= value < 1 << bits - 1:
                name = f"{caller()}: {names[place]}"
                raise OverflowError(f"{name}: {value} does not fit in {bits} bits")
        try:
            return function(*given)
        except ctypes.ArgumentError as error:
            place = int(re.findall(r"argument (\d+)", str(error))[0]) - 1
        raise need_error(names[place], given[place], "a number")

    return explained


lib: Any = _load()

_TYPE = re.compile(r"\btype\b")


# Errors of arguments are what numpy's users expect and, as torch raises them, RuntimeErrors.
class ArgumentError(ValueError, RuntimeError):
    """An argument with a wrong value, or arguments that do not fit each other."""


class OutOfBoundsError(ArgumentError, OverflowError):
    """A number that an integer type cannot represent."""


class RangeError(IndexError, ArgumentError):
    """An index, an axis or a count that is out of range."""


class ArgumentTypeError(TypeError, RuntimeError):
    """A tensor of a data type that the operation does not support."""


def caller() -> str:
    """Return the name of the outermost public function of the package on the call stack."""
    frame, found = sys._getframe(1), ""
    while frame and frame.f_globals.get("__package__", "") in _PACKAGES:
        name, of = frame.f_code.co_name, frame.f_locals
        owner = of.get("cls", type(of["self"]) if "self" in of else None)
        where = owner.__name__.lstrip("_") if owner else frame.f_globals.get("_MODULE", "")
        if where and (name in {"__init__", "__new__", "__call__"} or "." not in found):
            found = where
        if frame.f_globals is not globals() and name.isidentifier() and _PUBLIC.match(name):
            found = f"{where}.{name.strip('_')}" if where else name
        frame = frame.f_back  # type: ignore[assignment]
    return found


def place(value: Any) -> str:
    """Return the names of the function that the user called and of its argument with a value."""
    frame, found = sys._getframe(2), ""
    while frame and frame.f_globals.get("__package__", "") in _PACKAGES:
        for name, given in frame.f_locals.items():
            if _holds(given, value):
                found = name
                break
        frame = frame.f_back  # type: ignore[assignment]
    return f"{caller()}: {found}" if found else caller()


def _holds(given: Any, value: Any) -> bool:
    return given is value or (type(given) in {list, tuple} and any(_holds(g, value) for g in given))


_PACKAGES = {"polygrad", "polygrad.nn", "polygrad.numpy"}
_PUBLIC = re.compile(r"[^_]|__(?!init__|new__|call__)")


def need_error(argument: str, given: Any, expected: str) -> ArgumentTypeError:
    """Return the error of an argument of a wrong type."""
    return ArgumentTypeError(f"{caller()}: {argument}: {_a_type(given)}, expected {expected}")


def need(kind: Any, argument: str, given: T, expected: str) -> T:
    """Return an argument, checked to be of a type."""
    if not isinstance(given, kind):
        raise need_error(argument, given, expected)
    return given


def wrong(
    argument: str, given: Any, expected: Any, kind: type[Exception] = ArgumentError
) -> Exception:
    """Return the error of an argument with a wrong value."""
    return kind(f"{caller()}: {argument}: {given}, expected {expected}")


def integer(argument: str, given: Any) -> int:
    """Return an integer of any type as an int that fits 64 bits."""
    whole = large_integer(argument, given)
    if not -(2**63) <= whole < 2**63:
        raise OverflowError(f"{caller()}: {argument}: {whole} does not fit in 64 bits")
    return whole


def large_integer(argument: str, given: Any) -> int:
    """Return an integer of any size and type as an int."""
    try:
        return index(given)
    except TypeError:
        raise need_error(argument, given, "an integer") from None


def number(argument: str, given: Any) -> float:
    """Return a number of any type as a float."""
    try:
        return float(need((SupportsFloat, SupportsIndex), argument, given, "a number"))
    except TypeError:  # for example a tensor of several elements
        raise need_error(argument, given, "a number") from None


def c_text(argument: str, given: Any) -> bytes:
    """Return a text for C, checked to have no NUL, which would end it there."""
    if "\0" in need(str, argument, given, "a text"):
        raise wrong(argument, repr(given), "a text without NUL")
    text: bytes = given.encode()
    return text


_libc = ctypes.CDLL(None)
_libc.free.argtypes = [ctypes.c_void_p]


def taken(address: int | None, length: int = -1, error: type[Exception] = ArgumentError) -> bytes:
    """Copy and free bytes or a text that the library has allocated; NULL raises its last error."""
    if not address:
        fail(error)
    try:
        return ctypes.string_at(address, length)
    finally:
        _libc.free(address)


class JitError(RuntimeError):
    """A function that cannot be captured, or a call that does not match the captured one."""


class UnknownTypeError(TypeError, AttributeError):
    """A name that is no data type: dtypes has no such attribute."""


def last_error() -> str:
    """Return the library's message about the last failed call of this thread."""
    text: bytes = lib.poly_last_error()
    return text.decode()


def _a_type(value: Any) -> str:
    """Return the name of a value's type with its article.

    >>> _a_type(3), _a_type("")
    ('an int', 'a str')
    """
    name = type(value).__name__
    return f"{'an' if name[0] in 'AEIOUaeiou' else 'a'} {name}"


def in_words(text: str, who: str = "") -> str:
    """Return an error of the library in Python's names of functions and arguments."""
    found = _OPERATION.match(text)
    if found:
        text = (f"{who or caller()}: " if found[2] else found[1] or "Tensor.") + text[found.end() :]
    else:
        text = _FUNCTION.sub(lambda found: f"{who or caller() or found[1]}: ", text)
    for name, own in _NAMES.items():
        text = text.replace(name, own)
    return _JOINED.sub(_joined, text)


def _joined(found: re.Match[str]) -> str:
    """Return Python's name of a tensor that is an element of a list in the library."""
    called, element = found[1], int(found[2] or 0)
    if called == "einsum":
        name = "operands" + (f"[{element}]" if found[2] else "")
    else:
        name = f"args[{element - 1}]" if element else "self"
    return f"Tensor.{called}: {name}"


def fail(kind: type[Exception] = ArgumentError, who: str = "") -> NoReturn:
    """Raise the last error of the library.

    kind is the exception for a bad argument; for ArgumentError the message decides whether it is
    one of its relatives for ranges and types. who is the function that the user called, if known.
    """
    text = in_words(last_error() or "the library reported no error", who)
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


def check(result: Any, kind: type[Exception] = ArgumentError, who: str = "") -> Any:
    """Return a result of the library; NULL and negative numbers raise its last error."""
    if result is None or (type(result) is int and result < 0):
        fail(kind, who)
    return result


# Messages about an argument of the wrong kind, which become ArgumentTypeErrors.
_EXPECTED = re.compile(
    r"expected (?:a tensor|an integer|integers|axes|a number|numbers|a bool|a text|a data type|"
    r"sizes|an index)(?: or a number| or a text| of the tensor's \w+)?$"
)
# Parameters that have another name in Python.
_NAMES = {
    "BatchNorm: num_features:": "BatchNorm: sz:", "gradient: wrt": "gradient: targets",
    "ReduceLROnPlateau: metric:": "ReduceLROnPlateau: metrics:", "bind: value:": "bind: val:",
    "ggml_data_to_tensor: type:": "ggml_data_to_tensor: ggml_type:",
}  # fmt: skip
_JOINED = re.compile(r"^Tensor\.(cat|stack|meshgrid|einsum): tensors(?:\[(\d+)\])?(?=:)")

# The C function that precedes the name of an operation in a message. Operations of classes begin
# with a capital letter; the other alternatives are functions in Python, not methods.
_OPERATION = re.compile(
    r"^poly_(?:(?:array_call|optim_new): args|array_binary(?:_number)?: arguments): "
    r"((?:[A-Z]\w+|[a-z]+\.\w+|(clip_grad_norm|dequantize)): )?"
)
_FUNCTION = re.compile(r"^poly_(\w+): (?:arguments: )?")
