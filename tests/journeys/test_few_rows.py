"""Few rows, thousands of columns: exchanges of single atoms end in many places, and a search must go on from there."""

from __future__ import annotations

import numpy as np
import pytest

import fewatoms as fa

M, N, K = 36, 3000, 10


def residual(A, b):
    return b - A @ np.linalg.lstsq(A, b, rcond=None)[0]


def exchanged(X, b, inside):
    """Replace one column by the best of all others, as long as that lowers what is left."""
    inside, loss = list(inside), float(np.sum(residual(X[:, inside], b) ** 2))
    while True:
        best = (loss * (1 - 1e-9), inside)
        for i in range(len(inside)):
            rest = inside[:i] + inside[i + 1 :]
            Q = np.linalg.qr(X[:, rest])[0]
            left, r = X - Q @ (Q.T @ X), b - Q @ (Q.T @ b)
            squares = np.einsum("ij,ij->j", left, left)
            gain = np.where(squares > 1e-8, (left.T @ r) ** 2 / np.maximum(squares, 1e-8), 0.0)
            j = int(gain.argmax())
            best = min(best, (float(r @ r - gain[j]), [*rest, j]))
        if best[1] == inside:
            return loss
        loss, inside = best


def drawn(seed, kind):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((M, N))
    if kind == "correlated":
        X = X + 2.0 * rng.standard_normal((M, 8)) @ rng.standard_normal((8, N))
    return X / np.linalg.norm(X, axis=0), rng.standard_normal(M)


@pytest.mark.parametrize("kind", ["independent", "correlated"])
@pytest.mark.parametrize("seed", range(2))
def test_no_worse_than_all_exchanges_from_several_starts(kind, seed):
    X, b = drawn(seed, kind)
    rng = np.random.default_rng(0)
    likely = np.argsort(-np.abs(X.T @ b))[:60]
    twin = min(exchanged(X, b, rng.choice(likely, K, replace=False)) for _ in range(4))
    assert fa.fit(X, b, atoms=fa.SignedOneHot(N), k=K).loss <= 0.5 * twin * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(2))
def test_more_effort_finds_more(seed):
    X, b = drawn(seed, "correlated")
    losses = [
        fa.fit(X, b, atoms=fa.SignedOneHot(N), k=K, effort=effort).loss for effort in ("quick", "normal", "thorough")
    ]
    assert losses[2] <= losses[1] < 0.8 * losses[0]
