"""Where machine code is kept: names, places, locks."""

import os
import threading
import time
from pathlib import Path

import pytest

from fewatoms.gram import disk


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A folder of one's own, empty."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    disk.folder.cache_clear()
    yield tmp_path / "fewatoms"
    disk.folder.cache_clear()


@pytest.fixture
def nowhere(monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", os.devnull)
    disk.folder.cache_clear()
    yield
    disk.folder.cache_clear()


def named(monkeypatch):
    disk.name.cache_clear()
    found = disk.name()
    disk.name.cache_clear()
    return found


def test_the_name_tells_sources_and_machine_apart(tmp_path, monkeypatch):
    usual = named(monkeypatch)
    assert usual == named(monkeypatch)
    for path in disk.HERE.glob("*.py"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    monkeypatch.setattr(disk, "HERE", tmp_path)
    moved = named(monkeypatch)
    assert moved.split("-")[1] == usual.split("-")[1]  # the same sources
    assert moved.split("-")[2] != usual.split("-")[2]  # elsewhere
    (tmp_path / "state.py").write_text("PIVOT = 1e-7\n")
    changed = named(monkeypatch)
    assert changed.split("-")[1] != moved.split("-")[1]
    assert changed.split("-")[2] == moved.split("-")[2]
    monkeypatch.setattr(disk, "version", lambda package: "0.0")
    assert named(monkeypatch).split("-")[2] != changed.split("-")[2]


def test_places_in_their_order(tmp_path, monkeypatch):
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.delenv("LOCALAPPDATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert list(disk.roots()) == [disk.HERE / "__pycache__", tmp_path / "fewatoms"]
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert list(disk.roots())[1] == Path.home() / ".cache" / "fewatoms"

    def homeless():
        raise RuntimeError("no home")

    monkeypatch.setattr(Path, "home", homeless)
    assert list(disk.roots()) == [disk.HERE / "__pycache__"]
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    assert list(disk.roots()) == [tmp_path / "fewatoms"]


def test_the_folder_is_the_first_that_can_be_written_to(tmp_path, monkeypatch):
    monkeypatch.setattr(disk, "roots", lambda: iter([Path(os.devnull), tmp_path / "second", tmp_path / "third"]))
    disk.folder.cache_clear()
    assert disk.folder() == tmp_path / "second" / disk.name()
    assert not (tmp_path / "third").exists()
    disk.folder.cache_clear()


def test_what_is_there(root):
    assert not disk.has("sweep")
    (disk.folder() / "sweep").touch()
    assert disk.has("sweep")
    assert not disk.has("search")


def test_where_there_is_no_place(nowhere):
    assert disk.folder() is None
    assert not disk.has("sweep")
    assert disk.claim("now") is None


def test_one_claims(root):
    lock = disk.claim("later")
    assert lock.exists()
    assert disk.claim("later") is None
    assert disk.claim("now") is not None  # who waits does not wait for the background
    old = time.time() - disk.STALE - 1
    os.utime(lock, (old, old))
    assert disk.claim("later") == lock  # whoever that was is gone


def test_many_claim_at_once(root):
    found, barrier = [], threading.Barrier(8)

    def claim():
        barrier.wait()
        found.append(disk.claim("later"))

    threads = [threading.Thread(target=claim) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len([lock for lock in found if lock is not None]) == 1


def test_signs_of_life(root, monkeypatch):
    monkeypatch.setattr(disk, "BEAT", 0.01)
    lock = disk.claim("later")
    os.utime(lock, (0, 0))
    with disk.working(lock):
        for _ in range(500):
            if lock.stat().st_mtime > 0:
                break
            time.sleep(0.01)
        assert disk.claim("later") is None
    assert not lock.exists()
    lock = disk.claim("later")
    with pytest.raises(KeyboardInterrupt), disk.working(lock):
        raise KeyboardInterrupt
    assert not lock.exists()


def test_what_other_sources_left_goes(root):
    place = disk.folder()
    sources = disk.name().rpartition("-")[0]
    for other in ("kernels-old-machine", f"{sources}-other"):
        (place.parent / other).mkdir()
        (place.parent / other / "sweep").touch()
    (place.parent / "kernels-old-machine.later").touch()
    (place.parent / "something.else").touch()
    disk.tidy(place)
    left = {path.name for path in place.parent.iterdir()}
    assert left == {disk.name(), f"{sources}-other", "something.else"}
