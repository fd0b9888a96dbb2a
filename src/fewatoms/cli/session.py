"""One run of a command: outputs claimed before the work, progress and interrupts during it, notes, summary and exit
code after it."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from fewatoms.cli.options import HOLDS, INTERRUPTED, MISSED, MISUSE, one_line, printable
from fewatoms.cli.tables import shown
from fewatoms.interrupts import Presses

if TYPE_CHECKING:
    from fewatoms.callbacks import Checkpoint, Trace
    from fewatoms.cli.summary import Plain
    from fewatoms.records import Progress
    from fewatoms.run import Callback

ORDINARY = (ValueError, TypeError, OSError, ImportError)  # misuse, and what machines and disks refuse
SECOND_PRESS = 1.0  # seconds after a Ctrl-C before anything is written, in which another one is heard
INPUTS = ("data", "library", "predict", "fitted", "group_by")  # options that name files to be read


def done(options: argparse.Namespace) -> int:
    """Run a command: its exit code, with one line on standard error where it could not be run."""
    try:
        return int(options.run(options))
    except KeyboardInterrupt:
        sys.stderr.write(f"fewatoms {options.command}: interrupted; nothing was written\n")
        return INTERRUPTED
    except NothingFound as error:
        sys.stderr.write(f"fewatoms {options.command}: {error}\n")
        return error.code
    except BrokenPipeError:  # whoever read our output has seen enough
        with suppress(OSError):
            sys.stdout.close()
        return HOLDS
    except ORDINARY as error:
        return _failed(options, str(error) or type(error).__name__)
    except MemoryError as error:
        return _failed(options, f"not enough memory for this: {error}")
    except Exception as error:
        return _failed(options, f"{type(error).__name__}: {error} (--debug shows where)")


def _failed(options: argparse.Namespace, why: str) -> int:
    if options.debug:
        raise
    sys.stderr.write(f"fewatoms {options.command}: error: {one_line(why)}\n")
    return MISUSE


class NothingFound(Exception):
    """The work was cut short before there was an answer: nothing is written."""

    def __init__(self, why: str, code: int) -> None:
        super().__init__(f"{why} before anything was found; nothing was written")
        self.code = code


class Session:
    """What one run of a command has claimed, noted and found."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.notes: list[str] = []
        self._told = 0  # notes
        self.outputs: dict[str, Path] = {}
        self._written: set[str] = set()
        self.seconds: dict[str, float] = {}
        self.late = self._unprinted = False
        self._presses = Presses()
        self.prints_data = False  # on standard output, where nothing else may stand then
        self.claim("summary", options.summary, (".json",))
        self.claim("report", options.report, (".html",))
        self.trace: Trace | None = None  # of the work, where there is a report to be written
        self._checkpoint: Checkpoint | None = None

    # Before the work --------------------------------------------------------------------------------------------------

    def claim(self, what: str, path: str | None, kinds: Sequence[str]) -> None:
        """An output that can be written there; refused otherwise, before anything is done."""
        from fewatoms import io

        if path is None:
            return
        if os.path.lexists(path) and not os.path.isdir(path):
            if any(_same(path, given) for given in self._inputs):
                raise io.Refused(f"output {path} must not be one of the inputs: choose another name")
            if not self.options.overwrite:
                raise io.Refused(f"output {path} is there already: choose another name, or say --overwrite")
        claimed = io.claim(path, overwrite=self.options.overwrite, kinds=kinds)
        twice = [name for name, other in self.outputs.items() if other.absolute() == claimed.absolute()]
        if twice:
            raise io.Refused(f"outputs must have names of their own; {path} is for {twice[0]} and {what}")
        self.outputs[what] = claimed

    @property
    def _inputs(self) -> list[str]:
        from fewatoms.io.endings import keyed

        given = vars(self.options)
        return [str(keyed(given[word])[0]) for word in INPUTS if given.get(word) is not None]

    def note(self, text: str) -> None:
        """Something to know, in the summary and on standard error, once it is clear that there will be an answer."""
        self.notes.append(one_line(text))

    def _tell_notes(self) -> None:
        if not self.options.quiet:
            for note in self.notes[self._told :]:
                sys.stderr.write(f"fewatoms {self.options.command}: note: {note}\n")
        self._told = len(self.notes)

    @contextmanager
    def timed(self, what: str) -> Iterator[None]:
        began = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[what] = self.seconds.get(what, 0.0) + time.perf_counter() - began

    # During the work --------------------------------------------------------------------------------------------------

    @contextmanager
    def working(self, title: str, *, bar: bool = True, fitting: bool = True) -> Iterator[Callback]:
        """A callback for all that is done inside: a bar, the deadline, and Ctrl-C, which ends the work with the best so
        far; pressed twice it ends at once, with nothing written. What is no fit has neither checkpoint nor trace."""
        from fewatoms import callbacks

        if fitting and vars(self.options).get("checkpoint") is not None and self._checkpoint is None:
            self._checkpoint = self._checkpointed(self.options.checkpoint)
        self._tell_notes()
        kept = [] if self._checkpoint is None or not fitting else [self._checkpoint]
        parts: list[Callback] = [self._look, *kept]
        if fitting and "report" in self.outputs:
            self.trace = callbacks.Trace()
            parts.append(self.trace)
        if self.options.deadline is not None:
            parts.append(self._until(callbacks.Deadline(self.options.deadline).__enter__()))
        with self.timed("work"), self._interruptible():
            if self.options.quiet or not bar:
                yield callbacks.Together(*parts)
            else:
                with callbacks.Bar(title) as drawn:
                    yield callbacks.Together(*parts, drawn)

    def _checkpointed(self, path: str) -> Checkpoint:
        """Where the work is written down as it goes on; what is there already is of the same command, killed before."""
        from fewatoms.callbacks import Checkpoint
        from fewatoms.io import Refused

        if any(_same(path, given) for given in self._inputs) or Path(path).absolute() in [
            other.absolute() for other in self.outputs.values()
        ]:
            raise Refused(f"--checkpoint must be a file of its own; {path} is an input or another output")
        folder = Path(os.path.realpath(path)).parent
        if not folder.is_dir():
            raise Refused(f"--checkpoint must lie in a folder that is there: make the folder {str(folder)!r} first")
        found = Checkpoint(path, go_on=True)
        if os.path.exists(path):
            self.note(
                f"going on from the checkpoint {path}: what was done is not done again (without that file all of it is)"
            )
        return found

    def _until(self, deadline: Callback) -> Callback:
        """The deadline, which is told of when it ends the work."""

        def heard(progress: Progress) -> None:
            try:
                deadline(progress)
            except StopIteration:
                if not self.late:
                    self.late = True
                    self.note("the deadline came first: this is the best answer so far, and not all was looked at")
                raise

        return heard

    @property
    def cut_short(self) -> str | None:
        """Who ended the work before it was done, in words; None if nobody did."""
        return "Ctrl-C ended the work" if self.interrupted else "the deadline came first" if self.late else None

    def refuse_nothing(self, found: int) -> None:
        """End here if the work was cut short before there were any atoms: no model of nothing is written."""
        if self.cut_short is not None and not found:
            raise NothingFound(self.cut_short, INTERRUPTED if self.interrupted else MISSED)

    def said(self, message: str) -> str:
        """The message of an answer, in which a callback that ended the work is called by its name here."""
        from fewatoms.solution import Status
        from fewatoms.words import sentence

        if self.cut_short is None:
            return message
        who, stopped = sentence(self.cut_short), sentence(Status.STOPPED.value)
        if stopped in message:
            return message.replace(stopped, f"{who}; this is the best answer found so far.")
        return f"{message} {who}: not all was looked at."

    def _look(self, progress: Progress) -> None:
        if self.interrupted:
            raise StopIteration

    @contextmanager
    def _interruptible(self) -> Iterator[None]:
        with self._presses as presses:
            yield
            while presses.heard and time.monotonic() - presses.when < SECOND_PRESS:
                time.sleep(0.02)

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C has ended the work."""
        return self._presses.heard

    def interrupt(self) -> None:
        """Take note of a Ctrl-C that somebody else has heard."""
        self._presses.heard = True

    # After the work ---------------------------------------------------------------------------------------------------

    def write(self, what: str, how: Callable[[Path], object]) -> None:
        """Write an output that was claimed, if it was."""
        if what in self.outputs:
            with self.timed("write"):
                how(self.outputs[what])
            self._written.add(what)

    @property
    def title(self) -> str:
        """Of a report: the command, and what it was about."""
        about = vars(self.options).get("data")
        return f"fewatoms {self.options.command}" + ("" if about is None else f": {Path(about).name}")

    def _printed(self, path: Path, lines: Sequence[str], table: Sequence[Sequence[str]]) -> None:
        """The report of a command that has no answer of its own: what it prints."""
        from fewatoms import report

        report.printed(path, lines, table, title=self.title, notes=self.notes)

    def finish(
        self, success: bool, summary: Mapping[str, Plain], lines: Sequence[str], table: Sequence[Sequence[str]] = ()
    ) -> int:
        """Write and print the summary: a table with its heads first, then lines of text. The exit code."""
        from fewatoms.cli.summary import whole

        code = INTERRUPTED if self.interrupted else HOLDS if success and not self.late else MISSED
        told = whole(self, code, summary)
        text = json.dumps(told, indent=2, allow_nan=False, ensure_ascii=False) + "\n"
        self.write("summary", lambda path: _written(path, text))
        if "report" not in self._written:
            self.write("report", lambda path: self._printed(path, lines, table))
        self._tell_notes()
        with self.printing():
            self._print(text, lines, table)
        return code or (MISSED if self._unprinted else HOLDS)

    @contextmanager
    def printing(self) -> Iterator[None]:
        """Standard output, which may be full or closed: files that were written stay, and the exit code tells."""
        try:
            yield
            sys.stdout.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            self._unprinted = True
            why = f"standard output cannot be written ({error.strerror or error})"
            sys.stderr.write(f"fewatoms {self.options.command}: {why}\n")
            _discard(sys.stdout)

    def _print(self, text: str, lines: Sequence[str], table: Sequence[Sequence[str]]) -> None:
        if self.options.json:
            sys.stdout.write(text)
        elif not self.options.quiet:
            if table:
                shown(table[0], table[1:])
            places = [f"{what}: {path}" for what, path in self.outputs.items()]
            where = sys.stderr if self.prints_data else sys.stdout
            where.write("".join(f"{printable(line)}\n" for line in [*lines, *places]))


def _discard(stream: TextIO) -> None:
    """Let what a stream still holds go nowhere, or Python tries to write it once more at its end and fails."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def _same(one: str, other: str) -> bool:
    return os.path.exists(one) and os.path.exists(other) and os.path.samefile(one, other)


def _written(path: Path, text: str) -> None:
    from fewatoms.whole import replacing

    with replacing(path) as beside:
        Path(beside).write_text(text, encoding="utf-8")
