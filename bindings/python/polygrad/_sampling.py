"""Random tensors."""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, Any

from polygrad import _methods as op
from polygrad._base import Base, as_tensor, describe, make
from polygrad._creation import Creation, float_type
from polygrad._graph import CTX
from polygrad._library import ArgumentError, fail, lib
from polygrad._movement import sizes
from polygrad.dtype import DTypeLike, dtypes, to_dtype

if TYPE_CHECKING:
    from typing_extensions import Self


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
        if lib.poly_seed(CTX, index(seed) % 2**64) != 0:
            fail()

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
        result = make(cls, op.RAND, sizes(shape), float_type(dtype))
        return result._finish(device, requires_grad)

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
        result = make(cls, op.RANDN, sizes(shape), float_type(dtype))
        return result._finish(device, requires_grad)

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
        result = make(cls, op.RANDINT, sizes(shape), low, high, to_dtype(dtype))
        return result._finish(device, requires_grad)

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
        result = make(cls, op.UNIFORM, sizes(shape), low, high, float_type(dtype))
        return result._finish(device, requires_grad)

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
        result = make(cls, op.NORMAL, sizes(shape), mean, std, float_type(dtype))
        return result._finish(device, requires_grad)

    @classmethod
    def _init(
        cls,
        scheme: int,
        shape: tuple[Any, ...],
        *numbers: float,
        dtype: DTypeLike | None = None,
        device: str | None = None,
        requires_grad: bool | None = None,
    ) -> Self:
        result = make(cls, scheme, sizes(shape), *numbers, float_type(dtype))
        return result._finish(device, requires_grad)

    @classmethod
    def scaled_uniform(cls, *shape: Any, **kwargs: Any) -> Self:
        """Return numbers uniform in ±1/sqrt(number of elements)."""
        return cls._init(op.SCALED_UNIFORM, shape, **kwargs)

    @classmethod
    def glorot_uniform(cls, *shape: Any, **kwargs: Any) -> Self:
        """Return numbers by Glorot and Bengio's rule for weights of shape (out, in, …)."""
        return cls._init(op.GLOROT_UNIFORM, shape, **kwargs)

    @classmethod
    def kaiming_uniform(cls, *shape: Any, a: float = 0.01, **kwargs: Any) -> Self:
        """Return uniform numbers by He's rule for weights of shape (out, in, …)."""
        return cls._init(op.KAIMING_UNIFORM, shape, a, **kwargs)

    @classmethod
    def kaiming_normal(cls, *shape: Any, a: float = 0.01, **kwargs: Any) -> Self:
        """Return normal numbers by He's rule for weights of shape (out, in, …)."""
        return cls._init(op.KAIMING_NORMAL, shape, a, **kwargs)

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
        return make(cls, op.RANDPERM, n, to_dtype(dtype))._finish(device, requires_grad)

    def multinomial(self, num_samples: int = 1, replacement: bool = False) -> Self:
        """Draw class numbers with the weights in the last axis.

        Without replacement no class is drawn twice.

        >>> Tensor([0.0, 0.0, 2.0]).multinomial(3, replacement=True).tolist()
        [2, 2, 2]
        """
        return self._call1(op.MULTINOMIAL, num_samples, bool(replacement))

    def rand_like(self, **kwargs: Any) -> Self:
        """Return rand of the shape and type of self.

        >>> Tensor([1.0, 2.0]).rand_like().shape
        (2,)
        """
        shape, own = describe(self)
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
        shape, own = describe(self)
        return self.randn(shape, dtype=dtype or own, device=device, requires_grad=requires_grad)

    def dropout(self, p: float = 0.5) -> Self:
        """Set elements to 0 with probability p and scale the others, if Tensor.training.

        >>> Tensor([1.0, 2.0]).dropout(0.5).tolist()
        [1.0, 2.0]
        """
        if not 0 <= p <= 1:
            raise ValueError(f"dropout: p: {p}, expected 0 to 1")
        return self._call1(op.DROPOUT, p) if self._trains() and p else self

    def scaled_dot_product_attention(
        self,
        key: Base,
        value: Base,
        attn_mask: Base | None = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        enable_gqa: bool = False,
        scale: float | None = None,
    ) -> Self:
        """Return softmax(scale * self @ key.T + mask) @ value over the last two axes.

        A bool mask tells which pairs may attend; another one is added. is_causal hides keys
        after the query. With enable_gqa several heads (axis -3) of self share one of key and
        value. scale is 1/sqrt(d) by default. Weights are dropped with probability dropout_p
        while Tensor.training is set. What is hidden may be left out of the computation: a NaN
        there shows in the result or not, as the sizes have it.

        >>> q = Tensor([[1.0, 0.0]])
        >>> q.scaled_dot_product_attention(q, Tensor([[2.0, 3.0]])).tolist()
        [[2.0, 3.0]]
        """
        if scale == 0:
            raise ArgumentError("scaled_dot_product_attention: scale: 0, expected another number")
        key, value, mask = (as_tensor(t, self) for t in (key, value, attn_mask))
        drop = dropout_p if self._trains() else 0.0
        flags = (float(drop), bool(is_causal), bool(enable_gqa), scale)
        return self._call1(op.SCALED_DOT_PRODUCT_ATTENTION, key, value, mask, *flags)

    def _trains(self) -> bool:
        """Tell whether weights are dropped, and tell the library."""
        on: bool = type(self).training  # type: ignore[attr-defined]
        lib.poly_training(CTX, on)
        return on
