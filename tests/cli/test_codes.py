"""Codes are words, files with a target beside them predict and are predicted, and no column is lost for another."""

import json
import os

import numpy as np
import pytest
import scipy.sparse as sp

from cli.small import csv, mixtures, ratings
from fewatoms import cli, io

SEED = 0


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def told(capsys, *words):
    code = cli.main([*map(str, words), "--json"])
    return json.loads(capsys.readouterr().out), code


def failed(capsys, *words):
    assert cli.main([*map(str, words)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    return line


def predictions(*words):
    assert cli.main(["predict", *words, "--out", "predictions.csv", "--quiet", "--overwrite"]) == 0
    return io.read_table("predictions.csv", as_text=io.read_table("predictions.csv").names[:1]).columns


# Codes ----------------------------------------------------------------------------------------------------------------

CODES = {
    "long": ["1234567890123456", "1234567890123457", "1234567890123458"],
    "longer": ["12345678901234567", "12345678901234568", "12345678901234569"],
    "zeros": ["01234", "1234", "99"],
    "parts": ["0.1", "0.2", "0.3"],
    "truth": ["True", "False", "maybe"],
}


def coded(codes, count=60):
    rng = np.random.default_rng(SEED)
    which = np.arange(count) % len(codes)
    y = np.arange(len(codes))[which] * 3.0 + 0.01 * rng.standard_normal(count)
    return {"c": np.array(codes)[which], "x": rng.standard_normal(count), "y": y}


@pytest.mark.parametrize("codes", CODES.values(), ids=CODES)
@pytest.mark.parametrize("kind", [".csv", ".parquet", ".npz"])
def test_categories_are_told_apart_as_they_are_written(codes, kind, capsys):
    table = coded(codes)
    io.write_table(f"cat{kind}", table)
    summary, _ = told(
        capsys, "fit", f"cat{kind}", "--target", "y", "--categorical", "c", "-k", 1, "--out", "m.npz", "--overwrite"
    )
    assert summary["answer"]["r2"] > 0.99
    assert {row["name"] for row in summary["answer"]["table"]} < {f"c={code}" for code in codes}
    np.testing.assert_allclose(predictions("m.npz", f"cat{kind}")["y"].astype(float), table["y"], atol=0.1)


def test_whole_numbers_of_64_bits_in_archives_are_categories():
    table = coded(CODES["longer"])
    np.savez("cat.npz", **{**table, "c": table["c"].astype(np.int64)})
    assert sorted(set(io.read_table("cat.npz", as_text=["c"]).column("c"))) == CODES["longer"]


def test_categories_with_and_without_a_point_are_one():
    table = coded(["1", "2", "3"])
    csv("whole.csv", table)
    csv("point.csv", {**table, "c": [f"{code}.0" for code in table["c"]]})
    for one, other in (("whole.csv", "point.csv"), ("point.csv", "whole.csv")):
        words = ["--target", "y", "--categorical", "c", "-k", "1", "--out", "m.npz", "--quiet", "--overwrite"]
        assert cli.main(["fit", one, *words]) == 0
        np.testing.assert_allclose(predictions("m.npz", other)["y"].astype(float), table["y"], atol=0.1)


@pytest.mark.parametrize("codes", [["01", "1", "02"], ["True", "False"], ["0.5", "1.5"]])
def test_classes_come_back_as_they_are_written(codes, capsys):
    rng = np.random.default_rng(SEED)
    which = np.arange(90) % len(codes)
    csv("classes.csv", {"x": which + 0.1 * rng.standard_normal(90), "z": rng.random(90), "y": np.array(codes)[which]})
    summary, _ = told(capsys, "fit", "classes.csv", "--target", "y", "--classes", "-k", 1, "--out", "m.npz")
    assert sorted(summary["data"]["classes"]) == sorted(codes)
    assert set(predictions("m.npz", "classes.csv")["y"]) == {*codes}


@pytest.mark.parametrize("codes", [["1", "2", "10"], ["1.0", "2.0", "10.0"]])
def test_classes_that_are_whole_numbers_are_numbers(codes, capsys):
    rng = np.random.default_rng(SEED)
    which = np.arange(90) % 3
    csv("classes.csv", {"x": which + 0.1 * rng.standard_normal(90), "z": rng.random(90), "y": np.array(codes)[which]})
    summary, _ = told(capsys, "fit", "classes.csv", "--target", "y", "--classes", "-k", 1)
    assert summary["data"]["classes"] == [1, 2, 10]
    summary, _ = told(capsys, "path", "classes.csv", "--target", "y", "--classes", "-k", "1:2", "--choose", "none")
    assert summary["data"]["classes"] == [1, 2, 10]


def test_three_classes_and_positive_is_refused_in_the_words_of_the_command(capsys):
    csv("three.csv", {"x": range(9), "z": [1, 2, 3] * 3, "y": ["a", "b", "c"] * 3})
    line = failed(capsys, "fit", "three.csv", "--target", "y", "--classes", "--positive", "-k", 1)
    assert "--positive is for numbers and two classes; got 3 classes" in line


def test_groups_of_columns_that_are_numbers():
    rng = np.random.default_rng(SEED)
    X = rng.standard_normal((30, 4))
    np.savez("xy.npz", X=X, y=X[:, 1] + X[:, 2])
    csv("groups.csv", {"name": [1, 2, 3, 4], "group": [7, 7, 8, 8]})
    assert cli.main(["fit", "xy.npz", "--group-by", "groups.csv", "-k", "2", "--quiet", "--table", "t.csv"]) == 0
    assert set(io.read_table("t.csv", as_text=["group"]).column("group")) == {"7", "8"}


# A target beside the matrix -------------------------------------------------------------------------------------------


def planted(rows=40):
    rng = np.random.default_rng(SEED)
    X = rng.standard_normal((rows, 4))
    return X, 2 * X[:, 1] + 5 + 0.01 * rng.standard_normal(rows)


def written(kind, X, y):
    name = f"data{kind}"
    if kind == ".npz":
        np.savez(name, X=X, y=y)
    elif kind == ".mat":
        from scipy.io import savemat

        savemat(name, {"X": X, "y": y})
    else:
        lines = [
            f"{b:.17g} " + " ".join(f"{j + 1}:{v:.17g}" for j, v in enumerate(row) if v)
            for b, row in zip(y, X, strict=True)
        ]
        with open(name, "w", encoding="utf-8") as stream:
            stream.write("\n".join(lines))
    return name


@pytest.mark.parametrize("kind", [".npz", ".mat", ".svm"])
def test_files_with_a_target_beside_predict_such_files(kind, capsys):
    X, y = planted()
    name = written(kind, X, y)
    summary, _ = told(capsys, "fit", name, "-k", 1, "--out", "m.npz")
    assert [row["name"] for row in summary["answer"]["table"]] == ["2"]
    named, _ = told(capsys, "fit", name, "--target", "y", "-k", 1)
    assert named["answer"]["table"][0] == pytest.approx(summary["answer"]["table"][0])
    (found,) = predictions("m.npz", name).values()
    np.testing.assert_allclose(found.astype(float), y, atol=0.1)
    np.save("new.npy", X)  # and those without one
    (found,) = predictions("m.npz", "new.npy").values()
    np.testing.assert_allclose(found.astype(float), y, atol=0.1)


def test_libsvm_files_end_with_the_last_column_that_is_not_zero(capsys):
    X, y = planted()
    assert cli.main(["fit", written(".svm", X, y), "-k", "1", "--out", "m.npz", "--quiet"]) == 0
    (found,) = predictions("m.npz", written(".svm", X[:, :2], y)).values()
    np.testing.assert_allclose(found.astype(float), y, atol=0.1)
    np.save("narrow.npy", X[:, :2])
    assert "must have 4 columns, as the model has; got 2" in failed(capsys, "predict", "m.npz", "narrow.npy")


def test_columns_of_sparse_matrices_are_known_by_name(capsys):
    X, y = planted()
    from scipy.io import savemat

    savemat("sparse.mat", {"X": sp.csc_array(X), "y": y})
    summary, _ = told(capsys, "fit", "sparse.mat", "-k", 1, "--out", "m.npz")
    assert [row["name"] for row in summary["answer"]["table"]] == ["2"]
    csv("new.csv", {"4": X[:, 3], "y": y, "3": X[:, 2], "2": X[:, 1], "1": X[:, 0]})
    (found,) = predictions("m.npz", "new.csv").values()
    np.testing.assert_allclose(found.astype(float), y, atol=0.1)
    assert "not for sparse matrices" in failed(capsys, "fit", "sparse.mat", "-k", 1, "--drop", "3")


def test_a_column_that_is_called_as_the_target_is_refused(capsys):
    X, y = planted()
    np.savez("names.npz", X=X, y=y, names=np.array(["a", "b", "c", "y"]))
    assert "must have no column called 'y'" in failed(capsys, "fit", "names.npz", "-k", 1)


@pytest.mark.parametrize("kind", [".npz", ".mat"])
def test_missing_values_of_matrices(kind, capsys):
    X, y = planted()
    X[3, 1] = np.nan
    name = written(kind, X, y)
    assert "1 value is missing, in '2': say --missing drop" in failed(capsys, "fit", name, "-k", 1)
    summary, _ = told(capsys, "fit", name, "-k", 1, "--missing", "drop")
    assert summary["data"]["rows"] == 39
    assert "1 of 40 rows are left out" in summary["notes"][0]
    summary, _ = told(capsys, "fit", name, "-k", 1, "--missing", "mean", "--out", "m.npz")
    assert summary["data"]["rows"] == 40
    assert np.isfinite(predictions("m.npz", name)["y"].astype(float)).all()


def test_missing_values_of_sparse_matrices_are_refused(capsys):
    X, y = planted()
    X[3, 1] = np.nan
    assert "a sparse matrix must hold finite numbers" in failed(
        capsys, "fit", written(".svm", X, y), "-k", 1, "--missing", "drop"
    )


# Predictions ----------------------------------------------------------------------------------------------------------


def test_predict_advises_what_it_has(capsys):
    X, y = planted()
    csv("data.csv", {"a": X[:, 0], "b": X[:, 1], "y": y})
    assert cli.main(["fit", "data.csv", "--target", "y", "-k", "1", "--out", "m.npz", "--quiet"]) == 0
    csv("gaps.csv", {"a": [1, 2], "b": ["", 2]})
    line = failed(capsys, "predict", "m.npz", "gaps.csv")
    assert "1 value is missing, in 'b': fill them in, or fit the model with --missing mean" in line


def test_ids_are_not_lost_for_values(capsys):
    csv("ratings.csv", ratings(np.random.default_rng(SEED)))
    assert cli.main(["complete", "ratings.csv", "--rank", "1", "--model", "m.npz", "--quiet"]) == 0
    csv("pairs.csv", {"rating": ["u0", "u1"], "film": [100, 101]})
    wanted = "ids must not stand in the column 'rating', as the values are called"
    assert wanted in failed(capsys, "predict", "m.npz", "pairs.csv")
    words = ["ratings.csv", "--rank", 1, "--predict", "pairs.csv", "--out", "p.csv"]
    assert wanted in failed(capsys, "complete", *words)
    assert not os.path.exists("p.csv")


def test_classes_are_not_lost_for_probabilities(capsys):
    rng = np.random.default_rng(SEED)
    which = np.arange(60) % 2
    data = {"x": which + 0.3 * rng.standard_normal(60), "z": rng.random(60), "p(b)": np.array(["a", "b"])[which]}
    csv("classes.csv", data)
    words = ["--target", "p(b)", "--classes", "-k", "1", "--out", "m.npz", "--quiet"]
    assert cli.main(["fit", "classes.csv", *words]) == 0
    found = predictions("m.npz", "classes.csv")
    assert [*found] == ["p(b)", "probability of a", "probability of b"]
    assert set(found["p(b)"]) == {"a", "b"}
    csv("ids.csv", {"x": [1], "probability of a": ["me"]})
    line = failed(capsys, "predict", "m.npz", "ids.csv", "--id", "probability of a")
    assert "--id must not be 'probability of a'" in line


def test_a_prediction_says_what_was_asked(capsys):
    X, y = planted()
    csv("data.csv", {"a": X[:, 0], "b": X[:, 1], "y": y})
    assert cli.main(["fit", "data.csv", "--target", "y", "-k", "1", "--out", "m.npz", "--quiet"]) == 0
    summary, _ = told(capsys, "predict", "m.npz", "data.csv", "--id", "a")
    assert summary["asked"] == {"id": "a"}
    assert {*summary["seconds"]} == {"read", "work", "write"}


# Other commands -------------------------------------------------------------------------------------------------------


def test_ranks_beyond_the_matrix_are_told(capsys):
    csv("ratings.csv", ratings(np.random.default_rng(SEED)))
    summary, _ = told(capsys, "complete", "ratings.csv", "--rank", "1,2,100", "--ridge", 1)
    assert summary["asked"]["rank"] == [1, 2, 100]
    assert summary["notes"] == ["--rank is tried up to 2: the smaller side of the matrix is 9"]


@pytest.mark.parametrize("bad", [0, 1, 30])
def test_pixels_with_gaps_are_no_failure_unless_all_have_some(bad, capsys):
    library, scene = mixtures(np.random.default_rng(SEED))
    csv("spectra.csv", library)
    scene[:bad, 0] = np.nan
    np.save("scene.npy", scene)
    summary, code = told(capsys, "unmix", "scene.npy", "--library", "spectra.csv", "-k", 2)
    assert summary["answer"]["success"] is (bad < 30)
    assert summary["answer"]["bad_pixels"] == bad
    assert code == summary["exit_code"] == int(bad == 30)


def test_spectra_have_names_of_their_own(capsys):
    library, scene = mixtures(np.random.default_rng(SEED))
    rows = np.array([*library.values()])
    np.save("scene.npy", scene)
    bands = {f"b{j}": rows[:, j] for j in range(rows.shape[1])}
    csv("spectra.csv", {"name": ["grass", "water", "grass", "sand"], **bands})
    line = failed(capsys, "unmix", "scene.npy", "--library", "spectra.csv", "-k", 2)
    assert "names of spectra must differ; 'grass' came more than once" in line
