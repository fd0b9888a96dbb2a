"""scikit-learn: OMP, logistic regression with the 1-norm, imputers, nonnegative factors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from benchmarks.peers import needs
from benchmarks.peers.answers import Factors, Filled, Support, Vector
from benchmarks.peers.refits import best_logistic_refit, logistic_alphas


@needs("sklearn", prepare=lambda problem, **words: problem.unit)
def omp(problem: Any, M: Vector, *, to_misfit: bool = False) -> Support:
    """k atoms, or as few as it needs for the misfit."""
    from sklearn.linear_model import orthogonal_mp

    goal: dict[str, Any] = {"n_nonzero_coefs": problem.k}
    if to_misfit:
        goal = {"tol": (problem.misfit * np.linalg.norm(problem.target)) ** 2}
    return Support.of_dense(orthogonal_mp(M, problem.target, precompute=False, **goal))


@needs("sklearn", prepare=lambda problem, **words: problem.X.tocsr())
def logistic(problem: Any, rows: Any) -> Support:
    """liblinear, cold at each penalty: it has no warm start, and is still many times as fast as SAGA with one."""
    from sklearn.linear_model import LogisticRegression

    X, t = problem.X, problem.t

    def path() -> Iterable[tuple[Vector, float]]:
        for alpha in logistic_alphas(X, t):
            model = LogisticRegression(
                l1_ratio=1,
                solver="liblinear",
                C=1 / (t.size * alpha),
                intercept_scaling=10,  # liblinear penalises the intercept; less so in these units
                random_state=0,
            ).fit(rows, t)
            yield model.coef_[0], model.intercept_[0]

    return best_logistic_refit(X, t, problem.k, problem.cap, path())


def _dense(problem: Any, **words: Any) -> Vector:
    return problem.train.dense()


@needs("sklearn", _dense)
def column_means(problem: Any, X: Vector) -> Filled:
    from sklearn.impute import SimpleImputer

    return Filled(SimpleImputer(keep_empty_features=True).fit_transform(X))


@needs("sklearn", _dense)
def nearest(problem: Any, X: Vector, *, columns: bool = False) -> Filled:
    """With columns as the samples the search takes a fraction of the time where there are more rows."""
    from sklearn.impute import KNNImputer

    imputer = KNNImputer(keep_empty_features=True)
    return Filled(imputer.fit_transform(X.T).T if columns else imputer.fit_transform(X))


@needs("sklearn", _dense)
def chained_regressions(problem: Any, X: Vector, *, rounds: int) -> Filled:
    """Every column from all others, by Bayesian ridge regression; no low rank in it."""
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401
    from sklearn.impute import IterativeImputer

    return Filled(IterativeImputer(max_iter=rounds, keep_empty_features=True).fit_transform(X))


@needs("sklearn", lambda problem, **words: np.nan_to_num(problem.train.dense(), nan=problem.train.values.mean()))
def refilled_nmf(problem: Any, X: Vector, *, refills: int) -> Factors:
    """Coordinate descent on the whole matrix; missing cells are filled in by the factors, from which it goes on."""
    from sklearn.decomposition import NMF

    missing, X = np.isnan(problem.train.dense()), X.copy()
    W = H = None
    for i in range(refills):
        words = {"init": "custom" if i else None, "solver": "cd", "tol": 1e-4, "random_state": 0}
        model = NMF(problem.k, **words)
        W, H = model.fit_transform(X, W=W, H=H), model.components_
        np.copyto(X, W @ H, where=missing)
    return Factors(W, H.T)
