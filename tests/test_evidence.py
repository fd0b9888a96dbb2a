"""What a run collects for its certificate: the best feasible pair, bounds on the level, dear points that wait."""

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

import fewatoms as fa
from answers import NAMES, answer, cases
from fewatoms import ledger
from fewatoms.candidates import Candidate, DualPoint, Iterate
from fewatoms.evidence import Evidence, proven_again, rounded_gap
from fewatoms.relaxations import P1, P3
from fewatoms.units import unit_atoms
from theory.ridges import planted

B = np.array([3.0, 2.0, 1.0])


def problem(**words):
    return fa.Problem.of(np.eye(3), B, atoms=fa.SignedOneHot(3), **{"k": 2, **words})


def point(p, lam, relaxation=None):
    """The solution of (P1) for the identity: soft thresholds."""
    y = np.clip(B, -lam, lam)
    x = B - y
    loss, gauge = 0.5 * float(y @ y), float(np.abs(x).sum())
    return DualPoint(y, y, lam, relaxation or P1(p, lam), loss, gauge)


def test_gaps_of_solutions_vanish():
    p = problem()
    evidence = Evidence(p)
    assert evidence.gap == math.inf
    evidence.see(Iterate(point(p, 1.5)))
    assert evidence.relaxation.parameter == 1.5
    assert 0 <= evidence.gap <= 1e-13
    np.testing.assert_allclose(evidence.y, np.clip(B, -1.5, 1.5))


def test_a_new_relaxation_starts_a_new_account():
    p = problem()
    evidence = Evidence(p)
    evidence.see(Iterate(point(p, 1.5)))
    first = evidence.primal
    evidence.see(Iterate(DualPoint(0.1 * B, 0.1 * B, 0.3, P1(p, 0.5))))
    assert evidence.relaxation.parameter == 0.5
    assert evidence.primal == math.inf != first
    evidence.see(Iterate(point(p, 0.5)))
    assert evidence.gap <= 1e-13
    evidence.see(Iterate(DualPoint(0.1 * B, 0.1 * B, 0.3, P1(p, 0.5))))  # a worse one is forgotten
    assert evidence.gap <= 1e-13


def test_candidates_are_primal_points_too():
    p = problem()
    evidence = Evidence(p)
    solution = point(p, 1.5)
    evidence.see(Iterate(DualPoint(solution.y, solution.z, solution.support, solution.relaxation)))
    assert math.isinf(evidence.gap)
    face = fa.SignedOneHot(3).expose(B, 2)
    evidence.see_candidate(Candidate.of(face, np.array([1.5, 0.5]), solution.y, solution.loss))
    assert evidence.gap <= 1e-13


def test_dear_points_wait_and_are_evaluated_once_in_any_thread():
    p, made = problem(), []

    def evaluate(iterate):
        made.append(iterate)
        p.M.adjoint(B)
        return point(p, iterate.worth)

    evidence = Evidence(p, evaluate)
    for worth in (0.5, 1.5, 1.0):
        evidence.see(Iterate(worth=worth))
    face = fa.SignedOneHot(3).expose(B, 2)
    evidence.see_candidate(Candidate.of(face, np.array([1.5, 0.5]), B, 1.0))
    assert evidence.waits
    assert made == []
    with ledger.opened() as outer, ThreadPoolExecutor(4) as pool:
        seen = set(pool.map(lambda _: (evidence.gap, evidence.primal), range(16)))
        assert evidence.settle() is evidence
    assert len(seen) == 1
    assert [iterate.worth for iterate in made] == [1.5]  # the best one alone
    assert not evidence.waits
    assert (outer.products, evidence.products) == (0, 1)  # apart
    assert evidence.primal == min(point(p, 1.5).loss + 1.5 * 2.0, 1.0 + 1.5 * 2.0)


def test_an_evaluation_that_fails_is_made_again():
    p, attempts = problem(), []

    def evaluate(iterate):
        attempts.append(1)
        if len(attempts) == 1:
            raise KeyboardInterrupt
        return point(p, 1.5)

    evidence = Evidence(p, evaluate)
    evidence.see(Iterate(worth=1.0))
    with pytest.raises(KeyboardInterrupt):
        evidence.settle()
    assert evidence.gap <= 1e-13


def test_gaps_are_rounded_up():
    assert rounded_gap(math.inf, -1.0) == rounded_gap(1.0, math.inf) == math.inf
    assert rounded_gap(1.0, -1.0 - 1e-17) > 0
    assert rounded_gap(1.0, -0.5) >= 0.5
    p = fa.Problem.of(np.eye(2), [1e10, -1e10], atoms=fa.SignedOneHot(2), k=1)
    y = np.array([1.0, 1.0])
    assert P1(p, 1.0).feasible(y, y, 1.0)[1] - 1.0 > 1e-6  # large terms that cancel leave their rounding


# Bounds that nobody will meet -----------------------------------------------------------------------------------------


def test_hope_is_given_up_where_sizes_beyond_all_measure_would_be_needed():
    b = np.array([1.0, 1.0, 2.0, 2.0])
    for delta, given_up in ((1e-6, False), (1e-13, True), (0.0, True)):
        M = np.eye(4)[:, :3] * [1.0, 1.0, delta]
        p = fa.Problem.of(M, b, atoms=fa.SignedOneHot(3), k=2, misfit=0.8)
        evidence = Evidence(p)
        for y in (b, np.array([0.0, 0.0, 2.0, 2.0])):
            assert not evidence.hopeless
            evidence.see(Iterate(DualPoint(y, M.T @ y, np.abs(M.T @ y).max(), P3(p))))
        assert evidence.hopeless == given_up


# Units and ridges, where points wait ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["signed", "weighted groups", "dictionary"])
def test_dear_points_in_other_units_count_candidates_in_those(name):
    """A run whose dual vector is dear and in units of the images, with a ridge: its candidates have both gauges."""
    pair = planted(np.random.default_rng(3), name, "least squares", free=True)
    p = pair.case.problem()
    unit = p.over(unit_atoms(p))
    z = p.M.adjoint(pair.y)
    dual = DualPoint(pair.y, z, unit.atoms.ceiling(z), P1(unit, pair.lam))
    loss, optimum = pair.case.value(pair.c, pair.lam, True)
    classes, blocks = pair.support, pair.case.family[2]
    face, c = p.atoms.listing().face(classes), pair.c[np.concatenate([blocks[g] for g in classes])]
    found = Candidate.of(face, c, pair.y, loss, unit_gauge=pair.case.gauge(pair.c, True))
    assert found.squares is None  # made from the columns
    for candidate, known in ((found, True), (replace(found, unit_gauge=None), False)):
        evidence = Evidence(p, lambda iterate: dual)
        evidence.see_candidate(candidate)  # where a run begins
        evidence.see(Iterate(worth=1.0))
        evidence.see_candidate(candidate)
        assert evidence.waits
        assert evidence.gap_at(Iterate(), candidate) <= 1e-9 * optimum if known else True
        if known:
            assert evidence.settle().primal == pytest.approx(optimum, rel=1e-9)
            assert 0 <= evidence.gap <= 1e-9 * optimum
        else:
            assert evidence.gap == math.inf
    # of a point whose squares nobody told, nothing is known
    evidence = Evidence(p)
    evidence.see(Iterate(replace(dual, loss=loss, gauge=pair.case.gauge(pair.c, True))))
    assert evidence.primal == math.inf


# Proven again ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_answers_prove_something_about_themselves(name):
    """Without anything known of the run: (P3) with a bound, else (P1), at the ridge or where y is feasible."""
    s = answer(name)
    p, (face, c) = s.certificate.problem, s.compact
    figures = s.certificate.known().for_another_relaxation()
    evidence = proven_again(p, face, c, figures, p.atoms)
    assert evidence.waits
    evidence.settle()
    assert isinstance(evidence.relaxation, P3 if p.alpha is not None else P1)
    if p.price.on_gauge:
        assert evidence.relaxation.parameter == p.ridge
    assert evidence.gap >= 0
    if evidence.y is not None and evidence.relaxation.name == "P1" and p.atoms.bounded:
        sigma = p.atoms.ceiling(p.M.adjoint(evidence.y))
        assert sigma <= evidence.relaxation.parameter * (1 + 1e-9) or math.isinf(evidence.gap)


def test_a_dual_vector_may_be_given():
    s = cases()["signed"].fit()
    p, (face, c) = s.certificate.problem, s.compact
    figures = s.certificate.known()
    evidence = proven_again(p, face, c, figures, s.certificate.atoms, s.certificate.y)
    with ledger.opened() as spent:
        evidence.settle()
    assert (spent.products, evidence.products) == (0, 1)
    np.testing.assert_allclose(evidence.y, s.certificate.y, rtol=1e-9)
    assert evidence.dual == pytest.approx(s.certificate.dual, rel=1e-9)
