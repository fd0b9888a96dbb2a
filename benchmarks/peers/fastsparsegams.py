"""fastsparsegams: penalties on the number of atoms, with and without a squared norm beside it, and local exchanges."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.peers import needs
from benchmarks.peers.answers import Support, Vector
from benchmarks.peers.refits import best_refit

SOUND = {"partial_sort": False}  # with it, one fit in a hundred or so ends the process


def coefficients(model: Any) -> Iterator[Vector]:
    """Of all penalties."""
    for block in model.coeffs:
        yield from np.asarray(block.todense() if hasattr(block, "todense") else block).T


@needs("fastsparsegams", prepare=lambda problem, **words: problem.unit)
def subsets(problem: Any, M: Any, *, gammas: int = 0) -> Support:
    """Its path ends with the first support of more than k atoms, which is cut to k; with `gammas` there are as many
    paths, one for each squared norm."""
    import fastsparsegams as fs

    b, m, k = problem.target, problem.b.size, problem.k
    y = b * (np.sqrt(m) / np.linalg.norm(b))
    squares = {"penalty": "L0L2", "num_gamma": gammas} if gammas else {"penalty": "L0"}
    most = min(k, M.shape[1] - 1)
    model = fs.fit(M, y, algorithm="CDPSI", max_support_size=most, intercept=False, **squares, **SOUND)
    return best_refit(M, b, coefficients(model), k)
