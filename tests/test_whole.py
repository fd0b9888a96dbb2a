"""Files are written whole or not at all."""

from __future__ import annotations

import os

import pytest

from fewatoms.whole import replacing


def test_what_is_written_takes_the_place(tmp_path):
    target = tmp_path / "answer.txt"
    target.write_text("old")
    with replacing(target) as beside:
        with open(beside, "w", encoding="utf-8") as stream:
            stream.write("new")
        assert target.read_text() == "old"
    assert target.read_text() == "new"
    assert os.listdir(tmp_path) == ["answer.txt"]


@pytest.mark.parametrize("failure", [OSError, KeyboardInterrupt, ValueError])
def test_what_fails_leaves_nothing(tmp_path, failure):
    target = tmp_path / "answer.txt"
    target.write_text("old")

    def broken():
        with replacing(target) as beside, open(beside, "w", encoding="utf-8") as stream:
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
    with replacing(link) as beside, open(beside, "w", encoding="utf-8") as stream:
        stream.write("new")
    assert link.is_symlink()
    assert target.read_text() == "new"


def written(target):
    with replacing(target) as beside, open(beside, "w", encoding="utf-8") as stream:
        stream.write("new")
        return os.stat(beside).st_mode & 0o777


@pytest.mark.skipif(os.name == "nt", reason="who may read a file is told otherwise there")
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o400])
def test_who_may_read_a_file_stays(tmp_path, mode):
    target = tmp_path / "answer.txt"
    target.write_text("old")
    target.chmod(mode)
    assert written(target) == 0o600  # and nobody else reads it meanwhile
    assert target.read_text() == "new"
    assert target.stat().st_mode & 0o777 == mode


@pytest.mark.skipif(os.name == "nt", reason="who may read a file is told otherwise there")
def test_a_new_file_is_as_files_are(tmp_path):
    (tmp_path / "usual.txt").write_text("")
    written(tmp_path / "answer.txt")
    assert (tmp_path / "answer.txt").stat().st_mode == (tmp_path / "usual.txt").stat().st_mode


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
@pytest.mark.parametrize("linked", [False, True])
def test_pipes_and_devices_are_not_replaced(tmp_path, linked):
    pipe = tmp_path / "pipe.txt"
    os.mkfifo(pipe)
    if linked:
        (tmp_path / "link.txt").symlink_to(pipe)
    with pytest.raises(OSError, match=r"must be a file; a pipe, a device"):
        written(tmp_path / "link.txt" if linked else pipe)
    assert pipe.is_fifo()
    assert len(os.listdir(tmp_path)) == 1 + linked


def test_errors_name_the_file_that_was_meant(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere/a\.html' must lie in a folder that is there$"):
        written(tmp_path / "nowhere" / "a.html")
    with pytest.raises(IsADirectoryError, match=r"must be a file; a folder is there$"):
        written(tmp_path)
    written(os.fsencode(tmp_path / "bytes.html"))
    assert os.listdir(tmp_path) == ["bytes.html"]
