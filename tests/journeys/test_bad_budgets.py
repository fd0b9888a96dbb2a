"""Bad sets and numbers of atoms: each gives one sentence that names the argument, the demand and what came."""

from __future__ import annotations

import numpy as np
import pytest

import fewatoms as fa
from journeys.refused import NAN, B, D, assert_refused, fit

# Atoms and their number ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [0, -1, 5, 10**9])
def test_k_must_be_in_range(k):
    assert_refused(
        ValueError, rf"^k must be an integer between 1 and 4, .* SignedOneHot\(4\); got {k}$", lambda: fit(k=k)
    )


@pytest.mark.parametrize("k", [1.5, 2.0, "3", True, np.True_, NAN, [1], (1,), np.float64(2), 1j])
def test_k_must_be_an_integer(k):
    assert_refused(TypeError, r"^k must be an integer between 1 and 4, .*; got ", lambda: fit(k=k))


def test_k_must_be_given():
    assert_refused(
        TypeError,
        r"^k must say how many atoms are allowed, unless a bound \(alpha or misfit\) is given; got None$",
        lambda: fit(k=None),
    )
    assert_refused(TypeError, r"k", lambda: fa.fit(D, B, atoms=fa.SignedOneHot(4)))


@pytest.mark.parametrize(
    ("atoms", "most"),
    [
        (fa.Groups([0, 0, 1, 1]), 2),
        (fa.RankOne(2, 2), 2),
        (fa.PSDRankOne(2), 2),
        (fa.Dictionary(np.ones((4, 7)), symmetric=False), 7),
        (3.0 * fa.NonnegativeCone(4), 4),
    ],
    ids=str,
)
def test_k_is_at_most_the_number_of_atoms(atoms, most):
    assert_refused(
        ValueError,
        rf"^k must be an integer between 1 and {most}, .*; got {most + 1}$",
        lambda: fit(atoms=atoms, k=most + 1),
    )
    assert fit(atoms=atoms, k=most, max_iterations=1).cardinality <= most


@pytest.mark.parametrize(
    ("k", "kind", "message"),
    [
        (2, TypeError, r"^k must give one budget for each of the 2 parts of \(.*\); got 2$"),
        ("12", TypeError, r"^k must give one budget for each of the 2 parts of \(.*\); got '12'$"),
        ({1: 1, 2: 2}, TypeError, r"^k must give one budget for each of the 2 parts"),
        ((1,), ValueError, r"^k must give one budget for each of the 2 parts of .*; got 1: \(1,\)$"),
        ((1, 2, 3), ValueError, r"^k must give one budget for each of the 2 parts of .*; got 3: \(1, 2, 3\)$"),
        ((0, 1), ValueError, r"^k must be an integer between 1 and 4, .*SignedOneHot\(4\); got 0$"),
        ((1, 0), ValueError, r"^k must be an integer between 1 and 2, .*Groups.*; got 0$"),
        ((1, 3), ValueError, r"^k must be an integer between 1 and 2, .*Groups.*; got 3$"),
        ((1, 1.5), TypeError, r"^k must be an integer between 1 and 2, .*; got 1.5$"),
        ((True, 1), TypeError, r"^k must be an integer between 1 and 4, .*; got True$"),
        (((1, 1), 1), TypeError, r"^k must be an integer between 1 and 4, .*; got \(1, 1\)$"),
    ],
    ids=str,
)
def test_budgets_of_sums(k, kind, message):
    for join in (fa.SignedOneHot(4) + fa.Groups([0, 0, 1, 1]), fa.SignedOneHot(4) | fa.Groups([0, 0, 1, 1])):
        assert_refused(kind, message, lambda join=join: fit(atoms=join, k=k))


def test_budgets_are_nested_as_the_sets_are():
    atoms = (fa.SignedOneHot(4) | fa.Groups([0, 0, 1, 1])) + fa.NonnegativeOneHot(4)
    assert_refused(
        TypeError,
        r"^k must give one budget for each of the 2 parts of \(.* \| .*\); got 1$",
        lambda: fit(atoms=atoms, k=(1, 1)),
    )
    assert fit(atoms=atoms, k=((1, 1), 1), max_iterations=1).cardinality <= 3
