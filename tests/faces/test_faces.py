"""Every kind of face keeps its contract, alone, wrapped and in sums; what breaks it is told."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from fewatoms import Counting
from fewatoms.atoms.mapped import LinearMap
from fewatoms.faces import (
    Cone,
    Coordinates,
    Explicit,
    Face,
    Factors,
    FactorTurning,
    GroupCoordinates,
    MappedFace,
    NonnegativeFactors,
    ScaledFace,
    Still,
    SumFace,
    SymmetricFactors,
    SymmetricTurning,
    within,
)
from fewatoms.operators import as_operator
from fewatoms.reduced import Implicit
from fewatoms.testing import check_face

P, Q = 4, 5


def generator(seed=0):
    return np.random.default_rng(seed)


def coordinates(rng, shape=(P, Q), count=4, **more):
    indices = rng.choice(int(np.prod(shape)), size=count, replace=False).astype(np.intp)
    return Coordinates(indices, np.where(indices % 2, 1.0, -1.0), shape, **more)


def groups(rng, shape=(P, Q)):
    """Three groups, of 2, 1 and 3 entries."""
    every = rng.permutation(3)
    members = [[0, 5], [7], [8, 9, 13]]
    sizes = [len(members[g]) for g in every]
    return GroupCoordinates(
        indices=np.concatenate([members[g] for g in every]).astype(np.intp),
        starts=np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp),
        directions=np.concatenate([np.full(s, s**-0.5) for s in sizes]),
        group=every.astype(np.intp),
        names=np.array(["left", "middle", "right"])[every],
        weights=np.ones(3),
        shape=shape,
    )


def orthonormal(rng, n, r, complex_=False):
    G = rng.standard_normal((n, r))
    return np.linalg.qr(G + 1j * rng.standard_normal((n, r)) if complex_ else G)[0]


def factors(rng, r=2, s=3, p=P, q=Q):
    return Factors(orthonormal(rng, p, r), orthonormal(rng, q, s))


def nonnegative_factors(rng, r=3):
    columns = [rng.uniform(0.0, 1.0, (n, r)) for n in (P, Q)]
    return NonnegativeFactors(*(A / np.linalg.norm(A, axis=0) for A in columns))


def symmetric(rng, n=P, r=2, complex_=False):
    return SymmetricFactors(orthonormal(rng, n, r, complex_))


def explicit(rng, shape=(P, Q), count=3, complex_=False, **more):
    atoms = rng.standard_normal((count, *shape))
    return Explicit(atoms + 1j * rng.standard_normal(atoms.shape) if complex_ else atoms, **more)


def mapped(rng, inner, shape=(P, Q)):
    n = int(np.prod(inner.shape))
    B = np.random.default_rng(5).standard_normal((int(np.prod(shape)), n))
    return MappedFace(LinearMap(B, "B"), inner, shape)


def total(*faces, joined=True):
    return SumFace(faces, joined, faces[0].shape)


def nested(rng, joined=True):
    inside = total(coordinates(rng), ScaledFace(2.0, explicit(rng, cone=Cone.NONNEGATIVE)), joined=joined)
    return total(factors(rng), inside, joined=not joined)


FACES = {
    "coordinates": coordinates,
    "coordinates of vectors": lambda rng: coordinates(rng, shape=(9,)),
    "coordinates, nonnegative": lambda rng: coordinates(rng, cone=Cone.NONNEGATIVE),
    "rays": lambda rng: coordinates(rng, cone=Cone.NONNEGATIVE, rays=True),
    "groups": groups,
    "factors": factors,
    "factors, square": lambda rng: factors(rng, 3, 3),
    "factors of one row": lambda rng: factors(rng, 1, 2, p=1),
    "nonnegative factors": nonnegative_factors,
    "symmetric": symmetric,
    "symmetric, complex": lambda rng: symmetric(rng, complex_=True),
    "explicit": explicit,
    "explicit vectors": lambda rng: explicit(rng, (6,)),
    "explicit, nonnegative": lambda rng: explicit(rng, cone=Cone.NONNEGATIVE),
    "explicit, named": lambda rng: explicit(rng, names=np.array(["b", "a", "c"])),
    "explicit, complex": lambda rng: explicit(rng, (P, P), complex_=True),
    "scaled coordinates": lambda rng: ScaledFace(-1.5, coordinates(rng)),
    "scaled factors": lambda rng: ScaledFace(-1.5, factors(rng)),
    "scaled symmetric, complex": lambda rng: ScaledFace(-2.0, symmetric(rng, complex_=True)),
    "scaled explicit": lambda rng: ScaledFace(0.1, explicit(rng)),
    "scaled twice": lambda rng: ScaledFace(3.0, ScaledFace(-0.5, groups(rng))),
    "mapped coordinates": lambda rng: mapped(rng, coordinates(rng, shape=(8,))),
    "mapped factors": lambda rng: mapped(rng, factors(rng, 2, 2, p=3, q=3)),
    "mapped symmetric": lambda rng: mapped(rng, symmetric(rng, n=3)),
    "mapped explicit": lambda rng: mapped(rng, explicit(rng, (3, 2))),
    "mapped and scaled": lambda rng: mapped(rng, ScaledFace(2.0, factors(rng, 1, 2, p=3, q=3))),
    "union": lambda rng: total(coordinates(rng), groups(rng)),
    "sum": lambda rng: total(factors(rng), coordinates(rng, cone=Cone.NONNEGATIVE), joined=False),
    "union of everything": lambda rng: total(
        coordinates(rng), groups(rng), factors(rng), nonnegative_factors(rng), explicit(rng), mapped(rng, factors(rng))
    ),
    "semidefinite parts, complex": lambda rng: total(
        symmetric(rng, complex_=True), ScaledFace(-1.0, symmetric(rng, complex_=True))
    ),
    "sum with a part that is no orthant": lambda rng: total(symmetric(rng), coordinates(rng, shape=(P, P))),
    "nested": nested,
    "nested the other way": lambda rng: nested(rng, joined=False),
    "nested, still": lambda rng: total(groups(rng), total(coordinates(rng), explicit(rng, cone=Cone.NONNEGATIVE))),
    "scaled sum": lambda rng: ScaledFace(2.0, total(coordinates(rng, cone=Cone.NONNEGATIVE), factors(rng))),
}
every_face = pytest.mark.parametrize("name", FACES)


def drawn(name, seed=0):
    rng = generator(seed)
    face = FACES[name](rng)
    return face, face.project(rng.standard_normal(face.dim))


def leaves(face):
    return [face] if face.parts[0] is face else [leaf for part in face.parts for leaf in leaves(part)]


# The contract


@every_face
@pytest.mark.parametrize("seed", [0, 1])
def test_every_face_keeps_the_contract(name, seed):
    face, _ = drawn(name, seed)
    check_face(face, seed, other=drawn(name, seed + 10)[0])


@every_face
def test_no_atoms_are_a_face_too(name):
    face, c = drawn(name)
    empty, nothing = face.prune(c, 0)
    assert empty.size == empty.dim == nothing.size == 0
    check_face(empty)
    assert empty.merge(face).dim == face.merge(empty).dim == face.dim


@every_face
def test_without_a_budget_all_that_contributes_stays(name):
    face, c = drawn(name)
    smaller, d = face.prune(c, None)
    np.testing.assert_allclose(smaller.point(d), face.point(c), atol=1e-12)
    assert within(smaller, None)


@every_face
def test_faces_travel(name):
    face, c = drawn(name)
    again = pickle.loads(pickle.dumps(face))
    np.testing.assert_array_equal(again.point(c), face.point(c))
    assert (again.shape, again.cone) == (face.shape, face.cone)


@every_face
def test_faces_are_values(name):
    face, _ = drawn(name)
    with pytest.raises(AttributeError):
        face.shape = (1,)


@every_face
def test_masks_say_what_projections_do(name):
    face, _ = drawn(name)
    mask = face.nonnegative()
    if mask is None:
        assert any(leaf.nonnegative() is None for leaf in leaves(face))
        return
    c = generator(1).standard_normal(face.dim)
    np.testing.assert_array_equal(face.project(c), np.where(mask, np.maximum(c, 0.0), c))


# A face of one's own


class Bare(Face):
    """Columns of a matrix, with nothing but what the contract asks for."""

    def __init__(self, A, cone=Cone.FREE):
        self.A, self.cone, self.shape = A, cone, (len(A),)

    @property
    def size(self):
        return self.A.shape[1]

    @property
    def dim(self):
        return self.A.shape[1]

    def point(self, c):
        return self.A @ c

    def adjoint(self, z):
        return self.A.T @ z

    def project(self, c):
        return c if self.cone is Cone.FREE else np.maximum(c, 0.0)

    def prune(self, c, k, norms=None):
        order = np.argsort(-np.abs(c) if norms is None else -np.abs(c) * norms, kind="stable")[:k]
        keep = [i for i in order if c[i] != 0]
        return type(self)(self.A[:, keep], self.cone), c[keep]

    def merge(self, other):
        fresh = [i for i in range(other.size) if not (other.A[:, [i]] == self.A).all(axis=0).any()]
        return type(self)(np.hstack([self.A, other.A[:, fresh]]), self.cone)

    def restrict(self, M):
        return Implicit(M, self)


def bare(kind=Bare, **more):
    return kind(generator(2).standard_normal((6, 3)), **more)


@pytest.mark.parametrize("cone", [Cone.FREE, Cone.NONNEGATIVE])
def test_the_contract_is_enough(cone):
    face = bare(cone=cone)
    check_face(face)
    check_face(total(face, coordinates(generator(3), shape=(6,)), bare(cone=Cone.FREE)))
    check_face(ScaledFace(-2.0, face))


def test_what_follows_from_the_contract():
    face, M = bare(cone=Cone.NONNEGATIVE), as_operator(generator(3).standard_normal((4, 6)))
    c, d = np.array([1.0, 2.0, 0.5]), np.array([0.0, 1.0, 3.0])
    assert face.gauge(-c) == 3.5
    assert face.gauge(face.mean_atom()) == pytest.approx(1.0)
    assert face.inner(c, face, d) == pytest.approx(face.point(c) @ face.point(d))
    assert face.freedom == 3
    assert face.key() is None
    assert face.turning() is None
    assert face.as_cone() is face
    assert face.parts == (face,)
    assert face.split(c)[0] is c
    assert face.nonnegative().all()
    np.testing.assert_array_equal(face.labels(), [0, 1, 2])
    np.testing.assert_array_equal(face.values(c), c)
    np.testing.assert_array_equal(face.contributions(-c, 2 * c), 2 * c * c)
    np.testing.assert_allclose(face.image(M, c), M.apply(face.point(c)))
    np.testing.assert_allclose(face.measure(M, c), M.apply(face.point(c)))
    with pytest.raises(AttributeError, match="atoms of Bare are no factor pairs"):
        face.factors(c)


def test_entries_are_read_off_the_point():
    rng = generator(4)
    face, rows, cols = explicit(rng), rng.integers(P, size=6), rng.integers(Q, size=6)
    c = rng.standard_normal(face.dim)
    np.testing.assert_array_equal(face.entries(c, rows, cols), face.point(c)[rows, cols])


@pytest.mark.parametrize("name", ["size", "dim", "point", "adjoint", "project", "prune", "merge", "restrict"])
def test_the_contract_is_demanded(name):
    partial = type("Partial", (Bare,), {name: getattr(Face, name)})
    with pytest.raises(TypeError, match=name):
        bare(partial)


# What the checker finds


class WrongAdjoint(Bare):
    def adjoint(self, z):
        return 1.001 * super().adjoint(z)


class WrongShape(Bare):
    def point(self, c):
        return super().point(c)[:, None]


class OnlyClipped(Bare):
    def project(self, c):
        return np.maximum(c, -0.1) + 0.1


class NotNearest(Bare):
    def project(self, c):
        return np.abs(c)


class TooMany(Bare):
    def prune(self, c, k, norms=None):
        return super().prune(c, k + 1, norms)


class Forgetful(Bare):
    def prune(self, c, k, norms=None):
        return super().prune(c, min(k, 2), norms)


class KeepsZeros(Bare):
    def prune(self, c, k, norms=None):
        return super().prune(np.where(c == 0, 1e-300, c), k, norms)


class Alone(Bare):
    def merge(self, other):
        return self


class Twice(Bare):
    def merge(self, other):
        return type(self)(np.hstack([self.A, other.A]), self.cone)


class Elsewhere(Bare):
    def restrict(self, M):
        return Implicit(M, self).scaled(1.001)


BROKEN = {
    WrongAdjoint: "<point.c., z> = <c, adjoint.z.>",
    WrongShape: "has the model's shape",
    OnlyClipped: "project.project.c.. = project.c.",
    NotNearest: "is nearest",
    TooMany: "has at most k atoms",
    Forgetful: "has the same point",
    KeepsZeros: "drops what contributes nothing",
    Alone: "merge holds the points of both faces",
    Twice: "merge with itself adds nothing",
    Elsewhere: "apply.c. = M point.c.",
}


@pytest.mark.parametrize("kind", BROKEN)
def test_what_breaks_the_contract_is_told(kind):
    with pytest.raises(AssertionError, match=f"{kind.__name__}.*{BROKEN[kind]}"):
        check_face(bare(kind))


class Stiff(FactorTurning):
    def pull(self, v, z):
        return 1.001 * super().pull(v, z)


class Short(FactorTurning):
    def lower(self):
        return super().lower()[1:]


class Doubled(FactorTurning):
    def fold(self, v):
        face, c = super().fold(v)
        return face, 2.0 * c


@pytest.mark.parametrize(
    ("kind", "told"),
    [(Stiff, "derivative of"), (Short, "one lower bound"), (Doubled, "fold.unfold.c.. has the same point")],
)
def test_what_breaks_a_turning_is_told(kind, told):
    turned = type("Turned", (Factors,), {"turning": lambda self: kind(self)})
    rng = generator(5)
    with pytest.raises(AssertionError, match=told):
        check_face(turned(orthonormal(rng, P, 2), orthonormal(rng, Q, 2)))


# Atoms that are given one by one


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


# One number for all parts of a sum


@every_face
@pytest.mark.parametrize("k", [0, 1, 2, 3, 5])
def test_one_number_for_all_parts(name, k):
    face, c = drawn(name, seed=3)
    smaller, d = face.prune(c, k)
    assert smaller.size <= k
    assert within(smaller, k)
    everything = np.sort(face.contributions(c))[::-1]
    np.testing.assert_allclose(np.sort(smaller.contributions(d))[::-1], everything[everything > 0][:k], atol=1e-12)


def test_the_largest_contributions_stay_wherever_they_are():
    rng = generator(9)
    atoms = factors(rng, 2, 2)
    spread, entries = groups(rng), coordinates(rng, count=3)
    face = total(atoms, total(spread, ScaledFace(10.0, entries)))
    C = np.diag([7.0, 2.0])
    lengths = dict(zip(spread.names, [5.0, 0.5, 6.0], strict=True))
    inside = [lengths[n] * np.eye(1, size)[0] for n, size in zip(spread.names, np.diff(spread.starts), strict=True)]
    c = np.concatenate([C.ravel(), *inside, [0.1, -0.8, 0.55]])  # of lengths 1, 8 and 5.5
    smaller, d = face.prune(c, 5)
    assert [f.size for f in smaller.faces] == [1, 4]
    assert [f.size for f in smaller.faces[1].faces] == [2, 2]
    np.testing.assert_allclose(d[0], 7.0)
    np.testing.assert_allclose(d[-2:], [-0.8, 0.55])
    assert set(smaller.faces[1].faces[0].names) == {n for n, size in lengths.items() if size >= 5.0}
    by_part, _ = face.prune(c, (2, (1, None)))
    assert [f.size for f in leaves(by_part)] == [2, 1, 3]
    shared, _ = face.prune(c, (None, 2))
    assert [f.size for f in leaves(shared)] == [2, 1, 1]


def test_norms_decide_where_they_are_known():
    one, two = (Coordinates(np.array(some), np.ones(2), (6,)) for some in ([0, 1], [2, 3]))
    face = total(one, ScaledFace(-100.0, two))
    c, norms = np.array([1.0, 2.0, 3.0, 4.0]), np.array([10.0, 1.0, 1.0, 3.0])  # 10, 2, 3, 12 in the data
    smaller, d = face.prune(c, 2, norms)
    np.testing.assert_array_equal(d, [1.0, 4.0])
    np.testing.assert_allclose(face.contributions(c, norms), c * norms)
    np.testing.assert_allclose(face.contributions(c), [1.0, 2.0, 300.0, 400.0])
    unmeasured, d = face.prune(c, 2)
    assert [f.size for f in unmeasured.faces] == [0, 2]
    assert [f.size for f in smaller.faces] == [1, 1]


def test_budgets_of_sums():
    face = total(coordinates(generator(10), count=3), nested(generator(11)))
    assert face.size == 12
    assert within(face, 12)
    assert not within(face, 11)
    assert within(face, (3, 9))
    assert within(face, (3, (2, (4, 3))))
    assert within(face, (None, (2, 7)))
    assert not within(face, (3, (2, 6)))
    wrapped = ScaledFace(2.0, total(coordinates(generator(10), count=3), factors(generator(11))))
    assert within(wrapped, (3, 2))
    assert not within(wrapped, (2, 2))


# Turning


def test_who_turns():
    rng = generator(12)
    assert isinstance(factors(rng).turning(), FactorTurning)
    assert isinstance(symmetric(rng).turning(), SymmetricTurning)
    for still in (coordinates(rng), groups(rng), explicit(rng), nonnegative_factors(rng)):
        assert still.turning() is None
        assert ScaledFace(2.0, still).turning() is None
        assert total(still, still).turning() is None
        assert total(still, factors(rng)).turning() is not None
    assert mapped(rng, factors(rng)).turning() is not None


@pytest.mark.parametrize("complex_", [False, True])
def test_points_of_fewer_atoms_than_the_face_unfold(complex_):
    rng = generator(13)
    for face in (factors(rng, 3, 3), symmetric(rng, r=3, complex_=complex_)):
        one, d = face.prune(face.project(rng.standard_normal(face.dim)), 1)
        c = face.adjoint(one.point(d))  # the same point, on more atoms than it needs
        turning = face.turning()
        v = turning.unfold(c)
        assert v.shape == turning.lower().shape
        np.testing.assert_allclose(turning.fold(v)[0].point(turning.fold(v)[1]), one.point(d), atol=1e-12)


@pytest.mark.parametrize("complex_", [False, True])
def test_the_unknowns_are_factors(complex_):
    rng = generator(14)
    face = symmetric(rng, complex_=complex_)
    c = face.project(rng.standard_normal(face.dim))
    turning = face.turning()
    L = turning.left(turning.unfold(c))
    np.testing.assert_allclose(L @ L.conj().T, face.point(c), atol=1e-12)
    face = factors(rng)
    c = rng.standard_normal(face.dim)
    L, R = face.turning().pair(face.turning().unfold(c))
    np.testing.assert_allclose(L @ R.T, face.point(c), atol=1e-12)


def test_what_stays_put_takes_part_with_its_coefficients():
    rng = generator(15)
    mixed = total(coordinates(rng), explicit(rng, cone=Cone.NONNEGATIVE))
    face = total(mixed, factors(rng, 1, 1))
    turning = face.turning()
    assert isinstance(turning.parts[0], Still)
    np.testing.assert_array_equal(turning.lower(), [-np.inf] * 4 + [0.0] * 3 + [-np.inf] * (P + Q))
    c = face.project(rng.standard_normal(face.dim))
    np.testing.assert_array_equal(turning.unfold(c)[: mixed.dim], c[: mixed.dim])
    turned, d = turning.fold(turning.unfold(c) + 1.0)
    assert turned.faces[0] is mixed
    np.testing.assert_allclose(d[: mixed.dim], c[: mixed.dim] + 1.0)
    wrapped = replace(face, faces=(ScaledFace(3.0, mixed), face.faces[1]))
    np.testing.assert_array_equal(wrapped.turning().lower(), turning.lower())
