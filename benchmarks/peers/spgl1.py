"""spgl1: basis pursuit denoising."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator, lsqr

from benchmarks.peers import needs
from benchmarks.peers.answers import Array, Support, Vector
from benchmarks.peers.counted import Counted
from benchmarks.peers.refits import best_refit, largest


@needs("spgl1", prepare=lambda problem, **words: problem.unit)
def pursuit(problem: Any, M: Any) -> Support:
    """At the true noise norm; where nobody knows it, at four levels."""
    from spgl1 import spg_bpdn

    b = problem.target
    levels = np.linalg.norm(b) * np.array([0.3, 0.1, 0.03, 0.01]) if problem.noise is None else [problem.noise]
    return best_refit(M, b, (spg_bpdn(M, b, sigma)[0] for sigma in levels), problem.k)


@needs("spgl1")
def to_misfit(problem: Any, ready: Any) -> Support:
    from spgl1 import spg_bpdn

    counted = Counted(problem.M)
    x = spg_bpdn(counted, problem.b, problem.misfit * np.linalg.norm(problem.b))[0]
    return Support.of_dense(x, unit=False, products=counted.products)


@needs("spgl1")
def interpolation(problem: Any, ready: Any, *, refit: bool = False) -> Array:
    """As it comes, with as many atoms as it likes; or its k largest, fitted anew."""
    from spgl1 import spg_bpdn

    M, b, k = Counted(problem.M), problem.b, problem.k
    x = spg_bpdn(M, b, problem.misfit * np.linalg.norm(b))[0]
    if refit:
        top, n = largest(x, k), x.size

        def spread(c: Vector) -> Vector:
            full = np.zeros(n)
            full[top] = c
            return full

        few = LinearOperator(
            (b.size, top.size), matvec=lambda c: M.matvec(spread(c)), rmatvec=lambda y: M.rmatvec(y)[top],
            dtype=np.float64,
        )  # fmt: skip
        x = spread(lsqr(few, b, atol=1e-8, btol=1e-8, iter_lim=500)[0])
    return Array(x, {"products": M.products})
