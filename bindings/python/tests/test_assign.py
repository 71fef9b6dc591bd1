"""Writing: assign and items, through views, and what it does to tensors that exist."""

from __future__ import annotations

import copy as copies
import pickle
import random
from operator import iadd, imul

import numpy as np
import pytest

from polygrad import Tensor, dtypes
from polygrad.nn import SGD, compile_step


def numbers(*shape: int) -> np.ndarray:
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


# Views: how a tensor and an array are seen in the same way.
VIEWS = {
    "part": lambda x: x[1:3],
    "row": lambda x: x[1],
    "element": lambda x: x[2, 3],
    "steps": lambda x: x[::2, 1::3],
    "backwards": lambda x: x[::-1, ::-2],
    "new axes": lambda x: x[None, :, None, 1],
    "transposed": lambda x: x.transpose(1, 0),
    "reshaped": lambda x: x.reshape(2, 10),
    "flat": lambda x: x.reshape(-1),
    "row of transposed": lambda x: x.transpose(1, 0)[1],
    "part of a part": lambda x: x[1:][1:, 2:][0],
    "diagonal": lambda x: x.diagonal(),
}


@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize("realized", [True, False])
def test_assign_writes_through_views(name: str, realized: bool) -> None:
    view = VIEWS[name]
    expected = numbers(4, 5)
    shown = expected.reshape(-1)[::6] if name == "diagonal" else view(expected)
    base = Tensor(numbers(4, 5)) if realized else Tensor.arange(20.0).reshape(4, 5)
    value = np.full(np.shape(shown), -7, dtype=np.float32)
    view(base).assign(Tensor(value))
    if name == "element":
        expected[2, 3] = -7
    else:
        shown[...] = value
    np.testing.assert_array_equal(base.numpy(), expected)


@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize("realized", [True, False])
def test_items_of_views_are_items_of_the_root(name: str, realized: bool) -> None:
    view = VIEWS[name]
    expected = numbers(4, 5)
    base = Tensor(numbers(4, 5)) if realized else Tensor.arange(20.0).reshape(4, 5).contiguous()
    view(base)[...] = 3
    if name == "diagonal":
        expected.reshape(-1)[::6] = 3
    elif name == "element":
        expected[2, 3] = 3
    else:
        view(expected)[...] = 3
    np.testing.assert_array_equal(base.numpy(), expected)


def test_other_views() -> None:
    t = Tensor(numbers(2, 6))
    t.flip(1).squeeze().unflatten(1, (2, 3)).rearrange("a b c -> c b a")[0, 0, 0] = 50
    t.split(3, 1)[1][0].assign([60, 61, 62])
    t.shrink(((1, 2), (0, 1))).unsqueeze(0).assign(70)
    t.detach()[1, 1] = 80
    t.T[5].assign(Tensor([90.0, 91.0]))
    assert t.tolist() == [[0, 1, 2, 60, 61, 90], [70, 80, 8, 9, 10, 91]]


def test_a_bitcast_of_the_same_size_is_a_view() -> None:
    t = Tensor([1.0, 2.0, 3.0, 4.0])
    t[:2].bitcast("int32").assign(Tensor([0x40800000, 0x40400000], dtype="int32"))
    assert t.tolist() == [4, 3, 3, 4]
    t.bitcast("uint8").assign(0)
    assert t.tolist() == [4, 3, 3, 4]


def test_what_shows_an_element_twice_is_no_view() -> None:
    t = Tensor([[1.0], [2.0]])
    wide = t.expand(2, 3)
    wide[0] = 5
    assert t.tolist() == [[1], [2]]
    assert wide.tolist() == [[5, 5, 5], [2, 2, 2]]


def test_views_show_what_is_written_later() -> None:
    t = Tensor(numbers(4))
    half = t[2:]
    t.assign(t * 10)
    assert half.tolist() == [20, 30]
    t[3] = 1
    assert half.tolist() == [20, 1]
    assert (half + 1).tolist() == [21, 2]


def test_views_that_were_computed_are_views_still() -> None:
    t = Tensor(numbers(2, 3))
    row = t.transpose()[::-1][0].realize()
    assert row.tolist() == [2, 5]
    row.assign(Tensor([7.0, 8.0]))
    assert t.tolist() == [[0, 1, 7], [3, 4, 8]]
    t.numpy()[1, 2] = 9
    assert row.tolist() == [7, 9]
    assert np.shares_memory(row.numpy(), t.numpy())


# Views whose elements do not lie in regular steps: numpy copies them.
IRREGULAR = {
    "reshaped part": lambda x: x[:, 1:].reshape(12),
    "reshaped transpose": lambda x: x.T.reshape(2, 6),
    "row of a reshaped transpose": lambda x: x.T.reshape(2, 6)[1],
}


@pytest.mark.parametrize("name", IRREGULAR)
@pytest.mark.parametrize("use", ["numpy", "realize", "realize_async", "repr"])
def test_irregular_views_that_were_read_are_views_still(name: str, use: str) -> None:
    x = Tensor(numbers(3, 5)) if "part" in name else Tensor(numbers(3, 4))
    expected = x.numpy().copy()
    view = IRREGULAR[name](x)
    if use == "realize_async":
        view.realize_async().wait()
    else:
        getattr(view, {"repr": "__repr__"}.get(use, use))()
    x += 10
    expected = IRREGULAR[name](expected + 10)
    assert view.is_realized
    assert "lazy" not in repr(view)
    np.testing.assert_array_equal(view.numpy(), expected)
    np.testing.assert_array_equal((view + 0).numpy(), expected)
    view.assign(0)
    assert x.numpy().sum() == 0 if view.numel() == x.numel() else x.numpy().sum() > 0
    assert view.tolist() == np.zeros(view.shape).tolist()


def test_values_of_irregular_views_are_copies_that_say_so() -> None:
    x = Tensor(numbers(3, 4))
    view = x.T.reshape(12)
    with pytest.raises(ValueError, match="read-only"):
        view.numpy()[0] = 1
    with pytest.raises(BufferError, match="copy: False"):
        view.__dlpack__(copy=False)
    np.testing.assert_array_equal(np.from_dlpack(view), numbers(3, 4).T.reshape(12))
    for copy in (copies.copy(view), pickle.loads(pickle.dumps(view)), view.clone()):
        copy += 1
        assert copy.tolist() == (numbers(3, 4).T.reshape(12) + 1).tolist()
    assert x.tolist() == numbers(3, 4).tolist()
    view.requires_grad = True
    (view * view).sum().backward()
    assert view.grad is not None
    assert view.grad.tolist() == (view * 2).tolist()


def test_views_made_before_their_root_was_computed() -> None:
    t = Tensor.arange(6.0) * 2
    left, right = t[:3], t[3:]
    t.realize()
    left.assign(-1)
    assert t.tolist() == [-1, -1, -1, 6, 8, 10]
    t[3:] = 0
    assert right.tolist() == [0, 0, 0]


def test_tensors_of_one_value_change_apart() -> None:
    a = Tensor.arange(3.0) + 1
    b = Tensor(a)
    a.assign(5)
    assert b.tolist() == [1, 2, 3]
    b[0] = 7
    assert a.tolist() == [5, 5, 5]
    assert b.tolist() == [7, 2, 3]


def test_copies_do_not_change() -> None:
    t = Tensor(numbers(3))
    copies = [t.contiguous(), t.clone(), t[1:].contiguous(), t.contiguous().reshape(3, 1)]
    t.assign(9)
    assert [c.tolist() for c in copies] == [[0, 1, 2], [0, 1, 2], [1, 2], [[0], [1], [2]]]
    copies[0].assign(4)
    assert t.tolist() == [9, 9, 9]


# Lazy readers


@pytest.mark.parametrize(
    "change",
    [
        lambda a: a.assign(0),
        lambda a: a.__setitem__(slice(None), 0),
        lambda a: a[0].assign(0),
        lambda a: a.reshape(3, 1).__setitem__(1, 5),
        lambda a: a.assign(a * a),
        lambda a: iadd(a, 1),
        lambda a: imul(a[1:], 3),
    ],
)
def test_lazy_readers_keep_the_old_values(change) -> None:
    a = Tensor([1.0, 2.0, 3.0])
    b = a + 1
    total = a[:2].sum()
    twice = (b * 2).reshape(3, 1)
    change(a)
    assert b.tolist() == [2, 3, 4]
    assert total.item() == 3
    assert twice.tolist() == [[4], [6], [8]]


def test_readers_of_each_time() -> None:
    t = Tensor.zeros(6).contiguous().realize()
    sums = [t.sum()]
    t[:3].assign(1.0)
    sums.append(t.sum())
    t[3:].assign(2.0)
    sums.append(t.sum())
    assert [s.item() for s in sums] == [0, 3, 9]


def test_two_tensors_of_each_other() -> None:
    a, b = Tensor([1.0, 2.0]), Tensor([10.0, 20.0])
    new_a, new_b = a + b, a * b
    a.assign(new_a)
    b.assign(new_b)
    assert (a.tolist(), b.tolist()) == ([11, 22], [10, 40])
    assert (new_a.tolist(), new_b.tolist()) == ([11, 22], [10, 40])


def test_the_assigned_value_stays() -> None:
    a = Tensor([1.0, 2.0])
    value = a * 3
    copy = value + 0
    a.assign(value)
    a.assign(0)
    assert (value.tolist(), copy.tolist()) == ([3, 6], [3, 6])
    row = a.reshape(1, 2).expand(2, 2) + 1
    b = Tensor.zeros(2, 2).realize()
    b.assign(row)
    a.assign(9)
    assert row.tolist() == b.tolist() == [[1, 1], [1, 1]]


def test_a_view_that_is_assigned_is_a_view_still() -> None:
    a = Tensor([[1.0, 2.0], [3.0, 4.0]])
    turned = a.T
    a.assign(turned)
    assert a.tolist() == [[1, 3], [2, 4]]
    assert turned.tolist() == [[1, 2], [3, 4]]


def test_swapped_halves() -> None:
    t = Tensor(numbers(8))
    left, right = t[:4].contiguous(), t[4:].contiguous()
    t[:4].assign(right)
    t[4:].assign(left)
    assert t.tolist() == [4, 5, 6, 7, 0, 1, 2, 3]


N = 300
SHIFTED = {
    "forward": (lambda x: x[1:], lambda x: x[:-1]),
    "back": (lambda x: x[:-1], lambda x: x[1:]),
    "flipped": (lambda x: x, lambda x: x[::-1]),
    "transposed": (lambda x: x.reshape(20, 15), lambda x: x.reshape(15, 20).transpose(1, 0)),
    "sum of both ends": (lambda x: x, lambda x: x + x[::-1] * 2),
    "total": (lambda x: x, lambda x: x - x.sum()),
    "columns": (
        lambda x: x.reshape(20, 15),
        lambda x: x.reshape(20, 15) + x.reshape(20, 15).sum(0),
    ),
    "part by total": (lambda x: x[10:20], lambda x: x[10:20] + x.sum()),
    "every second": (lambda x: x[::2], lambda x: x[1::2] + x[::2]),
    "shift and itself": (lambda x: x[5:], lambda x: x[5:] * 2 + x[:-5]),
}


@pytest.mark.parametrize("name", SHIFTED)
def test_values_that_read_the_target_elsewhere(name: str) -> None:
    place, value = SHIFTED[name]
    expected = numbers(N)
    t = Tensor(expected.copy())
    place(t).assign(value(t))
    place(expected)[...] = np.array(value(expected))
    np.testing.assert_allclose(t.numpy(), expected, rtol=1e-6)


def test_values_that_gather_from_the_target() -> None:
    order = np.random.default_rng(0).permutation(N).astype(np.int32)
    t = Tensor(numbers(N))
    t.assign(t[Tensor(order)])
    np.testing.assert_array_equal(t.numpy(), order)
    t[:] = t[Tensor(order)] + t.flip(0)
    np.testing.assert_array_equal(t.numpy(), order[order] + order[::-1])


# Shapes and types


def test_assign_broadcasts() -> None:
    t = Tensor.zeros(3, 5).contiguous().realize()
    assert t.assign(1.0).tolist() == [[1] * 5] * 3
    assert t.assign(Tensor(numbers(5))).tolist() == [[0, 1, 2, 3, 4]] * 3
    assert t.assign([[1], [2], [3]]).tolist() == [[1] * 5, [2] * 5, [3] * 5]
    t[1:].assign(Tensor([4.0]))
    assert t.tolist() == [[1] * 5, [4] * 5, [4] * 5]
    with pytest.raises(
        ValueError, match=r"assign: x: of shape \(3\), expected one that broadcasts to \(3,5\)"
    ):
        t.assign(Tensor(numbers(3)))
    with pytest.raises(ValueError, match="that broadcasts to"):
        t[0].assign(Tensor(numbers(1, 5)))


def test_another_type_is_refused() -> None:
    t = Tensor.zeros(4).realize()
    with pytest.raises(RuntimeError, match=r"assign: dtype mismatch.*int32.*float32"):
        t.assign(Tensor([1, 2, 3, 4]))
    with pytest.raises(RuntimeError, match="setitem: dtype mismatch"):
        t[1:3] = Tensor([1, 2])
    with pytest.raises(TypeError, match="assign: dtype mismatch"):
        Tensor([1, 2]).assign(Tensor([1.5, 2.5]))
    t[1:3] = [1, 2]
    t[3] = True
    assert t.tolist() == [0, 1, 2, 1]
    i = Tensor([1, 2, 3])
    i[0] = 5.0
    assert i.dtype == dtypes.int32
    assert i.tolist() == [5, 2, 3]
    with pytest.raises(TypeError, match=r"5\.7, expected a number of the tensor's int32"):
        i[0] = 5.7


@pytest.mark.parametrize("dtype", ["bfloat16", "fp8e4m3", "float16", "bool", "uint64"])
def test_items_of_other_types(dtype: str) -> None:
    t = Tensor([0.0, 1.0, 1.0, 0.0]).cast(dtype).realize()
    view = t.reshape(2, 2).T
    view[0] = 1
    view[1, 1] = Tensor(0.0).cast(dtype)
    t[3] = 1
    assert t.numpy().astype(float).tolist() == [1, 1, 1, 1]


@pytest.mark.parametrize("realized", [True, False])
def test_items_by_tensors(realized: bool) -> None:
    expected = numbers(4, 5)
    base = Tensor(numbers(4, 5)) if realized else Tensor.arange(20.0).reshape(4, 5)
    turned = base.T
    turned[Tensor([0, 3])] = -1
    expected.T[[0, 3]] = -1
    base[Tensor([1, 2]), Tensor([2, 4])] = Tensor([50.0, 60.0])
    expected[[1, 2], [2, 4]] = [50, 60]
    base[::2][base[::2] > 9] = 0
    expected[::2][expected[::2] > 9] = 0
    base[[1, 1], 0] = Tensor([7.0, 8.0])
    expected[1, 0] = 8
    np.testing.assert_array_equal(base.numpy(), expected)
    np.testing.assert_array_equal(turned.numpy(), expected.T)


def test_chained_items() -> None:
    t = Tensor.zeros(3, 4, 5)
    t[1][2][3] = 5
    t[0][1:3].flip(0)[0, ::2] = 6
    row = t[2]
    row[0] += 1
    row += 1
    expected = np.zeros((3, 4, 5))
    expected[1, 2, 3] = 5
    expected[0, 2, ::2] = 6
    expected[2] = 1
    expected[2, 0] = 2
    np.testing.assert_array_equal(t.numpy(), expected)


def test_in_place_of_another_type() -> None:
    t = Tensor([4, 6])
    with pytest.raises(TypeError, match="x: is float32, expected int32 as the tensor"):
        t[0] /= 3
    t /= 4
    assert t.tolist() == [1.0, 1.5]


def test_empty_parts() -> None:
    t = Tensor(numbers(3))
    t[3:].assign(5)
    t[1:1] = 5
    Tensor.zeros(0, 3).assign(1)
    assert t.tolist() == [0, 1, 2]


# Memory


def test_memory_stays_where_it_is() -> None:
    array = numbers(6)
    t = Tensor(array)
    half = t.reshape(2, 3)[1]
    half.assign(half + 100)
    t[0] = 7
    t += 1
    assert array.tolist() == [8, 2, 3, 104, 105, 106]
    assert np.shares_memory(t.numpy(), array)


# Gradients


def test_items_with_gradients() -> None:
    x = Tensor([1.0, 2.0], requires_grad=True)
    z = Tensor.zeros(2, 3).contiguous()
    shown = z.T
    z[1][:2] = x * 3
    (shown * shown).sum().backward()
    assert x.grad.tolist() == [18, 36]
    assert z.tolist() == [[0, 0, 0], [3, 6, 0]]
    y = x * 1
    part = y[1:]
    part *= 5
    assert y.tolist() == [1, 10]
    (grad,) = y.sum().gradient(x)
    assert grad.tolist() == [1, 5]


def test_parameters_take_elements_without_history() -> None:
    w = Tensor([1.0, 2.0], requires_grad=True)
    for place in (w, w[1:]):
        with pytest.raises(RuntimeError, match="a gradient flows through it"):
            place[:1] = w[:1] * 2
    w.reshape(2, 1)[1] = 9
    w.detach()[0] = 8
    assert w.tolist() == [8, 9]
    assert w.requires_grad
    (w * w).sum().backward()
    assert w.grad.tolist() == [16, 18]


def test_what_a_step_leaves_behind() -> None:
    w = Tensor([1.0, 2.0], requires_grad=True)
    optimizer = SGD([w], lr=1.0)
    out = w * 3
    norm = w.square().sum()
    (out * out).sum().backward()
    optimizer.step()
    assert out.tolist() == [3, 6]
    assert norm.item() == 5
    assert w.tolist() == [1 - 18, 2 - 36]


# Traces


def test_steps_write_through_views() -> None:
    cache = Tensor.zeros(4, 3).realize()
    turned = cache.T
    x = Tensor([1.0, 2.0, 3.0])
    before = cache.sum()

    def push(x):
        old = cache + 0
        cache[1:].assign(old[:-1])
        cache[0] = x
        turned[2, 0] += 10
        total = turned.sum()
        fresh = Tensor.zeros(2)
        fresh[1] = total
        return fresh

    step = compile_step(push, x)
    assert cache.tolist() == [[0, 0, 0]] * 4
    step.run()
    x._data[:] = 4
    step.run()
    assert cache.tolist() == [[4, 4, 14], [1, 2, 13], [0, 0, 0], [0, 0, 0]]
    assert step.outputs[0].tolist() == [0, 38]
    assert turned.tolist() == cache.T.tolist()
    assert before.item() == 0  # a reader from before keeps its elements


def test_steps_assign_the_whole_and_then_parts() -> None:
    a, b = Tensor.zeros(3).realize(), Tensor.zeros(3).realize()
    x = Tensor([1.0, 2.0, 3.0])

    def push(x):
        a.assign(x)
        b.assign(a)
        a[0] = 5
        b[1:].assign(a[:2] * 2)
        x.assign(0)
        return a + b

    step = compile_step(push, x)
    step.run()
    assert (a.tolist(), b.tolist(), x.tolist()) == ([5, 2, 3], [1, 10, 4], [0, 0, 0])
    assert step.outputs[0].tolist() == [6, 12, 7]


def test_steps_compute_what_they_write() -> None:
    state = Tensor.zeros(3)

    def push():
        state[0] += 1
        return state.sum()

    step = compile_step(push)
    step.run()
    step.run()
    assert state.tolist() == [2, 0, 0]


# Everything together, against numpy


def show_some(random: random.Random, tensor: Tensor, array: np.ndarray):
    """Return a random view of both."""
    way = random.randrange(6)
    if way == 0 and array.ndim > 1:
        order = random.sample(range(array.ndim), array.ndim)
        return tensor.permute(order), array.transpose(order)
    if way == 1:
        axis = random.randrange(array.ndim)
        return tensor.flip(axis), np.flip(array, axis)
    if way == 2:
        return tensor.reshape(1, *array.shape), array[None]
    if way == 3 and array.ndim > 1:
        i = random.randrange(len(array))
        return tensor[i], array[i]
    n = array.shape[-1]
    low = random.randrange(n)
    part = slice(low, random.randrange(low + 1, n + 1), random.randrange(1, 3))
    return tensor[..., part], array[..., part]


@pytest.mark.parametrize("seed", range(30))
def test_programs(seed: int) -> None:
    choose = random.Random(seed)
    array = np.random.default_rng(seed).integers(-9, 9, (3, 4, 5)).astype(np.float32)
    views = [(Tensor(array.copy()), array)]
    readers = []
    for turn in range(40):
        tensor, shown = choose.choice(views)
        number = choose.randrange(-9, 9)
        way = choose.randrange(9)
        if way < 2:
            views.append(show_some(choose, tensor, shown))
        elif way == 2:
            readers.append((tensor + number, shown + number))
        elif way == 3:
            readers.append((tensor.sum() * number, shown.sum() * number))
        elif way == 4:
            tensor.assign(number)
            shown[...] = number
        elif way == 5:
            value = shown[..., ::-1].copy() + number
            tensor.assign(tensor.flip(shown.ndim - 1) + number)
            shown[...] = value
        elif way == 6:
            tensor += number
            shown += number
        elif way == 7:
            tensor[..., 0] = number
            shown[..., 0] = number
        else:
            tensor.realize()
        if turn % 8 == 7:
            for got, want in views + readers:
                np.testing.assert_array_equal(got.numpy(), want)
            readers = readers[3:]


# What was made of a tensor before it had memory, and how it is changed then.
CHANGES = {
    "assign": lambda x: x.assign(Tensor(numbers(4, 5) * 10)),
    "item": lambda x: x.__setitem__((1, 3), 100),
    "row": lambda x: x.__setitem__(1, Tensor(numbers(5) - 7)),
    "mask": lambda x: x.__setitem__(x > 3, 0),
    "in place": lambda x: iadd(x, 5),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", VIEWS)
def test_views_made_before_there_was_memory(name: str, change: str) -> None:
    x = Tensor(numbers(4, 5)) * 2
    view, later = VIEWS[name](x), x + 1
    x.realize()
    CHANGES[change](x)
    expected = VIEWS[name](Tensor(x.numpy().copy())).numpy()
    np.testing.assert_array_equal((view * 1).numpy(), expected)
    np.testing.assert_array_equal(view.numpy(), expected)
    np.testing.assert_array_equal(later.numpy(), numbers(4, 5) * 2 + 1)
    assert not np.array_equal(x.numpy(), numbers(4, 5) * 2)


@pytest.mark.parametrize("n", [3, 8, 33])
def test_masks_that_are_what_is_written(n: int) -> None:
    mask = np.random.default_rng(n).random((n, n)) < 0.5
    x, expected = Tensor(mask.copy()), mask.copy()
    x.T[x] = False
    expected.T[mask] = False
    np.testing.assert_array_equal(x.numpy(), expected)
    x, expected = Tensor(mask.copy()), mask.copy()
    x[x.T] = False
    expected[mask.T] = False
    np.testing.assert_array_equal(x.numpy(), expected)
    places = np.random.default_rng(n).permutation(n)
    for of in (Tensor, np.ndarray):
        x = Tensor(places.copy())
        x[x if of is Tensor else x.numpy()] = x[::-1] if of is Tensor else x.numpy()[::-1]
        expected = places.copy()
        expected[places] = places[::-1]
        np.testing.assert_array_equal(x.numpy(), expected)


def test_views_of_lazy_readers_keep_their_root() -> None:
    x = Tensor([1, 2, 3])
    y = x * 2
    column = y.reshape(3, 1)
    x += x  # computes y, and column as a view of it
    y[-1] = 9
    assert column.tolist() == [[2], [4], [9]]
    column[0] = 7
    assert y.tolist() == [7, 4, 9]


def test_views_of_an_assigned_reader_keep_their_root() -> None:
    x = Tensor([[1, 2], [3, 4]])
    y = x + 10
    turned = y.T
    x.assign(y)
    turned[0] = 5
    assert (y.tolist(), x.tolist()) == ([[5, 12], [5, 14]], [[11, 12], [13, 14]])


def test_views_of_computed_roots_stay_when_the_source_is_written() -> None:
    x = Tensor([1, 2, 3])
    y = x * 2
    tail = y[1:]
    y.realize()
    x[0] = 5
    y[1] = 100
    assert tail.tolist() == [100, 6]


@pytest.mark.parametrize(
    ("integer", "kind"),
    [("int64", "float64"), ("int32", "float32"), ("int16", "float16"), ("int16", "bfloat16")],
)
def test_bits_of_nan_written_through_a_bitcast(integer: str, kind: str) -> None:
    """Selections between the old and the new elements keep the bits of quiet NaNs."""
    x = (
        Tensor.zeros(2, dtype=kind)
        .contiguous()
        .cat(Tensor([1.0, 2.0], dtype=kind))
        .bitcast(integer)
    )
    last = x.tolist()[3]
    for value in (-1, -2, -3, 5):
        x[1:3] = value
        assert x.tolist() == [0, value, value, last]
