"""The contract of oracles, and the refusals they share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, runtime_checkable

from fewatoms.candidates import DualPoint
from fewatoms.problem import Problem


@runtime_checkable
class Oracle(Protocol):
    """Where dual vectors come from: anything with this one method.

    `iterates` is a generator. Its state lives in its local variables; the caller decides when to stop asking. An oracle
    whose iterates are few and good may say so by an attribute `patience`: how many without a better answer are enough.
    """

    def iterates(self, problem: Problem) -> Iterator[DualPoint]:
        """A stream of dual points for a problem."""
        ...


def need_bounded(problem: Problem, oracle: object) -> None:
    """Refuse sets whose atoms have no size."""
    if not problem.atoms.bounded:
        raise ValueError(
            f"oracle {type(oracle).__name__} needs a bounded set of atoms; {problem.atoms!r} is a cone: "
            "use ProximalGradient, or no oracle at all"
        )
