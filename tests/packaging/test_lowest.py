"""The lowest versions that pyproject admits, all at once: they go together, and the core of the suite holds."""

import re

import pytest

from packaging_environments import PROJECT, ROOT, Environment

pytestmark = pytest.mark.packaging

# Of the extra `test`, what the core needs
TOOLS = ("pytest", "hypothesis", "pylops", "PyWavelets", "pandas", "polars", "pyarrow")
CORE = (
    "tests/contracts", "tests/losses", "tests/test_doors.py", "tests/test_files.py", "tests/test_frames.py",
    "tests/test_path.py", "tests/datasets", "tests/io", "tests/estimators/test_regression.py", "tests/display",
    "-k", "not conic_program",
)  # fmt: skip
# Old packages beside new ones warn of what has changed between them: that is not about us.
OLD = ("-W", "ignore::DeprecationWarning", "-W", "ignore::FutureWarning")


def demands(extra=None):
    """What pyproject asks for, with its extras of itself resolved."""
    listed = PROJECT["dependencies"] if extra is None else PROJECT["optional-dependencies"][extra]
    found = []
    for one in listed:
        own = re.fullmatch(r"fewatoms\[(.+)\]", one)
        found += [d for e in own[1].split(",") for d in demands(e)] if own else [one]
    return found


def lowest(demand):
    name, bound = re.fullmatch(r"([A-Za-z0-9_.-]+)>=([0-9.]+)", demand).groups()
    return f"{name}=={bound}"


def chosen():
    tools = [d for d in demands("test") if re.split(">=", d)[0] in TOOLS]
    return sorted({lowest(d) for d in [*demands(), *demands("all"), *tools]})


def test_every_demand_has_one_lower_bound():
    names = [demand.split("==")[0].lower() for demand in chosen()]
    assert len(set(names)) == len(names)
    assert {"numpy", "scipy", "numba", "scikit-learn", "pandas", "polars", "pyarrow"} <= set(names)


def test_the_core_holds_with_the_lowest_versions(tmp_path):
    made = Environment(tmp_path / "venv")
    made.install(*chosen())
    words = ["-q", "-p", "no:cacheprovider", "--thin", "30", "-m", "not soak and not pages and not packaging"]
    done = made.run("-m", "pytest", *words, *OLD, *CORE, cwd=ROOT, path=ROOT / "src")
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    passed = re.search(r"(\d+) passed", done.stdout)
    assert int(passed[1]) >= 200, done.stdout[-1000:]
