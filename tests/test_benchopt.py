"""The folders in benchopt's form run as they stand: everybody who is installed answers, and no answer cheats."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "benchmarks" / "benchopt"
ALWAYS = {
    "smallest_misfit": ["fewatoms", "OMP", "lasso path"],
    "completion": ["fewatoms", "repeated SVD", "column means"],
}
DATA = {"smallest_misfit": "diabetes[k=5]", "completion": "sea_temperatures[seed=0]"}

there = pytest.mark.skipif(importlib.util.find_spec("benchopt") is None, reason="benchopt is not installed")


@there
@pytest.mark.parametrize("name", ALWAYS)
def test_a_folder_runs(name, tmp_path):
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    copy = tmp_path / name  # benchopt writes beside what it runs
    shutil.copytree(FOLDER / name, copy)
    solvers = [word for who in ALWAYS[name] for word in ("-s", who)]
    words = ["--n-repetitions", "1", "--max-runs", "1", "--timeout", "60", "--no-plot", "--no-html"]
    command = [sys.executable, "-m", "benchopt", "run", str(copy), "-d", DATA[name], *solvers, *words]
    told = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "BENCHOPT_CHECK_NO_UPDATE": "1", "HOME": str(tmp_path)}
    done = subprocess.run(command, env=told, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (file,) = (copy / "outputs").glob("*.parquet")
    rows = pandas.read_parquet(file)
    value = rows.groupby(rows["solver_name"].str.partition("[")[0])["objective_value"].min()
    assert set(value.index) == set(ALWAYS[name])
    assert value.notna().all()
    assert value["fewatoms"] <= value.min() * (1 + 1e-9)


def test_every_file_says_what_benchopt_asks_for():
    for name in ALWAYS:
        assert (FOLDER / name / "objective.py").is_file()
        for kind, word in (("datasets", "class Dataset(BaseDataset)"), ("solvers", "class Solver(BaseSolver)")):
            files = sorted((FOLDER / name / kind).glob("*.py"))
            assert len(files) >= 2
            assert all(word in file.read_text(encoding="utf-8") for file in files)
