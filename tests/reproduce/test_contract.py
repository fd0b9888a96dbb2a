"""What experiments hand over is checked where it is made."""

import numpy as np
import pytest

from fewatoms.reproduce import PARTS, chosen
from fewatoms.reproduce.contract import Settings, Table


def test_rows_have_a_cell_for_each_column():
    with pytest.raises(ValueError, match="rows of t must have 2 cells; got 3"):
        Table("t", "", ("a", "b"), [[1, 2], [1, 2, 3]])


def test_published_columns_are_columns():
    with pytest.raises(ValueError, match=r"published must name columns of t; got \['c'\]"):
        Table("t", "", ("a", "b"), [[1, 2]], ("c",))


def test_all_is_every_part_and_names_are_their_own():
    names = [one.name for one in chosen("all")]
    assert names == [one.name for part in PARTS.values() for one in part]
    assert len(set(names)) == len(names)
    assert [*PARTS] == ["sparco", "completion", "rpca", "theory"]


def test_draws_follow_the_seed_and_their_purpose():
    one, same, other = Settings(3).rng(1), Settings(3).rng(1), Settings(4).rng(1)
    first = one.standard_normal(4)
    np.testing.assert_array_equal(first, same.standard_normal(4))
    assert not np.array_equal(first, other.standard_normal(4))
    assert not np.array_equal(first, Settings(3).rng(2).standard_normal(4))


def test_files_are_found_in_the_folder_only(tmp_path):
    assert Settings(data=tmp_path).file("x.npz") is None
    (tmp_path / "x.npz").write_bytes(b"")
    assert Settings(data=tmp_path).file("x.npz") == tmp_path / "x.npz"
    assert Settings().file("x.npz") is None
