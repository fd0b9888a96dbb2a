"""Where sweeps begin: groups of entries, and singular vectors in each."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

import fewatoms as fa
from clicked import clicks
from fewatoms.methods.lowrank import starts
from fewatoms.methods.lowrank.clicks import Clicks
from fewatoms.methods.lowrank.entries import Factored
from fewatoms.operators.sampling import ByLines
from fewatoms.sides import Side


def drawn(seed, *, weighted=False):
    """Entries so few that they fall apart."""
    rng = np.random.default_rng(seed)
    p, q = rng.integers(3, 60, 2)
    m = int(rng.integers(1, max(2, p * q // int(rng.integers(2, 40)))))
    rows, cols = np.divmod(rng.choice(p * q, m, replace=False), q)
    M, values = fa.Sampling(rows, cols, (p, q)), rng.standard_normal(m)
    w = rng.uniform(0.5, 2.0, m) if weighted else None
    return Factored(ByLines(M).lines(values, w), (int(p), int(q))), rows, cols, values, np.ones(m) if w is None else w


@pytest.mark.parametrize("block", [1 << 20, 3])
def test_groups_are_connected_components(block, monkeypatch):
    monkeypatch.setattr("fewatoms.sides.ENTRIES_AT_ONCE", block)
    for seed in range(25):
        F, rows, cols, *_ = drawn(seed)
        in_rows, in_cols, count = starts.groups(F)
        p, q = F.shape
        graph = sp.coo_array((np.ones(rows.size), (rows, p + cols)), shape=(p + q, p + q))
        label = connected_components(graph, directed=False)[1]
        assert count == np.unique(label[rows]).size
        np.testing.assert_array_equal(in_rows[rows], in_cols[cols])
        assert len({*zip(in_rows[rows].tolist(), label[rows].tolist(), strict=True)}) == count


@pytest.mark.parametrize("weighted", [False, True])
def test_singular_values_of_each_group(weighted):
    """Of what a point leaves over."""
    for seed in range(15):
        F, rows, cols, values, w = drawn(seed, weighted=weighted)
        rng = np.random.default_rng(seed)
        at = F.of(rng.standard_normal((F.shape[0], 1)), rng.standard_normal((F.shape[1], 1)))
        where = starts.groups(F)
        P, s, Q = starts._vectors(F, at, 2, 60, where)
        Z = np.zeros(F.shape)
        Z[rows, cols] = w * (values - (at.P * at.s @ at.Q.T)[rows, cols])
        for g in range(where[2]):
            block = Z[np.ix_(where[0] == g, where[1] == g)]
            exact = np.linalg.svd(block, compute_uv=False)[: s.shape[1]]
            np.testing.assert_allclose(s[g, : exact.size], exact, rtol=0.02, atol=1e-6 * exact[0])
            u, v = P[where[0] == g, 0], Q[where[1] == g, 0]
            assert u @ block @ v == pytest.approx(s[g, 0], rel=1e-6)


@pytest.mark.parametrize("lam", [0.0, 0.3])
def test_further_atoms_lower_the_objective(lam):
    for seed in range(6):
        F, *_ = drawn(seed)
        at = [*F.descent(starts.leading(F, 1), lam, 0.0, 1e-4)][-1].at
        wide, size = starts.widened(F, at, 2, lam)
        assert wide.rank == min(2, *F.shape)
        after, _ = F.sweep(wide, lam, 0.0)
        before = F.loss(at) + lam * at.gauge
        assert F.loss(after) + lam * after.gauge <= before * (1 + 1e-3) + 1e-12
        if size > 2 * lam and before > 1e-6:  # the first of them is worth its price
            assert F.loss(after) + lam * after.gauge < before


def test_a_group_that_has_faded_begins_anew():
    rng = np.random.default_rng(0)
    X = np.outer(rng.uniform(1, 2, 12), rng.uniform(1, 2, 10))
    X[:6, 5:] = X[6:, :5] = np.nan
    M, b = fa.Sampling.from_array(X)
    F = Factored(ByLines(M).lines(b, None), X.shape)
    at = starts.leading(F, 1)
    U, V = (np.where(np.arange(n)[:, None] < n // 2, Y, 0.0) for n, Y in zip(X.shape, at.halves(), strict=True))
    lost = F.of(U, V)
    assert starts.awake(F, at, 0.1) is at or F.loss(starts.awake(F, at, 0.1)) <= F.loss(at) * (1 + 1e-9)
    found = starts.awake(F, lost, 0.1)
    assert F.loss(found) < 0.2 * F.loss(lost)
    assert starts.awake(F, lost, 1e9) is lost


def test_further_atoms_in_front_of_a_background_see_all_cells():
    """Of M*y with the zeros that a point does not meet: else the atom that it has would be found again."""
    it = clicks(shape=(30, 20))
    order = np.lexsort((it.cols, it.rows))
    rows = Side(np.searchsorted(it.rows[order], np.arange(31)), it.cols[order], it.b[order], it.weights[order])
    F, rng = Clicks(rows, it.shape, it.background), np.random.default_rng(0)
    at = F.of(rng.standard_normal((30, 2)), rng.standard_normal((20, 2)))
    wide, size = starts.widened(F, at, 3, 0.0, rounds=60)
    u, s, vh = np.linalg.svd(it.W * (it.D - at.P * at.s @ at.Q.T))
    assert size == pytest.approx(s[0], rel=1e-6)
    atom = np.outer(u[:, 0], vh[0])
    more = s[0] / np.sum(it.W * atom**2) * atom
    np.testing.assert_allclose(wide.P * wide.s @ wide.Q.T, at.P * at.s @ at.Q.T + more, atol=1e-4)


@pytest.mark.parametrize("sizes", [[40, 50], [5, 7, 3], [40, 3, 33, 1]])
def test_columns_turned_group_by_group(sizes):
    rng = np.random.default_rng(0)
    group = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    X, T = rng.standard_normal((group.size, 3)), rng.standard_normal((len(sizes), 3, 2))
    twin = np.stack([x @ T[g] for x, g in zip(X, group, strict=True)])
    np.testing.assert_allclose(starts._Apart(group, len(sizes)).turned(X, T), twin)
