"""fancyimpute: imputation by singular values."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.peers import needs
from benchmarks.peers.answers import Filled, Vector


def _mend() -> None:
    """fancyimpute hands scikit-learn's check_array an argument that has another name today; this renames it."""
    import fancyimpute.iterative_svd
    import fancyimpute.soft_impute
    import fancyimpute.solver
    from sklearn.utils import check_array

    def renamed(X: Any, force_all_finite: bool = True, **wishes: Any) -> Any:
        return check_array(X, ensure_all_finite=force_all_finite, **wishes)

    for module in (fancyimpute.solver, fancyimpute.soft_impute, fancyimpute.iterative_svd):
        module.check_array = renamed


def _dense(problem: Any, **words: Any) -> Vector:
    _mend()
    return problem.train.dense()


@needs("fancyimpute", _dense)
def iterative_svd(problem: Any, X: Vector, *, setting: float) -> Filled:
    """`setting` is the threshold of convergence."""
    from fancyimpute import IterativeSVD

    return Filled(IterativeSVD(rank=problem.k, convergence_threshold=setting, verbose=False).fit_transform(X))


@needs("fancyimpute", _dense)
def soft_impute(problem: Any, X: Vector, *, setting: float, hard: bool = False) -> Filled:
    """Its own choice of the threshold of singular values, and no cap on the rank; or, `hard`, rank k and hardly any
    shrinkage: with its own choice of it the error is larger."""
    from fancyimpute import SoftImpute

    np.random.seed(0)  # noqa: NPY002  (the only way to make it repeat itself)
    wishes = {"max_rank": problem.k, "shrinkage_value": 1e-3} if hard else {}
    return Filled(SoftImpute(convergence_threshold=setting, verbose=False, **wishes).fit_transform(X))
