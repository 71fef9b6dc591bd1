"""polygrad.lax: errors, types, and what no comparison with JAX says (see tests/peers)."""

from __future__ import annotations

from collections import namedtuple
from typing import Any, Callable

import numpy as np
import pytest

import polygrad.numpy as pn
from polygrad import Tensor, TinyJit, dtypes, lax, viz
from polygrad.func import TraceError, grad, jvp, vmap

State = namedtuple("State", "value count")


def tensor(*values: float) -> Tensor:
    return Tensor(list(values), dtype="float64")


def zero() -> Tensor:
    return Tensor(0.0, dtype="float64")


def test_scan_of_trees() -> None:
    def step(state: State, x: dict[str, Tensor]) -> tuple[State, dict[str, Any]]:
        value = state.value * x["a"] + x["b"][0]
        return State(value, state.count + 1), {"kept": [value, None], "number": 2}

    xs = {"a": tensor(1, 2, 3), "b": (tensor(4, 5, 6),)}
    last, kept = lax.scan(step, State(zero(), 0), xs)
    assert isinstance(last, State)
    assert (last.value.item(), last.count.item()) == (45.0, 3)
    assert kept["kept"][0].tolist() == [4.0, 13.0, 45.0]
    assert kept["kept"][1] is None
    assert kept["number"].tolist() == [2, 2, 2]
    last, kept = lax.scan(step, State(zero(), 0), xs, reverse=True)
    assert last.value.item() == 6 * 2 * 1 + 5 * 1 + 4
    assert kept["kept"][0].tolist() == [21.0, 17.0, 6.0]


def test_scan_without_sequences_or_carry() -> None:
    last, kept = lax.scan(lambda c, x: (c * 2, c), Tensor(1), length=4)
    assert (last.item(), kept.tolist(), x_is_none()) == (16, [1, 2, 4, 8], True)
    last, kept = lax.scan(lambda c, x: (c, 7), None, length=3)
    assert last is None
    assert kept.tolist() == [7, 7, 7]
    last, kept = lax.scan(lambda c, x: (c + x, c), Tensor(5), Tensor([], dtype="int32"))
    assert (last.item(), kept.shape) == (5, (0,))


def x_is_none() -> bool:
    seen: list[Any] = []

    def step(c: Tensor, x: Any) -> tuple[Tensor, None]:
        seen.append(x)
        return c, None

    lax.scan(step, Tensor(1), length=2)
    return all(x is None for x in seen)


@pytest.mark.parametrize("unroll", [1, 3, True])
def test_unroll_changes_nothing(unroll: int) -> None:
    assert lax.scan(lambda c, x: (c + x, None), 0, Tensor([1, 2]), unroll=unroll)[0].item() == 3


@pytest.mark.parametrize(
    ("begin", "x", "want"),
    [
        (0, np.float64(1.5), dtypes.float64),
        (0.0, np.float64(1.5), dtypes.float64),
        (0, np.float32(1.5), dtypes.float32),
        (0, np.int64(3), dtypes.int64),
    ],
)
def test_numbers_of_a_carry_take_the_type_of_a_step(begin: float, x: Any, want: Any) -> None:
    total = lax.scan(lambda c, x: (c + x, None), begin, Tensor(np.array([x, x])))[0]
    assert (total.dtype, total.item()) == (want, 2 * x.item())
    chain = lax.fori_loop(0, 3, lambda i, c: (c[1], c[2], c[2] + Tensor(x)), (begin, begin, begin))
    assert [c.dtype for c in chain] == [want] * 3


def test_numbers_after_a_step_take_the_type_of_the_carry() -> None:
    last = lax.scan(lambda c, x: ({"a": 1, "b": 2.5}, None), {"a": zero(), "b": zero()}, length=2)
    assert [last[0][k].dtype for k in "ab"] == [dtypes.float64] * 2
    assert lax.cond(True, lambda: 1, lambda: zero()).dtype == dtypes.float64
    assert lax.cond(True, lambda: 1, lambda: 2.5).item() == 1.0


def test_a_loop_in_a_loop_reads_what_its_neighbour_overwrites() -> None:
    def inner(x: Any) -> Any:
        return lax.fori_loop(0, 3, lambda _, t: t * 0.5 + 1, x)

    def swapped(_: Any, s: Any) -> Any:
        a, b, c = s
        return inner(b), a * 10, inner(c) + a

    for n in (1, 2, 5):
        start = [np.array([1.0, 2.0]), np.array([3.0, 4.0]), np.array([5.0, 6.0])]
        found = lax.fori_loop(0, n, swapped, tuple(map(Tensor, start)))
        a, b, c = start
        for _ in range(n):
            a, b, c = b / 8 + 1.75, a * 10, c / 8 + 1.75 + a
        for got, want in zip(found, (a, b, c)):
            np.testing.assert_allclose(got.numpy(), want, 1e-12)


def test_fori_loop_of_tensors() -> None:
    def power(x: Tensor, n: Any) -> Any:
        return lax.fori_loop(0, n, lambda _, y: y * x, Tensor(1.0, dtype="float64"))

    x = Tensor(2.0, dtype="float64")
    assert power(x, Tensor(5)).item() == power(x, 5).item() == 32.0
    value, change = jvp(lambda x: power(x, Tensor(5)), (x,), (Tensor(1.0, dtype="float64"),))
    assert (value.item(), change.item()) == (32.0, 80.0)
    assert vmap(lambda n: power(x, n))(Tensor([0, 3, 1])).tolist() == [1.0, 8.0, 2.0]
    with pytest.raises(
        Exception, match=r"no gradient.*number of its steps.*\(jvp\).*\(scan, fori_loop\)"
    ):
        grad(lambda x: power(x, Tensor(5)))(x)
    assert lax.fori_loop(3, 1, lambda i, x: x + 1, Tensor(4)).item() == 4
    assert lax.fori_loop(Tensor(3), 1, lambda i, x: x + 1, Tensor(4)).item() == 4


def test_a_loop_in_a_compiled_function() -> None:
    @TinyJit
    def total(x: Tensor) -> Any:
        return lax.scan(lambda c, x: (c + x * x, None), zero(), x)[0].realize()

    for i in range(4):
        assert total(tensor(i, 1, 2)).item() == i * i + 5


def test_backward_through_a_loop() -> None:
    w = Tensor([2.0], dtype="float64", requires_grad=True)
    lax.fori_loop(0, 3, lambda i, x: x * w, tensor(1.0)).sum().backward()
    assert w.grad is not None
    assert w.grad.tolist() == [12.0]


@pytest.mark.parametrize("batch", [None, 1, 2, 3, 7])
def test_map(batch: int | None) -> None:
    x = np.arange(14.0).reshape(7, 2)
    found = lax.map(lambda v: (v["x"].sum(), v["x"] * 2), {"x": x}, batch_size=batch)
    assert found[0].tolist() == x.sum(1).tolist()
    assert found[1].tolist() == (2 * x).tolist()


@pytest.mark.parametrize("n", [0, 1, 2, 3, 7, 64, 65, 81, 100, 4227])
@pytest.mark.parametrize("reverse", [False, True])
def test_associative_scan(n: int, reverse: bool) -> None:
    rng = np.random.default_rng(n)
    a, b = rng.uniform(0.5, 1, (2, n)), rng.uniform(-1, 1, (2, n))

    def fn(first: Any, second: Any) -> Any:
        return first[0] * second[0], second[0] * first[1] + second[1]

    found = lax.associative_scan(fn, (Tensor(a), Tensor(b)), reverse=reverse, axis=-1)[1]
    want, x = np.zeros((2, n)), np.zeros(2)
    for i in range(n)[:: -1 if reverse else 1]:
        want[:, i] = x = a[:, i] * x + b[:, i]
    np.testing.assert_allclose(found.numpy(), want, rtol=1e-12, atol=1e-12)


def test_gradients_of_an_associative_scan() -> None:
    n = 90
    a = Tensor(np.random.default_rng(2).uniform(0.5, 1, n))
    b, weights = Tensor(np.linspace(-1, 1, n)), Tensor(np.cos(np.arange(n)))

    def fn(p: Any, q: Any) -> Any:
        return p[0] * q[0], q[0] * p[1] + q[1]

    def step(x: Tensor, ab: Any) -> Any:
        x = ab[0] * x + ab[1]
        return x, x

    def halves(a: Tensor, b: Tensor) -> Any:
        return (lax.associative_scan(fn, (a, b))[1] * weights).sum()

    def steps(a: Tensor, b: Tensor) -> Any:
        return (lax.scan(step, zero(), (a, b))[1] * weights).sum()

    for x, y in zip(grad(halves, (0, 1))(a, b), grad(steps, (0, 1))(a, b)):
        np.testing.assert_allclose(x.numpy(), y.numpy(), rtol=1e-11, atol=1e-12)


def test_associative_scan_of_matrices() -> None:
    m = np.random.default_rng(1).uniform(-1, 1, (5, 2, 2))
    want = [m[0]]
    for k in m[1:]:
        want.append(want[-1] @ k)
    found = lax.associative_scan(lambda a, b: a @ b, Tensor(m))
    np.testing.assert_allclose(found.numpy(), np.stack(want), rtol=1e-12)


def test_select_and_stop_gradient() -> None:
    assert lax.select(Tensor(True), tensor(1, 2), tensor(3, 4)).tolist() == [1.0, 2.0]
    assert grad(lambda x: lax.stop_gradient(x) * x)(3.0).item() == 3.0


def test_only_one_branch_is_computed() -> None:
    def slow(x: Tensor) -> Any:
        return lax.while_loop(lambda x: x < 10, lambda x: x * 0, x)  # without end for x < 10

    assert lax.cond(Tensor(False), slow, lambda x: x, tensor(1.0)[0]).item() == 1.0
    assert lax.switch(7, [slow, slow, lambda x: x + 1], tensor(1.0)[0]).item() == 2.0
    assert lax.switch(Tensor(-3), [lambda x: x, slow], tensor(1.0)[0]).item() == 1.0
    assert lax.cond(2, lambda: 1, lambda: 2).item() == 1


ERRORS: dict[str, tuple[Callable[[], Any], str]] = {
    "structure of a carry": (
        lambda: lax.scan(lambda c, x: ((c, c), None), {"a": 1.0}, length=2),
        r"^scan: a step returns a carry \(\{'a': \*\}, \{'a': \*\}\), expected \{'a': \*\}",
    ),
    "type of a carry": (
        lambda: lax.scan(lambda c, x: ({"a": c["a"] + 0.5}, None), {"a": Tensor(1)}, length=2),
        r"^scan: init\['a'\] is int32 of shape \(\), and float32 of shape \(\) after a step",
    ),
    "shape of a carry": (
        lambda: lax.while_loop(lambda c: True, lambda c: (c[0] + tensor(1, 2),), (zero(),)),
        r"^while_loop: init_val\[0\] is float64 of shape \(\), and float64 of shape \(2,\) after "
        "body_fun",
    ),
    "shape of a number": (
        lambda: lax.fori_loop(0, 3, lambda i, c: c + tensor(1, 2), 0.0),
        r"^fori_loop: init is float32 of shape \(\), and float64 of shape \(2,\) after a step",
    ),
    "no pair": (
        lambda: lax.scan(lambda c, x: c, Tensor(1), length=2),
        "^scan: f returns .*, expected a pair of the carry and what is kept",
    ),
    "what is kept": (
        lambda: lax.scan(lambda c, x: (c, {"k": "text"}), Tensor(1), length=2),
        r"^scan: what f keeps\['k'\] is 'text', expected a tensor or a number",
    ),
    "lengths": (
        lambda: lax.scan(lambda c, x: (c, None), 0, {"a": tensor(1, 2), "b": tensor(1, 2, 3)}),
        r"^scan: xs\['b'\] has shape \(3,\), expected 2 steps as xs\['a'\] has",
    ),
    "length": (
        lambda: lax.scan(lambda c, x: (c, None), 0, tensor(1, 2), length=3),
        r"^scan: xs has shape \(2,\), expected 3 steps as length has",
    ),
    "no length": (lambda: lax.scan(lambda c, x: (c, None), 0), "^scan: length: None, expected"),
    "negative length": (
        lambda: lax.scan(lambda c, x: (c, None), 0, length=-1),
        "^scan: length: -1, expected 0 or more",
    ),
    "scalar sequence": (
        lambda: lax.map(lambda x: x, [Tensor(1.0)]),
        r"^map: xs\[0\] is a scalar, expected an axis",
    ),
    "unroll": (
        lambda: lax.scan(lambda c, x: (c, None), 0, length=1, unroll=-1),
        "^scan: unroll: -1, expected",
    ),
    "no function": (lambda: lax.scan(3, 0, length=1), "^scan: f: 3, expected a function"),  # type: ignore[arg-type]
    "condition": (
        lambda: lax.while_loop(lambda x: x, lambda x: x, Tensor(1.0)),
        r"^while_loop: cond_fun returns float32 of shape \(\), expected a bool of shape \(\)",
    ),
    "shape of a condition": (
        lambda: lax.while_loop(lambda x: x < 3, lambda x: x, tensor(1, 2)),
        r"^while_loop: cond_fun returns bool of shape \(2,\), expected a bool of shape \(\)",
    ),
    "empty loop": (
        lambda: lax.while_loop(lambda x: True, lambda x: x, None),
        "^while_loop: init_val: None, expected a tensor",
    ),
    "bounds": (
        lambda: lax.fori_loop(0, 2.5, lambda i, x: x, 0),
        r"^fori_loop: upper is 2.5, expected an integer of shape \(\)",
    ),
    "bounds of tensors": (
        lambda: lax.fori_loop(tensor(1, 2), 3, lambda i, x: x, 0),
        r"^fori_loop: lower is float64 of shape \(2,\), expected an integer",
    ),
    "predicate": (
        lambda: lax.cond(tensor(1, 2) > 1, lambda: 1, lambda: 2),
        r"^cond: pred is bool of shape \(2,\), expected a bool of shape \(\)",
    ),
    "trees of branches": (
        lambda: lax.cond(True, lambda x: {"a": x}, lambda x: (x, x), zero()),
        r"^cond: true_fun returns a tree \{'a': \*\}, and false_fun \(\*, \*\)",
    ),
    "types of branches": (
        lambda: lax.switch(0, [lambda x: {"a": x}, lambda x: {"a": x.cast("int32")}], zero()),
        r"^switch: branches\[1\] returns int32 of shape \(\) at \['a'\], and branches\[0\] float64",
    ),
    "shapes of branches": (
        lambda: lax.cond(False, lambda x: x, lambda x: x[:1], tensor(1, 2)),
        r"^cond: true_fun returns float64 of shape \(2,\), and false_fun float64 of shape \(1,\)",
    ),
    "operand": (
        lambda: lax.cond(True, lambda x: 1, lambda x: 2, "text"),
        r"^cond: operands\[0\] is 'text', expected a tensor or a number",
    ),
    "index": (
        lambda: lax.switch(0.5, [lambda: 1, lambda: 2]),
        r"^switch: index is float32 of shape \(\), expected an integer of shape \(\)",
    ),
    "no branches": (lambda: lax.switch(0, []), r"^switch: branches: \[\], expected a list"),
    "batch size": (
        lambda: lax.map(lambda x: x, tensor(1), batch_size=0),
        "^map: batch_size: 0, expected 1 or more",
    ),
    "axis": (
        lambda: lax.associative_scan(lambda a, b: a, [tensor(1, 2)], axis=1),
        r"^associative_scan: elems\[0\] has shape \(2,\), which has no axis 1",
    ),
    "elements along the axis": (
        lambda: lax.associative_scan(lambda a, b: a, (tensor(1, 2), tensor(1))),
        r"^associative_scan: elems\[1\] has shape \(1,\), expected 2 elements along axis 0",
    ),
    "associative function": (
        lambda: lax.associative_scan(lambda a, b: a.cast("float32"), tensor(1, 2)),
        r"^associative_scan: elems is float64 of shape \(1,\), and float32 of shape \(1,\) of fn",
    ),
    "select": (
        lambda: lax.select(True, tensor(1, 2), tensor(1)),
        r"^select: on_true is float64 of shape \(2,\), on_false float64 of shape \(1,\)",
    ),
    "pred of select": (
        lambda: lax.select(tensor(1, 2), tensor(1, 2), tensor(1, 2)),
        r"^select: pred is float64 of shape \(2,\), expected bool",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name: str) -> None:
    call, text = ERRORS[name]
    kind = TypeError if name.endswith((" a carry", " a number")) else ValueError
    with pytest.raises(kind, match=text):
        call()
    assert lax.scan(lambda c, x: (c + 1, None), 0, length=2)[0].item() == 2


@pytest.mark.parametrize("read", [lambda x: x.item(), lambda x: float(x), lambda x: x.numpy()])
def test_values_are_not_there(read: Callable[[Tensor], Any]) -> None:
    x = Tensor(1.0)
    calls: dict[str, Callable[[], Any]] = {
        "scan": lambda: lax.scan(lambda c, _: (c + read(c), None), x, length=2),
        "while_loop": lambda: lax.while_loop(lambda c: read(c) > 1, lambda c: c, x),
        "fori_loop": lambda: lax.fori_loop(0, 3, lambda i, c: c + read(c), x),
        "cond": lambda: lax.cond(x > 0, lambda x: x * read(x), lambda x: x, x),
        "switch": lambda: lax.switch(1, [lambda x: x * read(x)], x),
        "map": lambda: lax.map(lambda x: x * read(x), Tensor([1.0])),
    }
    for name, call in calls.items():
        with pytest.raises(TraceError, match=f"a value is needed while {name} traces"):
            call()


def test_state_from_outside_is_not_written() -> None:
    total = zero().realize()
    with pytest.raises(TraceError, match="a tensor from outside is written while fori_loop"):
        lax.fori_loop(0, 3, lambda i, x: x + total.assign(total + 1), zero())


def test_a_value_that_is_carried_and_kept_is_computed_once() -> None:
    x, w = Tensor.ones(5, 4, 8).contiguous().realize(), Tensor.ones(8, 8).contiguous().realize()

    def step(carry: Any, x: Tensor) -> Any:
        h = (carry[0] @ w + x * carry[1]).tanh()
        c = carry[1] * 0.5 + h  # each of the carry is computed from the other
        return (h, c), h

    kept = lax.scan(step, (x[0], x[1]), x)[1]
    products = [k for k in viz.profile(kept, runs=1).kernels if k.flops > 4 * 8 * 8]
    assert len(products) == 1


def _temporaries(*results: Tensor) -> int:
    found: int = viz.profile(*results, runs=1).temporary_bytes
    return found


@pytest.mark.parametrize(
    "step, of_sum, of_function",
    [
        (lambda c, r, v, w: (c * 0.9 + r, None), 0, 0),  # linear: nothing is needed
        (lambda c, r, v, w: (c * v + r, None), 0, 0),
        (lambda c, r, v, w: ((c * v + r).sin(), None), 1, 1),  # the carry before each step
        (lambda c, r, v, w: ((c * v).sin() * (c + r).cos(), None), 1, 1),
        (lambda c, r, v, w: ((c @ w + r).tanh(), None), 1, 1),  # the product
        (lambda c, r, v, w: ((c @ w + r).tanh(),) * 2, 1, 2),  # and what a function of it reads
        (lambda c, r, v, w: (c, (r * v).sin()), 0, 1),
    ],
)
def test_memory_of_a_reverse_scan(step: Any, of_sum: float, of_function: float) -> None:
    """Gradients store what they need of the steps, and not cotangents that are all the same."""
    steps, n = 400, 64
    x, w = Tensor.randn(steps, n).realize(), Tensor.randn(n, n).realize()
    v, first = Tensor.randn(n).realize(), Tensor.zeros(n).contiguous().realize()

    def loss(first: Tensor, x: Tensor, f: Any) -> Tensor:
        c, y = lax.scan(lambda c, r: step(c, r, v, w), first, x)
        return c.sum() + (0.0 if y is None else f(y))

    for f, want in [(Tensor.sum, of_sum), (lambda y: (y.sum(0) * v).sum().sin(), of_function)]:
        for argnums in (0, 1):
            slope = grad(lambda first, x, f=f: loss(first, x, f), argnums)(first, x)
            assert _temporaries(slope) <= (want + 0.05) * steps * n * 4


# Arrays of the shape of x, of its elements: each row from itself or others; k rows, n columns.
ROWS = {
    "first rows repeated": lambda m, x, k, n: m.tile(x[:k], (len(x) // k + 1, 1))[: len(x)],
    "each row repeated": lambda m, x, k, n: m.repeat(x[:k], len(x) // k + 1, axis=0)[: len(x)],
    "rows in reverse": lambda m, x, k, n: m.flip(x, axis=0),
    "rows rolled": lambda m, x, k, n: m.roll(x, k, axis=0),
    "sum of each row": lambda m, x, k, n: m.sum(x, axis=1)[:, None] / x.shape[1] + x,
    "sum of all rows": lambda m, x, k, n: m.sum(x, axis=0)[None, :] / len(x) + x,
    "columns in reverse": lambda m, x, k, n: m.flip(x, axis=1),
    "columns rolled": lambda m, x, k, n: m.roll(x, n, axis=1),
    "part of each row": lambda m, x, k, n: m.tile(x[:, :n], (1, x.shape[1] // n + 1))[
        :, : x.shape[1]
    ],
}


@pytest.mark.parametrize("seed", range(8))
def test_random_loops_over_batches(seed):
    """Rows that read only themselves run through all steps one after the other; others may not."""
    r = np.random.default_rng(seed)
    for _ in range(12):
        rows = int(r.choice([1, 2, 3, 4, 5, 6, 8, 16, 32]))
        columns = int(r.choice([4, 16, 17, 40, 64, 128, 256]))
        steps = int(r.integers(2, 6))
        states = [r.integers(-4, 5, (rows, columns)).astype("float32") for _ in range(2)]
        terms = [
            [
                (
                    int(r.integers(2)),
                    str(r.choice(list(ROWS))),
                    int(r.integers(1, rows + 1)),
                    int(r.integers(1, columns + 1)),
                )
                for _ in range(2)
            ]
            for _ in states
        ]

        def step(m, c, terms=terms):
            parts = [
                [ROWS[name](m, c[of], k, n) * 0.25 for of, name, k, n in term] for term in terms
            ]
            return tuple(x * 0.25 + a + b for x, (a, b) in zip(c, parts))

        got = lax.fori_loop(0, steps, lambda i, c, step=step: step(pn, c), (*map(Tensor, states),))
        want = tuple(states)
        for _ in range(steps):
            want = step(np, want)
        for a, b in zip(got, want):
            bound = 1e-5 * (np.abs(b).max() + 1)
            np.testing.assert_allclose(a.numpy(), b, rtol=0, atol=bound, err_msg=f"{terms}")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(32, 32, 32), (64, 64, 64), (16, 48, 33), (65, 64, 40)])
def test_products_whose_state_is_not_read(shape: tuple[int, int, int], dtype: str) -> None:
    n, m, p = shape
    r = np.random.default_rng(9)
    a, b, c = (r.uniform(-1, 1, s).astype(dtype) for s in ((m, p), (m, p), (n, m)))
    rows = Tensor.arange(m).reshape(m, 1)
    got = lax.fori_loop(
        0,
        5,
        lambda i, _: Tensor(c) @ (i < rows).where(Tensor(a), Tensor(b)),
        Tensor.zeros(n, p, dtype=dtype),
    )
    want = c @ np.where(np.arange(m)[:, None] > 4, a, b)
    np.testing.assert_allclose(got.numpy(), want, rtol=0, atol=1e-5)


@pytest.mark.parametrize("n", [3, 4, 5, 8])
def test_derivatives_of_maxima_of_products(n: int) -> None:
    r = np.random.default_rng(n)
    a, c, weights = (Tensor(r.uniform(-1, 1, (n, n))) for _ in range(3))

    for function in (
        lambda m: m.max(1, keepdim=True) - m,
        lambda m: m - m.min(0, keepdim=True),
        lambda m: m.cummax(1)[0],
    ):

        def step(c, a, function=function):
            return function((c @ a).sin())

        def looped(a, c, step=step):
            return (lax.fori_loop(0, 2, lambda i, c: step(c, a), c) * weights).sum()

        def unrolled(a, c, step=step):
            return (step(step(c, a), a) * weights).sum()

        for got, want in zip(grad(looped, (0, 1))(a, c), grad(unrolled, (0, 1))(a, c)):
            np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "bool", "int32"])
def test_elements_that_are_kept_by_narrow_numbers(dtype: str) -> None:
    n, x = 300, np.random.default_rng(1).uniform(-1, 1, (4, 300))
    numbers = Tensor.arange(n).cast(dtype)

    def step(i: Tensor, x: Tensor) -> Tensor:
        return (i.cast(dtype) < numbers).where(x * 0.5 + x.sum(-1, keepdim=True) * 0.001, x)

    got = lax.fori_loop(0, 100, step, Tensor(x.copy())).numpy()
    for i in range(100):
        later = np.array(i).astype(dtype) < np.arange(n).astype(dtype)
        x = np.where(later, x * 0.5 + x.sum(-1, keepdims=True) * 0.001, x)
    np.testing.assert_allclose(got, x, rtol=1e-9)
