"""Small problems, scarce entries: nobody does worse with k atoms than with fewer, or with atoms added one by one."""

from itertools import pairwise

import numpy as np
import pytest

import fewatoms as fa


def scarce(seed, nonnegative=False):
    """M, b and the set of a small matrix with few entries."""
    rng = np.random.default_rng(seed)
    p, q = rng.integers(8, 15, 2)
    factors = [rng.standard_normal((n, 2)) for n in (p, q)]
    U, V = map(np.abs, factors) if nonnegative else factors
    rows, cols = np.nonzero(rng.random((p, q)) < 0.6)
    b = (U @ V.T)[rows, cols] + 0.3 * rng.standard_normal(rows.size)
    return fa.Sampling(rows, cols, (p, q)), b, fa.RankOne(p, q, nonnegative=nonnegative)


@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_a_bound_that_is_met_is_met_with_one_atom_more(seed, nonnegative):
    M, b, atoms = scarce(seed, nonnegative)
    misfit = fa.fit(M, b, atoms=atoms, k=3).misfit * 1.02
    few = fa.fit(M, b, atoms=atoms, misfit=misfit)
    if few.success:
        assert fa.fit(M, b, atoms=atoms, misfit=misfit, k=few.cardinality).success
    met = [fa.fit(M, b, atoms=atoms, misfit=misfit, k=k).success for k in range(1, 7)]
    assert met == sorted(met)


@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_without_a_bound_losses_fall_with_k(seed, nonnegative):
    M, b, atoms = scarce(seed, nonnegative)
    losses = [fa.fit(M, b, atoms=atoms, k=k).loss for k in range(1, 6)]
    for fewer, more in pairwise(losses):
        assert more <= fewer * (1 + 1e-3) + 1e-9 * (b @ b)


def dense_twin(D, W, k, rng, starts=10, steps=300):
    """Weighted nonnegative factorisation over all cells, from many starts, by multiplicative steps."""
    least = np.inf
    for _ in range(starts):
        U, V = rng.random((D.shape[0], k)), rng.random((D.shape[1], k))
        for _ in range(steps):
            U *= ((W * D) @ V) / ((W * (U @ V.T)) @ V + 1e-12)
            V *= ((W * D).T @ U) / ((W * (U @ V.T)).T @ U + 1e-12)
        least = min(least, 0.5 * float(np.sum(W * (D - U @ V.T) ** 2)))
    return least


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("seed", range(5))
def test_few_clicks_are_explained_as_well_as_from_many_starts(seed, k):
    """Clicks that share no line: whether one atom joins them, at the price of zeros between, or keeps to one."""
    rng = np.random.default_rng(seed)
    shape, background = (18, 13), [0.01, 0.05, 0.2][seed % 3]
    rows, cols = np.unravel_index(rng.choice(18 * 13, 10, replace=False), shape)
    D, W = np.zeros(shape), np.full(shape, background)
    D[rows, cols] = W[rows, cols] = 1.0
    M = fa.Sampling(rows, cols, shape, background=background)
    s = fa.fit(M, np.ones(10), atoms=fa.RankOne(*shape, nonnegative=True), k=k)
    assert s.loss == pytest.approx(0.5 * float(np.sum(W * (D - s.x) ** 2)), rel=1e-9)
    assert s.loss <= 1.03 * dense_twin(D, W, k, rng)
