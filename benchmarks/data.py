"""Where the real data are: `--data`, the variable FEWATOMS_DATA, or `../shared/data` beside the project."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

BESIDE = Path(__file__).resolve().parents[2] / "shared" / "data"


def folder(named: str | None = None) -> Path:
    return Path(named or os.environ.get("FEWATOMS_DATA") or BESIDE)


def missing(where: Path, files: Sequence[str]) -> str:
    """Why these files cannot be had; empty if they are there."""
    if not files:
        return ""
    if not where.is_dir():
        return "no folder with the data; name one by --data or FEWATOMS_DATA"
    gone = [name for name in files if not (where / name).is_file()]
    return f"no file {', '.join(gone)} in the folder with the data" if gone else ""
