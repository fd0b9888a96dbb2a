"""Least squares over coordinates or groups: a candidate in as few products as possible.

A short probe tells easy problems from hard ones. Where conjugate gradients on the k atoms best aligned with M*b about
halve the misfit at each step, rounds of "a few steps on the support, a gradient step to choose the next one" finish the
job at two products a step. Where they do not, the support is grown from nothing with the images of its atoms kept: one
atom at a time if atoms overlap in the data, by batches if they do not.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from fewatoms import linalg
from fewatoms._types import Array, FloatArray
from fewatoms.atoms import AtomicSet, Groups, Mapped, SignedOneHot
from fewatoms.faces import Coordinates, Face, MappedFace
from fewatoms.losses import LeastSquares
from fewatoms.problem import Problem
from fewatoms.solution import Candidate, DualPoint


@dataclass(frozen=True, eq=False)
class Pursuit:
    """A candidate from the first dual vector, for sets of coordinates or groups and their linear images.

    steps : conjugate-gradient steps on one support at most
    rounds : supports at most
    settled : the steps on a support end when its gradient is below this share of the largest one elsewhere
    easy : the factor by which each step on the first support must shrink the misfit, for the problem to count as easy
    falling : the factor by which each further support must
    batch : atoms added at a time at most while growing
    images : numbers held as images of atoms while growing, at most

    `applies(problem)` says whether there is anything to do: least squares with free coefficients, and for a matrix at
    hand, where products are cheap and images cheaper, a bound that may be met soon.
    """

    steps: int = 4
    rounds: int = 12
    settled: float = 0.3
    easy: float = 0.58
    falling: float = 0.45
    batch: int = 6
    images: int = 50_000_000

    def applies(self, problem: Problem) -> bool:
        inner = problem.atoms
        while isinstance(inner, Mapped):
            inner = inner.inner
        chosen = problem.forced.size or problem.barred.size or problem.cap is not None
        wanted = problem.alpha is not None or not problem.M.explicit
        return (
            wanted
            and not chosen
            and isinstance(problem.loss, LeastSquares)
            and isinstance(inner, (SignedOneHot, Groups))
        )

    def __call__(self, problem: Problem, dual: DualPoint) -> Candidate:
        """The better of what the probe leads to. `dual` is the point of x = 0.

        Columns of known length are taken in units of it: a feature's units must not matter.
        """
        listed = problem.listed
        if listed is None or listed.unit_atoms is None:
            return self._chased(problem, dual)
        found = self._chased(problem.over(listed.unit_atoms), dual)
        inner = found.face
        while isinstance(inner, MappedFace):
            inner = inner.inner_face
        classes = listed.classes_of(inner)
        c = inner.signs * found.c if isinstance(inner, Coordinates) else found.c
        return replace(found, face=listed.face(classes), c=c * listed.user_scale(listed.coordinates(classes)))

    def _chased(self, problem: Problem, dual: DualPoint) -> Candidate:
        chase = _Chase(problem, dual, self)
        found = chase.rounds()
        if problem.meets(found.loss) or chase.easy or problem.M.explicit or self._too_many(problem):
            return found
        grown = chase.grow()
        return grown if grown.loss < found.loss else found

    def _too_many(self, problem: Problem) -> bool:
        return int(problem.k) * problem.m > self.images


def _wrapped(maps: list[Mapped], face: Face) -> Face:
    """A face behind linear maps, the outermost first."""
    for mapped in reversed(maps):
        face = MappedFace(mapped.map, face, mapped.shape)
    return face


class _Chase:
    """One run: the operator in the space of the coefficients, and the first image of the data."""

    def __init__(self, problem: Problem, dual: DualPoint, settings: Pursuit) -> None:
        self.problem, self.settings = problem, settings
        self.M: Any = problem.M
        self.atoms: AtomicSet = problem.atoms
        z = dual.z
        maps: list[Mapped] = []
        while isinstance(self.atoms, Mapped):
            mapped = self.atoms
            maps.append(mapped)
            self.M, self.atoms = self.M.after(mapped.map, mapped.inner.shape), mapped.inner
            z = mapped.map.backward(linalg.as_flat(z))
        self.wrap = partial(_wrapped, maps)
        self.first = linalg.as_flat(z)
        self.weights: FloatArray | float = 1.0 if problem.loss.weights is None else problem.loss.weights
        self.easy = True

    def _pull(self, residual: FloatArray) -> Array:
        return linalg.as_flat(self.M.adjoint(self.weights * residual))

    def _candidate(self, face: Face, c: FloatArray, residual: FloatArray) -> Candidate:
        return Candidate(self.wrap(face), c, residual, self.problem.loss.value(residual))

    def rounds(self) -> Candidate:
        """Conjugate gradients on k atoms, a gradient step to choose the next k, and again."""
        problem, loss, settings = self.problem, self.problem.loss, self.settings
        z, residual = self.first, problem.b.copy()
        face = self.atoms.expose(z, problem.k)
        c = np.zeros(face.dim)
        best: Candidate | None = None
        length, misfit = 0.0, 1.0  # of the gradient step that chooses the next support; reached on the last one
        for turn in range(settings.rounds):
            direction, before, step = np.zeros(face.dim), np.inf, 0
            for step in range(settings.steps):
                slope = face.adjoint(z)
                size = float(np.dot(slope, slope))
                direction = slope + (size / before if step else 0.0) * direction
                image = self.M.apply(face.point(direction))
                bend = float(np.dot(image, self.weights * image))
                if size == 0.0 or bend == 0.0:
                    break
                before = size
                c = c + (size / bend) * direction
                residual = residual - (size / bend) * image
                length = size / bend if step == 0 else length
                if problem.meets(loss.value(residual)):
                    return self._candidate(face, c, residual)
                z = self._pull(residual)
                inside = face.adjoint(z)
                if np.abs(inside).max() < settings.settled * self.atoms.support(z - face.point(inside).ravel()):
                    break
            here = self._candidate(face, c, residual)
            reached = problem.misfit_of(here.loss, residual)
            demand = settings.easy ** (step + 1) if turn == 0 else settings.falling * misfit
            best = here if best is None or here.loss < best.loss else best
            if reached > demand:
                self.easy = False
                break
            misfit = reached
            x = face.point(c).ravel()
            chosen = self.atoms.expose(x + length * z, problem.k)
            kept = chosen.adjoint(x)
            dropped = x - chosen.point(kept).ravel()
            if dropped.any():
                residual = residual + self.M.apply(dropped)
                z = self._pull(residual)
            face, c = chosen, kept
        assert best is not None
        return best

    def grow(self) -> Candidate:
        """Add the best aligned atoms, keep their images, fit all of them exactly each time."""
        problem, settings = self.problem, self.settings
        root = np.sqrt(self.weights)
        target = root * problem.b
        z, residual = self.first, target
        face = self.atoms.expose(z, 0)
        images, basis = np.zeros((problem.m, 0)), np.zeros((problem.m, 0))
        size, cap = 1, settings.batch
        while face.size < problem.k:
            open_ = z - face.point(face.adjoint(z)).ravel()  # atoms in the support are not offered again
            alignments = self.atoms.alignments(open_)
            aligned = 0 if alignments is None else int(np.count_nonzero(alignments > 0))
            if aligned == 0:  # nothing outside the support helps
                break
            offer = self.atoms.expose(open_, min(size, problem.k - face.size, aligned))
            fresh = self.M.images(offer)
            fresh = np.asarray(root).reshape(-1, 1) * (fresh.toarray() if sp.issparse(fresh) else fresh)
            expected = float(np.sum(offer.adjoint(z) ** 2 / np.maximum(np.einsum("ij,ij->j", fresh, fresh), 1e-300)))
            images, face = np.column_stack([images, fresh]), face.merge(offer)
            for _ in range(2):  # twice is enough for orthogonality to rounding
                fresh = fresh - basis @ (basis.T @ fresh)
            basis = np.column_stack([basis, linalg.orthonormal(fresh)])
            before = float(np.dot(residual, residual))
            residual = target - basis @ (basis.T @ target)
            after = float(np.dot(residual, residual))
            if problem.meets(0.5 * after) or after <= 1e-28 * float(np.dot(target, target)):
                break
            # Atoms that overlap explain less together than one by one: from then on, one at a time.
            cap = 1 if before - after < 0.7 * expected else cap
            size = min(size + 1, cap)
            z = self._pull(residual / root)
        c = scipy.linalg.lstsq(images, target, lapack_driver="gelsy")[0]
        return self._candidate(face, np.asarray(c), (target - images @ c) / root)
