"""Train a convolutional network on handwritten digits: 99 % accuracy.

    python examples/digits_cnn.py

The data are those of digits.py: 1,797 digits of 8x8 pixels, one fifth held back. The network has
convolutions and batch normalisation; each epoch shifts the digits by up to one pixel, as data
augmentation against overfitting. Forward, backward, the running averages of the normalisation, the
optimizer and its schedule become one compiled program.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

import numpy as np
from digits import BATCH, SEED, load_digits

from polygrad import Tensor
from polygrad.nn import (
    AdamW,
    BatchNorm2d,
    Conv2d,
    Linear,
    OneCycleLR,
    compile_step,
    get_parameters,
)
from polygrad.progress import track

if TYPE_CHECKING:
    from digits import FloatArray, IntArray

EPOCHS = 40
HIGHEST_RATE = 1e-2
WEIGHT_DECAY = 0.05


class Network:
    """Maps 8x8 pixels to one score per digit: two pairs of convolutions, then a linear layer."""

    def __init__(self, channels: int = 24) -> None:
        self.conv1 = Conv2d(1, channels, 3, padding=1, bias=False)
        self.norm1 = BatchNorm2d(channels)
        self.conv2 = Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm2 = BatchNorm2d(channels)
        self.conv3 = Conv2d(channels, 2 * channels, 3, padding=1, bias=False)
        self.norm3 = BatchNorm2d(2 * channels)
        self.conv4 = Conv2d(2 * channels, 2 * channels, 3, padding=1, bias=False)
        self.norm4 = BatchNorm2d(2 * channels)
        self.scores = Linear(2 * channels * 2 * 2, 10)

    def __call__(self, pixels: Tensor) -> Tensor:
        """Return the scores, shape (batch, 10), of pixels of shape (batch, 1, 8, 8)."""
        x = self.norm1(self.conv1(pixels)).relu()
        x = self.norm2(self.conv2(x)).relu().max_pool2d(2)
        x = self.norm3(self.conv3(x)).relu()
        x = self.norm4(self.conv4(x)).relu().max_pool2d(2)
        return self.scores(x.flatten(1).dropout(0.3))


def moved(images: FloatArray, random: np.random.Generator) -> FloatArray:
    """Return images (n, 1, 8, 8), each shifted by -1, 0 or 1 pixels along both axes."""
    n = len(images)
    padded = np.pad(images, ((0, 0), (0, 0), (1, 1), (1, 1)))
    rows = random.integers(0, 3, n)[:, None, None] + np.arange(8)[None, :, None]
    columns = random.integers(0, 3, n)[:, None, None] + np.arange(8)[None, None, :]
    out: FloatArray = padded[np.arange(n)[:, None, None], 0, rows, columns][:, None]
    return out


def train(model: Network, images: FloatArray, labels: IntArray, epochs: int) -> None:
    """Fit the model to the digits."""
    x, y = Tensor(images[:BATCH].copy()), Tensor(labels[:BATCH].copy())
    optimizer = AdamW(get_parameters(model), lr=HIGHEST_RATE, weight_decay=WEIGHT_DECAY)
    steps = len(images) // BATCH * epochs
    # The rate rises for a third of the steps, then falls to nearly 0.
    schedule = OneCycleLR(optimizer, HIGHEST_RATE, total_steps=steps, pct_start=0.3)

    @Tensor.train()
    def one_step() -> Tensor:
        optimizer.zero_grad()
        loss = model(x).cross_entropy(y, label_smoothing=0.1)
        loss.backward()
        optimizer.step()
        schedule.step()
        return loss

    step = compile_step(one_step)
    random = np.random.default_rng(SEED)
    progress = track(range(epochs), "training", unit="epochs")
    for _ in progress:
        order = random.permutation(len(images))
        shown = moved(images[order], random)
        for start in range(0, len(order) - BATCH + 1, BATCH):
            x._data[:] = shown[start : start + BATCH]
            y._data[:] = labels[order[start : start + BATCH]]
            step.run()
        progress.set(loss=step.loss_value())


def main() -> None:
    """Train and test."""
    parser = argparse.ArgumentParser(description="Read digits with a convolutional network.")
    parser.add_argument("--epochs", type=int, default=EPOCHS, help="passes over the digits")
    options = parser.parse_args()

    pixels, labels = load_digits()
    images = pixels.reshape(-1, 1, 8, 8)
    order = np.random.default_rng(SEED).permutation(len(images))
    held_back, rest = order[: len(order) // 5], order[len(order) // 5 :]

    Tensor.manual_seed(SEED)
    model = Network()
    train(model, images[rest], labels[rest], options.epochs)
    read = model(Tensor(images[held_back])).argmax(1).numpy()
    right = int((read == labels[held_back]).sum())
    print(f"{right} of {len(held_back)} held-back digits read right")
    print(f"test accuracy: {right / len(held_back):.4f}")


if __name__ == "__main__":
    main()
