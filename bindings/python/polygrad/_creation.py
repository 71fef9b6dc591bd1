"""Constructors of tensors whose signatures the generated methods do not cover."""

from __future__ import annotations

import math
import re
from ctypes import c_char
from typing import TYPE_CHECKING, Any

import numpy as np

from polygrad import _methods as op
from polygrad._base import finish, made, make, share, sizes
from polygrad._graph import CTX, Node, plain_scalar, several
from polygrad._library import check, integer, large_integer, lib, need, wrong
from polygrad._methods import Methods
from polygrad.dtype import DTypeLike, dtypes, known_dtype, to_dtype
from polygrad.variable import SymInt

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Self


class Creation(Methods):
    """Class methods that make tensors. All of them are lazy.

    dtype is the data type of the result, device the device that it is put on, and requires_grad
    whether backward gives it a gradient.
    """

    __slots__ = ()

    @classmethod
    def full(
        cls,
        shape: int | Sequence[int],
        fill_value: float | bool,
        dtype: DTypeLike | None = None,
        device: str | None = None,
        requires_grad: bool | None = None,
    ) -> Self:
        """Return a tensor filled with a value; an integer type must be able to hold it.

        >>> Tensor.full((2, 2), 7).tolist()
        [[7, 7], [7, 7]]
        """
        new, val = several(shape), plain_scalar(fill_value)
        if isinstance(val, (SymInt, complex)):
            filled = cls(val, dtype).expand(new)  # type: ignore[call-arg]
            return finish(filled, device, requires_grad)
        need((int, float, np.generic), "fill_value", val, "a number")
        wide = type(val) is int and not -(1 << 31) <= val < 1 << 31
        kind = known_dtype((dtypes.int64 if wide else type(val)) if dtype is None else dtype)
        value = float(val) if wide and kind in dtypes.floats else val
        return finish(make(cls, op.FULL, new, value, kind), device, requires_grad)

    @classmethod
    def from_blob(
        cls,
        ptr: int,
        shape: int | Sequence[int],
        dtype: DTypeLike | None = None,
        device: str | None = None,
        requires_grad: bool | None = None,
    ) -> Self:
        """Return a tensor on foreign memory, by its address.

        Nothing is copied: the elements must stay there, in row-major order, as long as the tensor
        and lazy values computed from it. dtype is default_float if it is not given.

        >>> a = np.array([1, 2, 3], np.int32)
        >>> Tensor.from_blob(a.ctypes.data, (3,), dtype="int32").tolist()
        [1, 2, 3]
        """
        sizes_, kind = several(shape), to_dtype(dtypes.default_float if dtype is None else dtype)
        address = large_integer("ptr", ptr)
        if address >= 2**64:
            raise wrong("ptr", ptr, "an address")
        if address <= 0 or address % kind.itemsize:
            expected = f"a multiple of {kind.itemsize}, the size of {kind.name}"
            raise wrong("ptr", hex(address), expected)
        if any(integer("shape", size) < 0 for size in sizes_):
            raise wrong("shape", sizes_, "sizes of 0 or more")
        memory = (c_char * (math.prod(sizes_) * kind.itemsize)).from_address(address)
        array = np.frombuffer(memory, kind.storage).reshape(sizes_)
        return finish(share(cls, array, kind, sizes_), device, requires_grad)

    @classmethod
    def from_url(
        cls,
        url: str,
        gunzip: bool = False,
        dtype: DTypeLike | None = None,
        device: str | None = None,
        requires_grad: bool | None = None,
    ) -> Self:
        """Return the contents of a URL (http, https, ftp, file or data) as bytes: uint8.

        Downloads are stored in polygrad/downloads of the user's cache folder and read from there
        the next time. gunzip decompresses them; dtype reads the bytes as another type.

        >>> bytes(Tensor.from_url("data:,hello").tolist())
        b'hello'
        """
        from polygrad._download import download  # imports HTTP and TLS: 12 MiB that few need

        if not re.match(r"\w+:", need(str, "url", url, "a text")):
            raise wrong("url", repr(url), "a URL")
        data = download(url, need(bool, "gunzip", gunzip, "a bool"))
        kind = dtypes.uint8 if dtype is None else dtype
        return cls(data, kind, device, requires_grad)  # type: ignore[call-arg]

    @staticmethod
    def manual_seed(seed: int = 0) -> None:
        """Seed later random tensors: equal to tinygrad's for the same seed.

        >>> Tensor.manual_seed(42)
        >>> a = Tensor.rand(3).tolist()
        >>> Tensor.manual_seed(42)
        >>> a == Tensor.rand(3).tolist()
        True
        """
        check(lib.poly_seed(CTX, large_integer("seed", seed) % 2**64))

    @classmethod
    def randint(
        cls,
        *shape: Any,
        low: int = 0,
        high: int = 10,
        dtype: DTypeLike = dtypes.int32,
        device: str | None = None,
        requires_grad: bool | None = None,
    ) -> Self:
        """Return integers in [low, high), of an integer type, int32 by default.

        randint(low, high, shape) is understood too, where shape is a tuple or list.

        >>> t = Tensor.randint(50, low=2, high=5)
        >>> t.shape, t.min().item() >= 2, t.max().item() < 5
        ((50,), True, True)
        """
        if len(shape) == 3 and isinstance(shape[2], (tuple, list)):
            low, high, shape = shape
        numbers = make(cls, op.RANDINT, sizes(shape), low, high, known_dtype(dtype))
        return finish(numbers, device, requires_grad)

    @classmethod
    def arange(
        cls,
        *bounds: float,
        start: float | None = None,
        stop: float | None = None,
        step: float | None = None,
        dtype: DTypeLike | None = None,
        device: str | None = None,
        requires_grad: bool | None = None,
    ) -> Self:
        """Return start, start + step, … before stop: arange(stop), arange(start, stop, step).

        start is 0 and step 1 if they are not given. Integers give int32, other numbers float32.

        >>> Tensor.arange(5).tolist(), Tensor.arange(1, 2, 0.25).tolist()
        ([0, 1, 2, 3, 4], [1.0, 1.25, 1.5, 1.75])
        >>> Tensor.arange(5, start=2).tolist()
        [2, 3, 4]
        """
        given = {"start": start, "stop": stop, "step": step}
        names = ["stop"] if len(bounds) == 1 and stop is None else list(given)
        if len(bounds) > len(names):
            raise TypeError(
                f"Tensor.arange: {len(bounds)} numbers, expected at most start, stop and step"
            )
        for name, value in zip(names, bounds):
            if given[name] is not None:
                raise TypeError(f"Tensor.arange: {name} is given twice")
            given[name] = value
        numbers = [plain_scalar(value) for value in given.values()]
        if numbers[1] is None:
            raise TypeError("Tensor.arange: stop is missing")
        whole = all(v is None or isinstance(v, (int, np.integer, SymInt)) for v in numbers)
        kind = known_dtype(dtype)
        if kind is None:
            kind = dtypes.default_int if whole else dtypes.default_float
        if any(isinstance(v, SymInt) for v in numbers):
            first, last, by = numbers[0] or 0, numbers[1], 1 if numbers[2] is None else numbers[2]
            node = Node(lib.poly_arange_size(CTX, kind.id, first, last, by))
            result = made(cls, lib.poly_array_of(CTX, node.handle, None, 0))
        else:
            result = make(cls, op.ARANGE, *numbers, kind)
        return finish(result, device, requires_grad)
