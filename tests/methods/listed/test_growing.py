"""As few atoms as meet a bound: grown and shrunk one by one, and by blocks where they are many."""

from __future__ import annotations

import numpy as np
import pytest

import fewatoms as fa
from fewatoms.methods.listed.growing import Growing
from fewatoms.problem import Problem
from methods.listed.small import design, fits_of, refit
from methods.listed.test_fewest import pursued


def noisy(seed, kind, m, n, k, noise):
    rng = np.random.default_rng(seed)
    A = design(kind, rng, m, n)
    b = A[:, rng.choice(n, k, replace=False)] @ np.sign(rng.standard_normal(k))
    e = rng.standard_normal(m)
    return A, b + noise * np.linalg.norm(b) / np.linalg.norm(e) * e


def grown(A, b, misfit, atoms=None):
    """The search by itself: how many atoms after each stage, and the last support."""
    problem = Problem.of(A, b, atoms=atoms or fa.SignedOneHot(A.shape[1]), misfit=misfit)
    search = Growing(fits_of(problem), fa.effort.NORMAL)
    sizes = [search.answer.classes.size for _ in search.stages()]
    return problem, sizes, search.answer


@pytest.mark.parametrize("kind", ["plain", "autoregressive"])
def test_many_atoms_are_no_more_than_those_of_matching_pursuit(kind):
    A, b = noisy(0, kind, 200, 400, 40, 0.2)
    problem, sizes, support = grown(A, b, 0.05)
    assert problem.meets(support.loss)
    assert sizes[-1] > 64  # by blocks
    assert sizes[-1] <= sizes[0]
    assert sizes[-1] <= pursued(A, b, problem.alpha)
    unit = A / np.linalg.norm(A, axis=0)
    assert support.loss == pytest.approx(refit(unit[:, support.classes], b)[0], rel=1e-8)


def test_planted_atoms_are_no_fewer_than_needed():
    A, b = noisy(1, "plain", 300, 600, 80, 0.0)
    s = fa.fit(A, b, atoms=fa.SignedOneHot(600), misfit=1e-6)
    assert s.status is fa.Status.BOUND_MET
    assert s.cardinality == 80


def test_nonnegative_ones_too():
    rng = np.random.default_rng(2)
    A = np.abs(rng.standard_normal((150, 300)))
    b = A[:, :90] @ (0.5 + rng.random(90))
    problem, sizes, support = grown(A, b, 1e-3, fa.NonnegativeOneHot(300))
    assert problem.meets(support.loss)
    assert np.all(support.c >= 0)
    assert sizes[-1] <= np.count_nonzero(refit(A, b, nonnegative=True)[1]) + 5


def test_a_bound_that_is_out_of_reach_leaves_the_best():
    rng = np.random.default_rng(3)
    A = rng.standard_normal((200, 90))
    b = rng.standard_normal(200)
    s = fa.fit(A, b, atoms=fa.SignedOneHot(90), misfit=1e-3)
    assert not s.success
    assert s.loss == pytest.approx(refit(A, b)[0], rel=1e-6)
