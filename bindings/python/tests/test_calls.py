"""Calls of operations by the functions that the library has for Python."""

from __future__ import annotations

import ctypes
import functools

import numpy as np
import pytest

from polygrad import Tensor
from polygrad._library import last_error, lib


@pytest.mark.parametrize(
    ("objects", "message"),
    [(None, "objects: NULL, expected 31"), ((ctypes.c_void_p * 2)(), "n: 2, expected 31")],
)
def test_python_is_bound_with_its_objects_only(objects, message):
    assert not lib.poly_python_methods(ctypes.pythonapi._handle, objects, 2)
    assert message in last_error()


@pytest.mark.parametrize(
    ("value", "error"),
    [
        (1 << 70, OverflowError),
        (object(), TypeError),
        (functools.reduce(lambda deep, _: [deep], range(40), 1), RecursionError),
    ],
)
def test_arguments_that_no_operation_takes(value, error):
    with pytest.raises(error):
        Tensor([1.0]).sum(value)


def test_arguments_of_other_types_are_taken_for_what_they_are():
    class Two:
        def __index__(self):
            return 2

    x = Tensor([[1.0, 2.0], [3.0, 4.0]])
    assert x.sum(np.int64(1)).tolist() == [3.0, 7.0]
    assert x.reshape(np.array([4])).shape == (4,)
    assert x.repeat(Two(), 1).shape == (4, 2)
    assert (x + np.float64(1.5)).tolist() == [[2.5, 3.5], [4.5, 5.5]]
    assert (True + x).tolist() == (x + True).tolist()
    with pytest.raises(OverflowError):
        Tensor([1, 2]) + (1 << 70)
    assert (Tensor([1.0]) + (1 << 70)).item() == float(1 << 70)


def test_subclasses_have_results_of_their_own_class():
    class Mine(Tensor):
        pass

    x = Mine([1.0, 2.0])
    assert type(x + 1) is type(1 - x) is type(x.exp()) is Mine
    assert {type(part) for part in x.chunk(2)} == {Mine}
    assert type(Mine.zeros(2)) is Mine
