"""Outputs: claimed before the work, written whole or not at all, read back as they were."""

import csv
import os
from io import StringIO
from pathlib import Path

import numpy as np
import pytest

from fewatoms import io
from fewatoms.io import outputs, text
from fewatoms.io.columns import SMALL

COLUMNS = {
    "id": np.array([2**53 + 1, -4, 0]),
    "x": np.array([0.1, np.nan, 1e-300]),
    "flag": np.array([True, False, True]),
    "word": np.array(["plain", None, 'say "hi",\nthen; go\t'], dtype=object),
    "größe, m": np.array(["a", "b", "c"]),
}


@pytest.mark.parametrize("kind", [kind for kind in io.TABLES if kind != ".npy"])
def test_a_table_comes_back(tmp_path, kind):
    path = tmp_path / f"out{kind}"
    io.write_table(path, COLUMNS)
    found = io.read_table(path)
    assert found.names == tuple(COLUMNS)
    np.testing.assert_array_equal(
        found.numeric(["id", "x", "flag"]), np.column_stack([COLUMNS[c] for c in ("id", "x", "flag")])
    )
    assert [word if word is None else word.strip() for word in found.column("word")] == [
        "plain",
        None,
        'say "hi",\nthen; go',
    ]
    assert found.column("größe, m").tolist() == ["a", "b", "c"]
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize("kind", io.TABLES)
def test_every_number_comes_back_exactly(tmp_path, kind):
    rng = np.random.default_rng(0)
    x = rng.standard_normal(2000) * 10.0 ** rng.integers(-300, 300, 2000)
    io.write_table(tmp_path / f"out{kind}", {"x": x, "y": -x})
    np.testing.assert_array_equal(io.read_table(tmp_path / f"out{kind}").numeric(), np.column_stack([x, -x]))


def test_one_column_with_a_hole(tmp_path):
    io.write_table(tmp_path / "out.csv", {"x": np.array([1.0, np.nan, 3.0])})
    np.testing.assert_array_equal(io.read_table(tmp_path / "out.csv").column("x"), [1.0, np.nan, 3.0])


def test_same_content_same_bytes(tmp_path):
    io.write_table(tmp_path / "a.csv.gz", COLUMNS)
    io.write_table(tmp_path / "b.csv.gz", COLUMNS)
    assert (tmp_path / "a.csv.gz").read_bytes() == (tmp_path / "b.csv.gz").read_bytes()


@pytest.mark.parametrize("kind", io.TABLES)
def test_all_or_nothing(tmp_path, monkeypatch, kind):
    path = tmp_path / f"out{kind}"
    path.write_bytes(b"what was there")

    def interrupted(stream, columns, source):
        stream.write(b"half of it")
        raise KeyboardInterrupt

    monkeypatch.setitem(outputs.WRITERS, kind, interrupted)
    with pytest.raises(KeyboardInterrupt):
        io.write_table(path, {"x": np.ones(3)})
    assert path.read_bytes() == b"what was there"
    assert os.listdir(tmp_path) == [path.name]


def test_a_full_disk_is_one_line(tmp_path, monkeypatch):
    def full(stream, columns, source):
        raise OSError(28, "No space left on device")

    monkeypatch.setitem(outputs.WRITERS, ".csv", full)
    with pytest.raises(io.Refused, match="No space left"):
        io.write_table(tmp_path / "out.csv", {"x": np.ones(3)})
    assert os.listdir(tmp_path) == []


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to(tmp_path / "real.csv")
    io.write_table(tmp_path / "link.csv", {"x": np.ones(1)})
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "real.csv").read_text() == "x\n1.0\n"


# Claims --------------------------------------------------------------------------------------------------------------


def test_a_claim_leaves_nothing_behind(tmp_path):
    assert io.claim(tmp_path / "out.parquet", overwrite=False, kinds=io.TABLES) == tmp_path / "out.parquet"
    assert os.listdir(tmp_path) == []


def test_claims_that_are_refused(tmp_path, monkeypatch):
    (tmp_path / "there.csv").write_text("mine")
    (tmp_path / "folder.csv").mkdir()
    for name, words in {
        "there.csv": "there already",
        "folder.csv": "folder",
        "nowhere/out.csv": "make the folder",
        "out.xlsx": r"\.csv \.csv\.gz",
        "out": "nothing",
    }.items():
        with pytest.raises(io.Refused, match=words) as caught:
            io.claim(tmp_path / name, overwrite=name == "folder.csv", kinds=io.TABLES)
        assert "\n" not in str(caught.value)
    assert io.claim(tmp_path / "there.csv", overwrite=True, kinds=io.TABLES)
    assert (tmp_path / "there.csv").read_text() == "mine"

    def locked(dir):
        raise PermissionError(13, "Permission denied", str(dir))

    monkeypatch.setattr(outputs.tempfile, "TemporaryFile", locked)
    with pytest.raises(io.Refused, match=r"Permission denied.*folder that you may write to"):
        io.claim(tmp_path / "out.csv", overwrite=False, kinds=io.TABLES)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_is_locked(tmp_path):
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(io.Refused, match="may write"):
            io.claim(tmp_path / "out.csv", overwrite=False, kinds=io.TABLES)
    finally:
        tmp_path.chmod(0o700)


def test_outputs_that_cannot_be_written(tmp_path):
    for columns, name, words in (
        ({"x": np.ones(3), "y": np.ones(2)}, "o.csv", "one length"),
        ({}, "o.csv", "one length"),
        ({"x": np.ones((2, 2))}, "o.csv", "one axis"),
        ({"x": np.array(["a"])}, "o.npy", "text in 'x'"),
        ({"../x": np.ones(2)}, "o.npz", "leads out"),
        ({"x": np.ones(2)}, "o.xlsx", r"\.parquet"),
    ):
        with pytest.raises(io.Refused, match=words):
            io.write_table(tmp_path / name, columns)
    with pytest.raises(io.Refused, match="cannot be written"):
        io.write_table(Path(tmp_path) / "nowhere" / "o.csv", {"x": np.ones(2)})
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("colours", [(), (3,)])
def test_equal_frames_stay_frames(tmp_path, colours):
    rng = np.random.default_rng(0)
    one = rng.integers(0, 256, (6, 5, *colours)).astype(np.uint8)
    frames = np.stack([one, one, one, 255 - one, 255 - one])
    io.write_stack(tmp_path / "out.gif", frames)
    found = io.read_stack(tmp_path / "out.gif").frames
    assert found.shape == frames.shape
    np.testing.assert_array_equal(found, frames)  # no more colours than a table has
    io.write_stack(tmp_path / "still.gif", frames[:3])
    assert len(io.read_stack(tmp_path / "still.gif").frames) == 3


def test_what_is_there_and_no_file_is_never_claimed(tmp_path):
    if not hasattr(os, "mkfifo"):
        pytest.skip("there are no pipes with names")
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "link.csv").symlink_to(tmp_path / "pipe.csv")
    for name in ("pipe.csv", "link.csv"):
        with pytest.raises(io.Refused, match="pipe, a device or a socket"):
            io.claim(tmp_path / name, overwrite=True)
        with pytest.raises(io.Refused, match="must be a file; it is a pipe"):
            io.read_table(tmp_path / name)


# Formulas ------------------------------------------------------------------------------------------------------------

FORMULAS = [
    "=1+1",
    "+cmd|' /C calc'!A0",
    "-2+3",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "\n=1",
    "-",
    "'=1",
    "''=1",
    "=",
    "+1e",
    "-1,5",
]
HARMLESS = ["-5", "+.5", "1e-3", "-inf", "'", "'a", "''", "a=1", "a-b", "'-5", "x\t=1", "5 - 3"]


@pytest.mark.parametrize("name", ["x.csv", "x.tsv", "x.csv.gz"])
def test_words_are_no_formulas_and_come_back_as_they_were(tmp_path, name):
    """Ids, labels and names of columns, by both readers of text."""
    words = FORMULAS + HARMLESS
    numbers = -np.arange(float(len(words)))
    io.write_table(tmp_path / name, {"=id": np.array(words, dtype=object), "n": numbers})
    with text.opened(tmp_path / name, name) as stream:
        written = StringIO(stream.read().decode(), newline="")
    lines = list(csv.reader(written, delimiter="\t" if "tsv" in name else ","))
    assert lines[0] == ["'=id", "n"]
    assert not [cell for row in lines for cell in row if cell[:1] in "=+-@" and cell[1:2] and not _is_number(cell)]
    back = io.read_table(tmp_path / name, as_text=["=id"])
    assert back.names == ("=id", "n")
    stripped = [word if word in ("\t=1", "\r=1", "\n=1") else word.strip() for word in words]
    assert back.column("=id").tolist() == stripped
    assert back.column("n").tolist() == numbers.tolist()


def _is_number(cell):
    try:
        float(cell)
    except ValueError:
        return False
    return True


def test_ids_that_are_formulas_are_the_same_in_large_files(tmp_path):
    """pyarrow reads those."""
    count = 200_000
    ids = np.array([f"=u{i % 1000}" for i in range(count)], dtype=object)
    items = np.array([f"@i{i // 1000}" for i in range(count)], dtype=object)
    io.write_table(tmp_path / "x.csv", {"u": ids, "i": items, "r": np.ones(count)})
    assert (tmp_path / "x.csv").stat().st_size > SMALL
    found = io.read_entries(tmp_path / "x.csv")
    assert found.row_ids[found.rows].tolist() == ids.tolist()
    assert found.col_ids[found.cols].tolist() == items.tolist()
    assert io.read_table(tmp_path / "x.csv").column("u").tolist() == ids.tolist()
