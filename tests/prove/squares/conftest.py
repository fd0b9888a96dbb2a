"""Loops as machine code, made before they are measured against anything."""

import pytest

from fewatoms.proofs.squares.loops import SQUARES_LOOPS


@pytest.fixture(scope="session", autouse=True)
def compiled():
    return SQUARES_LOOPS.now()
