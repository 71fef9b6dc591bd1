"""Random tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from polygrad import _prototypes as c
from polygrad._base import made
from polygrad._creation import Creation, float_type
from polygrad._graph import CTX, describe, dims
from polygrad._library import lib
from polygrad._movement import sizes
from polygrad._random import next_seed, set_seed, words_of
from polygrad.dtype import DTypeLike, dtypes, to_dtype

if TYPE_CHECKING:
    from typing_extensions import Self


def _integer_size(low: Any, high: Any) -> int:
    """Return the bytes of randomness that an integer in a range takes, for words_of."""
    return 4 if high - low <= 1 << 23 else 8


class Sampling(Creation):
    """Random tensors, of which equal seeds make equal ones on every device.

    dtype, device and requires_grad apply to every new tensor.
    """

    __slots__ = ()

    @staticmethod
    def manual_seed(seed: int = 0) -> None:
        """Seed later random tensors: equal to tinygrad's for the same seed.

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
        each: int,
        shape: tuple[Any, ...],
        dtype: DTypeLike | None,
        device: str | None,
        requires_grad: bool | None,
        *numbers: float,
    ) -> Self:
        new, kind = sizes(shape), float_type(dtype)
        seed = next_seed(words_of(new, each))
        handle = getattr(lib, name)(CTX, kind, dims(new), len(new), *numbers, seed.handle)
        return cls._new(handle, (seed,), device, requires_grad)

    @classmethod
    def rand(
        cls,
        *shape: Any,
        device: str | None = None,
        dtype: DTypeLike | None = None,
        contiguous: bool = True,
        requires_grad: bool | None = None,
    ) -> Self:
        """Return numbers of a floating type that are uniform in [0, 1).

        They always have memory of their own, so that each is drawn once; contiguous is there for
        tinygrad's users.

        >>> t = Tensor.rand(100)
        >>> t.min().item() >= 0, t.max().item() < 1
        (True, True)
        """
        each = to_dtype(dtype or dtypes.default_float).itemsize
        return cls._random("poly_rand_seeded", each, shape, dtype, device, requires_grad)

    @classmethod
    def randn(
        cls,
        *shape: Any,
        dtype: DTypeLike | None = None,
        device: str | None = None,
        requires_grad: bool | None = None,
    ) -> Self:
        """Return numbers of the standard normal distribution; integers are rounded to zero.

        >>> Tensor.randn(2, 3).shape
        (2, 3)
        """
        return cls._random("poly_randn_seeded", 8, shape, dtype, device, requires_grad)

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
        """Return integers in [low, high), of an integer type.

        randint(low, high, shape) is understood too, where shape is a tuple or list.

        >>> t = Tensor.randint(50, low=2, high=5)
        >>> t.shape, t.min().item() >= 2, t.max().item() < 5
        ((50,), True, True)
        """
        if len(shape) == 3 and isinstance(shape[2], (tuple, list)):
            low, high, shape = shape
        new, kind = sizes(shape), to_dtype(dtype).id
        seed = next_seed(words_of(new, _integer_size(low, high)))
        handle = lib.poly_randint_seeded(CTX, kind, dims(new), len(new), low, high, seed.handle)
        return cls._new(handle, (seed,), device, requires_grad)

    @classmethod
    def uniform(
        cls,
        *shape: Any,
        low: float = 0.0,
        high: float = 1.0,
        dtype: DTypeLike | None = None,
        device: str | None = None,
        requires_grad: bool | None = None,
    ) -> Self:
        """Return numbers that are uniform in [low, high).

        An integer type takes whole bounds and draws integers, as randint does.

        >>> t = Tensor.uniform(100, low=-1, high=1)
        >>> -1 <= t.min().item() <= t.max().item() < 1
        True
        """
        name, kind = "poly_uniform_seeded", to_dtype(dtype or dtypes.default_float)
        each = _integer_size(low, high) if dtypes.is_int(kind) else max(4, kind.itemsize)
        return cls._random(name, each, shape, dtype, device, requires_grad, low, high)

    @classmethod
    def normal(
        cls,
        *shape: Any,
        mean: float = 0.0,
        std: float = 1.0,
        dtype: DTypeLike | None = None,
        device: str | None = None,
        requires_grad: bool | None = None,
    ) -> Self:
        """Return numbers of the normal distribution with a mean and a standard deviation.

        >>> Tensor.normal(2, 3, mean=10, std=2).shape
        (2, 3)
        """
        name = "poly_normal_seeded"
        return cls._random(name, 8, shape, dtype, device, requires_grad, mean, std)

    @classmethod
    def _init(
        cls,
        scheme: int,
        shape: tuple[Any, ...],
        a: float = 0.0,
        dtype: DTypeLike | None = None,
        device: str | None = None,
        requires_grad: bool | None = None,
    ) -> Self:
        new, kind = sizes(shape), to_dtype(dtype or dtypes.default_float)
        each = 8 if scheme == c.POLY_INIT_KAIMING_NORMAL else max(4, kind.itemsize)
        seed = next_seed(words_of(new, each))
        handle = lib.poly_init_seeded(CTX, scheme, kind.id, dims(new), len(new), a, seed.handle)
        return cls._new(handle, (seed,), device, requires_grad)

    @classmethod
    def scaled_uniform(cls, *shape: Any, **kwargs: Any) -> Self:
        """Return numbers uniform in ±1/sqrt(number of elements)."""
        return cls._init(c.POLY_INIT_SCALED_UNIFORM, shape, **kwargs)

    @classmethod
    def glorot_uniform(cls, *shape: Any, **kwargs: Any) -> Self:
        """Return numbers by Glorot and Bengio's rule for weights of shape (out, in, …)."""
        return cls._init(c.POLY_INIT_GLOROT_UNIFORM, shape, **kwargs)

    @classmethod
    def kaiming_uniform(cls, *shape: Any, a: float = 0.01, **kwargs: Any) -> Self:
        """Return uniform numbers by He's rule for weights of shape (out, in, …)."""
        return cls._init(c.POLY_INIT_KAIMING_UNIFORM, shape, a, **kwargs)

    @classmethod
    def kaiming_normal(cls, *shape: Any, a: float = 0.01, **kwargs: Any) -> Self:
        """Return normal numbers by He's rule for weights of shape (out, in, …)."""
        return cls._init(c.POLY_INIT_KAIMING_NORMAL, shape, a, **kwargs)

    @classmethod
    def randperm(
        cls,
        n: int,
        device: str | None = None,
        dtype: DTypeLike = dtypes.int32,
        requires_grad: bool | None = None,
    ) -> Self:
        """Return 0 to n-1 in random order.

        >>> Tensor.randperm(4).sort()[0].tolist()
        [0, 1, 2, 3]
        """
        seed, kind = next_seed(words_of((n,))), to_dtype(dtype).id
        handle = lib.poly_randperm_seeded(CTX, kind, n, seed.handle)
        return cls._new(handle, (seed,), device, requires_grad)

    def multinomial(self, num_samples: int = 1, replacement: bool = False) -> Self:
        """Draw class numbers with the weights in the last axis.

        Without replacement no class is drawn twice.

        >>> Tensor([0.0, 0.0, 2.0]).multinomial(3, replacement=True).tolist()
        [2, 2, 2]
        """
        node, shape = self._node, describe(self._node)[0]
        drawn = (*shape[:-1], num_samples) if replacement or num_samples == 1 else shape
        seed = next_seed(words_of(drawn))
        handle = lib.poly_multinomial(CTX, node.handle, num_samples, replacement, seed.handle)
        return made(type(self), handle, (node, seed))

    def rand_like(self, **kwargs: Any) -> Self:
        """Return rand of the shape and type of self.

        >>> Tensor([1.0, 2.0]).rand_like().shape
        (2,)
        """
        shape, own = describe(self._node)
        return self.rand(shape, **{"dtype": own, **kwargs})

    def randn_like(
        self,
        dtype: DTypeLike | None = None,
        requires_grad: bool | None = None,
        device: str | None = None,
    ) -> Self:
        """Return randn of the shape and type of self.

        >>> Tensor([1.0, 2.0]).randn_like(dtype="float16").dtype
        dtypes.float16
        """
        shape, own = describe(self._node)
        return self.randn(shape, dtype=dtype or own, device=device, requires_grad=requires_grad)

    def dropout(self, p: float = 0.5) -> Self:
        """Set elements to 0 with probability p and scale the others, if Tensor.training.

        >>> Tensor([1.0, 2.0]).dropout(0.5).tolist()
        [1.0, 2.0]
        """
        if not 0 <= p <= 1:
            raise ValueError(f"dropout: p: {p}, expected 0 to 1")
        if not type(self).training or p == 0:  # type: ignore[attr-defined]
            return self
        seed = next_seed(words_of(describe(self._node)[0]))
        handle = lib.poly_dropout(CTX, self._node.handle, p, seed.handle)
        return made(type(self), handle, (self._node, seed))
