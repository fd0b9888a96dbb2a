"""Files that cannot be used: one line each that says what to do, soon and without much memory."""

import importlib.util
import time
from pathlib import Path

import numpy as np
import pytest
import sklearn.datasets  # importing it would be counted otherwise  # noqa: F401
from PIL import Image

from fewatoms import io

_spec = importlib.util.spec_from_file_location("bad_files", Path(__file__).with_name("bad.py"))
bad = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(bad)


STATUS, RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def memory(word):
    """Bytes that this process has in use (VmRSS), or had at most (VmHWM); 0 where nobody says."""
    lines = STATUS.read_text().splitlines() if STATUS.exists() else []
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith(word)), 0)


def refused(reader, path):
    """What is said; and that it is one line, said soon, with little memory."""
    if RESET.exists():
        RESET.write_text("5")  # the peak starts anew
    before, start = memory("VmRSS"), time.process_time()
    with pytest.raises(io.Refused) as caught:
        reader(path)
    seconds, more = time.process_time() - start, memory("VmHWM") - before
    message = str(caught.value)
    assert "\n" not in message
    assert Path(path).name in message
    assert ":" in message  # what to do comes behind it
    assert seconds < 1
    assert more < 200e6
    return message


@pytest.mark.parametrize(
    ("reader", "name", "content", "words"), bad.CASES, ids=[f"{c[0].__name__}-{c[1]}" for c in bad.CASES]
)
def test_bad_files_are_refused_in_one_line(tmp_path, reader, name, content, words):
    path = tmp_path / name
    path.write_bytes(content)
    assert words in refused(reader, path)
    assert path.read_bytes() == content


def test_there_are_many_of_them():
    assert len(bad.CASES) >= 110


@pytest.mark.parametrize("reader", [io.read_table, io.read_grid, io.read_entries, io.read_stack])
def test_files_that_are_not_there(tmp_path, reader):
    assert "not there" in refused(reader, tmp_path / "absent.csv")
    assert "cannot be opened" in refused(reader, str(tmp_path / "nul\0.csv"))


@pytest.mark.parametrize("reader", [io.read_table, io.read_grid, io.read_entries])
def test_a_folder_is_no_file(tmp_path, reader):
    (tmp_path / "data.csv").mkdir()
    assert "folder" in refused(reader, tmp_path / "data.csv")


def test_bad_folders_of_frames(tmp_path):
    folder = tmp_path / "frames"
    folder.mkdir()
    assert "no images" in refused(io.read_stack, folder)
    for name, size in (("2.png", (4, 5)), ("10.png", (4, 5)), ("11.png", (5, 4))):
        Image.new("L", size).save(folder / name)
    assert "11.png has 5 x 4 pixels where 2.png has 4 x 5" in refused(io.read_stack, folder)
    (folder / "11.png").unlink()
    Image.fromarray(np.ones((5, 4), dtype=np.uint16)).save(folder / "12.png")
    assert "one kind" in refused(io.read_stack, folder)


def test_keys_and_columns_that_are_not_there(tmp_path):
    np.savez(tmp_path / "data.npz", scene=np.eye(3), other=np.eye(2))
    assert "did you mean 'scene'" in refused(lambda path: io.read_grid(path, key="scenes"), tmp_path / "data.npz")
    (tmp_path / "data.csv").write_text("age,b,c\n1,2,3\n")
    assert "leave it out" in refused(lambda path: io.read_grid(path, key="x"), tmp_path / "data.csv")
    assert "did you mean 'age'" in refused(lambda path: io.read_table(path, columns=["Age"]), tmp_path / "data.csv")
    assert "did you mean 'age'" in refused(lambda path: io.read_entries(path, row="aged"), tmp_path / "data.csv")
    with pytest.raises(io.Refused, match="different columns"):
        io.read_entries(tmp_path / "data.csv", row="b", col="b")
    with pytest.raises(io.Refused, match="'first'"):
        io.read_entries(tmp_path / "data.csv", duplicates="first")
    np.save(tmp_path / "data.npy", np.eye(2))
    assert "leave them out" in refused(lambda path: io.read_entries(path, row="x"), tmp_path / "data.npy")
