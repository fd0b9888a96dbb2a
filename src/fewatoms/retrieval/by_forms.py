"""Turning the factors of small problems by Newton's method, where M is an array that can be read."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from fewatoms import ledger, linalg
from fewatoms._types import FloatArray
from fewatoms.candidates import Candidate
from fewatoms.problem import EXACT, Problem
from fewatoms.retrieval.damped import Damped
from fewatoms.retrieval.forms import PairForms, pair_forms, reads_pairs
from fewatoms.retrieval.polish import Turn


@dataclass(frozen=True, eq=False)
class FormTurn(Turn):
    """Pairs of factors, turned by Newton's method; of a job, which it keeps M's rows for. Reading M is no product.

    problem : whose pairs they are, with any budget
    work : multiplications at most of a fit over all matrices, which is where as many atoms as there are begin
    agree : relative; two descents to losses this close have found what there is to be found
    little : share of f(b): two losses below are one, rounding in ill-conditioned data
    """

    problem: Problem = field(kw_only=True)
    newton: Damped = field(default_factory=Damped)
    work: float = 1e9
    agree: float = 1e-6
    little: float = 1e-16
    ends: dict[int, float] = field(default_factory=dict)  # by the number of atoms: the lowest loss so far

    @classmethod
    def suits(cls, problem: Problem) -> bool:
        """Whether pairs of this problem can be turned so."""
        return reads_pairs(problem)

    @cached_property
    def forms(self) -> PairForms:
        """Read once."""
        return pair_forms(self.problem)

    def settle(self, problem: Problem, candidate: Candidate) -> Candidate:
        face, c = candidate.face.prune(candidate.c, problem.k)
        turning, k = face.turning(), face.size
        if turning is None or not k or self._ends(problem, candidate.loss) or not self._able(problem, k):
            return super().settle(problem, candidate)
        with ledger.stage("descending on factors"), linalg.single_thread():
            target = max(EXACT * problem.reference, problem.tolerance)
            start = turning.unfold(c)
            if k == min(face.shape) and self.forms.T.size * problem.m <= self.work:
                start = self._any_matrix(k)
            v, _ = self.newton.descend(self.forms, start, k, target=target)
        turned, c = turning.fold(v)
        residual = problem.b - turned.measure(problem.M, c)
        loss = problem.loss.value(residual)
        if not loss < candidate.loss:
            return candidate
        known = self.ends.get(k, np.inf)
        self.ends[k] = min(loss, known)
        alike = turned.freedom < problem.m and abs(loss - known) <= self.agree * loss
        nothing = max(loss, known) <= self.little * problem.reference
        return replace(Candidate.of(turned, c, residual, loss), isolated=alike or nothing)

    def _able(self, problem: Problem, k: int) -> bool:
        """Whether that is cheap; what is not is turned by products."""
        return self.newton.affordable(problem.m, k * sum(problem.atoms.shape))

    def _any_matrix(self, k: int) -> FloatArray:
        """Unknowns of the matrix that fits best, of those the smallest, where its rank is no matter."""
        m, p, q = self.forms.T.shape
        X = np.linalg.lstsq(self.forms.T.reshape(m, p * q), self.forms.b, rcond=None)[0].reshape(p, q)
        U, s, Vt = np.linalg.svd(X, full_matrices=False)
        return np.concatenate([(U * np.sqrt(s)).ravel(), (Vt.T * np.sqrt(s)).ravel()])
