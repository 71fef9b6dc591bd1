"""The display of tensors: in a terminal, in formatted strings and in notebooks."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from polygrad import _trace
from polygrad._base import Base, copied, describe


class Display(Base):
    """Tensors as text. Nothing is computed for it: a lazy tensor shows no values."""

    __slots__ = ()

    def _stored(self) -> np.ndarray[Any, Any] | None:
        """Return the memory of the tensor, None if it is lazy."""
        return self._data if self.is_realized and not _trace.active() else None

    def __repr__(self) -> str:
        """Return the values as numpy prints them, abbreviated for large tensors, with the type.

        >>> Tensor([[1.0, 2.5], [3.0, 4.0]])
        Tensor([[1. , 2.5],
                [3. , 4. ]], shape=(2, 2), dtype=float32)
        >>> Tensor.arange(5000).realize()
        Tensor([   0,    1,    2, ..., 4997, 4998, 4999], shape=(5000,), dtype=int32)
        >>> Tensor([1.0]) + 1
        Tensor(lazy, shape=(1,), dtype=float32)
        """
        shape, dtype = describe(self)
        name = type(self).__name__
        text = "lazy"
        stored = self._stored()
        if stored is not None:
            text = _text(self, stored, f"{name}(")
        wants = ", requires_grad=True" if self.requires_grad else ""
        return f"{name}({text}, shape={shape}, dtype={dtype.name}{wants})"

    def __format__(self, spec: str) -> str:
        """Format the value of a tensor with one element: f"{loss:.3f}".

        >>> f"{Tensor([0.12345]).sum():.3f}"
        '0.123'
        """
        if not spec:
            return str(self)
        shape = describe(self)[0]
        if prod(shape) != 1:
            raise TypeError(f"format {spec!r} of a tensor of shape {shape}, expected one element")
        return format(self.item(), spec)

    def _repr_html_(self) -> str:
        """Return the HTML for notebooks: the values as numpy prints them, shape, type, memory."""
        shape, dtype = describe(self)
        stored = self._stored()
        facts = {
            "shape": str(shape),
            "dtype": dtype.name,
            "memory": _bytes(prod(shape) * dtype.itemsize),
            "values": "lazy: computed when they are needed" if stored is None else "computed",
        }
        if self.requires_grad:
            facts["gradient"] = "required" if self.grad is None else "computed"
        items = " · ".join(f"{name} <b>{text}</b>" for name, text in facts.items())
        head = f'<div style="font-size: smaller">{type(self).__name__}: {items}</div>'
        return f"<div>{head}{'' if stored is None else f'<pre>{_text(self, stored)}</pre>'}</div>"

    def __dir__(self) -> list[str]:
        """Return the public names and Python's special methods, for completion."""
        names = super().__dir__()
        return [n for n in names if not n.startswith("_") or n.startswith("__")]


def _text(tensor: Any, stored: np.ndarray[Any, Any], prefix: str = "") -> str:
    """Return stored values as numpy prints them behind a prefix.

    For a large array only the corners are passed to numpy: it leaves out the middle of an axis
    with more elements than twice the edge, so one more element than that gives the same text.
    """
    options = np.get_printoptions()
    threshold, edge = int(options["threshold"]), int(options["edgeitems"])
    if stored.size > threshold:
        threshold = 0
        places = [
            np.r_[: edge + 1, n - edge : n] if n > 2 * edge + 1 else np.arange(n)
            for n in stored.shape
        ]
        stored = stored[np.ix_(*places)]
    if tensor.dtype.numpy is None:  # bfloat16 and fp8, which numpy lacks, are shown as float32
        stored = copied(type(tensor), np.ascontiguousarray(stored), tensor.dtype).numpy()
    return np.array2string(stored, separator=", ", prefix=prefix, threshold=threshold)


def _bytes(n: int) -> str:
    """Return a number of bytes with a unit.

    >>> _bytes(24), _bytes(1536), _bytes(5 << 30)
    ('24 bytes', '1.5 KiB', '5.0 GiB')
    """
    if n < 1024:
        return f"{n} bytes"
    steps = (n.bit_length() - 1) // 10
    return f"{n / (1 << 10 * steps):.1f} {'KMGTPE'[steps - 1]}iB"
