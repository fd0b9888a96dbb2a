"""The figures of a certificate, apart from it."""

import json
import math

import numpy as np
import pytest

from answers import NAMES, answer
from fewatoms.figures import Figures, Named, Relaxed

RELAXED = Relaxed(Named("P3", 0.25), True, 3.0, -math.inf, math.inf, 1.5, (0.1, math.inf))
SAFE = (np.array([3, 1]), None, (np.array([], dtype=int), None))


def same_sets(a, b):
    if isinstance(a, tuple):
        return len(a) == len(b) and all(same_sets(x, y) for x, y in zip(a, b, strict=True))
    return a is b is None or np.array_equal(a, b)


def again(figures):
    return Figures.read(json.loads(json.dumps(figures.plain())))


@pytest.mark.parametrize(
    "figures",
    [
        Figures(1.0, 2.0, 3, True, None),
        Figures(math.nan, math.inf, 0, False, True, 7, RELAXED, {"norm": 2.0, "epsilon": None}, (SAFE,)),
        Figures(0.1, 0.2, 1, True, False, 0, Relaxed(None, False, math.inf, math.inf, math.inf, 0.0, None)),
        Figures(0.1, 0.2, 1, True, False, safe_sets=(None,)),
        Figures(0.1, 0.2, 1, True, False, paid=0.7),
    ],
    ids=range(5),
)
def test_they_go_through_json(figures):
    read = again(figures)
    assert repr(read.plain()) == repr(figures.plain())
    assert read.relaxed == figures.relaxed
    assert read.later == figures.later
    assert same_sets(read.safe_sets, figures.safe_sets)


@pytest.mark.parametrize("name", NAMES)
def test_those_of_answers_do(name):
    figures = answer(name).certificate.known()
    assert repr(again(figures).plain()) == repr(figures.plain())


def test_earlier_files_knew_ridges_on_the_gauge_only():
    header = Figures(1.0, 2.0, 3, True, None, paid=9.0).plain()
    assert Figures.read(header, 0.5).paid == 9.0
    del header["paid"]
    assert Figures.read(header, 0.5).paid == 1.0
    assert Figures.read(header).paid == 0.0


def test_what_stays_true():
    figures = Figures(1.0, 2.0, 3, True, True, 7, RELAXED, {"norm": 2.0, "epsilon": 0.5, "radius": 1.0}, (SAFE,))
    other_y = figures.for_another_y()
    assert (other_y.relaxed, other_y.later) == (RELAXED, {"norm": 2.0})
    assert other_y.safe_sets == figures.safe_sets  # about solutions, not about y
    other = figures.for_another_relaxation()
    assert (other.relaxed, other.later, other.safe_sets) == (None, {}, ())
    assert (other.loss, other.products) == (1.0, 7)
