"""The command line as a newcomer meets it."""

import builtins

import pytest

from fewatoms import cli
from fewatoms.cli import demo


def test_demo_prints_a_table_and_draws(tmp_path, capsys, monkeypatch):
    """As the second example of its help says."""
    monkeypatch.chdir(tmp_path)
    figure = tmp_path / "demo.png"
    call = demo.examples.splitlines()[1].split()
    assert call[:2] == ["fewatoms", "demo"]
    assert cli.main(call[1:]) == 0
    out = capsys.readouterr().out
    for word in ("job", "atoms", "misfit", "products", "Ink and paper", "bmi", "Where to look next"):
        assert word in out
    assert "optimum" not in out  # the report tells what is proven, and what that is worth
    page = (tmp_path / "demo.html").read_text(encoding="utf-8")
    for word in ("Diabetes", "Sea temperatures", "Ink and paper", "bmi x bp", "What is proven"):
        assert word in page
    assert figure.read_bytes().startswith(b"\x89PNG")


def without(monkeypatch, *missing):
    real = builtins.__import__

    def guarded(name, *args, **kwargs):
        if name.split(".")[0] in missing:
            raise ImportError(f"No module named {name!r}")
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", guarded)


def test_demo_without_extras_still_tells_everything(monkeypatch, capsys):
    """As the first example says."""
    without(monkeypatch, "rich")
    call = demo.examples.splitlines()[0].split()
    assert cli.main(call[1:]) == 0
    captured = capsys.readouterr()
    assert "Sea temperatures" in captured.out
    assert captured.err.count("done:") == 3


def test_figure_without_matplotlib_is_refused_before_any_work(monkeypatch, capsys):
    without(monkeypatch, "matplotlib")
    assert cli.main(["demo", "--figure", "x.png"]) == 2
    assert "fewatoms[plot]" in capsys.readouterr().err


def test_no_command_is_an_error():
    assert cli.main([]) == 2


@pytest.mark.parametrize(
    ("name", "told"), [("x.foo", "must end in one of .png"), ("nowhere/x.png", "must lie in a folder")]
)
def test_a_figure_that_cannot_be_drawn_is_refused_before_the_work(name, told, tmp_path, capsys):
    assert cli.main(["demo", "--figure", str(tmp_path / name)]) == 2
    shown = capsys.readouterr()
    assert told in shown.err
    assert shown.out == ""
