"""What travels through a run: candidates are made when somebody asks, and once."""

import numpy as np

import fewatoms as fa
from fewatoms.candidates import Candidate, Iterate


def test_candidates_are_made_once_and_when_asked_for():
    made, left = [], []
    face = fa.SignedOneHot(4).expose(np.array([3.0, -2.0, 1.0, 0.0]), 2)

    def make():
        made.append(1)
        return face, np.array([2.0, 1.0])

    def residual():
        left.append(1)
        return np.ones(3)

    candidate = Candidate(1.5, 3.0, make, residual, known_freedom=7)
    assert (candidate.loss, candidate.gauge, candidate.freedom) == (1.5, 3.0, 7)
    assert (made, left) == ([], [])
    assert candidate.face is candidate.face is face
    assert candidate.cardinality == 2
    assert made == [1]
    assert candidate.residual.sum() == candidate.residual.sum() == 3.0
    assert left == [1, 1]  # not kept: it is as long as the data


def test_candidates_that_are_made_already():
    atoms = fa.SignedOneHot(4) + fa.Groups([0, 0, 1, 1])
    face = atoms.expose(np.array([3.0, -2.0, 1.0, 0.0]), (2, 1))
    c, residual = np.arange(1.0, 5.0), np.ones(3)
    candidate = Candidate.of(face, c, residual, 2.0)
    assert candidate.face is face
    assert candidate.c is c
    assert candidate.residual is residual
    assert candidate.gauge == face.gauge(c)
    assert candidate.cardinality == 3
    assert candidate.freedom == face.freedom == 4


def test_an_iterate_may_come_without_its_dual_point():
    iterate = Iterate(worth=2.0)
    assert iterate.dual is iterate.primal is None
    assert iterate.worth > Iterate().worth
