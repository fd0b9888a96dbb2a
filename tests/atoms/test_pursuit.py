"""Unions of rank-one matrices and matrix entries: their weight."""

from __future__ import annotations

import math

import numpy as np
import pytest

import fewatoms as fa
from fewatoms.atoms import Scaled, Union
from fewatoms.atoms.pursuit import pairs_and_entries, weighed


def union(shape=(4, 3), *, turned=False):
    parts = [fa.RankOne(*shape), fa.SignedOneHot(shape)]
    return Union(*(parts[::-1] if turned else parts))


@pytest.mark.parametrize("shape", [(4, 3), (3, 4), (1, 7), (7, 1), (1, 1)], ids=str)
@pytest.mark.parametrize("turned", [False, True], ids=["", "turned"])
def test_a_plain_union_gets_the_weight_of_principal_component_pursuit(shape, turned):
    plain = union(shape, turned=turned)
    z = np.random.default_rng(0).standard_normal(shape)
    c = math.sqrt(max(shape))
    atoms = weighed(plain)
    assert atoms.support(z) == pytest.approx(max(np.linalg.norm(z, 2), c * np.abs(z).max()))
    assert pairs_and_entries(atoms) == ((1, 0) if turned else (0, 1))
    assert not any(isinstance(part, Scaled) for part in plain.parts)


def test_sets_with_weights_of_their_own_are_left_alone():
    low, sparse = fa.RankOne(4, 3), fa.SignedOneHot((4, 3))
    for atoms in (low + sparse, low | 3.0 * sparse, 2.0 * low | sparse, low | low, low, sparse):
        assert weighed(atoms) is atoms


def test_a_factor_of_the_whole_union_is_no_weight():
    low, sparse = fa.RankOne(4, 3), fa.SignedOneHot((4, 3))
    z = np.random.default_rng(0).standard_normal((4, 3))
    assert weighed(2.0 * (low | sparse)).support(z) == pytest.approx(2.0 * weighed(low | sparse).support(z))


def test_without_a_weight_no_entry_would_be_used():
    """The 1-norm of a matrix is never below its nuclear norm."""
    plain, rng = union((3, 2)), np.random.default_rng(0)
    for x in (rng.standard_normal((3, 2)), np.eye(3, 2)):
        assert np.abs(x).sum() >= np.linalg.norm(x, "nuc") - 1e-12
        assert plain.gauge(x) == pytest.approx(np.linalg.norm(x, "nuc"), rel=1e-6)
