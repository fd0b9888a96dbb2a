"""Least squares over atoms that are single columns: branch and bound in the space of a Gram matrix."""

from __future__ import annotations

from fewatoms.proofs.base import Prover, Question, Search


class Squares(Prover):
    """Serves where M is at hand, atoms are single columns, with either sign or nonnegative, and f is least squares."""

    def open(self, question: Question) -> Search | None:
        from fewatoms.proofs.squares.search import SquaresSearch
        from fewatoms.proofs.squares.table import singles

        return SquaresSearch(question) if singles(question) else None
