"""Every public name has its place on a page of the API, and a docstring that numpydoc can read."""

import importlib
import re
import types

import pytest

import fewatoms
from reading import ROOT

pytest.importorskip("numpydoc", reason="numpydoc is not installed: pip install '.[docs]'")
from numpydoc.validate import validate

# Made by the library, never by hand: what they hold is described, what they are made of is not.
ANSWERS = {"Certificate", "Path", "Problem", "Progress", "Proof", "Solution", "Solutions", "Status", "Verified"}
# Their signatures are other than what is called: numpydoc sees that of __new__.
UNSEEN = {"Groups"}
ESTIMATORS = importlib.import_module("fewatoms.estimators").__all__
# Made of answers by from_solution and the like, not by their constructors; the figure of the demo is the demo's own.
DISPLAYS = sorted(set(importlib.import_module("fewatoms.display").__all__) - {"demo_figure"})


def listed():
    """Module and name of everything in the API pages."""
    found = set()
    for page in (ROOT / "docs" / "api").glob("*.rst"):
        module = None
        for line in page.read_text(encoding="utf-8").splitlines():
            if told := re.match(r"\.\. currentmodule:: (\S+)", line):
                module = told[1]
            elif module and (name := re.match(r"   (\w+)$", line)):
                found.add((module, name[1]))
    return found


def checks():
    """What docs/conf.py demands of the public names; it is read, not run, since it sets up a whole build."""
    text = (ROOT / "docs" / "conf.py").read_text(encoding="utf-8")
    sets = re.findall(r"^(?:numpydoc_validation_checks|PUBLIC_VALIDATION_CHECKS) = (.+?\})", text, flags=re.M | re.S)
    assert len(sets) == 2
    return {code for told in sets for code in re.findall(r'"([A-Z]{2}\d\d)"', told)}


def test_every_public_name_is_listed():
    named = {name for module, name in listed() if module == "fewatoms"}
    public = {name for name in fewatoms.__all__ if not isinstance(getattr(fewatoms, name), types.ModuleType)}
    assert public == named
    modules = {name for name in fewatoms.__all__ if isinstance(getattr(fewatoms, name), types.ModuleType)}
    assert {f"fewatoms.{name}" for name in modules} <= {module for module, _ in listed()}


def test_every_listed_name_exists():
    for module, name in listed():
        assert hasattr(importlib.import_module(module), name), f"{module}.{name}"


def test_all_estimators_and_displays_are_listed():
    assert {("fewatoms.estimators", name) for name in ESTIMATORS} <= listed()
    assert {("fewatoms.display", name) for name in DISPLAYS} <= listed()


def test_the_gallery_draws_with_every_display():
    scripts = [path.read_text(encoding="utf-8") for path in (ROOT / "docs" / "gallery").glob("plot_*.py")]
    for name in DISPLAYS:
        assert any(f"{name}.from_" in text for text in scripts), name
    assert sum("fewatoms.display" in text for text in scripts) > len(scripts) / 2


def test_the_index_names_all_modules():
    told = (ROOT / "docs" / "api" / "index.rst").read_text(encoding="utf-8").partition(".. toctree::")[0]
    for module in {module.partition(".")[2] for module, _ in listed()} - {""}:
        assert f"``{module}``" in told, module


@pytest.mark.parametrize(
    "name",
    [f"fewatoms.{name}" for name in sorted(set(fewatoms.__all__) - UNSEEN)]
    + [f"fewatoms.estimators.{name}" for name in ESTIMATORS]
    + [f"fewatoms.display.{name}" for name in DISPLAYS],
)
def test_docstrings(name):
    if isinstance(getattr(fewatoms, name.rpartition(".")[2], None), types.ModuleType):
        pytest.skip("a module")
    demanded = checks() - ({"PR01"} if name.rpartition(".")[2] in {*ANSWERS, *DISPLAYS} else set())
    wrong = [error for error in validate(name)["errors"] if error[0] in demanded]
    assert not wrong


def test_checks_are_set():
    assert {"PR01", "PR02", "PR03", "GL08"} <= checks()
