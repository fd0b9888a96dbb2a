"""A rank that nobody says: the one that entries held out speak for, fitted as if it had been told."""

from __future__ import annotations

import numpy as np
import pytest

import fewatoms as fa
from fewatoms.methods import Separation
from fewatoms.methods.separation import Trimming
from methods.separation.mixed import Mixed, mix

OPEN = (None, None)


def film(seed, side=16, frames=50, *, shade=0.0, gain=0.0, noise=2.0):
    """A wall, a block that crosses it, a lamp, and a shade on a third of the wall for half of the time."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:side, :side] / side
    wall = 120 + 30 * np.sin(5 * x) * np.cos(4 * y) + 15 * rng.standard_normal((side, side))
    t = np.arange(frames)
    L = wall[:, :, None] * (1 + gain * np.sin(2 * np.pi * t / frames))
    L = L * (1 - shade * (x < 0.35)[:, :, None] * (np.sin(0.4 * t) > 0))
    S = np.zeros_like(L)
    for f in t:
        at = round(f / (frames - 1) * (side - 3))
        S[5:8, at : at + 3, f] = 240 - L[5:8, at : at + 3, f]
    X = np.round(L + S + noise * rng.standard_normal(L.shape)).reshape(-1, frames)
    L, S = L.reshape(X.shape), S.reshape(X.shape)
    return Mixed(L, S, X, np.ones(X.shape, dtype=bool), (2 if shade else 1, int(np.count_nonzero(S))))


@pytest.mark.parametrize("settings", [{"shade": 0.3}, {"gain": 0.3}, {}], ids=["shade", "gain", "still"])
def test_light_is_background_and_what_moves_is_not(settings):
    m = film(0, **settings)
    _, L, S = m.fit(OPEN)
    assert L.cardinality == m.k[0]
    assert (S.x[m.sparse != 0] != 0).mean() >= 0.97
    assert S.cardinality <= 1.1 * m.k[1]
    assert (S.x != 0).mean(axis=0).max() <= 0.1  # no frame is given up
    np.testing.assert_allclose(L.x.mean(axis=0), m.low.mean(axis=0), rtol=0.01)


@pytest.mark.parametrize("share", [1.0, 0.6])
@pytest.mark.parametrize("count", [None, 400])
def test_as_if_the_rank_had_been_told(share, count):
    """Among some of the rows, and then for all of them: not a digit differs."""
    m = mix(3, 900, 20, 3, 400, noise=0.05, share=share)
    method = Separation(trimming=Trimming(numbers=3000))
    found, told = (m.fit((rank, count), method=method) for rank in (None, 3))
    assert found[1].cardinality == 3
    np.testing.assert_array_equal(found[1].x, told[1].x)
    np.testing.assert_array_equal(found[2].x, told[2].x)


def test_some_rows_are_enough():
    m = mix(4, 2000, 15, 2, 900, noise=0.02)
    s, L, S = m.fit((2, None), method=Separation(trimming=Trimming(numbers=1500)))
    whole, _, _ = m.fit((2, None))
    assert s.loss == pytest.approx(whole.loss, rel=0.02)
    assert (S.x[m.sparse != 0] != 0).all()
    np.testing.assert_allclose(L.x, m.low, atol=0.1)


@pytest.mark.parametrize("after", [1, 3, 20])
def test_stopped_while_ranks_are_compared(after):
    """What a stop answers with is a matrix of all rows."""
    m, calls = mix(5, 1500, 20, 2, 300, noise=0.05), []

    def stop(_):
        calls.append(1)
        if len(calls) >= after:
            raise StopIteration

    s, _, _ = m.fit(OPEN, callback=stop)
    assert s.x.shape == m.shape
    assert np.isfinite(s.x).all()
    assert s.loss == pytest.approx(0.5 * float(np.sum((m.X - s.x) ** 2)))


def test_noise_has_no_rank_to_speak_of():
    X = np.random.default_rng(0).standard_normal((300, 60))
    s = fa.fit(fa.Identity(X.shape), X, atoms=fa.RankOne(*X.shape) + fa.SignedOneHot(X.shape))
    assert s.parts[0].cardinality == 1
    assert s.parts[1].cardinality <= 5
