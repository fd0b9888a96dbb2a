"""Atoms exposed one after the other and fitted together: all that a set with a linear oracle alone needs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fewatoms import ledger
from fewatoms.budget import none_of, one_each
from fewatoms.candidates import Candidate, DualPoint
from fewatoms.problem import Problem
from fewatoms.relaxations import P1, P3, Relaxation
from fewatoms.retrieval.reduced_fit import reduced_fit


@dataclass(frozen=True, eq=False)
class Corrective:
    """y = grad f(b - Mx) at the best x over the atoms seen so far; the atom that M*y exposes is seen next.

    It needs `expose` and nothing else of a set. When a point has more than `most` atoms, the largest contributions stay.
    The stream ends when the atom that is exposed lowers the loss no more.

    most : atoms kept at most
    gain : the share by which an atom must lower the loss
    """

    most: int = 100
    gain: float = 1e-12

    patience = 30  # iterates without a better answer

    def iterates(self, problem: Problem) -> Iterator[DualPoint]:
        atoms = problem.atoms
        nothing = atoms.expose(np.zeros(atoms.shape), none_of(atoms).k)
        here = Candidate.of(nothing, np.zeros(0), problem.b, problem.at_zero)
        while True:
            ledger.tick()
            y = problem.loss.gradient(here.residual)
            z = problem.M.adjoint(y)
            sigma = atoms.support(z)
            relaxation: Relaxation = P1(problem, sigma) if problem.alpha is None else P3(problem)
            yield DualPoint(y, z, sigma, relaxation, here.loss, here.gauge, here)
            offer = atoms.expose(z, one_each(atoms).k)
            trial = reduced_fit(problem, here.face.merge(offer))
            if not trial.loss < here.loss * (1 - self.gain) or problem.exact(here.loss) or math.isinf(sigma):
                return
            if trial.face.size > self.most:
                face, _ = trial.face.prune(trial.c, self.most, trial.norms)
                trial = reduced_fit(problem, face)
            here = trial
