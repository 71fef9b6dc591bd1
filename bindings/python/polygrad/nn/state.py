"""The tensors that an object holds, by name."""

from __future__ import annotations

from typing import Any

import numpy as np

from polygrad.tensor import Tensor


def get_state_dict(obj: Any, prefix: str = "") -> dict[str, Tensor]:
    """Return the tensors in an object, its attributes, lists and dicts, by dotted name.

    >>> from polygrad.nn import Linear
    >>> sorted(get_state_dict(Linear(2, 3)))
    ['bias', 'weight']
    """
    found: dict[str, Tensor] = {}
    _collect(obj, prefix, found, set())
    return found


def _collect(obj: Any, prefix: str, found: dict[str, Tensor], on_way: set[int]) -> None:
    if isinstance(obj, Tensor):
        found[prefix.strip(".")] = obj
        return
    if isinstance(obj, (str, bytes, int, float, np.ndarray, type)) or obj is None:
        return
    if id(obj) in on_way:
        return
    if isinstance(obj, (list, tuple)):
        items = [(str(i), item) for i, item in enumerate(obj)]
    elif isinstance(obj, dict):
        items = [(str(k), v) for k, v in obj.items()]
    else:
        items = list(getattr(obj, "__dict__", {}).items())
    on_way.add(id(obj))
    for name, item in items:
        _collect(item, f"{prefix}.{name}" if prefix else name, found, on_way)
    on_way.discard(id(obj))


def get_parameters(obj: Any) -> list[Tensor]:
    """Return the tensors in an object that require a gradient.

    >>> from polygrad.nn import Linear
    >>> [p.shape for p in get_parameters([Linear(2, 3), Linear(3, 1, bias=False)])]
    [(3, 2), (3,), (1, 3)]
    """
    tensors = {id(t): t for t in get_state_dict(obj).values() if t.requires_grad}
    return list(tensors.values())


def load_state_dict(model: Any, state_dict: dict[str, Any], strict: bool = True) -> None:
    """Copy tensors (or arrays) into the tensors of the same names in a model.

    With strict, each tensor of the model must be there, and nothing else.

    >>> from polygrad.nn import Linear
    >>> a, b = Linear(2, 1), Linear(2, 1)
    >>> load_state_dict(b, get_state_dict(a))
    >>> (a.weight == b.weight).all().item()
    True
    """
    own = get_state_dict(model)
    if strict:
        missing = [name for name in own if name not in state_dict]
        unknown = [name for name in state_dict if name not in own]
        if missing or unknown:
            raise KeyError(f"load_state_dict: missing {missing}, unknown {unknown}")
    pairs = [(own[name], value) for name, value in state_dict.items() if name in own]
    for target, value in pairs:
        shape = tuple(np.shape(value)) if not isinstance(value, Tensor) else value.shape
        if shape != target.shape:
            raise ValueError(f"load_state_dict: shape {shape}, expected {target.shape}")
    for target, value in pairs:
        target.assign(value if isinstance(value, Tensor) else Tensor(np.asarray(value)))
