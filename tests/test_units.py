"""Listed atoms in units of their images."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import aslinearoperator

import fewatoms as fa
from contracts.families import projector
from fewatoms.atoms.mapped import LinearMap
from fewatoms.units import (
    column_lengths,
    diagonal,
    image_lengths,
    in_coefficients,
    in_units,
    scale_of,
    some_lengths,
    unit_atoms,
)

rng = np.random.default_rng(0)
A = rng.standard_normal((6, 5)) * np.array([1.0, 10.0, 0.1, 3.0, 2.0])
D = rng.standard_normal((5, 7))
SETS = {
    "signed": (fa.SignedOneHot(5), np.eye(5)),
    "nonnegative": (fa.NonnegativeOneHot(5), np.eye(5)),
    "multiple": (-3.0 * fa.SignedOneHot(5), -3.0 * np.eye(5)),
    "dictionary": (fa.Dictionary(D, symmetric=True), D),
    "mapped multiple": (2.0 * fa.Mapped(D, fa.SignedOneHot(7)), 2.0 * D),
}


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("weights", [None, np.arange(1.0, 7.0)], ids=["plain", "weights"])
@pytest.mark.parametrize("form", [np.asarray, sp.csc_array])
def test_atoms_have_images_of_length_one(name, weights, form):
    atoms, columns = SETS[name]
    problem = fa.Problem.of(form(A), np.ones(6), atoms=atoms, k=1, loss=fa.LeastSquares(weights))
    units = unit_atoms(problem)
    root = np.ones(6) if weights is None else np.sqrt(weights)
    lengths = np.linalg.norm(root[:, None] * (A @ columns), axis=0)
    z = rng.standard_normal(5)
    expected = columns.T @ z / lengths
    size = np.abs(expected) if atoms.centrosymmetric else expected
    assert units.support(z) == pytest.approx(max(0.0, size.max()), rel=1e-9)
    for i in range(columns.shape[1]):
        face = units.expose(columns[:, i], 1)
        atom = face.point(face.mean_atom())
        assert np.linalg.norm(root * (A @ atom)) == pytest.approx(1.0, rel=1e-9)


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("loss", [fa.LeastSquares, lambda weights: fa.Huber(0.5, weights)], ids=["squares", "huber"])
@pytest.mark.parametrize("weights", [None, np.arange(1.0, 7.0)], ids=["plain", "weights"])
def test_lengths_are_taken_past_free_columns(name, loss, weights):
    """With every loss, so that an offset of a feature changes nothing; all at once, some of them, and in units."""
    atoms, columns = SETS[name]
    F = np.stack([np.ones(6), np.arange(6.0) ** 2], axis=1)
    problem = fa.Problem.of(A + 100.0, np.ones(6), atoms=atoms, k=1, loss=loss(weights), free=F)
    images, listing = projector(F, weights) @ A @ columns, atoms.listing()
    root = np.ones(6) if weights is None else np.sqrt(weights)
    lengths = np.linalg.norm(root[:, None] * images, axis=0)
    np.testing.assert_allclose(image_lengths(problem, listing), lengths, rtol=1e-9)
    np.testing.assert_allclose(some_lengths(problem, listing, np.array([3, 0, 3])), lengths[[3, 0, 3]], rtol=1e-9)
    of_columns = column_lengths(problem, in_coefficients(problem.M, listing))
    np.testing.assert_allclose(of_columns, lengths / abs(listing.factor), rtol=1e-9)
    units = unit_atoms(problem)
    z = rng.standard_normal(5)
    assert units.support(z) == pytest.approx(max(0.0, (atoms_seen(atoms, columns, z) / lengths).max()), rel=1e-9)
    np.testing.assert_array_equal(image_lengths(problem, units.listing()), np.ones(lengths.size))


def atoms_seen(atoms, columns, z):
    return np.abs(columns.T @ z) if atoms.centrosymmetric else columns.T @ z


def test_maps_that_change_units_alone():
    units = unit_atoms(fa.Problem.of(A, np.ones(6), atoms=fa.Mapped(D, 2.0 * fa.SignedOneHot(7)), k=1))
    outer, inner = units.listing().maps
    assert diagonal(outer) is None
    np.testing.assert_allclose(diagonal(inner), 0.5 / np.linalg.norm(A @ D, axis=0))
    assert diagonal(LinearMap(sp.csc_array(np.tri(3)), "B")) is None
    assert diagonal(LinearMap(sp.csc_array(np.ones((2, 3))), "B")) is None


def test_where_there_are_no_units():
    assert unit_atoms(fa.Problem.of(aslinearoperator(A), np.ones(6), atoms=fa.SignedOneHot(5), k=1)) is None
    assert unit_atoms(fa.Problem.of(A, np.ones(6), atoms=fa.SignedOneHot(5), k=1, cap=1.0)) is None
    assert unit_atoms(fa.Problem.of(A, np.ones(6), atoms=fa.NonnegativeCone(5), k=1)) is None
    matrix = fa.Problem.of(fa.Identity((2, 3)), np.ones((2, 3)), atoms=fa.RankOne(2, 3), k=1)
    assert unit_atoms(matrix) is None


def test_empty_columns_and_atoms_left_out():
    np.testing.assert_array_equal(scale_of(np.array([2.0, 0.0])), [0.5, 0.0])
    hollow = A.copy()
    hollow[:, 1] = 0.0
    atoms = fa.SignedOneHot(5).restricted(exclude=[0])
    units = unit_atoms(fa.Problem.of(hollow, np.ones(6), atoms=atoms, k=1))
    assert units.support(np.eye(5)[1]) == 1.0  # as it is
    assert units.support(np.eye(5)[0]) == 0.0
    listing = atoms.listing()
    assert in_units(listing, None) is None
    assert in_coefficients(fa.operators.as_operator(A), listing).shape == (6, 5)
