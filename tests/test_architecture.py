"""The house stays as it is drawn: imports point one way, walks stay in their folders, nobody looks at classes, and
importing is light."""

import ast
import compileall
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

import fewatoms
import fewatoms as fa

ROOT = Path(fewatoms.__file__).parent
REPOSITORY = Path(__file__).parent.parent

# A room may import from the rows above its own. The contract of methods stands apart from the methods that keep it.
LAYERS = [
    {"_types", "_renamed", "memory"},
    {"_lanes"},
    {"_dense"},
    {
        "_checks",
        "_loops",
        "_nonnegative",
        "_passes",
        "alone",
        "capabilities",
        "interrupts",
        "kept",
        "rounding",
        "spread",
        "whole",
    },
    {"_backed", "_ranked", "classes", "journal"},
    {"budget", "effort", "figures", "kernels", "ledger", "losses", "names", "norms", "phase", "price", "threads"},
    {"curves", "frames", "gram", "ids", "io", "linalg", "lots", "ranking", "reduced", "sides", "words"},
    {"backed", "bars", "engines", "faces", "pages"},
    {"atoms", "operators"},
    {"candidates", "compressed", "entered", "files", "profiled", "units"},
    {"beside", "checkpoints", "ridged"},
    {"callbacks", "lowrank", "points", "problem"},
    {"doubts"},
    {"asked", "completed", "goals", "measures", "reach", "recession", "relaxations", "scoring"},
    {"evidence", "tables"},
    {"certificates", "final"},
    {"drawn"},
    {"report"},
    {"solution"},
    {"calls", "continued", "pathkept", "rows", "source", "splits"},
    {"solutions"},
    {"oracles", "retrieval", "methods.base"},
    {"records"},
    {"run"},
    {"methods"},
    {"proofs"},
    {"choosing"},
    {"datasets", "doors", "recommended"},
    {"path", "testing"},
    {"chosen", "ranks"},
    {"resumed"},
    {"_public", "demo", "estimators", "reproduce"},
    {"display"},
    {"cli"},
    {"__main__"},
]
LEVEL = {name: i for i, layer in enumerate(LAYERS) for name in layer}
FILES = [p for p in sorted(ROOT.rglob("*.py")) if p != ROOT / "__init__.py"]


def name_of(path):
    return str(path.relative_to(ROOT))


def tree_of(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def room(parts):
    """The room of a module: its first name, but for the contract of methods."""
    return "methods.base" if list(parts[:2]) == ["methods", "base"] else parts[0]


def room_of(path):
    return room(path.relative_to(ROOT).with_suffix("").parts)


def rooms_imported(path):
    """The rooms that a file imports from, other than for types."""
    tree = tree_of(path)
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
            parts = (node.module or "").split(".")[1:]
            yield from [room(parts)] if parts else [a.name for a in node.names if a.name != "__version__"]
        elif isinstance(node, ast.Import):
            yield from [room(a.name.split(".")[1:]) for a in node.names if a.name.startswith("fewatoms.")]


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_imports_point_one_way(path):
    here = room_of(path)
    assert here in LEVEL, f"{here} has no place in the plan of the house"
    for other in rooms_imported(path):
        if other != here and LEVEL[other] >= LEVEL[here]:
            pytest.fail(f"{name_of(path)} imports {other}, which is not below {here}")


def test_atoms_and_operators_do_not_know_each_other():
    for path in FILES:
        others = set(rooms_imported(path))
        if room_of(path) == "atoms":
            assert "operators" not in others, path
        if room_of(path) == "operators":
            assert "atoms" not in others, path


def test_no_family_of_methods_knows_another():
    """But for what they share; General with an oracle alone retrieves as the family does whose problem it is, and the
    best of atoms seen one by one is a problem over listed atoms, and so is a triangle in the place of many rows."""
    known = {"general": {"listed", "phases"}, "exposed": {"listed"}, "tall": {"listed"}}
    for path in (ROOT / "methods").rglob("*.py"):
        family = path.relative_to(ROOT / "methods").with_suffix("").parts[0]
        if family != "__init__":
            others = set(re.findall(r"from fewatoms\.methods\.(\w+)", path.read_text(encoding="utf-8")))
            strange = others - {family, "base", "sums", "general"} - known.get(family, set())
            assert not strange, f"{name_of(path)} imports {strange}"


# Four walks ----------------------------------------------------------------------------------------------------------


def sparse_vector(rng):
    M = rng.standard_normal((40, 80))
    return {"M": M, "b": M[:, :3].sum(axis=1) + 0.01 * rng.standard_normal(40), "atoms": fa.SignedOneHot(80), "k": 3}


def completion(rng):
    X = rng.standard_normal((20, 2)) @ rng.standard_normal((2, 15))
    rows, cols = np.nonzero(rng.random(X.shape) < 0.7)
    return {"M": fa.Sampling(rows, cols, X.shape), "b": X[rows, cols], "atoms": fa.RankOne(20, 15), "k": 2}


def robust_pca(rng):
    X = rng.standard_normal((20, 2)) @ rng.standard_normal((2, 15))
    X.flat[rng.choice(X.size, 10, replace=False)] += 5.0
    return {"M": fa.Identity(X.shape), "b": X, "atoms": fa.RankOne(20, 15) + fa.SignedOneHot(X.shape), "k": (2, 10)}


def phases(rng):
    A = rng.standard_normal((60, 8)) + 1j * rng.standard_normal((60, 8))
    x = rng.standard_normal(8) + 1j * rng.standard_normal(8)
    return {"M": fa.Quadratic(A), "b": abs(A @ x) ** 2, "atoms": fa.PSDRankOne(8), "k": 1}


def files_entered(function):
    """The files of the package whose functions are called, in order."""
    entered = {}

    def look(frame, event, _):
        if event == "call":
            entered.setdefault(frame.f_code.co_filename)

    sys.setprofile(look)
    try:
        function()
    finally:
        sys.setprofile(None)
    return [Path(f).relative_to(ROOT) for f in entered if Path(f).is_relative_to(ROOT)]


@pytest.mark.parametrize(
    ("case", "folder"),
    [(sparse_vector, "listed"), (completion, "lowrank"), (robust_pca, "separation"), (phases, "phases")],
    ids=lambda v: getattr(v, "__name__", v),
)
def test_each_walk_stays_in_its_folder(case, folder):
    """Methods are asked in turn: of those that a problem is not for, nothing runs but `open` and what that asks."""
    asked = case(np.random.default_rng(0))
    method = next(m for m in fa.methods.METHODS if type(m).__module__ == f"fewatoms.methods.{folder}")
    entered = files_entered(lambda: fa.fit(asked.pop("M"), asked.pop("b"), **asked, method=method))
    rooms = {path.parts[1] for path in entered if path.parts[0] == "methods" and len(path.parts) > 2}
    assert rooms == {folder}


def test_the_default_takes_these_ways():
    for case, folder in (
        (sparse_vector, "listed"),
        (completion, "lowrank"),
        (robust_pca, "separation"),
        (phases, "phases"),
    ):
        asked = case(np.random.default_rng(0))
        entered = files_entered(lambda asked=asked: fa.fit(asked.pop("M"), asked.pop("b"), **asked))
        assert Path("methods", folder, "__init__.py") in entered
        assert len([path for path in entered if path.parts[:2] == ("methods", folder)]) >= 2


def test_the_walks_name_files_that_are_there():
    text = (REPOSITORY / "docs" / "architecture.md").read_text(encoding="utf-8")
    walks = re.findall(r"^\*\*[\w ]+\*\*: (.*?)\.\n\n", text, flags=re.MULTILINE | re.DOTALL)
    assert len(walks) == 4
    for walk in walks:
        files = re.findall(r"`([\w/]+\.py)`", walk)
        assert len(files) == len(set(files)) <= 6
        folder = next(Path(f).parent for f in files if f.startswith("methods/"))
        for file in files:
            assert (ROOT / file).exists() or (ROOT / folder / file).exists(), file


# Nobody looks at classes ---------------------------------------------------------------------------------------------

# Where user input is read, and the one door of capabilities.
DOORS = {
    "_checks.py",
    "_renamed.py",
    "atoms/named.py",
    "capabilities.py",
    "classes.py",
    "cli/summary.py",
    "estimators",
    "files.py",
    "ids.py",
    "frames.py",
    "io",
    "kept.py",
    "testing",
    "datasets",
    "operators/boxes.py",
    "operators/sources.py",
}
READERS = {
    "as_operator", "as_map", "beside", "spread", "price", "of", "posed", "_way", "scaled", "__add__", "__or__", "ks_of",
    "__init__", "__post_init__", "_checked", "engine_of", "on_disk",
}  # fmt: skip


def questions(path):
    """Questions about concrete classes in a file, as (line, text), outside functions that read user input."""
    tree = tree_of(path)
    inside = {
        id(node): function.name
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef)
        for node in ast.walk(function)
    }
    for node in ast.walk(tree):
        if inside.get(id(node)) in READERS:
            continue
        called = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
        compared = ast.unparse(node.left) if isinstance(node, ast.Compare) else ""
        if (
            called in {"isinstance", "issubclass", "getattr", "hasattr", "singledispatch"}
            or compared.startswith("type(")
            or isinstance(node, ast.MatchClass)
            or (isinstance(node, ast.ExceptHandler) and node.type and "AttributeError" in ast.unparse(node.type))
            or (isinstance(node, ast.Attribute) and node.attr.startswith("singledispatch"))
        ):
            yield node.lineno, ast.unparse(node).splitlines()[0]


def test_few_questions_about_classes():
    asked = [
        f"{name_of(path)}:{line} {text}"
        for path in FILES
        if not {name_of(path), path.relative_to(ROOT).parts[0]} & DOORS
        for line, text in questions(path)
    ]
    assert len(asked) <= 80, "\n".join(asked)


def test_nobody_looks_inside_an_operator():
    for path in FILES:
        if room_of(path) != "operators":
            found = re.findall(r"\b(?:M|operator|measured|outer)\.inner\b", path.read_text(encoding="utf-8"))
            assert not found, name_of(path)


def test_types_are_said():
    text = {name_of(path): path.read_text(encoding="utf-8") for path in FILES}
    assert sum(len(re.findall(r"\bAny\b", t)) for t in text.values()) <= 150
    assert sum(t.count("type: ignore") for t in text.values()) <= 15


def test_files_and_functions_stay_small():
    long = [name_of(path) for path in FILES if len(path.read_text(encoding="utf-8").splitlines()) > 400]
    for path in FILES:
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.FunctionDef):
                described = node.body[0].end_lineno - node.body[0].lineno + 1 if ast.get_docstring(node) else 0
                if node.end_lineno - node.lineno + 1 - described > 50:
                    long.append(f"{name_of(path)}: {node.name}")
    assert long == []


def test_one_value_for_each_name_of_a_constant():
    values = defaultdict(set)
    for path in FILES:
        for node in tree_of(path).body:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id.isupper():
                values[node.targets[0].id].add(ast.unparse(node.value))
    assert {name: found for name, found in values.items() if len(found) > 1} == {}


# Light ---------------------------------------------------------------------------------------------------------------

SCRIPT = """
import sys, time
start = time.process_time()
import numpy, scipy.sparse.linalg
base = time.process_time() - start
start = time.process_time()
import fewatoms
fewatoms.fit
print(time.process_time() - start, base)
heavy = {"numba", "sklearn", "matplotlib", "dask", "rich", "pandas", "polars", "pyarrow", "cvxpy"}
print(",".join(sorted(set(sys.modules) & heavy)))
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
    # beside NumPy and SciPy, which a slow or busy machine slows down as well
    assert any(ours <= max(0.2, 0.6 * base) for ours, base in seconds), seconds


def test_every_public_name_exists_and_is_documented():
    for name in fewatoms.__all__:
        thing = getattr(fewatoms, name)
        assert (thing.__doc__ or "").strip(), f"{name} has no docstring"


# Tests ---------------------------------------------------------------------------------------------------------------


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
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_") and not asserts(node)
    ]
    assert idle == []


ALONE = """
import importlib, sys
for name in sys.argv[1:]:
    for known in [key for key in sys.modules if key.split(".")[0] == "fewatoms"]:
        del sys.modules[known]
    importlib.import_module(name)
"""


def test_rooms_can_be_entered_one_by_one():
    """Names are imported when they are asked for, so that any room may be the first."""
    names = [f"fewatoms.{room}" for room in sorted({room_of(path) for path in FILES} - {"__main__", "estimators"})]
    done = subprocess.run([sys.executable, "-c", ALONE, *names], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_public_names_come_when_asked_for():
    script = "import sys, fewatoms; print('numpy' in sys.modules); from fewatoms import *; print(fit, SignedOneHot)"
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert out.startswith("False\n<function fit")
    assert set(fa.__all__) <= set(dir(fa))
    with pytest.raises(AttributeError, match="has no attribute 'nothing_of_the_kind'"):
        _ = fa.nothing_of_the_kind
