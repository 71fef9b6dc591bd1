"""Tensor methods that hash bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polygrad._base import Base, call
from polygrad._library import ChoiceError

if TYPE_CHECKING:
    from typing_extensions import Self

# Bytes a block and the bits behind the message, as FIPS 202 has them.
_SPONGES = {
    "sha3_224": (144, 6),
    "sha3_256": (136, 6),
    "sha3_384": (104, 6),
    "sha3_512": (72, 6),
    "shake_128": (168, 31),
    "shake_256": (136, 31),
}


class Hashing(Base):
    """Hashes of the memory of elements."""

    __slots__ = ()

    def keccak(self, cfg: str | tuple[int, int] = "sha3_256") -> Self:
        """Hash the bytes of the last axis.

        cfg is "sha3_224", "sha3_256", "sha3_384", "sha3_512", "shake_128", "shake_256" or a pair:
        the rate in bytes, and the number that a hash puts behind the message. The last axis of the
        result, uint8, holds (200 - rate) / 2 bytes. Messages have fewer than 256 times the rate
        bytes: hash takes more.

        >>> bytes(Tensor(b"abc").keccak().tolist()).hex()[:16]
        '3a985da74fe225b2'
        """
        if isinstance(cfg, str) and cfg not in _SPONGES:
            raise ChoiceError(f"keccak: cfg: {cfg!r}, expected one of {list(_SPONGES)} or a pair")
        rate, suffix = _SPONGES[cfg] if isinstance(cfg, str) else cfg
        return call("poly_keccak", self, rate, suffix)

    def hash(self) -> Self:
        """Return 16 bytes, uint8, that depend on all bytes of the tensor.

        They are a tree of SHAKE128 over blocks of 4096 bytes, with zeros behind the last of the
        chunks of 2^20 bytes: it takes long even for small tensors.

        >>> Tensor(b"abc").hash().shape
        (16,)
        """
        return call("poly_hash", self)
