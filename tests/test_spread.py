"""Residuals and dual vectors of clicks against the same with all cells written out."""

import numpy as np
import pytest

import fewatoms as fa
from clicked import KINDS, clicks
from fewatoms.problem import Problem
from fewatoms.relaxations import P1, P2, P3
from fewatoms.spread import Spread, spread


def point(it, rank=3, seed=1):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((it.shape[0], rank)), rng.standard_normal((it.shape[1], rank))


@pytest.fixture(params=KINDS)
def it(request):
    return clicks(request.param)


def posed(it, **words):
    """The problem, and its twin over all cells."""
    atoms = fa.RankOne(*it.shape)
    mine = Problem.of(it.M, it.b, atoms=atoms, k=3, loss=it.loss, **words)
    return mine, Problem.of(it.dense[0], it.dense[1], atoms=atoms, k=3, loss=it.dense_loss, **words)


def test_loss_gradient_and_conjugate(it):
    mine, twin = posed(it)
    U, V = point(it)
    r = mine.b - mine.M.apply_factors(U, V)
    left = it.D - U @ V.T
    np.testing.assert_allclose(r.written(it.rows, it.cols), left, atol=1e-12)
    assert mine.loss.value(r) == pytest.approx(0.5 * np.sum(it.W * left**2), rel=1e-12)
    y = mine.loss.gradient(r)
    np.testing.assert_allclose(y.written(it.rows, it.cols), it.W * left, atol=1e-12)
    assert mine.loss.conjugate(y) == pytest.approx(twin.loss.conjugate((it.W * left).ravel()), rel=1e-12)
    fenchel = mine.loss.value(r) + mine.loss.conjugate(y)  # = <r, y> at a gradient
    assert fenchel == pytest.approx(np.sum(it.W * left**2), rel=1e-12)
    assert mine.loss.smoothness == it.W.max() if it.M.shape[0] < it.D.size else it.W.max() <= mine.loss.smoothness
    assert mine.reference == pytest.approx(twin.reference)


def test_a_dense_matrix_is_measured_like_its_factors(it):
    U, V = point(it)
    one, other = it.M.apply(U @ V.T), it.M.apply_factors(U, V)
    np.testing.assert_allclose(one.seen, other.seen, atol=1e-12)
    assert one.rest == pytest.approx(other.rest, rel=1e-10, abs=1e-10)


def test_adjoint_and_support(it):
    mine, twin = posed(it)
    y = mine.loss.gradient(mine.b - mine.M.apply_factors(*point(it)))
    full = y.written(it.rows, it.cols)
    X = np.random.default_rng(3).standard_normal((it.shape[1], 2))
    z = mine.M.adjoint(y)
    np.testing.assert_allclose(z @ X, full @ X, atol=1e-10)
    np.testing.assert_allclose(z.H @ (full @ X), full.T @ (full @ X), atol=1e-9)
    sigma = np.linalg.svd(full, compute_uv=False)[0]
    assert mine.atoms.ceiling(z) == pytest.approx(sigma, rel=1e-12)
    other = np.random.default_rng(4).standard_normal(mine.m)  # zero elsewhere, as data are
    assert abs(mine.M.adjoint(other) - twin.M.adjoint(_placed(it, other))).max() == 0


def _placed(it, y):
    out = np.zeros(it.shape)
    out[it.rows, it.cols] = y
    return out.ravel()


@pytest.mark.parametrize("make", [lambda p: P1(p, 2.0), lambda p: P2(p, 3.0), P3], ids=["P1", "P2", "P3"])
def test_relaxations(it, make):
    mine, twin = posed(it, alpha=0.3)
    y = mine.loss.gradient(mine.b - 0.1 * mine.M.apply_factors(*point(it)))
    full = y.written(it.rows, it.cols).ravel()
    one, other = make(mine), make(twin)
    z, w = mine.M.adjoint(y), twin.M.adjoint(full)
    sigma = mine.atoms.ceiling(z)
    (t, value), (u, twin_value) = one.feasible(y, z, sigma), other.feasible(full, w, sigma)
    assert value == pytest.approx(twin_value, rel=1e-10)
    np.testing.assert_allclose(t.written(it.rows, it.cols).ravel(), u, atol=1e-12)
    assert one.dual(t) == pytest.approx(value, rel=1e-10)
    x = 0.1 * np.outer(*(half[:, 0] for half in point(it)))
    assert one.primal(x) == pytest.approx(other.primal(x), rel=1e-10)


def test_rest_is_never_below_the_truth(it):
    """It backs bounds: rounding must not make a loss, or a conjugate, smaller."""
    for seed in range(5):
        U, V = point(it, rank=2, seed=seed)
        image = it.M.apply_factors(U, 1e3 * V)
        X = 1e3 * U @ V.T
        X[it.rows, it.cols] = 0.0
        truth = float(np.sum(X.astype(np.longdouble) ** 2))
        assert image.rest >= truth * (1 - 1e-15)
        assert image.rest <= truth + 1e-13 * float(np.sum((1e3 * U @ V.T) ** 2))


def test_it_is_no_array():
    it = clicks()
    image = it.M.apply_factors(*point(it))
    for work in (lambda: np.subtract(it.b, image), lambda: it.b * image, lambda: np.sin(image)):
        with pytest.raises(TypeError):
            work()
    assert isinstance(it.b - image, Spread)
    assert spread(it.b).rest == 0
    assert (0.0 * image).rest == 0
    assert not (0.0 * image).any()
    assert image.any()
    assert "rank 3" in repr(image)
    assert len(image) == image.size == it.b.size
    np.testing.assert_array_equal((image - it.b).seen, image.seen - it.b)
    np.testing.assert_array_equal((-image / 2.0).copy().left, -image.left / 2.0)


def test_normal_equations_over_a_face():
    it = clicks()
    rng = np.random.default_rng(2)
    U, V = (np.linalg.qr(rng.standard_normal((n, 2)))[0] for n in it.shape)
    face = fa.faces.Factors(U, V)
    G, h = it.M.restrict(face).normal_equations(it.b, it.weights)
    H, g = it.dense[0].restrict(face).normal_equations(it.dense[1], it.W.ravel())
    np.testing.assert_allclose(G, H, atol=1e-10)
    np.testing.assert_allclose(h, g, atol=1e-10)
