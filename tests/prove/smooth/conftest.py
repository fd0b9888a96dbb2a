"""Machine code of the loops, made once."""

import pytest

from fewatoms.proofs.smooth.nodes import MACHINE


@pytest.fixture(autouse=True, scope="session")
def machine_code():
    """Nobody waits for the builder in the middle of a test."""
    return MACHINE.now() if MACHINE.wanted else None
