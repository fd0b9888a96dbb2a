"""The numbers of one answer as a row."""

import math

import numpy as np
import pytest

from answers import NAMES, answer
from fewatoms.rows import NUMBERS, STATUSES, figures_of, maybe, row


@pytest.mark.parametrize("name", NAMES)
def test_figures_come_back_from_a_row(name):
    s = answer(name)
    numbers = row(s)
    assert numbers.keys() == NUMBERS.keys()
    kept = {key: np.array(value, dtype=NUMBERS[key]) for key, value in numbers.items()}
    known, again = s.certificate.known(), figures_of(kept)
    assert STATUSES[kept["status"]] is s.status
    for field in ("loss", "gauge", "cardinality", "within_budget", "meets_bound", "relaxed"):
        assert getattr(again, field) == getattr(known, field), field
    assert (float(kept["loss"]), int(kept["products"])) == (s.loss, s.products)
    assert maybe(kept["alpha"]) == s.certificate.problem.alpha
    assert maybe(kept["held_out"]) == s.held_out


def test_numbers_that_are_not_known():
    assert maybe(math.nan) is None
    assert maybe(np.float64(2.0)) == 2.0
