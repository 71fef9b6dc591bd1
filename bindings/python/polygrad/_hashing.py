"""Tensor methods that hash bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polygrad import _methods as op
from polygrad._base import Base, by_nodes

if TYPE_CHECKING:
    from typing_extensions import Self


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
        if isinstance(cfg, str):
            return self._call1(op.KECCAK, cfg)
        return by_nodes("poly_keccak", 1, self, *cfg)[0]

    def hash(self) -> Self:
        """Return 16 bytes, uint8, that depend on all bytes of the tensor.

        They are a tree of SHAKE128 over blocks of 4096 bytes, with zeros behind the last of the
        chunks of 2^20 bytes: it takes long even for small tensors.

        >>> Tensor(b"abc").hash().shape
        (16,)
        """
        return by_nodes("poly_hash", 1, self)[0]
