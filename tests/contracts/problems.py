"""Small problems by name, one for each way that data take: what the suites of oracles and methods run over."""

import numpy as np
from scipy.fft import idct
from scipy.sparse.linalg import aslinearoperator

from contracts.families import generator, places
from fewatoms import (
    Biases,
    BlockRankOne,
    Dictionary,
    Groups,
    Huber,
    Identity,
    Joint,
    Logistic,
    Mapped,
    NonnegativeCone,
    NonnegativeOneHot,
    Problem,
    PSDRankOne,
    Quadratic,
    RankOne,
    Sampling,
    SignedOneHot,
)

M_ROWS, N = 20, 30


def sparse_data(M, count=3, noise=0.05):
    """Data of a few columns, with noise."""
    rng = generator(31)
    x = np.zeros(M.shape[1])
    x[rng.permutation(M.shape[1])[:count]] = rng.uniform(1.0, 2.0, count)
    return M @ x + noise * rng.standard_normal(M.shape[0])


def factors(p, q, k):
    rng = generator(32)
    return rng.standard_normal((p, k)) @ rng.standard_normal((k, q))


def vectors():
    """name -> problem over vectors, with k."""
    M = generator(30).standard_normal((M_ROWS, N))
    b = sparse_data(M)
    labels = np.arange(N) // 3
    signs = np.sign(b)
    two = np.stack([b, sparse_data(M[::-1])], axis=1)
    return {
        "signed": Problem.of(M, b, atoms=SignedOneHot(N), k=3),
        "black box": Problem.of(aslinearoperator(M), b, atoms=SignedOneHot(N), k=3),
        "nonnegative": Problem.of(M, b, atoms=NonnegativeOneHot(N), k=3),
        "groups": Problem.of(M, b, atoms=Groups(labels), k=2),
        "dictionary": Problem.of(M, b, atoms=Dictionary(generator(33).standard_normal((N, 40)), symmetric=True), k=3),
        "turned multiples": Problem.of(M, b, atoms=-2.0 * NonnegativeOneHot(N), k=3),
        "restricted": Problem.of(M, b, atoms=SignedOneHot(N).restricted(include=[1], exclude=[0]), k=3),
        "huber": Problem.of(M, b, atoms=SignedOneHot(N), k=3, loss=Huber(0.3)),
        "logistic": Problem.of(signs[:, None] * M, np.zeros(M_ROWS), atoms=SignedOneHot(N), k=2, loss=Logistic()),
        "capped": Problem.of(M, b, atoms=SignedOneHot(N), k=3, cap=0.7),
        "intercept": Problem.of(M, b + 1.0, atoms=SignedOneHot(N), k=3, free="intercept"),
        "joint": Problem.of(M, two, atoms=Joint(SignedOneHot(N)), k=3),
        "cone": Problem.of(np.abs(M), np.abs(M) @ np.eye(N)[4], atoms=NonnegativeCone(N), k=2),
    }


def ridged():
    """name -> problem over vectors with a ridge, for methods that serve one."""
    M = generator(30).standard_normal((M_ROWS, N)) + 1.0
    b = sparse_data(M)
    both = {"k": 3, "ridge": 0.3}
    return {
        "ridge": Problem.of(M, b, atoms=SignedOneHot(N), free="intercept", **both),
        "ridge, black box": Problem.of(aslinearoperator(M), b, atoms=SignedOneHot(N), **both),
        "ridge, nonnegative": Problem.of(M, b, atoms=2.0 * NonnegativeOneHot(N), **both),
        "ridge, cone": Problem.of(M, b, atoms=NonnegativeCone(N), **both),
        "ridge, groups": Problem.of(M, b, atoms=Groups(np.arange(N) // 3), free="intercept", **both),
        "ridge, bound": Problem.of(M, b, atoms=SignedOneHot(N), misfit=0.5, **both),
    }


def matrices():
    """name -> problem over matrices, with k."""
    p, q = 9, 8
    X = factors(p, q, 2) + 0.05 * generator(34).standard_normal((p, q))
    rows, cols = places(p, q, 0.7, 35)
    S, seen, low = Sampling(rows, cols, (p, q)), X[rows, cols], RankOne(p, q)
    M = generator(36).standard_normal((40, p * q))
    spikes = np.zeros((p, q))
    spikes[rows[:4], cols[:4]] = 5.0
    L = generator(37).standard_normal((6, 1))
    A = generator(38).standard_normal((30, 6))
    C = A + 1j * generator(39).standard_normal((30, 6))
    return {
        "completion": Problem.of(S, seen, atoms=low, k=2),
        "completion, ridge": Problem.of(S, seen, atoms=low, k=2, ridge=0.1),
        "completion, biases": Problem.of(S, seen, atoms=low, k=1, free=Biases(ridge=0.5), ridge=0.1),
        "low rank, seen": Problem.of(Identity((p, q)), X, atoms=low, k=2),
        "low rank, dense": Problem.of(M, M @ X.ravel(), atoms=low, k=2),
        "low rank + sparse": Problem.of(Identity((p, q)), X + spikes, atoms=low + SignedOneHot((p, q)), k=(2, 4)),
        "blocks, sampled": Problem.of(S, seen, atoms=BlockRankOne((p, q), (3, 4)), k=5),
        "two scales": Problem.of(
            Identity((p, q)), X + spikes, atoms=BlockRankOne((p, q), (3, 4)) + RankOne(p, q), k=(3, 2)
        ),
        "two bases": Problem.of(
            Identity(32), _two_bases(32), atoms=SignedOneHot(32) + Mapped(_cosines(32), SignedOneHot(32)), k=(2, 2)
        ),
        "phases": Problem.of(Quadratic(A), np.abs(A @ L[:, 0]) ** 2, atoms=PSDRankOne(6), k=1),
        "phases, complex": Problem.of(Quadratic(C), np.abs(C @ L[:, 0]) ** 2, atoms=PSDRankOne(6), k=1),
    }


def _cosines(n):
    return idct(np.eye(n), axis=0, norm="ortho")


def _two_bases(n):
    rng = generator(40)
    x, w = np.zeros(n), np.zeros(n)
    x[[3, 20]], w[[5, 11]] = [2.0, -1.5], [3.0, 2.0]
    return x + _cosines(n) @ w + 0.01 * rng.standard_normal(n)


def every():
    return vectors() | matrices()
