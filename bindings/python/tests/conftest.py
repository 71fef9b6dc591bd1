"""What all tests of the binding share."""

import gc


def pytest_collection_finish():
    """Keep thousands of tests out of the collector's way: some tests collect garbage."""
    gc.collect()
    gc.freeze()
