"""Polishing: never a higher loss, never more atoms, and with luck the best answer there is."""

from itertools import combinations

import numpy as np
import pytest

import fewatoms as fa
from fewatoms import ledger
from fewatoms.retrieval import Exchange, Turn, reduced_fit


def vectors(seed, loss=None, atoms=None, k=3, **asked):
    rng = np.random.default_rng(seed)
    M = rng.standard_normal((20, 10)) + rng.standard_normal((20, 1))
    b = M[:, :3] @ [2.0, -1.0, 1.5] + 0.3 * rng.standard_normal(20)
    return fa.Problem.of(M, b, atoms=fa.SignedOneHot(10) if atoms is None else atoms, k=k, loss=loss, **asked)


def matrices(seed, loss=None, k=2, noise=0.1, **asked):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((6, 2)) @ rng.standard_normal((2, 5))
    G = rng.standard_normal((28, 30))
    return fa.Problem.of(
        G, G @ X.ravel() + noise * rng.standard_normal(28), atoms=fa.RankOne(6, 5), k=k, loss=loss, **asked
    )


def intensities(seed, **asked):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((24, 4))
    return fa.Problem.of(fa.Quadratic(A), (A @ rng.standard_normal(4)) ** 2, atoms=fa.PSDRankOne(4), k=1, **asked)


CASES = {
    "signed": lambda s: vectors(s),
    "huber": lambda s: vectors(s, fa.Huber(0.3)),
    "logistic": lambda s: vectors(s, fa.Logistic()),
    "nonnegative": lambda s: vectors(s, atoms=fa.NonnegativeOneHot(10)),
    "groups": lambda s: vectors(s, atoms=fa.Groups(np.arange(10) // 2), k=2),
    "sum": lambda s: vectors(s, atoms=fa.SignedOneHot(10) + fa.Groups(np.arange(10) // 2), k=(2, 1)),
    "rank one": lambda s: matrices(s),
    "rank one, huber": lambda s: matrices(s, fa.Huber(0.3)),
    "phases": lambda s: intensities(s),
}


def worst(problem):
    """A candidate to start from: atoms that a dual vector of no meaning exposes, fitted."""
    z = np.random.default_rng(5).standard_normal(problem.atoms.shape)
    return reduced_fit(problem, problem.atoms.expose(z + z.T if z.shape == (4, 4) else z, problem.k))


def check_kept(problem, before, after):
    """No higher loss, no more atoms, and figures that are those of the point."""
    assert after.loss <= before.loss * (1 + 1e-12)
    assert problem.budget.allows(after.face)
    residual = problem.b - problem.M.apply(after.face.point(after.c))
    np.testing.assert_allclose(after.residual, residual, atol=1e-8 * (1 + np.abs(problem.b).max()))
    assert after.loss == pytest.approx(problem.loss.value(residual), rel=1e-8)


@pytest.mark.parametrize("name", CASES)
def test_the_loss_never_rises_and_the_budget_is_kept(name):
    for seed in range(2):
        problem = CASES[name](seed)
        start = worst(problem)
        for polish in (Exchange(), Exchange(rounds=1), Turn(steps=20)):
            check_kept(problem, start, polish(problem, start))


def test_exchanges_end_where_no_offer_helps():
    """Once more from there gains nothing; and the few supports that there are hold nothing much better."""
    for seed in range(4):
        problem = vectors(seed)
        found = Exchange()(problem, worst(problem))
        assert Exchange()(problem, found).loss >= found.loss * (1 - 1e-6)
        M = problem.M.columns(np.arange(10))
        best = min(
            0.5 * np.linalg.lstsq(M[:, list(s)], problem.b, rcond=None)[1][0] for s in combinations(range(10), 3)
        )
        assert best * (1 - 1e-9) <= found.loss <= 1.5 * best


def test_no_rounds_are_a_turn_alone():
    problem = vectors(0)
    start = worst(problem)
    assert Exchange(rounds=0)(problem, start) is start
    low_rank = matrices(0)
    start = worst(low_rank)
    assert Exchange(rounds=0)(low_rank, start).loss == Turn()(low_rank, start).loss < start.loss


def test_offers_that_gain_too_little_are_refused():
    problem = vectors(1)
    start = worst(problem)
    assert Exchange(gain=1.0)(problem, start) is start


def test_who_meets_the_bound_is_left_alone():
    problem = vectors(0)
    start = worst(problem)
    met = problem.bounded(start.loss * 1.001)
    assert Exchange()(met, start) is start
    low_rank = matrices(0)
    start = worst(low_rank)
    met = low_rank.bounded(start.loss * 1.001)
    assert Turn()(met, start) is start
    between = low_rank.bounded(0.5 * (start.loss + Turn()(low_rank, start).loss))
    found = Turn()(between, start)  # ends as soon as the bound is met
    assert between.meets(found.loss)
    check_kept(between, start, found)


def test_faces_that_cannot_turn_are_left_as_they_are():
    problem = vectors(0)
    start = worst(problem)
    assert Turn()(problem, start) is start
    empty = reduced_fit(matrices(0), matrices(0).atoms.expose(np.zeros((6, 5)), 0))
    assert Turn()(matrices(0), empty) is empty


def test_turning_reaches_exact_data():
    """Where the truth has k atoms and there are data enough, descent on the factors finds it to many digits."""
    for seed in range(3):
        problem = matrices(seed, noise=0.0)
        z = problem.M.adjoint(problem.b)
        found = Turn()(problem, reduced_fit(problem, problem.atoms.expose(z, 2)))
        assert found.loss <= 1e-12 * problem.at_zero
        assert found.cardinality == 2


def test_turning_ends_at_a_stationary_point():
    """Neither factor can be moved for a lower loss: M*y vanishes on the tangent space of rank-two matrices."""
    problem = matrices(1)
    found = Turn(steps=2000)(problem, worst(problem))
    U, V = found.face.factors(found.c)
    z = problem.M.adjoint(problem.loss.gradient(found.residual)).reshape(6, 5)
    size = np.linalg.norm(z)
    assert np.linalg.norm(z @ np.linalg.qr(V)[0]) <= 1e-2 * size
    assert np.linalg.norm(np.linalg.qr(U)[0].T @ z) <= 1e-2 * size


@pytest.mark.parametrize("make", [matrices, intensities], ids=["pairs", "phases"])
def test_the_slope_of_the_unknowns_against_differences(make):
    problem = make(2)
    candidate = worst(problem)
    turning = candidate.face.turning()
    v = turning.unfold(candidate.c)
    measured = Turn().measured(problem, turning)
    image, pull = measured(v)
    np.testing.assert_allclose(image, problem.b - candidate.residual, atol=1e-8)
    y = np.random.default_rng(3).standard_normal(problem.m)
    slope = pull(y)
    for i in range(v.size):
        step = 1e-6 * np.eye(v.size)[i]
        difference = float(y @ (measured(v + step)[0] - measured(v - step)[0])) / 2e-6
        assert slope[i] == pytest.approx(difference, rel=1e-5, abs=1e-5 * np.abs(slope).max())


def test_steps_bound_the_descent():
    problem = matrices(0)
    start = worst(problem)
    losses = [Turn(steps=steps)(problem, start).loss for steps in (0, 1, 5, 300)]
    assert losses[0] == start.loss
    assert losses == sorted(losses, reverse=True)
    assert losses[1] > losses[3]


def test_descents_can_be_stopped(monkeypatch):
    class Enough(Exception):
        pass

    ticks = []

    def hear():
        ticks.append(1)
        raise Enough

    problem = matrices(0)
    start = worst(problem)
    monkeypatch.setattr(ledger, "EVERY", 0.0)  # the clock is heard at every tick
    with pytest.raises(Enough), ledger.opened(hear=hear):
        Turn()(problem, start)
    assert ticks
