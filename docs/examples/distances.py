"""Points from some of their distances, and a covariance matrix from some of its entries: low rank and semidefinite.

The squared distance of points i and j is measured by the row e_i - e_j: it is (e_i - e_j)' X (e_i - e_j) for X = P P',
the matrix of inner products of the points, the rows of P. The answer is P up to a rotation or reflection, with its
centre at zero.
"""

import numpy as np
import scipy.sparse as sp

import fewatoms as fa
from fewatoms import phase


def differences(i, j, n):
    """The rows e_i - e_j."""
    m = len(i)
    ones, rows = np.ones(m), np.arange(m)
    return sp.csr_array((np.r_[ones, -ones], (np.r_[rows, rows], np.r_[i, j])), shape=(m, n))


def main():
    rng = np.random.default_rng(0)
    n = 80
    points = rng.random((n, 2))
    points -= points.mean(axis=0)
    i, j = np.triu_indices(n, 1)
    known = rng.random(i.size) < 0.25
    i, j = i[known], j[known]
    squared = np.sum((points[i] - points[j]) ** 2, axis=1)
    map_ = fa.fit(fa.Quadratic(differences(i, j, n)), squared, atoms=fa.PSDRankOne(n), k=2)
    print(f"{i.size} of {n * (n - 1) // 2} distances: {map_.message}")
    print(f"points up to a rigid motion, relative error: {phase.relative_error(map_.left, points):.1e}")

    loadings = rng.standard_normal((60, 3))
    covariance = loadings @ loadings.T
    i, j = np.triu_indices(60)
    known = rng.random(i.size) < 0.3
    i, j = i[known], j[known]  # one triangle is enough
    factors = fa.fit(fa.Sampling(i, j, (60, 60)), covariance[i, j], atoms=fa.PSDRankOne(60), k=3)
    print(f"{i.size} covariances: {factors.message}")
    error = np.linalg.norm(factors.x - covariance) / np.linalg.norm(covariance)
    print(f"covariance matrix, relative error: {error:.1e}")
    return (points, map_), (covariance, factors)


if __name__ == "__main__":
    main()
