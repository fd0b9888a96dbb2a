"""Files as data, and back: tables, matrices, entries of matrices, frames. Packages that read them are imported when a
file needs them, and none unpickles."""

from fewatoms.io.endings import IMAGES, READ, STACKS, TABLES, ending
from fewatoms.io.entries import read_entries
from fewatoms.io.frames import write_stack
from fewatoms.io.grid import read_grid, read_scene
from fewatoms.io.images import read_stack
from fewatoms.io.outputs import claim, write_grid, write_table
from fewatoms.io.records import Entries, Grid, Stack, Table
from fewatoms.io.refused import Refused
from fewatoms.io.table import read_table

__all__ = [
    "IMAGES",
    "READ",
    "STACKS",
    "TABLES",
    "Entries",
    "Grid",
    "Refused",
    "Stack",
    "Table",
    "claim",
    "ending",
    "read_entries",
    "read_grid",
    "read_scene",
    "read_stack",
    "read_table",
    "write_grid",
    "write_stack",
    "write_table",
]
