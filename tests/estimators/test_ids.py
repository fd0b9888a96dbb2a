"""Ids of any type become codes and come back."""

import pickle
from datetime import date

import numpy as np
import pandas as pd
import pytest

from fewatoms.estimators import MatrixCompletion
from fewatoms.estimators.pairs import measured, pairs
from fewatoms.ids import Ids

COLUMNS = {
    "integers": [7, 3, 7, 100],
    "unsigned": np.array([7, 3, 2**64 - 1], dtype=np.uint64),
    "whole floats": np.array([7.0, 3.0, 7.0]),
    "fractions": np.array([0.5, 0.25, 0.5]),
    "text": ["b", "a", "b"],
    "numpy text": np.array(["b", "a", "b"]),
    "bytes": np.array([b"b", b"a"]),
    "mixed": ["b", 3, "b", (1, 2), 3],
    "truth": [True, False, True],
    "times": np.array(["2026-01-02", "2026-01-01"], dtype="datetime64[D]"),
    "dates": [date(2026, 1, 2), date(2026, 1, 1)],
    "series": pd.Series(["x", "y", "x"], dtype="category"),
    "huge": [10**30, 1],
    "tuples": [(1, 2), (1, 3), (1, 2)],
}


@pytest.mark.parametrize("column", COLUMNS.values(), ids=COLUMNS)
def test_codes_name_the_ids(column):
    ids, codes = Ids.of("ids", column)
    listed = column if isinstance(column, list) else np.asarray(column).tolist()
    assert ids.values[codes].tolist() == listed
    assert len(ids) == len(set(listed))
    assert ids.codes("ids", column).tolist() == codes.tolist()
    again = pickle.loads(pickle.dumps(ids))
    assert again.codes("ids", column[:2]).tolist() == codes[:2].tolist()


def test_truth_and_numbers_are_kept_apart():
    ids, codes = Ids.of("ids", [True, 1, 1.0, False, 0])
    assert [ids.values[i] is True for i in codes] == [True, False, False, False, False]
    assert len(ids) == 4
    assert ids.codes("ids", [1, True]).tolist() == [codes[1], codes[0]]
    assert Ids.of("ids", [1, 2])[0].codes("ids", [True]).tolist() == [-1]
    assert [c.tolist() for c in pairs("X", [(True, 1), (1, 1)])] == [[True, 1], [1, 1]]
    assert pairs("X", [(True, 1), (1, 1)])[0][0] is True


@pytest.mark.parametrize(
    "column", [["nan", "NA", ""], np.array(["nan", "NA"]), pd.Series(["nan", "NA"], dtype="string")]
)
def test_text_is_never_missing(column):
    ids, codes = Ids.of("ids", column)
    assert ids.values[codes].tolist() == list(column)


def test_ids_are_sorted_where_they_have_an_order():
    assert Ids.of("ids", ["b", "a"])[0].values.tolist() == ["a", "b"]
    assert Ids.of("ids", [3, 1, 2])[0].values.tolist() == [1, 2, 3]
    assert Ids.of("ids", ["b", 1, "a"])[0].values.tolist() == ["b", 1, "a"]


def test_what_is_unknown_and_what_is_of_another_type():
    numbers, text = Ids(np.array([5, 1, 3])), Ids.of("ids", ["a", "b"])[0]
    assert numbers.codes("ids", [1.0, 2.0, 5.0]).tolist() == [1, -1, 0]
    assert numbers.codes("ids", [1, "a"]).tolist() == [1, -1]  # mixed ones are looked up one by one
    assert text.codes("ids", ["b", "c"]).tolist() == [1, -1]
    with pytest.raises(TypeError, match="must hold ids of the type that was fitted, integers; got text"):
        numbers.codes("ids", ["1"])


def test_others_come_behind():
    more = Ids(np.array([5, 1])).extended(np.array([3]))
    assert more.codes("ids", [3, 5, 4]).tolist() == [2, 0, -1]
    assert more.extended(np.array(["a"], dtype=object)).codes("ids", ["a", 1]).tolist() == [3, 1]
    assert more.at(np.array([0, -1])).tolist() == [5, None]


@pytest.mark.parametrize("column", [["a", None], [1.0, float("nan")], np.array(["NaT"], dtype="M8[s]"), [pd.NA, "a"]])
def test_missing_ids_are_refused(column):
    with pytest.raises(ValueError, match="ids must hold an id for every entry; 1 are missing"):
        Ids.of("ids", column)


def test_two_columns_are_pairs_unless_they_hold_fractions():
    assert [c.tolist() for c in pairs("X", [("a", 1), ("b", 2)])] == [["a", "b"], [1, 2]]
    assert pairs("X", np.zeros((4, 3))) is None
    assert pairs("X", [("a", 1, 2)]) is None
    assert measured(pairs("X", np.array([[1.0, 0.5]])))
    assert not measured(pairs("X", np.array([[1.0, np.nan]])))
    large = [[2**60 + 1, 1]]
    assert pairs("X", large)[0].tolist() == [2**60 + 1]


@pytest.mark.parametrize("first", [[2**63, 2**63 + 1, 5], [2**53, 2**53 + 1, 5], [2**64, 2**64 + 1, 5]], ids=str)
@pytest.mark.parametrize("second", [[0, 1, 0], [0.0, 1.0, 0.0], ["a", "b", "a"]], ids=str)
def test_large_ids_are_told_apart(first, second):
    model = MatrixCompletion(rank=1, ridge=0).fit([*zip(first, second, strict=True)], [1.0, 2.0, 3.0])
    assert model.row_ids_.tolist() == sorted(first)
    assert all(type(value) is int for value in model.row_ids_.tolist())
    assert model.col_ids_.tolist() == sorted(set(second))
    np.testing.assert_allclose(model.predict([(first[0], second[0]), (first[2], second[2])]), [1.0, 3.0], rtol=1e-6)


def test_large_ids_as_numpy_has_them_are_told_apart():
    first, second = pairs("X", [(np.uint64(2**63 + 1), 1), (np.uint64(2**63), 2), (-1, 3)])
    assert first.tolist() == [2**63 + 1, 2**63, -1]
    assert second.tolist() == [1, 2, 3]


def test_a_list_of_rows_with_gaps_is_a_table():
    assert measured(pairs("X", [(1.5, float("nan")), (2, 3)]))


def test_pairs_by_the_names_of_their_columns():
    frame = pd.DataFrame({"user": [1, 1, 5, 5], "item": [1, 5, 1, 5], "stars": [1.0, 2.0, 3.0, 4.0]})
    model = MatrixCompletion(rank=1, ridge=0).fit(frame, user="user", item="item", value="stars")
    said = model.predict([(1, 5)])
    assert model.predict(pd.DataFrame({"item": [5], "user": [1]})) == said
    assert model.predict(pd.DataFrame({"who": [1], "film": [5]})) == said
    for odd in ({"item": [1], "customer": [5]}, {"customer": [5], "user": [1]}):
        with pytest.raises(ValueError, match=r"^X must have the columns 'user' and 'item', or two that are called"):
            model.predict(pd.DataFrame(odd))
