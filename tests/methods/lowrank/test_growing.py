"""k left out: as low a rank as meets a bound."""

from __future__ import annotations

import numpy as np
import pytest

import fewatoms as fa
from sampled import plant


def noise_of(e, weights=None):
    """The misfit of what was planted."""
    w = np.ones(e.b.size) if weights is None else weights
    off = e.truth[e.rows, e.cols] - e.b
    return float(np.sqrt(w @ off**2 / (w @ e.b**2)))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("offsets", [False, True])
@pytest.mark.parametrize(("rank", "noise"), [(1, 0.1), (3, 0.2), (5, 0.0)])
def test_the_rank_that_was_planted_is_found(rank, noise, offsets, weighted):
    e = plant(rank, 40, 32, rank, share=0.7, noise=noise, offsets=offsets)
    w = np.random.default_rng(0).uniform(0.3, 3.0, e.b.size) if weighted else None
    misfit = max(noise_of(e, w), 1e-7)
    s = e.fit(None, misfit=misfit, loss=fa.LeastSquares(w), free="biases" if offsets else None)
    assert s.status is fa.Status.BOUND_MET
    assert s.success
    assert s.cardinality == rank
    assert s.misfit <= misfit * (1 + 1e-9)
    assert s.message.startswith("Asked: few atoms with a loss of at most")
    assert "smallest rank found to do so; that no smaller one does is not proved" in s.message


@pytest.mark.parametrize("misfit", [0.7, 0.3])
def test_no_more_atoms_than_a_fit_of_each_number_needs(misfit):
    """On noise alone, where no rank is the right one."""
    for seed in range(2):
        rng = np.random.default_rng(seed)
        rows, cols = np.nonzero(rng.random((13, 10)) < 0.6)
        M, b, atoms = fa.Sampling(rows, cols, (13, 10)), rng.standard_normal(rows.size), fa.RankOne(13, 10)
        least = next(k for k in range(1, 11) if fa.fit(M, b, atoms=atoms, k=k, misfit=misfit).success)
        s = fa.fit(M, b, atoms=atoms, misfit=misfit)
        assert s.success
        assert s.cardinality <= least


def test_data_are_met_exactly_by_about_as_many_unknowns():
    rng = np.random.default_rng(0)
    rows, cols = np.nonzero(rng.random((12, 9)) < 0.6)
    s = fa.fit(fa.Sampling(rows, cols, (12, 9)), rng.standard_normal(rows.size), atoms=fa.RankOne(12, 9), alpha=0)
    assert s.success
    assert (s.cardinality - 1) * (12 + 9 - s.cardinality + 1) < rows.size


@pytest.mark.parametrize("options", [{"ridge": 5.0}, {"nonnegative": True}], ids=str)
def test_bounds_out_of_reach_are_said_to_be(options):
    """A ridge leaves more than the bound with any number of atoms; factors that are not negative have no negative
    entries."""
    e = plant(1, 12, 10, 2, noise=0.5)
    s = e.fit(None, misfit=0.05, **options)
    assert s.status is fa.Status.NOT_REACHED
    assert not s.success
    assert "the bound was not reached" in s.message.lower()


def test_from_an_earlier_answer():
    e = plant(2, 30, 25, 3, share=0.7, noise=0.1)
    misfit = noise_of(e)
    for k in (1, 3, 6):
        s = e.fit(None, misfit=misfit, start=e.fit(k))
        assert s.success
        assert s.cardinality == 3


def test_loose_bounds_and_stops():
    e = plant(3, 12, 10, 2, noise=0.3)
    assert e.fit(None, misfit=1.0).status is fa.Status.ZERO

    def stop(progress):
        if progress.iteration == 3:
            raise StopIteration

    seen = []
    s = e.fit(None, misfit=1e-6, callback=[seen.append, stop])
    assert s.status is fa.Status.STOPPED
    assert s.cardinality
    assert seen[-1].stage == "looking for a rank"


def test_blocks_that_share_nothing_grow_together():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 2)) @ rng.standard_normal((2, 30))
    X[20:] *= 100
    X[:20, 15:] = X[20:, :15] = np.nan
    M, b = fa.Sampling.from_array(X)
    s = fa.fit(M, b, atoms=fa.RankOne(40, 30), misfit=1e-9)
    assert s.success
    assert s.cardinality == 2


def test_it_takes_a_bound():
    e = plant(0, 8, 7, 2)
    with pytest.raises(TypeError, match=r"^k must"):
        e.fit(None)
    with pytest.raises(TypeError, match=r"^k must be given for RankOne\(8, 7\)"):
        e.fit(None, misfit=0.1, method=fa.methods.General())


def test_nonnegative_factors_of_all_ranks_are_fitted_as_one_is():
    """Any nonnegative matrix has as many nonnegative factors as it has columns; sweeps upwards may end elsewhere."""
    for seed in (5, 14, 24, 31):
        rng = np.random.default_rng(seed)
        X = np.abs(np.outer(rng.standard_normal(8), rng.standard_normal(2)) + 0.1 * rng.standard_normal((8, 2)))
        M, loss = fa.Sampling(*np.divmod(np.arange(16), 2), X.shape), fa.LeastSquares(10.0 ** rng.uniform(-2, 2, 16))
        s = fa.fit(M, X.ravel(), atoms=fa.RankOne(8, 2, nonnegative=True), misfit=1e-6, loss=loss)
        assert s.success
        assert s.cardinality == 2
        assert min(s.left.min(), s.right.min()) >= 0
        assert loss.value((X - s.x).ravel()) <= 1e-12 * loss.value(X.ravel())
