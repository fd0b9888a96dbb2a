"""What answers are compared by."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import fewatoms as fa
from fewatoms import scoring


def test_least_squares_are_told_as_root_mean_squares():
    sums, errors = np.array([8.0, 2.0, 0.0]), np.array([10.0, 0.0, 2.0])
    np.testing.assert_allclose(scoring.told(fa.LeastSquares(), sums, 4.0), [2.0, 1.0, 0.0])
    np.testing.assert_allclose(scoring.told_errors(fa.LeastSquares(), sums, errors, 4.0), [1.0, 0.0, 1.0])
    np.testing.assert_array_equal(scoring.told(fa.Huber(1.0), sums, 4.0), sums)
    np.testing.assert_allclose(scoring.told_errors(fa.Huber(1.0), sums, errors, 4.0), errors)
    assert scoring.unit(fa.LeastSquares()) == "root mean square error"
    assert scoring.unit(fa.Logistic()) == "loss"


def test_gross_errors_count_as_much_as_large_ones():
    rng = np.random.default_rng(0)
    r = rng.standard_normal(1000)
    spoilt = r.copy()
    spoilt[:50] = 1e6
    plain, cut = scoring.cut_off(fa.LeastSquares(), [r, spoilt])
    assert plain == pytest.approx(0.5 * r @ r, rel=0.02)
    assert plain < cut < 1.5 * plain


@pytest.mark.parametrize("by", ["cv", "held-out"])
def test_ranks_beside_gross_errors_are_judged_by_the_others(by):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((40, 2)) @ rng.standard_normal((2, 30)) + 0.1 * rng.standard_normal((40, 30))
    X.flat[rng.choice(1200, 40, replace=False)] += rng.choice([-1, 1], 40) * rng.uniform(20, 200, 40)
    atoms = fa.RankOne(40, 30) + fa.SignedOneHot((40, 30))
    path = fa.fit_path(fa.Identity((40, 30)), X, atoms=atoms, k=[(r, 40) for r in (1, 2, 4)])
    assert path.choose_k(by, folds=2, rng=1) == (2, 40)
    assert path.scores[by][1] == pytest.approx(0.1, rel=0.6)


def test_sums_of_other_parts_are_judged_by_squares():
    X = np.zeros((6, 5))
    asked = {"k": (1, 1), "loss": fa.LeastSquares()}
    both = fa.Problem.of(fa.Identity((6, 5)), X, atoms=fa.RankOne(6, 5) + fa.SignedOneHot((6, 5)), **asked)
    assert scoring.gross(both)
    assert not scoring.gross(fa.Problem.of(fa.Identity((6, 5)), X, atoms=fa.RankOne(6, 5), k=1))
    two = fa.SignedOneHot((6, 5)) + fa.NonnegativeOneHot((6, 5))
    assert not scoring.gross(fa.Problem.of(fa.Identity((6, 5)), X, atoms=two, **asked))


def test_ranks_by_entries_held_out_take_little_room():
    """Entries held out, and the others in both orders: no numbers of rows."""
    rng = np.random.default_rng(0)
    p, q, m = 900, 700, 300_000
    rows, cols = np.divmod(np.sort(rng.permutation(p * q)[:m]), q)
    M = fa.Sampling(rows, cols, (p, q))
    v = (rng.standard_normal((p, 2)) @ rng.standard_normal((2, q)))[rows, cols] + 0.1 * rng.standard_normal(m)
    path = fa.fit_path(M, v, atoms=fa.RankOne(p, q), k=(1, 2, 3), ridge=1.0)
    tracemalloc.start()
    try:
        assert path.choose_k("held-out") == 2
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 45 * m
    assert path.scores["held-out"][1] == pytest.approx(0.1, rel=0.1)
