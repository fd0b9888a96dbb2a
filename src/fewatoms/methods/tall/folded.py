"""Rows left out of least squares: Gram matrices of the rows of each fold, many folds in one pass.

Those of all other folds together are the fit to the rest, and that of a fold itself says what any answer leaves there:
neither looks at the rows again. The matrices of others are added up; nothing is subtracted, which would cost digits.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fewatoms import ledger
from fewatoms._types import FloatArray, IntArray
from fewatoms.candidates import Compact
from fewatoms.capabilities import RowWise
from fewatoms.methods.base import Part
from fewatoms.methods.tall import sums
from fewatoms.methods.tall.squares import Triangular, posed_small, upper
from fewatoms.problem import Problem
from fewatoms.splits import Split

FOLDS_ROOM = 32_000_000  # numbers in the Gram matrices of one pass


class Folded:
    """The parts of a problem that splits make."""

    def __init__(self, problem: Problem, rows: RowWise, splits: Sequence[Split]) -> None:
        self.problem, self.rows, self.splits = problem, rows, splits
        self._first, self._grams = 0, list[tuple[FloatArray, FloatArray]]()  # of splits from the first on

    def part(self, i: int) -> Part | None:
        """The problem without the rows held out, and the loss on these; None where a Gram matrix cannot see enough."""
        if not self._first <= i < self._first + len(self._grams):
            self._first = i
            self._grams = self._summed(self._together(i))
        rest, held = self._grams[i - self._first]
        U, _ = upper(rest)
        if U is None or not np.isfinite(held).all():
            return None
        q = self.problem.beside.count
        return Part(posed_small(self.problem, Triangular.part(U, q)), Left(U, held, q).loss)

    def _together(self, first: int) -> list[Split]:
        """Splits from one on that one pass serves: they share no row that is held out, and leave out no other."""
        width = self.problem.measured.shape[1] + 1 + self.problem.beside.count
        most = max(1, FOLDS_ROOM // width**2 - 1)
        found, seen = [self.splits[first]], np.zeros(self.problem.m, dtype=bool)
        seen[found[0].held] = True
        for split in self.splits[first + 1 : first + most]:
            if split.fitted is not None or found[0].fitted is not None or seen[split.held].any():
                break
            seen[split.held] = True
            found.append(split)
        return found

    def _summed(self, splits: Sequence[Split]) -> list[tuple[FloatArray, FloatArray]]:
        """For each split the Gram matrices of the rows fitted to, and of those held out."""
        problem, labels = self.problem, np.full(self.problem.m, -1, dtype=np.int16)
        named: list[IntArray] = [split.held for split in splits]
        fitted = splits[0].fitted
        for i, rows in enumerate(named if fitted is None else [*named, fitted]):
            labels[rows] = i
        weights = problem.base_loss.weights
        root = None if weights is None else np.sqrt(weights)
        parts = problem.data, problem.beside.columns, root, labels
        with ledger.stage("summing over rows"):
            G = self.rows.over_rows(sums.grams, len(named) + (fitted is not None), parts=parts)
        if fitted is not None:
            return [(G[1], G[0])]
        return [(G[np.arange(len(G)) != i].sum(axis=0), G[i]) for i in range(len(named))]


class Left:
    """What answers leave of rows held out.

    U : the triangle of [F M b] on the others; held : their Gram matrix there; q : columns of F
    """

    def __init__(self, U: FloatArray, held: FloatArray, q: int) -> None:
        self.U, self.held, self.q = U, held, q

    def loss(self, answer: Compact) -> float:
        """The loss there, with the numbers beside the atoms that are best on the others."""
        face, c = answer
        n, q, U = len(self.U) - 1 - self.q, self.q, self.U
        x = np.ravel(face.point(c)) if face.dim else np.zeros(n)
        v = np.linalg.lstsq(U[:q, :q], U[:q, -1] - U[:q, q:-1] @ x, rcond=None)[0] if q else np.zeros(0)
        w = np.concatenate([v, x, [-1.0]])
        inside = np.flatnonzero(w)
        return 0.5 * max(0.0, float(w[inside] @ self.held[np.ix_(inside, inside)] @ w[inside]))
