"""Parts whose atoms turn, fitted together: passes over the parts, and Gauss-Newton steps along the tangents of all.

A pass alone brings parts that overlap closer to each other slowly; along their tangents the best step for all of them
is a linear least-squares problem, and near a point that explains the data such steps converge quadratically.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse.linalg import LinearOperator, lsmr

from fewatoms import files, kept, ledger, linalg
from fewatoms._types import Array, FloatArray
from fewatoms.candidates import Candidate, Iterate
from fewatoms.faces import Tangent
from fewatoms.kept import Kept, Plain
from fewatoms.methods.demixing.parts import Part, Point
from fewatoms.methods.sums import dual_of
from fewatoms.operators import Operator
from fewatoms.problem import Problem

HALVES = (1.0, 0.5, 0.25, 0.125)  # of a step, tried in turn while the loss does not fall
DRAWS = 3  # of noise, to see how far it reaches
SLOW = 0.9  # a step that leaves this share of the loss is the last


@dataclass(frozen=True, eq=False)
class Guess:
    """A point of each part, and what they leave of the data."""

    points: tuple[Point, ...]
    r: FloatArray
    loss: float

    def kept(self, **more: Plain) -> Kept:
        """For a checkpoint."""
        arrays = {"r": self.r} | {f"c {i}": c for i, (_, c) in enumerate(self.points)}
        return Kept("guess", {"loss": float(self.loss), **more}, arrays, tuple(face.kept() for face, _ in self.points))

    @classmethod
    def read(cls, it: Kept) -> Guess:
        """What was kept."""
        points = ((files.face_of(face), it.arrays[f"c {i}"]) for i, face in enumerate(it.inner))
        return cls(tuple(points), it.arrays["r"], kept.real(it.told["loss"]))


@dataclass(frozen=True)
class Fit:
    """How long all atoms are fitted together.

    steps : of Gauss and Newton at most; inner : steps of LSMR in each; tol : how well LSMR solves
    """

    steps: int
    inner: int = 60
    tol: float = 1e-3


class Scales:
    """The parts with their numbers of atoms, and the data."""

    def __init__(self, problem: Problem, M: Operator) -> None:
        self.problem, self.M = problem, M
        self.parts = [Part(atoms) for atoms in problem.atoms.parts or (problem.atoms,)]
        self.limits = [each.single for each in problem.budget.parts or (problem.budget,)]

    @cached_property
    def reaches(self) -> list[float]:
        """How far noise reaches in each part: what is finer catches less of it."""
        draw = ledger.generator().standard_normal
        noise = [self.pulled(draw(self.problem.m)) for _ in range(DRAWS)]
        return [max(part.support(z) for z in noise) for part in self.parts]

    def finer(self, i: int) -> list[int]:
        """The parts that catch less noise than part i: their atoms may stand in for one of it, not the other way."""
        return [j for j, reach in enumerate(self.reaches) if reach < self.reaches[i]]

    # Guesses

    def pulled(self, r: FloatArray) -> Array:
        """M* r, flat."""
        return linalg.as_flat(self.M.adjoint(r))

    def enough(self, guess: Guess) -> bool:
        """Whether there is nothing to gain."""
        return self.problem.meets(guess.loss) or self.problem.exact(guess.loss)

    def nothing(self) -> Guess:
        b = self.problem.b
        return Guess(tuple(part.nothing() for part in self.parts), b, self.problem.loss.value(b))

    def guess(self, points: Sequence[Point]) -> Guess:
        """These points, with what they leave: one product."""
        x = sum((face.point(c).ravel() for face, c in points), start=np.zeros(self.problem.atoms.n))
        r = self.problem.b - self.M.apply(x)
        return Guess(tuple(points), r, self.problem.loss.value(r))

    def filled(self, guess: Guess, i: int, t: float, limit: int) -> Guess:
        """Part i anew, from what the others leave: its atoms with coefficients from t on, the largest `limit`."""
        face, c = guess.points[i]
        own = face.point(c).ravel()
        return self.replaced(guess, i, self.parts[i].nearest(own + self.pulled(guess.r), t, limit))

    def replaced(self, guess: Guess, i: int, point: Point) -> Guess:
        """Another point of part i."""
        (face, c), (new, d) = guess.points[i], point
        r = guess.r + self.M.apply(face.point(c).ravel() - new.point(d).ravel())
        points = (*guess.points[:i], point, *guess.points[i + 1 :])
        return Guess(points, r, self.problem.loss.value(r))

    def passed(self, guess: Guess, t: Sequence[float] | None = None, limits: Sequence[int] | None = None) -> Guess:
        """A pass over the parts in turn."""
        ledger.tick()
        for i, limit in enumerate(self.limits if limits is None else limits):
            guess = self.filled(guess, i, 0.0 if t is None else t[i], limit)
        return guess

    def trimmed(self, guess: Guess) -> Guess:
        """No part with more atoms than it may have: the largest stay."""
        kept = [face.prune(c, limit) for (face, c), limit in zip(guess.points, self.limits, strict=True)]
        return self.guess(kept)

    # All atoms together

    def settled(self, guess: Guess, fit: Fit) -> Guess:
        """Gauss-Newton steps along the tangents of all parts, while the loss falls well."""
        for _ in range(fit.steps):
            if self.enough(guess):
                return guess
            ledger.tick()
            closer = self._step(guess, fit)
            if closer is None:
                return guess
            slow = closer.loss > SLOW * guess.loss
            guess = closer
            if slow:
                return guess
        return guess

    def _step(self, guess: Guess, fit: Fit) -> Guess | None:
        tangents = [_known(face.tangent(c)) for face, c in guess.points]
        cuts = np.cumsum([tangent.dim for tangent in tangents])
        if not cuts[-1]:
            return None

        def pieces(d: FloatArray) -> list[FloatArray]:
            return np.split(d, cuts[:-1])

        forward, backward = self._along(tangents, pieces)
        A = LinearOperator((self.problem.m, int(cuts[-1])), matvec=forward, rmatvec=backward, dtype=np.float64)
        step, *_ = lsmr(A, guess.r, atol=fit.tol, btol=fit.tol, maxiter=fit.inner)
        for share in HALVES:
            moved = zip(tangents, pieces(share * step), strict=True)
            closer = self.guess([tangent.moved(d) for tangent, d in moved])
            if closer.loss < guess.loss:
                return closer
        return None

    def _along(
        self, tangents: Sequence[Tangent], pieces: Callable[[FloatArray], list[FloatArray]]
    ) -> tuple[Callable[[FloatArray], FloatArray], Callable[[FloatArray], FloatArray]]:
        """What a step along the tangents does to the data, and the transpose of that."""
        shape, n = self.problem.atoms.shape, self.problem.atoms.n

        def forward(d: FloatArray) -> FloatArray:
            each = (t.push(own).ravel() for t, own in zip(tangents, pieces(d), strict=True) if t.dim)
            return self.M.apply(sum(each, start=np.zeros(n)))

        def backward(r: FloatArray) -> FloatArray:
            z = self.pulled(r).reshape(shape)
            return np.concatenate([t.pull(z) if t.dim else np.zeros(0) for t in tangents])

        return forward, backward

    # What they make

    def candidate(self, guess: Guess) -> Candidate:
        faces = [face for face, _ in guess.points]
        face = self.problem.atoms.joined(faces) if self.problem.atoms.parts else faces[0]
        return Candidate.of(face, np.concatenate([c for _, c in guess.points]), guess.r, guess.loss)

    def iterate(self, guess: Guess) -> Iterate:
        """A guess with its dual vector: one more product."""
        point = self.candidate(guess)
        ledger.keep(point)
        return Iterate(dual_of(self.problem, point), point)


def _known(tangent: Tangent | None) -> Tangent:
    assert tangent is not None, "parts are asked for their tangents before they are served"
    return tangent
