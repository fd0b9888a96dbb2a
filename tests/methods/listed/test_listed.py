"""The best few columns, against all subsets; atoms in and out; starts; what is said beside the status."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest
from scipy.sparse.linalg import aslinearoperator

import fewatoms as fa
from journeys.planting import spikes, squares
from methods.listed.small import (
    GROUPED,
    KINDS,
    PAIRS,
    SETS,
    TAKEN,
    N,
    best_of_all,
    case,
    instance,
    refit,
    smooth_refit,
)

# All subsets ----------------------------------------------------------------------------------------------------------


def outcome(name, kind, seed):
    """How the answer compares with the best subset: a ratio of losses, checked never to be below one."""
    atoms, _, _, nonnegative = SETS[name]
    A, b, weights, k, blocks, target = case(name, kind, seed)
    s = fa.fit(A, b, atoms=atoms, k=k, loss=fa.LeastSquares(weights))
    assert s.status is fa.Status.SMALLEST_LOSS
    assert s.success
    assert s.cardinality <= k
    root = 1.0 if weights is None else np.sqrt(weights)
    size = squares(target)
    assert s.loss == pytest.approx(squares(root * (b - A @ s.x)), rel=1e-9, abs=1e-20 * size)
    assert s.misfit == pytest.approx(np.sqrt(s.loss / size), rel=1e-12)
    best = best_of_all(blocks, target, k, nonnegative)
    assert s.loss >= best * (1 - 1e-9) - 1e-20 * size
    return (s.loss + 1e-20 * size) / (best + 1e-20 * size)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", [name for name in SETS if name not in GROUPED])
def test_against_all_subsets(name, kind):
    """The best subset in three of four cases at least, and never far from it."""
    ratios = [outcome(name, kind, seed) for seed in range(4)]
    assert sum(ratio <= 1 + 1e-8 for ratio in ratios) >= 3
    assert max(ratios) <= 1.3


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kind", ["plain", "correlated", "duplicated", "units"])
@pytest.mark.parametrize("name", GROUPED)
def test_groups_against_all_subsets(name, kind):
    ratios = [outcome(name, kind, seed) for seed in range(6)]
    assert sum(ratio <= 1 + 1e-8 for ratio in ratios) >= 4
    assert max(ratios) <= 2.0


@pytest.mark.parametrize("seed", range(3))
def test_more_atoms_never_cost(seed):
    A, b, *_ = case("signed", "correlated", seed)
    losses = [fa.fit(A, b, atoms=fa.SignedOneHot(N), k=k).loss for k in range(1, 6)]
    assert all(more <= fewer * (1 + 1e-9) for fewer, more in pairwise(losses))


# Atoms in, atoms out, coefficients capped -----------------------------------------------------------------------------

MANY = 70
CHOOSY = {
    "signed": fa.SignedOneHot(MANY),
    "few": fa.SignedOneHot(20),
    "groups": fa.Groups(np.arange(MANY) // 2),
    "dictionary": fa.Dictionary(np.random.default_rng(5).standard_normal((30, MANY)), symmetric=True),
}
WAYS = {
    "k alone": {"k": 4},
    "free": {"k": 4, "free": "intercept"},
    "bound": {"k": 4, "misfit": 0.6},
    "bound alone": {"misfit": 0.6},
    "bound alone, free": {"misfit": 0.6, "free": "intercept"},
    "huber": {"k": 4, "loss": fa.Huber(0.5)},
    "huber, free": {"k": 4, "loss": fa.Huber(0.5), "free": "intercept"},
    "logistic": {"k": 4, "loss": fa.Logistic(), "alpha": 5.0},
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("form", ["dense", "operator"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", CHOOSY)
def test_chosen_atoms_are_in_or_out(name, way, form):
    atoms = CHOOSY[name]
    rng = np.random.default_rng([len(name), len(way), len(form)])
    A = rng.standard_normal((25, atoms.n)) + 0.3
    b = rng.standard_normal(25) + 2.0 * A[:, 1]
    M = A if form == "dense" else aslinearoperator(A)
    for draw in range(2):
        chosen = rng.permutation(atoms.count)
        wanted, barred = chosen[: 1 + draw], np.append(chosen[5:15], 1 - draw)
        barred = barred[~np.isin(barred, wanted)]
        some = atoms.restricted(include=wanted, exclude=barred)
        s = fa.fit(M, b, atoms=some, cap=0.5 if draw else None, **WAYS[way])
        assert set(wanted.tolist()) <= set(s.indices.tolist())
        assert not set(barred.tolist()) & set(s.indices.tolist())
        assert s.cardinality <= WAYS[way].get("k", atoms.count)
        if draw:
            largest = np.abs(s.coefficients if name == "dictionary" else s.x).max()
            assert largest <= 0.5 * (1 + 1e-12)


@pytest.mark.parametrize("n", [9, MANY])
@pytest.mark.parametrize("seed", range(3))
def test_chosen_atoms_against_all_subsets_that_hold_them(seed, n):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((20, n))
    b = A @ spikes(rng, n, 4) + 0.5 * rng.standard_normal(20)
    wanted, barred = rng.choice(n, 1), rng.permutation(n)[: n // 2]
    barred = np.setdiff1d(barred, wanted)
    s = fa.fit(A, b, atoms=fa.SignedOneHot(n).restricted(include=wanted, exclude=barred), k=3)
    rest = np.setdiff1d(np.arange(n), np.append(barred, wanted))
    best = min(refit(A[:, [*wanted, *pair]], b)[0] for pair in combinations(rest, 2))
    assert s.loss == pytest.approx(best, rel=1e-9)


# Warm starts ----------------------------------------------------------------------------------------------------------


@pytest.mark.sampled(2)
@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("loss", [fa.LeastSquares(), fa.Huber(0.5)], ids=repr)
@pytest.mark.parametrize("name", TAKEN)
def test_a_start_is_never_made_worse(name, loss, k):
    """Not worse than the k largest contributions of the start, refitted."""
    atoms = TAKEN[name]
    A, b, rng = instance(1)
    start = fa.fit(A, b, atoms=atoms, k=4, loss=loss, max_iterations=1)
    moved = b + 0.1 * rng.standard_normal(25)
    s = fa.fit(A, moved, atoms=atoms, k=k, loss=loss, start=start)
    sizes = np.linalg.norm(A, axis=0) * np.abs(start.x)
    labels = PAIRS if name == "groups" else np.arange(40)
    totals = np.sqrt(np.bincount(labels, weights=sizes**2))
    kept = np.isin(labels, np.argsort(-totals)[: min(k, start.cardinality)])
    bounds = [(0.0 if name == "nonnegative" else None, None)] * int(kept.sum())
    pruned = smooth_refit(loss, A[:, kept], moved, bounds).fun if kept.any() else loss.value(moved)
    assert s.loss <= pruned * (1 + 1e-7)
    assert s.cardinality <= k


def test_a_start_that_meets_the_bound_is_taken_as_it_is():
    A, b, _ = instance(1)
    start = fa.fit(A, b, atoms=fa.SignedOneHot(40), k=5)
    s = fa.fit(A, b, atoms=fa.SignedOneHot(40), k=5, misfit=start.misfit * 1.01, start=start)
    assert s.status is fa.Status.BOUND_MET
    assert s.iterations == 0
    np.testing.assert_allclose(s.x, start.x, atol=1e-9)


# What is said beside the status ---------------------------------------------------------------------------------------


def test_atoms_with_the_same_image_are_told_of():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((30, 40))
    b = 2.0 * A[:, 2] + A[:, 5] + 0.1 * rng.standard_normal(30)
    assert "Note" not in fa.fit(A, b, atoms=fa.SignedOneHot(40), k=2).message
    A[:, 7] = -3.0 * A[:, 2]
    s = fa.fit(A, b, atoms=fa.SignedOneHot(40), k=2)
    assert "Note: atoms" in s.message
    assert {"2", "7"} <= set(s.message.replace(",", "").split())
    assert "arbitrary" in s.message


def test_forced_atoms_that_add_nothing_are_told_of():
    rng = np.random.default_rng(0)
    M, b = rng.standard_normal((15, 12)), rng.standard_normal(15)
    s = fa.fit(M, b, atoms=fa.NonnegativeOneHot(12).restricted(include=[4, 9]), k=3)
    missing = {4, 9} - set(s.indices.tolist())
    assert missing
    assert f"{len(missing)} of the atoms to include add nothing" in s.message
    assert s.cardinality + len(missing) <= 3


ENTRIES = fa.SignedOneHot((3, 4))


@pytest.mark.parametrize(
    ("atoms", "cap"),
    [(ENTRIES.restricted(include=[0]), None), (ENTRIES.restricted(exclude=[11]), None), (ENTRIES, 0.5)],
    ids=["include", "exclude", "cap"],
)
def test_demands_that_cannot_be_kept_are_refused(atoms, cap):
    """Entries of a matrix are not exchanged by way of their images: nothing would mind the demand."""
    with pytest.raises(ValueError, match=r"^include, exclude and cap need a vector model .*; got k=2 atoms of"):
        fa.fit(fa.Identity((3, 4)), np.arange(12.0).reshape(3, 4), atoms=atoms, cap=cap, k=2)
