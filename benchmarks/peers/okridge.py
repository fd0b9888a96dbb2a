"""okridge: k atoms with a small ridge by branch and bound, with a proven gap."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.peers import needs
from benchmarks.peers.answers import Array, Support
from benchmarks.peers.refits import refit
from benchmarks.problems.proven import GAP

RIDGE = 1e-6  # of unit columns: none to speak of, but it asks for one


@needs("okridge", prepare=lambda problem, **words: problem.unit)
def branch_and_bound(problem: Any, M: Any, *, seconds: float = 5.0, gap: float = 1e-4) -> Support:
    """Until the gap is that small or the time is over; `seconds` below zero: its beam search alone."""
    from okridge.tree import BNBTree

    b = problem.target
    y = b * (np.sqrt(b.size) / np.linalg.norm(b))  # in the units of a column of noise
    tree = BNBTree(X=np.ascontiguousarray(M), y=y, lambda2=RIDGE)
    _, x, *_ = tree.solve(k=problem.k, gap_tol=gap, time_limit=seconds)
    return refit(M, b, np.flatnonzero(x))


@needs("okridge", prepare=lambda problem, **words: np.ascontiguousarray(problem.M))
def prove(problem: Any, ready: Any, *, seconds: float = 60.0) -> Array:
    """With a ridge."""
    from okridge.tree import BNBTree

    tree = BNBTree(X=ready, y=problem.b, lambda2=problem.ridge)
    _, x, gap, *_ = tree.solve(k=problem.k, gap_tol=GAP, time_limit=seconds)
    return Array(np.asarray(x), {"open": max(0.0, float(gap)), "proven": float(gap <= GAP)})
