"""The data as a matrix, thresholds and Gram matrices, against slow obvious twins."""

from __future__ import annotations

import math

import numpy as np
import pytest

import fewatoms as fa
import naive
from fewatoms.capabilities import SeenAsIs
from fewatoms.losses import LeastSquares
from fewatoms.methods.separation.matrix import Kept, Separated, cut_to, decomposed, gram, largest

ARRAYS = {
    "gaussian": lambda rng: rng.standard_normal((7, 5)),
    "ties": lambda rng: rng.integers(-2, 3, (8, 6)).astype(float),
    "one size": lambda rng: rng.choice([-3.0, 3.0], (4, 9)),
    "mostly zeros": lambda rng: rng.standard_normal((6, 6)) * (rng.random((6, 6)) < 0.2),
    "one entry": lambda rng: np.full((1, 1), -2.5),
    "one row": lambda rng: rng.standard_normal((1, 12)),
    "one column": lambda rng: rng.standard_normal((12, 1)),
    "many orders": lambda rng: rng.standard_normal((9, 7)) * 10.0 ** rng.uniform(-12, 12, (9, 7)),
    "gross errors": lambda rng: rng.standard_normal((9, 7)) + 1e9 * (rng.random((9, 7)) < 0.1),
}


# Thresholds -----------------------------------------------------------------------------------------------------------


def cut_by_sorting(R, delta):
    """Between two neighbouring sizes the length of clip(R, -t, t) is known: solve there."""
    a = np.sort(np.abs(R).ravel())
    if np.linalg.norm(a) <= delta:
        return a[-1]
    for i, size in enumerate(a):
        below, above = float(np.sum(a[:i] ** 2)), a.size - i
        if below + above * size**2 >= delta**2:
            return math.sqrt(max(delta**2 - below, 0.0) / above)
    raise AssertionError


@pytest.mark.parametrize("share", [0.0, 1e-9, 1e-3, 0.1, 0.5, 0.9, 0.999999, 1.0, 1.5])
@pytest.mark.parametrize("name", ARRAYS)
def test_a_cut_leaves_a_residual_of_the_length_asked_for(name, share):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        R = ARRAYS[name](rng)
        top, delta = float(np.abs(R).max()), share * float(np.linalg.norm(R))
        right = cut_by_sorting(R, delta)
        for guess in (0.0, right, 0.3 * right, 3 * right, top, 2 * top, 1e-300):
            t = cut_to(R, delta, guess)
            assert np.linalg.norm(np.clip(R, -t, t)) <= max(delta, 1e-300) * (1 + 1e-12)
            assert t == pytest.approx(right, rel=1e-6, abs=1e-12 * top)


@pytest.mark.parametrize("scale", [1e-100, 1e-8, 1e8, 1e100])
def test_a_cut_has_the_units_of_the_data(scale):
    R = np.random.default_rng(0).standard_normal((6, 8))
    assert cut_to(scale * R, scale) == pytest.approx(scale * cut_to(R, 1.0), rel=1e-8)


def test_nothing_needs_no_cut():
    assert cut_to(np.zeros((3, 4)), 0.0) == cut_to(np.zeros((3, 4)), 2.0) == cut_to(np.zeros((0, 4)), 1.0) == 0.0


@pytest.mark.parametrize("name", ARRAYS)
def test_the_largest_are_those_of_a_sorted_list(name):
    """Whatever the guess: they are looked for in a window around it only if they are there."""
    for seed in range(3):
        a = np.abs(ARRAYS[name](np.random.default_rng(seed))).ravel()
        in_order = np.sort(a)[::-1]
        for count in range(1, a.size + 1):
            right = in_order[count - 1]
            for guess in (None, 0.0, math.inf, right, 0.99 * right, 1.01 * right, 1.3 * right, 5 * right, a.max()):
                assert largest(a, count, guess) == right
        assert largest(a, 0) == largest(a, 0, 1.0) == math.inf


# Gram matrices --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(1, 1), (1, 6), (6, 1), (9, 4), (4, 9)], ids=str)
@pytest.mark.parametrize("order", ["C", "F", "strided", "reversed"])
def test_gram_matrices(shape, order):
    X = np.random.default_rng(0).standard_normal(shape)
    wide = np.repeat(X, 2, axis=1)
    X = {"C": X, "F": np.asfortranarray(X), "strided": wide[:, ::2], "reversed": X[::-1, ::-1]}[order]
    before = X.copy()
    G = gram(X)
    np.testing.assert_allclose(G, before.T @ before, atol=1e-13)
    np.testing.assert_array_equal(G, G.T)
    np.testing.assert_array_equal(X, before)


# The data as a matrix -------------------------------------------------------------------------------------------------

SHAPES = [(5, 3), (3, 5), (4, 4), (1, 6), (6, 1), (1, 1)]


def drawn(shape, share, seed=0):
    """A matrix, a mask, and both as a problem's operator and data (entries in no order)."""
    rng = np.random.default_rng(seed)
    X, seen = rng.standard_normal(shape), rng.random(shape) < share
    seen[0, 0] = True
    if share == 1.0:
        return X, seen, fa.Identity(shape), X.ravel()
    rows, cols = rng.permutation(np.argwhere(seen)).T
    return X, seen, fa.Sampling(rows, cols, shape), X[rows, cols]


def separated(M, b, shape, weights=None):
    return Separated(b, shape, M.offers(SeenAsIs).places(), weights)


@pytest.mark.parametrize("share", [1.0, 0.6, 0.2])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_data_stand_with_the_longer_side_as_rows(shape, share):
    X, seen, M, b = drawn(shape, share)
    data = separated(M, b, shape)
    turned = shape[0] < shape[1]
    X, seen = (X.T, seen.T) if turned else (X, seen)
    assert data.turned == turned
    assert data.D.shape[0] >= data.D.shape[1]
    np.testing.assert_array_equal(data.D, X * seen)
    assert (data.seen is None) == seen.all()
    if data.seen is not None:
        np.testing.assert_array_equal(data.seen, seen)
    assert data.size == pytest.approx(np.linalg.norm(b), rel=1e-14)
    assert data.share == pytest.approx(seen.mean(), rel=1e-14)
    assert data.top == pytest.approx(np.linalg.norm(X * seen, 2), rel=1e-7)
    assert data.largest == np.abs(b).max()


@pytest.mark.parametrize("weighted", [False, True], ids=["", "weights"])
@pytest.mark.parametrize("share", [1.0, 0.6])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_there_and_back(shape, share, weighted):
    """Data, residuals, entries and factors in the order and units of the model, whichever way the data stand."""
    X, seen, M, b = drawn(shape, share)
    rng = np.random.default_rng(1)
    w = rng.uniform(0.5, 4.0, b.size) if weighted else np.ones(b.size)
    data = separated(M, b, shape, w if weighted else None)
    np.testing.assert_allclose(data.as_data(data.nothing_explained), b, atol=1e-14)
    U, V = rng.standard_normal((data.D.shape[0], 1)), rng.standard_normal((data.D.shape[1], 1))
    left, right = data.factors(U, V)
    R = data.left(U, V)
    r = b - M.apply(left @ right.T)
    np.testing.assert_allclose(data.as_data(R), r, atol=1e-14)
    assert 0.5 * data.unit * float(np.vdot(R, R)) == pytest.approx(LeastSquares(w).value(r), rel=1e-12)
    assert not data.as_model(R)[~seen].any()
    where, values = data.entries(R, np.abs(R) > 0.3)
    S, root = np.zeros(X.size), np.zeros(shape)
    S[where] = values
    root.ravel()[np.arange(X.size) if share == 1.0 else M.offers(SeenAsIs).places()] = np.sqrt(w / w.max())
    again = np.where(root * np.abs(X - left @ right.T) > 0.3, X - left @ right.T, 0.0) * seen
    np.testing.assert_allclose(S.reshape(shape), again, atol=1e-14)
    assert data.lengths(R, np.abs(R) > 0.3).sum() == pytest.approx(np.abs(S).sum(), rel=1e-12, abs=1e-14)
    pulled = data.pulled(R.copy())  # the gradient of the loss, in units of the largest weight
    np.testing.assert_allclose(pulled, data.as_model(naive.dense_dual(M.adjoint(w / w.max() * r), shape)), atol=1e-14)


def test_weights_that_are_all_equal_are_a_unit():
    X, _, M, b = drawn((5, 4), 0.7)
    plain, data = separated(M, b, X.shape), separated(M, b, X.shape, np.full(b.size, 9.0))
    assert data.root is None
    assert (data.unit, data.share) == (9.0, plain.share)
    np.testing.assert_array_equal(data.D, plain.D)


def test_entries_given_one_by_one_may_be_all_of_them():
    X, _, M, b = drawn((4, 3), 0.999999)
    assert separated(M, b, (4, 3)).seen is None
    np.testing.assert_array_equal(separated(M, b, (4, 3)).D, X)


def test_data_that_were_let_go_are_made_anew():
    _, _, M, b = drawn((5, 4), 0.7)
    kept = Kept(fa.Problem.of(M, b, atoms=fa.RankOne(5, 4) + fa.SignedOneHot((5, 4)), k=(1, 1)))
    first = kept.data
    assert kept.data is first
    kept.forget()
    assert kept.data is not first
    np.testing.assert_array_equal(kept.data.D, first.D)


def test_a_product_of_factors_is_decomposed():
    rng = np.random.default_rng(0)
    left, V = rng.standard_normal((7, 3)), np.linalg.qr(rng.standard_normal((5, 3)))[0]
    P, s, Q = decomposed(left, V)
    np.testing.assert_allclose((P * s) @ Q.T, left @ V.T, atol=1e-13)
    for U in (P, Q):
        np.testing.assert_allclose(U.T @ U, np.eye(3), atol=1e-13)
    np.testing.assert_allclose(s, np.linalg.svd(left @ V.T)[1][:3], atol=1e-13)
