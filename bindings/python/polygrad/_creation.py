"""Ways to make tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from polygrad import _prototypes as c
from polygrad._base import Base, made
from polygrad._graph import CTX, Node, describe, dims, several
from polygrad._library import lib
from polygrad._movement import sizes
from polygrad._random import next_seed, set_seed
from polygrad.device import Device
from polygrad.dtype import DTypeLike, dtypes, to_dtype

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Self


def _float_type(dtype: DTypeLike | None) -> int:
    return to_dtype(dtype or dtypes.default_float).id


class Creation(Base):
    """Class methods that make tensors. All of them are lazy.

    dtype is the data type of the result, device where it lives, and requires_grad whether
    backward gives it a gradient.
    """

    __slots__ = ()

    @classmethod
    def _new(
        cls, handle: int | None, source: tuple[Node, ...], device: str | None, requires_grad: bool
    ) -> Self:
        if device is not None:
            Device.require(device)
        tensor = made(cls, handle, source)
        if requires_grad:
            tensor.requires_grad = True  # type: ignore[attr-defined]
        return tensor

    @classmethod
    def full(
        cls,
        shape: int | Sequence[int],
        val: float | bool,
        dtype: DTypeLike | None = None,
        device: str | None = None,
        requires_grad: bool = False,
    ) -> Self:
        """Return a tensor filled with a value.

        >>> Tensor.full((2, 2), 7).tolist()
        [[7, 7], [7, 7]]
        """
        new = several(shape)
        if not isinstance(val, (int, float, np.generic)):
            raise TypeError(f"full: val: {val!r}, expected a number")
        if dtype is not None:
            kind = to_dtype(dtype)
        elif type(val) is int and not -(1 << 31) <= val < 1 << 31:
            kind = dtypes.int64
        else:
            kind = to_dtype(type(val))
        if isinstance(val, np.generic):
            val = val.item()
        if isinstance(val, int):
            handle = lib.poly_full_int_by_id(CTX, kind.id, dims(new), len(new), val)
        else:
            handle = lib.poly_full_by_id(CTX, kind.id, dims(new), len(new), val)
        return cls._new(handle, (), device, requires_grad)

    @classmethod
    def zeros(cls, *shape: Any, dtype: DTypeLike | None = None, **options: Any) -> Self:
        """Return a tensor of zeros.

        >>> Tensor.zeros(2, 3).tolist()
        [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
        """
        return cls.full(sizes(shape), 0.0, dtype or dtypes.default_float, **options)

    @classmethod
    def ones(cls, *shape: Any, dtype: DTypeLike | None = None, **options: Any) -> Self:
        """Return a tensor of ones.

        >>> Tensor.ones(2, dtype="int32").tolist()
        [1, 1]
        """
        return cls.full(sizes(shape), 1.0, dtype or dtypes.default_float, **options)

    @classmethod
    def empty(cls, *shape: Any, dtype: DTypeLike | None = None, **options: Any) -> Self:
        """Return a tensor whose contents do not matter.

        >>> Tensor.empty(2, 3).shape
        (2, 3)
        """
        return cls.zeros(*shape, dtype=dtype, **options)

    def full_like(self, fill_value: float | bool, dtype: DTypeLike | None = None) -> Self:
        """Return a tensor of the shape and type of self, filled with a value."""
        shape, own = describe(self._node)
        return self.full(shape, fill_value, dtype or own)

    def zeros_like(self, dtype: DTypeLike | None = None) -> Self:
        """Return zeros of the shape and type of self.

        >>> Tensor([1, 2]).zeros_like().tolist()
        [0, 0]
        """
        return self.full_like(0, dtype)

    def ones_like(self, dtype: DTypeLike | None = None) -> Self:
        """Return ones of the shape and type of self."""
        return self.full_like(1, dtype)

    @classmethod
    def arange(
        cls,
        *bounds: float,
        start: float | None = None,
        stop: float | None = None,
        step: float | None = None,
        dtype: DTypeLike | None = None,
        device: str | None = None,
        requires_grad: bool = False,
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
            raise TypeError(f"arange: {len(bounds)} numbers, expected at most start, stop and step")
        for name, value in zip(names, bounds):
            if given[name] is not None:
                raise TypeError(f"arange: {name} is given twice")
            given[name] = value
        if given["stop"] is None:
            raise TypeError("arange: stop is missing")
        first = 0 if given["start"] is None else given["start"]
        by = 1 if given["step"] is None else given["step"]
        if dtype is None:
            whole = all(isinstance(v, (int, np.integer)) for v in (first, given["stop"], by))
            dtype = dtypes.default_int if whole else dtypes.default_float
        handle = lib.poly_arange_by_id(CTX, to_dtype(dtype).id, first, given["stop"], by)
        return cls._new(handle, (), device, requires_grad)

    @classmethod
    def linspace(
        cls,
        start: float,
        stop: float,
        steps: int,
        dtype: DTypeLike | None = None,
        device: str | None = None,
        requires_grad: bool = False,
    ) -> Self:
        """Return steps values from start to stop, both included.

        >>> Tensor.linspace(0, 1, 5).tolist()
        [0.0, 0.25, 0.5, 0.75, 1.0]
        """
        handle = lib.poly_linspace_by_id(CTX, _float_type(dtype), start, stop, steps)
        return cls._new(handle, (), device, requires_grad)

    @classmethod
    def eye(
        cls,
        n: int,
        m: int | None = None,
        dtype: DTypeLike | None = None,
        device: str | None = None,
        requires_grad: bool = False,
    ) -> Self:
        """Return the identity matrix, n rows and m (default n) columns.

        >>> Tensor.eye(2).tolist()
        [[1.0, 0.0], [0.0, 1.0]]
        """
        handle = lib.poly_eye_by_id(CTX, _float_type(dtype), n, n if m is None else m)
        return cls._new(handle, (), device, requires_grad)

    # Random numbers

    @staticmethod
    def manual_seed(seed: int = 0) -> None:
        """Make the random tensors that follow repeatable.

        >>> Tensor.manual_seed(42)
        >>> a = Tensor.rand(3).tolist()
        >>> Tensor.manual_seed(42)
        >>> a == Tensor.rand(3).tolist()
        True
        """
        set_seed(seed)

    @classmethod
    def _random(
        cls,
        name: str,
        shape: tuple[Any, ...],
        dtype: DTypeLike | None,
        device: str | None,
        requires_grad: bool,
        *numbers: float,
    ) -> Self:
        new, seed, kind = sizes(shape), next_seed(), _float_type(dtype)
        handle = getattr(lib, name)(CTX, kind, dims(new), len(new), *numbers, seed.handle)
        return cls._new(handle, (seed,), device, requires_grad)

    @classmethod
    def rand(
        cls,
        *shape: Any,
        dtype: DTypeLike | None = None,
        device: str | None = None,
        requires_grad: bool = False,
    ) -> Self:
        """Return numbers that are uniform in [0, 1).

        >>> t = Tensor.rand(100)
        >>> t.min().item() >= 0, t.max().item() < 1
        (True, True)
        """
        return cls._random("poly_rand_seeded", shape, dtype, device, requires_grad)

    @classmethod
    def randn(
        cls,
        *shape: Any,
        dtype: DTypeLike | None = None,
        device: str | None = None,
        requires_grad: bool = False,
    ) -> Self:
        """Return numbers of the standard normal distribution.

        >>> Tensor.randn(2, 3).shape
        (2, 3)
        """
        return cls._random("poly_randn_seeded", shape, dtype, device, requires_grad)

    @classmethod
    def randint(
        cls,
        *args: Any,
        low: int | None = None,
        high: int | None = None,
        shape: Any = None,
        dtype: DTypeLike | None = None,
        device: str | None = None,
    ) -> Self:
        """Return integers in [low, high).

        Both randint(low, high, shape) and randint(*shape, low=0, high=10) are understood; three
        integers are low, high and the size of a vector.

        >>> t = Tensor.randint(2, 5, (50,))
        >>> t.shape, t.min().item() >= 2, t.max().item() < 5
        ((50,), True, True)
        """
        rest = list(args)
        bounded = len(rest) + (shape is not None) > 2 and not isinstance(rest[0], (tuple, list))
        if low is None and high is None and bounded:
            low, high = rest.pop(0), rest.pop(0)
        new = sizes(tuple(rest)) if rest or shape is None else sizes((shape,))
        seed = next_seed()
        handle = lib.poly_randint_seeded(
            CTX,
            to_dtype(dtype or dtypes.default_int).id,
            dims(new),
            len(new),
            0 if low is None else low,
            10 if high is None else high,
            seed.handle,
        )
        return cls._new(handle, (seed,), device, False)

    @classmethod
    def uniform(
        cls,
        *shape: Any,
        low: float = 0.0,
        high: float = 1.0,
        dtype: DTypeLike | None = None,
        device: str | None = None,
        requires_grad: bool = False,
    ) -> Self:
        """Return numbers that are uniform in [low, high).

        >>> t = Tensor.uniform(100, low=-1, high=1)
        >>> -1 <= t.min().item() <= t.max().item() < 1
        True
        """
        name = "poly_uniform_seeded"
        return cls._random(name, shape, dtype, device, requires_grad, low, high)

    @classmethod
    def normal(
        cls,
        *shape: Any,
        mean: float = 0.0,
        std: float = 1.0,
        dtype: DTypeLike | None = None,
        device: str | None = None,
        requires_grad: bool = False,
    ) -> Self:
        """Return numbers of the normal distribution with a mean and a deviation.

        >>> Tensor.normal(2, 3, mean=10, std=2).shape
        (2, 3)
        """
        name = "poly_normal_seeded"
        return cls._random(name, shape, dtype, device, requires_grad, mean, std)

    @classmethod
    def _init(
        cls,
        scheme: int,
        shape: tuple[Any, ...],
        a: float = 0.0,
        dtype: DTypeLike | None = None,
        device: str | None = None,
        requires_grad: bool = False,
    ) -> Self:
        new, seed, kind = sizes(shape), next_seed(), _float_type(dtype)
        handle = lib.poly_init_seeded(CTX, scheme, kind, dims(new), len(new), a, seed.handle)
        return cls._new(handle, (seed,), device, requires_grad)

    @classmethod
    def scaled_uniform(cls, *shape: Any, **options: Any) -> Self:
        """Return numbers uniform in ±1/sqrt(number of elements)."""
        return cls._init(c.POLY_INIT_SCALED_UNIFORM, shape, **options)

    @classmethod
    def glorot_uniform(cls, *shape: Any, **options: Any) -> Self:
        """Return numbers by Glorot and Bengio's rule for weights of shape (out, in, …)."""
        return cls._init(c.POLY_INIT_GLOROT_UNIFORM, shape, **options)

    @classmethod
    def kaiming_uniform(cls, *shape: Any, a: float = 0.01, **options: Any) -> Self:
        """Return uniform numbers by He's rule for weights of shape (out, in, …)."""
        return cls._init(c.POLY_INIT_KAIMING_UNIFORM, shape, a, **options)

    @classmethod
    def kaiming_normal(cls, *shape: Any, a: float = 0.01, **options: Any) -> Self:
        """Return normal numbers by He's rule for weights of shape (out, in, …)."""
        return cls._init(c.POLY_INIT_KAIMING_NORMAL, shape, a, **options)

    @classmethod
    def randperm(cls, n: int, dtype: DTypeLike | None = None, device: str | None = None) -> Self:
        """Return 0 to n-1 in random order.

        >>> Tensor.randperm(4).sort()[0].tolist()
        [0, 1, 2, 3]
        """
        seed, kind = next_seed(), to_dtype(dtype or dtypes.default_int).id
        handle = lib.poly_randperm_seeded(CTX, kind, n, seed.handle)
        return cls._new(handle, (seed,), device, False)

    def multinomial(self, num_samples: int = 1, replacement: bool = False) -> Self:
        """Draw class numbers with the weights in the last axis.

        Without replacement no class is drawn twice.

        >>> Tensor([0.0, 0.0, 2.0]).multinomial(3, replacement=True).tolist()
        [2, 2, 2]
        """
        node, seed = self._node, next_seed()
        handle = lib.poly_multinomial(CTX, node.handle, num_samples, replacement, seed.handle)
        return made(type(self), handle, (node, seed))

    def rand_like(self, **options: Any) -> Self:
        """Return rand of the shape and type of self."""
        shape, dtype = describe(self._node)
        return self.rand(*shape, **{"dtype": dtype, **options})

    def randn_like(self, **options: Any) -> Self:
        """Return randn of the shape and type of self."""
        shape, dtype = describe(self._node)
        return self.randn(*shape, **{"dtype": dtype, **options})

    def dropout(self, p: float = 0.5) -> Self:
        """Set elements to 0 with probability p and scale the others, if Tensor.training.

        >>> Tensor([1.0, 2.0]).dropout(0.5).tolist()
        [1.0, 2.0]
        """
        if not 0 <= p <= 1:
            raise ValueError(f"dropout: p: {p}, expected 0 to 1")
        if not type(self).training or p == 0:  # type: ignore[attr-defined]
            return self
        seed = next_seed()
        handle = lib.poly_dropout(CTX, self._node.handle, p, seed.handle)
        return made(type(self), handle, (self._node, seed))
