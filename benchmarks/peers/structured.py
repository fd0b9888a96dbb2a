"""Groups and nonnegative coefficients, as one would write them oneself."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import nnls

from benchmarks.peers import needs
from benchmarks.peers.answers import Array, Vector


def spread(n: int, atoms: Any, coefficients: Vector) -> Array:
    x = np.zeros(n)
    x[atoms] = coefficients
    return Array(x)


def refitted(problem: Any, groups: Any) -> Array:
    """Least squares on the columns of the given groups."""
    (columns,) = np.nonzero(np.isin(problem.labels, groups))
    return spread(problem.labels.size, columns, np.linalg.lstsq(problem.M[:, columns], problem.b)[0])


@needs("numpy")
def group_omp(problem: Any, ready: Any) -> Array:
    """Group after group, the one whose span explains most of the residual; each by an orthonormal basis."""
    M, b = problem.M, problem.b
    names, first = np.unique(problem.labels, return_index=True)
    bases = [np.linalg.qr(block)[0] for block in np.split(M, first[1:], axis=1)]
    all_of_them, owner = np.concatenate(bases, axis=1), np.repeat(names, [q.shape[1] for q in bases])
    chosen: list[Any] = []
    Q, r = np.zeros((b.size, 0)), b
    for _ in range(problem.k):
        explained = np.bincount(owner, (r @ all_of_them) ** 2, minlength=names.size)
        explained[chosen] = -1.0
        chosen.append(int(np.argmax(explained)))
        Q = np.linalg.qr(np.concatenate([Q, bases[chosen[-1]]], axis=1))[0]
        r = b - Q @ (Q.T @ b)
    return refitted(problem, names[chosen])


@needs("numpy")
def nnls_pruned(problem: Any, ready: Any) -> Array:
    """Nonnegative least squares, its k largest coefficients, fitted anew."""
    x = nnls(problem.M, problem.b)[0]
    top = np.argsort(-x)[: problem.k]
    return spread(x.size, top, nnls(problem.M[:, top], problem.b)[0])


@needs("sklearn", prepare=lambda problem, **words: problem.ordered)
def lars_positive(problem: Any, M: Vector) -> Array:
    """Until there are k atoms, which are fitted anew."""
    from sklearn.linear_model import lars_path

    active = lars_path(M, problem.b, method="lasso", positive=True, max_iter=problem.k)[1][: problem.k]
    return spread(M.shape[1], active, nnls(M[:, active], problem.b)[0])


@needs("skscope", prepare=lambda problem, **words: problem.ordered)
def skscope(problem: Any, M: Vector) -> Array:
    """Splicing on groups, least squares on a support by a decomposition instead of descents."""
    from skscope import ScopeSolver

    b = problem.b

    def fitted(objective: Any, gradient: Any, x: Vector, support: Any, data: Any) -> tuple[float, Vector]:
        x = np.zeros(M.shape[1])
        x[support] = np.linalg.lstsq(M[:, support], b)[0]
        return float(np.sum((b - M @ x) ** 2)), x

    solver = ScopeSolver(M.shape[1], problem.k, group=problem.labels.tolist(), numeric_solver=fitted)
    solver.solve(lambda x: np.sum((b - M @ x) ** 2), gradient=lambda x: -2 * M.T @ (b - M @ x))
    return refitted(problem, np.unique(problem.labels[np.flatnonzero(solver.params)]))
