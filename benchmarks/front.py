"""The front door, `python -m benchmarks bench`: every area in a process of its own, a file for each, then the page."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks import kept, page
from benchmarks.areas import AREAS
from benchmarks.report import say

QUICK = ("--quick", "--repeat", "3", "--spend", "0.5", "--timeout", "40")  # some ten minutes on two quiet cores
FULL = ("--repeat", "3", "--spend", "10")


def run(quick: bool, data: str | None, folder: Path, areas: Sequence[str] = tuple(AREAS)) -> int:
    """Measure, write files and page; the number of areas that ended in a failure, whose files stay as they were."""
    began, failed = time.perf_counter(), []
    for area in areas:
        words = [*(QUICK if quick else FULL), "--results", str(folder), *(["--data", data] if data else [])]
        done = subprocess.run([sys.executable, "-m", "benchmarks", area, *words], cwd=page.ROOT)
        if done.returncode:
            failed.append(area)
            say(f"{area} ended with code {done.returncode}; its file, if there is one, is an older one")
    for name in page.write(folder=folder):
        say(f"written: {name}")
    say(f"{time.perf_counter() - began:.0f} s in all; files in {folder.name}/: {', '.join(kept.read(folder))}")
    return len(failed)
