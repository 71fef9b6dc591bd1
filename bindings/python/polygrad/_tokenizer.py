"""Text as tokens."""

from __future__ import annotations

import ctypes
import json
import weakref
from collections.abc import Callable, Iterable, Sequence
from os import PathLike, fsencode
from typing import Any

import numpy as np

from polygrad._library import c_text, fail, lib, need, taken, wrong


def numbers(what: str, tokens: Any) -> Any:
    """Return tokens as a vector of integers, which C's int can hold."""
    given = np.asarray(tokens).reshape(-1)
    if np.issubdtype(given.dtype, np.number) and not np.iscomplexobj(given):
        odd = given[~((given >= -(1 << 31)) & (given < 1 << 31) & (given == np.trunc(given)))]
    else:
        odd = given
    if odd.size:
        raise wrong(what, repr(odd.tolist()[0]), "integers of 32 bits")
    return given.astype(np.int64)


def _ids(tokens: Any) -> tuple[int, int, Any]:
    ids = np.ascontiguousarray(numbers("tokens", tokens), np.int32)
    return ids.ctypes.data, len(ids), ids


def _text(f: Any, *args: Any) -> str:
    length = ctypes.c_int64()
    return taken(f(*args, ctypes.byref(length)), length.value, ValueError).decode()


class Tokenizer:
    """What turns text into the tokens of a model and back.

    file is the path of a tokenizer.json (whose truncation and padding are not applied), of a model
    of SentencePiece or of a GGUF file, a folder with one of the first two, or bytes. With the name
    of a vocabulary of tiktoken, such as cl100k_base, it holds its ranks, with "clip" CLIP's merges.

    >>> from polygrad.hf import Tokenizer
    >>> words = Tokenizer(b'{"model": {"type": "WordLevel", "vocab": {"a": 0, "b": 1}}}')
    >>> words.encode("a"), words.decode([0, 1])
    ([0], 'a b')
    """

    def __init__(self, file: str | PathLike[str] | bytes, name: str = "") -> None:
        kind, given = (
            c_text("name", name),
            need((bytes, str, PathLike), "file", file, "a path or bytes"),
        )
        if isinstance(given, bytes):
            handle = lib.poly_tokenizer_new(given, len(given), kind)
        else:
            handle = lib.poly_tokenizer_open(fsencode(given), kind)
        self._handle = handle or fail(ValueError)
        weakref.finalize(self, lib.poly_tokenizer_free, self._handle)

    def encode(
        self, text: str | Sequence[str], special: bool = True, allowed: str | Iterable[str] = "all"
    ) -> Any:
        """Return the tokens of a text, or a list of those of each text; threads share these.

        special adds the model's special tokens around it. allowed says what texts of special
        tokens are: "all" tokens, "none" text, "refuse" a ValueError, else those that are tokens.
        """
        alone = [text] if isinstance(text, str) else need(Iterable, "text", text, "a text or texts")
        parts = [need(str, "text", t, "a text").encode("utf-8", "replace") for t in alone]
        lengths = np.array([len(p) for p in parts], np.int64)
        counts = np.zeros_like(lengths)
        if isinstance(allowed, str) and allowed not in ("all", "none", "refuse"):
            raise wrong("allowed", repr(allowed), '"all", "none", "refuse" or texts')
        texts = need(Iterable, "allowed", allowed, "texts")
        mode = texts if isinstance(texts, str) else json.dumps(list(texts))
        given = (b"".join(parts), lengths.ctypes.data, len(parts), special, mode.encode())
        address = lib.poly_tokenizer_encode(self._handle, *given, counts.ctypes.data)
        ids = np.frombuffer(taken(address, 4 * int(counts.sum()), ValueError), np.int32)
        ends = np.cumsum(counts)
        rows = [ids[end - n : end].tolist() for end, n in zip(ends, counts)]
        return rows[0] if isinstance(text, str) else rows

    def decode(self, tokens: Any, special: bool = False) -> str:
        """Return the text of tokens; special keeps tokens that stand for no text."""
        address, n, _kept = _ids(tokens)
        return _text(lib.poly_tokenizer_decode, self._handle, address, n, special)

    @property
    def vocab_size(self) -> int:
        """The number of tokens."""
        n: int = lib.poly_tokenizer_size(self._handle)
        return n

    def stream(self, before: Any = ()) -> Callable[..., str]:
        """Return a function of the next tokens that returns the text they add to those before.

        It keeps an incomplete character back until it is called without tokens.
        """
        address, n, _kept = _ids(before)
        handle = lib.poly_text_stream_new(self._handle, address, n, 0) or fail(ValueError)

        def push(*tokens: int) -> str:
            address, n, _kept = _ids(tokens)
            return _text(lib.poly_text_stream_push, handle, address, n)

        weakref.finalize(push, lib.poly_text_stream_free, handle)
        return push
