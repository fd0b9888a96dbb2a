"""Matrices of which an estimator is told in files; and how any are fitted."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Protocol

import numpy as np

from fewatoms import _checks
from fewatoms._types import FloatArray, Foreign, Vector
from fewatoms.atoms import RankOne
from fewatoms.doors import fit
from fewatoms.entered import EntryBlocks
from fewatoms.estimators.seeds import seed
from fewatoms.losses import LeastSquares
from fewatoms.operators import Operator
from fewatoms.ranks import RANKS, best_rank
from fewatoms.solution import Solution


class Told(Protocol):
    """What an estimator is told."""

    rank: int | None
    biases: bool
    ridge: float | str | None
    nonnegative: bool
    duplicates: str
    background: float | None
    engine: object
    callback: Callable[..., None] | None
    random_state: int | np.random.RandomState | None


def files_meant(X: object) -> bool:
    """Whether that is a file, a folder, or a list of these."""
    if isinstance(X, list | tuple):
        return len(X) > 0 and all(isinstance(one, os.PathLike) or _named(one) for one in X)
    return isinstance(X, str | os.PathLike)


def _named(one: object) -> bool:
    return isinstance(one, str) and os.path.exists(one)


def from_files(
    told: Told, X: Foreign, y: object, sample_weight: object, named: tuple[str | None, ...]
) -> tuple[EntryBlocks, Solution]:
    """The entries of files in blocks, and the answer."""
    for name, thing in (("y", y), ("sample_weight", sample_weight), ("background", told.background or None)):
        _checks.require(thing is None, name, "left out where X is a file or folder of entries", thing)
    user, item, value = named
    M, b = EntryBlocks.of(X, user=user, item=item, value=value, duplicates=told.duplicates, engine=told.engine)
    return M, solved(told, M, b, None)


def solved(told: Told, M: Operator, b: Vector, weights: FloatArray | None) -> Solution:
    """The answer for sampled entries, its rank and ridge chosen where they are left open."""
    p, q = M.model_shape
    rank = None if told.rank is None else _checks.integer("rank", told.rank, 1, min(p, q))
    biases, nonnegative = _checks.flag("biases", told.biases), _checks.flag("nonnegative", told.nonnegative)
    few = M.shape[0] < 2  # of which none can be held out
    ridge = (0.0 if few else "auto") if told.ridge is None else told.ridge
    words: Foreign = {
        "atoms": RankOne(p, q, nonnegative=nonnegative),
        "loss": LeastSquares() if weights is None else LeastSquares(weights),
        "ridge": ridge,
        "free": "biases" if biases else None,
        "callback": told.callback,
        "rng": seed(told.random_state),
    }
    if rank is not None or few or min(p, q) == 1:
        return fit(M, b, k=rank or 1, **words)
    return best_rank(M, b, [r for r in RANKS if r <= min(p, q)], **words).best
