"""Phase retrieval: a complex vector from the magnitudes of linear measurements, |A x|^2.

The unknown is the rank-one matrix x x^H: one atom of the set of positive semidefinite rank-one matrices. The answer is
x up to one phase, which the data do not know. A second run sees A only as a pair of products, here through FFTs.
"""

import numpy as np
from scipy.sparse.linalg import LinearOperator

import fewatoms as fa
from fewatoms.datasets import phases


def coded_diffraction(masks):
    """A = a stack of Fourier transforms of the masked signal, as an operator."""
    count, n = masks.shape

    def forward(x):
        return np.fft.fft(masks * x.ravel(), axis=1, norm="ortho").ravel()

    def backward(y):
        return np.sum(masks.conj() * np.fft.ifft(y.reshape(count, n), axis=1, norm="ortho"), axis=0)

    return LinearOperator((count * n, n), matvec=forward, rmatvec=backward, dtype=complex)


def error(x, s):
    """The distance to x relative to its length, the best phase taken out."""
    found = s.left[:, 0]
    inner = np.vdot(found, x)
    return np.linalg.norm(x - found * inner / abs(inner)) / np.linalg.norm(x)


def main():
    data = phases(32, 200, rng=0)
    dense = fa.fit(fa.Quadratic(data.A), data.b, atoms=fa.PSDRankOne(32), k=1, misfit=1e-8)
    print(f"Gaussian measurements: {dense.message}")
    print(f"relative error up to a phase: {error(data.x, dense):.1e}")

    rng = np.random.default_rng(1)
    n = 64
    x = rng.standard_normal(n) + 1j * rng.standard_normal(n)
    A = coded_diffraction(rng.choice([1, -1, 1j, -1j], (8, n)))
    b = np.abs(A @ x) ** 2
    coded = fa.fit(fa.Quadratic(A), b, atoms=fa.PSDRankOne(n), k=1, misfit=1e-8)
    print(f"coded diffraction: {coded.message}")
    print(f"relative error up to a phase: {error(x, coded):.1e}")
    return (data.x, dense), (x, coded)


if __name__ == "__main__":
    main()
