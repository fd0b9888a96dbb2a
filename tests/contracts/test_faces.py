"""Every kind of face, drawn at random and as sets expose them, keeps the contract; what users read off them."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import aslinearoperator

import naive
from contracts.families import generator, hermitian_dual, matrix_sets, over, square_sets, vector_sets
from faces.small import FACES, NonnegativePairs
from fewatoms import PSDRankOne, RankOne
from fewatoms.faces import (
    BlockFactors,
    Cone,
    Coordinates,
    Factors,
    GroupCoordinates,
    MappedFace,
    NonnegativeFactors,
    ScaledFace,
    SumFace,
    SymmetricFactors,
    within,
)
from fewatoms.testing import check_face

# Faces of every kind, drawn at random

every_face = pytest.mark.parametrize("name", FACES)


def drawn_face(name, seed=0):
    rng = generator(seed)
    face = FACES[name](rng)
    return face, face.project(rng.standard_normal(face.dim))


@every_face
@pytest.mark.parametrize("seed", [0, 1])
def test_every_face_keeps_the_contract(name, seed):
    face, _ = drawn_face(name, seed)
    check_face(face, seed, other=drawn_face(name, seed + 10)[0])


@every_face
def test_no_atoms_are_a_face_too(name):
    face, c = drawn_face(name)
    empty, nothing = face.prune(c, 0)
    assert empty.size == empty.dim == nothing.size == 0
    check_face(empty)
    assert empty.merge(face).dim == face.merge(empty).dim == face.dim


@every_face
def test_without_a_budget_all_that_contributes_stays(name):
    face, c = drawn_face(name)
    smaller, d = face.prune(c, None)
    np.testing.assert_allclose(smaller.point(d), face.point(c), atol=1e-12)
    assert within(smaller, None)


@every_face
def test_faces_travel(name):
    face, c = drawn_face(name)
    again = pickle.loads(pickle.dumps(face))
    np.testing.assert_array_equal(again.point(c), face.point(c))
    assert (again.shape, again.cone) == (face.shape, face.cone)


@every_face
def test_faces_are_values(name):
    face, _ = drawn_face(name)
    with pytest.raises(AttributeError):
        face.shape = (1,)


@every_face
def test_masks_say_what_projections_do(name):
    face, _ = drawn_face(name)
    mask = face.nonnegative()
    if mask is None:
        assert any(leaf.nonnegative() is None for leaf in leaves(face))
        return
    c = generator(1).standard_normal(face.dim)
    np.testing.assert_array_equal(face.project(c), np.where(mask, np.maximum(c, 0.0), c))


@every_face
@pytest.mark.parametrize("k", [0, 1, 2, 3, 5])
def test_one_number_for_all_parts(name, k):
    face, c = drawn_face(name, seed=3)
    smaller, d = face.prune(c, k)
    assert smaller.size <= k
    assert within(smaller, k)
    everything = np.sort(face.contributions(c))[::-1]
    np.testing.assert_allclose(np.sort(smaller.contributions(d))[::-1], everything[everything > 0][:k], atol=1e-12)


# Faces as sets expose them


def budget(atoms, k):
    return tuple(budget(p, k) for p in atoms.parts) if atoms.parts else min(k, atoms.count)


def drawn(atoms, seed, k=3, dual=None):
    """A face of k atoms and allowed coefficients on it."""
    rng = generator(seed)
    z = rng.standard_normal(atoms.shape) if dual is None else dual(rng)
    face = atoms.expose(z, budget(atoms, k))
    return face, face.project(rng.standard_normal(face.dim))


def pruned(atoms, seed, k=2, dual=None):
    """The same without atoms that contribute nothing, as every face is before it turns."""
    face, c = drawn(atoms, seed, dual=dual)
    return face.prune(c, budget(atoms, k))


SETS = vector_sets(7) | matrix_sets(3, 4) | square_sets(3) | {"one entry": RankOne(1, 1), "one row": RankOne(1, 5)}
EVERY = {name: (atoms, None) for name, atoms in SETS.items()} | {
    "nonnegative factors": (NonnegativePairs(3, 4), None),
    "nonnegative factors of one row": (NonnegativePairs(1, 5), None),
    "complex psd": (PSDRankOne(3), hermitian_dual(3)),
    "complex negative semidefinite": (-1.5 * PSDRankOne(3), hermitian_dual(3)),
    "complex psd parts": (PSDRankOne(3) | 2.0 * PSDRankOne(3), hermitian_dual(3)),
}
every_set = pytest.mark.parametrize(("name", "pair"), **over(EVERY))


def inner(x, z):
    return float(np.vdot(x, z).real)


def preimage(face, c):
    """The point in the space where the gauge lives: that of the innermost sets, part by part."""
    if isinstance(face, SumFace):
        return np.concatenate([preimage(f, p) for f, p in zip(face.faces, face.split(c), strict=True)])
    return preimage(face.inner_face, c) if hasattr(face, "inner_face") else face.point(c).ravel()


# Points and coefficients


@every_set
def test_adjoint_is_the_transpose_of_point(name, pair):
    atoms, dual = pair
    face, _ = drawn(atoms, 0, dual=dual)
    rng = generator(1)
    z = rng.standard_normal(atoms.shape) if dual is None else dual(rng)
    B = naive.basis(face)
    expected = (B.conj().T @ z.ravel()).real
    np.testing.assert_allclose(face.adjoint(z), expected, atol=1e-12)
    np.testing.assert_allclose(face.adjoint(z.ravel()), expected, atol=1e-12)
    if z.ndim == 2:
        np.testing.assert_allclose(face.adjoint(sp.csr_array(z)), expected, atol=1e-12)
        np.testing.assert_allclose(face.adjoint(aslinearoperator(z)), expected, atol=1e-12)
    c = rng.standard_normal(face.dim)
    np.testing.assert_allclose(face.point(c).ravel(), B @ c, atol=1e-12)
    assert face.point(c).shape == face.shape == atoms.shape


@every_set
def test_faces_of_every_set_keep_the_contract(name, pair):
    atoms, dual = pair
    face, other = drawn(atoms, 2, dual=dual)[0], drawn(atoms, 12, k=2, dual=dual)[0]
    check_face(face, other=other, duals=dual)
    rng = generator(15)
    empty = atoms.expose(rng.standard_normal(atoms.shape) if dual is None else dual(rng), budget(atoms, 0))
    assert empty.size == empty.dim == 0
    assert face.merge(empty).dim == empty.merge(face).dim == face.dim


def leaves(face):
    if isinstance(face, SumFace):
        return [leaf for f in face.faces for leaf in leaves(f)]
    return leaves(face.inner_face) if hasattr(face, "inner_face") else [face]


@every_set
def test_gauge_of_a_representation(name, pair):
    atoms, dual = pair
    face, c = drawn(atoms, 5, dual=dual)
    mean = face.mean_atom()
    assert face.gauge(mean) == pytest.approx(1.0 if atoms.bounded else 0.0)
    assert face.gauge(0 * c) == 0.0
    assert face.gauge(2.5 * c) == pytest.approx(2.5 * face.gauge(c))
    sizes = [f.gauge(p) for f, p in zip(face.parts, face.split(c), strict=True)]
    assert face.gauge(c) == pytest.approx(max(sizes) if name.count("sum") or "plus" in name else sum(sizes))


# Pruning


@every_set
def test_pruning_to_all_atoms_keeps_the_point(name, pair):
    atoms, dual = pair
    face, c = drawn(atoms, 6, dual=dual)
    smaller, d = face.prune(c, budget(atoms, 10**6))
    np.testing.assert_allclose(smaller.point(d), face.point(c), atol=1e-12)
    assert smaller.size <= face.size
    assert smaller.gauge(d) == pytest.approx(face.gauge(c))


@every_set
def test_pruning_keeps_at_most_k_and_is_idempotent(name, pair):
    atoms, dual = pair
    face, c = drawn(atoms, 7, k=4, dual=dual)
    for k in (1, 2):
        smaller, d = face.prune(c, budget(atoms, k))
        assert all(f.size <= k for f in leaves(smaller))
        again, e = smaller.prune(d, budget(atoms, k))
        np.testing.assert_allclose(again.point(e), smaller.point(d), atol=1e-12)
        np.testing.assert_allclose(smaller.project(d), d, atol=1e-12)
        kept = np.linalg.norm(preimage(face, c) - preimage(smaller, d))
        assert kept <= np.linalg.norm(preimage(face, c)) + 1e-12


# Turning


TURNING = {name: (s, dual) for name, (s, dual) in EVERY.items() if drawn(s, 15, dual=dual)[0].turning() is not None}
every_set_that_turns = pytest.mark.parametrize(("name", "pair"), **over(TURNING))


@every_set_that_turns
def test_lower_bounds_are_the_cones(name, pair):
    atoms, dual = pair
    face, _ = pruned(atoms, 17, dual=dual)
    lower = face.turning().lower()
    assert np.isin(lower, [0.0, -np.inf]).all()
    if all(f.cone is Cone.NONNEGATIVE for f in leaves(face)):
        assert (lower == 0).all()
    if not any(f.cone is Cone.NONNEGATIVE for f in leaves(face)):
        assert (lower == -np.inf).all()


@every_set_that_turns
def test_duals_are_pulled_in_any_form(name, pair):
    atoms, dual = pair
    face, c = pruned(atoms, 18, dual=dual)
    turning = face.turning()
    rng = generator(19)
    z = rng.standard_normal(atoms.shape) if dual is None else dual(rng)
    v = turning.unfold(c)
    gradient = turning.pull(v, z)
    assert gradient.shape == v.shape
    assert gradient.dtype == v.dtype == np.float64
    if z.ndim == 2:
        np.testing.assert_allclose(turning.pull(v, sp.csr_array(z)), gradient, atol=1e-12)
        symmetric = 0.5 * (z + z.conj().T) if z.shape[0] == z.shape[1] else z
        implicit = turning.pull(v, aslinearoperator(symmetric))
        np.testing.assert_allclose(implicit, turning.pull(v, symmetric), atol=1e-12)


@every_set
def test_only_matrix_faces_turn(name, pair):
    face, _ = drawn(pair[0], 20, dual=pair[1])
    turns = any(isinstance(f, (BlockFactors, Factors, SymmetricFactors)) for f in leaves(face))
    assert (face.turning() is not None) == turns


# Inner products, entries, factors, names


@every_set
def test_inner_products_without_the_points(name, pair):
    atoms, dual = pair
    face, c = drawn(atoms, 21, dual=dual)
    other, d = drawn(atoms, 22, k=2, dual=dual)
    assert face.inner(c, other, d) == pytest.approx(inner(preimage(face, c), preimage(other, d)), abs=1e-12)
    assert face.inner(c, face, c) == pytest.approx(np.linalg.norm(preimage(face, c)) ** 2)


AS_MATRICES = {
    name: (atoms if len(atoms.shape) == 2 else atoms.reshaped((1, atoms.n)), dual)
    for name, (atoms, dual) in EVERY.items()
    if len(atoms.shape) == 2 or not atoms.parts
}


@pytest.mark.parametrize(("name", "pair"), **over(AS_MATRICES))
def test_entries_without_the_point(name, pair):
    atoms, dual = pair
    face, c = drawn(atoms, 23, dual=dual)
    rng = generator(24)
    rows, cols = rng.integers(atoms.shape[0], size=9), rng.integers(atoms.shape[1], size=9)
    np.testing.assert_allclose(face.entries(c, rows, cols), face.point(c)[rows, cols], atol=1e-12)


@pytest.mark.parametrize("name", ["rank one", "double rank one", "turned rank one", "psd", "negative semidefinite"])
@pytest.mark.parametrize("complex_", [False, True])
def test_factors_multiply_to_the_point(name, complex_):
    dual = hermitian_dual(3) if complex_ else None
    if complex_ and "rank one" in name:
        dual = None
    face, c = drawn(SETS[name], 25, dual=dual)
    left, right = face.factors(c)
    np.testing.assert_allclose(left @ right.T, face.point(c), atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(left, axis=0), np.linalg.norm(right, axis=0))


@every_set
def test_names_and_values_of_atoms(name, pair):
    atoms, dual = pair
    face, c = pruned(atoms, 27, dual=dual)
    for leaf, p in zip(face.parts, face.split(c), strict=True):
        if isinstance(leaf, SumFace):
            with pytest.raises(AttributeError, match="part by part"):
                leaf.labels()
            with pytest.raises(AttributeError, match="part by part"):
                leaf.values(p)
            continue
        assert len(leaf.labels()) == len(leaf.values(p)) == leaf.size


@every_set
def test_essential_cone(name, pair):
    """As a cone, atoms as they were exposed may only be added; what is free by nature stays free."""
    face, c = drawn(pair[0], 28, dual=pair[1])
    cone = face.as_cone()
    assert type(cone) is type(face)
    np.testing.assert_array_equal(naive.basis(cone), naive.basis(face))
    for before, after in zip(leaves(face), leaves(cone), strict=True):
        if isinstance(before, Coordinates):
            assert after.cone is Cone.NONNEGATIVE
        else:
            assert after.cone is before.cone
    np.testing.assert_array_equal(cone.point(c), face.point(c))


@every_set
def test_parts_and_their_coefficients(name, pair):
    face, c = drawn(pair[0], 29, dual=pair[1])
    pieces = face.split(c)
    assert len(pieces) == len(face.parts)
    np.testing.assert_array_equal(np.concatenate(pieces), c)
    total = sum(f.point(p) for f, p in zip(face.parts, pieces, strict=True))
    np.testing.assert_allclose(total, face.point(c), atol=1e-12)


KINDS = [Coordinates, GroupCoordinates, Factors, NonnegativeFactors, SymmetricFactors, ScaledFace, MappedFace, SumFace]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_face_is_in_the_family(kind):
    def kinds(face):
        yield type(face)
        for part in getattr(face, "faces", [getattr(face, "inner_face", None)]):
            if part is not None:
                yield from kinds(part)

    met = {k for atoms, dual in EVERY.values() for k in kinds(drawn(atoms, 30, dual=dual)[0])}
    assert kind in met
