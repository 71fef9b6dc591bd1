"""Progress of loops: training, generation, downloads.

The display is tqdm's (pip install polygrad[progress]). It goes to the standard error; without a
terminal, or without tqdm, there is none.

>>> from polygrad.progress import track
>>> for epoch in track(range(3), "training", unit="epochs"):
...     pass
"""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Iterable, Iterator, Sized
from typing import Any, Generic, TypeVar

from polygrad._library import integer, need

T = TypeVar("T")

__all__ = ["track", "trange"]


class track(Generic[T]):
    """Iterate over steps and show progress and speed.

    desc precedes the display. total is the number of items, by default len(steps) if steps has a
    length. show=None shows it if the standard error is a terminal and tqdm is installed.

    >>> loop = track([0.5, 0.25], "fit")
    >>> for loss in loop:
    ...     loop.set(loss=loss)
    """

    def __init__(
        self,
        steps: Iterable[T],
        desc: str = "",
        total: int | None = None,
        unit: str = "steps",
        show: bool | None = None,
    ) -> None:
        need(Iterable, "steps", steps, "a list, or what else a loop goes through")
        need(str, "desc", desc, "a text"), need(str, "unit", unit, "a text")
        if total is None and isinstance(steps, Sized):
            total = len(steps)
        self.total = total
        self._steps = steps
        self._display: Any = None
        if show or (show is None and sys.stderr is not None and sys.stderr.isatty()):
            try:
                tqdm: Any = importlib.import_module("tqdm")
            except ImportError:
                if show:
                    warnings.warn("progress is shown by tqdm: pip install tqdm", stacklevel=2)
            else:
                self._display = tqdm.tqdm(desc=desc or None, total=total, unit=f" {unit}")

    def __len__(self) -> int:
        if self.total is None:
            raise TypeError("track: the number of steps is not known")
        return self.total

    def __iter__(self) -> Iterator[T]:
        display = self._display
        if display is None:
            yield from self._steps
            return
        try:
            for step in self._steps:
                try:
                    yield step
                finally:  # also if the loop is left by break: the step was begun
                    display.update()
        finally:
            display.close()

    def set(self, **values: Any) -> None:
        """Show values beside the progress; lazy tensors are computed only when shown.

        >>> track(range(2)).set(loss=0.5, accuracy=0.9)
        """
        if self._display is not None:
            shown = {name: _short(value) for name, value in values.items()}
            self._display.set_postfix_str(", ".join(f"{k}={v}" for k, v in shown.items()))


def trange(n: int, desc: str = "", unit: str = "steps", show: bool | None = None) -> track[int]:
    """Return track(range(n), desc).

    >>> list(trange(3))
    [0, 1, 2]
    """
    return track(range(integer("n", n)), desc, unit=unit, show=show)


def _short(value: Any) -> str:
    if hasattr(value, "item"):
        value = value.item()
    return f"{value:.4g}" if isinstance(value, float) else str(value)
