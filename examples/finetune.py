"""Fine-tune a network from a safetensors file on another task with few examples.

    python examples/finetune.py --base base.safetensors

The base is the network of digits_cnn.py, which classifies digits; if the file does not exist, it is
trained and written first. All of its layers except the last are loaded into a new network, which
learns to tell odd digits from even ones, from two images of each digit. An untrained network learns
from the same images, for comparison. Both are tested on digits that neither has seen.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from digits import SEED, load_digits
from digits_cnn import Network, moved, train

from polygrad import Tensor
from polygrad.nn import AdamW, compile_step, get_parameters, get_state_dict, load_state_dict
from polygrad.nn.state import safe_load, safe_save
from polygrad.progress import track

if TYPE_CHECKING:
    from digits import FloatArray, IntArray

EPOCHS = 15
EACH = 2
STEPS = 150
RATE = 3e-3
NEW_LAYER = "scores."


def make_base(path: Path, images: FloatArray, labels: IntArray) -> None:
    """Train a network and write it to a safetensors file."""
    Tensor.manual_seed(SEED)
    model = Network()
    train(model, images, labels, EPOCHS)
    safe_save(get_state_dict(model), path, metadata={"task": "digits"})


def load_base(path: Path) -> Network:
    """Return a network with the layers of a file and a new last layer."""
    model = Network()
    layers = {n: t for n, t in safe_load(path).items() if not n.startswith(NEW_LAYER)}
    load_state_dict(model, layers, strict=False)
    return model


def tune(name: str, model: Network, images: FloatArray, labels: IntArray, old_rate: float) -> None:
    """Fit a network to a few images, all of them in each step; loaded layers at old_rate."""
    x, y = Tensor(images.copy()), Tensor(labels.copy())
    state = get_state_dict(model)
    new = [t for n, t in state.items() if n.startswith(NEW_LAYER)]
    old = [p for p in get_parameters(model) if not any(p is t for t in new)]
    fast, slow = AdamW(new, lr=RATE), AdamW(old, lr=old_rate)

    @Tensor.train()
    def one_step() -> Tensor:
        fast.zero_grad()
        slow.zero_grad()
        loss = model(x).cross_entropy(y, label_smoothing=0.1)
        loss.backward()
        fast.step()
        slow.step()
        return loss

    step = compile_step(one_step)
    random = np.random.default_rng(SEED)
    progress = track(range(STEPS), f"{name:10}", unit="steps")
    for _ in progress:
        x._data[:] = moved(images, random)
        step.run()
        progress.set(loss=step.loss_value())


def main() -> None:
    """Make or load the base, tune it, compare."""
    parser = argparse.ArgumentParser(description="Fine-tune a network from a safetensors file.")
    parser.add_argument("--base", type=Path, help="the file (default: one that is thrown away)")
    parser.add_argument("--each", type=int, default=EACH, help="images of each digit")
    options = parser.parse_args()
    if options.each < 1:
        parser.error(f"--each: {options.each}, expected at least 1")

    pixels, labels = load_digits()
    images = pixels.reshape(-1, 1, 8, 8)
    order = np.random.default_rng(SEED).permutation(len(images))
    test, rest = order[: len(order) // 5], order[len(order) // 5 :]
    few = np.concatenate([rest[labels[rest] == digit][: options.each] for digit in range(10)])
    odd = labels % 2

    with tempfile.TemporaryDirectory() as folder:
        base = options.base or Path(folder) / "base.safetensors"
        if not base.exists():
            make_base(base, images[rest], labels[rest])
        Tensor.manual_seed(SEED)
        # Loaded layers are nearly right already and learn slowly.
        models = {"fine-tuned": (load_base(base), RATE / 10), "afresh": (Network(), RATE)}
    for name, (model, old_rate) in models.items():
        tune(name, model, images[few], odd[few], old_rate)
    for name, (model, _) in models.items():
        read = model(Tensor(images[test])).argmax(1).numpy()
        print(f"{name:10} accuracy on {len(test)} digits: {(read == odd[test]).mean():.4f}")


if __name__ == "__main__":
    main()
