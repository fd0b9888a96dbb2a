"""Help is there at once, and its examples run."""

import json
import os
import shlex
import subprocess
import sys
import time

import pytest

from cli.small import write_all
from fewatoms import cli
from fewatoms.cli import complete, doctor, fit, path, predict, split, unmix

COMMANDS = (fit, path, predict, complete, unmix, split, doctor)  # the demo has tests of its own


def calls(text):
    """The command lines of a help text."""
    return [line.strip() for line in text.splitlines() if line.startswith("  fewatoms ")]


EXAMPLES = [call for text in (cli.EXAMPLES, *(module.examples for module in COMMANDS)) for call in calls(text)]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    write_all(folder)
    return folder


@pytest.fixture
def here(files, tmp_path, monkeypatch):
    """A folder of its own for each call, with all files in it."""
    for file in files.iterdir():
        os.symlink(file, tmp_path / file.name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("call", sorted(set(EXAMPLES)))
def test_examples_run(call, here, capsys):
    before = {p.name for p in here.iterdir()}
    words = shlex.split(call)[1:]
    assert cli.main(words) == 0
    shown = capsys.readouterr()
    assert shown.out
    assert "error" not in shown.err
    outputs = [words[i + 1] for i, w in enumerate(words) if w in ("--out", "--table", "--plot", "--model", "--summary")]
    assert {p.name for p in here.iterdir()} - before == {*outputs}


@pytest.mark.parametrize("module", COMMANDS, ids=lambda module: module.__name__.rpartition(".")[2])
def test_every_help_has_examples_and_exit_codes(module, capsys):
    name = module.__name__.rpartition(".")[2]
    assert cli.main([name, "--help"]) == 0
    out = capsys.readouterr().out
    assert out.count("\n  fewatoms ") == len(calls(module.examples)) >= 2
    for word in ("exit codes", "130", "--quiet", "--json", "--deadline", "--overwrite", "--debug"):
        assert word in out


SCRIPT = """
import sys
sys.argv = ["/usr/bin/fewatoms", *sys.argv[1:]]
from fewatoms.cli import main
code = main()
heavy = {"numpy", "scipy", "numba", "pyarrow", "rich", "sklearn"} & set(sys.modules)
print(*sorted(heavy), file=sys.stderr)
sys.exit(code)
"""


@pytest.mark.parametrize("words", [["--help"], ["fit", "--nonsense"]], ids=" ".join)
def test_nothing_heavy_is_imported_before_a_command_is_known(words):
    began = time.process_time()
    run = subprocess.run([sys.executable, "-c", SCRIPT, *words], capture_output=True, text=True, timeout=60)
    assert run.returncode == (2 if "--nonsense" in words else 0)
    assert run.stderr.splitlines()[-1] == ""
    assert time.process_time() - began < 5


def test_the_command_finds_all_public_names(tmp_path):
    """It puts them off, and has them when a command runs."""
    run = subprocess.run([sys.executable, "-c", SCRIPT, "doctor", "--json"], capture_output=True, text=True, timeout=60)
    assert run.returncode == 0
    assert json.loads(run.stdout)["command"] == "doctor"


def test_python_dash_m(tmp_path):
    run = subprocess.run([sys.executable, "-m", "fewatoms", "--version"], capture_output=True, text=True, timeout=60)
    assert run.returncode == 0
    assert run.stdout.startswith("fewatoms 0.")
