"""Processes that solve one thing and nothing else: neither memory nor caches are inherited, and time is limited.

A worker may run with another version of fewatoms, from another checkout: what goes to and fro is pickled here, and no
object of fewatoms is in it.
"""

from __future__ import annotations

import os
import pickle
import select
import subprocess
import sys
from pathlib import Path
from typing import Any, BinaryIO

ROOT = Path(__file__).resolve().parents[1]


class Worker:
    """A process with a door: `ask` sends a request and waits for the reply, or says why there is none."""

    def __init__(self, source: Path | None = None) -> None:
        """source : the folder with the package fewatoms; the one in use here, if not said."""
        path = [str(source.resolve())] if source else []
        before = os.environ.get("PYTHONPATH")
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*path, str(ROOT), *([before] if before else [])])}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.workers"],
            env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

    def ask(self, request: Any, timeout: float) -> Any:
        """The reply; a string where there is none."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            pickle.dump(request, self._process.stdin)
            self._process.stdin.flush()
            if not select.select([self._process.stdout], [], [], timeout)[0]:
                return f"no answer in {timeout:g} s"
            return pickle.load(self._process.stdout)
        except (EOFError, BrokenPipeError):
            return f"failed: the process ended with code {self._process.wait()}"

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()


def serve(requests: BinaryIO, replies: BinaryIO) -> None:
    from benchmarks import areas, compare, runner

    doors = {"answer": runner.answered, "version": compare.version, "again": compare.again}
    while True:
        try:
            door, *words = pickle.load(requests)
        except EOFError:
            return
        if door != "version":
            part = areas.part(words[0])
            words[:2] = part, next(c for c in part.cases if c.name == words[1])
        pickle.dump(doors[door](*words), replies)
        replies.flush()


if __name__ == "__main__":
    from benchmarks.measure import THREADS

    os.environ.update(THREADS)
    # Replies go through a copy of standard output; whatever is printed goes to standard error.
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    serve(sys.stdin.buffer, out)
