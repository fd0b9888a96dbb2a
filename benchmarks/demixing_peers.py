"""The peers of demixing: what one would write oneself, and the packages there are.

Matrices come as X with the longer side as rows; everyone returns the pair (L, S), dense. Packages get settings that
suit them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator, lsmr

Vector = NDArray[np.float64]
Pair = tuple[Vector, Vector]

PACKAGES = ("fewatoms", "numpy", "scipy", "tensorly", "rpca", "abess")


def default_weight(X: Vector) -> float:
    """That of the 1-norm in principal component pursuit."""
    return 1 / math.sqrt(max(X.shape))


# Written here


def ialm(X: Vector, tol: float, *, rho: float = 1.5, steps: int = 1000) -> Pair:
    """Principal component pursuit by the inexact augmented Lagrangian method: Lin, Chen and Ma, "The augmented Lagrange
    multiplier method for exact recovery of corrupted low-rank matrices" (2010), Algorithm 5, with their constants.

    Singular values come from the small Gram matrix, which is several times as fast as a decomposition of X.
    """
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
    return L, S


def alternating_projection(X: Vector, rank: int, count: int, *, steps: int = 100) -> Pair:
    """L the best of its rank for X - S, S the largest entries of X - L, by turns."""
    S = np.zeros_like(X)
    for _ in range(steps):
        T = X - S
        V = np.linalg.eigh(T.T @ T)[1][:, -rank:]
        L = (T @ V) @ V.T
        S = largest_entries(X - L, count)
    return L, S


def largest_entries(R: Vector, count: int) -> Vector:
    """R without all but its largest entries, `count` of them."""
    if count == 0:
        return np.zeros_like(R)
    size = np.abs(R)
    return np.where(size >= np.partition(size.ravel(), size.size - count)[size.size - count], R, 0.0)


def pursuit_path(
    b: Vector, forward: Callable[[Vector], Vector], backward: Callable[[Vector], Vector], penalties: Vector
) -> list[Pair]:
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


def refitted(
    b: Vector,
    forward: Callable[[Vector], Vector],
    backward: Callable[[Vector], Vector],
    pair: Pair,
    counts: tuple[int, int],
) -> Pair:
    """The largest entries of each part, as many as told, fitted to b by least squares."""
    places = [np.argsort(-np.abs(part))[:count] for part, count in zip(pair, counts, strict=True)]

    def spread(c: Vector) -> Pair:
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


# Packages


def tensorly_default(X: Vector, rank: int, count: int) -> Pair:
    """Both ways to unfold a matrix give its nuclear norm: half of the weight for each. The tolerance is absolute."""
    from tensorly.decomposition import robust_pca

    wishes: dict[str, Any] = {"reg_J": 0.5, "reg_E": default_weight(X), "n_iter_max": 300, "verbose": 0}
    return robust_pca(X, tol=1e-4 * float(np.linalg.norm(X)), **wishes)


def tensorly_stiff(X: Vector, rank: int, count: int) -> Pair:
    """The same with the stiffness of the plain method above, which it does not set by itself."""
    from tensorly.decomposition import robust_pca

    wishes: dict[str, Any] = {"reg_J": 0.5, "reg_E": default_weight(X), "n_iter_max": 300, "verbose": 0}
    top = float(np.linalg.norm(X, 2))
    return robust_pca(X, tol=1e-4 * float(np.linalg.norm(X)), mu_init=1.25 / top, learning_rate=1.5, **wishes)


def accelerated_projections(X: Vector, rank: int, count: int) -> Pair:
    """Takes the mean of each column out first: with one atom less the matrix has the rank asked for."""
    from rpca import RobustPCA

    model = RobustPCA(n_components=max(1, rank - 1), verbose=False).fit(X)
    return model.low_rank_ + model.mean_, model.sparse_


def best_subset(X: Vector, rank: int, count: int) -> Pair:
    """Returns S alone; L is then the best of its rank."""
    from abess.decomposition import RobustPCA

    S = RobustPCA(support_size=count).fit(X, r=rank).coef_
    V = np.linalg.eigh((X - S).T @ (X - S))[1][:, -rank:]
    return ((X - S) @ V) @ V.T, S


@dataclass(frozen=True)
class Package:
    """One way to call a package: `solve(X, rank, count)`; those of pursuit look at neither."""

    name: str
    package: str
    solve: Callable[[Vector, int, int], Pair]
    pursuit: bool

    @property
    def installed(self) -> bool:
        return find_spec(self.package) is not None


MATRICES = (
    Package("tensorly", "tensorly", tensorly_default, True),
    Package("tensorly, mu of IALM", "tensorly", tensorly_stiff, True),
    Package("rpca", "rpca", accelerated_projections, False),
    Package("abess", "abess", best_subset, False),
)
