"""Learn the differential equation of a spiral from points of it.

    python examples/neural_ode.py

A network is the right-hand side of the equation, which Runge-Kutta steps integrate in a loop that
the library compiles. The gradient goes back through the loop; `checkpoint` recomputes each step.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from polygrad import Tensor, lax
from polygrad.func import checkpoint, jit, tree_map, value_and_grad, vmap
from polygrad.progress import track

STEPS, HIDDEN, STEP = 40, 32, 0.1
MATRIX = np.array([[-0.1, 2.0], [-2.0, -0.1]], dtype="float32")
Parameters = dict[str, Tensor]


def right_side(params: Parameters, y: Tensor) -> Tensor:
    """Return the time derivative of y."""
    return (y**3 @ params["w"] + params["b"]).tanh() @ params["v"]


def spiral(_: Parameters, y: Tensor) -> Tensor:
    """Return the derivative of the target curve."""
    return y**3 @ Tensor(MATRIX)


def path(equation: Any, params: Parameters, start: Tensor) -> Tensor:
    """Return the points after each step of a Runge-Kutta method, shape (STEPS, 2)."""

    def step(y: Tensor, _: None) -> tuple[Tensor, Tensor]:
        k1 = equation(params, y)
        k2 = equation(params, y + STEP / 2 * k1)
        k3 = equation(params, y + STEP / 2 * k2)
        k4 = equation(params, y + STEP * k3)
        y = y + STEP / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return y, y

    result: Tensor = lax.scan(checkpoint(step), start, None, length=STEPS)[1]
    return result


def loss(params: Parameters, starts: Tensor, points: Tensor) -> Tensor:
    """Return the error of the paths at the points."""
    found = vmap(lambda start: path(right_side, params, start))(starts)
    result: Tensor = (found - points).square().mean()
    return result


def update(params: Any, m: Any, v: Any, t: Tensor, starts: Tensor, points: Tensor) -> Any:
    """Return the parameters and moments after a step of Adam, and the loss."""
    value, slope = value_and_grad(loss)(params, starts, points)
    m = tree_map(lambda m, g: 0.9 * m + 0.1 * g, m, slope)
    v = tree_map(lambda v, g: 0.99 * v + 0.01 * g * g, v, slope)
    rate = 0.01 / (1 - 0.9**t)
    params = tree_map(
        lambda p, m, v: p - rate * m / ((v / (1 - 0.99**t)).sqrt() + 1e-8), params, m, v
    )
    return params, m, v, value


def main() -> None:
    """Train, and show the error of the paths."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=600)
    steps = parser.parse_args().steps
    rng = np.random.default_rng(0)
    shapes = {"w": (2, HIDDEN), "b": (HIDDEN,), "v": (HIDDEN, 2)}
    params = {k: Tensor(rng.normal(0, 0.3, s).astype("float32")) for k, s in shapes.items()}
    starts = Tensor(rng.uniform(-1.2, 1.2, (16, 2)).astype("float32"))
    points = vmap(lambda start: path(spiral, {}, start))(starts).realize()
    m = v = tree_map(lambda p: p * 0, params)
    step = jit(update)
    for t in track(range(steps)):
        params, m, v, value = step(params, m, v, float(t + 1), starts, points)
        if t == 0:
            print(f"first loss: {value.item():.5f}")
    print(f"last loss: {value.item():.5f}")


if __name__ == "__main__":
    main()
