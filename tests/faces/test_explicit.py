"""Atoms that are given one by one."""

import numpy as np
import pytest
import scipy.sparse as sp

from contracts.families import generator
from faces.small import P, Q, explicit
from fewatoms import Counting
from fewatoms.faces import (
    Cone,
    Explicit,
)


def test_explicit_atoms_from_a_list():
    atoms = [[1, 0, 0], [0, 2, 0]]
    face = Explicit.of(atoms, (3,), names=["x", "y"])
    assert face.shape == (3,)
    assert face.cone is Cone.FREE
    np.testing.assert_array_equal(face.point(np.array([3.0, -1.0])), [3.0, -2.0, 0.0])
    assert list(face.labels()) == ["x", "y"]
    assert list(face.prune(np.array([1.0, -4.0]), 1)[0].labels()) == ["y"]
    assert Explicit.of([np.arange(6)], (2, 3)).point(np.ones(1)).shape == (2, 3)
    none = Explicit.of([], (2, 3))
    assert none.size == 0
    np.testing.assert_array_equal(none.point(np.zeros(0)), np.zeros((2, 3)))


def test_explicit_atoms_are_checked():
    with pytest.raises(ValueError, match=r"atoms must have shape \(3,\); atoms\[1\] has shape \(2,\)"):
        Explicit.of([[1, 2, 3], [1, 2]], (3,))
    with pytest.raises(ValueError, match="names must have one entry for each of the 1 atoms"):
        Explicit.of([[1, 2, 3]], (3,), names=["a", "b"])
    with pytest.raises(ValueError, match=r"cone must be Cone\.FREE or Cone\.NONNEGATIVE"):
        Explicit.of([[1, 2, 3]], (3,), cone=Cone.PSD)


def test_explicit_atoms_are_merged_once():
    rng = generator(6)
    a, b, c = rng.standard_normal((3, 8))
    left = Explicit.of([a, b], (8,), names=["a", "b"])
    right = Explicit.of([b * (1 + 1e-15), c, -a], (8,), names=["b", "c", "-a"])
    assert list(left.merge(right).labels()) == ["a", "b", "c"]  # where signs are free -a is a
    cone = left.as_cone().merge(right.as_cone())
    assert list(cone.labels()) == ["a", "b", "c", "-a"]
    assert cone.cone is Cone.NONNEGATIVE
    close = Explicit(np.stack([a * (1 + 1e-9), b]))
    assert left.merge(close).size == 3  # another atom, if only just
    assert list(left.merge(close).labels()) == [0, 1, 2]  # not all have names


def test_explicit_atoms_are_measured_once():
    rng = generator(7)
    M = Counting(rng.standard_normal((4, 6)))
    face = explicit(rng, (6,), count=3)
    reduced = M.restrict(face)
    assert M.products == 3
    assert reduced.direct
    c = rng.standard_normal(3)
    np.testing.assert_allclose(reduced.apply(c), M.inner.apply(face.point(c)))
    np.testing.assert_allclose(reduced.norms(), np.linalg.norm(M.inner.apply_block(face.atoms.T), axis=0))
    reduced.adjoint(np.ones(4))
    assert M.products == 3


def test_explicit_duals_in_any_form():
    rng = generator(8)
    face, z = explicit(rng), rng.standard_normal((P, Q))
    expected = np.einsum("aij,ij->a", face.atoms, z)
    for dual in (z, z.ravel(), sp.csr_array(z)):
        np.testing.assert_allclose(face.adjoint(dual), expected)
