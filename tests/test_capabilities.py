"""The one door of capabilities: what keeps a protocol, what does not, and that nothing is evaluated to find out."""

from typing import Protocol

import numpy as np
import pytest

from fewatoms.capabilities import Gauge, Norms, Offering, SampledEntries, SeenAsIs, keeps, need


class Two(Protocol):
    size: int

    def one(self): ...

    def two(self): ...


class Whole(Offering):
    size = 3

    def one(self):
        return 1

    def two(self):
        return 2


def test_all_members_are_needed():
    class Half(Offering):
        size = 3

        def one(self):
            return 1

    whole = Whole()
    assert keeps(whole, Two)
    assert whole.offers(Two) is whole
    assert need(whole, Two) is whole
    assert not keeps(Half(), Two)
    assert Half().offers(Two) is None
    assert not keeps(object(), Two)


def test_members_may_be_inherited_or_the_instances_own():
    class Heir(Whole):
        pass

    class Empty(Offering):
        pass

    late = Empty()
    assert keeps(Heir(), Two)
    assert not keeps(late, Two)
    late.size, late.one, late.two = 3, (lambda: 1), (lambda: 2)
    assert keeps(late, Two)
    assert not keeps(Empty(), Two)  # one instance says nothing of another
    late.two = np.ones(3)
    assert not keeps(late, Two)
    late.two = None
    assert not keeps(late, Two)


def test_none_takes_back():
    class Without(Whole):
        two = None

    class Sizeless(Whole):
        size = None

    assert not keeps(Without(), Two)
    assert not keeps(Sizeless(), Two)
    assert keeps(Whole(), Two)

    class Again(Without):
        def two(self):
            return 2

    assert keeps(Again(), Two)


def test_an_array_named_like_a_method_is_something_else():
    class Box(Offering):
        places = np.arange(3)

    class Late(Offering):
        def __init__(self):
            self.places = np.arange(3)

    class Right(Offering):
        def places(self):
            return None

    assert [thing.offers(SeenAsIs) is None for thing in (Box(), Late(), Right())] == [True, True, False]


def test_attributes_that_are_no_methods_may_be_anything():
    class Data(Offering):
        size = np.ones(3)
        one = two = staticmethod(len)

    assert keeps(Data(), Two)


def test_nothing_is_evaluated():
    class Dear(Offering):
        one = two = staticmethod(len)

        @property
        def size(self):
            raise AssertionError("as long as the data")

    assert keeps(Dear(), Two)


def test_annotations_count_as_members():
    class Entries(Offering):
        positions = counts = property(lambda self: None)

        def __getattr__(self, name):
            raise AssertionError(f"{name} was asked for")

    assert not keeps(Entries(), SampledEntries)  # no matrix_shape


def test_plain_classes_are_asked_as_usual():
    assert keeps(Whole(), Whole)
    assert Whole().offers(dict) is None


def test_the_answer_for_a_class_is_remembered_and_right_for_others():
    class Other(Offering):
        def gauge(self, x):
            return 0.0

    for _ in range(2):
        assert keeps(Other(), Gauge)
        assert not keeps(Other(), Norms)
        assert not keeps(Whole(), Gauge)


def test_what_is_known_to_be_there_is_missed_by_name():
    with pytest.raises(AssertionError, match=r"<.*Whole.*> does not offer Gauge$"):
        need(Whole(), Gauge)
