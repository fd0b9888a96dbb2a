"""Where sweeps begin: singular vectors of M*y, and further ones beside a point that has been reached.

Entries may fall into groups that share no row and no column. Leading singular vectors then live in one of them, and
factors that are zero in the others stay so, whatever sweeps do: vectors are found in each group by itself, and put one
above the other. With a ridge on factors as without, groups are problems of their own over the same k columns. In front
of a background they are not: what joins a row of one with a column of another is a zero that counts, and each vector is
an atom by itself.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fewatoms import ledger
from fewatoms._types import Array, FloatArray, IntArray
from fewatoms.methods.lowrank.entries import Factored, Triple, normalised, without_signs

WAKING = 1e-3  # of the coefficient without a penalty: what atoms begin with that it would leave nothing of
FADED = 1e-3  # times what a group would begin with: where sweeps have lost it
SPARE = 4  # columns more than are asked for: the last ones converge slowly
LARGE = 32  # lines from which on a group is worth a product of its own
NO_WIDTH = 1e-12  # share of the largest eigenvalue that is rounding


Groups = tuple[IntArray, IntArray, int]


def groups(F: Factored) -> Groups:
    """The group of each row and of each column, and how many there are. Lines without entries are in the first."""
    if F.linked is None:
        F.linked = _found(F)
    return F.linked


def _found(F: Factored) -> Groups:
    label = np.arange(F.shape[0])
    seen = np.flatnonzero(F.rows.lengths)
    while True:
        cols = F.cols.least(label)
        fresh = np.minimum(label, F.rows.least(cols))
        fresh = fresh[fresh]
        if np.array_equal(fresh[seen], label[seen]):
            break
        label = fresh
    names, found = np.unique(label[seen], return_inverse=True)
    rows = np.zeros(F.shape[0], dtype=np.intp)
    rows[seen] = found
    touched = cols < F.shape[0]
    where = np.zeros(F.shape[1], dtype=np.intp)
    where[touched] = np.searchsorted(names, cols[touched])
    return rows, where, names.size


def _joined(F: Factored) -> Groups:
    """All in one group."""
    p, q = F.shape
    return np.zeros(p, dtype=np.intp), np.zeros(q, dtype=np.intp), 1


class _Apart:
    """Lines in groups: what is orthonormal within each."""

    def __init__(self, group: IntArray, count: int) -> None:
        self.group, self.count = group, count
        self.order = np.argsort(group, kind="stable") if count > 1 else np.arange(group.size)
        self.starts = np.searchsorted(group[self.order], np.arange(count + 1))

    def grams(self, X: Array) -> FloatArray:
        """X'X, group by group."""
        if self.count == 1:
            return (X.T @ X)[None]
        w, sizes = X.shape[1], np.diff(self.starts)
        out = np.zeros((self.count, w, w))
        for g in np.flatnonzero(sizes >= LARGE):
            some = X[self.order[self.starts[g] : self.starts[g + 1]]]
            out[g] = some.T @ some
        small = np.flatnonzero((sizes > 0) & (sizes < LARGE))
        for chunk in np.array_split(small, max(1, small.size * LARGE * w * w // (1 << 22))):
            if chunk.size:
                places = np.concatenate([self.order[self.starts[g] : self.starts[g + 1]] for g in chunk])
                begin = np.concatenate([[0], np.cumsum(sizes[chunk])[:-1]])
                pairs = X[places][:, :, None] * X[places][:, None, :]
                out[chunk] = np.add.reduceat(pairs, begin, axis=0)
        return out

    def turned(self, X: Array, T: FloatArray) -> FloatArray:
        """X with the columns of each group multiplied by a matrix of its own."""
        if self.count == 1:
            return np.asarray(X @ T[0])
        out, sizes = np.empty((len(X), T.shape[2])), np.diff(self.starts)
        for g in np.flatnonzero(sizes >= LARGE):
            lines = self.order[self.starts[g] : self.starts[g + 1]]
            out[lines] = X[lines] @ T[g]
        small = np.flatnonzero((sizes < LARGE)[self.group])
        for first in range(0, small.size, 1 << 14):
            lines = small[first : first + (1 << 14)]
            out[lines] = np.einsum("ia,iab->ib", X[lines], T[self.group[lines]])
        return out

    def principal(self, X: Array) -> tuple[FloatArray, FloatArray]:
        """Eigenvalues of X'X, falling, and eigenvectors, group by group."""
        values, vectors = np.linalg.eigh(self.grams(X))
        return np.maximum(values[:, ::-1], 0.0), vectors[:, :, ::-1]

    def orthonormal(self, X: Array) -> FloatArray:
        """An orthonormal basis of the columns in each group; zero where they do not span as much."""
        values, vectors = self.principal(X)
        return self.turned(X, vectors * _inverse(np.sqrt(values))[:, None, :])


def _inverse(s: FloatArray) -> FloatArray:
    """1 / s, and 0 where s is rounding beside the first."""
    there = s > np.sqrt(NO_WIDTH) * s[:, :1]
    return np.where(there, 1.0 / np.where(there, s, 1.0), 0.0)


@dataclass(frozen=True, eq=False)
class Seeds:
    """The leading singular triplets of M*y at X = 0 in each group of entries, roughly: what sweeps begin with, and
    begin with again where a penalty on the way was too high for a group.

    where : the groups of rows and columns, and how many there are
    P, s, Q : singular vectors, orthonormal in each group, and a row of singular values for each
    shares : 1 / |M(u v^T)|^2
    """

    F: Factored
    where: Groups
    P: FloatArray
    s: FloatArray
    Q: FloatArray
    shares: FloatArray

    @classmethod
    def of(
        cls,
        F: Factored,
        rank: int,
        row: FloatArray,
        col: FloatArray,
        rounds: int,
        generator: np.random.Generator | None = None,
    ) -> Seeds:
        """`generator` draws what products begin with; that of the run, where none is given."""
        where = groups(F)
        none = Triple(np.zeros((F.shape[0], 0)), np.zeros(0), np.zeros((F.shape[1], 0)), row, col)
        P, s, Q = _vectors(F, none, rank, rounds, where, generator)
        return cls(F, where, P, s, Q, _inverse_sizes(F, P, Q, where))

    def planted(self, row: FloatArray, col: FloatArray) -> Triple:
        """All of them."""
        root = np.sqrt(self.s / self.F.heavy)
        U, V = self.P * root[self.where[0]], self.Q * root[self.where[1]]
        if self.F.background and self.where[2] > 1:
            U, V = self._apart(U, V)
            if self.F.nonnegative:
                return _without_mixing(U, V, row, col)
        return self.F.of(U, V, row, col)

    def joined(self, row: FloatArray, col: FloatArray) -> Triple:
        """One of each group in each atom, as positive as its sign can make it."""
        rows, cols, count = self.where
        root = np.sqrt(self.s)
        U, V = self.P * root[rows], self.Q * root[cols]
        weight = np.zeros((count, U.shape[1]))
        for X, g in ((U, rows), (V, cols)):
            np.add.at(weight, g, X * np.abs(X))
        sign = np.where(weight < 0, -1.0, 1.0)
        return self.F.of(sign[rows] * U, sign[cols] * V, row, col)

    def _apart(self, U: FloatArray, V: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The largest ones of all groups, each an atom by itself."""
        group, which = np.unravel_index(np.argsort(-self.s, axis=None, kind="stable")[: U.shape[1]], self.s.shape)
        rows, cols, _ = self.where
        return (
            np.where(rows[:, None] == group, U[:, which], 0.0),
            np.where(cols[:, None] == group, V[:, which], 0.0),
        )

    def awake(self, at: Triple, lam: float) -> Triple:
        """A point with the factors of those groups begun anew that have faded though the penalty allows them."""
        if self.where[2] == 1 or self.F.background:  # all entries hang together: nothing is lost there
            return at
        U, V = at.halves()
        pairs = zip(self.where[:2], (U, V), strict=True)
        lengths = [np.bincount(g, (X * X).sum(axis=1), self.where[2]) for g, X in pairs]
        c = np.maximum(self.s - lam, 0.0) * self.shares
        faded = np.sqrt(lengths[0] * lengths[1]) < FADED * c[:, 0]
        if not faded.any() or not at.rank:
            return at
        root, width = np.sqrt(c[:, : at.rank]), min(at.rank, c.shape[1])
        for X, seeds, g in ((U, self.P, self.where[0]), (V, self.Q, self.where[1])):
            lines = faded[g]
            X[lines] = 0.0
            X[lines, :width] = seeds[lines, :width] * root[g[lines]]
        return self.F.of(U, V, at.row, at.col)


def _without_mixing(U: FloatArray, V: FloatArray, row: FloatArray, col: FloatArray) -> Triple:
    """Nonnegative factors from columns as they are: balanced, those that tie would mix, and their signs with them.
    Columns that are nothing, where M*y is of lower rank, begin anywhere, with a trace."""
    P, s, Q = normalised(U, V)
    none = s <= NO_WIDTH * s[0]
    for X in (P, Q):
        X[:, none] = ledger.generator().random((len(X), int(none.sum()))) / np.sqrt(len(X))
    return without_signs(Triple(P, np.where(none, NO_WIDTH * s[0], s), Q, row, col))


def leading(F: Factored, rank: int, shrink: float = 0.0, rounds: int = 3) -> Triple:
    """Roughly the leading singular triplets of M*y at X = 0, in each group of entries: a place to start."""
    row, col = F.biases(shrink)
    return Seeds.of(F, rank, row, col, rounds).planted(row, col)


def joined(F: Factored, rank: int, shrink: float = 0.0, rounds: int = 5) -> Triple:
    """The same with a vector of each group of entries in each atom, background or not."""
    row, col = F.biases(shrink)
    return Seeds.of(F, rank, row, col, rounds).joined(row, col)


def awake(F: Factored, at: Triple, lam: float) -> Triple:
    """A point whose groups of entries have not faded on the way to a penalty."""
    if not at.rank or F.background or groups(F)[2] == 1:
        return at
    return Seeds.of(F, at.rank, at.row, at.col, rounds=3).awake(at, lam)


def widened(F: Factored, at: Triple, rank: int, lam: float, rounds: int = 3) -> tuple[Triple, float]:
    """A point with further atoms up to a rank: singular vectors of its M*y in each group of entries, each with the
    coefficient that suits it best by itself under the penalty, or a trace where that is none. Also the largest of the
    singular values: with a higher penalty none of them would be there."""
    if at.rank >= rank:
        return at.cut(rank), 0.0
    where = _joined(F) if F.background else groups(F)
    P, s, Q = _vectors(F, at, rank - at.rank, rounds, where)
    c = np.maximum(s - lam, WAKING * s) * _inverse_sizes(F, P, Q, where)
    root = np.sqrt(c)
    U, V = P * root[where[0]], Q * root[where[1]]
    return F.beside(at, Triple(U, np.ones(U.shape[1]), V, at.row, at.col)), float(s.max(initial=0.0))


def _inverse_sizes(F: Factored, P: Array, Q: Array, where: Groups) -> FloatArray:
    """1 / |M(u v^T)|^2 in the weights, for each group (rows) and pair of columns."""
    sizes = F.rows.shares(P, Q**2, where[0], where[2], F.background)
    sizes += F.background  # vectors have length 1 in each group
    return np.where(sizes > 0, 1.0 / np.where(sizes > 0, sizes, 1.0), 0.0)


def _vectors(
    F: Factored,
    at: Triple,
    count: int,
    rounds: int,
    where: Groups,
    generator: np.random.Generator | None = None,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Leading singular vectors of M*y at a point, orthonormal in each group, and the singular values of each group."""
    in_rows, in_cols, number = where
    rows, cols = _Apart(in_rows, number), _Apart(in_cols, number)
    U, V = at.halves()
    width = min(count + SPARE, *F.shape)
    Q = (generator or ledger.generator()).standard_normal((F.shape[1], width))
    for _ in range(rounds):
        P = rows.orthonormal(F.rows.residual_times(U, V, (at.row, at.col), Q, F.background))
        T = F.cols.residual_times(V, U, (at.col, at.row), P, F.background)
        Q = cols.orthonormal(T)
    values, turn = cols.principal(T)  # M*y ~ P T^T in each group
    values, turn = values[:, :count], turn[:, :, :count]
    s = np.sqrt(values)
    return rows.turned(P, turn), s, cols.turned(T, turn * _inverse(s)[:, None, :])


__all__ = ["Seeds", "awake", "groups", "joined", "leading", "widened"]
