"""Memory shared with PyTorch, in both directions, without copies."""

from __future__ import annotations

import gc
import subprocess
import sys

import numpy as np
import pytest
import torch

from polygrad import Tensor
from polygrad.dtype import ALL

TYPES = {
    "bool": torch.bool,
    "int8": torch.int8,
    "uint8": torch.uint8,
    "int16": torch.int16,
    "uint16": torch.uint16,
    "int32": torch.int32,
    "uint32": torch.uint32,
    "int64": torch.int64,
    "uint64": torch.uint64,
    "fp8e4m3": torch.float8_e4m3fn,
    "fp8e5m2": torch.float8_e5m2,
    "float16": torch.float16,
    "bfloat16": torch.bfloat16,
    "float32": torch.float32,
    "float64": torch.float64,
    "complex64": torch.complex64,
    "complex128": torch.complex128,
}


def test_every_type_has_its_counterpart() -> None:
    assert set(TYPES) == {d.name for d in ALL}


@pytest.mark.parametrize("name", TYPES)
def test_to_torch(name: str) -> None:
    ours = Tensor([[1, 0, 1], [0, 1, 1]], dtype=name).realize()
    theirs = torch.from_dlpack(ours)
    assert theirs.dtype == TYPES[name]
    assert theirs.to(torch.float64).tolist() == np.asarray(ours, "float64").tolist()
    theirs[0, 1] = 1
    assert ours[0, 1].item() == 1
    ours.assign(ours.zeros_like())
    assert not theirs.to(torch.float64).any()
    theirs[1, 2] = 1
    del ours
    gc.collect()
    assert theirs.to(torch.float64).tolist() == [[0, 0, 0], [0, 0, 1]]


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("take", [Tensor, Tensor.from_dlpack])
def test_from_torch(take, name: str) -> None:
    theirs = torch.tensor([[1, 0, 1], [0, 1, 1]]).to(TYPES[name])
    ours = take(theirs)
    assert (ours.dtype.name, ours.shape) == (name, (2, 3))
    theirs[0, 1] = 1
    assert ours[0, 1].item() == 1
    ours.assign(ours.zeros_like())
    assert not theirs.to(torch.float64).any()
    del theirs
    gc.collect()
    assert np.asarray(ours, "float64").sum() == 0


def test_what_is_not_contiguous_is_copied() -> None:
    theirs = torch.arange(6.0).reshape(2, 3).T
    ours = Tensor.from_dlpack(theirs)
    assert ours.tolist() == theirs.tolist()
    theirs[0, 0] = 9
    assert ours[0, 0].item() == 0
    with pytest.raises(BufferError, match="copy is False"):
        Tensor.from_dlpack(theirs, copy=False)
    assert Tensor.from_dlpack(torch.zeros(0, 3)).shape == (0, 3)
    assert Tensor.from_dlpack(torch.tensor(3.5)).item() == 3.5


def test_gradients_do_not_cross() -> None:
    with pytest.raises(BufferError, match="require gradient"):
        Tensor(torch.ones(2, requires_grad=True))
    x = Tensor([1.0, 2.0], requires_grad=True)
    assert not torch.from_dlpack(x).requires_grad


def test_arrays_of_both() -> None:
    ours = Tensor([1.0, 2.0])
    shared = torch.as_tensor(np.asarray(ours))
    shared[0] = 5
    assert ours.tolist() == [5, 2]
    assert torch.tensor(np.asarray(ours * 2)).tolist() == [10, 4]


def test_capsules_of_the_time_before_versions() -> None:
    theirs = torch.arange(3)
    ours = Tensor.from_dlpack(torch.utils.dlpack.to_dlpack(theirs))
    theirs[0] = 9
    assert ours.tolist() == [9, 1, 2]
    ours.assign(Tensor([4, 5, 6], dtype="int64"))
    assert theirs.tolist() == [4, 5, 6]


def test_jax_may_be_imported_first() -> None:
    # ml_dtypes makes np.dtype("bfloat16") possible.
    code = """
import jax, numpy as np
from polygrad import Tensor
x = Tensor(np.asarray(jax.numpy.ones(2, "bfloat16")) * 3)
print(np.asarray(Tensor([1.0, 2.0], dtype="bfloat16")).dtype, x.dtype.name, x.tolist())
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (run.stdout.strip(), run.returncode) == ("float32 bfloat16 [3.0, 3.0]", 0), run.stderr
