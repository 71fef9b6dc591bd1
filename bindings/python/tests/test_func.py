"""polygrad.func: trees, errors, and what no comparison with JAX says (see tests/peers)."""

from __future__ import annotations

import gc
from collections import namedtuple
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from polygrad import Tensor, TinyJit, Variable, lax, nn
from polygrad.func import (
    TraceError,
    checkpoint,
    custom_jvp,
    custom_vjp,
    custom_vmap,
    eval_shape,
    functional_call,
    grad,
    grad_and_value,
    hessian,
    hvp,
    jacfwd,
    jacrev,
    jit,
    jvp,
    linear_transpose,
    linearize,
    make_jaxpr,
    register_pytree_node,
    sequential_vmap,
    stop_gradient,
    tree_map,
    value_and_grad,
    vjp,
    vmap,
)

Pair = namedtuple("Pair", "first second")


@dataclass(frozen=True)
class Layer:
    weight: Any
    bias: Any


class Box:
    def __init__(self, content: Any, label: str) -> None:
        self.content, self.label = content, label


register_pytree_node(Box, lambda b: ([b.content], b.label), lambda label, c: Box(c[0], label))


def tensor(*values: float) -> Tensor:
    return Tensor(list(values), dtype="float64")


def test_trees_of_all_kinds() -> None:
    tree = {
        "list": [tensor(1.0), None],
        "pair": Pair(tensor(2.0), (tensor(3.0),)),
        "layer": Layer(tensor(4.0), None),
        "box": Box(tensor(5.0), "label"),
    }

    def loss(t: Any) -> Tensor:
        parts = [t["list"][0], t["pair"].first, t["pair"].second[0], t["layer"].weight]
        total: Tensor = t["box"].content ** 2
        for p in parts:
            total = total + p**2
        return total.sum()

    g = grad(loss)(tree)
    assert list(g) == sorted(tree)
    assert g["list"][0].item() == 2 and g["list"][1] is None
    assert isinstance(g["pair"], Pair) and g["pair"].second[0].item() == 6
    assert isinstance(g["layer"], Layer) and g["layer"].weight.item() == 8
    assert g["box"].label == "label" and g["box"].content.item() == 10
    doubled = tree_map(lambda a, b: a + b, g, g)
    assert doubled["pair"].first.item() == 8


def test_argnums_and_aux() -> None:
    def f(x: Any, y: Any, *, scale: float = 1.0) -> Any:
        return (x * y).sum() * scale, {"y": y * 2, "name": x.sum()}

    x, y = tensor(1, 2), tensor(3, 4)
    (value, aux), (gy, gx) = value_and_grad(f, argnums=(1, -2), has_aux=True)(x, y, scale=2.0)
    assert value.item() == 22 and aux["y"].tolist() == [6, 8] and aux["name"].item() == 3
    assert gy.tolist() == [2, 4] and gx.tolist() == [6, 8]
    g, aux = grad(f, has_aux=True)(x, y)
    assert g.tolist() == [3, 4] and aux["y"].tolist() == [6, 8]
    g, value = grad_and_value(lambda x: (x * x).sum())(x)
    assert g.tolist() == [2, 4] and value.item() == 5
    value, pullback, aux = vjp(lambda x: (x * 2, x.sum()), x, has_aux=True)
    assert value.tolist() == [2, 4] and aux.item() == 3
    assert pullback(tensor(1, 10))[0].tolist() == [2, 20]
    value, change, aux = jvp(lambda x: (x * 2, x.sum()), (x,), (tensor(1, 10),), has_aux=True)
    assert change.tolist() == [2, 20] and aux.item() == 3


def test_integers_have_no_derivatives() -> None:
    x, n = tensor(1, 2), Tensor([1, 0])
    value, pullback = vjp(lambda x, n: x[n], x, n)
    gx, gn = pullback(tensor(1, 10))
    assert value.tolist() == [2, 1] and gx.tolist() == [10, 1] and gn is None
    value, change = jvp(lambda x, n: (x[n], n + 1), (x, n), (tensor(1, 10), n))
    assert change[0].tolist() == [10, 1] and change[1].tolist() == [0, 0]
    assert grad(lambda x: (x > 1).sum() * 2.0)(x).tolist() == [0, 0]


def test_axes() -> None:
    x = Tensor(np.arange(24.0).reshape(2, 3, 4))
    w = Tensor(np.arange(4.0))
    given = x.numpy()
    out = vmap(lambda a, p: a * p["w"], in_axes=(-2, None), out_axes=-1)(x, {"w": w})
    want = np.moveaxis(given * w.numpy(), 1, -1)
    assert np.array_equal(out.numpy(), want)
    sums = vmap(lambda a, n: (a["a"].sum(), n), in_axes=({"a": 1}, None), out_axes=(0, None))
    out, same = sums({"a": x}, Tensor(3.0))
    assert np.array_equal(out.numpy(), given.sum((0, 2))) and same.item() == 3
    twice = vmap(vmap(lambda a, b: a @ b, in_axes=(None, 0)), in_axes=(0, None))(x[0], x[1])
    assert np.allclose(twice.numpy(), given[0] @ given[1].T)
    assert vmap(lambda: Tensor(1.0), axis_size=3)().tolist() == [1, 1, 1]
    assert vmap(lambda v: v * 2, in_dims=1, out_dims=1)(x[0]).shape == (3, 4)
    assert vmap(lambda x, k: x * k, in_axes=(0, None))(tensor(1, 2), 3).tolist() == [3, 6]


def test_random_numbers_are_the_same_for_all_elements() -> None:
    a, b = vmap(lambda x: x + Tensor.rand(3))(Tensor.zeros(2, 3)).tolist()
    assert a == b


def test_inside_of_compiled_functions() -> None:
    @TinyJit
    def step(x: Tensor) -> Tensor:
        return hessian(lambda v: (v**3).sum())(x).realize()

    for i in range(4):
        assert step(tensor(i, 1)).tolist() == [[6.0 * i, 0], [0, 6]]
    cubes = TinyJit(lambda v: v**3)
    for _ in range(3):
        assert grad(lambda v: cubes(v).sum())(tensor(2)).tolist() == [12]


def test_layers_by_functional_call() -> None:
    layer = nn.Linear(3, 2)
    before = layer.weight.numpy()
    params = {"weight": Tensor(np.ones((2, 3), np.float32)), "bias": Tensor.zeros(2)}
    xs = Tensor(np.arange(12, dtype=np.float32).reshape(4, 3))

    def loss(p: Any, x: Tensor) -> Tensor:
        return (functional_call(layer, p, x) ** 2).sum()

    each = vmap(grad(loss), in_axes=(None, 0))(params, xs)
    x = xs.numpy()
    assert np.allclose(
        each["weight"].numpy(), (2 * x.sum(1))[:, None, None] * x[:, None, :].repeat(2, 1)
    )
    assert each["bias"].shape == (4, 2) and np.array_equal(layer.weight.numpy(), before)


def test_sizes_may_be_variables() -> None:
    n = Variable("n", 1, 8).bind(3)
    x = Tensor(np.arange(8.0)).shrink(((0, n),))
    got = vmap(lambda v: v * 2 + 1)(x)
    assert got.sum().item() == 3 + 2 * 3
    assert grad(lambda v: (v * v).sum())(x).sum().item() == 6


def test_gradients_of_what_a_function_returns() -> None:
    w = tensor(1, 2)
    w.requires_grad = True
    grad(lambda x: (x * x * w).sum())(tensor(3, 4)).sum().backward()
    assert w.grad.tolist() == [6, 8]
    x = tensor(1, 2)
    assert grad(lambda y: (x * y).sum())(x).tolist() == [1, 2]
    assert grad(lambda y: (stop_gradient(y) * y).sum())(x).tolist() == [1, 2]


def test_writes_in_a_function() -> None:
    def f(x: Tensor) -> Tensor:
        y = x * 1
        y[0] = x[1] * 3
        y += x
        return (y * y).sum()

    assert grad(f)(tensor(1, 2)).tolist() == [14, 58]
    assert vmap(f)(tensor(1, 2, 3, 4).reshape(2, 2)).tolist() == [65, 289]


def test_second_order_of_everything() -> None:
    x, v = tensor(0.3, -0.5), tensor(1, 2)

    def f(x: Tensor) -> Tensor:
        return (x.sin() * x.exp()).sum() * (x[0] * x[1]).tanh()

    h = hessian(f)(x).numpy()
    assert np.allclose(h, h.T)
    for other in (jacfwd(jacfwd(f)), jacrev(jacfwd(f)), jacrev(jacrev(f)), jacrev(grad(f))):
        assert np.allclose(other(x).numpy(), h)
    assert np.allclose(hvp(f, (x,), (v,))[0].numpy(), h @ v.numpy())
    assert np.allclose(vmap(linearize(grad(f), x)[1])(Tensor(np.eye(2))).numpy(), h)


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (
            lambda x: grad(lambda x: x)(x),
            ValueError,
            "grad: the function returns float64 of shape (2)",
        ),
        (lambda x: grad(lambda x: {"a": x})(x), ValueError, "expected a loss: one scalar"),
        (lambda x: grad(lambda x: x.sum())(Tensor([1, 2])), ValueError, "grad: args[0] is int"),
        (
            lambda x: grad(lambda x: x.sum(), argnums=1)(x),
            ValueError,
            "grad: argnums: 1, expected 0 to 0",
        ),
        (
            lambda x: grad(lambda p: p["a"].sum())({"a": x, "b": "text"}),
            ValueError,
            "grad: args[0] has other",
        ),
        (lambda x: grad(3)(x), ValueError, "grad: f: 3, expected a function"),
        (
            lambda x: grad(lambda x: x.sum(), has_aux=True)(x),
            ValueError,
            "no pair of a loss and more",
        ),
        (
            lambda x: grad(lambda x: x.sum().item())(x),
            TraceError,
            "a value is needed while grad traces",
        ),
        (
            lambda x: grad(lambda x: x.sum() if (x[0] > 0).item() else x[1])(x),
            TraceError,
            "where or cond instead of if",
        ),
        *(
            (lambda x, f=f: grad(f)(x), TraceError, advice)
            for f, advice in [
                (lambda x: x * int(x.sum()), "pass what it depends on as a number"),
                (lambda x: Tensor(x.tolist()), "pass what it depends on as a number"),
                (lambda x: x.nonzero(), "the size of the result depends on it"),
                (lambda x: x[x > 1].sum(), "keep the shape (where(mask, x, 0)"),
                (lambda x: x.masked_select(x > 1).sum(), "keep the shape"),
            ]
        ),
        (
            lambda x: grad(lambda x: x.sum().backward())(x),
            TraceError,
            "use the gradient of a function",
        ),
        (
            lambda x: vmap(lambda x: x)(Tensor(1.0)),
            ValueError,
            "vmap: args[0] has shape (), which has no axis 0",
        ),
        (lambda x: vmap(lambda x: x)(3.0), ValueError, "vmap: args[0] is 3.0, expected a tensor"),
        (
            lambda x: vmap(lambda x, y: x)(x, tensor(1)),
            ValueError,
            "vmap: args[1] has size 1 along axis 0, expected 2 as args[0]",
        ),
        (
            lambda x: vmap(lambda x: x, in_axes=(0, 0))(x),
            ValueError,
            "vmap: in_axes: (0, 0), expected a tree like (*,)",
        ),
        (lambda x: vmap(lambda x: x, in_axes=None)(x), ValueError, "vmap: no argument is mapped"),
        (
            lambda x: vmap(lambda x: lax.ppermute(x, "i", [(0, 1), (1, 1)]), axis_name="i")(x),
            ValueError,
            "ppermute: perm: [(0, 1), (1, 1)], expected each number once on a side",
        ),
        (lambda x: grad(lambda: x)(), ValueError, "grad: argnums: 0, and the function is called"),
        (
            lambda x: jit(grad, static_argnums=5),
            ValueError,
            "jit: static_argnums: 5, expected 0 to",
        ),
        (lambda x: jit(lambda x: x, static_argnames="y"), ValueError, "jit: 'y' is no argument of"),
        (
            lambda x: vmap(lambda x: x, out_axes=3)(x),
            ValueError,
            "vmap: out_axes: 3, expected -1 to 0",
        ),
        (
            lambda x: vmap(lambda x: x, out_axes=None)(x),
            ValueError,
            "vmap: out_axes: none for result 0, which differs",
        ),
        (lambda x: vmap(lambda x: x, chunk=1)(x), ValueError, "vmap: chunk is no parameter"),
        (
            lambda x: linear_transpose(lambda x: x * x, x),
            ValueError,
            "linear_transpose: the function is not linear in args[0]",
        ),
        (
            lambda x: vmap(lambda x: "text")(x),
            ValueError,
            "vmap: the function returns 'text', expected tensors",
        ),
        (
            lambda x: jvp(lambda x: x, (x,), (tensor(1),)),
            ValueError,
            "jvp: the tangent of args[0] is float64 of shape (1,)",
        ),
        (
            lambda x: jvp(lambda x: x, (x,), ([x],)),
            ValueError,
            "jvp: tangents[0]: a tree [*], expected * as primals[0]",
        ),
        (lambda x: jvp(lambda x: x, x, x), ValueError, "jvp: primals: "),
        (
            lambda x: vjp(lambda x: (x, x), x)[1](x),
            ValueError,
            "vjp: the cotangent: a tree *, expected (*, *)",
        ),
        (
            lambda x: functional_call(nn.Linear(2, 2), {"w": x}, x),
            ValueError,
            "'w', expected names of",
        ),
    ],
)
def test_errors(call: Any, kind: type[Exception], text: str) -> None:
    x = tensor(1, 2)
    with pytest.raises(kind) as raised:
        call(x)
    assert text in str(raised.value)
    assert grad(lambda x: (x * x).sum())(x).tolist() == [2, 4]


def test_side_effects() -> None:
    total, seen = tensor(0), []

    def leak(x: Tensor) -> Tensor:
        seen.append(x * 2)
        return x.sum()

    def write(x: Tensor) -> Tensor:
        total.assign(x.sum().reshape(1))
        return x.sum()

    grad(leak)(tensor(1, 2))
    with pytest.raises(TraceError, match="a tensor has left it otherwise than as a result"):
        seen[0].numpy()
    with pytest.raises(TraceError, match="a tensor from outside is written while grad traces"):
        grad(write)(tensor(1, 2))
    assert total.tolist() == [0]


def test_eval_shape_computes_nothing() -> None:
    found = eval_shape(lambda x, n: {"a": x @ x.T, "b": [n]}, Tensor.empty(1000, 2), 3)
    assert found["a"].shape == (1000, 1000) and found["b"][0].dtype.name == "int32"


def test_memory_is_freed() -> None:
    from polygrad._base import release_dead
    from polygrad._graph import CTX
    from polygrad._library import lib

    def run() -> None:
        assert hessian(lambda x: (x**3).sum())(tensor(1)).item() == 6

    run()
    gc.collect()
    release_dead()
    before = lib.poly_ctx_live_nodes(CTX)
    for _ in range(5):
        run()
    gc.collect()
    release_dead()
    assert lib.poly_ctx_live_nodes(CTX) <= before


def test_a_function_that_transforms_itself_is_an_error() -> None:
    def f(x: Any) -> Any:
        return grad(f)(x)

    for _ in range(2):
        with pytest.raises(TraceError, match="64 functions are traced in one another"):
            f(tensor(1).sum())
    assert grad(lambda x: x.sum())(tensor(1)).item() == 1


def test_a_function_that_calls_itself_is_an_error() -> None:
    def countdown(x: Any) -> Any:
        return (x > 0).where(countdown(x - 1), x)

    for f in (grad(countdown), jit(countdown), lambda x: lax.map(countdown, x.reshape(1))):
        with pytest.raises(TraceError, match=r"countdown calls itself without an end: .*lax.scan"):
            f(Tensor(1.0))
    with pytest.raises(TraceError, match=r"or calls itself in a branch, .* while_loop and scan"):
        branches = lambda x: lax.cond(x > 0, lambda: branches(x - 1), lambda: x)  # noqa: E731
        branches(Tensor(1.0))


def test_batches_without_elements() -> None:
    x = Tensor.zeros(0, 3)
    assert vmap(grad(lambda v: (v * v).sum()))(x).shape == (0, 3)
    assert vmap(lambda v: lax.scan(lambda c, y: (c + y, c), 0.0, v))(x)[1].shape == (0, 3)
    assert vmap(lambda v: lax.while_loop(lambda c: c < 3, lambda c: c + 1, v[0]))(x).shape == (0,)


def test_values_that_the_host_asks_for() -> None:
    x = tensor(1, 2)
    for f in (float, int, lambda x: Tensor.zeros(x.item()), lambda x: x.tolist()):
        with pytest.raises(TraceError, match="a value is needed while grad traces the function"):
            grad(lambda x, f=f: x.sum() * f(x[0]))(x)
        with pytest.raises(TraceError, match="a value is needed while jit traces the function"):
            jit(lambda x, f=f: x.sum() * f(x[0]))(x)
    with pytest.raises(TraceError, match="a value is needed while grad traces the function"):
        grad(lambda x: x[0] if x[0] > 0 else x[1])(x)
    with pytest.raises(ValueError, match="the truth of a tensor of several elements"):
        grad(lambda x: x[0] if x > 0 else x[1])(x)
    with pytest.raises(TypeError, match="len of a tensor without axes"):
        vmap(lambda x: x * len(x))(x)
    with pytest.raises(TypeError, match="is not an index"):
        grad(lambda n: n * len(range(n)))(2.0)


def test_leaked_placeholders() -> None:
    kept = []
    grad(lambda x: (kept.append(x * 2), x.sum())[1])(tensor(1, 2))
    for use in (lambda x: x + 1, grad(lambda x: (x * kept[0]).sum()), jit(lambda x: x + 1)):
        with pytest.raises(TraceError, match="a tensor has left it otherwise than as a result"):
            use(kept[0]).tolist()


def test_named_axes() -> None:
    x = tensor(1, 2, 3)

    def summed(r: Any) -> Any:  # in a loop
        return lax.fori_loop(0, 2, lambda i, c: c + lax.psum(c, "i") * lax.axis_index("i"), r)

    assert vmap(summed, axis_name="i")(x).tolist() == [1, 2 + 6 + 24, 3 + 12 + 48]
    slope = grad(lambda x: vmap(summed, axis_name="i")(x)[2])(x)
    step = np.eye(3) + np.arange(3)[:, None]
    assert slope.tolist() == (step @ step)[2].tolist()
    kept = vmap(jit(checkpoint(lambda r: r * lax.pmax(r, "i"))), axis_name="i")
    assert grad(lambda x: kept(x).sum())(x).tolist() == [3, 3, 9]
    moved = vmap(lambda r: lax.ppermute(r, "i", [(0, 2), (2, 1)]), axis_name="i")
    assert moved(x).tolist() == [0, 3, 1]
    assert (
        vmap(lambda r: lax.pmean(r, "i") + lax.axis_size("i"), axis_name="i")(x).tolist() == [5] * 3
    )
    with pytest.raises(ValueError, match='psum: no function is batched along the axis "k"'):
        lax.psum(x, "k")
    with pytest.raises(ValueError, match='vmap: the axis "i" has no size'):
        vmap(lambda: lax.axis_index("i"), axis_name="i")()
    with pytest.raises(ValueError, match=r"ppermute: perm: .* expected numbers from 0 to 2"):
        vmap(lambda r: lax.ppermute(r, "i", [(0, 3)]), axis_name="i")(x)


def test_rules_of_trees() -> None:
    @custom_vjp
    def f(p: dict[str, Any], n: int) -> Any:
        return {"sum": (p["a"] * p["b"]).sum(), "n": n}

    def backward(rest: Any, g: Any) -> Any:
        return {"a": rest * g["sum"], "b": None}, None

    f.defvjp(lambda p, n: (f(p, n), p["b"]), backward)
    found = grad(lambda p: f(p, 3)["sum"])({"a": tensor(1, 2), "b": tensor(3, 4)})
    assert found["a"].tolist() == [3, 4] and found["b"].tolist() == [0, 0]
    f.defvjp(lambda p, n: (f(p, n), None), lambda _, g: (g["sum"],))
    with pytest.raises(ValueError, match=r"custom_vjp: bwd returns .* a tuple of 2 gradients"):
        f({"a": tensor(1), "b": tensor(2)}, 1)
    f.defvjp(lambda p, n: f(p, n)["sum"], backward)
    with pytest.raises(ValueError, match="custom_vjp: fwd returns no pair"):
        f({"a": tensor(1), "b": tensor(2)}, 1)
    with pytest.raises(ValueError, match="custom_jvp: no rule is stated: see defjvp"):
        custom_jvp(lambda x: x)(tensor(1))


def test_products_that_leave_the_range() -> None:
    assert grad(lambda x: x.prod())(tensor(1e-200, 1e-200, 1)).tolist() == [1e-200, 1e-200, 0]
    assert grad(lambda x: x.prod())(tensor(1e200, 1e200, 0)).tolist()[0] == 0
    tiny = Tensor([1e-30, 1e-30, 1.0], dtype="float32")
    np.testing.assert_allclose(grad(lambda x: x.prod())(tiny).numpy(), [1e-30, 1e-30, 0], 1e-6)


def of_low_rank(kind: str, n: int) -> np.ndarray[Any, Any]:
    m = np.random.default_rng(n).integers(-3, 4, (n, n)).astype(float)
    if kind == "rows":
        m[-1] = m[0] + m[1]
    elif kind == "columns":
        m[:, 0], m[:, n // 2] = 0, m[:, -1]
    elif kind == "first column":
        m[:, 0] = 0
    elif kind == "middle column":
        m[:, 1] = 2 * m[:, 2]
    elif kind == "diagonal":
        m = np.diag(np.arange(float(n)))
    elif kind == "shift":
        m = np.eye(n, k=1)
    return m * (kind != "zeros")


@pytest.mark.parametrize("n", [3, 5, 12, 66])
@pytest.mark.parametrize(
    "kind", ["rows", "columns", "first column", "middle column", "diagonal", "shift", "zeros"]
)
def test_determinants_of_singular_matrices(kind: str, n: int) -> None:
    m = of_low_rank(kind, n)
    u, s, v = np.linalg.svd(m)
    others = np.array([np.delete(s, i).prod() for i in range(n)])
    want = np.linalg.det(u) * np.linalg.det(v) * (u * others @ v)
    found = grad(lambda x: x.det())(Tensor(m))
    least = 1e-12 * np.maximum(s, 1).prod()  # what rounding errors leave
    np.testing.assert_allclose(found.numpy(), want, rtol=1e-9, atol=least)
    both = vmap(grad(lambda x: x.det()))(Tensor(np.stack([m, m + np.eye(n)])))
    np.testing.assert_allclose(both[0].numpy(), found.numpy(), rtol=1e-9, atol=least)


def test_errors_of_programs_name_jit() -> None:
    left = []

    def leaking(x: Any) -> Any:
        left.append(x * 2)
        return x

    jit(leaking)(tensor(1, 2))
    message = "jit: results: a tensor that it reads has left another traced function otherwise"
    with pytest.raises(TraceError, match=message):
        jit(lambda x: x + left[0])(tensor(1, 2))
    with pytest.raises(TraceError, match="jit: args: memory: none for"):
        jit(lambda x: x.expand(1 << 46).contiguous())(tensor(1))


def test_rules_for_batches() -> None:
    asked: list[Any] = []

    @custom_vmap
    def f(p: dict[str, Any], b: Any = 2.0) -> Any:
        return {"v": (p["a"] * b).sum(), "n": p["n"]}

    @f.def_vmap
    def _(size: int, batched: Any, p: dict[str, Any], b: Any) -> Any:
        asked.append((size, batched))
        # 10 times, to see that it is used
        axes = (
            {k: 0 if flag else None for k, flag in batched[0].items()},
            0 if batched[1] else None,
        )
        v = vmap(lambda p, b: (p["a"] * b).sum(), axes, axis_size=size)(p, b)
        return {"v": v * 10, "n": p["n"]}, {"v": True, "n": batched[0]["n"]}

    x, n = tensor(1, 2, 3, 4).reshape(2, 2), Tensor(7)
    outs = {"v": 0, "n": None}
    assert f({"a": x, "n": n})["v"].item() == 20
    found = vmap(f, ({"a": 0, "n": None},), outs)({"a": x, "n": n})
    assert found["v"].tolist() == [60, 140] and found["n"].item() == 7
    assert asked == [(2, [{"a": True, "n": False}, False])]
    # In each other, and in loops, whose carry becomes batched in a step only.
    both = vmap(lambda r: vmap(lambda s: f({"a": r, "n": n}, s)["v"])(x))(x)
    assert both.tolist() == [[50, 110], [110, 250]]

    def walk(r: Any) -> Any:
        shift = Tensor([1.0, 1.0]).double()

        def step(c: Any, e: Any) -> Any:
            return f({"a": e, "n": n}, r + shift)["v"], f({"a": c.reshape(1), "n": n})["v"]

        return lax.scan(step, tensor(0)[0], x)

    last, kept = vmap(walk)(x)
    assert last.tolist() == [180, 320] and kept.tolist() == [[0, 1600], [0, 2800]]
    # Tangents are those of the rule, and gradients in the batch those of the function.
    change = jit(vmap(lambda r: jvp(lambda v: f({"a": v, "n": n})["v"], (r,), (r,))[1]))
    assert change(x).tolist() == [60, 140]
    assert vmap(grad(lambda r: f({"a": r, "n": n})["v"]))(x).tolist() == [[2, 2], [2, 2]]
    total = grad(lambda x: vmap(lambda r: f({"a": r, "n": n})["v"])(x).sum())
    assert total(x).tolist() == [[20, 20], [20, 20]]
    assert jacfwd(lambda r: f({"a": r, "n": n})["v"])(x[0]).tolist() == [2, 2]


def test_rules_for_batches_read_tensors_from_outside() -> None:
    shift = tensor(1, 2)

    @custom_vmap
    def f(x: Any) -> Any:
        return x + shift

    f.def_vmap(lambda size, batched, x: (x + shift, True))
    x = tensor(1, 2, 3, 4).reshape(2, 2)

    def walk(x: Any) -> Any:
        return lax.fori_loop(0, 3, lambda i, c: f(c), x)

    assert vmap(walk)(x).tolist() == [[4, 8], [6, 10]]
    assert jit(vmap(jacrev(lambda r: walk(r) * r)))(x).shape == (2, 2, 2)
    # An own shift for each element: no rule knows it.
    message = "custom_vmap: the function reads a tensor from outside that differs"
    with pytest.raises(ValueError, match=message):
        vmap(lambda r: _with_rule(lambda v: v * r)(r))(x)


def _with_rule(f: Any, rule: Any = None) -> Any:
    made = custom_vmap(f)
    made.def_vmap(rule or (lambda size, batched, v: (v, True)))
    return made


def test_sequential_vmap() -> None:
    @sequential_vmap
    def f(x: Any, y: Any) -> Any:
        return {"p": x * y, "s": x.sum()}

    x, y = tensor(1, 2, 3, 4).reshape(2, 2), tensor(1, 10)
    found = vmap(f, (0, None))(x, y)
    assert found["p"].tolist() == [[1, 20], [3, 40]] and found["s"].tolist() == [3, 7]
    assert "repeat" in str(make_jaxpr(vmap(f, (0, None)))(x, y))
    assert jacrev(lambda x: vmap(f)(x, x)["s"])(x).sum().item() == 4


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (lambda n, b, x: x, "custom_vmap: the rule returns no pair of a result and whether"),
        (lambda n, b, x: ([x], True), r"custom_vmap: the result of the rule: a tree \[\*\]"),
        (lambda n, b, x: (x, [True]), r"custom_vmap: what is batched: a tree \[\*\]"),
        (lambda n, b, x: (x, 1), "custom_vmap: what is batched: 1, expected bools"),
        (
            lambda n, b, x: (x.sum(1), True),
            r"custom_vmap: rule: result 0 is float64 of shape \(2\)",
        ),
        (lambda n, b, x: (x, False), r"expected float64 of shape \(2\), as it is not batched"),
        (lambda n, b, x: (x.float(), True), "rule: result 0 is float32 .* expected float64"),
        (lambda n, b, x: ("x", True), "custom_vmap: the function returns 'x', expected tensors"),
    ],
)
def test_wrong_rules_for_batches(rule: Any, message: str) -> None:
    x = tensor(1, 2, 3, 4).reshape(2, 2)
    with pytest.raises(ValueError, match=message):
        vmap(_with_rule(lambda x: x * 2, rule))(x)
    with pytest.raises(ValueError, match="custom_vmap: no rule is stated: see def_vmap"):
        custom_vmap(lambda x: x)(x)
    with pytest.raises(TraceError, match="a value is needed while custom_vmap traces"):
        vmap(_with_rule(lambda x: x, lambda n, b, x: (x * x.sum().item(), True)))(x)
    assert vmap(_with_rule(lambda x: x * 2))(x).tolist() == [[1, 2], [3, 4]]  # as before


def test_a_rule_for_each_argument_and_names() -> None:
    @custom_jvp
    def f(x: Any, y: Any = 2.0) -> Any:
        return x.sin() * y

    f.defjvps(lambda t, out, x, y: 5 * t * x.cos() * y, None)
    assert grad(f)(0.0).item() == 10
    assert grad(lambda x: f(y=3.0, x=x))(0.0).item() == 15
    # The rule is that of its own second derivative, too.
    assert grad(grad(lambda x: f(x)))(tensor(0).sum()).item() == 0


def test_aux_of_jacobians() -> None:
    def f(x: Any) -> Any:
        return {"y": x * x}, {"s": x.sum()}

    for jacobian in (jacfwd, jacrev):
        found, aux = jacobian(f, has_aux=True)(tensor(1, 2))
        assert found["y"].tolist() == [[2, 0], [0, 4]] and aux["s"].item() == 3
    found, aux = hessian(lambda x: ((x**3).sum(), x[0]), has_aux=True)(tensor(1, 2))
    assert found.tolist() == [[6, 0], [0, 12]] and aux.item() == 1
    with pytest.raises(ValueError, match="jacfwd: has_aux: the function returns no pair"):
        jacfwd(lambda x: x, has_aux=True)(tensor(1))


def test_jit_compiles_for_each_kind_of_arguments() -> None:
    calls = []

    def f(p: dict[str, Any], n: int, name: str = "sum") -> Any:
        calls.append(name)
        return {"out": getattr(p["x"] ** n, name)(), "n": n}

    j = jit(f, static_argnums=1, static_argnames="name")
    x, y = tensor(1, 2), tensor(1, 2, 3)
    assert [j({"x": x}, 2)["out"].item(), j({"x": x + 1}, 2)["out"].item()] == [5, 13]
    assert len(calls) == 1 and j.cache_info() == (1, 1, 1)
    assert j({"x": y}, 2)["out"].item() == 14 and j({"x": x}, 3)["out"].item() == 9
    assert j({"x": x}, 2, name="max")["out"].item() == 4
    assert j.cache_info() == (1, 4, 4) and j.cache_size() == 4 and len(calls) == 4
    assert j({"x": x}, 2)["n"].item() == 2 and len(calls) == 4
    j.clear_cache()
    assert j.cache_info() == (0, 0, 0)
    compiled = j.lower({"x": x}, 2).compile()
    assert j.cache_size() == 1 and compiled({"x": x}, 2)["out"].item() == 5
    with pytest.raises(ValueError, match="jit: compiled for"):
        compiled({"x": y}, 2)
    with pytest.raises(ValueError, match="must be hashable; see static_argnums"):
        j({"x": x}, [1])


def test_jit_of_tensors_that_are_given_and_returned_again() -> None:
    swapped = jit(lambda a, b: (b, {"a": a}), donate_argnums=(0, 1))
    for i in range(2):
        b, tree = swapped(Tensor([i]), Tensor([2]))
        assert (b.tolist(), tree["a"].tolist()) == ([2], [i])
    j = jit(lambda a, b: (a, a + b, b))
    x = tensor(1, 2)
    a, both, b = j(x, x)
    assert a is x and b is x and both.tolist() == [2, 4]
    assert j(x, tensor(0, 1))[1].tolist() == [1, 3]
    assert vmap(jit(lambda x: x * 2))(x).tolist() == [2, 4]
    with pytest.raises(ValueError, match="jit: the function returns 'a', expected tensors"):
        jit(lambda x: "a")(x)


def test_donated_arguments_become_results() -> None:
    step = jit(lambda p, x: ({"w": p["w"] * 2 + x}, x), donate_argnums=0)
    x, p = tensor(1, 1), {"w": tensor(1, 2).realize()}
    w = p["w"]
    for want in ([3, 5], [7, 11]):
        p, same = step(p, x)
        assert p["w"] is w and w.tolist() == want and same is x


def test_functions_as_text() -> None:
    text = repr(make_jaxpr(lambda x: lax.fori_loop(0, 5, lambda i, c: c * x, 1.0))(2.0))
    lines = text.splitlines()
    assert lines[0] == "{ lambda b:float32[1] ; a:float32[]. let" and lines[-1].startswith("  in (")
    (start,) = (k for k, line in enumerate(lines) if "repeat[step1 < 5" in line)
    assert lines[start + 1].startswith("      lambda ") and "mul" in text[text.index("repeat") :]
