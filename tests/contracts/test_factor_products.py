"""Matrix models in factors: M(U V^T) without the product, and the images of all pairs of factors at once."""

import numpy as np
import pytest

import naive
from contracts.families import black_box, generator, matrix_operators, over
from fewatoms import Counting, Operator
from fewatoms.operators import Projected, Rows, as_operator
from operators.small import ROWS, Knowing, P, Q, faces, matrices


def wrapped(p, q, m=ROWS):
    """name -> operator that hands factors on to another, or does not know about them."""
    A = generator(2).standard_normal((m, p * q))
    M, free, weights = as_operator(A), np.column_stack([np.ones(m), np.arange(m)]), generator(3).uniform(0.2, 2.0, m)
    return {
        "rows": Rows(M, np.array([7, 0, 3])),
        "rows of a black box": Rows(as_operator(black_box(A)), np.array([7, 0, 3])),
        "rows of rows": Rows(Rows(M, np.array([7, 0, 3])), np.array([2, 0])),
        "projected": Projected(M, free),
        "projected, weights": Projected(M, free, weights),
        "projected rows": Projected(Rows(M, np.arange(6)), free[:6]),
        "black box": as_operator(black_box(A)),
        "black box of one's own": as_operator(Knowing(A, (p, q))),
        "black box of one's own, counted": Counting(Knowing(A, (p, q))),
        "counted": Counting(A),
        "counted rows": Counting(Rows(M, np.array([1, 2]))),
    }


FAMILY = matrices(P, Q) | wrapped(P, Q) | {f"{name} {P}x{Q}": M for name, M in matrix_operators(P, Q).items()}


@pytest.mark.parametrize(("name", "M"), **over(FAMILY))
@pytest.mark.parametrize("r", [0, 1, 2, 5])
def test_factors_are_measured_like_their_product(name, M, r):
    rng = generator(4)
    U, V = rng.standard_normal((P, r)), rng.standard_normal((Q, r))
    before = U.copy(), V.copy()
    found = M.apply_factors(U, V)
    assert found.shape == (M.shape[0],)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, naive.dense_operator(M) @ (U @ V.T).ravel(), atol=1e-11)
    for array, copy in zip((U, V), before, strict=True):
        np.testing.assert_array_equal(array, copy)


@pytest.mark.parametrize(("face_name", "face"), **over(faces(P, Q)))
@pytest.mark.parametrize(("name", "M"), **over(FAMILY))
def test_images_of_factors_against_the_generic_way(name, M, face_name, face):
    found = naive.dense(M.images(face))
    assert found.shape == (M.shape[0], face.dim)
    expected = naive.reduced_matrix(M, face)
    np.testing.assert_allclose(found, expected, atol=1e-11 * max(1.0, np.abs(expected).max(initial=0.0)))
    np.testing.assert_allclose(
        found, naive.dense(Operator.images(M, face)), atol=1e-11 * max(1.0, np.abs(found).max(initial=0.0))
    )


ORTHONORMAL = {name: face for name, face in faces(P, Q).items() if name != "not orthonormal"}  # operators rely on it


@pytest.mark.parametrize(("face_name", "face"), **over(ORTHONORMAL))
@pytest.mark.parametrize(("name", "M"), **over(FAMILY))
def test_operators_restricted_to_factors(name, M, face_name, face):
    rng = generator(14)
    R = naive.reduced_matrix(M, face)
    reduced = M.restrict(face)
    c, b, weights = rng.standard_normal(face.dim), rng.standard_normal(M.shape[0]), rng.uniform(0.2, 3.0, M.shape[0])
    np.testing.assert_allclose(reduced.apply(c), R @ c, atol=1e-11)
    np.testing.assert_allclose(reduced.adjoint(b), R.T @ b, atol=1e-11)
    np.testing.assert_allclose(naive.dense(reduced.formed().matrix), R, atol=1e-11)
    np.testing.assert_allclose(face.measure(M, c), R @ c, atol=1e-11)
    np.testing.assert_allclose(face.image(M, c), R @ c, atol=1e-11)
    for w in (None, weights):
        for found, expected in zip(reduced.normal_equations(b, w), naive.normal_equations(R, b, w), strict=True):
            np.testing.assert_allclose(found, expected, atol=1e-10)
