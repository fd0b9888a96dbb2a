"""Where outputs go: what is refused before the work, and what is told when printing fails."""

import os
import subprocess
import sys
from io import StringIO

import numpy as np
import pytest

from cli.small import csv, houses, video
from fewatoms import cli, io

pipes = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
FIT = ["fit", "houses.csv", "--target", "price", "-k", "2"]


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = houses(np.random.default_rng(0))
    csv("houses.csv", {name: column for name, column in table.items() if name not in ("id", "city")})
    return tmp_path


def failed(capsys, *words):
    assert cli.main([*map(str, words)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    return line


@pipes
@pytest.mark.parametrize("option", ["--table", "--out", "--summary", "--report"])
def test_pipes_are_not_replaced(option, here, capsys):
    name = {"--table": "p.csv", "--out": "p.npz", "--summary": "p.json", "--report": "p.html"}[option]
    os.mkfifo(name)
    assert "it is a pipe, a device or a socket" in failed(capsys, *FIT, option, name, "--overwrite")
    assert (here / name).is_fifo()


@pipes
@pytest.mark.parametrize(
    "call", ["fit p.csv --target y", "predict p.csv p.csv", "split p", "unmix p.csv --library p.csv -k 1"]
)
def test_pipes_are_not_waited_for(call, capsys):
    os.mkfifo("p.csv")
    os.mkdir("p")
    os.mkfifo("p/1.png")
    assert "pipe" in failed(capsys, *call.split(), *(["--rank", "1"] if "split" in call else []))


@pytest.mark.skipif(os.name == "nt", reason="who may read a file is told otherwise there")
def test_what_is_overwritten_stays_private(here):
    outputs = ["--out", "m.npz", "--table", "t.csv", "--summary", "s.json", "--report", "r.html"]
    assert cli.main([*FIT, *outputs, "--quiet"]) == 0
    for name in outputs[1::2]:
        os.chmod(name, 0o600)
    assert cli.main([*FIT, *outputs, "--quiet", "--overwrite"]) == 0
    assert {name: os.stat(name).st_mode & 0o777 for name in outputs[1::2]} == dict.fromkeys(outputs[1::2], 0o600)


def test_a_link_to_nothing_is_like_a_file(here, capsys):
    os.symlink("there.npz", "link.npz")
    assert "link.npz is there already" in failed(capsys, *FIT, "--out", "link.npz")
    assert cli.main([*FIT, "--out", "link.npz", "--overwrite", "--quiet"]) == 0
    assert (here / "link.npz").is_symlink()
    assert (here / "there.npz").is_file()
    os.symlink("nowhere/there.npz", "lost.npz")
    assert "must lie in a folder that is there" in failed(capsys, *FIT, "--out", "lost.npz", "--overwrite")


# Frames ---------------------------------------------------------------------------------------------------------------


def frames(folder):
    io.write_stack(folder, video(np.random.default_rng(0)))


def test_split_looks_at_all_its_outputs_before_the_work(here, capsys):
    frames("fr")
    assert cli.main(["split", "fr", "--rank", "1", "--out", "parts", "--quiet"]) == 0
    (here / "parts" / "foreground" / "keep.txt").write_text("mine")
    before = {p: p.stat().st_mtime_ns for p in here.rglob("*")}
    line = failed(capsys, "split", "fr", "--rank", 1, "--out", "parts", "--overwrite")
    assert "'keep.txt'" in line
    assert {p: p.stat().st_mtime_ns for p in here.rglob("*")} == before


@pytest.mark.parametrize(("data", "out"), [("fr", "fr"), ("fr", "fr/../fr"), ("parts/background", "parts")])
def test_split_does_not_write_over_its_frames(data, out, here, capsys):
    frames("fr")
    assert cli.main(["split", "fr", "--rank", "1", "--out", "parts", "--quiet"]) == 0
    before = {p: p.stat().st_mtime_ns for p in here.rglob("*")}
    line = failed(capsys, "split", data, "--rank", 1, "--out", out, "--overwrite")
    assert "--out must not be where the frames are" in line
    assert {p: p.stat().st_mtime_ns for p in here.rglob("*")} == before


def test_a_still_background_has_all_its_frames():
    frames("fr")
    assert cli.main(["split", "fr", "--rank", "1", "--out", "parts", "--format", "gif", "--quiet"]) == 0
    for part in ("background", "foreground"):
        assert len(io.read_stack(f"parts/{part}.gif").frames) == 8


# Printing -------------------------------------------------------------------------------------------------------------


class Full(StringIO):
    """Standard output that takes nothing."""

    def flush(self):
        raise OSError(28, "No space left on device")


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_a_full_standard_output_does_not_undo_files(more, here, capsys, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(sys, "stdout", Full())
        assert cli.main([*FIT, "--out", "m.npz", *more]) == 1
    assert (here / "m.npz").is_file()
    assert "standard output cannot be written (No space left on device)" in capsys.readouterr().err
    with monkeypatch.context() as patched:
        patched.setattr(sys, "stdout", Full())
        assert cli.main(["predict", "m.npz", "houses.csv"]) == 1


@pytest.mark.skipif(os.name == "nt", reason="needs a shell")
@pytest.mark.parametrize(("closed", "code"), [(">&-", 0), ("2>&-", 0), (">&- 2>&-", 0), ("1<houses.csv", 1)])
def test_closed_streams(closed, code, here):
    words = " ".join([sys.executable, "-m", "fewatoms", *FIT, "--out", "m.npz"])
    run = subprocess.run(["sh", "-c", f"{words} {closed}"], capture_output=True, text=True, timeout=60)
    assert run.returncode == code
    assert "Traceback" not in run.stderr
    assert "Exception ignored" not in run.stderr
    assert (here / "m.npz").is_file()


def test_names_do_nothing_to_a_terminal(capsys):
    rng = np.random.default_rng(0)
    x = rng.standard_normal(30)
    name = "a\x1b[31m\u202e"
    csv("names.csv", {name: x, "b": rng.standard_normal(30), "y": ["q\x1b[0m", "r"] * 15, "z": x})
    for words in (["--target", "z", "--drop", "y"], ["--target", "y", "--classes"]):
        assert cli.main(["fit", "names.csv", *words, "-k", "1", "--out", "m.npz", "--overwrite"]) in (0, 1)
        out = capsys.readouterr().out
        assert "\x1b" not in out
        assert "\u202e" not in out
    assert cli.main(["path", "names.csv", "--target", "z", "--drop", "y", "-k", "1:2", "--choose", "bic"]) == 0
    assert "\x1b" not in capsys.readouterr().out


@pytest.mark.parametrize("terminal", [False, True])
def test_predictions_are_data_unless_somebody_looks_at_them(terminal, capsys, monkeypatch):
    csv("names.csv", {"a\x1b[31m": [1, 2, 3, 5], "b": [3, 1, 2, 2], "y": [1, 2, 3, 5]})
    assert cli.main(["fit", "names.csv", "--target", "y", "-k", "1", "--out", "m.npz", "--quiet"]) == 0
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
    assert cli.main(["predict", "m.npz", "names.csv", "--id", "a\x1b[31m"]) == 0
    assert ("\x1b" in capsys.readouterr().out) is not terminal
