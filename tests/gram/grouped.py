"""Small problems with blocks of columns, kind and nasty, and what is true of them by linear algebra."""

from itertools import combinations, pairwise
from typing import NamedTuple

import numpy as np

from fewatoms.gram import drivers
from fewatoms.gram.blocks import blank_blocks, coefficients, sizes
from fewatoms.gram.whiten import whiten
from gram.instances import DICE, NO_RUNGS, Small, check_state, inside, rules


class Grouped(NamedTuple):
    """Columns of length 1 (or 0), data, where blocks start, the ridge, and the same whitened."""

    M: np.ndarray
    b: np.ndarray
    starts: np.ndarray
    ridge: float
    whitened: object

    @property
    def count(self):
        return self.starts.size - 1

    @property
    def bb(self):
        return float(self.b @ self.b)

    @property
    def small(self):
        return Small(self.whitened.G, self.whitened.h, self.bb)

    def state(self, most=None, may=None, stays=None, weights=None):
        may = np.ones(self.count, dtype=bool) if may is None else may
        stays = np.zeros(self.count, dtype=bool) if stays is None else stays
        weights = np.ones(self.count) if weights is None else weights
        most = self.count if most is None else most
        G, h, starts, _ = self.question
        return blank_blocks(G, h, self.bb, most, may, stays, starts, weights)

    @property
    def question(self):
        w = self.whitened
        return w.G, w.h, w.starts, self.bb

    def columns(self, blocks):
        """Of the data, block after block."""
        return np.concatenate([np.arange(0), *(np.arange(self.starts[g], self.starts[g + 1]) for g in blocks)])

    def fit(self, blocks):
        """Coefficients of unit columns, and twice the objective, by rows that stand for the ridge."""
        at = self.columns(blocks)
        A = np.vstack([self.M[:, at], np.sqrt(self.ridge) * np.eye(at.size)])
        b = np.concatenate([self.b, np.zeros(at.size)])
        c = np.linalg.lstsq(A, b, rcond=1e-7)[0] if at.size else np.zeros(0)
        return c, float(((b - A @ c) ** 2).sum())

    def loss(self, blocks):
        return self.fit(blocks)[1]


def grouped(M, b, lengths, ridge=0.0):
    norms = np.linalg.norm(M, axis=0)
    M = M / np.where(norms > 0, norms, 1.0)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    return Grouped(M, b, starts, ridge, whiten(M.T @ M, M.T @ b, starts, ridge))


def drawn(rng, m=20, lengths=(3, 1, 4, 2, 3, 1, 2), within=0.0):
    """Columns with a part in common: of all of them, so that groups look alike as well."""
    common = np.sqrt(within) * rng.standard_normal((m, 1))
    return common + np.sqrt(1 - within) * rng.standard_normal((m, sum(lengths))), rng.standard_normal(m), lengths


def gaussian(rng):
    return drawn(rng)


def correlated(rng):
    return drawn(rng, within=0.9)


def of_one_size(rng):
    return drawn(rng, lengths=(3,) * 5)


def of_single_columns(rng):
    return drawn(rng, lengths=(1,) * 6)


def duplicated_within(rng):
    """Blocks that are of smaller rank than they look, as dummies beside an intercept are."""
    M, b, lengths = drawn(rng)
    M[:, 2] = M[:, 0] - M[:, 1]
    M[:, 7] = M[:, 6]
    return M, b, lengths


def duplicated_between(rng):
    """Blocks that share columns, and two that are the same."""
    M, b, lengths = drawn(rng)
    M[:, 8:10] = M[:, 0:2]
    M[:, 10:13] = M[:, [4, 0, 5]]
    M[:, 14:16] = M[:, 8:10]
    return M, b, lengths


def nearly_parallel(rng):
    M, b, lengths = drawn(rng)
    M[:, 1] = M[:, 0] + 1e-3 * M[:, 1]
    M[:, 8] = M[:, 4] + 1e-2 * M[:, 8]
    M[:, 14] = M[:, 15] + 1e-7 * M[:, 14]
    return M, b, lengths


def with_zeros(rng):
    """Columns, a block and data that say nothing."""
    M, b, lengths = drawn(rng)
    M[:, [1, 3, 8, 9]] = 0.0
    return M, b, lengths


def with_empty_blocks(rng):
    return drawn(rng, lengths=(0, 3, 1, 0, 4, 2, 0))


def wide(rng):
    return drawn(rng, m=6)


FAMILIES = {
    f.__name__: f
    for f in (
        gaussian, correlated, of_one_size, of_single_columns, duplicated_within, duplicated_between, nearly_parallel,
        with_zeros, with_empty_blocks, wide,
    )
}  # fmt: skip
CASES = [(name, ridge) for name in FAMILIES for ridge in (0.0, 0.2)]


def instance(name, ridge=0.0, seed=0):
    return grouped(*FAMILIES[name](np.random.default_rng(seed)), ridge)


def check_blocks(p, s, tol=1e-9):
    """What the docstring of `blocks.py` says of a support, by linear algebra."""
    S, count = inside(s), s.count[0]
    place = np.full(p.count, -1)
    place[S] = np.arange(count)
    np.testing.assert_array_equal(s.place, place)
    assert s.count[2] == np.count_nonzero(s.stays) - np.count_nonzero(s.stays[S])
    check_state(p.small, s.columns, tol)
    starts, t = s.starts, s.columns
    has = [t.place[starts[g] : starts[g + 1]] >= 0 for g in range(p.count)]
    assert s.count[3] == sum(np.count_nonzero(~has[g]) for g in S)
    assert not any(has[g].any() for g in range(p.count) if s.place[g] < 0)
    assert s.loss is t.loss
    at = t.S[: t.count[0]]
    assert np.shares_memory(t.d, s.D[0])
    G = p.whitened.G
    H = np.linalg.inv(G[np.ix_(at, at)])
    size = tol * max(1.0, np.linalg.cond(H) if at.size else 1.0)
    for a, b in pairwise(starts):
        D = G[a:b, a:b] - G[a:b, at] @ H @ G[at, a:b]
        for i in range(b - a):
            np.testing.assert_allclose(s.D[: b - a - i, a + i], D[i, i:], rtol=0, atol=size)


def told(p, s):
    """The objective of the coefficients of unit columns, anew."""
    c = p.whitened.back(inside(s), coefficients(s))
    r = p.b - p.M[:, p.columns(inside(s))] @ c
    return float(r @ r + p.ridge * (c @ c))


def brute_force(p, k, must=()):
    """The least loss over at most k blocks; more never raise it."""
    others = [g for g in range(p.count) if g not in must]
    rest = min(k - len(must), len(others))
    return min(p.loss([*must, *S]) for S in combinations(others, rest))


def searched(p, k, engine=drivers, weights=None, relief=0.0, effort=2, **words):
    """A search with everything, from what a sweep finds."""
    G, h, _, bb = p.question
    best, s, spare = (p.state(k, weights=weights, **words) for _ in range(3))
    drivers.build(G, h, bb, s, drivers.demanded(s))
    drivers.build(G, h, bb, best, drivers.demanded(s))
    how = rules(shakes=effort, idle=effort, pairs=effort, relief=relief)
    table, losses = np.full((k + 1, k), -1), np.full(k + 1, np.inf)
    low = max(1, np.count_nonzero(best.stays))
    engine.sweep(G, h, bb, s, spare, table, losses, low, k, -1.0, how)
    top = float((sizes(s, h) / s.weights).max(initial=0.0))
    lams = top * 0.6 ** np.arange(1, 2 + 2 * effort) if top else NO_RUNGS
    engine.search(G, h, bb, best, s, table[k:], lams, np.array([1.0, 0.1]), k, how, DICE)
    return best, losses
