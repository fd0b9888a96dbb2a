"""Quadratic measurements: intensities, squared distances, precision."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, aslinearoperator

from contracts.families import generator, over, precision, square_operators
from fewatoms import Quadratic


@pytest.mark.parametrize("complex_", [False, True])
def test_quadratic_measures_intensities(complex_):
    rng = generator(15)
    A, x = rng.standard_normal((6, 4)), rng.standard_normal(4)
    if complex_:
        A, x = A + 1j * rng.standard_normal((6, 4)), x + 1j * rng.standard_normal(4)
    for given in (A, sp.csr_array(A), aslinearoperator(A)):
        image = Quadratic(given).apply(np.outer(x, x.conj()))
        np.testing.assert_allclose(image, np.abs(A @ x) ** 2, atol=1e-12)


def test_quadratic_squared_distances():
    rng = generator(16)
    points = rng.standard_normal((4, 2))
    i, j = np.triu_indices(4, 1)
    rows = np.eye(4)[i] - np.eye(4)[j]
    expected = np.sum((points[i] - points[j]) ** 2, axis=1)
    np.testing.assert_allclose(Quadratic(rows).apply(points @ points.T), expected, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
def test_quadratic_duals_are_double_whatever_the_measurements(dtype, monkeypatch):
    """Formed or implicit, M*y is the same matrix, in double precision."""
    rng = generator(17)
    A = rng.standard_normal((9, 5))
    if np.dtype(dtype).kind == "c":
        A = A + 1j * rng.standard_normal((9, 5))
    A = A.astype(dtype)
    y = rng.standard_normal(9)
    formed = Quadratic(A).adjoint(y)
    assert isinstance(formed, np.ndarray)
    monkeypatch.setattr("fewatoms.operators.quadratic.FORM_SIDE", 0)
    implicit = Quadratic(A).adjoint(y)
    assert isinstance(implicit, LinearOperator)
    assert implicit.dtype == (np.complex128 if np.dtype(dtype).kind == "c" else np.float64)
    wide = A.astype(np.complex128)
    np.testing.assert_allclose(implicit @ np.eye(5), wide.conj().T @ np.diag(y) @ wide, atol=1e-5)
    np.testing.assert_allclose(implicit @ np.eye(5), formed, atol=1e-5)
    y *= 2  # the operator keeps its own copy
    np.testing.assert_allclose(implicit @ np.eye(5), formed, atol=1e-5)


@pytest.mark.parametrize(("name", "M"), **over(square_operators(3)))
def test_quadratic_measurements_of_factors(name, M):
    V = generator(5).standard_normal((3, 2))
    found = M.apply_factors(V, V)
    np.testing.assert_allclose(found, M.apply(V @ V.T), atol=100 * precision(name))
