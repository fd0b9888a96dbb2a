"""Faces of rank-one matrices, as pairs of factors."""

import numpy as np

import naive
from contracts.families import generator
from faces.small import NonnegativePairs
from fewatoms import RankOne


def test_pruned_factors_are_the_truncated_decomposition():
    rng = generator(11)
    face = RankOne(5, 6).expose(rng.standard_normal((5, 6)), 4)
    c = face.project(rng.standard_normal(face.dim))
    smaller, d = face.prune(c, 2)
    u, s, vh = np.linalg.svd(face.point(c))
    np.testing.assert_allclose(smaller.point(d), (u[:, :2] * s[:2]) @ vh[:2], atol=1e-12)
    np.testing.assert_allclose(smaller.values(d), s[:2], atol=1e-12)


def test_pruned_nonnegative_factors_are_the_largest():
    rng = generator(10)
    face = NonnegativePairs(6, 7).expose(rng.standard_normal((6, 7)), 9)
    c = np.maximum(np.round(2 * rng.standard_normal(9)), 0.0)  # ties and zeros
    for k in (1, 3, 9):
        for norms in (None, rng.uniform(0.1, 3.0, 9)):  # where they are known, contributions are measured in the data
            smaller, d = face.prune(c, k, norms)
            order = [i for i in naive.top_k(c if norms is None else c * norms, k) if c[i] > 0]
            np.testing.assert_array_equal(d, c[order])
            np.testing.assert_array_equal(smaller.P, face.P[:, order])
            np.testing.assert_array_equal(smaller.Q, face.Q[:, order])


def test_nonnegative_factors_multiply_to_the_point():
    rng = generator(25)
    face = NonnegativePairs(4, 6).expose(rng.standard_normal((4, 6)), 3)
    c = face.project(rng.standard_normal(face.dim))
    left, right = face.factors(c)
    assert (left >= 0).all()
    assert (right >= 0).all()
    np.testing.assert_allclose(left @ right.T, face.point(c), atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(left, axis=0), np.linalg.norm(right, axis=0))
    assert face.gauge(c) >= np.linalg.norm(face.point(c), "nuc") - 1e-12  # a bound, where atoms are not orthogonal
