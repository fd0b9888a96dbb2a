"""Robust principal components: a matrix as a sum of one of low rank and one with few entries.

Four ways to ask: both budgets; the rank alone, under noise; nothing at all; and principal component pursuit, the convex
relaxation, with a certificate. None of them is told a weight. Last, the paper's relaxation of the sum, which does need
one: the ratio of the gauges at the answer, which `balanced` knows.
"""

import numpy as np

import fewatoms as fa
from fewatoms.datasets import low_rank_plus_sparse


def main():
    data = low_rank_plus_sparse(40, 30, 2, corrupted=0.05, rng=0)
    shape, M = data.X.shape, fa.Identity(data.X.shape)
    low, entries = fa.RankOne(*shape), fa.SignedOneHot(shape)
    truth = data.low_rank_left @ data.low_rank_right.T
    grainy = data.X + 0.01 * np.random.default_rng(1).standard_normal(shape)

    answers = {
        "budgets": fa.fit(M, data.X, atoms=low + entries, k=(2, data.sparse.nnz)),
        "rank alone": fa.fit(M, grainy, atoms=low + entries, k=(2, None)),
        "nothing": fa.fit(M, data.X, atoms=low + entries),
        "pursuit": fa.fit(M, data.X, atoms=low | entries, misfit=1e-6),
    }
    balanced = answers["budgets"].balanced()
    answers["balanced sum"] = fa.fit(
        M, data.X, atoms=balanced, k=(2, data.sparse.nnz), misfit=1e-6, method=fa.General(fa.LevelSet())
    )

    errors = {}
    for name, s in answers.items():
        errors[name] = np.linalg.norm(s.parts[0].x - truth) / np.linalg.norm(truth)
        rank, count = (part.cardinality for part in s.parts)
        print(
            f"{name}: rank {rank}, {count} entries, misfit {s.misfit:.1e}, error of the first part {errors[name]:.1e}"
        )
    print(answers["pursuit"].certificate)
    return data, answers, errors


if __name__ == "__main__":
    main()
