"""Coefficients that must not be larger than a cap: as good as brute force, and as no cap where it does not hold."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import lsq_linear

import fewatoms as fa
from methods.listed.small import design

SETS = {"signed": fa.SignedOneHot, "nonnegative": fa.NonnegativeOneHot}


def best_within(A, b, k, cap, least):
    """The smallest loss of any k columns with coefficients in a box."""
    bounds = (least, cap)
    return min(lsq_linear(A[:, S], b, bounds=bounds, tol=1e-13).cost for S in combinations(range(A.shape[1]), k))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("kind", ["plain", "correlated", "autoregressive", "units", "decoy"])
@pytest.mark.parametrize("seed", range(6))
def test_as_good_as_brute_force(seed, kind, name):
    rng = np.random.default_rng(seed)
    m, n, k, cap = 12, 9, 1 + seed % 3, (0.3, 0.8, 2.0)[seed % 3]
    A = design(kind, rng, m, n)
    b = A @ (rng.standard_normal(n) * (rng.random(n) < 0.5)) + 0.3 * rng.standard_normal(m)
    s = fa.fit(A, b, atoms=SETS[name](n), k=k, cap=cap)
    assert np.abs(s.coefficients).max(initial=0.0) <= cap * (1 + 1e-12)
    assert s.cardinality <= k
    assert s.loss == pytest.approx(0.5 * np.sum((b - A @ s.x) ** 2), rel=1e-9)
    assert s.loss <= best_within(A, b, k, cap, 0.0 if name == "nonnegative" else -cap) * (1 + 1e-6)


@pytest.mark.parametrize("b", [np.ones(3), np.array([1.0, 2.0, 3.0]), np.array([0.01, 1e8, 1e9])], ids=str)
def test_short_columns_count_beside_long_ones(b):
    lengths = np.array([1e-3, 4e6, 6e8])
    left = b - lengths * np.clip(b / lengths, -40.0, 40.0)
    s = fa.fit(np.diag(lengths), b, atoms=fa.SignedOneHot(3), k=3, cap=40.0)
    assert s.loss == pytest.approx(0.5 * left @ left, rel=1e-9, abs=1e-20)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("seed", [1, 4, 8, 23, 49, 57])
def test_units_of_the_columns_do_not_matter(seed, name):
    """Box constraints in these units are other ones for every column."""
    rng = np.random.default_rng(seed)
    m, n, k = int(rng.integers(3, 9)), int(rng.integers(3, 8)), 1 + seed % 3
    A = rng.standard_normal((m, n)) * 10.0 ** rng.uniform(-9, 9, n)
    lengths = np.linalg.norm(A, axis=0)
    cap = 10.0 ** rng.uniform(-1, 1) / np.median(lengths)
    b = A @ np.clip(rng.standard_normal(n) / lengths, -cap, cap) + 0.3 * rng.standard_normal(m)
    s = fa.fit(A, b, atoms=SETS[name](n), k=k, cap=cap)
    unit, caps = A / lengths, cap * lengths
    lower = np.zeros(n) if name == "nonnegative" else -caps
    best = min(
        lsq_linear(unit[:, S], b, bounds=(lower[list(S)], caps[list(S)]), method="bvls", tol=1e-14).cost
        for S in combinations(range(n), k)
    )
    assert s.loss <= best * (1 + 1e-6)


@pytest.mark.parametrize("name", SETS)
def test_a_cap_that_does_not_hold_changes_nothing(name):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        A = np.abs(design("autoregressive", rng, 40, 60))
        b = A[:, [4, 20, 41]] @ np.array([0.2, 0.5, 0.3]) + 0.01 * rng.standard_normal(40)
        free, capped = (fa.fit(A, b, atoms=SETS[name](60), k=3, cap=cap) for cap in (None, 1.0))
        if np.abs(free.coefficients).max() < 1.0:
            assert capped.loss == pytest.approx(free.loss, rel=1e-9)
            assert set(capped.indices.tolist()) == set(free.indices.tolist())


def test_a_path_keeps_to_the_cap():
    rng = np.random.default_rng(1)
    A = rng.standard_normal((30, 20))
    b = A[:, :4] @ np.array([3.0, -2.0, 1.0, 0.5]) + 0.2 * rng.standard_normal(30)
    path = fa.fit_path(A, b, atoms=fa.SignedOneHot(20), k=range(1, 6), cap=0.7)
    losses = [path[k].loss for k in range(1, 6)]
    assert np.all(np.diff(losses) <= 1e-9)
    assert all(np.abs(path[k].coefficients).max() <= 0.7 * (1 + 1e-12) for k in range(1, 6))
    assert losses[1] <= best_within(A, b, 2, 0.7, -0.7) * (1 + 1e-6)
