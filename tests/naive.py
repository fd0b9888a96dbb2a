"""Slow, obvious twins of the clever routines: dense, written out, one thing at a time. Tests compare with these."""

import math
import warnings
from functools import singledispatch
from itertools import product

import numpy as np
from scipy.optimize import linprog, nnls

from fewatoms import linalg
from fewatoms.atoms import (
    BlockRankOne,
    Groups,
    NonnegativeCone,
    NonnegativeOneHot,
    PSDRankOne,
    RankOne,
    Scaled,
    SignedOneHot,
    Sum,
    Union,
)
from fewatoms.atoms.mapped import Image
from fewatoms.faces import Cone, SumFace, SymmetricFactors, hermitian
from fewatoms.losses import Huber, LeastSquares, Logistic

# Operators and faces -------------------------------------------------------------------------------------------------


def dense_operator(M):
    """The m x n matrix of an operator on real models, a column at a time."""
    return np.stack([M.apply(e) for e in np.eye(M.shape[1])], axis=1)


def dense(matrix):
    """An array of a dense or sparse matrix."""
    return matrix.toarray() if hasattr(matrix, "toarray") else np.asarray(matrix)


def dense_map(map_):
    """The matrix of a linear map with `forward`."""
    return np.stack([map_.forward(e) for e in np.eye(map_.shape[1])], axis=1)


def dense_dual(z, shape):
    """z = M*y as an array, whatever its form."""
    return np.asarray(linalg.as_flat(z)).reshape(shape)


def basis(face):
    """The points of a face at the unit coefficients, flat, one a column."""
    if face.dim == 0:
        return np.zeros((math.prod(face.shape), 0))
    return np.stack([face.point(e).ravel() for e in np.eye(face.dim)], axis=1)


def reduced_matrix(M, face):
    """M restricted to a face, with all its columns formed."""
    if face.dim == 0:
        return np.zeros((M.shape[0], 0))
    return np.stack([M.apply(face.point(e)) for e in np.eye(face.dim)], axis=1)


def normal_equations(R, b, weights=None):
    """R^T W R and R^T W b."""
    W = np.eye(len(b)) if weights is None else np.diag(weights)
    return R.T @ W @ R, R.T @ W @ b


# The largest entries and the compiled loops --------------------------------------------------------------------------


def top_k(values, k):
    """Indices of the k largest, largest first, ties to the lower index."""
    return sorted(range(len(values)), key=lambda i: (-values[i], i))[:k]


def sampled_products(U, V, rows, cols):
    """(U V^T)[rows, cols], by forming the product."""
    return (U @ V.T)[rows, cols]


def row_grams(V, rows, cols, weights, p):
    """Per row, the sum of w v v^T over its entries."""
    grams = np.zeros((p, V.shape[1], V.shape[1]))
    for i, j, w in zip(rows, cols, weights, strict=True):
        grams[i] += w * np.outer(V[j], V[j])
    return grams


def scattered(values, features, rows, cols, p):
    """Z @ features for the p x q matrix Z with these values at these places, by forming it."""
    Z = np.zeros((p, len(features)))
    Z[rows, cols] = values
    return Z @ features


def row_system(e, values, weights, offset, features, ridge, cols):
    """A, t: the row problem over entries e is |A x - t|^2, the ridge as further rows."""
    root = np.sqrt(weights[e]) if weights.size else np.ones(len(e))
    target = values[e] - (offset[cols[e]] if offset.size else 0.0)
    A = np.concatenate([root[:, None] * features[cols[e]], np.diag(np.sqrt(ridge))])
    return A, np.concatenate([root * target, np.zeros(ridge.size)])


def row_solves(values, weights, offset, features, ridge, rows, cols, p):
    """Per row the shortest x that minimises the row problem, by a dense least-squares solver, and the minimum."""
    out, left = np.zeros((p, features.shape[1])), np.zeros(p)
    for i in range(p):
        A, t = row_system(np.flatnonzero(rows == i), values, weights, offset, features, ridge, cols)
        if A.size:
            out[i] = np.linalg.lstsq(A, t, rcond=1e-12)[0]
        left[i] = np.sum((A @ out[i] - t) ** 2)
    return out, left


def row_solves_nonnegative(values, weights, offset, features, ridge, bound, rows, cols, p):
    """The same with x[a] >= 0 where bound[a], by an active-set method; a free x[a] is a difference of two."""
    out, left = np.zeros((p, features.shape[1])), np.zeros(p)
    for i in range(p):
        A, t = row_system(np.flatnonzero(rows == i), values, weights, offset, features, ridge, cols)
        if A.any():
            x = nnls(np.concatenate([A, -A[:, ~bound]], axis=1), t)[0]
            out[i] = x[: A.shape[1]]
            out[i, ~bound] -= x[A.shape[1] :]
        left[i] = np.sum((A @ out[i] - t) ** 2)
    return out, left


# Low rank from sampled entries ---------------------------------------------------------------------------------------


def margins(rows, cols, shape):
    """Row and column biases as columns: a one for the row and a one for the column of each entry."""
    F = np.zeros((len(rows), sum(shape)))
    for e, (i, j) in enumerate(zip(rows, cols, strict=True)):
        F[e, i] = F[e, shape[0] + j] = 1.0
    return F


def biased_value(r, F, weights, shrink):
    """min over v of 1/2 sum w (r - F v)^2 + shrink / 2 |v|^2, by a dense least-squares solver; also v."""
    root = np.ones(len(r)) if weights is None else np.sqrt(weights)
    A = np.concatenate([root[:, None] * F, math.sqrt(shrink) * np.eye(F.shape[1])])
    t = np.concatenate([root * r, np.zeros(F.shape[1])])
    v = np.linalg.lstsq(A, t, rcond=None)[0]
    return 0.5 * float(np.sum((t - A @ v) ** 2)), v


def dense_triple(at):
    """X of a triple, atom by atom, and the matrix of its biases."""
    X = np.zeros((len(at.P), len(at.Q)))
    for a, size in enumerate(at.s):
        X += size * np.outer(at.P[:, a], at.Q[:, a])
    biases = np.add.outer(at.row, at.col) if at.row.size else np.zeros_like(X)
    return X, biases


def slope(at, rows, cols, b, weights):
    """The matrix of weighted residuals at the entries, zero elsewhere: minus the gradient of the loss by X."""
    X, biases = dense_triple(at)
    Z = np.zeros_like(X)
    Z[rows, cols] = (1.0 if weights is None else weights) * (b - (X + biases)[rows, cols])
    return Z


def reached(at, rows, cols, b, weights, lam, shrink):
    """f + lam times the nuclear norm (the sum of sizes, for nonnegative factors) + shrink / 2 times squared biases."""
    X, biases = dense_triple(at)
    loss = 0.5 * np.sum((1.0 if weights is None else weights) * (b - (X + biases)[rows, cols]) ** 2)
    gauge = np.linalg.norm(X, "nuc") if at.signed else at.s.sum()
    return float(loss + lam * gauge + 0.5 * shrink * (at.row @ at.row + at.col @ at.col))


# Finite sets, with their atoms listed --------------------------------------------------------------------------------


@singledispatch
def listed(atoms):
    """All atoms of a finite set, flat, one a column."""
    raise TypeError(f"{atoms!r} is not finite")


@listed.register
def _(atoms: SignedOneHot):
    return np.concatenate([np.eye(atoms.n), -np.eye(atoms.n)], axis=1)


@listed.register
def _(atoms: NonnegativeOneHot):
    return np.eye(atoms.n)


@listed.register
def _(atoms: Scaled):
    return atoms.scale * listed(atoms.inner)


@listed.register
def _(atoms: Image):
    return dense_map(atoms.map) @ listed(atoms.inner)


@listed.register
def _(atoms: Union):
    return np.concatenate([listed(part) for part in atoms.parts], axis=1)


@listed.register
def _(atoms: Sum):
    # 0 stands in for parts whose atoms all point away: the hull is that of the atoms and 0
    parts = [[*listed(part).T, np.zeros(part.n)] for part in atoms.parts]
    return np.stack([sum(pick) for pick in product(*parts)], axis=1)


def support_of_list(columns, z):
    """max(0, sup <a, z>)."""
    return max(0.0, float((columns.T @ np.ravel(z)).max()))


def gauge_of_list(columns, x):
    """min sum c subject to columns c = x and c >= 0, a linear program."""
    result = linprog(np.ones(columns.shape[1]), A_eq=columns, b_eq=np.ravel(x))
    return float(result.fun) if result.status == 0 else math.inf


# Gauges, written as convex programs ----------------------------------------------------------------------------------


@singledispatch
def gauge_expression(atoms, x):
    """(gauge, constraints) of a cvxpy expression x, flat in C order."""
    raise TypeError(f"no program for {atoms!r}")


def _matrix(x, shape):
    import cvxpy as cp

    return cp.reshape(x, shape, order="C")


@gauge_expression.register
def _(atoms: SignedOneHot, x):
    import cvxpy as cp

    return cp.norm1(x), []


@gauge_expression.register
def _(atoms: NonnegativeOneHot, x):
    import cvxpy as cp

    return cp.sum(x), [x >= 0]


@gauge_expression.register
def _(atoms: NonnegativeCone, x):
    import cvxpy as cp

    return cp.Constant(0.0), [x >= 0]


@gauge_expression.register
def _(atoms: Groups, x):
    import cvxpy as cp

    return sum(w * cp.norm(x[block], 2) for w, block in zip(atoms.weights, atoms.blocks, strict=True)), []


@gauge_expression.register
def _(atoms: RankOne, x):
    import cvxpy as cp

    return cp.normNuc(_matrix(x, atoms.shape)), []


@gauge_expression.register
def _(atoms: BlockRankOne, x):
    import cvxpy as cp

    X = _matrix(x, atoms.shape)
    return sum(cp.normNuc(X[window]) for window in windows(atoms)), []


def windows(atoms):
    """The rows and columns of each block."""
    (p, q), (s, t) = atoms.shape, atoms.block
    return [(slice(i, min(p, i + s)), slice(j, min(q, j + t))) for i in range(0, p, s) for j in range(0, q, t)]


@gauge_expression.register
def _(atoms: PSDRankOne, x):
    import cvxpy as cp

    X = cp.Variable(atoms.shape, PSD=True)
    return cp.trace(X), [_matrix(x, atoms.shape) == X]


@gauge_expression.register
def _(atoms: Scaled, x):
    return gauge_expression(atoms.inner, x / atoms.scale)


@gauge_expression.register
def _(atoms: Image, x):
    import cvxpy as cp

    w = cp.Variable(atoms.inner.n)
    gauge, constraints = gauge_expression(atoms.inner, w)
    return gauge, [*constraints, dense_map(atoms.map) @ w == x]


def _parts(atoms, x):
    import cvxpy as cp

    pieces = [cp.Variable(atoms.n) for _ in atoms.parts]
    pairs = [gauge_expression(part, piece) for part, piece in zip(atoms.parts, pieces, strict=True)]
    return [g for g, _ in pairs], [sum(pieces) == x, *(c for _, cs in pairs for c in cs)]


@gauge_expression.register
def _(atoms: Union, x):
    gauges, constraints = _parts(atoms, x)
    return sum(gauges), constraints


@gauge_expression.register
def _(atoms: Sum, x):
    import cvxpy as cp

    gauges, constraints = _parts(atoms, x)
    return cp.maximum(*gauges), constraints


def _solved(problem):
    """The optimal value by Clarabel, as close as it comes; infinity where nothing is feasible."""
    import cvxpy as cp

    tight = {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # it says so when it stops a little short of that
        problem.solve(solver=cp.CLARABEL, **tight)
    return math.inf if problem.status.startswith("infeasible") else float(problem.value)


def gauge(atoms, x):
    """gauge(x) of any set, by a conic solver."""
    import cvxpy as cp

    expression, constraints = gauge_expression(atoms, cp.Constant(np.ravel(x)))
    return _solved(cp.Problem(cp.Minimize(expression), constraints))


# Proximal maps -------------------------------------------------------------------------------------------------------


def soft_threshold(w, t):
    return np.sign(w) * np.maximum(np.abs(w) - t, 0.0)


def group_threshold(w, t, blocks, weights):
    x = np.zeros_like(w)
    for block, weight in zip(blocks, weights, strict=True):
        size = np.linalg.norm(w[block])
        if size > t * weight:
            x[block] = (1 - t * weight / size) * w[block]
    return x


def singular_threshold(W, t):
    u, s, vh = np.linalg.svd(W, full_matrices=False)
    return (u * np.maximum(s - t, 0.0)) @ vh


def eigen_threshold(W, t):
    values, vectors = np.linalg.eigh(0.5 * (W + W.conj().T))
    return (vectors * np.maximum(values - t, 0.0)) @ vectors.conj().T


@singledispatch
def proximal(atoms, w, t):
    """argmin over x of |x - w|^2 / 2 + t gauge(x), flat, by direct formulas."""
    raise TypeError(f"no formula for {atoms!r}")


@proximal.register
def _(atoms: SignedOneHot, w, t):
    return soft_threshold(w, t)


@proximal.register
def _(atoms: NonnegativeOneHot, w, t):
    return np.maximum(w - t, 0.0)


@proximal.register
def _(atoms: NonnegativeCone, w, t):
    return np.maximum(w, 0.0)


@proximal.register
def _(atoms: Groups, w, t):
    return group_threshold(w, t, atoms.blocks, atoms.weights)


@proximal.register
def _(atoms: RankOne, w, t):
    return singular_threshold(w.reshape(atoms.shape), t).ravel()


@proximal.register
def _(atoms: BlockRankOne, w, t):
    W = w.reshape(atoms.shape).copy()
    for window in windows(atoms):
        W[window] = singular_threshold(W[window], t)
    return W.ravel()


@proximal.register
def _(atoms: PSDRankOne, w, t):
    return eigen_threshold(w.reshape(atoms.shape), t).ravel()


def proximal_pieces(atoms, pieces, t):
    """The proximal map of a sum or union at one w for each part, by a conic solver: the pieces of the minimiser."""
    import cvxpy as cp

    variables = [cp.Variable(w.size) for w in pieces]
    pairs = [gauge_expression(part, x) for part, x in zip(atoms.parts, variables, strict=True)]
    gauges = [g for g, _ in pairs]
    total = sum(gauges) if isinstance(atoms, Union) else cp.maximum(*gauges)
    near = sum(cp.sum_squares(x - w) for x, w in zip(variables, pieces, strict=True))
    _solved(cp.Problem(cp.Minimize(0.5 * near + t * total), [c for _, cs in pairs for c in cs]))
    return [x.value for x in variables]


# The reduced fit -----------------------------------------------------------------------------------------------------


@singledispatch
def loss_expression(loss, r):
    """The loss of a cvxpy expression."""
    raise TypeError(f"no program for {loss!r}")


def _weighted(loss, terms):
    import cvxpy as cp

    return cp.sum(terms if loss.weights is None else cp.multiply(loss.weights, terms))


@loss_expression.register
def _(loss: LeastSquares, r):
    import cvxpy as cp

    return 0.5 * _weighted(loss, cp.square(r))


@loss_expression.register
def _(loss: Huber, r):
    import cvxpy as cp

    return 0.5 * _weighted(loss, cp.huber(r, loss.delta))  # cvxpy's huber is twice ours


@loss_expression.register
def _(loss: Logistic, r):
    import cvxpy as cp

    return _weighted(loss, cp.logistic(r))


def coefficient_constraints(face, c):
    """The set that a face's coefficients live in, for a cvxpy variable c."""
    if isinstance(face, SumFace):
        cuts = np.cumsum([0] + [f.dim for f in face.faces])
        pairs = zip(face.faces, cuts[:-1], cuts[1:], strict=True)
        return [k for f, a, b in pairs if f.dim for k in coefficient_constraints(f, c[int(a) : int(b)])]
    while not isinstance(face, SymmetricFactors) and hasattr(face, "inner_face"):
        face = face.inner_face
    if isinstance(face, SymmetricFactors):
        # a Hermitian matrix is positive semidefinite exactly if this real matrix of twice the size is
        units = [hermitian(e, face.size, face.complex) for e in np.eye(face.dim)]
        return [sum(c[i] * np.block([[H.real, -H.imag], [H.imag, H.real]]) for i, H in enumerate(units)) >> 0]
    return [c >= 0] if face.cone is Cone.NONNEGATIVE else []


def reduced_loss(M, b, loss, face):
    """The least loss over the coefficients that a face allows, by a conic solver."""
    import cvxpy as cp

    R = reduced_matrix(M, face)
    c = cp.Variable(face.dim)
    program = cp.Problem(cp.Minimize(loss_expression(loss, b - R @ c)), coefficient_constraints(face, c))
    _solved(program)
    # the loss itself, at the solver's point moved into the set: an upper bound that is not the solver's opinion
    return loss.value(b - R @ face.project(c.value))
