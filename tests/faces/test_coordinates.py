"""Faces of one-hot atoms."""

import numpy as np
import pytest

import naive
from contracts.families import generator
from fewatoms import NonnegativeCone, SignedOneHot
from fewatoms.faces import (
    Cone,
)


def test_pruned_coordinates_are_the_largest():
    rng = generator(9)
    face = SignedOneHot(20).expose(rng.standard_normal(20), 12)
    c = np.round(2 * rng.standard_normal(12))  # ties and zeros
    for k in (1, 4, 12):
        smaller, d = face.prune(c, k)
        order = [i for i in naive.top_k(np.abs(c), k) if c[i] != 0]
        np.testing.assert_array_equal(smaller.indices, face.indices[order])
        np.testing.assert_array_equal(d, c[order])
        norms = rng.uniform(0, 3, 12)
        smaller, _ = face.prune(c, k, norms)
        order = [i for i in naive.top_k(np.abs(c) * norms, k) if c[i] != 0]
        np.testing.assert_array_equal(smaller.indices, face.indices[order])


def test_coordinates_by_name():
    x = np.zeros((2, 3))
    face = SignedOneHot((2, 3)).expose(np.array([[0, -3.0, 0], [2, 0, 1]]), 3)
    c = np.array([1.0, 2.0, -3.0])
    labels, values = face.labels(), face.values(c)
    x[tuple(labels.T)] = values
    np.testing.assert_array_equal(labels, [[0, 1], [1, 0], [1, 2]])
    np.testing.assert_array_equal(values, [-1, 2, -3])
    np.testing.assert_array_equal(face.point(c), x)


def test_rays_cost_nothing():
    face = NonnegativeCone(4).expose(np.arange(4.0), 2)
    assert face.gauge(np.ones(2)) == 0.0
    assert face.cone is Cone.NONNEGATIVE


def test_faces_of_vectors_have_no_factors():
    face = SignedOneHot(5).expose(generator(26).standard_normal(5), 3)
    with pytest.raises(AttributeError, match="no factor pairs"):
        face.factors(np.ones(3))
