"""Random programs of the public interface against numpy. POLY_PROGRAMS=3000 runs that many."""

from __future__ import annotations

import os

import numpy as np
import pytest
from programs import failure

from polygrad import Tensor

COUNT = int(os.environ.get("POLY_PROGRAMS", "240"))
GROUPS = 8


@pytest.mark.parametrize("group", range(GROUPS))
def test_random_programs(group: int) -> None:
    failures = [found for found in map(failure, range(group, COUNT, GROUPS)) if found]
    assert not failures, "\n".join(failures)


def test_gradients_beside_held_masks() -> None:
    x = Tensor([1.0, -2.0], requires_grad=True)
    mask = x.cast("bool")
    mask.where(x, x * 2).sum().backward()
    assert x.grad is not None
    assert (x.grad.tolist(), mask.tolist()) == ([1.0, 1.0], [True, True])


def test_shifts_by_all_but_one_bit() -> None:
    x = Tensor([-128, -1, 0, 127], dtype="int8")
    assert (x >> 7).tolist() == [-1, -1, 0, 0]


def test_narrow_products_wrap() -> None:
    wrapped = Tensor([7, 255], dtype="uint8").prod(axis=0)
    assert (~wrapped).cast("int64").item() == 6
    x = Tensor([-127, 3, 3] * 40, dtype="int8")
    assert (x.prod(axis=0).cast("int32") - 1).item() == int(np.prod(x.numpy(), dtype="int8")) - 1


def test_indices_of_what_is_overwritten() -> None:
    x = Tensor([144, 240], dtype="uint8")
    least = x.argmin()
    x += x
    assert (least.item(), x.tolist()) == (0, [32, 224])
