"""A plugin of pytest that runs one of n parts of the tests: POLY_PART=1/3 is every third from 1."""

from __future__ import annotations

import os

import pytest


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the tests of other parts."""
    first, parts = map(int, os.environ["POLY_PART"].split("/"))
    kept = items[first::parts]
    config.hook.pytest_deselected(items=[item for item in items if item not in set(kept)])
    items[:] = kept
