"""Sums of parts with orthonormal atoms: every part takes what stands out, down a ladder of thresholds."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator, lsmr

from fewatoms import _checks, linalg
from fewatoms._types import Array, FloatArray
from fewatoms.atoms import AtomicSet
from fewatoms.faces import Cone, Face
from fewatoms.problem import Problem
from fewatoms.relaxations import P1, P3
from fewatoms.solution import Candidate, DualPoint

STEP = 0.8  # from one threshold to the next
FLOOR = 1e-12  # the last threshold, as a share of the first
ROUNDS = 30  # of passes with a fit after each, at the end
DRAWS, SAFE = 5, 1.1  # of noise, to see how far it reaches, and the margin on top
SOLVED = 1e-12  # how well coefficients are fitted then

Point = tuple[Face, FloatArray]


class Peeling:
    """minimise |b - M(x_1 + x_2 + ...)|^2 / 2 over parts of at most k_i atoms, where atoms of one part are orthonormal.

    A pass gives each part in turn what the others leave; the part keeps the atoms with coefficients from a threshold
    t on, at most k_i. t goes down from where nothing is kept until all budgets are used; an atom of one part looks like
    many small ones to another, and so is found by the part where it stands out. Passes without a threshold follow, with
    a least-squares fit to the atoms chosen after each, while the loss falls.

    A budget may be left open: with a bound, t goes down until it is met; without, to the level that noise alone reaches
    seldom, its standard deviation (estimated from the median) times sqrt(2 log n), or more for atoms that catch more of
    it. One number for all parts together is shared out as the coefficients suggest.

    Two products with the map of each part a pass; state: the residual, one point per part, a few vectors beside.

    Parameters
    ----------
    tol : float
        The passes end when one lowers the loss by less than this share.
    """

    exhaustive = True
    patience = 1_000_000

    def __init__(self, *, tol: float = 1e-3) -> None:
        self.tol = _checks.number("tol", tol)

    def iterates(self, problem: Problem) -> Iterator[DualPoint]:
        if not problem.demixable:
            raise ValueError(
                "Peeling is for sums and unions of sets of orthonormal atoms, Identity or Sampling, and least squares; "
                f"got {problem.atoms!r}, {problem.M.inner!r}, {problem.loss!r}"
            )
        run = _Peels(problem)
        t = top = run.top()
        while run.short() and t > FLOOR * top:
            t *= STEP
            run.over(t)
        run.fix()
        run.refit()
        yield run.point()
        for _ in range(ROUNDS):
            before = run.loss
            run.over(0.0)
            run.refit()
            if run.loss > before:
                return
            yield run.point()
            if problem.exact(run.loss) or before - run.loss <= self.tol * before:
                return


class _Peels:
    """The parts, what each has kept, and what is left."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.parts = problem, [_Part(p) for p in problem.atoms.parts]  # type: ignore[attr-defined]
        k = problem.k
        self.total = k if isinstance(k, int) else None
        self.limits: list[int | None] = list(k) if isinstance(k, tuple) else [None] * len(self.parts)
        self.points: list[Point] = [part.nothing() for part in self.parts]
        self.r = problem.b.copy()

    @property
    def loss(self) -> float:
        return self.problem.loss.value(self.r)

    def _seen_by(self, r: FloatArray) -> Array:
        return linalg.as_flat(self.problem.M.adjoint(r))

    def top(self) -> float:
        """The largest alignment of all."""
        z = self._seen_by(self.r)
        return max(part.support(z) for part in self.parts)

    def short(self) -> bool:
        """Whether there is room for more atoms, or need."""
        problem, sizes = self.problem, [face.size for face, _ in self.points]
        if problem.meets(self.loss) or problem.exact(self.loss):
            return False
        if self.total is not None:
            return sum(sizes) < self.total
        if any(limit is not None and size < limit for size, limit in zip(sizes, self.limits, strict=True)):
            return True
        return None in self.limits and (problem.alpha is not None or self._above_noise())

    def _above_noise(self) -> bool:
        """Whether an atom of an open part is still beyond what noise reaches."""
        z = self._seen_by(self.r)
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
        sigma = 1.4826 * float(np.partition(np.abs(self.r), middle)[middle])
        return [sigma * reach for reach in self.reaches]

    @cached_property
    def reaches(self) -> list[float]:
        """How far noise of standard deviation 1 reaches in each part: groups and matrices catch more than entries."""
        least = math.sqrt(2 * math.log(max(2, self.problem.atoms.n)))
        draw = linalg.generator().standard_normal
        noise = [self._seen_by(draw(self.problem.m)) for _ in range(DRAWS)]
        return [max(least, *(SAFE * part.support(z) for z in noise)) for part in self.parts]

    def over(self, t: float) -> None:
        """One pass over the parts. Where neither a budget nor a bound tells them to, they do not go down into noise."""
        open_ended = t > 0 and self.total is None and self.problem.alpha is None and None in self.limits
        levels = self.levels() if open_ended else [0.0] * len(self.parts)
        for i, part in enumerate(self.parts):
            face, c = self.points[i]
            own = part.point(face, c)
            target = own + self._seen_by(self.r)
            limit = self.limits[i] if t > 0 or self.limits[i] is not None else face.size
            self.points[i] = fresh = part.nearest(target, max(t, levels[i]) if limit is None else t, limit)
            self.r = self.r + self.problem.M.apply(own - part.point(*fresh))

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
        problem, c = self.problem, np.concatenate([c for _, c in self.points])
        if not c.size or any(face.cone is not Cone.FREE for face, _ in self.points):
            return
        reduced = problem.M.restrict(problem.atoms.combine([face for face, _ in self.points]))  # type: ignore[attr-defined]
        A = LinearOperator((problem.m, c.size), matvec=reduced.apply, rmatvec=reduced.adjoint, dtype=np.float64)
        step, *_ = lsmr(A, self.r, atol=SOLVED, btol=SOLVED, conlim=1e12, maxiter=200)
        r = self.r - reduced.apply(step)
        if problem.loss.value(r) < self.loss:
            pieces = np.split(c + step, np.cumsum([face.dim for face, _ in self.points])[:-1])
            self.points = [(face, piece) for (face, _), piece in zip(self.points, pieces, strict=True)]
            self.r = r

    def point(self) -> DualPoint:
        problem = self.problem
        face = problem.atoms.combine([face for face, _ in self.points])  # type: ignore[attr-defined]
        c = np.concatenate([c for _, c in self.points])
        z = problem.M.adjoint(self.r)
        sigma = problem.atoms.support(z)
        relaxation = P1(problem, sigma) if problem.alpha is None else P3(problem)
        primal = Candidate(face, c, self.r, self.loss)
        return Kept(self.r, z, sigma, relaxation, self.loss, face.gauge(c), primal)


class Kept(DualPoint):
    """A dual point whose primal point has no more atoms than allowed."""

    keeps_budget = True


class _Part:
    """One part: its set without scale and map, which are put around faces again."""

    def __init__(self, atoms: AtomicSet) -> None:
        self.atoms, self.inner, self.maps, self.scale = atoms, *atoms.unwrapped()

    def _pull(self, z: Array) -> Array:
        for map_ in self.maps:
            z = map_.backward(z)
        return math.copysign(1.0, self.scale) * z.reshape(self.inner.shape)  # atoms of a cone have one sign

    def support(self, z: Array) -> float:
        return self.inner.support(self._pull(z))

    def nothing(self) -> Point:
        return self.atoms.expose(np.zeros(self.atoms.shape), 0), np.zeros(0)

    def nearest(self, target: Array, t: float, limit: int | None) -> Point:
        """The atoms with coefficients from t on, the largest `limit` of them, with their coefficients."""
        w = self._pull(target)
        sigma = self.inner.support(w)
        if sigma < t or sigma == 0 or limit == 0:
            return self.nothing()
        face: Any = self.inner.exposed(w, sigma - t, limit)
        c = face.project(face.adjoint(w))
        face, c = face.prune(c, face.size if limit is None else limit)
        return self.atoms.around(face), c / abs(self.scale)

    def point(self, face: Face, c: FloatArray) -> Array:
        return face.point(c).ravel()

    def sizes(self, face: Face, c: FloatArray) -> FloatArray:
        """The lengths of the contributions of the atoms."""
        values = face.values(c * self.scale)
        if values.dtype == object:
            return np.array([float(np.linalg.norm(v)) for v in values])
        return np.linalg.norm(values, axis=1) if values.ndim == 2 else np.abs(values)


__all__ = ["Peeling"]
