"""Who is measured: ourselves in several ways, and the frameworks that we are compared with."""

from __future__ import annotations

OURS, PORTABLE, SPLIT = "polygrad", "polygrad wasm", "polygrad bf16x3"
# What tells the library apart from its usual way.
WAYS: dict[str, dict[str, str]] = {
    OURS: {},
    PORTABLE: {"POLY_DEVICE": "wasm"},
    SPLIT: {"POLY_F32": "bf16x3"},
}
# Module of peers, variant, seconds that a preparation may take.
CONTESTANTS: dict[str, tuple[str, str, float]] = {
    **dict.fromkeys(WAYS, ("polygrad", "", 120.0)),
    "numpy": ("numpy", "", 60),
    "torch": ("torch", "", 60),
    "torch compile": ("torch", "compile", 120),
    "jax": ("jax", "", 120),
    "tinygrad": ("tinygrad", "", 60),
    "tinygrad beam": ("tinygrad", "beam", 120),
}
# Searching takes minutes the first time; what was found is kept in build/peers/cache.
BEAM = "tinygrad beam"
USUAL = [name for name in CONTESTANTS if name not in WAYS]
