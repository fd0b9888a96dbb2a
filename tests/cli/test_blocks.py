"""`fewatoms complete` of entries that stay on disk: the same files as from entries in memory."""

import numpy as np
import pytest

from cli.small import csv, ratings
from fewatoms import cli
from fewatoms.io import memory, read_table, spilled

pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install 'fewatoms[parquet]'")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    csv("ratings.csv", ratings(np.random.default_rng(0)))
    csv("pairs.csv", {"user": ["u1", "u2", "new"], "item": [100, 104, 101]})


def complete(*words):
    return cli.main(["complete", "ratings.csv", "--rank", "1", "--quiet", *words])


@pytest.mark.parametrize(
    "words", [("--top", "2"), ("--predict", "pairs.csv"), ("--top", "2", "--biases")], ids=" ".join
)
def test_the_same_files(words):
    assert complete(*words, "--ridge", "0.1", "--out", "memory.csv") == 0
    assert complete(*words, "--ridge", "0.1", "--out", "blocks.csv", "--blocks") == 0
    one, other = read_table("memory.csv"), read_table("blocks.csv")
    assert one.names == other.names
    for name in one.names:
        if one.column(name).dtype.kind == "f":
            np.testing.assert_allclose(one.column(name), other.column(name), rtol=1e-6)
        else:
            np.testing.assert_array_equal(one.column(name), other.column(name))


def test_what_blocks_do_not_have(capsys):
    for words, told in (
        (("--blocks", "--out", "all.csv"), "--out must have --predict or --top"),
        (("--blocks", "--background", "1", "--top", "2", "--out", "x.csv"), "--background is for entries in memory"),
        (("--scheduler", "tcp://127.0.0.1:9", "--top", "2", "--out", "x.csv"), "nobody answers"),
    ):
        assert complete(*words) == 2
        assert told in capsys.readouterr().err


def test_large_files_stay_on_disk_by_themselves(monkeypatch):
    assert not spilled.too_many("ratings.csv")
    monkeypatch.setattr(spilled, "free", lambda: 1000)
    assert spilled.too_many("ratings.csv")
    assert not spilled.too_many("missing.csv")
    assert memory.free() is None or memory.free() > 1000
