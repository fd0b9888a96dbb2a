"""Columns by name, and what is said where there is none."""

import numpy as np
import pytest

from fewatoms.io import Refused, Table


@pytest.fixture
def table():
    columns = {
        "Age": np.array([1.0, 2.0]),
        "city": np.array(["x", None], dtype=object),
        "size": np.array([3.0, np.nan]),
    }
    return Table(columns, "people.csv")


def test_columns_by_name(table):
    assert table.names == ("Age", "city", "size")
    assert table.rows == 2
    np.testing.assert_array_equal(table.numeric(["size", "Age"]), [[3, 1], [np.nan, 2]])
    assert table.numeric([]).shape == (2, 0)


def test_an_unknown_name_is_answered_with_the_nearest(table):
    with pytest.raises(Refused, match=r"people\.csv.*'age'.*did you mean 'Age'"):
        table.column("age")
    with pytest.raises(Refused, match="'Age', 'city' and 'size'"):
        table.column("weather")


def test_text_is_no_number(table):
    with pytest.raises(Refused, match=r"people\.csv.*'city' \(such as 'x'\)"):
        table.numeric()
