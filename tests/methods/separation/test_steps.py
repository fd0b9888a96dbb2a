"""Steps on the low-rank part: subspace iteration, descents that do not climb, points that add up."""

from __future__ import annotations

import math

import numpy as np
import pytest

import fewatoms as fa
from fewatoms import ledger
from fewatoms.methods.separation import Trimming
from fewatoms.methods.separation.matrix import Kept, Mixture
from fewatoms.methods.separation.roles import Roles
from fewatoms.methods.separation.steps import Trims, advanced
from methods.separation.mixed import alternating_projections, mix


def trims(m, count, delta=None, loss=None, **settings):
    atoms = fa.RankOne(*m.shape) + fa.SignedOneHot(m.shape)
    problem = fa.Problem.of(m.M, m.b, atoms=atoms, k=m.k, loss=loss)
    return Trims(Mixture(problem, Roles.of(atoms), Kept(problem)), Trimming(**settings), count, delta)


def low(rng, p, q, rank):
    return rng.standard_normal((p, rank)), np.linalg.qr(rng.standard_normal((q, rank)))[0]


def test_a_step_is_one_of_subspace_iteration():
    """Never farther from the matrix than the best of its rank in the span, and closer than before."""
    rng = np.random.default_rng(0)
    at, R = low(rng, 9, 7, 2), rng.standard_normal((9, 7))
    X = at[0] @ at[1].T + R
    left, V = advanced(at, at[1], R)
    np.testing.assert_allclose(V.T @ V, np.eye(2), atol=1e-13)
    Q = np.linalg.qr(X @ at[1])[0]
    np.testing.assert_allclose(left @ V.T, Q @ Q.T @ X, atol=1e-12)
    for _ in range(500):
        left, V = advanced((left, V), V, X - left @ V.T)
    U, s, Vh = np.linalg.svd(X)
    np.testing.assert_allclose(left @ V.T, (U[:, :2] * s[:2]) @ Vh[:2], atol=1e-6)


@pytest.mark.parametrize("share", [1.0, 0.7])
@pytest.mark.parametrize("weighted", [False, True], ids=["", "weights"])
def test_descents_do_not_climb(weighted, share):
    """The length of what is left after trimming falls from look to look, and passes are charged."""
    m = mix(0, 20, 16, 2, 15, noise=0.1, share=share)
    loss = fa.LeastSquares(np.random.default_rng(1).uniform(0.2, 2.0, m.b.size) if weighted else None)
    run = trims(m, 15, loss=loss, look=1)
    lengths = []
    with ledger.opened() as spent:
        for at in run.descend(run.down(2), 1e-8, 60):
            R = run.data.left(*at)
            R[run.rule.left_out(R)] = 0.0
            lengths.append(float(np.linalg.norm(R)))
    assert lengths[-1] == pytest.approx(min(lengths), rel=1e-6)
    assert lengths[-1] < lengths[0]
    assert spent.ticks <= spent.products <= 4 * spent.ticks  # two columns a pass, four with momentum


def test_descents_end_as_low_as_alternating_projections():
    for seed in range(3):
        m = mix(seed, 18, 14, 2, 12, noise=0.1)
        run = trims(m, 12)
        with ledger.opened():
            point = run.point(run.settle(run.down(2), 1e-6, 300))
        assert point.loss <= alternating_projections(m) * 1.01


@pytest.mark.parametrize("size", [(20.0, 40.0), (1e3, 2e3)], ids=str)
def test_the_ladder_tells_gross_errors_from_low_rank(size):
    """Where it ends, the changed entries are those that are left out."""
    m = mix(1, 30, 24, 2, 30, size=size)
    run = trims(m, 30)
    with ledger.opened():
        R = run.left(run.down(2))
    np.testing.assert_array_equal(run.rule.left_out(R), m.sparse != 0)


def test_starts_are_several_where_single_entries_decide():
    m = mix(2, 12, 9, 1, 6)
    with ledger.opened():
        assert len(list(trims(m, 6).starts(1))) == 3 + Trimming().others
        assert len(list(trims(m, 6, others=2).starts(1))) == 5
        assert len(list(trims(m, 6, small=50).starts(1))) == 1
        for left, V in trims(m, 6).starts(1):
            assert (left.shape, V.shape) == ((12, 1), (9, 1))
            assert np.linalg.norm(V) == pytest.approx(1.0)


@pytest.mark.parametrize("weighted", [False, True], ids=["", "weights"])
@pytest.mark.parametrize("shape", [(12, 9), (9, 12)], ids=str)
def test_a_point_is_what_it_says(shape, weighted):
    """Loss, gauge and freedom told before the atoms are made agree with the atoms."""
    m = mix(3, *shape, 2, 7, noise=0.1, share=0.8)
    loss = fa.LeastSquares(np.random.default_rng(1).uniform(0.2, 2.0, m.b.size) if weighted else None)
    run = trims(m, 7, loss=loss)
    at = low(np.random.default_rng(0), 12, 9, 2)
    point = run.point(at)
    L = at[0] @ at[1].T if shape == (12, 9) else at[1] @ at[0].T
    x = point.face.point(point.c).reshape(shape)
    np.testing.assert_allclose(point.face.parts[0].point(point.face.split(point.c)[0]), L, atol=1e-12)
    np.testing.assert_allclose(point.residual, m.b - x[m.seen], atol=1e-12)
    assert point.loss == pytest.approx(loss.value(point.residual))
    assert point.gauge == pytest.approx(point.face.gauge(point.c))
    assert point.freedom == point.face.freedom
    assert point.face.parts[1].size == 7
    assert run.needed(at) == 7


def test_noise_is_told_with_the_point():
    m = mix(4, 30, 25, 2, 20, size=(3.0, 100.0), noise=0.05)
    with ledger.opened():
        run = trims(m, None)
        point = run.point(trims(m, 20).settle(run.down(2), 1e-6, 200))
    assert point.note.startswith(f"{point.face.parts[1].size} entries stand out of noise of standard deviation")


def test_a_stopped_run_keeps_its_point_if_it_has_no_other():
    m = mix(5, 12, 9, 1, 6)

    def stop():
        raise ledger.Stopped

    for known in (False, True):
        run, at = trims(m, 6), low(np.random.default_rng(0), 12, 9, 1)
        with ledger.opened(None, stop) as spent:
            other = run.point(at)
            spent.found = other if known else None
            spent._last = -math.inf
            with pytest.raises(ledger.Stopped):
                run.left(at)
        assert (spent.found is other) is known
        assert spent.found.loss == pytest.approx(other.loss)
