"""Matrices from files: what was saved is what is read, whoever saved it."""

import gzip

import h5py
import numpy as np
import pyarrow as pa
import pytest
import scipy.io
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file

from fewatoms import io

RNG = np.random.default_rng(0)
X = RNG.standard_normal((7, 4))
Y = RNG.standard_normal(7)
S = sp.random_array((7, 4), density=0.4, rng=RNG, format="csr")


def later_mat(path, **variables):
    """As MATLAB writes version 7.3: arrays the other way round, with their classes."""
    with h5py.File(path, "w", userblock_size=512) as file:
        for name, value in variables.items():
            if sp.issparse(value):
                group, columns = file.create_group(name), sp.csc_array(value)
                group.attrs["MATLAB_sparse"] = value.shape[0]
                for part, array in (("data", columns.data), ("ir", columns.indices), ("jc", columns.indptr)):
                    group[part] = array.astype(np.uint64 if part != "data" else float)
                thing = group
            else:
                thing = file.create_dataset(name, data=np.atleast_2d(value).T if np.ndim(value) == 2 else value[None])
            thing.attrs["MATLAB_class"] = np.bytes_("double")


def packed_market(path, value):
    scipy.io.mmwrite(path.with_suffix(""), value, precision=17)
    path.write_bytes(gzip.compress(path.with_suffix("").read_bytes()))


WRITERS = {
    "x.npy": np.save,
    "x.npz": lambda path, value: np.savez(path, anything=value),
    "x.mat": lambda path, value: scipy.io.savemat(path, {"anything": value}),
    "x7.mat": lambda path, value: later_mat(path, anything=value),
    "x.mtx": lambda path, value: scipy.io.mmwrite(path, value, precision=17),
    "x.mtx.gz": packed_market,
    "x.svm": lambda path, value: dump_svmlight_file(value, np.zeros(len(value)), str(path)),
    "x.csv": lambda path, value: io.write_grid(path, value),
    "x.parquet": lambda path, value: io.write_grid(path, value),
}


@pytest.mark.parametrize("name", WRITERS)
def test_a_matrix_comes_back(tmp_path, name):
    WRITERS[name](tmp_path / name, X)
    found = io.read_grid(tmp_path / name)
    values = found.values.toarray() if sp.issparse(found.values) else found.values
    np.testing.assert_allclose(values, X, rtol=1e-15)
    assert values.dtype == np.float64
    assert values.flags.c_contiguous
    np.testing.assert_array_equal(io.read_table(tmp_path / name).numeric(["4", "1"]), values[:, [3, 0]])


@pytest.mark.parametrize("name", ["s.npz", "s.mat", "s7.mat", "s.mtx"])
def test_a_sparse_matrix_stays_sparse(tmp_path, name):
    writers = {
        "s.npz": sp.save_npz,
        "s.mat": lambda path, value: scipy.io.savemat(path, {"S": value}),
        "s7.mat": lambda path, value: later_mat(path, S=value),
        "s.mtx": lambda path, value: scipy.io.mmwrite(path, sp.coo_array(value), precision=17),
    }
    writers[name](tmp_path / name, S)
    found = io.read_grid(tmp_path / name).values
    assert sp.issparse(found)
    assert found.nnz == S.nnz
    np.testing.assert_allclose(found.toarray(), S.toarray(), rtol=1e-15)


@pytest.mark.parametrize("name", ["d.npz", "d.mat", "d7.mat", "d.svm"])
def test_what_stands_beside_a_matrix(tmp_path, name):
    writers = {
        "d.npz": lambda path: np.savez(path, X=X, y=Y),
        "d.mat": lambda path: scipy.io.savemat(path, {"X": X, "y": Y, "note": "text"}),
        "d7.mat": lambda path: later_mat(path, X=X, y=Y),
        "d.svm": lambda path: dump_svmlight_file(X, Y, str(path)),
    }
    writers[name](tmp_path / name)
    found, table = io.read_grid(tmp_path / name), io.read_table(tmp_path / name)
    np.testing.assert_allclose(found.target, Y, rtol=1e-15)
    assert table.names == ("1", "2", "3", "4", "y")
    np.testing.assert_allclose(table.column("y"), Y, rtol=1e-15)


def test_one_of_several(tmp_path):
    np.savez(tmp_path / "d.npz", A=X, B=X.T, n=np.arange(3))
    np.testing.assert_array_equal(io.read_grid(tmp_path / "d.npz", key="B").values, X.T)
    np.savez(tmp_path / "e.npz", X=X, B=X.T)
    np.testing.assert_array_equal(io.read_grid(tmp_path / "e.npz").values, X)


@pytest.mark.parametrize(
    ("given", "kept"), [(np.float32, np.float32), (np.int16, np.float64), (bool, np.float64), (">f8", np.float64)]
)
def test_types_of_numbers(tmp_path, given, kept):
    np.save(tmp_path / "x.npy", np.asfortranarray((10 * X).astype(given)))
    found = io.read_grid(tmp_path / "x.npy").values
    assert found.dtype == kept
    assert found.dtype.isnative
    np.testing.assert_array_equal(found, (10 * X).astype(given))


def test_a_vector_is_one_column(tmp_path):
    np.save(tmp_path / "y.npy", Y)
    np.testing.assert_array_equal(io.read_grid(tmp_path / "y.npy").values, Y[:, None])


def test_names_of_columns(tmp_path):
    for name in ("t.csv", "t.parquet", "t.npz"):
        io.write_grid(tmp_path / name, X, ["a", "b", "c", "d"])
        assert io.read_grid(tmp_path / name).names == ("a", "b", "c", "d")


def test_typed_columns(tmp_path):
    """What pandas, polars and others write to Parquet and Feather."""
    import pandas as pd

    frame = pd.DataFrame(
        {
            "whole": pd.array([1, None, 3], dtype="Int64"),
            "flag": [True, False, True],
            "word": ["x", None, "z"],
            "kind": pd.Categorical(["u", "v", "u"]),
            "day": pd.to_datetime(["2024-01-31", None, "2024-02-29"]),
            "half": np.array([0.5, np.nan, 1.5], dtype=np.float32),
        },
        index=[10, 20, 40],
    )
    frame.to_parquet(tmp_path / "t.parquet")
    frame.reset_index(drop=True).to_feather(tmp_path / "t.feather")
    for name in ("t.parquet", "t.feather"):
        table = io.read_table(tmp_path / name)
        np.testing.assert_array_equal(
            table.numeric(["whole", "flag", "half"]), [[1, 1, 0.5], [np.nan, 0, np.nan], [3, 1, 1.5]]
        )
        assert table.column("word").tolist() == ["x", None, "z"]
        assert table.column("kind").tolist() == ["u", "v", "u"]
        assert table.column("day")[1] is None
        assert table.column("day")[2].startswith("2024-02-29")
    table = pa.table({"a": [1, 2], "b": ["x", "y"]})
    with pa.ipc.new_stream(tmp_path / "s.arrow", table.schema) as stream:
        stream.write_table(table)
    assert io.read_table(tmp_path / "s.arrow").column("b").tolist() == ["x", "y"]
    assert io.read_table(tmp_path / "t.parquet").column("index").tolist() == [10, 20, 40]
