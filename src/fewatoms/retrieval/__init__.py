"""From a dual vector to few atoms: identify, reduced fit, prune, polish.

The paper's rule is the first two with exactly k atoms. On noisy data the best aligned atoms are often tied, and any k
of them are an arbitrary choice; so the default identifies generously, fits, prunes to k, and polishes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

from fewatoms.faces import Face, within
from fewatoms.problem import Problem
from fewatoms.retrieval.fewest import Fewest
from fewatoms.retrieval.identify import Generous, Leading, TopK
from fewatoms.retrieval.polish import Alternate, Exchange, Turn
from fewatoms.retrieval.pursuit import Pursuit
from fewatoms.retrieval.reduced_fit import reduced_fit, refit
from fewatoms.retrieval.splice import ISOLATED, Splice
from fewatoms.retrieval.support import settled, support_fit, support_of
from fewatoms.solution import Candidate, DualPoint

HOPE = 1.1  # candidates that start with a loss this many times the lowest seldom end up better
MEMORY = 32  # polished candidates remembered in a run: each holds a vector as long as the data


def _reduced_fit(problem: Problem, face: Face, dual: DualPoint) -> Candidate:
    return reduced_fit(problem, face)


@dataclass(frozen=True, eq=False)
class Retrieval:
    """A retrieval composed of its parts; `pursuit=None` and `polish=None` leave those parts out.

    pursuit : a short cut tried once, at x = 0, where `applies(problem)`; its answer is taken if it meets the bound
    identify : (problem, dual) -> Face
    fit : (problem, face, dual) -> Candidate, the reduced fit
    polish : (problem, candidate) -> Candidate with at most k atoms and no higher loss; its method `last`, if there is
        one, is called once more with the best answers of a run that had no bound to meet

    `cone=True` keeps the coefficients of centrosymmetric sets in the paper's essential cone (signs as exposed) instead
    of its essential span. Without a bound, candidates with more than `hope` times the lowest loss of their series
    before polishing are not polished.
    """

    pursuit: Pursuit | None = field(default_factory=Pursuit)
    identify: Callable[[Problem, DualPoint], Face] = field(default_factory=Generous)
    fit: Callable[[Problem, Face, DualPoint], Candidate] = _reduced_fit
    polish: Callable[[Problem, Candidate], Candidate] | None = field(default_factory=Exchange)
    cone: bool = False
    hope: float = math.inf
    _lowest: WeakKeyDictionary[Problem, dict[int, float]] = field(
        default_factory=WeakKeyDictionary, init=False, repr=False, compare=False
    )
    _seen: WeakKeyDictionary[Problem, dict[Any, Candidate]] = field(
        default_factory=WeakKeyDictionary, init=False, repr=False, compare=False
    )

    def retrieve(self, problem: Problem, dual: DualPoint) -> Candidate:
        """A candidate with at most k atoms."""
        if self.pursuit is not None and dual.gauge == 0.0 and self.pursuit.applies(problem):
            found = self.pursuit(problem, dual)
            if problem.alpha is None or problem.meets(found.loss):
                return found if self.polish is None else self.polish(problem, found)
        face = self.identify(problem, dual)
        candidate = self.fit(problem, face.as_cone() if self.cone else face, dual)
        if not within(face, problem.k):
            candidate = refit(problem, candidate, problem.k)
        return candidate if self.polish is None else self._polished(problem, candidate, dual.series)

    def last(self, problem: Problem, candidates: list[Candidate]) -> Candidate:
        """The last polish of a run's best answers, best first."""
        further = getattr(self.polish, "last", None)
        return candidates[0] if further is None else further(problem, candidates)

    def _polished(self, problem: Problem, candidate: Candidate, series: int) -> Candidate:
        """Polish, or remember what polishing these very atoms gave: nearby dual vectors repeat themselves."""
        key = candidate.face.key()
        known = self._seen.setdefault(problem, {})
        losses = self._lowest.setdefault(problem, {})
        losses[series] = min(candidate.loss, losses.get(series, candidate.loss))
        if problem.alpha is None and candidate.loss > self.hope * losses[series]:
            return candidate
        if key is None or key not in known:
            polished = self.polish(problem, candidate)  # type: ignore[misc]
            if key is None or len(known) >= MEMORY:
                return polished
            known[key] = polished
        return known[key]


@dataclass(frozen=True, eq=False)
class Own:
    """The oracle's own point where it has one with at most k atoms; `otherwise` is asked elsewhere."""

    otherwise: Retrieval

    def retrieve(self, problem: Problem, dual: DualPoint) -> Candidate:
        primal = dual.primal
        if primal is not None and (problem.k is None or dual.keeps_budget or within(primal.face, problem.k)):
            return primal
        return self.otherwise.retrieve(problem, dual)


def default_retrieval(problem: Problem, *, quick: bool = False) -> Any:
    """What serves a problem best: supports of listed atoms are spliced, faces that turn are turned.

    `quick` leaves out what costs most and gains least, for fits that are only compared with each other.
    """
    if problem.k is None:
        return Fewest() if problem.listed is not None else Own(Retrieval())  # (P3) itself, by an oracle's own points
    splice = Splice(shakes=0, pairs=0.0) if quick else Splice()
    if problem.choosy and not splice.applies(problem):
        raise ValueError(
            "include, exclude and cap need a vector model and room for the images of twice k atoms; "
            f"got k={problem.k} atoms of {problem.atoms!r} with {problem.m} data"
        )
    if problem.separable or problem.demixable:
        return Own(Retrieval())
    if problem.factorable:
        return Own(Retrieval(polish=Exchange(turn=Alternate())))
    if splice.applies(problem):
        return Retrieval(identify=Leading(), fit=support_fit, polish=splice, hope=HOPE)
    return Retrieval()


def paper_rule(*, cone: bool = False) -> Retrieval:
    """The paper's retrieval exactly as written: the top k atoms of M*y, and the reduced fit over them."""
    return Retrieval(pursuit=None, identify=TopK(), polish=None, cone=cone)


__all__ = [
    "ISOLATED",
    "Alternate",
    "Exchange",
    "Fewest",
    "Generous",
    "Leading",
    "Own",
    "Pursuit",
    "Retrieval",
    "Splice",
    "TopK",
    "Turn",
    "default_retrieval",
    "paper_rule",
    "reduced_fit",
    "refit",
    "settled",
    "support_fit",
    "support_of",
]
