"""A bound without k: as few atoms as meet it; and what k beside a bound may cost."""

from __future__ import annotations

import numpy as np
import pytest

import fewatoms as fa
from journeys.planting import spikes, squares
from methods.listed.small import (
    N,
    best_of_all,
    case,
    design,
    refit,
)

# A bound without k ----------------------------------------------------------------------------------------------------


def pursued(A, b, bound):
    """Orthogonal matching pursuit on columns of unit length: how many atoms until the loss meets the bound."""
    A = A / np.linalg.norm(A, axis=0)
    inside: list[int] = []
    left = b
    while squares(left) > bound:
        alignments = np.abs(A.T @ left)
        alignments[inside] = -1.0
        inside.append(int(np.argmax(alignments)))
        left = b - A[:, inside] @ np.linalg.lstsq(A[:, inside], b, rcond=None)[0]
    return len(inside)


@pytest.mark.parametrize("misfit", [0.5, 0.1, 1e-6])
@pytest.mark.parametrize("kind", ["plain", "correlated", "autoregressive", "units"])
def test_a_bound_alone_takes_no_more_atoms_than_matching_pursuit(kind, misfit):
    for seed in range(2):
        rng = np.random.default_rng(seed)
        A = design(kind, rng, 30, 60)
        b = A @ spikes(rng, 60, 4) / np.abs(A).max() + 0.02 * rng.standard_normal(30)
        s = fa.fit(A, b, atoms=fa.SignedOneHot(60), misfit=misfit)
        assert s.success
        assert s.status is fa.Status.BOUND_MET
        assert np.linalg.norm(b - A @ s.x) <= misfit * np.linalg.norm(b) * (1 + 1e-9)
        assert s.cardinality == np.count_nonzero(s.x) <= pursued(A, b, misfit**2 * squares(b))
        by_alpha = fa.fit(A, b, atoms=fa.SignedOneHot(60), alpha=misfit**2 * squares(b))
        assert by_alpha.cardinality == s.cardinality


@pytest.mark.parametrize("misfit", [0.6, 0.3])
@pytest.mark.parametrize("seed", range(3))
def test_a_bound_alone_against_all_subsets(seed, misfit):
    A, b, *_ = case("signed", "plain", 2 * seed)
    s = fa.fit(A, b, atoms=fa.SignedOneHot(N), misfit=misfit)
    blocks = [A[:, [i]] for i in range(N)]
    reached = (k for k in range(1, N + 1) if best_of_all(blocks, b, k) <= misfit**2 * squares(b))
    needed = next(reached, None)
    assert s.success == (needed is not None)
    assert needed is None or needed <= s.cardinality <= needed + 1


@pytest.mark.parametrize("name", ["nonnegative", "groups", "dictionary", "free", "huber"])
def test_a_bound_alone_is_met_by_every_kind(name):
    rng = np.random.default_rng(3)
    A = np.abs(rng.standard_normal((30, 80)))
    b = A[:, :3].sum(axis=1) + 0.05 * rng.standard_normal(30)
    atoms, options = {
        "nonnegative": (fa.NonnegativeOneHot(80), {"misfit": 0.1}),
        "groups": (fa.Groups(np.arange(80) // 4), {"misfit": 0.1}),
        "dictionary": (fa.Dictionary(np.eye(80)[:, ::-1], symmetric=True), {"misfit": 0.1}),
        "free": (fa.SignedOneHot(80), {"misfit": 0.1, "free": "intercept"}),
        "huber": (fa.SignedOneHot(80), {"alpha": 0.5, "loss": fa.Huber(1.0)}),
    }[name]
    s = fa.fit(A, b, atoms=atoms, **options)
    left = b - A @ s.x - (s.free_coefficients[0] if name == "free" else 0.0)
    assert s.success
    assert 1 <= s.cardinality <= 4
    if name == "huber":
        assert fa.Huber(1.0).value(left) <= 0.5 * (1 + 1e-9)
    else:
        assert np.linalg.norm(left) <= 0.1 * np.linalg.norm(b) * (1 + 1e-9)


def test_a_bound_that_no_atoms_reach():
    rng = np.random.default_rng(4)
    A, b = rng.standard_normal((30, 5)), rng.standard_normal(30)
    s = fa.fit(A, b, atoms=fa.SignedOneHot(5), misfit=1e-3)
    assert not s.success
    assert s.status in (fa.Status.NOT_REACHED, fa.Status.UNREACHABLE)
    assert s.loss == pytest.approx(refit(A, b)[0], rel=1e-6)
