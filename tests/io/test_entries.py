"""Matrices by their entries: any ids, repeated places, and little memory."""

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

from fewatoms import io
from fewatoms.io import arrow, columns, text
from fewatoms.io.codes import Growing, NumberCoder, WordCoder


def naive(rows, cols, values, duplicates):
    """Places with their values, by a dictionary."""
    seen = {}
    for place in zip(rows, cols, values, strict=True):
        seen.setdefault(place[:2], []).append(place[2])
    return {place: some[-1] if duplicates == "last" else float(np.mean(some)) for place, some in seen.items()}


def as_dict(found):
    ids = zip(found.row_ids[found.rows].tolist(), found.col_ids[found.cols].tolist(), strict=True)
    return dict(zip(ids, found.values.tolist(), strict=True))


def drawn(kind, count=500):
    rng = np.random.default_rng(3)
    rows, cols = rng.integers(0, 40, count), rng.integers(0, 30, count)
    ids = {
        "numbers": lambda codes: codes * 7 - 100,
        "large": lambda codes: codes + 2**53,
        "words": lambda codes: np.array([f"id {code}" for code in codes]),
        "zeros": lambda codes: np.array([f"{code:05d}" for code in codes]),
    }[kind]
    return ids(rows), ids(cols), np.round(rng.standard_normal(count), 6)


@pytest.mark.parametrize("kind", ["numbers", "large", "words", "zeros"])
@pytest.mark.parametrize("duplicates", ["mean", "last"])
@pytest.mark.parametrize("ending", [".csv", ".tsv.gz", ".parquet"])
def test_any_ids_and_repeated_places(tmp_path, monkeypatch, kind, duplicates, ending):
    monkeypatch.setattr(arrow, "BATCH_ROWS", 64)
    monkeypatch.setattr(arrow, "TEXT_BLOCK", 512)
    monkeypatch.setattr(columns, "SMALL", 0)
    rows, cols, values = drawn(kind)
    io.write_table(tmp_path / f"e{ending}", {"when": np.arange(len(rows)), "u": rows, "v": cols, "r": values})
    found = io.read_entries(tmp_path / f"e{ending}", row="u", col="v", value="r", duplicates=duplicates)
    expected = naive(rows.tolist(), cols.tolist(), values.tolist(), duplicates)
    assert as_dict(found) == pytest.approx(expected)
    assert len(found.values) == len(expected)
    assert found.rows.dtype == found.cols.dtype == np.int32
    assert found.row_ids.tolist() == sorted(set(rows.tolist()))
    assert (found.row, found.col, found.value) == ("u", "v", "r")


def test_the_csv_module_reads_the_same(tmp_path, monkeypatch):
    rows, cols, values = drawn("large")
    io.write_table(tmp_path / "e.csv", {"u": rows, "v": cols, "r": values})
    monkeypatch.setattr(columns, "SMALL", 0)
    by_arrow = io.read_entries(tmp_path / "e.csv", duplicates="last")
    monkeypatch.setattr(arrow, "text_batches", None)
    monkeypatch.setattr(text, "BATCH_CELLS", 100)
    by_module = io.read_entries(tmp_path / "e.csv", duplicates="last")
    for name in ("rows", "cols", "values", "row_ids", "col_ids"):
        np.testing.assert_array_equal(getattr(by_arrow, name), getattr(by_module, name))
    assert by_arrow.row_ids.dtype == np.int64
    assert by_arrow.row_ids[0] == min(rows)


def test_without_repeated_places_the_order_is_that_of_the_file(tmp_path):
    pq.write_table(
        pa.table({"u": [3, 1, 2], "i": ["b", "a", "b"], "r": pa.array([1, 2, 3], pa.float32())}), tmp_path / "e.parquet"
    )
    found = io.read_entries(tmp_path / "e.parquet")
    assert found.row_ids[found.rows].tolist() == [3, 1, 2]
    assert found.col_ids[found.cols].tolist() == ["b", "a", "b"]
    assert found.values.dtype == np.float32
    assert found.shape == (3, 2)


def test_the_first_three_columns_but_for_an_index(tmp_path):
    (tmp_path / "e.csv").write_text(",u,i,r\n0,5.0,x,1\n1,6.0,y,2\n")
    found = io.read_entries(tmp_path / "e.csv")
    assert (found.row, found.col, found.value) == ("u", "i", "r")
    assert found.row_ids.tolist() == [5, 6]
    assert io.read_entries(tmp_path / "e.csv", row="i", value="index").col == "u"


def test_decimal_commas(tmp_path):
    (tmp_path / "e.csv").write_text("u;i;r\n1;1;0,5\n1;2;1,250\n")
    assert io.read_entries(tmp_path / "e.csv").values.tolist() == [0.5, 1.25]


def test_matrices_are_numbered_from_one(tmp_path):
    dense = np.array([[1.0, np.nan, 0.0], [np.nan, 2.0, np.nan]])
    np.save(tmp_path / "x.npy", dense)
    found = io.read_entries(tmp_path / "x.npy")
    assert as_dict(found) == {(1, 1): 1.0, (1, 3): 0.0, (2, 2): 2.0}
    assert found.shape == (2, 3)
    sp.save_npz(tmp_path / "s.npz", sp.csr_array(np.nan_to_num(dense)))
    assert as_dict(io.read_entries(tmp_path / "s.npz")) == {(1, 1): 1.0, (2, 2): 2.0}
    (tmp_path / "s.mtx").write_text("%%MatrixMarket matrix coordinate real general\n2 3 2\n2 1 4\n2 1 6\n")
    assert as_dict(io.read_entries(tmp_path / "s.mtx", duplicates="mean")) == {(2, 1): 5.0}


@pytest.mark.parametrize("coder", [NumberCoder, WordCoder])
def test_coders_know_everybody_again(coder):
    rng = np.random.default_rng(1)
    ids, it = rng.integers(-50, 50, 600), coder()
    for part in np.split(ids, 6):
        once, places = np.unique(part, return_inverse=True)
        shuffled = rng.permutation(len(once))
        words = np.array([str(value) for value in once], dtype=object) if coder is WordCoder else once
        it.add(words[shuffled], np.argsort(shuffled)[places])
    codes, known = it.finished()
    np.testing.assert_array_equal(known, np.unique(ids))
    np.testing.assert_array_equal(known[codes], ids)


def test_growing_is_concatenation():
    parts = [np.arange(size, dtype=np.int32) for size in (3, 0, 500, 7, 1)]
    for expected in (0, 10, 511, 2000):
        it = Growing(expected)
        for part in parts:
            it.add(part)
        np.testing.assert_array_equal(it.whole(), np.concatenate(parts))


SCRIPT = """
import sys
from fewatoms import io
def at_most():
    return next(1024 * int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
io.read_entries(sys.argv[1])  # what pyarrow itself takes
before = at_most()
found = io.read_entries(sys.argv[2])
print((at_most() - before) / (found.rows.nbytes + found.cols.nbytes + found.values.nbytes))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is read from /proc")
def test_little_more_memory_than_the_triplets(tmp_path):
    """A million entries after two hundred thousand, which have taken what does not grow."""
    rng = np.random.default_rng(0)
    for name, count in (("small", 200_000), ("large", 1_000_000)):
        rows, cols = np.divmod(41 * rng.permutation(count), 5_000)
        pq.write_table(pa.table({"u": rows, "i": cols, "r": np.ones(count)}), tmp_path / f"{name}.parquet")
    asked = [sys.executable, "-c", SCRIPT, str(tmp_path / "small.parquet"), str(tmp_path / "large.parquet")]
    ratio = float(subprocess.run(asked, capture_output=True, text=True, check=True).stdout)
    assert ratio < 2.5
