"""What atoms outside of a support promise, against supports fitted anew in the quadratic model."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import fewatoms as fa
from fewatoms import linalg
from fewatoms.gram.drivers import Rules
from fewatoms.methods.listed.modelled import model
from fewatoms.methods.listed.outlook import NEAREST, Outlook
from fewatoms.problem import Problem
from methods.listed.small import fits_of

N = 300  # more than a model of all atoms would be made for
STILL = Rules(True, 1e-12, 1, 0, 0, 0.0, 0, 0)


def thin(seed, **words):
    """Labels of sparse rows; columns are thin, so that their lengths are read."""
    rng = np.random.default_rng(seed)
    A = sp.random_array((120, N), density=0.2, rng=rng, data_sampler=rng.standard_normal)
    t = np.where(A[:, [0]].toarray().ravel() + 0.3 * rng.standard_normal(120) > 0, 1.0, -1.0)
    words = {"atoms": fa.SignedOneHot(N), "k": 4, "loss": fa.Logistic(), **words}
    return fits_of(Problem.of(sp.csc_array(A), t, **words))


@pytest.mark.parametrize("k", [4, 5], ids=["in place of another", "where there is room"])
@pytest.mark.parametrize("words", [{}, {"free": "intercept", "ridge": 0.05}], ids=["plain", "intercept, ridge"])
def test_gains_are_those_of_the_model(words, k):
    fits = thin(0, **words)
    support = fits.fit(np.array([0, 5, 9, 11]), trial=False)
    gained = Outlook(fits, k).gains(support, k)
    assert (gained[support.classes] == -np.inf).all()
    near = model(fits, support, np.arange(N), fits.problem.base_loss.bowl(support.residual))
    state = near.searched([near.places(support.classes)], 4, STILL)
    best = near.exchanges(state).max(axis=0)
    for j in np.setdiff1d(np.arange(0, N, 7), support.classes):
        if k > 4:
            added = near.searched([np.append(near.places(support.classes), j)], 5, STILL)
            best[j] = max(best[j], state.loss[0] - added.loss[0])
        assert gained[j] == pytest.approx(0.5 * best[j], rel=1e-4, abs=1e-7 * support.loss)


def test_classes_that_must_stay_out_promise_nothing():
    fits = thin(1, atoms=fa.SignedOneHot(N).restricted(exclude=[3, 4]))
    gained = Outlook(fits, 4).gains(fits.fit(np.array([0])), 4)
    assert (gained[[0, 3, 4]] == -np.inf).all()
    assert np.isfinite(np.delete(gained, [0, 3, 4])).all()


def test_a_working_set_takes_in_what_promises_most_and_stays_small():
    fits = thin(2)
    near, support = Outlook(fits, 4), fits.fit(np.array([7, 8]))
    assert not near.whole
    assert near.around(support).tolist() == [7, 8]
    assert near.widened(support, 4, first=True)
    classes, gained = near.around(support), near.gains(support, 4)
    assert set(np.argsort(-gained)[:NEAREST].tolist()) | {7, 8} == set(classes.tolist())
    assert not near.widened(support, 4)  # they are all there
    for seed in range(12):
        other = fits.fit(np.random.default_rng(seed).permutation(N)[:4])
        near.widened(other, 4)
        assert set(other.classes.tolist()) <= set(near.around(other).tolist())
        assert near.around(other).size <= 200


def test_few_atoms_are_all_near():
    rng = np.random.default_rng(3)
    A, b = rng.standard_normal((50, 20)), rng.standard_normal(50)
    fits = fits_of(Problem.of(A, b, atoms=fa.SignedOneHot(20), k=3, loss=fa.Huber(1.0)))
    near = Outlook(fits, 3)
    assert near.whole
    assert near.around(fits.fit(np.array([2]))).size == 20


@pytest.mark.parametrize("joint", [False, True])
def test_blocks_promise_by_what_is_aligned_with_all_of_their_columns(joint):
    """In an orthonormal basis of each, whatever the columns within it have in common."""
    rng = np.random.default_rng(4)
    A = rng.standard_normal((200, 120))
    if joint:
        problem = Problem.of(A, rng.integers(0, 3, 200), atoms=fa.SignedOneHot(120), k=2, loss=fa.Multinomial())
    else:
        A[:, 1::3] = A[:, ::3] + 1e-2 * A[:, 1::3]
        problem = Problem.of(A, rng.standard_normal(200), atoms=fa.Groups(np.arange(120) // 3), k=2, loss=fa.Huber(0.5))
    fits = fits_of(problem)
    support = fits.fit(np.empty(0, dtype=np.intp))
    gained = Outlook(fits, 2).gains(support, 2)
    y = problem.base_loss.gradient(support.residual)
    for g in range(fits.view.count):
        Q = np.linalg.qr(linalg.dense(fits.images.columns(fits.images.slots(np.array([g])))))[0]
        bend = problem.base_loss.bowl(support.residual).diagonal.mean()
        assert gained[g] == pytest.approx(0.5 * float(np.sum((Q.T @ y) ** 2)) / bend, rel=1e-6)


def test_all_atoms_may_be_asked_for():
    """Of blocks too many for a model of all: there is room for their images, so that a working set may hold any."""
    rng = np.random.default_rng(0)
    A, labels = rng.standard_normal((120, 30)), rng.integers(0, 3, 120)
    fits = fits_of(Problem.of(A, labels, atoms=fa.SignedOneHot(30), k=30, loss=fa.Multinomial(), ridge=0.1))
    near, nothing = Outlook(fits, 30), fits.fit(np.empty(0, dtype=np.intp))
    assert not near.whole
    assert near.widened(nothing, 30, first=True)
    assert near.around(nothing).size == 30
