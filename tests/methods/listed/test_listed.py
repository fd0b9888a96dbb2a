"""The best few columns, against all subsets; atoms in and out; starts; what is said beside the status."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import fewatoms as fa
from journeys.planting import squares
from methods.listed.small import (
    GROUPED,
    KINDS,
    SETS,
    N,
    best_of_all,
    case,
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
