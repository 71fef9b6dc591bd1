"""The process of one framework: prepares and times tasks as it is told.

python bench/worker.py FRAMEWORK VARIANT THREADS

Reads a request as a line of JSON and prints a line as the answer:
    {"do": "prepare", "task", "folder"}  compile it, run it; its results go into files, see values
    {"do": "time", "seconds"}    run it again and again
    {"do": "drop"}               forget it
    {"do": "load", "folder", "kind", "prompt"}      load a GPT-2 (see gpt2), see a prompt, compile
    {"do": "generate", "prompt", "seconds", "most"} see the prompt again, then write tokens
    {"do": "memory"}             tell the peak of resident memory
An answer has "error" if it went wrong.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

import values
from sweep import cases
from tasks import TRAINING_RATE
from variations import BY_NAME

STATUS = Path("/proc/self/status")
UNTIMED_TOKENS, LEAST_TOKENS = 3, 4
SHORT = 5e-6  # shorter calls are timed in batches


def peak_mib() -> float:
    """Return the peak of resident memory of this process."""
    line = next(s for s in STATUS.read_text().splitlines() if s.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


class Worker:
    """The state of a framework's process."""

    def __init__(self, framework: str, variant: str, threads: int) -> None:
        self.framework, self.compiled, self.threads = framework, variant == "compile", threads
        self.model: Any = None
        self.ops: Any = importlib.import_module(f"peers.{framework}")
        self.ops.setup(threads, variant)
        gc.freeze()  # collections skip the framework's objects
        self.check: Callable[[Any], None] = getattr(self.ops, "check", lambda result: None)
        self.run: Any = None
        self.calls = 1

    def version(self) -> dict[str, Any]:
        """Return the version of the framework."""
        return {"version": self.ops.version()}

    def prepare(self, task: str, folder: str = "") -> dict[str, Any]:
        """Compile and warm up a task; save its results into a folder if one is given."""
        self.drop()
        if task in BY_NAME:
            wanted = BY_NAME[task]
        else:
            cases.framework(self.framework)  # its settings, before the first array is made
            wanted = cases.find(task)
        to = Path(folder) if folder else None
        if to and wanted.parameters and hasattr(self.ops, "gradients"):
            self.keep(to, "gradient", self.ops.gradients(wanted.program, *wanted.arrays()))
        parameters, arrays = wanted.arrays()
        weights: Any = None
        start = time.perf_counter()
        if parameters:
            run, weights = self.ops.training(wanted.program, parameters, arrays, TRAINING_RATE)
        else:
            run = self.ops.program(wanted.program, arrays)
        result = run()
        first = time.perf_counter() - start
        self.check(result)
        if to:
            self.keep(to, "loss 1, output" if parameters else "output", self.results(run, result))
        seconds = first
        for i in range(3):  # the first calls may still compile
            start = time.perf_counter()
            result = run()
            seconds = time.perf_counter() - start
            if to and weights and i == 0:  # the second step reads the updated weights
                self.keep(to, "loss 2, output", self.results(run, result))
                self.keep(to, "weight", weights())
            if seconds > 0.3:
                break
        self.run = run
        self.calls = max(1, min(1000, int(SHORT / seconds)))
        return {"first": first}

    def results(self, run: Any, result: Any) -> Any:
        """Return the outputs of a run."""
        results = getattr(run, "results", result)
        return results if isinstance(results, (tuple, list)) else [results]

    def keep(self, folder: Path, kind: str, results: Any) -> None:
        """Save results for comparison."""
        for i, result in enumerate(results):
            values.save(folder, f"{kind} {i}", self.ops.read(result))

    def time(self, seconds: float) -> dict[str, Any]:
        """Time calls for some seconds, at least one."""
        run, calls = self.run, self.calls
        clock = time.perf_counter
        samples: list[float] = []
        end = clock() + seconds
        gc.disable()
        start = clock()
        run()
        now = clock()
        while now < end or not samples:
            if not samples and now > end:  # the warm-up alone exceeds the budget: it is the sample
                samples.append(now - start)
                break
            start = clock()
            for _ in range(calls):
                run()
            now = clock()
            samples.append((now - start) / calls)
        gc.enable()
        self.check(run())
        return {"median": statistics.median(samples), "least": min(samples), "n": len(samples)}

    def drop(self) -> dict[str, Any]:
        """Release the task."""
        self.run = None
        gc.collect()
        return {}

    def load(self, folder: str, kind: str, prompt: list[int]) -> dict[str, Any]:
        """Load a GPT-2 with weights of a type, and generate its first tokens as warm-up."""
        start = time.perf_counter()
        module = importlib.import_module(f"gpt2.{self.framework}")
        self.model = module.Model(folder, kind, self.threads, self.compiled)
        loaded = time.perf_counter()
        self.model.prompt(prompt)
        for _ in range(UNTIMED_TOKENS):
            self.model.step()
        return {"load": loaded - start, "prepare": time.perf_counter() - loaded}

    def generate(self, prompt: list[int], seconds: float, most: int) -> dict[str, Any]:
        """Process a prompt, then generate tokens for some seconds, at least a few."""
        clock = time.perf_counter
        start = clock()
        self.model.prompt(prompt)
        tokens = [self.model.step()]
        first = clock() - start
        times: list[float] = []
        end = clock() + seconds
        while len(times) < most and (len(times) < LEAST_TOKENS or clock() < end):
            start = clock()
            tokens.append(self.model.step())
            times.append(clock() - start)
        return {"first": first, "token": statistics.median(times), "tokens": tokens}

    def memory(self) -> dict[str, Any]:
        """Return the peak of resident memory of this process so far."""
        return {"peak_mib": round(peak_mib(), 1)}


def serve(worker: Worker, requests: TextIO, answers: TextIO) -> None:
    """Answer requests until the end of input."""
    print(json.dumps(worker.version()), file=answers, flush=True)
    for line in requests:
        request = json.loads(line)
        do = getattr(worker, request.pop("do"))
        try:
            answer = do(**request)
        except (Exception, SystemExit) as error:
            answer = {"error": f"{type(error).__name__}: {error}".splitlines()[0][:200]}
        print(json.dumps(answer), file=answers, flush=True)


def main() -> None:
    """Serve on standard input and output; what the framework prints goes to standard error."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    framework, variant, threads = sys.argv[1:]
    serve(Worker(framework, variant, int(threads)), sys.stdin, answers)


if __name__ == "__main__":
    main()
