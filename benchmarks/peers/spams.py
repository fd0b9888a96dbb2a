"""SPAMS: orthogonal matching pursuit and the lasso for many signals at once, in C++."""

from __future__ import annotations

from typing import Any

from benchmarks.peers import needs
from benchmarks.peers.answers import Signals
from benchmarks.peers.columns import fitted_columns, stopwatch
from benchmarks.peers.refits import largest


@needs("spams", prepare=lambda signals, **words: (*signals.unit, signals.data))
def omp(signals: Any, ready: Any) -> Signals:
    import spams

    D, lengths, B = ready
    with stopwatch() as clock:
        X = spams.omp(B, D, L=signals.k, numThreads=1)
    return Signals(X.toarray() / lengths[:, None], clock.seconds)


@needs("spams", prepare=lambda signals, **words: (*signals.unit, signals.data))
def lasso(signals: Any, ready: Any, *, penalty: float = 0.01) -> Signals:
    """Nonnegative, cut to the k largest, which are fitted anew; the penalty is the best for mixtures of minerals."""
    import spams

    D, lengths, B = ready
    with stopwatch() as clock:
        X = spams.lasso(B, D, lambda1=penalty, mode=2, pos=True, numThreads=1).toarray()
        X = fitted_columns(D, B, [largest(x, signals.k) for x in X.T])
    return Signals(X / lengths[:, None], clock.seconds)
