"""Small problems in the space of a Gram matrix, kind and nasty, and what is true of them by linear algebra."""

from itertools import combinations
from typing import NamedTuple

import numpy as np

from fewatoms.gram.drivers import Rules
from fewatoms.gram.state import PIVOT, blank

DICE = np.random.default_rng(0).random(101)
NO_STARTS, NO_RUNGS = np.zeros((0, 1), dtype=np.int64), np.zeros(0)


class Small(NamedTuple):
    G: np.ndarray
    h: np.ndarray
    bb: float

    @property
    def n(self):
        return self.h.size

    def state(self, most=None, may=None, stays=None):
        may = np.ones(self.n, dtype=bool) if may is None else may
        stays = np.zeros(self.n, dtype=bool) if stays is None else stays
        return blank(self.G, self.h, self.bb, self.n if most is None else most, may, stays)

    def coefficients(self, atoms):
        """The best ones, by a solver of linear equations."""
        atoms = np.asarray(atoms, dtype=np.int64)
        return np.linalg.solve(self.G[np.ix_(atoms, atoms)], self.h[atoms])

    def loss(self, atoms):
        return self.bb - self.h[np.asarray(atoms, dtype=np.int64)] @ self.coefficients(atoms)

    def independent(self, atoms):
        """Whether a Gram matrix can see that they are."""
        atoms = np.asarray(atoms, dtype=np.int64)
        return atoms.size == 0 or np.linalg.eigvalsh(self.G[np.ix_(atoms, atoms)])[0] > 10 * PIVOT


def small(M, b, ridge=0.0):
    """Columns of length 1, or 0."""
    lengths = np.linalg.norm(M, axis=0)
    M = M / np.where(lengths > 0, lengths, 1.0)
    return Small(M.T @ M + ridge * np.eye(M.shape[1]), M.T @ b, float(b @ b))


def gaussian(rng, m=14, n=9):
    return rng.standard_normal((m, n)), rng.standard_normal(m)


def planted(rng):
    M, noise = gaussian(rng, 20, 10)
    return M, M[:, :3] @ rng.standard_normal(3) + 0.3 * noise


def correlated(rng):
    M, b = gaussian(rng)
    return 3.0 * rng.standard_normal((14, 1)) + M, b


def nearly_parallel(rng):
    """Pairs of columns of which the first leave 1e-6 and 1e-3 of the length, and less than can be seen."""
    M, b = gaussian(rng)
    for a, size in ((0, 1e-3), (2, 3e-2), (4, 1e-6)):
        M[:, a + 1] = M[:, a] + size * np.linalg.norm(M[:, a]) / np.sqrt(14) * M[:, a + 1]
    return M, b


def duplicated(rng):
    M, b = gaussian(rng)
    return M[:, [0, 1, 2, 0, 1, 3, 4, 4, 5]], b


def with_zeros(rng):
    M, b = gaussian(rng)
    M[:, [1, 4]] = 0.0
    return M, b


def wide(rng):
    return gaussian(rng, 5, 11)


def positive(rng):
    return rng.random((14, 9)), rng.random(14)


def mixtures(rng):
    """A library that holds mixtures of its members, and data that are one."""
    M = rng.random((10, 6))
    M = np.c_[M, M @ rng.random((6, 2)) / 3]
    return M, M @ (rng.random(8) * (rng.random(8) < 0.5)) + 0.01 * rng.standard_normal(10)


def single(rng):
    return gaussian(rng, 3, 1)


FAMILIES = {
    f.__name__: f
    for f in (gaussian, planted, correlated, nearly_parallel, duplicated, with_zeros, wide, positive, mixtures, single)
}
CASES = [(name, ridge) for name in FAMILIES for ridge in (0.0, 0.2)]


def instance(name, ridge=0.0, seed=0):
    return small(*FAMILIES[name](np.random.default_rng(seed)), ridge)


def rules(signed=True, **words):
    return Rules(signed, 1e-9, 20, 0, 0, 0.0, 0)._replace(**words)


def inside(s):
    """The atoms of a support, in their order."""
    return s.S[: s.count[0]].copy()


def check_state(p, s, tol=1e-9):
    """What the docstring of `state.py` says of a support, by linear algebra."""
    S, count = inside(s), s.count[0]
    assert len(set(S.tolist())) == count
    place = np.full(p.n, -1)
    place[S] = np.arange(count)
    np.testing.assert_array_equal(s.place, place)
    assert s.count[2] == np.count_nonzero(s.stays) - np.count_nonzero(s.stays[S])
    H = np.linalg.inv(p.G[np.ix_(S, S)])
    size = tol * max(1.0, np.linalg.cond(H) if count else 1.0)  # a Gram matrix sees as much
    scale = 1.0 + np.sqrt(p.bb)
    np.testing.assert_allclose(s.H[:count, :count], H, rtol=0, atol=size * max(1.0, np.abs(H).max(initial=0.0)))
    B = H @ p.G[S]
    np.testing.assert_allclose(s.B[:count], B, rtol=0, atol=size)
    np.testing.assert_allclose(s.d, p.G.diagonal() - (p.G[:, S] * B.T).sum(axis=1), rtol=0, atol=size)
    c = H @ p.h[S]
    np.testing.assert_allclose(s.c[:count], c, rtol=0, atol=size * scale)
    np.testing.assert_allclose(s.z, p.h - p.G[:, S] @ c, rtol=0, atol=size * scale)
    assert abs(s.loss[0] - (p.bb - p.h[S] @ c)) <= size * scale**2


def fits_of(p, atoms, count):
    """All sets of so many of these atoms that a Gram matrix can tell apart, their coefficients and losses."""
    sets = list(combinations(atoms, count))
    sets = np.array(sets, dtype=np.int64).reshape(len(sets), count)
    G = p.G[sets[:, :, None], sets[:, None, :]]
    if count:
        good = np.linalg.eigvalsh(G)[:, 0] > 10 * PIVOT
        sets, G = sets[good], G[good]
    c = np.linalg.solve(G, p.h[sets][:, :, None])[:, :, 0]
    return sets, c, p.bb - (p.h[sets] * c).sum(axis=1)


def best_nonnegative(p, atoms):
    """The least loss over nonnegative coefficients of these atoms: over the subsets whose coefficients are."""
    return brute_force(p, len(atoms), False, among=atoms)


def brute_force(p, k, signed=True, must=(), may=None, among=None):
    """The least loss over at most k atoms that may be used, with those that must be (if they are of use)."""
    among = [j for j in (range(p.n) if among is None else among) if may is None or may[j]]
    best = np.inf
    for count in range(k + 1):
        sets, c, losses = fits_of(p, among, count)
        held = np.isin(sets, must).sum(axis=1)
        good = count + len(must) - held <= k if not signed else held == len(must)
        if not signed:
            good &= (c >= 0).all(axis=1)
        best = min(best, losses[good].min(initial=np.inf))
    return best
