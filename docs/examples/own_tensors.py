"""A set whose best atom is out of reach: rank-one tensors with three axes, a sum of few of which is a CP decomposition.

The largest <z, u x v x w> over unit vectors is NP-hard. `support` gives an upper bound that is proven, the smallest of
the largest singular values of the three unfoldings of z; `expose` an atom found by alternating products. A face that
says how its atoms turn is polished by descent on the factors.
"""

import numpy as np

import fewatoms as fa
from fewatoms.faces import Explicit


def outer(u, v, w):
    return np.einsum("i,j,k->ijk", u, v, w)


class Turning:
    """Unknowns of r atoms: u, v, w of each, the coefficient shared out among them."""

    def __init__(self, face):
        self.face, self.ends = face, np.cumsum(face.shape)

    def _factors(self, v):
        return np.split(v.reshape(self.face.size, -1), self.ends[:-1], axis=1)

    def unfold(self, c):
        root = np.cbrt(c)[:, None]
        return np.concatenate([root * f for f in self.face.factors_of_atoms], axis=1).ravel()

    def fold(self, v):
        factors = self._factors(v)
        sizes = [np.linalg.norm(f, axis=1) for f in factors]
        units = [f / np.where(s > 0, s, 1.0)[:, None] for f, s in zip(factors, sizes, strict=True)]
        return CPFace.of_factors(units, self.face.shape), np.prod(sizes, axis=0)

    def pull(self, v, z):
        z = np.asarray(z).reshape(self.face.shape)
        u, v, w = self._factors(v)
        slopes = [
            np.einsum("ijk,aj,ak->ai", z, v, w),
            np.einsum("ijk,ai,ak->aj", z, u, w),
            np.einsum("ijk,ai,aj->ak", z, u, v),
        ]
        return np.concatenate(slopes, axis=1).ravel()

    def lower(self):
        return np.full(self.face.size * self.ends[-1], -np.inf)


class CPFace(Explicit):
    """Atoms as arrays, which remember their factors."""

    @classmethod
    def of_factors(cls, factors, shape):
        return cls.of([outer(*each) for each in zip(*factors, strict=True)], shape)

    @property
    def factors_of_atoms(self):
        """u, v and w of each atom, read off its fibres through the largest entry."""
        found = []
        for atom in self.atoms:
            i, j, k = np.unravel_index(np.abs(atom).argmax(), self.shape)
            u, v, w = atom[:, j, k], atom[i, :, k], atom[i, j, :]
            units = [f / np.linalg.norm(f) for f in (u, v, w)]
            units[0] = units[0] * np.sign(np.vdot(outer(*units), atom))
            found.append(units)
        return [np.array([units[axis] for units in found]).reshape(self.size, -1) for axis in range(3)]

    def turning(self):
        return Turning(self)


class RankOneTensors(fa.AtomicSet):
    """A = {u x v x w : unit vectors}."""

    centrosymmetric = True

    def __init__(self, *shape):
        self.shape = shape

    def __repr__(self):
        return f"RankOneTensors{self.shape}"

    @property
    def count(self):
        return int(np.prod(self.shape) // max(self.shape))  # no tensor needs more

    def support(self, z):
        z = np.asarray(z).reshape(self.shape)
        unfoldings = (np.moveaxis(z, axis, 0).reshape(self.shape[axis], -1) for axis in range(3))
        return float(min(np.linalg.norm(each, 2) for each in unfoldings))

    def expose(self, z, k):
        z = np.asarray(z).reshape(self.shape)
        if not k:
            return CPFace.of([], self.shape)
        starts = np.linalg.svd(z.reshape(self.shape[0], -1), full_matrices=False)[2][:3]
        found = [self._ascent(z, *self._split(start)) for start in starts]
        return CPFace.of([outer(*max(found, key=lambda each: np.vdot(outer(*each), z)))], self.shape)

    def _split(self, start):
        v, _, w = np.linalg.svd(start.reshape(self.shape[1:]))
        return v[:, 0], w[0]

    def _ascent(self, z, v, w):
        for _ in range(30):
            u = _unit(np.einsum("ijk,j,k->i", z, v, w))
            v = _unit(np.einsum("ijk,i,k->j", z, u, w))
            w = _unit(np.einsum("ijk,i,j->k", z, u, v))
        return u, v, w


def _unit(v):
    return v / max(np.linalg.norm(v), 1e-300)


def main():
    rng = np.random.default_rng(0)
    shape = (7, 6, 5)
    factors = [rng.standard_normal((3, n)) for n in shape]
    X = sum(outer(*each) for each in zip(*factors, strict=True))
    s = fa.fit(np.eye(X.size), X.ravel(), atoms=RankOneTensors(*shape), k=3)
    print(f"three rank-one tensors of sizes {s.coefficients}, misfit {s.misfit:.1e}")
    return X, factors, s


if __name__ == "__main__":
    main()
