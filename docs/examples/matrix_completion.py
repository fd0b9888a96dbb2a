"""Matrix completion: a matrix of rank 3 from one entry in three, with noise.

The answer is a pair of thin factors; entries that were not observed are predicted from them, and the matrix itself is
never formed.
"""

import numpy as np

import fewatoms as fa
from fewatoms.datasets import low_rank


def main():
    data = low_rank(200, 150, 3, observed=0.33, noise=0.01, rng=0)
    M = fa.Sampling(data.rows, data.cols, data.shape)
    s = fa.fit(M, data.values, atoms=fa.RankOne(*data.shape), k=3, misfit=0.011)
    print(s.message)
    print(f"singular values: {np.round(s.coefficients, 1)}, factors of shapes {s.left.shape} and {s.right.shape}")

    rng = np.random.default_rng(1)
    rows, cols = rng.integers(200, size=1000), rng.integers(150, size=1000)
    truth = np.einsum("ij,ij->i", data.left[rows], data.right[cols])
    error = np.linalg.norm(s.predict(rows, cols) - truth) / np.linalg.norm(truth)
    print(f"relative error of 1000 predicted entries: {error:.4f} (the noise was 0.01)")

    alone = fa.fit(M, data.values, atoms=fa.RankOne(*data.shape), k=3)
    print(f"with k alone, no bound: {alone.message}")
    return s, alone, error


if __name__ == "__main__":
    main()
