"""Model files: safetensors, GGUF, and PyTorch's.

A file is mapped into memory: loading it costs little whatever its size, its tensors are
views of the mapping, and writes to them stay in this process. A file must not be truncated while
its tensors are in use. A damaged or hostile file raises ValueError with the file, the tensor and
the wrong numbers; no code in it is run.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from typing import Any, SupportsIndex

from polygrad import _files
from polygrad._files import OpenFile, Source
from polygrad._library import ArgumentTypeError, c_text, integer, need, wrong
from polygrad.dtype import dtypes
from polygrad.tensor import Tensor


def safe_load(fn: Source) -> dict[str, Tensor]:
    """Return the tensors of a safetensors file by name, in the order of its header.

    fn is the path of a file, of a folder with model.safetensors or shards and their index
    model.safetensors.index.json, or of such an index; or the contents of a file, as bytes or a
    tensor of uint8.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "model.safetensors")
    >>> safe_save({"weight": Tensor([[1.0, 2.0]]).half()}, path)
    >>> safe_load(path)["weight"].dtype, safe_load(path)["weight"].tolist()
    (dtypes.float16, [[1.0, 2.0]])
    """
    return OpenFile(fn, _files.SAFETENSORS).tensors()


def safe_load_metadata(fn: Source) -> tuple[Tensor, int, dict[str, Any]]:
    """Return a safetensors file as a tensor of bytes, where its data begin, and its header.

    The header has a dict with dtype, shape and data_offsets for each tensor, and the file's
    metadata, a dict of strings, under "__metadata__", if it has any.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "model.safetensors")
    >>> safe_save({"weight": Tensor([1.0, 2.0])}, path, {"format": "pt"})
    >>> file, start, header = safe_load_metadata(path)
    >>> header["__metadata__"], header["weight"]["data_offsets"]
    ({'format': 'pt'}, [0, 8])
    >>> file[start:].bitcast("float32").tolist()
    [1.0, 2.0]
    """
    OpenFile(fn, _files.SAFETENSORS)  # checks the whole file
    raw = OpenFile(fn, _files.RAW).tensor(0)
    length = int.from_bytes(raw[:8].numpy().tobytes(), "little")
    header: dict[str, Any] = json.loads(raw[8 : 8 + length].numpy().tobytes())
    return raw, 8 + length, header


def safe_save(
    tensors: Mapping[str, Tensor],
    fn: str | os.PathLike[str],
    metadata: Mapping[str, str] | None = None,
    max_shard_size: int | str | None = None,
) -> None:
    """Write tensors, given by name, and metadata, a dict of strings, to a safetensors file.

    If the tensors have more bytes than max_shard_size, a number or a text as "5GB", they are
    written to shards, model-00001-of-00003.safetensors and so on for model.safetensors, with an
    index, model.safetensors.index.json. Files are replaced atomically; tensors that were loaded
    from a file of that name keep their values.

    >>> import os, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> path = os.path.join(folder, "model.safetensors")
    >>> safe_save({"a": Tensor.ones(4), "b": Tensor.ones(4)}, path, max_shard_size=16)
    >>> sorted(os.listdir(folder))[0], sorted(safe_load(folder))
    ('model-00001-of-00002.safetensors', ['a', 'b'])
    """
    for name, tensor in need(Mapping, "tensors", tensors, "tensors by name").items():
        c_text("tensors", name), need(Tensor, f"tensors[{name!r}]", tensor, "a tensor")
    texts = {} if metadata is None else need(Mapping, "metadata", metadata, "texts by name")
    for key, text in texts.items():
        c_text("metadata", key), c_text(f"metadata[{key!r}]", text)
    _files.save(tensors, fn, metadata, _bytes(max_shard_size))


def _bytes(size: int | str | None) -> int:
    """Return a number of bytes, 0 for no limit."""
    if size is None:
        return 0
    need((str, SupportsIndex), "max_shard_size", size, "bytes or e.g. '5GB'")
    found = re.fullmatch(r"\s*(\d+)\s*([KMG]?)(i?)B?\s*", str(size), re.IGNORECASE)
    if found is None or (found[3] and not found[2]) or int(found[1]) < 1:
        raise wrong("max_shard_size", repr(size), "at least 1, or e.g. '5GB'")
    unit: int = (1024 if found[3] else 1000) ** " KMG".index(found[2].upper() or " ")
    return integer("max_shard_size", int(found[1]) * unit)


def gguf_load(fn: Source) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Return the metadata of a GGUF file and its tensors by name.

    Quantised tensors (Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K to Q6_K, MXFP4) stay packed in the
    mapped memory of the file, and are dequantized to float32 wherever they are used.
    ``tensor.realize()`` unpacks one permanently, ``tensor.half().realize()`` in half the memory.

    >>> kv, tensors = gguf_load("Llama-3.2-1B-Q4_K_M.gguf")  # doctest: +SKIP
    >>> kv["general.architecture"], tensors["blk.0.attn_q.weight"].shape  # doctest: +SKIP
    ('llama', (2048, 2048))
    """
    file = OpenFile(fn, _files.GGUF)
    value: dict[str, Any] = file.value()
    return value, file.tensors()


def torch_load(fn: Source) -> Any:
    """Return what ``torch.save`` wrote, with tensors of polygrad; PyTorch is not needed.

    All formats of PyTorch are read: zip archives, and the pickles and tar archives of old
    versions. Of pickles, numbers, texts, containers, tensors, parameters, and the types and
    devices of PyTorch (as texts) are understood. Any other global is refused with its name, so
    no code of a file is ever run. Maps become dicts. A tensor that is a transposed or strided
    view gets memory of its own.

    >>> state_dict = torch_load("pytorch_model.bin")  # doctest: +SKIP
    >>> load_state_dict(model, state_dict)  # doctest: +SKIP
    """
    return OpenFile(fn, _files.TORCH).value()


def ggml_data_to_tensor(t: Tensor, n: int, ggml_type: int) -> Tensor:
    """Dequantize ggml's blocks to n numbers, of shape (n,).

    t holds the blocks, uint8 in any shape, and ggml_type is ggml's number for the type: 0 F32, 1
    F16, 2 Q4_0, 3 Q4_1, 6 Q5_0, 7 Q5_1, 8 Q8_0, 10 Q2_K, 11 Q3_K, 12 Q4_K, 13 Q5_K, 14 Q6_K, 24
    I8, 25 I16, 26 I32, 27 I64, 28 F64, 30 BF16, 39 MXFP4. The result is lazy.

    >>> block = Tensor([0, 60] + [1, 2] * 16, dtype="uint8")  # the scale 1, and 32 numbers
    >>> ggml_data_to_tensor(block, 32, 8)[:4].tolist()
    [1.0, 2.0, 1.0, 2.0]
    """
    if need(Tensor, "t", t, "a tensor of uint8").dtype != dtypes.uint8:
        raise wrong("t", f"a tensor of {t.dtype.name}", "uint8", ArgumentTypeError)
    return _files.dequantize(t, integer("n", n), integer("ggml_type", ggml_type))
