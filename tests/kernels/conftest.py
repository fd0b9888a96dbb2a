"""Tests of kernels.py and of the loops in _loops.py that it calls: `test_loops.py` runs those compiled and interpreted.

The fixture says which way loops go: compiled, or their NumPy twins.
"""

import pytest

from fewatoms import kernels


@pytest.fixture(params=["loop", "numpy"])
def way(request, monkeypatch):
    """Whether the compiled loop or its twin does the work, however few the entries."""
    monkeypatch.setattr(kernels, "WORTHWHILE", 0 if request.param == "loop" else 10**9)
    return request.param
