"""`--report` on every command: one page with what the command is about, claimed before the work."""

import re

import numpy as np
import pytest

from cli.small import csv, flowers, houses, mixtures, ratings, video
from fewatoms import cli


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place, rng = tmp_path_factory.mktemp("reports"), np.random.default_rng(0)
    csv(place / "houses.csv", houses(rng))
    csv(place / "flowers.csv", flowers(rng))
    csv(place / "ratings.csv", ratings(rng))
    library, scene = mixtures(rng)
    csv(place / "spectra.csv", library)
    np.save(place / "scene.npy", scene)
    np.save(place / "video.npy", video(rng))
    return place


TABLE = ["houses.csv", "--target", "price", "--categorical", "city", "--drop", "id"]
COMMANDS = {
    "fit": (["fit", *TABLE, "-k", "2"], ["area", "What is proven, and what is not", "How it was found"]),
    "fit, chosen": (["fit", *TABLE, "-k", "1:3"], ["area", "What is proven, and what is not"]),
    "fit, huber": (["fit", *TABLE, "-k", "2", "--loss", "huber"], ["area"]),
    "path": (["path", *TABLE, "-k", "1:3"], ["area", "Every k", "All of them side by side"]),
    "path, classes": (["path", "flowers.csv", "--target", "species", "--classes", "-k", "1:2"], ["x1"]),
    "complete": (["complete", "ratings.csv", "--rank", "2"], ["u0", "Singular values", "not known"]),
    "unmix": (["unmix", "scene.npy", "--library", "spectra.csv", "-k", "2"], ["water", "grass", "A few of them"]),
    "split": (["split", "video.npy", "--rank", "1"], ["Frame", "low rank (1)", "few entries"]),
    "doctor": (["doctor"], ["numpy"]),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_writes_a_report(name, folder, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    words, told = COMMANDS[name]
    file = tmp_path / "report.html"
    assert cli.main([*words, "--report", str(file)]) in (0, 1)
    assert f"report: {file}" in capsys.readouterr().out
    text = file.read_text(encoding="utf-8")
    for word in told:
        assert word in text
    title = re.findall(r"<title>(.*?)</title>", text)[0]
    assert title == f"fewatoms {words[0]}" + (f": {words[1]}" if len(words) > 1 else "")
    assert cli.main([*words, "--report", str(file)]) == 2  # it is there already
    assert "is there already" in capsys.readouterr().err


def test_predictions_with_their_model(folder, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    model, file = tmp_path / "model.npz", tmp_path / "report.html"
    assert cli.main(["fit", *TABLE, "-k", "2", "--out", str(model), "--quiet"]) == 0
    capsys.readouterr()
    assert cli.main(["predict", str(model), "houses.csv", "--report", str(file)]) == 0
    out, err = capsys.readouterr()
    assert [float(line) for line in out.splitlines()[1:]]  # nothing but predictions
    assert f"report: {file}" in err
    text = file.read_text(encoding="utf-8")
    assert "60 rows were predicted." in text
    assert "The model: the atoms" in text
    assert cli.main(["complete", "ratings.csv", "--rank", "1", "--model", str(model), "--overwrite", "--quiet"]) == 0
    pairs = tmp_path / "pairs.csv"
    csv(pairs, {"user": ["u0", "u1"], "item": [100, 101]})
    assert cli.main(["predict", str(model), str(pairs), "--report", str(file), "--overwrite"]) == 0
    assert "2 rows were predicted." in file.read_text(encoding="utf-8")


def test_reports_are_claimed_before_the_work(folder, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    for name, told in (("report.pdf", ".html"), ("no/report.html", "folder")):
        assert cli.main(["fit", *TABLE, "-k", "2", "--report", str(tmp_path / name)]) == 2
        assert told in capsys.readouterr().err
    file = str(tmp_path / "a.html")
    assert cli.main(["path", *TABLE, "-k", "1:2", "--report", file, "--summary", file]) == 2
    assert list(tmp_path.iterdir()) == []
