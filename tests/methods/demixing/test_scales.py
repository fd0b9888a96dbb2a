"""All atoms fitted together: the loss falls, and near an answer that explains the data it falls to nothing at once."""

from itertools import pairwise

import numpy as np
import pytest

import fewatoms as fa
from fewatoms.methods.demixing.parts import Entries
from fewatoms.methods.demixing.scales import Fit, Scales
from fewatoms.problem import Problem
from methods.demixing.pictures import K, drawn, scales


def workspace(b, seen=None):
    M = fa.Identity(b.shape) if seen is None else fa.Sampling(*np.nonzero(seen), b.shape)
    problem = Problem.of(M, b if seen is None else b[seen], atoms=scales(), k=K)
    return Scales(problem, Entries(problem.M, problem.atoms.shape))


def near_by(work, parts, amount):
    """The planted parts, each moved a little within its set."""
    rng, points = np.random.default_rng(0), []
    for part, limit, own in zip(work.parts, work.limits, parts, strict=True):
        face, c = part.nearest(own.ravel(), 0.0, limit)
        tangent = face.tangent(c)
        points.append(tangent.moved(amount * rng.standard_normal(tangent.dim)))
    return work.guess(points)


@pytest.mark.parametrize("share", [1.0, 0.8])
def test_steps_converge_quadratically_where_data_are_explained(share):
    b, parts = drawn(0)
    seen = None if share == 1.0 else np.random.default_rng(1).random(b.shape) < share
    work = workspace(b, seen)
    guess = near_by(work, parts, 0.01)
    losses = [guess.loss]
    for _ in range(3):
        guess = work.settled(guess, Fit(1, 400, 1e-12))
        losses.append(guess.loss)
    assert losses[1] < 0.02 * losses[0]
    assert losses[3] < 1e-12 * losses[0]


def test_passes_and_steps_lower_the_loss():
    b, _ = drawn(1, noise=0.1)
    work = workspace(b)
    guess, losses = work.nothing(), [work.nothing().loss]
    for _ in range(4):
        guess = work.passed(guess)
        losses.append(guess.loss)
        guess = work.settled(guess, Fit(1))
        losses.append(guess.loss)
    assert all(after <= before * (1 + 1e-12) for before, after in pairwise(losses))
    x = sum(face.point(c) for face, c in guess.points)
    np.testing.assert_allclose(guess.r, (b - x).ravel(), atol=1e-10)
    assert all(face.size <= k for (face, _), k in zip(guess.points, K, strict=True))


def test_finer_parts_catch_less_noise():
    work = workspace(drawn(2)[0])
    assert work.finer(0) == []
    assert work.finer(1) == [0]
    assert sorted(work.finer(2)) == [0, 1]
