"""Names that the examples in docstrings use when pytest runs them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygrad


@pytest.fixture(autouse=True)
def _names(doctest_namespace: dict[str, Any]) -> None:
    doctest_namespace.update(vars(polygrad), np=np)
