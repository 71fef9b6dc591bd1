"""Compare the kernels of the programs in cases.py on the device reference with tinygrad's.

python compare.py [-v] [PATTERN]    in an environment with polygrad

Kernels are compared node for node, whatever their order. DIFFERENT says which programs have others,
and why; the comparison fails if it is not true.
"""

from __future__ import annotations

import argparse
import difflib
import gzip
import json
import os
import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

LAST = "add control flow"
SETTINGS = {"POLY_DEVICE": "reference", "POLY_DUMP": LAST, "FRAMEWORK": "polygrad"}
if any(os.environ.get(name) != value for name, value in SETTINGS.items()):
    # The library sees the environment that the process began with.
    os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **SETTINGS})

import numpy as np  # noqa: E402
from cases import CASES, PROGRAMS, Tensor, dtypes  # noqa: E402
from kernels import canonical, inputs, outputs  # noqa: E402

from polygrad._library import lib  # noqa: E402

RECORDED = Path(__file__).parent / "kernels.json.gz"
WRITES = (
    "a write runs at once and in place: tinygrad's is lazy, and copied to the contiguous result"
)
STEPS = "backward computes its loss and gradients, which the optimizer's writes then read"
LAYERS = "the parameters of a new layer are computed, which tinygrad's leaves lazy"
VARIABLE = "a value of variable size is copied to the beginning of the memory of its largest one"
REASONS = {
    WRITES: "ix_set_step ix_set_tensor rl_assign rl_cache rl_set_slice rl_set_row rl_set_number",
    STEPS: "tr_sgd tr_sgd_twice tr_momentum tr_decay tr_adam tr_adamw tr_classes",
    LAYERS: "ix_embedding ix_embedding_half nn_groupnorm",
    VARIABLE: "sy_softmax sy_reshape sy_cat",
    "an index out of bounds is an error": "ix_set_tensor_apart",
    "empty memory is zeros": "mk_empty",
    "softmax takes an axis": "softmax_all",
    "uchar * -1 is uchar * 255, and no subtraction is found in it": "bin_lerp_u8",
}
DIFFERENT = {name: why for why, names in REASONS.items() for name in names.split()}


def printed(work: Callable[[], Any]) -> tuple[Any, str]:
    """Return what work returns, and what the library printed meanwhile."""
    kept = os.dup(2)
    with tempfile.TemporaryFile("w+") as file:
        os.dup2(file.fileno(), 2)
        try:
            result = work()
        finally:
            os.dup2(kept, 2)
            os.close(kept)
        file.seek(0)
        return result, file.read()


def kernels(text: str) -> list[list[str]]:
    """Return the kernels that were printed after the last pass of the lowering."""
    found = []
    for block in re.split(r"^--- kernel ", text, flags=re.MULTILINE)[1:]:
        head, *lines = block.splitlines()
        if f'after pass "{LAST}"' in head:
            found.append([canonical(line) for line in lines if line.strip()])
    return found


def values(out: Any) -> list[float]:
    """Return a result as numbers."""
    return [float(v) for v in np.asarray(out.cast(dtypes.float64).numpy()).reshape(-1)]


def difference(name: str, recorded: Any, verbose: bool) -> str:
    """Say how a program differs from tinygrad's, nothing if it does not."""
    wanted, f = {**CASES, **PROGRAMS}[name]
    tensors, _ = printed(lambda: inputs(Tensor, wanted))
    lib.poly_cpu_cache_flush()

    def run() -> list[Any]:
        outs = [out.contiguous() for out in outputs(f(*tensors))]
        Tensor.realize(*outs)
        return outs

    try:
        outs, text = printed(run)
    except Exception as error:
        return f"error: {str(error).splitlines()[0][:120]}"
    ours, theirs = sorted(kernels(text)), sorted(recorded["kernels"])
    if ours != theirs:
        if verbose:
            lines = [["\n".join(kernel) for kernel in side] for side in (theirs, ours)]
            both = ("\n\n".join(side).split("\n") for side in lines)
            print("\n".join(difflib.unified_diff(*both, "tinygrad", "here", n=3)))
        return f"{len(ours)} kernels, tinygrad's are {len(theirs)}; not the same"
    for out, want in zip(outs, recorded["values"]):
        if want is not None:
            got = printed(lambda out=out: values(out))[0][: len(want)]
            slack = 4e-3 if out.dtype in (dtypes.float16, dtypes.bfloat16) else 1e-4
            if not np.allclose(got, [float(w) for w in want], slack, slack, equal_nan=True):
                return f"the same kernels, other values: {got[:4]}, tinygrad's {want[:4]}"
    return ""


def main() -> None:
    """Compare all programs, or some."""
    parser = argparse.ArgumentParser(description="Compare kernels of programs with tinygrad's.")
    parser.add_argument("-v", action="store_true", help="show how kernels differ")
    parser.add_argument("pattern", nargs="?", default="")
    args = parser.parse_args()
    recorded = json.loads(gzip.decompress(RECORDED.read_bytes()))
    chosen = [name for name in recorded if re.search(args.pattern, name)]
    equal, wrong = 0, 0
    for name in chosen:
        found = difference(name, recorded[name], args.v)
        equal += not found
        if found and (args.v or name not in DIFFERENT):
            print(f"{name}: {found} ({DIFFERENT.get(name, 'unknown reason')})")
        elif not found and name in DIFFERENT:
            print(f"{name}: equals tinygrad's, which DIFFERENT denies")
        wrong += bool(found) != (name in DIFFERENT)
    known = sum(name in DIFFERENT for name in chosen)
    print(f"parity: programs {equal}/{len(chosen)}, {known} differ for reasons that are known")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
