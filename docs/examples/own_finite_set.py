"""A finite set of your own: groups that overlap, here the nodes of a tree with all their ancestors.

`FiniteSet` asks for `shape`, `count`, `alignments(z)` (one number per class of atoms) and `face(which, z)`. With a
listing, which says what coordinates each class has, it is served as fast as the sets that come with the library.
"""

import numpy as np

import fewatoms as fa
from fewatoms.atoms import Listing
from fewatoms.faces import GroupCoordinates


class TreeGroups(fa.FiniteSet):
    """A = union over nodes g of the unit sphere of the coordinates on the way from g to its root.

    parents : (n,) array; the parent of each node, -1 for roots. Node i is coordinate i.
    """

    centrosymmetric = True

    def __init__(self, parents):
        self.parents = np.asarray(parents)
        self.shape = self.parents.shape
        self.blocks = [np.sort(self._up(g)) for g in range(self.n)]

    def __repr__(self):
        return f"TreeGroups({self.n} nodes)"

    def _up(self, i):
        chain = [i]
        while self.parents[chain[-1]] >= 0:
            chain.append(self.parents[chain[-1]])
        return chain

    @property
    def count(self):
        return self.n

    def alignments(self, z):
        z = np.asarray(z).ravel()
        return np.array([np.linalg.norm(z[block]) for block in self.blocks])

    def face(self, which, z):
        z = np.asarray(z).ravel()
        blocks = [self.blocks[g] for g in which]
        units = [z[b] / (np.linalg.norm(z[b]) or 1.0) for b in blocks]
        ends = np.cumsum([0, *(b.size for b in blocks)])
        return GroupCoordinates(
            np.concatenate([*blocks, []]).astype(int), ends, np.concatenate([*units, []]),
            np.asarray(which), np.asarray(which), np.ones(len(blocks)), self.shape,
        )  # fmt: skip

    def listing(self):
        return Listing(self, lambda face: face.group, self.blocks, weights=np.ones(self.n))


def main():
    rng = np.random.default_rng(0)
    atoms = TreeGroups([-1, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6])
    x = np.zeros(15)
    x[atoms.blocks[8]], x[atoms.blocks[13]] = [1.0, -2.0, 0.5, 1.0], [2.0, 1.0, -1.0, 1.5]  # two branches, one root
    M = rng.standard_normal((12, 15))
    s = fa.fit(M, M @ x, atoms=atoms, k=2)
    print(f"branches that end in {sorted(s.indices.tolist())}, misfit {s.misfit:.1e}")
    return atoms, x, s


if __name__ == "__main__":
    main()
