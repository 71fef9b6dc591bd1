"""How tensors show themselves: in a terminal, in formatted strings and in notebooks."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from polygrad import _trace
from polygrad._base import Base, copied, describe

# A notebook shows this many rows and columns of a matrix, the first and the last ones.
_ROWS, _COLUMNS = 10, 8


class Display(Base):
    """Texts of tensors. None of them computes a tensor: of a lazy one there are no values."""

    __slots__ = ()

    if TYPE_CHECKING:
        grad: Any
        requires_grad: bool | None

        @property
        def is_realized(self) -> bool:
            """See Tensor."""

        @property
        def _data(self) -> np.ndarray[Any, Any]:
            """See Tensor."""

        def item(self) -> Any:
            """See Tensor."""

    def _stored(self) -> np.ndarray[Any, Any] | None:
        """Return the memory of the tensor, None if it is lazy."""
        return self._data if self.is_realized and not _trace.active() else None

    def __repr__(self) -> str:
        """Return the values as numpy prints them, in short for large tensors, with their type.

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
            values, threshold = _shown(self, stored)
            prefix = f"{name}("
            text = np.array2string(values, separator=", ", prefix=prefix, threshold=threshold)
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
        """Return the HTML for notebooks: the values as a table, shape, type and memory."""
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
        return f"<div>{head}{'' if stored is None else _body(self, stored)}</div>"

    def __dir__(self) -> list[str]:
        """Return the public names and Python's special methods, for completion."""
        names = super().__dir__()
        return [n for n in names if not n.startswith("_") or n.startswith("__")]


def _shown(tensor: Any, stored: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], int]:
    """Return an array that prints as a stored one does, and numpy's threshold for it.

    Of a large one only the corners are looked at: numpy leaves out the middle of an axis with
    more elements than twice the edge, which is all that it has to have.
    """
    options = np.get_printoptions()
    threshold, edge = int(options["threshold"]), int(options["edgeitems"])
    if stored.size <= threshold:
        return _values(tensor, stored), threshold
    places = [
        np.r_[: edge + 1, n - edge : n] if n > 2 * edge + 1 else np.arange(n) for n in stored.shape
    ]
    return _values(tensor, stored[np.ix_(*places)]), 0


def _values(tensor: Any, stored: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the values of stored elements: bfloat16 and fp8, which numpy lacks, as float32."""
    if tensor.dtype.numpy is not None:
        return stored
    array: np.ndarray[Any, Any]
    array = copied(type(tensor), np.ascontiguousarray(stored), tensor.dtype).numpy()
    return array


def _bytes(n: int) -> str:
    """Return a number of bytes as people read it.

    >>> _bytes(24), _bytes(1536), _bytes(5 << 30)
    ('24 bytes', '1.5 KiB', '5.0 GiB')
    """
    if n < 1024:
        return f"{n} bytes"
    steps = (n.bit_length() - 1) // 10
    return f"{n / (1 << 10 * steps):.1f} {'KMGTPE'[steps - 1]}iB"


def _body(tensor: Any, stored: np.ndarray[Any, Any]) -> str:
    """Return the values as HTML: a table for vectors and matrices, else what numpy prints."""
    if stored.ndim not in (1, 2) or stored.size == 0:
        values, threshold = _shown(tensor, stored)
        text = np.array2string(values, separator=", ", threshold=threshold)
        return f"<pre>{text}</pre>"
    matrix = stored if stored.ndim == 2 else stored[None]
    rows, columns = (_some(n, most) for n, most in zip(matrix.shape, (_ROWS, _COLUMNS)))
    places = ([i for i in axis if i is not None] for axis in (rows, columns))
    shown = _values(tensor, matrix[np.ix_(*places)]).ravel().tolist()
    texts = (f"{v:.6g}" if isinstance(v, float) else str(v) for v in shown)

    def cells(i: int | None) -> str:
        known = ["…" if i is None or j is None else next(texts) for j in columns]
        return "".join(f"<td>{text}</td>" for text in known)

    def title(i: int | None) -> str:
        return f"<th>{'…' if i is None else i}</th>"

    head = "".join(title(j) for j in columns)
    lines = "".join(f"<tr>{title(i)}{cells(i)}</tr>" for i in rows)
    return f"<table><thead><tr><th></th>{head}</tr></thead><tbody>{lines}</tbody></table>"


def _some(n: int, most: int) -> list[int | None]:
    """Return the indices of an axis that are shown; None stands for omitted ones."""
    if n <= most:
        return list(range(n))
    half = most // 2
    return [*range(half), None, *range(n - half, n)]
