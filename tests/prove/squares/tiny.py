"""Tiny problems of least squares over single columns, nasty ones among them, and the slow obvious answer to each."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np

import fewatoms as fa
from fewatoms.problem import Problem
from fewatoms.proofs.base import Question

CAPS = {"none": None, "loose": 3.0, "tight": 0.3}


def instance(rng):
    """M, b, and what is asked of them."""
    m, n = int(rng.integers(3, 21)), int(rng.integers(1, 13))
    k = int(rng.integers(1, min(4, n) + 1))
    M = rng.standard_normal((m, n))
    if rng.random() < 0.3:
        M = M @ (0.4 * np.eye(n) + 0.6 * np.ones((n, n)) / n)  # much in common
    if n > 2 and rng.random() < 0.5:
        spoilt(M, rng)
    b = data(M, k, rng)
    positive = rng.random() < 0.4
    atoms = fa.NonnegativeOneHot(n) if positive else fa.SignedOneHot(n)
    order = rng.permutation(n)
    include = order[: int(rng.integers(0, k + 1))] if rng.random() < 0.25 else order[:0]
    exclude = order[include.size : include.size + int(rng.integers(0, n - include.size + 1))]
    exclude = exclude if rng.random() < 0.25 else order[:0]
    if include.size or exclude.size:
        atoms = atoms.restricted(include=include, exclude=exclude)
    ridge = [0.0, 0.1, 1.0][int(rng.integers(3))]
    cap = CAPS[["none", "loose", "tight"][int(rng.integers(3))]]
    weights = rng.uniform(0.2, 3.0, m) if rng.random() < 0.2 else None
    loss = fa.LeastSquares(weights=weights)
    free = np.ones((m, 1)) if rng.random() < 0.2 and m > 3 else None
    return Problem.of(M, b, atoms=atoms, k=k, ridge=ridge, cap=cap, loss=loss, free=free)


def spoilt(M, rng):
    """One of the things that happen to columns."""
    i, j = rng.choice(M.shape[1], 2, replace=False)
    kind = int(rng.integers(4))
    if kind == 0:
        M[:, i] = M[:, j]
    elif kind == 1:
        M[:, i] = -M[:, j] * (1 + 1e-3) + 1e-5 * rng.standard_normal(len(M))
    elif kind == 2:
        M[:, i] = 0.0
    else:
        M *= 10.0 ** rng.uniform(-3, 3, M.shape[1])


def data(M, k, rng):
    """Data: noise, atoms with noise, atoms alone, or zeros."""
    kind = rng.random()
    if kind < 0.05:
        return np.zeros(len(M))
    x = np.zeros(M.shape[1])
    x[rng.choice(x.size, k, replace=False)] = rng.uniform(0.3, 2.0, k) * rng.choice([-1.0, 1.0], k)
    if kind < 0.15:
        return M @ x
    return M @ x + 10.0 ** rng.uniform(-2, 0.5) * rng.standard_normal(len(M))


def arrays(problem):
    """Columns past free ones, in the weights of the loss, and data likewise; lengths."""
    listing = problem.atoms.listing()
    n = listing.atoms.count
    root = np.ones(problem.m) if problem.base_loss.weights is None else np.sqrt(problem.base_loss.weights)
    A = np.column_stack([problem.M.apply(e) for e in np.eye(n)]) * root[:, None]
    given = np.column_stack([problem.measured.apply(e) for e in np.eye(n)]) * root[:, None]
    lengths = np.linalg.norm(A, axis=0)
    lengths[lengths < 1e-12 * np.linalg.norm(given, axis=0)] = 0.0
    return A, problem.b * root, lengths


def least(problem):
    """The least objective of all choices, and its classes, by fits of every support with every choice of coefficients
    at their caps: each is a point that is allowed, and the best one is among them."""
    A, b, lengths = arrays(problem)
    listing, cap = problem.atoms.listing(), problem.price.cap
    forced = set(listing.forced.tolist())
    usable = [i for i in range(len(lengths)) if i not in set(listing.barred.tolist()) and lengths[i] > 0]
    k = problem.k - len([i for i in forced if i not in usable])
    found = 0.5 * float(b @ b), ()
    for size in range(1, k + 1):
        for S in combinations(usable, size):
            if len(forced.intersection(usable) - set(S)) <= k - size:
                value = of_support(A[:, S], b, lengths[list(S)], problem.price.on_squares, cap, listing.nonnegative)
                if value < found[0]:
                    found = value, S
    return found[0], np.union1d(found[1], sorted(forced)).astype(np.intp)


def of_support(A, b, lengths, ridge, cap, positive):
    """The best of all faces of the box that hold a fit."""
    A, caps = A / lengths, None if cap is None else cap * lengths
    sides = [0] if cap is None else ([0, 1] if positive else [0, 1, -1])
    best = np.inf
    for held in product(sides, repeat=A.shape[1]):
        held = np.array(held)
        x = np.where(held == 0, 0.0, held * (0.0 if caps is None else caps))
        inside = np.flatnonzero(held == 0)
        if inside.size:
            rows = np.vstack([A[:, inside], np.sqrt(ridge) * np.eye(inside.size)])
            left = np.concatenate([b - A @ x, np.zeros(inside.size)])
            x[inside] = np.linalg.lstsq(rows, left, rcond=1e-12)[0]
        if (positive and x.min() < 0) or (caps is not None and (np.abs(x) > caps).any()):
            continue
        r = b - A @ x
        best = min(best, 0.5 * float(r @ r) + 0.5 * ridge * float(x @ x))
    return best


def question(problem, upper, best, gap=1e-4, **words):
    return Question(problem, problem.k, upper, best, gap, **words)
