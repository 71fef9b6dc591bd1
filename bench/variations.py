"""No shape is special: variations of the benchmark's work cost what their useful work costs.

python bench/variations.py [--only PATTERN] [--threads 1,2] [--rounds N] [--turn SECONDS]
                           [--write FILE]

Every variation is timed by turns with the task of the benchmark that it varies, each in a process
of its own, and with PyTorch if it is installed (python bench/peers/install.py build/peers). Per
unit of useful work (what the masks leave, what lies in a group) it is to cost at most 1.3 of what
the task costs, and at most 1.05 of PyTorch's time. Exits with 1 if values differ.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import duel
import numpy as np
import programs as p
import tasks as t
from contestants import OURS
from report import duration, table, where
from tasks import Task, integers, normal

GOAL, PEER_GOAL, PEER = 1.3, t.PARITY, "torch"


class Variation(NamedTuple):
    """A task, the benchmark's task that it varies, and whether its values are random."""

    task: Task
    of: str
    random: bool = False


def _task(
    name: str, program: p.Program, inputs: Sequence[t.Input], work: float, **options: Any
) -> Task:
    """Return a task; its work is in operations, or in bytes if the varied task counts those."""
    return Task(name, "variations", program, inputs, work, **options)


def _attention(
    name: str,
    pairs: float,
    heads: int = 12,
    length: int = 1024,
    given: Sequence[t.Input] = (),
    program: p.Program | None = None,
    batch: int = 1,
    shared: int = 1,
) -> Variation:
    """Return attention with a number of unmasked pairs of query and key in each head."""
    shapes = [(batch, n, length, 64) for n in (heads, heads // shared, heads // shared)]
    base = "attention 4x4096x64 causal" if length > 2048 else "attention 12x1024x64 causal"
    inputs = [*(normal(*shape) for shape in shapes), *given]
    work = 4.0 * 64 * batch * heads * pairs
    return Variation(_task(f"attention {name}", program or p.of("attention"), inputs, work), base)


def _trained(name: str, length: int, dropout: float = 0.0) -> Variation:
    def loss(f: p.Ops, parameters: Sequence[p.Tensor]) -> p.Tensor:
        y = f.attention(*parameters, dropout=dropout)
        return f.mean(y * y)

    shapes = [normal(1, 12, length, 64) for _ in range(3)]
    work = 3 * 4.0 * 64 * 12 * _causal(length)
    task = _task(f"attention {name}", loss, [], work, parameters=shapes)
    return Variation(task, "attention 12x1024x64 causal", dropout > 0)


def _causal(length: int) -> float:
    """Return the number of pairs under a causal mask, as the benchmark counts them."""
    return length * length / 2


def _windowed(f: p.Ops, q: p.Tensor, k: p.Tensor, v: p.Tensor) -> p.Tensor:
    return f.attention(q, k, v, f.window(q.shape[2], WINDOW))


def _added(f: p.Ops, q: p.Tensor, k: p.Tensor, v: p.Tensor) -> p.Tensor:
    return f.attention(q, k, v, f.added(q.shape[2]))


def _padded(f: p.Ops, q: p.Tensor, k: p.Tensor, v: p.Tensor, lengths: p.Tensor) -> p.Tensor:
    return f.attention(q, k, v, f.padded(lengths, q.shape[2]))


def _grouped(f: p.Ops, q: p.Tensor, k: p.Tensor, v: p.Tensor) -> p.Tensor:
    return f.attention(q, k, v, enable_gqa=True)


def _conv(
    name: str, channels: int, out: int, size: tuple[int, int], dilation: int = 1, groups: int = 1
) -> Variation:
    x, w = (1, channels, *size), (out, channels // groups, 3, 3)
    work = 2.0 * p.count([w]) * size[0] * size[1]
    inputs = [normal(*x), normal(*w, scale=0.05)]
    task = _task(f"conv2d {name}", p.convolution(1, dilation, dilation, groups), inputs, work)
    return Variation(task, "conv2d 1x64x56x56, 3x3, 64")


def _product(
    name: str, formula: str, sizes: dict[str, int], reduce: str = "", of: str = "matmul 1024"
) -> Variation:
    """Return an einsum, optionally reduced over its last axis by a named function."""
    shapes = [[sizes[c] for c in term] for term in formula.split("->")[0].split(",")]

    def program(f: p.Ops, a: p.Tensor, b: p.Tensor) -> p.Tensor:
        y = f.einsum(formula, a, b)
        return getattr(f, reduce)(y, y.ndim - 1) if reduce else y

    work = 2.0 * p.count([list(sizes.values())])
    return Variation(_task(f"matmul {name}", program, [normal(*s) for s in shapes], work), of)


def _prefix_product(f: p.Ops, a: p.Tensor, b: p.Tensor) -> p.Tensor:
    return f.total(f.matmul(f.prefix(a, 0, 1000), b), 0)


def _prefix_square(f: p.Ops, a: p.Tensor, b: p.Tensor) -> p.Tensor:
    product = f.matmul(f.prefix(a, 0, 1000), f.prefix(b, 1, 1000))
    return f.total(f.total(product, 1), 0)


def _prefix_attention(f: p.Ops, q: p.Tensor, k: p.Tensor, v: p.Tensor) -> p.Tensor:
    return f.attention(q, *(f.prefix(x, 2, 1000) for x in (k, v)), causal=False)


def _prefix_softmax(f: p.Ops, x: p.Tensor) -> p.Tensor:
    x = f.prefix(x, 1, 1000)
    return f.total(f.softmax(x) * x, 1)


def _ignoring(f: p.Ops, parameters: Sequence[p.Tensor], target: p.Tensor) -> p.Tensor:
    return f.cross_entropy_ignoring(parameters[0], target, 0)


WINDOW, LENGTHS = 256, (1024, 700, 500, 300)
ODD = {"i": 1021, "k": 1023, "j": 1019}
BATCHED = "batched matmul 32x128x64x128"
ROWS = "cross entropy 512x50257 training step"
FEW = sum(n * (n / 2) + (1024 - n) * n for n in LENGTHS) / len(LENGTHS)
VARIATIONS = [
    _attention("12x1021x64 causal", _causal(1021), length=1021),
    _attention("4x4093x64 causal", _causal(4093), 4, 4093),
    _attention("12x1024x64, window 256", 1024 * WINDOW, program=_windowed),
    _attention("4x4096x64, window 256", 4096 * WINDOW, 4, 4096, program=_windowed),
    _attention("12x1021x64 causal, mask of -1e9", _causal(1021), length=1021, program=_added),
    _attention(
        "4x12x1024x64 causal, padded",
        FEW,
        given=[lambda rng: np.array(LENGTHS, np.int32)],
        program=_padded,
        batch=4,
    ),
    _attention("12x1024x64 causal, 4 heads of keys", _causal(1024), program=_grouped, shared=3),
    _attention("12x1021x64 causal, 4 heads of keys", _causal(1021), 12, 1021, (), _grouped, 1, 3),
    _attention("12x1024x64, 1000 keys, symbolic", 1000 * 1024.0, program=_prefix_attention),
    _trained("12x1024x64 causal training step", 1024),
    _trained("12x1021x64 causal training step", 1021),
    _trained("12x1024x64 causal training step, dropout", 1024, 0.1),
    _conv("1x61x55x57, 3x3, 67", 61, 67, (55, 57)),
    _conv("1x64x56x56, 3x3, 64, dilation 2", 64, 64, (56, 56), 2),
    _conv("1x64x56x56, 3x3, 64, 4 groups", 64, 64, (56, 56), 1, 4),
    _conv("1x128x56x56, 3x3, 128, 16 groups", 128, 128, (56, 56), 1, 16),
    _product("1021x1023x1019", "ik,kj->ij", ODD),
    _product("1021x1023x1019, both transposed", "ki,jk->ij", ODD),
    _product("1021x1023x1019, transposed result", "ik,kj->ji", ODD),
    _product("1021x1023x1019, sum of rows", "ik,kj->ij", ODD, "total"),
    _product("1021x1023x1019, maximum of rows", "ik,jk->ij", ODD, "largest"),
    _product(
        "batched by two axes",
        "bihk,bjhk->bhij",
        {"b": 4, "h": 8, "i": 127, "k": 63, "j": 129},
        of=BATCHED,
    ),
    _product("batched last", "ikb,kjb->ijb", {"b": 32, "i": 127, "k": 63, "j": 129}, of=BATCHED),
    Variation(
        _task(
            "matmul 1000x1024x1024, symbolic rows",
            _prefix_product,
            [normal(1024, 1024)] * 2,
            2.0 * 1000 * 1024**2,
        ),
        "matmul 1024",
    ),
    Variation(
        _task(
            "matmul 1000x1024x1000, symbolic rows and columns",
            _prefix_square,
            [normal(1024, 1024)] * 2,
            2.0 * 1000 * 1024 * 1000,
        ),
        "matmul 1024",
    ),
    Variation(
        _task(
            "softmax 4096x1000, symbolic columns",
            _prefix_softmax,
            [normal(4096, 1024)],
            8.0 * 4096 * 1000,
        ),
        "softmax 4096x1024",
    ),
    Variation(
        _task(
            f"{ROWS}, ignore_index",
            _ignoring,
            [integers(50257, 512)],
            8.0 * 512 * 50257,
            parameters=[normal(512, 50257)],
        ),
        ROWS,
    ),
]
BY_NAME = t.BY_NAME | {v.task.name: v.task for v in VARIATIONS}


class Result(NamedTuple):
    """The results of a variation: times, ratios to the task and to PyTorch, and errors."""

    variation: Variation
    threads: int
    ours: float | None
    ratio: float | None
    peer: float | None
    peer_ratio: float | None
    notes: list[str]

    def cells(self) -> list[str]:
        """Return the cells of the table."""

        def to(ratio: float | None, goal: float) -> str:
            return "" if ratio is None else f"{ratio:.2f}" + " **missed**" * (ratio > goal)

        times = [duration(None if s is None else s * 1e6) for s in (self.ours, self.peer)]
        ratios = [to(self.ratio, GOAL), to(self.peer_ratio, PEER_GOAL)]
        name = self.variation.task.name
        return [
            name,
            f"{self.threads}",
            times[0],
            ratios[0],
            times[1],
            ratios[1],
            *filter(None, ["; ".join(self.notes)]),
        ]


def measure(
    variation: Variation, entrants: list[duel.Contestant], pace: duel.Pace, threads: int
) -> Result:
    """Time a variation interleaved with its task and, with a third process, PyTorch."""
    task, base = variation.task, t.BY_NAME[variation.of]
    given = [task, base, task][: len(entrants)]
    with tempfile.TemporaryDirectory() as folder:
        outcomes = [
            duel.prepare(c, what, Path(folder) / f"{i}")
            for i, (c, what) in enumerate(zip(entrants, given))
        ]
        notes = [o.note for o in outcomes if o.note]
        if not variation.random and len(entrants) > 2 and not notes:
            named = {task.subject: outcomes[0], PEER: outcomes[2]}
            duel.compare(task, named)
            if named[PEER].difference:
                notes.append(f"other values: {named[PEER].difference}")
    duel.take_turns(list(zip(entrants, outcomes)), pace)
    ours, usual, *rest = [o.seconds for o in outcomes]
    peer = rest[0] if rest else None
    work = task.flops / (base.flops or base.moved)
    return Result(
        variation,
        threads,
        ours,
        ours / usual / work if ours and usual else None,
        peer,
        ours / peer if ours and peer else None,
        notes,
    )


def section(results: list[Result]) -> list[str]:
    """Return the table."""
    heads = ["work", "threads", "ours", "to the benchmark's", PEER, f"to {PEER}", ""]
    rows = [[*r.cells(), ""][: len(heads)] for r in results]
    return [
        "# Variations",
        "",
        "Written by `make bench-variations`; do not edit. Per unit of useful work, a variation is",
        f"to take at most {GOAL} of the time of the benchmark's task that it varies, and at most",
        f"{PEER_GOAL} of PyTorch's time; all by turns in one run.",
        "",
        *where(),
        "",
        *table(heads, rows),
        "",
    ]


def main() -> int:
    """Measure what was asked for."""
    parser = argparse.ArgumentParser(description="Time variations of the benchmark's work.")
    parser.add_argument("--only", default="", help="regular expression: names of variations")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--turn", type=float, default=0.05, help="seconds of a turn")
    parser.add_argument("--write", type=Path, help="also write the table to this file")
    args = parser.parse_args()
    wanted = [v for v in VARIATIONS if re.search(args.only, v.task.name)]
    pace = duel.Pace(args.rounds, args.turn, 4.0)
    results: list[Result] = []
    for threads in map(int, args.threads.split(",")):
        entrants: list[duel.Contestant] = []
        try:
            for name in (OURS, OURS, PEER):
                try:
                    entrants.append(duel.Contestant(name, threads))
                except duel.Gone as gone:
                    if name == OURS:
                        raise
                    print(f"{name} is left out: {gone}", file=sys.stderr)
            for variation in wanted:
                results.append(measure(variation, entrants, pace, threads))
                print(" | ".join(results[-1].cells()), flush=True)
        finally:
            for contestant in entrants:
                contestant.close()
    if args.write:
        args.write.write_text("\n".join(section(results)))
    return int(any(r.notes for r in results))


if __name__ == "__main__":
    sys.exit(main())
