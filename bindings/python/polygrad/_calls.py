"""The most frequent calls, as CPython functions that the library implements (capi/python.c).

A call through ctypes takes half a microsecond, an operation of the library as much.
"""

from __future__ import annotations

import ctypes
from ctypes import c_char_p, c_int, c_void_p, py_object, pythonapi
from sys import is_finalizing
from typing import TYPE_CHECKING, Any

from polygrad._graph import CTX
from polygrad._library import fail, lib
from polygrad.dtype import DType
from polygrad.variable import SymInt

if TYPE_CHECKING:
    from collections.abc import Callable

# Python objects that the library needs, in the order of poly_python_methods.
_TYPES = (int, float, bool, complex, str, tuple, list, range, slice)
_VALUES = (None, Ellipsis, True, NotImplemented)
_NAMES = ("_handle", "id", "_node", "handle", "start", "stop", "step", "__name__")

# Keeps these objects alive: the library holds borrowed references.
_kept: list[Any] = []


class _Method(ctypes.Structure):
    _fields_ = (
        ("name", c_char_p),
        ("function", c_void_p),
        ("flags", c_int),
        ("doc", c_char_p),
    )


def bind(
    tensor: type[Any],
    pin: type[Any],
    lent: set[int],
    plain: Callable[..., Any],
    beside: Callable[..., Any],
    release: Callable[[], None],
) -> dict[str, Any]:
    """Give the classes of tensors and pins their methods and return the other functions by name.

    lent are handles that are released at once, by release. plain(value) converts a value of a type
    that the library does not know, or returns NotImplemented; beside(value, tensor) an operand.
    """
    own = (tensor, DType, SymInt, *_NAMES, lent, fail, plain, beside, release, is_finalizing)
    objects = (*_TYPES, *_VALUES, *own)
    given = [*map(id, objects), CTX]
    python = pythonapi._handle
    methods = lib.poly_python_methods(python, (c_void_p * len(given))(*given), len(given))
    if not methods:
        fail(ImportError)
    _kept.extend(objects)
    of_class = ctypes.PYFUNCTYPE(py_object, py_object, c_void_p)(("PyDescr_NewMethod", pythonapi))
    of_module = ctypes.PYFUNCTYPE(py_object, c_void_p, c_void_p, c_void_p)(
        ("PyCFunction_NewEx", pythonapi)
    )
    others = {}
    while name := (_Method.from_address(methods).name or b"").decode():
        if name.startswith("_"):
            setattr(tensor, name, of_class(tensor, methods))
        elif name == "unpin":
            pin.__del__ = of_class(pin, methods)
        else:
            others[name] = of_module(methods, None, None)
        methods += ctypes.sizeof(_Method)
    return others
