"""Text generation with language models, token by token."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from typing import Any

import numpy as np
import numpy.typing as npt

from polygrad._library import check, fail, large_integer, lib, need, wrong
from polygrad._tokenizer import Tokenizer, numbers
from polygrad.instance import Instance
from polygrad.progress import track

Tokens = npt.NDArray[np.int64]
_Ids = npt.NDArray[np.int32]


class Generator:
    """Rows of tokens that a causal language model continues.

    Keys and values of earlier tokens are cached: each further token costs one pass over the
    weights. Models of load_hf can continue any number of rows; others, such as a GPT-2 from a
    bundle, as many as they have, and they process all tokens again for each new one.

    >>> import numpy as np
    >>> from polygrad.hf import Generator, load_hf_bytes
    >>> config = '{"model_type": "gpt2", "n_embd": 8, "n_head": 2, "n_layer": 1, "vocab_size": 5}'
    >>> model = load_hf_bytes(config, [], max_seq_len=10, strict=False)  # zeros
    >>> rows = Generator(model, rows=2)
    >>> rows.feed([[1, 2, 3], [4]])
    >>> rows.logits.shape
    (2, 5)
    >>> rows.next()
    array([0, 0], dtype=int32)
    """

    def __init__(self, inst: Instance, rows: int = 0) -> None:
        need(Instance, "inst", inst, "an Instance")
        self._handle = lib.poly_generator_new(inst._handle, rows) or fail(ValueError)
        self._owner = inst._owner  # must outlive the generator
        self.rows: int = lib.poly_generator_rows(self._handle)
        self.vocab: int = lib.poly_generator_vocab(self._handle)
        self.room: int = lib.poly_generator_room(self._handle)

    def __del__(self, _free: Any = lib.poly_generator_free) -> None:
        handle = getattr(self, "_handle", None)
        if handle:
            _free(handle)

    def sampling(
        self, temperature: float = 1.0, top_k: int = 0, top_p: float = 1.0, seed: int = 0
    ) -> None:
        """Set how tokens are drawn; by default the most likely token is taken.

        temperature divides the logits, 0 takes the most likely token; top_k > 0 draws among the k
        most likely tokens, top_p < 1 among the most likely ones whose probabilities first sum up
        to p. The same seed draws the same tokens on every machine.
        """
        drawn_by = (temperature, top_k, top_p, large_integer("seed", seed) % 2**64)
        check(lib.poly_generator_sampling(self._handle, *drawn_by), ValueError)

    def ends(self, tokens: Sequence[int] | npt.NDArray[Any]) -> None:
        """Set the tokens that end a row; an ended row is continued with the token that ended it."""
        self._ends("tokens", tokens)

    def _ends(self, what: str, tokens: Any) -> None:
        ends = numbers(what, tokens).astype(np.int32)
        if len(ends) > self.vocab:
            raise wrong(what, f"{len(ends)} tokens", f"at most the vocabulary's {self.vocab}")
        check(lib.poly_generator_ends(self._handle, ends.ctypes.data, len(ends)), ValueError)

    def feed(self, tokens: Sequence[Any] | npt.NDArray[Any]) -> None:
        """Append tokens to each row. Only the first call may give rows of different lengths."""
        need(Iterable, "tokens", tokens, "rows of integers")
        rows = [numbers("tokens", row).astype(np.int32) for row in tokens]
        if len(rows) != self.rows:
            raise wrong("tokens", f"{len(rows)} rows", self.rows, ValueError)
        lengths = np.array([len(row) for row in rows], dtype=np.int32)
        flat = np.concatenate(rows) if rows else lengths
        status = lib.poly_generator_feed(
            self._handle, flat.ctypes.data, lengths.ctypes.data, len(rows)
        )
        if status != 0:
            fail(ValueError)

    def next(self) -> _Ids:
        """Draw the next token of each row, append and return it; ended: all rows have ended."""
        out = np.empty(self.rows, np.int32)
        status = lib.poly_generator_next(self._handle, out.ctypes.data, self.rows)
        check(status, ValueError)
        self.ended = status == 1
        return out

    @property
    def logits(self) -> npt.NDArray[np.float32]:
        """A copy of the logits of the next tokens, (rows, vocab)."""
        address = lib.poly_generator_logits(self._handle, None) or fail(ValueError)
        n = self.rows * self.vocab
        data = (ctypes.c_float * n).from_address(ctypes.cast(address, ctypes.c_void_p).value or 0)
        return np.array(data, dtype=np.float32).reshape(self.rows, self.vocab)

    def reset(self) -> None:
        """Remove all tokens and restart the random stream."""
        check(lib.poly_generator_reset(self._handle), ValueError)


def generate(
    inst: Instance,
    tokens: Any,
    max_new_tokens: int,
    temperature: float = 1.0,
    top_k: int = 0,
    seed: int | None = None,
    *,
    top_p: float = 1.0,
    eos_token_id: int | Sequence[int] | None = None,
    stream: bool = False,
    callback: Callable[[Any], object] | None = None,
    progress: bool = False,
    tokenizer: Tokenizer | None = None,
) -> Any:
    """Continue texts by up to max_new_tokens tokens.

    tokens are numbers, (n,) or (rows, n), or lists of them of different lengths, or a text or
    texts; texts need tokenizer.json beside the model, or tokenizer. The result includes the input:
    an array (rows, n + new), for lists of different lengths a list of arrays, for texts texts.

    temperature 0 always takes the most likely token; top_k > 0 chooses among the k most likely
    ones, top_p < 1 among the most likely ones whose probabilities first sum up to p. Draws depend
    on seed only; None selects a random seed.

    A row ends at one of eos_token_id, and is filled with it while others continue. None selects
    those of the model for texts, and none for numbers.

    With stream, the result is an iterator: for numbers over arrays (rows,), for a text over its
    pieces, for texts over lists of pieces. callback gets the same; a true result of it ends the
    generation. progress shows the tokens so far and their speed.

    A model with room for T tokens sees the last T of each row.

    >>> from polygrad.hf import generate, load_hf_bytes
    >>> config = '{"model_type": "gpt2", "n_embd": 8, "n_head": 2, "n_layer": 1, "vocab_size": 5}'
    >>> model = load_hf_bytes(config, [], max_seq_len=10, strict=False)  # zeros
    >>> generate(model, [1, 2], 3, temperature=0)
    array([[1, 2, 0, 0, 0]])
    >>> for step in generate(model, [[1], [2]], 2, temperature=0, stream=True):
    ...     print(step)
    [0 0]
    [0 0]
    """
    need(Instance, "inst", inst, "an Instance")
    if large_integer("max_new_tokens", max_new_tokens) < 0:
        raise wrong("max_new_tokens", max_new_tokens, "0 or more")
    need(Sized, "tokens", tokens, "numbers, a text, or rows of them")
    need((Callable, type(None)), "callback", callback, "a function or None")
    need((Tokenizer, type(None)), "tokenizer", tokenizer, "a Tokenizer or None")
    texts = [tokens] if isinstance(tokens, str) else tokens
    if len(texts) > 0 and isinstance(texts[0], str):
        tokenizer = tokenizer or inst.tokenizer
        if tokenizer is None:
            raise ValueError("generate: tokens: is text, but the model has no tokenizer.json")
        rows = [np.asarray(tokenizer.encode(text), dtype=np.int64) for text in texts]
        if eos_token_id is None:
            eos_token_id = inst.eos_token_ids
    else:
        tokenizer = None
        rows = _rows_of(tokens)
    ends = numbers("eos_token_id", [] if eos_token_id is None else eos_token_id)
    number = large_integer(
        "seed", int.from_bytes(os.urandom(8), "little") if seed is None else seed
    )
    drawn: list[_Ids] = []
    pieces: Iterator[Any]
    pieces = _steps(inst, rows, max_new_tokens, (temperature, top_k, top_p, number), ends, drawn)
    if progress:
        pieces = iter(track(pieces, total=max_new_tokens, unit="tokens", show=True))
    streams = [] if tokenizer is None else [tokenizer.stream(row) for row in rows]
    alone = isinstance(tokens, str)
    if streams:
        pieces = _texts(pieces, streams, ends, alone)
    if callback is not None:
        pieces = _called(pieces, callback)
    if stream:
        return pieces
    found = list(pieces)
    if streams:
        parts = [[piece] for piece in found] if alone else found
        written = ["".join(row) for row in zip(texts, *parts, [push() for push in streams])]
        return written[0] if alone else written
    new = np.stack(drawn, axis=1) if drawn else np.empty((len(rows), 0), np.int32)
    whole = [np.concatenate([row, more.astype(np.int64)]) for row, more in zip(rows, new)]
    return np.stack(whole) if len({len(row) for row in rows}) == 1 else whole


def _rows_of(tokens: Any) -> list[Tokens]:
    """Return tokens as a list of rows; a single row becomes a list of one."""
    nested = len(tokens) > 0 and np.ndim(tokens[0]) > 0
    rows = [np.asarray(row) for row in (tokens if nested else [tokens])]
    for row in rows:
        if row.ndim != 1 or row.size == 0:
            raise wrong("tokens", f"a row of shape {row.shape}", "(n,), n >= 1")
    return [numbers("tokens", row) for row in rows]


def _steps(
    inst: Instance,
    rows: list[Tokens],
    count: int,
    sampling: tuple[float, int, float, int],
    ends: Tokens,
    drawn: list[_Ids],
) -> Iterator[_Ids]:
    """Draw the next tokens until all rows have ended. The instance keeps generators for reuse."""
    generator = inst._generators.pop(len(rows), None) or Generator(inst, len(rows))
    try:
        generator.reset()
        generator.sampling(*sampling)
        generator._ends("eos_token_id", ends)
        generator.feed(rows)
        while len(drawn) < count and not (drawn and generator.ended):
            drawn.append(generator.next())
            yield drawn[-1]
    finally:
        inst._generators[len(rows)] = generator


def _texts(
    steps: Iterator[Any], streams: list[Callable[..., str]], ends: Tokens, alone: bool
) -> Iterator[str | list[str]]:
    over = [False] * len(streams)  # whether a row has ended; end tokens have no text
    for step in steps:
        over = [was or token in ends for was, token in zip(over, step)]
        pieces = ["" if ended else push(t) for ended, push, t in zip(over, streams, step)]
        yield pieces[0] if alone else pieces
    rest = [push() for push in streams]
    if any(rest):
        yield rest[0] if alone else rest


def _called(steps: Iterator[Any], callback: Callable[[Any], object]) -> Iterator[Any]:
    for step in steps:
        yield step
        if callback(step):
            break
