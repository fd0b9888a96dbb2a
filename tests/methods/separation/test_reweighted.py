"""Small matrices of which much is wrong or little is seen: regressions with weights and a ridge find where to begin."""

from __future__ import annotations

import numpy as np
import pytest

from fewatoms import ledger
from fewatoms.methods.separation import Trimming
from fewatoms.methods.separation.reweighted import reweighted
from fewatoms.methods.separation.steps import Trims
from methods.separation.mixed import assert_adds_up, mix
from methods.separation.test_rules import mixture


def off(L, m):
    return float(np.linalg.norm(L - m.low) / np.linalg.norm(m.low))


def wrong(seed):
    """Four tenths of the entries."""
    return mix(seed, 60, 35, 2, 840, size=(3.0, 10.0), noise=0.05)


@pytest.mark.parametrize("share", [1.0, 0.5])
def test_they_find_what_most_entries_agree_on(share):
    """Where a quarter of the entries is wrong, or a tenth of half of them: the one that leaves less does."""
    for seed in range(3):
        m = mix(seed, 50, 30, 2, 375 if share == 1 else 75, size=(2.0, 10.0), noise=0.02, share=share)
        with ledger.opened():
            run = Trims(mixture(np.where(m.seen, m.X, 0.0), None if share == 1 else m.seen), Trimming(), None, rank=2)
            found = [reweighted(run, 2, power) for power in Trimming().powers]
            left, right = min(found, key=lambda at: run.rule.scale(run.left(at)))
        np.testing.assert_allclose(right.T @ right, np.eye(2), atol=1e-12)
        assert off(left @ right.T, m) <= 0.1


def test_in_other_units():
    m, found = wrong(0), []
    for unit in (1.0, 1e-9, 1e9):
        with ledger.opened(np.random.default_rng(0)):
            left, right = reweighted(Trims(mixture(unit * m.X), Trimming(), None, rank=2), 2, 1.5)
        found.append(left @ right.T / unit)
    np.testing.assert_allclose(found[1], found[0], atol=1e-6)
    np.testing.assert_allclose(found[2], found[0], atol=1e-6)


@pytest.mark.parametrize("k", [(2, None), (None, None)], ids=str)
def test_four_tenths_may_be_wrong(k):
    for seed in range(3):
        m = wrong(seed)
        s, L, S = m.fit(k)
        assert_adds_up(m, s, L, S, k)
        assert L.cardinality == 2
        assert (S.x[m.sparse != 0] != 0).mean() >= 0.99
        assert np.count_nonzero(S.x) <= 1.02 * m.k[1]
        assert off(L.x, m) <= 0.1


def test_three_tenths_may_be_seen():
    """Ten entries in a row, and three coefficients for each."""
    for seed in range(3):
        m = mix(seed, 50, 34, 3, 40, size=(2.0, 10.0), noise=0.05, share=0.3)
        _, L, S = m.fit((3, None))
        assert (S.x[m.sparse != 0] != 0).mean() >= 0.95
        assert np.count_nonzero(S.x) <= 1.5 * m.k[1]
        assert off(L.x, m) <= 0.25
