"""Proofs over groups of atoms, and with losses other than least squares: bounds by dual vectors, best first."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fewatoms.proofs.base import Checked, Checker, Prover, Question, Search, Tree
from fewatoms.proofs.paying import Paying
from fewatoms.proofs.smooth.checks import checked
from fewatoms.proofs.smooth.given import Posed, kind_of, needs
from fewatoms.proofs.smooth.search import SmoothSearch
from fewatoms.proofs.smooth.table import SMOOTH_TREE

__all__ = ["SMOOTH_TREE", "Smooth", "SmoothChecker"]


@dataclass(frozen=True)
class Smooth(Prover):
    """Groups with least squares, Huber's loss, logistic and multinomial ones; single atoms with these."""

    def open(self, question: Question) -> Search | None:
        posed = posed_of(question)
        return None if posed is None else SmoothSearch(question, posed)


class SmoothChecker(Checker):
    """Leaves by the bounds of their coefficients, recomputed."""

    def check(self, question: Question, tree: Tree, share: float, rng: np.random.Generator) -> Checked:
        return checked(question, posed_of(question), tree, share, rng)


def posed_of(question: Question) -> Posed | None:
    """The question over listed atoms; None where it is none, or needs more memory than there may be."""
    kind, paying = kind_of(question.problem), Paying.of(question.problem)
    if kind is None or paying is None or needs(paying) > question.memory:
        return None
    return Posed.of(paying, kind)
