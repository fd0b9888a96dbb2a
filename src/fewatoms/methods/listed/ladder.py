"""(P1) down a fixed ladder of penalties, in the small space of a working set of atoms whose images are kept."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from fewatoms import _checks, kept, ledger, linalg
from fewatoms._types import Array, FloatArray, IntArray, ModelDual
from fewatoms.candidates import Candidate, DualPoint
from fewatoms.kept import Kept
from fewatoms.methods.listed.images import IMAGE_ROOM
from fewatoms.methods.listed.proximal import Shrink, Square, Weighted, accelerated
from fewatoms.methods.listed.view import View, listed
from fewatoms.problem import Problem
from fewatoms.reduced import Bordered
from fewatoms.relaxations import P1, P3, Relaxation

FINE_RUNGS = (0.7, 100, 1e-2)  # shrink, steps and tol for least squares
COARSE_RUNGS = (0.6, 40, 3e-2)  # and for losses whose steps have to be weighted anew


@dataclass(frozen=True, eq=False)
class WorkingSet:
    """minimise f(b - Mx) + lam gauge(x) at lam = shrink^j times the largest useful one, for sets that can be listed.

    A ridge on the coefficients is part of it. Each rung starts from the one above, with the atoms that its dual vector
    violates added to the working set: one product with M* for each look at all atoms, and one for each new image. Where
    M is a matrix at hand the gauge is that of the atoms in units of their images, so that the units of a feature do not
    matter. The ladder depends on neither k nor the bound. It ends when the working set has no more room, or explains
    the data.

    For least squares over columns of known length a second ladder goes down beside the first, on which large
    coefficients pay less (the minimax concave penalty, by reweighting): its dual vectors belong to no relaxation, but
    on data with many small effects its atoms are often the better ones.

    Parameters
    ----------
    shrink : float in (0, 1), optional
    steps : int, optional
        Iterations in the small space, at most, before the working set is looked at again.
    tol : float, optional
        Accuracy of a rung, as a share of lam. The defaults are finer for least squares, where a step costs little.
    floor : float
        The last rung, as a share of the first lam.
    fresh : int
        Atoms taken into the working set at a time, or as many as it has: ties come by the thousand.
    eager : float
        On a matrix at hand an image costs less than another look at all atoms: those aligned to this share of lam are
        taken in as well.
    dormant : float
        Atoms without a coefficient that are aligned to less than this share of lam leave the working set.
    relief : float
        Coefficients this many times lam pay no penalty on the second ladder.
    room : int
        Numbers kept as images at most, for an oracle on its own.
    """

    shrink: float | None = None
    _: KW_ONLY
    steps: int | None = None
    tol: float | None = None
    floor: float = 1e-4
    fresh: int = 100
    eager: float = 0.9
    dormant: float = 0.8
    relief: float = 3.0
    room: int = IMAGE_ROOM

    patience: ClassVar[int] = 20  # iterates without a better answer, two a rung
    looks: ClassVar[int] = 4  # at all atoms on one rung, at most
    passes: ClassVar[int] = 6  # in the small space before another look
    reweighted: ClassVar[int] = 3  # times that the relief is reckoned anew on a rung
    models: ClassVar[int] = 8  # of second order for a smooth loss on a rung, at most

    def __post_init__(self) -> None:
        if self.shrink is not None and not 0.0 < _checks.number("shrink", self.shrink) < 1.0:
            raise ValueError(f"shrink must lie between 0 and 1; got {self.shrink!r}")
        if self.steps is not None:
            _checks.integer("steps", self.steps, 1)
        if self.tol is not None:
            _checks.number("tol", self.tol, positive=True)
        _checks.number("floor", self.floor, positive=True)

    def iterates(self, problem: Problem) -> Iterator[DualPoint]:
        if listed(problem) is None:
            raise ValueError(f"oracle: WorkingSet is for sets whose atoms can be listed; got {problem.atoms!r}")
        return self.along(problem, View(problem, problem.M, self.room))

    def along(self, problem: Problem, view: View) -> Iterator[DualPoint]:
        """The same over a view that somebody has made."""
        unit = problem if view.unit_atoms is None else problem.over(view.unit_atoms)
        bounded = problem.atoms.bounded
        goal = P3(unit) if problem.alpha is not None and bounded else None
        shrink = (FINE_RUNGS if view.images.squares else COARSE_RUNGS)[0] if self.shrink is None else self.shrink
        rungs = [_Rung(problem, view, self)]
        lam = start = rungs[0].largest()
        yield rungs[0].point(goal or P1(unit, lam if bounded else 0.0))
        if view.single and view.images.squares:
            rungs.append(_Rung(problem, view, self, relief=self.relief, like=rungs[0]))
        with ledger.step("ladder") as here:
            if here.found is not None:
                lam, rungs = self._again(here.found, rungs)
            while lam > self.floor * start and lam > 0 and rungs:
                if here.live:
                    here.mark(partial(_kept, lam, [rung.noted() for rung in rungs], view.walked.copy()))
                lam *= shrink
                relaxation = goal or P1(unit, lam if bounded else 0.0)
                for rung in list(rungs):
                    ledger.tick()
                    with linalg.single_thread():
                        room = rung.descend(lam)
                    yield rung.point(relaxation)
                    if not room or rung.explains():
                        rungs.remove(rung)

    def _again(self, it: Kept, rungs: list[_Rung]) -> tuple[float, list[_Rung]]:
        """The penalty, and those that still go down, where they were."""
        known = {math.isinf(rung.relief): rung for rung in rungs}
        rungs[0].view.walked[:] = it.arrays["walked"]
        left = []
        for one in it.inner:
            left.append(known[one.told["even"] is True])
            left[-1].again(one)
        return kept.real(it.told["lam"]), left


def _kept(lam: float, noted: list[Callable[[], Kept]], walked: Array) -> Kept:
    return Kept("ladder", {"lam": lam}, {"walked": walked}, tuple(one() for one in noted))


class _Rung:
    """The moving state: coefficients of the images kept, the residual, and the alignments of all atoms with it."""

    def __init__(
        self, problem: Problem, view: View, settings: WorkingSet, relief: float = math.inf, like: _Rung | None = None
    ) -> None:
        self.problem, self.view, self.images, self.settings, self.relief = problem, view, view.images, settings, relief
        _, steps, tol = FINE_RUNGS if view.images.squares else COARSE_RUNGS
        self.steps, self.tol = settings.steps or steps, settings.tol or tol
        # a unit of a class costs lam times its weight: what moves are small beside
        self.fine = self.tol * (1.0 if view.weights is None else float(view.weights.min()))
        self.classes = np.empty(0, dtype=np.intp)  # the working set
        self.c = np.zeros(0)  # its coefficients, in units of the images
        self.v = np.zeros(0 if view.free is None else view.free.shape[1])
        self.residual = problem.b
        self.y: FloatArray
        self.z: ModelDual
        self.alignments: FloatArray
        if like is None:
            self.look()
        else:
            self.y, self.z, self.alignments = like.y, like.z, like.alignments

    def noted(self) -> Callable[[], Kept]:
        """Note where it is, for a checkpoint."""
        arrays = {"classes": self.classes, "c": self.c.copy(), "v": self.v, "residual": self.residual}
        even = math.isinf(self.relief)
        return lambda: Kept("rung", {"even": even}, arrays)

    def again(self, it: Kept) -> None:
        """Go on from there: one product."""
        self.classes, self.c, self.v, self.residual = (it.arrays[name] for name in ("classes", "c", "v", "residual"))
        self.c = self.c.copy()
        self.images.slots(self.classes)  # images are made again
        self.look()

    def look(self) -> None:
        """The dual vector of the residual and the alignments of all atoms: one product."""
        ledger.tick()
        self.y = self.problem.loss.gradient(self.residual)
        self.z = self.view.outer.adjoint(self.y)
        self.alignments = self.view.alignments(self.view.pull(self.z))

    def largest(self) -> float:
        """The smallest penalty whose answer is zero."""
        return max(float(self.alignments.max()), 0.0)

    def explains(self) -> bool:
        """Whether the data are explained, or there are as many coefficients as data."""
        loss = self.problem.loss.value(self.residual)
        return self.problem.exact(1e-3 * loss) or int(np.count_nonzero(self.c)) >= 0.95 * self.problem.m

    # One rung ---------------------------------------------------------------------------------------------------------

    def descend(self, lam: float) -> bool:
        """Solve at lam, taking in atoms as long as some are violated; whether there was room for all of them."""
        settings, room = self.settings, True
        eager = 1.0 if self.view.at_hand is None else settings.eager
        for _ in range(settings.looks):
            wanted = self.alignments > eager * lam
            wanted[self.classes] = False
            fresh = np.flatnonzero(wanted)
            fresh = fresh[linalg.top_k(self.alignments[fresh], max(settings.fresh, self.classes.size))]
            union = np.concatenate([self.classes, fresh])
            if not self.images.fits(union):
                room = False
                union = union[np.cumsum(self.view.sizes(union)) <= self.images.room]
                fresh = union[self.classes.size :]
            self.view.walked[fresh] = True
            self.classes = union
            self.c = np.concatenate([self.c, np.zeros(int(self.view.sizes(fresh).sum()))])
            if self.images.squares:
                self._solve_squares(lam)
            else:
                self._solve_smooth(lam)
            self.look()
            violated = self.alignments > (1 + 5 * self.tol) * lam
            violated[self.classes] = False
            if not room or not violated.any():
                break
        self._tidy(lam)
        return room

    def _tidy(self, lam: float) -> None:
        """Forget what has been zero for long."""
        view = self.view
        awake = self.alignments[self.classes] > self.settings.dormant * lam
        alive = (view.totals(self.classes, np.abs(self.c)) > 0) | awake
        self.c = self.c[np.repeat(alive, view.sizes(self.classes))]
        self.classes = self.classes[alive]

    def _solve_squares(self, lam: float) -> None:
        images, even = self.images, math.isinf(self.relief)
        slots = images.slots(self.classes)
        sizes = self.view.sizes(self.classes)
        G = images.gram[slots[:, None], slots]
        if self.problem.ridge:
            G[np.diag_indices_from(G)] += self._pays(self.classes)
        q = images.moments[slots] - G @ self.c
        for _ in range(self.settings.passes if even else self.settings.reweighted):
            price = None if even else np.clip(1.0 - np.abs(self.c) / (self.relief * lam), 0.0, 1.0)
            busy = self._busy(q, lam if price is None else lam * price)
            if not busy.any():
                break
            spots = np.flatnonzero(np.repeat(busy, sizes))
            small = G[spots[:, None], spots]
            before = self.c[spots]
            shrink = self._shrinkage(self.classes[busy], price=None if price is None else price[busy])
            after = accelerated(small, q[spots] + small @ before, before, lam, shrink, self.steps, self.fine)
            self.c[spots] = after
            q -= G[:, spots] @ (after - before)
            if even and not (self._busy(q, (1 + self.tol) * lam) & ~busy).any():
                break
        r = images.target - images.combine(slots, self.c)
        self.residual = r if images.root is None else r / images.root

    def _pays(self, classes: IntArray) -> FloatArray:
        """What the squares of the coefficients of these classes are multiplied by."""
        return self.problem.ridge * self.view.squares(classes)

    def _busy(self, q: FloatArray, lam: FloatArray | float) -> Array:
        """Classes that are not zero, or would not stay zero."""
        view = self.view
        if view.blocks is not None:
            size = np.sqrt(view.totals(self.classes, q * q))
        else:
            size = q if view.nonnegative else np.abs(q)
        size = size if view.weights is None else size / view.weights[self.classes]
        return (view.totals(self.classes, np.abs(self.c)) > 0) | (size > lam)

    def _shrinkage(self, classes: IntArray, free: int = 0, price: FloatArray | None = None) -> Shrink:
        """The proximal map of the gauge in the small space; the last `free` coefficients are not penalised, and atoms
        pay the share `price` of the penalty."""
        view = self.view
        sizes: IntArray = view.sizes(classes)
        weights: FloatArray | float = 1.0 if view.weights is None else view.weights[classes]
        weights = weights if price is None else weights * price

        def signed(v: FloatArray, t: FloatArray | float) -> FloatArray:
            return np.copysign(np.maximum(np.abs(v) - t * weights, 0.0), v)

        def nonnegative(v: FloatArray, t: FloatArray | float) -> FloatArray:
            return np.maximum(v - t * weights, 0.0)

        def grouped(v: FloatArray, t: FloatArray | float) -> FloatArray:
            norms = np.sqrt(view.totals(classes, v * v))
            share = np.maximum(1.0 - t * weights / np.where(norms > 0, norms, 1.0), 0.0)
            return v * np.repeat(share, sizes)

        inner = grouped if view.blocks is not None else nonnegative if view.nonnegative else signed
        if not free:
            return inner
        return lambda v, t: np.concatenate([inner(v[:-free], np.asarray(t)[:-free] if np.ndim(t) else t), v[-free:]])

    def _solve_smooth(self, lam: float) -> None:
        """Proximal Newton: the loss is replaced by its second-order model in the small space, a few times."""
        images, view = self.images, self.view
        loss, sizes, F = self.problem.base_loss, view.sizes(self.classes), view.free
        A = images.columns(images.slots(self.classes))
        A_rows = sp.csr_array(A) if sp.issparse(A) else A
        v = self.v
        r = self.problem.b - A_rows @ self.c - (0.0 if F is None else F @ v)
        pays = self._pays(self.classes) if self.problem.ridge else np.zeros(self.c.size)

        def value_at(r: FloatArray, c: FloatArray) -> float:
            return loss.value(r) + lam * view.gauge(self.classes, c) + 0.5 * float(np.dot(pays, c * c))

        value = value_at(r, self.c)
        for _ in range(self.settings.models):
            y, H = loss.gradient(r), loss.bowl(r)
            busy = self._busy(np.asarray(A.T @ y) - pays * self.c, lam)
            spots = np.flatnonzero(np.repeat(busy, sizes))
            small = Bordered(A[:, spots], F)
            # of sparse columns a few hundred products cost less than their Gram matrix
            paid = np.concatenate([pays[spots], np.zeros(v.size)])
            G: Square = Weighted(small, H, paid) if sp.issparse(small.A) else H.gram(small) + np.diag(paid)
            before = np.concatenate([self.c[spots], v])
            shrink = self._shrinkage(self.classes[busy], v.size)
            metric = 1.0 if view.blocks is not None else small.diagonal(H.diagonal) + paid
            h = small.adjoint(y) - paid * before + G @ before
            after = accelerated(G, h, before, lam, shrink, self.steps, self.fine, metric)
            step = after - before
            image, t = small.apply(step), 1.0
            while True:
                c = self.c.copy()
                c[spots] += t * step[: spots.size]
                fresh = value_at(r - t * image, c)
                if fresh <= value or t < 1e-4:
                    break
                t *= 0.5
            if fresh > value:
                break
            fallen = value - fresh
            self.c, v = c, v + t * step[spots.size :]
            r, value = r - t * image, fresh
            if fallen <= 0.01 * self.tol * abs(value):
                break
        self.v = v
        self.residual = self.problem.b - A_rows @ self.c

    # What the caller sees ---------------------------------------------------------------------------------------------

    def point(self, relaxation: Relaxation) -> DualPoint:
        problem, view = self.problem, self.view
        used = view.totals(self.classes, np.abs(self.c)) > 0 if self.classes.size else np.zeros(0, dtype=bool)
        classes = self.classes[used]
        c = self.c[np.repeat(used, view.sizes(self.classes))]
        scale = view.user_scale(classes)
        loss, units = problem.loss.value(self.residual), None if view.unit_atoms is None else view.gauge(classes, c)
        norms = np.where(scale > 0, 1.0 / np.where(scale > 0, scale, 1.0), 0.0)
        squares = float(np.dot(view.squares(classes), c * c)) if problem.ridge else None
        face, series = view.face(classes), int(math.isfinite(self.relief))
        primal = Candidate.of(face, c * scale, self.residual, loss, norms, unit_gauge=units, squares=squares)
        gauge = primal.gauge if units is None else units
        support = relaxation.problem.atoms.ceiling(self.z)
        paid = 0.0 if squares is None else squares
        return DualPoint(self.y, self.z, support, relaxation, loss, gauge, primal, series, paid)
