"""The families that the contract suites run over: every atomic set, operator and loss, by name."""

import numpy as np
import pylops
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, aslinearoperator

import naive
from fewatoms import (
    BlockRankOne,
    Counting,
    Dictionary,
    Groups,
    Huber,
    Identity,
    LeastSquares,
    Logistic,
    Mapped,
    Multinomial,
    NonnegativeCone,
    NonnegativeOneHot,
    PSDRankOne,
    Quadratic,
    RankOne,
    Sampling,
    SignedOneHot,
)
from fewatoms.atoms.mapped import LinearMap
from fewatoms.classes import Classes, Labels
from fewatoms.operators import as_operator


def generator(seed=0):
    return np.random.default_rng(seed)


# Twins


def projector(F, weights):
    """The matrix that takes the best fit by F, in the norm of the weights, out of a vector: one lstsq a column."""
    root = np.ones(len(F)) if weights is None else np.sqrt(weights)
    fitted = [F @ np.linalg.lstsq(root[:, None] * F, root * e, rcond=None)[0] for e in np.eye(len(F))]
    return np.eye(len(F)) - np.stack(fitted, axis=1)


def assert_restricts(op, A, tol):
    """M restricted to a few coordinates or groups is the matrix of their columns; its adjoint the transpose."""
    z = A.T @ generator(23).standard_normal(A.shape[0])
    for face in (
        SignedOneHot(7).expose(z, 3),
        NonnegativeOneHot(7).expose(z, 2),
        Groups([0, 2, 1, 0, 2, 3, 1]).expose(z, 2),
    ):
        R = A @ naive.basis(face)
        reduced = op.restrict(face)
        c, r = generator(24).standard_normal(face.dim), generator(25).standard_normal(A.shape[0])
        np.testing.assert_allclose(reduced.apply(c), R @ c, atol=100 * tol)
        np.testing.assert_allclose(reduced.adjoint(r), R.T @ r, atol=100 * tol)
        np.testing.assert_allclose(reduced.normal_equations(r)[0], R.T @ R, atol=1000 * tol)


# Losses


def labels(m, classes):
    """Labels of m data, numbered, each class once at least."""
    codes = generator(8).permutation(np.arange(m) % classes)
    return Labels(codes, Classes((np.arange(classes),)))


def losses(m):
    """name -> loss on residuals of length m."""
    weights = generator(7).uniform(0.1, 4.0, m)
    return {
        "least squares": LeastSquares(),
        "least squares, weighted": LeastSquares(weights),
        "huber": Huber(0.7),
        "huber, weighted": Huber(1.5, weights),
        "logistic": Logistic(),
        "logistic, weighted": Logistic(weights),
    }


def losses_of_labels(m):
    """name -> loss that knows its labels, on residuals of length m, a multiple of 3."""
    weights = generator(7).uniform(0.1, 4.0, m)
    return {
        "logistic, labels": Logistic().of_labels(labels(m, 2)),
        "logistic, labels, weighted": Logistic(weights).of_labels(labels(m, 2)),
        "multinomial": Multinomial().of_labels(labels(m // 3, 3)),
        "multinomial, weighted": Multinomial(weights[: m // 3]).of_labels(labels(m // 3, 3)),
    }


# Atomic sets


def black_box(B):
    """A linear map of which only products are known."""
    return LinearOperator(B.shape, matvec=lambda x: B @ x, rmatvec=lambda y: B.T @ y, dtype=np.float64)


def few(atoms, k):
    """k atoms of each part, or as many as there are."""
    return tuple(few(part, k) for part in atoms.parts) if atoms.parts else min(k, atoms.count)


def vector_sets(n):
    """name -> set of vectors of length n (at least 6)."""
    rng = generator(1)
    labels = np.arange(n) % 3 if n % 3 else np.repeat(np.arange(n // 3), 3)
    words = np.array(["left", "middle", "right"])[np.arange(n) % 3]
    return {
        "signed": SignedOneHot(n),
        "nonnegative": NonnegativeOneHot(n),
        "cone": NonnegativeCone(n),
        "dictionary, symmetric": Dictionary(rng.standard_normal((n, n + 3)), symmetric=True),
        "dictionary": Dictionary(rng.standard_normal((n, n + 3)), symmetric=False),
        "dictionary, narrow and sparse": Dictionary(sp.random_array((n, 4), density=0.6, rng=rng), symmetric=True),
        "groups": Groups(labels),
        "groups, weighted": Groups(labels, weights=1.0 + np.arange(labels.max() + 1)),
        "groups, strings": Groups(words, weights={"left": 0.5, "middle": 1.0, "right": 2.0}),
        "double": 2.0 * SignedOneHot(n),
        "turned over": -1.5 * NonnegativeOneHot(n),
        "turned groups": -1.5 * Groups(labels),
        "mapped by an array": Mapped(rng.standard_normal((n, n - 1)), SignedOneHot(n - 1)),
        "mapped by a sparse matrix": Mapped(
            sp.csr_array(np.eye(n)[:, ::-1] + np.eye(n, k=1)), 0.5 * Groups(np.arange(n) // 2)
        ),
        "mapped by an operator": Mapped(black_box(rng.standard_normal((n, n - 2))), NonnegativeOneHot(n - 2)),
        "mapped rank one": Mapped(rng.standard_normal((n, 6)), RankOne(2, 3)),
        "sum": SignedOneHot(n) + Groups(labels),
        "sum with a one-sided part": NonnegativeOneHot(n) + 0.3 * SignedOneHot(n),
        "union": SignedOneHot(n) | 2.0 * NonnegativeOneHot(n),
        "union of three": -1.0 * NonnegativeOneHot(n) | 0.5 * SignedOneHot(n) | Groups(labels),
        "union of images": Mapped(rng.standard_normal((n, n)), SignedOneHot(n) | NonnegativeOneHot(n)),
    }


def matrix_sets(p, q):
    """name -> set of p x q matrices."""
    return {
        "signed entries": SignedOneHot((p, q)),
        "groups of entries": Groups(np.arange(p)[:, None] * np.ones(q, dtype=int)),
        "rank one": RankOne(p, q),
        "double rank one": 2.0 * RankOne(p, q),
        "turned rank one": -1.5 * RankOne(p, q),
        "rank one in blocks": BlockRankOne((p, q), (2, 3)),
        "two scales": BlockRankOne((p, q), (2, 2)) | 0.7 * RankOne(p, q),
        "low rank plus sparse": RankOne(p, q) + 0.5 * SignedOneHot((p, q)),
        "low rank or sparse": RankOne(p, q) | 0.7 * SignedOneHot(p * q),
        "sum with a union": RankOne(p, q) + (0.4 * SignedOneHot(p * q) | NonnegativeOneHot(p * q)),
    }


def square_sets(n):
    """name -> set of n x n matrices that knows about symmetry."""
    rng = generator(2)
    return {
        "psd": PSDRankOne(n),
        "double psd": 2.0 * PSDRankOne(n),
        "negative semidefinite": -1.5 * PSDRankOne(n),
        "psd plus sparse": PSDRankOne(n) + 0.5 * SignedOneHot((n, n)),
        "psd or nonnegative": PSDRankOne(n) | 0.6 * NonnegativeOneHot((n, n)),
        "two psd parts": PSDRankOne(n) | -1.0 * PSDRankOne(n),
        "mapped psd": Mapped(rng.standard_normal((n * n, 4)), PSDRankOne(2)),
    }


def hermitian_dual(n):
    """Draws complex Hermitian duals of an n x n model."""

    def draw(rng):
        Z = rng.standard_normal((n, n)) + 1j * rng.standard_normal((n, n))
        return Z + Z.conj().T

    return draw


# Operators


def vector_operators(n, m=9):
    """name -> operator on vectors of length n."""
    A = generator(3).standard_normal((m, n))
    sparse = sp.random_array((m, n), density=0.5, rng=generator(4), format="csr")
    return {
        "dense": as_operator(A),
        "fortran": as_operator(np.asfortranarray(A)),
        "strided": as_operator(np.repeat(A, 2, axis=1)[:, ::2]),
        "single": as_operator(A.astype(np.float32)),
        "single, sparse": as_operator(sparse.astype(np.float32)),
        "integers": as_operator(np.round(3 * A).astype(np.int64)),
        "csr": as_operator(sparse),
        "csc": as_operator(sparse.tocsc()),
        "coo": as_operator(sparse.tocoo()),
        "one row": as_operator(A[:1]),
        "zero columns": as_operator(A * (np.arange(n) % 2)),
        "linear operator": as_operator(aslinearoperator(A)),
        "black box": as_operator(black_box(A)),
        "pylops": as_operator(pylops.MatrixMult(A)),
        "pylops derivative": as_operator(pylops.FirstDerivative(n)),
        "identity": Identity(n),
        "counting": Counting(A),
        "counting a black box": Counting(black_box(A)),
        "composed": as_operator(A).after(LinearMap(generator(5).standard_normal((n, n)), "B"), (n,)),
        "composed of black boxes": as_operator(black_box(A)).after(LinearMap(black_box(np.eye(n) + 0.1), "B"), (n,)),
    }


def places(p, q, share, seed):
    """Random positions in a p x q matrix, in no order."""
    chosen = generator(seed).permutation(p * q)[: max(1, round(share * p * q))]
    return np.divmod(chosen, q)


def matrix_operators(p, q):
    """name -> operator on p x q matrices."""
    rows, cols = places(p, q, 0.6, 6)
    into_matrix = LinearMap(generator(8).standard_normal((p * q, p * q)), "B")
    return {
        "sampling": Sampling(rows, cols, (p, q)),
        "sampling in order": Sampling(*np.nonzero(np.ones((p, q))), (p, q)),
        "sampling one entry": Sampling([0], [q - 1], (p, q)),
        "identity": Identity((p, q)),
        "counting sampling": Counting(Sampling(rows, cols, (p, q))),
        "counting identity": Counting(Identity((p, q))),
        "composed sampling": Sampling(rows, cols, (p, q)).after(into_matrix, (p, q)),
    }


def square_operators(n, m=8):
    """name -> real operator on n x n matrices that sees their symmetric part."""
    A = generator(9).standard_normal((m, n))
    sparse = sp.random_array((m, n), density=0.7, rng=generator(10), format="csr")
    return {
        "quadratic": Quadratic(A),
        "quadratic, single": Quadratic(A.astype(np.float32)),
        "quadratic, sparse": Quadratic(sparse),
        "quadratic, operator": Quadratic(aslinearoperator(A)),
        "quadratic, pylops": Quadratic(pylops.MatrixMult(A)),
        "counting quadratic": Counting(Quadratic(A)),
    }


def complex_operators(n, m=8):
    """name -> operator on complex Hermitian matrices."""
    rng = generator(11)
    A = rng.standard_normal((m, n)) + 1j * rng.standard_normal((m, n))
    return {
        "complex quadratic": Quadratic(A),
        "complex quadratic, sparse": Quadratic(sp.csr_array(A * (np.abs(A) > 0.8))),
        "complex quadratic, operator": Quadratic(aslinearoperator(A)),
        "counting complex quadratic": Counting(Quadratic(A)),
    }


SINGLE = {"single", "single, sparse", "quadratic, single"}


def precision(name):
    """What rounding an operator of that name may show."""
    return 1e-5 if name in SINGLE else 1e-9


def over(family):
    """A family as arguments of parametrize: names are the ids."""
    return {"argvalues": list(family.items()), "ids": list(family)}
