"""Points with as many atoms as the relaxation needs: what certificates of a point of rank k rest on.

A point of rank k leaves singular values of M*y above the penalty: its y is not feasible for (D1). Atoms are added where
they are, a few descents over the wider factors follow, and the y of the point reached is feasible, or nearly.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fewatoms import linalg
from fewatoms.candidates import DualPoint
from fewatoms.methods.lowrank.entries import Factored, Triple
from fewatoms.methods.lowrank.sweeps import Spot, Sweeps
from fewatoms.relaxations import P1, P3


@dataclass(frozen=True)
class Lifting:
    """How far to go. Each round costs an SVD and a descent, about as much as the fit itself.

    rounds : of adding atoms until (P1) is solved, or of raising the penalty until (P3) is
    slow : a round that leaves more than this share of what M*y has above the penalty is the last
    rough : how well atoms to add are known (relative, of squared singular values): descents mend them
    above : a singular value above the penalty by less than this share needs no atom
    hopeless, many : where as many singular values as atoms are beyond `hopeless` times the penalty, noise is; with more
        than `many` entries it is left alone: far more atoms than anybody would wait for
    most : times the rank, and ten more: atoms that a dual vector is worth
    short : share of the bound that the loss of a point behind a dual vector should not fall short of
    tol, loose : of descents over wider factors, towards (P1) and on the way to a higher penalty
    """

    rounds: int = 10
    slow: float = 0.8
    rough: float = 1e-3
    above: float = 1e-4
    hopeless: float = 1.2
    many: int = 300_000
    most: int = 4
    short: float = 0.7
    tol: float = 1e-4
    loose: float = 1e-3

    def lifted(self, run: Sweeps, at: Triple, lam: float, tol: float, rounds: int) -> Iterator[Triple]:
        """Points with more and more atoms: singular vectors of M*y beyond lam are added while there are any."""
        most, width, near, before = min(run.F.shape), max(1, at.rank), None, np.inf
        for _ in range(rounds):
            P, s, Q = linalg.top_svd(run.slope(at), width, near, self.rough)
            near = P, Q
            if s[-1] > self.hopeless * lam and run.asked.problem.m > self.many:
                return
            if s[0] - lam > self.slow * (before - lam):  # every further round would cost as much and prove hardly more
                return
            before = float(s[0])
            above = s > lam * (1 + self.above)
            above &= np.cumsum(above) <= most - at.rank  # the largest come first
            if not above.any():
                return
            at = run.descend(run.widened(at, P[:, above], s[above] - lam, Q[:, above]), lam, max(tol, 1e-5))
            at = at.cut(int(np.count_nonzero(at.s > 1e-9 * at.s[0])))
            yield at
            width = min(2 * width, most) if above.all() else width

    def worthwhile(self, spot: Spot) -> bool:
        """Whether another point than that of a sweep makes a better y: where there is a penalty, and signs are free."""
        return spot.lam > 0 and not spot.asked.pairs.nonnegative

    def behind(self, spot: Spot, F: Factored) -> Spot:
        """The point whose y goes with that of a sweep: the last lifted one, or the first with too many atoms."""
        asked = spot.asked
        run, at, lam = Sweeps(asked, F), spot.at, spot.lam
        run.loss, alpha, limit = spot.loss, asked.problem.alpha, self.most * spot.at.rank + 10
        for _ in range(self.rounds):
            for wide in self.lifted(run, at, lam, self.tol, self.rounds):
                at = wide
                if at.rank > limit:
                    break
            if alpha is None or run.loss >= self.short * alpha:
                break
            lam *= 2.0  # with more atoms the loss is far below the bound: (P3) has a higher penalty
            at = run.descend(at, lam, self.loose)
        return run.spot(at)

    def dual_point(self, spot: Spot, behind: Spot) -> DualPoint:
        """y, z and the support value of a sweep; loss and gauge are those of the point behind it, which makes y.

        Of (P3) with a bound; otherwise of (P1) at the ridge, and without one at the penalty for which y is feasible.
        """
        problem = spot.asked.problem
        y, z = behind.dual()
        support = problem.atoms.ceiling(z)
        relaxation = P1(problem, problem.ridge or support) if problem.alpha is None else P3(problem)
        return DualPoint(y, z, support, relaxation, behind.loss, behind.gauge, spot.candidate)


__all__ = ["Lifting"]
