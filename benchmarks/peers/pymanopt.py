"""pymanopt: conjugate gradients on matrices of fixed rank."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import svds

from benchmarks.peers import needs
from benchmarks.peers.answers import Factors, Vector


@needs("pymanopt", prepare=lambda problem, **words: problem.train.csr())
def riemannian_cg(problem: Any, A: Any, *, setting: int) -> Factors:
    """From the scaled singular vectors of the entries; `setting` is the iterations.

    The gradient is given as a projection of the sparse residual. The first step is told how long to be: the
    package's own guess is one unit of whatever the data are in.
    """
    import pymanopt
    from pymanopt.manifolds import FixedRankEmbedded
    from pymanopt.optimizers import ConjugateGradient
    from pymanopt.optimizers.line_search import BackTrackingLineSearcher

    k = problem.k
    rows, cols, b = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr)), A.indices, A.data
    manifold = FixedRankEmbedded(*A.shape, k)
    fill = A.shape[0] * A.shape[1] / b.size
    last: list[Any] = [None, None]  # cost and gradient are asked for at the same point, one after the other

    def residual(u: Vector, s: Vector, vt: Vector) -> Vector:
        if last[0] is not u:
            V = np.ascontiguousarray(vt.T)
            last[:] = u, np.einsum("ij,ij->i", (u * s).take(rows, 0), V.take(cols, 0)) - b
        return last[1]

    @pymanopt.function.numpy(manifold)
    def cost(u: Vector, s: Vector, vt: Vector) -> float:
        r = residual(u, s, vt)
        return 0.5 * float(r @ r)

    @pymanopt.function.numpy(manifold)
    def gradient(u: Vector, s: Vector, vt: Vector) -> Any:
        R = sparse.csr_matrix((residual(u, s, vt), cols, A.indptr), shape=A.shape)
        return manifold.projection((u, s, vt), R)

    u, s, vt = svds(A, k, rng=0)
    order = np.argsort(-s)
    start = type(manifold.random_point())(u[:, order], fill * s[order], vt[order])
    search = BackTrackingLineSearcher(initial_step_size=fill * manifold.norm(start, gradient(*start)))
    u, s, vt = (
        ConjugateGradient(line_searcher=search, max_iterations=setting, verbosity=0)
        .run(pymanopt.Problem(manifold, cost, riemannian_gradient=gradient), initial_point=start)
        .point
    )
    return Factors(u * s, vt.T)
