"""Train on handwritten digits with differential privacy: DP-SGD.

    python examples/private_digits.py

`vmap(grad(loss))` gives the gradient of each example. Its norm is clipped, and noise of the size of
this limit is added to the sum, which hides the influence of any single example.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from digits import load_digits

from polygrad import Tensor, random
from polygrad.func import grad, jit, tree_map, vmap
from polygrad.progress import track

BATCH, LIMIT, NOISE, RATE, HIDDEN = 256, 1.0, 0.6, 0.5, 64
Parameters = dict[str, Tensor]


def scores(params: Parameters, pixels: Tensor) -> Tensor:
    """Return a score for each digit."""
    return (pixels @ params["w"] + params["b"]).tanh() @ params["v"] + params["c"]


def loss(params: Parameters, pixels: Tensor, label: Tensor) -> Tensor:
    """Return the loss of one example."""
    return -scores(params, pixels).log_softmax()[label]


def clipped(params: Parameters, pixels: Tensor, label: Tensor) -> Parameters:
    """Return the gradient of one example, clipped to norm LIMIT."""
    slope = grad(loss)(params, pixels, label)
    norm = sum((g.square().sum() for g in slope.values()), start=Tensor(1e-12)).sqrt()
    result: Parameters = tree_map(lambda g: g / (norm / LIMIT).maximum(1.0), slope)
    return result


def step(params: Parameters, key: Tensor, pixels: Tensor, labels: Tensor) -> Any:
    """Return the parameters after a step, and a key for the next one."""
    each = vmap(clipped, in_axes=(None, 0, 0))(params, pixels, labels)
    keys = random.split(key, len(params) + 1)
    noise = {k: random.normal(keys[i + 1], p.shape) for i, (k, p) in enumerate(params.items())}
    new = tree_map(
        lambda p, g, n: p - RATE * (g.sum(0) + NOISE * LIMIT * n) / BATCH, params, each, noise
    )
    return new, keys[0]


def main() -> None:
    """Train, and show the accuracy on the test digits."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=400)
    steps = parser.parse_args().steps
    rng = np.random.default_rng(0)
    pixels, labels = load_digits()
    order = rng.permutation(len(labels))
    test, train = order[:360], order[360:]
    shapes = {"w": (64, HIDDEN), "b": (HIDDEN,), "v": (HIDDEN, 10), "c": (10,)}
    params = {k: Tensor(rng.normal(0, 0.1, s).astype("float32")) for k, s in shapes.items()}
    fast, key = jit(step), random.key(0)
    for _ in track(range(steps)):
        chosen = rng.choice(train, BATCH, replace=False)
        params, key = fast(params, key, Tensor(pixels[chosen]), Tensor(labels[chosen]))
    read = scores(params, Tensor(pixels[test])).argmax(1).numpy()
    print(f"test accuracy: {np.mean(read == labels[test]):.4f}")


if __name__ == "__main__":
    main()
