"""Entries held out of a matrix, and what they say of a fit to the others: errors, or where clicks stand in rankings."""

from __future__ import annotations

import math
from typing import cast

import numpy as np

from fewatoms import ledger
from fewatoms.methods.lowrank.entries import Triple
from fewatoms.methods.lowrank.starts import Seeds
from fewatoms.methods.lowrank.sweeps import Asked
from fewatoms.ranking import Lists, ranked
from fewatoms.sides import Lines, Side, Split

RANKED_CELLS = 1 << 26  # scores of clicks held out that are looked at for each penalty: of some rows if there are more
CLEARLY = 1.02  # times the best 1 - NDCG: a penalty at which clicks are ranked so much worse is the last


class Fold:
    """Some entries held out, and the others to fit."""

    def __init__(self, asked: Asked, entries: Lines, out: Split) -> None:
        rest, held = entries.split(out)
        ledger.tick()
        if asked.biased:
            shift = rest.mean()  # the centre without those held out
            rest, held = rest.shifted(shift), held.shifted(shift)
        self.train, self.held = asked.factored(rest), held
        ledger.tick()
        self.seeds: Seeds | None = None
        self.weight = held.weight()

    def seeded(self, k: int, shrink: float, generator: np.random.Generator) -> Triple:
        """Where a ladder begins."""
        row, col = self.train.biases(shrink)
        self.seeds = Seeds.of(self.train, k, row, col, rounds=3, generator=generator)
        return self.seeds.planted(row, col)

    def awake(self, at: Triple, lam: float) -> Triple:
        """A point with no group of entries lost that the penalty allows."""
        return at if self.seeds is None else self.seeds.awake(at, lam)

    def errors(self, at: Triple) -> tuple[float, float]:
        """The weighted sum of the squares of the errors on the entries held out, and that of the weights."""
        return self.held.misfit(at.P * at.s, at.Q, at.row, at.col), self.weight

    def sweeps(self, usual: int, clicks: int) -> tuple[int, int]:
        """How many for each penalty, while scores fall steeply and after that."""
        return 1, usual

    def last(self, score: float, best: float) -> bool:
        """Whether a score ends a ladder at once."""
        return False

    def first(self, at: Triple) -> float:
        """The first penalty, from the leading singular values of M*y at x = 0."""
        return self.train.heavy * float(at.s[0])

    @staticmethod
    def joined(sums: list[tuple[float, float]]) -> float:
        """The score of all folds from their errors and weights: the root of the mean square."""
        return math.sqrt(sum(s for s, _ in sums) / sum(w for _, w in sums))


class ClicksFold(Fold):
    """Clicks held out count by where they stand among all that their rows have not clicked on: 1 - NDCG.

    They are zeros like all others for the fit. Squares would say of clicks alone that they should be large, and so
    would those of a model that says so of everything.
    """

    def __init__(self, asked: Asked, entries: Lines, out: Split) -> None:
        super().__init__(asked, entries, out)
        held, rest = cast(Side, self.held), cast(Side, self.train.rows)  # a background is for entries in arrays
        rows = asked.entries.matrix_shape[0]
        clicked = asked.sign * held.values > 0
        where = np.repeat(np.arange(rows), np.diff(held.starts))[clicked]
        most = max(1, RANKED_CELLS // asked.entries.matrix_shape[1])
        some = np.unique(where)
        if some.size > most:
            some = np.sort(ledger.generator().choice(some, most, replace=False))
        starts = np.concatenate([[0], np.cumsum(np.bincount(where, minlength=rows))])
        self.rows, self.sign = some, asked.sign
        self.wanted, self.seen = (
            Lists(starts, held.others[clicked]).taken(some),
            Lists(rest.starts, rest.others).taken(some),
        )

    def sweeps(self, usual: int, clicks: int) -> tuple[int, int]:
        return clicks, clicks

    def last(self, score: float, best: float) -> bool:
        return score > CLEARLY * best

    def first(self, at: Triple) -> float:
        """Past the first atom: that one is what everybody clicks on. It stays alone down to far lower penalties, and a
        ranking by it does not change meanwhile."""
        return float(at.s[min(1, at.rank - 1)])

    def errors(self, at: Triple) -> tuple[float, float]:
        """1 - NDCG, times the rows that it is about, and their number."""
        if not self.rows.size:
            return 0.0, 0.0
        found = ranked(self.sign * (at.P * at.s)[self.rows], at.Q, self.wanted, self.seen)
        return (1.0 - found.ndcg()) * self.rows.size, float(self.rows.size)

    @staticmethod
    def joined(sums: list[tuple[float, float]]) -> float:
        rows = sum(w for _, w in sums)
        return sum(s for s, _ in sums) / rows if rows else 0.0


__all__ = ["ClicksFold", "Fold"]
