"""The door, with a prover behind it that looks at one choice after the other."""

import pytest

from fewatoms.proofs import families, question
from fewatoms.proofs.roots import Roots
from prove.twin import Exhaustive, OneByOneChecker


@pytest.fixture(autouse=True, scope="session")
def room():
    """As much memory as a search may ever keep, whoever else uses the machine: with less of it trees are others."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(question, "free", lambda: question.MEMORY / question.OF_FREE)
        yield


@pytest.fixture
def exhaustive(monkeypatch):
    """Only the exhaustive prover, and the one for matrices."""
    monkeypatch.setattr(families, "PROVERS", (Exhaustive(), Roots()))
    monkeypatch.setattr(families, "CHECKERS", {**families.CHECKERS, "one by one": OneByOneChecker()})
    return Exhaustive
