"""Fit a table of numbers with each of polygrad's model families.

    python examples/tabular.py

The table is Friedman's (Multivariate Adaptive Regression Splines, 1991, formula 61): ten columns
in 0..1, of which five matter,

    y = 10 sin(pi x0 x1) + 20 (x2 - 1/2)^2 + 10 x3 + 5 x4 + noise of variance 1,

so that no model can explain more than 96 % of its variance. mlp is a perceptron, tabm an ensemble
of perceptrons that share most weights (arXiv:2410.24210), nam a sum of one network per column
(arXiv:2004.13912), which cannot model the interaction of x0 and x1. Models of these families need
no Tensors: they own their memory, and any binding of polygrad loads them from the bundles that
--save writes.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import numpy.typing as npt

from polygrad import Instance
from polygrad.progress import track

SEED = 42
ROWS = 2400
COLUMNS = 10
BATCH = 64
EPOCHS = 40
RATE = 3e-3

FloatArray = npt.NDArray[np.float32]


def make_table(rows: int, random: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Return the columns, shape (rows, 10), and y, shape (rows, 1)."""
    x = random.random((rows, COLUMNS))
    wave = 10 * np.sin(np.pi * x[:, 0] * x[:, 1])
    y = wave + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3] + 5 * x[:, 4] + random.normal(size=rows)
    return x.astype(np.float32), y.astype(np.float32)[:, None]


def make_models() -> dict[str, Instance]:
    """Return a model of each family."""
    common = {"loss": "mse", "activation": "relu", "batch_size": BATCH, "seed": SEED}
    layers = [COLUMNS, 64, 64, 1]
    return {
        "mlp": Instance.mlp(layers=layers, **common),
        "tabm": Instance.tabm(layers=layers, n_ensemble=8, **common),
        "nam": Instance.nam(n_features=COLUMNS, hidden_sizes=[32, 32], **common),
    }


def predict(model: Instance, x: FloatArray) -> FloatArray:
    """Return the outputs of the rows of x, a batch at a time."""
    parts = []
    for start in range(0, len(x), BATCH):
        batch = x[start : start + BATCH]
        parts.append(model.forward(x=batch)["output"][: len(batch)])
    return np.concatenate(parts)


def train(name: str, model: Instance, x: FloatArray, y: FloatArray, epochs: int) -> None:
    """Fit a model in mini-batches; the rate drops to a tenth in the last quarter of the epochs."""
    random = np.random.default_rng(SEED)
    progress = track(range(epochs), f"{name:4}", unit="epochs")
    for epoch in progress:
        if epoch in (0, epochs * 3 // 4):
            model.set_optimizer("adamw", lr=RATE if epoch == 0 else RATE / 10, weight_decay=0.3)
        order = random.permutation(len(x))
        losses = [
            model.train_step(x=x[order[start : start + BATCH]], y=y[order[start : start + BATCH]])
            for start in range(0, len(order) - BATCH + 1, BATCH)
        ]
        progress.set(loss=np.mean(losses))


def r2(predicted: FloatArray, true: FloatArray) -> float:
    """Return the explained share of the variance of true."""
    return float(1 - np.square(predicted - true).mean() / np.square(true - true.mean()).mean())


def main() -> None:
    """Train each family on four fifths of the table and test it on the rest."""
    parser = argparse.ArgumentParser(description="Fit a table with each family of models.")
    parser.add_argument("--epochs", type=int, default=EPOCHS, help="passes over the table")
    parser.add_argument("--save", type=Path, help="a folder for the models, as bundles")
    options = parser.parse_args()

    x, y = make_table(ROWS, np.random.default_rng(SEED))
    held_back = ROWS // 5
    mean, scale = y[held_back:].mean(), y[held_back:].std()
    table = np.c_[x, np.ones(ROWS, np.float32)]  # for what a plane can do
    plane = np.linalg.lstsq(table[held_back:], y[held_back:], rcond=None)[0]
    results = {"plane": r2(table[:held_back] @ plane, y[:held_back])}
    for name, model in make_models().items():
        train(name, model, x[held_back:], (y[held_back:] - mean) / scale, options.epochs)
        results[name] = r2(predict(model, x[:held_back]) * scale + mean, y[:held_back])
        if options.save is not None:
            options.save.mkdir(parents=True, exist_ok=True)
            (options.save / f"{name}.bundle").write_bytes(model.save_bundle())
    for name, value in results.items():
        print(f"{name:5} R2 on held-back rows: {value:.3f}")


if __name__ == "__main__":
    main()
