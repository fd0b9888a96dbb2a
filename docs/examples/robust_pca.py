"""Robust principal components: a matrix as a sum of one of low rank and one with few entries.

Both ways of putting the two sets together are shown. The union needs no knowledge beyond the matrix's size, and is the
classical principal component pursuit. The sum expects the gauges of the two parts to be equal at the answer, so its
weight is their ratio; here it is taken from the union's answer.
"""

import numpy as np

import fewatoms as fa
from fewatoms.datasets import low_rank_plus_sparse


def main():
    data = low_rank_plus_sparse(40, 30, 2, corrupted=0.05, rng=0)
    shape, k = data.X.shape, (2, data.sparse.nnz)
    low, entries = fa.RankOne(*shape), fa.SignedOneHot(shape)
    truth = data.low_rank_left @ data.low_rank_right.T

    union = fa.fit(fa.Identity(shape), data.X, atoms=low | np.sqrt(max(shape)) * entries, k=k, misfit=1e-6)
    ratio = np.abs(union.parts[1].x).sum() / union.parts[0].coefficients.sum()
    both = fa.fit(fa.Identity(shape), data.X, atoms=low + ratio * entries, k=k, misfit=1e-6)

    errors = []
    for name, s in (("union", union), ("sum", both)):
        errors.append(np.linalg.norm(s.parts[0].x - truth) / np.linalg.norm(truth))
        print(f"{name}: {s.message}")
        print(f"  rank {s.parts[0].cardinality}, {s.parts[1].cardinality} entries, error of the first {errors[-1]:.1e}")
    return data, union, both, errors


if __name__ == "__main__":
    main()
