"""TinyJit: what it captures, what it runs, and what it refuses."""

import functools

import numpy as np
import pytest

from polygrad import Device, Tensor, TinyJit, Variable, dtypes
from polygrad.jit import JitError
from polygrad.nn import SGD, BatchNorm, Linear, compile_step, get_parameters


def numbers(*shape):
    return Tensor(np.random.default_rng(len(shape)).standard_normal(shape).astype(np.float32))


def test_the_function_is_called_twice_and_the_program_gives_the_same():
    calls = []

    @TinyJit
    def f(a, b):
        calls.append(1)
        c = (a @ b).realize()
        return (c + 1).relu()

    for i in range(5):
        a, b = numbers(3, 4) * i, numbers(4, 2)
        np.testing.assert_allclose(
            f(a, b).numpy(), np.maximum(a.numpy() @ b.numpy() + 1, 0), rtol=1e-5
        )
    assert len(calls) == 2 and f.cnt == 5 and f.captured.n_kernels >= 1 and f.__name__ == "f"


@pytest.mark.parametrize(
    ("pack", "open_"),
    [
        (lambda t: [t, t + 1], lambda r: r),
        (lambda t: (t, t + 1), tuple),
        (lambda t: {"a": t, "b": t + 1}, lambda r: [r["a"], r["b"]]),
        (lambda t: {"a": [t, (t + 1,)], "n": None}, lambda r: [r["a"][0], r["a"][1][0]]),
    ],
)
def test_results_in_containers(pack, open_):
    f = TinyJit(lambda x: pack(x * 2))
    for i in range(4):
        result = f(Tensor([float(i)]))
        assert type(result) is type(pack(Tensor([1.0])))
        assert [t.tolist() for t in open_(result)] == [[2.0 * i], [2.0 * i + 1]]


def pruned(function):
    return TinyJit(function), TinyJit(function, prune=True)


def test_prune_computes_once_what_depends_on_no_argument():
    a, b = numbers(8, 8).realize(), numbers(8, 8).realize()
    whole, rest = pruned(lambda x: x @ (a @ b) + a.sum())
    for _ in range(4):
        x = numbers(3, 8)
        want = x.numpy() @ (a.numpy() @ b.numpy()) + a.numpy().sum()
        for f in whole, rest:
            np.testing.assert_allclose(f(x).numpy(), want, rtol=1e-5, atol=1e-5)
    assert rest.captured.n_kernels < whole.captured.n_kernels
    for weights in a, b:
        weights.assign(Tensor.zeros(8, 8)).realize()
    np.testing.assert_allclose(rest(x).numpy(), want, rtol=1e-5, atol=1e-5)
    assert whole(x).numpy().max() == 0


def test_prune_leaves_what_changes():
    n = Variable("n", 1, 8)
    state = Tensor.zeros(4).contiguous().realize()
    x, w = numbers(8, 4).realize(), numbers(4, 4).realize()

    @functools.partial(TinyJit, prune=True)
    def f(x):
        state.assign(state + 1)
        return (x @ (w @ w)).sum(), state.sum(), Tensor.rand(4).sum(), (w @ w).sum()

    noise = set()
    for i in range(1, 6):
        results = [t.item() for t in f(x[: n.bind(i)])]
        square = w.numpy() @ w.numpy()
        want = [(x.numpy()[:i] @ square).sum(), 4.0 * i, square.sum()]
        np.testing.assert_allclose([*results[:2], results[3]], want, rtol=1e-4, atol=1e-4)
        noise.add(results[2])
    assert len(noise) == 5


def test_a_pruned_method_has_a_program_for_each_object():
    class Layer:
        def __init__(self, value):
            self.weight = Tensor.full((4, 4), value).contiguous().realize()

        @functools.partial(TinyJit, prune=True)
        def forward(self, x):
            return x + (self.weight @ self.weight).sum()

    for value in 1.0, 2.0:
        layer = Layer(value)
        for i in range(4):
            assert layer.forward(Tensor([float(i)])).tolist() == [i + 64 * value * value]


def test_arguments_in_containers_and_by_name():
    f = TinyJit(lambda a, more, scale: a * scale["by"] + more[0] - more[1][0])
    for i in range(4):
        x, y, z, s = (Tensor([float(i + k)]) for k in range(4))
        want = [i * (i + 3.0) + (i + 1) - (i + 2)]
        assert f(x, more=[y, (z,)], scale={"by": s}).tolist() == want
        assert f(x, scale={"by": s}, more=[y, (z,)]).tolist() == want


def test_results_have_memory_of_their_own():
    f = TinyJit(lambda x: x + 1)
    results = [f(Tensor([float(i)])) for i in range(4)]
    assert [r.tolist() for r in results] == [[1.0], [2.0], [3.0], [4.0]]
    x = Tensor([1.0])
    for _ in range(5):  # a result as the next argument
        x = f(x)
    assert x.tolist() == [6.0]
    assert not x.requires_grad and (x * 2).tolist() == [12.0]


def test_assignments_happen_in_each_call():
    state, seen = Tensor([0.0, 0.0]), Tensor([1.0, 2.0])

    @TinyJit
    def f(x):
        state.assign(state * 2 + x)
        x += 10
        return seen * 2

    want = np.zeros(2, np.float32)
    for i in range(5):
        seen.assign(Tensor([1.0 + i, 2.0]))
        x = Tensor([float(i), 1.0])
        assert f(x).tolist() == [2.0 + 2 * i, 4.0]
        want = want * 2 + [i, 1]
        assert state.tolist() == want.tolist() and x.tolist() == [i + 10.0, 11.0]


def test_what_is_returned_as_it_was_given_is_the_same_tensor():
    state = Tensor([1.0])

    @TinyJit
    def f(x, y):
        x += y
        state.assign(state + 1)
        return x, state, y, x * 2

    for _ in range(4):
        x, y = Tensor([1.0]), Tensor([2.0])
        a, b, c, d = f(x, y)
        assert a is x and b is state and c is y and d.tolist() == [6.0]
    assert state.tolist() == [5.0] and x.tolist() == [3.0]


def test_random_numbers_are_those_of_a_function_that_is_not_captured():
    def f(x):
        return x + Tensor.rand(3), Tensor.randn(2, 2)

    def run(g):
        Tensor.manual_seed(7)
        return [[t.tolist() for t in g(Tensor([0.0]))] for _ in range(5)]

    plain = run(f)
    assert run(TinyJit(f)) == plain and len({str(r) for r in plain}) == 5


def train(steps, wrap):
    Tensor.manual_seed(3)
    model = [Linear(4, 8), BatchNorm(8), Linear(8, 2)]
    optimizer = SGD(get_parameters(model), lr=0.02, momentum=0.9)

    def step(x, y):
        optimizer.zero_grad()
        loss = (x.sequential(model) - y).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    call = wrap(step)
    rng = np.random.default_rng(0)
    losses = []
    with Tensor.train():
        for _ in range(steps):
            x = Tensor(rng.standard_normal((16, 4)).astype(np.float32))
            losses.append(call(x, x[:, :2] * 3).item())
    return losses, [p.numpy() for p in get_parameters(model)]


def test_a_training_step():
    losses, weights = train(30, TinyJit)
    want, expected = train(30, lambda f: f)
    np.testing.assert_allclose(losses, want, rtol=1e-3)
    for a, b in zip(weights, expected):
        np.testing.assert_allclose(a, b, rtol=1e-2, atol=1e-4)
    assert np.mean(losses[-3:]) < np.mean(losses[:3])


def test_one_program_serves_all_values_of_variables():
    n, m = Variable("n", 1, 8), Variable("m", 1, 5)
    x, y = numbers(8, 3), numbers(5, 3)

    @TinyJit
    def f(a, b):
        return (a.cat(b, dim=0) * 2).realize(), a.mean(0)

    for i, j in [(1, 1), (2, 5), (8, 3), (5, 2), (3, 4)]:
        both, mean = f(x[: n.bind(i)], y[: m.bind(j)])
        assert both.shape == (n.bind(i) + m.bind(j), 3)
        want = np.concatenate([x.numpy()[:i], y.numpy()[:j]])
        np.testing.assert_allclose(both.numpy(), want * 2, rtol=1e-6)
        np.testing.assert_allclose(mean.numpy(), x.numpy()[:i].mean(0), rtol=1e-5)
    with pytest.raises(JitError, match=r"\(m, 3\)"):
        f(x[: n.bind(2)], y[: n.bind(2)])


def test_variables_as_arguments():
    n = Variable("n", 0, 7)
    x = numbers(8)
    f = TinyJit(lambda at: x[at] + at)
    for i in (3, 0, 7, 5):
        assert f(n.bind(i)).item() == pytest.approx(x.numpy()[i] + i)
    with pytest.raises(JitError, match="bind its variables"):
        f(n)
    with pytest.raises(JitError, match="argument is m, but"):
        f(Variable("m", 0, 7).bind(1))


def test_methods_have_a_program_for_each_object():
    class Model:
        def __init__(self, scale):
            self.scale = Tensor([scale])

        @TinyJit
        def forward(self, x):
            return x * self.scale

    models = [Model(2.0), Model(3.0)]
    for i in range(4):
        assert [m.forward(Tensor([float(i)])).item() for m in models] == [2.0 * i, 3.0 * i]
    assert isinstance(Model.forward, TinyJit)


def test_reset():
    f = TinyJit(lambda x: x * 2)
    for size in (2, 5):
        for _ in range(3):
            assert f(Tensor.ones(size)).tolist() == [2.0] * size
        f.reset()
        assert f.cnt == 0 and f.captured is None


def captured(f, *args, **kwargs):
    jit = TinyJit(f)
    jit(*args, **kwargs)
    jit(*args, **kwargs)
    return jit


X, Y = Tensor([1.0, 2.0]), Tensor([3.0, 4.0])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: captured(lambda a: a + 1, X)(Tensor([1.0])), r"float32 of shape \(1,\), expected"),
        (lambda: captured(lambda a: a + 1, X)(Tensor([1, 2])), "int32 of shape"),
        (lambda: captured(lambda a: a + 1, X)(X, Y), "another structure"),
        (lambda: captured(lambda *a: a[0][0] + 1, [X, Y])(X, Y), "another structure"),
        (lambda: captured(lambda a, b: a + b, X, Y)(a=X, b=Y), "another structure"),
        (lambda: captured(lambda a, k: a * k, X, 2)(X, 3), "argument is 3, but .* with 2"),
        (lambda: captured(lambda a, k: a * k, X, 2)(X, 2.0), "argument is 2.0, but .* with 2"),
        (lambda: captured(lambda a: (a + 1, 3), X), "returns 3 of type int"),
        (lambda: captured(lambda a: None, X), "computes nothing"),
        (lambda: captured(lambda a: a, X), "computes nothing"),
        (lambda: captured(lambda a, b: a + b, X, X), "more than once"),
        (lambda: captured(lambda a: Tensor(a.tolist()), X), "a value is needed while TinyJit"),
        (lambda: captured(lambda a: a * a.sum().item(), X), "a value is needed while TinyJit"),
        (lambda: captured(lambda a: Tensor((a + 1).realize().numpy()), X), "a value is needed"),
        (lambda: captured(captured(lambda a: a + 1, X), X), "TinyJit inside another TinyJit"),
        (lambda: compile_step(TinyJit(lambda a: a + 1), X), "TinyJit inside another TinyJit"),
        (lambda: captured(lambda a: compile_step(lambda: a + 1), X), "inside of TinyJit"),
    ],
)
def test_refused(call, message):
    with pytest.raises(JitError, match=message):
        call()
    assert X.tolist() == [1.0, 2.0]  # what failed left nothing behind
    assert (X + 1).tolist() == [2.0, 3.0]


def test_a_call_that_is_refused_changes_nothing():
    f = captured(lambda a: a * 2, X)
    with pytest.raises(JitError):
        f(Tensor([1, 2]))
    assert f(Y).tolist() == [6.0, 8.0]
    with pytest.raises(TypeError, match="expected a function"):
        TinyJit(3)


def test_empty_results_and_types():
    f = TinyJit(lambda a: (a[:0], a.cast(dtypes.int8), a > 1, a.cast(dtypes.bfloat16)))
    for _ in range(4):
        empty, small, mask, half = f(X)
        assert empty.shape == (0,) and small.dtype == dtypes.int8 and half.dtype == dtypes.bfloat16
        assert small.tolist() == [1, 2] and mask.tolist() == [False, True]
        assert half.float().tolist() == [1.0, 2.0]


def test_arguments_need_not_be_computed():
    f = TinyJit(lambda a: a + 1)
    for i in range(4):
        x = Tensor([1.0, 2.0]) * i
        assert f(x[1:]).tolist() == [2.0 * i + 1]
        assert f(x[:1]).tolist() == [i + 1.0]


def test_views_as_arguments():
    base = Tensor(np.arange(12, dtype=np.float32).reshape(3, 4))
    f = TinyJit(lambda a: a * 2)
    for i in (0, 1, 2, 1):
        assert f(base[i]).tolist() == [2.0 * k for k in range(4 * i, 4 * i + 4)]
        column = base.permute(1, 0)[i]
        column.realize()
        assert TinyJit(lambda a: a + 1)(column).tolist() == [i + 1.0, i + 5.0, i + 9.0]

    def fill(a):
        a.assign(Tensor.zeros(4))
        return a.sum()

    g = TinyJit(fill)
    with pytest.raises(JitError, match="argument 0 is a view"):
        for _ in range(2):
            g(base[1])
    assert g(Tensor.ones(4).contiguous()).item() == 0


def test_tensors_made_in_the_function_are_made_in_each_call():
    def f(x):
        total = Tensor([0.0])
        for i in range(3):
            total += x[i]
        rows = Tensor.zeros(2, 2).contiguous()
        rows[0] = total
        rows[:, 1] += 1
        half = Tensor([0.0], dtype=dtypes.bfloat16)
        half += 1
        return total, rows, Tensor([5.0]), half

    jit = TinyJit(f)
    for i in range(4):
        x = Tensor([float(i), 1.0, 2.0])
        assert [t.tolist() for t in jit(x)] == [t.tolist() for t in f(x)]


def test_a_cache_is_written_at_a_symbolic_place():
    at = Variable("at", 0, 7)
    cache = Tensor.zeros(8, 3).contiguous().realize()
    expected = np.zeros((8, 3), np.float32)

    @TinyJit
    def f(row, at):
        cache[at : at + 1].assign(row)
        known = cache[: at + 1]
        return known.sum(0), (known @ row.permute(1, 0)).realize()

    for i in (2, 0, 7, 3, 5):
        row = numbers(1, 3) + i
        expected[i] = row.numpy()
        total, products = f(row, at.bind(i))
        np.testing.assert_allclose(total.numpy(), expected[: i + 1].sum(0), rtol=1e-5)
        want = expected[: i + 1] @ row.numpy().T
        np.testing.assert_allclose(products.numpy(), want, rtol=1e-5)
        np.testing.assert_array_equal(cache.numpy(), expected)


def test_what_was_made_before_a_run_keeps_its_value():
    state = Tensor([1.0]).realize()

    @TinyJit
    def step(x):
        state.assign(state + x)
        x.assign(x * 2)
        return state * 1

    for _ in range(2):
        step(Tensor([1.0]).realize())
    given = Tensor([5.0]).realize()
    of_state, of_given = state * 10, given + 0.5
    assert step(given).tolist() == [8.0]
    assert (of_state.tolist(), of_given.tolist()) == ([30.0], [5.5])
    assert (state.tolist(), given.tolist()) == ([8.0], [10.0])


@pytest.mark.parametrize("n", [3, 20_000])  # results that are copied, and those that are not
def test_tensors_of_the_capture_others_and_those_again(n):
    def f(x, y):
        return x * 2 + y, x - y

    jitted = TinyJit(f)
    x, y, z = (Tensor(np.full(n, i, np.float32)) for i in (1.0, 2.0, 5.0))
    kept = []
    for given in [(x, y)] * 4 + [(z, y), (x, y), (y, x), (x, z), (x, z), (x, y)]:
        kept.append((jitted(*given), [t.numpy() for t in f(*given)]))
    x.numpy()[:] = 7  # in place, seen by the next run
    kept.append((jitted(x, y), [t.numpy() for t in f(x, y)]))
    for made, expected in kept:
        for a, b in zip(made, expected):
            np.testing.assert_array_equal(a.numpy(), b)


def test_every_call_is_checked_also_after_one_that_was_right():
    @TinyJit
    def f(x, y):
        return x + y

    x, y = Tensor([1.0, 2.0]), Tensor([3.0, 4.0])
    for _ in range(4):
        f(x, y)
    wrong = [
        (lambda: f(x, x), "more than once"),
        (lambda: f(x), "another structure"),
        (lambda: f(x, y, y), "more than once"),
        (lambda: f(x, 1.0), "another structure"),
        (lambda: f(x, y=y), "another structure"),
        (lambda: f(x, Tensor([1.0])), "tensor 1 of the arguments is float32 of shape"),
        (lambda: f(x, Tensor([1, 2])), "tensor 1 of the arguments is int32"),
    ]
    for call, message in wrong:
        for _ in range(2):
            with pytest.raises(JitError, match=message):
                call()
        assert f(x, y).tolist() == [4.0, 6.0]
    y.assign(Tensor([5.0, 6.0]) * 2)
    assert f(x, y).tolist() == [11.0, 14.0]
    assert f(x, Tensor([[0.0, 1.0], [2.0, 3.0]])[1]).tolist() == [3.0, 5.0]
    assert f(x, y * 2).tolist() == [21.0, 26.0]


def test_an_argument_on_the_device_of_the_context_is_one_that_was_put_on_none():
    f = TinyJit(lambda a: (a + 1).realize())
    for _ in range(3):
        assert f(Tensor([1.0, 2.0])).tolist() == [2, 3]
    x = Tensor([1.0, 3.0], device=Device.DEFAULT)
    assert f(x).tolist() == f(x.to(Device.DEFAULT)).tolist() == [2, 4]
    assert f(Tensor([2.0, 2.0])).tolist() == [3, 3] and f.captured is not None


def test_nothing_is_captured_where_the_environment_says_so(monkeypatch):
    calls = []

    @TinyJit
    def f(x):
        calls.append(1)
        return x + len(calls)

    monkeypatch.setenv("JIT", "0")
    assert [f(Tensor([1.0])).item() for _ in range(3)] == [2.0, 3.0, 4.0]
    assert f.captured is None
    monkeypatch.setenv("JIT", "2")
    assert [f(Tensor([1.0])).item() for _ in range(3)] == [5.0, 5.0, 5.0]
    assert len(calls) == 4 and f.captured is not None
    f.reset()
    f(Tensor([1.0]))
    monkeypatch.setenv("JIT", "off")
    with pytest.raises(JitError, match="JIT: got 'off', expected one of 0, 1, 2"):
        f(Tensor([1.0]))
