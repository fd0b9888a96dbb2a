"""Steps that are met again after a kill."""

import numpy as np
import pytest

from fewatoms import journal, ledger
from fewatoms.journal import Journal
from fewatoms.kept import Kept


def again(book):
    """The journal as it is read from a file."""
    return Journal.read(book.kept())


def numbered(i):
    return lambda: Kept("number", {"i": i}, {"a": np.arange(i)})


def counting(to, stop=None):
    """Counts from where it was, and draws a number each time."""
    seen = []
    with ledger.opened() as account, ledger.step("outer"), ledger.step("count") as here:
        first = 0 if here.found is None else here.found.told["i"]
        for i in range(first, to):
            if i == stop:
                raise KeyboardInterrupt
            seen.append((i, account.rng.integers(1000)))
            account.products += 1
            here.mark(numbered(i + 1))
        return seen, account.products


def test_counting_goes_on_with_its_draws_and_its_tally():
    whole, products = counting(6)
    book = Journal()
    with pytest.raises(KeyboardInterrupt), journal.keeping(book):
        counting(6, stop=4)
    with journal.keeping(again(book)):
        rest, counted = counting(6)
    assert rest == whole[4:]
    assert counted == products


def test_what_was_begun_before_a_mark_is_forgotten():
    book = Journal()
    with journal.keeping(book), ledger.step("outer") as outer:
        with ledger.step("inner") as inner:
            inner.mark(numbered(1))
        assert len(outer.begun) == 1
        outer.mark(numbered(2))
        assert outer.begun == []
    (outer,) = again(book).root.begun
    assert (outer.name, outer.found.told["i"], outer.begun) == ("outer", 2, [])


def test_another_way_makes_what_is_known_of_no_use():
    book = Journal()
    with journal.keeping(book):
        for name in ("first", "second", "third"):
            with ledger.step(name) as here:
                here.mark(numbered(3))
    with journal.keeping(again(book)):
        found = []
        for name in ("first", "other", "third"):
            with ledger.step(name) as here:
                found.append(here.found is not None)
    assert found == [True, False, False]


def test_on_the_way_out_nothing_is_marked():
    book = Journal()
    with journal.keeping(book), ledger.step("outer") as outer:
        book.freeze()
        outer.mark(numbered(1))
        with ledger.step("inner") as inner:
            inner.mark(numbered(2))
    (outer,) = again(book).root.begun
    assert (outer.found, outer.begun) == (None, [])


def test_what_nobody_can_keep_counts_as_not_marked():
    def unkept():
        raise TypeError("labels must be numbers")

    book = Journal()
    with journal.keeping(book), ledger.step("outer") as outer:
        outer.mark(unkept)
    assert again(book).root.begun[0].found is None


def test_a_generator_that_is_left_in_the_middle_ends_with_the_outer_step():
    def stream():
        with ledger.step("stream"):
            yield 1
            yield 2

    book = Journal()
    with journal.keeping(book):
        with ledger.step("outer"):
            running = stream()
            next(running)
        with ledger.step("next") as here:
            running.close()
            here.mark(numbered(1))
    assert [step.name for step in book.root.begun] == ["outer", "next"]
    assert book.root.begun[1].marked().told["i"] == 1


def test_without_a_journal_steps_are_nothing():
    with ledger.step("outer") as here:
        here.mark(numbered(1))
        assert (here.live, here.found) == (False, None)
