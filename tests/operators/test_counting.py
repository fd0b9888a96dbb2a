"""What counting wrappers count, one by one and behind faces."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

from contracts.families import black_box, generator, over, places
from fewatoms import Counting, Groups, Mapped, PSDRankOne, Quadratic, RankOne, Sampling, SignedOneHot, ledger, norms
from fewatoms.operators import Metered, as_operator
from operators.small import P, Q, faces


def test_counting_products_one_by_one():
    M = Counting(generator().standard_normal((5, 4)))
    M.apply(np.ones(4))
    assert M.products == 1
    M.adjoint(np.ones(5))
    assert M.products == 2
    M.apply_block(np.ones((4, 3)))
    assert M.products == 5
    M.columns(np.array([0, 3]))
    assert M.products == 7
    norms.column_norms(M)  # a matrix at hand has nothing to multiply
    assert M.products == 7


def test_counting_columns_of_a_face():
    M = Counting(generator().standard_normal((5, 4)))
    reduced = M.restrict(SignedOneHot(4).expose(np.arange(4.0), 3))
    assert M.products == 3
    reduced.apply(np.ones(3))
    reduced.adjoint(np.ones(5))
    reduced.normal_equations(np.ones(5))
    assert M.products == 3  # the columns are at hand
    M.restrict(Groups([0, 0, 1, 1]).expose(np.arange(4.0), 2))
    assert M.products == 7


def test_counting_a_black_box():
    calls = []
    A = generator().standard_normal((5, 4))
    op = LinearOperator(
        (5, 4),
        matvec=lambda x: calls.append("forward") or A @ x,
        rmatvec=lambda y: calls.append("backward") or A.T @ y,
        dtype=float,
    )
    M = Counting(op)
    face = SignedOneHot(4).expose(np.arange(4.0), 3)
    reduced = M.restrict(face)
    assert M.products == len(calls) == 0
    reduced.apply(np.ones(3))
    reduced.adjoint(np.ones(5))
    assert M.products == len(calls) == 2
    reduced.formed()
    assert M.products == len(calls) == 5
    reduced.normal_equations(np.ones(5))
    assert M.products == len(calls) == 5 + 2 * 3 + 1
    norms.column_norms(M)
    assert M.products == len(calls) == 12 + 4
    norms.block_norms(M, [np.array([0, 1]), np.array([2, 3])])
    assert M.products == len(calls) == 16 + 4
    (Mapped(np.eye(4), SignedOneHot(4))).operator_norm(M)
    assert M.products == len(calls) == 20 + 4


def test_counting_sampled_factors():
    M = Counting(Sampling(*places(5, 6, 0.7, 2), (5, 6)))
    rng = generator(1)
    face = RankOne(5, 6).expose(rng.standard_normal((5, 6)), 2)
    b = rng.standard_normal(M.shape[0])
    reduced = M.restrict(face)
    assert M.products == 0
    reduced.apply(np.ones(4))
    assert M.products == 2  # a matrix of rank two is two of rank one
    reduced.adjoint(b)
    assert M.products == 3
    reduced.normal_equations(b)
    assert M.products == 3 + reduced.costs.normal_equations == 3 + 4 + 1  # four images of rank one, one M*y
    face.measure(M, np.ones(4))
    assert M.products == 10
    M.adjoint(b)
    assert M.products == 11


def test_counting_quadratic_factors():
    M = Counting(Quadratic(generator().standard_normal((7, 4))))
    face = PSDRankOne(4).expose(np.diag([3.0, 2, 1, 0]), 2)
    reduced = M.restrict(face)
    assert M.products == 2  # A v for each of the vectors
    reduced.apply(np.ones(3))
    reduced.adjoint(np.ones(7))
    reduced.normal_equations(np.ones(7))
    assert M.products == 2


def test_counting_a_sum_of_faces():
    p, q = 4, 5
    M = Counting(Sampling(*places(p, q, 0.8, 3), (p, q)))
    atoms = RankOne(p, q) + SignedOneHot((p, q))
    face = atoms.expose(generator(2).standard_normal((p, q)), (2, 3))
    reduced = M.restrict(face)
    assert M.products == 3  # three columns
    reduced.apply(np.ones(face.dim))
    assert M.products == 5
    reduced.adjoint(np.ones(M.shape[0]))
    assert M.products == 6
    box = Counting(black_box(generator(3).standard_normal((7, p * q))))
    whole = box.restrict(face)
    whole.apply(np.ones(face.dim))
    whole.adjoint(np.ones(7))
    assert box.products == 2  # one product for the sum, not one for each part


def test_counting_scaled_and_mapped_faces():
    A = generator(4).standard_normal((6, 5))
    M = Counting(A)
    M.restrict((2.0 * SignedOneHot(5)).expose(np.arange(5.0), 2))
    assert M.products == 2
    mapped = Mapped(generator(5).standard_normal((5, 8)), SignedOneHot(8))
    reduced = M.restrict(mapped.expose(np.arange(5.0), 3))
    assert M.products == 5
    reduced.apply(np.ones(3))
    assert M.products == 5
    M.restrict(Mapped(black_box(np.eye(5)), SignedOneHot(5)).expose(np.arange(5.0), 3)).apply(np.ones(3))
    assert M.products == 6  # nothing is formed where the map is a black box


def test_parts_count_with_the_whole_and_so_does_what_is_charged():
    A = generator().standard_normal((6, 5))
    for inner in (A, sp.csc_array(A), black_box(A)):
        M = Counting(inner)
        M.adjoint_block(np.ones((6, 2)))
        assert M.products == 2
        M.subset(np.array([0, 3])).apply(np.ones(5))
        M.charge(10)
        assert M.products == 13
        assert repr(M).endswith("products=13)")


def test_a_ledger_hears_what_is_metered():
    M = Metered(Counting(np.eye(3)))
    with ledger.opened() as outer:
        M.apply(np.ones(3))
        with ledger.opened() as inner:
            M.adjoint(np.ones(3))
            M.charge(4)
    assert (outer.products, inner.products, M.inner.products) == (1, 5, 6)
    assert repr(M) == repr(M.inner)


def test_sketches_are_asked_for_once_and_tell_operators_apart():
    A = generator().standard_normal((6, 5))
    M = Counting(A)
    metered = Metered(M)
    assert metered.sketch() == metered.sketch()
    assert M.products == 1
    value, scale = metered.sketch()
    for same in (sp.csr_array(A), black_box(A), Counting(A)):
        assert abs(as_operator(same).sketch()[0] - value) <= 1e-12 * scale
    for i in range(6):
        for j in range(5):
            other = A.copy()
            other[i, j] += 1e-4
            assert abs(as_operator(other).sketch()[0] - value) > 1e-8 * scale


@pytest.mark.parametrize(("face_name", "face"), **over(faces(P, Q)))
def test_images_count_one_for_each_pair(face_name, face):
    M = Counting(generator(10).standard_normal((5, P * Q)))
    M.images(face)
    assert M.products == face.dim
    M.apply_factors(np.ones((P, 2)), np.ones((Q, 2)))
    assert M.products == face.dim + 1
    before = M.products
    M.restrict(face).formed()
    assert M.products == before + face.dim


def test_counting_sees_factors_that_a_face_hands_over():
    M = Counting(generator(11).standard_normal((5, P * Q)))
    for name in ("two", "nonnegative"):
        face = faces(P, Q)[name]
        before = M.products
        image = M.restrict(face).apply(np.ones(face.dim))
        assert M.products == before + 1
        np.testing.assert_allclose(image, M.inner.apply(face.point(np.ones(face.dim))), atol=1e-12)
