"""What the comparisons share. They are skipped without torch and transformers (make test-peers)."""

from __future__ import annotations

import importlib.util

collect_ignore_glob = []
if all(map(importlib.util.find_spec, ("torch", "transformers"))):
    import torch

    # transformers asks CUDA, whose libraries are not there (see install.py).
    torch.cuda.is_current_stream_capturing = lambda: False
else:
    collect_ignore_glob.append("test_*.py")
if importlib.util.find_spec("optax") is None:
    collect_ignore_glob.append("test_optim.py")
