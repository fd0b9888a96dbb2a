"""All supports where they are few, by hand: their number, their order, and that none better is missed."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import fewatoms as fa
from fewatoms.methods.listed.enumerated import countable, ordered
from fewatoms.methods.listed.small import small
from fewatoms.problem import Problem
from methods.listed.small import best_of_all, design, fits_of, refit, smooth_refit

N = 9
EVERY = 1000
SETS = {"signed": fa.SignedOneHot, "nonnegative": fa.NonnegativeOneHot}


def working(seed, kind, name, m=12, ridge=0.0, **restricted):
    rng = np.random.default_rng(seed)
    A = design(kind, rng, m, N)
    b = A @ rng.standard_normal(N) / np.abs(A).max() + rng.standard_normal(m)
    atoms = SETS[name](N).restricted(**restricted) if restricted else SETS[name](N)
    some = small(fits_of(Problem.of(A, b, atoms=atoms, k=3, ridge=ridge)).view, ridge)
    some.take(np.arange(N))
    unit = A / np.linalg.norm(A, axis=0)
    return some, np.vstack([unit, np.sqrt(ridge) * np.eye(N)]), np.concatenate([b, np.zeros(N)])


@pytest.mark.parametrize("ridge", [0.0, 0.3])
@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("kind", ["plain", "correlated", "units", "decoy"])
def test_the_first_support_is_the_best(kind, name, ridge):
    for seed in range(3):
        some, A, b = working(seed, kind, name, ridge=ridge)
        for k in (1, 2, 3):
            supports, losses = ordered(some, k, EVERY)
            assert np.all(np.diff(losses) >= 0)
            assert losses[0] == pytest.approx(2 * best_of_all(list(A.T[:, :, None]), b, k, name == "nonnegative"))
            for row, loss in zip(supports[:5], losses, strict=False):
                assert loss == pytest.approx(2 * refit(A[:, some.classes[row]], b)[0], rel=1e-6)


def test_what_must_be_in_is_and_what_must_not_is_not():
    some, *_ = working(0, "plain", "signed", include=[2], exclude=[4, 5])
    supports, _ = ordered(some, 3, EVERY)
    free = [0, 1, 3, 6, 7, 8]
    told = {frozenset(some.classes[row].tolist()) for row in supports}
    assert told == {frozenset((2, *rest)) for rest in combinations(free, 2)}


def test_nonnegative_atoms_that_must_be_in_may_be_idle():
    for seed in range(8):
        some, A, b = working(seed, "plain", "nonnegative", include=[0, 1])
        best = min(refit(A[:, [0, 1, j]], b, nonnegative=True)[0] for j in range(2, N))
        assert ordered(some, 3, EVERY)[1][0] == pytest.approx(2 * best, rel=1e-6)


def test_bounds_hold_for_every_support_of_that_size():
    some, A, b = working(1, "plain", "nonnegative")
    supports, losses = ordered(some, 2, EVERY, bounds=True)
    assert len(supports) == N * (N - 1) // 2
    for row, loss in zip(supports, losses, strict=True):
        assert loss <= 2 * refit(A[:, some.classes[row]], b, nonnegative=True)[0] * (1 + 1e-9)


def test_the_first_of_many_are_the_first():
    for name in SETS:
        some, *_ = working(2, "correlated", name)
        supports, losses = ordered(some, 3, EVERY)
        for most in (1, 4, 30):
            first, own = ordered(some, 3, most)
            np.testing.assert_array_equal(own, losses[:most])
            assert [row.tolist() for row in first] == [row.tolist() for row in supports[:most]]


def test_how_many_there_are():
    some, *_ = working(0, "plain", "signed")
    assert countable(some, 3, 84)
    assert not countable(some, 3, 83)
    some, *_ = working(0, "plain", "nonnegative")  # fewer may be better
    assert countable(some, 2, 1 + 9 + 36)
    assert not countable(some, 2, 1 + 9 + 35)
    some, *_ = working(0, "plain", "nonnegative", include=[3, 4])
    assert countable(some, 3, 4 * 8)
    assert not countable(some, 3, 4 * 8 - 1)


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("kind", ["plain", "correlated", "decoy", "duplicated", "low rank"])
def test_small_problems_are_solved(kind, name):
    """Also where the first answer looks as if nothing else came near."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        A = design(kind, rng, 7 + seed, 10)
        b = A[:, :2] @ rng.standard_normal(2) + 0.1 * (seed % 2) * rng.standard_normal(7 + seed)
        s = fa.fit(A, b, atoms=SETS[name](10), k=3)
        best = best_of_all(list(A.T[:, :, None]), b, 3, name == "nonnegative")
        assert s.loss <= best * (1 + 1e-8) + 1e-14 * (b @ b)


@pytest.mark.parametrize("cap", [None, 1e5])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("near", [1e-5, 1e-6, 1e-7])
def test_columns_that_are_nearly_parallel_are_told_apart(near, intercept, cap):
    """What is left of one beside the other is below what a Gram matrix sees, and may be what explains the data."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        m, n, k = 6, 8, 2 + seed % 2
        A = rng.standard_normal((m, n))
        A[:, 1] = 0.7 * A[:, 0] + near * rng.standard_normal(m)
        A[:, 3] = A[:, 2] + near * rng.standard_normal(m)
        A[:, 6] = A[:, 4] + A[:, 5] + near * rng.standard_normal(m)
        b = rng.standard_normal(m)
        s = fa.fit(A, b, atoms=fa.SignedOneHot(n), k=k, cap=cap, free="intercept" if intercept else None)
        past = np.eye(m) - intercept / m
        unit = past @ A / np.linalg.norm(past @ A, axis=0)
        best = np.inf
        for S in combinations(range(n), k):
            c = np.linalg.lstsq(unit[:, S], past @ b, rcond=1e-14)[0]
            if cap is None or (np.abs(c / np.linalg.norm((past @ A)[:, S], axis=0)) < cap).all():
                best = min(best, 0.5 * float(np.sum((past @ b - unit[:, S] @ c) ** 2)))
        assert s.loss <= best * (1 + 1e-5)


@pytest.mark.parametrize("spread", [0.0, 6.0])
@pytest.mark.parametrize("cap", [None, 0.5, 3.0])
def test_single_atoms_of_a_smooth_loss_are_all_looked_at(cap, spread):
    """Where Huber's loss is flat its parabola misleads, and a cap hides what an atom could do."""
    for seed in (14, 36, 58, 70, 103, 130):
        rng = np.random.default_rng(seed)
        m, n, loss = 9, 8, fa.Huber(float(10.0 ** rng.uniform(-1.5, 0.5)))
        unit = rng.standard_normal((m, n))
        unit /= np.linalg.norm(unit, axis=0)
        lengths = 10.0 ** rng.uniform(-spread, spread, n)
        b = 1.5 * unit @ rng.standard_normal(n) + 0.3 * rng.standard_normal(m) * (1 + 5 * (rng.random(m) < 0.2))
        s = fa.fit(unit * lengths, b, atoms=fa.SignedOneHot(n), k=1, loss=loss, cap=cap)
        most = np.full(n, np.inf) if cap is None else cap * lengths
        best = min(smooth_refit(loss, unit[:, [j]], b, [(-most[j], most[j])]).fun for j in range(n))
        assert s.loss <= best * (1 + 1e-6)
