"""Pairs of ids in files: which columns they are in."""

from __future__ import annotations

import pytest

from cli.small import csv
from fewatoms import cli


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    csv("ratings.csv", {"user": [1, 1, 5, 5], "item": [1, 5, 1, 5], "rating": [1.0, 2.0, 3.0, 6.0]})
    words = "--rank", "1", "--ridge", "0", "--model", "m.npz", "--quiet"
    assert cli.main(["complete", "ratings.csv", *words]) == 0


def predicted(columns, capsys):
    csv("pairs.csv", columns)
    capsys.readouterr()
    code = cli.main(["predict", "m.npz", "pairs.csv"])
    return code, capsys.readouterr()


@pytest.mark.parametrize("columns", [{"item": [1], "customer": [5]}, {"user": [5], "other": [1], "film": [2]}], ids=str)
def test_columns_of_which_one_is_known_are_refused(columns, capsys):
    code, told = predicted(columns, capsys)
    assert code == 2
    assert told.out == ""
    assert "must have the columns 'user' and 'item'; got " in told.err


@pytest.mark.parametrize("columns", [{"item": [1], "user": [5]}, {"customer": [5], "film": [1]}], ids=str)
def test_columns_are_known_by_name_or_else_by_place(columns, capsys):
    code, told = predicted(columns, capsys)
    assert code == 0
    assert float(told.out.split(",")[-1]) == pytest.approx(3.0)
