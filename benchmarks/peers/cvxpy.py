"""cvxpy with SCS: PhaseLift."""

from __future__ import annotations

import math
from typing import Any

from benchmarks.peers import needs
from benchmarks.peers.answers import Array


@needs("scs")
def phase_lift(problem: Any, ready: Any) -> Array:
    """The matrix of least trace with a loss of at most alpha."""
    import cvxpy as cp

    A, b = problem.A, problem.b
    n, cplx = A.shape[1], A.dtype.kind == "c"
    X = cp.Variable((n, n), hermitian=True) if cplx else cp.Variable((n, n), symmetric=True)
    image, trace = cp.sum(cp.multiply(A @ X, A.conj()), axis=1), cp.trace(X)
    if cplx:
        image, trace = cp.real(image), cp.real(trace)
    alpha = 0.5 * problem.misfit**2 * float(b @ b)
    asked = cp.Problem(cp.Minimize(trace), [X >> 0, cp.norm(b - image) <= math.sqrt(2 * alpha)])
    asked.solve(solver=cp.SCS, eps=1e-7, max_iters=50_000)
    return Array(X.value)
