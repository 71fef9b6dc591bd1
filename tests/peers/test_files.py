"""What torch.save writes, in each of its formats, is read as torch reads it."""

import collections
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from polygrad import Tensor
from polygrad.nn.state import torch_load

TYPES = [
    "float64",
    "float32",
    "float16",
    "bfloat16",
    "int64",
    "int32",
    "int16",
    "int8",
    "uint8",
    "bool",
]
NEWER = ["uint16", "uint32", "uint64", "float8_e4m3fn", "float8_e5m2"]
FP8 = {"fp8e4m3": "float8_e4m3fn", "fp8e5m2": "float8_e5m2"}
FORMATS: list[dict[str, Any]] = [
    {},
    {"pickle_protocol": 4},
    {"pickle_protocol": 5},
    {"_use_new_zipfile_serialization": False},
]


def same(ours: Any, theirs: Any, where: str = "") -> None:
    """Compare values that were saved, tensors by their numbers."""
    if isinstance(theirs, torch.Tensor):
        assert isinstance(ours, Tensor) and ours.shape == tuple(theirs.shape), where
        assert str(theirs.dtype) == "torch." + FP8.get(ours.dtype.name, ours.dtype.name), where
        np.testing.assert_array_equal(
            ours.double().numpy(), theirs.detach().double().numpy(), where
        )
    elif isinstance(theirs, dict):
        assert list(ours) == list(theirs), where
        for key, value in theirs.items():
            same(ours[key], value, f"{where}.{key}")
    elif isinstance(theirs, (list, tuple)):
        assert type(ours) is type(theirs) or isinstance(theirs, torch.Size), where
        assert len(ours) == len(theirs), where
        for i, (a, b) in enumerate(zip(ours, theirs)):
            same(a, b, f"{where}.{i}")
    else:
        assert ours == (
            str(theirs) if isinstance(theirs, (torch.dtype, torch.device)) else theirs
        ), where


@pytest.mark.parametrize("options", FORMATS, ids=str)
def test_types_and_views(tmp_path: Path, options: dict[str, Any]) -> None:
    names = TYPES if "_use_new_zipfile_serialization" in options else TYPES + NEWER
    base = torch.arange(24.0).reshape(4, 6)
    state = collections.OrderedDict(
        (name, (torch.arange(6).reshape(2, 3) % 4).to(getattr(torch, name))) for name in names
    )
    state.update(
        base=base,
        transposed=base.t(),
        part=base[1:3, 2:5],
        column=base[:, 1],
        steps=base[::2, ::3],
        repeated=torch.ones(1, 3).expand(5, 3),
        permuted=torch.arange(24).reshape(2, 3, 4).permute(2, 0, 1),
        scalar=torch.tensor(2.5),
        empty=torch.zeros(0, 3),
    )
    torch.save(state, tmp_path / "a.pth", **options)
    same(torch_load(tmp_path / "a.pth"), state)


@pytest.mark.parametrize("options", FORMATS, ids=str)
def test_checkpoints(tmp_path: Path, options: dict[str, Any]) -> None:
    layers = [
        torch.nn.Conv2d(2, 3, 3),
        torch.nn.BatchNorm2d(3),
        torch.nn.Flatten(),
        torch.nn.Linear(9, 2),
    ]
    model = torch.nn.Sequential(*layers)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    schedule = torch.optim.lr_scheduler.MultiStepLR(optimizer, [3, 5])
    model(torch.randn(2, 2, 5, 3)).sum().backward()
    optimizer.step()
    saved = {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "schedule": schedule.state_dict(),
        "epoch": 7,
        "best": np.float64(0.125),
        "large": 2**70,
        "parameter": torch.nn.Parameter(torch.ones(2)),
        "device": torch.device("cuda:1"),
        "type": torch.float16,
        "size": torch.Size([2, 3]),
        "bytes": b"\x00\xff",
    }
    torch.save(saved, tmp_path / "a.pth", **options)
    same(torch_load(tmp_path / "a.pth"), saved)
