"""Which rank predicts entries held out best."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Unpack

from fewatoms import _checks
from fewatoms._types import FloatArray
from fewatoms.doors import Words
from fewatoms.operators import Sampling
from fewatoms.path import fit_path
from fewatoms.solution import Solution, Status

RANKS = (1, 2, 3, 5, 8, 12, 20)  # where nobody says
NO_BETTER = 2  # ranks in a row that end the search: higher ones cost more


def best_rank(M: Sampling, b: FloatArray, ranks: Sequence[int], **words: Unpack[Words]) -> Solution:
    """The answer of the rank that predicts entries held out best, the lowest among equals; `words` are those of `fit`.
    The same entries are held out for each; ranks are tried in turn until two predict no better."""
    words["rng"] = rng = _checks.seed(words.get("rng"))
    drawn = None if words.get("ridge") == "auto" else rng  # a ridge was chosen by entries held out: those serve
    best, lowest, since = None, math.inf, 0
    for rank in ranks:
        path = fit_path(M, b, k=[rank], **words)
        path.choose_k("held-out", rng=drawn, callback=words.get("callback"))
        score, since = float(path.scores["held-out"][0]), since + 1
        if best is None or score < lowest:
            best, lowest, since = path.best, score, 0
        if since == NO_BETTER or path.best.status is Status.STOPPED:
            break
    assert best is not None
    return best
