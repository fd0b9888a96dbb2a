"""abess: best subsets, and robust PCA."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.peers import needs
from benchmarks.peers.answers import Pair, Support, Vector
from benchmarks.peers.plain import leading
from benchmarks.peers.refits import best_refit


@needs("abess", prepare=lambda problem, **words: problem.unit)
def subsets(problem: Any, M: Any, **settings: Any) -> Support:
    """The better of k at once and k by a path through all smaller sizes: either wins by far on some problems.

    With important_search=0 all atoms are considered in every exchange, not the 128 most promising alone.
    """
    from abess.linear import LinearRegression

    b, k = problem.target, problem.k
    # An exchange must gain an amount that does not depend on the units of b; in large units none is refused for that.
    y = b * (1e3 * np.sqrt(b.size) / np.linalg.norm(b))
    found = []
    for sizes in ([k], list(range(1, k + 1))):
        model = LinearRegression(support_size=sizes, fit_intercept=False, ic_type="loss", **settings).fit(M, y)
        found.append(np.ravel(model.coef_))
    return best_refit(M, b, found, k)


@needs("abess")
def robust_pca(problem: Any, ready: Any) -> Pair:
    """Returns S alone; L is then the best of its rank."""
    from abess.decomposition import RobustPCA

    rank, count = problem.k
    X: Vector = problem.X
    S = RobustPCA(support_size=count).fit(X, r=rank).coef_
    return Pair((leading(X - S, rank), S))
