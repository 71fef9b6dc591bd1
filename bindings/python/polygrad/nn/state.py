"""The tensors that an object holds, by name."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from polygrad._library import need
from polygrad.dtype import dtypes
from polygrad.nn.files import (
    ggml_data_to_tensor,
    gguf_load,
    safe_load,
    safe_load_metadata,
    safe_save,
    torch_load,
)
from polygrad.tensor import Tensor

__all__ = [
    "get_parameters",
    "get_state_dict",
    "ggml_data_to_tensor",
    "gguf_load",
    "load_state_dict",
    "safe_load",
    "safe_load_metadata",
    "safe_save",
    "torch_load",
]


def get_state_dict(obj: Any, prefix: str = "", tensor_type: type = Tensor) -> dict[str, Any]:
    """Return the tensors in an object, its attributes, lists, tuples and dicts, by dotted name.

    prefix is prepended to all names.

    >>> from polygrad.nn import Linear
    >>> sorted(get_state_dict({"first": Linear(2, 3)}, "model"))
    ['model.first.bias', 'model.first.weight']
    """
    need(str, "prefix", prefix, "a text"), need(type, "tensor_type", tensor_type, "a class")
    found: dict[str, Any] = {}
    _collect(obj, prefix.rstrip("."), found, set(), tensor_type)
    return found


def _collect(
    obj: Any, prefix: str, found: dict[str, Any], on_way: set[int], tensor_type: type
) -> None:
    if isinstance(obj, tensor_type):
        found[prefix] = obj
        return
    if isinstance(obj, (str, bytes, int, float, np.ndarray, type)) or obj is None:
        return
    if id(obj) in on_way:
        return
    if hasattr(obj, "_asdict"):  # a named tuple
        items = list(obj._asdict().items())
    elif isinstance(obj, (list, tuple)):
        items = [(str(i), item) for i, item in enumerate(obj)]
    elif isinstance(obj, dict):
        items = [(str(k), v) for k, v in obj.items()]
    else:
        items = list(getattr(obj, "__dict__", {}).items())
    on_way.add(id(obj))
    for name, item in items:
        _collect(item, f"{prefix}.{name}" if prefix else name, found, on_way, tensor_type)
    on_way.discard(id(obj))


def get_parameters(obj: Any) -> list[Tensor]:
    """Return the tensors in an object that an optimizer may change, each once.

    Those are tensors of floating types whose requires_grad is True, or None: an optimizer then
    makes it True. Tensors with requires_grad=False, as the running statistics of BatchNorm, are in
    get_state_dict only.

    >>> from polygrad.nn import BatchNorm, Linear
    >>> [p.shape for p in get_parameters([Linear(2, 3), BatchNorm(4), Tensor.ones(5)])]
    [(3, 2), (3,), (4,), (4,), (5,)]
    """
    tensors = get_state_dict(obj).values()
    wanted = [t for t in tensors if t.requires_grad is not False and dtypes.is_float(t.dtype)]
    return list({id(t): t for t in wanted}.values())


def load_state_dict(
    model: Any,
    state_dict: dict[str, Any],
    strict: bool = True,
    verbose: bool = True,
    consume: bool = False,
    realize: bool = True,
) -> list[Tensor]:
    """Copy tensors (or arrays) into the tensors of the same names in a model; return these.

    Values are converted to the model's data types and written into its memory, so that
    optimizers and compiled steps continue with them. With strict, each tensor of the model must be
    in state_dict; unknown names there are a warning, if verbose. A tensor of shape () may stand for
    one of (1,). All is checked before the first tensor changes. consume removes each from
    state_dict after copying it; realize=False copies lazily.

    >>> from polygrad.nn import Linear
    >>> a, b = Linear(2, 1), Linear(2, 1)
    >>> loaded = load_state_dict(b, get_state_dict(a))
    >>> len(loaded), (a.weight == b.weight).all().item()
    (2, True)
    """
    need(Mapping, "state_dict", state_dict, "a dict")
    own = get_state_dict(model)
    missing = [name for name in own if name not in state_dict]
    if missing and strict:
        raise KeyError(f"load_state_dict: missing {missing}")
    unknown = [name for name in state_dict if name not in own]
    if unknown and verbose:
        warnings.warn(f"load_state_dict: the model has no {unknown}", stacklevel=2)
    pairs = []
    for name, target in own.items():
        if name not in state_dict:
            continue
        value = state_dict[name]
        shape = value.shape if isinstance(value, Tensor) else tuple(np.shape(value))
        if shape != target.shape and {shape, target.shape} != {(), (1,)}:
            raise ValueError(
                f"Shape mismatch in layer `{name}`: Expected shape {target.shape}, "
                f"but found {shape} in state dict."
            )
        pairs.append((name, target, value))
    for name, target, value in pairs:
        tensor = value if isinstance(value, Tensor) else Tensor(np.asarray(value))
        target.assign(tensor.cast(target.dtype).reshape(target.shape))
        if realize:
            target.realize()
        if consume:
            del state_dict[name]
    return [target for _, target, _ in pairs]
