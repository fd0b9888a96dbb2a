"""Checkpoints: files from which a run that was killed goes on.

A checkpoint is an archive as `files` writes them, of what `journal` keeps, with a digest of all its bytes at the end:
one that was cut off, or in which a bit is not as it was, is refused. It is written beside its place and put there when
all of it is on the disk. Nothing in it is executed.
"""

from __future__ import annotations

import hashlib
import os
import time
import warnings
import zipfile
from contextlib import ExitStack
from types import TracebackType
from typing import TYPE_CHECKING, BinaryIO, Self

import numpy as np

from fewatoms import __version__, _checks, files, journal
from fewatoms.files import PathLike
from fewatoms.journal import Journal
from fewatoms.kept import Kept
from fewatoms.whole import replacing, special

if TYPE_CHECKING:
    from fewatoms.records import Progress

FORMAT_OF_CHECKPOINTS = 1
DIGEST = 32  # bytes; twice as many digits stand at the end of the file
PIECES = 1 << 20  # bytes that are digested at a time
REST = 20.0  # times as long as it took to write one, until the next is written


class Checkpoint:
    """Write down, every so often, all that is needed to go on after a kill: `resume(file, M, b)` does.

        fit(M, b, ..., callback=Checkpoint("run.ckpt"))
        s = resume("run.ckpt", M, b)

    It serves one call of `fit`, `fit_many`, `fit_path` or `choose_k`, or several of them one after the other, until one
    is ended by a callback or an error. The file is replaced when all of the next one is written. A run that is over
    leaves its answer there; one that was stopped (a deadline) can be gone on with. Where a file cannot be written (the
    disk is full), that is said once in a warning, and the run goes on.

    Parameters
    ----------
    file : str or path
        A checkpoint that is there is replaced, unless `go_on` says otherwise; any other file is refused.
    every : float
        Seconds at least from one writing to the next; more where writing takes long: no more than a twentieth of the
        time goes into it.
    go_on : bool
        Whether to go on from the file if there is one. It must be of the very same calls, of which what is done is not
        done again; otherwise it is refused and stays as it is.
    """

    def __init__(self, file: PathLike, every: float = 30.0, *, go_on: bool = False) -> None:
        self.file, self.every = _checks.file_name(file), _checks.number("every", every)
        self.go_on = _checks.flag("go_on", go_on)
        self.continued = False
        self._journal: Journal | None = None
        self._entered: list[ExitStack] = []
        self._due, self._warned = 0.0, False

    @classmethod
    def of(cls, file: PathLike, every: float, book: Journal) -> Checkpoint:
        """One that goes on with what has been read."""
        found = cls(file, every, go_on=True)
        found._journal, found.continued = book, True
        return found

    def __enter__(self) -> Self:
        stack = ExitStack()
        if not self._entered:
            if self._journal is None:
                self._journal = self._begun()
            stack.enter_context(journal.keeping(self._journal))
            self._due = time.monotonic() + self.every
        self._entered.append(stack)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._entered.pop().close()
        if self._entered or self._journal is None:
            return
        if not self._journal.refused:
            self._write()
        if kind is not None:
            self._journal.freeze()

    def __call__(self, progress: Progress) -> None:
        if self._journal is not None and time.monotonic() >= self._due:
            self._write()

    def _begun(self) -> Journal:
        """What is there already, or nothing."""
        self.continued = self.go_on and os.path.exists(self.file)
        if self.continued:
            return read(self.file)
        if _foreign(self.file):
            raise ValueError(f"file must be a checkpoint, or not be there yet; {self.file!r} is something else")
        return Journal()

    def _write(self) -> None:
        assert self._journal is not None
        began = time.monotonic()
        try:
            write(self.file, self._journal.kept())
        except (OSError, MemoryError, ValueError, TypeError) as problem:
            if not self._warned:
                self._warned = True
                warnings.warn(f"checkpoint {self.file!r} cannot be written: {problem}", stacklevel=2)
        ended = time.monotonic()
        self._due = ended + max(self.every, REST * (ended - began))


def _foreign(file: str) -> bool:
    """Whether a file is there that no checkpoint can be: it would be lost. What stands at the end of one is told
    from anything else; an empty file is nothing to lose."""
    if special(file):
        return False  # replacing it is refused
    try:
        with open(file, "rb") as stream:
            size = stream.seek(0, os.SEEK_END)
            stream.seek(max(0, size - 2 * DIGEST))
            end = stream.read()
    except OSError:
        return False  # nothing is there, or writing fails in its turn
    return size > 0 and (size < 2 * DIGEST or not set(end) <= set(b"0123456789abcdef"))


def write(file: PathLike, content: Kept) -> None:
    """Write a checkpoint, in place of the one that is there when all of it is on the disk."""
    told = Kept(content.kind, {**content.told, "version": __version__}, content.arrays, content.inner)
    with replacing(_checks.file_name(file)) as beside, open(beside, "w+b") as stream:
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
            for name, array in files.members(told, FORMAT_OF_CHECKPOINTS).items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, np.asanyarray(array), allow_pickle=False)
            archive.comment = b"0" * (2 * DIGEST)  # stands at the very end
        digest = _digest(stream)
        stream.seek(-2 * DIGEST, os.SEEK_END)
        stream.write(digest)
        stream.flush()
        os.fsync(stream.fileno())


def _digest(stream: BinaryIO) -> bytes:
    """Of all bytes but those where it stands itself."""
    left = stream.seek(0, os.SEEK_END) - 2 * DIGEST
    stream.seek(0)
    found = hashlib.blake2b(digest_size=DIGEST)
    while left > 0:
        piece = stream.read(min(left, PIECES))
        if not piece:
            break
        found.update(piece)
        left -= len(piece)
    return found.hexdigest().encode()


def read(file: PathLike) -> Journal:
    """What a checkpoint holds; refused unless all of it is there, as it was written."""
    name = _checks.file_name(file)
    demand = "file must be a checkpoint, all of it"
    if special(name):
        raise ValueError(f"{demand}; {name!r} is a pipe, a device or a socket")
    with open(name, "rb") as stream:
        digest = _digest(stream)
        if stream.read(2 * DIGEST) != digest:
            raise ValueError(f"{demand}; {name!r} is none, or it was cut off or changed")
        stream.seek(0)
        try:
            version, content = files.read(stream, FORMAT_OF_CHECKPOINTS)
            found = None if content is None else Journal.read(content)
        except Exception as error:
            raise ValueError(f"{demand}; {name!r} is none") from error
    if found is None:
        raise ValueError(
            f"file must be a checkpoint in format {FORMAT_OF_CHECKPOINTS} or before; {name!r} has format {version}: a "
            "later version of fewatoms wrote it"
        )
    return found


__all__ = ["FORMAT_OF_CHECKPOINTS", "Checkpoint", "read", "write"]
