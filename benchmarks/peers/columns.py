"""What those need who answer for many signals at once: a clock of their own, and nonnegative fits of few atoms."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from scipy.optimize import nnls

from benchmarks.peers import needs
from benchmarks.peers.answers import Signals, Vector


@dataclass
class Clock:
    seconds: float = 0.0


@contextmanager
def stopwatch() -> Iterator[Clock]:
    """CPU seconds; bringing what was found into one form is not charged."""
    clock, began = Clock(), time.process_time()
    yield clock
    clock.seconds = time.process_time() - began


def fitted_columns(D: Vector, B: Vector, supports: Sequence[Any]) -> Vector:
    """Nonnegative least squares on the given atoms of each column."""
    X = np.zeros((D.shape[1], B.shape[1]))
    for i, atoms in enumerate(supports):
        if len(atoms):
            X[atoms, i] = nnls(D[:, atoms], B[:, i])[0]
    return X


@needs("numpy", prepare=lambda signals, **words: _triangular(signals))
def nnls_pruned(signals: Any, ready: Any, *, among: int = 0) -> Signals:
    """Nonnegative least squares, its k largest contributions, fitted anew; with `among`, the best k of so many."""
    R, rotated, lengths = ready
    k, X = signals.k, np.zeros((R.shape[1], rotated.shape[1]))
    with stopwatch() as clock:
        for i, b in enumerate(rotated.T):
            x = nnls(R, b)[0]
            top = np.argsort(-x)[: among or k]
            top = top[x[top] > 0]
            best = np.inf
            for atoms in combinations(top, min(k, top.size)):
                c, misfit = nnls(R[:, atoms], b)
                if misfit < best:
                    best, X[:, i] = misfit, 0.0
                    X[list(atoms), i] = c
    return Signals(X / lengths[:, None], clock.seconds)


def _triangular(signals: Any) -> tuple[Vector, Vector, Vector]:
    """Unit atoms and signals in an orthonormal basis of the atoms: fewer rows where there are more rows than atoms, and
    the same misfits up to a constant."""
    D, lengths = signals.unit
    if D.shape[0] <= D.shape[1]:
        return D, signals.data, lengths
    Q, R = np.linalg.qr(D)
    return R, Q.T @ signals.data, lengths


@needs("numpy")
def truth(signals: Any, ready: Any) -> Signals:
    """The planted atoms, fitted: what noise leaves."""
    from benchmarks.problems.signals import planted

    with stopwatch() as clock:
        X = planted(signals)
    return Signals(X, clock.seconds)
