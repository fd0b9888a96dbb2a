"""The reduced fit on every kind of face, operator and loss: against a conic solver, and its optimality conditions."""

from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp

import naive
from contracts.families import black_box, complex_operators, generator, hermitian_dual, losses, over, places
from fewatoms import (
    BlockRankOne,
    Dictionary,
    Groups,
    Huber,
    Identity,
    LeastSquares,
    Logistic,
    Mapped,
    NonnegativeCone,
    NonnegativeOneHot,
    Problem,
    PSDRankOne,
    Quadratic,
    RankOne,
    Sampling,
    SignedOneHot,
)
from fewatoms.faces import BlockFactors, Coordinates, Factors, SumFace, SymmetricFactors, Tiles
from fewatoms.retrieval import reduced_fit, refit

m = 26
A = generator(40).standard_normal((m, 8))
B = generator(41).standard_normal((m, 25))
SAMPLED = Sampling(*places(6, 5, 26 / 30, 43), (6, 5))
SQUARE = Sampling(*places(6, 6, 26 / 36, 44), (6, 6))

CASES = {
    "columns": (A, SignedOneHot(8), 4),
    "sparse columns": (sp.csr_array(A * (np.abs(A) > 0.5)), SignedOneHot(8), 4),
    "black box columns": (black_box(A), SignedOneHot(8), 4),
    "all columns": (A, SignedOneHot(8), 8),
    "single precision": (A.astype(np.float32), SignedOneHot(8), 4),
    "groups": (A, Groups([0, 0, 1, 1, 1, 2, 2, 3]), 2),
    "dictionary": (A, Dictionary(generator(45).standard_normal((8, 12)), symmetric=True), 5),
    "dictionary, one-sided": (A, Dictionary(generator(45).standard_normal((8, 12)), symmetric=False), 5),
    "mapped by a black box": (A, Mapped(black_box(generator(46).standard_normal((8, 6))), SignedOneHot(6)), 3),
    "nonnegative": (A, NonnegativeOneHot(8), 7),
    "nonnegative, black box": (black_box(A), NonnegativeOneHot(8), 7),
    "nonnegative, turned over": (A, -1.5 * NonnegativeOneHot(8), 7),
    "rays": (A, NonnegativeCone(8), 6),
    "rank one, sampled": (SAMPLED, RankOne(6, 5), 2),
    "rank one, sampled, scaled": (SAMPLED, -2.0 * RankOne(6, 5), 2),
    "rank one, full": (Identity((5, 5)), RankOne(5, 5), 2),
    "rank one, matrix": (B, RankOne(5, 5), 2),
    "rank one, black box": (black_box(B), RankOne(5, 5), 2),
    "psd, sampled": (SQUARE, PSDRankOne(6), 3),
    "psd, full": (Identity((5, 5)), PSDRankOne(5), 3),
    "psd, matrix": (B, PSDRankOne(5), 3),
    "psd, quadratic": (Quadratic(A[:, :5]), PSDRankOne(5), 3),
    "psd, quadratic, scaled": (Quadratic(A[:, :5]), -0.5 * PSDRankOne(5), 3),
    "psd, complex quadratic": (complex_operators(4, m)["complex quadratic"], PSDRankOne(4), 2),
    "psd, complex quadratic operator": (complex_operators(4, m)["complex quadratic, operator"], PSDRankOne(4), 2),
    "low rank plus sparse": (SAMPLED, RankOne(6, 5) + SignedOneHot((6, 5)), (1, 4)),
    "low rank or positive": (SAMPLED, RankOne(6, 5) | NonnegativeOneHot((6, 5)), (1, 5)),
    "psd or sparse": (SQUARE, PSDRankOne(6) | 0.5 * SignedOneHot((6, 6)), (2, 3)),
    "psd or positive, matrix": (B, PSDRankOne(5) | NonnegativeOneHot((5, 5)), (2, 4)),
    "two psd parts": (B, PSDRankOne(5) | -1.0 * PSDRankOne(5), (2, 2)),
    "signed or positive": (A, SignedOneHot(8) | NonnegativeOneHot(8), (3, 4)),
    "signed or positive, black box": (black_box(A), SignedOneHot(8) | NonnegativeOneHot(8), (3, 4)),
}


@cache
def planted(name, loss_name):
    """A problem, and a face whose constraints bind for some coefficients and not for others."""
    M, atoms, k = CASES[name]
    rng = generator(47)
    size = Problem.of(M, np.ones(M.shape[0]), atoms=atoms).m
    b = rng.standard_normal(size)
    problem = Problem.of(M, b, atoms=atoms, loss=losses(size)[loss_name])
    z = hermitian_dual(4)(rng) if "complex" in name else rng.standard_normal(problem.atoms.shape)
    return problem, problem.atoms.expose(z, k)


def bounded_below(name, loss_name):
    """Logistic losses of positive measurements fall for ever along the cone: no minimiser to compare."""
    return not (loss_name.startswith("logistic") and "psd" in name and "matrix" not in name and "parts" not in name)


def worth_it(name, loss_name):
    """PSD and mixed faces go to one slow method whatever the loss: weights are tried on two of them."""
    slow = "psd" in name or " or " in name
    return not slow or "weighted" not in loss_name or name in ("signed or positive", "psd, quadratic")


PAIRS = [(name, told) for name in CASES for told in losses(m) if bounded_below(name, told) and worth_it(name, told)]


@cache
def fitted(name, loss_name):
    return reduced_fit(*planted(name, loss_name))


@pytest.mark.parametrize(("name", "loss_name"), PAIRS)
def test_against_a_conic_solver(name, loss_name):
    problem, face = planted(name, loss_name)
    candidate = fitted(name, loss_name)
    np.testing.assert_allclose(face.project(candidate.c), candidate.c, atol=1e-10)
    residual = problem.b - problem.M.apply(face.point(candidate.c))
    np.testing.assert_allclose(candidate.residual, residual, atol=1e-5 if "single" in name else 1e-9)
    assert candidate.loss == pytest.approx(problem.loss.value(candidate.residual))
    least = naive.reduced_loss(problem.M, problem.b, problem.loss, face)
    assert candidate.loss <= least * (1 + 1e-6)
    assert candidate.loss >= least * (1 - 1e-5)
    assert candidate.loss <= problem.at_zero


@pytest.mark.parametrize(("name", "loss_name"), PAIRS)
def test_optimality_conditions(name, loss_name):
    """A projected gradient step goes nowhere: c = project(c + t R* grad f)."""
    problem, face = planted(name, loss_name)
    candidate = fitted(name, loss_name)
    R = naive.reduced_matrix(problem.M, face)
    ascent = R.T @ problem.loss.gradient(candidate.residual)
    t = 1.0 / (problem.loss.smoothness * np.linalg.norm(R, 2) ** 2)
    step = face.project(candidate.c + t * ascent) - candidate.c
    size = max(np.abs(candidate.c).max(), t * np.abs(R.T @ problem.loss.gradient(problem.b)).max())
    assert np.abs(step).max() <= 1e-4 * size


def test_the_family_has_every_cone():
    cones = {planted(name, "least squares")[1].cone.name for name in CASES}
    assert cones == {"FREE", "NONNEGATIVE", "PSD", "MIXED"}


@pytest.mark.parametrize("name", ["columns", "groups", "rank one, sampled", "low rank plus sparse", "dictionary"])
def test_essential_cone_costs_something(name):
    problem, face = planted(name, "least squares")
    free, cone = reduced_fit(problem, face), reduced_fit(problem, face.as_cone())
    assert cone.loss >= free.loss * (1 - 1e-9)
    assert cone.loss == pytest.approx(naive.reduced_loss(problem.M, problem.b, problem.loss, face.as_cone()), rel=1e-6)


# Nasty instances


@pytest.mark.parametrize("loss", [LeastSquares(), Huber(0.5), Logistic()], ids=repr)
@pytest.mark.parametrize("kind", [SignedOneHot, NonnegativeOneHot])
def test_nasty_columns(loss, kind):
    """Zero columns, columns twice, columns of very different size."""
    rng = generator(48)
    C = rng.standard_normal((30, 3))
    D = np.concatenate([C, 0 * C[:, :1], C[:, :2], -C[:, :1], 1e-6 * C[:, 1:2], 1e5 * C[:, 2:3]], axis=1)
    b = rng.standard_normal(30)
    problem = Problem.of(D, b, atoms=kind(9), loss=loss)
    face = problem.atoms.expose(np.arange(9.0, 0.0, -1.0), 9)
    candidate = reduced_fit(problem, face)
    assert np.isfinite(candidate.c).all()
    plain = Problem.of(np.concatenate([C, -C[:, :1]], axis=1), b, atoms=kind(4), loss=loss)  # the same cone
    least = naive.reduced_loss(plain.M, b, loss, plain.atoms.expose(np.ones(4), 4))
    assert candidate.loss == pytest.approx(least, rel=1e-6)


@pytest.mark.parametrize("operator", [np.asarray, sp.csr_array, black_box], ids=["dense", "sparse", "black box"])
@pytest.mark.parametrize("kind", [SignedOneHot, NonnegativeOneHot])
@pytest.mark.parametrize("shape", [(3, 8), (1, 5), (5, 1), (1, 1), (4, 4)])
def test_fewer_rows_than_columns_and_other_small_shapes(operator, kind, shape):
    rng = generator(49)
    C, b = rng.standard_normal(shape), rng.standard_normal(shape[0])
    for loss in (LeastSquares(), Huber(0.3), LeastSquares(np.full(shape[0], 3.0))):
        problem = Problem.of(operator(C), b, atoms=kind(shape[1]), loss=loss)
        face = problem.atoms.expose(np.ones(shape[1]), shape[1])
        least = naive.reduced_loss(problem.M, b, loss, face)
        candidate = reduced_fit(problem, face)
        assert candidate.loss <= least * (1 + 1e-6) + 1e-9
        assert np.abs(candidate.c).max() < 1e6


def test_zero_operator_and_zero_data():
    for loss in (LeastSquares(), Huber(1.0), Logistic()):
        for D, b in ((np.zeros((4, 3)), np.ones(4)), (np.eye(4)[:, :3], np.zeros(4))):
            for atoms in (SignedOneHot(3), NonnegativeOneHot(3)):
                problem = Problem.of(D, b, atoms=atoms, loss=loss)
                candidate = reduced_fit(problem, atoms.expose(np.ones(3), 2))
                assert np.isfinite(candidate.c).all()
                assert candidate.loss <= problem.at_zero


def test_an_empty_face_explains_nothing():
    problem = Problem.of(A, A[:, 0], atoms=SignedOneHot(8))
    candidate = reduced_fit(problem, problem.atoms.expose(np.ones(8), 0))
    np.testing.assert_array_equal(candidate.residual, problem.b)
    assert candidate.residual is not problem.b
    assert candidate.loss == problem.at_zero
    assert candidate.gauge == 0.0


@pytest.mark.parametrize("summed", [False, True])
def test_directions_that_data_do_not_see_have_no_share(summed):
    """Atoms that turn may turn to where nothing is seen, up to rounding."""
    rng = generator(50)
    b = rng.standard_normal(5)
    M = Sampling(np.arange(5), np.zeros(5, dtype=int), (5, 2))  # the first of two columns
    turned = Factors(np.linalg.qr(rng.standard_normal((5, 2)))[0], np.array([[1.0, 1e-17], [1e-17, 1.0]]))
    face, atoms = BlockFactors.of(Tiles((5, 2), (5, 2)), [(0, turned)]), BlockRankOne((5, 2), (5, 2))
    if summed:
        face = SumFace((face, Coordinates(np.array([0]), np.ones(1), (5, 2))), False, (5, 2))
        atoms = atoms + SignedOneHot((5, 2))
    found = reduced_fit(Problem.of(M, b, atoms=atoms, k=(2, 1) if summed else 2), face)
    assert np.abs(found.c).max() < 100 * np.abs(b).max()
    assert found.loss == pytest.approx(0.5 * np.sum((b - face.point(found.c)[:, 0]) ** 2), rel=1e-9)


@pytest.mark.parametrize("name", [n for n in CASES if "psd or" not in n])
@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_scale_of_the_data_does_not_matter(name, scale):
    """Least squares of multiplied data has multiplied coefficients."""
    problem, face = planted(name, "least squares")
    candidate = fitted(name, "least squares")
    far = reduced_fit(Problem.of(problem.measured.inner, scale * problem.b, atoms=problem.atoms), face)
    assert far.loss == pytest.approx(scale**2 * candidate.loss, rel=1e-6)


@pytest.mark.parametrize("name", [n for n in CASES if "psd" not in n or "quadratic" in n])
def test_nothing_passed_in_is_modified(name):
    problem, face = planted(name, "least squares")
    b, B = problem.b.copy(), naive.basis(face)
    reduced_fit(problem, face)
    np.testing.assert_array_equal(problem.b, b)
    np.testing.assert_array_equal(naive.basis(face), B)


def test_exact_data_is_met_to_rounding():
    """What can be explained exactly is, on every face."""
    rng = generator(50)
    for name in CASES:
        problem, face = planted(name, "least squares")
        c = face.project(rng.standard_normal(face.dim))
        b = problem.M.apply(face.point(c))
        exact = Problem.of(problem.measured.inner, b, atoms=problem.atoms)
        loose = 1e-11 if "single" in name else 1e-13 if face.cone.name in ("FREE", "NONNEGATIVE") else 1e-9
        assert reduced_fit(exact, face).loss <= loose * exact.at_zero, name


def test_separable_classes_end_with_finite_numbers():
    X = np.linspace(-1, 1, 10)[:, None]
    labels = np.sign(X.ravel())
    problem = Problem.of(labels[:, None] * X, np.zeros(10), atoms=SignedOneHot(1), loss=Logistic())
    candidate = reduced_fit(problem, problem.atoms.expose(np.ones(1), 1))
    assert candidate.loss < 1e-3 * problem.at_zero
    assert np.isfinite(candidate.c).all()


def test_norms_of_atoms_in_the_data():
    problem, face = planted("columns", "least squares")
    candidate = reduced_fit(problem, face)
    np.testing.assert_allclose(candidate.norms, np.linalg.norm(A[:, face.indices], axis=0))


def test_refit_prunes_and_fits_anew():
    problem, face = planted("all columns", "least squares")
    candidate = reduced_fit(problem, face)
    smaller = refit(problem, candidate, 3)
    shares = np.abs(candidate.c) * np.linalg.norm(A[:, face.indices], axis=0)
    assert set(smaller.face.indices) == set(face.indices[naive.top_k(shares, 3)])
    own = reduced_fit(problem, smaller.face)
    assert smaller.loss == own.loss >= candidate.loss


def test_black_boxes_take_few_products():
    """LSMR on a well-conditioned face needs a few products each way, not one for each column and row."""
    rng = generator(51)
    Q = np.linalg.qr(rng.standard_normal((60, 40)))[0]
    problem = Problem.of(black_box(Q), rng.standard_normal(60), atoms=SignedOneHot(40))
    reduced_fit(problem, problem.atoms.expose(rng.standard_normal(40), 30))
    assert problem.M.products <= 10


def test_ill_conditioned_black_box_is_formed():
    rng = generator(52)
    U, V = (np.linalg.qr(rng.standard_normal((n, 20)))[0] for n in (40, 20))
    C = (U * np.geomspace(1, 1e-8, 20)) @ V.T
    b = rng.standard_normal(40)
    problem = Problem.of(black_box(C), b, atoms=SignedOneHot(20))
    candidate = reduced_fit(problem, problem.atoms.expose(np.ones(20), 20))
    best = 0.5 * np.linalg.norm(b - U @ (U.T @ b)) ** 2
    assert candidate.loss == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize(("name", "loss"), **over(losses(m)))
def test_faces_a_user_builds_by_hand(name, loss):
    """Not only exposed faces: any coordinates and signs, any orthonormal vectors."""
    rng = generator(53)
    b = rng.standard_normal(m)
    problem = Problem.of(A, b, atoms=SignedOneHot(8), loss=loss)
    face = Coordinates(np.array([5, 0, 2]), np.array([-1.0, 1.0, -1.0]), (8,))
    least = naive.reduced_loss(problem.M, b, loss, face)
    assert reduced_fit(problem, face).loss == pytest.approx(least, rel=1e-6)
    if not isinstance(loss, Logistic):
        quadratic = Problem.of(Quadratic(A[:, :5]), b, atoms=PSDRankOne(5), loss=loss)
        V = SymmetricFactors(np.linalg.qr(rng.standard_normal((5, 2)))[0])
        least = naive.reduced_loss(quadratic.M, b, loss, V)
        assert reduced_fit(quadratic, V).loss == pytest.approx(least, rel=1e-6)
