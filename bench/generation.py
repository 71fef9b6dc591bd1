"""Tokens a second of a GPT-2 of 124 million random weights, against PyTorch, with peak memory.

python bench/generation.py [--tokens N] [--prompt N]

Each contestant is a process of its own, one after the other: load, prompt, then tokens that are
taken greedily. PyTorch runs the same formulas with a cache that has room for all tokens.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
WIDTH, LAYERS, HEADS, VOCAB, ROOM = 768, 12, 12, 50257, 1024
# name: (program, type of the weights)
CONTESTANTS = {
    "polygrad": ("polygrad", "float32"),
    "polygrad, bfloat16": ("polygrad", "bfloat16"),
    "polygrad, int8": ("polygrad", "int8"),
    "torch": ("torch", "float32"),
    "torch, bfloat16": ("torch", "bfloat16"),
}
Weights = dict[str, Any]


def shapes() -> dict[str, tuple[int, ...]]:
    """Return the shapes of the parameters."""
    e = WIDTH
    found: dict[str, tuple[int, ...]] = {"wte.weight": (VOCAB, e), "wpe.weight": (ROOM, e)}
    linear = {"attn.c_attn": (e, 3 * e), "attn.c_proj": (e, e)}
    linear |= {"mlp.c_fc": (e, 4 * e), "mlp.c_proj": (4 * e, e)}
    for layer in range(LAYERS):
        for name in ("ln_1", "ln_2"):
            found[f"h.{layer}.{name}.weight"] = found[f"h.{layer}.{name}.bias"] = (e,)
        for name, (rows, columns) in linear.items():
            found[f"h.{layer}.{name}.weight"] = (rows, columns)
            found[f"h.{layer}.{name}.bias"] = (columns,)
    found["ln_f.weight"] = found["ln_f.bias"] = (e,)
    return found


def weights() -> Weights:
    """Return the parameters, the same in every process."""
    rng = np.random.default_rng(0)
    found = {}
    for name, shape in shapes().items():
        values = rng.standard_normal(shape, np.float32) * np.float32(0.02)
        found[name] = values + 1 if "ln_" in name and name.endswith("weight") else values
    return found


def file_of(tensors: Weights) -> bytes:
    """Return a safetensors file."""
    header, at = {}, 0
    for name, values in tensors.items():
        end = at + values.nbytes
        header[name] = {"dtype": "F32", "shape": values.shape, "data_offsets": [at, end]}
        at = end
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return b"".join(
        [len(text).to_bytes(8, "little"), text, *(v.tobytes() for v in tensors.values())]
    )


class Polygrad:
    """Ours: a generator."""

    def __init__(self, kind: str, folder: str) -> None:
        from polygrad.hf import Generator, load_hf

        warnings.simplefilter("error")
        inst = load_hf(folder, dtype=kind)
        self.rows = Generator(inst, 1)

    def prompt(self, tokens: list[int]) -> None:
        """See the prompt."""
        self.rows.reset()
        self.rows.feed([tokens])

    def step(self) -> int:
        """Return the next token."""
        return int(self.rows.next()[0])


class Torch:
    """PyTorch: the formulas with a cache of keys and values."""

    def __init__(self, kind: str, _folder: str) -> None:
        import torch

        torch.set_num_threads(len(os.sched_getaffinity(0)))
        torch.set_grad_enabled(False)
        self.torch, self.kind = torch, getattr(torch, kind)
        self.w = {n: torch.tensor(v).to(self.kind) for n, v in weights().items()}
        size = (LAYERS, 2, HEADS, ROOM, WIDTH // HEADS)
        self.cache = torch.zeros(size, dtype=self.kind)
        self.at, self.next = 0, 0

    def norm(self, x: Any, name: str) -> Any:
        """Normalize rows."""
        f = self.torch.nn.functional
        return f.layer_norm(x, (WIDTH,), self.w[name + ".weight"], self.w[name + ".bias"], 1e-5)

    def linear(self, x: Any, name: str) -> Any:
        """Multiply by a weight."""
        return self.torch.addmm(self.w[name + ".bias"], x, self.w[name + ".weight"])

    def run(self, tokens: list[int]) -> None:
        """See tokens."""
        f, n, first = self.torch.nn.functional, len(tokens), self.at
        self.at += n
        x = self.w["wte.weight"][tokens] + self.w["wpe.weight"][first : self.at]
        for i in range(LAYERS):
            h = f"h.{i}."
            qkv = self.linear(self.norm(x, h + "ln_1"), h + "attn.c_attn")
            q, k, v = qkv.view(n, 3, HEADS, -1).permute(1, 2, 0, 3)
            self.cache[i, 0, :, first : self.at] = k
            self.cache[i, 1, :, first : self.at] = v
            k, v = self.cache[i, :, :, : self.at]
            mixed = f.scaled_dot_product_attention(q[None], k[None], v[None], is_causal=n > 1)[0]
            x = x + self.linear(mixed.transpose(0, 1).reshape(n, -1), h + "attn.c_proj")
            inner = self.linear(self.norm(x, h + "ln_2"), h + "mlp.c_fc")
            x = x + self.linear(f.gelu(inner, approximate="tanh"), h + "mlp.c_proj")
        self.next = int((self.norm(x[-1:], "ln_f") @ self.w["wte.weight"].T).argmax())

    def prompt(self, tokens: list[int]) -> None:
        """See the prompt."""
        self.at = 0
        self.run(tokens)

    def step(self) -> int:
        """Return the next token."""
        token = self.next
        self.run([token])
        return token


def peak_memory() -> float:
    """Return the most memory that this program has had, in MiB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 1024


def measure(name: str, prompt: int, count: int, folder: str) -> dict[str, Any]:
    """Return what a contestant did in this process."""
    program, kind = CONTESTANTS[name]
    contestants: dict[str, Any] = {"polygrad": Polygrad, "torch": Torch}
    model = contestants[program](kind, folder)
    tokens = [int(t) for t in np.random.default_rng(1).integers(0, VOCAB, prompt)]
    made: list[int] = []
    for _ in range(2):  # what is compiled is compiled in the first turn
        start = time.perf_counter()
        model.prompt(tokens)
        made = [model.step()]
        seen = time.perf_counter()
        times = []
        for _ in range(count):
            last = time.perf_counter()
            made.append(model.step())
            times.append(time.perf_counter() - last)
    return {
        "tokens": made[:8],
        "first_ms": 1e3 * (seen - start),
        "tokens_per_second": 1 / float(np.median(times)),
        "peak_mib": peak_memory(),
    }


def main() -> None:
    """Measure all, or one in this process."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--prompt", type=int, default=64)
    parser.add_argument("--one", choices=CONTESTANTS)
    parser.add_argument("--folder", default="")
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(options.one, options.prompt, options.tokens, options.folder)))
        return
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "config.json").write_text('{"model_type": "gpt2"}')
        (Path(folder) / "model.safetensors").write_bytes(file_of(weights()))
        compare(options.tokens, options.prompt, folder)


def compare(tokens: int, prompt: int, folder: str) -> None:
    """Print the table."""
    print(
        "| framework, weights | tokens/s | prompt and first token, ms | peak memory, MiB | tokens |"
    )
    print("|---|---|---|---|---|")
    for name, (program, _) in CONTESTANTS.items():
        python = ROOT / ("build/peers/bin/python" if program == "torch" else ".venv/bin/python")
        sizes = ["--tokens", str(tokens), "--prompt", str(prompt), "--folder", folder]
        command = [str(python), str(HERE / "generation.py"), "--one", name, *sizes]
        out = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
        r = json.loads(out)
        print(
            f"| {name} | {r['tokens_per_second']:.1f} | {r['first_ms']:.0f} | "
            f"{r['peak_mib']:.0f} | {r['tokens']} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
