"""Disks that are full or may not be written: what was there stays, nothing half written is left, one line says why."""

import contextlib
import os
import resource
import signal
import subprocess
from pathlib import Path

import numpy as np
import pytest

import fewatoms as fa
from fewatoms import io, ledger
from fewatoms.callbacks import Checkpoint

M = np.random.default_rng(0).standard_normal((40, 30))
ONE = fa.fit(M, M[:, :4].sum(axis=1), atoms=fa.SignedOneHot(30), k=4)
PATH = fa.fit_path(M, M[:, :4].sum(axis=1), atoms=fa.SignedOneHot(30), k=[1, 2, 4])
MANY = fa.fit_many(M, M[:, :3], atoms=fa.SignedOneHot(30), k=2)
TABLE = {"word": np.array([f"w{i}" for i in range(2000)], dtype=object), "x": np.arange(2000) / 7}
FRAMES = np.random.default_rng(1).integers(0, 255, (4, 40, 40)).astype(np.uint8)

WRITERS = {
    "answer": lambda path: ONE.save(path),
    "path": lambda path: PATH.save(path),
    "answers": lambda path: MANY.save(path),
    "answer.html": lambda path: ONE.report(path),
    "path.html": lambda path: PATH.report(path),
    **{f"table{kind}": lambda path: io.write_table(path, TABLE) for kind in io.TABLES if kind != ".npy"},
    "grid.npy": lambda path: io.write_grid(path, M),
    "grid.npz": lambda path: io.write_grid(path, M),
    "frames.gif": lambda path: io.write_stack(path, FRAMES),
    "frames.npz": lambda path: io.write_stack(path, FRAMES),
    "frames": lambda path: io.write_stack(path, FRAMES),
}


@contextlib.contextmanager
def quota(size):
    """No file may become larger than this: writes beyond it fail as on a full disk."""
    before, signals = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, signals)


def content(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def refused(write, path):
    with pytest.raises((OSError, ValueError)) as caught:
        write(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("size", [0, 300])
@pytest.mark.parametrize("name", WRITERS)
def test_a_full_disk(tmp_path, name, size):
    with quota(size):
        refused(WRITERS[name], tmp_path / name)
    assert content(tmp_path) == {}
    assert list(tmp_path.iterdir()) == []
    WRITERS[name](tmp_path / name)
    before = content(tmp_path)
    with quota(size):
        refused(WRITERS[name], tmp_path / name)
    assert content(tmp_path) == before


@pytest.mark.parametrize("name", WRITERS)
def test_a_folder_that_may_not_be_written(tmp_path, name):
    """Or that is none; root writes where others may not, so that a mount stands for it where there is one."""
    (tmp_path / "file").write_text("x")
    refused(WRITERS[name], tmp_path / "file" / name)
    refused(WRITERS[name], tmp_path / "absent" / name)
    assert [p.name for p in tmp_path.iterdir()] == ["file"]
    folder = tmp_path / "mine"
    folder.mkdir()
    folder.chmod(0o500)
    if os.access(folder, os.W_OK):
        pytest.skip("root may write anywhere")
    try:
        refused(WRITERS[name], folder / name)
        assert list(folder.iterdir()) == []
    finally:
        folder.chmod(0o700)


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 64 kB, where one may be mounted."""
    folder = tmp_path / "disk"
    folder.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", folder], capture_output=True, check=False)
    if made.returncode:
        pytest.skip("nothing can be mounted here")
    yield folder
    subprocess.run(["umount", folder], check=True)


@pytest.mark.soak
@pytest.mark.parametrize("name", WRITERS)
def test_a_small_disk_that_fills_up(small_disk, name):
    (small_disk / "other").write_bytes(bytes(62 * 1024))
    refused(WRITERS[name], small_disk / name)
    assert [p.name for p in small_disk.iterdir()] == ["other"]


@pytest.mark.parametrize("size", [0, 1000])
def test_a_checkpoint_on_a_full_disk(tmp_path, monkeypatch, size):
    """The run goes on, and the last one that was whole stays and can be gone on with."""
    monkeypatch.setattr(ledger, "EVERY", 0.0)
    b, file = M[:, :4].sum(axis=1), tmp_path / "run.ckpt"
    words, calls = {"atoms": fa.SignedOneHot(30), "k": 4, "effort": "thorough"}, []

    def stops(progress):
        calls.append(1)
        if len(calls) == 6:
            raise StopIteration

    fa.fit(M, b, **words, callback=[Checkpoint(file, 0.0), stops])
    before = content(tmp_path)
    with quota(size), pytest.warns(UserWarning, match=r"cannot be written: .*File too large"):
        s = fa.fit(M, b, **words, callback=Checkpoint(file, 0.0, go_on=True))
    assert content(tmp_path) == before
    assert s.loss == ONE.loss
    assert fa.resume(file, M, b).loss == ONE.loss


def test_a_device_is_no_file():
    for name in WRITERS:
        kind = "".join(Path(name).suffixes)
        if not kind:
            assert "/dev/full" in refused(WRITERS[name], "/dev/full")
