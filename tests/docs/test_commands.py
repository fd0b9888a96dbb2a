"""Command lines on the pages are understood: those of fewatoms by its parser, those of make by the Makefile."""

import re
import shlex

import pytest

from fewatoms.cli import _parser
from reading import ROOT

PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "benchmarks/README.md")] + sorted(
    path for path in (ROOT / "docs").rglob("*.md") if "_build" not in path.parts and path.name != "changes.md"
)
ALONE = re.compile(r"^    (fewatoms .+)$", flags=re.M)
INLINE = re.compile(r"`(fewatoms [^`]+)`")
MAKE = re.compile(r"(?:^    |`)make ([a-z]+)", flags=re.M)


def prose(path):
    """A page without its fenced blocks, which other tests run."""
    return re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.S)


def commands(path):
    """Command lines that stand alone, and those in the prose that are whole: two words may only name a command."""
    text = prose(path)
    inline = [" ".join(one.split()) for one in INLINE.findall(text)]
    whole = [one for one in inline if len(one.split()) > 2 and not re.search(r"\b[A-Z]{2,}\b", one)]
    return [re.sub(r"\s+#.*$", "", one) for one in ALONE.findall(text)] + whole


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_commands_are_understood(path, capsys):
    for line in commands(path):
        assert not refused(line), f"{path.name}: {line}\n{capsys.readouterr().err}"


def refused(line):
    """The exit code with which argparse gives up; 0 where it does not, or has been asked for help."""
    try:
        _parser().parse_args(shlex.split(line)[1:])
    except SystemExit as end:
        return end.code
    return 0


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_what_is_made_is_in_the_makefile(path):
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.M))
    assert set(MAKE.findall(prose(path))) <= targets


def test_command_lines_are_found():
    found = [line for path in PAGES for line in commands(path)]
    assert len(found) >= 12
    assert refused("fewatoms fit houses.csv --targets price")
    assert {"fit", "predict", "complete", "unmix", "split", "reproduce"} <= {line.split()[1] for line in found}
    assert sum(len(MAKE.findall(prose(path))) for path in PAGES) >= 15
