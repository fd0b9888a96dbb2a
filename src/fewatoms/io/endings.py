"""Which ending says what; every reader and writer is found by it."""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from os import PathLike, fspath
from pathlib import Path
from typing import TypeAlias

from fewatoms.io.refused import Refused, found

PathLikeStr: TypeAlias = str | PathLike[str]

TEXTS = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz")
PARQUET = (".parquet", ".pq")
FEATHER = (".feather", ".arrow")
MARKET = (".mtx", ".mtx.gz")
SVM = (".svm", ".libsvm", ".svmlight")
ARRAYS = (".npy", ".npz", ".mat", *MARKET, *SVM)
IMAGES = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp", ".gif", ".webp", ".pgm", ".ppm")

READ = (*TEXTS, *PARQUET, *FEATHER, *ARRAYS)  # tables, grids, entries
TABLES = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".parquet", ".npz", ".npy")  # what write_table and write_grid write
STACKS = ("", ".gif", ".npy", ".npz")  # what write_stack writes; without an ending: a folder


def ending(path: PathLikeStr) -> str:
    """The last ending, in small letters, with the one before it where it is .gz."""
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    if suffixes[-1:] == [".gz"]:
        return "".join(suffixes[-2:])
    return suffixes[-1] if suffixes else ""


def keyed(path: PathLikeStr) -> tuple[PathLikeStr, str | None]:
    """A file, and the array of it that is meant where its name says so: scene.npz:Y is Y of scene.npz."""
    parts = re.fullmatch(r"(.+\.(?:npz|mat)):([^/\\]+)", fspath(path), re.IGNORECASE)
    return (path, None) if parts is None or os.path.exists(path) else (parts[1], parts[2])


def input_file(path: PathLikeStr, known: Collection[str]) -> tuple[Path, str, str]:
    """A file that can be read: its path, its name for messages, its ending, one of those known."""
    source = fspath(path)
    found(Path(path), source)
    kind = ending(path)
    if kind not in known:
        raise Refused(f"{source} must end in {listed(known)}: give it the ending of what it is, or convert it")
    return Path(path), source, kind


def listed(known: Collection[str]) -> str:
    """Endings to choose from, in words; without any, that is a folder."""
    told = [each or "nothing (a folder)" for each in known]
    return told[0] if len(told) == 1 else f"one of {' '.join(told)}"
