"""Going on from parts of a support: which parts, and which atoms stand behind them, by fits of the columns."""

from __future__ import annotations

from math import comb, log

import numpy as np
import pytest

import fewatoms as fa
from fewatoms.methods.listed import wandering
from fewatoms.methods.listed.small import small
from fewatoms.problem import Problem
from methods.listed.small import design, fits_of, refit

N = 40
INSIDE = np.array([2, 9, 14, 20, 31])
SETS = {"signed": fa.SignedOneHot(N), "nonnegative": fa.NonnegativeOneHot(N)}


def posed(kind, atoms, weights=None, seed=0):
    rng = np.random.default_rng(seed)
    A, b = design(kind, rng, 25, N), rng.standard_normal(25)
    fits = fits_of(Problem.of(A, b, atoms=SETS[atoms], k=INSIDE.size, loss=fa.LeastSquares(weights=weights)))
    some = small(fits.view, 0.0)
    some.take(INSIDE)
    return A, b, fits, some


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("atoms", SETS)
@pytest.mark.parametrize("kind", ["plain", "correlated", "units"])
def test_atoms_behind_are_the_best_aligned_with_what_parts_leave(kind, atoms, weighted):
    weights = np.random.default_rng(1).uniform(0.2, 3.0, 25) if weighted else None
    A, b, _, some = posed(kind, atoms, weights)
    root = np.ones(25) if weights is None else np.sqrt(weights)
    A, b = A * root[:, None], b * root
    parts = [INSIDE[:4], INSIDE[2:]]
    expected = set()
    for part in parts:
        z = A.T @ (b - A[:, part] @ refit(A[:, part], b)[1]) / np.linalg.norm(A, axis=0)
        z = np.abs(z) if atoms == "signed" else z
        z[INSIDE] = -np.inf
        best = np.argsort(-z)[: wandering.EACH]
        expected |= set(best[z[best] > 0].tolist())
    assert set(wandering.behind(some, parts).tolist()) == expected


def test_parts_lose_one_atom_or_half_of_them():
    _, _, fits, _ = posed("plain", "signed")
    parts = wandering.parts(fits.fit(INSIDE), 25, np.random.default_rng(0))
    assert len(parts) == wandering.PARTS
    assert all(np.isin(part, INSIDE).all() and np.unique(part).size == part.size for part in parts)
    assert {part.size for part in parts} == {2, 3, 4}


def test_dear_products_leave_fewer_parts():
    _, _, fits, _ = posed("plain", "signed")
    assert len(wandering.parts(fits.fit(INSIDE), 10**8, np.random.default_rng(0))) == 1


@pytest.mark.parametrize(("k", "n"), [(1, 50), (5, 1000), (20, 300)])
def test_roughness_is_near_the_logarithm_of_the_number_of_supports(k, n):
    exact = log(comb(n, k)) / 60
    assert exact <= wandering.roughness(k, n, 60) <= exact + (1.0 + 0.5 * log(2 * np.pi * k)) / 60 + 1e-2


def test_more_rows_than_supports_need_no_more_rounds():
    assert wandering.rounds(10, 1000, 400) == 0.0
    assert wandering.rounds(10, 7000, 40) > 5.0
