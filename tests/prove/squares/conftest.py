"""Loops as machine code, made before they are measured against anything."""

import pytest

from fewatoms.proofs.squares.loops import MACHINE


@pytest.fixture(scope="session", autouse=True)
def compiled():
    return MACHINE.now()
