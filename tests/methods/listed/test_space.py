"""All coefficients as one vector: products, lengths by probes, fits by conjugate gradients, steps down a ladder."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize_scalar, nnls
from scipy.sparse.linalg import aslinearoperator

import fewatoms as fa
from fewatoms.methods.listed.space import Descent, Ends, Space, shortest
from fewatoms.methods.listed.view import View

M_ROWS, N = 40, 60
KINDS = {
    "signed": fa.SignedOneHot(N),
    "nonnegative": fa.NonnegativeOneHot(N),
    "scaled": -2.0 * fa.SignedOneHot(N),
    "groups": fa.Groups(np.arange(N) % 20),
    "mapped": fa.Mapped(aslinearoperator(np.random.default_rng(8).standard_normal((N, N))), fa.SignedOneHot(N)),
}
LOSSES = {
    "squares": fa.LeastSquares(),
    "weights": fa.LeastSquares(np.random.default_rng(9).uniform(0.5, 2.0, M_ROWS)),
    "huber": fa.Huber(0.5),
    "huber, weights": fa.Huber(0.5, np.random.default_rng(9).uniform(0.5, 2.0, M_ROWS)),
}


def posed(atoms="signed", loss="squares", seed=0, **words):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((M_ROWS, N))
    b = A @ (rng.standard_normal(N) * (rng.random(N) < 0.2)) + rng.standard_normal(M_ROWS)
    return A, fa.Problem.of(aslinearoperator(A), b, atoms=KINDS[atoms], k=5, loss=LOSSES[loss], **words)


def space_of(problem, units=None):
    return Space(problem, View(problem, problem.M, 10_000), units)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loss", LOSSES)
def test_products_are_each_others_adjoint_and_candidates_are_what_they_say(kind, loss):
    A, problem = posed(kind, loss)
    rng = np.random.default_rng(1)
    space = space_of(problem, rng.uniform(0.5, 2.0, N))
    u, r = np.abs(rng.standard_normal(N)), rng.standard_normal(M_ROWS)
    y, _, pulled = space.look(r)
    assert pulled @ u == pytest.approx(y @ space.image(u))
    classes = rng.choice(space.view.count, 4, replace=False)
    fit = space.start(classes, u)
    candidate = space.candidate(fit)
    x = candidate.face.point(candidate.c).ravel()
    np.testing.assert_allclose(problem.b - A @ x, fit.residual, atol=1e-10)
    assert candidate.loss == pytest.approx(problem.loss.value(problem.b - A @ x))
    assert candidate.face.size == 4


@pytest.mark.parametrize("kind", ["signed", "nonnegative", "groups"])
def test_shrinking_is_the_proximal_map(kind):
    """Against points nearby, and zero: none has a lower value."""
    _, problem = posed(kind)
    space, rng = space_of(problem), np.random.default_rng(2)
    u, t = rng.standard_normal(N), rng.uniform(0.1, 1.5, space.view.count)

    def value(x):
        sizes = np.sqrt(np.bincount(np.arange(N) % 20, x * x)) if kind == "groups" else np.abs(x)
        return 0.5 * (x - u) @ (x - u) + sizes @ t

    found = space.shrunk(u, t)
    assert kind != "nonnegative" or found.min() >= 0
    for size in (1e-3, 0.1, 1.0):
        for _ in range(20):
            other = found + size * rng.standard_normal(N) * (rng.random(N) < 0.3)
            other = np.maximum(other, 0.0) if kind == "nonnegative" else other
            assert value(found) <= value(other) + 1e-12
    assert value(found) <= value(0 * u) + 1e-12


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kind", ["signed", "groups", "mapped"])
def test_conjugate_gradients_end_where_slopes_vanish(kind, loss):
    _, problem = posed(kind, loss)
    space, classes = space_of(problem), np.arange(4)
    fit = space.descend(space.start(classes, np.zeros(N)), Ends(200))
    assert np.abs(fit.pulled[fit.spots]).max() <= 1e-6 * np.abs(problem.M.adjoint(problem.b)).max()
    short = space.descend(space.start(classes, np.zeros(N)), Ends(200, gain=0.05))
    assert fit.loss <= short.loss <= problem.at_zero
    low = 0.5 * (fit.loss + problem.at_zero)
    enough = space.descend(space.start(classes, np.zeros(N)), Ends(200, low=low))
    assert fit.loss < enough.loss <= low


def test_fits_are_those_of_lstsq():
    A, problem = posed()
    space, classes = space_of(problem), np.array([3, 50, 11])
    fit = space.descend(space.start(classes, np.ones(N)), Ends(50))
    np.testing.assert_allclose(fit.c, np.linalg.lstsq(A[:, classes], problem.b, rcond=None)[0], atol=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_nonnegative_fits_leave_out_what_would_be_negative(seed):
    A, problem = posed("nonnegative", seed=seed)
    space, classes = space_of(problem), np.arange(8)
    fit = space.descend(space.start(classes, np.zeros(N)), Ends(100))
    assert fit.c.min(initial=0.0) >= 0
    best = nnls(A[:, :8], problem.b)[1]
    assert np.linalg.norm(fit.residual) >= best - 1e-9
    assert fit.loss < problem.at_zero
    inside = np.linalg.lstsq(A[:, fit.classes], problem.b, rcond=None)[0]  # what is left is fitted
    np.testing.assert_allclose(fit.c, inside, atol=1e-8)


@pytest.mark.parametrize("loss", [*LOSSES, "logistic"])
def test_the_lowest_point_along_a_line(loss):
    rng = np.random.default_rng(4)
    f = fa.Logistic() if loss == "logistic" else LOSSES[loss]
    for size in (1e-3, 1.0, 1e3):
        r, image = rng.standard_normal(M_ROWS), size * rng.standard_normal(M_ROWS)
        image *= np.sign(f.gradient(r) @ image)
        t = shortest(f, r, f.gradient(r), image)
        best = minimize_scalar(lambda t: f.value(r - t * image), bounds=(0, 10 / size), method="bounded").fun  # noqa: B023
        reached = f.value(r - t * image)
        assert t > 0
        assert reached <= best + 0.01 * (f.value(r) - best) + 1e-12
    assert shortest(f, r, f.gradient(r), -image) == 0.0
    assert shortest(f, r, f.gradient(r), 0 * image) == 0.0


@pytest.mark.parametrize("loss", ["squares", "weights"])
def test_lengths_are_estimated_whatever_the_units(loss):
    A, problem = posed(loss=loss)
    units = 10.0 ** np.random.default_rng(5).uniform(-6, 6, N)
    units[7] = 0.0
    w = np.ones(M_ROWS) if problem.loss.weights is None else problem.loss.weights
    truth = np.sqrt(w @ (A * units) ** 2)
    other = fa.Problem.of(aslinearoperator(A * units), problem.b, atoms=KINDS["signed"], k=5, loss=problem.loss)
    lengths, spread = space_of(other).lengths(64, np.random.default_rng(6))
    assert lengths[7] == 0.0
    seen = np.delete(np.arange(N), 7)
    ratios = lengths[seen] / truth[seen]
    assert 0.6 < ratios.min() < ratios.max() < 1.6
    assert spread == pytest.approx(np.log(truth[seen]).std(), rel=0.05)
    even, none = space_of(problem).lengths(4, np.random.default_rng(6))
    assert none < 0.4  # of columns that are about as long as each other little is seen through four probes
    assert even.max() < 3 * even.min()


def test_groups_share_one_length():
    _, problem = posed("groups")
    lengths, _ = space_of(problem).lengths(8, np.random.default_rng(0))
    for block in KINDS["groups"].blocks:
        assert np.ptp(lengths[block]) == 0.0


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kind", ["signed", "nonnegative", "groups"])
def test_a_rung_without_relief_solves_the_penalised_problem(kind, loss):
    """Optimality: slopes of what is in use have the size of the penalty, others no more."""
    _, problem = posed(kind, loss)
    space = space_of(problem)
    at_zero = space.start(np.empty(0, dtype=np.intp), np.zeros(N))
    descent = Descent(space, at_zero, relief=1e9)
    lam = 0.3 * space.sizes(at_zero.pulled).max()
    descent.rung(lam, 600, 1e-7, 1)
    slopes = space.sizes(descent.here.pulled)
    assert descent.held == descent.here.classes.size > 0
    np.testing.assert_allclose(slopes[descent.here.classes], lam, rtol=1e-4)
    assert slopes.max() <= lam * (1 + 1e-4)
    np.testing.assert_allclose(descent.here.residual, problem.b - space.image(descent.u), atol=1e-9)


def test_large_coefficients_pay_less_with_relief():
    _, problem = posed()
    space = space_of(problem)
    at_zero = space.start(np.empty(0, dtype=np.intp), np.zeros(N))
    lam, sizes = 0.3 * np.abs(at_zero.pulled).max(), []
    for relief in (1e9, 2.0):
        descent = Descent(space, at_zero, relief)
        for _ in range(3):
            descent.rung(lam, 200, 1e-6, 3)
        sizes.append(np.abs(descent.u).max())
    assert sizes[0] < sizes[1]
