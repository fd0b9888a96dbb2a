"""From a dual vector to few atoms: identify, reduced fit, prune, polish.

The paper's rule is the first two with exactly k atoms. On noisy data the best aligned atoms are often tied, and any k
of them are an arbitrary choice; so the default identifies generously, fits, prunes to k, and polishes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from fewatoms.candidates import Candidate, DualPoint
from fewatoms.faces import Face
from fewatoms.problem import Problem
from fewatoms.retrieval.identify import Active, Generous, TopK
from fewatoms.retrieval.polish import Exchange, Turn
from fewatoms.retrieval.reduced_fit import reduced_fit, refit


class Retrieving(Protocol):
    """Anything with this one method turns dual points into candidates."""

    def retrieve(self, problem: Problem, dual: DualPoint) -> Candidate:
        """A candidate with at most `problem.k` atoms."""
        ...


@dataclass(frozen=True, eq=False)
class Retrieval:
    """A retrieval composed of its parts; `polish=None` leaves that part out.

    identify : (problem, dual) -> Face
    fit : (problem, face) -> Candidate, the reduced fit
    polish : (problem, candidate) -> Candidate with at most k atoms and no higher loss

    `cone=True` keeps the coefficients of centrosymmetric sets in the paper's essential cone (signs as exposed) instead
    of its essential span.
    """

    identify: Callable[[Problem, DualPoint], Face] = field(default_factory=Generous)
    fit: Callable[[Problem, Face], Candidate] = reduced_fit
    polish: Callable[[Problem, Candidate], Candidate] | None = field(default_factory=Exchange)
    cone: bool = False

    def retrieve(self, problem: Problem, dual: DualPoint) -> Candidate:
        face = self.identify(problem, dual)
        candidate = self.fit(problem, face.as_cone() if self.cone else face)
        if not problem.budget.allows(face):
            candidate = refit(problem, candidate, problem.k)
        return candidate if self.polish is None else self.polish(problem, candidate)


def paper_rule(*, cone: bool = False) -> Retrieval:
    """The paper's retrieval exactly as written: the top k atoms of M*y, and the reduced fit over them.

    Parameters
    ----------
    cone : bool
        Whether coefficients keep to the cone of the atoms; by default they are free where the set has both signs.
    """
    return Retrieval(identify=TopK(), polish=None, cone=cone)


__all__ = [
    "Active",
    "Exchange",
    "Generous",
    "Retrieval",
    "Retrieving",
    "TopK",
    "Turn",
    "paper_rule",
    "reduced_fit",
    "refit",
]
