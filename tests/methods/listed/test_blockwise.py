"""Supports in the space of a Gram matrix and their exchanges by blocks, against least squares on the columns."""

from __future__ import annotations

import numpy as np
import pytest

import fewatoms as fa
from fewatoms.gram.state import PIVOT
from fewatoms.methods.listed.blockwise import LOWER, exchanged, fitted
from fewatoms.methods.listed.outside import ALIKE, stand_in
from fewatoms.methods.listed.small import small
from fewatoms.problem import Problem
from methods.listed.small import design, fits_of, refit

SIGNED, NONNEGATIVE = fa.SignedOneHot, fa.NonnegativeOneHot


def working(seed, kind="plain", m=30, n=40, ridge=0.0, atoms=SIGNED, **restricted):
    """A working set of all atoms, with unit columns above the rows that a ridge adds, and the data for both."""
    rng = np.random.default_rng(seed)
    A = design(kind, rng, m, n)
    b = A[:, rng.choice(n, 6, replace=False)] @ rng.standard_normal(6) + 0.5 * rng.standard_normal(m)
    set_ = atoms(n).restricted(**restricted) if restricted else atoms(n)
    problem = Problem.of(A, b, atoms=set_, k=5, ridge=ridge)
    some = small(fits_of(problem).view, ridge)
    some.take(np.arange(n))
    unit = A / np.linalg.norm(A, axis=0)
    return some, np.vstack([unit, np.sqrt(ridge) * np.eye(n)]), np.concatenate([b, np.zeros(n)]), rng


@pytest.mark.parametrize("ridge", [0.0, 0.3])
@pytest.mark.parametrize("kind", ["plain", "correlated", "units"])
def test_a_fit_is_least_squares(kind, ridge):
    for seed in range(4):
        some, A, b, rng = working(seed, kind, ridge=ridge)
        places = rng.choice(40, 7, replace=False)
        fit = fitted(some, places)
        loss, c = refit(A[:, places], b)
        np.testing.assert_allclose(fit.c, c, rtol=1e-7, atol=1e-9)
        assert fit.loss == pytest.approx(2 * loss, rel=1e-9)
        without = [2 * refit(A[:, np.delete(places, i)], b)[0] - fit.loss for i in range(7)]
        np.testing.assert_allclose(fit.costs, without, rtol=1e-6, atol=1e-9 * fit.loss)
        promise = np.abs(A.T @ (b - A[:, places] @ c))
        promise[places] = -np.inf
        np.testing.assert_allclose(fit.promise, promise, atol=1e-9 * np.linalg.norm(b))
        assert np.all(np.diff(fit.costs[fit.leaving]) >= 0)


def test_what_a_gram_matrix_cannot_tell_apart_is_not_fitted():
    some, *_ = working(0, "duplicated")
    assert fitted(some, np.array([1, 21])) is None
    assert fitted(some, np.array([1, 22])) is not None
    assert fitted(some, np.zeros(0, dtype=int)).loss == pytest.approx(some.bb)


def test_nonnegative_fits_have_no_negative_coefficients():
    for seed in range(10):
        some, A, b, rng = working(seed, atoms=NONNEGATIVE)
        places = rng.choice(40, 8, replace=False)
        fit = fitted(some, places)
        assert np.all(fit.c >= 0)
        assert np.isin(fit.places, places).all()
        assert fit.loss == pytest.approx(2 * refit(A[:, fit.places], b)[0], rel=1e-9)
        assert fit.loss >= 2 * refit(A[:, places], b, nonnegative=True)[0] * (1 - 1e-9)


@pytest.mark.parametrize("atoms", [SIGNED, NONNEGATIVE])
def test_exchanges_lower_the_loss_until_the_cheapest_is_worth_more_than_the_best_aligned(atoms):
    moved = 0
    for seed in range(8):
        some, _, _, rng = working(seed, "autoregressive", atoms=atoms)
        start = fitted(some, rng.choice(40, 6, replace=False))
        here = exchanged(start, 6, 3)
        moved += here.loss < start.loss
        assert here.loss <= start.loss
        assert np.unique(here.places).size == here.places.size <= 6
        if here.places.size == 6:
            other = fitted(some, np.append(here.without(here.leaving[:1]), here.promise.argmax()))
            assert other is None or other.loss >= here.loss * (1 - LOWER)
    assert moved >= 6


def test_exchanges_keep_what_must_stay_and_leave_out_what_must():
    for seed in range(6):
        some, _, _, rng = working(seed, include=[3, 17], exclude=[5, 6, 7])
        free = np.setdiff1d(np.arange(40), [3, 17, 5, 6, 7])
        start = fitted(some, some.places(np.append(rng.choice(free, 3, replace=False), [3, 17])))
        inside = some.classes[exchanged(start, 5, 2).places]
        assert {3, 17} <= set(inside.tolist())
        assert not {5, 6, 7} & set(inside.tolist())


def test_exchanges_end_at_a_target():
    some, _, _, rng = working(3)
    start = fitted(some, rng.choice(40, 6, replace=False))
    full = exchanged(start, 6, 3)
    assert full.loss < start.loss
    first = exchanged(start, 6, 3, target=0.999 * start.loss)
    assert full.loss <= first.loss <= 0.999 * start.loss
    assert exchanged(start, 6, 3, target=start.loss) is start
    assert exchanged(start, 6, 3, rounds=0) is start


def stand_ins(A, places):
    """Whether what the others leave of some column outside has most of its square in common with what they leave of one
    inside."""
    found = False
    for i in places:
        Q = np.linalg.qr(A[:, np.setdiff1d(places, i)])[0]
        left = A - Q @ (Q.T @ A)
        common = (left.T @ left[:, i]) ** 2 / np.sum(left**2, axis=0).clip(1e-12) / np.sum(left[:, i] ** 2)
        found |= bool((np.delete(common, places) >= ALIKE).any())
    return found


@pytest.mark.parametrize("ridge", [0.0, 0.5])
@pytest.mark.parametrize("kind", ["plain", "correlated", "autoregressive"])
def test_a_support_stands_apart_if_its_least_atom_is_worth_more_than_the_best_outside(kind, ridge):
    said = set()
    for seed in range(6):
        some, A, b, rng = working(seed, kind, m=50, ridge=ridge)
        fit = exchanged(fitted(some, rng.choice(40, 6, replace=False)), 6, 3)
        gains = [
            fit.loss - 2 * refit(A[:, np.append(fit.places, j)], b)[0] for j in np.setdiff1d(range(40), fit.places)
        ]
        alike = stand_ins(np.vstack([A, np.sqrt(ridge) * np.eye(40)]), fit.places)
        for times in (0.5, 1.0, 2.0, 12.0):
            ratio = fit.costs.min() / max(gains)
            if abs(ratio - times) > 1e-6 * times:
                assert fit.apart(times) == (ratio > times and not alike)
                said.add(fit.apart(times))
    assert said == {True, False}


def test_neighbours_in_a_blur_stand_in_for_each_other():
    places = np.array([8, 20, 31])
    for width, alike in ((0.5, False), (3.0, True)):
        A = np.exp(-0.5 * ((np.arange(60)[:, None] - np.linspace(5, 55, 40)) / width) ** 2)
        A /= np.linalg.norm(A, axis=0)
        G, H = A.T @ A, np.linalg.inv(A[:, places].T @ A[:, places])
        HK = H @ G[places]
        left = 1.0 - np.einsum("ij,ij->j", G[places], HK)
        outside = np.ones(40, dtype=bool)
        outside[places] = False
        assert stand_in(HK, H.diagonal(), left, outside) == stand_ins(A, places) == alike


def test_atoms_that_a_gram_matrix_hardly_sees_are_no_rivals():
    some, *_ = working(1, "duplicated", m=60)
    fit = exchanged(fitted(some, np.arange(4)), 4, 2)
    twins = np.array([(g + 20) % 40 for g in fit.places])
    K = some.G[fit.places]
    left = 1 - np.einsum("ij,ij->j", K, np.linalg.solve(K[:, fit.places], K))
    assert np.all(left[twins] < PIVOT)
    assert fit.apart(1e-3)
