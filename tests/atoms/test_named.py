"""Groups by the names of columns: the same as by labels, once M has come."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import fewatoms as fa

NAMES = ["age", "sex", "bmi", "bp", "s1", "s2", "s3", "s4"]
RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.standard_normal((40, 8)), columns=NAMES)
y = X["bmi"] - 2.0 * X["bp"] + 3.0 * X["s4"] + 0.1 * RNG.standard_normal(40)
LABELS = ["age", "sex", "body", "body", "blood", "blood", "blood", "s4"]
NAMED = {"blood": ["s1", "s2", "s3"], "body": ("bmi", "bp")}


@pytest.mark.parametrize("form", [lambda f: f, pl.from_pandas, pa.Table.from_pandas])
def test_a_mapping_is_the_labels_that_it_means(form):
    s, twin = (fa.fit(form(X), y, atoms=fa.Groups(labels), k=2) for labels in (NAMED, LABELS))
    assert s.names.tolist() == twin.names.tolist() == ["s4", "body"]
    np.testing.assert_array_equal(s.x, twin.x)
    records = s.table()
    assert type(records) is type(form(X))
    records = pl.from_arrow(records) if isinstance(records, pa.Table) else records
    assert list(records["name"]) == ["s4", "body"]
    assert list(records["size"]) == [1, 2]


def test_lists_of_names_are_called_by_them():
    s = fa.fit(X, y, atoms=fa.Groups([["bmi", "bp"], ["s1", "s2", "s3"]]), k=2)
    assert s.names.tolist() == ["s4", "bmi, bp"]
    labels = np.array([["a", "b"], ["a", "b"]])  # an array is labels of a matrix, as ever
    assert fa.Groups(labels).shape == (2, 2)


def test_order_of_columns_does_not_matter_and_predictions_check_them():
    s = fa.fit(X, y, atoms=fa.Groups(NAMED), k=2, free="intercept")
    other = X[NAMES[::-1]]
    again = fa.fit(other, y, atoms=fa.Groups(NAMED), k=2, free="intercept")
    np.testing.assert_allclose(s.predict(other), s.predict(X.to_numpy()), rtol=1e-12)
    np.testing.assert_allclose(again.predict(X), s.predict(X), rtol=1e-9)
    with pytest.raises(ValueError, match=r"^M_new must have the columns .*; 'bmi' is missing$"):
        s.predict(X.drop(columns="bmi"))


def test_they_are_forced_in_and_left_out_by_label():
    atoms = fa.Groups(NAMED).restricted(include=["age"], exclude="body")
    s = fa.fit(X, y, atoms=atoms, k=2)
    assert set(s.names.tolist()) == {"age", "s4"}
    with pytest.raises(ValueError, match=r"^include must hold labels of groups; there is no group .*'bmi'"):
        fa.fit(X, y, atoms=fa.Groups(NAMED).restricted(include=["bmi"]), k=2)


def test_several_data_vectors_and_classes_share_them():
    B = np.column_stack([y, X["bp"]])
    s = fa.fit(X, B, atoms=fa.Joint(fa.Groups(NAMED)), k=2)
    twin = fa.fit(X, B, atoms=fa.Joint(fa.Groups(LABELS)), k=2)
    np.testing.assert_array_equal(s.x, twin.x)
    assert s.names.tolist() == twin.names.tolist()
    classes = np.digitize(y, [-1.0, 1.0])
    kinds = {"loss": fa.Multinomial(), "ridge": 0.1, "k": 2}
    s, twin = (fa.fit(X, classes, atoms=fa.Groups(labels), **kinds) for labels in (NAMED, LABELS))
    np.testing.assert_array_equal(s.x, twin.x)


def test_many_fits_paths_files_and_weights(tmp_path):
    atoms = fa.Groups(NAMED, weights={"body": 2.0, "blood": 1.0})
    many = fa.fit_many(X, pd.DataFrame({"a": y, "b": X["s1"] + X["s2"]}), atoms=atoms, k=2)
    assert many["a"].names.tolist() == ["s4", "body"]
    path = fa.fit_path(2.0 * X, y, atoms=0.5 * fa.Groups(NAMED), k=[1, 2])
    assert path[2].names.tolist() == ["s4", "body"]
    s = fa.fit(X, y, atoms=atoms, k=2)
    s.save(tmp_path / "s.npz")
    back = fa.load(tmp_path / "s.npz")
    assert back.names.tolist() == ["s4", "body"]
    assert back.attach(X, y, atoms=atoms).certificate.gap >= s.certificate.gap * (1 - 1e-9)
    assert pickle.loads(pickle.dumps(s)).names.tolist() == ["s4", "body"]


@pytest.mark.parametrize(
    ("labels", "error", "message"),
    [
        ({}, ValueError, r"^labels must name at least one group of columns; got none$"),
        ({"a": ["bmi"], "b": ["bmi"]}, ValueError, r"^labels must name a column once; 'bmi' is named again$"),
        ({"a": [1, 2]}, TypeError, r"^labels must give names of columns for group 'a'; got "),
        ({"a": []}, TypeError, r"^labels must give names of columns for group 'a'; got "),
        ([["bmi"], ["bmi"]], ValueError, r"^labels of groups must differ; 'bmi' is there more than once$"),
        ({"a": ["bmy"]}, ValueError, r"^groups must name columns that are there; 'bmy' is not: did you mean 'bmi'\?$"),
        ({"age": ["bmi", "bp"]}, ValueError, r"^labels of groups must not be names of other columns; 'age' is both$"),
    ],
)
def test_wrong_names_are_told(labels, error, message):
    with pytest.raises(error, match=message):
        fa.fit(X, y, atoms=fa.Groups(labels), k=1)


def test_without_names_they_wait_in_vain():
    atoms = fa.Groups(NAMED)
    assert repr(atoms) == "Groups(2 groups of named columns)"
    with pytest.raises(ValueError, match=r"^M must be a data frame where groups are told by the names of columns; "):
        fa.fit(X.to_numpy(), y, atoms=atoms, k=1)
    with pytest.raises(ValueError, match=r"needs M, a data frame whose columns are called so$"):
        atoms.expose(np.zeros(8), 1)
    with pytest.raises(ValueError, match=r"needs M, a data frame whose columns are called so$"):
        atoms.support(np.zeros(8))
