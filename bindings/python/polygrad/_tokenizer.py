"""Text as tokens, by the package tokenizers."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from polygrad._library import need


class Tokenizer:
    """What turns text into the tokens of a model and back: a tokenizer.json.

    Needs the package tokenizers.
    """

    def __init__(self, path: str | Path) -> None:
        file = Path(need((str, PathLike), "path", path, "a path"))
        if file.is_dir():
            file = file / "tokenizer.json"
        if not file.is_file():
            raise FileNotFoundError(f"Tokenizer: path: {file} does not exist")
        try:
            tokenizers: Any = importlib.import_module("tokenizers")
        except ImportError:
            raise ImportError("Tokenizer needs tokenizers: pip install tokenizers") from None
        self._tokenizer = tokenizers.Tokenizer.from_file(str(file))

    def encode(self, text: str, special: bool = True) -> list[int]:
        """Return the tokens of a text; special adds the model's special tokens around it."""
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=special).ids
        return ids

    def decode(self, tokens: Sequence[int], special: bool = False) -> str:
        """Return the text of tokens; special keeps tokens that stand for no text."""
        ids = [int(t) for t in tokens]
        text: str = self._tokenizer.decode(ids, skip_special_tokens=not special)
        return text

    @property
    def vocab_size(self) -> int:
        """The number of tokens."""
        n: int = self._tokenizer.get_vocab_size()
        return n


class Writer:
    """Texts that grow by tokens.

    A token may be a part of a character, and what one stands for may depend on those before it: the
    text of the last few tokens is compared before and after.
    """

    def __init__(self, tokenizer: Tokenizer, rows: Sequence[Sequence[int] | Any]) -> None:
        self._tokenizer = tokenizer
        self._rows = [[int(t) for t in row] for row in rows]
        # The tokens from first on are decoded, what those before written stand for is written.
        self._written = [len(row) for row in self._rows]
        self._first = [max(0, len(row) - 8) for row in self._rows]
        self._ended = [False] * len(self._rows)

    def write(self, step: Sequence[int] | Any, ends: Sequence[int] | Any = ()) -> list[str]:
        """Return the new text of each row after one more token, "" while a character is incomplete.

        A row ends with one of ends, which stands for no text.
        """
        over = {int(e) for e in ends}
        for i, token in enumerate(step):
            self._ended[i] = self._ended[i] or int(token) in over
            if not self._ended[i]:
                self._rows[i].append(int(token))
        return [self._piece(i, final=False) for i in range(len(self._rows))]

    def rest(self) -> list[str]:
        """Return the pending text."""
        return [self._piece(i, final=True) for i in range(len(self._rows))]

    def _piece(self, i: int, final: bool) -> str:
        row, first, written = self._rows[i], self._first[i], self._written[i]
        before = self._tokenizer.decode(row[first:written])
        text = self._tokenizer.decode(row[first:])
        if len(text) <= len(before) or (text.endswith("\ufffd") and not final):
            return ""
        self._first[i], self._written[i] = written, len(row)
        return text[len(before) :]
