"""Train a small character-level GPT on licences and generate text.

    python examples/chargpt.py                          (minutes; --steps 500 for a first look)
    python examples/chargpt.py --text shakespeare.txt --temperature 0.9

The text is the licences that every Debian has in /usr/share/common-licenses. The model is a causal
transformer over characters (Radford et al., Language Models are Unsupervised Multitask Learners):
it sees up to 64 characters and predicts the next one. Besides the loss the program shows how many
of the words that it generates occur in the text.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import numpy as np
import numpy.typing as npt

from polygrad import Tensor
from polygrad.nn import (
    AdamW,
    CosineAnnealingLRWithWarmup,
    Embedding,
    LayerNorm,
    Linear,
    TransformerBlock,
    clip_grad_norm_,
    compile_step,
    get_parameters,
)
from polygrad.progress import track

LICENCES = Path("/usr/share/common-licenses")
FILES = ("GPL-1", "GPL-2", "GPL-3", "LGPL-2.1", "LGPL-3", "MPL-2.0", "GFDL-1.3", "Apache-2.0")
SEED = 42
CONTEXT = 64
BATCH = 16
STEPS = 2500
RATE = 4e-3

Tokens = npt.NDArray[np.int32]


class CharGPT:
    """Maps tokens (batch, length) to logits of the next ones (batch, length, vocabulary)."""

    def __init__(self, vocabulary: int, width: int = 128, heads: int = 4, layers: int = 2) -> None:
        self.token = Embedding(vocabulary, width)
        self.place = Embedding(CONTEXT, width)
        self.blocks = [TransformerBlock(width, heads, causal=True) for _ in range(layers)]
        self.norm = LayerNorm(width)
        self.scores = Linear(width, vocabulary, bias=False)

    def __call__(self, tokens: Tensor) -> Tensor:
        """Return the logits of the next tokens."""
        x = self.token(tokens) + self.place(Tensor.arange(tokens.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.scores(self.norm(x))


def load_text(path: Path | None) -> str:
    """Return a text file, or the licences of this machine."""
    if path is not None:
        return path.read_text(encoding="utf-8")
    found = [LICENCES / name for name in FILES if (LICENCES / name).exists()]
    if not found:
        raise SystemExit(f"{LICENCES} has no licences: give another text with --text")
    text = "\n".join(file.read_text(encoding="utf-8") for file in found)
    # Only words and lines matter here, not indentation.
    return re.sub(r"\n{3,}", "\n\n", re.sub(r"[^\x20-\x7e\n]| *(?=\n)|(?<=[\n ]) +", "", text))


def train(model: CharGPT, tokens: Tokens, steps: int, random: np.random.Generator) -> None:
    """Fit the model to random windows of the text."""
    x = Tensor(np.zeros((BATCH, CONTEXT), np.int32))
    y = Tensor(np.zeros((BATCH, CONTEXT), np.int32))
    optimizer = AdamW(get_parameters(model), lr=RATE, weight_decay=0.1)
    schedule = CosineAnnealingLRWithWarmup(optimizer, RATE, RATE / 10, steps // 10 + 1, steps)

    def one_step() -> Tensor:
        optimizer.zero_grad()
        loss = model(x).flatten(0, 1).cross_entropy(y.flatten())
        loss.backward()
        clip_grad_norm_(optimizer.params, 1.0)
        optimizer.step()
        schedule.step()
        return loss

    step = compile_step(one_step)
    progress = track(range(steps), "training", unit="steps")
    for _ in progress:
        starts = random.integers(0, len(tokens) - CONTEXT, BATCH)
        windows = tokens[starts[:, None] + np.arange(CONTEXT + 1)]
        x._data[:], y._data[:] = windows[:, :-1], windows[:, 1:]
        step.run()
        progress.set(loss=step.loss_value())


def write(
    model: CharGPT, prompt: Tokens, length: int, temperature: float, random: np.random.Generator
) -> Tokens:
    """Return the prompt and its continuation, sampled token by token."""
    window = Tensor(np.zeros((1, CONTEXT), np.int32))
    row = Tensor(np.zeros(1, np.int32))

    def next_scores() -> Tensor:
        return model(window)[0, row[0]] / temperature

    # The causal mask ignores what follows the last token: one program serves texts of any length.
    step = compile_step(next_scores)
    out = list(prompt)
    for _ in track(range(length), "writing", unit="chars"):
        seen = out[-CONTEXT:]
        window._data[0, : len(seen)] = seen
        row._data[0] = len(seen) - 1
        step.run()
        scores = step.outputs[0].astype(np.float64)
        chances = np.exp(scores - scores.max())
        out.append(int(random.choice(len(chances), p=chances / chances.sum())))
    return np.array(out, np.int32)


def words_known(sample: str, text: str) -> float:
    """Return the share of the longer words of a sample that occur in the text."""
    longer = re.findall(r"[a-z]{4,}", sample.lower())
    known = set(re.findall(r"[a-z]{4,}", text.lower()))
    return sum(word in known for word in longer) / max(len(longer), 1)


def main() -> None:
    """Train, then write."""
    parser = argparse.ArgumentParser(description="Teach a small GPT to write.")
    parser.add_argument("--text", type=Path, help="what to learn (default: the licences)")
    parser.add_argument("--steps", type=int, default=STEPS, help="mini-batches to learn from")
    parser.add_argument("--prompt", default="You may ", help="how what is written begins")
    parser.add_argument("--length", type=int, default=600, help="characters to write")
    parser.add_argument("--temperature", type=float, default=0.7, help="how freely to choose")
    options = parser.parse_args()

    text = load_text(options.text)
    characters = sorted(set(text))
    number = {c: i for i, c in enumerate(characters)}
    tokens = np.array([number[c] for c in text], np.int32)
    strange = sorted(set(options.prompt) - set(characters))
    if strange or not options.prompt:
        parser.error(
            f"--prompt: {options.prompt!r}: {strange or 'empty'}, expected what the text has"
        )
    random = np.random.default_rng(SEED)

    Tensor.manual_seed(SEED)
    model = CharGPT(len(characters))
    train(model, tokens, options.steps, random)
    prompt = np.array([number[c] for c in options.prompt], np.int32)
    written = write(model, prompt, options.length, options.temperature, random)
    sample = "".join(characters[i] for i in written)
    print(sample)
    print(f"words of the text: {words_known(sample, text):.2f}")


if __name__ == "__main__":
    main()
