"""Interleaved measurement of frameworks, each in its own process.

Every framework has a process (worker.py). One runs at a time: the others are stopped by SIGSTOP,
with their threads that busy-wait for work.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import values
from contestants import BEAM, CONTESTANTS, WAYS
from tasks import TASKS, Task

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
PEERS_PYTHON = ROOT / "build" / "peers" / "bin" / "python"
CACHE = ROOT / "build" / "peers" / "cache"

SUBJECTS = {task.subject for task in TASKS}
# Groups of tasks in which a variant would only call the same library kernels as without it.
NO_GAIN = {"torch compile": {"matmul", "conv"}}
# malloc keeps freed memory instead of returning it to the system, and uses huge pages, so that
# every framework reuses the memory of its results.
MALLOC = "glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold=0x7fffffffff:glibc.malloc.hugetlb=1"


def environment(name: str, threads: int, device: str, as_usual: bool) -> dict[str, str]:
    """Return the environment of a process; as_usual: with default malloc, to measure memory."""
    env = {**os.environ, "PYTHONPATH": str(HERE), "PYTHONDONTWRITEBYTECODE": "1"}
    if not as_usual:
        env["GLIBC_TUNABLES"] = MALLOC
    if name in WAYS:
        env["PYTHONPATH"] += f":{ROOT / 'bindings' / 'python'}"
        env.setdefault("POLYGRAD_LIB", str(ROOT / "build" / "libpolygrad.so"))
        env["POLY_THREADS"] = str(threads)
        return {**env, **({"POLY_DEVICE": device} if device else {}), **WAYS[name]}
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "CPU_COUNT"):
        env[variable] = str(threads)
    env["JAX_PLATFORMS"] = "cpu"
    env["TORCHINDUCTOR_CACHE_DIR"] = str(CACHE / "inductor")
    env["REWRITE_STACK_LIMIT"] = TINYGRAD_STACK
    env["CACHEDB"] = str(CACHE / f"tinygrad-{threads}.db")
    return env


# Time budget of tinygrad's search in a run. Its results are cached, and a later run continues it.
SEARCH_BUDGET, LEAST_SEARCH = 180.0, 10.0
# REWRITE_STACK_LIMIT: tinygrad takes a long graph, as of an LSTM, for an infinite loop otherwise.
TINYGRAD_STACK = "10000000"
LIBC = ctypes.CDLL(None)
SET_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of prctl


def _settle(cores: list[int]) -> None:
    """Pin a new process to cores, and kill it when we end: a stopped one would stay forever."""
    os.sched_setaffinity(0, cores)
    LIBC.prctl(SET_PARENT_DEATH_SIGNAL, int(signal.SIGKILL))


class Gone(Exception):
    """A process has died or timed out."""


class Contestant:
    """The process of one framework, with one number of threads."""

    def __init__(self, name: str, threads: int, device: str = "", as_usual: bool = False) -> None:
        self.name, self.threads, self.device, self.as_usual = name, threads, device, as_usual
        self.patience = CONTESTANTS[name][2]
        self.busy = 0.0  # seconds that requests took in all
        self._start()

    def _start(self) -> None:
        module, variant, _ = CONTESTANTS[self.name]
        CACHE.mkdir(parents=True, exist_ok=True)
        python = str(PEERS_PYTHON if PEERS_PYTHON.exists() else sys.executable)
        cores = sorted(os.sched_getaffinity(0))[: self.threads]
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 it lives as long as the process
        self._process = subprocess.Popen(
            [python, str(HERE / "worker.py"), module, variant, str(self.threads)],
            env=environment(self.name, self.threads, self.device, self.as_usual),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            preexec_fn=lambda: _settle(cores),
        )
        self.version = str(self._answer(self.patience)["version"])
        self._process.send_signal(signal.SIGSTOP)

    def _answer(self, seconds: float) -> Any:
        assert self._process.stdout is not None
        ready, _, _ = select.select([self._process.stdout], [], [], seconds)
        line = self._process.stdout.readline() if ready else b""
        if line:
            return json.loads(line)
        self._process.kill()
        self._process.wait()
        self._errors.seek(0)
        last = self._errors.read().strip().splitlines()[-1:]
        raise Gone(f"no answer in {seconds:.0f} s" if not ready else f"died: {' '.join(last)}")

    def ask(self, patience: float, **request: Any) -> Any:
        """Resume the process for one request; return its answer, and stop it again."""
        if self._process.poll() is not None:
            self._start()
        assert self._process.stdin is not None
        self._process.send_signal(signal.SIGCONT)
        start = time.monotonic()
        try:
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
            return self._answer(patience)
        finally:
            self.busy += time.monotonic() - start
            if self._process.poll() is None:
                self._process.send_signal(signal.SIGSTOP)

    def close(self) -> None:
        """End the process."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()


@dataclass
class Outcome:
    """The measurements of one framework, in seconds; or in note why there are none."""

    turns: list[float] = field(default_factory=list)
    least: float = 0.0
    first: float = 0.0
    values: Path | None = None  # the folder of its results
    difference: str | None = None  # where they differ from ours, None if not compared
    note: str = ""

    @property
    def seconds(self) -> float | None:
        """The median of the turns."""
        return statistics.median(self.turns) if self.turns else None


@dataclass(frozen=True)
class Pace:
    """The number of rounds, and their durations."""

    rounds: int
    turn: float  # seconds of one turn
    most: float  # seconds of all turns of one framework


def prepare(contestant: Contestant, task: Task, folder: Path) -> Outcome:
    """Let a framework prepare a task and write its results into a folder."""
    if contestant.name in task.skip:
        return Outcome(note=task.skip[contestant.name])
    if task.group in NO_GAIN.get(contestant.name, ()):
        return Outcome(note="calls what torch calls")
    patience = contestant.patience
    if contestant.name == BEAM:
        patience = min(patience, SEARCH_BUDGET - contestant.busy)
        if patience < LEAST_SEARCH:
            return Outcome(note=f"{SEARCH_BUDGET:.0f} s of searching were over")
    try:
        answer = contestant.ask(patience, do="prepare", task=task.name, folder=str(folder))
    except Gone as gone:
        return Outcome(note=str(gone))
    if "error" in answer:
        return Outcome(note=answer["error"])
    return Outcome(first=answer["first"], values=folder)


def compare(task: Task, outcomes: dict[str, Outcome]) -> None:
    """Compare the peers' results with ours."""
    ours = outcomes[task.subject].values
    if ours is None:
        return
    before, _ = task.arrays()
    for name, outcome in outcomes.items():
        if name != task.subject and outcome.values is not None:
            theirs = outcome.values
            outcome.difference = values.difference(ours, theirs, task.precision, before)


def duel(contestants: list[Contestant], task: Task, pace: Pace) -> dict[str, Outcome]:
    """Measure a task, interleaved: its subject, and the peers, without our other configurations."""
    contestants = [c for c in contestants if c.name == task.subject or c.name not in SUBJECTS]
    with tempfile.TemporaryDirectory() as folder:
        outcomes = {c.name: prepare(c, task, Path(folder) / c.name) for c in contestants}
        compare(task, outcomes)
    take_turns([(c, outcomes[c.name]) for c in contestants], pace)
    return outcomes


def take_turns(entrants: list[tuple[Contestant, Outcome]], pace: Pace) -> None:
    """Time the prepared task in all processes, interleaved, and drop it."""
    spent = [0.0] * len(entrants)
    for number in range(pace.rounds):
        shift = number % len(entrants)
        for i in [*range(shift, len(entrants)), *range(shift)]:
            contestant, outcome = entrants[i]
            if outcome.note or spent[i] > pace.most:
                continue
            try:
                answer = contestant.ask(60, do="time", seconds=pace.turn)
            except Gone as gone:
                outcome.note = str(gone)
                continue
            if "error" in answer:
                outcome.note = answer["error"]
                continue
            outcome.turns.append(answer["median"])
            outcome.least = min(outcome.least or answer["least"], answer["least"])
            spent[i] += max(pace.turn, answer["median"] * (answer["n"] + 1))
    for contestant, outcome in entrants:
        if outcome.turns:
            contestant.ask(60, do="drop")
