"""Tables for people: rich draws them where it is installed, else they are columns of text."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence

from fewatoms.cli.options import printable

WIDE = 150  # characters, where standard output is no terminal


def shown(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table; columns of numbers stand to the right. Names come from files, and are not to move the cursor."""
    heads, rows = [*map(printable, heads)], [[*map(printable, row)] for row in rows]
    right = [bool(rows) and all(_is_number(row[i]) for row in rows) for i in range(len(heads))]
    try:
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text
    except ImportError:
        widths = [max(len(row[i]) for row in [heads, *rows]) for i in range(len(heads))]
        for row in [heads, *rows]:
            cells = [
                cell.rjust(width) if flush else cell.ljust(width)
                for cell, width, flush in zip(row, widths, right, strict=True)
            ]
            sys.stdout.write("  ".join(cells).rstrip() + "\n")
        return
    table = Table()
    for head, flush in zip(heads, right, strict=True):
        table.add_column(Text(head), justify="right" if flush else "left")
    for row in rows:
        table.add_row(*map(Text, row))  # as they are: names may have brackets
    Console(width=None if sys.stdout.isatty() else WIDE).print(table)


def _is_number(cell: str) -> bool:
    try:
        float(cell or "0")
    except ValueError:
        return False
    return True


def figure(value: float) -> str:
    """A number in four digits; nothing where it has no meaning."""
    return f"{value:.4g}" if math.isfinite(value) else ""
