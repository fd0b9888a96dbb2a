"""Methods are asked in turn; a base job has its defaults; a method of one's own writes `iterates` and `retrieve`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import fewatoms as fa
from fewatoms import ledger
from fewatoms.budget import Budget
from fewatoms.candidates import Candidate, DualPoint, Iterate
from fewatoms.effort import NORMAL, QUICK
from fewatoms.faces import Coordinates
from fewatoms.goals import LowestLoss, MeetBound
from fewatoms.methods.base import Job, Method, Pace, choose
from fewatoms.relaxations import P1
from fewatoms.testing import check_method

N = 12
RNG = np.random.default_rng(3)
A = RNG.standard_normal((20, N))
B = A[:, [2, 7]] @ [1.0, -2.0] + 0.1 * RNG.standard_normal(20)
PROBLEM = fa.Problem.of(A, B, atoms=fa.SignedOneHot(N), k=2)


class Greedy(Job):
    """Matching pursuit, with the two members that have to be written."""

    def iterates(self, course):
        inside, left = [], self.problem.b
        for _ in range(max(budget.most for budget in course)):
            z = self.problem.M.adjoint(left)
            lam = float(np.abs(z).max())
            yield Iterate(DualPoint(left, z, lam, P1(self.problem, lam)), None, at=list(inside))
            inside.append(int(np.argmax(np.abs(z))))
            left = self.problem.b - A[:, inside] @ np.linalg.lstsq(A[:, inside], self.problem.b, rcond=None)[0]

    def retrieve(self, iterate, budget):
        at = [*iterate.at, int(np.argmax(np.abs(iterate.dual.z)))][: budget.most]
        c = np.linalg.lstsq(A[:, at], self.problem.b, rcond=None)[0]
        left = self.problem.b - A[:, at] @ c
        face = Coordinates(np.array(at), np.sign(c), (N,))
        return Candidate.of(face, np.abs(c), left, 0.5 * float(left @ left))


@dataclass(frozen=True)
class Own(Method):
    """Opens what it is told to, and says in a list that it was asked."""

    name: str
    opens: bool
    heard: list
    hasty: bool = False

    def open(self, problem, budgets):
        self.heard.append(f"{self.name} quickly" if self.hasty else self.name)
        return Greedy(problem, budgets) if self.opens else None


class Hasty(Own):
    def at(self, effort):
        return Own(self.name, self.opens, self.heard, hasty=True)


# The choice -----------------------------------------------------------------------------------------------------------


def test_methods_are_asked_in_turn_and_the_first_that_opens_serves():
    heard = []
    methods = [Own("a", False, heard), Own("b", True, heard), Own("c", True, heard)]
    job = choose(methods, PROBLEM, [PROBLEM.budget])
    assert isinstance(job, Greedy)
    assert job.problem is PROBLEM
    assert heard == ["a", "b"]


@pytest.mark.parametrize("quick", [False, True])
def test_who_is_quick_is_asked_so(quick):
    """And who has no quick way as ever."""
    heard = []
    effort = QUICK if quick else NORMAL
    choose([Hasty("a", False, heard), Own("b", True, heard)], PROBLEM, [PROBLEM.budget], effort)
    assert heard == (["a quickly", "b"] if quick else ["a", "b"])
    own = Own("b", True, heard)
    assert own.at(QUICK) is own


@pytest.mark.parametrize("count", [1, 2])
def test_a_problem_that_nobody_opens_is_refused(count):
    methods = [Own(name, False, []) for name in "ab"[:count]]
    with pytest.raises(ValueError, match=r"^method must be one for this problem; .* is not one for Problem\(20 data"):
        choose(methods, PROBLEM, [PROBLEM.budget])
    with pytest.raises(ValueError, match=r"^method must be one for this problem; Own\("):
        fa.fit(A, B, atoms=fa.SignedOneHot(N), k=2, method=methods[0])


def test_opening_costs_no_products():
    with ledger.opened() as spent:
        choose(fa.methods.METHODS, PROBLEM, [PROBLEM.budget])
    assert spent.products == 0


# Defaults -------------------------------------------------------------------------------------------------------------


def test_a_base_job_has_its_defaults():
    budgets = (Budget(1), Budget(2))
    job = Greedy(PROBLEM, budgets)
    assert job.budgets == list(budgets)
    assert job.courses() == [list(budgets)]
    assert job.settled(budgets[0]) is budgets[0]
    assert job.decide(budgets) is PROBLEM
    assert job.pace == Pace(200, complete=False)
    assert not job.ranks
    assert job.held_out(budgets[0]) is None
    assert job.serves(PROBLEM) is None
    assert job.snapshot() is None
    assert job.noted() is None
    iterate = next(iter(job.iterates(budgets)))
    assert job.evaluate(iterate) is iterate.dual
    candidate = job.retrieve(iterate, budgets[0])
    assert job.finish(PROBLEM, [candidate, None], last=True) is candidate
    assert job.notes(PROBLEM, candidate.face) == []
    assert job.begin(fa.fit(A, B, atoms=fa.SignedOneHot(N), k=2), PROBLEM) is None


def test_the_goal_is_the_bound_where_there_is_one():
    job = Greedy(PROBLEM, [PROBLEM.budget])
    assert isinstance(job.goal(PROBLEM), LowestLoss)
    assert isinstance(job.goal(PROBLEM.bounded(misfit=0.1)), MeetBound)


def test_closing_lets_go():
    class Kept(Greedy):
        kept = "much"

        def forget(self):
            self.kept = None

    job = Kept(PROBLEM, [PROBLEM.budget])
    assert not job.closed
    job.close()
    assert job.closed
    assert job.kept is None
    plain = Greedy(PROBLEM, [PROBLEM.budget])
    plain.close()
    assert plain.closed


@pytest.mark.parametrize("missing", ["iterates", "retrieve"])
def test_both_members_must_be_written(missing):
    half = type("Half", (Job,), {name: getattr(Greedy, name) for name in ("iterates", "retrieve") if name != missing})
    with pytest.raises(TypeError, match=missing):
        half(PROBLEM, [PROBLEM.budget])
    with pytest.raises(TypeError, match="open"):
        type("None_", (Method,), {})()


# A method of one's own ------------------------------------------------------------------------------------------------


def test_a_method_with_two_members_serves_every_door():
    own, atoms = Own("greedy", True, []), fa.SignedOneHot(N)
    s = fa.fit(A, B, atoms=atoms, k=2, method=own)
    assert set(s.indices.tolist()) == {2, 7}
    assert s.loss == pytest.approx(fa.fit(A, B, atoms=atoms, k=2).loss, rel=1e-9)
    assert s.certificate.gap >= 0
    met = fa.fit(A, B, atoms=atoms, k=2, misfit=0.3, method=own)
    assert met.status is fa.Status.BOUND_MET
    path = fa.fit_path(A, B, atoms=atoms, k=(1, 2), method=own)
    assert path[2].loss == pytest.approx(s.loss, rel=1e-12)
    assert [path[k].cardinality for k in (1, 2)] == [1, 2]
    again = fa.fit(A, B, atoms=atoms, k=2, method=own, start=s)
    assert again.loss <= s.loss * (1 + 1e-12)


def test_a_method_with_two_members_keeps_the_contract():
    check_method(Own("greedy", True, []), PROBLEM, max_iterations=4)
