"""Derivatives of holomorphic functions: by complex arguments, as in JAX."""

import numpy as np
import pytest

from polygrad import Tensor, func

RNG = np.random.default_rng(8)
M = RNG.normal(size=(2, 3)) + 1j * RNG.normal(size=(2, 3))
Z = RNG.normal(size=3) + 1j * RNG.normal(size=3)


def same(found, wanted):
    assert found.shape == wanted.shape and found.dtype == "complex128"
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ["jacfwd", "jacrev"])
def test_jacobians(name):
    jacobian = getattr(func, name)
    found = jacobian(lambda z: (Tensor(M) @ z).exp(), holomorphic=True)(Tensor(Z))
    same(found, np.exp(M @ Z)[:, None] * M)

    def two(a, b):
        return {"p": a * b, "q": a.sum(), "r": (1j * b).sin()}

    found = jacobian(two, (0, 1), holomorphic=True)(Tensor(Z), Tensor(2 * Z))
    wanted = {
        "p": (np.diag(2 * Z), np.diag(Z)),
        "q": (np.ones(3), np.zeros(3)),
        "r": (np.zeros((3, 3)), np.diag(1j * np.cos(2j * Z))),
    }
    for key, pair in wanted.items():
        for f, w in zip(found[key], pair):
            same(f, w)
    found, aux = jacobian(lambda z: (z * z, z[0]), has_aux=True, holomorphic=True)(Tensor(Z))
    same(found, np.diag(2 * Z))
    assert aux.item() == Z[0]
    with pytest.raises(ValueError, match="real functions unless holomorphic is given"):
        jacobian(lambda z: z * z)(Tensor(Z))
    with pytest.raises(ValueError, match="expected complex ones where holomorphic is given"):
        jacobian(lambda z: z * z, holomorphic=True)(Tensor([1.0, 2.0]))


def test_of_real_and_complex():
    x = RNG.normal(size=3)
    found = func.jacfwd(lambda t: (Tensor(M) @ t).exp())(Tensor(x))
    same(found, np.exp(M @ x)[:, None] * M)
    same(func.jacrev(lambda z: (z * z).real)(Tensor(Z)), np.diag(2 * Z))


def test_gradients():
    same(func.grad(lambda z: (z**3).sum(), holomorphic=True)(Tensor(Z)), 3 * Z**2)
    value, grads = func.value_and_grad(lambda z: (z * z * 1j).sum(), holomorphic=True)(Tensor(Z))
    same(value, (Z * Z * 1j).sum())
    same(grads, 2j * Z)
    second = func.grad(func.grad(lambda z: z**3, holomorphic=True), holomorphic=True)
    same(second(Tensor(np.array(1 + 2j))), np.array(6 + 12j))
    same(func.hessian(lambda z: (z**3).sum(), holomorphic=True)(Tensor(Z)), np.diag(6 * Z))
    with pytest.raises(ValueError, match="expected a loss"):
        func.grad(lambda z: z.sum())(Tensor(Z))
    for f, x in ((lambda z: z, Tensor(Z)), (lambda z: z.sum(), Tensor([1.0]))):
        with pytest.raises(ValueError, match="expected a complex scalar of complex arguments"):
            func.grad(f, holomorphic=True)(x)
