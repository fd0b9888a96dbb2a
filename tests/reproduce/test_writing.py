"""Files: tables that are read back, figures in two kinds, a page that needs nothing else; folders are respected."""

import csv
import json
import re

import pytest

from fewatoms.io import Refused
from fewatoms.reproduce import page, writing
from fewatoms.reproduce.contract import Claim, Drawing, Experiment, Findings, Settings, Table
from fewatoms.reproduce.writing import Done


def draw(figure):
    figure.subplots().plot([1, 2], [3, 4])


def finding(name="one", rows=((1, None, "a<b"), (2, 0.5, "c"))):
    table = Table(f"{name}_table", "A <table>", ("n", "value", "word"), rows, ("value",), "Table 3")
    points = Table(f"{name}_points", "", ("x",), [[1.0], [float("nan")]])
    drawing = Drawing(name, "A figure", 'a "line" & more', draw, points, (3, 2))
    return Findings((table,), (drawing,), (Claim("true", True), Claim("false", False)), ("note <this>",))


def done(name="one"):
    return Done(Experiment(name, f"Title {name}", "about", lambda s, t: None), finding(name), 1.234)


def test_all_kinds_of_files(tmp_path):
    names = writing.write(tmp_path / "out", Settings(seed=5), [done()])
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == names
    with open(tmp_path / "out" / "one_table.csv", newline="") as file:
        assert list(csv.reader(file)) == [["n", "value", "word"], ["1", "", "a<b"], ["2", "0.5", "c"]]
    assert (tmp_path / "out" / "one.png").read_bytes().startswith(b"\x89PNG")
    assert b"<svg" in (tmp_path / "out" / "one.svg").read_bytes()
    told = json.loads((tmp_path / "out" / "reproduce.json").read_text())
    assert told["settings"] == {"seed": 5, "quick": False, "data": False}
    assert told["versions"]["numpy"]
    assert told["machine"]["cores"]
    assert told["files"] == names
    (experiment,) = told["experiments"]
    assert [claim["holds"] for claim in experiment["claims"]] == [True, False]
    assert experiment["tables"][1]["rows"] == [[1.0], [None]]


def test_figures_are_the_same_each_time():
    first, second = writing.drawn(finding().figures[0]), writing.drawn(finding().figures[0])
    assert first == second


def test_the_page_needs_nothing_else(tmp_path):
    writing.write(tmp_path / "out", Settings(), [done(), done("two")])
    text = (tmp_path / "out" / "index.html").read_text()
    assert "<script" not in text
    assert 'http-equiv="Content-Security-Policy" content="default-src \'none\'' in text
    assert 'name="viewport"' in text
    assert "prefers-color-scheme: dark" in text
    sources = re.findall(r'(?:src|href)="([^"]*)"', text)
    assert all(s.startswith(("data:image/png;base64,", "#")) for s in sources)
    assert not re.search(r"url\(|@import|https?://", text)
    images = re.findall(r"<img [^>]*>", text)
    assert len(images) == 2
    assert all("a &quot;line&quot; &amp; more" in image for image in images)
    assert "A &lt;table&gt;" in text
    assert "a&lt;b" in text
    assert "note &lt;this&gt;" in text
    assert "2 of 4 statements" in text
    assert text.count("does not hold") == 2
    assert text.count('class="told"') >= 2 * 3


def test_the_page_has_landmarks_and_prints(tmp_path):
    writing.write(tmp_path / "out", Settings(), [done()])
    text = (tmp_path / "out" / "index.html").read_text()
    for word in ("header", "main", "footer"):
        assert text.count(f"<{word}>") == text.count(f"</{word}>") == 1
    assert "@media print" in text
    inside = text[text.index("<body>") : text.index("</body>")]
    outside = re.sub(r"<(header|nav|main|footer)\b.*?</\1>", "", inside, flags=re.DOTALL)
    assert outside.replace("<body>", "").strip() == ""


def test_a_page_of_work_that_was_cut_short_says_so(tmp_path):
    writing.write(tmp_path / "out", Settings(), [], "Ctrl-C ended the work: 3 of 3 experiments are left out")
    text = (tmp_path / "out" / "index.html").read_text()
    assert "Ctrl-C ended the work: 3 of 3 experiments are left out." in text
    assert "0 of 0" not in text
    assert "No statement was checked." in text
    assert json.loads((tmp_path / "out" / "reproduce.json").read_text())["cut_short"].startswith("Ctrl-C")


def test_cells_for_readers():
    assert [page.shown(c) for c in (None, True, False, 1888, 0.123456, 1e-9, "x")] == [
        "–", "yes", "no", "1888", "0.1235", "1e-09", "x",
    ]  # fmt: skip


def test_folders_are_respected(tmp_path):
    assert writing.claim(tmp_path / "new", overwrite=False) == tmp_path / "new"
    assert not (tmp_path / "new").exists()
    with pytest.raises(Refused, match="must lie in a folder that is there"):
        writing.claim(tmp_path / "no" / "new", overwrite=False)
    (tmp_path / "file").write_text("")
    with pytest.raises(Refused, match="must be a folder; it is a file"):
        writing.claim(tmp_path / "file", overwrite=True)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("")
    with pytest.raises(Refused, match="has other things in it"):
        writing.claim(tmp_path / "mine", overwrite=True)
    writing.write(tmp_path / "out", Settings(), [done()])
    with pytest.raises(Refused, match="is there already: choose another name, or say --overwrite"):
        writing.claim(tmp_path / "out", overwrite=False)
    assert writing.claim(tmp_path / "out", overwrite=True)


def test_what_an_earlier_run_left_is_replaced_and_nothing_else(tmp_path):
    writing.write(tmp_path / "out", Settings(), [done(), done("old")])
    (tmp_path / "out" / "own.csv").write_text("mine")
    names = writing.write(tmp_path / "out", Settings(), [done()])
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == sorted([*names, "own.csv"])
