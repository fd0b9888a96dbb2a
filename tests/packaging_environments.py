"""Environments of their own: made by venv, filled by pip. Where there is none, or no packages are to be had, tests are
skipped and say why."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
QUIET = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MPLBACKEND": "Agg"}


class Environment:
    """A folder with a Python of its own."""

    def __init__(self, folder):
        made = subprocess.run([sys.executable, "-m", "venv", str(folder)], capture_output=True, text=True, check=False)
        if made.returncode:
            pytest.skip(f"no virtual environment can be made here: {_last(made)}")
        self.folder = folder

    def install(self, *words):
        """By pip. Packages that are not to be had are no fault of ours; versions that do not go together are."""
        done = self.run("-m", "pip", "install", "--quiet", "--disable-pip-version-check", *words)
        if done.returncode:
            wrong = "ResolutionImpossible" in done.stderr or "conflict" in done.stderr
            assert not wrong, done.stderr
            pytest.skip(f"pip cannot install here: {_last(done)}")

    def run(self, *words, cwd=None, path=None):
        """The Python of the environment, which sees nothing of the one that runs the tests."""
        inherited = {n: v for n, v in os.environ.items() if not n.startswith(("PYTHON", "COV_", "PYTEST_"))}
        told = {**inherited, **QUIET, **({"PYTHONPATH": str(path)} if path else {})}
        command = [str(self.python), *map(str, words)]
        return subprocess.run(command, cwd=cwd or self.folder, env=told, capture_output=True, text=True, check=False)

    @property
    def python(self):
        return self.folder / ("Scripts" if os.name == "nt" else "bin") / "python"


def _last(done):
    lines = (done.stderr or done.stdout).strip().splitlines()
    return lines[-1] if lines else f"code {done.returncode}"
