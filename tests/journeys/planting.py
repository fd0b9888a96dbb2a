"""Planted problems for every set, operator and loss, with everything recomputed the slow and obvious way."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pylops
import scipy.fft
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, aslinearoperator

import fewatoms as fa

P, Q = 7, 6  # shape of the matrices
N = P * Q  # length of the vectors, the same, so that vector sets meet matrix operators


# Losses, by their formulas -------------------------------------------------------------------------------------------


def squares(r):
    return 0.5 * float(np.sum(r**2))


def huber(r, delta=1.0):
    size = np.abs(r)
    return float(np.sum(np.where(size <= delta, 0.5 * size**2, delta * size - 0.5 * delta**2)))


def logistic(r):
    return float(np.sum(np.log1p(np.exp(-np.abs(r))) + np.maximum(r, 0.0)))


LOSSES: dict[str, tuple[fa.Loss, Callable[[Any], float]]] = {
    "squares": (fa.LeastSquares(), squares),
    "huber": (fa.Huber(1.0), huber),
    "logistic": (fa.Logistic(), logistic),
}


# Sets, with a planted point, and a count of atoms that knows nothing of the package -------------------------------


@dataclass(frozen=True)
class Plan:
    """A set over models of the given shape, k, a point of k atoms, and how to count the atoms of an answer."""

    atoms: fa.AtomicSet
    k: Any
    x: np.ndarray
    count: Callable[[Any], Any]


def cosines(n):
    """An orthonormal basis that has nothing in common with spikes."""
    return scipy.fft.idct(np.eye(n), norm="ortho", axis=0)


def sizes(rng, count):
    """Coefficients away from zero, of different sizes."""
    return rng.choice([-1.0, 1.0], count) * (1.0 + rng.random(count) + np.arange(count))


def spikes(rng, n, k, sign=None):
    x = np.zeros(n)
    x[rng.choice(n, k, replace=False)] = sizes(rng, k)
    return np.abs(x) if sign else x


def low_rank(rng, p, q, k):
    u, v = np.linalg.qr(rng.standard_normal((p, k)))[0], np.linalg.qr(rng.standard_normal((q, k)))[0]
    return (u * (3.0 + np.arange(k))) @ v.T


def semidefinite(rng, n, k, complex_=False):
    v = rng.standard_normal((n, k)) + (1j * rng.standard_normal((n, k)) if complex_ else 0.0)
    v = np.linalg.qr(v)[0]
    return (v * (3.0 + np.arange(k))) @ v.conj().T


def indefinite(rng, n):
    """A symmetric matrix of rank two with eigenvalues of both signs."""
    v = np.linalg.qr(rng.standard_normal((n, 2)))[0]
    return (v * np.array([4.0, -3.0])) @ v.T


def nonzeros(s):
    return int(np.count_nonzero(s.x))


def rank(s):
    values = np.linalg.svd(s.x, compute_uv=False)
    return int(np.sum(values > 1e-9 * max(values[0], 1e-300)))


def coefficients(s):
    return int(np.count_nonzero(s.coefficients))


def _signed(rng):
    return Plan(fa.SignedOneHot(N), 3, spikes(rng, N, 3), nonzeros)


def _nonnegative(rng):
    return Plan(fa.NonnegativeOneHot(N), 3, spikes(rng, N, 3, +1), nonzeros)


def _cone(rng):
    return Plan(fa.NonnegativeCone(N), 3, spikes(rng, N, 3, +1), nonzeros)


def _dictionary(rng, symmetric):
    D = rng.standard_normal((N, N + 10))
    w = spikes(rng, N + 10, 3, None if symmetric else +1)
    return Plan(fa.Dictionary(D, symmetric=symmetric), 3, D @ w, coefficients)


def _groups(rng):
    labels = rng.permutation(np.arange(N) // 3)
    x = np.zeros(N)
    for g in rng.choice(N // 3, 2, replace=False):
        x[labels == g] = sizes(rng, 3)
    return Plan(fa.Groups(labels), 2, x, lambda s: len({labels[i] for i in np.flatnonzero(s.x)}))


def _mapped(rng):
    B = cosines(N)
    return Plan(fa.Mapped(B, fa.SignedOneHot(N)), 3, B @ spikes(rng, N, 3), coefficients)


def _scaled(rng):
    return Plan(2.0 * fa.SignedOneHot(N), 3, spikes(rng, N, 3), nonzeros)


def _parts(counts):
    return lambda s: tuple(count(part) for count, part in zip(counts, s.parts, strict=True))


def _spikes_and_cosines(rng, join):
    B = cosines(N)
    atoms = join(fa.SignedOneHot(N), fa.Mapped(B, fa.SignedOneHot(N)))
    x = spikes(rng, N, 2)
    w = spikes(rng, N, 2)
    w *= np.abs(x).sum() / np.abs(w).sum()  # the relaxation of a sum expects equal gauges
    return Plan(atoms, (2, 2), x + B @ w, _parts([nonzeros, coefficients]))


def _rank_one(rng):
    return Plan(fa.RankOne(P, Q), 2, low_rank(rng, P, Q, 2), rank)


def _blocks(rng):
    atoms, X = fa.BlockRankOne((P, Q), (4, 3)), np.zeros((P, Q))
    X[:4, :3], X[4:, 3:] = low_rank(rng, 4, 3, 1), low_rank(rng, 3, 3, 1)
    return Plan(atoms, 2, X, ranks_in_blocks)


def ranks_in_blocks(s):
    """The ranks of all blocks of a grid of 4 x 3 entries."""
    blocks = [s.x[i : i + 4, j : j + 3] for i in (0, 4) for j in (0, 3)]
    values = np.concatenate([np.linalg.svd(block, compute_uv=False) for block in blocks])
    return int(np.sum(values > 1e-9 * max(values.max(), 1e-300)))


def _low_rank_and_spikes(rng, join):
    L = low_rank(rng, P, Q, 1)
    S = spikes(rng, N, 2).reshape(P, Q)
    nuclear = np.linalg.svd(L, compute_uv=False).sum()
    weight = np.abs(S).sum() / nuclear if join is SUM else np.sqrt(max(P, Q))
    atoms = join(fa.RankOne(P, Q), weight * fa.SignedOneHot((P, Q)))
    return Plan(atoms, (1, 2), L + S, _parts([rank, nonzeros]))


def SUM(a, b):
    return a + b


def UNION(a, b):
    return a | b


VECTOR_SETS: dict[str, Callable[[Any], Plan]] = {
    "signed": _signed,
    "nonnegative": _nonnegative,
    "cone": _cone,
    "dictionary": lambda rng: _dictionary(rng, True),
    "nonnegative-dictionary": lambda rng: _dictionary(rng, False),
    "groups": _groups,
    "mapped": _mapped,
    "scaled": _scaled,
    "sum": lambda rng: _spikes_and_cosines(rng, SUM),
    "union": lambda rng: _spikes_and_cosines(rng, UNION),
}
MATRIX_SETS: dict[str, Callable[[Any], Plan]] = {
    "rank-one": _rank_one,
    "rank-one-in-blocks": _blocks,
    "low-rank+sparse": lambda rng: _low_rank_and_spikes(rng, SUM),
    "low-rank|sparse": lambda rng: _low_rank_and_spikes(rng, UNION),
}
SQUARE_SETS: dict[str, Callable[[Any], Plan]] = {
    "psd": lambda rng: Plan(fa.PSDRankOne(Q), 2, semidefinite(rng, Q, 2), rank),
    "symmetric": lambda rng: Plan(fa.RankOne(Q, Q), 2, indefinite(rng, Q), rank),
}
COMPLEX_SETS: dict[str, Callable[[Any], Plan]] = {
    "complex-psd": lambda rng: Plan(fa.PSDRankOne(Q), 1, semidefinite(rng, Q, 1, True), rank),
}
SETS = VECTOR_SETS | MATRIX_SETS | SQUARE_SETS | COMPLEX_SETS


# Operators, with their action written out ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Measurement:
    """What is passed as M, and x -> Mx by plain arithmetic."""

    M: Any
    forward: Callable[[np.ndarray], np.ndarray]


def _rows(shape):
    return 34 if len(shape) == 1 else int(np.prod(shape)) - 2


def _dense(rng, x):
    D = rng.standard_normal((_rows(x.shape), x.size)) / np.sqrt(_rows(x.shape))
    return Measurement(D, lambda v: D @ v.ravel())


def _sparse(rng, x):
    D = _dense(rng, x).M * (rng.random((_rows(x.shape), x.size)) < 0.5)
    return Measurement(sp.csr_array(D), lambda v: D @ v.ravel())


def _linear_operator(rng, x):
    D = _dense(rng, x).M
    op = LinearOperator(D.shape, matvec=lambda v: D @ v, rmatvec=lambda y: D.T @ y, dtype=float)
    return Measurement(op, lambda v: D @ v.ravel())


def _pylops(rng, x):
    D = _dense(rng, x).M
    d = 1.0 + rng.random(D.shape[0])
    op = pylops.Diagonal(d) @ pylops.MatrixMult(D)
    return Measurement(op, lambda v: d * (D @ v.ravel()))


def _sampling(rng, x):
    shape = x.shape if x.ndim == 2 else (P, Q)
    hidden = rng.choice(np.flatnonzero(x.ravel() == 0) if (x == 0).any() else x.size, 3, replace=False)
    seen = rng.permutation(np.setdiff1d(np.arange(x.size), hidden))
    rows, cols = np.divmod(seen, shape[1])
    return Measurement(fa.Sampling(rows, cols, shape), lambda v: v.ravel()[seen])


def _quadratic(rng, x):
    n = round(np.sqrt(x.size))
    A = rng.standard_normal((60, n)) + (1j * rng.standard_normal((60, n)) if np.iscomplexobj(x) else 0.0)
    return Measurement(
        fa.Quadratic(A), lambda v: np.einsum("ij,jl,il->i", A, v.reshape(n, n), A.conj(), optimize=True).real
    )


def _identity(rng, x):
    return Measurement(fa.Identity(x.shape if x.ndim == 2 else x.size), lambda v: v.ravel())


OPERATORS: dict[str, Callable[[Any, np.ndarray], Measurement]] = {
    "dense": _dense,
    "sparse": _sparse,
    "linear-operator": _linear_operator,
    "pylops": _pylops,
    "sampling": _sampling,
    "quadratic": _quadratic,
    "identity": _identity,
}


# Problems ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Planted:
    """Arguments for `fit`, the planted point, and the slow ways to judge an answer."""

    M: Any
    b: np.ndarray
    atoms: fa.AtomicSet
    k: Any
    x: np.ndarray
    loss: fa.Loss
    alpha: float
    forward: Callable[[np.ndarray], np.ndarray]
    value: Callable[[Any], float]
    count: Callable[[Any], Any]

    def loss_of(self, x):
        return self.value(self.b - self.forward(x))

    def fit(self, **options):
        return fa.fit(self.M, self.b, atoms=self.atoms, k=self.k, loss=self.loss, **options)


def seed_of(*names: object) -> int:
    """A seed that depends on names alone, the same in each run."""
    return zlib.crc32(" ".join(map(str, names)).encode())


def plant(set_name: str, operator_name: str, loss_name: str, seed: int = 0) -> Planted:
    """Data of a planted point; the bound is what that point reaches, and a little more."""
    rng = np.random.default_rng(seed_of(set_name, operator_name, loss_name, seed))
    while True:
        plan = SETS[set_name](rng)
        measurement = OPERATORS[operator_name](rng, plan.x)
        loss, value = LOSSES[loss_name]
        clean = measurement.forward(plan.x)
        if loss_name == "logistic":
            b = clean - 2.0  # the planted point has margins of 2 in each row
        else:
            noise = rng.standard_normal(clean.size)
            b = clean + 1e-4 * np.linalg.norm(clean) / np.linalg.norm(noise) * noise
        alpha = value(b - clean) * (1 + 1e-9)
        if alpha < 0.9 * value(b):  # nothing to find where zero does as well
            break
    return Planted(measurement.M, b, plan.atoms, plan.k, plan.x, loss, alpha, measurement.forward, value, plan.count)


def as_operator(D):
    """A LinearOperator without a matrix to look at."""
    op = aslinearoperator(D)
    return LinearOperator(op.shape, matvec=op.matvec, rmatvec=op.rmatvec, dtype=float)
