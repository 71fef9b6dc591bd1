"""A GPT-2 with random weights, of the size of the smallest published one: 124 million.

A module for each framework has a class Model(folder, kind, threads, compiled):
    prompt(tokens)   clear the KV cache and process tokens
    step()           return the next token, decoded greedily, and append it
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
WIDTH, LAYERS, HEADS, VOCABULARY = 768, 12, 12, 50257
LONGEST = 1024
SIZE = WIDTH // HEADS
EPSILON = 1e-5
FILE = "model.safetensors"


def shapes() -> dict[str, tuple[int, ...]]:
    """Return the shapes of the parameters."""
    found: dict[str, tuple[int, ...]] = {
        "wte.weight": (VOCABULARY, WIDTH),
        "wpe.weight": (LONGEST, WIDTH),
    }
    linear = {"attn.c_attn": (WIDTH, 3 * WIDTH), "attn.c_proj": (WIDTH, WIDTH)}
    linear |= {"mlp.c_fc": (WIDTH, 4 * WIDTH), "mlp.c_proj": (4 * WIDTH, WIDTH)}
    for layer in range(LAYERS):
        for name in ("ln_1", "ln_2"):
            found[f"h.{layer}.{name}.weight"] = found[f"h.{layer}.{name}.bias"] = (WIDTH,)
        for name, (rows, columns) in linear.items():
            found[f"h.{layer}.{name}.weight"] = (rows, columns)
            found[f"h.{layer}.{name}.bias"] = (columns,)
    found["ln_f.weight"] = found["ln_f.bias"] = (WIDTH,)
    return found


def save(folder: Path) -> None:
    """Write a model in Hugging Face's format: its config and its safetensors file."""
    header: dict[str, Any] = {}
    at = 0
    for name, shape in shapes().items():
        end = at + 4 * int(np.prod(shape))
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [at, end]}
        at = end
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    rng = np.random.default_rng(0)
    with (folder / FILE).open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for name, shape in shapes().items():
            values = rng.standard_normal(shape, np.float32) * np.float32(0.02)
            if "ln_" in name and name.endswith("weight"):
                values += 1
            file.write(values.tobytes())
    (folder / "config.json").write_text('{"model_type": "gpt2"}')


def load(folder: str) -> Iterator[tuple[str, Array]]:
    """Yield the parameters one at a time, so that at most one is in memory twice."""
    with (Path(folder) / FILE).open("rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        for name, found in header.items():
            shape = found["shape"]
            yield name, np.fromfile(file, np.float32, int(np.prod(shape))).reshape(shape)
