"""The limitation of the partial SVD: near the dual solution, the leading singular vectors still miss the true atom.

The example has a tie of n - 1 singular values, so which vector comes second is up to the decomposition; with k = 1, or
with a last value just below the others, the statement is a statement.
"""

import numpy as np
import pytest

import fewatoms as fa
from theory.evidence import certificate, dual_point


def example(n, eps, last=0.1):
    """B, X*, Y-hat, and the true atom u_1 of the paper's example; (P2) with tau = 1 and the identity."""
    U = np.eye(n)
    U[0, 0] = U[-1, -1] = np.sqrt(1 - eps)
    U[-1, 0], U[0, -1] = np.sqrt(eps), -np.sqrt(eps)
    values = np.full(n, 0.1)
    values[0], values[-1] = 2.0, last
    B = (U * values) @ U.T
    X = np.outer(U[:, 0], U[:, 0])
    seen = np.full(n, 0.1)
    seen[0], seen[-1] = 1.0, last
    return B, X, np.diag(seen), U[:, 0]


def certified(B, X, Y, k):
    problem = fa.Problem.of(fa.Identity(B.shape), B, atoms=fa.RankOne(*B.shape), k=k)
    residual = (B - X).ravel()
    relaxation = fa.P2(problem, 1.0)
    return problem, certificate(problem, dual_point(problem, relaxation, Y.ravel(), problem.loss.value(residual), 1.0))


CASES = [(1, 0.1), (1, 0.1 - 1e-3), (3, 0.1 - 1e-3), (5, 0.1 - 1e-6)]  # (k, last value), n = 6


@pytest.mark.parametrize("eps", [0.5, 0.1, 1e-2, 1e-4, 1e-8])
@pytest.mark.parametrize(("k", "last"), CASES)
def test_the_example_is_a_solution(k, last, eps):
    B, X, _, u = example(6, eps, last)
    problem, cert = certified(B, X, B - X, k)  # Y* = B - X*
    assert cert.gap <= 1e-12
    assert fa.RankOne(6, 6).gauge(X) == pytest.approx(1.0, rel=1e-12)
    face = problem.atoms.exposed(B - X, 0.5)
    assert face.size == 1  # a singleton
    assert abs(face.U[:, 0] @ u) == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("eps", [0.5, 0.1, 1e-2, 1e-4, 1e-8])
@pytest.mark.parametrize(("k", "last"), CASES)
def test_the_leading_vectors_miss_the_true_atom_and_the_certificate_does_not(k, last, eps):
    B, X, Y, u = example(6, eps, last)
    problem, cert = certified(B, X, Y, k)
    assert np.linalg.norm(Y - (B - X)) <= 2 * np.sqrt(eps)  # arbitrarily close

    face = problem.atoms.expose(Y, k)
    missed = np.linalg.norm(u - face.U @ (face.U.T @ u))
    assert missed == pytest.approx(np.sqrt(eps), rel=1e-6)
    inside = face.U @ (face.U.T @ X @ face.V) @ face.V.T
    assert np.linalg.norm(X - inside) >= 0.9 * np.sqrt(eps)  # no choice of C gives X*

    assert u @ Y @ u >= cert.threshold  # the true atom is within what is claimed ...
    assert cert.safe_set is None  # ... and no subspace is called safe
    assert cert.hausdorff is not None
    nearest = np.linalg.norm(face.U.T @ u) * np.linalg.norm(face.V.T @ u)  # <X*, a>, for the nearest atom a of the face
    assert np.sqrt(2 - 2 * nearest) <= cert.hausdorff + 1e-12


def test_the_exposed_singular_vectors_are_no_safe_set():
    # "Those with sigma_i >= sigma_1 - epsilon" leave the true atom out, although it is epsilon-exposed.
    B, X, Y, u = example(6, 1e-3, 0.1 - 1e-3)
    problem, cert = certified(B, X, Y, 1)
    assert cert.epsilon < 0.9 - 1e-9  # so that only the leading one is within epsilon
    face = problem.atoms.exposed(Y, cert.epsilon)
    assert face.size == 1
    assert u @ Y @ u >= 1.0 - cert.epsilon
    assert np.linalg.norm(u - face.U @ (face.U.T @ u)) > 0.03


def test_the_bound_shrinks_with_the_distance_but_never_vanishes():
    bounds = []
    for eps in (1e-2, 1e-4, 1e-6):
        B, X, Y, _ = example(6, eps, 0.1 - 1e-3)
        bounds.append(certified(B, X, Y, 1)[1].hausdorff)
    assert bounds[0] > bounds[1] > bounds[2] > 0


def test_retrieval_from_the_example_loses_what_was_missed():
    # The reduced fit over the missed face is off by O(sqrt(eps)); over the true face it is exact.
    losses = {}
    for eps in (1e-2, 1e-4):
        B, X, Y, _ = example(6, eps, 0.1 - 1e-3)
        problem = fa.Problem.of(fa.Identity((6, 6)), B, atoms=fa.RankOne(6, 6), k=1)
        face = problem.atoms.expose(Y, 1)
        losses[eps] = fa.retrieval.reduced_fit(problem, face).loss
        true = fa.retrieval.reduced_fit(problem, problem.atoms.expose(B - X, 1)).loss
        assert losses[eps] > true * (1 + 0.5 * eps)
    assert losses[1e-2] > losses[1e-4]
