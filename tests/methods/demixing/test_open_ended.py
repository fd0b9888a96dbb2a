"""Sums over scales whose numbers are left open: bounds are met, numbers given are kept, coarse parts take no more than
they must."""

import numpy as np
import pytest

import fewatoms as fa
from methods.demixing.pictures import K, drawn, scales, worst


@pytest.mark.parametrize("k", [(4, None, 1), None])
def test_bounds_are_met_and_numbers_kept(k):
    b, parts = drawn(1, noise=0.01)
    misfit = 1.1 * np.linalg.norm(b - sum(parts)) / np.linalg.norm(b)
    s = fa.fit(fa.Identity(b.shape), b, atoms=scales(), k=k, misfit=misfit)
    assert s.success
    assert s.misfit <= misfit
    for part, most in zip(s.parts, k or (None,) * 3, strict=True):
        assert most is None or part.cardinality <= most


@pytest.mark.parametrize("seed", [3])
def test_what_stands_out_is_found_with_nothing_said(seed):
    b, parts = drawn(seed, noise=0.01)
    s = fa.fit(fa.Identity(b.shape), b, atoms=scales())
    assert s.misfit <= 1.2 * np.linalg.norm(b - sum(parts)) / np.linalg.norm(b)
    assert s.compact[0].freedom <= 2 * (4 + 2 * 11 + 47)


def test_the_rank_told_the_rest_is_found():
    b, parts = drawn(2, noise=0.01)
    s = fa.fit(fa.Identity(b.shape), b, atoms=scales(), k=(None, None, 1))
    assert tuple(part.cardinality for part in s.parts) == K
    assert worst(s, parts) < 0.05
