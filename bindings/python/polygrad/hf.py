"""Models in Hugging Face's format: config.json and safetensors files.

Model types: gpt2; llama, mistral, qwen2, qwen3 (rotary positions with linear and llama3 scaling,
shared heads of keys, windows); bert (with pooler and masked-token head where the files have them).
"""

from __future__ import annotations

import ctypes
import importlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from polygrad._generation import Generator, generate
from polygrad._library import ArgumentError, c_text, lib, need, need_error
from polygrad._tokenizer import Tokenizer
from polygrad.dtype import DType
from polygrad.instance import Instance

__all__ = ["Generator", "Tokenizer", "download_hf", "generate", "load_hf", "load_hf_bytes"]


def load_hf(
    path: str | Path,
    max_batch: int = 1,
    max_seq_len: int = 0,
    dtype: str | DType = "float32",
    strict: bool = True,
) -> Instance:
    """Load a model from a folder with config.json and *.safetensors (one file or shards).

    max_seq_len 0 selects the maximum of the model, at most 4096 for models with rotary positions.
    dtype is the type that matrices are stored in, strict says what is an error: see load_hf_bytes.
    If there is a tokenizer.json, generate takes and returns text.

    train_step(x=tokens, y=tokens) of the result fine-tunes a float32 model with logits: y is the
    token that each position should predict (in a text, the next one); positions with a negative
    number are excluded. The loss is the mean cross entropy.
    """
    folder, kind = Path(need((str, os.PathLike), "path", path, "a path")), _kind(dtype)
    if not (folder / "config.json").is_file():
        raise FileNotFoundError(f"load_hf: path: {folder / 'config.json'} does not exist")
    if not any(folder.glob("*.safetensors*")):
        raise FileNotFoundError(f"load_hf: path: {folder} holds no .safetensors file")
    handle = lib.poly_hf_open(os.fsencode(folder), max_batch, max_seq_len, kind, bool(strict))
    inst = Instance(handle, ArgumentError)
    inst._folder = folder
    return inst


def _kind(dtype: str | DType) -> bytes:
    kind = dtype.name if isinstance(dtype, DType) else need(str, "dtype", dtype, "a data type")
    return c_text("dtype", {"float": "float32", "half": "float16"}.get(kind, kind))


def load_hf_bytes(
    config: bytes | str,
    weights: Sequence[Any],
    max_batch: int = 1,
    max_seq_len: int = 0,
    dtype: str | DType = "float32",
    strict: bool = True,
) -> Instance:
    """Load a model from the contents of config.json and of safetensors files.

    Files of any type can be loaded as any of these: dtype "float32"; "float16" and "bfloat16",
    which round; "int8", which stores each matrix as q * s with one scale s for each output of a
    layer, the greatest |w| there / 127, so that no weight changes by more than s / 2. Smaller types
    make generate faster, as it is bound by reading weights; they cannot be trained or saved.

    With strict, a file that cannot be read, a parameter that is missing or has another shape, and
    a tensor without a parameter in the model are errors. Masks, positions, a tied output layer and
    heads for tasks (classifier, score, qa_outputs, …) are ignored: the model does not need them.
    Without strict, tensors that do not fit are left out, missing ones are zeros; notes lists both.
    """
    text = config.encode() if isinstance(config, str) else config
    need(bytes, "config", text, "a text or bytes")
    n = len(need((list, tuple), "weights", weights, "a list of files"))
    blocks = [_block(i, w) for i, w in enumerate(weights)]
    files = (ctypes.c_void_p * n)(*[b.ctypes.data for b in blocks])
    lengths = (ctypes.c_int64 * n)(*[b.size for b in blocks])
    sizes = (max_batch, max_seq_len)
    return Instance(
        lib.poly_hf_load_as(text, len(text), files, lengths, n, *sizes, _kind(dtype), bool(strict)),
        ArgumentError,
    )


def _block(i: int, content: Any) -> np.ndarray[Any, Any]:
    """Return the bytes of a file as an array."""
    try:
        return np.frombuffer(content, np.uint8) if len(content) else np.empty(0, np.uint8)
    except TypeError:
        raise need_error(f"weights[{i}]", content, "bytes") from None


def download_hf(repo_id: str, cache_dir: str | Path | None = None) -> str:
    """Download config.json, safetensors and tokenizer from the Hugging Face Hub; return the folder.

    Needs the package huggingface_hub, which shows the progress of each file.
    """
    try:
        hub: Any = importlib.import_module("huggingface_hub")
    except ImportError:
        raise ImportError(
            "download_hf needs huggingface_hub: pip install huggingface_hub"
        ) from None
    offline = os.environ.get("HF_HUB_OFFLINE") or "0"
    if offline.upper() not in ("0", "1", "ON", "OFF", "YES", "NO", "TRUE", "FALSE"):
        raise ArgumentError(f"HF_HUB_OFFLINE: got {offline!r}, expected 1 or 0")
    patterns = ["config.json", "generation_config.json", "tokenizer.json", "tokenizer.model"]
    patterns += ["*.safetensors", "*.safetensors.index.json"]
    folder: str = hub.snapshot_download(repo_id, cache_dir=cache_dir, allow_patterns=patterns)
    return folder
