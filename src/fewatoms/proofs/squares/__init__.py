"""Least squares over atoms that are single columns: branch and bound in the space of a Gram matrix."""

from __future__ import annotations

import numpy as np

from fewatoms.proofs.base import Checked, Checker, Prover, Question, Search, Tree

NAME = "squares"


class Squares(Prover):
    """Serves where M is at hand, atoms are single columns, with either sign or nonnegative, and f is least squares."""

    def open(self, question: Question) -> Search | None:
        from fewatoms.proofs.squares.search import SquaresSearch
        from fewatoms.proofs.squares.table import singles

        return SquaresSearch(question) if singles(question) else None


class SquaresChecker(Checker):
    """Leaves by the bounds of their points, recomputed; lists and leaps made again."""

    def check(self, question: Question, tree: Tree, share: float, rng: np.random.Generator) -> Checked:
        from fewatoms.proofs.squares.checks import Check

        return Check(question, tree).run(share, rng)
