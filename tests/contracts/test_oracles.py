"""Every oracle keeps its contract, on every problem that it is for; with and without a bound."""

import numpy as np
import pytest

from contracts.problems import every
from fewatoms.methods import WorkingSet
from fewatoms.oracles import (
    Bisection,
    Bundle,
    ConditionalGradient,
    Continuation,
    Corrective,
    FromIterates,
    LevelSet,
    Newton,
    ProximalGradient,
)
from fewatoms.testing import check_oracle

PROBLEMS = every()
ORACLES = {
    "conditional gradient": ConditionalGradient(tau=1.5),
    "bundle": Bundle(tau=1.5),
    "proximal gradient": ProximalGradient(lam=0.5),
    "continuation": Continuation(),
    "corrective": Corrective(),
    "level set": LevelSet(),
    "level set, bisection": LevelSet(root=Bisection()),
    "level set, bundle": LevelSet(root=Newton(), inner=Bundle()),
    "working set": WorkingSet(),
}


def asked(oracle, problem):
    """The problem as the oracle takes it."""
    return problem.bounded(0.1 * problem.at_zero) if oracle.startswith("level set") else problem


def taken(oracle, name):
    """Whether the oracle is for the problem: it refuses others with a word."""
    problem = PROBLEMS[name]
    if oracle == "working set" and (problem.atoms.listing() is None or len(problem.M.model_shape) > 1):
        return False
    if not problem.atoms.bounded:
        return oracle in ("proximal gradient", "continuation", "corrective")
    return name not in ("completion, ridge", "completion, biases", "capped", "restricted")  # not (P1), (P2) or (P3)


PAIRS = [pytest.param(o, n, id=f"{o} on {n}") for o in ORACLES for n in PROBLEMS if taken(o, n)]


@pytest.mark.parametrize(("oracle", "name"), PAIRS)
def test_every_oracle_keeps_its_contract(oracle, name):
    check_oracle(ORACLES[oracle], asked(oracle, PROBLEMS[name]), most=4, tol=1e-6)


@pytest.mark.parametrize("name", ["signed", "huber", "logistic", "low rank, dense", "phases"])
def test_vectors_from_anywhere(name):
    problem = PROBLEMS[name]
    rng = np.random.default_rng(0)
    ys = [problem.b, 0.5 * problem.b + rng.standard_normal(problem.m), rng.standard_normal(problem.m)]
    check_oracle(FromIterates(ys), problem)
    check_oracle(FromIterates(ys), problem.bounded(0.3 * problem.at_zero))
