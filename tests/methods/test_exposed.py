"""Sets that are known by their linear oracle alone: planted atoms are found, whatever M leaves out, and runs can be
stopped anywhere."""

import numpy as np
import pytest

import fewatoms as fa
from contracts.families import generator
from fewatoms import ledger
from fewatoms.methods import Exposed
from test_examples import module

Permutations = module("own_set").Permutations


def traffic(n, seed):
    """A mixture of three permutations, and the generator that drew it."""
    rng = generator(seed)
    return sum(share * np.eye(n)[rng.permutation(n)] for share in (0.5, 0.3, 0.2)), rng


@pytest.mark.parametrize("seed", range(4))
def test_mixtures_seen_as_they_are(seed):
    X, _ = traffic(6, seed)
    s = fa.fit(fa.Identity((6, 6)), X, atoms=Permutations(6), k=3)
    np.testing.assert_allclose(s.x, X, atol=1e-10)


@pytest.mark.parametrize("seed", range(4))
def test_mixtures_from_fewer_numbers_than_entries(seed):
    """The ladder's own point is right long before three of its atoms are: it is taken apart."""
    X, rng = traffic(6, seed)
    M = rng.standard_normal((32, 36))
    s = fa.fit(M, M @ X.ravel(), atoms=Permutations(6), k=3, misfit=1e-8)
    assert s.success
    np.testing.assert_allclose(s.x, X, atol=1e-6)


def test_taking_the_point_apart_is_what_finds_them():
    X, rng = traffic(8, 0)
    M = rng.standard_normal((60, 64))
    asked = {"atoms": Permutations(8), "k": 3, "misfit": 1e-8}
    assert fa.fit(M, M @ X.ravel(), **asked).success
    assert not fa.fit(M, M @ X.ravel(), method=Exposed(apart=0), max_iterations=10, **asked).success


def test_a_path_is_what_single_fits_are():
    X, rng = traffic(5, 1)
    b = X + 0.02 * rng.standard_normal(X.shape)
    asked = {"atoms": Permutations(5), "max_iterations": 4}
    alone = {k: fa.fit(fa.Identity((5, 5)), b, k=k, **asked).loss for k in (1, 3)}
    for ks in ([1, 3], [3, 1]):
        path = fa.fit_path(fa.Identity((5, 5)), b, k=ks, **asked)
        for k in ks:
            assert path[k].loss <= alone[k] * (1 + 1e-6)


def test_a_callback_is_heard_everywhere(monkeypatch):
    """Also in the runs inside: whenever it stops the run, the best so far is the answer."""
    monkeypatch.setattr(ledger, "EVERY", 0.0)
    X, rng = traffic(5, 2)
    b = X + 0.02 * rng.standard_normal(X.shape)
    asked = {"atoms": Permutations(5), "k": 2, "max_iterations": 3}
    stages = []
    whole = fa.fit(fa.Identity((5, 5)), b, callback=lambda p: stages.append(p.loss), **asked)
    assert len(stages) > 20
    for calls in (1, 5, len(stages) // 2, len(stages) - 1):
        seen = []

        def stop(progress, seen=seen, calls=calls):
            seen.append(progress.loss)
            if len(seen) == calls:
                raise StopIteration

        s = fa.fit(fa.Identity((5, 5)), b, callback=stop, **asked)
        assert s.status is fa.Status.STOPPED
        assert len(seen) == calls
        assert whole.loss * (1 - 1e-9) <= s.loss <= seen[-1] * (1 + 1e-9)
