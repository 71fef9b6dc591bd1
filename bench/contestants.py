"""The contestants: polygrad in several configurations, and the frameworks it is compared with."""

from __future__ import annotations

OURS, PORTABLE, SPLIT = "polygrad", "polygrad wasm", "polygrad bf16x3"
# The environment variables of each configuration of polygrad.
WAYS: dict[str, dict[str, str]] = {
    OURS: {},
    PORTABLE: {"POLY_DEVICE": "wasm"},
    SPLIT: {"POLY_F32": "bf16x3"},
}
# Module in peers, variant, timeout of a preparation in seconds.
CONTESTANTS: dict[str, tuple[str, str, float]] = {
    **dict.fromkeys(WAYS, ("polygrad", "", 120.0)),
    "numpy": ("numpy", "", 60),
    "torch": ("torch", "", 60),
    "torch compile": ("torch", "compile", 120),
    "jax": ("jax", "", 120),
    "tinygrad": ("tinygrad", "", 60),
    "tinygrad beam": ("tinygrad", "beam", 120),
}
# A search takes minutes the first time; its results are cached in build/peers/cache.
BEAM = "tinygrad beam"
USUAL = [name for name in CONTESTANTS if name not in WAYS]
