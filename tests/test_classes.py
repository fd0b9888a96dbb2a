"""Labels of any type: which classes there are, which one each datum is of, and how that is kept."""

import datetime
import json
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest

from fewatoms import LeastSquares, Logistic, Multinomial
from fewatoms.classes import Classes, found
from fewatoms.frames import vector

TWO = {
    "booleans": [True, False, True],
    "0 and 1": np.array([1, 0, 1]),
    "signs": np.array([1.0, -1.0, 1.0]),
    "odd numbers": np.array([2.5, -7.25, 2.5], dtype=np.float32),
    "large numbers": np.array([2**62, 1, 2**62]),
    "strings": np.array(["yes", "no", "yes"]),
    "list of strings": ["yes", "no", "yes"],
    "bytes": np.array([b"yes", b"no", b"yes"]),
    "objects": np.array(["yes", "no", "yes"], dtype=object),
    "tuples": [("b", 1), ("a", 2), ("b", 1)],
    "of different types": ["yes", 0, "yes"],
    "dates": np.array(["2024-02-01", "2024-01-01", "2024-02-01"], dtype="datetime64[D]"),
    "pandas, strings": pd.Series(["yes", "no", "yes"]),
    "pandas, categories": pd.Series(["yes", "no", "yes"], dtype="category"),
    "pandas, categorical": pd.Categorical(["yes", "no", "yes"], categories=["yes", "no", "perhaps"]),
    "pandas, nullable": pd.Series([True, False, True], dtype="boolean"),
    "pandas, Int64": pd.Series([5, 3, 5], dtype="Int64"),
    "pandas, frame": pd.DataFrame({"label": ["yes", "no", "yes"]}),
    "polars": pl.Series(["yes", "no", "yes"]),
    "polars, categories": pl.Series(["yes", "no", "yes"], dtype=pl.Categorical),
}


def given(name):
    """A vector as a problem reads it."""
    labels = TWO[name]
    if name == "tuples":
        out = np.empty(3, dtype=object)
        out[:] = labels
        return out
    return vector("b", labels)


@pytest.mark.parametrize("loss", [Logistic(), Multinomial()], ids=repr)
@pytest.mark.parametrize("name", TWO)
def test_two_values_of_any_type_are_labels(name, loss):
    labels = found(given(name), loss, columns=False)
    (names,), codes = labels.classes.names, labels.codes
    assert names.size == labels.count == 2
    values = np.asarray(given(name), dtype=object).tolist()
    assert [names.tolist()[code] for code in codes] == [v.item() if isinstance(v, np.generic) else v for v in values]
    if name != "of different types":
        assert names.tolist() == sorted(names.tolist())
    assert labels.classes.each == isinstance(loss, Multinomial)
    assert labels.at(np.array([2, 1])).codes.tolist() == [codes[2], codes[1]]


@pytest.mark.parametrize("name", TWO)
def test_classes_go_through_json(name):
    classes = found(given(name), Logistic(), columns=False).classes
    again = Classes.read(json.loads(json.dumps(classes.plain())))
    assert again.same_as(classes)
    assert classes.same_as(again)
    assert again.told.dtype == classes.told.dtype
    assert not classes.same_as(None)
    assert not classes.same_as(Classes((np.array(["never", "seen"]),)))


def test_what_json_cannot_hold_is_named():
    for odd in ([Decimal(1), Decimal(2)], [datetime.date(2024, 1, 1), datetime.date(2024, 2, 1)]):
        classes = found(np.array(odd, dtype=object), Logistic(), columns=False).classes
        with pytest.raises(TypeError, match=r"^labels must be numbers, strings or tuples of them to be saved"):
            classes.plain()


def test_what_is_no_label():
    """Nothing but 0, and numbers of more values than two, are data as other losses take them."""
    for b in (np.zeros(4), np.zeros(4, dtype=int), [0.5, 1.5, 2.5], [1, 2, 3], [7.0]):
        assert found(b, Logistic(), columns=False) is None
    assert found(np.array([0, 1, 0]), LeastSquares(), columns=False) is None
    assert found(np.array([1, 2, 3]), Multinomial(), columns=False).count == 3


def test_columns_are_read_one_by_one():
    labels = found(np.array([["a", "x"], ["b", "x"], ["a", "y"]], dtype=object), Logistic(), columns=True)
    assert [names.tolist() for names in labels.classes.told] == [["a", "b"], ["x", "y"]]
    assert labels.codes.tolist() == [[0, 0], [1, 0], [0, 1]]
    assert found(np.array([[0, 1], [1, 5], [1, 7]]), Logistic(), columns=True) is None
    with pytest.raises(ValueError, match=r"^b must hold labels of two classes with Logistic\(\); got 3, 'x', 'y', 'z'"):
        found(np.array([["a", "x"], ["b", "y"], ["a", "z"]]), Logistic(), columns=True)


def test_many_classes_are_not_all_named():
    with pytest.raises(ValueError, match=r"got 26, 'a', 'b', 'c', 'd', 'e', \.\.\.: loss=Multinomial"):
        found(list("abcdefghijklmnopqrstuvwxyz"), Logistic(), columns=False)


@pytest.mark.parametrize(
    "b",
    [
        [1.0, np.nan, 0.0],
        ["a", None, "b"],
        ["a", np.nan, "b"],
        np.array(["2024-01-01", "NaT", "2024-01-02"], dtype="datetime64[D]"),
        pd.Series(["a", None, "b"]),
        pd.Series(["a", pd.NA, "b"], dtype="category"),
        np.array(["a", pd.NA, "b"], dtype=object),
        np.array([pd.NaT, 1, 2], dtype=object),
    ],
    ids=range(8),
)
def test_missing_labels_are_counted(b):
    for loss in (Logistic(), Multinomial()):
        with pytest.raises(ValueError, match=r"^b must have a label for every datum; 1 are missing: leave those rows"):
            found(vector("b", b), loss, columns=False)


def test_probabilities():
    rng = np.random.default_rng(0)
    two = Classes((np.array([0, 1]),))
    margins = np.concatenate([5 * rng.standard_normal(20), [0.0, 800.0, -800.0]])
    P = two.probabilities(margins)
    np.testing.assert_allclose(P.sum(axis=1), 1.0, rtol=1e-15)
    np.testing.assert_allclose(P[:20, 1], 1 / (1 + np.exp(-margins[:20])), rtol=1e-14)
    assert P[20:, 1].tolist() == [0.5, 1.0, 0.0]
    assert two.probabilities(np.zeros((4, 3))).shape == (4, 3, 2)
    many = Classes((np.arange(4),), each=True)
    margins = np.concatenate([5 * rng.standard_normal((20, 4)), [[800.0, 0.0, 0.0, -800.0]]])
    P = many.probabilities(margins)
    np.testing.assert_allclose(P.sum(axis=1), 1.0, rtol=1e-14)
    np.testing.assert_allclose(P[:20], np.exp(margins[:20]) / np.exp(margins[:20]).sum(axis=1)[:, None], rtol=1e-13)
    assert P[-1].tolist() == [1.0, 0.0, 0.0, 0.0]
