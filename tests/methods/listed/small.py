"""Small problems over listed atoms, and the slow and obvious ways to solve them."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize, nnls

import fewatoms as fa
from fewatoms.methods.listed.images import IMAGE_ROOM
from fewatoms.methods.listed.support import SupportFits
from fewatoms.methods.listed.view import View
from journeys.planting import spikes, squares

# The slow and obvious way ---------------------------------------------------------------------------------------------


def refit(A, b, nonnegative=False):
    """The loss and coefficients of the best fit with all columns of A."""
    if A.shape[1] == 0:
        return squares(b), np.zeros(0)
    if nonnegative:
        size = np.linalg.norm(b)
        c = size * nnls(A, b / size)[0]
    else:
        c = np.linalg.lstsq(A, b, rcond=None)[0]
    return squares(b - A @ c), c


def best_of_all(blocks, b, k, nonnegative=False):
    """The smallest loss that any k of these blocks of columns reach."""
    choices = combinations(range(len(blocks)), k)
    return min(refit(np.concatenate([blocks[i] for i in some], axis=1), b, nonnegative)[0] for some in choices)


def design(kind, rng, m, n):
    A = rng.standard_normal((m, n))
    if kind == "correlated":
        A += 2.0 * rng.standard_normal((m, 1))
    elif kind == "autoregressive":
        for j in range(1, n):
            A[:, j] = 0.9 * A[:, j - 1] + 0.44 * A[:, j]
    elif kind == "duplicated":
        A[:, n // 2 :] = A[:, : n - n // 2]
    elif kind == "units":
        A *= 10.0 ** rng.uniform(-3, 3, n)
    elif kind == "decoy":  # a column that is nearly the sum of two others
        A[:, 0] = A[:, 1] + A[:, 2] + 0.1 * rng.standard_normal(m)
    elif kind == "low rank":
        A = rng.standard_normal((m, 2)) @ rng.standard_normal((2, n))
    return A


N = 12
LABELS = np.arange(N) // 2
D = np.random.default_rng(99).standard_normal((N, N))

# name -> atoms, the map from coefficients to x, one label per coefficient, whether they are nonnegative
SETS = {
    "signed": (fa.SignedOneHot(N), np.eye(N), np.arange(N), False),
    "nonnegative": (fa.NonnegativeOneHot(N), np.eye(N), np.arange(N), True),
    "turned over": (-2.0 * fa.NonnegativeCone(N), -np.eye(N), np.arange(N), True),
    "groups": (fa.Groups(LABELS), np.eye(N), LABELS, False),
    "weighted groups": (fa.Groups(LABELS, weights=1.0 + np.arange(N // 2)), np.eye(N), LABELS, False),
    "dictionary": (fa.Dictionary(D, symmetric=True), D, np.arange(N), False),
    "nonnegative dictionary": (fa.Dictionary(D, symmetric=False), D, np.arange(N), True),
    "mapped": (fa.Mapped(sp.csr_array(D), 0.5 * fa.SignedOneHot(N)), D, np.arange(N), False),
    "mapped groups": (fa.Mapped(D, fa.Groups(LABELS)), D, LABELS, False),
}
GROUPED = ("groups", "weighted groups", "mapped groups")
KINDS = ("plain", "correlated", "autoregressive", "duplicated", "units", "decoy", "low rank")


def case(name, kind, seed, m=14):
    """A small problem: A, b, weights, k, and the whitened blocks and data for the twin."""
    _, B, labels, _ = SETS[name]
    rng = np.random.default_rng(seed)
    A = design(kind, rng, m, N)
    images = A @ B
    truth = np.where(rng.random(N) < 0.3, rng.standard_normal(N), 0.0)
    b = images @ truth / np.abs(images).max() + 0.3 * rng.standard_normal(m)
    weights = rng.uniform(0.2, 3.0, m) if seed % 2 else None
    root = np.ones(m) if weights is None else np.sqrt(weights)
    blocks = [root[:, None] * images[:, labels == g] for g in np.unique(labels)]
    return A, b, weights, 1 + seed % 3, blocks, root * b


def instance(seed, m=25, n=40, k=5):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((m, n)) + (seed % 2) * rng.standard_normal((m, 1))
    return A, A @ spikes(rng, n, k) + 0.5 * rng.standard_normal(m), rng


PAIRS = np.arange(40) // 2
TAKEN = {"signed": fa.SignedOneHot(40), "nonnegative": fa.NonnegativeOneHot(40), "groups": fa.Groups(PAIRS)}


def smooth_refit(loss, R, b, bounds=None):
    return minimize(
        lambda c: loss.value(b - R @ c),
        np.zeros(R.shape[1]),
        jac=lambda c: -R.T @ loss.gradient(b - R @ c),
        method="L-BFGS-B",
        bounds=bounds,
        options={"ftol": 1e-15, "gtol": 1e-9, "maxiter": 3000},
    )


ROWS = 18
RAMP = np.arange(ROWS) / ROWS
FREE = {
    "intercept": ("intercept", np.ones((ROWS, 1))),
    "one column": (RAMP, RAMP[:, None]),
    "two columns": (np.column_stack([np.ones(ROWS), RAMP]),) * 2,
    "dependent columns": (np.column_stack([RAMP, 2 * RAMP]), RAMP[:, None]),
}


def with_offset(seed, n=9):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((ROWS, n)) + 1.0
    return A, A[:, 0] - 2.0 * A[:, 3] + 3.0 + RAMP + 0.3 * rng.standard_normal(ROWS), rng


# What the family's parts work on --------------------------------------------------------------------------------------


def fits_of(problem, room=IMAGE_ROOM):
    """The reduced fits of a problem, with a view of their own."""
    return SupportFits(problem, View(problem, problem.M, room))


def blocks_of(fits):
    """Images of all classes as blocks of columns, as the user's operator gives them: one product each."""
    problem = fits.problem
    return [
        np.stack([problem.M.apply(face.point(e)) for e in np.eye(face.dim)], axis=1)
        for face in (fits.view.face(np.array([g])) for g in range(fits.view.count))
    ]


def image_of(fits, candidate):
    """M x of a candidate, by way of the user's space."""
    return fits.problem.M.apply(candidate.face.point(candidate.c))
