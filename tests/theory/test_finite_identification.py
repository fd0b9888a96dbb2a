"""Finite-time identification: on delta-nondegenerate problems over listed atoms, the top k become the support.

The proof asks for |y - y*| <= delta / (4 |M|_A), and less than twice that is enough; how long an oracle takes to get
there depends on delta.
"""

from itertools import islice

import numpy as np
import pytest

import fewatoms as fa
from fewatoms.oracles import Bisection, Bundle, ConditionalGradient, LevelSet, Newton, ProximalGradient
from theory.evidence import dual_point
from theory.pairs import LOSSES, PLANS, Plan, gentle, pair_with, plant

ANCHORED = LOSSES[:4]
LISTED = [kind for kind in PLANS if "rank one" not in kind and kind != "psd"]
HARD = ("dictionary", "one-sided dictionary", "union", "sum")  # overcomplete: conditional gradients take too long

ORACLES = {
    "level set, Newton": lambda pair: LevelSet(Newton()),
    "level set, bisection": lambda pair: LevelSet(Bisection()),
    "level set, Newton, bundle": lambda pair: LevelSet(Newton(), Bundle()),
    "level set, bisection, bundle": lambda pair: LevelSet(Bisection(), Bundle()),
    "conditional gradient": lambda pair: ConditionalGradient(pair.tau),
    "conditional gradient, one atom": lambda pair: ConditionalGradient(pair.tau, tie=0.0),
    "proximal gradient": lambda pair: ProximalGradient(pair.lam),
    "bundle": lambda pair: Bundle(pair.tau),
}
FAST = [name for name in ORACLES if "bundle" in name or "proximal" in name]
CASES = [(kind, oracle) for kind in LISTED for oracle in ORACLES if kind not in HARD or oracle in FAST]


def budget(pair):
    sizes = tuple(part.size for part in pair.plan.parts)
    return sizes if len(sizes) > 1 else sizes[0]


def with_all_parts(rng, kind, loss, **settings):
    """A gentle pair in which no part of a union is idle."""
    while True:
        pair = gentle(rng, kind, loss, **settings)
        if all(part.size for part in pair.plan.parts):
            return pair


def is_support(pair, face):
    return all(
        set(found.labels().tolist()) == set(true.tolist())
        for found, true in zip(face.parts, pair.plan.parts, strict=True)
    )


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("kind", "oracle"), CASES)
def test_the_papers_rule_ends_with_the_exact_support(kind, oracle):
    rng = np.random.default_rng([1, *map(ord, kind)])
    for loss in ANCHORED:
        pair = with_all_parts(rng, kind, loss)
        for cone in (False, True):
            answer = fa.fit(
                pair.M,
                pair.b,
                atoms=pair.atoms,
                k=budget(pair),
                alpha=pair.alpha,
                loss=pair.loss,
                method=fa.General(oracle=ORACLES[oracle](pair), retrieval=fa.paper_rule(cone=cone)),
            )
            assert answer.status is fa.Status.BOUND_MET
            found = [set(part.indices.tolist()) for part in answer.parts]
            assert found == [set(part.tolist()) for part in pair.plan.parts]
            assert answer.loss <= pair.alpha * (1 + 1e-9)
            assert answer.certificate.meets_bound


@pytest.mark.sampled(2)
@pytest.mark.parametrize("oracle", ORACLES)
@pytest.mark.parametrize("loss", LOSSES)
def test_from_some_iterate_on_every_one_exposes_the_support(loss, oracle):
    rng = np.random.default_rng([2, *map(ord, loss)])
    kind = ("signed", "nonnegative", "groups")[LOSSES.index(loss) % 3]
    pair = gentle(rng, kind, loss, delta=0.5)
    problem = pair.problem(k=budget(pair))
    duals = list(islice(ORACLES[oracle](pair).iterates(problem), *((30, 45) if oracle in FAST else (250, 300))))
    assert duals
    assert all(is_support(pair, problem.atoms.expose(dual.z, problem.k)) for dual in duals)


@pytest.mark.parametrize("kind", LISTED)
def test_within_the_radius_of_the_proof_the_top_atoms_are_the_support(kind):
    rng = np.random.default_rng([3, *map(ord, kind)])
    for trial in range(25):
        planned = float(rng.choice([0.5, 0.05, 1e-3]))
        pair = plant(rng, kind, LOSSES[trial % len(LOSSES)], delta=planned)
        if not all(part.size for part in pair.plan.parts):
            continue
        problem = pair.problem(k=budget(pair))
        away = rng.standard_normal(pair.y.size)
        parts = pair.atoms.parts or (pair.atoms,)  # of a sum, each part has a delta of its own
        delta = min(gap_to_others(part, true, pair.z) for part, true in zip(parts, pair.plan.parts, strict=True))
        assert delta >= 0.99 * planned * pair.lam or kind == "sum"
        radius = delta / problem.atoms.operator_norm(problem.M)
        for share in (0.25, 0.499):  # the proof's quarter; any share below a half will do
            y = pair.y + share * radius * away / np.linalg.norm(away)
            assert is_support(pair, problem.atoms.expose(problem.M.adjoint(y), problem.k))


def gap_to_others(part, true, z):
    values = part.alignments(z)
    return values[true].min() - np.delete(values, true).max()


# How long it takes ---------------------------------------------------------------------------------------------------


def rivals(delta, loss, theta=0.1):
    """Two atoms with nearly parallel images (angle theta) and a rival that falls short of them by delta.

    The rival looks along the direction in which the two differ, where methods are slow.
    """
    r = np.array([0, 0, 0, 1.0, -0.7, 0.4])
    M = np.zeros((6, 4))
    M[0, 0], M[:2, 1], M[1, 2], M[2, 3] = 1.0, (np.cos(theta), np.sin(theta)), 1.0, 1.0
    z = 0.5 * np.linalg.norm(loss.gradient(r)) * np.array([1.0, 1.0, 1.0 - delta, 0.2])
    points = np.eye(4)[:2]
    plan = Plan(fa.SignedOneHot(4), z, np.array([1.0, 10.0]) @ points, 11.0, points, (np.arange(2),))
    return pair_with(M, plan, loss, r)


def iterations_to_identify(pair, oracle, horizon):
    """The first iterate from which on all expose the support, as far as the horizon."""
    problem, last = pair.problem(k=budget(pair)), 0
    for t, dual in enumerate(islice(oracle.iterates(problem), horizon), start=1):
        if not is_support(pair, problem.atoms.expose(dual.z, problem.k)):
            last = t
    assert last < 0.9 * horizon
    return last + 1


@pytest.mark.parametrize("loss", [fa.LeastSquares(), fa.Huber(1.0)], ids=repr)
@pytest.mark.parametrize("oracle", ["proximal gradient", "level set, Newton"])
def test_the_smaller_delta_the_longer_it_takes(oracle, loss):
    pairs = [rivals(delta, loss) for delta in 0.5 ** np.arange(1, 9)]
    counts = [iterations_to_identify(pair, ORACLES[oracle](pair), 400) for pair in pairs]
    assert np.all(np.diff(counts) >= 0)
    assert counts[-1] >= 1.9 * counts[0]
    assert len(set(counts)) >= 4


@pytest.mark.parametrize("oracle", [name for name in ORACLES if "bundle" not in name and "proximal" not in name])
def test_averages_of_tied_atoms_do_not_stall(oracle):
    # Three alignments within one percent of each other away from the solution: their average is no descent direction.
    pair = rivals(0.5**4, fa.LeastSquares(), theta=0.05)
    problem = pair.problem(k=2)
    points = list(islice(ORACLES[oracle](pair).iterates(problem), 1500))
    assert is_support(pair, problem.atoms.expose(points[-1].z, 2))
    assert np.linalg.norm(points[-1].y - pair.y) < 1e-3 * np.linalg.norm(pair.y)
    last = dual_point(problem, fa.P2(problem, pair.tau), points[-1].y)
    assert pair.alpha + last.relaxation.dual_value(last.y, last.support) < 1e-2 * pair.alpha
