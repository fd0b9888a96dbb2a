"""Least squares over a few images, to the last digit: where a Gram matrix sees, and where it does not."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import lsq_linear

import fewatoms as fa
from fewatoms.methods.listed.squares import fitted, within
from fewatoms.problem import Problem
from methods.listed.small import design, fits_of, refit


def images_of(A, b, nonnegative=False):
    n = A.shape[1]
    atoms = fa.NonnegativeOneHot(n) if nonnegative else fa.SignedOneHot(n)
    images = fits_of(Problem.of(A, b, atoms=atoms, k=n)).images
    return images, images.slots(np.arange(n))


@pytest.mark.parametrize("form", [np.asarray, sp.csc_array])
@pytest.mark.parametrize("ridge", [0.0, 0.2])
@pytest.mark.parametrize("kind", ["plain", "correlated", "units", "duplicated", "low rank"])
def test_the_best_coefficients(kind, ridge, form):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        A = design(kind, rng, 20, 7)
        b = rng.standard_normal(20)
        images, slots = images_of(form(A), b)
        found = fitted(images, slots, ridge)
        unit = A / np.linalg.norm(A, axis=0)
        rows, data = np.vstack([unit, np.sqrt(ridge) * np.eye(7)]), np.concatenate([b, np.zeros(7)])
        left = data - rows[:, found.kept] @ found.c
        np.testing.assert_allclose(found.residual, left[:20], atol=1e-9)
        assert 0.5 * left @ left == pytest.approx(refit(rows, data)[0], rel=1e-7, abs=1e-12)


@pytest.mark.parametrize("near", [1e-3, 4e-7, 1e-10])
def test_columns_are_dependent_when_double_precision_says_so(near):
    A = np.array([[1.0, 1.0], [0.0, near]])
    images, slots = images_of(A, np.ones(2))
    found = fitted(images, slots)
    assert found.kept.size == 2
    assert np.abs(found.residual).max() < 1e-5
    s = fa.fit(A, np.ones(2), atoms=fa.SignedOneHot(2), k=2)
    assert s.cardinality == 2
    assert s.loss < 1e-10


def test_small_residuals_are_seen():
    """Where the data are explained to the last digits, a Gram matrix would leave a misfit of 1e-8."""
    rng = np.random.default_rng(0)
    for scale in (1e-7, 1e-9, 1e-12):
        A = rng.standard_normal((30, 5))
        b = A @ rng.standard_normal(5)
        b = b + scale * rng.standard_normal(30)
        images, slots = images_of(A, b)
        Q = np.linalg.qr(A)[0]
        left = b - Q @ (Q.T @ b)
        np.testing.assert_allclose(np.linalg.norm(fitted(images, slots).residual), np.linalg.norm(left), rtol=1e-2)


def test_nonnegative_coefficients_are_those_of_nnls():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        A = rng.random((10, 6))
        A = np.c_[A, A @ rng.random((6, 2)) / 3]  # mixtures of the others
        b = A @ (rng.random(8) * (rng.random(8) < 0.5)) + (seed % 2) * 0.01 * rng.standard_normal(10)
        images, slots = images_of(A, b, nonnegative=True)
        found = fitted(images, slots, nonnegative=True)
        assert np.all(found.c >= 0)
        assert 0.5 * found.residual @ found.residual <= refit(A, b, nonnegative=True)[0] * (1 + 1e-6) + 1e-15


@pytest.mark.parametrize("form", [np.asarray, sp.csc_array])
@pytest.mark.parametrize("near", [1.0, 1e-3, 1e-6, 0.0])
@pytest.mark.parametrize("ridge", [0.0, 0.2])
def test_coefficients_within_a_box(ridge, near, form):
    """By the Gram matrix where it sees, by QR where it does not."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        A = rng.standard_normal((9, 3)) * 10.0 ** rng.uniform(-6, 6, 3)
        A[:, 2] = A[:, 0] + near * np.linalg.norm(A[:, 0]) * rng.standard_normal(9)
        b, lengths = rng.standard_normal(9), np.linalg.norm(A, axis=0)
        images = fits_of(Problem.of(form(A), b, atoms=fa.SignedOneHot(3), k=3, cap=1.0)).images
        bound = rng.uniform(0.1, 1.0, 3) / lengths
        found = within(images, images.slots(np.arange(3)), ridge, -bound, bound)
        rows, data = np.vstack([A / lengths, np.sqrt(ridge) * np.eye(3)]), np.concatenate([b, np.zeros(3)])
        best = lsq_linear(rows, data, bounds=(-bound * lengths, bound * lengths), method="bvls", tol=1e-14).cost
        assert (np.abs(found.c) <= bound).all()
        np.testing.assert_allclose(found.residual, b - A @ found.c, atol=1e-9)
        left = data - rows @ (found.c * lengths)
        assert 0.5 * left @ left <= best * (1 + 1e-9)
