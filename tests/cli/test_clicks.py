"""`fewatoms complete --background`: clicks instead of values."""

import numpy as np
import pytest

import fewatoms as fa
from fewatoms import cli, io


@pytest.fixture
def counts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    own = rng.integers(2, size=20)[:, None] == rng.integers(2, size=12)
    table = rng.poisson(np.where(own, 1.0, 0.1))
    table[:, 0] += 1
    table[0] += 1
    i, j = np.nonzero(table)
    three = [f"u{a:02},t{b:02},{table[a, b]}\n" for a, b in zip(i, j, strict=True)]
    two = [f"u{a:02},t{b:02}\n" * int(table[a, b]) for a, b in zip(i, j, strict=True)]
    (tmp_path / "three.csv").write_text("who,what,n\n" + "".join(three), encoding="utf-8")
    (tmp_path / "two.csv").write_text("who,what\n" + "".join(two), encoding="utf-8")
    return table


def run(*words):
    return cli.main(["complete", *map(str, words), "--quiet", "--overwrite"])


@pytest.mark.parametrize("file", ["two.csv", "three.csv"])
def test_the_plain_door(counts, file):
    words = "--background", 0.5, "--confidence", 3, "--rank", 2, "--ridge", 1
    assert run(file, *words, "--out", "whole.csv", "--model", "model.npz") == 0
    i, j = np.nonzero(counts)
    M, loss = fa.Sampling(i, j, counts.shape, background=0.5), fa.LeastSquares(1.0 + 3.0 * counts[i, j])
    s = fa.fit(M, np.ones(i.size), atoms=fa.RankOne(*counts.shape), k=2, ridge=1.0, loss=loss)
    model = fa.load("model.npz")
    np.testing.assert_allclose(model.left @ model.right.T, s.x, atol=1e-10)
    assert model.background == 0.5
    found = io.read_table("whole.csv").columns
    assert [*found] == ["who", "what", "preference"]
    assert run(file, *words, "--top", 2, "--out", "best.csv") == 0
    best = io.read_table("best.csv").columns
    given = {(f"u{a:02}", f"t{b:02}") for a, b in zip(i, j, strict=True)}
    assert not given & set(zip(best["who"], best["what"], strict=True))


def test_ranks_are_compared_by_how_clicks_rank(counts, capsys):
    assert cli.main(["complete", "two.csv", "--background", "1", "--rank", "1,2"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "the lowest 1 - NDCG on entries held out" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("three.csv", "--confidence", 2), "--confidence is for clicks: say --background W as well"),
        (("three.csv", "--background", 1, "--biases"), "--biases is for values"),
        (("two.csv",), "must have three columns"),
        (("none.csv", "--background", 1), "counts of clicks must be above 0; got 0"),
        (("one.csv", "--background", 1), "must have three columns"),
    ],
)
def test_refusals(counts, words, said, capsys):
    with open("none.csv", "w", encoding="utf-8") as file:
        file.write("who,what,n\na,b,1\na,c,0\n")
    with open("one.csv", "w", encoding="utf-8") as file:
        file.write("who\na\nb\n")
    assert run(*words) == 2
    assert said in capsys.readouterr().err


def test_typed_tables(counts):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    i, j = np.nonzero(counts)
    pq.write_table(pa.table({"who": i, "what": j}), "two.parquet")
    found = io.read_entries("two.parquet", clicks=True)
    assert found.values.tolist() == [1.0] * i.size
    assert io.read_entries("two.csv", clicks=True, duplicates="sum").values.sum() == counts.sum()
