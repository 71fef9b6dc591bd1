"""Gradients of tensors: backward, gradient, which tensors get them."""

from __future__ import annotations

import copy
import gc
import pickle
from collections.abc import Callable

import numpy as np
import pytest
from numeric import RNG, check_gradient, close

from polygrad import Tensor, func
from polygrad._base import release_dead
from polygrad._graph import CTX
from polygrad._library import lib
from polygrad.nn import SGD


def test_gradients_in_a_circle_are_freed():
    gc.collect()
    release_dead()
    before = lib.poly_ctx_live_nodes(CTX)
    for _ in range(20):
        x, y = Tensor([1.0, 2.0]), Tensor([3.0, 4.0])
        x.grad = x
        assert x.grad.tolist() == [1, 2]
        x.grad, y.grad = y, x
        assert y.grad.tolist() == [1, 2]
    del x, y
    gc.collect()
    release_dead()
    assert lib.poly_ctx_live_nodes(CTX) <= before + 5


def test_backward():
    x = Tensor([1.0, 2.0, 3.0])
    x.requires_grad = True
    loss = (x * x).sum()
    assert loss.requires_grad
    loss.backward()
    assert x.grad.tolist() == [2.0, 4.0, 6.0]
    (x * 3).sum().backward()
    assert x.grad.tolist() == [5.0, 7.0, 9.0]


def test_backward_after_looking_at_values():
    x = Tensor([1.0, 2.0], requires_grad=True)
    h = x * x
    assert h.tolist() == [1, 4]
    loss = (h * h).sum()
    assert loss.item() == 17
    loss.backward()
    assert x.grad.tolist() == [4.0, 32.0]
    y = Tensor([2.0], requires_grad=True)
    a = y * 3
    b = a + 1
    a.realize()
    ((a * b) + a).sum().backward()
    assert y.grad.tolist() == [3 * 7 + 6 * 3 + 3]


def test_gradient_of_an_intermediate_tensor():
    x = Tensor([1.0, 2.0], requires_grad=True)
    h = x * 2
    h.requires_grad = True
    early = h * 1
    h.realize()
    (early + h * h).sum().backward()
    assert h.grad.tolist() == [5.0, 9.0]
    assert x.grad.tolist() == [10.0, 18.0]


def test_backward_with_a_gradient():
    x = Tensor([1.0, 2.0], requires_grad=True)
    (x * x).backward(Tensor([1.0, 10.0]))
    assert x.grad.tolist() == [2.0, 40.0]


def test_gradients_add_up_in_the_tensor_that_holds_them():
    x = Tensor([3.0], requires_grad=True)
    (x * 2).backward()
    held = x.grad
    (x * 3).backward()
    assert held.tolist() == [5.0]


def test_errors_of_backward():
    with pytest.raises(RuntimeError, match="requires a gradient"):
        Tensor([1.0]).sum().backward()
    with pytest.raises(ValueError, match="one element"):
        Tensor([1.0, 2.0], requires_grad=True).backward()
    with pytest.raises(TypeError, match="floating"):
        Tensor([1, 2], requires_grad=True)


def test_equal_parameters_have_gradients_of_their_own():
    a = Tensor.zeros(2, requires_grad=True)
    b = Tensor.zeros(2, requires_grad=True)
    (a * 2 + b * 3).sum().backward()
    assert (a.grad.tolist(), b.grad.tolist()) == ([2, 2], [3, 3])
    c = Tensor(a, requires_grad=True)
    (c * 5).sum().backward()
    assert (a.grad.tolist(), c.grad.tolist()) == ([2, 2], [5, 5])


def test_gradient():
    x, y = Tensor([1.0, 2.0]), Tensor([3.0, 4.0])
    gx, gy = (x * x * y).sum().gradient(x, y)
    close(gx, [6, 16])
    close(gy, [1, 4])
    close(x.sum().gradient(y, materialize_grads=True)[0], [0, 0])
    with pytest.raises(RuntimeError, match=r"targets\[1\]: the tensor does not depend"):
        x.sum().gradient(x, y)
    close((x * x).sum().gradient(x, gradient=Tensor([3.0]))[0], [6, 12])


SECOND = {
    "cube": lambda x: (x**3).sum(),
    "exp": lambda x: (x * x).exp().sum(),
    "softmax": lambda x: (x.softmax() * Tensor([1.0, -2.0, 3.0], dtype="float64")).sum(),
    "layernorm": lambda x: (x.layernorm() ** 3).sum(),
    "sigmoid": lambda x: (x.sigmoid() * x).sum(),
    "matmul": lambda x: (x.unsqueeze(1) @ x.unsqueeze(0)).square().sum(),
}


@pytest.mark.parametrize("name", SECOND)
def test_double_backward(name):
    function = SECOND[name]
    x = RNG.uniform(-1, 1, 3)

    def first(t):
        return function(t).gradient(t)[0]

    check_gradient(first, x, rtol=1e-4)
    t = Tensor(x.copy(), requires_grad=True)
    function(t).backward()
    grad, t.grad = t.grad, None
    grad.sum().backward()
    u = Tensor(x.copy())
    close(t.grad, first(u).sum().gradient(u)[0], rtol=1e-9)


def test_train_as_a_decorator():
    @Tensor.train()
    def training():
        return Tensor.training

    assert training() and training()
    assert not Tensor.training


def test_requires_grad_is_none_until_somebody_says():
    a, b = Tensor([1.0]), Tensor([1.0], requires_grad=False)
    w = Tensor([1.0], requires_grad=True)
    assert (a.requires_grad, b.requires_grad, w.requires_grad) == (None, False, True)
    assert ((a + b).requires_grad, (b + b).requires_grad, (a + w).requires_grad) == (
        None,
        None,
        True,
    )
    assert (a + b).realize().requires_grad is None
    assert Tensor(w, requires_grad=False).requires_grad is False
    assert w.requires_grad is True
    w.requires_grad = None
    assert w.requires_grad is None
    for tensor in (a, b, Tensor([1.0], requires_grad=True)):
        again = pickle.loads(pickle.dumps(tensor))
        assert again.requires_grad is copy.copy(tensor).requires_grad is tensor.requires_grad


def test_optimizers_train_what_is_not_excluded():
    a, b = Tensor([1.0]), Tensor([1.0], requires_grad=False)
    optimizer = SGD([a, b], lr=0.5)
    assert (a.requires_grad, b.requires_grad) == (True, False)
    (a * b).sum().backward()
    optimizer.step()
    assert (a.item(), b.item(), b.grad) == (0.5, 1, None)
    with pytest.raises(ValueError, match="params: is empty"):
        SGD([b])


def test_replace_keeps_requires_grad():
    w = Tensor([1.0, 2.0], requires_grad=True)
    assert w.replace(Tensor.ones(2).contiguous()) is w
    assert w.requires_grad
    (w * 3).sum().backward()
    assert w.grad.tolist() == [3, 3]
    x = Tensor([1.0])
    x.replace(w * 2)
    x.sum().backward()
    assert w.grad.tolist() == [5, 5]
    with pytest.raises(TypeError, match="replace: x: a list"):
        w.replace([1.0, 2.0])


def test_tensors_on_the_way_get_gradients_if_they_are_asked_for():
    a = Tensor([3.0], requires_grad=True)
    x = RNG.standard_normal((5, 2)).astype(np.float32)
    wide = a.expand(10).requires_grad_()
    kept = wide.reshape(5, 2)
    (kept * Tensor(x)).sum().backward()
    close(wide.grad.numpy(), x.reshape(10))
    assert kept.grad is None
    close(a.grad.numpy(), [x.sum()])
    untracked = Tensor([1.0]) * 2
    (untracked * a).sum().backward()
    assert untracked.grad is None


def test_gradients_flow_through_clones():
    a = Tensor([1.0, 2.0], requires_grad=True)
    b = a.clone()
    assert b.requires_grad
    (b * b).sum().backward()
    assert b.grad is None
    assert a.grad.tolist() == [2, 4]


def test_gradients_of_several_elements_need_their_own():
    x = Tensor([1.0, 2.0])
    with pytest.raises(ValueError, match=r"the tensor has shape \(2\), expected one element"):
        (x * x).gradient(x)
    (grad,) = (x * x).gradient(x, gradient=Tensor([1.0, 10.0]))
    assert grad.tolist() == [2, 40]


def test_bitcast_has_no_gradient():
    x = Tensor([1.0], requires_grad=True)
    with pytest.raises(RuntimeError, match="bitcast"):
        x.bitcast("int32")
    assert x.detach().bitcast("int32").tolist() == [0x3F800000]


def test_results_of_no_grad_do_not_require_gradients() -> None:
    w = Tensor([1.0, 2.0], requires_grad=True)

    @Tensor.no_grad()
    def double() -> Tensor:
        return w * 2

    y = double()
    assert y.requires_grad is None
    (y * w).sum().backward()
    assert w.grad is not None
    assert w.grad.tolist() == [2.0, 4.0]
    with pytest.raises(KeyError), Tensor.no_grad(), Tensor.no_grad():
        raise KeyError
    assert (w * 2).requires_grad is True


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_sorts_of_products(n: int) -> None:
    r = np.random.default_rng(n)
    a, b, weights = (r.uniform(-1, 1, (n, n)) for _ in range(3))
    x = Tensor(a, requires_grad=True)
    y = (x @ Tensor(b)).tanh()
    (y.sort(0)[0] * Tensor(weights)).sum().backward()
    y = np.tanh(a @ b)
    scattered = np.zeros_like(y)
    np.put_along_axis(scattered, np.argsort(y, 0), weights, 0)
    np.testing.assert_allclose(x.grad.numpy(), (scattered * (1 - y * y)) @ b.T, rtol=1e-9)


def test_normalisation_over_no_axes() -> None:
    x = Tensor(np.arange(12.0).reshape(3, 4))
    x.requires_grad = True
    for value in (x.layernorm(axis=()), x.var(axis=(), correction=0)):
        assert not value.numpy().any()
        assert (
            not (value * Tensor(np.arange(12.0).reshape(3, 4))).sum().gradient(x)[0].numpy().any()
        )


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x.layernorm(),
        lambda x: x.groupnorm(2, weight=x[0], bias=x[1]),
        lambda x: x.var(1, True),
    ],
)
def test_normalisations_are_shown_as_expressions(f: Callable[[Tensor], Tensor]) -> None:
    text = str(func.make_jaxpr(f)(Tensor.rand(4, 4)))
    assert "reduce_axis" in text
    assert "standardized" not in text and "squares" not in text and "groupnorm" not in text


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_squares_of_small_numbers_with_large_factors(dtype: str) -> None:
    factor = {"float16": 40000.0, "float32": 2e38}[dtype]
    x = Tensor(np.array([1e-3, 0.5], dtype), requires_grad=True)
    for square in (lambda t: t * t, lambda t: t.square()):
        (g,) = (square(x) * factor).sum().gradient(x)
        assert np.isfinite(g.numpy()).all(), g.numpy()
