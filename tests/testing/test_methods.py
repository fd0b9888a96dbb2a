"""The checker of methods fails on methods that are broken on purpose, and says which identity it is."""

from dataclasses import replace

import numpy as np
import pytest

from contracts.families import generator
from fewatoms import Problem, SignedOneHot, ledger
from fewatoms.methods import Listed
from fewatoms.methods.base import Method
from fewatoms.retrieval import reduced_fit
from fewatoms.testing import check_method
from test_examples import module

M = generator(1).standard_normal((12, 20))
B = M[:, 0] - 2.0 * M[:, 5] + M[:, 9] + 0.3 * generator(2).standard_normal(12)
own = module("own_method")
LIPSCHITZ = float(np.linalg.norm(M, 2) ** 2)


def problem(k=2, **more):
    return Problem.of(M, B, atoms=SignedOneHot(20), k=k, **more)


class Changed(Method):
    """Hard thresholding with another job."""

    def __init__(self, job):
        self.job, self.lipschitz = job, LIPSCHITZ

    def open(self, problem, budgets):
        return self.job(problem, budgets, self)


class Multiplying(own.Thresholds):
    def __init__(self, problem, budgets, method):
        super().__init__(problem, budgets, method)
        problem.M.apply(np.zeros(20))


class Spendthrift(own.Thresholds):
    """One atom more than allowed."""

    def retrieve(self, iterate, budget):
        return reduced_fit(self.problem, self.problem.atoms.expose(iterate.dual.z, budget.k + 1))


class Boasting(own.Thresholds):
    """A loss that is lower than that of its atoms."""

    def retrieve(self, iterate, budget):
        return replace(super().retrieve(iterate, budget), loss=0.5)


class Cheap(own.Thresholds):
    def retrieve(self, iterate, budget):
        return replace(super().retrieve(iterate, budget), gauge=0.1)


class Open(own.Thresholds):
    def close(self):
        """Nothing is let go of."""


class Worse(own.Thresholds):
    """Ends with something else than the best."""

    def finish(self, problem, leaders, *, last):
        return reduced_fit(problem, problem.atoms.expose(np.eye(20)[3], 1))


class Random(own.Thresholds):
    """From a generator of its own."""

    rng = np.random.default_rng(0)

    def retrieve(self, iterate, budget):
        return reduced_fit(self.problem, self.problem.atoms.expose(self.rng.standard_normal(20), budget.k))


class Lazy(own.Thresholds):
    """Gives up at once where there is a bound."""

    def retrieve(self, iterate, budget):
        z = np.eye(20)[3] if self.problem.alpha is not None else iterate.dual.z
        return reduced_fit(self.problem, self.problem.atoms.expose(z, 1))


BROKEN = {
    Multiplying: "open makes no products does not hold: 1",
    Spendthrift: r"candidates keep the budget does not hold: 3 atoms for k = 2",
    Boasting: "a candidate's loss is that of its point",
    Cheap: "a candidate's gauge is that of its representation",
    Open: r"close\(\) closes the job",
    Worse: "the answer is the best that was seen",
    Random: "the same seed gives the same answer",
    Lazy: "a bound that can be met is met",
}


@pytest.mark.parametrize("job", BROKEN, ids=lambda job: job.__name__)
def test_broken_methods_are_named(job):
    check_method(Changed(own.Thresholds), problem(), max_iterations=20)
    with pytest.raises(AssertionError, match=rf"{BROKEN[job]}"):
        check_method(Changed(job), problem(), max_iterations=20)


def test_products_past_the_counter_are_named():
    """Of a job that keeps what it multiplies with from whoever counts."""

    class Secret(own.Thresholds):
        def retrieve(self, iterate, budget):
            ledger.spend(1)
            return super().retrieve(iterate, budget)

    with pytest.raises(AssertionError, match=r"products are all counted does not hold: [0-9]+ told, [0-9]+ counted"):
        check_method(Changed(Secret), problem(), max_iterations=20)


def test_a_problem_that_is_not_its_own_is_named():
    class Nobody(Method):
        def open(self, problem, budgets):
            return None

    with pytest.raises(AssertionError, match="gives a job for its own problems does not hold: None for Problem"):
        check_method(Nobody(), problem())


def test_a_job_that_is_none_is_named():
    class Odd(Method):
        def open(self, problem, budgets):
            return "a job"

    with pytest.raises(AssertionError, match="open gives a Job does not hold: str"):
        check_method(Odd(), problem())


def test_several_problems_at_once():
    check_method(Listed(), [problem(), problem(k=1), problem(k=3, misfit=0.1)], max_iterations=10)


def test_a_method_that_writes_into_the_data_is_named():
    class Writing(own.Thresholds):
        def retrieve(self, iterate, budget):
            found = super().retrieve(iterate, budget)
            self.problem.b[0] += 1e-3
            return found

    with pytest.raises(AssertionError, match="does not hold"):
        check_method(Changed(Writing), Problem.of(M, B.copy(), atoms=SignedOneHot(20), k=2), max_iterations=5)
