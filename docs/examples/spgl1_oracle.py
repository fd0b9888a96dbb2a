"""Another package's solver as the source of dual vectors: SPGL1 drives the retrieval.

SPGL1 has no callback. But each residual it visits is handed to `rmatvec`, where it can be recorded; replayed through
`FromIterates`, the residuals show how early the few atoms could be read off them.

Needs the package spgl1.
"""

import numpy as np
import spgl1
from scipy.sparse.linalg import LinearOperator

import fewatoms as fa
from fewatoms.datasets import sparse_regression

MISFIT = 1e-4


def solve_and_record(M, b):
    """SPGL1's solution of basis pursuit denoising, and the residuals it visited, in their order."""
    residuals = []

    def backward(y):
        residuals.append(np.array(y))
        return M.T @ y

    recorder = LinearOperator(M.shape, matvec=lambda x: M @ x, rmatvec=backward, dtype=M.dtype)
    x, _, _, info = spgl1.spg_bpdn(recorder, b, MISFIT * np.linalg.norm(b), iter_lim=1000)
    return x, info["niters"], residuals


def main():
    print(f"At a misfit of {MISFIT:g}:  SPGL1                   residuals needed for k atoms")
    print("    k             iterations, nonzeros   by the paper's rule   by default")
    rows = []
    for k in (5, 10, 20):
        data = sparse_regression(120, 400, k, coefficients="gaussian", rng=k)
        x, iterations, residuals = solve_and_record(data.M, data.b)
        asked = {"atoms": fa.SignedOneHot(400), "k": k, "misfit": MISFIT}
        paper = fa.fit(data.M, data.b, method=fa.General(fa.FromIterates(residuals), fa.paper_rule()), **asked)
        default = fa.fit(data.M, data.b, method=fa.General(fa.FromIterates(residuals)), **asked)
        when, soon = (s.iterations if s.success else "never" for s in (paper, default))
        print(f"{k:5d} {iterations:22d}, {np.count_nonzero(x):8d} {when:>21} {soon:>12}")
        rows.append((data, iterations, len(residuals), paper, default))
    return rows


if __name__ == "__main__":
    main()
