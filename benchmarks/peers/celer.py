"""celer: a path of Lasso penalties."""

from __future__ import annotations

from typing import Any

from benchmarks.peers import needs
from benchmarks.peers.answers import Support
from benchmarks.peers.refits import ALPHAS, EPS, best_refit


@needs("celer", prepare=lambda problem, **words: problem.unit)
def lasso(problem: Any, M: Any) -> Support:
    from celer.homotopy import celer_path

    coefficients = celer_path(M, problem.target, "lasso", eps=EPS, n_alphas=ALPHAS, tol=1e-6)[1]
    return best_refit(M, problem.target, coefficients.T, problem.k)
