"""What a run's sweeps keep: points as the user's set sees them, what they reached, which atoms they leave out."""

import math
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

import fewatoms as fa
from fewatoms import ledger
from fewatoms.capabilities import RankOnePairs, need
from fewatoms.methods.lowrank.sweeps import Asked, Spot, Sweeps
from fewatoms.operators import by_lines
from sampled import plant


def asked(e, k=2, scale=1.0, **options):
    atoms = fa.RankOne(*e.shape) if scale == 1.0 else scale * fa.RankOne(*e.shape)
    problem = fa.Problem.of(e.M, e.b, atoms=atoms, k=k, **options)
    return Asked(problem, by_lines(problem.M), need(atoms.unwrapped().inner, RankOnePairs), scale)


def begun(question):
    """Sweeps, and the point after a few of them."""
    run = Sweeps(question, question.opened())
    at = run.F.leading(question.k, run.shrink)
    for _ in range(5):
        at = run.sweep(at, question.lam)
    return run, at


@pytest.mark.parametrize("scale", [1.0, 2.0, -0.5])
@pytest.mark.parametrize(
    "options", [{}, {"ridge": 0.4}, {"free": fa.Biases(0.3), "ridge": 0.4}], ids=["", "ridge", "biases"]
)
def test_a_spot_is_a_point_of_the_users_set(scale, options):
    """In its units and with its sign; loss and gauge are those of the point, y its gradient."""
    e = plant(0, 8, 7, 2, noise=0.3)
    question = asked(e, scale=scale, **options)
    run, at = begun(question)
    spot, problem = run.spot(at), question.problem
    face, c = spot.compact()
    X = face.point(c)
    assert spot.gauge == pytest.approx(np.linalg.norm(X, "nuc") / abs(scale), rel=1e-9)
    assert face.gauge(c) == pytest.approx(spot.gauge, rel=1e-9)
    left = problem.b - X[e.rows, e.cols]
    np.testing.assert_allclose(spot.left(), left, atol=1e-9)
    slack = 1e-2 if "free" in options else 1e-9  # with the biases of the sweep the loss is not lower than with the best
    assert problem.loss.value(left) <= spot.loss * (1 + 1e-9)
    assert problem.loss.value(left) == pytest.approx(spot.loss, rel=slack)
    y, z = spot.dual()
    np.testing.assert_allclose(y, problem.loss.gradient(left), atol=1e-9)
    np.testing.assert_allclose(z.toarray(), e.M.adjoint(y).toarray())
    np.testing.assert_allclose(run.slope(at).toarray(), math.copysign(1.0, scale) * z.toarray())
    assert spot.candidate.loss == spot.loss
    assert spot.iterate().lam == pytest.approx(problem.ridge)


def test_sweeps_are_charged_per_atom():
    question = asked(plant(0, 8, 7, 2, noise=0.3), k=3)
    run = Sweeps(question, question.opened())
    with ledger.opened(0) as spent:
        at = run.F.leading(3, 0.0)
        before = spent.products
        run.sweep(at, 0.1)
        assert spent.products - before == 6
        run.sweep(at.cut(1), 0.1)
        assert spent.products - before == 8
        assert spent.ticks > 2


def test_what_is_worth_a_certificate():
    """Without a bound the lowest objective; with one what is nearest to it, and of those the highest penalty."""
    e = plant(0, 8, 7, 2, noise=0.3)
    question = asked(e, ridge=0.4)
    _, at = begun(question)
    assert Spot(question, at, 1.0, 0.4).worth > Spot(question, at, 2.0, 0.4).worth
    bound = asked(e, alpha=1.0)
    near, far = Spot(bound, at, 1.1, 0.4), Spot(bound, at, 5.0, 0.4)
    assert near.worth > far.worth
    assert replace(near, lam=0.8).worth > near.worth
    assert replace(near, lam=0.0).worth == -math.inf


def test_atoms_that_are_not_worth_it():
    """One that a ridge has made next to nothing of is left out, of a spot and of the last point of a run."""
    e = plant(0, 8, 7, 1, noise=0.1)
    question = asked(e, k=3, ridge=2.0)
    run, at = begun(question)
    at = replace(at, s=np.array([at.s[0], 1e-15, 1e-16]))
    assert run.spot(at).kept.rank == 1
    run, at = begun(question)
    faded = replace(at, s=np.array([at.s[0], 1e-8 * at.s[0], 1e-9 * at.s[0]]))
    run.loss = run.F.loss(faded)
    run.objective = run.loss + 2.0 * faded.gauge
    fewer = run.without_the_least(faded, 2.0)
    assert fewer is not None
    assert fewer.rank == 1
    run, at = begun(asked(e, k=1, ridge=2.0))
    assert run.without_the_least(at, 2.0) is None
    nothing = asked(e, k=1, ridge=1e6)
    run, at = begun(nothing)
    assert run.without_the_least(at, 1e6).rank == 0


def test_a_start_with_fewer_or_more_atoms():
    question = asked(plant(0, 8, 7, 3, noise=0.1), k=2)
    run, at = begun(asked(plant(0, 8, 7, 3, noise=0.1), k=4))
    own = Sweeps(question, run.F)
    assert own.fitted(at).rank == 2
    wider = own.fitted(at.cut(1))
    assert wider.rank == 2
    assert own.F.loss(wider) < own.F.loss(at.cut(1))


@pytest.mark.parametrize("options", [{}, {"ridge": 5.0}, {"misfit": 0.3}], ids=["plain", "ridge", "bound"])
def test_entries_are_let_go_before_the_answer_is_made(options):
    """In both orders 12 bytes an entry beside the user's own; the residual of the answer, 8, does not come on top."""
    rng = np.random.default_rng(0)
    p, q = 600, 500
    rows, cols = np.nonzero(rng.random((p, q)) < 0.7)
    b = rng.standard_normal(p)[rows] * rng.standard_normal(q)[cols] + 0.1 * rng.standard_normal(rows.size)
    M, atoms = fa.Sampling(rows, cols, (p, q)), fa.RankOne(p, q)
    fa.fit(M, b, atoms=atoms, k=1, **options)  # compiled loops are loaded
    tracemalloc.start()
    try:
        s = fa.fit(M, b, atoms=atoms, k=1, **options)
        current, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert s.success
    assert peak <= 24 * b.size
    assert current <= 10 * b.size
