"""The contract of oracles, and the refusals they share."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

from fewatoms._types import FloatArray
from fewatoms.problem import Problem
from fewatoms.relaxations import P1, P3, Relaxation
from fewatoms.solution import Candidate, DualPoint


@runtime_checkable
class Oracle(Protocol):
    """Where dual vectors come from: anything with this one method.

    `iterates` is a generator. Its state lives in its local variables; the caller decides when to stop asking. An oracle
    whose iterates are few and good may say so by an attribute `patience`: how many without a better answer are enough.
    """

    def iterates(self, problem: Problem) -> Iterator[DualPoint]:
        """A stream of dual points for a problem."""
        ...


class LaterPoint(DualPoint):
    """A dual point known by its primal one: y, the gradient at its residual, and the rest are made when asked for."""

    dear = True
    _problem: Problem

    @property
    def behind(self) -> Candidate:
        """The point whose residual makes y."""
        assert self.primal is not None
        return self.primal

    @property
    def loss(self) -> float:  # type: ignore[override]
        return self.behind.loss

    @property
    def gauge(self) -> float:  # type: ignore[override]
        return self.behind.gauge

    @cached_property
    def y(self) -> FloatArray:  # type: ignore[override]
        return self._problem.loss.gradient(self.behind.residual)

    @cached_property
    def z(self) -> Any:  # type: ignore[override]
        return self._problem.M.adjoint(self.y)

    @cached_property
    def support(self) -> float:  # type: ignore[override]
        return self._problem.atoms.support(self.z)

    @cached_property
    def relaxation(self) -> Relaxation:  # type: ignore[override]
        """(P3) with a bound; otherwise (P1) at the ridge, and without one at the penalty for which y is feasible."""
        if self._problem.alpha is not None:
            return P3(self._problem)
        return P1(self._problem, self._problem.ridge or self.support)


def need_bounded(problem: Problem, oracle: object) -> None:
    """Refuse sets whose atoms have no size."""
    if not problem.atoms.bounded:
        raise ValueError(
            f"oracle {type(oracle).__name__} needs a bounded set of atoms; {problem.atoms!r} is a cone: "
            "use ProximalGradient, or no oracle at all"
        )
