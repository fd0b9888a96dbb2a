"""What one would write oneself, in NumPy, and what nobody can do better than."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator, lsmr, svds

from benchmarks.peers import needs
from benchmarks.peers.answers import Array, Factors, Pair, Support, Vector
from benchmarks.peers.refits import refit


@needs("numpy")
def truth(problem: Any, ready: Any) -> Support:
    """The true atoms, fitted: what noise leaves."""
    return refit(problem.M, problem.b, problem.truth)


# Matrices from entries


@needs("numpy")
def means(problem: Any, ready: Any) -> Factors:
    """Mean of the row plus mean of the column minus mean of all; what has no entries counts as average."""
    e = problem.train
    mean = float(e.values.mean())
    effects = []
    for where, n in zip((e.rows, e.cols), e.shape, strict=True):
        counts = np.bincount(where, minlength=n)
        effects.append(np.bincount(where, e.values - mean, minlength=n) / np.maximum(counts, 1))
    nothing = (np.zeros((n, 0)) for n in e.shape)
    return Factors(*nothing, mean, *effects)


@needs("numpy")
def floor(problem: Any, ready: Any) -> Factors:
    """The least error over the known entries that rank k can reach, told all of them: truncated SVD, repeated with the
    few unknown entries filled by it. Nothing of ours is in it."""
    known, k = problem.known, problem.k
    X, unknown = np.zeros(known.shape), np.ones(known.shape, dtype=bool)
    X[known.rows, known.cols], unknown[known.rows, known.cols] = known.values, False
    X[unknown] = (X.sum(axis=0) / np.maximum((~unknown).sum(axis=0), 1))[np.nonzero(unknown)[1]]
    last = math.inf
    for _ in range(500):
        top = np.linalg.eigh(X.T @ X)[1][:, -k:]
        fit = (X @ top) @ top.T
        error = float(np.linalg.norm(fit[known.rows, known.cols] - known.values))
        if not unknown.any() or last - error <= 1e-7 * error:
            break
        X[unknown], last = fit[unknown], error
    return Factors(X @ top, top)


# Low rank plus sparse: X with the longer side as rows


def default_weight(X: Vector) -> float:
    """That of the 1-norm in principal component pursuit."""
    return 1 / math.sqrt(max(X.shape))


def leading(T: Vector, rank: int) -> Vector:
    """The best approximation of its rank, through the small Gram matrix."""
    V = np.linalg.eigh(T.T @ T)[1][:, -rank:]
    return (T @ V) @ V.T


def largest_entries(R: Vector, count: int) -> Vector:
    """R without all but its largest entries, `count` of them."""
    if count == 0:
        return np.zeros_like(R)
    size = np.abs(R)
    return np.where(size >= np.partition(size.ravel(), size.size - count)[size.size - count], R, 0.0)


@needs("numpy")
def ialm(problem: Any, ready: Any, *, tol: float, rho: float = 1.5, steps: int = 1000) -> Pair:
    """Principal component pursuit by the inexact augmented Lagrangian method: Lin, Chen and Ma, "The augmented Lagrange
    multiplier method for exact recovery of corrupted low-rank matrices" (2010), Algorithm 5, with their constants.

    Singular values come from the small Gram matrix, which is several times as fast as a decomposition of X.
    """
    X = problem.X
    weight, size = default_weight(X), np.linalg.norm(X)
    top = math.sqrt(float(np.linalg.eigvalsh(X.T @ X)[-1]))
    Y = X / max(top, float(np.abs(X).max()) / weight)
    L, S, mu = np.zeros_like(X), np.zeros_like(X), 1.25 / top
    last = 1e7 * mu
    for _ in range(steps):
        T = X - S + Y / mu
        values, V = np.linalg.eigh(T.T @ T)
        s = np.sqrt(np.maximum(values, 0.0))
        kept = s > 1 / mu
        V = V[:, kept]
        L = T @ ((V * (1 - 1 / (mu * s[kept]))) @ V.T)
        T = X - L + Y / mu
        S = T - np.clip(T, -weight / mu, weight / mu)
        R = X - L - S
        if np.linalg.norm(R) <= tol * size:
            break
        Y = Y + mu * R
        mu = min(rho * mu, last)
    return Pair((L, S))


@needs("scipy")
def ialm_partial(problem: Any, ready: Any, *, tol: float, rho: float = 1.5, steps: int = 1000) -> Pair:
    """The same for large matrices: as many singular triplets as the last step says, by ARPACK (their Algorithm 5 with
    the prediction of its Section 4)."""
    X = problem.X
    weight, size, d = default_weight(X), np.linalg.norm(X), min(X.shape)
    top = float(svds(X, k=1, random_state=0)[1][0])
    Y = X / max(top, float(np.abs(X).max()) / weight)
    L, S, mu, count = np.zeros_like(X), np.zeros_like(X), 1.25 / top, 10
    last = 1e7 * mu
    for _ in range(steps):
        T = X - S + Y / mu
        whole = 3 * count >= d
        U, s, Vt = np.linalg.svd(T, full_matrices=False) if whole else svds(T, k=count, random_state=0)
        kept = s > 1 / mu
        rank = int(np.count_nonzero(kept))
        count = min(rank + 1 if rank < count else rank + round(0.05 * d), d)
        L = (U[:, kept] * (s[kept] - 1 / mu)) @ Vt[kept]
        T = X - L + Y / mu
        S = T - np.clip(T, -weight / mu, weight / mu)
        R = X - L - S
        if np.linalg.norm(R) <= tol * size:
            break
        Y = Y + mu * R
        mu = min(rho * mu, last)
    return Pair((L, S))


@needs("numpy")
def alternating_projection(problem: Any, ready: Any, *, steps: int = 100) -> Pair:
    """L the best of its rank for X - S, S the largest entries of X - L, by turns."""
    X, (rank, count) = problem.X, problem.k
    S = np.zeros_like(X)
    for _ in range(steps):
        L = leading(X - S, rank)
        S = largest_entries(X - L, count)
    return Pair((L, S))


@needs("numpy")
def median_over_time(problem: Any, ready: Any) -> Pair:
    """Of a video, one column per frame."""
    L = np.broadcast_to(np.median(problem.X, axis=1, keepdims=True), problem.X.shape)
    return Pair((L, problem.X - L))


# Pixels plus waves

PENALTIES = 0.5 ** np.arange(1, 11)  # as shares of the largest
Map = Callable[[Vector], Vector]


def pursuit_path(b: Vector, forward: Map, backward: Map, penalties: Vector) -> list[tuple[Vector, Vector]]:
    """Basis pursuit denoising on [I, B] with B orthonormal, |b - u - B w|^2 / 2 + penalty (|u|_1 + |w|_1), by FISTA
    (Beck and Teboulle, 2009), restarted when it overshoots, each penalty from the answer to the one before.

    Pairs (u, w), one for each penalty. [I, B] has the norm sqrt(2), so that 1 / 2 is the step.
    """
    x = np.zeros((2, b.size))
    answers = []
    for penalty in penalties:
        ahead, momentum = x, 1.0
        for _ in range(300):
            r = b - ahead[0] - forward(ahead[1])
            t = ahead + 0.5 * np.stack([r, backward(r)])
            after = t - np.clip(t, -penalty / 2, penalty / 2)
            move = after - x
            if float(np.vdot(ahead - after, move)) > 0:
                momentum = 1.0
            following = 0.5 * (1 + math.sqrt(1 + 4 * momentum**2))
            ahead = after + (momentum - 1) / following * move
            x, momentum = after, following
            if np.linalg.norm(move) <= 1e-4 * np.linalg.norm(after):
                break
        answers.append((x[0].copy(), x[1].copy()))
    return answers


def _refitted(b: Vector, forward: Map, backward: Map, pair: Any, counts: tuple[int, int]) -> tuple[Vector, Vector]:
    """The largest entries of each part, as many as told, fitted to b by least squares."""
    places = [np.argsort(-np.abs(part))[:count] for part, count in zip(pair, counts, strict=True)]

    def spread(c: Vector) -> tuple[Vector, Vector]:
        u, w = np.zeros(b.size), np.zeros(b.size)
        u[places[0]], w[places[1]] = c[: counts[0]], c[counts[0] :]
        return u, w

    def image(c: Vector) -> Vector:
        u, w = spread(c)
        return u + forward(w)

    A = LinearOperator(
        (b.size, sum(counts)),
        matvec=image,
        rmatvec=lambda y: np.concatenate([y[places[0]], backward(y)[places[1]]]),
        dtype=np.float64,
    )
    return spread(lsmr(A, b, atol=1e-12, btol=1e-12, maxiter=200)[0])


def _best_penalty(problem: Any, **words: Any) -> Vector:
    """The path down to the penalty with the smallest error, by the truth: looking for it is not charged."""
    forward, backward = problem.waves.matvec, problem.waves.rmatvec
    top = max(float(np.abs(problem.b).max()), float(np.abs(backward(problem.b)).max()))
    path = pursuit_path(problem.b, forward, backward, top * PENALTIES)
    scores = [max(problem.errors(u, forward(w)).values()) for u, w in path]
    return top * PENALTIES[: int(np.argmin(scores)) + 1]


@needs("numpy", _best_penalty)
def fista(problem: Any, penalties: Vector, *, budgets: bool = False) -> Pair:
    """Once as it comes; once with as many atoms of each part as there are, fitted anew."""
    forward, backward = problem.waves.matvec, problem.waves.rmatvec
    u, w = pursuit_path(problem.b, forward, backward, penalties)[-1]
    if budgets:
        u, w = _refitted(problem.b, forward, backward, (u, w), problem.k)
    return Pair((u, forward(w)), {"atoms": np.count_nonzero(u) + np.count_nonzero(w)})


# Phases


@needs("numpy")
def truncated_wirtinger_flow(
    problem: Any, ready: Any, *, steps: int = 500, power: int = 50, mu: float = 0.2
) -> Array:  # fmt: skip
    """Chen and Candes, "Solving random quadratic systems of equations is nearly as easy as solving linear systems",
    Comm. Pure Appl. Math. 70 (2017), Algorithm 1, with their constants: 3 for the start, 0.3, 5 and 5 for the steps.

    Rows are brought to length sqrt(n), as the algorithm assumes.
    """
    A, b = problem.A, problem.b
    m, n = A.shape
    dense = isinstance(A, np.ndarray)
    unit = np.sqrt(n / ((np.abs(A) ** 2).sum(axis=1) if dense else A.row_squares()))
    b = b * unit**2
    adjoint = A.conj().T if dense else A.H
    rng = np.random.default_rng(0)
    z = rng.standard_normal(n) + (1j * rng.standard_normal(n) if A.dtype.kind == "c" else 0.0)
    scale = math.sqrt(max(float(b.mean()), 0.0))
    kept = np.where(np.abs(b) <= 9 * scale**2, b, 0.0)
    for _ in range(power):
        z = adjoint @ (unit * (kept * (unit * (A @ z))))
        z = z / np.linalg.norm(z)
    z = scale * z
    for _ in range(steps):
        w = unit * (A @ z)
        size, length = np.abs(w), float(np.linalg.norm(z))
        off = size**2 - b
        moderate = (size >= 0.3 * length) & (size <= 5 * length)
        moderate &= np.abs(off) <= 5 * float(np.abs(off).mean()) * size / length
        step = np.divide(off * w, size**2, out=np.zeros_like(w), where=moderate)
        z = z - mu * (2 / m) * (adjoint @ (unit * step))
    return Array(z)
