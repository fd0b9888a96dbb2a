"""Reduced fits over listed atoms whose images are kept: many supports of one problem, a small solve each.

Least squares goes through a Cholesky factor of the Gram matrix of the images, with one step of refinement on the
residual; what that cannot decide (dependent columns) is pruned until it can. Other losses go to Newton's method on the
columns, from where the last support left off.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs

from fewatoms import kept, linalg
from fewatoms._types import Array, FloatArray, IntArray
from fewatoms.budget import Budget
from fewatoms.candidates import Candidate
from fewatoms.continued import FIT_GONE
from fewatoms.kept import Kept, Plain
from fewatoms.methods.listed.squares import fitted, within
from fewatoms.methods.listed.view import View
from fewatoms.problem import Problem
from fewatoms.reduced import Bordered
from fewatoms.retrieval.newton import newton
from fewatoms.words import left_out

INDEPENDENT = 1e-12  # share of a column's squared length that the others must leave for it to count as independent
ILL_CONDITIONED = 1e-7  # the same share, from which on one step of refinement is enough
TIE_BREAK = 1e-9  # of the longest column's squared length: the ridge that decides between dependent columns of a group
ROUGH, FINE = 1e-4, 1e-15  # tolerances of iterative fits: of trials, and of the last one


@dataclass(frozen=True, eq=False)
class Support:
    """A few classes of atoms with their best coefficients, in units of the images.

    residual : as the images see it
    factor : Cholesky factor of the Hessian, upper triangle; None where there is none
    free : coefficients of the free columns
    ridge, squares : what half of |c|^2 pays, in units in which images have length 1, and |c|^2 in these
    capped : whether the best coefficients without a cap would be others
    """

    view: View
    classes: IntArray
    c: FloatArray
    residual: FloatArray
    loss: float
    factor: FloatArray | None
    free: FloatArray = field(default_factory=lambda: np.zeros(0))
    note: str = ""
    squares: float = 0.0
    ridge: float = 0.0
    capped: bool = False

    def kept(self) -> Kept:
        """For a checkpoint."""
        told: dict[str, Plain] = {"note": self.note, "capped": bool(self.capped)}
        told |= {name: float(vars(self)[name]) for name in ("loss", "squares", "ridge")}
        arrays = {"classes": self.classes, "c": self.c, "residual": self.residual, "free": self.free}
        return Kept("support", told, arrays if self.factor is None else {**arrays, "factor": self.factor})

    @classmethod
    def read(cls, view: View, it: Kept) -> Support:
        """What was kept, to the last digit."""
        told, a = it.told, it.arrays
        loss, squares, ridge = (kept.real(told[name]) for name in ("loss", "squares", "ridge"))
        return cls(
            view, a["classes"], a["c"], a["residual"], loss, a.get("factor"), a["free"], str(told["note"]), squares,
            ridge, told["capped"] is True,
        )  # fmt: skip

    @property
    def objective(self) -> float:
        """The loss, and what the coefficients pay."""
        return self.loss + 0.5 * self.ridge * self.squares

    @cached_property
    def inverse(self) -> FloatArray:
        """The inverse of the Hessian."""
        assert self.factor is not None
        return _inverse(self.factor)

    @cached_property
    def costs(self) -> FloatArray:
        """What the objective would rise by without each class, the others fitted anew (to second order)."""
        H = self.inverse
        if self.view.blocks is None:
            return 0.5 * self.c**2 / np.diag(H)
        return np.array([0.5 * self.c[s] @ np.linalg.solve(H[s, s], self.c[s]) for s in self.spans])

    @property
    def spans(self) -> list[slice]:
        """Where the coefficients of each class are."""
        sizes = self.view.sizes(self.classes)
        return [slice(end - size, end) for size, end in zip(sizes, np.cumsum(sizes), strict=True)]

    def by_class(self) -> dict[int, FloatArray]:
        """The coefficients of each class."""
        if self.view.blocks is None:
            return dict(zip(self.classes.tolist(), self.c[:, None], strict=True))
        cuts = np.cumsum(self.view.sizes(self.classes))[:-1]
        return dict(zip(self.classes.tolist(), np.split(self.c, cuts), strict=True)) if self.classes.size else {}


def without_each(support: Support) -> FloatArray:
    """The best coefficients without each class, a column each: zero for that one, the others fitted anew."""
    H, c = support.inverse, support.c
    C = np.stack([c - H[:, s] @ np.linalg.solve(H[s, s], c[s]) for s in support.spans], axis=1)
    for i, s in enumerate(support.spans):
        C[s, i] = 0.0
    return C


class SupportFits:
    """The reduced fits of one problem with listed atoms, for one budget.

    asked : classes that have been in a fit
    """

    def __init__(self, problem: Problem, view: View, asked: Array | None = None) -> None:
        self.problem, self.view, self.images = problem, view, view.images
        self.squares, self.ridge = view.images.squares, problem.ridge
        self.asked = np.zeros(view.count, dtype=bool) if asked is None else asked

    def within(self, k: int) -> SupportFits:
        """The same for another budget."""
        return SupportFits(self.problem.with_budget(Budget(k)), self.view, self.asked)

    def candidate(self, support: Support) -> Candidate:
        """A support as a candidate in the user's units."""
        view, classes = self.view, support.classes
        scale = view.user_scale(classes)
        with np.errstate(divide="ignore"):
            norms = np.where(scale > 0, 1.0 / scale, 0.0)
        residual = support.residual if self.images.root is None else support.residual / self.images.root
        units = view.gauge(classes, support.c) if view.rescaled else None
        squares = support.squares if self.ridge else None
        return Candidate.of(
            view.face(classes), support.c * scale, residual, support.loss, norms, support.note, support, units, squares
        )

    def whole(self, candidate: Candidate) -> Candidate:
        """One of before a kill with its fit again; all others as they are."""
        return self.candidate(self.support_of(candidate)) if candidate.support == FIT_GONE else candidate

    def support_of(self, candidate: Candidate) -> Support:
        """The support behind a candidate; it is fitted if there is none."""
        if isinstance(candidate.support, Support):
            return candidate.support
        return self.fit(self.view.chosen(self.view.classes_of(candidate.face)))

    def near(self, primal: Candidate | None) -> Support | None:
        """The oracle's own point, for iterative fits to begin at."""
        if self.squares or primal is None:
            return None
        classes, v = self.view.classes_of(primal.face), self.view.free
        scale = self.view.user_scale(classes)
        c = primal.c / np.where(scale > 0, scale, 1.0)
        free = np.zeros(0 if v is None else v.shape[1])
        return Support(self.view, classes, c, primal.residual, np.inf, None, free, ridge=self.ridge)

    def fit(self, classes: IntArray, start: Support | None = None, *, trial: bool = True) -> Support:
        """The best coefficients on these classes. Classes that add nothing to the others are left out.

        Iterative fits begin at `start`; as a `trial` they are given up when they will not be better, and end early.
        """
        self.asked[classes] = True
        return self._squares(classes) if self.squares else self._smooth(classes, start, trial)

    def settled(self, candidate: Candidate) -> Candidate:
        """The same atoms with their coefficients fitted to the last digit: trials of smooth losses end early."""
        support = candidate.support
        if self.squares or not isinstance(support, Support):
            return candidate
        exact = self.fit(support.classes, support, trial=False)
        return self.candidate(exact) if exact.objective <= support.objective else candidate

    # Least squares ----------------------------------------------------------------------------------------------------

    def _squares(self, classes: IntArray) -> Support:
        images, view = self.images, self.view
        if not classes.size:
            target = images.target
            return Support(view, classes, np.zeros(0), target, 0.5 * float(target @ target), None, ridge=self.ridge)
        slots = images.slots(classes)
        if view.blocks is not None:
            return self._blocks(classes, slots)
        kept, c, residual, factor = fitted(images, slots, self.ridge, nonnegative=view.nonnegative)
        if view.cap is not None and c.size and (np.abs(c) > view.caps(classes[kept])).any():
            return self._capped(classes, slots)
        squares = float(np.dot(c * c, images.gram.diagonal()[slots[kept]])) if self.ridge else 0.0
        loss = 0.5 * float(residual @ residual)
        note = "" if view.nonnegative or kept.size == classes.size else left_out(classes.size - kept.size)
        support = Support(view, classes[kept], c, residual, loss, factor, note=note, squares=squares, ridge=self.ridge)
        if view.cap is None or kept.size == classes.size:
            return support
        # of two equal columns the second adds something where the first is at its cap
        whole = self._capped(classes, slots)
        return whole if whole.objective < support.objective * (1 - INDEPENDENT) else support

    def _capped(self, classes: IntArray, slots: IntArray) -> Support:
        """Coefficients within their box; classes that have none are left out."""
        images, view = self.images, self.view
        _, c, residual, factor = within(images, slots, self.ridge, *self._box(classes, slots.size))
        used = view.totals(classes, np.abs(c)) > 0
        if not used.all():
            return replace(self._squares(classes[used]), capped=True)
        squares = float(np.dot(c * c, images.gram[slots, slots])) if self.ridge else 0.0
        loss = 0.5 * float(residual @ residual)
        return Support(view, classes, c, residual, loss, factor, squares=squares, ridge=self.ridge, capped=True)

    def _blocks(self, classes: IntArray, slots: IntArray) -> Support:
        """Groups: within one, columns may well depend on each other; a ridge too small to be seen decides then."""
        images, view = self.images, self.view
        G, h = images.gram[slots[:, None], slots], images.moments[slots]
        pays = self.ridge * G.diagonal()
        G[np.diag_indices_from(G)] += pays
        factor, bad = dpotrf(G, clean=0)
        if bad or not _independent(factor, G):
            G[np.diag_indices_from(G)] += TIE_BREAK * float(G.diagonal().max())
            factor, bad = dpotrf(G, clean=0)
            if bad:
                return self._squares(classes[:-1])
        c = dpotrs(factor, h)[0]
        if view.cap is not None and (np.abs(c) > view.caps(classes)).any():
            return self._capped(classes, slots)
        steep = float((np.diag(factor) ** 2 / np.maximum(np.diag(G), 1e-300)).min()) < ILL_CONDITIONED
        for _ in range(3 if steep else 1):
            residual = images.target - images.combine(slots, c)
            c = c + dpotrs(factor, images.correlate(slots, residual) - pays * c)[0]
        residual = images.target - images.combine(slots, c)
        squares = float(np.dot(c * c, pays)) / self.ridge if self.ridge else 0.0
        loss = 0.5 * float(residual @ residual)
        return Support(view, classes, c, residual, loss, factor, squares=squares, ridge=self.ridge)

    # Other losses -----------------------------------------------------------------------------------------------------

    def _smooth(self, classes: IntArray, start: Support | None, trial: bool) -> Support:
        images, view, loss = self.images, self.view, self.problem.base_loss
        columns = Bordered(images.columns(images.slots(classes)), view.free)
        dim = columns.A.shape[1]
        unit = np.ones(columns.dim)  # what coefficients are multiplied by: where lengths differ, columns have length 1
        if view.lengths is not None:
            unit[:dim] = view.lengths_of(classes)
            columns = Bordered(linalg.columnwise(columns.A, 1.0 / unit[:dim]), view.free)
        lower, upper = self._box(classes, columns.dim)
        lengths, pays = view.squares(classes) if self.ridge else np.zeros(dim), np.zeros(columns.dim)
        pays[:dim] = self.ridge * lengths
        u, residual, H = newton(
            columns,
            images.target,
            loss,
            lower * unit,
            upper * unit,
            np.clip(_guess(classes, columns.dim, dim, view, start), lower, upper) * unit,
            tol=ROUGH if trial else FINE,
            target=start.objective if trial and start is not None and start.classes.size >= classes.size else np.inf,
            pays=pays / unit**2,
        )
        c = np.clip(u / unit, lower, upper)
        used = view.totals(classes, np.abs(c[:dim])) > 0
        if view.forced.size:
            used |= np.isin(classes, view.forced)  # a trial may end before they have moved
        if dim and not used.all():
            return self._smooth(classes[used], start, trial)
        value, squares = loss.value(residual), float(np.dot(lengths, c[:dim] ** 2))
        factor = _past_free(H, dim)
        factor = None if factor is None else factor * unit[:dim]
        return Support(view, classes, c[:dim], residual, value, factor, c[dim:], squares=squares, ridge=self.ridge)

    def _box(self, classes: IntArray, dim: int) -> tuple[FloatArray, FloatArray]:
        """The least and the largest coefficients; free columns have no bounds."""
        lower, upper = np.full(dim, -np.inf), np.full(dim, np.inf)
        inside = dim - (0 if self.view.free is None else self.view.free.shape[1])
        if self.view.cap is not None:
            upper[:inside] = self.view.caps(classes)
            lower[:inside] = -upper[:inside]
        if self.view.nonnegative:
            lower[:inside] = 0.0
        return lower, upper


def _guess(classes: IntArray, count: int, dim: int, view: View, start: Support | None) -> FloatArray:
    """Where an iterative fit on these classes begins: at the coefficients of another one, and at 0 elsewhere."""
    guess = np.zeros(count)
    if start is None:
        return guess
    here = start.by_class()
    known = [here.get(g) for g in classes.tolist()]
    if view.blocks is None:
        guess[:dim] = [0.0 if c is None else c[0] for c in known]
    elif classes.size:
        sizes = view.sizes(classes).tolist()
        guess[:dim] = np.concatenate([np.zeros(n) if c is None else c for c, n in zip(known, sizes, strict=True)])
    guess[dim:] = start.free
    return guess


def _past_free(H: FloatArray, dim: int) -> FloatArray | None:
    """The Cholesky factor of a Hessian after the free columns, the last ones, have been fitted; None if it has none.

    With those first, the factor of the rest is what is left of it.
    """
    order = np.concatenate([np.arange(dim, len(H)), np.arange(dim)])
    H = H[order[:, None], order]
    H[np.diag_indices_from(H)] += 1e-12 * max(float(np.trace(H)), 1e-300) / max(1, len(H))
    factor, bad = dpotrf(H, clean=0) if dim else (H, 0)
    return None if bad else factor[len(H) - dim :, len(H) - dim :]


def _independent(factor: FloatArray, G: FloatArray) -> bool:
    return bool((np.diag(factor) ** 2 > INDEPENDENT * np.diag(G)).all())


def _inverse(factor: FloatArray) -> FloatArray:
    """The inverse of a matrix from the upper triangle of its Cholesky factor."""
    half = dpotri(factor)[0]  # below the diagonal it holds nothing of use
    return np.where(np.tri(len(half), k=-1, dtype=bool), half.T, half)
