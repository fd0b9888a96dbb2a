"""Data frames as arrays with names: every kind reads alike, and says what is wrong with which column."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

from fewatoms import frames
from fewatoms.operators import as_operator

NAMES = ("age", "bmi", "bp", "s1", "é\n")
A = np.random.default_rng(0).standard_normal((7, 5))

KINDS = {
    "pandas": lambda columns: pd.DataFrame(columns),
    "polars": lambda columns: pl.DataFrame(columns),
    "table": lambda columns: pa.table(columns),
    "batch": lambda columns: pa.record_batch(columns),
}


def plain(kind, A=A, names=NAMES):
    return KINDS[kind](dict(zip(names, A.T, strict=True)))


# Numbers --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_and_names_are_read(kind):
    frame = frames.framed("M", plain(kind))
    np.testing.assert_array_equal(frame.numbers(), A)
    assert frame.names() == NAMES
    order = np.array([4, 0, 2])
    np.testing.assert_array_equal(frame.taken(order).numbers(), A[:, order])
    assert frame.taken(order).names() == (NAMES[4], NAMES[0], NAMES[2])
    op = as_operator(plain(kind))
    assert op.names == NAMES
    np.testing.assert_allclose(op.apply(np.arange(5.0)), A @ np.arange(5.0))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8, np.uint16, np.int64, np.bool_])
def test_columns_of_one_type_keep_it(kind, dtype):
    B = np.round(3 * A).astype(dtype)
    numbers = frames.framed("M", plain(kind, B)).numbers()
    assert numbers.dtype == dtype
    np.testing.assert_array_equal(numbers, B)


@pytest.mark.parametrize("kind", KINDS)
def test_columns_of_mixed_types_become_numbers(kind):
    """Every pair of types, against the columns one by one."""
    types = [np.float32, np.float64, np.int8, np.uint16, np.int64, np.bool_]
    for a in types:
        for b in types:
            columns = {"a": np.round(2 * A[:, 0]).astype(a), "b": np.round(2 * A[:, 1]).astype(b)}
            numbers = frames.framed("M", KINDS[kind](columns)).numbers()
            assert numbers.dtype.kind in "biuf"
            np.testing.assert_array_equal(numbers, np.stack([columns["a"], columns["b"]], axis=1).astype(float))


def test_floats_of_pandas_are_used_in_place():
    frame = pd.DataFrame(A, columns=NAMES)
    assert np.shares_memory(as_operator(frame).matrix, frame.to_numpy())


@pytest.mark.parametrize("dtype", ["Int64", "Float64", "boolean", "int64[pyarrow]", "double[pyarrow]", "bool[pyarrow]"])
def test_nullable_types_of_pandas(dtype):
    values = (np.arange(6) % 2).astype(bool if dtype.startswith("bool") else int)
    frame = pd.DataFrame({"a": pd.array(values, dtype=dtype), "b": np.arange(6.0)})
    np.testing.assert_array_equal(frames.framed("M", frame).numbers(), np.stack([values, np.arange(6.0)], axis=1))
    alone = frames.framed("M", frame[["a"]]).numbers()
    np.testing.assert_array_equal(alone, values[:, None])
    assert alone.dtype.kind == frame["a"].dtype.kind  # labels stay what they are
    frame.loc[3, "a"] = pd.NA
    with pytest.raises(ValueError, match=r"^M must have no missing values; got 1 in column 'a': fill them in"):
        frames.framed("M", frame).numbers()


def test_sparse_columns_stay_sparse_where_all_of_them_are():
    S = sp.random_array((9, 4), density=0.3, rng=np.random.default_rng(1), format="csc")
    frame = pd.DataFrame.sparse.from_spmatrix(S, columns=list("abcd"))
    op = as_operator(frame)
    assert sp.issparse(op.matrix)
    np.testing.assert_array_equal(op.matrix.toarray(), S.toarray())
    np.testing.assert_array_equal(
        frames.framed("M", frame).taken(np.array([2, 0])).numbers().toarray(), S.toarray()[:, [2, 0]]
    )
    mixed = frames.framed("M", frame.assign(e=1.0)).numbers()
    np.testing.assert_array_equal(mixed, np.c_[S.toarray(), np.ones(9)])
    filled = pd.DataFrame({"a": pd.arrays.SparseArray([1.0, 2.0, 2.0], fill_value=2.0)})
    np.testing.assert_array_equal(frames.framed("M", filled).numbers(), [[1.0], [2.0], [2.0]])
    with pytest.raises(ValueError, match="missing values; got 2 in column 'a'"):
        frames.framed("M", pd.DataFrame({"a": pd.arrays.SparseArray([1.0, np.nan, np.nan])})).numbers()
    S.data[0] = np.inf
    with pytest.raises(ValueError, match=r"M must hold finite numbers only; there is infinity in '[abcd]'"):
        frames.framed("M", pd.DataFrame.sparse.from_spmatrix(S, columns=list("abcd"))).numbers()


# What is refused ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_missing_values_are_told_by_column(kind):
    columns = {
        "a": [1.0, 2.0, 3.0],
        "b": [1.0, float("nan"), None],
        "c": [None, 2, 3],
        "d": [True, None, None],
    }
    columns = columns if kind in ("pandas", "polars") else {n: pa.array(v) for n, v in columns.items()}
    if kind == "pandas":
        columns |= {"c": pd.array(columns["c"], dtype="Int64"), "d": pd.array(columns["d"], dtype="boolean")}
    told = r"^M must have no missing values; got \d in columns 'b', 'c' and 'd': fill them in, or drop those rows"
    with pytest.raises(ValueError, match=told):
        as_operator(KINDS[kind](columns))
    alone = {"a": columns["a"], "b": np.array([1.0, np.nan, np.inf])}
    with pytest.raises(ValueError, match="got 1 in column 'b'"):
        as_operator(KINDS[kind](alone))
    with pytest.raises(ValueError, match=r"^M must hold finite numbers only; there is infinity in 'b'$"):
        as_operator(KINDS[kind]({"a": np.ones(2), "b": np.array([-np.inf, 1.0])}))


ODD = {
    "pandas": {
        "text": ["x", "y"],
        "category": pd.Categorical(["u", "v"]),
        "numbers": pd.Categorical([1, 2]),
        "day": pd.to_datetime(["2020", "2021"]),
        "zone": pd.to_datetime(["2020", "2021"]).tz_localize("UTC"),
        "wait": pd.to_timedelta([1, 2]),
        "object": np.array([1.0, 2.0], dtype=object),
        "period": pd.period_range("2020", periods=2, freq="Y"),
        "string": pd.array(["q", None], dtype="string"),
    },
    "polars": {
        "text": ["x", "y"],
        "category": pl.Series(["u", "v"], dtype=pl.Categorical),
        "day": pl.Series(["2020-01-01", "2021-01-01"]).str.to_date(),
        "list": [[1.0], [2.0]],
        "decimal": pl.Series([1, 2]).cast(pl.Decimal(10, 2)),
        "nothing": [None, None],
    },
    "table": {
        "text": ["x", "y"],
        "category": pa.array(["u", "v"]).dictionary_encode(),
        "day": pa.array([1, 2], type=pa.date32()),
        "time": pa.array([1, 2], type=pa.timestamp("s")),
        "nothing": pa.nulls(2),
    },
}


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind in ODD for name in ODD[kind]])
def test_columns_without_numbers_are_told_by_name_and_type(kind, name):
    frame = KINDS[kind]({"a": [1.0, 2.0], name: ODD[kind][name]})
    told = (
        rf"^M must have numbers in all columns; these hold others: '{name}' \(.+\)\. Encode categories as columns of 0"
    )
    with pytest.raises(TypeError, match=told):
        as_operator(frame)


def test_many_wrong_columns_are_not_all_told():
    frame = pd.DataFrame({f"c{i}": ["x"] for i in range(50)})
    with pytest.raises(TypeError, match=r"'c4' \(\w+\) and 45 more\. Encode") as refused:
        as_operator(frame)
    assert len(str(refused.value)) < 400
    with pytest.raises(ValueError, match=r"got 50 in columns 'c0', 'c1', 'c2', 'c3', 'c4' and 45 more:"):
        as_operator(pd.DataFrame({f"c{i}": [np.nan] for i in range(50)}))


def test_complex_columns_are_refused_as_complex_arrays_are():
    with pytest.raises(TypeError, match=r"^M must be real; got complex128"):
        as_operator(pd.DataFrame({"a": [1.0 + 2.0j, 3.0]}))


@pytest.mark.parametrize("kind", ["pandas", "table"])
def test_names_that_occur_twice_are_refused(kind):
    frame = pd.DataFrame(A, columns=["a", "b", "a", "b", "c"])
    frame = frame if kind == "pandas" else pa.Table.from_arrays([pa.array(c) for c in A.T], names=list(frame.columns))
    told = (
        r"^M must have columns of different names; 'a' and 'b' are there more than once: rename them, or pass an array"
    )
    with pytest.raises(ValueError, match=told):
        as_operator(frame)


class LazyTable:
    """What dask's and Spark's frames look like from here."""

    @property
    def columns(self):
        raise AssertionError("nothing is computed")


class Dask(LazyTable):
    def compute(self):
        raise AssertionError("nothing is computed")


class Spark(LazyTable):
    def toPandas(self):
        raise AssertionError("nothing is computed")

    collect = toPandas


def test_lazy_frames_are_refused_with_the_remedy():
    lazy = pl.DataFrame({"a": [1.0]}).lazy()
    for frame, verb in ((lazy, "collect"), (Dask(), "compute"), (Spark(), "toPandas")):
        with pytest.raises(TypeError, match=rf"got a lazy one, \w+\.\w+: pass M\.{verb}\(\)$"):
            as_operator(frame)
        with pytest.raises(TypeError, match=rf"^b must be a data frame that is at hand; .*: pass b\.{verb}\(\)$"):
            frames.vector("b", frame)


def test_frames_without_columns_or_rows_are_refused():
    for empty in (pd.DataFrame(), pd.DataFrame(index=[0, 1]), pl.DataFrame(), pd.DataFrame({"a": np.zeros(0)})):
        with pytest.raises(ValueError, match="M must have at least one row and one column"):
            as_operator(empty)


def test_what_is_no_frame_is_left_alone():
    class Own:
        shape = (2, 2)

        def columns(self, indices):  # a method of an operator of one's own
            return indices

        collect = compute = columns

    for thing in (Own(), A, sp.csr_array(A), [1, 2], None, "text", pd.DataFrame, {"a": [1.0]}):
        assert frames.framed("M", thing) is None
        assert frames.data("b", thing) is thing
        assert frames.arranged("M", thing, NAMES) is thing


# Names ----------------------------------------------------------------------------------------------------------------


def test_columns_that_are_only_numbered_have_no_names():
    assert frames.names_of("M", pd.DataFrame(A)) is None
    assert frames.names_of("M", pd.DataFrame(A, columns=range(1, 6))) == ("1", "2", "3", "4", "5")
    assert frames.names_of("M", pd.DataFrame(A, columns=["0", "1", "2", "3", "4"])) == ("0", "1", "2", "3", "4")
    pairs = pd.MultiIndex.from_product([["x"], list("abcde")])
    assert frames.names_of("M", pd.DataFrame(A, columns=pairs))[1] == "('x', 'b')"
    with pytest.raises(ValueError, match="'1' is there more than once"):
        frames.names_of("M", pd.DataFrame(A, columns=["1", 1, 2, 3, 4]))


@pytest.mark.parametrize("kind", KINDS)
def test_columns_are_put_in_order_by_name(kind):
    rng = np.random.default_rng(2)
    for _ in range(5):
        order = rng.permutation(5)
        shuffled = plain(kind, A[:, order], [NAMES[i] for i in order])
        arranged = frames.arranged("M_new", shuffled, NAMES)
        np.testing.assert_array_equal(as_operator(arranged).matrix, A)
        assert as_operator(arranged).names == NAMES
    numbered = pd.DataFrame(A)
    np.testing.assert_array_equal(as_operator(frames.arranged("M_new", numbered, NAMES)).matrix, A)


@pytest.mark.parametrize("kind", KINDS)
def test_names_are_looked_at_before_numbers(kind):
    """A column that does not belong there is told as such, whatever it holds."""
    frame = KINDS[kind]({"id": ["x", "y"], "age": [1.0, 2.0]})
    with pytest.raises(ValueError, match=r"^M_new must have the columns .*; 'bmi' is missing, 'id' is not among them$"):
        frames.arranged("M_new", frame, ("age", "bmi"))


# Data -----------------------------------------------------------------------------------------------------------------


def test_series_and_frames_of_data():
    b = A[:, 0]
    for series in (pd.Series(b), pd.Series(b, name="y", index=range(7, 0, -1)), pl.Series("y", b), pd.Index(b)):
        np.testing.assert_array_equal(frames.data("b", series), b)
        np.testing.assert_array_equal(frames.vector("b", series), b)
    for frame in (pd.DataFrame({"y": b}), pl.DataFrame({"y": b}), pa.table({"y": b})):
        assert frames.data("B", frame).shape == (7, 1)
        np.testing.assert_array_equal(frames.vector("b", frame), b)
    for dtype in ("Int64", "Float64", "int64[pyarrow]"):
        np.testing.assert_array_equal(frames.vector("b", pd.Series([1, 2], dtype=dtype)), [1.0, 2.0])
        with pytest.raises(ValueError, match=r"^b must have no missing values; got 1 in column"):
            frames.vector("b", pd.Series([1, None], dtype=dtype))
    with pytest.raises(ValueError, match=r"^b must have no missing values"):
        frames.vector("b", pl.Series([1, None]))
    sparse = pd.Series(pd.arrays.SparseArray([0.0, 1.0], fill_value=0.0))
    np.testing.assert_array_equal(frames.vector("b", sparse), [0.0, 1.0])
    whole = frames.data("B", pd.DataFrame(A, columns=NAMES)[list(NAMES[::-1])], NAMES)
    np.testing.assert_array_equal(whole, A)


@pytest.mark.parametrize("kind", KINDS)
def test_data_vectors_may_lack_numbers_each_for_itself(kind):
    columns = {"a": [1.0, 2.0, 3.0], "b": [1.0, float("nan"), None], "c": [None, 2, 3], "d": [True, None, False]}
    if kind == "pandas":
        columns |= {"c": pd.array(columns["c"], dtype="Int64"), "d": pd.array(columns["d"], dtype="boolean")}
    else:
        columns = {name: pa.array(values) for name, values in columns.items()}
    frame, nan = KINDS[kind](columns), np.nan
    expected = np.array([[1, 1, nan, 1], [2, nan, 2, nan], [3, nan, 3, 0]])
    np.testing.assert_array_equal(frames.table("B", frame), expected)
    np.testing.assert_array_equal(frames.table("B", frame, ("d", "c", "b", "a")), expected[:, ::-1])
    assert frames.table("B", frame).dtype == np.float64
    whole = np.arange(6).reshape(3, 2)
    assert frames.table("B", plain(kind, whole, ["a", "b"])).dtype == whole.dtype


def test_labels_are_left_to_those_who_know_them():
    for labels in (
        pd.Series(["x", "y"]),
        pd.Series(["x", "y"], dtype="category"),
        pl.Series(["x", "y"]),
        pl.Series(["x", "y"], dtype=pl.Categorical),
        pd.DataFrame({"y": ["x", "y"]}),
        pa.table({"y": ["x", "y"]}),
    ):
        assert frames.vector("b", labels).tolist() == ["x", "y"]
