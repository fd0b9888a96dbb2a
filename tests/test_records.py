"""What a run keeps for one budget, and what a callback sees of it."""

import math
import pickle

import numpy as np
import pytest

import fewatoms as fa
from answers import answer, cases
from fewatoms import ledger
from fewatoms.budget import Budget
from fewatoms.candidates import Candidate, DualPoint, Iterate
from fewatoms.methods.base import Job, Pace
from fewatoms.records import LEADERS, Record
from fewatoms.relaxations import P1
from fewatoms.solution import Status


class Waiting(Job):
    """A job whose stream is the test."""

    pace = Pace(patience=3)
    ranks = True
    finished = ()

    def iterates(self, course):
        return iter(())

    def retrieve(self, iterate, budget):
        raise NotImplementedError

    def finish(self, problem, leaders, *, last):
        self.finished = (list(leaders), last)
        return leaders[0]


B = np.array([3.0, 2.0, 1.0, 0.5])


def record(k=2, **words):
    problem = fa.Problem.of(np.eye(4), B, atoms=fa.SignedOneHot(4), k=k, **words)
    return Record(problem, Waiting(problem, [problem.budget]))


def candidate(which, loss=None):
    """These entries of b, whose loss is known; or another one, for candidates that were not fitted so well."""
    face = fa.SignedOneHot(4).face(np.array(which), B)
    residual = B.copy()
    residual[list(which)] = 0.0
    return Candidate.of(face, B[list(which)], residual, 0.5 * float(residual @ residual) if loss is None else loss)


def iterate(problem, lam=1.0):
    y = np.clip(B, -lam, lam)
    return Iterate(DualPoint(y, y, lam, P1(problem, lam)))


def test_the_best_is_kept_and_time_without_a_better_one_ends_the_run():
    r = record()
    losses = [candidate([2, 3]), candidate([0, 2]), candidate([1, 2]), candidate([0, 3]), candidate([2, 3])]
    for i, c in enumerate(losses):
        r.see(iterate(r.problem), c)
        assert r.latest == c.loss
        assert r.best.loss == min(c.loss for c in losses[: i + 1])
        r.judge()
    assert r.status is Status.SMALLEST_LOSS
    assert (r.iterations, r.since) == (5, 3)


def test_a_fall_that_does_not_count_is_taken_all_the_same():
    r = record()
    first = candidate([0, 1])
    r.see(iterate(r.problem), first)
    slightly = candidate([0, 1], first.loss * (1 - 1e-9))
    r.see(iterate(r.problem), slightly)
    assert r.best is slightly
    assert r.since == 1


def test_a_bound_that_is_met_ends_the_run_at_once():
    r = record(alpha=0.7)
    r.see(iterate(r.problem), candidate([0, 2]))
    r.judge()
    assert r.status is None
    assert r.live
    r.see(iterate(r.problem), candidate([0, 1]))
    r.judge()
    assert r.status is Status.BOUND_MET
    assert not r.live


def test_patience_with_a_bound_is_longer():
    r = record(alpha=0.1)
    for _ in range(10):
        assert r.status is None
        r.see(iterate(r.problem), candidate([0, 1]))
        r.judge()
    assert r.status is Status.NOT_REACHED


def test_what_is_proven_impossible_ends_the_run():
    problem = fa.Problem.of(np.eye(4)[:, :2], B, atoms=fa.SignedOneHot(2), k=2, alpha=0.1)
    r = Record(problem, Waiting(problem, [problem.budget]))
    y = np.array([0.0, 0.0, 1.0, 0.5])
    z = y[:2]
    face = fa.SignedOneHot(2).face(np.array([0, 1]), B)
    r.see(Iterate(DualPoint(y, z, 0.0, P1(problem, 1.0))), Candidate.of(face, B[:2], y, 0.625))
    r.judge()
    assert r.status is Status.NOT_REACHED
    told = r.answer(ledger.Ledger())
    assert told.status is Status.UNREACHABLE  # which is proven at the end, or not claimed
    assert "Proved: " in told.message


def test_the_best_few_are_ranked_for_a_last_polish():
    r = record()
    for which in ([2, 3], [1, 3], [1, 2], [1, 2], [0, 3], [0, 1]):
        r.see(iterate(r.problem), candidate(which))
    assert len(r.leaders) == LEADERS
    losses = [c.loss for c in r.leaders]
    assert losses == sorted(losses)
    assert losses[0] == candidate([0, 1]).loss
    r.end(100)
    s = r.answer(ledger.Ledger())
    assert [c.loss for c in r.job.finished[0]] == losses
    assert r.job.finished[1]
    assert s.status is Status.STREAM_ENDED
    r = record()
    r.see(iterate(r.problem), candidate([0, 2]))
    r.see(iterate(r.problem), candidate([0, 1]))
    r.stop(None)
    r.answer(ledger.Ledger())
    assert (len(r.job.finished[0]), r.job.finished[1]) == (1, False)  # no polish for who has no time


def test_how_streams_end():
    r = record()
    r.end(0)
    assert r.status is Status.ITERATION_LIMIT
    r = record()
    r.see(iterate(r.problem), candidate([0, 2]))
    r.end(5)
    assert r.status is Status.STREAM_ENDED
    r = record()
    r.job.pace = Pace(complete=True)
    r.see(iterate(r.problem), candidate([0, 2]))
    r.end(5)
    assert r.status is Status.SMALLEST_LOSS


def test_a_stop_takes_what_was_found_in_the_middle_of_work():
    r = record()
    r.see(iterate(r.problem), candidate([0, 2]))
    r.stop(candidate([0, 1]))
    assert r.status is Status.STOPPED
    assert r.best.loss == candidate([0, 1]).loss
    r = record()
    r.see(iterate(r.problem), candidate([0, 1]))
    r.stop(candidate([0, 2]))  # worse
    assert r.best.loss == candidate([0, 1]).loss
    r = record(k=1)
    r.stop(candidate([0, 1]))  # more than allowed
    assert r.best is None
    s = r.answer(ledger.Ledger())
    assert (s.success, s.cardinality) == (False, 0)


def test_an_answer_is_recomputed():
    r = record()
    wrong = candidate([0, 1], loss=1e-9)  # a method that lies about its loss
    r.see(iterate(r.problem), wrong)
    r.end(1)
    s = r.answer(ledger.Ledger())
    assert s.loss == candidate([0, 1]).loss
    r = record(alpha=0.1)
    r.see(iterate(r.problem), wrong)
    r.judge()
    assert r.status is Status.BOUND_MET
    s = r.answer(ledger.Ledger())
    assert (s.status, s.success) == (Status.NOT_REACHED, False)


def test_nothing_to_explain():
    problem = fa.Problem.of(np.eye(4), np.zeros(4), atoms=fa.SignedOneHot(4), k=2)
    r = Record(problem, Waiting(problem, [problem.budget]))
    assert r.status is Status.ZERO
    s = r.answer(ledger.Ledger())
    assert (s.success, s.cardinality, s.loss) == (True, 0, 0.0)


def test_an_earlier_answer_may_be_enough():
    r = record(alpha=0.7)
    r.begin(candidate([0, 1]))
    assert r.status is Status.BOUND_MET
    r = record(k=None, alpha=0.7)  # fewer atoms may do
    r.begin(candidate([0, 1]))
    assert r.status is None


# What a callback sees -------------------------------------------------------------------------------------------------


def test_progress_before_anything_is_found():
    r = record()
    p = r.progress(ledger.Ledger(stage="thinking", products=5))
    assert (p.stage, p.products, p.iteration, p.cardinality) == ("thinking", 5, 0, 0)
    assert p.loss == r.problem.at_zero
    assert p.misfit == 1.0
    assert (p.dual, p.gap, p.candidate_loss) == (None, math.inf, math.inf)


@pytest.mark.parametrize("name", ["signed", "columns", "huber", "completion, ridge", "robust", "psd", "joint"])
def test_progress_tells_what_the_answer_says_in_the_end(name):
    seen = []
    s = cases()[name].fit(callback=seen.append)
    last = seen[-1]
    assert last.iteration == s.iterations
    assert last.loss >= s.loss * (1 - 1e-9) - 1e-20
    assert last.misfit == pytest.approx(last.problem.misfit_of(last.candidate), rel=1e-12)
    assert last.cardinality <= sum(np.ravel(s.certificate.problem.k))
    told = [p.iteration for p in seen]  # after each iterate, and in between if that takes long
    assert told == sorted(told)
    assert {*told} | {0} == {*range(s.iterations + 1)}
    assert "candidate=" not in repr(last)


@pytest.mark.parametrize("name", ["signed", "completion, ridge", "pursuit"])
def test_gaps_may_be_looked_at(name):
    gaps, duals = [], []

    def callback(progress):
        gaps.append(progress.gap)
        duals.append(progress.dual)

    s = cases()[name].fit(callback=callback)
    assert s.products == answer(name).products
    assert all(dual.y.size == s.certificate.problem.m for dual in duals)
    assert min(gaps) >= 0
    assert s.certificate.gap <= min(gaps) * (1 + 1e-9)


@pytest.mark.parametrize("name", ["signed", "huber", "labels", "completion, ridge", "pursuit", "psd", "joint"])
def test_progress_is_pickled_as_its_figures(name):
    figures = ("stage", "iteration", "candidate_loss", "products", "loss", "misfit", "cardinality")
    seen = []
    s = cases()[name].fit(callback=seen.append)
    for progress in (seen[0], seen[-1]):
        data = pickle.dumps(progress)
        assert len(data) < 1000  # M and b are not in it
        back = pickle.loads(data)
        assert back == pickle.loads(pickle.dumps(back)) or math.isnan(back.misfit + back.gap)
        for known in figures:
            np.testing.assert_equal(getattr(back, known), getattr(progress, known))
    assert math.isnan(back.gap) or back.gap == progress.gap
    assert s.products == answer(name).products  # nothing was computed for it
    _ = progress.gap
    np.testing.assert_equal(pickle.loads(pickle.dumps(progress)).gap, progress.gap)


def test_budgets_are_told_one_by_one():
    case, seen = cases()["nonnegative"], []
    words = {**case.words, "k": [1, 3]}
    path = fa.fit_path(case.M, case.b, callback=lambda p: seen.append((p.problem.budget, p.cardinality)), **words)
    assert {budget for budget, _ in seen} == {Budget(1), Budget(3)}
    assert all(count <= budget.most for budget, count in seen)
    assert path[1].cardinality == 1
