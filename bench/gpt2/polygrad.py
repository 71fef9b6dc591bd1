"""polygrad, as a user runs it: a loaded folder and a generator."""

from __future__ import annotations

import warnings

from polygrad.hf import Generator, load_hf


class Model:
    """A generator for a batch of one."""

    def __init__(self, folder: str, kind: str, threads: int, compiled: bool) -> None:
        warnings.simplefilter("error")
        self.rows = Generator(load_hf(folder, dtype=kind), 1)

    def prompt(self, tokens: list[int]) -> None:
        """Process the prompt."""
        self.rows.reset()
        self.rows.feed([tokens])

    def step(self) -> int:
        """Return the next token."""
        return int(self.rows.next()[0])
