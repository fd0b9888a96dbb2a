"""Regressions over all cells of a row against dense ones."""

import numpy as np
import pytest
from scipy.optimize import nnls

from clicked import KINDS, clicks
from fewatoms import backed, kernels
from fewatoms.sides import NONE, Side


@pytest.fixture(params=["plain", "compiled"])
def way(request, monkeypatch):
    monkeypatch.setattr(kernels, "WORTHWHILE", 10**12 if request.param == "plain" else 0)


def asked(kind, r=3, seed=5):
    it = clicks(kind)
    order = np.lexsort((it.cols, it.rows))
    starts = np.searchsorted(it.rows[order], np.arange(it.shape[0] + 1))
    weights = NONE if it.weights is None else it.weights[order]
    side = Side(starts, it.cols[order], it.b[order], weights)
    return it, backed.Backed(side, it.background), np.random.default_rng(seed).standard_normal((it.shape[1], r))


def value(it, V, lam, X):
    """Per row, twice the loss and the ridge."""
    return np.sum(it.W * (it.D - X @ V.T) ** 2, axis=1) + lam * np.sum(X**2, axis=1)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("lam", [0.0, 0.7])
def test_free(kind, lam, way):
    it, one, V = asked(kind)
    X = np.zeros((it.shape[0], V.shape[1]))
    before = value(it, V, lam, X)
    for _ in range(30):  # conjugate gradients leave a share of the residual
        found = one.regress(V, lam, X, bound=False)
        X = found.factors
        here = value(it, V, lam, X)
        np.testing.assert_allclose(found.left, here, atol=1e-10 * np.abs(before).max())
        assert (here <= before + 1e-10).all()
        before = here
    for i in range(it.shape[0]):
        G = V.T @ (it.W[i, :, None] * V) + lam * np.eye(V.shape[1])
        np.testing.assert_allclose(X[i], np.linalg.solve(G, V.T @ (it.W[i] * it.D[i])), atol=1e-8)


@pytest.mark.parametrize("kind", KINDS)
def test_nonnegative(kind, way):
    it, one, V = asked(kind)
    X = np.abs(np.random.default_rng(0).standard_normal((it.shape[0], V.shape[1])))
    for _ in range(20):
        found = one.regress(V, 0.3, X, bound=True)
        X = found.factors
    np.testing.assert_allclose(found.left, value(it, V, 0.3, X), atol=1e-9)
    for i in range(it.shape[0]):
        A = np.concatenate([np.sqrt(it.W[i])[:, None] * V, np.sqrt(0.3) * np.eye(V.shape[1])])
        twin = nnls(A, np.append(np.sqrt(it.W[i]) * it.D[i], np.zeros(V.shape[1])))[0]
        np.testing.assert_allclose(X[i], twin, atol=1e-7)


def test_features_that_depend_on_each_other(way):
    it, one, V = asked("usual")
    V = np.concatenate([V, V[:, :1]], axis=1)
    X = np.zeros((it.shape[0], 4))
    for _ in range(30):
        X = one.regress(V, 0.0, X, bound=False).factors
    assert np.isfinite(X).all()
    twin = np.stack(
        [np.linalg.lstsq(np.sqrt(w)[:, None] * V, np.sqrt(w) * d)[0] for w, d in zip(it.W, it.D, strict=True)]
    )
    np.testing.assert_allclose(X @ V.T, twin @ V.T, atol=1e-6)
