"""Columns that are nearly one another: what lies between them is theirs, and no list of choices may pass it over."""

from dataclasses import replace
from itertools import combinations, combinations_with_replacement

import numpy as np
import pytest

import fewatoms as fa
from fewatoms.proofs.base import Question
from fewatoms.proofs.question import posed
from fewatoms.proofs.squares import Squares, SquaresChecker


def nearly(rng, apart, many, m=20, n=7):
    """Columns of which the first is nearly a sum of the next ones, and data along what is between them."""
    M = rng.standard_normal((m, n))
    between = rng.standard_normal(m)
    M[:, 0] = M[:, 1:many].sum(axis=1) + apart * between
    return M, between + 0.3 * rng.standard_normal(m)


def in_the_dark(M, b, **words):
    """A question whose answer is no atoms at all."""
    asked = posed(fa.fit(M, b, **words), gap=1e-4, seconds=60.0, cap=None, frobenius=None)
    return replace(asked, upper=0.5 * float(b @ b) * (1 + 1e-9), best=np.empty(0, dtype=np.intp), exact=False)


def searched(question: Question):
    search = Squares().open(question)
    for _ in search.standings():
        pass
    return search


def least(M, b, k):
    """The lowest loss of k columns, in the numbers that there are."""
    left = []
    for some in combinations(range(M.shape[1]), k):
        A = M[:, some] / np.linalg.norm(M[:, some], axis=0)
        r = b - A @ np.linalg.lstsq(A, b, rcond=1e-14)[0]
        left.append(0.5 * float(r @ r))
    return min(left)


@pytest.mark.parametrize("apart", [1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-10])
@pytest.mark.parametrize("many", [2, 3])
@pytest.mark.parametrize("words", [{}, {"cap": 1e12}], ids=["free", "capped"])
def test_what_lies_between_columns_is_seen(apart, many, words):
    M, b = nearly(np.random.default_rng(many), apart, many)
    question = in_the_dark(M, b, atoms=fa.SignedOneHot(M.shape[1]), k=many, **words)
    search, best = searched(question), least(M, b, many)
    told = search.final()
    assert best < 0.2 * 0.5 * float(b @ b)
    assert told.lower <= best * (1 + 1e-9)
    if told.ended:
        assert told.upper <= best * (1 + 1e-3)
    seen = SquaresChecker().check(question, search.tree(), 1.0, np.random.default_rng(0))
    assert seen.lower <= best * (1 + 1e-9)


@pytest.mark.parametrize("apart", [1e-6, 1e-8])
def test_coefficients_that_must_not_be_negative(apart):
    M, b = nearly(np.random.default_rng(4), apart, 2)
    M[:, 0] *= -1
    b = -b  # both coefficients are positive
    told = searched(in_the_dark(M, b, atoms=fa.NonnegativeOneHot(M.shape[1]), k=2)).final()
    assert least(M, b, 2) < 0.1 * float(b @ b)
    assert told.lower <= least(M, b, 2) * (1 + 1e-9)
    assert told.upper <= least(M, b, 2) * (1 + 1e-3)


def test_choices_that_explain_nearly_all_are_seen_in_their_columns():
    """Their objective is the rounding of M'M; nothing below 0 is told, and nothing above what there is."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        M = rng.standard_normal((12, 5))
        M[:, 1] = M[:, 0] + 3e-3 * rng.standard_normal(12)
        b = 1e3 * (M[:, 1] - M[:, 0]) + rng.choice([0.0, 1e-7]) * rng.standard_normal(12)
        told = searched(in_the_dark(M, b, atoms=fa.SignedOneHot(5), k=2)).final()
        assert 0.0 <= told.lower <= least(M, b, 2) + 1e-28 * float(b @ b)
        assert told.upper >= least(M, b, 2)


def test_a_column_that_is_another_over_again_up_to_rounding_is_one_of_them():
    """As the square of a feature with two values is beside an intercept, where each is rounded by itself: no shift of
    the diagonal helps, and choices are too many to be listed."""
    X, y = pytest.importorskip("sklearn.datasets").load_diabetes(return_X_y=True)
    M = np.column_stack([X, *(X[:, i] * X[:, j] for i, j in combinations_with_replacement(range(10), 2))])
    again = 10 + list(combinations_with_replacement(range(10), 2)).index((1, 1))
    M[:, again] *= 1 + 1e-14 * np.random.default_rng(0).standard_normal(len(M))
    bounds = []
    for columns in (M, np.delete(M, again, axis=1)):
        atoms = fa.SignedOneHot(columns.shape[1])
        proof = fa.prove(fa.fit(columns, y, atoms=atoms, k=8, free="intercept"), seconds=60)
        assert proof.proven
        bounds.append(proof.lower)
    assert bounds[0] == pytest.approx(bounds[1], rel=1e-9)
