"""abess: best subsets, of columns and of groups, and robust PCA."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.peers import needs
from benchmarks.peers.answers import Array, Pair, Support, Vector
from benchmarks.peers.plain import leading
from benchmarks.peers.refits import best_refit, refit
from benchmarks.peers.structured import refitted


def in_large_units(b: Vector) -> Vector:
    """An exchange must gain an amount that does not depend on the units of b; in large units none is refused for it."""
    return b * (1e3 * np.sqrt(b.size) / np.linalg.norm(b))


@needs("abess", prepare=lambda problem, **words: problem.unit)
def subsets(problem: Any, M: Any, **settings: Any) -> Support:
    """The better of k at once and k by a path through all smaller sizes: either wins by far on some problems.

    With important_search=0 all atoms are considered in every exchange, not the 128 most promising alone.
    """
    from abess.linear import LinearRegression

    b, k = problem.target, problem.k
    y, found = in_large_units(b), []
    for sizes in ([k], list(range(1, k + 1))):
        model = LinearRegression(support_size=sizes, fit_intercept=False, ic_type="loss", **settings).fit(M, y)
        found.append(np.ravel(model.coef_))
    return best_refit(M, b, found, k)


@needs("abess", prepare=lambda problem, **words: (problem.unit, in_large_units(problem.target)))
def path(problem: Any, ready: Any) -> Support:
    """k by a path through all smaller sizes alone, as fast as it can be had."""
    from abess.linear import LinearRegression

    (M, y), k = ready, problem.k
    model = LinearRegression(support_size=range(1, k + 1), fit_intercept=False, ic_type="loss").fit(M, y)
    (support,) = np.nonzero(np.ravel(model.coef_))
    return refit(M, problem.target, support)


@needs("abess", prepare=lambda problem, **words: (problem.ordered, in_large_units(problem.b)))
def groups(problem: Any, ready: Any) -> Array:
    """k groups by a path through all smaller numbers, which are fitted anew."""
    from abess.linear import LinearRegression

    (M, y), sizes = ready, range(1, problem.k + 1)
    model = LinearRegression(support_size=sizes, group=problem.labels, fit_intercept=False, ic_type="loss").fit(M, y)
    return refitted(problem, np.unique(problem.labels[np.flatnonzero(np.ravel(model.coef_))]))


@needs("abess")
def robust_pca(problem: Any, ready: Any) -> Pair:
    """Returns S alone; L is then the best of its rank."""
    from abess.decomposition import RobustPCA

    rank, count = problem.k
    X: Vector = problem.X
    S = RobustPCA(support_size=count).fit(X, r=rank).coef_
    return Pair((leading(X - S, rank), S))
