"""l0bnb: penalties on the number of atoms and their squared norm, each solved by branch and bound."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from benchmarks.peers import needs
from benchmarks.peers.answers import Array, Support
from benchmarks.peers.refits import best_refit
from benchmarks.problems.proven import GAP

GONE = "Inf"


@contextmanager
def lent() -> Iterator[None]:
    """It asks NumPy for a name that NumPy 2 no longer has."""
    if hasattr(np, GONE):
        yield
        return
    setattr(np, GONE, np.inf)
    try:
        yield
    finally:
        delattr(np, GONE)


@needs("l0bnb", prepare=lambda problem, **words: problem.unit)
def path(problem: Any, M: Any, *, ridge: float = 0.01, gap: float = 1e-2, seconds: float = 2.0) -> Support:
    """Its path up to k atoms or more, which are cut to k, fitted anew, the best kept; seconds are those of one point.
    Without a ridge its bounds are too weak to end."""
    from l0bnb import fit_path

    b, k = problem.target, problem.k
    with lent():
        found = fit_path(
            M, b, lambda_2=ridge, max_nonzeros=k, intercept=False, normalize=True, gap_tol=gap, time_limit=seconds
        )
    return best_refit(M, b, [point["B"] for point in found], k)


@needs("l0bnb", prepare=lambda problem, **words: (problem.along, np.ascontiguousarray(problem.M)))
def prove(problem: Any, ready: Any, *, seconds: float = 60.0) -> Array:
    """At a price of atoms at which k of them are best, from our answer; its bound is that of the priced problem."""
    from l0bnb import BNBTree

    (price, x), M = ready
    with lent():
        tree = BNBTree(M, problem.b, rel_tol=GAP)
        found = tree.solve(
            price, 0.5 * problem.ridge, 1.5 * float(np.abs(x).max()), gap_tol=GAP, warm_start=x, time_limit=seconds
        )
    gap = max(0.0, float(found.gap))
    facts = {"open": gap, "proven": float(gap <= GAP), "nodes": float(tree.number_of_nodes)}
    return Array(np.asarray(found.beta), facts)
