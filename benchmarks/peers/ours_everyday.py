"""Ourselves on what people fit every day: many signals, groups, classes, paths, pictures; words as a user says them."""

from __future__ import annotations

import time
from typing import Any

from benchmarks.peers import needs
from benchmarks.peers.answers import Array, Signals
from benchmarks.peers.columns import stopwatch
from benchmarks.peers.counted import Counted


@needs("fewatoms")
def signals(problem: Any, ready: Any, **words: Any) -> Signals:
    import fewatoms as fa

    n = problem.D.shape[1]
    atoms = fa.NonnegativeOneHot(n) if problem.nonnegative else fa.SignedOneHot(n)
    with stopwatch() as clock:
        answers = fa.fit_many(problem.D, problem.B, atoms=atoms, k=problem.k, **words)
    return Signals(answers.x, clock.seconds)


@needs("fewatoms")
def groups(problem: Any, ready: Any, **words: Any) -> Array:
    import fewatoms as fa

    return Array(fa.fit(problem.M, problem.b, atoms=fa.Groups(problem.labels), k=problem.k, **words).x)


@needs("fewatoms")
def positive(problem: Any, ready: Any, **words: Any) -> Array:
    import fewatoms as fa

    atoms = fa.NonnegativeOneHot(problem.M.shape[1])
    return Array(fa.fit(problem.M, problem.b, atoms=atoms, k=problem.k, **words).x)


@needs("fewatoms")
def picture(problem: Any, ready: Any, **words: Any) -> Array:
    """Products are counted from outside too: the larger count is taken."""
    import fewatoms as fa

    M, began, calls = Counted(problem.M), time.perf_counter(), []
    s = fa.fit(
        M, problem.b, atoms=fa.SignedOneHot(M.shape[1]), k=problem.k, misfit=problem.misfit,
        callback=lambda progress: calls.append(time.perf_counter() - began), **words,
    )  # fmt: skip
    ended = time.perf_counter() - began
    return Array(s.x, {"products": max(s.products, M.products), "first_call": min([*calls, ended])})
