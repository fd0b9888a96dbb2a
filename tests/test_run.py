"""Algorithm 1: dual vectors in, few atoms out. Each budget is answered as if it were alone."""

import numpy as np
import pytest

import fewatoms as fa
from answers import assert_same_arrays, cases
from fewatoms import datasets, ledger
from fewatoms.candidates import Candidate, DualPoint, Iterate
from fewatoms.effort import QUICK
from fewatoms.methods.base import Job, Method, Pace
from fewatoms.problem import Problem
from fewatoms.relaxations import P1
from fewatoms.run import Way, solve, solve_each

B = np.array([3.0, -2.0, 1.0, 0.5])


class Thresholds(Method):
    """A method of one's own for the identity: the largest entries, with a diary of what the run asks of it."""

    def __init__(self, steps=4, together=True):
        self.steps, self.together, self.diary = steps, together, []

    def open(self, problem, budgets):
        if problem.M.shape[0] != problem.M.shape[1]:
            return None
        self.diary.append(("open", len(budgets)))
        return ThresholdsJob(problem, budgets, self)

    def at(self, effort):
        return Thresholds(1)


class ThresholdsJob(Job):
    pace = Pace(patience=2, complete=True)

    def __init__(self, problem, budgets, method):
        super().__init__(problem, budgets)
        self.method = method

    def courses(self):
        return [self.budgets] if self.method.together else [[budget] for budget in self.budgets]

    def iterates(self, course):
        self.method.diary.append(("iterates", [budget.most for budget in course]))
        for i in range(self.method.steps):
            lam = 2.0 / (i + 1)
            y = np.clip(self.problem.b, -lam, lam)
            yield Iterate(DualPoint(y, self.problem.M.adjoint(y), lam, P1(self.problem, lam)))
            self.method.diary.append(("resumed", i))

    def retrieve(self, iterate, budget):
        self.method.diary.append(("retrieve", budget.most))
        b = self.problem.b
        face = fa.SignedOneHot(4).expose(b, budget.most)
        residual = b - face.point(np.abs(b)[face.indices])
        return Candidate.of(face, np.abs(b)[face.indices], residual, 0.5 * float(residual @ residual))

    def finish(self, problem, leaders, *, last):
        self.method.diary.append(("finish", problem.budget.most, last))
        return leaders[0]

    def close(self):
        self.method.diary.append(("close",))
        super().close()


def posed(k=2, **words):
    return Problem.of(np.eye(4), B, atoms=fa.SignedOneHot(4), k=k, **words)


def test_the_walk_of_one_budget():
    method, problem = Thresholds(), posed()
    (s,) = solve(problem, [problem.budget], Way([method]))
    assert (s.status, s.iterations) == (fa.Status.SMALLEST_LOSS, 3)  # two iterates without a better answer
    step = [("retrieve", 2), ("resumed", 0), ("retrieve", 2), ("resumed", 1), ("retrieve", 2)]
    assert method.diary == [("open", 1), ("iterates", [2]), *step, ("finish", 2, True), ("close",)]
    assert s.loss == 0.5 * (1.0 + 0.25)
    assert s.products == 3 + 1  # M*y three times, and the answer measured


def test_one_stream_serves_all_budgets_or_each_has_its_own():
    problem = posed()
    budgets = [
        problem.with_budget(fa.Problem.of(np.eye(4), B, atoms=fa.SignedOneHot(4), k=k).budget).budget for k in (3, 1)
    ]
    for together in (True, False):
        method = Thresholds(together=together)
        answers = solve(problem, budgets, Way([method]))
        assert [s.cardinality for s in answers] == [3, 1]  # in the order asked for
        streams = [entry for entry in method.diary if entry[0] == "iterates"]
        assert streams == ([("iterates", [3, 1])] if together else [("iterates", [3]), ("iterates", [1])])
        alone = [solve(problem.with_budget(k), [k], Way([Thresholds(together=together)]))[0] for k in budgets]
        for s, t in zip(answers, alone, strict=True):
            assert_same_arrays(s.x, t.x)
            assert (s.status, s.iterations) == (t.status, t.iterations)


def test_the_first_method_that_opens_serves():
    class Never(Method):
        def open(self, problem, budgets):
            return None

    problem = posed()
    (s,) = solve(problem, [problem.budget], Way([Never(), Thresholds()]))
    assert s.cardinality == 2
    with pytest.raises(ValueError, match=r"^method must be one for this problem; .*Never"):
        solve(problem, [problem.budget], Way([Never()]))


def test_limits_and_ends_of_streams():
    problem = posed()
    (s,) = solve(problem, [problem.budget], Way([Thresholds()], max_iterations=1))
    assert (s.status, s.iterations) == (fa.Status.ITERATION_LIMIT, 1)
    (s,) = solve(problem, [problem.budget], Way([Thresholds(2)]))
    assert (s.status, s.iterations) == (fa.Status.SMALLEST_LOSS, 2)
    (s,) = solve(problem, [problem.budget], Way([Thresholds(0)]))
    assert (s.iterations, s.cardinality, s.success) == (0, 0, False)
    (s,) = solve(problem, [problem.budget], Way([Thresholds(4)], effort=QUICK))
    assert s.iterations == 1
    bounded = posed(alpha=0.7)
    (s,) = solve(bounded, [bounded.budget], Way([Thresholds()]))
    assert (s.status, s.iterations) == (fa.Status.BOUND_MET, 1)


def test_no_stream_is_begun_where_there_is_nothing_to_do():
    method, problem = Thresholds(), posed(alpha=100.0)
    (s,) = solve(problem, [problem.budget], Way([method]))
    assert s.status is fa.Status.ZERO
    assert method.diary == [("open", 1), ("close",)]


def test_a_stop_closes_the_job_and_answers():
    def stop(progress):
        raise StopIteration

    method, problem = Thresholds(), posed()
    (s,) = solve(problem, [problem.budget], Way([method], callback=stop))
    assert (s.status, s.iterations, s.success) == (fa.Status.STOPPED, 1, True)
    assert method.diary[-2:] == [("finish", 2, False), ("close",)]


def test_an_error_closes_the_job():
    def fail(progress):
        raise KeyError("mine")

    method, problem = Thresholds(), posed()
    with pytest.raises(KeyError, match="mine"):
        solve(problem, [problem.budget], Way([method], callback=fail))
    assert method.diary[-1] == ("close",)
    assert ledger.current().products == 0


def test_the_last_polish_may_be_stopped(monkeypatch):
    monkeypatch.setattr(ledger, "EVERY", 0.0)
    seen = []

    class Polishing(ThresholdsJob):
        def finish(self, problem, leaders, *, last):
            if last:
                ledger.tick()
                seen.append("polished")
            return leaders[0]

    class Slow(Thresholds):
        def open(self, problem, budgets):
            return Polishing(problem, budgets, self)

    def stop(progress):
        seen.append(progress.iteration)
        if len(seen) == 4:
            raise StopIteration

    problem = posed()
    (s,) = solve(problem, [problem.budget], Way([Slow()], callback=stop))
    assert seen == [1, 2, 3, 3]
    assert (s.status, s.cardinality, s.success) == (fa.Status.STOPPED, 2, True)


def test_generators_are_not_used_up():
    """Each course begins with the same state, and the user's generator stays as it is."""
    rng = np.random.default_rng(3)
    before = rng.bit_generator.state
    drawn = []

    class Drawing(ThresholdsJob):
        def iterates(self, course):
            drawn.append(ledger.generator().standard_normal())
            yield from super().iterates(course)

    class Random(Thresholds):
        def open(self, problem, budgets):
            return Drawing(problem, budgets, self)

    problem = posed()
    budgets = [posed(k).budget for k in (1, 2)]
    solve(problem, budgets, Way([Random(together=False)], rng=rng))
    solve(problem, budgets[:1], Way([Random()], rng=3))
    assert len(set(drawn)) == 1
    assert rng.bit_generator.state == before


def test_many_problems_one_after_the_other():
    method = Thresholds()
    problem = posed()
    problems = (problem.with_data(b) for b in (B, 2 * B, np.zeros(4)))
    answers = solve_each(problems, Way([method]))
    first = next(answers)  # each when somebody asks
    assert method.diary.count(("open", 1)) == 1
    rest = list(answers)
    assert [s.loss for s in (first, *rest)] == [0.625, 2.5, 0.0]
    assert rest[1].status is fa.Status.ZERO
    assert method.diary.count(("close",)) == method.diary.count(("open", 1)) == 3


# Seeds ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["signed", "completion, auto", "biases", "psd, complex", "low rank", "robust", "huber"]
)
def test_no_seed_is_a_fixed_seed(name):
    case = cases()[name]
    first, second, zero = case.fit(), case.fit(rng=None), case.fit(rng=0)
    assert_same_arrays(first.x, second.x)
    assert_same_arrays(first.x, zero.x)
    assert (first.products, first.iterations) == (second.products, second.iterations)


MAKERS = {
    "sparse_regression": lambda rng: datasets.sparse_regression(20, 30, 3, noise=0.1, rng=rng).b,
    "low_rank": lambda rng: datasets.low_rank(8, 7, 2, observed=0.5, noise=0.1, rng=rng).values,
    "low_rank_plus_sparse": lambda rng: datasets.low_rank_plus_sparse(8, 7, 2, rng=rng).X,
    "phases": lambda rng: datasets.phases(4, 20, rng=rng).b,
    "gcosspike": lambda rng: datasets.gcosspike(rng=rng).b,
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS.keys())
def test_no_seed_is_a_fixed_seed_in_datasets(make):
    assert_same_arrays(make(None), make(None))
    assert_same_arrays(make(None), make(0))
    assert not np.array_equal(make(None), make(1))


def test_no_seed_is_a_fixed_seed_in_choices():
    case = cases()["signed"]
    path = fa.fit_path(case.M, case.b, k=[1, 2, 3], atoms=fa.SignedOneHot(20))
    scores = [(path.choose_k("cv"), path.scores["cv"].tolist()) for _ in range(2)]
    assert scores[0] == scores[1]


def test_no_seed_is_a_fixed_seed_in_checkers():
    from fewatoms import testing

    class Listening(fa.LeastSquares):
        seen: list

        def value(self, r):
            self.seen.append(r.copy())
            return super().value(r)

    runs = []
    for _ in range(2):
        loss = Listening()
        loss.seen = []
        testing.check_loss(loss, 5)
        runs.append(np.concatenate(loss.seen))
    assert_same_arrays(*runs)


def stops_once():
    """A callback that asks for an end a single time."""
    calls = []

    def callback(progress):
        calls.append(progress.stage)
        if len(calls) == 1:
            raise StopIteration

    return callback, calls


def test_one_stop_ends_all_that_is_still_to_come():
    rng = np.random.default_rng(0)
    M, B = rng.standard_normal((30, 60)), rng.standard_normal((30, 4))
    callback, calls = stops_once()
    many = fa.fit_many(M, B, atoms=fa.SignedOneHot(60), k=4, callback=callback)
    assert {s.status for s in many} == {fa.Status.STOPPED}
    assert len(calls) == 1
    X = rng.standard_normal((12, 10))
    rows, cols = np.nonzero(rng.random(X.shape) < 0.7)
    callback, calls = stops_once()
    path = fa.fit_path(
        fa.Sampling(rows, cols, X.shape), X[rows, cols], atoms=fa.RankOne(12, 10), k=(1, 2, 3), callback=callback
    )
    assert {path[k].status for k in path} == {fa.Status.STOPPED}
    assert len(calls) == 1


@pytest.mark.parametrize("make", [np.random.PCG64, np.random.RandomState, np.random.default_rng])
def test_what_makes_a_generator_is_left_as_it_is(make):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3)) @ rng.standard_normal((3, 50))
    rows, cols = np.nonzero(rng.random(X.shape) < 0.2)
    given = make(3)
    first, second = (
        fa.fit(fa.Sampling(rows, cols, X.shape), X[rows, cols], atoms=fa.RankOne(60, 50), k=2, rng=given).loss
        for _ in range(2)
    )
    assert first == second
