"""l0bnb: penalties on the number of atoms and their squared norm, each solved by branch and bound."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from benchmarks.peers import needs
from benchmarks.peers.answers import Support
from benchmarks.peers.refits import best_refit

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
