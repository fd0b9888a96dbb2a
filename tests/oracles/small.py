"""Problems small enough for slow and obvious answers of (P1), (P2) and (P3)."""

import numpy as np
from scipy.optimize import brentq

from fewatoms import Problem, SignedOneHot


def planted(seed=0, m=12, n=20, k=3, noise=0.05):
    """M, and data of k columns of it with noise."""
    rng = np.random.default_rng(seed)
    M = rng.standard_normal((m, n))
    x = np.zeros(n)
    x[rng.choice(n, k, replace=False)] = rng.choice([-2.0, -1.0, 1.0, 2.0], k)
    return M, M @ x + noise * rng.standard_normal(m)


def regression(seed=0, **asked):
    M, b = planted(seed)
    return Problem.of(M, b, atoms=SignedOneHot(M.shape[1]), k=3, **asked)


def soft(w, t):
    return np.sign(w) * np.maximum(np.abs(w) - t, 0.0)


def lasso(M, b, lam, rounds=4000):
    """(P1) over signed one-hot vectors, one coordinate after the other until nothing moves."""
    x, r = np.zeros(M.shape[1]), b.copy()
    sizes = np.sum(M**2, axis=0)
    for _ in range(rounds):
        moved = 0.0
        for i, column in enumerate(M.T):
            new = soft(column @ r + sizes[i] * x[i], lam) / sizes[i]
            r += (x[i] - new) * column
            moved, x[i] = max(moved, abs(new - x[i])), new
        if moved <= 1e-13:
            break
    return x


# With M = I the three are known in closed form: soft thresholding at the level that the bound asks for.


def ball(b, tau):
    """The nearest point to b with |x|_1 <= tau."""
    if np.abs(b).sum() <= tau:
        return b.copy()
    return soft(b, brentq(lambda t: np.abs(soft(b, t)).sum() - tau, 0.0, np.abs(b).max(), xtol=1e-15, rtol=1e-14))


def least_size(b, alpha):
    """The least |x|_1 with 1/2 |b - x|^2 <= alpha: (P3)."""
    level = brentq(lambda t: 0.5 * np.sum(np.minimum(np.abs(b), t) ** 2) - alpha, 0.0, np.abs(b).max(), xtol=1e-15)
    return float(np.abs(soft(b, level)).sum())


def denoising(seed=0, n=15, **asked):
    b = np.random.default_rng(seed).standard_normal(n)
    return Problem.of(np.eye(n), b, atoms=SignedOneHot(n), k=3, **asked)
