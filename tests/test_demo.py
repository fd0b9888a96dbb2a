"""The six problems of the demo: the same from one seed, solved as asked, near their truths."""

import numpy as np
import pytest

from fewatoms.demo import aligned, jobs


@pytest.mark.parametrize("seed", [2, 3])
def test_every_job_holds_what_it_asks(seed):
    for job in jobs(seed):
        assert job.solve(None).success, job.title


def test_one_seed_is_one_set_of_problems():
    once, again, other = jobs(4), jobs(4), jobs(5)
    assert [job.title for job in once] == [job.title for job in again]
    assert len({job.kind for job in once}) == len(once) == 6
    for place in (1, 5):  # plain vectors
        np.testing.assert_allclose(once[place].truth, again[place].truth, rtol=1e-12)
        assert not np.array_equal(once[place].truth, other[place].truth)


def test_answers_are_near_the_truth_and_callbacks_are_heard():
    _, regression, _, _, _, phases = jobs(0)
    heard = []
    s = regression.solve(heard.append)
    assert heard
    assert set(s.indices) == set(np.flatnonzero(regression.truth))
    s = phases.solve(None)
    assert np.linalg.norm(aligned(s.left[:, 0], phases.truth) - phases.truth) <= 1e-4 * np.linalg.norm(phases.truth)


def test_aligned_is_the_nearest_of_all_turns():
    rng = np.random.default_rng(0)
    truth = rng.standard_normal(5) + 1j * rng.standard_normal(5)
    left = rng.standard_normal(5) + 1j * rng.standard_normal(5)
    best = np.linalg.norm(aligned(left, truth) - truth)
    turns = np.exp(1j * np.linspace(0, 2 * np.pi, 200))
    assert best <= min(np.linalg.norm(t * left - truth) for t in turns) + 1e-12
    np.testing.assert_allclose(aligned(1j * truth, truth), truth)
    zero = np.zeros(5)
    assert aligned(zero, truth) is zero
