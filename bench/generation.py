"""Tokens a second of a GPT-2 of 124 million random weights, against PyTorch and tinygrad.

python bench/generation.py [--only PATTERN] [--rounds N] [--seconds N] [--prompt N] [--device NAME]

Prints a table; `make bench` writes it into bench/RESULTS.md. Each contestant is a process of its
own with all cores (worker.py), and they take turns: a turn sees the prompt, then writes tokens that
are taken greedily. The models are in gpt2.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gpt2
import numpy as np
from contestants import BEAM, OURS
from duel import Contestant, Gone
from report import table

PROMPT = 64
MOST_TOKENS = 64  # in a turn
COMPARED_TOKENS = 4
PATIENCE = 120.0  # timeout in seconds, including tinygrad's search


@dataclass(frozen=True)
class Entrant:
    """A contestant with weights of a type."""

    name: str
    kind: str = "float32"

    @property
    def title(self) -> str:
        """Name and type."""
        return f"{self.name}, {self.kind}"


ENTRANTS = [
    Entrant(OURS),
    Entrant(OURS, "bfloat16"),
    Entrant(OURS, "int8"),
    Entrant("torch"),
    Entrant("torch compile"),
    Entrant("torch", "bfloat16"),
    Entrant("torch compile", "bfloat16"),
    Entrant("tinygrad"),
    Entrant(BEAM),
]


@dataclass
class Written:
    """The measurements of an entrant, in seconds; or in note why there are none."""

    entrant: Entrant
    load: float = 0.0
    prepare: float = 0.0
    first: list[float] = field(default_factory=list)
    token: list[float] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    peak_mib: float = 0.0
    note: str = ""

    def row(self, same: bool) -> dict[str, Any]:
        """Return the entry of bench/results.json."""
        found: dict[str, Any] = {"framework": self.entrant.name, "weights": self.entrant.kind}
        if self.note or not self.token:
            return {**found, "note": self.note or "wrote nothing"}
        return {
            **found,
            "tokens_per_second": round(1 / statistics.median(self.token), 2),
            "first_ms": round(statistics.median(self.first) * 1e3, 1),
            "load_s": round(self.load, 2),
            "prepare_s": round(self.prepare, 2),
            "peak_mib": self.peak_mib,
            "turns": len(self.token),
            "same_tokens": same,
        }


def _asked(contestant: Contestant, written: Written, patience: float, **request: Any) -> Any:
    """Send a request to a contestant; record its error in written.note."""
    try:
        answer = contestant.ask(patience, **request)
    except Gone as gone:
        answer = {"error": str(gone)}
    if "error" in answer:
        written.note = answer["error"]
    return None if written.note else answer


def _turn(contestant: Contestant, written: Written, prompt: list[int], seconds: float) -> float:
    """Let a contestant generate tokens; return the seconds it took."""
    before = contestant.busy
    request = {"do": "generate", "prompt": prompt, "seconds": seconds, "most": MOST_TOKENS}
    answer = _asked(contestant, written, PATIENCE, **request)
    if answer:
        written.first.append(answer["first"])
        written.token.append(answer["token"])
        written.tokens = answer["tokens"][:COMPARED_TOKENS]
    return contestant.busy - before


def measure(
    entrants: Sequence[Entrant],
    rounds: int,
    seconds: float,
    most: float,
    length: int = PROMPT,
    device: str = "",
    show: Callable[[Written], None] = lambda written: None,
) -> list[dict[str, Any]]:
    """Let all generate, interleaved, in turns of some seconds and no more than most in all."""
    threads = len(os.sched_getaffinity(0))
    prompt = [int(t) for t in np.random.default_rng(1).integers(0, gpt2.VOCABULARY, length)]
    pairs: list[tuple[Contestant, Written]] = []
    found = [Written(entrant) for entrant in entrants]
    with tempfile.TemporaryDirectory() as folder:
        gpt2.save(Path(folder))
        try:
            for written in found:
                try:
                    contestant = Contestant(written.entrant.name, threads, device, as_usual=True)
                except Gone as gone:
                    written.note = str(gone)
                    continue
                pairs.append((contestant, written))
                request = {"folder": folder, "kind": written.entrant.kind, "prompt": prompt}
                answer = _asked(contestant, written, PATIENCE, do="load", **request)
                if answer:
                    written.load, written.prepare = answer["load"], answer["prepare"]
            spent = [0.0] * len(pairs)
            for number in range(rounds):
                order = [(number + i) % len(pairs) for i in range(len(pairs))]
                for i in order:
                    contestant, written = pairs[i]
                    if not written.note and spent[i] < most:
                        spent[i] += _turn(contestant, written, prompt, seconds)
            for contestant, written in pairs:
                if not written.note:
                    answer = _asked(contestant, written, PATIENCE, do="memory")
                    written.peak_mib = answer["peak_mib"] if answer else 0.0
                show(written)
        finally:
            for contestant, _ in pairs:
                contestant.close()
    exact = [w.tokens for w in found if w.tokens and w.entrant.kind == "float32"]
    return [w.row(2 * exact.count(w.tokens) >= len(exact)) for w in found]


HEADS = [
    "framework",
    "weights",
    "tokens/s",
    "prompt and first token, ms",
    "peak memory, MiB",
    "loading, s",
    "before it is ready, s",
]


def lines(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return the table."""
    cells = []
    best = max((r["tokens_per_second"] for r in rows if "note" not in r), default=0.0)
    for row in rows:
        shown = [row["framework"], row["weights"]]
        if "note" in row:
            cells.append([*shown, row["note"], "-", "-", "-", "-"])
            continue
        speed = f"{row['tokens_per_second']:.1f}"
        wrong = row["weights"] == "float32" and not row["same_tokens"]
        shown += [f"**{speed}**" if row["tokens_per_second"] == best else speed]
        shown[-1] += " **other tokens**" if wrong else ""
        shown += [f"{row['first_ms']:.0f}", f"{row['peak_mib']:.0f}", f"{row['load_s']:.1f}"]
        cells.append([*shown, f"{row['prepare_s']:.1f}"])
    return table(HEADS, cells)


def section(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return the part of bench/RESULTS.md."""
    return [
        "## Generation",
        "",
        "A GPT-2 of 124 million random weights sees a prompt of "
        f"{PROMPT} tokens and writes what is most",
        "likely, one token after the other, with a cache of keys and values and all cores. The",
        "processes take turns as above. Ours is `polygrad.hf`; torch computes the same formulas",
        "with `scaled_dot_product_attention`, compiled with shapes that stay; tinygrad replays a",
        "step by TinyJit with the place as a variable, as its own example of GPT-2 does. Ready is",
        "who has seen a first prompt and written three tokens, so that all is compiled (torch and",
        "tinygrad keep on disk what they compiled or searched in an earlier run, and what takes",
        f"more than {PATIENCE:.0f} s is given up). Memory is the peak of what was resident, with",
        "Python and while loading.",
        "",
        *lines(rows),
        "",
    ]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", default="", help="regular expression: 'name, type' of entrants")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1.0, help="of writing in a turn")
    parser.add_argument("--most", type=float, default=8.0, help="seconds of all turns of one")
    parser.add_argument("--prompt", type=int, default=PROMPT, help="its tokens")
    parser.add_argument("--device", default="", help="POLY_DEVICE")
    args = parser.parse_args()
    chosen = [entrant for entrant in ENTRANTS if re.search(args.only, entrant.title)]

    def show(written: Written) -> None:
        print(f"{written.entrant.title}: {written.note or written.tokens}", flush=True)

    rows = measure(chosen, args.rounds, args.seconds, args.most, args.prompt, args.device, show)
    print("\n".join(lines(rows)))


if __name__ == "__main__":
    main()
