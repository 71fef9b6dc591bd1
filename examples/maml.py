"""Meta-learn sine curves: MAML, gradients through steps of gradient descent.

    python examples/maml.py

Each task is a sine curve with its own amplitude and phase, of which ten points are known. MAML
learns initial parameters from which one step of gradient descent on these points fits the whole
curve. The loss after the step is differentiated through the step, for all tasks of a batch at once.
"""

from __future__ import annotations

import argparse
import math
from typing import Any

import numpy as np

from polygrad import Tensor
from polygrad.func import grad, jit, tree_map, value_and_grad, vmap
from polygrad.progress import track

POINTS, TASKS, HIDDEN = 10, 25, 40
INNER_RATE, OUTER_RATE = 0.01, 0.001
Parameters = Any


def first_parameters(rng: np.random.Generator) -> Parameters:
    """Return the weights and biases of three layers."""
    sizes = [1, HIDDEN, HIDDEN, 1]
    return [
        (Tensor(rng.normal(0, math.sqrt(2 / n), (n, m)).astype("float32")), Tensor.zeros(m))
        for n, m in zip(sizes, sizes[1:])
    ]


def curve(params: Parameters, x: Tensor) -> Tensor:
    """Return the network's value for each x, of shape (n, 1)."""
    for w, b in params[:-1]:
        x = (x @ w + b).relu()
    w, b = params[-1]
    result: Tensor = x @ w + b
    return result


def error(params: Parameters, x: Tensor, y: Tensor) -> Tensor:
    """Return the mean squared error."""
    return (curve(params, x) - y).square().mean()


def adapted(params: Parameters, x: Tensor, y: Tensor) -> Parameters:
    """Return the parameters after a step of gradient descent on some points."""
    return tree_map(lambda p, g: p - INNER_RATE * g, params, grad(error)(params, x, y))


def loss_after(params: Parameters, x: Tensor, y: Tensor, new_x: Tensor, new_y: Tensor) -> Tensor:
    """Return the error on other points after a step on some."""
    return error(adapted(params, x, y), new_x, new_y)


def loss_of_tasks(params: Parameters, *tasks: Tensor) -> Tensor:
    """Return the mean of the losses of all tasks."""
    result: Tensor = vmap(loss_after, in_axes=(None, 0, 0, 0, 0))(params, *tasks).mean()
    return result


def adam(params: Parameters, state: Parameters, tasks: tuple[Tensor, ...], t: Tensor) -> Any:
    """Return parameters and moments after a step of Adam, and the loss."""
    loss, slope = value_and_grad(loss_of_tasks)(params, *tasks)
    m = tree_map(lambda m, g: 0.9 * m + 0.1 * g, state[0], slope)
    v = tree_map(lambda v, g: 0.999 * v + 0.001 * g * g, state[1], slope)
    rate = OUTER_RATE * (1 - 0.999**t).sqrt() / (1 - 0.9**t)
    params = tree_map(lambda p, m, v: p - rate * m / (v.sqrt() + 1e-8), params, m, v)
    return params, (m, v), loss


def draw_tasks(rng: np.random.Generator, count: int) -> tuple[Tensor, ...]:
    """Return training points and test points of some curves."""
    amplitude = rng.uniform(0.1, 5, (count, 1, 1))
    phase = rng.uniform(0, math.pi, (count, 1, 1))
    x = rng.uniform(-5, 5, (2, count, POINTS, 1))
    y = amplitude * np.sin(x - phase)
    return tuple(Tensor(a.astype("float32")) for a in (x[0], y[0], x[1], y[1]))


def main() -> None:
    """Train, and show the error on new curves after a step."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=6000)
    steps = parser.parse_args().steps
    rng = np.random.default_rng(0)
    params = first_parameters(rng)
    state = (tree_map(lambda p: p * 0, params),) * 2
    step, test = jit(adam), jit(loss_of_tasks)
    new = draw_tasks(rng, 200)
    print(f"before: {test(params, *new).item():.3f}")
    for t in track(range(steps)):
        params, state, _ = step(params, state, draw_tasks(rng, TASKS), float(t + 1))
    print(f"error of new curves after one step: {test(params, *new).item():.3f}")


if __name__ == "__main__":
    main()
