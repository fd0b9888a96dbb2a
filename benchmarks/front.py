"""The front door, `python -m benchmarks bench`: a process for each part, a file for each area, then the page."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks import kept, page
from benchmarks.areas import parts
from benchmarks.report import say

QUICK = ("--quick", "--repeat", "3", "--spend", "0.5", "--timeout", "40")  # meant for ten minutes on two quiet cores
FULL = ("--repeat", "3", "--spend", "10")


def run(quick: bool, data: str | None, folder: Path, names: Sequence[str] = ("all",)) -> int:
    """Measure, write files and page; the number of parts that ended in a failure, which stay as they were in the files.

    Each part has a process of its own: some peers end theirs now and then, and the others should not suffer.
    """
    began, failed = time.perf_counter(), []
    for part in (part for name in names for part in parts(name) if part.shown(quick)):
        words = [*(QUICK if quick else FULL), "--results", str(folder), *(["--data", data] if data else [])]
        command = [sys.executable, "-m", "benchmarks", part.name, *words]
        codes = [subprocess.run(command, cwd=page.ROOT).returncode]
        if codes[0] < 0:  # a signal: somebody's compiled code; the next time it may go well
            codes.append(subprocess.run(command, cwd=page.ROOT).returncode)
        if codes[-1]:
            failed.append(part.name)
            say(f"{part.name} ended with code {codes[-1]}; if the files have it, it is of an earlier run")
    for name in page.write(folder=folder):
        say(f"written: {name}")
    say(f"{time.perf_counter() - began:.0f} s in all; files in {folder.name}/: {', '.join(kept.read(folder))}")
    return len(failed)
