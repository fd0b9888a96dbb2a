"""A set of your own needs `shape`, `count`, `support` and `expose`: here permutation matrices.

A doubly stochastic matrix is a mixture of permutations; routers and matchings ask for one made of few of them.
"""

import numpy as np
from scipy.optimize import linear_sum_assignment

import fewatoms as fa
from fewatoms.faces import Cone, Explicit


class Permutations(fa.AtomicSet):
    """A = {P : P a permutation matrix}, n x n. The best aligned atom is a linear assignment."""

    attained = True  # support(z) is the alignment of an atom, and not only a bound of it

    def __init__(self, n):
        self.shape = (n, n)

    def __repr__(self):
        return f"Permutations({self.shape[0]})"

    @property
    def count(self):
        return (self.shape[0] - 1) ** 2 + 1  # Caratheodory: no mixture needs more

    def _best(self, z):
        z = np.asarray(z.toarray() if hasattr(z, "toarray") else z).reshape(self.shape)
        rows, cols = linear_sum_assignment(-z)
        atom = np.zeros(self.shape)
        atom[rows, cols] = 1.0
        return atom, float(z[rows, cols].sum())

    def support(self, z):
        return max(0.0, self._best(z)[1])

    def expose(self, z, k):
        atoms = [self._best(z)[0]] if k else []  # one is enough: others follow from the next dual vector
        return Explicit.of(atoms, self.shape, cone=Cone.NONNEGATIVE)


def main():
    rng = np.random.default_rng(0)
    n = 8
    shares = [0.5, 0.3, 0.2]
    traffic = sum(share * np.eye(n)[rng.permutation(n)] for share in shares)
    whole = fa.fit(fa.Identity((n, n)), traffic, atoms=Permutations(n), k=3)
    print(f"shares of three matchings: {whole.coefficients}")
    sums = rng.standard_normal((60, n * n))  # fewer numbers than entries
    seen = fa.fit(sums, sums @ traffic.ravel(), atoms=Permutations(n), k=3, misfit=1e-8)
    print(seen.message)
    return traffic, shares, whole, seen


if __name__ == "__main__":
    main()
