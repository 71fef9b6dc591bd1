"""What the comparisons share. Without torch and transformers they are skipped: make test-peers has them."""

from __future__ import annotations

import importlib.util

collect_ignore_glob = (
    [] if all(map(importlib.util.find_spec, ("torch", "transformers"))) else ["test_*.py"]
)
