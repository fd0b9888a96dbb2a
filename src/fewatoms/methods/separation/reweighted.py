"""Starts where much is missing and some is wrong: small matrices, by regressions of lines that weigh large residuals
less and pay for long factors, less and less."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fewatoms import ledger
from fewatoms._types import Array
from fewatoms.methods.separation.lines import pairs_of
from fewatoms.methods.separation.matrix import Low

if TYPE_CHECKING:
    from fewatoms.methods.separation.steps import Trims


def reweighted(run: Trims, rank: int, power: float) -> Low:
    """L of a rank from random factors: regressions of all rows, then all columns, with a ridge on both factors, which
    are the nuclear norm together, that falls from sweep to sweep; then residuals count like logarithms.

    Where lines have few more entries than coefficients, fits without a ridge explain what is wrong and are anything
    elsewhere; where few entries of the whole are seen, the leading directions of it filled up with zeros tell little.

    power : weights are sizes of residuals to the minus this, beyond the median: 1 sums sizes, for which no start is a
        bad one; more finds what half of the entries agree on
    """
    data, settings = run.data, run.settings
    unit = run.rule.middle(data.nothing_explained)
    seen = np.ones(data.D.shape) if data.mask is None else np.square(data.mask, dtype=np.float64)
    X, W = data.D / unit, seen
    V = ledger.generator().standard_normal((X.shape[1], rank))
    ridge = float(seen.sum()) / sum(X.shape)
    U = np.zeros((X.shape[0], rank))
    for sweeps, steep, medians in ((settings.sweeps, power, 1.0), (settings.sweeps // 2, 2.0, 2.0)):
        for _ in range(sweeps):
            ledger.tick()
            run.mixture.charge(rank)
            U = _regressed(X, W, V, ridge)
            U, V = _balanced(U, _regressed(X.T, W.T, U, ridge))
            R = np.abs(data.left(U * unit, V))
            near = medians * run.rule.middle(R)
            if near <= run.rule.floor:
                break
            W, ridge = seen * (near / np.maximum(R, near)) ** steep, max(settings.rung * ridge, settings.lightest)
    Q, T = np.linalg.qr(V)
    return unit * (U @ T.T), Q


def _regressed(X: Array, W: Array, V: Array, ridge: float) -> Array:
    """The coefficients of each row in V."""
    rank = V.shape[1]
    G = (W @ pairs_of(V)).reshape(-1, rank, rank) + ridge * np.eye(rank)
    return np.asarray(np.linalg.solve(G, ((W * X) @ V)[:, :, None])[:, :, 0])


def _balanced(U: Array, V: Array) -> Low:
    """The same product, of factors of equal lengths."""
    (Q, S), (P, T) = np.linalg.qr(U), np.linalg.qr(V)
    u, s, vh = np.linalg.svd(S @ T.T)
    return Q @ (u * np.sqrt(s)), P @ (vh.T * np.sqrt(s))
