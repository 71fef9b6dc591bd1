"""Train a small network on handwritten digits.

    make demo                                   (or: python examples/digits.py)

1,797 digits of 8x8 pixels; one fifth is held back for the test. A network with two hidden
layers learns from the rest in mini-batches. At the end a picture shows the loss curve and the
misclassified test digits.
"""

from __future__ import annotations

import argparse
import gzip
from pathlib import Path

import matplotlib
import numpy as np
import numpy.typing as npt

from polygrad import Tensor
from polygrad.nn import AdamW, Linear, compile_step, get_parameters
from polygrad.progress import track

matplotlib.use("Agg")  # draw into a file: no screen is needed
import matplotlib.pyplot as plt

HERE = Path(__file__).resolve().parent
SEED = 42
BATCH = 128
EPOCHS = 60
LEARNING_RATE = 2e-3
WEIGHT_DECAY = 0.5  # keeps the network from learning 1,400 digits by heart

FloatArray = npt.NDArray[np.float32]
IntArray = npt.NDArray[np.int32]


class Reader:
    """Maps 64 pixels to one score per digit."""

    def __init__(self, hidden: int = 256) -> None:
        self.layer1 = Linear(64, hidden)
        self.layer2 = Linear(hidden, hidden)
        self.layer3 = Linear(hidden, 10)

    def __call__(self, pixels: Tensor) -> Tensor:
        """Return the scores, shape (batch, 10), of pixels of shape (batch, 64)."""
        x = self.layer1(pixels).relu()
        x = self.layer2(x).relu()
        return self.layer3(x)


def load_digits() -> tuple[FloatArray, IntArray]:
    """Return the pixels, shape (1797, 64), scaled to 0..1, and the labels 0..9."""
    with gzip.open(HERE / "data" / "digits.csv.gz", "rt") as file:
        table = np.loadtxt(file, delimiter=",", dtype=np.int32)
    return (table[:, :64] / 16).astype(np.float32), table[:, 64]


def train(model: Reader, pixels: FloatArray, labels: IntArray, epochs: int) -> list[float]:
    """Fit the model to the digits; return the loss of every mini-batch."""
    x = Tensor(pixels[:BATCH].copy())
    y = Tensor(labels[:BATCH].copy())
    optimizer = AdamW(get_parameters(model), lr=LEARNING_RATE, weight_decay=WEIGHT_DECAY)

    def one_step(model: Reader, optimizer: AdamW, x: Tensor, y: Tensor) -> Tensor:
        optimizer.zero_grad()
        loss = model(x).cross_entropy(y)
        loss.backward()
        optimizer.step()
        return loss

    # Forward, backward and update are one compiled program, which reads x and y in each run.
    step = compile_step(one_step, model, optimizer, x, y)

    shuffle = np.random.default_rng(SEED)
    losses: list[float] = []
    progress = track(range(epochs), "training", unit="epochs")
    for _ in progress:
        order = shuffle.permutation(len(pixels))
        for start in range(0, len(order) - BATCH + 1, BATCH):
            batch = order[start : start + BATCH]
            x._data[:] = pixels[batch]
            y._data[:] = labels[batch]
            step.run()
            losses.append(step.loss_value())
        progress.set(loss=losses[-1])
    return losses


def draw(
    path: Path, losses: list[float], pixels: FloatArray, read: IntArray, true: IntArray
) -> None:
    """Save the loss curve and the misclassified digits as a picture."""
    wrong = np.flatnonzero(read != true)
    columns = 8
    rows = 2 + -(-len(wrong) // columns)
    figure = plt.figure(figsize=(11, 1.6 * rows), layout="constrained")
    figure.suptitle(f"{len(wrong)} of {len(true)} held-back digits misread")
    grid = figure.add_gridspec(rows, columns)

    curve = figure.add_subplot(grid[:2, :])
    curve.semilogy(losses, linewidth=0.8)
    curve.set(xlabel="mini-batch", ylabel="loss (cross entropy)")

    for place, i in enumerate(wrong):
        cell = figure.add_subplot(grid[2 + place // columns, place % columns])
        cell.imshow(pixels[i].reshape(8, 8), cmap="gray_r")
        cell.set_title(f"{true[i]} read as {read[i]}", fontsize=9)
        cell.axis("off")
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main() -> None:
    """Train, test, draw."""
    parser = argparse.ArgumentParser(description="Teach a small network to read digits.")
    parser.add_argument(
        "--epochs", type=int, default=EPOCHS, help="passes over the training digits"
    )
    parser.add_argument("--picture", type=Path, default=HERE / "digits.png", help="where to draw")
    options = parser.parse_args()

    pixels, labels = load_digits()
    order = np.random.default_rng(SEED).permutation(len(pixels))
    held_back, rest = order[: len(order) // 5], order[len(order) // 5 :]

    Tensor.manual_seed(SEED)
    model = Reader()
    losses = train(model, pixels[rest], labels[rest], options.epochs)

    scores = model(Tensor(pixels[held_back])).numpy()
    read = scores.argmax(axis=1)
    draw(options.picture, losses, pixels[held_back], read, labels[held_back])
    print(f"loss curve and misread digits: {options.picture}")
    print(f"test accuracy: {(read == labels[held_back]).mean():.4f}")


if __name__ == "__main__":
    main()
