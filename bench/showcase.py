"""The examples with their figures: what they learn, and how fast.

python bench/showcase.py [--quick] [--only PATTERN]

Prints the part of bench/RESULTS.md that `make bench` writes.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from report import table

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent


@dataclass(frozen=True)
class Example:
    """A program in examples/.

    figures  regular expressions of what is shown of its output, a line for each match
    loss     the loops of which the last loss is shown too, by a regular expression of their names
    form     its arguments; quick: those of a small form
    sample   whether all else that it prints is shown
    drawing  the option for a picture that is not kept
    """

    name: str
    figures: tuple[str, ...]
    loss: str = ""
    form: tuple[str, ...] = ()
    quick: tuple[str, ...] = ()
    sample: bool = False
    drawing: str = ""

    def measured(self, quick: bool) -> dict[str, Any]:
        """Run it in a process of its own; return what is kept in bench/results.json."""
        arguments = [*(self.quick if quick else self.form)]
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "bindings" / "python")}
        environment["PYTHONPATH"] += f":{HERE}"
        environment["PYTHONDONTWRITEBYTECODE"] = "1"
        print("examples", self.name, *arguments, flush=True)
        with tempfile.TemporaryDirectory() as folder:
            drawn = [self.drawing, f"{folder}/picture.png"] if self.drawing else []
            script = str(ROOT / "examples" / self.name)
            command = [sys.executable, str(HERE / "example.py"), script, *arguments, *drawn]
            start = time.perf_counter()
            done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
            seconds = time.perf_counter() - start
        found = json.loads(done.stdout)
        training = [loop for loop in found["loops"] if loop["steps"]]
        shown = [m[0] for f in self.figures for m in re.finditer(f, found["output"], re.MULTILINE)]
        if len(shown) < len(self.figures):
            raise SystemExit(f"{self.name}: {self.figures} is not in {found['output']!r}")
        if self.loss:
            shown += [loop["shown"] for loop in training if re.search(self.loss, loop["name"])]
        return {
            "example": self.name,
            "arguments": " ".join(arguments),
            "figures": [re.sub(" +", " ", text) for text in shown],
            "sample": found["output"] if self.sample else "",
            "seconds": round(seconds, 2),
            "peak_mib": found["peak_mib"],
            "loops": found["loops"],
        }


ACCURACY = r"^test accuracy: .*"
EXAMPLES = [
    Example("digits.py", (ACCURACY,), quick=("--epochs", "5"), drawing="--picture"),
    Example("digits_cnn.py", (r"^.* read right", ACCURACY), quick=("--epochs", "1")),
    Example(
        "chargpt.py",
        (r"^words of the text: .*",),
        loss="training",
        quick=("--steps", "20", "--length", "40"),
        sample=True,
    ),
    Example("tabular.py", (r"^.* R2 on held-back rows: .*",), quick=("--epochs", "2")),
    Example("finetune.py", (r"^.* accuracy on .*",)),
    Example("maml.py", (r"^error of new curves after one step: .*",), quick=("--steps", "200")),
    Example("neural_ode.py", (r"^last loss: .*",), quick=("--steps", "20")),
    Example("hmc.py", (r"^mu: .*",), quick=("--draws", "100")),
    Example("rnn.py", (r"^error: .*",), quick=("--steps", "50")),
    Example("private_digits.py", (ACCURACY,), quick=("--steps", "20")),
    Example("spectrum.py", (r"^heard: .*", r"^greatest error: .*")),
    Example("clusters.py", (r"^purity: .*",)),
]


def _loop(found: dict[str, Any]) -> str:
    speed = found["steps"] / max(found["seconds"], 1e-9)
    digits = 0 if speed >= 10 else 1
    return f"{found['name']}: {found['steps']:,} steps, {speed:,.{digits}f} a second"


def section(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return the part of bench/RESULTS.md."""
    cells = []
    for row in rows:
        form = f"`{row['arguments']}`" if row["arguments"] else "full"
        loops = [_loop(found) for found in row["loops"] if found["steps"]]
        cells.append(
            [
                f"[{row['example']}](../examples/{row['example']})",
                form,
                "<br>".join(row["figures"]),
                "<br>".join(loops),
                f"{row['seconds']:.1f}",
                f"{row['peak_mib']:.0f}",
            ]
        )
    heads = ["example", "form", "result", "compiled steps", "all of it, s", "peak memory, MiB"]
    lines = [
        "## Examples",
        "",
        "What the programs in `examples/` reach, and how long they take from the start of Python",
        "to the end. Steps a second are those of the whole loop, with choosing the examples of a",
        "mini-batch and looking at the loss.",
        "",
        *table(heads, cells),
        "",
    ]
    for row in rows:
        if row["sample"]:
            lines += [f"What {row['example']} has written:", "", "```text"]
            lines += [*row["sample"].rstrip().splitlines(), "```", ""]
    return lines


def main() -> None:
    """Print the part."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small forms")
    parser.add_argument("--only", default="", help="regular expression of names")
    args = parser.parse_args()
    os.environ.setdefault("POLYGRAD_LIB", str(ROOT / "build" / "libpolygrad.so"))
    chosen = [example for example in EXAMPLES if re.search(args.only, example.name)]
    print("\n".join(section([example.measured(args.quick) for example in chosen])))


if __name__ == "__main__":
    main()
