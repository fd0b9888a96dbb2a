"""Dark frames of which a patch is lit are light; bright things before a dark wall are not."""

from __future__ import annotations

import numpy as np
import pytest

import fewatoms as fa
from fewatoms import ledger
from fewatoms.methods import Separation
from fewatoms.methods.separation import Trimming
from fewatoms.methods.separation.rules import Rule
from fewatoms.methods.separation.steps import Trims
from fewatoms.methods.separation.taken_back import taken_back
from methods.separation.mixed import Mixed, assert_adds_up, of
from methods.separation.test_rules import mixture

LEFT = Separation(trimming=Trimming(given_up=2.0))  # more than there is: no line is taken back


def hills(seed, side=40, frames=48):
    """Matt hills under one lamp after the other, from anywhere: sides turned away are black, and shadows are cast. One
    column each."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:side, :side] / side
    height = np.zeros((side, side))
    for k in (1, 1, 2, 2, 3, 3):
        turn, shift = rng.uniform(0, 2 * np.pi, 2)
        height += rng.normal() * 0.25 / k * np.sin(2 * np.pi * k * (x * np.cos(turn) + y * np.sin(turn)) + shift)
    gy, gx = np.gradient(height, 1 / side)
    paint = 0.3 + 0.35 * rng.random((side, side)) + 0.2 * np.sin(9 * x) * np.cos(7 * y)
    X = np.zeros((side, side, frames))
    for t in range(frames):
        around, up = rng.uniform(0, 2 * np.pi), np.arcsin(rng.uniform(0.02, 1))
        to = np.cos(around) * np.cos(up), np.sin(around) * np.cos(up)
        light = np.maximum((np.sin(up) - gx * to[0] - gy * to[1]) / np.sqrt(1 + gx**2 + gy**2), 0) * paint
        for far in np.arange(0.02, 0.5, 0.02):
            v, u = y + far * to[1], x + far * to[0]
            inside = (v >= 0) & (v < 1) & (u >= 0) & (u < 1)
            there = height[(v * side).astype(int).clip(0, side - 1), (u * side).astype(int).clip(0, side - 1)]
            light[inside & (there > height + far * np.tan(up) + 0.01)] = 0.0
        X[:, :, t] = light
    return X.reshape(-1, frames) + 0.01 + 0.005 * rng.standard_normal((side * side, frames))


@pytest.mark.parametrize("turned", [False, True], ids=["columns", "rows"])
def test_lit_patches_of_dark_frames_are_light(turned):
    counts = []
    for seed in (1,) if turned else (0, 1, 3):
        X = hills(seed)
        m = of(np.ascontiguousarray(X.T) if turned else X)
        fits = [m.fit((3, None), method=method) for method in (LEFT, Separation())]
        assert_adds_up(m, *fits[1])
        counts.append([int((L.x.mean(axis=int(turned)) < 0.3 * m.X.mean(axis=int(turned))).sum()) for _, L, _ in fits])
    before, after = np.sum(counts, axis=0)
    assert before >= 8
    assert after <= before / 4


def walls(seed, side=30, frames=40):
    """A wall under one lamp that is nearly out for some frames, and something bright before it in all of them."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:side, :side] / side
    wall = 0.5 + 0.3 * np.sin(5 * x + seed) * np.cos(4 * y) + 0.1 * rng.standard_normal((side, side))
    lamp = np.where(rng.random(frames) < 0.2, 0.05, 1.0)
    L = wall[:, :, None] * lamp
    S = np.zeros_like(L)
    for t in range(frames):
        a, b = rng.integers(0, side - 10, 2)
        S[a : a + 10, b : b + 10, t] = 1.5 - L[a : a + 10, b : b + 10, t]
    X = (L + S + 0.01 * rng.standard_normal(L.shape)).reshape(-1, frames)
    L, S = L.reshape(X.shape), S.reshape(X.shape)
    return Mixed(L, S, X, np.ones(X.shape, dtype=bool), (1, int(np.count_nonzero(S))))


@pytest.mark.parametrize("k", [(1, None), (None, None)], ids=str)
def test_bright_things_before_a_dark_wall_are_not(k):
    for seed in range(3):
        m = walls(seed)
        s, L, S = m.fit(k)
        assert "noisier" not in s.message
        assert (S.x[m.sparse != 0] != 0).mean() >= 0.97
        np.testing.assert_allclose(L.x, m.low, atol=0.1)


def dimmed(seed, known, p=400, q=30):
    """Rank two, its columns far apart; the last one is nothing but a patch, as of the first atom or as of nobody; and
    that column given up."""
    rng = np.random.default_rng(seed)
    atoms = np.zeros((p, 2))
    atoms[:80, 0], atoms[:, 1] = rng.uniform(1, 3, 80), rng.uniform(1, 3, p)
    L = atoms @ np.concatenate([rng.uniform(1, 2, (2, q - 1)), [[1.0], [0.0]]], axis=1)
    if not known:
        L[:, -1] = rng.permutation(L[:, -1])
    U, V = atoms, np.linalg.lstsq(atoms, L, rcond=None)[0].T
    V[-1] = 0.0
    Q, T = np.linalg.qr(V)
    return L + 0.05 * rng.standard_normal(L.shape), (U @ T.T, Q)


@pytest.mark.parametrize("seen", [1.0, 0.7])
@pytest.mark.parametrize("known", [True, False])
def test_the_others_must_know_it(known, seen):
    X, at = dimmed(0, known)
    mask = None if seen == 1 else np.random.default_rng(1).random(X.shape) < seen
    with ledger.opened():
        found = taken_back(Trims(mixture(X, mask), Trimming(), None, rank=2), at)
    if not known:
        assert found is None
        return
    (left, right), (rows, cols) = found
    np.testing.assert_allclose(left @ right.T, X, atol=0.3)
    np.testing.assert_allclose(right.T @ right, np.eye(2), atol=1e-12)
    np.testing.assert_array_equal((left @ right.T)[:, :-1].round(9), (at[0] @ at[1].T)[:, :-1].round(9))
    assert rows.max() == cols[:-1].max() == 1.0


def test_noisy_lines_are_judged_by_their_noise():
    rng = np.random.default_rng(0)
    R, cols = rng.standard_normal((300, 20)), np.ones(20)
    R[:, 3] *= 10
    R[5, 3], R[6, 3], R[7, 4] = 90.0, 30.0, 30.0
    cols[3] = 10.0
    plain, own = (Rule(mixture(R), Trimming(), None, noise=n) for n in (None, (np.ones(300), cols)))
    assert np.count_nonzero(plain.left_out(R)[:, 3]) > 100
    assert set(np.argwhere(own.left_out(R)).ravel().tolist()) == {5, 3, 7, 4}


def test_the_message_says_how_many():
    X = hills(1)
    s = fa.fit(fa.Identity(X.shape), X, atoms=fa.RankOne(*X.shape) + fa.SignedOneHot(X.shape), k=(3, None))
    assert "rows or columns are noisier, and judged by that)" in s.message


def shaded(seed, foreign, p=400, q=30):
    """Rank two; the last columns are dark but for a patch, some of it as of the first atom, such shares as of nobody;
    and those columns given up."""
    rng = np.random.default_rng(seed)
    atoms, n = np.zeros((p, 2)), len(foreign)
    atoms[:80, 0], atoms[:, 1] = rng.uniform(1, 3, 80), rng.uniform(1, 3, p)
    coefficients = rng.uniform(1, 2, (2, q))
    coefficients[:, -n:] = 0.0
    L = atoms @ coefficients
    for j, share in enumerate(foreign):
        other = np.zeros(p)
        other[rng.permutation(160)[:80]] = rng.uniform(1, 3, 80)
        L[:, q - n + j] = (1 - share) * atoms[:, 0] + share * other
    Q, T = np.linalg.qr(coefficients.T)
    return L + 0.05 * rng.standard_normal(L.shape), (atoms @ T.T, Q)


def lines_of(seed, foreign):
    """Which of the dark columns are taken back."""
    X, at = shaded(seed, foreign)
    with ledger.opened():
        found = taken_back(Trims(mixture(X), Trimming(), None, rank=2), at)
    return (
        []
        if found is None
        else np.flatnonzero((found[0][0] @ found[0][1].T)[:80, -len(foreign) :].mean(axis=0) > 0.5).tolist()
    )


@pytest.mark.parametrize("seed", range(4))
def test_lines_are_judged_in_company(seed):
    """One that says little by itself goes with the others, one that is known to nobody does not."""
    assert lines_of(seed, (0.6,)) == []
    assert lines_of(seed, (0.2, 0.2, 0.2, 0.6)) == [0, 1, 2, 3]
    assert 4 not in lines_of(seed, (0.2, 0.2, 0.2, 0.6, 1.0))
    assert lines_of(seed, (1.0, 1.0, 0.6)) == []  # bad company
    assert lines_of(seed, (1.0, 1.0, 0.2)) == [2]
