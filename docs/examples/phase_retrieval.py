"""Phase retrieval: a complex vector from the magnitudes of linear measurements, |A x|^2.

The unknown is the rank-one matrix x x^H: one atom of the set of positive semidefinite rank-one matrices. The answer is
x up to one phase, which the data do not know. A second run measures coded diffraction patterns, by FFT: no array is
formed.
"""

import numpy as np

import fewatoms as fa
from fewatoms.datasets import phases


def main():
    data = phases(32, 200, rng=0)
    dense = fa.fit(fa.Quadratic(data.A), data.b, atoms=fa.PSDRankOne(32), k=1, misfit=1e-8)
    print(f"Gaussian measurements: {dense.message}")
    print(f"relative error up to a phase: {fa.phase.relative_error(dense.left[:, 0], data.x):.1e}")

    rng = np.random.default_rng(1)
    n = 64
    x = rng.standard_normal(n) + 1j * rng.standard_normal(n)
    A = fa.operators.CodedDiffraction.random(n, 8, rng=rng)
    coded = fa.fit(fa.Quadratic(A), np.abs(A @ x) ** 2, atoms=fa.PSDRankOne(n), k=1, misfit=1e-8)
    print(f"coded diffraction: {coded.message}")
    print(f"relative error up to a phase: {fa.phase.relative_error(coded.left[:, 0], x):.1e}")
    return (data.x, dense), (x, coded)


if __name__ == "__main__":
    main()
