"""Nobody says how many entries there are: no row is given up, nothing is found where nothing is, symmetries."""

from __future__ import annotations

import math

import numpy as np
import pytest

import fewatoms as fa
from fewatoms.methods.separation import Trimming
from fewatoms.methods.separation.rules import Rule
from methods.separation.mixed import Mixed, assert_adds_up, mix, of
from methods.separation.test_rules import mixture

OPEN = (None, None)


def positive(seed, p=40, q=25, rank=2, wrong=0.08, noise=0.03):
    """Factors of one sign: a component much larger than the others, which rows are easily given up for."""
    rng = np.random.default_rng(seed)
    L = np.abs(rng.standard_normal((p, rank))) @ np.abs(rng.standard_normal((rank, q)))
    S = np.where(rng.random(L.shape) < wrong, rng.choice([-1.0, 1.0], L.shape) * rng.uniform(2, 10, L.shape), 0.0)
    X = L + S + noise * rng.standard_normal(L.shape)
    return Mixed(L, S, X, np.ones(L.shape, dtype=bool), (rank, int(np.count_nonzero(S))))


def mistaken(m, S):
    return (S.x != 0) & (m.sparse == 0)


@pytest.mark.parametrize("told", [True, False], ids=["rank told", "nothing told"])
def test_no_row_is_given_up(told):
    for seed in range(4):
        m = positive(seed, rank=2 + seed % 2)
        s, L, S = m.fit((m.k[0], None) if told else OPEN)
        assert_adds_up(m, s, L, S)
        assert L.cardinality == m.k[0]
        assert mistaken(m, S).sum() <= 0.1 * S.cardinality
        assert mistaken(m, S).mean(axis=1).max() <= 0.2
        assert (S.x[m.sparse != 0] != 0).mean() >= 0.97
        np.testing.assert_allclose(L.x, m.low, atol=0.25)


@pytest.mark.parametrize("noise", [0.01, 1.0])
def test_nothing_stands_out_where_nothing_is_wrong(noise):
    for seed in range(3):
        m = mix(seed, 40, 25, 2, 0, noise=noise / 10)
        s, L, S = m.fit(OPEN)
        assert (L.cardinality, S.cardinality) == (2, 0)
        assert "0 entries stand out of noise" in s.message


def test_exact_without_noise():
    for seed in range(3):
        m = positive(seed, rank=1 + seed, noise=0.0)
        _, L, S = m.fit(OPEN)
        assert (L.cardinality, S.cardinality) == m.k
        np.testing.assert_allclose(L.x, m.low, atol=1e-9)
        np.testing.assert_array_equal(S.x != 0, m.sparse != 0)


def test_symmetries():
    """Turned over, in another order, in other units: the same split."""
    m, rng = positive(5), np.random.default_rng(0)
    rows, cols = rng.permutation(40), rng.permutation(25)
    _, L, S = m.fit(OPEN)
    for other, back in (
        (m.X.T, lambda x: x.T),
        (m.X[rows][:, cols], lambda x: x[np.argsort(rows)][:, np.argsort(cols)]),
        (-1e6 * m.X, lambda x: -1e-6 * x),
    ):
        _, L_, S_ = of(np.ascontiguousarray(other)).fit(OPEN)
        np.testing.assert_array_equal(back(S_.x) != 0, S.x != 0)
        np.testing.assert_allclose(back(L_.x), L.x, atol=1e-2)


def test_a_row_that_is_wrong_is_taken():
    m = mix(0, 40, 30, 2, 0, noise=0.02)
    m.X[7] += 20 * np.random.default_rng(1).standard_normal(30)
    _, L, S = m.fit(OPEN)
    assert L.cardinality == 2
    assert (S.x[7] != 0).mean() >= 0.8
    assert np.count_nonzero(np.delete(S.x, 7, axis=0)) <= 3


@pytest.mark.parametrize("share", [0.7, 1.0])
def test_light_data_are_noisier(share):
    """With weights residuals stand out in units of their own noise."""
    rng = np.random.default_rng(2)
    m = mix(2, 50, 30, 2, 60, size=(4.0, 10.0), share=share)
    deviations = 0.02 * rng.choice([1.0, 4.0], m.shape)
    b = (m.X + deviations * rng.standard_normal(m.shape))[m.seen]
    _, L, S = m.fit(OPEN, b=b, loss=fa.LeastSquares(1 / deviations[m.seen] ** 2))
    assert L.cardinality == 2
    assert (S.x[m.sparse != 0] != 0).all()
    assert S.cardinality <= 66


EXTREMES = {
    "constant": np.full((12, 9), 3.0),
    "equal rows": np.tile(np.arange(9.0), (12, 1)),
    "one column": np.arange(12.0)[:, None],
    "integers": np.round(3 * positive(1).X),
    "single precision": positive(1).X.astype(np.float32),
    "full rank": np.random.default_rng(0).standard_normal((8, 6)),
    "heavy tails": np.random.default_rng(0).standard_cauchy((20, 15)),
}


@pytest.mark.parametrize("k", [OPEN, (1, None)], ids=str)
@pytest.mark.parametrize("name", EXTREMES)
def test_extremes(name, k):
    m = of(EXTREMES[name].astype(np.float64))
    s, L, S = m.fit(k)
    assert s.success
    assert_adds_up(m, s, L, S, k)
    if name in ("constant", "equal rows", "one column"):
        assert S.cardinality == 0
        assert s.misfit <= 1e-9
    assert S.cardinality < m.X.size / 2


def test_the_scale_is_where_the_clipped_mean_is_its_level():
    rng, settings = np.random.default_rng(0), Trimming()
    for fitted in (0, 100):
        R = rng.standard_normal((30, 20))
        R[:2] = 1e6
        s = Rule(mixture(R), settings, None, fitted=fitted).scale(R)
        assert np.minimum((R / s) ** 2, 1).sum() == pytest.approx(settings.level * (600 - fitted))
        R[:2] = 1e9  # farther away, and no matter
        assert Rule(mixture(R), settings, None, fitted=fitted).scale(R) == pytest.approx(s)


def test_the_bar_is_beyond_chance():
    """None of pure noise, hardly any beside what is wrong."""
    rng = np.random.default_rng(0)
    R = rng.standard_normal((200, 150))
    rule = Rule(mixture(R), Trimming(), None)
    assert np.count_nonzero(np.abs(R) >= rule.threshold(R)) > 40
    assert rule.bar(R) > rule.threshold(R)
    assert np.count_nonzero(rule.left_out(R)) <= 1
    R.flat[:1000] = 8.0
    out = rule.left_out(R)
    assert out.flat[:1000].all()
    assert 1000 <= np.count_nonzero(out) <= 1000 / 0.9
    assert rule.bar(np.zeros_like(R)) == math.inf
