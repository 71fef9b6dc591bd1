"""Find a melody in noise: Fourier transforms detect its notes, and a filter removes the noise.

    python examples/spectrum.py [--noise 1.0]

Eight notes are played, each with overtones, in noise of the same power. The windowed spectrum of
each short frame has a peak at the note's frequency, which is interpolated from the two neighbouring
bins. Keeping only the bins near the note and its overtones, and transforming back, removes most of
the noise.
"""

from __future__ import annotations

import argparse
import math

from polygrad import Tensor, fft, random
from polygrad import numpy as np

RATE, LENGTH, PIECE = 8000, 4000, 1024  # samples a second, of a note, and of a piece
MELODY = "C4 E4 G4 C5 B4 G4 F4 D4"
NAMES = ["C", "C#", "D", "D#", "E", "F", "F#", "G", "G#", "A", "A#", "B"]


def frequency(note: str) -> float:
    """Return the frequency of a note in Hz: A4 is 440."""
    steps = NAMES.index(note[:-1]) - 9 + 12 * (int(note[-1]) - 4)
    return 440 * 2 ** (steps / 12)


def name(hertz: float) -> str:
    """Return the nearest note."""
    steps = round(12 * math.log2(hertz / 440)) + 9
    return f"{NAMES[steps % 12]}{4 + steps // 12}"


def play(notes: list[str]) -> Tensor:
    """Return the sound of notes, one after the other, each with two overtones."""
    time = Tensor.arange(LENGTH) / RATE
    hertz = Tensor([frequency(n) for n in notes]).unsqueeze(1)
    parts = [(hertz * k * time * (2 * math.pi)).sin() / k for k in (1, 2, 3)]
    fade = (time * -3).exp()
    return ((parts[0] + parts[1] + parts[2]) * fade).reshape(-1)


def spectra(sound: Tensor) -> Tensor:
    """Return the power spectrum of each frame: (frames, PIECE // 2 + 1)."""
    starts = Tensor.arange(0, sound.shape[0] - PIECE + 1, PIECE // 4)
    pieces = sound[starts.unsqueeze(1) + Tensor.arange(PIECE)]
    window: Tensor = np.hanning(PIECE)
    return fft.rfft(pieces * window).abs().square()


def peaks(power: Tensor) -> Tensor:
    """Return the frequency of the highest peak of each spectrum, by parabolic interpolation."""
    at = power[:, 1:-1].argmax(axis=1) + 1
    rows = Tensor.arange(power.shape[0])
    left, top, right = (power[rows, at + i].log() for i in (-1, 0, 1))
    return (at + (left - right) / (2 * (left - 2 * top + right))) * (RATE / PIECE)


def cleaned(sound: Tensor, hertz: list[float]) -> Tensor:
    """Return the sound of each note from the bins near its frequencies only."""
    notes = fft.rfft(sound.reshape(len(hertz), LENGTH))
    bins = fft.rfftfreq(LENGTH, 1 / RATE)
    tones = Tensor(hertz).unsqueeze(1) * Tensor([1, 2, 3])
    near = ((bins - tones.unsqueeze(-1)).abs() < 8).any(axis=1)
    return fft.irfft(near.where(notes, 0), LENGTH).reshape(-1)


def decibels(signal: Tensor, other: Tensor) -> float:
    """Return the signal-to-noise ratio: of a signal to its difference from another sound."""
    ratio = signal.square().sum() / (signal - other).square().sum()
    return 10 * math.log10(ratio.item())


def main() -> None:
    """Play, add noise, listen, and clean."""
    options = argparse.ArgumentParser(description="Hear a melody in noise.")
    options.add_argument("--noise", type=float, default=1.0, help="its strength; the notes have 1")
    noise = options.parse_args().noise

    clear = play(MELODY.split())
    strength = clear.square().mean().sqrt()
    sound = clear + random.normal(random.key(0), clear.shape) * strength * noise
    power = spectra(sound)
    print(f"{power.shape[0]} spectra of {power.shape[1]} bins")

    # The frame at the beginning of a note is the clearest.
    hertz = peaks(power)[(Tensor.arange(8) * LENGTH / (PIECE // 4)).ceil().cast("int32")].tolist()
    print("heard:", *map(name, hertz))
    wrong = max(abs(f - frequency(n)) for f, n in zip(hertz, MELODY.split()))
    print(f"greatest error: {wrong:.2f} Hz, of bins of {RATE / PIECE:.1f} Hz")
    print(f"signal to noise: {decibels(clear, sound):.1f} dB")
    print(f"signal to noise after the filter: {decibels(clear, cleaned(sound, hertz)):.1f} dB")


if __name__ == "__main__":
    main()
