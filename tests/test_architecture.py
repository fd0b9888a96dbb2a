"""The house stays as it is drawn: imports point one way, and importing is light."""

import ast
import compileall
import subprocess
import sys
from pathlib import Path

import pytest

import fewatoms

ROOT = Path(fewatoms.__file__).parent
LAYERS = [
    {"_types"},
    {"_checks"},
    {"_loops"},
    {"linalg", "kernels", "losses", "phase"},
    {"faces"},
    {"atoms", "operators"},
    {"listed", "factored", "separated"},
    {"lowrank", "problem"},
    {"relaxations", "solution"},
    {"oracles", "retrieval", "certificates", "held_out"},
    {"fit", "testing", "datasets"},
    {"path"},
    {"demo"},
    {"display"},
    {"cli"},
]
LEVEL = {name: i for i, layer in enumerate(LAYERS) for name in layer}


def rooms_imported(path):
    """(room, imported room, whether only for types) for every import of fewatoms' own modules in a file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    typing_only = {
        id(node)
        for branch in ast.walk(tree)
        if isinstance(branch, ast.If) and "TYPE_CHECKING" in ast.dump(branch.test)
        for node in ast.walk(branch)
    }
    for node in ast.walk(tree):
        if id(node) in typing_only:
            continue
        if isinstance(node, ast.ImportFrom) and node.level == 0 and (node.module or "").split(".")[0] == "fewatoms":
            parts = (node.module or "").split(".")
            yield from [parts[1]] if len(parts) > 1 else [alias.name for alias in node.names]
        elif isinstance(node, ast.Import):
            yield from [a.name.split(".")[1] for a in node.names if a.name.startswith("fewatoms.")]


def room_of(path):
    parts = path.relative_to(ROOT).parts
    return parts[0].removesuffix(".py")


FILES = [p for p in sorted(ROOT.rglob("*.py")) if p != ROOT / "__init__.py"]


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_point_one_way(path):
    room = room_of(path)
    assert room in LEVEL, f"{room} has no place in the plan of the house"
    for other in rooms_imported(path):
        if other != room and LEVEL[other] >= LEVEL[room]:
            pytest.fail(f"{path.relative_to(ROOT)} imports {other}, which is not below {room}")


def test_atoms_and_operators_do_not_know_each_other():
    for path in FILES:
        others = set(rooms_imported(path))
        if room_of(path) == "atoms":
            assert "operators" not in others, path
        if room_of(path) == "operators":
            assert "atoms" not in others, path


SCRIPT = """
import sys, time
start = time.process_time()
import numpy, scipy.sparse.linalg
base = time.process_time() - start
start = time.process_time()
import fewatoms
print(time.process_time() - start, base)
print(",".join(sorted(set(sys.modules) & {"numba", "sklearn", "matplotlib", "dask", "rich", "pandas", "cvxpy"})))
"""


def test_importing_is_light():
    compileall.compile_dir(ROOT, quiet=1)  # as an installed package is; some machines are told not to on import
    seconds, heavy = [], set()
    for _ in range(5):
        out = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True).stdout
        times, _, names = out.partition("\n")
        ours, base = map(float, times.split())
        seconds.append((ours, base))
        heavy |= set(filter(None, names.strip().split(",")))
    assert heavy == set()
    assert min(ours for ours, _ in seconds) <= 0.15, seconds


def test_every_public_name_exists_and_is_documented():
    for name in fewatoms.__all__:
        thing = getattr(fewatoms, name)
        assert (thing.__doc__ or "").strip(), f"{name} has no docstring"


def asserts(function):
    """Whether a test function can fail on purpose: an assert, pytest.raises or fail, a checker of ours or NumPy's."""
    for node in ast.walk(function):
        if isinstance(node, ast.Assert):
            return True
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            if name.split(".")[-1].startswith(("assert_", "check_", "raises", "fail")):
                return True
    return False


def test_no_test_is_without_an_assertion():
    here = Path(__file__).parent
    idle = [
        f"{path.relative_to(here)}: {node.name}"
        for path in here.rglob("test_*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_") and not asserts(node)
    ]
    assert idle == []
