"""The door, with a prover behind it that looks at one choice after the other."""

import pytest

from fewatoms.proofs import families
from fewatoms.proofs.roots import Roots
from prove.twin import Exhaustive, OneByOneChecker


@pytest.fixture
def exhaustive(monkeypatch):
    """Only the exhaustive prover, and the one for matrices."""
    monkeypatch.setattr(families, "PROVERS", (Exhaustive(), Roots()))
    monkeypatch.setattr(families, "CHECKERS", {**families.CHECKERS, "one by one": OneByOneChecker()})
    return Exhaustive
