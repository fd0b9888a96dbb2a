"""All supports tried: what nobody can do better than, for problems of at most fourteen columns."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from benchmarks.peers import needs
from benchmarks.peers.answers import Array, Vector

Supports = NDArray[np.intp]


@needs("numpy")
def search(problem: Any, ready: Any) -> Array:
    if problem.classes:
        return _logistic(problem)
    M, b = problem.centred(problem.M), problem.centred(problem.b)
    if problem.ridge:  # rows that say the same
        M = np.concatenate([M, np.sqrt(problem.ridge) * np.diag(np.linalg.norm(M, axis=0))])
        b = np.concatenate([b, np.zeros(M.shape[1])])
    best, answer = np.inf, np.zeros(M.shape[1])
    for supports in _supports(problem):
        for x in _candidates(problem, M, b, supports):
            loss = float(np.sum((b - M @ x) ** 2))
            if loss < best:
                best, answer = loss, x
    return Array(answer)


def _supports(problem: Any) -> Iterator[Supports]:
    """Of one size at a time: the columns of k groups; of up to k columns where signs or caps may leave some out."""
    n, k = problem.M.shape[1], problem.k
    if problem.labels is not None:
        for some in combinations(np.unique(problem.labels), k):
            yield np.flatnonzero(np.isin(problem.labels, some))[None]
        return
    sizes = range(k + 1) if problem.nonnegative or problem.include else [min(k, n)]
    for size in sizes:
        allowed = [s for s in combinations(range(n), size) if len(set(s) | set(problem.include)) <= k]
        if allowed:
            yield np.array(allowed, dtype=np.intp).reshape(len(allowed), size)


def _candidates(problem: Any, M: Vector, b: Vector, supports: Supports) -> Iterator[Vector]:
    """The best of each kind: coefficients free, or some of them at their caps and the others free."""
    size, n = supports.shape[1], M.shape[1]
    signs = (0.0, 1.0) if problem.nonnegative else (0.0, 1.0, -1.0)
    ends = list(product(signs, repeat=size)) if problem.cap else [(0.0,) * size]
    for at in np.array(ends).reshape(len(ends), size):
        held, moving = supports[:, at != 0], supports[:, at == 0]
        fixed = (problem.cap or 0.0) * at[at != 0]
        A = M.T[moving].transpose(0, 2, 1)
        rest = b - np.einsum("ski,k->si", M.T[held], fixed)
        inverse = np.linalg.pinv(A, rcond=1e-13) if moving.size else A.transpose(0, 2, 1)
        c = np.einsum("sij,sj->si", inverse, rest)
        fits = np.ones(len(c), dtype=bool)
        if problem.nonnegative:
            fits = (c >= 0).all(axis=1)
        if problem.cap:
            fits &= (np.abs(c) <= problem.cap).all(axis=1)
        if fits.any():
            losses = np.where(fits, np.sum((rest - np.einsum("sij,sj->si", A, c)) ** 2, axis=1), np.inf)
            i, x = int(np.argmin(losses)), np.zeros(n)
            x[held[i]], x[moving[i]] = fixed, c[i]
            yield x


def _logistic(problem: Any) -> Array:
    """Newton's method on all supports at once, each with its own step."""
    n, t = problem.M.shape[1], problem.b
    supports = np.array(list(combinations(range(n), min(problem.k, n))), dtype=np.intp)
    lengths = np.linalg.norm(problem.M, axis=0)
    A = (problem.M / lengths).T[supports].transpose(0, 2, 1) * t[:, None]
    if problem.free:
        A = np.concatenate([A, np.broadcast_to(t[:, None], (*A.shape[:2], 1))], axis=2)
    c = np.zeros((len(A), A.shape[2]))

    def losses(c: Vector) -> Vector:
        return np.logaddexp(0.0, -np.einsum("sij,sj->si", A, c)).sum(axis=1)

    now = losses(c)
    for _ in range(60):
        p = expit(-np.einsum("sij,sj->si", A, c))
        gradient = -np.einsum("sij,si->sj", A, p)
        hessian = np.einsum("sij,si,sil->sjl", A, p * (1 - p), A) + 1e-12 * np.eye(c.shape[1])
        step = -np.linalg.solve(hessian, gradient[..., None])[..., 0]
        length = np.ones(len(c))
        for _ in range(30):
            after = losses(c + length[:, None] * step)
            if not (bad := after > now).any():
                break
            length[bad] /= 2
        better = after < now
        c = np.where(better[:, None], c + length[:, None] * step, c)
        gain, now = float(np.max(now - np.minimum(now, after))), np.minimum(now, after)
        if gain < 1e-13 * t.size:
            break
    i, x = int(np.argmin(now)), np.zeros(n)
    x[supports[i]] = c[i, : supports.shape[1]] / lengths[supports[i]]
    return Array(x, {"intercept": float(c[i, -1]) if problem.free else 0.0})
