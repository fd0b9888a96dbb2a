"""Reduced fits over listed atoms whose images are kept: many supports of one problem, a small solve each.

Least squares goes through a Cholesky factor of the Gram matrix of the images, with one step of refinement on the
residual; what that cannot decide (dependent columns) is pruned until it can. Other losses go to Newton's method on the
columns, from where the last support left off.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs, dpstrf

from fewatoms import linalg
from fewatoms._types import FloatArray, IntArray
from fewatoms.faces import Face
from fewatoms.listed import Listed
from fewatoms.losses import LeastSquares
from fewatoms.operators.reduced import Bordered
from fewatoms.problem import Problem
from fewatoms.retrieval.newton import newton
from fewatoms.solution import Candidate, DualPoint

DEPENDENT = 1e-12  # share of a column's squared length that the others must leave for it to count as independent
SPAN = 30.0  # linear predictors beyond this size say that the classes of a logistic fit are separable


@dataclass(frozen=True, eq=False)
class Support:
    """A few classes of atoms with their best coefficients, in units of the images."""

    listed: Listed
    classes: IntArray
    slots: IntArray
    c: FloatArray
    residual: FloatArray  # as the images see it
    loss: float
    factor: FloatArray | None  # Cholesky factor of the Hessian, upper triangle
    free: FloatArray = field(default_factory=lambda: np.zeros(0))  # coefficients of the free columns
    note: str = ""

    @cached_property
    def inverse(self) -> FloatArray:
        """The inverse of the Hessian."""
        assert self.factor is not None
        return _inverse(self.factor)

    @cached_property
    def costs(self) -> FloatArray:
        """What the loss would rise by without each class, the others fitted anew (to second order)."""
        H, listed = self.inverse, self.listed
        if listed.blocks is None:
            return 0.5 * self.c**2 / np.diag(H)
        ends = np.cumsum(listed.sizes(self.classes))
        spans = [slice(e - s, e) for s, e in zip(listed.sizes(self.classes), ends, strict=True)]
        return np.array([0.5 * self.c[s] @ np.linalg.solve(H[s, s], self.c[s]) for s in spans])


class SupportFits:
    """The reduced fits of one problem with listed atoms."""

    def __init__(self, problem: Problem) -> None:
        assert problem.listed is not None
        self.problem, self.listed, self.images = problem, problem.listed, problem.listed.images
        self.free: Any = problem.free_in_loss
        self.squares = isinstance(problem.loss, LeastSquares)

    def candidate(self, support: Support) -> Candidate:
        """A support as a candidate in the user's units."""
        listed = self.listed
        scale = listed.user_scale(listed.coordinates(support.classes))
        with np.errstate(divide="ignore"):
            norms = np.where(scale > 0, 1.0 / scale, 0.0)
        residual = support.residual if self.images.root is None else support.residual / self.images.root
        return Candidate(
            listed.face(support.classes), support.c * scale, residual, support.loss, norms, support.note, support
        )

    def near(self, dual: DualPoint) -> Support | None:
        """The oracle's own point, for iterative fits to begin at."""
        if self.squares or dual.primal is None:
            return None
        classes = self.listed.classes_of(dual.primal.face)
        scale = self.listed.user_scale(self.listed.coordinates(classes))
        slots = self.images.slots(classes)
        v = np.zeros(0 if self.free is None else self.free.shape[1])
        c = dual.primal.c / np.where(scale > 0, scale, 1.0)
        return Support(self.listed, classes, slots, c, dual.primal.residual, np.inf, None, free=v)

    def fit(self, classes: IntArray, start: Support | None = None, *, trial: bool = True) -> Support:
        """The best coefficients on these classes. Classes that add nothing to the others are left out.

        Iterative fits begin at `start`; as a `trial` they are given up when they will not be better, and end early.
        """
        slots = self.images.slots(classes)
        return self._squares(classes, slots) if self.squares else self._smooth(classes, slots, start, trial)

    # Least squares ----------------------------------------------------------------------------------------------------

    def _squares(self, classes: IntArray, slots: IntArray) -> Support:
        images = self.images
        if not classes.size:
            target = images.target
            return Support(self.listed, classes, slots, np.zeros(0), target, 0.5 * float(target @ target), None)
        G, h = images.gram[np.ix_(slots, slots)], images.moments[slots]
        factor, bad = dpotrf(G, clean=0)
        if bad or not self._independent(factor, G):
            if self.listed.blocks is None:
                return self._dependent(classes, G)
            # within a group columns may well depend on each other: a ridge too small to be seen decides between them
            G = G + 1e-9 * float(np.diag(G).max()) * np.eye(len(G))
            factor, bad = dpotrf(G, clean=0)
            if bad:
                return self._squares(classes[:-1], self.images.slots(classes[:-1]))
        c = dpotrs(factor, h)[0]
        bound = self.problem.cap_of(classes) if self.problem.cap is not None else None
        if self.listed.nonnegative and c.min() < 0:
            return self._nonnegative(classes, slots, factor, h)
        if bound is not None and (np.abs(c) > bound).any():
            return self._smooth(classes, slots, None, False)
        residual = images.target - images.combine(slots, c)
        steep = float((np.diag(factor) ** 2 / np.maximum(np.diag(G), 1e-300)).min()) < 1e-7
        for _ in range(3 if steep else 1):
            fix = dpotrs(factor, images.correlate(slots, residual))[0]
            if self.listed.nonnegative and (c + fix).min() < 0:
                break
            c = c + fix
            residual = images.target - images.combine(slots, c)
        return Support(self.listed, classes, slots, c, residual, 0.5 * float(residual @ residual), factor)

    @staticmethod
    def _independent(factor: FloatArray, G: FloatArray) -> bool:
        return bool((np.diag(factor) ** 2 > DEPENDENT * np.diag(G)).all())

    def _dependent(self, classes: IntArray, G: FloatArray) -> Support:
        """Keep the atoms, one column each, that a pivoted factorisation finds independent."""
        lengths = np.sqrt(np.diag(G))
        scale = np.where(lengths > 0, lengths, 1.0)
        _, pivots, rank, _ = dpstrf(G / np.outer(scale, scale), tol=10 * DEPENDENT)
        sound = np.zeros(lengths.size, dtype=bool)
        sound[pivots[:rank] - 1] = True
        sound[lengths == 0] = False
        if sound.all():  # the two factorisations disagree about the last digits
            sound[-1] = False
        return self._squares(classes[sound], self.images.slots(classes[sound]))

    def _nonnegative(self, classes: IntArray, slots: IntArray, factor: FloatArray, h: FloatArray) -> Support:
        from scipy.linalg import solve_triangular
        from scipy.optimize import nnls

        R = np.triu(factor)
        target = solve_triangular(R, h, trans="T", check_finite=False)
        size = max(float(np.abs(target).max()), 1e-300)  # nnls judges small numbers by absolute size
        try:
            c = nnls(R, target / size, maxiter=max(100, 10 * slots.size))[0]
        except RuntimeError:  # it did not settle: let the most negative ones go
            c = dpotrs(factor, h)[0]
        positive = c > 0
        return self._squares(classes[positive], slots[positive])

    # Other losses -----------------------------------------------------------------------------------------------------

    def _smooth(self, classes: IntArray, slots: IntArray, start: Support | None, trial: bool) -> Support:
        problem, images, listed = self.problem, self.images, self.listed
        A = images.columns(slots)
        free = self.free
        dim = slots.size
        columns = Bordered(A, free)
        lower = np.full(columns.dim, -np.inf)
        upper = np.full(columns.dim, np.inf)
        if problem.cap is not None:
            upper[:dim] = problem.cap_of(classes)
            lower[:dim] = -upper[:dim]
        if listed.nonnegative:
            lower[:dim] = 0.0
        guess = np.zeros(columns.dim)
        if start is not None:
            here = dict(zip(start.slots.tolist(), start.c.tolist(), strict=True))
            guess[:dim] = [here.get(s, 0.0) for s in slots.tolist()]
            guess[dim:] = start.free
        base = LeastSquares() if self.squares else problem.base_loss
        target = images.target
        c, residual, H = newton(
            columns,
            target,
            base,
            lower,
            upper,
            np.clip(guess, lower, upper),
            tol=1e-4 if trial else 1e-15,
            target=start.loss if trial and start is not None and start.classes.size >= classes.size else np.inf,
        )
        used = listed.totals(classes, np.abs(c[:dim])) > 0
        used |= np.isin(classes, problem.forced)  # a trial may end before they have moved
        if dim and not used.all():
            keep = classes[used]
            return self._smooth(keep, images.slots(keep), start, trial)
        factor, bad = dpotrf(H + 1e-12 * max(float(np.trace(H)), 1e-300) / max(1, len(H)) * np.eye(len(H)), clean=0)
        if free is not None and free.shape[1] and not bad:  # the Hessian after the free columns have been fitted
            schur = np.linalg.inv(_inverse(factor)[:dim, :dim]) if dim else np.zeros((0, 0))
            factor, bad = dpotrf(schur, clean=0) if dim else (schur, 0)
        note = ""
        if not self.problem.loss.anchored and problem.cap is None and np.abs(target - residual).max(initial=0) > SPAN:
            note = "the classes are separable on these atoms: the fit has no minimiser and was stopped on its way"
        loss = base.value(residual)
        return Support(
            listed, classes, slots, c[:dim], residual, loss, None if bad else factor, free=c[dim:], note=note
        )


def _inverse(factor: FloatArray) -> FloatArray:
    """The inverse of a matrix from the upper triangle of its Cholesky factor."""
    half = dpotri(factor)[0]  # below the diagonal it holds nothing of use
    return np.where(np.tri(len(half), k=-1, dtype=bool), half.T, half)


def support_of(problem: Problem, classes: IntArray) -> Candidate:
    """The best coefficients on these classes."""
    fits = SupportFits(problem)
    with linalg.single_thread():
        return fits.candidate(fits.fit(classes))


def support_fit(problem: Problem, face: Face, dual: DualPoint) -> Candidate:
    """The reduced fit over listed atoms by way of their images, which are kept; begun at the oracle's own point."""
    assert problem.listed is not None
    fits, primal = SupportFits(problem), dual.primal
    searching = not fits.squares and problem.alpha is None and not problem.forced.size
    if searching and primal is not None and 0 < 2 * primal.face.size < problem.k:
        return primal  # on its way down, with few atoms yet: not worth Newton's method
    with linalg.single_thread():
        return fits.candidate(fits.fit(problem.listed.classes_of(face), fits.near(dual)))


def settled(problem: Problem, candidate: Candidate) -> Candidate:
    """The same atoms with their coefficients fitted to the last digit: trials of smooth losses end early."""
    if candidate.support is None or isinstance(problem.loss, LeastSquares):
        return candidate
    fits = SupportFits(problem)
    with linalg.single_thread():
        exact = fits.fit(candidate.support.classes, candidate.support, trial=False)
    return fits.candidate(exact) if exact.loss <= candidate.loss else candidate
