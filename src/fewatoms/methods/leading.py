"""Matrices that are seen in full, and a bound alone: the leading singular vectors of the data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fewatoms import ledger
from fewatoms.budget import Budget
from fewatoms.candidates import Candidate, DualPoint, Iterate
from fewatoms.capabilities import SeenAsIs, Semidefinite, Spectrum
from fewatoms.goals import FewestAtoms, Goal
from fewatoms.methods.base import Job, Method, Pace
from fewatoms.methods.sums import dual_of, plain_squares, weights_differ
from fewatoms.problem import Problem


class FewestTriplets(FewestAtoms):
    """As few as meet the bound: of so many atoms the leading ones leave least."""

    @property
    def endings(self) -> Mapping[str, str]:
        told = "the bound is met, by the smallest number that can: singular values say what fewer atoms leave."
        return {**super().endings, "BOUND_MET": told}


@dataclass(frozen=True)
class Leading(Method):
    """As few orthonormal atoms that turn (rank-one matrices, of the whole or of blocks) as meet a bound, where all
    entries are data of equal weight: k leading singular triplets of b leave least of all matrices of k atoms (Eckart
    and Young), half the sum of the squares of the other singular values.

    first : singular values that are looked at first; then twice as many each time, until they say how many it takes
    rounded : share of the loss of nothing at all that sums of squares may be off by
    """

    first: int = 8
    rounded: float = 1e-14

    def open(self, problem: Problem, budgets: Sequence[Budget]) -> Job | None:
        atoms = problem.atoms
        alone = len(budgets) == 1 and budgets[0].nothing_said and problem.alpha is not None
        if not alone or atoms.parts or atoms.finite or not atoms.orthonormal or atoms.unwrapped().maps:
            return None
        if atoms.offers(Spectrum) is None or atoms.offers(Semidefinite) is not None:
            return None
        if not plain_squares(problem) or weights_differ(problem) or problem.m < atoms.n:
            return None
        return None if problem.M.offers(SeenAsIs) is None else LeadingJob(problem, budgets, self)


class LeadingJob(Job):
    """Its iterates are candidates of one atom after the other, from where singular values say that it may be enough."""

    pace = Pace(patience=1_000_000, complete=True)  # the stream ends by itself

    def __init__(self, problem: Problem, budgets: Sequence[Budget], method: Leading) -> None:
        super().__init__(problem, budgets)
        self.method = method

    def goal(self, problem: Problem) -> Goal:
        return FewestTriplets(problem)

    def iterates(self, course: Sequence[Budget]) -> Iterator[Iterate]:
        problem = self.problem
        for k in range(self._least(), problem.atoms.count + 1):
            z = problem.M.adjoint(problem.b)
            face = problem.atoms.expose(z, k)
            c = face.adjoint(z) / problem.atoms.unwrapped().scale ** 2  # atoms are orthonormal, up to that
            residual = problem.b - face.measure(problem.M, c)
            candidate = Candidate.of(face, c, residual, problem.loss.value(residual))
            yield Iterate(primal=candidate)
            if problem.meets(candidate.loss):
                return

    def _least(self) -> int:
        """The fewest atoms that may be enough."""
        problem, most = self.problem, self.problem.atoms.count
        z, spectrum = problem.M.adjoint(problem.b), problem.atoms.offers(Spectrum)
        assert spectrum is not None
        scale, total = problem.atoms.unwrapped().scale, float(problem.b @ problem.b)
        enough = problem.tolerance / problem.at_zero + self.method.rounded
        k = min(self.method.first, most)
        while True:
            s = spectrum.spectrum(z, k) / scale
            ledger.tick()
            left = 1.0 - np.cumsum(s * s) / total
            met = np.flatnonzero(left <= enough)
            if met.size or k == most:
                return int(met[0]) + 1 if met.size else most
            k = min(2 * k, most)

    def retrieve(self, iterate: Iterate, budget: Budget) -> Candidate:
        assert iterate.primal is not None
        return iterate.primal

    def evaluate(self, iterate: Iterate) -> DualPoint:
        assert iterate.primal is not None
        return dual_of(self.problem, iterate.primal)


__all__ = ["Leading"]
