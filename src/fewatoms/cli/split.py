"""`fewatoms split`: frames as a background of low rank and what moves before it."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from fewatoms.cli.options import Commands, checkpointed, command, count
from fewatoms.cli.session import Session
from fewatoms.cli.tables import figure

if TYPE_CHECKING:
    from fewatoms._types import Array
    from fewatoms.cli.summary import Plain
    from fewatoms.io import Stack
    from fewatoms.solution import Solution

about = """\
Frames are a folder of images, an animated GIF, a TIFF of several pages, or an array (.npy, .npz) of three
axes, frames first, with NaN for pixels that are missing. The background is a matrix of low rank, a column for
each frame: of --rank, or of the rank that pixels held out speak for. The foreground is what stands out of it
and of the noise, or --entries pixels in all.

--out is a folder, made now, which gets background and foreground: images for images, or arrays with --format
npy. In images the foreground is shown by its size; arrays keep signs."""
examples = """\
  fewatoms split frames
  fewatoms split frames --rank 1 --out parts
  fewatoms split video.npy --rank 1 --entries 200 --out arrays --format npy
"""


def add(commands: Commands) -> None:
    parser = command(
        commands,
        "split",
        run,
        said="frames as a still background and what moves before it",
        about=about,
        shown=examples,
    )
    parser.add_argument("data", metavar="FRAMES", help="a folder of images, a GIF or TIFF, or an array")
    parser.add_argument("--rank", type=count, metavar="K", help="of the background, e.g. 3 (default: chosen)")
    parser.add_argument("--entries", type=count, metavar="N", help="pixels of the foreground at most, in all frames")
    parser.add_argument("--out", metavar="FOLDER", help="write background and foreground there")
    parser.add_argument(
        "--format", choices=("png", "gif", "npy"), help="of what is written (default png, or npy for arrays)"
    )
    checkpointed(parser)


def run(options: argparse.Namespace) -> int:
    import numpy as np

    import fewatoms as fa
    from fewatoms import io

    session = Session(options)
    _claim(session)
    with session.timed("read"):
        stack = io.read_stack(options.data)
        frames = np.asarray(stack.frames, dtype=np.float64).reshape(len(stack.frames), -1)
        _refuse(frames, options)
    X = np.ascontiguousarray(frames.T)
    atoms = fa.RankOne(*X.shape) + fa.SignedOneHot(X.shape)
    gaps = int(np.isnan(X).sum())
    M, b = fa.Sampling.from_array(X) if gaps else (fa.Identity(X.shape), X)
    if gaps:
        session.note(f"{gaps} pixels are missing: the background fills them, the foreground is zero there")
    with session.working("split") as callback:
        s = fa.fit(M, b, atoms=atoms, k=(options.rank, options.entries), callback=callback, rng=options.seed)
    return _told(session, s, stack)


def _claim(session: Session) -> None:
    """A folder that is not there yet, or is empty, or may be overwritten."""
    from fewatoms.io import STACKS, Refused, claim

    if session.options.out is None:
        return
    folder = Path(session.options.out)
    if folder.suffix.lower() in {".gif", ".npy", ".npz", ".png"} and not folder.is_dir():
        raise Refused(f"--out must be a folder, which gets both parts; {folder} is the name of a file: see --format")
    if folder.exists() and not folder.is_dir():
        raise Refused(f"--out must be a folder; {folder} is a file")
    if not folder.absolute().parent.is_dir():
        raise Refused(f"--out must lie in a folder that is there; got {folder}")
    if folder.is_dir() and any(folder.iterdir()) and not session.options.overwrite:
        raise Refused(f"--out {folder} is there already, and not empty: choose another name, or say --overwrite")
    parts, frames = _parts(session.options), Path(session.options.data).resolve()
    if folder.resolve() == frames or any(part.resolve() in (frames, *frames.parents) for part in parts):
        raise Refused(f"--out must not be where the frames are, {session.options.data}: choose another name")
    for part in parts if folder.is_dir() else []:
        claim(part, overwrite=session.options.overwrite, kinds=STACKS)
    session.outputs["folder"] = folder


def _parts(options: argparse.Namespace) -> list[Path]:
    """Where background and foreground go, by --format or as the frames came."""
    arrays = Path(options.data).suffix.lower() in (".npy", ".npz")
    suffix = {"png": "", "gif": ".gif", "npy": ".npy"}[options.format or ("npy" if arrays else "png")]
    return [Path(options.out) / f"{part}{suffix}" for part in ("background", "foreground")]


def _refuse(frames: Array, options: argparse.Namespace) -> None:
    import numpy as np

    from fewatoms.io import Refused

    if np.isinf(frames).any():
        raise Refused(f"{options.data}: pixels must be finite numbers, or NaN where they are missing")
    if np.isnan(frames).all(axis=1).any():
        raise Refused(f"{options.data}: each frame must have pixels that are not missing (NaN)")
    if len(frames) < 2:
        raise Refused(f"{options.data}: must have two frames or more; got {len(frames)}")
    if options.rank is not None and options.rank > min(frames.shape):
        raise Refused(f"--rank must be at most {min(frames.shape)}, frames or pixels; got {options.rank}")
    if options.entries is not None and options.entries > frames.size:
        raise Refused(f"--entries must be at most {frames.size}, all pixels; got {options.entries}")


def _told(session: Session, s: Solution, stack: Stack) -> int:
    from fewatoms.cli.summary import of_answer, plain

    session.refuse_nothing(s.cardinality)
    low, sparse = s.parts
    session.write("folder", lambda folder: _written(folder, s, stack, _parts(session.options)))
    sides = stack.frames.shape[1:]
    frame = (int(sides[0]), int(sides[1])) if len(sides) == 2 else None
    session.write(
        "report",
        lambda path: s.report(
            path, title=session.title, trace=session.trace, notes=session.notes, cols=stack.names, frame=frame
        ),
    )
    count, pixels = len(stack.frames), low.x.shape[0]
    summary: dict[str, Plain] = {
        "data": {"source": session.options.data, "frames": count, "shape": plain(stack.frames.shape[1:])},
        "asked": {"rank": session.options.rank, "entries": session.options.entries},
        "answer": {**of_answer(s, session), "rank": int(low.cardinality), "entries": int(sparse.cardinality)},
    }
    table = [["frames", "pixels", "rank", "foreground", "share", "misfit"]]
    share = f"{100 * sparse.cardinality / (count * pixels):.2f} %"
    table.append([str(count), str(pixels), str(low.cardinality), str(sparse.cardinality), share, figure(s.misfit)])
    return session.finish(s.success, summary, [session.said(s.message)], table)


def _written(folder: Path, s: Solution, stack: Stack, parts: list[Path]) -> None:
    import numpy as np

    from fewatoms import io

    folder.mkdir(exist_ok=True)
    signed = parts[0].suffix == ".npy"
    for path, part in zip(parts, s.parts, strict=True):
        frames = part.x.T.reshape(stack.frames.shape)
        io.write_stack(path, frames if signed or path == parts[0] else np.abs(frames))
