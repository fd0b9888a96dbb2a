"""`--checkpoint FILE`: the same command goes on, and says so."""

import json
from pathlib import Path

import numpy as np
import pytest

from fewatoms import cli, ledger
from fewatoms.cli.session import Session


class Killed(BaseException):
    """What happens to a process."""


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(ledger, "EVERY", 0.0)
    rng = np.random.default_rng(1)
    X = rng.standard_normal((60, 30))
    np.savez("data.npz", X=X, y=X[:, :5] @ np.arange(1.0, 6.0) + rng.standard_normal(60))
    ratings = ["user,item,value"]
    L = rng.standard_normal((20, 2)) @ rng.standard_normal((2, 15))
    ratings += [f"u{i},i{j},{L[i, j]}" for i in range(20) for j in range(15) if rng.random() < 0.6]
    Path("ratings.csv").write_text("\n".join(ratings), encoding="utf-8")
    np.save("frames.npy", np.abs(rng.standard_normal((6, 5, 4))))
    np.save("scene.npy", np.abs(rng.standard_normal((30, 12))))
    np.save("library.npy", np.abs(rng.standard_normal((12, 8))))


COMMANDS = {
    "fit": ["fit", "data.npz", "-k", "1:6"],
    "path": ["path", "data.npz", "-k", "1:6"],
    "complete": ["complete", "ratings.csv"],
    "complete, rank": ["complete", "ratings.csv", "--rank", "1,2"],
    "split": ["split", "frames.npy"],
    "unmix": ["unmix", "scene.npy", "--library", "library.npy", "-k", "2", "--spectra", "columns"],
}


def answered(capsys, *words):
    code = cli.main([*words, "--json"])
    told = json.loads(capsys.readouterr().out)
    return code, told["answer"], told["notes"]


@pytest.mark.parametrize("name", COMMANDS)
def test_the_same_command_goes_on(name, capsys, monkeypatch):
    command, calls, look = COMMANDS[name], [], Session._look
    code, expected, _ = answered(capsys, *command)
    monkeypatch.setattr(Session, "_look", lambda session, progress: calls.append(progress))
    answered(capsys, *command)
    most = len(calls) // 2

    def kill(session, progress):
        calls.append(progress)
        if len(calls) > most:
            raise Killed

    calls.clear()
    monkeypatch.setattr(Session, "_look", kill)
    with pytest.raises(Killed):
        cli.main([*command, "--checkpoint", "run.ckpt"])
    assert Path("run.ckpt").exists()
    monkeypatch.setattr(Session, "_look", look)
    again, found, notes = answered(capsys, *command, "--checkpoint", "run.ckpt")
    assert (again, found) == (code, expected)
    assert any(note.startswith("going on from the checkpoint run.ckpt") for note in notes)


def test_another_command_is_refused_and_the_file_stays(capsys):
    assert cli.main([*COMMANDS["fit"], "--checkpoint", "run.ckpt"]) == 0
    before = Path("run.ckpt").read_bytes()
    capsys.readouterr()
    assert cli.main(["fit", "data.npz", "-k", "1:5", "--checkpoint", "run.ckpt"]) == 2
    assert "k must be as it was" in capsys.readouterr().err
    assert Path("run.ckpt").read_bytes() == before


@pytest.mark.parametrize(
    ("file", "why"),
    [
        ("data.npz", "must be a file of its own"),
        ("model.npz", "must be a file of its own"),
        ("none/run.ckpt", "must lie in a folder that is there"),
    ],
)
def test_files_that_are_none_for_it(file, why, capsys):
    assert cli.main(["fit", "data.npz", "-k", "2", "--out", "model.npz", "--checkpoint", file]) == 2
    assert why in capsys.readouterr().err


def test_what_is_no_checkpoint_is_refused(capsys):
    Path("junk.ckpt").write_text("junk", encoding="utf-8")
    assert cli.main(["fit", "data.npz", "-k", "2", "--checkpoint", "junk.ckpt"]) == 2
    assert "must be a checkpoint" in capsys.readouterr().err
    assert Path("junk.ckpt").read_text(encoding="utf-8") == "junk"
