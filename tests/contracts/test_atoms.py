"""Every atomic set: gauge and support function, exposed atoms, proximal maps, algebra."""

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import aslinearoperator

import naive
from contracts.families import few, generator, matrix_sets, over, square_sets, vector_sets
from fewatoms import (
    BlockRankOne,
    Dictionary,
    Groups,
    Joint,
    Mapped,
    NonnegativeCone,
    NonnegativeOneHot,
    PSDRankOne,
    RankOne,
    SignedOneHot,
    linalg,
)
from fewatoms.atoms import Scaled, Sum, Union
from fewatoms.atoms.mapped import Image, Rescaled
from fewatoms.budget import Budget
from fewatoms.testing import check_atoms
from test_examples import module

SETS = vector_sets(6) | matrix_sets(2, 3) | square_sets(2)
EDGES = {
    "one coordinate": SignedOneHot(1),
    "one positive coordinate": NonnegativeOneHot(1),
    "one entry": RankOne(1, 1),
    "one row": RankOne(1, 4),
    "one column": RankOne(4, 1),
    "one number, psd": PSDRankOne(1),
    "one group": Groups([3, 3, 3]),
    "groups of one": Groups([2, 0, 1]),
    "one atom": Dictionary(np.array([[1.0], [2.0]]), symmetric=False),
    "atoms twice": Dictionary(np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]), symmetric=True),
    "a zero atom": Dictionary(np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]), symmetric=True),
    "rays mapped": Mapped(np.array([[1.0, 1.0], [0.0, 1.0]]), NonnegativeCone(2)),
    "rays and atoms": NonnegativeCone(3) | SignedOneHot(3),
    "rays plus atoms": NonnegativeCone(3) + SignedOneHot(3),
    "a sum of three": SignedOneHot(2) + NonnegativeOneHot(2) + 2.0 * Groups([0, 0]),
}
EVERY = SETS | EDGES
every_set = pytest.mark.parametrize(("name", "atoms"), **over(EVERY))


def is_optimised(atoms):
    """Whether the gauge is an optimisation of its own."""
    return isinstance(atoms, (Sum, Union, Image)) or (isinstance(atoms, Scaled) and is_optimised(atoms.inner))


def holds_rank_one(atoms):
    return any(isinstance(a, (RankOne, PSDRankOne, BlockRankOne)) for a in (atoms, *atoms.parts)) or (
        isinstance(atoms, Image) and isinstance(atoms.inner, (RankOne, PSDRankOne))
    )


@every_set
def test_identities(name, atoms):
    slow = is_optimised(atoms)
    cheap = not (slow and holds_rank_one(atoms)) and (atoms.bounded or not slow)
    check_atoms(atoms, rng=0, exact=cheap, trials=1 if slow else 3)


OTHERS = {
    "with an atom forced in": SignedOneHot(6).restricted(include=[2]),
    "with atoms left out": Groups([0, 1, 1, 2, 0, 2]).restricted(exclude=[1]),
    "an image with atoms left out": Mapped(np.eye(6)[:, ::-1] + 0.1, NonnegativeOneHot(6).restricted(exclude=[0, 5])),
    "blocks left out": BlockRankOne((5, 4), (2, 2)).restricted(exclude=[(0, 1), (2, 0)]),
    "rays left out": NonnegativeCone(4).restricted(exclude=[1]),
    "in units of their own": Rescaled(Groups([0, 1, 1, 2]), np.array([1.0, 2.0, 0.5, 3.0])),
    "nonnegative factors": RankOne(3, 4, nonnegative=True),
    "rows of several vectors": Joint(SignedOneHot(3)).over_columns(2),
    "rows of groups": Joint(Groups([0, 0, 1])).over_columns(2),
    "permutations": module("own_set").Permutations(3),
    "multiples of permutations": 2.0 * module("own_set").Permutations(3),
    "tensors": module("own_tensors").RankOneTensors(3, 2, 2),
    "trees": module("own_finite_set").TreeGroups([-1, 0, 0, 1, 1]),
    "trees turned over": -2.0 * module("own_finite_set").TreeGroups([-1, 0, 0, 1, 1]),
    "trees mapped": Mapped(np.eye(5)[:, ::-1] + 0.1, module("own_finite_set").TreeGroups([-1, 0, 0, 1, 1])),
    "trees or entries": module("own_finite_set").TreeGroups([-1, 0, 0, 1, 1]) | SignedOneHot(5),
}


@pytest.mark.parametrize(("name", "atoms"), **over(OTHERS))
def test_identities_of_others(name, atoms):
    check_atoms(atoms, rng=0, trials=1, exact=name not in ("rays left out", "trees or entries"))


LONG = [pytest.param(name, marks=pytest.mark.soak) for name in ("low rank plus sparse", "low rank or sparse")]


@pytest.mark.parametrize("name", [*LONG, "psd or nonnegative", "mapped psd"])
def test_identities_with_the_exact_gauge_of_matrix_sums(name):
    check_atoms(SETS[name], rng=1, trials=1)


@pytest.mark.parametrize(("name", "atoms"), **over(matrix_sets(3, 4) | square_sets(3)))
@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_array, aslinearoperator, np.asfortranarray])
def test_duals_come_in_any_form(name, atoms, form):
    if len(atoms.shape) == 1:
        atoms = atoms.reshaped((3, 3))
    rng = generator(1)
    z = rng.standard_normal(atoms.shape)
    z = z + z.T if z.shape[0] == z.shape[1] else z
    given = form(z)
    k = few(atoms, 2)
    assert atoms.support(given) == pytest.approx(atoms.support(z))
    expected = atoms.expose(z, k)
    c = rng.standard_normal(expected.dim)
    np.testing.assert_allclose(atoms.expose(given, k).point(c), expected.point(c), atol=1e-10)
    eps = 0.3 * atoms.support(z)
    assert atoms.exposed(given, eps).size == atoms.exposed(z, eps).size
    assert atoms.extreme(given)[0] == pytest.approx(atoms.support(z))
    face, d = atoms.shrink([(1.0, expected, expected.project(c))], given, 0.5).at(0.2)
    same, e = atoms.shrink([(1.0, expected, expected.project(c))], z, 0.5).at(0.2)
    np.testing.assert_allclose(face.point(d), same.point(e), atol=1e-9)


# Support and gauge against lists and conic programs


LISTED = {
    name: atoms
    for name, atoms in EVERY.items()
    if atoms.finite
    and atoms.bounded
    and "group" not in name
    and "sparse matrix" not in name
    and name not in ("sum", "union of three", "a sum of three")
}


@pytest.mark.parametrize(("name", "atoms"), **over(LISTED))
def test_support_and_gauge_against_the_list_of_atoms(name, atoms):
    columns = naive.listed(atoms)
    rng = generator(2)
    for _ in range(5):
        z = rng.standard_normal(atoms.shape)
        for dual in (z, -np.abs(z), np.round(z), 0 * z):
            assert atoms.support(dual) == pytest.approx(naive.support_of_list(columns, dual), abs=1e-12)
    inside = columns @ np.abs(rng.standard_normal(columns.shape[1]))
    for x in (inside, columns[:, 0], -columns[:, 0], rng.standard_normal(atoms.n), np.zeros(atoms.n)):
        assert atoms.gauge(x.reshape(atoms.shape)) == pytest.approx(naive.gauge_of_list(columns, x), rel=1e-7, abs=1e-9)


BOUNDED = {name: atoms for name, atoms in EVERY.items() if atoms.bounded}


@pytest.mark.parametrize(("name", "atoms"), **over(BOUNDED))
def test_gauge_against_a_conic_program(name, atoms):
    rng = generator(3)
    face = atoms.expose(rng.standard_normal(atoms.shape), few(atoms, 2))
    x = face.point(face.project(rng.standard_normal(face.dim)))
    assert atoms.gauge(x) == pytest.approx(naive.gauge(atoms, x), rel=1e-6, abs=1e-7)


# Exposed atoms


FINITE = {name: atoms for name, atoms in EVERY.items() if atoms.finite and not atoms.parts}


@pytest.mark.parametrize(("name", "atoms"), **over(FINITE))
def test_the_k_best_aligned_atoms(name, atoms):
    rng = generator(6)
    z = np.round(2 * rng.standard_normal(atoms.shape)) / 2  # with ties
    a = atoms.alignments(z)
    assert a.size == atoms.count
    for k in (1, 2, atoms.count):
        k = min(k, atoms.count)
        face = atoms.expose(z, k)
        assert face.size == k
        reached = np.sort([alignment(face, i, z) for i in range(k)])[::-1]
        np.testing.assert_allclose(reached, a[naive.top_k(a, k)], atol=1e-12)


def alignment(face, i, z):
    """<a, z> of the i-th exposed atom."""
    starts = innermost(face)
    if starts is None:
        return float(face.adjoint(z)[i])
    c = np.zeros(face.dim)
    c[starts[i] : starts[i + 1]] = innermost_face(face).directions[starts[i] : starts[i + 1]]
    return float(np.vdot(face.point(c), z))


def innermost_face(face):
    while hasattr(face, "inner_face"):
        face = face.inner_face
    return face


def innermost(face):
    return getattr(innermost_face(face), "starts", None)


@every_set
def test_a_dual_that_all_atoms_oppose(name, atoms):
    """One-sided sets: support 0 and nothing exposed; two-sided sets have no such dual but 0."""
    z = np.zeros(atoms.shape)
    assert atoms.support(z) == 0.0
    sigma, face = atoms.extreme(z)
    assert sigma == 0.0
    assert np.isfinite(face.point(face.mean_atom())).all()
    assert atoms.exposed(z, 0.0, 1).dim <= face.dim or not atoms.bounded


@pytest.mark.parametrize(
    ("atoms", "z"),
    [
        (NonnegativeOneHot(3), -np.ones(3)),
        (-1.5 * NonnegativeOneHot(3), np.ones(3)),
        (PSDRankOne(2), -np.eye(2)),
        (Dictionary(np.eye(3), symmetric=False), -np.ones(3)),
        (NonnegativeOneHot(3) | 2.0 * NonnegativeOneHot(3), -np.ones(3)),
        (NonnegativeOneHot(3) + 2.0 * NonnegativeOneHot(3), -np.ones(3)),
        (NonnegativeCone(3), -np.ones(3)),
    ],
    ids=lambda a: repr(a) if not isinstance(a, np.ndarray) else "",
)
def test_nothing_is_exposed_where_all_atoms_point_away(atoms, z):
    assert atoms.support(z) == 0.0
    sigma, face = atoms.extreme(z)
    assert sigma == 0.0
    assert face.size == 0
    assert face.dim == 0
    assert atoms.exposed(z, 0.0).size == 0
    assert atoms.exposed(z, 0.5).size == 0
    assert atoms.exposed(z, 1e9).size == sum(p.count for p in atoms.parts or [atoms])
    assert atoms.expose(z, few(atoms, 2)).size >= 2  # asked for two, they are given


@pytest.mark.parametrize(("name", "atoms"), **over({n: a for n, a in SETS.items() if a.bounded}))
def test_at_least_as_many_exposed_as_asked_for(name, atoms):
    z = generator(18).standard_normal(atoms.shape)
    few = atoms.exposed(z, 0.0, None, 2)
    for part, face in zip(atoms.parts or [atoms], few.parts, strict=True):
        assert face.size >= min(2, part.count)
    assert atoms.exposed(z, 0.0, 1, 0).size <= len(few.parts) * 2


# Proximal maps


PLAIN = {
    name: atoms
    for name, atoms in (EVERY | square_sets(3)).items()
    if not is_optimised(atoms) and not isinstance(atoms, Scaled)
}


@pytest.mark.parametrize(("name", "atoms"), **over(PLAIN))
def test_proximal_map_against_its_formula(name, atoms):
    rng = generator(7)
    first = atoms.expose(rng.standard_normal(atoms.shape), min(2, atoms.count))
    second = atoms.expose(rng.standard_normal(atoms.shape), 1)
    points = [(0.6, first, rng.standard_normal(first.dim)), (-1.0, second, rng.standard_normal(second.dim))]
    z = rng.standard_normal(atoms.shape)
    before = z.copy()
    w = sum(a * f.point(c).ravel() for a, f, c in points) + 0.3 * z.ravel()
    shrinkage = atoms.shrink(points, z, 0.3)
    for t in (1.0, 0.1, 0.4, 0.0, 100.0):
        face, c = shrinkage.at(t)
        np.testing.assert_allclose(face.point(c).ravel(), naive.proximal(atoms, w, t), atol=1e-12)
        assert shrinkage.gauge(t) == pytest.approx(face.gauge(c), abs=1e-12)
    np.testing.assert_array_equal(z, before)


@every_set
def test_shrinking_far_enough_leaves_nothing(name, atoms):
    z = generator(9).standard_normal(atoms.shape)
    face, c = atoms.shrink([], z, 1.0).at(1e6)
    if atoms.bounded:
        assert face.gauge(c) == 0.0
        np.testing.assert_allclose(face.point(c), 0.0, atol=1e-14)
    assert face.gauge(c) == atoms.shrink([], z, 1.0).gauge(1e6) == 0.0


# Algebra, shapes, budgets


@every_set
def test_copies_and_pickles(name, atoms):
    z = generator(12).standard_normal(atoms.shape)
    for other in (copy.copy(atoms), copy.deepcopy(atoms), *_pickled(atoms)):
        assert type(other) is type(atoms)
        assert other.shape == atoms.shape
        assert other.support(z) == atoms.support(z)
        assert repr(other) == repr(atoms)


def _pickled(atoms):
    try:
        return [pickle.loads(pickle.dumps(atoms))]
    except (pickle.PicklingError, AttributeError):  # an operator made of local functions cannot be pickled
        return []


@every_set
def test_counts_and_budgets(name, atoms):
    if atoms.parts:
        assert atoms.count == sum(p.count for p in atoms.parts)
        assert Budget.of(few(atoms, 1), atoms).k == few(atoms, 1)
        if atoms.finite:  # for all parts together
            assert Budget.of(1, atoms).k == 1
        else:
            with pytest.raises((TypeError, ValueError), match="one budget for each"):
                Budget.of(1, atoms)
        with pytest.raises(ValueError, match="one budget for each"):
            Budget.of((1,) * (len(atoms.parts) + 1), atoms)
        return
    assert Budget.of(atoms.count, atoms).k == atoms.count
    for wrong in (0, atoms.count + 1):
        with pytest.raises(ValueError, match="k must be"):
            Budget.of(wrong, atoms)


def test_number_of_atoms():
    assert SignedOneHot((2, 3)).count == 6
    assert Groups(["a", "b", "a"]).count == 2
    assert Dictionary(np.ones((3, 7)), symmetric=True).count == 7
    assert RankOne(4, 3).count == 3
    assert PSDRankOne(5).count == 5
    assert (2.0 * RankOne(4, 3)).count == 3


SINGLE = {name: atoms for name, atoms in vector_sets(6).items() if not atoms.parts}


@pytest.mark.parametrize(("name", "atoms"), **over(SINGLE))
def test_vectors_laid_out_as_matrices(name, atoms):
    again = atoms.reshaped((2, 3))
    assert again.shape == (2, 3)
    assert atoms.shape == (6,)
    z = generator(13).standard_normal((2, 3))
    assert again.support(z) == pytest.approx(atoms.support(z.ravel()))
    face = again.expose(z, min(2, atoms.count))
    assert face.point(np.ones(face.dim)).shape == (2, 3)


def test_sets_hold_no_state_between_duals():
    """The same dual gives the same face, and two duals do not disturb each other."""
    rng = generator(14)
    for atoms in SETS.values():
        z, other = rng.standard_normal((2, *atoms.shape))
        face = atoms.expose(z, few(atoms, 2))
        x = face.point(np.ones(face.dim))
        atoms.expose(other, few(atoms, 2))
        again = atoms.expose(z, few(atoms, 2))
        np.testing.assert_array_equal(again.point(np.ones(again.dim)), x)


@pytest.mark.parametrize("name", ["rank one", "psd", "signed entries"])
def test_large_and_small_paths_agree(name, monkeypatch):
    """Partial decompositions of larger matrices expose what full ones of smaller matrices expose."""
    n = 12
    atoms = (matrix_sets(n, n) | {"psd": PSDRankOne(n)})[name]
    z = generator(15).standard_normal((n, n))
    eps = 0.2 * atoms.support(z)
    small = atoms.support(z), atoms.exposed(z, eps).size, atoms.shrink([], z, 1.0).gauge(2.0)
    monkeypatch.setattr(linalg, "DENSE_SIDE", 3)
    large = atoms.support(z), atoms.exposed(z, eps).size, atoms.shrink([], z, 1.0).gauge(2.0)
    np.testing.assert_allclose(small, large, rtol=1e-10)
