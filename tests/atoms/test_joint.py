"""Several data vectors: each with its own atoms, or all with the same."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import aslinearoperator

import fewatoms as fa
from journeys.planting import squares
from methods.listed.small import (
    refit,
)

# Several data vectors -------------------------------------------------------------------------------------------------


def several(seed, m=20, n=15, p=3):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((m, n)) + 0.5 * rng.standard_normal((m, 1))
    X = np.zeros((n, p))
    X[rng.choice(n, 3, replace=False)] = rng.standard_normal((3, p))
    return A, A @ X + 0.2 * rng.standard_normal((m, p)), rng


@pytest.mark.parametrize("options", [{}, {"misfit": 0.5}, {"free": "intercept"}], ids=["k alone", "bound", "free"])
@pytest.mark.parametrize(
    "atoms", [fa.SignedOneHot(15), fa.NonnegativeOneHot(15), fa.Groups(np.arange(15) // 3)], ids=repr
)
def test_several_data_vectors_are_fitted_one_by_one(atoms, options):
    A, B, rng = several(0)
    together = fa.fit_many(A, B, atoms=atoms, k=3, **options)
    alone = [fa.fit(A, b, atoms=atoms, k=3, **options) for b in B.T]
    assert isinstance(together, fa.Solutions)
    assert len(together) == 3
    assert together.success == all(s.success for s in alone)
    for s, t in zip(together, alone, strict=True):
        np.testing.assert_array_equal(s.indices, t.indices)
        np.testing.assert_allclose(s.x, t.x, rtol=1e-12)
        assert s.status is t.status
    np.testing.assert_allclose(together.x, np.stack([s.x for s in alone], axis=1))
    np.testing.assert_allclose(together.loss, [s.loss for s in alone])
    np.testing.assert_array_equal(together.cardinality, [s.cardinality for s in alone])
    new = rng.standard_normal((5, 15))
    np.testing.assert_allclose(together.predict(new), np.stack([s.predict(new) for s in alone], axis=1))
    np.testing.assert_allclose(together[1:].loss, together.loss[1:])


@pytest.mark.parametrize(
    ("form", "grouped"),
    [("dense", False), ("dense", True), ("csc", False), ("csc", True), ("operator", False)],
    ids=["dense rows", "dense groups", "sparse rows", "sparse groups", "operator rows"],
)
@pytest.mark.parametrize("seed", range(2))
def test_a_joint_support_is_a_problem_of_groups(seed, form, grouped):
    A, B, rng = several(seed)
    labels = np.arange(15) // 3 if grouped else np.arange(15)
    atoms = fa.Groups(labels) if grouped else fa.SignedOneHot(15)
    M = {"dense": A, "csc": sp.csc_array(A), "operator": aslinearoperator(A)}[form]
    s = fa.fit(M, B, atoms=fa.Joint(atoms), k=2)
    twin = fa.fit(np.kron(A, np.eye(3)), B.ravel(), atoms=fa.Groups(np.repeat(labels, 3)), k=2)
    assert set(s.indices.tolist()) == set(twin.indices.tolist())
    assert s.loss == pytest.approx(twin.loss, rel=1e-9)
    np.testing.assert_allclose(s.x, twin.x.reshape(15, 3), atol=1e-8)
    names = np.unique(labels)
    best = min(
        squares(B - A[:, some] @ np.linalg.lstsq(A[:, some], B, rcond=None)[0])
        for some in (np.isin(labels, pair) for pair in combinations(names, 2))
    )
    assert s.loss == pytest.approx(best, rel=1e-9)
    new = rng.standard_normal((4, 15))
    np.testing.assert_allclose(s.predict(new), new @ s.x, atol=1e-12)


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_a_joint_support_with_free_columns(weighted):
    A, B, rng = several(2)
    B = B + np.array([1.0, -2.0, 5.0])
    W = rng.uniform(0.5, 2.0, B.shape) if weighted else np.ones(B.shape)
    s = fa.fit(
        A,
        B,
        atoms=fa.Joint(fa.SignedOneHot(15)),
        k=2,
        free="intercept",
        loss=fa.LeastSquares(W.ravel() if weighted else None),
    )

    def loss(some):
        R = np.column_stack([A[:, list(some)], np.ones(20)])
        return sum(refit(np.sqrt(w)[:, None] * R, np.sqrt(w) * b)[0] for w, b in zip(W.T, B.T, strict=True))

    assert s.loss == pytest.approx(loss(s.indices), rel=1e-9)
    assert s.loss == pytest.approx(min(loss(pair) for pair in combinations(range(15), 2)), rel=1e-9)
    assert s.free_coefficients.shape == (1, 3)
    left = B - A @ s.x - s.free_coefficients
    assert s.loss == pytest.approx(0.5 * np.sum(W * left**2), rel=1e-9)
    new = rng.standard_normal((4, 15))
    np.testing.assert_allclose(s.predict(new), new @ s.x + s.free_coefficients, atol=1e-12)
