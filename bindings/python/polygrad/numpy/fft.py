"""Fourier transforms: the extension of the array API standard. They are those of polygrad.fft."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from polygrad import fft as _fft
from polygrad.fft import (
    fft,
    fft2,
    fftn,
    fftshift,
    hfft,
    ifft,
    ifft2,
    ifftn,
    ifftshift,
    ihfft,
    irfft,
    irfft2,
    irfftn,
    rfft,
    rfft2,
    rfftn,
)

if TYPE_CHECKING:
    from polygrad.tensor import Tensor

__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]


def fftfreq(n: int, d: float = 1.0, dtype: Any = None, *, device: str | None = None) -> Tensor:
    """Return the frequencies of fft, of shape (n,), in cycles per unit of the spacing d."""
    return _fft.fftfreq(n, d, "float32" if dtype is None else dtype).to(device)


def rfftfreq(n: int, d: float = 1.0, dtype: Any = None, *, device: str | None = None) -> Tensor:
    """Return the frequencies of rfft, of shape (n//2 + 1,), in cycles per unit of d."""
    return _fft.rfftfreq(n, d, "float32" if dtype is None else dtype).to(device)
