"""Parts whose atoms turn, with numbers left open: the same ladder with coarse parts held back more and more."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from fewatoms import ledger
from fewatoms.budget import Budget
from fewatoms.candidates import Candidate, Iterate
from fewatoms.methods.demixing.peeling import Peeling, Peels
from fewatoms.methods.demixing.scales import Fit, Guess, Scales
from fewatoms.operators import Operator
from fewatoms.problem import Problem


@dataclass(frozen=True)
class OpenEnded:
    """A matrix of higher rank explains what a few blocks do, and takes many more numbers for it: of answers down
    ladders that treat parts differently, the one that meets the bound with the fewest numbers is taken; without a
    bound, that with the lowest m log(loss) + log(m) times its numbers (Schwarz).

    powers : of what noise reaches in a part, by which its thresholds are multiplied
    fit : of all atoms together, once their numbers are known
    """

    peeling: Peeling
    powers: tuple[float, ...] = (0.0, 0.2, 0.4, 0.6, 0.8)
    fit: Fit = field(default_factory=lambda: Fit(20))

    def iterates(self, problem: Problem, M: Operator) -> Iterator[Iterate]:
        ends: list[tuple[float, Scales, Guess]] = []
        for number, power in enumerate(self.powers):
            with ledger.counted("ladder", number, len(self.powers)):
                run = Peels(problem, M, self.peeling, power)
                for _ in self.peeling.down(run):
                    ledger.tick()
                ends.append(self._end(problem, M, run))
        for _, scales, guess in sorted(ends, key=lambda end: -end[0]):  # the best is the latest
            yield scales.iterate(guess)

    def _end(self, problem: Problem, M: Operator, run: Peels) -> tuple[float, Scales, Guess]:
        """How an end compares with others, and all its atoms fitted together."""
        sizes = tuple(Budget(face.size) for face, _ in run.points)
        scales = Scales(problem.with_budget(Budget(parts=sizes)), M)
        guess = scales.settled(Guess(tuple(run.points), run.r, run.loss), self.fit)
        return _worth(problem, scales.candidate(guess)), scales, guess


def _worth(problem: Problem, found: Candidate) -> float:
    """The lower the better."""
    numbers = float(found.face.freedom)
    if problem.alpha is not None:
        return numbers if problem.meets(found.loss) else math.inf
    least = max(found.loss, 1e-30 * problem.reference)
    return problem.m * math.log(least) + math.log(max(2, problem.m)) * numbers
