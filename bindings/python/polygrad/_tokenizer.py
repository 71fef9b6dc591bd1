"""Text as tokens."""

from __future__ import annotations

import ctypes
import json
import weakref
from collections.abc import Callable, Iterable
from os import PathLike, fsencode
from typing import Any

import numpy as np

from polygrad._library import c_text, fail, lib, need, taken, wrong


def numbers(what: str, tokens: Any) -> Any:
    """Return tokens as a vector of integers, checked to fit 32 bits."""
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
    """A tokenizer: converts text to the tokens of a model and back.

    file is the path of a tokenizer.json, of a SentencePiece model or of a GGUF file, a folder with
    one of the first two, or bytes. If name is a vocabulary of tiktoken, such as cl100k_base, the
    file has its ranks; if it is "clip", CLIP's merges.

    >>> from polygrad.hf import Tokenizer
    >>> words = Tokenizer(b'{"model": {"type": "WordLevel", "vocab": {"a": 0, "b": 1}}}')
    >>> words.encode("a"), words.decode([0, 1])
    ([0], 'a b')
    """

    def __init__(self, file: str | PathLike[str] | bytes, name: str = "") -> None:
        kind = c_text("name", name)
        given = need((bytes, str, PathLike), "file", file, "a path or bytes")
        if isinstance(given, bytes):
            handle = lib.poly_tokenizer_new(given, len(given), kind)
        else:
            handle = lib.poly_tokenizer_open(fsencode(given), kind)
        self._handle = handle or fail(ValueError)
        weakref.finalize(self, lib.poly_tokenizer_free, self._handle)

    @classmethod
    def load(cls, name: str, show: bool | None = None) -> Tokenizer:
        """Return the tokenizer of a vocabulary; its file is downloaded once and cached.

        name: one of tiktoken's, "clip", "owner/name" on the Hugging Face Hub (its tokenizer.json),
        "owner/name/file" (such as one of SentencePiece) or a URL. show: the progress, see track.

        >>> Tokenizer.load('data:,{"model": {"type": "WordLevel", "vocab": {"a": 7}}}').encode("a")
        [7]
        """
        from polygrad._download import download

        url = _text(lib.poly_tokenizer_source, c_text("name", name))
        try:
            data = download(url, show=show)
        except OSError as error:
            raise OSError(f"Tokenizer.load: name: {name!r}: {url} is not there: {error}") from error
        return cls(data, "" if "/" in name or ":" in name else name)

    def encode(
        self, text: Any, special: bool = True, allowed: str | Iterable[str] = "all", **shape: Any
    ) -> Any:
        """Return the tokens of a text or of a pair (a tuple), or a list of tokens for several.

        special adds the model's special tokens. allowed says whether texts of special tokens
        become tokens: "all", "none", "refuse" (a ValueError), or an iterable of those that do.
        truncation={"max_length": 512}, padding={"pad_id": 0} are a tokenizer.json's; True: its own.
        """
        one = isinstance(text, (str, tuple))
        given = [text] if one else list(need(Iterable, "text", text, "a text or texts"))
        pairs = any(isinstance(t, tuple) for t in given)
        if pairs and not all(isinstance(t, tuple) and len(t) == 2 for t in given):
            raise wrong("text", text, "texts, or tuples of two")
        alone = [t for pair in given for t in pair] if pairs else given
        parts = [need(str, "text", t, "a text").encode("utf-8", "replace") for t in alone]
        lengths, counts = np.array([len(p) for p in parts], np.int64), np.zeros(len(given), int)
        texts = need(Iterable, "allowed", allowed, "texts")
        said = texts if isinstance(texts, str) else list(texts)
        mode = json.dumps({"allowed": said, **shape}).encode()
        args = (b"".join(parts), lengths.ctypes.data, len(parts), bool(special) + 2 * pairs, mode)
        address = lib.poly_tokenizer_encode(self._handle, *args, counts.ctypes.data)
        ids = np.frombuffer(taken(address, 4 * int(counts.sum()), ValueError), np.int32)
        rows = [ids[end - n : end].tolist() for end, n in zip(np.cumsum(counts), counts)]
        return rows[0] if one else rows

    def decode(self, tokens: Any, special: bool = False) -> str:
        """Return the text of tokens; special=True keeps special tokens."""
        address, n, _kept = _ids(tokens)
        return _text(lib.poly_tokenizer_decode, self._handle, address, n, special)

    @property
    def vocab_size(self) -> int:
        """The number of tokens."""
        return int(lib.poly_tokenizer_size(self._handle))

    def stream(self, before: Any = ()) -> Callable[..., str]:
        """Return a function for incremental decoding: it takes tokens and returns their new text.

        It holds an incomplete character back until it is called without tokens.
        """
        address, n, _kept = _ids(before)
        handle = lib.poly_text_stream_new(self._handle, address, n, 0) or fail(ValueError)

        def push(*tokens: int) -> str:
            address, n, _kept = _ids(tokens)
            return _text(lib.poly_text_stream_push, handle, address, n)

        weakref.finalize(push, lib.poly_text_stream_free, handle)
        return push
