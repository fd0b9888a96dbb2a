"""Frames of one size: folders of images, moving images, arrays. Sizes are looked at before anything is decoded."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from math import prod
from pathlib import Path

import numpy as np

from fewatoms._types import Array, Foreign
from fewatoms.io.arrays import Archive, read_npy
from fewatoms.io.endings import IMAGES, PathLikeStr, ending, input_file
from fewatoms.io.memory import afford
from fewatoms.io.records import Stack
from fewatoms.io.refused import Refused, borrowed, fitting, found, reading
from fewatoms.whole import natural

GREYS = {"1": "L", "L": "L", "LA": "L", "La": "L", "I": "I", "F": "F", "I;16": "I;16", "I;16L": "I;16", "I;16B": "I;16"}
BYTES = {"L": np.uint8, "RGB": np.uint8, "I;16": np.uint16, "I": np.int32, "F": np.float32}
PICTURES = ("PNG", "JPEG", "TIFF", "BMP", "GIF", "WEBP", "PPM")  # no others: of some the decoder is another program


@dataclass(frozen=True)
class Frame:
    """One frame of a file that is not decoded yet."""

    path: Path
    place: int
    name: str
    size: tuple[int, int]
    mode: str


@fitting
def read_stack(path: PathLikeStr) -> Stack:
    """Read frames: a folder of images in the natural order of their names (2.png before 10.png), a GIF, a TIFF of many
    pages, one image, or an array of three axes, or of four with three colours.

    Frames without colours have no axis for them. What is transparent is not looked at; sizes must agree.
    """
    if Path(path).is_dir():
        return _decoded(os.fspath(path), list(_in_folder(Path(path), os.fspath(path))))
    file, source, kind = input_file(path, (*IMAGES, ".npy", ".npz"))
    if kind == ".npy":
        return _of_array(source, read_npy(file, source))
    if kind == ".npz":
        return _of_archive(Archive(file, source))
    return _decoded(source, list(_in_file(file, source)))


def _in_folder(folder: Path, source: str) -> Iterator[Frame]:
    """The frames of all images of a folder; hidden files and those with other endings are passed over."""
    try:
        files = [file for file in folder.iterdir() if ending(file) in IMAGES and not file.name.startswith(".")]
    except OSError as error:
        raise Refused(f"{source} cannot be opened ({error.strerror}): check who may read it") from error
    if not files:
        raise Refused(f"{source} has no images in it ({' '.join(IMAGES)}): name the folder of the frames")
    for file in sorted(files, key=lambda each: (natural(each.name), each.name)):
        yield from _in_file(found(file, str(file)), str(file))


def _in_file(path: Path, source: str) -> Iterator[Frame]:
    with opened(path, source) as image:
        count = int(getattr(image, "n_frames", 1))
        width, height = image.size
        afford(source, count * height * width)
        for place in range(count):
            image.seek(place)
            name = path.name if count == 1 else f"{path.name} {place + 1}"
            yield Frame(path, place, name, image.size, image.mode)


@contextmanager
def opened(path: Path, source: str) -> Iterator[Foreign]:
    """An image of Pillow, of which the header alone was read; too many pixels are refused."""
    pillow = borrowed("PIL.Image", f"{source} is an image, which")
    with reading(source, "an image"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", pillow.DecompressionBombWarning)
        try:
            with pillow.open(path, formats=PICTURES) as image:
                yield image
        except (pillow.DecompressionBombWarning, pillow.DecompressionBombError) as error:
            raise Refused(
                f"{source} declares more than {pillow.MAX_IMAGE_PIXELS} pixels, which is not decoded: make it smaller"
            ) from error


def _decoded(source: str, frames: Sequence[Frame]) -> Stack:
    first = frames[0]
    for frame in frames:
        if frame.size != first.size:
            raise Refused(
                f"{source} must have frames of one size; {frame.name} has {_spoken(frame.size)} pixels where "
                f"{first.name} has {_spoken(first.size)}: make them equal, or take that one away"
            )
    mode = _common([GREYS.get(frame.mode, "RGB") for frame in frames], source)
    width, height = first.size
    shape = (len(frames), height, width, *((3,) if mode == "RGB" else ()))
    afford(source, prod(shape) * np.dtype(BYTES[mode]).itemsize)
    stack = np.empty(shape, dtype=BYTES[mode])
    there = iter(stack)
    for path, own in groupby(frames, key=lambda frame: frame.path):
        with opened(path, str(path)) as image:
            for frame in own:
                image.seek(frame.place)
                next(there)[...] = np.asarray(image if image.mode == mode else image.convert(mode))
    if mode == "RGB" and all((frame == frame[..., :1]).all() for frame in stack):
        stack = np.ascontiguousarray(stack[..., 0])
    return Stack(stack, tuple(frame.name for frame in frames), source)


def _common(modes: Sequence[str], source: str) -> str:
    """The one mode of all frames: grey ones of eight bits may stand beside coloured ones."""
    found = sorted(set(modes))
    if len(found) == 1:
        return found[0]
    if found == ["L", "RGB"]:
        return "RGB"
    raise Refused(f"{source} must have frames of one kind; it has {' and '.join(found)}: convert them to one")


def _spoken(size: tuple[int, int]) -> str:
    return f"{size[0]} x {size[1]}"


# Arrays --------------------------------------------------------------------------------------------------------------


def _of_array(source: str, frames: Array) -> Stack:
    if frames.dtype.kind not in "fiub":
        raise Refused(f"{source} must have real numbers; it has values of type {frames.dtype}: save the frames")
    coloured = frames.ndim == 4 and frames.shape[-1] == 3
    if not (coloured or frames.ndim == 3) or 0 in frames.shape:
        raise Refused(
            f"{source} must have the axes frame, height, width, and three colours if any; its shape is {frames.shape}: "
            "reshape it"
        )
    return Stack(frames, tuple(str(number) for number in range(1, len(frames) + 1)), source)


def _of_archive(archive: Archive) -> Stack:
    fitting = [name for name, shape in archive.shapes.items() if len(shape) in (3, 4)]
    if len(fitting) != 1:
        have = ", ".join(f"{name} {shape}" for name, shape in list(archive.shapes.items())[:5])
        raise Refused(
            f"{archive.source} must have one array of frames; it has {have or 'no numbers'}: keep one of them"
        )
    return _of_array(archive.source, archive.read(fitting[0]))
