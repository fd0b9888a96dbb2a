"""What docs/files.md says of files is so."""

import re
from pathlib import Path

import numpy as np
import pytest

from fewatoms import io
from fewatoms.io import cells, outputs
from fewatoms.io.refused import EXTRAS

PAGE = (Path(__file__).parents[2] / "docs" / "files.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, flags=re.S)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """What the page reads."""
    monkeypatch.chdir(tmp_path)
    Path("houses.csv").write_text("area,rooms,price\n10,1,100\n20,2,200\n")
    np.save("scene.npy", np.eye(3))
    io.write_table("ratings.parquet", {"user": np.arange(3), "item": np.arange(3), "rating": np.ones(3)})
    io.write_stack("frames", np.zeros((2, 3, 3)))
    return tmp_path


def test_the_page_runs(folder):
    space = {
        "L": np.eye(2),
        "frames": np.zeros((2, 3, 3)),
        **dict.fromkeys(("users", "items", "ratings"), np.arange(2)),
    }
    for block in BLOCKS:
        exec(compile(block, "files.md", "exec"), space)
    assert space["table"].column("price").tolist() == [100, 200]
    assert space["stack"].frames.shape == (2, 3, 3)
    assert io.read_table("filled.parquet").names == ("user", "item", "rating")
    assert sorted(p.name for p in (folder / "background").iterdir()) == ["frame_0001.png", "frame_0002.png"]


def test_the_page_names_everything():
    for ending in (
        {*io.READ, *io.IMAGES, *outputs.WRITERS} - {e for e in io.READ if e.endswith(".gz")} - {".csv.gz", ".tsv.gz"}
    ):
        assert f"`{ending}`" in PAGE, ending
    for word in cells.MISSING - {""}:
        assert f"`{word}`" in PAGE, word
    for extra in EXTRAS.values():
        assert f"fewatoms[{extra}]" in PAGE, extra
