"""The front door, `python -m benchmarks bench`: a process for each part, a file for each area, then the page."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks import kept, page
from benchmarks.areas import AREAS, parts
from benchmarks.records import Part
from benchmarks.report import say

QUICK = ("--quick", "--repeat", "3", "--spend", "0.5", "--timeout", "15")  # meant for ten minutes on two quiet cores
FULL = ("--repeat", "3", "--spend", "10")
AT_ONCE = 2  # areas of the quick form: times are CPU seconds of one thread, and two cores have room for two
# Areas whose parts take longest begin first, so that none is left alone at the end.
ORDER = ("vectors", "everyday", "completion", "choice", "demixing", "exact", "proofs", "phase")
ORDER += ("giants", "blocks", "scale")

_talking = threading.Lock()


def run(quick: bool, data: str | None, folder: Path, names: Sequence[str] = ("all",)) -> int:
    """Measure, write files and page; the number of parts that ended in a failure, which stay as they were in the files.

    In the full form each part has a process of its own: some peers end theirs now and then, and the others should not
    suffer. In the quick form an area has one, since imports and compilation would take longer than the fits; if it is
    ended, its parts are measured one by one. Parts of one area follow each other: they share a file.
    """
    began = time.perf_counter()
    words = [*(QUICK if quick else FULL), "--results", str(folder), *(["--data", data] if data else [])]
    asked = [part for name in names for part in parts(name) if part.shown(quick)]
    areas = [[part for part in asked if part in AREAS[area]] for area in sorted(AREAS, key=ORDER.index)]
    with ThreadPoolExecutor(AT_ONCE if quick else 1) as pool:
        failed = sum(pool.map(lambda area: _measured(area, words, together=quick), areas))
    for name in page.write(folder=folder):
        say(f"written: {name}")
    say(f"{time.perf_counter() - began:.0f} s in all; files in {folder.name}/: {', '.join(kept.read(folder))}")
    return failed


def _measured(area: Sequence[Part], words: Sequence[str], *, together: bool) -> int:
    """Parts one after the other, each told when it is done; how many failed."""
    name = area[0].name.partition(".")[0] if area else ""
    whole = together and list(area) == [part for part in AREAS.get(name, ()) if part.shown(True)]
    if whole and (failed := _told(name, words)) >= 0:
        return failed
    failed = 0
    for part in area:
        ended = _told(part.name, words)
        if ended < 0:  # a signal: somebody's compiled code; the next time it may go well
            ended = _told(part.name, words)
        failed += ended != 0
    return failed


def _told(name: str, words: Sequence[str]) -> int:
    """Measure a part or an area, and print what it says; 0, 1 if it failed, -1 if somebody ended it."""
    done = _called([sys.executable, "-m", "benchmarks", name, *words])
    with _talking:
        say(done.stdout)
        if done.returncode:
            say(f"{name} ended with code {done.returncode}; what the files have of it is of an earlier run")
    return max(-1, min(1, done.returncode))


def _called(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=page.ROOT, stdout=subprocess.PIPE, text=True)
