"""What the comparisons share. They are skipped without torch and transformers (make test-peers)."""

from __future__ import annotations

import importlib.util

import pytest
from turns import WEEK, today

# The tests whose cases have parts; of the others each day has a third, but a seventh of those which
# JAX compiles for long.
PARTED = {
    "test_two_transformations_of_an_operation",
    "test_three_transformations_of_random_programs",
    "test_nested_programs",
    "test_steps_are_those_of_optax",
    "test_losses_are_those_of_optax",
    "test_projections_are_those_of_optax",
    "test_cases",
}


def slow(item: pytest.Item) -> bool:
    """Report whether a test is of the slow ones."""
    return item.path.name in ("test_lax.py", "test_random.py")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests that have another day."""
    names = [getattr(item, "originalname", item.name) for item in items]
    left = {
        item
        for number, (item, name) in enumerate(zip(items, names))
        if name not in PARTED and not today(WEEK if slow(item) else 3, number)
    }
    config.hook.pytest_deselected(items=list(left))
    items[:] = [item for item in items if item not in left]


collect_ignore_glob = []
if all(map(importlib.util.find_spec, ("torch", "transformers"))):
    import torch

    # transformers asks CUDA, whose libraries are not there (see install.py).
    torch.cuda.is_current_stream_capturing = lambda: False
else:
    collect_ignore_glob.append("test_*.py")
if importlib.util.find_spec("optax") is None:
    collect_ignore_glob.append("test_optim.py")
