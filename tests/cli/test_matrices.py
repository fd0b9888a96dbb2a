"""`fewatoms complete` and `split` of matrices with gaps: bounds, frames with holes, and what is refused."""

import json

import numpy as np
import pytest

import fewatoms as fa
from fewatoms import cli


@pytest.fixture
def gaps(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((24, 3)) @ np.diag([3.0, 2.0, 0.3]) @ rng.standard_normal((3, 16))
    X[rng.random(X.shape) < 0.3] = np.nan
    lines = ["user,item,rating", *(f"u{i},t{j},{X[i, j]}" for i, j in zip(*np.nonzero(~np.isnan(X)), strict=True))]
    (tmp_path / "entries.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    rows = [",".join("" if np.isnan(v) else str(v) for v in row) for row in X]
    names = ",".join(f"c{j}" for j in range(16))
    (tmp_path / "named.csv").write_text("\n".join([names, *rows]) + "\n", encoding="utf-8")
    np.savetxt(tmp_path / "plain.csv", X, delimiter=",")
    np.save(tmp_path / "gaps.npy", X)
    return X


def run(*words):
    return cli.main([*map(str, words), "--quiet", "--overwrite"])


def failed(capsys, *words):
    assert run(*words) == 2
    return " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("file", ["entries.csv", "gaps.npy"])
@pytest.mark.parametrize("misfit", [0.5, 0.1])
def test_a_bound_instead_of_a_rank(gaps, capsys, file, misfit):
    assert run("complete", file, "--misfit", misfit, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    s = fa.fit(*fa.Sampling.from_array(gaps), atoms=fa.RankOne(*gaps.shape), misfit=misfit)
    assert told["answer"]["rank"] == s.cardinality
    assert told["answer"]["misfit"] <= misfit
    assert told["asked"]["misfit"] == misfit


def test_a_bound_within_a_rank_that_does_not_meet_it(gaps, capsys):
    assert run("complete", "gaps.npy", "--misfit", 0.01, "--rank", 1, "--out", "out.npy") == 1
    assert "give --rank one number" in failed(capsys, "complete", "gaps.npy", "--misfit", 0.1, "--rank", "1,2")


def test_no_background_is_values(gaps):
    assert run("complete", "entries.csv", "--background", 0, "--biases", "--rank", 2, "--out", "a.csv") == 0
    assert run("complete", "entries.csv", "--biases", "--rank", 2, "--out", "b.csv") == 0
    with open("a.csv", encoding="utf-8") as a, open("b.csv", encoding="utf-8") as b:
        assert a.read() == b.read()


@pytest.mark.parametrize("file", ["named.csv", "plain.csv"])
def test_a_matrix_as_text_is_told_how_to_come(gaps, capsys, file):
    said = failed(capsys, "complete", file, "--rank", 2)
    assert "if this is a matrix with gaps, save it as an array (.npy, .npz) with NaN where entries are missing" in said
    assert "matrix with gaps" not in failed(capsys, "complete", file, "--user", "x", "--rank", 2)


@pytest.mark.parametrize("option", ["--user", "--item", "--value"])
def test_a_column_that_is_not_there_is_told_by_who_named_it(gaps, capsys, option):
    assert f"{option} (" in failed(capsys, "complete", "entries.csv", option, "usr", "--rank", 2)


def test_a_rank_too_large_is_told_as_it_was_written(gaps, capsys):
    assert failed(capsys, "complete", "entries.csv", "--rank", 5000).endswith("got 5000")


def test_frames_with_holes(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    still = rng.uniform(50, 200, (6, 5))
    frames = still + 0.1 * rng.standard_normal((20, 6, 5))
    frames[3, 2, 2] += 80.0
    holes = rng.random(frames.shape) < 0.1
    holes[3, 2, 2] = False
    np.save("video.npy", np.where(holes, np.nan, frames))
    assert run("split", "video.npy", "--rank", 1, "--out", "parts") == 0
    back, front = np.load("parts/background.npy"), np.load("parts/foreground.npy")
    assert np.abs(back - still).max() < 1.0
    assert abs(front[3, 2, 2]) > 60
    assert (front[holes] == 0).all()
    for bad, said in (
        (np.inf, "finite numbers, or NaN where they are missing"),
        (np.nan, "each frame must have pixels"),
    ):
        frames[4] = bad
        np.save("bad.npy", frames)
        assert said in failed(capsys, "split", "bad.npy")
