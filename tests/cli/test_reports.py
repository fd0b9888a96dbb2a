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
    "fit, chosen": (
        ["fit", *TABLE, "-k", "1:3"],
        [
            "area",
            "Every k",
            "score (cv)",
            "was chosen: the lowest root mean square error on rows left out (5 folds)",
            "path-range",
        ],
    ),
    "fit, huber": (["fit", *TABLE, "-k", "2", "--loss", "huber"], ["area"]),
    "path": (["path", *TABLE, "-k", "1:3"], ["area", "Every k", "All of them side by side"]),
    "path, classes": (["path", "flowers.csv", "--target", "species", "--classes", "-k", "1:2"], ["x1"]),
    "complete": (["complete", "ratings.csv", "--rank", "2"], ["u0", "Singular values", "not known"]),
    "unmix": (["unmix", "scene.npy", "--library", "spectra.csv", "-k", "2"], ["water", "grass", "A few of them"]),
    "split": (["split", "video.npy", "--rank", "1"], ["Frame", "low rank (1)", "few entries", "frame 1"]),
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


def reported(*words, file):
    assert cli.main([*words, "--report", str(file), "--overwrite", "--quiet"]) in (0, 1)
    return file.read_text(encoding="utf-8")


def worst(text, caption="The largest residuals"):
    """The names in the first column of a table, without numbers for readers of arrays."""
    (table,) = re.findall(rf"<caption>{caption}</caption>.*?</table>", text, flags=re.DOTALL)
    return [re.sub("<.*?>", "", cell) for cell in re.findall(r"<tr><td[^>]*>(.*?)</td>", table.split("<tbody>")[1])]


@pytest.mark.parametrize("command", [["fit", "-k", "2"], ["fit", "-k", "1:2"], ["path", "-k", "1:2"]])
def test_rows_are_told_by_their_place_in_the_file_or_their_id(command, tmp_path):
    table = houses(np.random.default_rng(0))
    area = [*map(str, table["area"])]
    for i in range(3, 40, 4):
        area[i] = ""
    outlier = np.where(np.arange(60) == 49, table["price"] + 500, table["price"])
    weights = (np.arange(60) >= 5).astype(int)
    file, page = tmp_path / "houses.csv", tmp_path / "report.html"
    csv(file, table | {"area": area, "price": outlier, "id": [f"0{i}" for i in range(60)], "w": weights})
    words = [command[0], str(file), "--target", "price", "--drop", "city", "--missing", "drop", *command[1:]]
    assert worst(reported(*words, "--drop", "id,w", file=page))[0] == "50"
    assert worst(reported(*words, "--drop", "id", "--weights", "w", file=page))[0] == "50"
    assert worst(reported(*words, "--drop", "w", "--id", "id", file=page))[0] == "049"  # as it is written


def test_pixels_have_maps_and_are_told_as_in_the_table(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(folder)
    cube = tmp_path / "cube.npy"
    np.save(cube, np.load("scene.npy").reshape(5, 6, -1))
    words = ["unmix", str(cube), "--library", "spectra.csv", "-k", "2"]
    text = reported(*words, file=tmp_path / "report.html")
    assert "Where they are" in text
    assert ">band</text>" in text
    pixels = worst(text, "Pixels; the buttons sort them")
    assert pixels[0] == "1 (row 1, column 1)"
    assert pixels[7] == "8 (row 2, column 2)"
    text = reported("unmix", "scene.npy", *words[2:], file=tmp_path / "report.html")
    assert worst(text, "Pixels; the buttons sort them")[:2] == ["1", "2"]


def test_frames_have_the_names_of_their_files(tmp_path):
    images = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    frames = tmp_path / "frames"
    frames.mkdir()
    for i, frame in enumerate(video(np.random.default_rng(0))):
        images.fromarray(frame.astype(np.uint8)).save(frames / f"frame_{i + 1:04}.png")
    text = reported("split", str(frames), "--rank", "1", "--entries", "16", file=tmp_path / "report.html")
    assert "frame 0" not in text
    assert "<h3><bdi>frame_0001.png</bdi></h3>" in text
    assert text.index('class="step"') < text.index("Few entries (16): the largest of them")
    entries = re.findall(r"<tr><td[^>]*>(.*?)</td><td[^>]*>(.*?)</td><td[^>]*>(.*?)</td>", text)
    assert {place[1:] for place in entries if "frame_0003.png" in place[0]} == {("3", "1"), ("3", "2")}


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
