"""The reduced problem (PR): min f(b - M point(c)) over the coefficients a face allows.

Least squares goes to direct solvers where columns or normal equations are at hand and to LSMR where only products are;
other losses to a projected Newton method; coefficients with a PSD part to projected gradients, then to its factor.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, lsmr

from fewatoms import ledger, linalg
from fewatoms._types import Array, BudgetLike, FloatArray
from fewatoms.candidates import Candidate
from fewatoms.faces import Cone, Face, hermitian, hermitian_coordinates
from fewatoms.losses import LeastSquares, Loss
from fewatoms.problem import Problem
from fewatoms.reduced import Columns, ReducedOperator
from fewatoms.retrieval.newton import newton

DENSE = 8_000_000  # numbers in a dense copy of sparse columns at most
FORM = 3000  # columns of an implicit operator formed at most, where only a direct solve will do
BLIND = 1e-14  # of the longest image of orthonormal directions: shorter ones are rounding
UNSEEN = 1e-20  # of the largest squared length of an image: of orthonormal directions such a short one is rounding

Projection = Callable[[FloatArray], FloatArray]


def reduced_fit(problem: Problem, face: Face) -> Candidate:
    """The best coefficients on a face."""
    ledger.tick()
    if face.dim == 0:
        return Candidate.of(face, np.zeros(0), problem.b.copy(), problem.at_zero)
    reduced = problem.M.restrict(face)
    with linalg.single_thread():
        if problem.loss.squares:
            c, reduced = _least_squares(reduced, problem.b, problem.loss.weights, face)
        else:
            c, reduced = _smooth(reduced, problem.b, problem.loss, face)
        residual = problem.b - reduced.apply(c)
    return Candidate.of(face, c, residual, problem.loss.value(residual), reduced.norms())


# Least squares -------------------------------------------------------------------------------------------------------


def _least_squares(
    reduced: ReducedOperator, b: FloatArray, weights: FloatArray | None, face: Face
) -> tuple[FloatArray, ReducedOperator]:
    root = None if weights is None else np.sqrt(weights)
    matrix = _dense_columns(reduced)
    if matrix is not None:
        A, target = (matrix, b) if root is None else (root[:, None] * matrix, root * b)
        return _by_columns(A, target, face), Columns(matrix)
    if reduced.direct and reduced.matrix is None:
        return _by_normal_equations(reduced, b, weights, face), reduced
    c, converged = _by_products(reduced, b, root)
    if not converged and reduced.dim <= FORM:
        return _least_squares(reduced.formed(), b, weights, face)
    if not _allowed(face, c):
        if reduced.dim <= FORM:  # a constrained fit takes many steps: without columns each would cost two products
            return _least_squares(reduced.formed(), b, weights, face)
        c = _projected_gradient(reduced, b, LeastSquares(weights), face.project, face.project(c))
    return c, reduced


def _dense_columns(reduced: ReducedOperator) -> FloatArray | None:
    matrix = reduced.matrix
    if matrix is None or not sp.issparse(matrix):
        return matrix
    return matrix.toarray() if matrix.shape[0] * matrix.shape[1] <= DENSE else None


def _allowed(face: Face, c: FloatArray) -> bool:
    """Whether unconstrained coefficients happen to be allowed: then they are optimal."""
    return face.cone is Cone.FREE or bool(np.array_equal(face.project(c), c))


def _by_columns(A: FloatArray, b: FloatArray, face: Face) -> FloatArray:
    """Columns at hand: a rank-revealing QR factorisation, or nonnegative least squares on its triangle."""
    norms = np.linalg.norm(A, axis=0)
    # atoms in different units are no reason for rounding errors
    scale = np.where(norms > _rounding(face, norms), norms, np.inf)
    rounding = 10 * max(A.shape) * float(np.finfo(np.float64).eps)  # columns this dependent are dependent
    c = scipy.linalg.lstsq(A / scale, b, cond=rounding, lapack_driver="gelsy", check_finite=False)[0] / scale
    if _allowed(face, c):
        return np.asarray(c)
    mask = face.nonnegative()
    if mask is None:
        return _gram_constrained(A.T @ A, A.T @ b, face, face.project(np.asarray(c)))
    return _signed_least_squares(A / scale, b, mask, rounding) / scale


def _rounding(face: Face, norms: FloatArray) -> FloatArray:
    """How long an image is at most that is nothing but rounding. Where atoms turn coefficients belong to orthonormal
    directions, and some of these may be unseen."""
    each = [
        np.full(f.dim, BLIND * float(own.max(initial=0.0)) if f.turning() is not None else 0.0)
        for f, own in _leaves(face, norms)
    ]
    return np.concatenate(each)


def _signed_least_squares(A: FloatArray, b: FloatArray, mask: Array, rounding: float) -> FloatArray:
    """Some coefficients nonnegative: the free columns are projected out, and the rest is nonnegative least squares."""
    free, bound = A[:, ~mask], A[:, mask]
    basis = linalg.orthonormal(free)
    inside, target = bound - basis @ (basis.T @ bound), b - basis @ (basis.T @ b)
    new = np.linalg.norm(inside, axis=0) > 1e-10  # a column that the free ones span adds nothing but rounding
    c = np.zeros(A.shape[1])
    if new.any():
        q, r = scipy.linalg.qr(inside[:, new], mode="economic", check_finite=False)
        c[np.flatnonzero(mask)[new]] = _nonnegative(r, q.T @ target)
    if free.shape[1]:
        left = b - bound @ c[mask]
        c[~mask] = scipy.linalg.lstsq(free, left, cond=rounding, lapack_driver="gelsy", check_finite=False)[0]
    return c


def _nonnegative(R: FloatArray, target: FloatArray) -> FloatArray:
    from scipy.optimize import nnls

    size = max(float(np.abs(target).max()), 1e-300)  # nnls judges small numbers by absolute size
    try:
        return np.asarray(nnls(R, target / size, maxiter=max(100, 10 * R.shape[1]))[0]) * size
    except RuntimeError:  # it did not settle within its iterations
        columns = Columns(R)
        return _projected_gradient(columns, target, LeastSquares(), lambda c: np.maximum(c, 0.0), np.zeros(R.shape[1]))


def _by_normal_equations(reduced: ReducedOperator, b: FloatArray, weights: FloatArray | None, face: Face) -> FloatArray:
    """Structured operators: a small Gram matrix accumulated block by block, one step of refinement on the residual."""
    G, h = reduced.normal_equations(b, weights)
    solve = linalg.definite_solver(G, UNSEEN if face.cone is Cone.PSD else 0.0)
    c = solve(h)
    residual = b - reduced.apply(c)
    c = c + solve(reduced.adjoint(residual if weights is None else weights * residual))
    return c if _allowed(face, c) else _gram_constrained(G, h, face, face.project(c))


def _by_products(reduced: ReducedOperator, b: FloatArray, root: FloatArray | None) -> tuple[FloatArray, bool]:
    """Only products: LSMR, given about as many as forming the columns would cost."""
    w = 1.0 if root is None else root
    shape = (b.size, reduced.dim)

    def apply(c: FloatArray) -> FloatArray:
        ledger.tick()
        return w * reduced.apply(c)

    operator = LinearOperator(shape, matvec=apply, rmatvec=lambda r: reduced.adjoint(w * r), dtype=np.float64)
    limit = max(30, reduced.dim // 2) if reduced.dim <= FORM else 500
    c, reason, *_ = lsmr(operator, w * b, atol=1e-12, btol=1e-14, conlim=0.0, maxiter=limit)
    # 7: out of steps; 3 and 6: ill-conditioned, which LSMR also says of every operator in very small units
    return np.asarray(c), reason not in (3, 6, 7)


def _gram_constrained(G: FloatArray, h: FloatArray, face: Face, c: FloatArray) -> FloatArray:
    """min c'Gc/2 - h'c over the coefficients of a face, all in the small space."""
    lipschitz = float(np.linalg.eigvalsh(G)[-1])
    if lipschitz <= 0:
        return face.project(0.0 * c)

    def objective(c: FloatArray) -> tuple[float, FloatArray]:
        slope = G @ c - h
        return 0.5 * float(np.dot(c, slope - h)), slope

    c = _gram_projected_gradient(G, h, lipschitz, face.project, c)
    refined = _refine(face, c, objective, float(np.abs(np.dot(h, c))))
    return refined if objective(refined)[0] < objective(c)[0] else c


def _gram_projected_gradient(
    G: FloatArray, h: FloatArray, lipschitz: float, project: Projection, c: FloatArray
) -> FloatArray:
    """Accelerated projected gradients with restarts, a rough solution."""
    v, momentum = c, 1.0
    for _ in range(500):
        c_next = project(v - (G @ v - h) / lipschitz)
        step = c_next - c
        if float(np.dot(v - c_next, step)) > 0:  # the step turns back: the momentum has overshot
            v, momentum = c, 1.0
            c_next = project(v - (G @ v - h) / lipschitz)
            step = c_next - c
        momentum_next = 0.5 * (1 + math.sqrt(1 + 4 * momentum**2))
        v = c_next + (momentum - 1) / momentum_next * step
        c, momentum = c_next, momentum_next
        if np.abs(step).max() <= 1e-15 * max(float(np.abs(c).max()), 1e-300):
            break
    return c


def _refine(
    face: Face, c: FloatArray, objective: Callable[[FloatArray], tuple[float, FloatArray]], size: float
) -> FloatArray:
    """Sharpen a rough solution with PSD parts: C = L L^H with a square L has no local minima of its own, and L-BFGS
    minds the conditioning less than projected gradients do. Other parts keep their bounds."""
    from scipy.optimize import minimize

    parts = [_Root.of(f, p) for f, p in _leaves(face, c) if f.dim]
    cuts = np.cumsum([p.start.size for p in parts])[:-1]
    size = max(size, 1e-300)

    def unknowns(v: FloatArray) -> tuple[float, FloatArray]:
        pieces = np.split(v, cuts)
        value, slope = objective(np.concatenate([p.coefficients(u) for p, u in zip(parts, pieces, strict=True)]))
        slopes = np.split(slope, np.cumsum([p.dim for p in parts])[:-1])
        pulled = [p.pull(u, g) for p, u, g in zip(parts, pieces, slopes, strict=True)]
        return value / size, np.concatenate(pulled) / size

    result = minimize(
        unknowns,
        np.concatenate([p.start for p in parts]),
        jac=True,
        method="L-BFGS-B",
        bounds=[(low, None) for p in parts for low in p.lower],
        options={"maxiter": 1000, "maxfun": 2000, "maxcor": 30, "ftol": 1e-16, "gtol": 1e-14},
    )
    return np.concatenate([p.coefficients(u) for p, u in zip(parts, np.split(result.x, cuts), strict=True)])


def _leaves(face: Face, c: FloatArray) -> list[tuple[Face, FloatArray]]:
    """The parts of a face and their coefficients, parts of parts included."""
    if len(face.parts) == 1 and face.parts[0] is face:
        return [(face, c)]
    return [leaf for f, p in zip(face.parts, face.split(c), strict=True) for leaf in _leaves(f, p)]


@dataclass(frozen=True, eq=False)
class _Root:
    """Unknowns of one part: L with C = L L^H where the coefficients are PSD, the coefficients themselves elsewhere."""

    dim: int
    start: FloatArray
    lower: FloatArray
    side: int = 0  # of C; 0 where there is none
    complex: bool = False

    @classmethod
    def of(cls, face: Face, c: FloatArray) -> _Root:
        mask = face.nonnegative()
        if mask is not None:
            return cls(c.size, c, np.where(mask, 0.0, -np.inf))
        side, complex_ = face.size, c.size == face.size**2 and face.size > 1
        values, vectors = np.linalg.eigh(hermitian(c, side, complex_))
        # a column of zeros would never leave zero
        L = vectors * np.sqrt(np.maximum(values, 1e-8 * max(float(values[-1]), 1e-300)))
        start = L.ravel().view(np.float64)
        return cls(c.size, start, np.full(start.size, -np.inf), side, complex_)

    def _matrix(self, v: FloatArray) -> Array:
        return v.view(np.complex128 if self.complex else np.float64).reshape(self.side, self.side)

    def coefficients(self, v: FloatArray) -> FloatArray:
        if not self.side:
            return v
        L = self._matrix(v)
        return hermitian_coordinates(L @ L.conj().T)

    def pull(self, v: FloatArray, slope: FloatArray) -> FloatArray:
        if not self.side:
            return slope
        return (2.0 * hermitian(slope, self.side, self.complex) @ self._matrix(v)).ravel().view(np.float64)


# Other losses --------------------------------------------------------------------------------------------------------


def _smooth(reduced: ReducedOperator, b: FloatArray, loss: Loss, face: Face) -> tuple[FloatArray, ReducedOperator]:
    if not reduced.direct and reduced.dim <= FORM:
        reduced = reduced.formed()
    matrix = _dense_columns(reduced)
    if matrix is not None:
        reduced = Columns(matrix)
    mask = face.nonnegative()
    if mask is not None and reduced.dim <= FORM:
        lower, upper = np.where(mask, 0.0, -np.inf), np.full(reduced.dim, np.inf)
        return newton(reduced, b, loss, lower, upper)[0], reduced
    start = np.zeros(reduced.dim)
    if mask is not None:
        return _projected_gradient(reduced, b, loss, face.project, start), reduced

    def objective(c: FloatArray) -> tuple[float, FloatArray]:
        ledger.tick()
        residual = b - reduced.apply(c)
        return loss.value(residual), -reduced.adjoint(loss.gradient(residual))

    rough = _projected_gradient(reduced, b, loss, face.project, start, 300)
    refined = _refine(face, rough, objective, objective(rough)[0])
    return (refined if objective(refined)[0] < objective(rough)[0] else rough), reduced


def _projected_gradient(
    reduced: ReducedOperator, b: FloatArray, loss: Loss, project: Projection, c: FloatArray, steps: int = 2000
) -> FloatArray:
    """Any loss over any convex coefficient set: accelerated projected gradients with backtracking and restarts."""
    image = reduced.apply(c)
    value = loss.value(b - image)
    v, image_v, momentum, lipschitz = c, image, 1.0, 0.0
    stale = 0  # steps in a row without a fall of the loss that is more than rounding
    for _ in range(steps):
        ledger.tick()
        residual = b - image_v
        slope = -reduced.adjoint(loss.gradient(residual))
        value_v = loss.value(residual)
        if lipschitz == 0.0:
            probe = reduced.apply(slope)
            size = float(np.dot(slope, slope))
            if size == 0.0:
                break
            lipschitz = max(loss.smoothness * float(np.dot(probe, probe)) / size, 1e-300)
        while True:
            c_next = project(v - slope / lipschitz)
            image_next = reduced.apply(c_next)
            value_next = loss.value(b - image_next)
            d = c_next - v
            moved = float(np.dot(d, d)) + 1e-30 * float(np.dot(v, v))  # not less than rounding: the test must end
            if value_next <= value_v + float(np.dot(slope, d)) + 0.5 * lipschitz * moved + 1e-14 * value_v:
                break
            lipschitz *= 2.0
        stale = 0 if value_next < value * (1 - 1e-14) else stale + 1
        if stale == 30:
            break
        if value_next > value and momentum > 1.0:
            v, image_v, momentum = c, image, 1.0
            continue
        momentum_next = 0.5 * (1 + math.sqrt(1 + 4 * momentum**2))
        share = (momentum - 1) / momentum_next
        step = c_next - c
        v, image_v = c_next + share * step, image_next + share * (image_next - image)
        still = np.abs(step).max() <= 1e-12 * max(float(np.abs(c_next).max()), 1e-300)
        c, image, value, momentum = c_next, image_next, value_next, momentum_next
        lipschitz *= 0.95
        if still:
            break
    return c


def refit(problem: Problem, candidate: Candidate, k: BudgetLike) -> Candidate:
    """Prune a candidate to k atoms and fit those anew."""
    face, _ = candidate.face.prune(candidate.c, k, candidate.norms)
    return reduced_fit(problem, face)
