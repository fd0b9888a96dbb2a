"""Stacks of frames: read in the order in which people count, and written whole."""

import numpy as np
import pytest
from PIL import Image

from fewatoms import io
from fewatoms.io.images import natural

RNG = np.random.default_rng(0)
GREY = RNG.integers(0, 256, (12, 5, 7), dtype=np.uint8)
COLOUR = RNG.integers(0, 256, (3, 5, 7, 3), dtype=np.uint8)


def test_names_in_their_natural_order():
    names = ["10.png", "2.png", "a10b2.png", "a2b10.png", "a2b9.png", "B1.png", "1.png", "02.png"]
    expected = ["1.png", "02.png", "2.png", "10.png", "a2b9.png", "a2b10.png", "a10b2.png", "B1.png"]
    assert sorted(names, key=lambda name: (natural(name), name)) == expected


def test_a_folder_in_natural_order(tmp_path):
    for number, frame in enumerate(GREY, start=1):
        Image.fromarray(frame).save(tmp_path / f"{number}.png")
    (tmp_path / ".hidden.png").write_bytes(b"")
    (tmp_path / "notes.txt").write_text("not a frame")
    found = io.read_stack(tmp_path)
    np.testing.assert_array_equal(found.frames, GREY)
    assert found.names == tuple(f"{number}.png" for number in range(1, 13))
    assert found.frames.dtype == np.uint8


@pytest.mark.parametrize("frames", [GREY, COLOUR], ids=["grey", "colour"])
@pytest.mark.parametrize("name", ["frames", "frames.npy", "frames.npz"])
def test_frames_come_back(tmp_path, frames, name):
    io.write_stack(tmp_path / name, frames)
    np.testing.assert_array_equal(io.read_stack(tmp_path / name).frames, frames)
    assert sorted(p.name for p in tmp_path.iterdir()) == [name]


def test_a_gif(tmp_path):
    io.write_stack(tmp_path / "a.gif", GREY)
    found = io.read_stack(tmp_path / "a.gif")
    np.testing.assert_array_equal(found.frames, GREY)
    assert found.names[:2] == ("a.gif 1", "a.gif 2")


def test_pages_of_a_tiff(tmp_path):
    deep = GREY.astype(np.uint16) * 100
    first, *others = [Image.fromarray(frame) for frame in deep]
    first.save(tmp_path / "a.tiff", save_all=True, append_images=others)
    np.testing.assert_array_equal(io.read_stack(tmp_path / "a.tiff").frames, deep)


def test_grey_and_coloured_frames_beside_each_other(tmp_path):
    Image.fromarray(GREY[0]).save(tmp_path / "1.png")
    Image.fromarray(COLOUR[0]).convert("RGBA").save(tmp_path / "2.png")
    found = io.read_stack(tmp_path).frames
    np.testing.assert_array_equal(found[0], np.repeat(GREY[0][..., None], 3, axis=-1))
    np.testing.assert_array_equal(found[1], COLOUR[0])


def test_what_has_no_colours_has_no_axis_for_them(tmp_path):
    Image.fromarray(GREY[0]).convert("RGB").save(tmp_path / "1.png")
    np.testing.assert_array_equal(io.read_stack(tmp_path / "1.png").frames, GREY[:1])


def test_numbers_are_rounded_and_cut_off(tmp_path):
    io.write_stack(tmp_path / "frames", np.array([[[-3.0, 0.6, 254.4, 300.0]]]))
    assert io.read_stack(tmp_path / "frames").frames.tolist() == [[[0, 1, 254, 255]]]
    io.write_stack(tmp_path / "masks", np.array([[[True, False]]]))
    assert io.read_stack(tmp_path / "masks").frames.tolist() == [[[255, 0]]]


def test_a_folder_is_replaced_only_if_it_is_ours(tmp_path):
    folder = tmp_path / "frames"
    io.write_stack(folder, GREY)
    io.write_stack(folder, COLOUR)
    assert len(list(folder.iterdir())) == len(COLOUR)
    (folder / "thesis.txt").write_text("mine")
    with pytest.raises(io.Refused, match=r"thesis\.txt"):
        io.write_stack(folder, GREY)
    with pytest.raises(io.Refused, match=r"thesis\.txt"):
        io.claim(folder, overwrite=True, kinds=io.STACKS)
    assert len(list(folder.iterdir())) == len(COLOUR) + 1
    (tmp_path / "file").write_text("mine")
    with pytest.raises(io.Refused, match="file"):
        io.write_stack(tmp_path / "file", GREY)


@pytest.mark.parametrize("frames", [np.ones((2, 2)), np.ones((2, 2, 2, 4)), np.ones((0, 2, 2))], ids=str)
def test_what_is_no_stack(tmp_path, frames):
    with pytest.raises(io.Refused, match="three axes"):
        io.write_stack(tmp_path / "frames", frames)
    with pytest.raises(io.Refused, match=r"\.gif"):
        io.write_stack(tmp_path / "frames.mp4", GREY)
