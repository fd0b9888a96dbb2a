"""Which cases of large families run every time."""

import zlib

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Of a test marked `sampled(n)` one case in n runs by default, drawn by its name; `make soak` runs them all."""
    for item in items:
        mark = item.get_closest_marker("sampled")
        if mark is not None and zlib.crc32(item.nodeid.encode()) % mark.args[0]:
            item.add_marker(pytest.mark.soak)
