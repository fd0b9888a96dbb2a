"""What jobs over sums and unions share: budgets of parts, paths, starts, parts that nothing tells apart."""

from __future__ import annotations

import math

import numpy as np
import pytest

import fewatoms as fa
import naive
from fewatoms.atoms import Sum, Union
from fewatoms.datasets import DCTSynthesis
from fewatoms.methods import Demixing, Separation
from fewatoms.methods.demixing import Peeling
from fewatoms.methods.separation import Splitting, Trimming
from fewatoms.methods.sums import dual_of, plain_squares, weights_differ
from fewatoms.retrieval import reduced_fit
from methods.separation.mixed import mix


def dct(n):
    return fa.Mapped(DCTSynthesis(n), fa.SignedOneHot(n))


# Bad input ------------------------------------------------------------------------------------------------------------

LOW, SPARSE = fa.RankOne(6, 5), fa.SignedOneHot((6, 5))
SOME = np.random.default_rng(0).standard_normal((6, 5))
DENSE = np.random.default_rng(1).standard_normal((20, 30))
EACH = r"k must give one budget for each of the 2 parts of \(RankOne\(6, 5\) \+ SignedOneHot\(\(6, 5\)\)\); got "


@pytest.mark.parametrize(
    ("k", "error", "message"),
    [
        (5, TypeError, EACH + "5"),
        (True, TypeError, EACH + "True"),
        ("ab", TypeError, EACH + "'ab'"),
        ((1,), ValueError, EACH + r"1: \(1,\)"),
        ((1, 1, 1), ValueError, EACH + r"3: \(1, 1, 1\)"),
        ((0, 1), ValueError, r"between 1 and 5, the number of atoms of RankOne\(6, 5\); got 0"),
        ((1, 0), ValueError, r"between 1 and 30, the number of atoms of SignedOneHot\(\(6, 5\)\); got 0"),
        ((1, -1), ValueError, "got -1"),
        ((6, 1), ValueError, "between 1 and 5.*got 6"),
        ((1, 31), ValueError, "between 1 and 30.*got 31"),
        ((1.0, 1), TypeError, "got 1.0"),
        ((True, 1), TypeError, "got True"),
        (("1", 1), TypeError, "got '1'"),
        ((math.nan, 1), TypeError, "got nan"),
    ],
    ids=str,
)
def test_budgets_that_are_none(k, error, message):
    with pytest.raises(error, match=message):
        fa.fit(fa.Identity((6, 5)), SOME, atoms=LOW + SPARSE, k=k)


@pytest.mark.parametrize("k", [[1, 2], np.array([1, 2]), (np.int64(1), 2), np.array([1, 2], dtype=np.uint8)], ids=str)
def test_budgets_in_other_clothes(k):
    s = fa.fit(fa.Identity((6, 5)), SOME, atoms=LOW + SPARSE, k=k)
    np.testing.assert_array_equal(s.x, fa.fit(fa.Identity((6, 5)), SOME, atoms=LOW + SPARSE, k=(1, 2)).x)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: LOW + fa.SignedOneHot(31), ValueError, "same number of entries.*has 30.*has 31"),
        (lambda: LOW | fa.SignedOneHot((5, 6)), ValueError, "same shape"),
        (lambda: fa.fit(fa.Identity((5, 6)), SOME.T, atoms=LOW + SPARSE, k=(1, 1)), ValueError, "shape that M takes"),
        (lambda: fa.fit(fa.Identity((6, 5)), SOME.T, atoms=LOW + SPARSE, k=(1, 1)), ValueError, r"b must have shape"),
        (lambda: fa.fit(fa.Identity((6, 5)), SOME * 1j, atoms=LOW | SPARSE), TypeError, "b must be real"),
        (lambda: fa.fit(fa.Identity((6, 5)), SOME, atoms=LOW | SPARSE, misfit=-1), ValueError, "misfit.*got -1"),
        (lambda: fa.fit(fa.Identity((6, 5)), SOME, atoms=LOW | SPARSE, alpha=1, misfit=1), ValueError, "give one"),
        (lambda: (LOW + SPARSE).restricted(include=[0]), ValueError, "include is for sets whose atoms can be listed"),
        (lambda: LOW + SPARSE.restricted(include=[0]), ValueError, "include is for a set by itself, not for a part of"),
        (lambda: Splitting(tol=-1.0), ValueError, "tol must be a nonnegative finite number; got -1"),
        (lambda: Splitting(steps=0), ValueError, "steps must be an integer of at least 1; got 0"),
        (lambda: Trimming(tol="a"), TypeError, "tol must be a nonnegative finite number; got 'a'"),
        (lambda: Peeling(tol=math.nan), ValueError, "tol must be a nonnegative finite number; got nan"),
    ],
    ids=range(13),
)
def test_what_does_not_fit_together(make, error, message):
    with pytest.raises(error, match=message):
        make()


@pytest.mark.parametrize("atoms", [LOW + SPARSE, LOW | SPARSE, LOW + fa.Groups(np.arange(30) // 5)], ids=repr)
@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_data_that_are_no_numbers(atoms, wrong):
    X = SOME.copy()
    X[2, 3] = wrong
    with pytest.raises(ValueError, match="b must hold finite numbers only; it contains"):
        fa.fit(fa.Identity((6, 5)), X, atoms=atoms, k=(1, 1))
    M, b = fa.Sampling.from_array(np.where(np.isnan(X) | np.isinf(X), np.nan, X))
    assert fa.fit(M, b, atoms=atoms, k=(1, 2)).success


@pytest.mark.parametrize("k", [(1, None), (None, 2), (None, None)], ids=str)
def test_open_budgets_where_no_method_fills_them(k):
    b = DENSE @ SOME.ravel()
    with pytest.raises(ValueError, match=r"k must give a number for each of the 2 parts.*got \("):
        fa.fit(DENSE, b, atoms=LOW + SPARSE, k=k, misfit=0.1)
    with pytest.raises(ValueError, match=r"k must give a number for each of the 2 parts.*got \("):
        fa.fit(fa.Identity((6, 5)), SOME, atoms=LOW + SPARSE, k=k, free="intercept")
    with pytest.raises(ValueError, match=r"k must give a number for each of the 2 parts.*got \("):
        fa.fit(fa.Identity(30), SOME.ravel(), atoms=fa.SignedOneHot(30) + dct(30), k=k, loss=fa.Huber(1.0))


def test_no_budget_where_it_is_needed():
    b = DENSE @ SOME.ravel()
    with pytest.raises(TypeError, match=r"k must .* got None"):
        fa.fit(DENSE, b, atoms=LOW | SPARSE)
    with pytest.raises(TypeError, match=r"k must be given for .* whose atoms cannot be listed; got None"):
        fa.fit(DENSE, b, atoms=LOW | SPARSE, misfit=0.1)
    with pytest.raises(TypeError, match=r"k must give one budget for each of the 2 parts.*got 3"):
        fa.fit(DENSE, b, atoms=fa.SignedOneHot(30) | dct(30), k=3)
    assert fa.fit(DENSE, b, atoms=LOW + SPARSE, k=(1, 2)).success


@pytest.mark.parametrize("scale", [1.0, -2.0])
def test_parts_that_nothing_tells_apart_are_named(scale):
    note = "parts 0 and 1 are the same set: how their atoms are shared out is arbitrary"
    alike, b = [fa.SignedOneHot(30), LOW, fa.Groups(np.arange(30) // 5)], SOME.ravel()
    for atoms in alike:
        M = fa.Identity(atoms.shape if len(atoms.shape) > 1 else atoms.n)
        assert note in fa.fit(M, b, atoms=atoms + scale * atoms, k=(1, 1)).message
    assert "same set" not in fa.fit(fa.Identity(30), b, atoms=fa.SignedOneHot(30) + dct(30), k=(1, 1)).message
    D = np.linalg.qr(DENSE.T)[0]
    maps = fa.Mapped(D, fa.SignedOneHot(20)), fa.Mapped(D.copy(), fa.SignedOneHot(20))
    assert note in fa.fit(fa.Identity(30), b, atoms=Sum(*maps), k=(1, 1)).message


def test_the_dual_point_of_a_residual_is_feasible():
    m = mix(1, 8, 6, 1, 3, noise=0.1)
    atoms = fa.RankOne(8, 6) + fa.SignedOneHot((8, 6))
    w = np.random.default_rng(0).uniform(1.0, 2.0, 48)
    for loss in (fa.LeastSquares(), fa.LeastSquares(w)):
        for bound, name in ((None, "P1"), (0.01, "P3")):
            problem = fa.Problem.of(m.M, m.b, atoms=atoms, k=(1, 3), misfit=bound, loss=loss)
            candidate = reduced_fit(problem, atoms.expose(problem.M.adjoint(problem.b), (1, 3)))
            dual = dual_of(problem, candidate)
            np.testing.assert_allclose(dual.y, loss.gradient(candidate.residual))
            np.testing.assert_allclose(naive.dense_dual(dual.z, (8, 6)).ravel(), dual.y)
            assert dual.support == pytest.approx(atoms.support(dual.y.reshape(8, 6)))
            assert dual.relaxation.name == name
            assert (dual.loss, dual.gauge) == (candidate.loss, candidate.gauge)


def test_weights_that_are_all_equal_do_not_differ():
    b = SOME.ravel()
    for w, differ in ((None, False), (np.full(30, 3.0), False), (np.r_[2.0, np.ones(29)], True)):
        problem = fa.Problem.of(fa.Identity((6, 5)), b, atoms=LOW + SPARSE, k=(1, 1), loss=fa.LeastSquares(w))
        assert weights_differ(problem) is differ
        assert plain_squares(problem)
    assert not plain_squares(fa.Problem.of(fa.Identity((6, 5)), b, atoms=LOW + SPARSE, k=(1, 1), loss=fa.Huber(1.0)))


def test_an_earlier_answer_is_taken_up():
    m = mix(2, 14, 11, 2, 10, noise=0.05)
    for atoms in (fa.RankOne(14, 11) + fa.SignedOneHot((14, 11)), fa.RankOne(14, 11) + fa.Groups(np.arange(154) // 11)):
        whole = fa.fit(m.M, m.b, atoms=atoms, k=(2, 3))
        again = fa.fit(m.M, m.b, atoms=atoms, k=(2, 3), misfit=whole.misfit * 1.001, start=whole)
        assert again.status is fa.Status.BOUND_MET
        assert again.iterations == 0
        fewer = fa.fit(m.M, m.b, atoms=atoms, k=(1, 2), start=whole)
        assert [p.cardinality for p in fewer.parts] == [1, 2]


# Paths ----------------------------------------------------------------------------------------------------------------


def test_paths_are_fits_side_by_side():
    m = mix(7, 14, 11, 2, 10, noise=0.05)
    budgets = [(1, 10), (2, 10), (2, 5), (3, 20), (2, None)]
    for atoms in (fa.RankOne(14, 11) + fa.SignedOneHot((14, 11)), fa.RankOne(14, 11) | fa.SignedOneHot((14, 11))):
        path = fa.fit_path(m.M, m.b, atoms=atoms, k=budgets)
        assert list(path) == budgets
        for k in budgets:
            np.testing.assert_allclose(path[k].x, fa.fit(m.M, m.b, atoms=atoms, k=k).x, atol=1e-10)
        assert path[(2, 10)].loss <= min(path[(1, 10)].loss, path[(2, 5)].loss)
        assert path[(3, 20)].loss <= path[(2, 10)].loss


@pytest.mark.parametrize(
    "method", [None, Separation(), Demixing(), Separation(trimming=Trimming(tol=1e-6))], ids=range(4)
)
@pytest.mark.parametrize("kind", [Sum, Union])
def test_paths_take_any_method_that_fits_do(method, kind):
    """Each budget as if it were alone, whatever else is asked for and in what order."""
    m = mix(2, 24, 20, 2, 20, size=(8.0, 8.1))
    atoms = kind(fa.RankOne(24, 20), fa.SignedOneHot((24, 20)))
    path = fa.fit_path(m.M, m.b, atoms=atoms, k=[(3, 4), (2, 20), (1, 20)], method=method)
    for k in path:
        alone = fa.fit(m.M, m.b, atoms=atoms, k=k, method=method)
        assert path[k].loss <= alone.loss * (1 + 1e-6) + 1e-18 * float(m.b @ m.b)
        assert path[k].status is alone.status
        assert path[k].products == alone.products
    assert path[(2, 20)].misfit <= 1e-8
    assert path[(1, 20)].misfit > 0.1


@pytest.mark.parametrize("by", ["cv", "bic"])
def test_a_path_chooses_what_was_planted(by):
    m = mix(8, 14, 12, 2, 8, size=(5.0, 20.0), noise=0.05)
    seen = np.ones(m.shape, dtype=bool)
    M, b = fa.Sampling(*np.nonzero(seen), m.shape), m.X[seen]
    path = fa.fit_path(M, b, atoms=fa.RankOne(14, 12) + fa.SignedOneHot((14, 12)), k=[(1, 8), (2, 8), (3, 8)])
    assert path.choose_k(by, folds=2) == (2, 8)


def test_a_path_over_measurements_that_are_no_entries():
    """Sets whose atoms cannot be listed, behind a dense M: each k as if it were alone."""
    rng = np.random.default_rng(0)
    M, b = rng.standard_normal((25, 30)), rng.standard_normal(25)
    for atoms, budgets in (
        (fa.RankOne(6, 5), [1, 2]),
        (fa.RankOne(6, 5) + fa.SignedOneHot((6, 5)), [(1, 1), (1, 2)]),
        (fa.RankOne(6, 5) | fa.SignedOneHot((6, 5)), [(1, 1), (1, 2)]),
    ):
        path = fa.fit_path(M, b, atoms=atoms, k=budgets, max_iterations=3)
        assert path[budgets[1]].loss <= path[budgets[0]].loss * (1 + 1e-9)


def test_a_path_weighs_a_plain_union_as_a_fit_does():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((6, 5))
    M, atoms = fa.Identity(X.shape), fa.RankOne(6, 5) | fa.SignedOneHot((6, 5))
    alone = fa.fit(M, X, atoms=atoms, k=(1, 3))
    assert fa.fit_path(M, X, atoms=atoms, k=[(1, 3)])[(1, 3)].gauge == pytest.approx(alone.gauge, rel=1e-9)


def test_rows_left_out_of_a_matrix_are_entries_not_seen():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((9, 1)) @ rng.standard_normal((1, 8)) + 0.01 * rng.standard_normal((9, 8))
    path = fa.fit_path(fa.Identity(X.shape), X, atoms=fa.RankOne(9, 8) + fa.SignedOneHot((9, 8)), k=[(1, 1), (3, 1)])
    assert path.choose_k("cv", folds=2) == (1, 1)
    part = fa.Identity((3, 4)).subset(np.array([1, 6, 11]))
    assert isinstance(part, fa.Sampling)
    np.testing.assert_array_equal(part.apply(np.arange(12.0)), [1.0, 6.0, 11.0])


def test_what_is_told_about_open_budgets():
    X = np.random.default_rng(3).standard_normal((6, 5))
    atoms = fa.RankOne(6, 5) + fa.SignedOneHot((6, 5))
    s = fa.fit(fa.Identity(X.shape), X, atoms=atoms, k=(1, None))
    assert "of 1 + any allowed" in str(s.certificate)
    with pytest.raises(ValueError, match=r"None is for data seen as they are, least squares without free columns"):
        fa.fit(DENSE, DENSE @ X.ravel(), atoms=atoms, k=(1, None))
    path = fa.fit_path(fa.Identity(X.shape), X, atoms=atoms, k=[None, (1, 1)])
    np.testing.assert_array_equal(path[None].x, fa.fit(fa.Identity(X.shape), X, atoms=atoms).x)
