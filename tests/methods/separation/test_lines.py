"""Rows and columns of which much stands out: most of their entries decide."""

from __future__ import annotations

import numpy as np
import pytest

from fewatoms import ledger
from fewatoms.methods.separation import Trimming
from fewatoms.methods.separation.lines import agreed, mended
from fewatoms.methods.separation.steps import Trims
from methods.separation.mixed import Mixed, mix
from methods.separation.test_rules import mixture


def hidden(seed, p=60, q=40, share=0.45, rows=5, noise=0.05):
    """Rank one and no sign; some rows are hidden by something else for so much of the time, from some column on."""
    rng = np.random.default_rng(seed)
    L = np.outer(rng.uniform(1, 3, p), rng.uniform(0.8, 1.2, q))
    S = np.zeros_like(L)
    S[:rows, 3 : 3 + round(share * q)] = 4.0
    X = L + S + noise * rng.standard_normal(L.shape)
    return Mixed(L, S, X, np.ones(L.shape, dtype=bool), (1, int(np.count_nonzero(S))))


def squashed(at):
    """A point as its product."""
    return at[0] @ at[1].T


@pytest.mark.parametrize("turned", [False, True], ids=["rows", "columns"])
def test_hidden_lines_are_found_again(turned):
    m = hidden(0, 40, 60) if turned else hidden(0)
    X, low = (m.X.T.copy(), m.low.T) if turned else (m.X, m.low)
    run = Trims(mixture(X), Trimming(), None, rank=1)
    wrong = m.low.copy()
    wrong[:5] *= 2.0  # lines that follow what hides them
    U, s, Vt = np.linalg.svd(wrong.T if turned else wrong, full_matrices=False)
    with ledger.opened():
        found = mended(run, (U[:, :1] * s[0], Vt[:1].T))
    assert found is not None
    np.testing.assert_allclose(squashed(found), low, atol=0.4)
    np.testing.assert_allclose(found[1].T @ found[1], np.eye(1), atol=1e-12)


def test_nothing_to_mend_is_left_alone():
    m = mix(0, 40, 30, 2, 20, noise=0.05)
    U, s, Vt = np.linalg.svd(m.low, full_matrices=False)
    at = U[:, :2] * s[:2], Vt[:2].T
    before = squashed(at).copy()
    with ledger.opened():
        assert mended(Trims(mixture(m.X), Trimming(), None, rank=2), at) is None
    np.testing.assert_array_equal(squashed(at), before)


def test_lines_without_entries_are_no_trouble():
    m = mix(1, 30, 20, 1, 10, noise=0.05, share=0.5)
    m.seen[4], m.seen[:, 3] = False, False
    run = Trims(mixture(m.X, m.seen), Trimming(), None, rank=1)
    U, s, Vt = np.linalg.svd(m.low, full_matrices=False)
    with ledger.opened():
        found = agreed(run, (U[:, :1] * s[0], Vt[:1].T), 0.3)
    assert np.isfinite(squashed(found)).all()
    seen = m.seen & (m.sparse == 0)
    assert np.median(np.abs(squashed(found) - m.X)[seen]) <= 0.1


@pytest.mark.parametrize("k", [(1, None), (None, None)], ids=str)
def test_what_lingers_is_foreground(k):
    for seed in range(2):
        m = hidden(seed)
        _, L, S = m.fit(k)
        assert L.cardinality == 1
        assert (S.x[m.sparse != 0] != 0).mean() >= 0.99
        assert S.cardinality <= 1.1 * m.k[1]
        np.testing.assert_allclose(L.x, m.low, atol=0.3)


@pytest.mark.parametrize("seed", [2, 5, 6])
def test_four_tenths_may_be_wrong(seed):
    rng = np.random.default_rng(seed)
    L = rng.standard_normal((120, 2)) @ rng.standard_normal((2, 90))
    wrong = rng.random(L.shape) < 0.4
    X = L + wrong * rng.choice([-1.0, 1.0], L.shape) * rng.uniform(2, 10, L.shape) + 0.05 * rng.standard_normal(L.shape)
    m = Mixed(L, np.where(wrong, X - L, 0.0), X, np.ones(L.shape, dtype=bool), (2, int(wrong.sum())))
    _, low, few = m.fit((None, None))
    assert low.cardinality == 2
    assert np.linalg.norm(low.x - L) <= 0.05 * np.linalg.norm(L)
    assert (few.x[wrong] != 0).mean() >= 0.95
