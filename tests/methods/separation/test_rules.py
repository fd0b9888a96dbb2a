"""Which residuals are left to the sparse part: against sorted lists, ties and all."""

from __future__ import annotations

import math

import numpy as np
import pytest

import fewatoms as fa
from fewatoms.methods.separation import Trimming
from fewatoms.methods.separation.matrix import Kept, Mixture
from fewatoms.methods.separation.roles import Roles
from fewatoms.methods.separation.rules import Rule

RESIDUALS = {
    "gaussian": lambda rng: rng.standard_normal((8, 6)),
    "ties": lambda rng: rng.integers(-2, 3, (8, 6)).astype(float),
    "one size": lambda rng: rng.choice([-3.0, 3.0], (8, 6)),
    "gross errors": lambda rng: rng.standard_normal((8, 6)) + 1e9 * (rng.random((8, 6)) < 0.1),
}


def mixture(X, seen=None):
    atoms = fa.RankOne(*X.shape) + fa.SignedOneHot(X.shape)
    M, b = (fa.Identity(X.shape), X) if seen is None else (fa.Sampling(*np.nonzero(seen), X.shape), X[seen])
    problem = fa.Problem.of(M, b, atoms=atoms, k=(1, None))
    return Mixture(problem, Roles.of(atoms), Kept(problem))


@pytest.mark.parametrize("name", RESIDUALS)
def test_so_many_and_no_more(name):
    """The largest ones, as many as asked for whatever ties there are; the edge is the largest that stays."""
    for seed in range(3):
        R = RESIDUALS[name](np.random.default_rng(seed))
        in_order = np.sort(np.abs(R).ravel())[::-1]
        for count in (0, 1, 5, 20, 47, 48):
            rule = Rule(mixture(R), Trimming(), count)
            for _ in range(2):  # the second time from a guess
                out = rule.left_out(R)
                assert np.count_nonzero(out) == count
                assert not count or np.abs(R[out]).min() == in_order[count - 1]
                if count < 48:
                    assert rule.edge(R) == in_order[count]
        assert Rule(mixture(R), Trimming(), 0).threshold(R) == math.inf


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("name", RESIDUALS)
def test_as_few_as_leave_no_more_than_a_length(name, share):
    for seed in range(3):
        R = RESIDUALS[name](np.random.default_rng(seed))
        delta = share * float(np.linalg.norm(R))
        out = Rule(mixture(R), Trimming(), None, delta).left_out(R)
        assert np.linalg.norm(R[~out]) <= delta * (1 + 1e-9)
        fewer = np.sort(np.abs(R).ravel())[: R.size - np.count_nonzero(out) + 1]  # one less: longer than allowed
        assert not out.any() or np.linalg.norm(fewer) > delta


def test_what_stands_out_of_noise():
    """By three standard deviations, estimated from the median of what is seen."""
    rng = np.random.default_rng(0)
    R = 0.1 * rng.standard_normal((60, 50))
    where = rng.permutation(3000)[:30]
    R.ravel()[where] = 5.0
    rule = Rule(mixture(R), Trimming(), None)
    assert rule.by_noise
    assert rule.threshold(R) == pytest.approx(0.3, rel=0.1)
    assert rule.left_out(R).ravel()[where].all()
    assert rule.middle(R) == pytest.approx(np.median(np.abs(R)))
    assert Rule(mixture(R), Trimming(sampled=500), None).middle(R) == pytest.approx(np.median(np.abs(R)), rel=0.2)
    assert Rule(mixture(R), Trimming(stands_out=6.0), None).threshold(R) == pytest.approx(2 * rule.threshold(R))


def test_what_is_not_seen_says_nothing_about_noise():
    rng = np.random.default_rng(1)
    R, seen = rng.standard_normal((20, 15)), rng.random((20, 15)) < 0.3
    R[~seen] = 0.0
    rule = Rule(mixture(R, seen), Trimming(), None)
    assert rule.middle(R) == pytest.approx(np.median(np.abs(R[seen])))


def test_next_to_nothing_never_stands_out():
    R = np.zeros((6, 5))
    R[0, 0], R[1, 1] = 1.0, 1e-13
    rule = Rule(mixture(R), Trimming(), None)
    np.testing.assert_array_equal(np.argwhere(rule.left_out(R)), [[0, 0]])
    counted = Rule(mixture(R), Trimming(), 2)
    assert np.count_nonzero(counted.left_out(R)) == 2
    assert np.count_nonzero(counted.left_out(R, counted.floor)) == 1
