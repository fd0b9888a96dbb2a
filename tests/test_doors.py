"""The contract of fit: what it returns first, what it keeps, whom it tells, and where it ends."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.sparse.linalg import LinearOperator

import fewatoms as fa
from fewatoms import oracles
from fewatoms.candidates import DualPoint
from journeys.asking import by, regression, trace
from journeys.planting import low_rank, spikes, squares

# First answer, best answer -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_with_a_bound_the_first_answer_that_meets_it(seed):
    D, b, _ = regression(seed)
    common = {
        "M": D,
        "b": b,
        "atoms": fa.SignedOneHot(60),
        "k": 6,
        "method": fa.General(fa.LevelSet(), fa.paper_rule()),
    }
    _, seen = trace(**common, alpha=1e-3 * squares(b), max_iterations=60)
    alpha = sorted(p.candidate_loss for p in seen)[2]  # a loss that some iterate reaches, not the best one
    s, again = trace(**common, alpha=alpha, max_iterations=60)
    losses = [p.candidate_loss for p in again]
    assert s.status is fa.Status.BOUND_MET
    assert s.iterations == len(again) == next(t for t, loss in enumerate(losses, 1) if loss <= alpha * (1 + 1e-12))
    if s.iterations > 1:
        short = fa.fit(**common, alpha=alpha, max_iterations=s.iterations - 1)
        assert short.status is fa.Status.ITERATION_LIMIT
        assert not short.success
        assert short.loss > alpha


@pytest.mark.parametrize("bound", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_the_best_candidate_is_kept(seed, bound):
    D, b, _ = regression(seed)
    s, seen = trace(
        M=D,
        b=b,
        atoms=fa.SignedOneHot(60),
        k=6,
        alpha=0.0 if bound else None,
        method=fa.General(oracle=fa.LevelSet() if bound else oracles.ProximalGradient(1.0), retrieval=fa.paper_rule()),
        max_iterations=40,
    )
    candidates = [p.candidate_loss for p in seen]
    assert [p.loss for p in seen] == np.minimum.accumulate(candidates).tolist()
    assert min(candidates) < candidates[-1]  # otherwise nothing had to be kept
    assert s.loss == pytest.approx(min(candidates), rel=1e-9)
    assert s.loss == pytest.approx(squares(b - D @ s.x), rel=1e-9)
    assert np.count_nonzero(s.x) <= 6


@pytest.mark.parametrize("seed", range(5))
def test_k_alone_against_all_subsets(seed):
    """Small enough to look at all pairs: the answer is the best pair in easy cases, and never better than the best."""
    from itertools import combinations

    rng = np.random.default_rng(seed)
    D = rng.standard_normal((12, 10))
    b = D @ spikes(rng, 10, 2) + 0.3 * rng.standard_normal(12)

    def loss_of(pair):
        return squares(b - D[:, pair] @ np.linalg.lstsq(D[:, pair], b, rcond=None)[0])

    best = min(loss_of(list(pair)) for pair in combinations(range(10), 2))
    s = fa.fit(D, b, atoms=fa.SignedOneHot(10), k=2)
    assert s.status is fa.Status.SMALLEST_LOSS
    assert s.success
    assert s.loss == pytest.approx(best, rel=1e-9)


def test_more_atoms_than_needed_are_not_used():
    D, b, _ = regression(0, noise=0.0)
    s = fa.fit(D, b, atoms=fa.SignedOneHot(60), k=20, misfit=1e-9)
    assert s.success
    assert np.count_nonzero(s.x) <= 20
    matrix = low_rank(np.random.default_rng(0), 8, 7, 2)
    s = fa.fit(fa.Identity((8, 7)), matrix, atoms=fa.RankOne(8, 7), k=5, misfit=1e-10)
    assert s.cardinality == 2
    assert s.left.shape == (8, 2)


@pytest.mark.parametrize("k", [1, 60])
def test_the_ends_of_the_range_of_k(k):
    rng = np.random.default_rng(1)
    D = rng.standard_normal((80, 60))
    b = D @ rng.standard_normal(60)
    s = fa.fit(D, b, atoms=fa.SignedOneHot(60), k=k, misfit=1e-8)
    assert s.success is (k == 60)
    assert 1 <= np.count_nonzero(s.x) <= k
    if k == 1:
        best = min(squares(b - d * (d @ b) / (d @ d)) for d in D.T)
        assert s.loss == pytest.approx(best)


# The callback --------------------------------------------------------------------------------------------------------


def test_the_callback_sees_each_iterate():
    D, b, _ = regression(3)
    s, seen = trace(M=D, b=b, atoms=fa.SignedOneHot(60), k=6, max_iterations=5)
    assert [p.iteration for p in seen] == list(range(1, s.iterations + 1))
    for p in seen:
        assert isinstance(p, fa.Progress)
        assert p.loss <= p.candidate_loss
        assert p.misfit == pytest.approx(math.sqrt(p.loss / squares(b)))
        assert p.cardinality <= 6
        assert p.gap >= 0
        assert p.problem.k == 6
        assert squares(b - D @ p.candidate.face.point(p.candidate.c)) == pytest.approx(p.loss)
        np.testing.assert_allclose(p.dual.z, D.T @ p.dual.y)


@pytest.mark.parametrize("last", [1, 3])
def test_stop_iteration_stops(last):
    D, b, _ = regression(3)
    losses = []

    def stop(progress):
        losses.append(progress.loss)
        if progress.iteration == last:
            raise StopIteration

    s = fa.fit(D, b, atoms=fa.SignedOneHot(60), k=4, callback=stop)  # fewer than were planted: no answer stands out
    assert s.status is fa.Status.STOPPED
    assert s.iterations == last == len(losses)
    assert s.loss == pytest.approx(losses[-1])
    assert "callback" in s.message
    s = fa.fit(D, b, atoms=fa.SignedOneHot(60), k=6, alpha=1e-9, callback=stop)
    assert not s.success  # it was asked for a bound and stopped short of it


def test_other_exceptions_pass_unchanged():
    class Own(Exception):
        pass

    for error in (Own("mine"), KeyboardInterrupt(), ValueError("k must ..."), GeneratorExit()):

        def fail(progress, error=error):
            raise error

        with pytest.raises(type(error)) as caught:
            fa.fit(np.eye(3), np.ones(3), atoms=fa.SignedOneHot(3), k=1, callback=fail)
        assert caught.value is error


def test_errors_of_the_operator_pass_unchanged():
    error = OSError("the disk is full")

    def fail(_):
        raise error

    M = LinearOperator((3, 3), matvec=lambda x: x, rmatvec=fail, dtype=float)
    with pytest.raises(OSError, match="disk") as caught:
        fa.fit(M, np.ones(3), atoms=fa.SignedOneHot(3), k=1)
    assert caught.value is error


# Bounds that cannot be met -------------------------------------------------------------------------------------------


def overdetermined(seed, noise=0.5):
    rng = np.random.default_rng(seed)
    D = rng.standard_normal((40, 8))
    b = D @ np.array([3.0, -2, 0, 0, 0, 0, 0, 0]) + noise * rng.standard_normal(40)
    return D, b, squares(b - D @ np.linalg.lstsq(D, b, rcond=None)[0])


@pytest.mark.parametrize("oracle", [None, fa.LevelSet(), fa.LevelSet(oracles.Bisection())], ids=["a", "b", "c"])
@pytest.mark.parametrize("seed", range(3))
def test_a_bound_below_all_losses_is_a_status_with_the_best_answer(seed, oracle):
    D, b, least = overdetermined(seed)
    s = fa.fit(D, b, atoms=fa.SignedOneHot(8), k=8, alpha=0.5 * least, method=by(oracle))
    assert s.status in (fa.Status.NOT_REACHED, fa.Status.UNREACHABLE, fa.Status.ITERATION_LIMIT)
    assert not s.success
    assert s.certificate.meets_bound is False
    assert s.loss == pytest.approx(least, rel=1e-9)  # the best answer there is
    assert f"{0.5 * least:.6g}" in s.message


@pytest.mark.parametrize("seed", range(3))
def test_unreachable_is_proved(seed):
    D, b, least = overdetermined(seed)
    s = fa.fit(
        D,
        b,
        atoms=fa.SignedOneHot(8),
        k=3,
        alpha=0.9 * least,
        method=fa.General(oracle=fa.LevelSet(inner=oracles.Bundle())),
    )
    assert s.status is fa.Status.UNREACHABLE
    assert not s.success
    assert "Proved" in s.message
    # the size that is proved to be needed exceeds that of the least-squares solution by far
    assert s.certificate.tau_lower > 1e4 * np.abs(np.linalg.lstsq(D, b, rcond=None)[0]).sum()


@pytest.mark.parametrize("seed", range(4))
def test_what_is_proved_about_the_size_is_true(seed):
    """tau_lower never exceeds the gauge of a point that meets the bound."""
    D, b, least = overdetermined(seed)
    x = np.linalg.lstsq(D, b, rcond=None)[0]
    for oracle in (None, fa.LevelSet(), fa.LevelSet(inner=oracles.Bundle())):
        s = fa.fit(D, b, atoms=fa.SignedOneHot(8), k=1, alpha=least * (1 + 1e-6), method=by(oracle), max_iterations=200)
        assert s.status is not fa.Status.UNREACHABLE
        assert not s.success
        assert 0 < s.certificate.tau_lower <= np.abs(x).sum() * (1 + 1e-9)


@pytest.mark.parametrize("atoms", [fa.SignedOneHot(4), fa.NonnegativeCone(4), fa.RankOne(2, 2)], ids=repr)
def test_data_that_no_column_sees(atoms):
    D = np.array([[1.0, 2.0, 3.0, 4.0], [0.0, 0.0, 0.0, 0.0]])
    s = fa.fit(D, [0.0, 1.0], atoms=atoms, k=1, misfit=0.5)
    assert s.status in (fa.Status.NOT_REACHED, fa.Status.UNREACHABLE)
    assert s.loss == 0.5
    s = fa.fit(np.zeros((2, 4)), [3.0, 1.0], atoms=atoms, k=1)
    assert s.status is fa.Status.SMALLEST_LOSS
    assert s.loss == 5.0


def test_the_iteration_limit_is_a_status():
    D, b, _ = regression(0)
    for limit in (1, 2):
        s = fa.fit(D, b, atoms=fa.SignedOneHot(60), k=2, alpha=1e-6, max_iterations=limit)
        assert s.status is fa.Status.ITERATION_LIMIT
        assert s.iterations == limit
        assert not s.success
        assert "max_iterations" in s.message
    s = fa.fit(D, b, atoms=fa.SignedOneHot(60), k=2, max_iterations=1)
    assert s.status is fa.Status.ITERATION_LIMIT
    assert s.success  # with k alone any answer with at most k atoms is one


# Streams of all sorts ------------------------------------------------------------------------------------------------


def test_a_stream_that_ends():
    D, b, _ = regression(1)
    vectors = [b, 2 * b, np.ones(30), np.zeros(30), -b]
    s = fa.fit(D, b, atoms=fa.SignedOneHot(60), k=6, alpha=1e-9, method=fa.General(oracle=fa.FromIterates(vectors)))
    assert s.status is fa.Status.STREAM_ENDED
    assert s.iterations == 5
    assert not s.success
    s = fa.fit(D, b, atoms=fa.SignedOneHot(60), k=6, method=fa.General(oracle=fa.FromIterates(vectors)))
    assert s.success
    assert np.count_nonzero(s.x) <= 6


def test_an_empty_stream_gives_no_atoms_and_no_success():
    for bound in ({}, {"misfit": 0.5}):
        s = fa.fit(
            np.eye(3), np.ones(3), atoms=fa.SignedOneHot(3), k=1, method=fa.General(oracle=fa.FromIterates([])), **bound
        )
        assert (s.status, s.success, s.cardinality) == (fa.Status.STREAM_ENDED, False, 0)
        assert s.loss == 1.5
        assert str(s.certificate)


def test_an_endless_stream_without_progress_comes_to_an_end():
    class Stuck:
        def iterates(self, problem):
            y = problem.b
            z = problem.M.adjoint(y)
            while True:
                yield DualPoint(y, z, problem.atoms.support(z), fa.P1(problem, problem.atoms.support(z)))

    class Hasty(Stuck):
        patience = 3

    D, b, _ = regression(1)
    slow = fa.fit(D, b, atoms=fa.SignedOneHot(60), k=6, method=fa.General(oracle=Stuck(), retrieval=fa.paper_rule()))
    hasty = fa.fit(D, b, atoms=fa.SignedOneHot(60), k=6, method=fa.General(oracle=Hasty(), retrieval=fa.paper_rule()))
    assert slow.status is hasty.status is fa.Status.SMALLEST_LOSS
    assert slow.loss == hasty.loss
    assert hasty.iterations == 4 < slow.iterations < 1000
    s = fa.fit(
        D, b, atoms=fa.SignedOneHot(60), k=2, misfit=1e-9, method=fa.General(oracle=Hasty(), retrieval=fa.paper_rule())
    )
    assert s.status is fa.Status.NOT_REACHED


def test_nonsense_vectors_cannot_spoil_a_good_answer():
    rng = np.random.default_rng(11)
    D = rng.standard_normal((20, 30))
    b = D @ spikes(rng, 30, 2)

    def stream():
        yield b
        for _ in range(20):
            yield 1e6 * rng.standard_normal(20)

    s, seen = trace(
        M=D,
        b=b,
        atoms=fa.SignedOneHot(30),
        k=2,
        method=fa.General(oracle=fa.FromIterates(stream()), retrieval=fa.paper_rule()),
    )
    assert s.loss == pytest.approx(min(p.candidate_loss for p in seen), rel=1e-9, abs=1e-25)
    assert all(p.gap >= 0 for p in seen)
