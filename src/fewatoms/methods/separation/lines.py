"""Rows and columns of which many entries stand out, fitted anew: most entries of a line decide, not the farthest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fewatoms import ledger
from fewatoms._types import Array, FloatArray, IntArray
from fewatoms.methods.separation.matrix import Low, Separated

if TYPE_CHECKING:
    from fewatoms.methods.separation.steps import Trims

BLOCK = 1 << 21  # numbers that are worked on at a time


def mended(run: Trims, at: Low) -> Low | None:
    """L with such rows and columns fitted anew where that leaves less, each square counted up to that of what stands
    out; None where nothing does.

    What hides a pixel for nearly half of the time pulls the fit of its row to the middle, where all of the row stands
    out, and steps from there lead back. So a row is fitted to a few entries of it, drawn at random, several times; the
    fit that most of the row agrees with is the best of these.
    """
    changed = False
    for turned in (False, True):
        R = run.left(at)
        t = run.rule.threshold(R)
        if not t > run.rule.floor:
            break
        W = sides(run.data, turned=turned)[1]
        lines = _crowded(R.T if turned else R, W, t, run.settings.crowded, at[1].shape[1])
        at, better = _again(run, at, lines, t, run.settings.draws, turned=turned)
        changed = changed or better
    return at if changed else None


def agreed(run: Trims, at: Low, t: float) -> Low:
    """All rows, then all columns, as most of their entries agree to within t."""
    for turned in (False, True):
        lines = np.flatnonzero(how_many(*sides(run.data, turned=turned)))
        at, _ = _again(run, at, lines, t, run.settings.redraws, turned=turned)
    return at


def _again(run: Trims, at: Low, lines: Array, t: float, draws: int, *, turned: bool) -> tuple[Low, bool]:
    """Some rows, or columns, fitted anew; whether any is better."""
    (X, W), changed = sides(run.data, turned=turned), False
    left, right = orthonormal(*at) if turned else (at[0].copy(), at[1])
    for some in np.array_split(lines, max(1, -(-lines.size * X.shape[1] // BLOCK))):
        fitted = _Lines(X[some], None if W is None else W[some], right, t)
        better, where = fitted.anew(left[some], draws, run.settings.agreeing)
        left[some[where]] = better[where]
        changed = changed or bool(where.any())
    return (orthonormal(left, right) if turned else (left, right)), changed


def sides(data: Separated, *, turned: bool) -> tuple[Array, Array | None]:
    """The data and what they count, rows or columns first."""
    X, W = data.D, data.mask
    return (X.T, None if W is None else W.T) if turned else (X, W)


def _crowded(R: Array, W: Array | None, t: float, share: float, rank: int) -> Array:
    """Lines of which such a share stands out, and that have entries enough to tell."""
    given = how_many(R, W)
    out = np.count_nonzero(np.abs(R) >= t, axis=1)
    return np.flatnonzero((out >= share * given) & (out > 0) & (given > rank + 1))


def how_many(X: Array, W: Array | None) -> IntArray:
    """How many entries lines have."""
    return np.full(len(X), X.shape[1]) if W is None else np.count_nonzero(W, axis=1)


def leverages(W: Array, B: Array) -> Array:
    """w_ij b_j^T (sum_k w_ik b_k b_k^T)^-1 b_j, for each row of weights W and the rows b of B."""
    rank, h, pairs = B.shape[1], np.empty(W.shape), pairs_of(B)
    for some in np.array_split(np.arange(len(W)), max(1, -(-len(W) * max(rank**2, W.shape[1]) // BLOCK))):
        ledger.tick()
        G = (W[some] @ pairs).reshape(-1, rank, rank)
        size = np.trace(G, axis1=1, axis2=2)[:, None, None]
        G += (1e-10 * size + (size == 0)) * np.eye(rank)
        h[some] = W[some] * (np.linalg.inv(G).reshape(-1, rank**2) @ pairs.T)
    return h


def pairs_of(B: Array) -> Array:
    """The products of any two numbers of a row, of each."""
    return np.asarray((B[:, :, None] * B[:, None, :]).reshape(len(B), -1))


def orthonormal(left: Array, right: Array) -> Low:
    """The same product turned over: its right factor is orthonormal."""
    Q, T = np.linalg.qr(left)
    return right @ T.T, Q


class _Lines:
    """Lines x of X = C B^T and noise, for orthonormal B; W : what residuals count, None for all the same."""

    def __init__(self, X: Array, W: Array | None, B: Array, t: float) -> None:
        self.X, self.W, self.B, self.t = X, W, B, t
        self._places, self._counts = np.zeros(0, dtype=np.intp) if W is None else np.nonzero(W)[1], how_many(X, W)
        self._first = np.cumsum(self._counts) - self._counts

    def anew(self, C: Array, draws: int, agreeing: int) -> tuple[Array, Array]:
        """Coefficients, and for which lines they are better than C by an entry or more."""
        best, least = C.copy(), self._loss(self._left(C))
        enough = least - self.t**2
        for _ in range(draws):
            ledger.tick()
            trial = self._drawn()
            for _ in range(agreeing):
                R = self._left(trial)
                R[np.abs(R) > self.t] = 0.0
                trial = trial + (R if self.W is None else R * self.W) @ self.B
            loss = self._loss(self._left(trial))
            better = loss < least
            best[better], least[better] = trial[better], loss[better]
        return best, least <= enough

    def _drawn(self) -> Array:
        """Fits to as many entries as there are coefficients."""
        rank = self.B.shape[1]
        places = (ledger.generator().random((len(self.X), rank)) * self._counts[:, None]).astype(np.intp)
        if self.W is not None:
            places = self._places[self._first[:, None] + places]
        A, x = self.B[places], np.take_along_axis(self.X, places, axis=1)
        G = np.einsum("nia,nib->nab", A, A)
        G += 1e-10 * np.trace(G, axis1=1, axis2=2)[:, None, None] * np.eye(rank) + 1e-300 * np.eye(rank)
        return np.asarray(np.linalg.solve(G, np.einsum("nia,ni->na", A, x)[:, :, None])[:, :, 0])

    def _left(self, C: Array) -> Array:
        R = self.X - C @ self.B.T
        return R if self.W is None else R * self.W

    def _loss(self, R: Array) -> FloatArray:
        return np.asarray(np.minimum(np.square(R), self.t**2).sum(axis=1))
