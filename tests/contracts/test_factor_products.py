"""Matrix models in factors: M(U V^T) without the product, and the images of all pairs of factors at once."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

import naive
from contracts.families import black_box, generator, matrix_operators, over, precision, square_operators
from fewatoms import Counting, Operator
from fewatoms.faces import Factors, NonnegativeFactors
from fewatoms.operators import BlackBox, MatrixOperator, Projected, Rows, as_operator

P, Q, ROWS = 3, 4, 9


def matrices(p, q, m=ROWS):
    """name -> operator by a matrix on p x q models, flat."""
    A = generator(1).standard_normal((m, p * q))
    return {
        "dense": MatrixOperator(A),
        "fortran": MatrixOperator(np.asfortranarray(A)),
        "strided": MatrixOperator(np.repeat(A, 2, axis=1)[:, ::2]),
        "upside down": MatrixOperator(A[::-1]),
        "single": MatrixOperator(A.astype(np.float32)),
        "single, fortran": MatrixOperator(np.asfortranarray(A.astype(np.float32))),
        "half": MatrixOperator(A.astype(np.float16)),
        "integers": MatrixOperator(np.round(3 * A).astype(np.int64)),
        "one row": MatrixOperator(A[:1]),
        "sparse": MatrixOperator(sp.csr_array(A * (np.abs(A) > 0.7))),
    }


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


class Knowing:
    """A black box that knows a way with factors, and how often it was asked."""

    def __init__(self, A, shape):
        self.A, self.shape, self.inner_shape, self.asked = A, A.shape, shape, []

    def matvec(self, x):
        self.asked.append("matvec")
        return self.A @ x

    def rmatvec(self, y):
        return self.A.T @ y

    def apply_factors(self, U, V):
        self.asked.append("factors")
        T = self.A.reshape(-1, *self.inner_shape)
        return sum(np.einsum("epq,p,q->e", T, u, v) for u, v in zip(U.T, V.T, strict=True)) + np.zeros(len(self.A))


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


@pytest.mark.parametrize(("name", "M"), **over(square_operators(3)))
def test_quadratic_measurements_of_factors(name, M):
    V = generator(5).standard_normal((3, 2))
    found = M.apply_factors(V, V)
    np.testing.assert_allclose(found, M.apply(V @ V.T), atol=100 * precision(name))


def faces(p, q):
    """name -> pairs of factors, as many left as right or not, orthonormal or not."""
    rng = generator(6)
    U, V = (np.linalg.qr(rng.standard_normal((n, n)))[0] for n in (p, q))
    return {
        "one": Factors(U[:, :1], V[:, :1]),
        "two": Factors(U[:, :2], V[:, :2]),
        "more on the right": Factors(U[:, :1], V[:, :3]),
        "more on the left": Factors(U[:, :3], V[:, :2]),
        "all": Factors(U, V),
        "none": Factors(U[:, :0], V[:, :0]),
        "none on the left": Factors(U[:, :0], V[:, :2]),
        "fortran": Factors(np.asfortranarray(U[:, :2]), np.asfortranarray(V[:, :2])),
        "not orthonormal": Factors(rng.standard_normal((p, 2)), 1e3 * rng.standard_normal((q, 2))),
        "nonnegative": NonnegativeFactors(np.abs(U[:, :2]), np.abs(V[:, :2])),
    }


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


@pytest.mark.parametrize("shape", [(1, 1), (1, 6), (6, 1), (2, 7), (5, 5)])
@pytest.mark.parametrize("name", matrices(2, 2))
def test_images_on_models_of_every_shape(name, shape):
    M = matrices(*shape)[name]
    r, s = min(2, shape[0]), min(3, shape[1])
    rng = generator(7)
    face = Factors(
        np.linalg.qr(rng.standard_normal((shape[0], r)))[0], np.linalg.qr(rng.standard_normal((shape[1], s)))[0]
    )
    np.testing.assert_allclose(M.images(face), naive.reduced_matrix(M, face), atol=1e-11)


@pytest.mark.parametrize("name", ["single", "single, fortran"])
def test_single_precision_is_converted_before_it_is_multiplied(name):
    """What a matrix of single precision says exactly, in double precision: no product is rounded to it."""
    M = matrices(P, Q)[name]
    exact = M.matrix.astype(np.float64)
    face = faces(P, Q)["all"]
    twin = exact @ naive.basis(face)
    np.testing.assert_allclose(M.images(face), twin, atol=1e-14 * np.abs(twin).max() * P * Q)


def test_images_a_block_of_rows_at_a_time():
    """More rows than are converted at once."""
    p, q = 64, 64
    A = generator(8).standard_normal((1030, p * q)).astype(np.float32)
    U, V = (np.linalg.qr(generator(9).standard_normal((n, 2)))[0] for n in (p, q))
    assert A.shape[0] > (1 << 22) // (p * q)
    np.testing.assert_allclose(
        MatrixOperator(A).images(Factors(U, V)), A.astype(np.float64) @ np.kron(U, V), atol=1e-11
    )


# Counts


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


# Black boxes that know about factors


def test_a_black_box_is_asked_for_factors_if_it_knows_about_them():
    A, rng = generator(12).standard_normal((ROWS, P * Q)), generator(13)
    U, V = rng.standard_normal((P, 2)), rng.standard_normal((Q, 2))
    knowing = Knowing(A, (P, Q))
    np.testing.assert_allclose(as_operator(knowing).apply_factors(U, V), A @ (U @ V.T).ravel(), atol=1e-12)
    assert knowing.asked == ["factors"]
    face = faces(P, Q)["two"]
    as_operator(knowing).restrict(face).apply(np.ones(4))
    assert knowing.asked == ["factors", "factors"]

    class Subclass(LinearOperator):
        def __init__(self):
            super().__init__(np.float64, A.shape)

        def _matvec(self, x):
            raise AssertionError("the product is not to be formed")

        def _rmatvec(self, y):
            return A.T @ y

        def apply_factors(self, U, V):
            return A @ (U @ V.T).ravel()

    np.testing.assert_allclose(as_operator(Subclass()).apply_factors(U, V), A @ (U @ V.T).ravel(), atol=1e-12)
    plain = as_operator(black_box(A))
    np.testing.assert_allclose(plain.apply_factors(U, V), A @ (U @ V.T).ravel(), atol=1e-12)


class Answering(Knowing):
    """Says whatever it is told to say."""

    def __init__(self, answer):
        super().__init__(np.ones((ROWS, P * Q)), (P, Q))
        self.answer = answer

    def apply_factors(self, U, V):
        return self.answer


GOOD = {
    "a column": np.arange(9.0)[:, None],
    "a list": list(range(9)),
    "integers": np.arange(9),
    "booleans": np.arange(9) > 3,
    "single": np.arange(9, dtype=np.float32),
}
BAD = {
    "too short": (np.ones(8), ValueError, r"^M\.apply_factors must return 9 numbers; got shape \(8,\)$"),
    "the matrix": (np.ones((3, 4)), ValueError, r"^M\.apply_factors must return 9 numbers; got shape \(3, 4\)$"),
    "one number": (1.0, ValueError, r"^M\.apply_factors must return 9 numbers; got shape \(\)$"),
    "complex": (1j * np.ones(9), TypeError, r"^M\.apply_factors must return real numbers; got an array of complex128$"),
    "words": (np.array(["a"] * 9), TypeError, r"^M\.apply_factors must return real numbers"),
    "nothing": (None, ValueError, r"^M\.apply_factors must return 9 numbers"),
    "not a number": (np.full(9, np.nan), ValueError, r"M\.apply_factors's result must hold finite numbers only"),
    "infinite": (np.append(np.ones(8), np.inf), ValueError, r"M\.apply_factors's result must hold finite numbers only"),
    "both infinities": (np.array([np.inf, -np.inf] + [0.0] * 7), ValueError, "must hold finite numbers only"),
}


@pytest.mark.parametrize("case", GOOD)
def test_what_a_black_box_may_say_of_factors(case):
    found = BlackBox(Answering(GOOD[case])).apply_factors(np.ones((P, 1)), np.ones((Q, 1)))
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, np.asarray(GOOD[case], dtype=float).ravel())


@pytest.mark.parametrize("case", BAD)
def test_what_a_black_box_must_not_say_of_factors(case):
    answer, error, told = BAD[case]
    for M in (
        BlackBox(Answering(answer)),
        Counting(Answering(answer)),
        Rows(BlackBox(Answering(answer)), np.array([2])),
    ):
        with pytest.raises(error, match=told):
            M.apply_factors(np.ones((P, 1)), np.ones((Q, 1)))


def test_what_a_black_box_raises_passes_through():
    class Raising(Knowing):
        def apply_factors(self, U, V):
            raise RuntimeError("out of order")

    with pytest.raises(RuntimeError, match=r"^out of order$"):
        BlackBox(Raising(np.ones((ROWS, P * Q)), (P, Q))).apply_factors(np.ones((P, 1)), np.ones((Q, 1)))
