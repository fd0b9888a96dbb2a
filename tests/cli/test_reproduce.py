"""`fewatoms reproduce`: quickly from end to end; refusals before any work; deadlines and statements that fail."""

import builtins
import json
import os
import signal
import time

import numpy as np
import pytest

from fewatoms import cli, reproduce
from fewatoms.cli import reproduce as command
from fewatoms.reproduce.contract import Claim, Experiment, Findings


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_quick_runs_from_end_to_end_in_less_than_a_minute(here, capsys):
    """As the first example of its help says."""
    call = command.examples.splitlines()[0].split()
    assert call == ["fewatoms", "reproduce", "--quick"]
    began = time.process_time()
    assert cli.main(call[1:]) == 0
    assert time.process_time() - began < 60
    out = capsys.readouterr().out
    for one in reproduce.chosen("all"):
        assert one.title in out
    told = json.loads((here / "reproduction" / "reproduce.json").read_text())
    assert [one["name"] for one in told["experiments"]] == [one.name for one in reproduce.chosen("all")]
    assert told["settings"]["quick"] is True
    files = {p.name for p in (here / "reproduction").iterdir()}
    assert files == set(told["files"])
    for figure in (f for one in told["experiments"] for f in one["figures"]):
        assert {f"{figure['name']}.png", f"{figure['name']}.svg"} <= files
        assert len(figure["alt"]) > 40
    page = (here / "reproduction" / "index.html").read_text()
    assert page.count("<img ") == sum(len(one["figures"]) for one in told["experiments"])
    assert "https://" not in page
    assert "122 atoms instead of 113" in page


def stub(name, *, holds=True, wait=0.0):
    def run(settings, listener):
        listener.stage("begin")
        time.sleep(wait)
        listener.stage("end")
        return Findings(claims=(Claim(f"{name} is so", holds),), notes=(str(settings.seed),))

    return Experiment(name, f"Title {name}", "about", run)


def test_a_part_with_its_seed_and_summary(here, monkeypatch, capsys):
    """As the second example says."""
    monkeypatch.setitem(reproduce.PARTS, "theory", (stub("one"), stub("two")))
    call = command.examples.splitlines()[1].split()
    assert cli.main([*call[1:], "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["asked"] == {"part": "theory", "quick": False, "seed": 1, "data": None}
    assert [one["notes"] for one in told["answer"]["experiments"]] == [["1"], ["1"]]
    assert told["outputs"] == {"folder": "theory"}
    assert (here / "theory" / "index.html").is_file()


def test_a_statement_that_fails_is_told_and_is_no_success(monkeypatch, capsys):
    monkeypatch.setitem(reproduce.PARTS, "rpca", (stub("one", holds=False),))
    assert cli.main(["reproduce", "rpca"]) == 1
    assert "does not hold: one is so" in capsys.readouterr().out


def test_at_a_deadline_what_is_finished_is_written(here, monkeypatch, capsys):
    monkeypatch.setitem(reproduce.PARTS, "theory", (stub("one"), stub("two", wait=0.5), stub("three")))
    assert cli.main(["reproduce", "theory", "--deadline", "0.3s", "--json"]) == 1
    shown = capsys.readouterr()
    told = json.loads(shown.out)
    assert [one["name"] for one in told["answer"]["experiments"]] == ["one"]
    assert shown.err.count("the deadline came first") == 1
    assert "the deadline came first: 2 of 3 experiments are left out" in shown.err
    assert "2 of 3 experiments are left out" in (here / "reproduction" / "index.html").read_text()
    assert len(json.loads((here / "reproduction" / "reproduce.json").read_text())["experiments"]) == 1


def test_an_interrupt_is_told_of(here, monkeypatch, capsys):
    def interrupted(settings, listener):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.05)
        listener.stage("after")
        raise AssertionError("it went on")

    planned = (stub("one"), Experiment("two", "Two", "", interrupted), stub("three"))
    monkeypatch.setitem(reproduce.PARTS, "theory", planned)
    assert cli.main(["reproduce", "theory"]) == 130
    shown = capsys.readouterr()
    said = "Ctrl-C ended the work: 2 of 3 experiments are left out"
    assert said in shown.out
    assert said in shown.err
    assert said in (here / "reproduction" / "index.html").read_text()
    monkeypatch.setitem(reproduce.PARTS, "theory", planned[1:])  # nothing is finished: what was there stays
    before = {file.name: file.read_bytes() for file in (here / "reproduction").iterdir()}
    assert cli.main(["reproduce", "theory", "--overwrite"]) == 130
    shown = capsys.readouterr()
    assert "Ctrl-C ended the work before anything was found; nothing was written" in shown.err
    assert shown.out == ""
    assert {file.name: file.read_bytes() for file in (here / "reproduction").iterdir()} == before
    assert cli.main(["reproduce", "theory", "--out", "other"]) == 130
    assert not (here / "other").exists()


def forbid(settings, listener):
    raise AssertionError("nothing was to be run")


@pytest.fixture
def idle(monkeypatch):
    """Work that must not begin."""
    monkeypatch.setitem(reproduce.PARTS, "theory", (Experiment("one", "One", "", forbid),))


def refused(capsys, *words):
    assert cli.main(["reproduce", "theory", *map(str, words)]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    return err


@pytest.mark.usefixtures("idle")
def test_a_bad_folder_of_data_is_refused_in_one_line(here, capsys):
    assert "--data must be a folder that is there; 'nowhere' is not there" in refused(capsys, "--data", "nowhere")
    (here / "file").write_text("")
    assert "is a file" in refused(capsys, "--data", "file")
    (here / "empty").mkdir()
    assert "must have at least one of sparco_authors.npz" in refused(capsys, "--data", "empty")
    (here / "empty" / "faces_64_lights.npz").write_bytes(b"no archive")
    assert "must be a file of NumPy's" in refused(capsys, "--data", "empty")
    np.savez(here / "empty" / "faces_64_lights.npz", other=np.zeros(3))
    assert "must have the array 'faces'; it has other" in refused(capsys, "--data", "empty")
    assert not (here / "reproduction").exists()


@pytest.mark.usefixtures("idle")
def test_a_folder_that_cannot_be_written_is_refused_before_the_work(here, capsys):
    (here / "mine").mkdir()
    (here / "mine" / "thesis.txt").write_text("")
    assert "has other things in it" in refused(capsys, "--out", "mine", "--overwrite")
    assert "must lie in a folder that is there" in refused(capsys, "--out", "no/where")
    (here / "empty").mkdir()
    for word, name in (("--report", "index.html"), ("--summary", "reproduce.json")):
        assert "names of their own" in refused(capsys, "--out", "empty", word, here / "empty" / name)


@pytest.mark.usefixtures("idle")
def test_without_matplotlib_one_line_says_how_to_get_it(monkeypatch, capsys):
    real = builtins.__import__

    def guarded(name, *args, **kwargs):
        if name.split(".")[0] == "matplotlib":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", guarded)
    assert "pip install 'fewatoms[plot]'" in refused(capsys)


def test_help_has_examples_and_exit_codes(capsys):
    assert cli.main(["reproduce", "--help"]) == 0
    out = capsys.readouterr().out
    for word in ("exit codes", "130", "--quick", "--data", "--seed", "sparco_authors.npz"):
        assert word in out
