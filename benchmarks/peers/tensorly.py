"""tensorly: robust PCA of tensors, here of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.peers import needs
from benchmarks.peers.answers import Pair
from benchmarks.peers.plain import default_weight


@needs("tensorly")
def robust_pca(problem: Any, ready: Any, *, stiff: bool = False) -> Pair:
    """Both ways to unfold a matrix give its nuclear norm: half of the weight for each. The tolerance is absolute.

    stiff : with the stiffness of IALM, which it does not set by itself
    """
    from tensorly.decomposition import robust_pca as solve

    X = problem.X
    wishes = {"mu_init": 1.25 / float(np.linalg.norm(X, 2)), "learning_rate": 1.5} if stiff else {}
    tol = 1e-4 * float(np.linalg.norm(X))
    return Pair(solve(X, tol=tol, reg_J=0.5, reg_E=default_weight(X), n_iter_max=300, verbose=0, **wishes))
