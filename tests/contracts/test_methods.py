"""Every method keeps its contract on the problems that are its own, and opens no others."""

import numpy as np
import pytest

from contracts.problems import every, ridged, vectors
from fewatoms import General, Identity, Paper, Problem, ledger, paper_rule
from fewatoms.methods import METHODS, Completion, Demixing, Exposed, Listed, Phases, Separation, SmallSemidefinite
from fewatoms.oracles import Continuation, Corrective, LevelSet
from fewatoms.testing import check_method
from test_examples import module

PROBLEMS = every() | ridged()
VECTORS = list(vectors())
GENERAL = ["signed", "groups", "huber", "intercept", "low rank, dense", "low rank, seen", "phases", "two bases"]
OWN = {
    "listed": (Listed(), [*VECTORS, *ridged()]),
    "completion": (Completion(), ["completion", "completion, ridge", "completion, biases"]),
    "separation": (Separation(), ["low rank + sparse"]),
    "demixing": (Demixing(), ["two bases"]),
    "phases": (Phases(), ["phases", "phases, complex"]),
    "small semidefinite": (SmallSemidefinite(), ["phases", "phases, complex"]),
    "general": (General(), GENERAL),
    "general, corrective": (General(Corrective()), ["nonnegative", "groups"]),
    "general, continuation": (General(Continuation(), paper_rule()), ["signed", "low rank, dense"]),
}


def pairs():
    return [pytest.param(method, name, id=f"{method} on {name}") for method, (_, own) in OWN.items() for name in own]


@pytest.mark.parametrize(("method", "name"), pairs())
def test_every_method_keeps_its_contract(method, name):
    check_method(OWN[method][0], PROBLEMS[name], max_iterations=15, tol=1e-6)


@pytest.mark.parametrize("name", ["signed", "groups", "low rank, dense"])
@pytest.mark.parametrize("method", [Paper(epsilon=1e-3), General(LevelSet(), paper_rule())], ids=["paper", "level set"])
def test_methods_that_need_a_bound(name, method):
    problem = PROBLEMS[name]
    check_method(method, problem.bounded(0.2 * problem.at_zero), max_iterations=60)


def test_sets_of_ones_own():
    atoms = module("own_set").Permutations(4)
    traffic = 0.6 * np.eye(4) + 0.4 * np.eye(4)[::-1]
    check_method(Exposed(), Problem.of(Identity((4, 4)), traffic + 0.01, atoms=atoms, k=2), max_iterations=6)


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_first_that_opens_serves_and_opening_is_cheap(name):
    """Somebody opens every problem, without products, whoever was asked before."""
    problem, opened = PROBLEMS[name], []
    with ledger.opened() as spent:
        for method in METHODS:
            job = method.open(problem, [problem.budget])
            if job is not None:
                opened.append(type(method).__name__)
                job.close()
                break
    assert len(opened) == 1
    assert spent.products == 0
