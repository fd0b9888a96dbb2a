"""Supports of many atoms: planted ones are found, and what is asked is kept to, whatever the working set holds."""

from __future__ import annotations

import numpy as np
import pytest

import fewatoms as fa
from fewatoms.methods.listed.crowd import Crowd
from fewatoms.problem import Problem
from methods.listed.small import fits_of, refit

K = 70


def planted(seed, m=250, n=500, k=K, noise=0.1, nonnegative=False):
    rng = np.random.default_rng(seed)
    M = rng.standard_normal((m, n))
    chosen = rng.choice(n, k, replace=False)
    x = np.sign(rng.standard_normal(k)) if not nonnegative else 1.0 + rng.random(k)
    b = M[:, chosen] @ x
    e = rng.standard_normal(m)
    return M, b + noise * np.linalg.norm(b) / np.linalg.norm(e) * e, chosen


def searched(M, b, k=K, atoms=None, numbers=16_000_000, effort=fa.effort.NORMAL, **words):
    """The search by itself, all stages of it."""
    problem = Problem.of(M, b, atoms=atoms or fa.SignedOneHot(M.shape[1]), k=k, **words)
    search = Crowd(fits_of(problem, numbers), [k], effort)
    losses = [search.supports[k].objective for _ in search.stages()]
    return search, losses


@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_planted_atoms_are_found(noise):
    for seed in range(2):
        M, b, chosen = planted(seed, noise=noise)
        s = fa.fit(M, b, atoms=fa.SignedOneHot(500), k=K)
        assert s.loss <= refit(M[:, chosen], b)[0] * (1 + 1e-9) + 1e-20
        assert set(s.indices.tolist()) == set(chosen.tolist())


def test_stages_never_lose_and_say_what_they_have():
    M, b, _ = planted(3, m=150, n=400)  # too few data to find them
    search, losses = searched(M, b)
    assert len(losses) == 5
    assert np.all(np.diff(losses) <= 0)
    assert losses[-1] < losses[0]
    support = search.supports[K]
    assert support.classes.size == K
    unit = M / np.linalg.norm(M, axis=0)
    assert support.loss == pytest.approx(refit(unit[:, support.classes], b)[0], rel=1e-9)


def test_quick_answers_come_from_the_first_stage():
    M, b, _ = planted(3, m=150, n=400)
    _, quick = searched(M, b, effort=fa.effort.QUICK)
    _, all_of_them = searched(M, b)
    assert quick == all_of_them[:1]


def test_a_working_set_that_has_not_all_atoms_finds_them_too():
    M, b, chosen = planted(4, n=900)
    search, _ = searched(M, b, numbers=800 * 800)  # room for 800 of 900 images
    assert not search.small.whole
    assert set(search.supports[K].classes.tolist()) == set(chosen.tolist())


def test_what_must_be_in_and_what_must_not():
    M, b, chosen = planted(5)
    others = np.setdiff1d(np.arange(500), chosen)[:3]
    atoms = fa.SignedOneHot(500).restricted(include=others.tolist(), exclude=chosen[:2].tolist())
    s = fa.fit(M, b, atoms=atoms, k=K)
    assert set(others.tolist()) <= set(s.indices.tolist())
    assert not set(chosen[:2].tolist()) & set(s.indices.tolist())
    assert s.cardinality <= K


def test_nonnegative_coefficients():
    M, b, chosen = planted(6, nonnegative=True)
    s = fa.fit(M, b, atoms=fa.NonnegativeOneHot(500), k=K)
    assert np.all(s.coefficients > 0)
    assert s.loss <= refit(M[:, chosen], b, nonnegative=True)[0] * (1 + 1e-9)


def test_a_ridge_is_paid():
    M, b, chosen = planted(7, m=200)
    s = fa.fit(M, b, atoms=fa.SignedOneHot(500), k=K, ridge=0.3)
    lengths = np.linalg.norm(M, axis=0)
    rows = np.vstack([M, np.sqrt(0.3) * np.diag(lengths)])
    data = np.concatenate([b, np.zeros(500)])
    assert s.objective == pytest.approx(refit(rows[:, s.indices], data)[0], rel=1e-8)
    assert s.objective <= refit(rows[:, chosen], data)[0] * (1 + 1e-9)


def test_a_bound_ends_the_search():
    M, b, _ = planted(8)
    s = fa.fit(M, b, atoms=fa.SignedOneHot(500), k=K, misfit=0.11)
    assert s.status is fa.Status.BOUND_MET
    assert s.misfit <= 0.11
    assert s.cardinality <= K


def test_a_stop_answers_with_the_best_so_far():
    M, b, _ = planted(3, m=150, n=400)
    heard = []

    def listen(progress):
        heard.append(progress.loss)
        if len(heard) > 1:
            raise StopIteration

    s = fa.fit(M, b, atoms=fa.SignedOneHot(400), k=K, callback=listen)
    assert s.status is fa.Status.STOPPED
    assert s.cardinality <= K
    assert s.loss <= refit(M[:, :0], b)[0]


def test_units_of_columns_change_nothing():
    M, b, _ = planted(9, m=150, n=300)
    units = 10.0 ** np.random.default_rng(0).uniform(-3, 3, 300)
    one, other = (fa.fit(A, b, atoms=fa.SignedOneHot(300), k=K) for A in (M, M * units))
    assert one.loss == pytest.approx(other.loss, rel=1e-8)
    assert set(one.indices.tolist()) == set(other.indices.tolist())
