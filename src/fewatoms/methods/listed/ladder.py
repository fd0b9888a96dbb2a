"""(P1) down a fixed ladder of penalties, in the small space of a working set of atoms whose images are kept."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from fewatoms import _checks, linalg
from fewatoms._types import FloatArray, IntArray, ModelDual
from fewatoms.listed import Listed
from fewatoms.losses import LeastSquares, Loss
from fewatoms.operators.reduced import Bordered
from fewatoms.problem import Problem
from fewatoms.relaxations import P1, P3, Relaxation
from fewatoms.solution import Candidate, DualPoint

FRESH = 100  # atoms taken into the working set at a time, or as many as it has: ties come by the thousand

REWEIGHTED = 3  # times that the relief is reckoned anew on a rung
RELIEF = 3.0  # coefficients this many times lam pay no penalty, where some relief is tried
FINE = (0.7, 100, 1e-2)  # shrink, steps and tol for least squares
COARSE = (0.6, 40, 3e-2)  # and for losses whose steps have to be weighted anew

Shrink = Callable[[FloatArray, Any], FloatArray]


class WorkingSet:
    """minimise f(b - Mx) + lam gauge(x) at lam = shrink^j times the largest useful one, for sets that can be listed.

    Each rung starts from the one above, with the atoms that its dual vector violates added to the working set: one
    product with M* for each look at all atoms, and one for each new image. Where M is a matrix at hand the gauge is
    that of the atoms in units of their images, so that the units of a feature do not matter. The ladder depends on
    neither k nor the bound. It ends when the working set has no more room, or explains the data.

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
    """

    patience = 20  # iterates without a better answer, two a rung
    patience_smooth = 3  # the same where fits take Newton's method
    exhaustive = True  # an end of the stream is the end of what can be tried

    def __init__(
        self,
        shrink: float | None = None,
        *,
        steps: int | None = None,
        tol: float | None = None,
        floor: float = 1e-4,
    ) -> None:
        if shrink is not None and not 0.0 < _checks.number("shrink", shrink) < 1.0:
            raise ValueError(f"shrink must lie between 0 and 1; got {shrink!r}")
        self.shrink = shrink
        self.steps = None if steps is None else _checks.integer("steps", steps, 1)
        self.tol = None if tol is None else _checks.number("tol", tol, positive=True)
        self.floor = _checks.number("floor", floor, positive=True)

    def iterates(self, problem: Problem) -> Iterator[DualPoint]:
        listed = problem.listed
        if listed is None:
            raise ValueError(f"oracle: WorkingSet is for sets whose atoms can be listed; got {problem.atoms!r}")
        unit = problem if listed.unit_atoms is None else problem.over(listed.unit_atoms)
        shrink, steps, tol = FINE if isinstance(problem.loss, LeastSquares) else COARSE
        shrink = shrink if self.shrink is None else self.shrink
        rungs = [_Rung(problem, listed, self.steps or steps, self.tol or tol)]
        lam = start = rungs[0].largest()
        goal = P3(unit) if problem.alpha is not None and problem.atoms.bounded else None
        yield rungs[0].point(goal or P1(unit, lam if problem.atoms.bounded else 0.0))
        if listed.scale is not None and listed.blocks is None and isinstance(problem.loss, LeastSquares):
            rungs.append(_Rung(problem, listed, self.steps or steps, self.tol or tol, relief=RELIEF, like=rungs[0]))
        while lam > self.floor * start and lam > 0 and rungs:
            lam *= shrink
            for rung in list(rungs):
                with linalg.single_thread():
                    room = rung.descend(lam)
                yield rung.point(goal or P1(unit, lam if problem.atoms.bounded else 0.0))
                if not room or rung.explains():
                    rungs.remove(rung)


class _Rung:
    """The moving state: coefficients of the images kept, the residual, and the alignments of all atoms with it."""

    def __init__(
        self,
        problem: Problem,
        listed: Listed,
        steps: int,
        tol: float,
        relief: float = math.inf,
        like: _Rung | None = None,
    ) -> None:
        self.relief = relief
        self.problem, self.listed, self.images = problem, listed, listed.images
        self.steps, self.tol = steps, tol
        self.classes = np.empty(0, dtype=np.intp)  # the working set
        self.c = np.zeros(0)  # its coefficients, in units of the images
        self.free = problem.free_in_loss
        self.v = np.zeros(0 if self.free is None else self.free.shape[1])
        self.weights = getattr(listed.atoms, "weights", None)  # of groups
        self.residual = problem.b
        self.y: FloatArray
        self.z: ModelDual
        self.alignments: FloatArray
        if like is None:
            self.look()
        else:
            self.y, self.z, self.alignments = like.y, like.z, like.alignments

    def look(self) -> None:
        """The dual vector of the residual and the alignments of all atoms: one product."""
        self.y = self.problem.loss.gradient(self.residual)
        self.z = self.problem.M.adjoint(self.y)
        self.alignments = np.array(self.listed.atoms.alignments(self.listed.pull(self.z)))
        if self.problem.barred.size:
            self.alignments[self.problem.barred] = -np.inf

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
        room = True
        # on a matrix at hand an image costs less than another look at all atoms: take a few more than are violated
        eager = 0.9 if self.problem.M.explicit else 1.0
        for _ in range(4):
            wanted = self.alignments > eager * lam
            wanted[self.classes] = False
            fresh = np.flatnonzero(wanted)
            fresh = fresh[linalg.top_k(self.alignments[fresh], max(FRESH, self.classes.size))]
            if not self.images.fits(fresh):
                room = False
                fresh = self._that_fit(fresh)
            slots = self.images.slots(fresh)
            self.classes = np.concatenate([self.classes, fresh])
            self.c = np.concatenate([self.c, np.zeros(slots.size)])
            self._solve(lam)
            self.look()
            violated = self.alignments > (1 + 5 * self.tol) * lam
            violated[self.classes] = False
            if not room or not violated.any():
                break
        self._tidy(lam)
        return room

    def _that_fit(self, classes: IntArray) -> IntArray:
        sizes = np.where(self.images.has(classes), 0, self.listed.sizes(classes))
        return classes[np.cumsum(sizes) <= self.images.room - self.images.size]

    def _tidy(self, lam: float) -> None:
        """Forget what has been zero for long; its images stay with the problem."""
        sizes = self.listed.sizes(self.classes)
        alive = (self.listed.totals(self.classes, np.abs(self.c)) > 0) | (self.alignments[self.classes] > 0.8 * lam)
        self.c = self.c[np.repeat(alive, sizes)]
        self.classes = self.classes[alive]

    def _solve(self, lam: float) -> None:
        if self.images.squares:
            self._solve_squares(lam)
        else:
            self._solve_smooth(lam)

    def _solve_squares(self, lam: float) -> None:
        images = self.images
        slots = images.slots(self.classes)
        sizes = self.listed.sizes(self.classes)
        G = images.gram[np.ix_(slots, slots)]
        q = images.moments[slots] - G @ self.c
        for _ in range(6 if math.isinf(self.relief) else REWEIGHTED):
            price = self._prices(lam)
            busy = self._busy(q, lam * price)
            if not busy.any():
                break
            spots = np.repeat(busy, sizes)
            small = G[np.ix_(spots, spots)]
            before = self.c[spots]
            shrink = self._shrinkage(self.classes[busy], price=price if np.ndim(price) == 0 else price[busy])
            after = accelerated(small, q[spots] + small @ before, before, lam, shrink, self.steps, self.tol)
            self.c[spots] = after
            q -= G[:, spots] @ (after - before)
            if math.isinf(self.relief) and not (self._busy(q, (1 + self.tol) * lam) & ~busy).any():
                break
        r = images.target - images.combine(slots, self.c)
        self.residual = r if images.root is None else r / images.root

    def _prices(self, lam: float) -> Any:
        """What each atom pays of the penalty: all of it, or with relief the less the larger its coefficient is."""
        if math.isinf(self.relief):
            return 1.0
        return np.clip(1.0 - np.abs(self.c) / (self.relief * lam), 0.0, 1.0)

    def _busy(self, q: FloatArray, lam: Any) -> Any:
        """Classes that are not zero, or would not stay zero."""
        totals = self.listed.totals
        if self.listed.blocks is not None:
            assert self.weights is not None
            size = np.sqrt(totals(self.classes, q * q)) / self.weights[self.classes]
        else:
            size = q if self.listed.nonnegative else np.abs(q)
        return (totals(self.classes, np.abs(self.c)) > 0) | (size > lam)

    def _shrinkage(self, classes: IntArray, free: int = 0, price: Any = 1.0) -> Shrink:
        """The proximal map of the gauge in the small space; the last `free` coefficients are not penalised."""
        listed = self.listed

        def signed(v: FloatArray, t: Any) -> FloatArray:
            return np.copysign(np.maximum(np.abs(v) - t * price, 0.0), v)

        def nonnegative(v: FloatArray, t: Any) -> FloatArray:
            return np.maximum(v - t * price, 0.0)

        sizes = listed.sizes(classes)

        def grouped(v: FloatArray, t: Any) -> FloatArray:
            norms = np.sqrt(listed.totals(classes, v * v))
            assert self.weights is not None
            share = np.maximum(1.0 - t * self.weights[classes] / np.where(norms > 0, norms, 1.0), 0.0)
            return v * np.repeat(share, sizes)

        inner = grouped if listed.blocks is not None else nonnegative if listed.nonnegative else signed
        if not free:
            return inner
        return lambda v, t: np.concatenate([inner(v[:-free], t if np.ndim(t) == 0 else t[:-free]), v[-free:]])

    def _solve_smooth(self, lam: float) -> None:
        """Proximal Newton: the loss is replaced by its second-order model in the small space, a few times."""
        problem, images = self.problem, self.images
        loss, sizes = problem.base_loss, self.listed.sizes(self.classes)
        slots = images.slots(self.classes)
        A = images.columns(slots)
        A_rows = sp.csr_array(A) if sp.issparse(A) else A
        v = self.v
        r = problem.b - A_rows @ self.c - (0.0 if self.free is None else self.free @ v)
        value = loss.value(r) + lam * self._gauge(self.classes, self.c)
        for _ in range(8):
            y, w = loss.gradient(r), curvature(loss, r)
            q = np.asarray(A.T @ y)
            busy = self._busy(q, lam)
            spots = np.repeat(busy, sizes)
            small = Bordered(A[:, np.flatnonzero(spots)], self.free)
            # of sparse columns a few hundred products cost less than their Gram matrix
            G: Any = _Weighted(small, w) if sp.issparse(small.A) else small.gram(w)
            before = np.concatenate([self.c[spots], v])
            slope = small.adjoint(y)
            shrink = self._shrinkage(self.classes[busy], v.size)
            metric = 1.0 if self.listed.blocks is not None else small.diagonal(w)
            after = accelerated(G, slope + G @ before, before, lam, shrink, self.steps, self.tol, metric)
            step = after - before
            image, t = small.apply(step), 1.0
            while True:
                c = self.c.copy()
                c[spots] += t * step[: step.size - v.size]
                fresh = loss.value(r - t * image) + lam * self._gauge(self.classes, c)
                if fresh <= value or t < 1e-4:
                    break
                t *= 0.5
            if fresh > value:
                break
            fallen = value - fresh
            self.c, v = c, v + t * step[step.size - v.size :]
            r, value = r - t * image, fresh
            if fallen <= 0.01 * self.tol * abs(value):
                break
        self.v = v
        self.residual = problem.b - A_rows @ self.c

    def _gauge(self, classes: IntArray, c: FloatArray) -> float:
        if self.listed.blocks is None:
            return float(np.abs(c).sum())
        assert self.weights is not None
        return float(np.sqrt(self.listed.totals(classes, c * c)) @ self.weights[classes])

    # What the caller sees ---------------------------------------------------------------------------------------------

    def point(self, relaxation: Relaxation) -> DualPoint:
        problem, listed = self.problem, self.listed
        used = listed.totals(self.classes, np.abs(self.c)) > 0 if self.classes.size else np.zeros(0, dtype=bool)
        classes = self.classes[used]
        c = self.c[np.repeat(used, listed.sizes(self.classes))]
        scale = listed.user_scale(listed.coordinates(classes))
        loss = problem.loss.value(self.residual)
        norms = np.where(scale > 0, 1.0 / np.where(scale > 0, scale, 1.0), 0.0)
        primal = Candidate(listed.face(classes), c * scale, self.residual, loss, norms)
        gauge = 0.0 if not problem.atoms.bounded and self.classes.size == 0 else self._gauge(classes, c)
        series = int(math.isfinite(self.relief))
        if relaxation.problem is problem:
            gauge = primal.gauge
        support = relaxation.problem.atoms.support(self.z)
        return DualPoint(self.y, self.z, support, relaxation, loss, gauge, primal, series)


def accelerated(
    G: Any,
    h: FloatArray,
    x: FloatArray,
    lam: float,
    shrink: Shrink,
    steps: int,
    tol: float,
    metric: FloatArray | float = 1.0,
) -> FloatArray:
    """min x'Gx/2 - h'x + lam gauge(x) for a small G: accelerated proximal gradients with restarts.

    `metric`, about the diagonal of G, makes steps along columns of different lengths equally long.
    """
    lipschitz = _curvature(G, x.size, metric)
    if lipschitz <= 0:
        return x
    image = G @ x
    v, image_v, momentum = x, image, 1.0
    for _ in range(steps):
        while True:
            bound = lipschitz * metric
            x_next = shrink(v + (h - image_v) / bound, lam / bound)
            image_next = G @ x_next
            moved = x_next - v
            size, bend = float(moved @ (metric * moved)), float(moved @ (image_next - image_v))
            if not bend > lipschitz * size * (1 + 1e-9) or size == 0.0:
                break
            lipschitz = 1.2 * bend / size  # the estimate was too low
        step = x_next - x
        if float(moved @ (metric * step)) < 0:  # the momentum has overshot
            momentum = 1.0
        momentum_next = 0.5 * (1 + math.sqrt(1 + 4 * momentum**2))
        beta = (momentum - 1) / momentum_next
        v, image_v = x_next + beta * step, image_next + beta * (image_next - image)
        x, image, momentum = x_next, image_next, momentum_next
        if lipschitz * float(np.abs(metric * moved).max()) <= tol * lam:
            break
    return x


def curvature(loss: Loss, r: FloatArray) -> FloatArray:
    """That of the loss, and where it has none (Huber's tails) that of the parabola through its slope."""
    w = loss.curvature(r)
    flat = w <= 0
    if flat.any():
        w = np.where(flat, np.abs(loss.gradient(r)) / np.maximum(np.abs(r), 1e-300), w)
    return w


@dataclass(frozen=True, eq=False)
class _Weighted:
    """R' diag(w) R, which is multiplied by and not formed."""

    reduced: Bordered
    w: FloatArray

    def __matmul__(self, v: FloatArray) -> FloatArray:
        return self.reduced.adjoint(self.w * self.reduced.apply(v))


def _curvature(G: Any, size: int, metric: FloatArray | float) -> float:
    """The largest eigenvalue of G in the metric, estimated from below by a few power steps."""
    root = np.sqrt(metric)
    v = 1.0 + 0.5 * np.cos(np.arange(size) ** 2)
    length = 0.0
    for _ in range(6):
        v = (G @ (v / (root * max(float(np.linalg.norm(v)), 1e-300)))) / root
        length = float(np.linalg.norm(v))
    return length
