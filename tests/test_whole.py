"""Files are written whole or not at all."""

from __future__ import annotations

import os

import pytest

from fewatoms.whole import replacing


def test_what_is_written_takes_the_place(tmp_path):
    target = tmp_path / "answer.txt"
    target.write_text("old")
    with replacing(target) as beside:
        with open(beside, "x", encoding="utf-8") as stream:
            stream.write("new")
        assert target.read_text() == "old"
    assert target.read_text() == "new"
    assert os.listdir(tmp_path) == ["answer.txt"]


@pytest.mark.parametrize("failure", [OSError, KeyboardInterrupt, ValueError])
def test_what_fails_leaves_nothing(tmp_path, failure):
    target = tmp_path / "answer.txt"
    target.write_text("old")

    def broken():
        with replacing(target) as beside, open(beside, "x", encoding="utf-8") as stream:
            stream.write("half")
            raise failure

    with pytest.raises(failure):
        broken()
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["answer.txt"]


def test_links_stay_links(tmp_path):
    target, link = tmp_path / "there.txt", tmp_path / "link.txt"
    target.write_text("old")
    link.symlink_to(target)
    with replacing(link) as beside, open(beside, "x", encoding="utf-8") as stream:
        stream.write("new")
    assert link.is_symlink()
    assert target.read_text() == "new"
