"""Small faces of every kind, by name, and one that has nothing but what the contract asks for."""

import numpy as np

from contracts.families import generator
from fewatoms.atoms.mapped import LinearMap
from fewatoms.faces import (
    BlockFactors,
    Cone,
    Coordinates,
    Explicit,
    Face,
    Factors,
    GroupCoordinates,
    MappedFace,
    NonnegativeFactors,
    ScaledFace,
    SumFace,
    SymmetricFactors,
    Tiles,
)
from fewatoms.reduced import Implicit

P, Q = 4, 5


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


def block_factors(rng, sides=(3, 2)):
    """Factors in three blocks, of which one is cut at the lower edge and one at the right one."""
    tiles = Tiles((P, Q), sides)
    each = [(int(b), factors(rng, 1, min(2, tiles.size(b)[1]), *tiles.size(b))) for b in rng.permutation(6)[:3]]
    return BlockFactors.of(tiles, each)


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
    "block factors": block_factors,
    "block factors of entries": lambda rng: BlockFactors.of(
        Tiles((P, Q), (1, 1)), [(b, factors(rng, 1, 1, 1, 1)) for b in (3, 8)]
    ),
    "scaled block factors": lambda rng: ScaledFace(-1.5, block_factors(rng)),
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


def leaves(face):
    return [face] if face.parts[0] is face else [leaf for part in face.parts for leaf in leaves(part)]


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


class NonnegativePairs:
    """Stands in for a set: atoms u v^T with nonnegative u and v of length one, drawn anew for every dual."""

    bounded, parts = True, ()

    def __init__(self, p, q):
        self.shape, self.count = (p, q), 50

    def expose(self, z, k):
        rng = generator(int(1e6 * np.abs(z).sum()))
        P, Q = (np.abs(rng.standard_normal((n, k))) * (rng.random((n, k)) < 0.7) + 0.01 for n in self.shape)
        return NonnegativeFactors(P / np.linalg.norm(P, axis=0), Q / np.linalg.norm(Q, axis=0))
