"""How many atoms are allowed: read from what users write, checked against sets and faces, and told."""

import numpy as np
import pytest

import fewatoms as fa
from fewatoms.budget import Budget, none_of, one_each

SUM = fa.RankOne(4, 3) + fa.SignedOneHot((4, 3))
NESTED = fa.SignedOneHot((4, 3)) + (fa.RankOne(4, 3) + fa.SignedOneHot((4, 3)))
LISTED = fa.SignedOneHot(5) + fa.NonnegativeOneHot(5)


@pytest.mark.parametrize(
    ("k", "atoms", "words"),
    [
        (3, fa.SignedOneHot(5), "3 atoms"),
        (1, fa.SignedOneHot(5), "1 atom"),
        (np.int32(2), fa.RankOne(4, 3), "2 atoms"),
        (None, fa.SignedOneHot(5), "any atoms"),
        (None, SUM, "any atoms"),
        ((2, 5), SUM, "2 + 5 atoms"),
        ([2, None], SUM, "2 + any atoms"),
        (np.array([1, 1]), SUM, "1 + 1 atoms"),
        (3, LISTED, "3 atoms"),
        ((1, 2), LISTED, "1 + 2 atoms"),
    ],
    ids=str,
)
def test_what_users_write(k, atoms, words):
    budget = Budget.of(k, atoms)
    assert budget.words == words
    written = tuple(k) if isinstance(k, (list, tuple, np.ndarray)) else k
    assert budget.k == written
    assert repr(budget) == f"Budget({budget.k!r})"
    assert Budget.of(budget.k, atoms) == budget
    assert hash(Budget.of(budget.k, atoms)) == hash(budget)


@pytest.mark.parametrize(
    ("k", "atoms", "kind", "message"),
    [
        (
            0,
            fa.SignedOneHot(5),
            ValueError,
            r"^k must be an integer between 1 and 5, the number of atoms of Signed.*; got 0$",
        ),
        (4, fa.RankOne(4, 3), ValueError, r"^k must be an integer between 1 and 3, .*; got 4$"),
        (1.5, fa.RankOne(4, 3), TypeError, r"^k must be an integer .*; got 1.5$"),
        (True, fa.RankOne(4, 3), TypeError, r"^k must be an integer .*; got True$"),
        (3, SUM, TypeError, r"^k must give one budget for each of the 2 parts of .*; got 3$"),
        ((1, 2, 3), SUM, ValueError, r"^k must give one budget for each of the 2 parts of .*; got 3: \(1, 2, 3\)$"),
        ((1, 0), SUM, ValueError, r"^k must be an integer between 1 and .*; got 0$"),
    ],
    ids=str,
)
def test_what_is_refused(k, atoms, kind, message):
    with pytest.raises(kind, match=message):
        Budget.of(k, atoms)


def test_what_is_open():
    assert Budget().open
    assert Budget().nothing_said
    assert not Budget(3).open
    half = Budget.of((2, None), SUM)
    assert half.open
    assert not half.nothing_said
    assert not Budget.of((2, 3), SUM).open


def test_numbers_for_parts():
    assert Budget.of((2, 5), SUM).for_parts(2) == (Budget(2), Budget(5))
    assert Budget().for_parts(3) == (Budget(), Budget(), Budget())
    assert Budget.of((2, 5), SUM).largest == 5
    assert Budget(4).largest == Budget(4).single == 4
    with pytest.raises(AssertionError):
        _ = Budget().single


def test_parts_that_share_a_number():
    assert Budget(3).shared_by(LISTED) == (LISTED, 3)
    assert Budget.of((1, 2), LISTED).shared_by(LISTED) is None
    assert Budget().shared_by(LISTED) is None
    assert Budget(3).shared_by(fa.SignedOneHot(5)) is None


@pytest.mark.parametrize(("share", "expected"), [(0.5, (2, 3)), (0.01, (1, 1)), (1.0, (4, 5))])
def test_a_share_of_each(share, expected):
    assert Budget.of((3, 5), SUM).share(share).k == tuple(
        max(1, min(k, e)) for k, e in zip((3, 5), expected, strict=True)
    )
    assert Budget(5).share(share).k == expected[1]


def test_which_faces_are_allowed():
    z = np.random.default_rng(0).standard_normal((4, 3))
    face = SUM.expose(z, (2, 3))
    assert Budget.of((2, 3), SUM).allows(face)
    assert not Budget.of((1, 3), SUM).allows(face)
    assert not Budget.of((2, 2), SUM).allows(face)
    assert Budget.of((2, None), SUM).allows(face)
    one = fa.RankOne(4, 3).expose(z, 2)
    assert Budget(2).allows(one)
    assert not Budget(1).allows(one)
    assert Budget().allows(one)


def test_one_and_none_of_each_part():
    assert one_each(SUM).k == (1, 1)
    assert none_of(SUM).k == (0, 0)
    assert (one_each(fa.SignedOneHot(3)).k, none_of(fa.SignedOneHot(3)).k) == (1, 0)
    assert len(one_each(NESTED).parts) == len(NESTED.parts)
