"""Which cases of large families run every time."""

import zlib
from collections import Counter

import pytest


def pytest_addoption(parser):
    parser.addoption(
        "--thin",
        type=int,
        default=1,
        help="of the cases of each test one in so many, the first among them: enough to see what is reached",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Of a test marked `sampled(n)` one case in n runs by default, drawn by its name; `make soak` runs them all."""
    for item in items:
        mark = item.get_closest_marker("sampled")
        if mark is not None and zlib.crc32(item.nodeid.encode()) % mark.args[0]:
            item.add_marker(pytest.mark.soak)
    _thin(items, config.getoption("thin"))


def _thin(items, every):
    """Leave out cases: not those of soak alone, so that a test keeps one that runs."""
    met: Counter[str] = Counter()
    left = []
    for item in items:
        if item.get_closest_marker("soak") is None:
            family = item.nodeid.partition("[")[0]
            if met[family] % every == 0:
                left.append(item)
            met[family] += 1
        elif every == 1:
            left.append(item)
    items[:] = left
