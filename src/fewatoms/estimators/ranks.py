"""Which rank predicts best, and seeds as scikit-learn gives them."""

from __future__ import annotations

import math

from sklearn.utils import check_random_state

from fewatoms._types import FloatArray, Foreign
from fewatoms.operators import Sampling
from fewatoms.path import fit_path
from fewatoms.solution import Solution, Status

RANKS_TRIED = (1, 2, 3, 5, 8, 12, 20)
NO_BETTER = 2  # ranks in a row that end the search: higher ones cost more


def best_rank(M: Sampling, b: FloatArray, ranks: list[int], words: Foreign) -> Solution:
    """The answer of the rank that predicts entries held out best, the lowest among equals; `words` are those of `fit`.
    The same entries are held out for each."""
    best, lowest, since = None, math.inf, 0
    for rank in ranks:
        path = fit_path(M, b, k=[rank], **words)
        path.choose_k("held-out", callback=words["callback"])
        score, since = float(path.scores["held-out"][0]), since + 1
        if best is None or score < lowest:
            best, lowest, since = path.best, score, 0
        if since == NO_BETTER or path.best.status is Status.STOPPED:
            break
    assert best is not None
    return best


def seed(random_state: Foreign) -> int | None:
    """One number for the generator of a run; None is a fixed one."""
    return None if random_state is None else int(check_random_state(random_state).randint(2**31 - 1))
