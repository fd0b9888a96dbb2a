"""From dual vectors to candidates: the budget is kept, demands are kept, and a bound may be met at once."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, islice

import numpy as np
import pytest
from scipy.sparse.linalg import aslinearoperator

import fewatoms as fa
from contracts.families import black_box
from contracts.problems import vectors
from fewatoms.methods.listed import Fewest, Pursuit, Splice, WorkingSet
from fewatoms.methods.listed.images import IMAGE_ROOM
from fewatoms.methods.listed.retrieving import Retriever, Ways
from fewatoms.methods.listed.view import View
from journeys.planting import spikes
from methods.listed.small import PAIRS, TAKEN, best_of_all, instance, refit, smooth_refit

WAYS_OF_RETRIEVING = Ways(Splice(), Pursuit(), Fewest(), 1.1, 32)
PROBLEMS = {name: problem for name, problem in vectors().items() if name != "joint"}


def retriever_of(problem, room=IMAGE_ROOM, **ways):
    return Retriever(problem, View(problem, problem.M, room), replace(WAYS_OF_RETRIEVING, **ways))


def duals_of(retriever, count=8):
    return list(islice(WorkingSet().along(retriever.problem, retriever.view), count))


def classes_of(retriever, candidate):
    return set(retriever.view.classes_of(candidate.face).tolist())


def assert_kept(problem, candidate):
    """No more atoms than allowed, and the loss that its atoms have."""
    assert candidate.face.size <= problem.budget.single
    residual = problem.b - problem.M.apply(candidate.face.point(candidate.c))
    np.testing.assert_allclose(candidate.residual, residual, atol=1e-8)
    assert candidate.loss == pytest.approx(problem.loss.value(residual), rel=1e-7, abs=1e-12)


# The budget -----------------------------------------------------------------------------------------------------------


@pytest.mark.sampled(3)
@pytest.mark.parametrize("own", [True, False], ids=["with points", "dual vectors alone"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_the_budget_is_kept_all_the_way(name, own):
    problem = PROBLEMS[name]
    retriever = retriever_of(problem)
    for dual in duals_of(retriever):
        candidate = retriever.retrieve(dual if own else replace(dual, primal=None))
        assert_kept(problem, candidate)
        assert candidate.loss <= problem.at_zero * (1 + 1e-9)
    finished = retriever.finish([candidate], last=True)
    assert_kept(problem, finished)
    assert finished.loss <= candidate.loss


@pytest.mark.parametrize("name", ["signed", "nonnegative"])
def test_no_worse_than_the_largest_contributions_fitted_anew(name):
    problem = PROBLEMS[name]
    retriever = retriever_of(problem)
    A = problem.M.apply
    for dual in duals_of(retriever, 12)[1:]:
        x = dual.primal.face.point(dual.primal.c)
        columns = np.stack([A(e) for e in np.eye(x.size)], axis=1)
        sizes = np.abs(x) * np.linalg.norm(columns, axis=0)
        most = [i for i in np.argsort(-sizes)[:3] if sizes[i] > 0]
        bar = refit(columns[:, most], problem.b, name == "nonnegative")[0]
        assert retriever.retrieve(dual).loss <= bar * (1 + 1e-9)


def test_without_room_for_images_the_general_way_is_taken():
    problem = PROBLEMS["black box"]
    roomy = retriever_of(problem)
    small = retriever_of(problem, room=2 * problem.m)
    assert roomy.spliced
    assert not small.spliced
    for dual in duals_of(roomy, 5)[1:]:
        assert_kept(problem, small.retrieve(dual))
    assert small.view.images.size <= 2


def test_few_atoms_on_the_way_down_are_not_worth_newtons_method():
    """Of a smooth loss, the oracle's own point is taken as long as it has less than half the atoms."""
    problem = replace(
        PROBLEMS["huber"], budget=fa.Problem.of(np.eye(9), np.ones(9), atoms=fa.SignedOneHot(9), k=8).budget
    )
    retriever = retriever_of(problem)
    few = [d for d in duals_of(retriever, 10) if d.primal is not None and 0 < d.primal.face.size < 4]
    assert few
    assert all(retriever_of(problem).retrieve(dual) is dual.primal for dual in few)


# Polished once, and only with hope ------------------------------------------------------------------------------------


def test_the_same_atoms_are_polished_once():
    retriever = retriever_of(PROBLEMS["signed"])
    dual = duals_of(retriever, 6)[-2]
    assert retriever.retrieve(dual) is retriever.retrieve(dual)
    forgetful = retriever_of(PROBLEMS["signed"], memory=0)
    first, again = forgetful.retrieve(dual), forgetful.retrieve(dual)
    assert first is not again
    assert first.loss == pytest.approx(again.loss, rel=1e-12)
    assert first.loss == pytest.approx(retriever.retrieve(dual).loss, rel=1e-12)


def test_candidates_without_hope_are_not_polished():
    """A series whose lowest loss is far below gets no exchanges; with a bound each gets them."""
    A, b, _ = instance(1)
    problem = fa.Problem.of(A, b, atoms=fa.SignedOneHot(40), k=4)
    hopeful, hopeless = retriever_of(problem), retriever_of(problem, hope=0.0)
    bounded = retriever_of(problem.bounded(1e-9 * problem.at_zero), hope=0.0, pursuit=None)
    pairs = []
    for dual in duals_of(hopeful)[1:]:
        plain, polished = hopeless.retrieve(dual), hopeful.retrieve(dual)
        assert polished.loss <= plain.loss * (1 + 1e-9)
        assert bounded.retrieve(dual).loss <= plain.loss * (1 + 1e-9)
        pairs.append((plain.loss, polished.loss, bounded.retrieve(dual).loss))
    assert any(polished < plain * 0.999 for plain, polished, _ in pairs)
    assert any(kept < plain * 0.999 for plain, _, kept in pairs)


# The short cut --------------------------------------------------------------------------------------------------------


def planted(form=np.asarray, k=3, **options):
    rng = np.random.default_rng(8)
    A = rng.standard_normal((40, 60))
    b = A[:, [5, 20, 44]] @ [1.0, -2.0, 1.5] + 0.01 * rng.standard_normal(40)
    return fa.Problem.of(form(A), b, atoms=fa.SignedOneHot(60), k=k, **options)


@pytest.mark.parametrize("form", [np.asarray, black_box], ids=["array", "box"])
def test_a_bound_is_met_at_the_first_dual_vector(form):
    problem = planted(form, misfit=0.05)
    retriever = retriever_of(problem)
    first = duals_of(retriever, 1)[0]
    candidate = retriever.retrieve(first)
    assert problem.meets(candidate.loss)
    assert_kept(problem, candidate)
    assert classes_of(retriever, candidate) == {5, 20, 44}
    alone = retriever_of(problem, pursuit=None).retrieve(first)
    assert alone.face.size <= 3


def test_with_a_matrix_at_hand_a_short_cut_that_misses_the_bound_is_not_taken():
    problem = planted(misfit=1e-5)
    retriever = retriever_of(problem)
    first = duals_of(retriever, 1)[0]
    with_cut, without = retriever.retrieve(first), retriever_of(problem, pursuit=None).retrieve(first)
    assert not problem.meets(with_cut.loss)
    assert with_cut.loss == pytest.approx(without.loss, rel=1e-12)
    assert retriever._short_cut(first) is None


@pytest.mark.parametrize("misfit", [0.05, 1e-6])
def test_quick_answers_meet_the_bound_or_are_none(misfit):
    problem = planted(black_box, misfit=misfit)
    retriever = retriever_of(problem)
    found = retriever.quick(duals_of(retriever, 1)[0], 15, even=True)
    assert (found is not None) == (misfit == 0.05)
    if found is not None:
        assert problem.meets(found.loss)
        assert_kept(problem, found)


@pytest.mark.parametrize("misfit", [0.05, 1e-6])
def test_a_bound_alone_takes_few_atoms(misfit):
    problem = planted(k=None, misfit=misfit)
    retriever = retriever_of(problem)
    assert retriever.open
    first, *others = duals_of(retriever)
    found = retriever.retrieve(first)
    assert problem.meets(found.loss)
    assert (found.face.size == 3) == (misfit == 0.05)
    for dual in others:
        candidate = retriever.retrieve(dual)
        assert candidate.face.size <= problem.m
        assert not problem.meets(candidate.loss) or candidate.face.size >= 3


# The end --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["signed", "groups", "huber"])
def test_the_last_polish_is_never_worse(name):
    problem = PROBLEMS[name]
    retriever = retriever_of(problem, hope=0.0)
    leaders = sorted((retriever.retrieve(dual) for dual in duals_of(retriever)), key=lambda c: c.loss)
    last, plain = (retriever.finish(leaders, last=last) for last in (True, False))
    assert last.loss <= plain.loss <= leaders[0].loss
    assert_kept(problem, last)
    if problem.loss.squares:
        assert plain is leaders[0]


def test_an_earlier_answer_is_cut_to_the_budget():
    A, b, _ = instance(2)
    problem = fa.Problem.of(A, b, atoms=fa.SignedOneHot(40), k=3)
    classes = np.array([7, 30, 2, 11, 5])
    begun = retriever_of(problem, splice=Splice(rounds=0)).begin(classes)
    assert begun.loss == pytest.approx(refit(A[:, [7, 30, 2]], b)[0], rel=1e-9)
    polished = retriever_of(problem).begin(classes)
    assert polished.loss < begun.loss
    assert polished.loss >= best_of_all([A[:, [i]] for i in range(40)], b, 3) * (1 - 1e-9)
    assert_kept(problem, polished)


# Atoms in, atoms out --------------------------------------------------------------------------------------------------


@pytest.mark.sampled(2)
@pytest.mark.parametrize("own", [True, False], ids=["with points", "dual vectors alone"])
@pytest.mark.parametrize("form", [np.asarray, black_box], ids=["array", "box"])
@pytest.mark.parametrize("bound", [{}, {"misfit": 0.3}], ids=["k alone", "bound"])
def test_every_candidate_keeps_demands(bound, form, own):
    A, b, _ = instance(3)
    atoms = fa.SignedOneHot(40).restricted(include=[11, 12], exclude=[0, 1, 2, 3])
    retriever = retriever_of(fa.Problem.of(form(A), b, atoms=atoms, k=4, **bound))
    candidates = [retriever.retrieve(d if own else replace(d, primal=None)) for d in duals_of(retriever)]
    for candidate in [*candidates, retriever.begin(np.array([0, 5, 6, 7])), retriever.finish(candidates, last=True)]:
        inside = classes_of(retriever, candidate)
        assert {11, 12} <= inside
        assert not inside & {0, 1, 2, 3}
        assert len(inside) <= 4


MANY = 70


CHOOSY = {
    "signed": fa.SignedOneHot(MANY),
    "few": fa.SignedOneHot(20),
    "groups": fa.Groups(np.arange(MANY) // 2),
    "dictionary": fa.Dictionary(np.random.default_rng(5).standard_normal((30, MANY)), symmetric=True),
}


WAYS = {
    "k alone": {"k": 4},
    "free": {"k": 4, "free": "intercept"},
    "bound": {"k": 4, "misfit": 0.6},
    "bound alone": {"misfit": 0.6},
    "bound alone, free": {"misfit": 0.6, "free": "intercept"},
    "huber": {"k": 4, "loss": fa.Huber(0.5)},
    "huber, free": {"k": 4, "loss": fa.Huber(0.5), "free": "intercept"},
    "logistic": {"k": 4, "loss": fa.Logistic(), "alpha": 5.0},
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("form", ["dense", "operator"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", CHOOSY)
def test_chosen_atoms_are_in_or_out(name, way, form):
    atoms = CHOOSY[name]
    rng = np.random.default_rng([len(name), len(way), len(form)])
    A = rng.standard_normal((25, atoms.n)) + 0.3
    b = rng.standard_normal(25) + 2.0 * A[:, 1]
    M = A if form == "dense" else aslinearoperator(A)
    for draw in range(2):
        chosen = rng.permutation(atoms.count)
        wanted, barred = chosen[: 1 + draw], np.append(chosen[5:15], 1 - draw)
        barred = barred[~np.isin(barred, wanted)]
        some = atoms.restricted(include=wanted, exclude=barred)
        s = fa.fit(M, b, atoms=some, cap=0.5 if draw else None, **WAYS[way])
        assert set(wanted.tolist()) <= set(s.indices.tolist())
        assert not set(barred.tolist()) & set(s.indices.tolist())
        assert s.cardinality <= WAYS[way].get("k", atoms.count)
        if draw:
            largest = np.abs(s.coefficients if name == "dictionary" else s.x).max()
            assert largest <= 0.5 * (1 + 1e-12)


@pytest.mark.parametrize("n", [9, MANY])
@pytest.mark.parametrize("seed", range(3))
def test_chosen_atoms_against_all_subsets_that_hold_them(seed, n):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((20, n))
    b = A @ spikes(rng, n, 4) + 0.5 * rng.standard_normal(20)
    wanted, barred = rng.choice(n, 1), rng.permutation(n)[: n // 2]
    barred = np.setdiff1d(barred, wanted)
    s = fa.fit(A, b, atoms=fa.SignedOneHot(n).restricted(include=wanted, exclude=barred), k=3)
    rest = np.setdiff1d(np.arange(n), np.append(barred, wanted))
    best = min(refit(A[:, [*wanted, *pair]], b)[0] for pair in combinations(rest, 2))
    assert s.loss == pytest.approx(best, rel=1e-9)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("loss", [fa.LeastSquares(), fa.Huber(0.5)], ids=repr)
@pytest.mark.parametrize("name", TAKEN)
def test_a_start_is_never_made_worse(name, loss, k):
    """Not worse than the k largest contributions of the start, refitted."""
    atoms = TAKEN[name]
    A, b, rng = instance(1)
    start = fa.fit(A, b, atoms=atoms, k=4, loss=loss, max_iterations=1)
    moved = b + 0.1 * rng.standard_normal(25)
    s = fa.fit(A, moved, atoms=atoms, k=k, loss=loss, start=start)
    sizes = np.linalg.norm(A, axis=0) * np.abs(start.x)
    labels = PAIRS if name == "groups" else np.arange(40)
    totals = np.sqrt(np.bincount(labels, weights=sizes**2))
    kept = np.isin(labels, np.argsort(-totals)[: min(k, start.cardinality)])
    bounds = [(0.0 if name == "nonnegative" else None, None)] * int(kept.sum())
    pruned = smooth_refit(loss, A[:, kept], moved, bounds).fun if kept.any() else loss.value(moved)
    assert s.loss <= pruned * (1 + 1e-7)
    assert s.cardinality <= k


def test_a_start_that_meets_the_bound_is_taken_as_it_is():
    A, b, _ = instance(1)
    start = fa.fit(A, b, atoms=fa.SignedOneHot(40), k=5)
    s = fa.fit(A, b, atoms=fa.SignedOneHot(40), k=5, misfit=start.misfit * 1.01, start=start)
    assert s.status is fa.Status.BOUND_MET
    assert s.iterations == 0
    np.testing.assert_allclose(s.x, start.x, atol=1e-9)
