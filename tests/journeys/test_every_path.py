"""Every method and every oracle x every set: a path answers each k as `fit` does, whichever other k are asked for."""

import numpy as np
import pytest

import fewatoms as fa
from fewatoms import methods, oracles
from journeys.planting import plant

SETS = {
    "signed": "dense",
    "nonnegative": "sparse",
    "cone": "dense",
    "groups": "linear-operator",
    "dictionary": "dense",
    "mapped": "dense",
    "sum": "dense",
    "union": "dense",
    "rank-one": "sampling",
    "low-rank+sparse": "identity",
    "low-rank|sparse": "identity",
    "psd": "quadratic",
}
ORACLES = {
    "level-set": lambda p: oracles.LevelSet(),
    "bisection": lambda p: oracles.LevelSet(oracles.Bisection(), oracles.Bundle()),
    "conditional-gradient": lambda p: oracles.ConditionalGradient(gauge(p)),
    "bundle": lambda p: oracles.Bundle(gauge(p)),
    "proximal-gradient": lambda p: oracles.ProximalGradient(),
    "continuation": lambda p: oracles.Continuation(),
    "corrective": lambda p: oracles.Corrective(),
    "working-set": lambda p: methods.WorkingSet(),
    "iterates": lambda p: oracles.FromIterates([p.b, p.forward(p.x) - 0.5 * p.b]),
}
METHODS = {
    "default": lambda p: None,
    "listed": lambda p: methods.Listed(),
    "completion": lambda p: methods.Completion(),
    "separation": lambda p: methods.Separation(),
    "demixing": lambda p: methods.Demixing(),
    "phases": lambda p: methods.Phases(),
    "exposed": lambda p: methods.Exposed(),
    "general": lambda p: fa.General(),
    "paper-rule": lambda p: fa.General(retrieval=fa.paper_rule()),
    "paper": lambda p: fa.Paper(epsilon=p.alpha),
} | {name: lambda p, make=make: fa.General(oracle=make(p)) for name, make in ORACLES.items()}
CONELESS = ("level-set", "bisection", "conditional-gradient", "bundle", "paper")  # they need a bounded set
JOINED = ("sum", "union", "rank-one", "low-rank+sparse", "low-rank|sparse", "psd")  # their atoms are not listed
WITH_A_BOUND = ("level-set", "bisection", "paper")
STEPS = 4  # dual vectors at most: what is compared is one path with one fit


def gauge(planted):
    """Some level that is about right."""
    return float(np.abs(planted.x).sum())


def budgets(k):
    """The planted one and a smaller one."""
    return [(1,) * len(k), k] if isinstance(k, tuple) else [1, k]


def asked(set_name, name):
    planted = plant(set_name, SETS[set_name], "squares")
    words = {"atoms": planted.atoms, "loss": planted.loss, "max_iterations": STEPS, "method": METHODS[name](planted)}
    if name in WITH_A_BOUND:
        words["alpha"] = planted.alpha
    return planted, words


def opens(set_name, name):
    """Whether a method is for such a problem at all."""
    if set_name == "cone" and name in CONELESS:
        return False
    if name == "working-set" and set_name in JOINED:
        return False
    planted = plant(set_name, SETS[set_name], "squares")
    method = METHODS[name](planted)
    problem = fa.Problem.of(planted.M, planted.b, atoms=planted.atoms, k=planted.k)
    problem = problem.bounded(planted.alpha if name in WITH_A_BOUND else None)
    try:
        return method is None or method.open(problem, [problem.budget]) is not None
    except ValueError:
        return False


PAIRS = [(set_name, name) for set_name in SETS for name in METHODS if opens(set_name, name)]


def test_every_method_opens_something():
    assert {name for _, name in PAIRS} == METHODS.keys() - {"exposed"}  # for sets of which less is known than of ours
    assert {name for name, _ in PAIRS} == SETS.keys()


@pytest.mark.parametrize(("set_name", "name"), PAIRS)
def test_a_path_answers_each_k_as_fit_does(set_name, name):
    planted, words = asked(set_name, name)
    some = budgets(planted.k)
    path = fa.fit_path(planted.M, planted.b, k=some, **words)
    back = fa.fit_path(planted.M, planted.b, k=some[::-1], **words)
    size = planted.value(planted.b)
    for k in some:
        alone = fa.fit(planted.M, planted.b, k=k, **words)
        assert path[k].loss <= alone.loss * (1 + 1e-6) + 1e-18 * size
        assert alone.loss <= path[k].loss * (1 + 1e-6) + 1e-18 * size  # neither better: others do not matter
        assert back[k].loss == pytest.approx(path[k].loss, rel=1e-6, abs=1e-18 * size)
        assert path[k].success == alone.success
