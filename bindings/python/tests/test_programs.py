"""Random programs of the public interface against numpy. POLY_PROGRAMS=100000 runs that many."""

from __future__ import annotations

import inspect
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from programs import calls, elementwise, failure, writes
from programs.choices import Choices
from programs.generator import add
from programs.oracle import Reject
from programs.shrinker import problem
from turns import part

from polygrad import Tensor

COUNT = int(os.environ.get("POLY_PROGRAMS", "800"))
GROUPS = 8
FAILED = Path(__file__).parent / "testdata"


@pytest.mark.parametrize("group", part(range(GROUPS), 4))
def test_random_programs(group: int) -> None:
    failures = [found for found in map(failure, range(group, COUNT, GROUPS)) if found]
    assert not failures, "\n".join(failures)


@pytest.mark.parametrize("device", ["wasm", "interp"])
def test_random_programs_on_other_devices(device: str) -> None:
    folder = Path(__file__).parent
    paths = [folder.parent, *filter(None, [os.environ.get("PYTHONPATH")])]
    settings = {"POLY_DEVICE": device, "PYTHONPATH": os.pathsep.join(map(str, paths))}
    command = [sys.executable, "-m", "programs", str(COUNT // 10), "1000000"]
    run = subprocess.run(command, cwd=folder, env={**os.environ, **settings}, capture_output=True)
    assert b"\n0 of" in b"\n" + run.stdout, (run.stdout + run.stderr).decode()


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


@pytest.mark.parametrize("dtype", ["int8", "int16", "uint8", "uint16"])
def test_comparisons_of_products_with_the_ends_of_their_type(dtype: str) -> None:
    info = np.iinfo(dtype)
    values = np.array([info.min, info.min + 1, 0, 1, 3, 11, 100, info.max - 1, info.max], dtype)
    x = Tensor(values)
    for product, expected in ((x * x, values * values), (-x, -values), (-x * 3, -values * 3)):
        for end in (info.min, info.min + 1, info.max - 1, info.max):
            assert (product <= end).tolist() == (expected <= end).tolist()
            assert (product >= end).tolist() == (expected >= end).tolist()
            assert (product < end).tolist() == (expected < end).tolist()
            assert (product > end).tolist() == (expected > end).tolist()


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_sums_over_positions_that_wrap(dtype: str) -> None:
    wanted = np.array([3, 127, 44, 0, 100], dtype)
    places, values = np.arange(300), np.arange(300, dtype=np.float32)
    tensors = Tensor.arange(300), Tensor(values)
    for change in (lambda a: a, lambda a: a + 7, lambda a: a * 2):
        at = change(places).astype(dtype)
        found = change(tensors[0]).cast(dtype) == Tensor(wanted).reshape(5, 1)
        expected = np.where(at == wanted[:, None], values, 0).sum(1)
        assert found.where(tensors[1], 0).sum(1).tolist() == expected.tolist()
        less = change(tensors[0]).cast(dtype) < Tensor(wanted).reshape(5, 1)
        assert less.sum(1).tolist() == (at < wanted[:, None]).sum(1).tolist()


def test_multiples_that_wrap_select_elements() -> None:
    values = np.array([[-3, -127, -8], [3, -2, 9], [-128, 8, -127], [7, -128, -1]], "int8")
    rest = (Tensor(values) << 3).abs() % 127
    expected = np.abs(values << 3) % 127
    none = np.zeros((4, 3), np.int32)
    np.testing.assert_array_equal(rest[Tensor(none)].numpy(), expected[none])


def test_indices_that_are_compared_with_each_other() -> None:
    x = Tensor([0, 8], dtype="uint8")
    changed = x.scatter(0, (x == 253).cast("uint8"), 0)
    padded = changed.cast("int8").pad(((1, 0),), value=125)
    assert padded.gather(0, (changed % 3).cast("uint8")).tolist() == [125, 8]


def test_padded_lookups_by_reductions() -> None:
    values = np.array([[2, 6, 65535, 3], [4, 9, 8, 1], [9, 6, 6, 6], [3, 7, 2, 3]], "uint16")
    x = Tensor(values)
    row = x.cast("int16").pad(((1, 2), (1, 2)), value=-32768).argmax() % 4
    padded = x[row.cast("int32")].cast("float32").pad(((1, 0),), value=1.25)
    assert padded.tolist() == [1.25, 2, 6, 65535, 3]


def test_gradients_through_sums_inside_of_sums() -> None:
    x = Tensor([2.25, 0.125, -3.875, 4.375], dtype="float64", requires_grad=True)
    (x[3:4] + x).cumsum(0).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [4, 3, 2, 11]
    y = Tensor([1.0, 2.0, 3.0], requires_grad=True)
    ((y[:1] * y + y[1:2]).square().cumsum(0) * y).sum().backward()
    assert y.grad is not None
    assert y.grad.tolist() == [251, 171, 80]


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "int8", "int32", "float32", "float64"])
@pytest.mark.parametrize("shape", [(6,), (2, 3), (2, 1, 3)])
def test_repeated_positions_that_are_the_same_in_all_iterations(
    dtype: str, shape: tuple[int, ...]
) -> None:
    x = Tensor([1.0, 2.0], dtype="float64", requires_grad=True)
    zeros = Tensor(np.arange(6).reshape(shape).astype(dtype)).cast("int32") % 1
    x[zeros].sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [6, 0]
    y = Tensor([1.0, 2.0], requires_grad=True)
    y[Tensor([[1, 0, 1]]).expand(2, 3)].sum().backward()
    assert y.grad is not None
    assert y.grad.tolist() == [2, 4]
    values = Tensor([1, 5, 9, 8], dtype=dtype)
    if "int" in dtype:
        places = (values % 1).cast("int32")
        assert values[:1].scatter_reduce(0, places, values, "amax").tolist() == [9]
        assert values[2:3].scatter_reduce(0, places, values, "amin").tolist() == [1]
        assert values[:1].scatter_reduce(0, places, values, "sum").tolist() == [24]


def test_joins_of_products_of_large_unsigned_numbers() -> None:
    values = np.array([6, 2, 4], "uint64")
    product = Tensor(values) * 2**63
    joined = product.cat(Tensor(values) % (2**64 - 3), dim=0).roll(1, 0).pad(((1, 0),))
    expected = np.concatenate([values * np.uint64(2**63), values % np.uint64(2**64 - 3)])
    assert joined.tolist() == [0, *np.roll(expected, 1).tolist()]


@pytest.mark.parametrize("read", [0, 1, 2])
def test_gradients_of_equal_tensors_of_which_one_is_read(read: int) -> None:
    x = Tensor([1.0, 2.0, 3.0], requires_grad=True)
    first = x.contiguous()
    second = first.contiguous()
    Tensor.realize(second, first)
    if read:
        (first, second)[read - 1].numpy()
    (second * 3 - first).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [2, 2, 2]


@pytest.mark.parametrize("path", sorted(FAILED.glob("program_*.py")), ids=lambda p: p.stem)
def test_programs_that_have_failed(path: Path) -> None:
    runpy.run_path(str(path))


def test_every_operation_is_made() -> None:
    """A call of each described operation stands in a program, or it is known why not."""
    source = Path(inspect.getfile(Tensor)).with_name("_methods.py").read_text(encoding="utf-8")
    names = set(re.findall(r'^\w+ = operation\("(\w+)"\)', source, re.MULTILINE))
    assert len(names) > 240
    left_out = {name for names in calls.NOT_MADE.values() for name in names.split()}
    assert names - set(calls.table()) == left_out
    failures = [found for op in calls.table() for found in [call_of(op)] if found]
    assert not failures, "\n".join(failures)


def call_of(op: str) -> str:
    """Return the problem of the first program that is a call of an operation."""
    for seed in range(50):
        choices = Choices(seed)
        add(choices, elementwise.leaf(choices))
        try:
            add(choices, calls.call(choices, op))
        except Reject:
            continue
        for name in list(choices.state.values):
            add(choices, writes.check(choices, name))
        return problem(choices.steps)
    return f"no program has a call of {op}"


def test_gradients_of_none_of_one_element() -> None:
    x = Tensor([1.0, 2.0], requires_grad=True)
    x[Tensor([1])].topk(0)[0].sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [0, 0]


def test_products_of_rows_that_have_a_common_factor() -> None:
    first, second = Tensor([[0.5, 0.25, -1.0]]), Tensor([[2.0, 0.5, 1.0]])
    joined = first.cat(second, dim=0)
    found = joined.newton_schulz(2, [3.5, -4.75, 2.0]).numpy()
    expected = Tensor([[0.5, 0.25, -1.0], [2.0, 0.5, 1.0]]).newton_schulz(2, [3.5, -4.75, 2.0])
    np.testing.assert_allclose(found, expected.numpy(), rtol=1e-5)


def test_not_a_number_lies_in_no_interval() -> None:
    x = Tensor([float("nan"), float("inf"), float("-inf"), 1.0])
    assert x.histogram(4, -4, 4)[0].tolist() == [0, 0, 1, 0]
    assert (-x).histogram(4, -4, 4)[0].tolist() == [0, 1, 0, 0]
    assert x[:1].histogram(3)[0].tolist() == [0, 0, 0]


def test_ranges_without_elements() -> None:
    x = Tensor([1.0, 2.0])
    for nothing in (Tensor.arange(0), Tensor.linspace(0, 1, 0)):
        assert nothing.sum().item() == 0
        assert (nothing + 1).cat(x).tolist() == [1, 2]
        none = nothing.cast("int32")
        assert x.scatter_reduce(0, none, x, "sum").tolist() == [1, 2]
        assert x.scatter(0, none, x, reduce="add").tolist() == [1, 2]


@pytest.mark.parametrize("shape", [(0,), (2, 0), (0, 3)])
def test_running_sums_of_nothing_have_the_type_of_others(shape: tuple[int, ...]) -> None:
    for dtype in ("bool", "uint8", "int16", "int64", "float16", "float32"):
        x = Tensor.zeros(*shape, dtype=dtype)
        others = Tensor.ones(2, dtype=dtype)
        assert x.cumsum(0).dtype == others.cumsum(0).dtype
        assert x.cumprod(0).dtype == others.cumprod(0).dtype
        assert x.cumsum(0).shape == shape
