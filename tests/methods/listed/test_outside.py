"""A support held against all atoms: what others would gain, by fits of every one of them."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import fewatoms as fa
from fewatoms.methods.listed import outside
from fewatoms.methods.listed.outside import ISOLATED, Look
from fewatoms.methods.listed.small import small
from fewatoms.methods.listed.view import View
from fewatoms.problem import Problem
from methods.listed.small import design, fits_of, refit

N = 24


def looked(seed, kind, atoms, classes, ridge=0.0, k=None, taken=6):
    """The look of a support in a working set that has not all atoms, and what fits of the columns say."""
    rng = np.random.default_rng(seed)
    A = design(kind, rng, 30, N)
    b = A[:, :4] @ rng.standard_normal(4) + 0.5 * rng.standard_normal(30)
    k = len(classes) if k is None else k
    fits = fits_of(Problem.of(A, b, atoms=atoms, k=k, ridge=ridge))
    some = small(fits.view, ridge)
    some.take(np.union1d(classes, np.arange(taken)))
    support = fits.fit(np.asarray(classes))
    unit = np.vstack([A / np.linalg.norm(A, axis=0), np.sqrt(ridge) * np.eye(N)])
    look = Look(some, support, k, k - support.classes.size, True)
    return look, support, unit, np.concatenate([b, np.zeros(N)])


def columns(labels, classes):
    return np.flatnonzero(np.isin(labels, classes))


@pytest.mark.parametrize("room", [0, 1])
@pytest.mark.parametrize("ridge", [0.0, 0.4])
@pytest.mark.parametrize("kind", ["plain", "correlated", "units"])
def test_gains_are_those_of_the_best_exchange(kind, ridge, room):
    inside = [2, 9, 14]
    look, support, A, b = looked(1, kind, fa.SignedOneHot(N), inside, ridge, k=3 + room)
    for j in np.setdiff1d(np.arange(N), inside):
        losses = [refit(A[:, [*np.delete(inside, i), j]], b)[0] for i in range(3)]
        if room:
            losses.append(refit(A[:, [*inside, j]], b)[0])
        gain = support.objective - min(losses)
        assert look.gains[j] == pytest.approx(max(gain, 0.0), rel=1e-6, abs=1e-9 * support.objective)
    assert np.all(look.gains[inside] == 0)


@pytest.mark.parametrize("ridge", [0.0, 0.4])
@pytest.mark.parametrize("kind", ["plain", "correlated", "autoregressive"])
def test_gains_of_groups_are_bounds_from_below(kind, ridge):
    labels = np.arange(N) // 3
    inside = [0, 5]
    look, support, A, b = looked(2, kind, fa.Groups(labels), inside, ridge)
    for g in np.setdiff1d(np.arange(N // 3), inside):
        losses = [refit(A[:, columns(labels, [keep, g])], b)[0] for keep in inside]
        gain = support.objective - min(losses)
        assert look.gains[g] <= gain + 1e-9 * support.objective
        assert look.gains[g] >= gain - 2 * support.objective  # and no empty words
    assert np.all(np.isneginf(look.gains[inside]))


def test_of_two_groups_that_are_alike_the_one_inside_does_not_hide_the_other():
    rng = np.random.default_rng(0)
    labels = np.arange(N) // 3
    A = rng.standard_normal((60, N))
    A[:, 3:6] = A[:, :3] + 0.1 * rng.standard_normal((60, 3))
    b = A[:, :3] @ np.array([1.0, -2.0, 1.5]) + 0.01 * rng.standard_normal(60)
    fits = fits_of(Problem.of(A, b, atoms=fa.Groups(labels), k=1))
    some = small(fits.view, 0.0)
    some.take(np.array([1, 2, 3]))
    assert Look(some, fits.fit(np.array([1])), 1, 0, True).gains.argmax() == 0


@pytest.mark.parametrize("name", ["signed", "groups"])
def test_isolated_supports(name):
    labels = np.arange(N) // 3 if name == "groups" else np.arange(N)
    atoms = fa.Groups(labels) if name == "groups" else fa.SignedOneHot(N)
    said = set()
    for seed in range(6):
        rng = np.random.default_rng(seed)
        A = rng.standard_normal((80, N))
        inside = [0, 1]
        x = np.isin(labels, inside) * np.sign(rng.standard_normal(N))
        b = A @ x + (0.05 if seed % 2 else 2.0) * rng.standard_normal(80)
        fits = fits_of(Problem.of(A, b, atoms=atoms, k=2))
        some = small(fits.view, 0.0)
        some.take(np.arange(4))
        look = Look(some, fits.fit(np.array(inside)), 2, 0, True)
        loss = refit(A[:, columns(labels, inside)], b)[0]
        cost = min(refit(A[:, columns(labels, [g])], b)[0] for g in inside) - loss
        others = np.setdiff1d(np.unique(labels), inside)
        gain = max(loss - refit(A[:, columns(labels, [*inside, g])], b)[0] for g in others)
        if look.isolated:  # what is said is true
            assert cost >= ISOLATED * gain
        said.add((bool(look.isolated), cost >= ISOLATED * gain))
        assert not Look(some, look.support, 2, 0, False).isolated
    assert (True, True) in said
    assert (False, False) in said


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("room", [0, 1])
@pytest.mark.parametrize("ridge", [0.0, 0.4])
@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_array])
def test_looks_through_few_entries_are_those_through_all(kind, ridge, room, weighted, monkeypatch):
    """Of a sparse matrix, inner products that are not zero tell the same as those with all atoms."""
    rng = np.random.default_rng(7)
    A = rng.standard_normal((200, 90)) * (rng.random((200, 90)) < 0.03)
    A[:, 8] = 0.0
    b = A[:, [3, 30, 60]].sum(axis=1) + 0.1 * rng.standard_normal(200)
    loss = fa.LeastSquares(rng.uniform(0.5, 2.0, 200)) if weighted else fa.LeastSquares()

    def look():
        fits = fits_of(Problem.of(kind(A), b, atoms=fa.SignedOneHot(90), k=3 + room, ridge=ridge, loss=loss))
        some = small(fits.view, ridge)
        some.take(np.array([3, 30, 60, 5]))
        return Look(some, fits.fit(np.array([3, 30, 60])), 3 + room, room, True)

    few = look()
    assert 3 < few._crossed.where.size < 90
    gains, alone = few.gains, few.isolated
    monkeypatch.setattr(View, "few_crossings", lambda *given: None)
    whole = look()
    assert whole._crossed.where.size == 90
    np.testing.assert_allclose(gains, whole.gains, rtol=1e-9, atol=1e-12)
    assert alone == whole.isolated
    monkeypatch.setattr(outside, "CROSSING", 3 * 90 - 1)
    assert look()._crossed is None
