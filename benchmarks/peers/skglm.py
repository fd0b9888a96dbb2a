"""skglm: MCP, and logistic regression with the 1-norm."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.peers import needs
from benchmarks.peers.answers import Support, Vector
from benchmarks.peers.refits import ALPHAS, EPS, best_logistic_refit, best_refit, logistic_alphas


@needs("skglm", prepare=lambda problem, **words: problem.unit)
def mcp(problem: Any, M: Any) -> Support:
    """MCP with gamma = 3: that number, and the tolerance, suppose columns and data of mean square one."""
    from skglm import MCPRegression

    b = problem.target
    m = b.size
    norms = sparse.linalg.norm(M, axis=0) if sparse.issparse(M) else np.linalg.norm(M, axis=0)
    scale = np.sqrt(m) / np.where(norms > 0, norms, 1.0)
    X = (M @ sparse.diags_array(scale)).tocsc() if sparse.issparse(M) else np.asfortranarray(M * scale)
    y = b * (np.sqrt(m) / np.linalg.norm(b))
    alphas = np.abs(X.T @ y).max() / m * np.geomspace(1, EPS, ALPHAS)
    coefficients = MCPRegression(gamma=3, fit_intercept=False, tol=1e-4).path(X, y, alphas)[1]
    return best_refit(M, b, coefficients.T, problem.k)


@needs("skglm")
def logistic(problem: Any, ready: Any) -> Support:
    from skglm import SparseLogisticRegression

    X, t = problem.X, problem.t

    def path() -> Iterable[tuple[Vector, float]]:
        alphas = logistic_alphas(X, t)
        # The default tolerance, 1e-4 for a gradient in the units of X, would end each fit at once on tf-idf data.
        model = SparseLogisticRegression(warm_start=True, tol=1e-3 * alphas[0])
        for alpha in alphas:
            model.set_params(alpha=alpha).fit(X, t)
            yield np.ravel(model.coef_).copy(), float(np.ravel(model.intercept_)[0])

    return best_logistic_refit(X, t, problem.k, problem.cap, path())
