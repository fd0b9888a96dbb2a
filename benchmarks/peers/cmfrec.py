"""cmfrec: alternating least squares."""

from __future__ import annotations

from typing import Any

from benchmarks.peers import needs
from benchmarks.peers.answers import Factors


@needs("cmfrec", prepare=lambda problem, **words: problem.train.coo())
def cmf(
    problem: Any, X: Any, *, setting: int, k: int | None = None, plain: bool = True, exact: bool | None = None,
    penalty: float = 1.0,
) -> Factors:  # fmt: skip
    """In single precision, as its manual advises for speed: COO, nothing kept for later; `setting` is the sweeps.

    `plain` leaves biases and centre out, which makes the model the same as ours. `exact`: small systems by Cholesky,
    not by conjugate gradients; not its default. Exact solves leave the factors of rows and columns without entries as
    whatever was in memory, so predictions count them as zero.
    """
    from cmfrec import CMF

    none = {"user_bias": False, "item_bias": False, "center": False} if plain else {}
    solver = {"use_cg": True} if exact is None else {"use_cg": not exact, "finalize_chol": False}
    model = CMF(
        k=k or problem.k, lambda_=penalty, niter=setting, nthreads=1, precompute_for_predictions=False, **none, **solver
    ).fit(X)
    beside = (0.0,) if plain else (model.glob_mean_, model.user_bias_, model.item_bias_)
    return Factors(model.A_, model.B_, *beside, given=X)
