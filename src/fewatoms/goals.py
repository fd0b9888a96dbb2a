"""What "better" and "enough" mean, for each way to ask."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fewatoms.candidates import Candidate
from fewatoms.problem import Problem

GAIN = 1e-6  # the share by which what is minimised must fall to count
MISSED = (  # where as many atoms are allowed as there are
    "the bound was not reached by any number of atoms that was tried, and progress has stopped: allow a larger bound. "
    "Nothing is proved about other choices of atoms."
)


@dataclass(frozen=True, eq=False)
class Goal:
    """The smallest loss (and ridge) with at most k atoms, or the first that meets the bound with as many."""

    problem: Problem

    def better(self, candidate: Candidate, best: Candidate) -> bool:
        """Whether a candidate is an improvement that counts."""
        return self.problem.objective(candidate) < self.problem.objective(best) * (1 - GAIN)

    def enough(self, best: Candidate) -> bool:
        """Whether a run may end with it: nothing better is asked for."""
        return False

    def patience(self, patience: int) -> int:
        """How many iterates without a better answer are enough, from what the method says."""
        return patience

    @property
    def counts_any_fall(self) -> bool:
        """Whether a candidate that is better by less than what counts is taken all the same."""
        return True

    @property
    def asked(self) -> str:
        """What is asked for where no number of atoms is."""
        return "few atoms"

    @property
    def endings(self) -> Mapping[str, str]:
        """How the end of a search is told, by the names of statuses, where that differs from their own sentences."""
        return {}

    def _meets(self, candidate: Candidate) -> bool:
        return self.problem.meets(candidate.loss)


class LowestLoss(Goal):
    """The smallest loss, and ridge, with at most k atoms."""

    def enough(self, best: Candidate) -> bool:
        # no better answer can turn up, or none will
        return best.isolated or self.problem.exact(self.problem.objective(best))


class MeetBound(Goal):
    """The first answer that meets the bound with at most k atoms."""

    def enough(self, best: Candidate) -> bool:
        return self._meets(best) or self.problem.exact(best.loss)

    def patience(self, patience: int) -> int:
        return 3 * patience  # a bound is worth a longer search


@dataclass(frozen=True, eq=False)
class FewestAtoms(Goal):
    """As few atoms as meet the bound.

    at_once : whether the first answer that meets it will do, because products are dear
    """

    at_once: bool = False

    def better(self, candidate: Candidate, best: Candidate) -> bool:
        if self._meets(best):
            return self._meets(candidate) and candidate.face.size < best.face.size
        return super().better(candidate, best)

    def enough(self, best: Candidate) -> bool:
        return self.at_once and self._meets(best)

    @property
    def counts_any_fall(self) -> bool:
        return False

    @property
    def endings(self) -> Mapping[str, str]:
        return {"BOUND_MET": "the bound is met, by as few atoms as were found to do so.", "NOT_REACHED": MISSED}


class FewestNumbers(FewestAtoms):
    """Budgets left open, with a bound: as few numbers, chosen freely, as meet it."""

    def better(self, candidate: Candidate, best: Candidate) -> bool:
        if self._meets(best):
            return self._meets(candidate) and candidate.freedom < best.freedom
        return Goal.better(self, candidate, best)

    def patience(self, patience: int) -> int:
        return 3 * patience

    @property
    def counts_any_fall(self) -> bool:
        return True


class Latest(Goal):
    """Budgets left open, without a bound: the method decides what stands out of the noise."""

    def better(self, candidate: Candidate, best: Candidate) -> bool:
        return True

    @property
    def endings(self) -> Mapping[str, str]:
        told = "this is the smallest loss found where what stands out of the noise is left to the open part."
        return {"SMALLEST_LOSS": told}


class SmallestGauge(Goal):
    """(P3) itself: the smallest gauge that meets the bound, whatever the number of atoms."""

    def better(self, candidate: Candidate, best: Candidate) -> bool:
        if self._meets(best):
            return self._meets(candidate) and candidate.gauge < best.gauge
        return super().better(candidate, best)

    @property
    def counts_any_fall(self) -> bool:
        return False

    @property
    def asked(self) -> str:
        return "a small gauge"

    @property
    def endings(self) -> Mapping[str, str]:
        return {"BOUND_MET": "the bound is met, by as small a gauge as was found to do so.", "NOT_REACHED": MISSED}
