"""Small matrix models in factors: matrices as operators, a black box that knows about factors, pairs of factors."""

import numpy as np
import scipy.sparse as sp

from contracts.families import generator
from fewatoms import Operator
from fewatoms.faces import Factors, NonnegativeFactors
from fewatoms.operators import MatrixOperator

P, Q, ROWS = 3, 4, 9


def matrices(p, q, m=ROWS):
    """name -> operator by a matrix on p x q models, flat."""
    A = generator(1).standard_normal((m, p * q))
    return {
        "dense": MatrixOperator(A),
        "fortran": MatrixOperator(np.asfortranarray(A)),
        "strided": MatrixOperator(np.repeat(A, 2, axis=1)[:, ::2]),
        "upside down": MatrixOperator(A[::-1]),
        "single": MatrixOperator(A.astype(np.float32)),
        "single, fortran": MatrixOperator(np.asfortranarray(A.astype(np.float32))),
        "half": MatrixOperator(A.astype(np.float16)),
        "integers": MatrixOperator(np.round(3 * A).astype(np.int64)),
        "one row": MatrixOperator(A[:1]),
        "sparse": MatrixOperator(sp.csr_array(A * (np.abs(A) > 0.7))),
    }


class Knowing:
    """A black box that knows a way with factors, and how often it was asked."""

    def __init__(self, A, shape):
        self.A, self.shape, self.inner_shape, self.asked = A, A.shape, shape, []

    def matvec(self, x):
        self.asked.append("matvec")
        return self.A @ x

    def rmatvec(self, y):
        return self.A.T @ y

    def apply_factors(self, U, V):
        self.asked.append("factors")
        T = self.A.reshape(-1, *self.inner_shape)
        return sum(np.einsum("epq,p,q->e", T, u, v) for u, v in zip(U.T, V.T, strict=True)) + np.zeros(len(self.A))


def faces(p, q):
    """name -> pairs of factors, as many left as right or not, orthonormal or not."""
    rng = generator(6)
    U, V = (np.linalg.qr(rng.standard_normal((n, n)))[0] for n in (p, q))
    return {
        "one": Factors(U[:, :1], V[:, :1]),
        "two": Factors(U[:, :2], V[:, :2]),
        "more on the right": Factors(U[:, :1], V[:, :3]),
        "more on the left": Factors(U[:, :3], V[:, :2]),
        "all": Factors(U, V),
        "none": Factors(U[:, :0], V[:, :0]),
        "none on the left": Factors(U[:, :0], V[:, :2]),
        "fortran": Factors(np.asfortranarray(U[:, :2]), np.asfortranarray(V[:, :2])),
        "not orthonormal": Factors(rng.standard_normal((p, 2)), 1e3 * rng.standard_normal((q, 2))),
        "nonnegative": NonnegativeFactors(np.abs(U[:, :2]), np.abs(V[:, :2])),
    }


class Blur(Operator):
    """An operator with the three required members only."""

    shape = (4, 6)

    def apply(self, x):
        return x.ravel()[:4] + x.ravel()[2:]

    def adjoint(self, y):
        return np.concatenate([y, [0, 0]]) + np.concatenate([[0, 0], y])
