"""What "better" and "enough" mean, for each way to ask."""

from dataclasses import replace

import numpy as np
import pytest

import fewatoms as fa
from fewatoms.candidates import Candidate
from fewatoms.goals import FewestAtoms, FewestNumbers, Goal, Latest, LowestLoss, MeetBound, SmallestGauge


def problem(**words):
    return fa.Problem.of(np.eye(4), np.array([3.0, 2.0, 1.0, 0.5]), atoms=fa.SignedOneHot(4), **{"k": 2, **words})


def candidate(loss, atoms=2, gauge=1.0, **more):
    face = fa.SignedOneHot(4).expose(np.arange(4.0), atoms)
    made = Candidate.of(face, np.full(atoms, gauge / atoms), np.zeros(4), loss)
    return replace(made, **more)


def test_a_fall_counts_if_it_is_more_than_rounding():
    for goal in (
        Goal(problem()),
        LowestLoss(problem()),
        MeetBound(problem(alpha=0.1)),
        FewestAtoms(problem(alpha=0.1)),
    ):
        assert goal.better(candidate(0.9), candidate(1.0))
        assert not goal.better(candidate(1.0), candidate(1.0))
        assert not goal.better(candidate(1.0 - 1e-9), candidate(1.0))
        assert not goal.better(candidate(1.1), candidate(1.0))


def test_the_ridge_is_part_of_what_is_minimised():
    entries = fa.Sampling([0, 0, 1, 1], [0, 1, 0, 1], (2, 2))
    ridged = fa.Problem.of(entries, np.ones(4), atoms=fa.RankOne(2, 2), k=1, ridge=2.0)
    assert Goal(ridged).better(candidate(1.5, gauge=0.1), candidate(1.0, gauge=1.0))
    assert not Goal(ridged).better(candidate(0.5, gauge=2.0), candidate(1.0, gauge=1.0))


def test_squares_are_too_for_listed_atoms():
    ridged = problem(ridge=2.0)
    assert Goal(ridged).better(candidate(1.5, gauge=0.2), candidate(1.0, gauge=2.0))  # 1.52 and 3
    assert not Goal(ridged).better(candidate(0.5, gauge=3.0), candidate(1.0, gauge=1.0))  # 5 and 1.5
    assert not LowestLoss(ridged).enough(candidate(0.0))  # the ridge may fall yet
    assert LowestLoss(ridged).enough(candidate(0.0, gauge=0.0))
    bounded = problem(ridge=2.0, alpha=0.1)
    assert MeetBound(bounded).enough(candidate(0.1, gauge=100.0))  # which is about the loss alone


def test_enough():
    plain, bounded = problem(), problem(alpha=0.1)
    assert not Goal(plain).enough(candidate(0.0))
    assert LowestLoss(plain).enough(candidate(0.0))
    assert LowestLoss(plain).enough(candidate(1.0, isolated=True))
    assert not LowestLoss(plain).enough(candidate(1.0))
    assert MeetBound(bounded).enough(candidate(0.1))
    assert not MeetBound(bounded).enough(candidate(0.1 * (1 + 1e-6)))
    assert not FewestAtoms(bounded).enough(candidate(0.05))
    assert FewestAtoms(bounded, at_once=True).enough(candidate(0.05))
    assert not FewestAtoms(bounded, at_once=True).enough(candidate(0.2))


def test_bounds_are_worth_a_longer_search():
    assert Goal(problem()).patience(7) == LowestLoss(problem()).patience(7) == 7
    assert MeetBound(problem(alpha=0.1)).patience(7) == FewestNumbers(problem(alpha=0.1)).patience(7) == 21


def test_as_few_as_meet_the_bound():
    goal = FewestAtoms(problem(k=None, alpha=0.1))
    assert goal.better(candidate(0.1, 1), candidate(0.0, 2))
    assert not goal.better(candidate(0.0, 2), candidate(0.1, 2))
    assert not goal.better(candidate(0.2, 1), candidate(0.1, 2))  # does not meet it
    assert goal.better(candidate(0.1, 3), candidate(0.2, 1))
    assert not goal.counts_any_fall
    numbers = FewestNumbers(problem(k=None, alpha=0.1))
    assert numbers.better(candidate(0.1, 2, known_freedom=3), candidate(0.1, 1, known_freedom=4))
    assert not numbers.better(candidate(0.2, known_freedom=1), candidate(0.1, known_freedom=4))
    assert numbers.better(candidate(0.2), candidate(0.3))
    assert numbers.counts_any_fall


def test_the_smallest_gauge_that_meets_the_bound():
    goal = SmallestGauge(problem(k=None, alpha=0.1))
    assert goal.better(candidate(0.1, gauge=1.0), candidate(0.0, gauge=2.0))
    assert not goal.better(candidate(0.0, gauge=2.0), candidate(0.1, gauge=1.0))
    assert not goal.better(candidate(0.2, gauge=0.5), candidate(0.1, gauge=1.0))
    assert goal.better(candidate(0.2, gauge=5.0), candidate(0.3, gauge=1.0))
    assert not goal.counts_any_fall


def test_what_is_left_to_the_method_is_what_came_last():
    goal = Latest(problem())
    assert goal.better(candidate(2.0), candidate(1.0))
    assert "stands out of the noise" in goal.endings["SMALLEST_LOSS"]


@pytest.mark.parametrize(
    ("goal", "asked"), [(Goal, "few atoms"), (FewestAtoms, "few atoms"), (SmallestGauge, "a small gauge")]
)
def test_what_was_asked_in_words(goal, asked):
    assert goal(problem(k=None, alpha=0.1)).asked == asked
    assert "SMALLEST_LOSS" not in goal(problem(k=None, alpha=0.1)).endings
