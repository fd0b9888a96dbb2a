"""Clicks with a background, and their dense twins: all cells written out."""

from types import SimpleNamespace

import numpy as np

import fewatoms as fa

KINDS = [
    "usual",
    "as heavy as the others",
    "lighter than the others",
    "no weights",
    "values",
    "every cell",
    "one click",
]


def clicks(kind="usual", seed=0, shape=(12, 9), background=1.5):
    """M, b and a loss with a background, and the same over all cells: D, W as arrays, `dense` an operator for them."""
    rng = np.random.default_rng(seed)
    there = rng.random(shape) < 0.25
    there[0, 0] = True
    if kind == "every cell":
        there[:] = True
    if kind == "one click":
        there[:] = False
        there[3, 2] = True
    rows, cols = np.nonzero(there)
    order = rng.permutation(rows.size)
    rows, cols = rows[order], cols[order]
    weights = {
        "as heavy as the others": np.full(rows.size, background),
        "lighter than the others": background * rng.random(rows.size) + 0.01,
        "no weights": None,
    }.get(kind, 1.0 + 10.0 * rng.random(rows.size))
    b = rng.standard_normal(rows.size) if kind == "values" else np.ones(rows.size)
    M = fa.Sampling(rows, cols, shape, background=background)
    D, W = np.zeros(shape), np.full(shape, background)
    D[rows, cols], W[rows, cols] = b, 1.0 if weights is None else weights
    every = fa.Sampling(*np.indices(shape).reshape(2, -1), shape)
    return SimpleNamespace(
        M=M, b=b, loss=fa.LeastSquares(weights), D=D, W=W, rows=rows, cols=cols, shape=shape, background=background,
        dense=(every, D.ravel()), dense_loss=fa.LeastSquares(W.ravel()), weights=weights,
    )  # fmt: skip
