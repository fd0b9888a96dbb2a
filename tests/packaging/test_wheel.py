"""The wheel as others get it: built, installed where nothing else is, and used as the README says."""

import re
import sys
import zipfile
from pathlib import Path

import pytest

from packaging_environments import PROJECT, ROOT, Environment

pytestmark = pytest.mark.packaging


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    builder = Environment(folder / "builder")
    done = builder.run("-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, ROOT)
    if done.returncode and "hatchling" in done.stderr:
        pytest.skip("pip cannot get hatchling here")
    assert done.returncode == 0, done.stderr
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    made = Environment(tmp_path_factory.mktemp("clean") / "venv")
    made.install(f"{wheel}[all]")
    return made


def test_the_wheel_holds_the_package_and_its_data(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    sources = {str(p.relative_to(ROOT / "src")) for p in (ROOT / "src").rglob("*") if p.is_file()}
    sources = {name for name in sources if "__pycache__" not in name and not name.endswith(".pyc")}
    assert sources <= set(names)
    known = ("fewatoms/", f"fewatoms-{PROJECT['version']}.dist-info/")
    assert not [name for name in names if not name.startswith(known)]
    assert any(name.endswith("licenses/LICENSE") for name in names)


def test_the_command_is_there(installed, tmp_path):
    command = installed.python.parent / "fewatoms"
    assert command.is_file()
    done = installed.run("-m", "fewatoms", "--help", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "demo" in done.stdout


def test_the_demo_runs(installed, tmp_path):
    done = installed.run("-m", "fewatoms", "demo", "--figure", "demo.png", "--report", "demo.html", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Where to look next" in done.stdout
    assert (tmp_path / "demo.png").read_bytes().startswith(b"\x89PNG")
    assert "Ink and paper" in (tmp_path / "demo.html").read_text(encoding="utf-8")


def test_the_readme_runs(installed, tmp_path):
    """All blocks of Python, one after the other, as somebody would type them."""
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(encoding="utf-8"), re.S | re.M)
    assert blocks
    script = tmp_path / "readme.py"
    script.write_text("\n".join(blocks), encoding="utf-8")
    done = installed.run("-W", "error::DeprecationWarning:__main__", script, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_it_is_the_one_that_was_installed(installed, tmp_path):
    done = installed.run("-c", "import fewatoms; print(fewatoms.__file__, fewatoms.__version__)", cwd=tmp_path)
    where, version = done.stdout.split()
    assert Path(where).is_relative_to(installed.folder)
    assert version == PROJECT["version"]
    assert sys.prefix not in where
