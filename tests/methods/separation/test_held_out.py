"""A rank that nobody says: the one that entries held out speak for, fitted as if it had been told."""

from __future__ import annotations

import numpy as np
import pytest

import fewatoms as fa
from fewatoms.methods import Separation
from fewatoms.methods.separation import Trimming
from fewatoms.methods.separation.held_out import left_alone, leverages
from fewatoms.methods.separation.standing import Standing, even_rows
from fewatoms.methods.separation.steps import Trims
from methods.separation.mixed import Mixed, mix
from methods.separation.test_rules import mixture

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


def test_leverages_are_those_of_weighted_regressions():
    """Line by line: the diagonal of the matrix that makes fits of data; nothing where nothing counts."""
    rng = np.random.default_rng(0)
    W, B = rng.random((5, 12)) * (rng.random((5, 12)) < 0.8), rng.standard_normal((12, 3))
    W[2] = 0.0
    h = leverages(W, B)
    for w, found in zip(W, h, strict=True):
        A = np.sqrt(w)[:, None] * B
        np.testing.assert_allclose(found, np.diag(A @ np.linalg.pinv(A)), atol=1e-8)


def test_an_entry_held_out_by_itself_is_what_a_fit_without_it_leaves():
    """Of rows fitted anew without it, where columns are so long that one entry does not move them."""
    rng = np.random.default_rng(1)
    p, q, rank = 4000, 12, 2
    X = rng.standard_normal((p, rank)) @ rng.standard_normal((rank, q)) + 0.1 * rng.standard_normal((p, q))
    X[7, 3] += 9.0
    V = np.linalg.svd(X, full_matrices=False)[2][:rank].T
    C = X @ V
    C[7] = np.linalg.lstsq(np.delete(V, 3, axis=0), np.delete(X[7], 3), rcond=None)[0]
    run = Trims(mixture(X), Trimming(), None, rank=rank)
    sizes, R = left_alone(run, (C, V)), np.abs(X - C @ V.T)
    assert sizes[7, 3] == pytest.approx(R[7, 3])  # stands out, and had no part in the fit
    rows = [i for i in range(30) if i != 7 and (R[i] < run.rule.threshold(R)).all()]
    assert len(rows) >= 10
    for i in rows:
        for j in range(q):
            c = np.linalg.lstsq(np.delete(V, j, axis=0), np.delete(X[i], j), rcond=None)[0]
            assert sizes[i, j] == pytest.approx(abs(X[i, j] - V[j] @ c), rel=0.02)


def test_ranks_are_compared_among_rows_of_all_lengths():
    """None is drawn: in another order the same rows."""
    rng = np.random.default_rng(2)
    X, settings = rng.standard_normal((3000, 10)) * rng.lognormal(0, 1, (3000, 1)), Trimming(compared_numbers=3000)
    order = rng.permutation(3000)
    rows, others = even_rows(mixture(X), settings), even_rows(mixture(X[order]), settings)
    assert rows.size == 300
    assert set(order[others]) == set(rows)
    places = np.searchsorted(np.sort(np.linalg.norm(X, axis=1)), np.sort(np.linalg.norm(X[rows], axis=1)))
    assert np.diff(places).max() <= 11
    assert even_rows(mixture(X), Trimming()).size == 1500  # never more than half, if these are enough
    assert even_rows(mixture(X[:60]), Trimming()) is None


@pytest.mark.parametrize("settings", [{"shade": 0.3}, {"gain": 0.3}], ids=["shade", "gain"])
def test_no_seed_changes_the_rank(settings):
    m = film(3, side=24, **settings)
    assert {m.fit(OPEN, rng=seed)[1].cardinality for seed in range(3)} == {m.k[0]}


def test_no_rank_is_tried_that_nobody_looks_at(monkeypatch):
    """The one that is chosen, and as many above it as patience asks for."""
    m, tried, found = film(3, side=24, shade=0.3), [], Standing.found

    def counted(standing, rank, **options):
        tried.extend([rank] if options.get("alone") else [])
        return found(standing, rank, **options)

    monkeypatch.setattr(Standing, "found", counted)
    assert m.fit(OPEN)[1].cardinality == 2
    assert tried == list(range(1, 3 + Trimming().patience))
