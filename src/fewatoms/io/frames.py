"""Frames as files: a folder of PNG images, a GIF, an array; whole or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
from pathlib import Path
from typing import BinaryIO

import numpy as np

from fewatoms._types import Array, Foreign
from fewatoms.io.endings import STACKS, PathLikeStr, ending, listed
from fewatoms.io.outputs import archived, refuse_foreign, written
from fewatoms.io.refused import Refused, borrowed

DURATION = 100  # thousandths of a second that a frame of a GIF is shown


def write_stack(path: PathLikeStr, frames: Array) -> None:
    """Write frames: a folder of frame_0001.png, frame_0002.png, ..., a .gif, or a .npy or .npz array as they are.

    Images have eight bits: numbers are rounded and cut off at 0 and 255. A folder that is there is replaced only if
    nothing is in it but frames written here.
    """
    kind, source = ending(path), os.fspath(path)
    frames = np.asarray(frames)
    coloured = frames.ndim == 4 and frames.shape[-1] == 3
    if not (coloured or frames.ndim == 3) or 0 in frames.shape:
        raise Refused(f"frames of output {source} must have three axes, or four with three colours; got {frames.shape}")
    if kind not in STACKS:
        raise Refused(f"output {source} must end in {listed(STACKS)}; it ends in {kind!r}")
    if not kind:
        _folder(Path(path), source, frames)
        return
    with written(path) as stream:
        if kind == ".gif":
            _gif(stream, _images(frames, source), source)
        elif kind == ".npz":
            archived(stream, {"frames": frames}, source)
        else:
            np.lib.format.write_array(stream, frames, allow_pickle=False)


def _gif(stream: BinaryIO, images: list[Foreign], source: str) -> None:
    """All frames, each as it is: Pillow's own `save` makes one of those that are equal."""
    gif = borrowed("PIL.GifImagePlugin", f"to write {source}")
    adaptive = {"palette": borrowed("PIL.Image", f"to write {source}").Palette.ADAPTIVE}
    tables = [image.convert("P", **(adaptive if image.mode == "RGB" else {})) for image in images]
    stream.writelines(gif.getheader(tables[0], info={"loop": 0, "duration": DURATION})[0])
    for image in tables:
        image.putpalette(image.getpalette())  # as bytes: of grey pictures the first versions of Pillow 10 have a list
        stream.writelines(gif.getdata(image, duration=DURATION, include_color_table=True))
    stream.write(b";")


def _images(frames: Array, source: str) -> list[Foreign]:
    image = borrowed("PIL.Image", f"to write {source}")
    scaled = 255 * frames if frames.dtype.kind == "b" else frames
    return [image.fromarray(np.clip(np.rint(frame), 0, 255).astype(np.uint8)) for frame in scaled]


def _folder(folder: Path, source: str, frames: Array) -> None:
    refuse_foreign(folder, source)
    target = Path(os.path.realpath(folder))
    mark = secrets.token_hex(4)
    beside, old = target.with_name(f"{target.name}.{mark}.part"), target.with_name(f"{target.name}.{mark}.old")
    try:
        beside.mkdir()
        for number, image in enumerate(_images(frames, source), start=1):
            image.save(beside / f"frame_{number:04d}.png")
        if target.is_dir():
            os.replace(target, old)
        os.replace(beside, target)
    except OSError as error:
        raise Refused(f"output {source} cannot be written ({error.strerror or error}): choose another") from error
    finally:
        if old.is_dir() and not target.exists():
            os.replace(old, target)
        shutil.rmtree(beside, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)
