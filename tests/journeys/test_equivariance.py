"""Units, orders, signs, rotations and weights: what changes the question changes the answer alike."""

from __future__ import annotations

import math

import numpy as np
import pytest

import fewatoms as fa
from journeys.asking import by, regression
from journeys.planting import cosines, low_rank, plant

# Equivariance --------------------------------------------------------------------------------------------------------

EQUIVARIANT = {
    "signed": (fa.SignedOneHot(24), 3),
    "nonnegative": (fa.NonnegativeOneHot(24), 3),
    "groups": (fa.Groups(np.arange(24) // 4), 2),
    "rank-one": (fa.RankOne(6, 4), 2),
    "psd": (fa.PSDRankOne(5), 2),
    "union": (fa.SignedOneHot(24) | fa.Dictionary(cosines(24), symmetric=True), (2, 2)),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("factor", [2.0**9, 2.0**-7, 1e-3, 1e6, 1e-30, 1e30])
@pytest.mark.parametrize("what", ["b", "M", "both"])
@pytest.mark.parametrize("name", EQUIVARIANT)
def test_units_do_not_matter(name, what, factor):
    """With b -> s b the answer is s x; with M -> s M it is x / s. For powers of two not even rounding differs."""
    atoms, k = EQUIVARIANT[name]
    rng = np.random.default_rng(12)
    D = rng.standard_normal((20, atoms.n))
    b = D @ rng.random(atoms.n)
    on_b, on_M = {"b": (factor, 1.0), "M": (1.0, factor), "both": (factor, factor)}[what]
    plain = fa.fit(D, b, atoms=atoms, k=k, misfit=0.4, max_iterations=5)
    s = fa.fit(on_M * D, on_b * b, atoms=atoms, k=k, misfit=0.4, max_iterations=5)
    expected = plain.x * (on_b / on_M)
    assert (s.status, s.iterations) == (plain.status, plain.iterations)
    assert s.misfit == pytest.approx(plain.misfit, rel=1e-6)
    if math.frexp(factor)[0] == 0.5 and atoms.finite:
        np.testing.assert_array_equal(s.x, expected)
        assert s.products == plain.products
    else:
        np.testing.assert_allclose(s.x, expected, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize("factor", [8.0, 1e-2])
def test_units_do_not_matter_to_huber_either(factor):
    D, b, _ = regression(2)
    b[3] += 50.0
    plain = fa.fit(D, b, atoms=fa.SignedOneHot(60), k=6, loss=fa.Huber(0.5), max_iterations=5)
    s = fa.fit(D, factor * b, atoms=fa.SignedOneHot(60), k=6, loss=fa.Huber(0.5 * factor), max_iterations=5)
    np.testing.assert_allclose(s.x, factor * plain.x, rtol=1e-6)
    assert s.loss == pytest.approx(factor**2 * plain.loss)


@pytest.mark.parametrize("seed", range(4))
def test_permuted_and_flipped_columns_permute_and_flip_the_answer(seed):
    D, b, _ = regression(seed)
    rng = np.random.default_rng(seed)
    order, flips = rng.permutation(60), rng.choice([-1.0, 1.0], 60)
    plain = fa.fit(D, b, atoms=fa.SignedOneHot(60), k=6, max_iterations=6)
    s = fa.fit((D * flips)[:, order], b, atoms=fa.SignedOneHot(60), k=6, max_iterations=6)
    np.testing.assert_allclose(s.x, (plain.x * flips)[order], atol=1e-9)
    np.testing.assert_array_equal(order[s.indices], plain.indices)
    rows = rng.permutation(30)
    s = fa.fit(D[rows], b[rows], atoms=fa.SignedOneHot(60), k=6, max_iterations=6)
    np.testing.assert_allclose(s.x, plain.x, atol=1e-9)


def test_transposed_matrices_have_transposed_answers():
    planted = plant("rank-one", "sampling", "squares", seed=2)
    M = planted.M
    p, q = planted.x.shape
    turned = fa.Sampling(M.cols, M.rows, (q, p))
    s = planted.fit(alpha=planted.alpha)
    t = fa.fit(turned, planted.b, atoms=fa.RankOne(q, p), k=2, alpha=planted.alpha)
    np.testing.assert_allclose(s.x, t.x.T, atol=1e-3)
    assert s.loss <= planted.alpha
    assert t.loss <= planted.alpha


def test_rotated_data_of_a_full_observation():
    rng = np.random.default_rng(13)
    X = low_rank(rng, 7, 5, 2) + 0.1 * rng.standard_normal((7, 5))
    R = np.linalg.qr(rng.standard_normal((7, 7)))[0]
    s = fa.fit(fa.Identity((7, 5)), X, atoms=fa.RankOne(7, 5), k=2)
    t = fa.fit(fa.Identity((7, 5)), R @ X, atoms=fa.RankOne(7, 5), k=2)
    np.testing.assert_allclose(R @ s.x, t.x, atol=1e-8)
    u, values, vh = np.linalg.svd(X)
    np.testing.assert_allclose(s.x, (u[:, :2] * values[:2]) @ vh[:2], atol=1e-8)  # Eckart and Young
    assert s.loss == pytest.approx(0.5 * np.sum(values[2:] ** 2))


# Bounds and weights --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("misfit", [0.5, 0.1, 1e-3])
def test_misfit_is_a_bound_on_the_relative_residual(misfit):
    D, b, _ = regression(5, noise=1e-5)
    by_misfit = fa.fit(D, b, atoms=fa.SignedOneHot(60), k=6, misfit=misfit)
    by_alpha = fa.fit(D, b, atoms=fa.SignedOneHot(60), k=6, alpha=(misfit * np.linalg.norm(b)) ** 2 / 2)
    assert by_misfit.success
    np.testing.assert_allclose(by_misfit.x, by_alpha.x, rtol=1e-9, atol=1e-12)
    assert np.linalg.norm(b - D @ by_misfit.x) <= misfit * np.linalg.norm(b) * (1 + 1e-9)
    assert by_misfit.misfit == pytest.approx(np.linalg.norm(b - D @ by_misfit.x) / np.linalg.norm(b), rel=1e-6)


@pytest.mark.parametrize("oracle", [None, fa.LevelSet()], ids=["default", "level-set"])
def test_weights_are_scaled_rows(oracle):
    D, b, _ = regression(6)
    w = np.random.default_rng(0).random(30) + 0.1
    root = np.sqrt(w)
    s = fa.fit(D, b, atoms=fa.SignedOneHot(60), k=6, loss=fa.LeastSquares(w), misfit=0.2, method=by(oracle))
    t = fa.fit(root[:, None] * D, root * b, atoms=fa.SignedOneHot(60), k=6, misfit=0.2, method=by(oracle))
    np.testing.assert_allclose(s.x, t.x, atol=1e-8)
    assert s.loss == pytest.approx(t.loss) == pytest.approx(0.5 * np.sum(w * (b - D @ s.x) ** 2))
    assert s.misfit == pytest.approx(t.misfit)


@pytest.mark.parametrize("loss", [fa.LeastSquares, lambda w: fa.Huber(0.5, w), fa.Logistic], ids=["ls", "h", "l"])
def test_integer_weights_are_repeated_rows(loss):
    rng = np.random.default_rng(14)
    D = rng.standard_normal((30, 10))
    D[15:] = -D[:15] + 0.5 * rng.standard_normal((15, 10)) + 0.5 * D[15:]
    b = rng.standard_normal(30)
    w = rng.integers(1, 4, 30)
    s = fa.fit(D, b, atoms=fa.SignedOneHot(10), k=2, loss=loss(w))
    t = fa.fit(np.repeat(D, w, axis=0), np.repeat(b, w), atoms=fa.SignedOneHot(10), k=2, loss=loss(None))
    assert s.loss == pytest.approx(t.loss, rel=1e-8)
    np.testing.assert_allclose(s.x, t.x, atol=1e-5)


def test_weights_reach_the_matrix_sets():
    rng = np.random.default_rng(15)
    X = low_rank(rng, 6, 5, 1)
    noisy = X.copy()
    noisy[2, 3] += 40.0
    w = np.ones((6, 5))
    w[2, 3] = 1e-9
    for M, b in ((fa.Identity((6, 5)), noisy), (fa.Sampling(*np.divmod(np.arange(30), 5), (6, 5)), noisy.ravel())):
        s = fa.fit(M, b, atoms=fa.RankOne(6, 5), k=1, loss=fa.LeastSquares(w.ravel()))
        np.testing.assert_allclose(s.x, X, atol=1e-3)


def test_huber_ignores_what_least_squares_follows():
    rng = np.random.default_rng(16)
    D = rng.standard_normal((40, 20))
    x = np.zeros(20)
    x[[3, 8]] = [2.0, -3.0]
    b = D @ x
    b[[5, 20]] += [60.0, -80.0]
    robust = fa.fit(D, b, atoms=fa.SignedOneHot(20), k=2, loss=fa.Huber(1e-3))
    np.testing.assert_allclose(robust.x, x, atol=1e-3)
    plain = fa.fit(D, b, atoms=fa.SignedOneHot(20), k=2)
    assert np.abs(plain.x - x).max() > 0.1
