"""`fewatoms fit --prove`: what is proven of all other columns, in lines, in the summary and in the report."""

import json
import re
import signal
from pathlib import Path

import numpy as np
import pytest

import fewatoms as fa
from cli.small import csv, flowers, houses, sensors
from fewatoms import cli
from fewatoms.proofs import families
from prove import compiled
from prove.twin import Exhaustive, OneByOne


@pytest.fixture(autouse=True, scope="module")
def machine_code():
    compiled.make()


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    csv("houses.csv", houses(rng))
    csv("flowers.csv", flowers(rng))
    csv("sensors.csv", sensors(rng))
    X = rng.standard_normal((50, 9))
    y = X[:, [1, 4, 6]] @ [1.0, -2.0, 1.5] + 0.5 * rng.standard_normal(50)
    csv("table.csv", {**{f"x{j}": X[:, j] for j in range(9)}, "y": y})


TABLE = ["fit", "table.csv", "--target", "y", "-k", "3", "--ridge", "0.1"]


def told(capsys, *words):
    code = cli.main([*words, "--json"])
    return json.loads(capsys.readouterr().out), code


def test_it_is_told_in_lines(capsys):
    assert cli.main([*TABLE, "--prove", "30s"]) == 0
    out = capsys.readouterr().out
    found = re.search(
        r"Proven: no choice of 3 of the 9 features has an objective below ([\d.,]+); ours is ([\d.,]+)", out
    )
    low, high = (float(text.replace(",", "")) for text in found.groups())
    assert low <= high <= low * (1 + 2e-4)
    assert "proven to 1e-4. " in out


def test_it_is_in_the_summary(capsys):
    summary, code = told(capsys, *TABLE, "--prove", "30s")
    proof = summary["answer"]["proof"]
    assert code == 0
    assert proof["proven"]
    assert 0 <= proof["gap"] <= proof["asked"] == 1e-4
    assert proof["lower"] <= summary["answer"]["certificate"]["objective"] <= proof["upper"]
    assert proof["ended"] == "proven"
    assert proof["words"].startswith("Proven: no choice")
    without, _ = told(capsys, *TABLE)
    assert without["answer"]["proof"] is None


def test_every_field_has_its_line_in_the_page_of_the_summary(capsys):
    page = (Path(__file__).parents[2] / "docs" / "summary-schema.md").read_text(encoding="utf-8")
    summary, _ = told(capsys, *TABLE, "--prove", "30s")
    for name in summary["answer"]["proof"]:
        assert f"`{name}`" in page, name


def test_models_remember_it(capsys):
    assert cli.main([*TABLE, "--prove", "30s", "--out", "model.npz"]) == 0
    model = fa.load("model.npz")
    assert model.certificate.decided.proven
    assert "Proven: no choice of 3 of the 9 features" in str(model.certificate)
    assert cli.main(["predict", "model.npz", "table.csv", "--out", "p.csv"]) == 0


def test_it_is_in_the_report(capsys):
    assert cli.main([*TABLE, "--prove", "30s", "--report", "r.html"]) == 0
    text = Path("r.html").read_text(encoding="utf-8")
    assert "Proven: no choice of 3 of the 9 features" in text
    assert "All other choices were looked at" in text
    assert "it lies between the curves" in text
    assert "Not proven" not in text.split("What is proven, and what is not")[-1]


def test_of_a_number_that_was_chosen(capsys):
    words = ["fit", "table.csv", "--target", "y", "-k", "1:4", "--ridge", "0.1", "--prove", "30s", "--report", "r.html"]
    summary, code = told(capsys, *words)
    k = summary["answer"]["choice"]["k"]
    assert code == 0
    assert f"no choice of {k} of the 9 features" in summary["answer"]["proof"]["words"]
    text = Path("r.html").read_text(encoding="utf-8")
    assert f"Proven: no choice of {k} of the 9 features" in text
    assert "Every k" in text


@pytest.mark.parametrize(
    ("words", "noun"),
    [
        (["houses.csv", "--target", "price", "--categorical", "city", "--drop", "id", "-k", "2"], "groups"),
        (["flowers.csv", "--target", "species", "--classes", "-k", "2"], "features"),
        (["sensors.csv", "--target", "load", "-k", "2", "--group-by", "_"], "groups"),
        (["sensors.csv", "--target", "load", "-k", "2", "--loss", "huber"], "features"),
        (["table.csv", "--target", "y", "-k", "2", "--positive"], "features"),
    ],
)  # fmt: skip
def test_of_every_kind(words, noun, capsys):
    summary, code = told(capsys, "fit", *words, "--ridge", "0.1", "--prove", "60s")
    assert code == 0, summary["answer"]["proof"]
    assert summary["answer"]["proof"]["proven"]
    assert noun in summary["answer"]["proof"]["words"]


def test_an_open_proof_is_no_success(capsys, monkeypatch):
    monkeypatch.setattr(families, "PROVERS", (Exhaustive(most=3),))
    summary, code = told(capsys, *TABLE, "--prove", "30s")
    assert code == summary["exit_code"] == 1
    assert not summary["answer"]["proof"]["proven"]
    assert summary["answer"]["success"]  # of the fit
    assert "Not proven: that no other choice of 3 of the 9 features" in summary["answer"]["proof"]["words"]


def test_ctrl_c_and_deadlines(capsys, monkeypatch):
    monkeypatch.setattr(families, "PROVERS", (Exhaustive(),))
    before = OneByOne.dual

    def pressed(self, some):
        signal.raise_signal(signal.SIGINT)
        return before(self, some)

    monkeypatch.setattr("fewatoms.ledger.EVERY", 0.0)
    monkeypatch.setattr(OneByOne, "dual", pressed)
    summary, code = told(capsys, *TABLE, "--prove", "30s")
    assert code == 130
    assert summary["interrupted"]
    assert summary["answer"]["proof"]["ended"] == "interrupt"
    monkeypatch.setattr(OneByOne, "dual", before)
    summary, code = told(capsys, *TABLE, "--prove", "30s", "--deadline", "0.0000001s")
    assert code == 1
    assert summary["answer"]["proof"] is None
    assert "the proof was not begun" in summary["notes"]


def test_it_goes_with_a_number_of_columns(capsys):
    assert cli.main(["fit", "table.csv", "--target", "y", "--misfit", "0.5", "--prove", "10s"]) == 2
    assert "--prove is about a number of columns: with --misfit give -k as well" in capsys.readouterr().err
    assert cli.main([*TABLE, "--misfit", "0.9", "--prove", "10s"]) in (0, 1)
    assert cli.main([*TABLE, "--prove", "0"]) == 2
    assert "argument --prove: must be a time such as 60s" in capsys.readouterr().err


def test_a_checkpoint_is_of_the_fit_alone(capsys):
    words = [*TABLE, "--prove", "30s", "--checkpoint", "c.ckpt"]
    first, code = told(capsys, *words)
    again, _ = told(capsys, *words)
    assert code == 0
    assert again["answer"]["proof"]["lower"] == first["answer"]["proof"]["lower"]
