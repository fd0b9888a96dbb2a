"""Sums of parts with orthonormal atoms: every part takes what stands out, down a ladder of thresholds."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse.linalg import LinearOperator, lsmr

from fewatoms import _checks, ledger, linalg
from fewatoms._types import Array, FloatArray
from fewatoms.candidates import Candidate, Iterate
from fewatoms.faces import Cone
from fewatoms.methods.demixing.parts import Part, Point
from fewatoms.methods.sums import NORMAL_MEDIAN, dual_of, weights_differ
from fewatoms.operators import Operator
from fewatoms.problem import Problem


@dataclass(frozen=True)
class Peeling:
    """minimise |b - M(x_1 + x_2 + ...)|^2 / 2 over parts of at most k_i atoms, where atoms of one part are orthonormal.

    A pass gives each part in turn what the others leave; the part keeps the atoms with coefficients from a threshold
    t on, at most k_i. t goes down from where nothing is kept until all budgets are used; an atom of one part looks like
    many small ones to another, and so is found by the part where it stands out. Passes without a threshold follow, with
    a least-squares fit to the atoms chosen after each, while the loss falls. With weights w a part is given
    M*(w / max(w)) times what the others leave: the step of a majoriser.

    A budget may be left open: with a bound, t goes down until it is met; without, to the level that noise alone reaches
    seldom, its standard deviation (estimated from the median) times sqrt(2 log n), or more for atoms that catch more of
    it. One number for all parts together is shared out as the coefficients suggest.

    Two products with the map of each part a pass; state: the residual, one point per part, a few vectors beside.

    Parameters
    ----------
    tol : float
        The passes end when one lowers the loss by less than this share.

    The others are tuned, and need no thought.

    shrink, floor : from one threshold to the next, and the last one, as a share of the first
    rounds : of passes with a fit after each, at the end
    draws, safe : of noise, to see how far it reaches, and the margin on top
    fitted, fits : how well, and in how many steps of LSMR, coefficients are fitted
    """

    tol: float = 1e-3
    shrink: float = 0.8
    floor: float = 1e-12
    rounds: int = 30
    draws: int = 5
    safe: float = 1.1
    fitted: float = 1e-12
    fits: int = 200

    def __post_init__(self) -> None:
        _checks.number("tol", self.tol)

    def iterates(self, problem: Problem, M: Operator) -> Iterator[Iterate]:
        return self.down(Peels(problem, M, self))

    def down(self, run: Peels) -> Iterator[Iterate]:
        """The ladder, and the passes that follow."""
        problem = run.problem
        t = top = run.top()
        with ledger.stage("ladder of thresholds"):
            while run.short() and t > self.floor * top:
                t *= self.shrink
                run.over(t)
        run.fix()
        run.refit()
        yield run.iterate()
        for _ in range(self.rounds):
            before = run.loss
            run.over(0.0)
            run.refit()
            if run.loss > before:
                return
            yield run.iterate()
            if problem.exact(run.loss) or before - run.loss <= self.tol * before:
                return


class Peels:
    """The parts, what each has kept, and what is left."""

    def __init__(self, problem: Problem, M: Operator, settings: Peeling, power: float = 0.0) -> None:
        self.problem, self.M, self.settings, self.power = problem, M, settings, power
        self.parts = [Part(atoms) for atoms in problem.atoms.parts]
        self.total = problem.budget.most
        self.limits = [budget.most for budget in problem.budget.for_parts(len(self.parts))]
        self.points: list[Point] = [part.nothing() for part in self.parts]
        self.r = problem.b
        self._answer = self.points, self.r  # the latest that keeps to the budget
        w = problem.loss.weights
        self.weights = w / w.max() if w is not None and weights_differ(problem) else None

    @property
    def loss(self) -> float:
        return self.problem.loss.value(self.r)

    def _pulled(self, r: FloatArray) -> Array:
        """What a residual moves parts by."""
        return linalg.as_flat(self.M.adjoint(r if self.weights is None else self.weights * r))

    def _whitened(self, r: FloatArray) -> FloatArray:
        return r if self.weights is None else np.sqrt(self.weights) * r

    def top(self) -> float:
        """The largest alignment of all."""
        z = self._pulled(self.r)
        return max(part.support(z) / unit for part, unit in zip(self.parts, self.units, strict=True))

    @cached_property
    def units(self) -> list[float]:
        """What thresholds are multiplied by in each part: a power of what noise reaches there."""
        return [reach**self.power for reach in self.reaches] if self.power else [1.0] * len(self.parts)

    # How far down to go -----------------------------------------------------------------------------------------------

    def short(self) -> bool:
        """Whether there is room for more atoms, or need."""
        problem, sizes, loss = self.problem, [face.size for face, _ in self.points], self.loss
        if problem.meets(loss) or problem.exact(loss):
            return False
        if self.total is not None:
            return sum(sizes) < self.total
        if any(limit is not None and size < limit for size, limit in zip(sizes, self.limits, strict=True)):
            return True
        return None in self.limits and (problem.alpha is not None or self._above_noise())

    def _above_noise(self) -> bool:
        """Whether an atom of an open part is still beyond what noise reaches."""
        z = self._pulled(self.r)
        return any(
            part.support(z) > level
            for part, limit, level in zip(self.parts, self.limits, self.levels(), strict=True)
            if limit is None
        )

    def levels(self) -> list[float]:
        """What noise reaches in each part. (As many residuals as numbers were fitted are no noise, but what is left of
        it: the smallest are not counted, lest atoms that take noise make room for more of them.)"""
        m, fitted = self.problem.m, sum(face.freedom for face, _ in self.points)
        middle = min(m - 1, (m + fitted) // 2)
        sigma = NORMAL_MEDIAN * float(np.partition(np.abs(self._whitened(self.r)), middle)[middle])
        return [sigma * reach for reach in self.reaches]

    @cached_property
    def reaches(self) -> list[float]:
        """How far noise of standard deviation 1, for an entry that counts fully, reaches in each part: groups and
        matrices catch more than entries."""
        least = math.sqrt(2 * math.log(max(2, self.problem.atoms.n)))
        draw = ledger.generator().standard_normal
        noise = [
            linalg.as_flat(self.M.adjoint(self._whitened(draw(self.problem.m)))) for _ in range(self.settings.draws)
        ]
        return [max(least, *(self.settings.safe * part.support(z) for z in noise)) for part in self.parts]

    # Passes -----------------------------------------------------------------------------------------------------------

    def over(self, t: float) -> None:
        """One pass over the parts. Where neither a budget nor a bound tells them to, they do not go down into noise."""
        self._tick()
        open_ended = t > 0 and self.total is None and self.problem.alpha is None and None in self.limits
        levels = self.levels() if open_ended else [0.0] * len(self.parts)
        for i, part in enumerate(self.parts):
            face, c = self.points[i]
            own = face.point(c).ravel()
            target = own + self._pulled(self.r)
            limit = self.limits[i] if t > 0 or self.limits[i] is not None else face.size
            own_t = t * self.units[i]
            face, c = part.nearest(target, max(own_t, levels[i]) if limit is None else own_t, limit)
            self.points[i] = face, c
            self.r = self.r + self.M.apply(own - face.point(c).ravel())

    def fix(self) -> None:
        """From here on every part has a budget of its own: what is open keeps as many atoms as it has."""
        if self.total is not None:
            sizes = [part.sizes(*point) for part, point in zip(self.parts, self.points, strict=True)]
            owner = np.repeat(np.arange(len(sizes)), [s.size for s in sizes])
            chosen = owner[linalg.top_k(np.concatenate(sizes), self.total)]
            self.limits = [int(np.count_nonzero(chosen == i)) for i in range(len(sizes))]
            self.total = None
            self.over(0.0)
        self.limits = [
            face.size if limit is None else limit for limit, (face, _) in zip(self.limits, self.points, strict=True)
        ]

    def refit(self) -> None:
        """The best coefficients for the atoms chosen, if no sign or cone is in the way."""
        faces, c = [face for face, _ in self.points], np.concatenate([c for _, c in self.points])
        if not c.size or any(face.cone is not Cone.FREE for face in faces):
            return
        self._tick()
        reduced, settings = self.M.restrict(self.problem.atoms.joined(faces)), self.settings
        A = LinearOperator(
            (self.problem.m, c.size),
            matvec=lambda d: self._whitened(reduced.apply(d)),
            rmatvec=lambda r: reduced.adjoint(self._whitened(r)),
            dtype=np.float64,
        )
        b = self._whitened(self.r)
        step, *_ = lsmr(A, b, atol=settings.fitted, btol=settings.fitted, conlim=1e12, maxiter=settings.fits)
        r = self.r - reduced.apply(step)
        if self.problem.loss.value(r) < self.loss:
            pieces = np.split(c + step, np.cumsum([face.dim for face in faces])[:-1])
            self.points = list(zip(faces, pieces, strict=True))
            self.r = r

    # What they make ---------------------------------------------------------------------------------------------------

    def _tick(self) -> None:
        """Between passes and fits: a run that is stopped here ends with what it has."""
        most = self.problem.budget.most
        if most is None or sum(face.size for face, _ in self.points) <= most:
            self._answer = list(self.points), self.r
        try:
            ledger.tick()
        except ledger.Stopped:
            (points, r), known = self._answer, ledger.current().found
            if known is None or self.problem.loss.value(r) < known.loss:
                ledger.keep(self._candidate(points, r))
            raise

    def _candidate(self, points: list[Point], r: FloatArray) -> Candidate:
        face, c = self.problem.atoms.joined([f for f, _ in points]), np.concatenate([c for _, c in points])
        return Candidate.of(face, c, r, self.problem.loss.value(r))

    def iterate(self) -> Iterate:
        """The point with its dual vector, W r: one more product."""
        point = self._candidate(self.points, self.r)
        ledger.keep(point)
        return Iterate(dual_of(self.problem, point), point)
