"""The error in a truncated SVD: eps-exposed atoms are within sqrt(2 min(eps / (s_1 - s_{k+1}), 1)) of the face."""

import numpy as np
import pytest

import fewatoms as fa
from theory.evidence import certificate, dual_point
from theory.pairs import orthonormal


def bound(eps, spread):
    return np.sqrt(2 * min(eps / spread, 1.0)) if spread > 0 else np.sqrt(2)


def spectrum(rng, size):
    """Singular values with ties, gaps over decades, or a plateau and a cliff."""
    kind = rng.integers(4)
    if kind == 0:
        values = rng.random(size)
    elif kind == 1:
        values = rng.choice([1.0, 0.7, 0.1, 0.0], size)
    elif kind == 2:
        values = 10.0 ** -np.arange(size)
    else:
        values = 1.0 - 1e-4 * np.arange(size)
    values = np.sort(values)[::-1] * 10.0 ** rng.uniform(-3, 3)
    return values if values[0] > 0 else values + 1.0


def sample(rng, values, eps, k, count):
    """Unit vectors (p, q) with sum values p q >= values[0] - eps, in the basis of the singular vectors."""
    size = values.size
    found = []
    for spread in 10.0 ** rng.uniform(-4, 1, 40):
        p = np.zeros((count, size))
        p[:, 0] = 1.0
        q = p.copy()
        common = spread * rng.standard_normal((count, size))
        p, q = p + common, q + common + 0.3 * spread * rng.standard_normal((count, size))
        p /= np.linalg.norm(p, axis=1, keepdims=True)
        q /= np.linalg.norm(q, axis=1, keepdims=True)
        keep = (p * q) @ values >= values[0] - eps
        found.append((p[keep], q[keep]))
    # and those that attain the bound: two components, the leading one and the first that is cut off
    share = min(eps / (values[0] - values[k]), 1.0) if values[0] > values[k] else 1.0
    worst = np.zeros((1, size))
    worst[0, 0], worst[0, k] = np.sqrt(1 - share), np.sqrt(share)
    found.append((worst, worst))
    return tuple(np.concatenate(parts) for parts in zip(*found, strict=True))


def test_exposed_atoms_are_near_the_face():
    rng = np.random.default_rng(0)
    sampled, attained = 0, 0
    for _ in range(120):
        rows, cols = rng.integers(2, 8, 2)
        size = min(rows, cols)
        k = int(rng.integers(1, size))
        values = spectrum(rng, size)
        U, V = orthonormal(rng, rows, size), orthonormal(rng, cols, size)
        Z = (U * values) @ V.T
        eps = values[0] * 10.0 ** rng.uniform(-5, 0.3)
        p, q = sample(rng, values, eps, k, 20)
        face = fa.RankOne(rows, cols).expose(Z, k)
        left, right = face.U.T @ (U @ p.T), face.V.T @ (V @ q.T)
        # the nearest atom of the face has inner product |left| |right|; the nearest point of its cone is nearer still
        nearest = np.linalg.norm(left, axis=0) * np.linalg.norm(right, axis=0)
        limit = bound(eps, values[0] - values[k])
        if k > 0 and values[k - 1] > values[k] * (1 + 1e-9) + 1e-12:  # no tie at the cut: the face is determined
            assert np.all(np.sqrt(np.maximum(2 - 2 * nearest, 0.0)) <= limit * (1 + 1e-6) + 1e-7)
            sampled += nearest.size
            attained += np.sqrt(2 - 2 * nearest[-1]) >= limit * (1 - 1e-6) - 1e-7
        distance = np.sqrt(np.maximum(1 - (left**2).sum(axis=0) * (right**2).sum(axis=0), 0.0))
        assert np.all(distance <= limit * (1 + 1e-6) + 1e-7)  # to the cone, with ties too
    assert sampled > 5000
    assert attained >= 40


def test_the_same_for_positive_semidefinite_atoms():
    rng = np.random.default_rng(1)
    sampled = 0
    for _ in range(80):
        n = int(rng.integers(2, 7))
        k = int(rng.integers(1, n))
        values = np.sort(rng.standard_normal(n))[::-1]  # negative ones too
        V = orthonormal(rng, n, n)
        face = fa.PSDRankOne(n).expose((V * values) @ V.T, k)
        eps = 10.0 ** rng.uniform(-4, 0)
        p, _ = sample(rng, values - values[-1], eps, k, 20)
        p = p[(p * p) @ values >= values[0] - eps]
        nearest = (np.linalg.norm(face.V.T @ (V @ p.T), axis=0)) ** 2
        limit = bound(eps, values[0] - values[k])
        assert np.all(np.sqrt(np.maximum(2 - 2 * nearest, 0.0)) <= limit * (1 + 1e-6) + 1e-7)
        sampled += nearest.size
    assert sampled > 3000


@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_certificate_reports_this_bound(k):
    rng = np.random.default_rng(2)
    for _ in range(20):
        B, X = rng.standard_normal((4, 5)), 0.1 * rng.standard_normal((4, 5))
        problem = fa.Problem.of(fa.Identity((4, 5)), B, atoms=fa.RankOne(4, 5), k=k)
        gauge = np.linalg.svd(X, compute_uv=False).sum()
        y = (B - X).ravel()
        point = dual_point(problem, fa.P2(problem, 1.2 * gauge), y, problem.loss.value(y), gauge)
        cert = certificate(problem, point)
        values = np.linalg.svd(B - X, compute_uv=False)
        assert cert.hausdorff == pytest.approx(bound(cert.epsilon, values[0] - values[k]), rel=1e-9)


def test_no_bound_where_there_is_nothing_to_bound():
    rng = np.random.default_rng(3)
    for atoms, k in ((fa.RankOne(3, 4), 3), (fa.RankOne(3, 4), None), (fa.SignedOneHot((3, 4)), 2)):
        problem = fa.Problem.of(fa.Identity((3, 4)), rng.standard_normal((3, 4)), atoms=atoms, k=k)
        point = dual_point(problem, fa.P1(problem, 0.5), 0.1 * problem.b, problem.at_zero, 0.0)
        cert = certificate(problem, point)
        assert cert.epsilon is not None
        assert cert.hausdorff is None
