"""The contract of oracles, and the refusals they share."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Protocol, runtime_checkable

from fewatoms._types import ModelDual
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


def penalty_at(problem: Problem, z: ModelDual, support: float) -> float:
    """The least penalty for which z = M*y is known to be feasible; one near it where nothing is known; 0 for cones."""
    if not problem.atoms.bounded:
        return 0.0
    return support if math.isfinite(support) else problem.atoms.reached(z)


def need_support(problem: Problem, support: float, oracle: object) -> None:
    """Refuse sets whose support function is not known."""
    if math.isinf(support):
        raise ValueError(
            f"oracle {type(oracle).__name__} needs a support function; {problem.atoms!r} knows none: "
            "use Corrective, or no oracle at all"
        )


def need_bounded(problem: Problem, oracle: object) -> None:
    """Refuse sets whose atoms have no size."""
    if not problem.atoms.bounded:
        raise ValueError(
            f"oracle {type(oracle).__name__} needs a bounded set of atoms; {problem.atoms!r} is a cone: "
            "use ProximalGradient, or no oracle at all"
        )
