"""The essential cone lies in the essential span: the span's fit is never worse; for rank-one matrices they are one."""

import numpy as np
import pytest
from scipy.optimize import nnls

import fewatoms as fa
from fewatoms.faces import Cone
from fewatoms.retrieval import reduced_fit

LOSSES = (fa.LeastSquares(), fa.Huber(0.5), fa.Logistic())


def draw(rng, atoms, m=15):
    M = rng.standard_normal((m, atoms.n)) / np.sqrt(m)
    b = M @ rng.standard_normal(atoms.n) + 0.3 * rng.standard_normal(m)
    return fa.Problem.of(M, b, atoms=atoms), rng.standard_normal(atoms.shape)


def both_fits(problem, face, loss):
    asked = fa.Problem.of(problem.M.inner, problem.b, atoms=problem.atoms, loss=loss)
    return reduced_fit(asked, face).loss, reduced_fit(asked, face.as_cone()).loss


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_for_signed_vectors_the_span_is_larger(loss):
    rng = np.random.default_rng(0)
    strict = 0
    for trial in range(40):
        D = rng.standard_normal((12, 20))
        atoms = (fa.SignedOneHot(12), 3.0 * fa.SignedOneHot(12), fa.Dictionary(D, symmetric=True))[trial % 3]
        problem, z = draw(rng, atoms)
        face = problem.atoms.expose(z, int(rng.integers(1, 6)))
        span, cone = both_fits(problem, face, loss)
        assert span <= cone * (1 + 1e-9)
        strict += span < cone * (1 - 1e-3)
    assert strict >= 10


def test_both_fits_are_what_they_should_be():
    rng = np.random.default_rng(1)
    for _ in range(40):
        problem, z = draw(rng, fa.SignedOneHot(12))
        face = problem.atoms.expose(z, 4)
        columns = problem.M.inner.matrix[:, face.indices] * np.sign(z[face.indices])
        span, cone = both_fits(problem, face, fa.LeastSquares())
        best = np.linalg.lstsq(columns, problem.b)[0]
        assert span == pytest.approx(0.5 * np.linalg.norm(problem.b - columns @ best) ** 2, rel=1e-10)
        assert cone == pytest.approx(0.5 * nnls(columns, problem.b)[1] ** 2, rel=1e-10)
        fitted = reduced_fit(problem, face.as_cone())
        assert np.all(face.adjoint(z) >= 0)  # the exposed signs
        assert np.all(fitted.c >= 0)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize(
    "atoms", [fa.RankOne(4, 5), fa.Groups([0, 0, 1, 1, 1, 2, 2, 3]), 0.5 * fa.RankOne(3, 6)], ids=repr
)
def test_for_rank_one_matrices_and_groups_they_are_one(atoms, loss):
    rng = np.random.default_rng(2)
    for _ in range(10):
        problem, z = draw(rng, atoms, m=30)
        face = problem.atoms.expose(z, 2)
        span, cone = both_fits(problem, face, loss)
        assert span == pytest.approx(cone, rel=1e-12)


def test_any_small_matrix_is_a_combination_of_exposed_atoms():
    # U C V^T for all C: its singular vectors are atoms of the face, its singular values their coefficients.
    rng = np.random.default_rng(3)
    atoms = fa.RankOne(5, 7)
    for _ in range(20):
        face = atoms.expose(rng.standard_normal((5, 7)), 3)
        c = rng.standard_normal(face.dim)
        u, s, vh = np.linalg.svd(face.point(c))
        assert np.all(s[3:] < 1e-12)
        for i in range(3):
            left, right = u[:, i], vh[i]
            np.testing.assert_allclose(face.U @ (face.U.T @ left), left, atol=1e-12)
            np.testing.assert_allclose(face.V @ (face.V.T @ right), right, atol=1e-12)
        assert face.gauge(c) == pytest.approx(s.sum(), rel=1e-12)
        assert atoms.gauge(face.point(c)) == pytest.approx(s.sum(), rel=1e-12)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_for_one_sided_sets_the_cone_is_the_face(loss):
    rng = np.random.default_rng(4)
    strict = 0
    for atoms in (
        fa.NonnegativeOneHot(10),
        fa.PSDRankOne(4),
        fa.Dictionary(rng.standard_normal((8, 12)), symmetric=False),
    ):
        for _ in range(8):
            problem, z = draw(rng, atoms, m=20)
            face = problem.atoms.expose(z, 3)
            assert face.cone in (Cone.NONNEGATIVE, Cone.PSD)
            span, cone = both_fits(problem, face, loss)
            assert span == cone  # `face` is its own cone
            # least squares without the constraint, the span, does no worse
            if isinstance(loss, fa.LeastSquares):
                images = np.stack([problem.M.apply(face.point(e)) for e in np.eye(face.dim)], axis=1)
                free = np.linalg.lstsq(images, problem.b)[0]
                unconstrained = 0.5 * np.linalg.norm(problem.b - images @ free) ** 2
                assert unconstrained <= cone * (1 + 1e-9)
                strict += unconstrained < cone * (1 - 1e-3)
    assert strict >= 5 or not isinstance(loss, fa.LeastSquares)


def test_cone_and_span_of_the_whole_set_coincide_under_centrosymmetry():
    rng = np.random.default_rng(5)
    x = rng.standard_normal(6)
    assert fa.SignedOneHot(6).gauge(x) == pytest.approx(np.abs(x).sum())  # every x is in the cone
    assert fa.NonnegativeOneHot(6).gauge(x) == np.inf
    D = rng.standard_normal((3, 6))
    assert np.isfinite(fa.Dictionary(D, symmetric=True).gauge(rng.standard_normal(3)))
    half = np.abs(D)
    assert fa.Dictionary(half, symmetric=False).gauge(-np.ones(3)) == np.inf
