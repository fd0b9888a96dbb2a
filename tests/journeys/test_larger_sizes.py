"""Whoever may have more atoms does no worse: what k atoms do, k + 1 may do too, and no size keeps to itself what it
found among thousands of atoms."""

from __future__ import annotations

import numpy as np
import pytest

import fewatoms as fa

KINDS = {
    "signed": lambda n: fa.SignedOneHot(n),
    "nonnegative": lambda n: fa.NonnegativeOneHot(n),
    "groups": lambda n: fa.Groups(np.arange(n) // 3),
}


def planted(seed, kind, m, n, count):
    """Large and small effects: some are aligned with the data no better than thousands of others."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n))
    x = np.zeros(n)
    places = rng.choice(n // 3, count, replace=False)[:, None] * 3 + np.arange(3 if kind == "groups" else 1)
    x[places.ravel()] = rng.normal(0.0, 2.0, places.size)
    x = np.abs(x) if kind == "nonnegative" else x
    return X, X @ x + rng.standard_normal(m)


@pytest.mark.parametrize("free", [None, "intercept"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(2))
def test_losses_fall_along_a_path(kind, free, seed):
    X, b = planted(seed, kind, 150, 2400, 10)
    path = fa.fit_path(X, b, atoms=KINDS[kind](2400), k=range(1, 16), free=free)
    rise = np.diff(path.losses) / path.losses[:-1]
    assert rise.max() <= 1e-12, np.flatnonzero(rise > 0) + 2


@pytest.mark.parametrize("seed", range(2))
def test_a_path_is_near_the_fits_one_by_one(seed):
    X, b = planted(seed, "signed", 150, 2400, 10)
    atoms = fa.SignedOneHot(2400)
    path = fa.fit_path(X, b, atoms=atoms, k=range(1, 13))
    for k in (4, 8, 10, 12):
        assert path[k].loss <= 1.05 * fa.fit(X, b, atoms=atoms, k=k).loss


@pytest.mark.parametrize("seed", range(2))
def test_losses_of_classes_fall_along_a_path(seed):
    X, b = planted(seed, "signed", 200, 600, 6)
    labels = b > np.median(b)
    path = fa.fit_path(X, labels, atoms=fa.SignedOneHot(600), k=range(1, 9), loss=fa.Logistic(), ridge=1.0)
    objectives = np.array([path[k].objective for k in path.k])
    assert np.diff(objectives).max() <= 1e-9 * objectives[0]
