"""Models in Hugging Face's format: config.json and safetensors files. Model type: gpt2."""

from __future__ import annotations

import ctypes
import importlib
import json
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from polygrad._library import lib
from polygrad.instance import Instance


def load_hf(path: str | Path, max_batch: int = 1, max_seq_len: int = 0) -> Instance:
    """Load a model from a folder with config.json and *.safetensors (one file or shards).

    max_seq_len 0 means: as long as the model allows.
    """
    folder = Path(path)
    config = folder / "config.json"
    if not config.is_file():
        raise FileNotFoundError(f"{config} does not exist")
    files = _weight_files(folder)
    if not files:
        raise FileNotFoundError(f"{folder} holds no .safetensors file")
    weights = [f.read_bytes() for f in files]
    return load_hf_bytes(config.read_bytes(), weights, max_batch, max_seq_len)


def _weight_files(folder: Path) -> list[Path]:
    """Return the files that the index names, or all of them."""
    index = folder / "model.safetensors.index.json"
    if index.is_file():
        names = sorted(set(json.loads(index.read_text())["weight_map"].values()))
        return [folder / name for name in names]
    return sorted(folder.glob("*.safetensors"))


def load_hf_bytes(
    config: bytes | str, weights: Sequence[bytes], max_batch: int = 1, max_seq_len: int = 0
) -> Instance:
    """Load a model from the contents of config.json and of safetensors files.

    Files that cannot be read and tensors that are missing or do not fit are warned about.
    """
    text = config.encode() if isinstance(config, str) else config
    n = len(weights)
    blocks = [ctypes.c_char_p(w) for w in weights]
    files = (ctypes.c_void_p * n)(*[ctypes.cast(b, ctypes.c_void_p) for b in blocks])
    lengths = (ctypes.c_int64 * n)(*[len(w) for w in weights])
    inst = Instance(lib.poly_hf_load(text, len(text), files, lengths, n, max_batch, max_seq_len))
    if inst.notes:
        warnings.warn("; ".join(inst.notes), stacklevel=2)
    return inst


def download_hf(repo_id: str, cache_dir: str | Path | None = None) -> str:
    """Download config.json and safetensors from the Hugging Face Hub; return the folder.

    Needs the package huggingface_hub.
    """
    try:
        hub: Any = importlib.import_module("huggingface_hub")
    except ImportError:
        raise ImportError(
            "download_hf needs huggingface_hub: pip install huggingface_hub"
        ) from None
    patterns = ["config.json", "*.safetensors", "*.safetensors.index.json"]
    folder: str = hub.snapshot_download(repo_id, cache_dir=cache_dir, allow_patterns=patterns)
    return folder


def generate(
    inst: Instance,
    tokens: Any,
    max_new_tokens: int,
    temperature: float = 1.0,
    top_k: int = 0,
    seed: int | None = None,
) -> npt.NDArray[np.int64]:
    """Continue token sequences, shape (batch, n), by max_new_tokens tokens.

    temperature 0 always takes the most likely token; top_k > 0 chooses among the k most likely
    ones. A model with room for T tokens sees the last T.
    """
    sequence = np.atleast_2d(np.asarray(tokens)).astype(np.int64)
    if temperature < 0 or top_k < 0 or max_new_tokens < 0:
        raise ValueError("generate: temperature, top_k and max_new_tokens must not be negative")
    buffers = inst.buffers
    batch, room = buffers["x"].shape
    if sequence.shape[0] > batch or sequence.shape[1] == 0:
        raise ValueError(f"generate: tokens: shape {sequence.shape}, expected up to {batch} rows")
    places = {n: np.arange(room) for n in ("positions", "arange") if n in buffers}
    random = np.random.default_rng(seed)
    for _ in range(max_new_tokens):
        seen = sequence[:, -room:]
        outputs = inst.forward(x=seen, **places)
        logits = outputs["output"].reshape(batch, room, -1)
        last = logits[: sequence.shape[0], seen.shape[1] - 1]
        chosen = [_choose(row, temperature, top_k, random) for row in last]
        sequence = np.concatenate([sequence, np.array(chosen)[:, None]], axis=1)
    return sequence


def _choose(
    logits: npt.NDArray[np.float32], temperature: float, top_k: int, random: np.random.Generator
) -> int:
    """Return a token, drawn by its probability."""
    if temperature == 0:
        return int(logits.argmax())
    scaled = logits.astype(np.float64) / temperature
    if 0 < top_k < len(scaled):
        scaled[scaled < np.partition(scaled, -top_k)[-top_k]] = -np.inf
    weights = np.exp(scaled - scaled.max())
    return int(random.choice(len(weights), p=weights / weights.sum()))
