"""The door, with a prover behind it that looks at one choice after the other."""

import pytest

from fewatoms.proofs import families
from prove.twin import Exhaustive, OneByOneChecker


@pytest.fixture
def exhaustive(monkeypatch):
    """Only the exhaustive prover, and the one for matrices."""
    monkeypatch.setattr(families, "PROVERS", (Exhaustive(), families.PROVERS[-1]))
    monkeypatch.setattr(families, "CHECKERS", {**families.CHECKERS, "one by one": OneByOneChecker()})
    return Exhaustive
