"""adelie: paths of the 1-norm, for least squares and for classes."""

from __future__ import annotations

from typing import Any

from benchmarks.peers import needs
from benchmarks.peers.answers import Support
from benchmarks.peers.refits import EPS, best_refit

ALONE = {"n_threads": 1, "progress_bar": False}


@needs("adelie", prepare=lambda problem, **words: problem.unit)
def lasso(problem: Any, M: Any, *, points: int = 100) -> Support:
    """As many points as it takes by itself: with the twenty of the others it is three times as fast, and finds less."""
    import adelie as ad

    path = ad.grpnet(
        M, ad.glm.gaussian(problem.target), intercept=False, lmda_path_size=points, min_ratio=EPS, early_exit=False,
        **ALONE,
    )  # fmt: skip
    return best_refit(M, problem.target, path.betas.toarray(), problem.k)
