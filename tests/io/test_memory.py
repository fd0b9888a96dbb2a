"""How much memory is free, by what the system says; and sizes that do not fit."""

import numpy as np
import pytest

from fewatoms import io
from fewatoms.io import arrow, memory


def system(root, files):
    """Folders as /proc and /sys/fs/cgroup are."""
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)
    return memory.free(root / "proc", root / "groups")


MACHINE = {"proc/meminfo": "MemTotal: 900 kB\nMemAvailable: 500 kB\n"}
SECOND = {"proc/self/cgroup": "0::/mine/inner\n"}
FIRST = {"proc/self/cgroup": "4:memory,cpu:/mine\n3:cpuset:/\n"}


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, None),
        (MACHINE, 512_000),
        ({**MACHINE, **SECOND}, 512_000),
        (
            {**MACHINE, **SECOND, "groups/mine/inner/memory.max": "max", "groups/mine/inner/memory.current": "7"},
            512_000,
        ),
        ({**MACHINE, **SECOND, "groups/mine/memory.max": "3000", "groups/mine/memory.current": "1000"}, 2000),
        (
            {
                **SECOND,
                "groups/mine/inner/memory.max": "3000",
                "groups/mine/inner/memory.current": "1000",
                "groups/mine/inner/memory.stat": "anon 5\ninactive_file 300\n",
            },
            2300,
        ),
        (
            {
                **MACHINE,
                **FIRST,
                "groups/memory/mine/memory.limit_in_bytes": "4000",
                "groups/memory/mine/memory.usage_in_bytes": "4500",
            },
            0,
        ),
        (
            {
                **MACHINE,
                **FIRST,
                "groups/memory/memory.limit_in_bytes": "9223372036854771712",
                "groups/memory/memory.usage_in_bytes": "1",
            },
            512_000,
        ),
    ],
)
def test_free_memory(tmp_path, files, expected):
    assert system(tmp_path, files) == expected


def test_both_figures_are_told(tmp_path, monkeypatch):
    """Declared sizes are refused unread."""
    io.write_grid(tmp_path / "x.npy", np.ones((500, 100)))
    io.write_grid(tmp_path / "x.parquet", np.ones((500, 100)))
    io.write_grid(tmp_path / "x.csv", np.ones((500, 100)))
    io.write_stack(tmp_path / "frames", np.ones((50, 100, 100)))
    monkeypatch.setattr(memory, "free", lambda: 100_000)
    for name in ("x.npy", "x.parquet", "x.csv"):
        with pytest.raises(io.Refused, match=rf"{name} needs 400 kB of memory and 100 kB are free"):
            io.read_grid(tmp_path / name)
    with pytest.raises(io.Refused, match="needs 500 kB of memory and 100 kB are free"):
        io.read_stack(tmp_path / "frames")
    monkeypatch.setattr(memory, "free", lambda: None)
    assert io.read_grid(tmp_path / "x.npy").values.shape == (500, 100)


@pytest.mark.parametrize(("size", "words"), [(400, "0.4 kB"), (5e6, "5 MB"), (2.34e9, "2.34 GB"), (8e15, "8e+03 TB")])
def test_sizes_in_words(size, words):
    assert memory.told(size) == words


@pytest.mark.parametrize(
    ("module", "name", "content", "extra"),
    [
        ("pyarrow", "x.parquet", b"PAR1", "parquet"),
        ("pyarrow", "x.feather", b"ARROW1", "parquet"),
        ("h5py", "x.mat", b"\x89HDF" + bytes(600), "hdf5"),
        ("sklearn", "x.svm", b"1 1:2\n", "sklearn"),
        ("PIL", "x.png", b"\x89PNG", "images"),
    ],
)
def test_packages_that_are_not_there(tmp_path, monkeypatch, module, name, content, extra):
    for known in ("pyarrow", "pyarrow.parquet", "pyarrow.ipc", "h5py", "sklearn.datasets", "PIL.Image"):
        if known.split(".")[0] == module:
            monkeypatch.setitem(__import__("sys").modules, known, None)
    (tmp_path / name).write_bytes(content)
    reader = io.read_stack if module == "PIL" else io.read_grid
    with pytest.raises(io.Refused, match=rf"pip install 'fewatoms\[{extra}\]'"):
        reader(tmp_path / name)


def test_the_core_reads_text_without_pyarrow(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    (tmp_path / "x.csv").write_text("a,b\n1,x\n")
    assert io.read_table(tmp_path / "x.csv").column("b").tolist() == ["x"]
    with pytest.raises(io.Refused, match="pip install"):
        io.write_table(tmp_path / "x.parquet", {"a": np.ones(2)})
    with pytest.raises(io.Refused, match="pip install"):
        arrow.pyarrow()
