"""Dual vectors from anywhere: a user's own loop, another package's solver."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from fewatoms import _checks
from fewatoms.candidates import DualPoint
from fewatoms.oracles.base import penalty_at
from fewatoms.problem import Problem
from fewatoms.relaxations import P1, P3, Relaxation


class FromIterates:
    """Drives the retrieval by a stream of vectors y of the data's length, positive multiples of grad f(b - Mx).

    For least squares the residuals b - Mx of any solver will do. Vectors outside dom f* (Huber, logistic) are clipped.
    With a bound the certificate is (P3)'s, otherwise that of (P1) at lambda = support(M*y). One product each.

    Parameters
    ----------
    iterable : iterable of (m,) arrays
        A list, a generator, or anything else to iterate over; it may be endless.
    """

    def __init__(self, iterable: Iterable[Any]) -> None:
        if not isinstance(iterable, Iterable):
            raise TypeError(
                f"iterable must yield dual vectors; got {type(iterable).__name__}, which cannot be iterated"
            )
        self.iterable = iterable

    def iterates(self, problem: Problem) -> Iterator[DualPoint]:
        goal = None if problem.alpha is None else P3(problem)
        for given in self.iterable:
            y = problem.loss.clip(_checks.real_vector("a vector of the oracle", given, problem.m, " (the length of b)"))
            z = problem.M.adjoint(y)
            sigma = problem.atoms.ceiling(z)
            relaxation: Relaxation = goal or P1(problem, penalty_at(problem, z, sigma))
            yield DualPoint(y, z, sigma, relaxation)
