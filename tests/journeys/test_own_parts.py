"""Parts of one's own, with nothing but what their contracts ask for, find what the built-in ones find."""

import numpy as np
import pytest

import fewatoms as fa
from contracts.families import generator
from fewatoms.atoms import Listing
from fewatoms.faces import Coordinates, Factors, GroupCoordinates, SumFace


def planted(n, m, k, seed, units=0.0):
    """A matrix with columns in units of their own, and data of k of them."""
    rng = generator(seed)
    M = rng.standard_normal((m, n)) * 10.0 ** rng.uniform(-units, units, n)
    x = np.zeros(n)
    x[rng.permutation(n)[:k]] = rng.uniform(1.0, 2.0, k) * rng.choice([-1.0, 1.0], k)
    x /= np.linalg.norm(M, axis=0)
    b = M @ x
    return M, x, b + 0.05 * np.linalg.norm(b) / np.sqrt(m) * rng.standard_normal(m)


class Own:
    """An operator with three members."""

    def __init__(self, A):
        self.A, self.shape = A, A.shape

    def apply(self, x):
        return self.A @ x

    def adjoint(self, y):
        return self.A.T @ y


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n", [40, 256])
def test_an_operator_with_columns_in_mixed_units(n, seed):
    """It gets the atoms that the same matrix gets as an array."""
    M, x, b = planted(n, 60, 5, seed, units=3.0)
    whole = fa.fit(M, b, atoms=fa.SignedOneHot(n), k=5)
    own = fa.fit(Own(M), b, atoms=fa.SignedOneHot(n), k=5)
    assert set(own.indices) == set(whole.indices) == set(np.flatnonzero(x))
    assert own.loss == pytest.approx(whole.loss, rel=1e-6)


def test_a_large_operator_of_ones_own_comes_as_near():
    M, x, b = planted(600, 120, 5, 3)
    own = fa.fit(Own(M), b, atoms=fa.SignedOneHot(600), k=5)
    assert set(own.indices) == set(np.flatnonzero(x))


class LogCosh(fa.Loss):
    """sum log cosh r, with the five members that are asked for and no others."""

    @property
    def smoothness(self):
        return 1.0

    def value(self, r):
        return float(np.sum(np.logaddexp(r, -r) - np.log(2.0)))

    def gradient(self, r):
        return np.tanh(r)

    def curvature(self, r):
        return 1.0 - np.tanh(r) ** 2

    def conjugate(self, y):
        if np.abs(y).max(initial=0.0) > 1:
            return np.inf
        a, b = 1.0 + y, 1.0 - y
        terms = np.where(a > 0, a * np.log(np.where(a > 0, a, 1.0)), 0.0)
        return float(0.5 * np.sum(terms + np.where(b > 0, b * np.log(np.where(b > 0, b, 1.0)), 0.0)))


@pytest.mark.parametrize("free", [None, "intercept"])
def test_a_loss_of_ones_own(free):
    M, x, b = planted(40, 60, 3, 4)
    s = fa.fit(M, b, atoms=fa.SignedOneHot(40), k=3, loss=LogCosh(), free=free)
    assert set(s.indices) == set(np.flatnonzero(x))
    assert s.loss <= LogCosh().value(b - M @ x)
    assert np.isfinite(s.certificate.gap)
    bounded = fa.fit(M, b, atoms=fa.SignedOneHot(40), k=3, loss=LogCosh(), free=free, alpha=1.5 * s.loss)
    assert bounded.success


class Tree(fa.FiniteSet):
    """The ways from the nodes of a binary tree to its root: four members, and no listing."""

    centrosymmetric = True

    def __init__(self, n):
        self.shape = (n,)
        self.blocks = [np.sort(self._up(g)) for g in range(n)]

    @staticmethod
    def _up(g):
        way = [g]
        while way[-1]:
            way.append((way[-1] - 1) // 2)
        return way

    @property
    def count(self):
        return len(self.blocks)

    def alignments(self, z):
        z = np.asarray(z).ravel()
        return np.array([np.linalg.norm(z[block]) for block in self.blocks])

    def face(self, which, z):
        z = np.asarray(z).ravel()
        blocks = [self.blocks[g] for g in which]
        units = [z[b] / (np.linalg.norm(z[b]) or 1.0) for b in blocks]
        return GroupCoordinates(
            np.concatenate([*blocks, []]).astype(int),
            np.cumsum([0, *(b.size for b in blocks)]),
            np.concatenate([*units, []]),
            np.asarray(which),
            np.asarray(which),
            np.ones(len(blocks)),
            self.shape,
        )


class ListedTree(Tree):
    def listing(self):
        return Listing(self, lambda face: face.group, self.blocks, weights=np.ones(self.count))


@pytest.mark.parametrize("kind", [Tree, ListedTree], ids=["bare", "listed"])
@pytest.mark.parametrize("seed", range(3))
def test_a_finite_set_with_overlapping_groups(kind, seed):
    rng, atoms, leaves = generator(seed), kind(31), {17, 20, 29}
    x = np.zeros(31)
    for g in leaves:  # which share the root, and more
        x[atoms.blocks[g]] += rng.uniform(1.0, 2.0, 5)
    M = rng.standard_normal((40, 31))
    s = fa.fit(M, M @ x, atoms=atoms, k=3)
    assert set(s.indices) == leaves
    np.testing.assert_allclose(s.x, x, atol=1e-8)
    assert fa.fit(M, M @ x, atoms=atoms, k=3, misfit=1e-6).success


def test_a_sum_is_pruned_to_one_number_for_all_its_parts():
    """The atoms that contribute most, whichever part they are of."""
    rng = generator(6)
    U, V = (np.linalg.qr(rng.standard_normal((n, 3)))[0] for n in (5, 6))
    entries = Coordinates(np.arange(4), np.ones(4), (5, 6))
    face = SumFace((Factors(U, V), entries), True, (5, 6))
    c = np.concatenate([np.diag([3.0, 0.1, 0.2]).ravel(), [0.3, 2.0, 0.1, 0.4]])
    for k in range(9):
        smaller, d = face.prune(c, k)
        assert smaller.size == min(k, 7)
        assert d.size == smaller.dim
    smaller, d = face.prune(c, 2)
    assert [part.size for part in smaller.faces] == [1, 1]
    assert smaller.faces[1].indices.tolist() == [1]
    assert smaller.gauge(d) == pytest.approx(5.0)
